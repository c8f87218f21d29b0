"""The grader as a service: time-outs, deaths, memory, threads, asyncio, forks, and input that means harm."""

import asyncio
import multiprocessing
import os
import resource
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from holdergym.envs.errors import ConfigError
from holdergym.envs.math.grader import GoldError, Grader, GraderError, Policy, Verdict

pytest.importorskip("math_verify", reason="needs the extra `math`")

TIMEOUT = 3.0
NEVER_ENDS = r"\boxed{9^{9^{9^{9}}}!}"
ITEMS = [("x+1", r"\boxed{1+x}"), ("x+1", r"\boxed{x+2}"), ("x+1", "no box"), ("4", r"\boxed{\sqrt{16}}")]
VERDICTS = [Verdict.CORRECT, Verdict.INCORRECT, Verdict.UNPARSABLE, Verdict.CORRECT]


@pytest.fixture(scope="module")
def grader() -> Iterator[Grader]:
    with Grader(workers=2, timeout_s=TIMEOUT) as shared:
        yield shared


def _verdicts(grader: Grader) -> list[Verdict]:
    return [judgement.verdict for judgement in grader.grade(ITEMS)]


def test_verdicts_come_in_order(grader: Grader) -> None:
    assert _verdicts(grader) == VERDICTS


def test_plain_numbers_need_no_worker() -> None:
    with Grader() as fresh:
        judgements = fresh.grade([("1/2", r"\boxed{0.5}"), ("1/2", r"\boxed{0.6}"), ("7", "seven"), ("", r"\boxed{1}")])
        assert not fresh.worker_pids()
    expected = [Verdict.CORRECT, Verdict.INCORRECT, Verdict.UNPARSABLE, Verdict.ERROR]
    assert [judgement.verdict for judgement in judgements] == expected


def test_a_stuck_item_times_out_and_the_rest_is_unaffected(grader: Grader) -> None:
    items = [("7", NEVER_ENDS), *ITEMS, ("7", NEVER_ENDS), *ITEMS]
    judgements = grader.grade(items)
    assert [judgement.verdict for judgement in judgements] == [Verdict.TIMEOUT, *VERDICTS] * 2
    assert "3 s" in judgements[0].reason


def test_a_killed_worker_is_an_error_for_its_item_only(grader: Grader) -> None:
    _verdicts(grader)
    victims = grader.worker_pids()
    with ThreadPoolExecutor(1) as executor:
        pending = executor.submit(grader.grade, [("7", NEVER_ENDS)])
        time.sleep(0.5)
        for pid in victims:
            os.kill(pid, signal.SIGKILL)
        (judgement,) = pending.result()
    assert judgement.verdict is Verdict.ERROR
    assert "SIGKILL" in judgement.reason
    assert Verdict.INCORRECT in _verdicts(grader) or _verdicts(grader) == VERDICTS
    assert _verdicts(grader) == VERDICTS
    assert not set(victims) & set(grader.worker_pids())


