"""The warm start, with real tiny policies in real games: what is imitated, and that kills change nothing."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from holdergym.agents.checkpoints import find_checkpoint
from holdergym.agents.language_model_settings import LanguageModelSettings
from holdergym.agents.loading import load_model, load_tokenizer
from holdergym.agents.parsing import Rule, parse_reply
from holdergym.agents.sequences import TokenSequence
from holdergym.envs.errors import ConfigError, HolderGymError
from holdergym.training.config import ValidationSettings
from holdergym.training.demonstrations import DemonstrationError, reply_of, without_turns
from holdergym.training.metrics_log import read_metrics
from holdergym.training.playground import open_playground
from holdergym.training.scoring import Scorer
from holdergym.training.sft import (
    DemonstrationSettings,
    ImitationOptimiserSettings,
    SftConfig,
    backward,
    batches_of,
    show,
    warm_start,
)
from holdergym.training.tiny.making import TinySize, make_tiny_policy

COMMANDS = ["go to desk 1", "inventory", "look"]
SIZE = TinySize(layers=2, width=32, heads=4, inner=32)


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("policies") / "alfworld"
    make_tiny_policy(folder, "alfworld", size=SIZE)
    return folder


@pytest.fixture
def config(policy: Path, tmp_path: Path) -> SftConfig:
    return SftConfig(
        panel="builtin_small_valid",
        task_type="pick_and_place_simple",
        max_steps=20,
        agent=LanguageModelSettings(model=str(policy), prompt="tiny", max_tokens=3),
        rounds=3,
        updates=4,
        step_tokens=512,
        optimiser=ImitationOptimiserSettings(learning_rate=3e-3, warmup=2, decay="constant"),
        validation=ValidationSettings(panel="builtin_small_valid", limit=6, every=3),
        save_every=1,
        out=tmp_path / "run",
    )


@pytest.mark.parametrize("rule", Rule)
@pytest.mark.parametrize("command", COMMANDS)
def test_the_parser_finds_what_a_demonstration_says(rule: Rule, command: str) -> None:
    assert parse_reply(reply_of(command, rule, COMMANDS), rule, commands=COMMANDS).command == command


def test_a_command_without_a_number_cannot_be_demonstrated() -> None:
    with pytest.raises(DemonstrationError, match="'fly' has no number"):
        reply_of("fly", Rule.CHOICE, COMMANDS)


def test_detours_stay_in_the_sequence_but_are_not_imitated() -> None:
    whole = TokenSequence((9, 1, 2, 9, 3, 9, 4, 5), (0, 1, 1, 0, 1, 0, 1, 1), (0.0,) * 8, (4, 5, 6), (2, 1, 2))  # type: ignore[arg-type]
    kept = without_turns(whole, {5})
    assert kept is not None
    assert (kept.ids, kept.turns, kept.lengths) == (whole.ids, (4, 6), (2, 2))
    assert [bool(own) for own in kept.mask] == [False, True, True, False, False, False, True, True]
    assert without_turns(whole, {4, 5, 6}) is None


@pytest.mark.llm
@pytest.mark.parametrize("prompt", ["tiny", "chat", "window", "react"])
def test_demonstrations_are_what_the_policy_would_see_and_say(config: SftConfig, prompt: str) -> None:
    config = replace(config, agent=replace(config.agent, prompt=prompt))
    tokenizer = load_tokenizer(find_checkpoint(config.agent.model))
    shown = show(config, open_playground(config.playing()), tokenizer)
    assert shown.episodes == 20
    assert shown.won >= 18
    for sequence in shown.sequences:
        said = [token for token, own in zip(sequence.ids, sequence.mask, strict=True) if own]
        assert len(said) == sum(sequence.lengths)
        ends = torch.cumsum(torch.tensor(sequence.lengths), 0) - 1
        assert {said[end] for end in ends.tolist()} == {tokenizer.eos_token_id}
    # A window has a sequence a turn; a conversation is one, and its detours are seen but not learned.
    turns = sum(len(one.turns) for one in shown.sequences)
    assert (len(shown.sequences) == turns) == (prompt in ("tiny", "window"))


@pytest.mark.llm
def test_the_gradient_does_not_hang_on_the_parts(config: SftConfig) -> None:
    checkpoint = find_checkpoint(config.agent.model)
    shown = show(config, open_playground(config.playing()), load_tokenizer(checkpoint))
    batch = next(batches_of(shown.sequences, 2000, seed=0))
    assert sum(len(one.ids) for one in batch) >= 2000
    gradients, losses = [], []
    for budget in (60, 500, 100_000):
        model = load_model(checkpoint).requires_grad_(True)
        losses.append(backward(batch, Scorer(model), budget))
        gradients.append(torch.cat([one.grad.flatten() for one in model.parameters() if one.grad is not None]))
    assert losses == pytest.approx([losses[0]] * 3, abs=1e-5)
    for other in gradients[1:]:
        torch.testing.assert_close(other, gradients[0], atol=1e-5, rtol=1e-4)


def test_all_sequences_come_before_one_comes_again() -> None:
    sequences = [TokenSequence((number,), (True,), (0.0,), (0,), (1,)) for number in range(10)]
    batches = batches_of(sequences, 5, seed=1)
    first, second, third, fourth = ([one.ids[0] for one in next(batches)] for _ in range(4))
    assert sorted(first + second) == sorted(third + fourth) == list(range(10))
    assert first + second != third + fourth


@pytest.mark.llm
def test_a_warm_start_learns_and_a_kill_changes_nothing(config: SftConfig, tmp_path: Path) -> None:
    whole = warm_start(config)
    log = read_metrics(tmp_path / "run")
    losses = [line["loss"] for line in log]
    assert losses[-1] < losses[0] - 0.5
    assert log[-1]["validation/episodes"] == 6
    assert load_model(find_checkpoint(str(whole))).num_parameters() > 0

    class Killed(Exception):
        pass

    def kill(number: int, metrics: dict[str, float]) -> None:
        if number == 2:
            raise Killed  # the line of the round is there, its checkpoint is not

    again = replace(config, out=tmp_path / "again")
    with pytest.raises(Killed):
        warm_start(again, each_round=kill)
    warm_start(again, resume=True)
    assert [line["loss"] for line in read_metrics(tmp_path / "again")] == pytest.approx(losses, abs=1e-6)


@pytest.mark.llm
def test_wrong_settings_are_one_line(config: SftConfig, tmp_path: Path) -> None:
    cases: list[tuple[Callable[[], object], str]] = [
        (lambda: warm_start(replace(config, out=None)), "the setting 'out' is missing"),
        (
            lambda: warm_start(replace(config, demonstrations=DemonstrationSettings(agent="oracle"))),
            "demonstrations.agent 'oracle' does not play alfworld",
        ),
        (
            lambda: warm_start(replace(config, demonstrations=DemonstrationSettings(worked=0.5), out=tmp_path / "w")),
            "demonstrations.worked is for the agent 'scratchpad', not for 'searching'",
        ),
        (
            lambda: warm_start(
                replace(config, demonstrations=DemonstrationSettings(agent="expert", detours=0.1), out=tmp_path / "d")
            ),
            "demonstrations.detours is for the agent 'searching', not for 'expert'",
        ),
        (lambda: warm_start(replace(config, max_steps=1, out=tmp_path / "short")), "none of 20 demonstrations was won"),
    ]
    for call, message in cases:
        with pytest.raises(HolderGymError, match=message) as raised:
            call()
        assert "\n" not in str(raised.value)
    assert issubclass(ConfigError, HolderGymError)
