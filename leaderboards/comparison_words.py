"""What a comparison says, in words and numbers that a table or a sentence can hold."""

from collections.abc import Sequence

from ..envs.wording import counted
from ..eval.bootstrap import FEW
from ..eval.compare import ALPHA, Comparison, Discordant, Played, Report, Tested, episode_file
from ..eval.intervals import Interval
from ..eval.metrics import measure
from ..eval.pairing import CLUSTER_BOOTSTRAP, DRAWN_PERMUTATION, MCNEMAR, PERMUTATION, TANGO, Paired
from ..eval.run import Run
from ..eval.significance import DRAWS
from ..eval.value import Value
from .numbers import UNDEFINED, count, interval, percent, plain

_TESTS = {
    MCNEMAR: "Exact McNemar test",
    PERMUTATION: "Paired permutation test of whole tasks",
    DRAWN_PERMUTATION: f"Paired permutation test of whole tasks ({DRAWS:,} seeded draws)",
}
_INTERVALS = {TANGO: "interval by Tango's score method", CLUSTER_BOOTSTRAP: "interval by a bootstrap of whole tasks"}


def letter(number: int) -> str:
    """The name of a run in a comparison: A, B, ..., Z, then R27, R28, ..."""
    return chr(ord("A") + number) if number < 26 else f"R{number + 1}"


def points(value: Value) -> str:
    """A difference of rates in percentage points, with its sign: ``+3.0``."""
    return UNDEFINED if not value.defined else f"{100 * value.value + 0.0:+.1f}"


def point_interval(ends: Interval) -> str:
    """Its interval: ``[-1.2, +7.4]``."""
    return UNDEFINED if ends.cause else f"[{100 * ends.low + 0.0:+.1f}, {100 * ends.high + 0.0:+.1f}]"


def p_value(value: Value) -> str:
    """A p-value with two or three digits that matter: ``0.034``, ``1.2e-05``."""
    if not value.defined:
        return UNDEFINED
    return f"{value.value:.1e}" if value.value < 0.001 else f"{value.value:.3f}"


def verdict(tested: Tested, first: str, second: str) -> str:
    """Whether two runs can be told apart, in a sentence."""
    paired = tested.paired
    if not paired.p.defined:
        return f"Nothing can be said of {first} and {second}: {paired.p.cause}."
    found = f"{points(paired.difference)} points"
    if not paired.interval.cause:
        found += f", 95% interval {point_interval(paired.interval)}"
    if not tested.different:
        return (
            f"Cannot tell {first} and {second} apart on {counted(paired.tasks, 'task')} ({second} - {first}: {found})."
        )
    better, other = (second, first) if paired.difference.value > 0 else (first, second)
    return f"{better} wins more often than {other} ({second} - {first}: {found})."


def verdict_in_a_word(tested: Tested) -> str:
    """The verdict as a table has room for it; empty where there is none."""
    return "different" if tested.different else "cannot tell apart" if tested.paired.p.defined else ""


def evidence(tested: Tested, pairs: int) -> str:
    """Test and p-value, corrected where there are several pairs, and how the interval was made."""
    paired = tested.paired
    if not paired.p.defined:
        return ""
    corrected = f", {p_value(tested.adjusted_p)} after Holm's correction for {pairs} pairs" if pairs > 1 else ""
    test = _TESTS[paired.test]
    made = "" if paired.interval.cause else f"; {_INTERVALS[paired.interval_method]}"
    return f"{test}, two-sided, p = {p_value(paired.p)}{corrected}{made}"


def counts(paired: Paired, first: str, second: str) -> str:
    """On how many tasks which of the two did better."""
    equal = paired.tasks - paired.better_first - paired.better_second
    if paired.once:
        both = round(paired.first.value * paired.tasks) - paired.better_first
        return (
            f"both won {both}, only {first} {paired.better_first}, only {second} {paired.better_second}, "
            f"neither {equal - both}"
        )
    return f"{first} better on {paired.better_first}, {second} on {paired.better_second}, alike on {equal}"


