"""Times an optimiser step of GRPO against TRL's GRPOTrainer: same model, rows, micro-batches and threads, in one run.

    pip install trl                                             # the comparison needs it; nothing else does
    python benchmarks/update.py [--rows 16] [--micro 4] [--rounds 3] [--layers 4 --hidden 256 --vocabulary 16384]

The rows are answers of mixed length, as those of language models are: lengths of prompts and responses are drawn
log-normally. Both sides get the same weights, tokens, advantages and old log-probabilities, and do one whole step: the
forward passes, GRPO's clipped loss with the mean over each row (arXiv 2402.03300, no KL), the backward passes, the cut
of the gradient's norm, and AdamW. TRL pads the whole batch to its longest prompt and its longest response before it
splits it into micro-batches, as its own loop does; ours sorts rows by length and fills micro-batches up to as many
tokens as TRL's have, padding included. TRL reports entropies, ours do too.

The gradients of the first step are compared before they are used. The two take turns, each in a fresh copy of the
model; times are medians, tokens per second count real tokens, not padding.
"""

import argparse
import math
import random
import statistics
import tempfile
import time
from copy import deepcopy
from dataclasses import replace
from typing import NamedTuple

import torch
from holdergym.agents.trajectory import Outcome, Trajectory, Turn
from holdergym.training.batch import Context
from holdergym.training.config import OptimiserSettings
from holdergym.training.experience import Experience, RewardSettings
from holdergym.training.method import Method
from holdergym.training.optimiser import Optimiser
from holdergym.training.presets import preset
from holdergym.training.scoring import Scorer
from holdergym.training.updating import MiniBatch, Updater
from torch import Tensor
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedModel

RATE, MAX_NORM = 1e-6, 1.0


class Step(NamedTuple):
    """One optimiser step."""

    seconds: float
    cpu_seconds: float
    gradient: dict[str, Tensor]


def main() -> None:
    options = _options()
    torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    model = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=options.vocabulary,
            hidden_size=options.hidden,
            intermediate_size=4 * options.hidden,
            num_hidden_layers=options.layers,
            num_attention_heads=max(1, options.hidden // 64),
            num_key_value_heads=max(1, options.hidden // 64),
            max_position_embeddings=8192,
            tie_word_embeddings=True,
        )
    ).eval()
    rows = _rows(options)
    tokens = sum(len(turn.prompt_ids or ()) + len(turn.response_ids or ()) for row in rows for turn in row.turns)
    longest = max(len(turn.prompt_ids or ()) for row in rows for turn in row.turns)
    reply = max(len(turn.response_ids or ()) for row in rows for turn in row.turns)
    print(f"{options.rows} rows, {tokens:,} tokens; longest prompt {longest}, longest response {reply}")
    print(f"{model.num_parameters():,} weights, {options.threads} threads, {options.micro} rows a micro-batch of TRL")

    experience = Experience.of([rows])
    old_T = Scorer(model).all(experience.sequences, 8192).logp_T
    old_T = old_T + 0.1 * torch.randn(old_T.shape)  # so that ratios differ from 1, and some are clipped
    advantage_E = torch.randn(len(rows))
    budget = options.micro * (longest + reply)
    ours, theirs = [], []
    for number in range(options.rounds):
        ours.append(_ours(deepcopy(model), experience, old_T, advantage_E, budget))
        theirs.append(_theirs(deepcopy(model), rows, old_T, advantage_E, options))
        if number == 0:
            _compare(ours[0].gradient, theirs[0].gradient)
    for name, steps in (("TRL", theirs), ("ours", ours)):
        seconds = statistics.median(step.seconds for step in steps)
        cpu = statistics.median(step.cpu_seconds for step in steps)
        print(f"  {name:<5} {seconds:8.2f} s {cpu:8.2f} processor s {tokens / seconds:8.0f} tokens/s")
    ratios = [
        statistics.median(getattr(one, kind) for one in theirs) / statistics.median(getattr(one, kind) for one in ours)
        for kind in ("seconds", "cpu_seconds")
    ]
    print(f"  ratio {ratios[0]:8.2f} x {ratios[1]:8.2f} x")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, value in (
        ("rows", 16),
        ("micro", 4),
        ("rounds", 3),
        ("layers", 4),
        ("hidden", 256),
        ("vocabulary", 16384),
        ("threads", 2),
        ("seed", 0),
    ):
        parser.add_argument(f"--{name}", type=int, default=value)
    options = parser.parse_args()
    if options.rows % options.micro:
        parser.error("--rows must be a multiple of --micro")
    return options


def _rows(options: argparse.Namespace) -> list[Trajectory]:
    """Answers with random tokens, their lengths around 100 and 200."""
    rng = random.Random(options.seed)

    def ids(middle: float, spread: float, most: int) -> tuple[int, ...]:
        length = min(most, max(4, round(math.exp(rng.gauss(math.log(middle), spread)))))
        return tuple(rng.randrange(options.vocabulary) for _ in range(length))

    def row(sample: int) -> Trajectory:
        response = ids(200, 0.7, 1024)
        turn = Turn(
            "", "", True, 0.0, prompt_ids=ids(100, 0.4, 512), response_ids=response, logprobs=(0.0,) * len(response)
        )
        return Trajectory("math/rows/0", "rows", sample, 0, "random tokens", (turn,), Outcome.LOST, 0.0)

    return [row(sample) for sample in range(options.rows)]


