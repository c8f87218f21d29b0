import math
from typing import get_args

import pytest
from holdergym.envs.errors import ConfigError
from holdergym.training import Schedule
from holdergym.training.schedules import PAPER_NAMES, Shape


def test_the_default_is_the_mathematics_launcher() -> None:
    schedule = Schedule()
    assert schedule.at(1) == pytest.approx(1.992, abs=1e-12)
    assert schedule.at(250) == 0  # exactly: the geometric mean is hit once
    assert schedule.at(500) == -2
    assert schedule.at(1320) == -2


# (start, quarter, middle, three quarters, end) over [-1, 3] in 100 rounds.
SHAPES = {
    "linear": (-1, 0, 1, 2, 3),
    "linear_dec": (3, 2, 1, 0, -1),
    "sin": (-1, 1 - math.sqrt(2), 1, 1 + math.sqrt(2), 3),
    "cos": (3, 1 + math.sqrt(2), 1, 1 - math.sqrt(2), -1),
    "quad": (-1, -0.75, 0, 1.25, 3),
    "quad_dec": (3, 2.75, 2, 0.75, -1),
    "cubic": (-1, 0.75, 1, 1.25, 3),
    "cubic_dec": (3, 1.25, 1, 0.75, -1),
}


@pytest.mark.parametrize("shape", get_args(Shape))
def test_shapes(shape: Shape) -> None:
    schedule = Schedule(shape=shape, low=-1, high=3, rounds=100)
    assert [schedule.at(round) for round in (0, 25, 50, 75, 100)] == pytest.approx(SHAPES[shape], abs=1e-12)
    assert schedule.at(10_000) == pytest.approx(SHAPES[shape][-1], abs=1e-12)
    assert shape in PAPER_NAMES


def test_the_alfworld_launchers_default_length_would_move_p_by_15_percent_of_the_way() -> None:
    schedule = Schedule(low=-1, high=1, rounds=1000)
    assert schedule.at(150) == pytest.approx(0.7, abs=1e-12)


def test_power() -> None:
    assert Schedule(shape="quad", low=0, high=1, rounds=2, power=3).at(1) == 0.125


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"rounds": 0}, "0 rounds"),
        ({"low": 1.0, "high": -1.0}, "low first"),
        ({"high": math.inf}, "finite"),
        ({"power": 0.0}, "power 0.0"),
        ({"shape": "cosine"}, "'cosine' is unknown"),
    ],
)
def test_bad_settings(settings: dict[str, float], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Schedule(**settings)  # type: ignore[arg-type]
