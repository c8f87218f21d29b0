"""pass@k over runs: its interval holds the truth, and which answers are one candidate in a vote."""

from collections.abc import Sequence

import numpy as np
import pytest
from holdergym.agents.trajectory import Outcome
from holdergym.eval.metrics import measure
from holdergym.eval.repeated import at_every_k, candidate, listed_k
from holdergym.eval.results import Result

from .coverage import won_counts


def results_of(won: np.ndarray, samples: int, answers: Sequence[str] = ("",)) -> list[Result]:
    return [
        Result(
            f"t{task}",
            "pick",
            sample,
            outcome,
            1,
            0,
            None,
            float(outcome is Outcome.WON),
            answer="right" if outcome is Outcome.WON else answers[(task + sample) % len(answers)],
        )
        for task, count in enumerate(won)
        for sample in range(samples)
        for outcome in [Outcome.WON if sample < count else Outcome.LIMIT]
    ]


def test_which_k() -> None:
    eight = [1, 2, 3, 4, 5, 6, 7, 8]
    assert [listed_k(samples) for samples in (1, 2, 4, 5)] == [[1], [1, 2], eight[:4], eight[:5]]
    assert [listed_k(samples) for samples in (8, 9)] == [eight, [*eight, 9]]
    assert [listed_k(samples) for samples in (16, 64, 100)] == [
        [*eight, 16],
        [*eight, 16, 32, 64],
        [*eight, 16, 32, 64, 100],
    ]


def test_one_number_has_one_interval_wherever_it_stands() -> None:
    """The success rate, pass@1, pass^1, maj@1 and every avg@k are one number where tasks have equally many samples."""
    results = results_of(won_counts(np.random.default_rng(3), 60, 4, 0.7, 0.2), 4, ("1", "2", "3"))
    metrics = measure(results, 60, 4, votes=True)
    found = {name: estimate for at in metrics.at_k for name, estimate in at.estimates.items()}
    for name in ("pass@1", "pass^1", "maj@1", "avg@1", "avg@2", "avg@3", "avg@4"):
        assert found[name].value.value == pytest.approx(metrics.success_rate.value, abs=1e-12)
        assert found[name].interval[:2] == pytest.approx(metrics.interval[:2], abs=1e-12), name
    assert found["maj@4"].interval[:2] != pytest.approx(metrics.interval[:2], abs=0.01)


@pytest.mark.slow
def test_95_percent_of_the_intervals_hold_the_true_number() -> None:
    """The tasks' rates p are drawn evenly from [0, 1]: then 1 - E[(1 - p)^4] is 4/5, and E[p^2] is 1/3."""
    rng = np.random.default_rng(2)
    held = dict.fromkeys(("pass@4", "pass^2"), 0)
    for _ in range(800):
        rows = at_every_k(results_of(rng.binomial(8, rng.uniform(size=134)), 8), 134, 8)
        intervals = {name: estimate.interval for row in rows for name, estimate in row.estimates.items()}
        held["pass@4"] += intervals["pass@4"].low <= 4 / 5 <= intervals["pass@4"].high
        held["pass^2"] += intervals["pass^2"].low <= 1 / 3 <= intervals["pass^2"].high
    assert all(0.93 <= count / 800 <= 0.97 for count in held.values()), held


def test_made_up_runs_have_the_likeness_that_is_asked_for() -> None:
    """The simulation is only as good as its runs: two samples of a task correlate as they should."""
    won = won_counts(np.random.default_rng(0), 200_000, 2, 0.3, 0.4)
    assert won.mean() / 2 == pytest.approx(0.3, abs=0.005)
    both = (won == 2).mean()
    assert (both - 0.3**2) / (0.3 * 0.7) == pytest.approx(0.4, abs=0.01)


@pytest.mark.parametrize(
    ("first", "second"),
    [("12", "$12$"), ("0.5", "1/2"), (r"\\frac{1}{2}", "0.5"), ("x + 1", "x+1"), ("12,000", "12000")],
)
def test_answers_that_are_one_candidate(first: str, second: str) -> None:
    assert candidate(first, False) == candidate(second, False)


def test_answers_that_are_not() -> None:
    assert candidate(None, False) is None
    assert candidate("12", False) != candidate("13", False)
    assert candidate("12", False) != candidate("12", True)