def _method() -> Method:
    grpo = preset("grpo")
    return replace(grpo, kl=replace(grpo.kl, coefficient=0.0))


def _ours(model: PreTrainedModel, experience: Experience, old_T: Tensor, advantage_E: Tensor, budget: int) -> Step:
    method = _method()
    rollout = experience.rollout(RewardSettings(), old_T)
    advantage_T = experience.layout.units("trajectory").spread(advantage_E)
    updater = Updater(method, Scorer(model), budget)
    optimiser = Optimiser(list(model.parameters()), OptimiserSettings(learning_rate=RATE, max_norm=MAX_NORM), 1)
    wall, cpu = time.perf_counter(), time.process_time()
    batch = MiniBatch.of(experience, range(len(experience.trajectories)), method)
    updater.backward(batch, rollout, advantage_T, Context())
    optimiser.gradient_norm()
    gradient = _gradient(model)
    optimiser.step(1)
    return Step(time.perf_counter() - wall, time.process_time() - cpu, gradient)


def _theirs(
    model: PreTrainedModel, rows: list[Trajectory], old_T: Tensor, advantage_E: Tensor, options: argparse.Namespace
) -> Step:
    trainer = _trainer(model, options)
    inputs = _padded(rows, old_T, advantage_E)
    optimiser = torch.optim.AdamW(model.parameters(), lr=RATE, betas=(0.9, 0.95), weight_decay=0.0)
    count = options.rows // options.micro
    trainer.current_gradient_accumulation_steps = count
    wall, cpu = time.perf_counter(), time.process_time()
    for number in range(count):
        part = slice(number * options.micro, (number + 1) * options.micro)
        trainer._compute_loss(model, {name: value[part] for name, value in inputs.items()}).backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), MAX_NORM)
    gradient = _gradient(model)
    optimiser.step()
    return Step(time.perf_counter() - wall, time.process_time() - cpu, gradient)


def _trainer(model: PreTrainedModel, options: argparse.Namespace):  # type: ignore[no-untyped-def]  # of another library
    from datasets import Dataset
    from tokenizers import Tokenizer, models
    from transformers import PreTrainedTokenizerFast
    from trl import GRPOConfig, GRPOTrainer

    words = {f"w{number}": number for number in range(options.vocabulary)}
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer(models.WordLevel(words, unk_token="w0")),
        eos_token="w1",
        pad_token="w2",
        unk_token="w0",
    )
    config = GRPOConfig(
        output_dir=tempfile.mkdtemp(prefix="holdergym-update-"),
        per_device_train_batch_size=options.micro,
        gradient_accumulation_steps=options.rows // options.micro,
        num_generations=options.rows,
        beta=0.0,
        epsilon=0.2,
        loss_type="grpo",
        temperature=1.0,
        bf16=False,
        gradient_checkpointing=False,
        report_to=[],
        use_cpu=True,
    )
    trainer = GRPOTrainer(
        model=model,
        reward_funcs=lambda completions, **more: [0.0] * len(completions),
        args=config,
        train_dataset=Dataset.from_list([{"prompt": "w3"}] * options.rows),
        processing_class=tokenizer,
    )
    trainer.model.train()
    return trainer


def _padded(rows: list[Trajectory], old_T: Tensor, advantage_E: Tensor) -> dict[str, Tensor]:
    """The batch as TRL lays it out: prompts padded on the left, responses on the right."""
    turns = [row.turns[0] for row in rows]
    prompts, replies = [one.prompt_ids or () for one in turns], [one.response_ids or () for one in turns]
    widths = max(map(len, prompts)), max(map(len, replies))
    shape = len(rows), widths[0]
    inputs = {"prompt_ids": torch.full(shape, 2), "prompt_mask": torch.zeros(shape, dtype=torch.long)}
    shape = len(rows), widths[1]
    inputs |= {"completion_ids": torch.full(shape, 2), "completion_mask": torch.zeros(shape, dtype=torch.long)}
    inputs |= {"old_per_token_logps": torch.zeros(shape), "advantages": advantage_E}
    start = 0
    for row, (prompt, reply) in enumerate(zip(prompts, replies, strict=True)):
        inputs["prompt_ids"][row, widths[0] - len(prompt) :] = torch.tensor(prompt)
        inputs["prompt_mask"][row, widths[0] - len(prompt) :] = 1
        inputs["completion_ids"][row, : len(reply)] = torch.tensor(reply)
        inputs["completion_mask"][row, : len(reply)] = 1
        inputs["old_per_token_logps"][row, : len(reply)] = old_T[start : start + len(reply)]
        start += len(reply)
    return inputs


def _gradient(model: PreTrainedModel) -> dict[str, Tensor]:
    return {name: one.grad.clone() for name, one in model.named_parameters() if one.grad is not None}


def _compare(ours: dict[str, Tensor], theirs: dict[str, Tensor]) -> None:
    """Prints how far the two gradients are apart, and stops where they are not the same."""
    difference = max(float((ours[name] - theirs[name]).abs().max()) for name in theirs)
    largest = max(float(one.abs().max()) for one in theirs.values())
    print(f"  gradients differ by at most {difference:.1e}; the largest entry is {largest:.1e}")
    if difference > 1e-3 * largest:
        raise SystemExit("the two do not compute the same gradient, so their times say nothing")


if __name__ == "__main__":
    main()
