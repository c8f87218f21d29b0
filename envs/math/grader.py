"""The grader: verdicts on responses, with a hard time-out for each, from killable worker processes."""

import asyncio
import importlib.metadata
import importlib.util
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future
from functools import lru_cache
from types import TracebackType
from typing import NamedTuple, Self

from ..errors import ConfigError, HolderGymError
from .answers.comparing import MIN_DIGITS
from .answers.extraction import Policy
from .judging import Judgement, Rules, Undecided, Verdict, judge_plain, judge_quickly
from .pool import GraderError, Request, WorkerPool

Gold = str | Sequence[str]
"""A gold answer, or several of which one suffices."""

RULES_VERSION = 2
"""Goes up when a change of ours can move a verdict; recorded with every result."""

_LIBRARIES = ("math-verify", "latex2sympy2_extended", "sympy", "mpmath")


class GoldError(HolderGymError):
    """A gold answer with which nothing can be compared."""


class GoldProblem(NamedTuple):
    """A gold that does not pass the check against itself: whose it is, what it says, and why it fails."""

    id: str
    gold: str
    reason: str


class Grader:
    """Judges answers to mathematics problems.

    Plain numbers and literal matches are decided at once in the calling process; all else goes to worker
    processes, which start on first need (about two seconds) and are killed and replaced when they exceed the
    time-out, run out of memory or die. Use it from any thread, from asyncio, and from forked or spawned processes.

    Without the extra ``math`` only plain numbers are judged.

    Args:
        policy: Where in the response the answer may stand.
        workers: Number of worker processes.
        timeout_s: Seconds for one item, without waiting for a free worker.
        memory_mb: Address space of a worker, in MiB.
        min_digits: Significant digits that a decimal must show to stand for an exact value that it rounds.

    Raises:
        ConfigError: If a number is out of range.
    """

    def __init__(
        self,
        policy: Policy | str = Policy.BOXED,
        *,
        workers: int = 1,
        timeout_s: float = 5.0,
        memory_mb: int = 1024,
        min_digits: int = MIN_DIGITS,
    ) -> None:
        if policy not in tuple(Policy):
            raise ConfigError(f"there is no answer policy {policy!r}: choose {' or '.join(Policy)}")
        if workers < 1 or timeout_s <= 0 or memory_mb < 256 or min_digits < 1:
            raise ConfigError("a grader needs at least 1 worker, 256 MiB, 1 digit and a positive time-out")
        self.rules = Rules(Policy(policy), min_digits)
        self.timeout_s = timeout_s
        self._algebra = importlib.util.find_spec("math_verify") is not None
        self._pool = WorkerPool(workers, memory_mb)

    def grade(self, items: Iterable[tuple[Gold, str]]) -> list[Judgement]:
        """Judges (gold, response) pairs, in order.

        Raises:
            GraderError: If the workers do not start or the grader was closed.
            MissingExtraError: If a gold needs the extra ``math`` and it is not installed.
        """
        return [future.result() for future in [self._submit(gold, response) for gold, response in items]]

    def grade_one(self, gold: Gold, response: str) -> Judgement:
        """Judges one response; raises as ``grade`` does."""
        return self._submit(gold, response).result()

    async def grade_async(self, items: Iterable[tuple[Gold, str]]) -> list[Judgement]:
        """Judges (gold, response) pairs without blocking the event loop; raises as ``grade`` does."""
        futures = [asyncio.wrap_future(self._submit(gold, response)) for gold, response in items]
        return list(await asyncio.gather(*futures))

    def gold_problems(self, golds: Mapping[str, Gold]) -> list[GoldProblem]:
        """Judges each gold against itself and lists those that fail, by id.

        A gold passes if it can be read and parsed, and equals itself when compared as any answer would be.
        """
        asked = [(id_, gold, self._submit_gold(gold)) for id_, gold in golds.items()]
        found = []
        for id_, gold, future in asked:
            judgement = future.result()
            if judgement.verdict is not Verdict.CORRECT:
                shown = gold if isinstance(gold, str) else ", ".join(gold)
                found.append(GoldProblem(id_, shown, judgement.reason))
        return found

    def require_golds(self, golds: Mapping[str, Gold]) -> None:
        """Stops a run whose golds cannot be graded.

        Raises:
            GoldError: If a gold fails against itself; the message names the first and counts the rest.
        """
        problems = self.gold_problems(golds)
        if problems:
            first = problems[0]
            more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
            raise GoldError(f"the gold answer {first.gold[:60]!r} of {first.id}{more} cannot be graded: {first.reason}")

    def versions(self) -> dict[str, str]:
        """Everything that can move a verdict: our rules, the policy, the settings, the libraries."""
        return {
            "rules": str(RULES_VERSION),
            "policy": self.rules.policy.value,
            "min_digits": str(self.rules.min_digits),
            "timeout_s": f"{self.timeout_s:g}",
            **{name: _version(name) for name in _LIBRARIES},
        }

    def worker_pids(self) -> list[int]:
        """Process ids of the workers that run now."""
        return self._pool.worker_pids()

    def close(self) -> None:
        """Ends the workers. A grader that is forgotten closes itself."""
        self._pool.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _submit(self, gold: Gold, response: str) -> "Future[Judgement]":
        golds = [gold] if isinstance(gold, str) else list(gold)
        if not self._algebra:
            return _settled(judge_plain(golds, response, self.rules))
        if self.rules.policy is Policy.BOXED:
            quick = judge_quickly(golds, response, self.rules)
            if isinstance(quick, Judgement):
                return _settled(quick)
            assert isinstance(quick, Undecided)
            # Only the answer travels: a response may be a thousand times longer.
            response = f"\\boxed{{{quick.answer}}}"
        return self._pool.submit(Request("judge", golds, response, self.rules, self.timeout_s))

    def _submit_gold(self, gold: Gold) -> "Future[Judgement]":
        golds = [gold] if isinstance(gold, str) else list(gold)
        if not self._algebra:
            return _settled(judge_plain(golds, f"\\boxed{{{golds[0]}}}", self.rules._replace(policy=Policy.BOXED)))
        quick = judge_quickly(golds, "\\boxed{0}", self.rules._replace(policy=Policy.BOXED))
        if isinstance(quick, Judgement) and quick.verdict in (Verdict.CORRECT, Verdict.INCORRECT):
            return _settled(Judgement(Verdict.CORRECT))
        return self._pool.submit(Request("gold", golds, "", self.rules, self.timeout_s))


@lru_cache(maxsize=16)
def shared_grader(policy: Policy | str, timeout_s: float, workers: int, min_digits: int) -> Grader:
    """The grader with these settings that all environments of this process share. Nobody closes it but the exit."""
    return Grader(policy, workers=workers, timeout_s=timeout_s, min_digits=min_digits)


def _settled(judgement: Judgement) -> "Future[Judgement]":
    future: Future[Judgement] = Future()
    future.set_result(judgement)
    return future


def _version(distribution: str) -> str:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


__all__ = [
    "Gold",
    "GoldError",
    "GoldProblem",
    "Grader",
    "GraderError",
    "Judgement",
    "Policy",
    "Verdict",
    "shared_grader",
]