def warnings(comparison: Comparison, first: str, second: str) -> list[str]:
    """What a reader must know before believing the comparison, a sentence each."""
    overall = comparison.overall.paired
    found = []
    if comparison.mismatches:
        differing = "; ".join(plain(str(mismatch)) for mismatch in comparison.mismatches)
        found.append(f"Played under different conditions, so a difference need not be the agents': {differing}.")
    if comparison.sampling:
        found.append(f"The agents' settings differ: {'; '.join(plain(str(each)) for each in comparison.sampling)}.")
    if overall.left_out:
        found.append(f"{counted(overall.left_out, 'task')} left out that {first} or {second} has not finished.")
    for name, unfinished in zip((first, second), comparison.unfinished, strict=True):
        if unfinished:
            found.append(
                f"{counted(unfinished, 'episode')} of {name} not played or failed: "
                f"{'the task counts' if unfinished == 1 else 'such a task counts'} by the episodes that it finished."
            )
    if overall.interval_method == TANGO and overall.tasks and not overall.once:
        found.append(
            f"Fewer than {FEW} tasks differ, or all by the same: the interval takes each task as one attempt, however "
            "many samples it has."
        )
    found += disagreement(comparison.overall)
    other = comparison.overall.failed_as_lost
    if other is not None and other.p.defined:
        found.append(
            f"Failed episodes (error or timeout) are left out; counted as not won instead: "
            f"{points(other.difference)} points on {counted(other.tasks, 'task')}, p = {p_value(other.p)}."
        )
    return found


def disagreement(tested: Tested) -> list[str]:
    """Where interval and test seem to contradict each other: which of them decides, and why."""
    paired = tested.paired
    if paired.interval.cause or not paired.p.defined:
        return []
    apart = paired.interval.low > 0 or paired.interval.high < 0
    if apart == tested.different:
        return []
    if apart and paired.p.value < ALPHA:
        return [
            f"The interval is of this pair alone; after Holm's correction for all pairs (p = "
            f"{p_value(tested.adjusted_p)}) the two cannot be told apart."
        ]
    holds, says = ("leaves out 0", "cannot tell the two apart") if apart else ("holds 0", "tells the two apart")
    discordant = paired.better_first + paired.better_second
    return [
        f"The interval {holds}, the test {says} (p = {p_value(paired.p)}): the test decides. It counts what chance can "
        f"do, the interval approximates that, and roughly where few tasks differ (here {discordant})."
    ]


def discordant_line(task: Discordant) -> tuple[str, str, str]:
    """A discordant task and what both did with it: ``won``, or ``3/4``."""
    return plain(task.task_id), _did(task.first), _did(task.second)


def places(run: Run, played: Played) -> str:
    """Where the episodes of a task are: ``runs/a/episodes.jsonl:17``, several lines joined by commas."""
    return f"{plain(episode_file(run))}:{','.join(map(str, played.lines))}"


def legend(report: Report) -> list[tuple[str, str, str]]:
    """The letter, agent and folder of each run."""
    return [
        (letter(number), plain(run.manifest.agent), plain(str(run.folder))) for number, run in enumerate(report.runs)
    ]


def panels(report: Report) -> list[Run]:
    """The first run on each panel; there are several only where the runs were compared anyway."""
    found: dict[tuple[str, str], Run] = {}
    for run in report.runs:
        found.setdefault((run.config.env, run.panel.sha256), run)
    return list(found.values())


def rate_of(run: Run) -> tuple[str, str, str]:
    """A run's count, success rate in percent and interval, over all its tasks."""
    metrics = measure(run.results, len(run.panel.tasks), expected=run.expected)
    return count(metrics), percent(metrics.success_rate), interval(metrics.interval)


def split(discordant: Sequence[Discordant]) -> tuple[list[Discordant], list[Discordant]]:
    """The tasks that the first did better with, and those that the second did."""
    first = [task for task in discordant if _rate(task.first) > _rate(task.second)]
    second = [task for task in discordant if _rate(task.first) < _rate(task.second)]
    return first, second


def _rate(played: Played) -> float:
    return played.attempts.won / played.attempts.samples


def _did(played: Played) -> str:
    if played.attempts.samples == 1:
        return played.outcomes[0].value
    return f"{played.attempts.won}/{played.attempts.samples}"


def type_row(name: str, tested: Tested) -> list[str]:
    """The cells of a task type's row, under the headers that every form of the table has."""
    paired = tested.paired
    return [
        name,
        str(paired.tasks),
        percent(paired.first),
        percent(paired.second),
        points(paired.difference),
        point_interval(paired.interval),
        str(paired.better_first),
        str(paired.better_second),
        p_value(paired.p),
        p_value(tested.adjusted_p),
        verdict_in_a_word(tested),
    ]
