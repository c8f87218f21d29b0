"""The Hölder (power) mean of importance ratios, in log space, for every real exponent and both infinities.

HölderPO (arXiv 2605.12058) aggregates the token ratios r_t of a sequence by

    rho_p = ((1/n) sum_t r_t^p)^(1/p),   rho_0 = exp((1/n) sum_t log r_t)              (eq. 1)

whose derivative by log r_t is rho_p W_t with W_t = r_t^p / sum_k r_k^p                (eq. 3).
"""

import math
from typing import NamedTuple

import torch
from torch import Tensor

from .segments import Segments


class PowerMean(NamedTuple):
    """Power means of the units of a batch.

    Attributes:
        log_mean_U: log rho_p of each unit; differentiable by the log ratios. 0 for a unit without tokens.
        weight_T: W_t, the derivative of the unit's ``log_mean_U`` by the token's log ratio. Constant. Not
            negative, and 1 in sum over each unit that has tokens, for every p.
    """

    log_mean_U: Tensor
    weight_T: Tensor


def log_power_mean(
    log_ratio_T: Tensor, units: Segments, p: float | Tensor, weight_T: Tensor | None = None
) -> PowerMean:
    """Aggregates log importance ratios by the power mean with exponent p.

    With token weights w the mean is (sum_t v_t r_t^p)^(1/p), v_t = w_t / sum_k w_k. Half precision is
    computed in float32.

    The value is mu + log(sum_t v_t exp(p (log r_t - mu))) / p with mu = sum_t v_t log r_t. Around mu the sum is
    1 + O(p^2), so expm1 and log1p keep every digit as p goes to 0, where the plain form loses the digits that
    the division by p brings forward: in float32, all but two of them at p = 1e-5. So p = 0 is a branch
    for 0 alone and for what rounds like it (below 1e-31 in float32), and no threshold near 0 is needed. Where the
    terms are spread out the largest is factored out.

    Args:
        log_ratio_T: log r_t of each token, finite.
        units: The unit that each token is aggregated into.
        p: The exponent, one for all units or one a unit; may be infinite (largest or smallest ratio, whose
            weight is shared evenly by ties, as is the limit of W).
        weight_T: Token weights, not negative, constant; a token of weight 0 has no part in the mean.
    """
    live_T = log_ratio_T.to(torch.promote_types(log_ratio_T.dtype, torch.float32))
    log_T = live_T.detach()
    p_U = torch.as_tensor(p, dtype=log_T.dtype, device=log_T.device).expand(units.count)
    present_T = torch.ones_like(log_T) if weight_T is None else weight_T.detach().to(log_T.dtype)
    total_U = units.sum(present_T)
    share_T = present_T / units.spread(torch.where(total_U > 0, total_U, 1))

    centre_U = units.sum(share_T * log_T)
    offset_T = log_T - units.spread(centre_U)
    # Products with a p near the smallest numbers lose digits, and the mean there is that of 0 to the last one.
    numbers = torch.finfo(log_T.dtype)
    finite_U = torch.where(torch.isinf(p_U) | (p_U.abs() < numbers.tiny / numbers.eps), 0, p_U)
    power_T = torch.where(present_T > 0, units.spread(finite_U) * offset_T, -math.inf)
    largest_U = units.maximum(power_T, empty=0.0).clamp(min=0)
    term_T = share_T * torch.exp(power_T - units.spread(largest_U))
    sum_U = units.sum(term_T)
    sum_U = torch.where(sum_U > 0, sum_U, 1)

    small_T = torch.where(present_T > 0, power_T.clamp(max=1), 0)
    near_U = torch.log1p(units.sum(share_T * torch.expm1(small_T)))
    far_U = largest_U + torch.log(sum_U)
    safe_U = torch.where(finite_U == 0, 1, finite_U)
    value_U = centre_U + torch.where(largest_U <= 1, near_U, far_U) / safe_U
    value_U = torch.where(finite_U == 0, centre_U, value_U)
    mean_weight_T = term_T / units.spread(sum_U)

    if bool(torch.isinf(p).any()) if isinstance(p, Tensor) else math.isinf(p):
        extreme = _extreme(log_T, units, torch.sign(p_U), share_T)
        value_U = torch.where(torch.isinf(p_U), extreme.log_mean_U, value_U)
        mean_weight_T = torch.where(units.spread(torch.isinf(p_U)), extreme.weight_T, mean_weight_T)
    # The added term is exactly 0 and carries the derivative W_t: autograd never sees a power or a logarithm.
    return PowerMean(value_U + units.sum(mean_weight_T * (live_T - log_T)), mean_weight_T)


def _extreme(log_T: Tensor, units: Segments, sign_U: Tensor, share_T: Tensor) -> PowerMean:
    """The means for p = +inf and -inf: the largest ratio for a positive sign, the smallest for a negative one."""
    signed_T = torch.where(share_T > 0, units.spread(sign_U) * log_T, -math.inf)
    best_U = units.maximum(signed_T, empty=0.0)
    attained_T = torch.where(signed_T == units.spread(best_U), share_T, 0)
    total_U = units.sum(attained_T)
    weight_T = attained_T / units.spread(torch.where(total_U > 0, total_U, 1))
    return PowerMean(torch.where(total_U > 0, sign_U * best_U, 0), weight_T)


def weight_entropy(weight_T: Tensor, units: Segments) -> Tensor:
    """Shannon entropy of the weights W of each unit, in nats.

    Theorem 1 of arXiv 2605.12058: as a function of p it is largest, log n, at p = 0 and strictly decreasing in
    |p| when two ratios differ; its derivative is -p Var_W(log r).
    """
    return -units.sum(torch.xlogy(weight_T, weight_T))


def effective_sample_size(weight_T: Tensor, units: Segments) -> Tensor:
    """1 / sum_t W_t^2 of each unit: the number of tokens that share the gradient evenly to the same effect.

    The squared norm of the gradient of a unit whose token gradients are orthogonal with mean square norm M^2
    is A^2 M^2 rho_p^2 / ESS (theorem 7 of arXiv 2605.12058). 0 for a unit without tokens.
    """
    squares_U = units.sum(weight_T.square())
    return torch.where(squares_U > 0, 1 / squares_U.clamp(min=torch.finfo(squares_U.dtype).tiny), 0)
