import json
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from holdergym.agents.language_model_settings import LanguageModelSettings
from holdergym.agents.rollout import EpisodeJob
from holdergym.agents.token_file import TokenArrays
from holdergym.agents.trajectory import Outcome, Trajectory, Turn
from holdergym.envs.errors import ConfigError, HolderGymError
from holdergym.envs.task import Task
from holdergym.training import Context, Layout, preset
from holdergym.training.sources import OnPolicy, Player, RolloutRequest, Slot
from holdergym.training.token_weights import TokenWeightInputs
from holdergym.training.variants.explorer import StoredEpisodes, trajectories_of
from holdergym.training.variants.importance import TruncatedImportance
from holdergym.training.variants.s2l import ExplorerMix

from ..word_game import PANEL, play, settings


@pytest.mark.parametrize(
    ("size", "expected"), [(16, [16, 14, 12, 10, 7, 5, 3, 0, 0, 0]), (8, [8, 7, 6, 5, 4, 3, 2, 0, 0, 0])]
)
def test_episodes_of_the_explorer_by_round(size: int, expected: list[int]) -> None:
    stage = ExplorerMix(transition=8)
    mixes = [stage.mix(round, 99, size) for round in range(1, 11)]
    assert [mix.explorer for mix in mixes] == expected
    assert all(mix.explorer + mix.learner == size for mix in mixes)
    # Half of the run's rounds, where nothing is said.
    assert [ExplorerMix().mix(round, 16, size).explorer for round in range(1, 11)] == expected


def test_the_shortest_transitions() -> None:
    assert [ExplorerMix(transition=1).share(round, 9) for round in (1, 2)] == [1, 0]
    assert [ExplorerMix(transition=2).share(round, 9) for round in (1, 2, 3)] == [1, 0, 0]
    assert ExplorerMix(transition=0).share(1, 9) == 0
    with pytest.raises(ConfigError, match="transition"):
        ExplorerMix(transition=-1)


def test_the_authors_code_rounds_both_parts_up() -> None:
    stage = ExplorerMix(transition=8, groups="separate")
    mixes = [stage.mix(round, 99, 16) for round in range(1, 9)]
    assert [mix.explorer for mix in mixes] == [16, 14, 12, 10, 7, 5, 3, 0]
    assert [mix.learner for mix in mixes] == [0, 3, 5, 7, 10, 12, 14, 16]


def episode(task: Task, sample: int, tokens: int, won: bool) -> Trajectory:
    turn = Turn("o", "a", True, 0.0, "r", (1, 2), tuple(range(3, 3 + tokens)), (-0.5,) * tokens)
    return Trajectory(task.id, task.type, sample, 0, "a", (turn,), Outcome.WON if won else Outcome.LOST, float(won))


def player(parameters: int, tokens: int, won: bool, seen: list[Slot]) -> Player:
    def rolled(jobs: Sequence[EpisodeJob]) -> dict[Slot, Trajectory]:
        seen.extend((job.task.id, job.sample) for job in jobs)
        return {(job.task.id, job.sample): episode(job.task, job.sample, tokens, won) for job in jobs}

    return Player(rolled, parameters)


def test_who_plays_what_and_what_it_costs() -> None:
    own: list[Slot] = []
    others: list[Slot] = []
    policy, explorer = player(1000, 10, True, own), player(100, 20, False, others)
    request = RolloutRequest(PANEL.tasks, 4, 2, 6, 0, policy, explorer)
    rolled = ExplorerMix(transition=3)(request)
    assert [len(group) for group in rolled.groups] == [4, 4, 4]
    assert (len(own), len(others)) == (6, 6)
    assert rolled.explored == set(others)
    metrics = rolled.metrics
    assert metrics["explorer/alpha"] == 0.5
    assert metrics["rollout_cost"] == 6 * 10 * 1000 + 6 * 20 * 100
    assert metrics["rollout_cost_share"] == pytest.approx(72_000 / 180_000)
    assert metrics["explorer/success"] == 0
    apart = ExplorerMix(transition=3, groups="separate")(request)
    assert [len(group) for group in apart.groups] == [2] * 6
    assert [{(one.task_id, one.sample) in apart.explored for one in group} for group in apart.groups] == [
        *([{False}] * 3),
        *([{True}] * 3),
    ]
    with pytest.raises(ConfigError, match=r"set explorer\.model"):
        ExplorerMix(transition=3)(request._replace(explorer=None))


