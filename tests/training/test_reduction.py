import pytest
from holdergym.envs.errors import ConfigError
from holdergym.training import Layout, Segments
from holdergym.training.reduction import Reduction
from torch import Tensor

# Turns of 2, 4 and 0 tokens in the first episode, 3 in the second, none in the third.
LAYOUT = Layout(
    rows=Segments.from_lengths([2, 4, 0, 3, 0]),
    episodes=Segments.from_lengths([3, 1, 1]),
    groups=Segments.from_lengths([3]),
)


def weight_of_units(reduction: Reduction, per: str) -> list[float]:
    units = LAYOUT.units(per)  # type: ignore[arg-type]
    share_T: Tensor = reduction(LAYOUT, per)  # type: ignore[arg-type]
    return units.sum(share_T).tolist()


@pytest.mark.parametrize(
    ("over", "length", "turns", "trajectories"),
    [
        ("units", None, [1 / 3, 1 / 3, 0, 1 / 3, 0], [1 / 2, 1 / 2, 0]),
        ("tokens", None, [2 / 9, 4 / 9, 0, 3 / 9, 0], [6 / 9, 3 / 9, 0]),
        ("trajectories", None, [1 / 4, 1 / 4, 0, 1 / 2, 0], [1 / 2, 1 / 2, 0]),
        ("constant_length", 10, [2 / 30, 4 / 30, 0, 3 / 30, 0], [6 / 20, 3 / 20, 0]),
    ],
)
def test_weights(over: str, length: int | None, turns: list[float], trajectories: list[float]) -> None:
    reduction = Reduction(over=over, length=length)  # type: ignore[arg-type]
    assert weight_of_units(reduction, "turn") == pytest.approx(turns)
    assert weight_of_units(reduction, "trajectory") == pytest.approx(trajectories)


def test_nothing_to_reduce() -> None:
    empty = Layout(Segments.from_lengths([0, 0]), Segments.from_lengths([1, 1]), Segments.from_lengths([2]))
    for over in ("units", "tokens", "trajectories"):
        assert Reduction(over=over)(empty, "turn").shape == (0,)  # type: ignore[arg-type]


def test_bad_settings() -> None:
    with pytest.raises(ConfigError, match="needs a length"):
        Reduction(over="constant_length")
    with pytest.raises(ConfigError, match="has no length"):
        Reduction(over="tokens", length=5)
