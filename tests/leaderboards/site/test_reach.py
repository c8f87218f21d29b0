from holdergym.agents.trajectory import Outcome
from holdergym.agents.usage import Usage
from holdergym.eval.results import Result
from holdergym.leaderboards.site.reach import MOST_POINTS, within_steps, within_tokens
from hypothesis import given
from hypothesis import strategies as st


def result(outcome: Outcome, steps: int, tokens: int | None = None) -> Result:
    return Result(
        "t", "pick", 0, outcome, steps, 0, None, float(outcome is Outcome.WON), replies=0 if tokens is None else 1,
        usage=None if tokens is None else Usage(10, 0, tokens),
    )  # fmt: skip


episodes = st.lists(
    st.builds(result, st.sampled_from(list(Outcome)), st.integers(1, 60), st.integers(0, 500)), max_size=60
)


@given(episodes)
def test_a_curve_counts_what_was_won_within_a_budget(results: list[Result]) -> None:
    finished = [one for one in results if one.outcome.finished]
    steps = within_steps(results)
    if not finished:
        assert steps is None
        return
    assert steps is not None
    for budget in range(62):
        won = sum(one.outcome is Outcome.WON and one.steps <= budget for one in finished)
        assert steps.at(budget) == won / len(finished)
    assert steps.costs[-1] == max(one.steps for one in finished)
    tokens = within_tokens(results)
    assert tokens is not None
    assert tokens.shares[-1] == steps.shares[-1]


def test_tokens_that_nobody_counted_have_no_curve() -> None:
    spoken = Result("t", "pick", 0, Outcome.WON, 3, 0, None, 1.0, replies=3)
    assert within_tokens([spoken, result(Outcome.WON, 3, 7)]) is None
    assert within_tokens([result(Outcome.WON, 3)]) is None


def test_a_long_curve_is_thinned_and_ends_where_it_ends() -> None:
    curve = within_tokens([result(Outcome.WON, 1, tokens) for tokens in range(1, 2001)])
    assert curve is not None
    assert len(curve.costs) <= MOST_POINTS
    assert (curve.costs[0], curve.costs[-1], curve.shares[-1]) == (0, 2000, 1.0)
    assert curve.at(1000) == 0.5 or abs(curve.at(1000) - 0.5) < 0.01
