import math

import pytest
from holdergym.agents.trajectory import Outcome
from holdergym.eval.collapse import collapse_of, findings, windowed
from holdergym.eval.results import Result


def results(*outcomes: list[Outcome]) -> list[Result]:
    return [
        Result(f"t{task}", "k", sample, outcome, 1, 0, None, 0.0)
        for task, group in enumerate(outcomes)
        for sample, outcome in enumerate(group)
    ]


WON, LOST, LIMIT, ERROR = Outcome.WON, Outcome.LOST, Outcome.LIMIT, Outcome.ERROR


def test_groups_that_are_all_won_or_all_lost_collapse() -> None:
    found = collapse_of(results([WON, WON], [LOST, LIMIT], [WON, LOST], [WON, ERROR], [LOST, LOST, ERROR]))
    assert (found.groups, found.wrong, found.right, found.lonely) == (4, 2, 1, 1)
    assert found.rate == 0.75
    assert math.isnan(collapse_of(results([WON])).rate)


def test_the_thresholds_of_the_paper() -> None:
    calm = findings([0.3] * 120)
    assert [one.above for one in calm] == [False, False, False]
    assert [one.value for one in calm] == pytest.approx([0, 0.3, 0], abs=1e-12)
    stuck = findings([0.6] * 120)
    assert [one.above for one in stuck] == [True, True, False]
    assert stuck[0].value == 120
    restless = findings([0.1, 0.7] * 13)
    assert restless[2].above
    assert restless[2].value == pytest.approx(0.3, abs=0.01)
    assert math.isnan(restless[1].value)
    assert not restless[1].above
    # A stretch is not the sum of several.
    assert findings(([0.5] * 30 + [0.1]) * 3)[0].value == 30


def test_means_over_a_window() -> None:
    assert windowed([0.0, 1.0, 0.5, 0.0], 2) == [0.0, 0.5, 0.75, 0.25]
    assert windowed([0.2], 50) == [0.2]