def test_the_cost_counts_all_that_is_sampled_and_the_share_counts_a_token() -> None:
    policy, explorer = player(1000, 10, True, []), player(100, 10, False, [])
    request = RolloutRequest(PANEL.tasks, 4, 2, 6, 0, policy, explorer)
    plain, doubled = OnPolicy()(request).metrics, OnPolicy(oversample=2)(request).metrics
    assert plain == {"policy/tokens": 120, "rollout_cost": 120_000}
    assert doubled["rollout_cost"] == 2 * plain["rollout_cost"]
    mixed = ExplorerMix(transition=3)(request).metrics
    assert mixed["rollout_cost"] == 66_000
    # Of the same number of episodes of one length the share is what the whole costs beside the policy's alone.
    assert mixed["rollout_cost_share"] == mixed["rollout_cost"] / plain["rollout_cost"]
    off = ExplorerMix(transition=0)(request).metrics
    assert off["rollout_cost_share"] == 1
    assert {name: off[name] for name in plain} == plain


def test_a_run_goes_from_the_explorer_to_the_policy(tiny_checkpoint: Path, explorer: Path) -> None:
    method = replace(preset("s2l-po"), source=ExplorerMix(transition=3))
    config = settings(tiny_checkpoint, method, explorer=LanguageModelSettings(model=str(explorer)), rounds=4)
    reports, _ = play(config)
    assert [report.metrics["explorer/episodes"] for report in reports] == [12, 6, 0, 0]
    shares = [report.metrics["rollout_cost_share"] for report in reports]
    assert shares[0] < shares[1] < shares[2] == 1
    first = reports[0]
    # Nothing of the policy's own was played: its accuracy is not that of the explorer, and no draw of it is compared.
    assert first.metrics["success"] != first.metrics["success"]
    assert "accuracy" not in first.progress.stage
    assert "sampler_mismatch" not in first.metrics
    assert all(report.metrics["sampler_mismatch"] < 1e-3 for report in reports[1:])
    # The explorer's tokens are learned as the policy's own: the first ratios are 1.
    assert all(report.metrics["gradient_norm"] > 0 for report in reports)
    once = play(replace(config, updates=1), 1)[0][0]
    assert once.metrics["ratio_moved_share"] == 0


def test_truncated_weights_on_the_explorers_tokens_alone() -> None:
    old_T = torch.tensor([-1.0, -1.0, -1.0, -1.0])
    behaviour_T = torch.tensor([-2.0, -1.2, -0.5, -3.0])
    foreign_T = torch.tensor([True, True, True, False])
    layout = Layout.of_single_turns([4], group_size=1)
    inputs = TokenWeightInputs(old_T, old_T, foreign_T, layout, Context(), behaviour_T, foreign_T)
    found = TruncatedImportance()(inputs)
    assert found.weight_T is not None
    assert found.weight_T.tolist() == pytest.approx([2.0, 2.718281828**0.2, 2.718281828**-0.5, 1.0])
    assert found.metrics["importance_cut_share"].value == pytest.approx(1 / 3)
    assert TruncatedImportance()(inputs._replace(foreign_T=None)).weight_T is None


def test_a_run_with_truncated_weights(tiny_checkpoint: Path, explorer: Path) -> None:
    method = replace(preset("s2l-po-tis"), source=ExplorerMix(transition=3))
    config = settings(tiny_checkpoint, method, explorer=LanguageModelSettings(model=str(explorer)))
    reports, _ = play(config)
    assert 0 < reports[0].metrics["importance_weight"] <= 2
    with pytest.raises(ConfigError, match=r"explorer\.temperature and agent\.temperature to 1"):
        replace(config, explorer=LanguageModelSettings(model=str(explorer), temperature=0.7))
    with pytest.raises(ConfigError, match=r"leave explorer\.top_p and explorer\.top_k out"):
        replace(config, explorer=LanguageModelSettings(model=str(explorer), top_p=0.95))


def stored(path: Path, episodes: int) -> list[Trajectory]:
    """Episodes whose tokens say which they are."""
    made = []
    for task in PANEL.tasks:
        for sample in range(episodes):
            turns = tuple(
                Turn(
                    "o",
                    "a",
                    True,
                    0.0,
                    "r",
                    (1, 2) if n == 0 else (1, 2, 5 + sample, 7, 9),
                    (5 + sample, 7),
                    (-0.5, -1),
                )
                for n in range(2)
            )
            won = Outcome.WON if sample % 2 else Outcome.LOST
            made.append(Trajectory(task.id, task.type, sample, 0, "a", turns, won, 0.0))
    TokenArrays.of(made).save(path)
    return made


