"""What a run has used: tokens, seconds, and money where prices are given. Pure functions.

None of it is in ``summary.json``: how long something takes, and what was still cached, differs each time.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ..agents.trajectory import Outcome
from ..agents.usage import Prices, Usage
from .metrics import NO_REPLY, NOT_COUNTED, NOTHING_FINISHED, NOTHING_WON, per
from .results import Result
from .value import Value, ratio

NO_PRICES = "no prices are given for its model"
CACHED_NOT_COUNTED = "the server does not say how many prompt tokens were cached"


@dataclass(frozen=True, slots=True)
class Spending:
    """Of the finished episodes of a run; the costs are of failed ones too, which have to be paid for as well.

    Attributes:
        prompt_tokens: Tokens of all prompts, an episode; cached ones included.
        cached_share: Share of them that were not computed again, where the server tells.
        generated_tokens: Tokens of all replies, an episode.
        generated_tokens_per_success: Tokens of all replies / episodes won.
        agent_seconds: Seconds of waiting for the agent, an episode. Of episodes that are played at once each waits for
            itself, so that their sum may be more than the run took.
        env_seconds: Seconds of waiting for the environment, an episode.
        cost: Of all episodes, in the currency of the prices; as if nothing was cached where a server does not tell. Of
            an episode that failed and was played again only the last attempt is counted.
        cost_per_success: Cost / episodes won.
    """

    prompt_tokens: Value
    cached_share: Value
    generated_tokens: Value
    generated_tokens_per_success: Value
    agent_seconds: Value
    env_seconds: Value
    cost: Value
    cost_per_success: Value


def spending(results: Sequence[Result], prices: Prices | None = None) -> Spending:
    """Adds up what the episodes used.

    Args:
        results: Each task and sample at most once.
        prices: What a million tokens cost; None where that is not known.
    """
    finished = [result for result in results if result.outcome.finished]
    episodes = len(finished)
    won = sum(result.outcome is Outcome.WON for result in finished)
    usage, cause = _usage(finished)
    prompt, generated = (
        Value(float(number)) if cause == "" else Value.undefined(cause) for number in (usage.prompt, usage.generated)
    )
    cost = _cost(results, prices)
    return Spending(
        prompt_tokens=per(prompt, episodes, NOTHING_FINISHED),
        cached_share=_cached_share(usage, prompt),
        generated_tokens=per(generated, episodes, NOTHING_FINISHED),
        generated_tokens_per_success=per(generated, won, NOTHING_WON),
        agent_seconds=ratio(math.fsum(result.agent_seconds for result in finished), episodes, NOTHING_FINISHED),
        env_seconds=ratio(math.fsum(result.env_seconds for result in finished), episodes, NOTHING_FINISHED),
        cost=cost,
        cost_per_success=per(cost, won, NOTHING_WON),
    )


def _cached_share(usage: Usage, prompt: Value) -> Value:
    if not prompt.defined:
        return prompt
    return Value.undefined(CACHED_NOT_COUNTED) if usage.cached is None else ratio(usage.cached, usage.prompt, NO_REPLY)


def _cost(results: Sequence[Result], prices: Prices | None) -> Value:
    usage, cause = _usage(results)
    if cause:
        return Value.undefined(cause)
    return Value.undefined(NO_PRICES) if prices is None else Value(prices.cost(usage))


def _usage(results: Sequence[Result]) -> tuple[Usage, str]:
    """All tokens, and the cause if they are not known."""
    replied = [result.usage for result in results if result.replies]
    counted = [usage for usage in replied if usage is not None]
    cause = NO_REPLY if not replied else NOT_COUNTED if len(counted) < len(replied) else ""
    return Usage.total(counted), cause