def test_many_threads_share_a_grader(grader: Grader) -> None:
    found: list[list[Verdict]] = []
    threads = [threading.Thread(target=lambda: found.append(_verdicts(grader))) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [VERDICTS] * 6


def test_asyncio_is_not_blocked(grader: Grader) -> None:
    async def play() -> tuple[list[Verdict], int]:
        ticks = 0

        async def tick() -> None:
            nonlocal ticks
            while True:
                ticks += 1
                await asyncio.sleep(0.02)

        ticking = asyncio.create_task(tick())
        judgements = await grader.grade_async([("7", NEVER_ENDS), *ITEMS])
        ticking.cancel()
        return [judgement.verdict for judgement in judgements], ticks

    verdicts, ticks = asyncio.run(play())
    assert verdicts == [Verdict.TIMEOUT, *VERDICTS]
    assert ticks > 20


def _grade_here(answers: "multiprocessing.queues.Queue[list[str]]", grader: Grader | None) -> None:
    with grader or Grader(timeout_s=20) as mine:
        answers.put([str(judgement.verdict) for judgement in mine.grade(ITEMS)])


@pytest.mark.parametrize("method", ["fork", "spawn"])
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_forked_and_spawned_processes_grade(grader: Grader, method: str) -> None:
    _verdicts(grader)
    before = set(grader.worker_pids())
    processes = multiprocessing.get_context(method)
    answers = processes.Queue()
    # A forked child inherits the grader with its threads gone; a daemon may not have multiprocessing children.
    inherited = grader if method == "fork" else None
    child = processes.Process(target=_grade_here, args=(answers, inherited), daemon=True)
    child.start()
    assert answers.get(timeout=60) == VERDICTS
    child.join(timeout=30)
    assert child.exitcode == 0
    assert _verdicts(grader) == VERDICTS
    assert before & set(grader.worker_pids()), "the child took the parent's workers with it"


def test_memory_is_bounded() -> None:
    with Grader(timeout_s=20, memory_mb=512) as small:
        (judgement,) = small.grade([("3", r"\boxed{\operatorname{gcd}(2^{10^{10}},3)}")])
        assert judgement.verdict is Verdict.ERROR
        assert "memory" in judgement.reason
        assert [judgement.verdict for judgement in small.grade(ITEMS)] == VERDICTS


PATHOLOGICAL = {
    "power tower": r"\boxed{2^{2^{2^{2^{2^{2^{2}}}}}}}",
    "power tower in text": r"\boxed{9**9**9**9**9}",
    "huge factorial": r"\boxed{10000000!}",
    "factorial of a factorial": r"\boxed{((20!)!)!}",
    "huge binomial": r"\boxed{\binom{10^{9}}{5 \cdot 10^{8}}}",
    "huge sum": r"\boxed{\sum_{k=1}^{10^{12}} \frac{1}{k}}",
    "hard integral": r"\boxed{\int_0^{\infty} \frac{\sin(x^7)\ln(x)}{x^{\pi}+e^x} dx}",
    "deep fractions": "\\boxed{" + r"\frac{1}{" * 400 + "2" + "}" * 400 + "}",
    "deep brackets": "\\boxed{" + "(" * 5_000 + "1" + ")" * 5_000 + "}",
    "deep roots": "\\boxed{" + r"\sqrt{" * 55 + "2" + "}" * 55 + "}",
    "a megabyte": "\\boxed{" + "7" * 2**20 + "}",
    "a megabyte of boxes": "\\boxed{" * 150_000,
    "a megabyte of open brackets": "\\boxed{4} " + "{" * 2**20,
    "a megabyte of dollars": "$" * 2**20,
    "a megabyte of blanks": "\\boxed{4" + " " * 2**20 + "}",
    "a megabyte of answers": "the answer is " * 75_000,
    "long sum": "\\boxed{" + "+".join(["x"] * 2_000) + "}",
    "long product": "\\boxed{" + "".join(f"(x+{k})" for k in range(400)) + "}",
    "many commas": "\\boxed{" + "1," * 2_400 + "1}",
    "many plus-minus": "\\boxed{" + r"1 \pm " * 300 + "1}",
    "NUL bytes": "\\boxed{\0" + "4\0x" + "\0" * 100 + "}",
    "control characters": "\\boxed{\x01\x02\x7f\x1b[31m4+x}",
    "lone surrogate": "\\boxed{\ud800+x}",
    "box without end": r"The answer is \boxed{4",
    "box without braces": r"\boxed",
    "closing braces": "\\boxed{x}}}}}}" + "}" * 10_000,
    "backslashes": "\\boxed{" + "\\" * 4_001 + "}",
    "regex of commas": "\\boxed{" + "1,111" * 900 + "}",
    "regex of text": "\\boxed{" + r"\text{ " * 600 + "}",
    "regex of fractions": "\\boxed{" + r"\frac" * 900 + "}",
    "regex of answers": "answer " * 3_000 + "=" * 3_000,
    "look-alike letters": "\\boxed{х+у}",  # noqa: RUF001 - Cyrillic
    "right to left": "\\boxed{\u202e4+x\u202c}",
    "zero width": "\\boxed{4\u200b+x\u200d}",
    "combining marks": "\\boxed{x" + "\u0301" * 3_000 + "}",
    "emoji": "\\boxed{4️⃣+x}",
    "Python": "\\boxed{__import__('os').system('echo gotcha')}",
    "Python loop": "\\boxed{(lambda f: f(f))(lambda f: f(f))}",
    "Python code": "```python\ndef f(x):\n    return x\nprint(f(4))\n```",
    "sympy code": "\\boxed{sympy.factorial(10**10)}",
    "division by zero": r"\boxed{\frac{1}{x-x}}",
    "infinite matrix": r"\boxed{\operatorname{eye}(10^{9})}",
    "equations": r"\boxed{x^{97}+y^{89}=z^{83}\sin(xyz)}",
    "inequality": r"\boxed{x^{17}-3x^{5}+\sin(x) > e^{x}}",
}


def test_pathological_input_costs_its_time_and_nothing_else() -> None:
    golds = ("x+4", "4", r"x \in (0,1) \cup (2,3)")
    limit = 2.0
    harmless = {("a megabyte of open brackets", "4"), ("a megabyte of blanks", "4")}
    harmless |= {("right to left", "x+4"), ("zero width", "x+4")}
    with Grader(Policy.FINAL, timeout_s=limit, memory_mb=768) as harsh:
        for position, (name, response) in enumerate(PATHOLOGICAL.items()):
            gold = golds[position % len(golds)]
            harsh.grade_one("x", r"\boxed{x+0}")  # a worker is up: what is timed is the item
            start = time.monotonic()
            judgement = harsh.grade_one(gold, response)
            elapsed = time.monotonic() - start
            assert (judgement.verdict is Verdict.CORRECT) == ((name, gold) in harmless), (name, judgement)
            assert judgement.verdict in (Verdict.CORRECT, Verdict.INCORRECT) or judgement.reason, name
            assert elapsed < limit + 1, (name, elapsed)
        assert [judgement.verdict for judgement in harsh.grade([("4", r"\boxed{\sqrt{16}}")])] == [Verdict.CORRECT]
    kilobytes = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    assert kilobytes < 768 * 1024


def test_golds_are_checked_against_themselves(grader: Grader) -> None:
    golds = {"a": "4", "b": r"\dfrac{9}{7}", "c": r"\frac{1}{", "d": "", "e": ["1/2", "0.5"], "f": "x+1"}
    assert [problem.id for problem in grader.gold_problems(golds)] == ["c", "d"]
    with pytest.raises(GoldError, match=r"of c \(and 1 more\) cannot be graded"):
        grader.require_golds(golds)
    grader.require_golds({"a": "4", "f": "x+1"})


def test_what_can_move_a_verdict_is_recorded(grader: Grader) -> None:
    versions = grader.versions()
    assert versions["policy"] == "boxed"
    assert versions["math-verify"] != "not installed"
    assert {"rules", "min_digits", "timeout_s", "latex2sympy2_extended", "sympy", "mpmath"} <= set(versions)


def test_a_closed_grader_says_so() -> None:
    with Grader() as closed:
        pass
    with pytest.raises(GraderError, match="closed"):
        closed.grade([("x", r"\boxed{y}")])


@pytest.mark.parametrize("settings", [{"policy": "guess"}, {"workers": 0}, {"timeout_s": 0.0}, {"memory_mb": 1}])
def test_bad_settings_are_refused(settings: dict[str, object]) -> None:
    with pytest.raises(ConfigError):
        Grader(**settings)  # type: ignore[arg-type]
