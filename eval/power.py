"""How many tasks a comparison needs, and what it can see with those that there are."""

import math
from statistics import NormalDist

import numpy as np

ALPHA = 0.05
POWER = 0.8
# From here on paired sizes come from a formula: the exact test's would differ by less than the step of its search.
_MOST_EXACT = 1_000_000
# Share of the chance that is left out at each end of the numbers of discordant tasks.
_TAIL = 1e-15


def unpaired_size(first: float, second: float, *, power: float = POWER, alpha: float = ALPHA) -> int:
    """Tasks that each of two agents must play, other tasks each, to show that their success rates differ.

    The usual formula for two proportions with a two-sided test (Fleiss, Levin and Paik 2003, eq. 4.14, without
    continuity correction). 0.908 against 0.938 takes 1,239 tasks an arm.

    Raises:
        ValueError: If a rate, the power or alpha is not inside (0, 1), or the rates are equal.
    """
    _check(first, second, power, alpha)
    accept, detect = NormalDist().inv_cdf(1 - alpha / 2), NormalDist().inv_cdf(power)
    pooled = (first + second) / 2
    spread = accept * math.sqrt(2 * pooled * (1 - pooled)) + detect * math.sqrt(
        first * (1 - first) + second * (1 - second)
    )
    return math.ceil((spread / (second - first)) ** 2)


def unpaired_power(first: float, second: float, tasks: int, *, alpha: float = ALPHA) -> float:
    """Probability that two agents with these rates, ``tasks`` tasks each, are told apart; see ``unpaired_size``."""
    _check(first, second, POWER, alpha)
    pooled = (first + second) / 2
    accept = NormalDist().inv_cdf(1 - alpha / 2) * math.sqrt(2 * pooled * (1 - pooled))
    spread = math.sqrt(first * (1 - first) + second * (1 - second))
    return NormalDist().cdf((abs(second - first) * math.sqrt(tasks) - accept) / spread)


def discordant_share(first: float, second: float, correlation: float = 0.0) -> float:
    """Share of tasks that exactly one of two agents wins.

    Args:
        first: Success rate of one.
        second: Success rate of the other.
        correlation: Correlation of their outcomes over tasks. 0 means that what one wins says nothing about the
            other, which asks for the most tasks; agents find much the same tasks hard, so it is higher in practice.

    Raises:
        ValueError: If a rate is outside [0, 1], or such a correlation cannot be with these rates.
    """
    if not (0.0 <= first <= 1.0 and 0.0 <= second <= 1.0):
        raise ValueError(f"rates of {first} and {second}")
    apart = first * (1 - second) + second * (1 - first)
    spread = math.sqrt(first * (1 - first) * second * (1 - second))
    share = apart - 2 * correlation * spread
    if not abs(second - first) - 1e-12 <= share <= min(first + second, 2 - first - second) + 1e-12:
        raise ValueError(f"outcomes with rates {first:g} and {second:g} cannot have a correlation of {correlation:g}")
    return max(share, abs(second - first))


def paired_size(effect: float, discordant: float, *, power: float = POWER, alpha: float = ALPHA) -> int:
    """Tasks that two agents must both play, once each, for McNemar's exact test to show the effect.

    The first number of tasks, to within one in 500, whose power, worked out exactly, reaches what is asked for.
    Power does not grow quite evenly with the number of tasks, as counts are whole. Above a million tasks it is the
    number of Connor 1987 (Biometrics 43:207), from the normal distribution, which is then within one in 500 as well.

    Args:
        effect: Difference of the success rates.
        discordant: Share of tasks that exactly one of them wins; at least the effect.
        power: Probability of showing the effect.
        alpha: Level of the two-sided test.

    Raises:
        ValueError: If a number is out of its range.
    """
    if not 0.0 < abs(effect) <= discordant <= 1.0:
        raise ValueError(f"an effect of {effect:g} with {discordant:g} of the tasks discordant")
    _check(0.5, 0.6, power, alpha)
    # Connor's formula is for the test without continuity: fewer than the exact test needs.
    accept, detect = NormalDist().inv_cdf(1 - alpha / 2), NormalDist().inv_cdf(power)
    spread = accept * math.sqrt(discordant) + detect * math.sqrt(max(0.0, discordant - effect**2))
    normal = (spread / effect) ** 2
    if normal > _MOST_EXACT:
        return math.ceil(normal)
    tasks = max(1, math.floor(0.9 * normal))
    while paired_power(effect, discordant, tasks, alpha=alpha) < power:
        tasks += max(1, tasks // 500)
    return tasks


def paired_power(effect: float, discordant: float, tasks: int, *, alpha: float = ALPHA) -> float:
    """Probability that McNemar's exact test tells two agents apart; arguments as for ``paired_size``."""
    if not 0.0 <= abs(effect) <= discordant <= 1.0 or tasks < 1:
        raise ValueError(f"an effect of {effect:g} with {discordant:g} of {tasks} tasks discordant")
    if discordant == 0.0:
        return 0.0
    from scipy.stats import binom

    # Numbers of discordant tasks that hardly ever happen only cost time and memory.
    fewest, highest = binom.ppf(_TAIL, tasks, discordant), binom.isf(_TAIL, tasks, discordant)
    counts = np.arange(int(fewest), int(highest) + 1)
    likely = binom.pmf(counts, tasks, discordant)
    # The largest count in the smaller tail that still rejects; -1 where none does.
    most = binom.ppf(alpha / 2, counts, 0.5)
    most = np.where(binom.cdf(most, counts, 0.5) > alpha / 2, most - 1, most)
    better = (discordant + abs(effect)) / (2 * discordant)
    rejects = binom.cdf(most, counts, better) + binom.sf(counts - most - 1, counts, better)
    return float(likely @ np.where(most >= 0, rejects, 0.0))


def visible_effect(
    baseline: float, tasks: int, *, correlation: float | None, power: float = POWER, alpha: float = ALPHA
) -> float:
    """The smallest gain over ``baseline`` that so many tasks show with the given power; NaN if none is.

    Args:
        baseline: Success rate of the first agent.
        tasks: Tasks that each agent plays once.
        correlation: Of the outcomes over tasks, for the paired test; None for other tasks each.
        power: Probability of showing the gain.
        alpha: Level of the two-sided test.
    """
    low, high = 0.0, 1.0 - baseline
    if high <= 0.0 or _gain_power(baseline, high * (1 - 1e-9), tasks, correlation, alpha) < power:
        return math.nan
    for _ in range(40):
        middle = (low + high) / 2
        if _gain_power(baseline, middle, tasks, correlation, alpha) < power:
            low = middle
        else:
            high = middle
    return high


def _gain_power(baseline: float, gain: float, tasks: int, correlation: float | None, alpha: float) -> float:
    better = baseline + gain
    if correlation is None:
        return unpaired_power(baseline, better, tasks, alpha=alpha)
    # Near the largest gain the outcomes can no longer correlate so much: what one wins, the other wins.
    spread = math.sqrt(baseline * (1 - baseline) * better * (1 - better))
    share = baseline * (1 - better) + better * (1 - baseline) - 2 * correlation * spread
    return paired_power(gain, max(gain, share), tasks, alpha=alpha)


def _check(first: float, second: float, power: float, alpha: float) -> None:
    for name, value in (("rate", first), ("rate", second), ("power", power), ("level", alpha)):
        if not 0.0 < value < 1.0:
            raise ValueError(f"a {name} of {value:g} is not inside (0, 1)")
    if first == second:
        raise ValueError("two equal rates cannot be told apart by any number of tasks")
