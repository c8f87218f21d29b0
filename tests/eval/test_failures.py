from holdergym.agents.trajectory import Outcome
from holdergym.eval.failures import failure_lines
from holdergym.eval.results import Result


def test_reasons_are_counted_and_told_apart_by_more_than_the_task(make_episode) -> None:
    results = [Result.of(make_episode(number, Outcome.WON)) for number in range(3)]
    assert failure_lines(results) == []
    for number, reason in enumerate(["late", "task {} broke", "task {} broke", "killed", "a", "b"]):
        task_id = make_episode(number).trajectory.task_id
        outcome = Outcome.TIMEOUT if reason == "late" else Outcome.ERROR
        results.append(Result.of(make_episode(number, outcome, reason=reason.format(task_id))))
    assert failure_lines(results) == [
        "2 x error: task ID broke",
        "1 x error: a",
        "1 x error: b",
        "2 other reasons, see the field reason in episodes.jsonl",
    ]
    assert len(failure_lines(results, shown=9)) == 5
