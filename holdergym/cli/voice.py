"""What a training run says while it runs: a line a round, and bars where there is a terminal to draw them on."""

import math
import sys
from collections.abc import Mapping
from typing import Final

from tqdm import tqdm

from .terminal import echo, visible

_SHOWN: Final = (
    ("batches", "batches", ".0f"),
    ("success", "success", ".1%"),
    ("explorer/alpha", "explorer's share", ".0%"),
    ("explorer/success", "explorer's success", ".1%"),
    ("reward", "reward", ".3f"),
    ("repaired_groups", "repaired", ".1%"),
    ("loss", "loss", ".3g"),
    ("p", "p", ".2f"),
    ("entropy", "entropy", ".2f"),
    ("kl", "kl", ".2g"),
    ("clip_share", "clipped", ".1%"),
    ("gradient_norm", "gradient", ".2g"),
    ("validation/success", "validation", ".1%"),
)
"""Metrics on the line of a round: name, what they are called there, and form."""

_NOTHING: Final = {"p": 1.0, "repaired_groups": 0.0, "explorer/alpha": 0.0}
"""Values that are not shown: those of a method that does not do this."""


class Voice:
    """Speaks for a run, on standard error.

    Args:
        rounds: Rounds of the run.
        speaks: Whether anything is said: one of a run's processes speaks.
    """

    def __init__(self, rounds: int, speaks: bool) -> None:
        self._rounds = rounds
        self._speaks = speaks
        draws = speaks and sys.stderr.isatty()
        self._run = tqdm(
            total=rounds, desc="rounds", unit=" rounds", file=sys.stderr, disable=not draws, leave=False, position=0
        )
        self._episodes = tqdm(
            desc="round 1", unit=" episodes", file=sys.stderr, disable=not draws, leave=False, position=1
        )

    def say(self, message: str) -> None:
        """Prints a line."""
        if not self._speaks:
            return
        if self._run.disable:
            echo(message, err=True)
        else:
            tqdm.write(visible(message), file=sys.stderr)

    def each_round(self, number: int, metrics: Mapping[str, float]) -> None:
        """Prints the line of a round."""
        self.say(round_line(number, self._rounds, metrics))
        self._run.n = number
        self._run.refresh()
        self._episodes.set_description_str(f"round {min(number + 1, self._rounds)}", refresh=False)

    def each_episode(self, ended: int, episodes: int) -> None:
        """Moves the bar of the episodes that are being played."""
        if ended == 0:
            self._episodes.reset(episodes)
        else:
            self._episodes.update(ended - self._episodes.n)

    def close(self) -> None:
        """Takes the bars away."""
        self._episodes.close()
        self._run.close()


def round_line(number: int, rounds: int, metrics: Mapping[str, float]) -> str:
    """One line a round for the terminal."""
    parts = [f"round {number}/{rounds}"]
    for key, label, form in _SHOWN:
        if key == "loss" and "reward" in metrics:
            continue  # what is compared with itself has a loss about 0
        # A round may have no episode of the policy's own, and most methods do most of this not at all.
        if not math.isnan(metrics.get(key, math.nan)) and metrics[key] != _NOTHING.get(key):
            parts.append(f"{label} {metrics[key]:{form}}")
    return "  ".join(parts)
