"""Numbers for tasks that are played several times: pass@k, pass^k and avg@k.

A task was played n times and c of these were won. Each number is the mean, over all subsets of k of the n samples,
of what it says about k samples: it is unbiased for every n >= k, and uses all n. With fewer than k samples there is
no such subset, and the number is undefined: it is neither 0 nor that of fewer samples.
"""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from .value import Value


class Attempts(NamedTuple):
    """How often a task was played to its end, and how many of these were won."""

    samples: int
    won: int


Estimator = Callable[[int, int, int], Value]


def pass_at_k(samples: int, won: int, k: int) -> Value:
    """Probability that at least one of k samples of a task is won: ``1 - C(n-c, k) / C(n, k)``.

    Chen et al. 2021, "Evaluating Large Language Models Trained on Code", eq. 1. Computed as a product, so that no
    binomial coefficient overflows and a small probability keeps its digits.

    Args:
        samples: n, the number of samples.
        won: c, how many of them were won.
        k: Number of samples that one may take.

    Raises:
        ValueError: If ``won`` is not between 0 and ``samples``, or ``k`` is not positive.
    """
    if (cause := _too_few(samples, won, k)) is not None:
        return Value.undefined(cause)
    return Value(0.0 - math.expm1(_log_share_without(samples, won, k)))  # never -0.0


def pass_hat_k(samples: int, won: int, k: int) -> Value:
    """Probability that all of k samples of a task are won (pass^k): ``C(c, k) / C(n, k)``.

    Yao et al. 2024, "tau-bench", section 3. Arguments and errors as for ``pass_at_k``.
    """
    if (cause := _too_few(samples, won, k)) is not None:
        return Value.undefined(cause)
    return Value(math.exp(_log_share_without(samples, samples - won, k)))


def avg_at_k(samples: int, won: int, k: int) -> Value:
    """Expected share of k samples that are won: ``c / n``, whatever k is, given at least k samples.

    Arguments and errors as for ``pass_at_k``.
    """
    if (cause := _too_few(samples, won, k)) is not None:
        return Value.undefined(cause)
    return Value(won / samples)


def mean_over_tasks(tasks: Sequence[Attempts], k: int, estimator: Estimator) -> Value:
    """The mean of an estimator over tasks, each task with the same weight.

    Undefined as soon as one task has too few samples: leaving that task out would change what is measured.
    """
    if not tasks:
        return Value.undefined("no task was played")
    short = sum(task.samples < k for task in tasks)
    if short:
        return Value.undefined(f"{short} of {len(tasks)} tasks have fewer than {k} finished samples")
    # Few pairs (n, c) are different, however many tasks there are.
    total = math.fsum(
        count * estimator(task.samples, task.won, k).value for task, count in sorted(Counter(tasks).items())
    )
    return Value(total / len(tasks))


def _too_few(samples: int, won: int, k: int) -> str | None:
    if not 0 <= won <= samples:
        raise ValueError(f"{won} of {samples} samples won")
    if k < 1:
        raise ValueError(f"k is {k}: it counts samples, from 1")
    if samples < k:
        return f"{samples} samples are fewer than k = {k}"
    return None


def _log_share_without(samples: int, marked: int, k: int) -> float:
    """Log of the share of k-subsets that hold none of the marked samples: C(n-m, k) / C(n, k).

    The share is the product of ``1 - k/i`` for i from n-m+1 to n. It does not change when k and m change places, so
    the smaller one says how many factors there are.
    """
    if samples - marked < k:
        return -math.inf
    few, many = sorted((marked, k))
    return float(np.log1p(-many / np.arange(samples - few + 1, samples + 1)).sum())
