import math
import random
import statistics
from dataclasses import replace

import pytest
import torch
from holdergym.envs.errors import ConfigError
from holdergym.training import GroupAdvantage, Layout, Rollout, Segments
from holdergym.training.advantages import Advantages
from holdergym.training.variants.avspo import VirtualSampleAdvantage

G = 8


def rollout(groups: list[list[float]], explorer: list[bool] | None = None) -> Rollout:
    """One-token episodes with these verifier rewards."""
    sizes = [len(group) for group in groups]
    rewards = torch.tensor([reward for group in groups for reward in group], dtype=torch.float64)
    count = len(rewards)
    layout = Layout(
        Segments.from_lengths([1] * count), Segments.from_lengths([1] * count), Segments.from_lengths(sizes)
    )
    return Rollout(
        layout=layout,
        reward_E=rewards,
        verifier_E=rewards,
        old_logp_T=torch.zeros(count),
        explorer_E=None if explorer is None else torch.tensor(explorer),
    )


def collapsed(wrong: int, right: int, mixed: int) -> Rollout:
    half = [1.0, 0.0] * (G // 2)
    return rollout([[0.0] * G] * wrong + [[1.0] * G] * right + [half] * mixed)


def advantages(rolled: Rollout, state: dict[str, float] | None = None, **settings: object) -> Advantages:
    return VirtualSampleAdvantage(**settings)(rolled, state or {})  # type: ignore[arg-type]


@pytest.mark.parametrize(("acr", "number"), [(0.05, 2), (0.125, 3), (0.25, 4), (0.375, 5), (0.5, 6), (0.75, 7), (1, 8)])
def test_number_of_virtual_samples(acr: float, number: int) -> None:
    assert VirtualSampleAdvantage()._number(torch.tensor([G]), acr).tolist() == [number]


def test_at_least_one_virtual_sample() -> None:
    assert VirtualSampleAdvantage()._number(torch.tensor([G]), 0.0).tolist() == [1]
    # 9 x sqrt(1/9) is 3, whatever floating point makes of it.
    assert VirtualSampleAdvantage()._number(torch.tensor([9]), 1 / 9).tolist() == [3]


@pytest.mark.parametrize(
    ("wrong", "right", "mixed", "expected"),
    [(1, 0, 7, 0.5523), (1, 1, 6, 0.6202), (2, 2, 4, 0.7276), (4, 4, 0, 0.8115)],
)
def test_the_advantage_of_repaired_groups(wrong: int, right: int, mixed: int, expected: float) -> None:
    """K = 3, 4, 6 and 8; all-wrong and all-correct groups are mirror images of each other."""
    found = advantages(collapsed(wrong, right, mixed), threshold=0.0, rate=0.0).advantage_T.reshape(-1, G)
    assert found[:wrong].flatten().tolist() == pytest.approx([-expected] * wrong * G, abs=1e-4)
    right_groups = found[wrong : wrong + right].flatten()
    assert right_groups.tolist() == pytest.approx([expected] * right * G, abs=1e-4)


def test_groups_with_both_are_left_alone_to_the_last_bit() -> None:
    rolled = collapsed(2, 1, 3)
    found = advantages(rolled, threshold=0.1)
    plain = GroupAdvantage()(rolled, {}).advantage_T
    assert torch.equal(found.advantage_T[3 * G :], plain[3 * G :])
    assert (plain[: 3 * G] == 0).all()
    assert (found.advantage_T[: 3 * G] != 0).all()
    assert found.metrics["repaired_groups"].value == 0.5


def test_nothing_is_repaired_below_the_threshold_or_when_turned_off() -> None:
    rolled = collapsed(1, 1, 6)
    plain = GroupAdvantage()(rolled, {}).advantage_T
    assert torch.equal(advantages(rolled, threshold=0.25).advantage_T, plain)  # ACR is 0.25, not above it
    assert not torch.equal(advantages(rolled, threshold=0.24).advantage_T, plain)
    off = advantages(collapsed(8, 0, 0), threshold=1.0)
    assert torch.equal(off.advantage_T, torch.zeros(64, dtype=torch.float64))
    assert off.state == {}


def test_the_bound_of_the_paper() -> None:
    """A uniform advantage is at most sqrt(K / G)."""
    for wrong in range(1, 9):
        found = advantages(collapsed(wrong, 0, 8 - wrong), threshold=0.0)
        number = VirtualSampleAdvantage()._number(torch.tensor([G]), wrong / 8).item()
        assert found.advantage_T[0].abs() <= (number / G) ** 0.5 + 1e-9


def test_the_earlier_form_leaves_all_wrong_groups_collapsed() -> None:
    result = advantages(collapsed(4, 4, 0), threshold=0.0, mode="www")
    found = result.advantage_T
    assert (found[: 4 * G] == 0).all()
    assert (found[4 * G :] > 0).all()
    assert result.metrics["repaired_groups"].value == 0.5
    # K = 8 of the virtual rewards 1, 7/8 ... 1/8.
    virtual = [1 - k / 8 for k in range(8)]
    expected = (1 - statistics.fmean([*[1.0] * 8, *virtual])) / statistics.pstdev([*[1.0] * 8, *virtual])
    assert found[-1].item() == pytest.approx(expected, abs=1e-5)


def test_the_authors_code_acts_only_when_the_whole_round_is_alike() -> None:
    code = {"mode": "code", "scale": "unbiased", "epsilon": 1e-4}
    assert advantages(collapsed(1, 0, 0), **code).advantage_T.tolist() == pytest.approx([-0.3332] * G, abs=1e-4)
    assert advantages(collapsed(0, 2, 0), **code).advantage_T.tolist() == pytest.approx([0.3332] * 2 * G, abs=1e-4)
    assert (advantages(collapsed(1, 1, 0), **code).advantage_T == 0).all()
    assert advantages(collapsed(1, 0, 0), **code).state == {}


def test_the_anchor_cancels_unless_there_is_no_scale() -> None:
    rolled = collapsed(8, 0, 0)
    for anchor in (0.05, 0.1, 5.0):
        assert advantages(rolled, threshold=0.0, anchor=anchor).advantage_T[0].item() == pytest.approx(
            -0.8115, abs=1e-4
        )
    small = advantages(rolled, threshold=0.0, anchor=0.1, scale="none").advantage_T[0].item()
    assert small == pytest.approx(-0.1 * (9 / 2) / 16)  # mean of 8 zeros and 0.1 k / 8
    assert advantages(rolled, threshold=0.0, anchor=0.2, scale="none").advantage_T[0].item() == pytest.approx(2 * small)


def test_the_threshold_follows_the_rate_while_things_improve() -> None:
    stage = VirtualSampleAdvantage()
    first = stage(collapsed(2, 0, 6), {})
    assert first.state == {"threshold": 0.5, "performance": 0.375}
    better = stage(collapsed(0, 2, 6), first.state)  # J rises from 3/8 to 5/8, ACR is 1/4
    assert better.state["threshold"] == pytest.approx(0.5 + 0.01 * (0.25 - 0.5))
    worse = stage(collapsed(2, 0, 6), better.state)
    assert worse.state["threshold"] == pytest.approx(0.4975 - 0.01 * (0.25 - 0.4975))
    same = stage(collapsed(2, 0, 6), worse.state)
    assert same.state["threshold"] == worse.state["threshold"]


def test_the_threshold_stays_between_its_bounds() -> None:
    stage = VirtualSampleAdvantage(rate=1.0)
    assert stage(collapsed(0, 1, 0), {"threshold": 0.5, "performance": 0.0}).state["threshold"] == 0.9
    assert stage(collapsed(0, 0, 1), {"threshold": 0.5, "performance": 0.0}).state["threshold"] == 0.1


def test_a_threshold_that_does_not_move_is_kept_whatever_it_is() -> None:
    stage = VirtualSampleAdvantage(threshold=0.0, rate=0.0)
    first = stage(collapsed(1, 0, 31), {})
    assert first.state["threshold"] == 0
    later = stage(collapsed(1, 0, 31), first.state)  # ACR is 1/32, below the bound of a threshold that moves
    assert later.metrics["repaired_groups"].value == 1 / 32


PAID = [[-1.0] * 4, [-0.2] * 4, [0.0] * 4, [0.5] * 4, [3.0] * 4, [0.1, 0.2, 0.3, 0.9], [-0.9, -0.9, -0.9, -0.1]]


@pytest.mark.parametrize("paid", PAID)
@pytest.mark.parametrize("mode", ["icml", "www", "code"])
@pytest.mark.parametrize("right", [True, False])
def test_right_groups_are_drawn_nearer_and_wrong_ones_pushed_away_whatever_they_are_paid(
    paid: list[float], mode: str, right: bool
) -> None:
    """Shaped rewards may pay a right episode less than nothing, or a wrong one something."""
    others = [] if mode == "code" else [[1.0, 0.0, 1.0, 0.0]]
    rolled = rollout([[float(right)] * 4, *others])
    rewards = [*paid, *(reward for group in others for reward in group)]
    rolled = replace(rolled, reward_E=torch.tensor(rewards, dtype=torch.float64))
    found = advantages(rolled, threshold=0.0, mode=mode).advantage_T[:4]
    if mode == "www" and not right:
        # The earlier form does not repair these.
        assert torch.equal(found, GroupAdvantage()(rolled, {}).advantage_T[:4])
        return
    sign = 1 if right else -1
    assert sign * found.mean() > 0
    if len(set(paid)) == 1:
        assert (sign * found > 0).all()
    assert found.argsort(stable=True).tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("paid", [-2.0, -0.2, 0.0])
def test_right_groups_that_are_paid_nothing_or_less_mirror_wrong_ones(paid: float) -> None:
    """K = 6 of 8: the advantage is that of the sources' rewards, and without a scale that of the mirrored steps."""
    rolled = collapsed(0, 4, 4)
    rolled = replace(rolled, reward_E=torch.where(torch.arange(64) < 4 * G, paid, rolled.reward_E))
    assert advantages(rolled, threshold=0.0).advantage_T[0].item() == pytest.approx(0.7276, abs=1e-4)
    wrong = advantages(collapsed(4, 0, 4), threshold=0.0, scale="none").advantage_T[0].item()
    right = advantages(rolled, threshold=0.0, scale="none").advantage_T[0].item()
    assert right == pytest.approx(-wrong)


def test_virtual_rewards_of_the_authors_code_keep_their_distance() -> None:
    """Without a scale the advantage is the distance to the mean of 8 real rewards and the virtual one."""
    for paid, right, virtual in (
        (1.0, True, 0.0),
        (0.05, True, -0.05),
        (-0.2, True, -0.3),
        (0.0, False, 1.0),
        (-1.0, False, 1.0),
        (1.0, False, 1.1),
    ):
        rolled = replace(rollout([[float(right)] * G]), reward_E=torch.full((G,), paid, dtype=torch.float64))
        found = advantages(rolled, mode="code", scale="none").advantage_T
        assert found.tolist() == pytest.approx([(paid - virtual) / 9] * G)


def test_the_bound_is_reached_where_all_virtual_rewards_are_equal() -> None:
    found = advantages(collapsed(1, 0, 0), mode="code", epsilon=1e-12).advantage_T
    assert found.tolist() == pytest.approx([-((1 / G) ** 0.5)] * G)


def test_the_log_has_a_threshold_where_there_is_one() -> None:
    for mode in ("icml", "www"):
        assert advantages(collapsed(1, 0, 0), mode=mode).metrics["avspo_threshold"].value == 0.5
    assert "avspo_threshold" not in advantages(collapsed(1, 0, 0), mode="code").metrics


def test_random_groups_of_uneven_sizes_against_the_formula() -> None:
    generator = random.Random(5)
    for _ in range(60):
        groups = [
            [float(generator.random() < chance) for _ in range(generator.choice([1, 2, 3, 8]))]
            for chance in generator.choices([0, 0.5, 1], k=generator.choice([1, 2, 5]))
        ]
        threshold = generator.choice([0.1, 0.3, 0.6])
        found = advantages(rollout(groups), threshold=threshold).advantage_T.tolist()
        rate = sum(len(set(group)) == 1 for group in groups) / len(groups)
        expected = []
        for group in groups:
            seen = list(group)
            if rate > threshold and len(set(group)) == 1:
                number = max(1, min(len(group), math.ceil(len(group) * rate**0.5)))
                top = max(group)
                seen += [
                    top * (1 - k / (number + 1)) if top > 0 else 0.1 * (number - k + 1) / number
                    for k in range(1, number + 1)
                ]
            mean, std = statistics.fmean(seen), statistics.pstdev(seen)
            expected += [(reward - mean) / (std + 1e-6) for reward in group]
        assert found == pytest.approx(expected, abs=1e-9)


def test_a_window_averages_the_rate() -> None:
    """One group a round: alone its rate is 0 or 1, over four rounds it is what the paper reports."""
    stage = VirtualSampleAdvantage(window=4, threshold=0.3, rate=0.0)
    state: dict[str, float] = {}
    seen = []
    for number in range(6):
        found = stage(collapsed(1, 0, 0) if number % 2 else collapsed(0, 0, 1), state)
        state = dict(found.state)
        seen.append(found.metrics["avspo_acr"].value)
    assert seen == pytest.approx([0, 0.5, 1 / 3, 0.5, 0.5, 0.5])
    assert found.advantage_T[0].item() == pytest.approx(-0.7276, abs=1e-4)  # K = 6, not 8


def test_performance_is_that_of_the_policys_own_episodes() -> None:
    stage = VirtualSampleAdvantage()
    mixed = rollout([[1.0, 0.0, 1.0, 1.0]], explorer=[False, False, True, True])
    assert stage(mixed, {}).state["performance"] == 0.5
    # The rate is that of the whole group, which is what the advantage compares.
    apart = rollout([[0.0, 0.0, 1.0, 1.0]], explorer=[False, False, True, True])
    assert stage(apart, {}).metrics["avspo_acr"].value == 0
    nobody = stage(rollout([[1.0, 0.0]], explorer=[True, True]), {"threshold": 0.4, "performance": 0.7})
    assert nobody.state == {"threshold": 0.4, "performance": 0.7}


def test_bad_settings() -> None:
    for settings, message in (({"threshold": 1.5}, "threshold"), ({"window": 0}, "window"), ({"epsilon": 0.0}, "eps")):
        with pytest.raises(ConfigError, match=message):
            VirtualSampleAdvantage(**settings)  # type: ignore[arg-type]
