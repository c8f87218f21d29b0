"""What runs inside a grading worker: a loop that answers one question at a time.

The parent kills a worker that takes too long. Should the parent be gone, a limit on the processor time of each
question ends a worker that is stuck, and the closed channel ends one that waits.
"""

import logging
import math
import resource
import socket
import time
from collections.abc import Sequence

from .answers.extraction import Policy
from .channel import Channel, ChannelClosed
from .judging import Judgement, Rules, Verdict, gold_problem, judge

READY = "ready"


def main(fd: int, memory_mb: int) -> None:
    """Serves the channel on file descriptor ``fd`` until the parent closes it."""
    memory = memory_mb * 2**20
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # math-verify warns once that it runs without its alarm signal; the parent's kill replaces that signal.
    logging.disable(logging.WARNING)
    _warm_up()
    channel = Channel(socket.socket(fileno=fd))
    channel.send(READY)
    while True:
        try:
            request = channel.receive()
            channel.send(_answer(request))
        except ChannelClosed:
            return


def _answer(request: object) -> list[object]:
    assert isinstance(request, list)
    task, golds, response, policy, min_digits, timeout = request
    _limit_processor_time(float(timeout))
    start = time.perf_counter()
    try:
        rules = Rules(Policy(policy), int(min_digits))
        judgement = _check(golds) if task == "gold" else judge(golds, response, rules)
    except MemoryError:
        judgement = Judgement(Verdict.ERROR, None, "the comparison needs more memory than a worker may have")
    # The boundary of the process: whatever the algebra system trips over is this item's outcome, with its reason.
    except Exception as error:  # noqa: BLE001
        reason = f"the comparison failed: {type(error).__name__}: {' '.join(str(error).split())[:120]}"
        judgement = Judgement(Verdict.ERROR, None, reason)
    return [judgement.verdict, judgement.answer, judgement.reason, time.perf_counter() - start]


def _check(golds: Sequence[str]) -> Judgement:
    for gold in golds:
        problem = gold_problem(gold)
        if problem is not None:
            return Judgement(Verdict.ERROR, gold, problem)
    return Judgement(Verdict.CORRECT, None)


def _limit_processor_time(timeout: float) -> None:
    used = resource.getrusage(resource.RUSAGE_SELF)
    soft = math.ceil(used.ru_utime + used.ru_stime + timeout) + 2
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (soft if hard == resource.RLIM_INFINITY else min(soft, hard), hard))


def _warm_up() -> None:
    """Loads the algebra system and the parser's tables before the first clock starts."""
    judge(["x+1"], "\\boxed{\\frac{2x+2}{2}}", Rules())
