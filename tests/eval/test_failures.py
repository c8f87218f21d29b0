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
        f"2 x error: task … broke (as in {make_episode(1).trajectory.task_id})",
        "1 x error: a",
        "1 x error: b",
        "2 other reasons, see the field reason in episodes.jsonl",
    ]
    assert len(failure_lines(results, shown=9)) == 5


def test_one_failure_is_told_as_it_was(make_episode) -> None:
    task_id = make_episode(0).trajectory.task_id
    result = Result.of(make_episode(0, Outcome.ERROR, reason=f"task {task_id}: the gold answer is empty"))
    assert failure_lines([result]) == [f"1 x error: task {task_id}: the gold answer is empty"]
