"""Small batches for tests: random rollouts, and batches with given log ratios and advantages."""

from collections.abc import Sequence

import torch
from holdergym.training import Layout, Rollout, Segments, TokenBatch
from torch import Tensor


def single_turns(log_ratio_rows: Sequence[Sequence[float]], advantages: Sequence[float]) -> tuple[TokenBatch, Tensor]:
    """A batch of one-turn episodes in one group, and the present log-probabilities that give these log ratios."""
    layout = Layout.of_single_turns([len(row) for row in log_ratio_rows], group_size=len(log_ratio_rows))
    log_ratio_T = torch.tensor([value for row in log_ratio_rows for value in row], dtype=torch.float64)
    old_logp_T = -torch.linspace(0.1, 3, len(log_ratio_T), dtype=torch.float64)
    return even_batch(layout, old_logp_T, layout.rows.spread(torch.tensor(advantages, dtype=torch.float64))), (
        old_logp_T + log_ratio_T
    )


def even_batch(layout: Layout, old_logp_T: Tensor, advantage_T: Tensor) -> TokenBatch:
    """A batch in which every token has the same share."""
    share_T = torch.full((len(old_logp_T),), 1 / max(1, len(old_logp_T)), dtype=torch.float64)
    return TokenBatch(
        layout=layout,
        old_logp_T=old_logp_T,
        advantage_T=advantage_T,
        policy_share_T=share_T,
        kl_share_T=share_T,
        entropy_share_T=share_T,
    )


def random_layout(
    seed: int, *, groups: int = 3, episodes: int = 4, turns: int = 3, tokens: int = 6, least: int = 0
) -> Layout:
    """Groups of episodes of 1 to ``turns`` turns, of ``least`` to ``tokens`` tokens each."""
    generator = torch.Generator().manual_seed(seed)
    turns_E = torch.randint(1, turns + 1, (groups * episodes,), generator=generator)
    tokens_B = torch.randint(least, tokens + 1, (int(turns_E.sum()),), generator=generator)
    return Layout(
        rows=Segments.from_lengths(tokens_B),
        episodes=Segments.from_lengths(turns_E),
        groups=Segments.from_lengths([episodes] * groups),
    )


def random_rollout(seed: int, layout: Layout, *, scale: float = 0.3, dtype: torch.dtype = torch.float64) -> Rollout:
    """A rollout with everything in it that any method reads."""
    generator = torch.Generator().manual_seed(seed)
    tokens, rows, episodes = len(layout.rows.index), layout.rows.count, layout.episodes.count

    def normal(number: int) -> Tensor:
        return torch.randn(number, generator=generator, dtype=dtype)

    old_logp_T = -normal(tokens).abs() - 0.05
    verifier_E = (torch.rand(episodes, generator=generator) < 0.5).to(dtype)
    return Rollout(
        layout=layout,
        reward_E=verifier_E + 0.1 * normal(episodes),
        verifier_E=verifier_E,
        old_logp_T=old_logp_T,
        reference_logp_T=old_logp_T + scale * normal(tokens),
        behaviour_logp_T=old_logp_T + scale * normal(tokens),
        step_reward_B=normal(rows),
        penalty_B=0.1 * (torch.rand(rows, generator=generator) < 0.3).to(dtype),
        anchor_B=torch.randint(0, 3, (rows,), generator=generator),
    )
