"""What the log says of a round's episodes."""

from collections.abc import Mapping

import torch

from ..agents.trajectory import Outcome
from .advantages import collapse_rate
from .batch import Rollout
from .experience import Experience


def of_episodes(experience: Experience, rollout: Rollout) -> dict[str, float]:
    """Numbers over the episodes that can be trained on; successes over those that the policy itself has played.

    Args:
        experience: The round.
        rollout: The same as the policy's stages see it.
    """
    kept = experience.trajectories
    turns = [turn for one in kept for turn in one.turns]
    own = [one for one, learner in zip(kept, rollout.learner_E.tolist(), strict=True) if learner]
    numbers = {
        "reward": float(rollout.reward_E.double().mean()),
        "success": _mean([one.outcome is Outcome.WON for one in own]),
        "goal_conditions": _mean([one.goal_condition_success_rate or 0.0 for one in own]),
        "turns": len(turns) / len(kept),
        "response_tokens": len(experience.sampled_logp_T) / len(turns),
        "invalid_commands": sum(not turn.valid for turn in turns) / len(turns),
        "unparsable": sum(turn.unparsable for turn in turns) / len(turns),
        "cut_responses": sum(turn.finish == "length" for turn in turns) / len(turns),
        "episodes": float(len(kept)),
        "failed_episodes": float(experience.failed),
        "left_out_episodes": float(experience.lonely),
        "collapsed_groups": collapse_rate(rollout).value,
    }
    if rollout.peer_logp_T is not None:
        # In expectation the divergence KL(policy || other learner) of a token.
        numbers["divergence_from_partner"] = float((rollout.old_logp_T - rollout.peer_logp_T).double().mean())
    for kind in sorted({one.task_type for one in own}):
        numbers[f"success/{kind}"] = _mean([one.outcome is Outcome.WON for one in own if one.task_type == kind])
    return numbers


def of_sampler(rollout: Rollout) -> dict[str, float]:
    """Largest difference of the sampler's log-probability of a token from the trainer's.

    What is off by more than rounding trains the policy on what it did not say.
    """
    assert rollout.behaviour_logp_T is not None
    own_T = rollout.layout.units("trajectory").spread(rollout.learner_E)
    difference_T = (rollout.behaviour_logp_T - rollout.old_logp_T).abs()[own_T]
    return {"sampler_mismatch": float(difference_T.max())} if len(difference_T) else {}


def of_speed(
    experience: Experience, trained: Experience, epochs: int, seconds: Mapping[str, float]
) -> dict[str, float]:
    """Tokens a second, and the accelerator's memory.

    Args:
        experience: The round.
        trained: What of it was trained on.
        epochs: Passes over that.
        seconds: Wall time by stage.
    """
    sampled = len(experience.sampled_logp_T)
    total = epochs * sum(len(one.ids) for one in trained.sequences)
    found = {"sampled_tokens_per_s": sampled / seconds["rollout"], "trained_tokens_per_s": total / seconds["update"]}
    if torch.cuda.is_available():
        found["memory_gib"] = torch.cuda.max_memory_allocated() / 2**30
    return found


def _mean(values: list[bool] | list[float]) -> float:
    return sum(values) / len(values) if values else float("nan")
