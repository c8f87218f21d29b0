"""Schedules of the exponent p over rollout rounds.

The shapes and their names are those of the authors' code (repository YihangChen9/HolderPO, commit 1d27a37); the
names in the paper's table 5 follow from their form, which the paper does not print.
"""

import math
from dataclasses import dataclass
from typing import Literal

from ..envs.errors import ConfigError

Shape = Literal["linear", "linear_dec", "sin", "cos", "quad", "quad_dec", "cubic", "cubic_dec"]

PAPER_NAMES: dict[str, str] = {
    "linear": "Linear Asc",
    "linear_dec": "Linear Des",
    "sin": "Sin Asc",
    "cos": "Sin Des",
    "quad": "Square Asc",
    "quad_dec": "Square Des",
    "cubic": "Cube Asc",
    "cubic_dec": "Cube Des",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """p as a function of the round; called ``scheduled`` in settings.

    With x = min(1, round / rounds), the middle m and half range a of ``low`` and ``high``, and n = ``power``:

    | shape | p |
    |---|---|
    | ``linear``, ``linear_dec`` | low + (high - low) x, high - (high - low) x |
    | ``sin``, ``cos`` | m - a cos(pi x), m + a cos(pi x) |
    | ``quad``, ``quad_dec`` | low + (high - low) x^n, high - (high - low) x^n |
    | ``cubic``, ``cubic_dec`` | m + a (2x - 1)^3, m - a (2x - 1)^3: flat in the middle, not x^3 |

    A round is a rollout round, not an optimiser step, and rounds count from 1, so the first round is already a
    step away from the start. After the last round p stays where it is. A schedule has no state but the round.

    Attributes:
        shape: One of the shapes above.
        low: Smallest p.
        high: Largest p.
        rounds: Length of the schedule, S.
        power: Exponent of the ``quad`` shapes.

    Raises:
        ConfigError: If a setting is out of range.
    """

    name: Literal["scheduled"] = "scheduled"
    shape: Shape = "linear_dec"
    low: float = -2.0
    high: float = 2.0
    rounds: int = 500
    power: float = 2.0

    def __post_init__(self) -> None:
        if self.shape not in PAPER_NAMES:
            raise ConfigError(f"the schedule shape {self.shape!r} is unknown; known: {', '.join(PAPER_NAMES)}")
        if not (math.isfinite(self.low) and math.isfinite(self.high) and self.low <= self.high):
            raise ConfigError(f"a schedule from {self.low} to {self.high}: low and high must be finite, low first")
        if self.rounds < 1:
            raise ConfigError(f"a schedule of {self.rounds} rounds: it needs at least 1")
        if not self.power > 0:
            raise ConfigError(f"a schedule with power {self.power}: it must be above 0")

    def at(self, round: int) -> float:
        """The exponent of a round."""
        x = min(1.0, round / self.rounds)
        middle, half, width = (self.low + self.high) / 2, (self.high - self.low) / 2, self.high - self.low
        match self.shape:
            case "linear":
                return self.low + width * x
            case "linear_dec":
                return self.high - width * x
            case "sin":
                return middle - half * math.cos(math.pi * x)
            case "cos":
                return middle + half * math.cos(math.pi * x)
            case "quad":
                return float(self.low + width * x**self.power)
            case "quad_dec":
                return float(self.high - width * x**self.power)
            case "cubic":
                return float(middle + half * (2 * x - 1) ** 3)
            case "cubic_dec":
                return float(middle - half * (2 * x - 1) ** 3)
