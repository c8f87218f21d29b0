"""The frozen model that explores for S2L-PO: played live, or from a file of episodes that it has played before."""

import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from ...agents.agent import Agent
from ...agents.checkpoints import Checkpoint, find_checkpoint
from ...agents.language_model import LanguageModelAgent
from ...agents.language_model_settings import LanguageModelSettings
from ...agents.loading import load_tokenizer
from ...agents.making import make_language_model
from ...agents.rollout import EpisodeJob
from ...agents.token_file import TokenArrays, load_tokens
from ...agents.trajectory import Trajectory, Turn
from ...envs.errors import ConfigError
from ..sources import Player, Slot

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

MakeEnv = Callable[[], object]


class Explorer:
    """A model that plays and learns nothing.

    Args:
        settings: Which model, and how it plays.
        tokenizer: The policy's tokenizer: the explorer must have the same.
        samples: A file of episodes (``tokens.npz`` of an evaluation); None lets the model play.
        seed: Seed of the run, for the draw from the file.

    Raises:
        HolderGymError: If something cannot be loaded, or the tokenizers differ.
    """

    def __init__(
        self, settings: LanguageModelSettings, tokenizer: "PreTrainedTokenizerBase", samples: Path | None, seed: int
    ) -> None:
        checkpoint = find_checkpoint(settings.model, settings.revision)
        require_same_tokenizer(tokenizer, load_tokenizer(checkpoint), checkpoint.name)
        self._parameters = count_parameters(checkpoint)
        self._stored = None if samples is None else StoredEpisodes(samples, len(tokenizer), seed)
        self._settings = settings
        self._agent: LanguageModelAgent | None = None

    def player(
        self,
        kind: str,
        roll_out: Callable[[Agent, MakeEnv, Sequence[EpisodeJob]], Mapping[Slot, Trajectory]],
        make_env: MakeEnv,
    ) -> Player:
        """The explorer as stage 2 knows it.

        Args:
            kind: ``alfworld`` or ``math``.
            roll_out: Lets an agent play jobs in environments.
            make_env: Makes one more environment.
        """
        if self._stored is not None:
            return Player(self._stored.play, self._parameters)
        if self._agent is None:
            self._agent = make_language_model(self._settings, kind)
        return Player(partial(roll_out, self._agent, make_env), self._parameters)

    def close(self) -> None:
        """Ends the model."""
        if self._agent is not None:
            self._agent.close()


class StoredEpisodes:
    """Episodes of a file, drawn at random for the tasks that are asked for.

    Args:
        path: The file.
        vocabulary: Tokens of the policy.
        seed: Seed of the run.

    Raises:
        TokenFileError: If the file cannot be used.
    """

    def __init__(self, path: Path, vocabulary: int, seed: int) -> None:
        self._path = path
        self._seed = seed
        self._by_task: dict[str, list[Trajectory]] = {}
        for one in trajectories_of(load_tokens(path, vocabulary)):
            if one.outcome.finished and one.turns:
                self._by_task.setdefault(one.task_id, []).append(one)

    def play(self, jobs: Sequence[EpisodeJob]) -> dict[Slot, Trajectory]:
        """Draws an episode for each job: of one task without a repeat until all have come.

        The draw hangs on the run's seed and the jobs' seeds alone, so a resumed run draws the same.

        Raises:
            ConfigError: If the file has no episode of a task.
        """
        wanted: dict[str, list[EpisodeJob]] = {}
        for job in jobs:
            wanted.setdefault(job.task.id, []).append(job)
        played = {}
        for task_id, asked in wanted.items():
            known = self._by_task.get(task_id)
            if not known:
                raise ConfigError(
                    f"{self._path} has no finished episode of the task {task_id!r}: let the explorer play the same "
                    "panel with `holdergym eval`, or leave explorer_samples out"
                )
            rng = random.Random(f"stored episodes, seed {self._seed}, {asked[0].seed}")
            drawn: list[Trajectory] = []
            while len(drawn) < len(asked):
                drawn += rng.sample(known, len(known))
            for job, one in zip(asked, drawn, strict=False):
                played[task_id, job.sample] = replace(one, sample=job.sample, task_type=job.task.type)
        return played


def episodes_of_tasks(arrays: TokenArrays) -> Counter[str]:
    """How many episodes of each task of a file of tokens can be drawn: finished ones with a turn."""
    with_turns = set(arrays.sequence_episodes_S[arrays.response_sequences_R].tolist())
    return Counter(str(arrays.task_ids_E[episode]) for episode in with_turns if arrays.outcome(episode).finished)


def trajectories_of(arrays: TokenArrays) -> list[Trajectory]:
    """The episodes of a file of tokens. It has no texts, so observations and commands are empty."""
    turns: dict[int, list[tuple[int, Turn]]] = {}
    response = 0
    for episode, one in arrays.sequences():
        # The first token of each response: the mask begins anew after a prompt, or where the response before ends.
        places = [place for place, own in enumerate(one.mask) if own]
        at = 0
        for number, length in zip(one.turns, one.lengths, strict=True):
            start = places[at] if length else len(one.ids)
            at += length
            turn = Turn(
                observation="",
                action="",
                valid=bool(arrays.valid_R[response]),
                reward=float(arrays.rewards_R[response]),
                prompt_ids=one.ids[:start],
                response_ids=one.ids[start : start + length],
                logprobs=one.logprobs[start : start + length],
            )
            turns.setdefault(episode, []).append((number, turn))
            response += 1
    return [
        Trajectory(
            task_id=str(arrays.task_ids_E[episode]),
            task_type="",
            sample=int(arrays.samples_E[episode]),
            seed=0,
            agent="explorer",
            turns=tuple(turn for _, turn in sorted(turns.get(episode, []), key=lambda pair: pair[0])),
            outcome=arrays.outcome(episode),
            goal_condition_success_rate=float(arrays.goal_condition_success_rates_E[episode]),
        )
        for episode in range(arrays.episodes)
    ]


def require_same_tokenizer(own: "PreTrainedTokenizerBase", other: "PreTrainedTokenizerBase", name: str) -> None:
    """Checks that two models read and write the same tokens.

    Raises:
        ConfigError: If their vocabularies, their ends of a response or their chat templates differ.
    """
    reason = ""
    first, second = own.get_vocab(), other.get_vocab()
    if first != second:
        words = sorted(word for word in first.keys() | second.keys() if first.get(word) != second.get(word))
        reason = f"their vocabularies differ, for example in {words[0]!r}"
    elif own.eos_token_id != other.eos_token_id:
        reason = f"their responses end with {own.eos_token!r} and {other.eos_token!r}"
    elif own.chat_template != other.chat_template:
        reason = "their chat templates differ"
    if reason:
        raise ConfigError(
            f"the policy and {name} do not share a tokenizer ({reason}): one cannot learn from the other's tokens; "
            "take a model of the same family"
        )


def count_parameters(checkpoint: Checkpoint) -> int:
    """Weights of a model, from its configuration alone."""
    from transformers import AutoConfig, AutoModelForCausalLM

    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(AutoConfig.from_pretrained(checkpoint.folder))
    return int(model.num_parameters())
