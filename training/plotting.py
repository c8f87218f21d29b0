"""The curves of a training run as a picture."""

import io
import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from ..envs.errors import HolderGymError, MissingExtraError
from ..envs.files import replace_file
from .metrics_log import read_metrics

FORMATS = ("png", "svg", "pdf")


class Curve(NamedTuple):
    """A curve: the metric, and what the legend calls it."""

    metric: str
    label: str


class Panel(NamedTuple):
    """One coordinate system: its title and its curves."""

    title: str
    curves: tuple[Curve, ...]


PANELS = (
    Panel(
        "Success",
        (
            Curve("success", "rollouts"),
            Curve("validation/success", "validation, greedy"),
            Curve("explorer/success", "the explorer's rollouts"),
            Curve("partner/validation/success", "the partner's validation, greedy"),
        ),
    ),
    Panel("Reward", (Curve("reward", "mean of a round"),)),
    Panel("Exponent p", (Curve("p", "p"),)),
    Panel("Entropy and KL", (Curve("entropy", "entropy, nats"), Curve("kl", "KL to the reference"))),
    Panel(
        "Shares",
        (
            Curve("clip_share", "clipped"),
            Curve("ratio_moved_share", "ratio not 1"),
            Curve("collapsed_groups", "collapsed groups (ACR)"),
            Curve("partner/clip_share", "clipped for the partner"),
        ),
    ),
    Panel(
        "Gradient norm before clipping",
        (Curve("gradient_norm", "policy"), Curve("partner/gradient_norm", "partner")),
    ),
    Panel(
        "Explorer",
        (
            Curve("explorer/alpha", "share of a group, alpha"),
            Curve("rollout_cost_share", "cost beside the policy's alone"),
        ),
    ),
    Panel("KL of policy from partner, nats a token", (Curve("divergence_from_partner", "KL"),)),
    Panel("Turns and tokens", (Curve("turns", "turns an episode"), Curve("response_tokens", "tokens a response"))),
    Panel("Sampler against trainer", (Curve("sampler_mismatch", "largest log-prob difference"),)),
)


def plot_run(folder: Path, out: Path) -> None:
    """Draws the curves of a run's log. A picture that is there already is replaced whole, or not at all.

    Args:
        folder: The run.
        out: The picture; its ending says the format.

    Raises:
        MissingExtraError: If matplotlib is not installed.
        HolderGymError: If there is no log, nothing to draw, or the picture cannot be written.
    """
    picture = picture_of(folder, out)
    try:
        replace_file(Path(os.path.realpath(out)), picture)
    except OSError as error:
        raise HolderGymError(f"cannot write {out}: {error.strerror}") from None


def picture_of(folder: Path, out: Path) -> bytes:
    """The same picture, not written yet; ``out`` only says the format.

    Raises:
        MissingExtraError: If matplotlib is not installed.
        HolderGymError: If there is no log, or nothing to draw.
    """
    if out.suffix.removeprefix(".") not in FORMATS:
        raise HolderGymError(f"{out}: give a name that ends in .{', .'.join(FORMATS[:-1])} or .{FORMATS[-1]}")
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError:
        raise MissingExtraError("holdergym plot", "train", "matplotlib") from None
    records = read_metrics(folder)
    panels = [panel for panel in PANELS if any(_points(records, curve.metric) for curve in panel.curves)]
    if not panels:
        raise HolderGymError(f"{folder}: no round has ended yet, so there is nothing to draw")
    rows = -(-len(panels) // 2)
    figure = Figure(figsize=(11, 2.9 * rows), layout="constrained")
    figure.suptitle(str(folder))
    for place, panel in enumerate(panels, start=1):
        axes = figure.add_subplot(rows, 2, place)
        drawn = [(curve, points) for curve in panel.curves if (points := _points(records, curve.metric))]
        for curve, points in drawn:
            rounds, values = zip(*points, strict=True)
            axes.plot(rounds, values, label=curve.label, marker="o" if len(points) < 30 else None, markersize=3)
        axes.set_title(panel.title, loc="left", fontsize=10)
        axes.set_xlabel("round", fontsize=8)
        axes.grid(alpha=0.3)
        axes.tick_params(labelsize=8)
        if len(drawn) > 1 or drawn[0][0] is not panel.curves[0]:
            axes.legend(fontsize=8, frameon=False)
    picture = io.BytesIO()
    figure.savefig(picture, dpi=120, format=out.suffix.removeprefix("."))
    return picture.getvalue()


def _points(records: Sequence[dict[str, float]], metric: str) -> list[tuple[int, float]]:
    """Rounds and values of a metric, where it is defined."""
    return [(int(record["round"]), record[metric]) for record in records if record.get(metric) is not None]
