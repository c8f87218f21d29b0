"""Measures token log-probabilities in tiles against the plain form, which makes all logits and gathers from them.

    python benchmarks/loss.py [--tokens 8192] [--vocabulary 151936] [--hidden 896] [--rounds 3]

Both forms compute log-probabilities and the gradients by hidden states and output layer (``trained``), or by hidden
states alone (``frozen``, as under LoRA). Every measurement is a process of its own, forms take turns, and times
are medians. Memory is the peak above the inputs. The plain form needs about 15 GB at the default size.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import NamedTuple

import torch
from holdergym.training.logprobs import token_logprobs
from torch import Tensor

FORMS = ("plain", "tiled")
LAYERS = ("trained", "frozen")


class Measurement(NamedTuple):
    """One run of one form."""

    seconds: float
    cpu_seconds: float
    peak_bytes: int


def plain(hidden_T_H: Tensor, weight_V_H: Tensor, target_T: Tensor) -> Tensor:
    logits_T_V = hidden_T_H @ weight_V_H.t()
    return torch.log_softmax(logits_T_V, 1).gather(1, target_T[:, None]).squeeze(1)


def tiled(hidden_T_H: Tensor, weight_V_H: Tensor, target_T: Tensor) -> Tensor:
    return token_logprobs(hidden_T_H, weight_V_H, target_T, entropy_gradient=False).logp_T


def peak_bytes() -> int:
    """Largest resident memory since the last reset."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * int(next(line.split()[1] for line in lines if line.startswith("VmHWM")))


def reset_peak() -> None:
    Path("/proc/self/clear_refs").write_text("5")


def measure(form: str, layer: str, arguments: argparse.Namespace, out: Path) -> None:
    """Runs one form once and leaves its measurement and its gradients in a folder."""
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    torch.manual_seed(0)
    hidden_T_H = torch.randn(arguments.tokens, arguments.hidden, requires_grad=True)
    weight_V_H = torch.randn(arguments.vocabulary, arguments.hidden).mul_(0.05).requires_grad_(layer == "trained")
    target_T = torch.randint(arguments.vocabulary, (arguments.tokens,))
    gradient_T = torch.randn(arguments.tokens)
    inputs = [hidden_T_H, weight_V_H] if layer == "trained" else [hidden_T_H]

    reset_peak()
    before = peak_bytes()
    wall, cpu = time.perf_counter(), time.process_time()
    logp_T = (plain if form == "plain" else tiled)(hidden_T_H, weight_V_H, target_T)
    gradients = torch.autograd.grad(logp_T, inputs, gradient_T)
    figures = Measurement(time.perf_counter() - wall, time.process_time() - cpu, peak_bytes() - before)

    (out / "figures.json").write_text(json.dumps(figures))
    rows = [gradients[0], *(gradient[target_T[:512]] for gradient in gradients[1:])]
    torch.save([logp_T.detach(), *rows], out / "results.pt")


def run(form: str, layer: str, arguments: argparse.Namespace, out: Path) -> Measurement:
    out.mkdir(parents=True, exist_ok=True)
    options = {name: getattr(arguments, name) for name in ("tokens", "vocabulary", "hidden", "threads")}
    command = [sys.executable, __file__, "--measure", form, layer, str(out)]
    command += [part for name, value in options.items() for part in (f"--{name}", str(value))]
    subprocess.run(command, check=True)
    return Measurement(*json.loads((out / "figures.json").read_text()))


def difference(layer: str, folder: Path) -> float:
    """Largest difference between the two forms' results, relative to the largest entry of each."""
    first, second = (torch.load(folder / f"{form}-{layer}" / "results.pt") for form in FORMS)
    return max(float((a - b).abs().max() / a.abs().max()) for a, b in zip(first, second, strict=True))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokens", type=int, default=8 * 1024)
    parser.add_argument("--vocabulary", type=int, default=151936)
    parser.add_argument("--hidden", type=int, default=896)
    parser.add_argument("--threads", type=int, default=0, help="threads of torch; 0 leaves its default")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--measure", nargs=3, metavar=("FORM", "LAYER", "OUT"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        form, layer, out = arguments.measure
        measure(form, layer, arguments, Path(out))
        return

    print(f"{arguments.tokens} tokens, vocabulary {arguments.vocabulary}, hidden size {arguments.hidden}, float32")
    print(f"{'output layer':14} {'form':8} {'seconds':>9} {'cpu s':>9} {'peak MB':>9}")
    with tempfile.TemporaryDirectory() as folder:
        for layer in LAYERS:
            runs: dict[str, list[Measurement]] = {form: [] for form in FORMS}
            for _ in range(arguments.rounds):
                for form in FORMS:
                    runs[form].append(run(form, layer, arguments, Path(folder) / f"{form}-{layer}"))
            middle = {form: Measurement(*map(median, zip(*runs[form], strict=True))) for form in FORMS}
            for form, (seconds, cpu, peak) in middle.items():
                print(f"{layer:14} {form:8} {seconds:9.2f} {cpu:9.2f} {peak / 2**20:9.0f}")
            ratios = [middle["tiled"][field] / middle["plain"][field] for field in range(3)]
            print(f"{layer:14} {'ratio':8} {ratios[0]:9.2f} {ratios[1]:9.2f} {ratios[2]:9.2f}", end="  ")
            print(f"largest difference of a result: {difference(layer, Path(folder)):.1e}")


if __name__ == "__main__":
    main()