def test_a_file_of_tokens_gives_back_its_episodes(tmp_path: Path) -> None:
    made = stored(tmp_path / "tokens.npz", 3)
    for one, again in zip(made, trajectories_of(TokenArrays.of(made)), strict=True):
        assert (one.task_id, one.sample, one.outcome) == (again.task_id, again.sample, again.outcome)
        for turn, same in zip(one.turns, again.turns, strict=True):
            assert (turn.prompt_ids, turn.response_ids) == (same.prompt_ids, same.response_ids)
            assert same.logprobs == pytest.approx(turn.logprobs)


def test_stored_episodes_are_drawn_without_repeats_until_there_are_too_few(tmp_path: Path) -> None:
    stored(tmp_path / "tokens.npz", 5)
    found = StoredEpisodes(tmp_path / "tokens.npz", 400, 3)
    task = PANEL.tasks[0]

    def drawn(count: int, seed: int) -> list[int]:
        played = found.play([EpisodeJob(task, 10 + place, seed + place) for place in range(count)])
        assert sorted(sample for _, sample in played) == list(range(10, 10 + count))
        return [played[task.id, 10 + place].turns[0].response_ids[0] - 5 for place in range(count)]  # type: ignore[index]

    assert len(set(drawn(5, 1))) == 5
    assert drawn(3, 1) == drawn(5, 1)[:3]
    assert len({tuple(drawn(5, seed)) for seed in range(6)}) > 1
    assert sorted(drawn(10, 1)) == sorted([*range(5), *range(5)])
    with pytest.raises(ConfigError, match=r"no finished episode of the task 'elsewhere'"):
        found.play([EpisodeJob(Task("elsewhere", "k", "0" * 64), 0, 0)])


def test_a_run_from_a_file(tiny_checkpoint: Path, explorer: Path, tmp_path: Path) -> None:
    stored(tmp_path / "tokens.npz", 5)
    method = replace(preset("s2l-po"), source=ExplorerMix(transition=2))
    other = LanguageModelSettings(model=str(explorer))
    config = settings(tiny_checkpoint, method, explorer=other, explorer_samples=tmp_path / "tokens.npz")
    reports, _ = play(config)
    first = reports[0].metrics
    assert (first["explorer/episodes"], first["turns"], first["response_tokens"]) == (12, 2, 2)
    assert reports[1].metrics["explorer/episodes"] == 0


def test_another_tokenizer_is_refused_in_one_line(tiny_checkpoint: Path, explorer: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    shutil.copytree(explorer, other)
    tokenizer = json.loads((other / "tokenizer.json").read_text())
    vocabulary = tokenizer["model"]["vocab"]
    first, second = sorted(vocabulary)[100:102]
    vocabulary[first], vocabulary[second] = vocabulary[second], vocabulary[first]
    (other / "tokenizer.json").write_text(json.dumps(tokenizer))
    config = settings(tiny_checkpoint, preset("s2l-po"), explorer=LanguageModelSettings(model=str(other)))
    with pytest.raises(HolderGymError, match=r"do not share a tokenizer \(their vocabularies differ") as failure:
        play(config)
    assert "\n" not in str(failure.value)
    partners = settings(tiny_checkpoint, preset("codistill"), partner=LanguageModelSettings(model=str(other)))
    with pytest.raises(HolderGymError, match="do not share a tokenizer"):
        play(partners)


def test_models_that_are_missing_or_not_wanted(tiny_checkpoint: Path, explorer: Path) -> None:
    named = LanguageModelSettings(model=str(explorer))
    for method, models, message in (
        ("s2l-po", {}, r"set explorer\.model"),
        ("grpo", {"explorer": named}, "leave explorer out"),
        ("grpo", {"explorer_samples": Path("x.npz")}, "leave explorer out"),
        ("codistill", {}, r"set partner\.model"),
        ("grpo", {"partner": named}, "leave partner out"),
        ("s2l-po", {"explorer": replace(named, prompt="chat")}, r"explorer\.prompt is 'chat'"),
        ("s2l-po", {"explorer": replace(named, temperature=0.0)}, r"explorer\.temperature is 0"),
        ("s2l-po", {"explorer": replace(named, timeout_s=5.0)}, r"explorer\.timeout_s is 5\.0"),
        ("gigpo+s2l-po", {"explorer": named, "explorer_samples": Path("x.npz")}, "gigpo compares turns"),
        ("codistill", {"partner": replace(named, temperature=0.5)}, r"partner\.temperature is 0\.5"),
    ):
        with pytest.raises(ConfigError, match=message):
            settings(tiny_checkpoint, preset(method), **models)
