"""Episodes that another agent plays, told as if the policy had played them: its very prompts, and its replies."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING, NamedTuple

import gymnasium

from ..agents.agent import Agent, Conversation, Response, episode_seed
from ..agents.making import TokenMaker
from ..agents.parsing import Rule
from ..agents.rollout import play_episode
from ..agents.sequences import TokenSequence, sequences_of
from ..agents.trajectory import Outcome
from ..envs.errors import HolderGymError
from ..envs.task import Task
from .processes import ALONE, Processes

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


class DemonstrationError(HolderGymError):
    """Demonstrations that nothing can be learned from."""


@dataclass(frozen=True, slots=True)
class Demonstrations:
    """What is to be imitated.

    Attributes:
        sequences: Prompts and responses; the mask holds for the tokens of responses that are to be imitated.
        episodes: Episodes that were played.
        won: Those among them that were won: only these are in the sequences.
        reason: Why the first of the others ended; empty if there is nothing to say.
    """

    sequences: tuple[TokenSequence, ...]
    episodes: int
    won: int
    reason: str = ""


class DemonstratingAgent(Agent):
    """Plays as another agent, and says what a language model would have said to give the same command.

    Args:
        agent: The other agent.
        maker: Makes the prompts that the policy will read.
        tokenizer: The policy's tokenizer.
    """

    def __init__(self, agent: Agent, maker: TokenMaker, tokenizer: "PreTrainedTokenizerBase") -> None:
        self._agent = agent
        self._composer, prompt, self._opens_thinking = maker
        self._tokenizer = tokenizer
        self._rule = prompt.rule

    @property
    def name(self) -> str:
        """Short name for tables."""
        return f"demonstrating {self._agent.name}"

    @property
    def fingerprint(self) -> str:
        """The name with every setting that can change an action."""
        return f"demonstrating({self._agent.fingerprint})"

    def act(self, conversations: Sequence[Conversation]) -> list[Response]:
        """Answers each conversation, in order; see the other agent."""
        answers = self._agent.act(conversations)
        return [self._told(one, answer.action) for one, answer in zip(conversations, answers, strict=True)]

    def _told(self, conversation: Conversation, action: str) -> Response:
        reply = reply_of(action, self._rule, conversation.admissible_commands)
        if self._opens_thinking:
            reply = f"\n</think>\n\n{reply}"  # the prompt has begun a thought, and nothing is thought here
        ids = self._tokenizer(reply, add_special_tokens=False)["input_ids"]
        response = (*(int(one) for one in ids), int(self._tokenizer.eos_token_id))
        return Response(
            action=action,
            reply=reply,
            prompt_ids=self._composer.compose(conversation).ids,
            response_ids=response,
            logprobs=(0.0,) * len(response),  # nothing was sampled
            finish="stop",
        )


def reply_of(command: str, rule: Rule, commands: Sequence[str]) -> str:
    """The shortest reply in which ``parse_reply`` finds a command.

    Args:
        command: The command.
        rule: How it is to be marked.
        commands: The admissible commands, in the order of the environment.

    Raises:
        DemonstrationError: If the rule wants the number of an admissible command, and it is none.
    """
    match rule:
        case Rule.WHOLE:
            return command
        case Rule.TAGS:
            return f"<action>{command}</action>"
        case Rule.LINE:
            return f"Action: {command}"
        case Rule.CHOICE:
            if command not in commands:
                raise DemonstrationError(f"the command {command!r} has no number, as it is not admissible")
            return f"#{list(commands).index(command) + 1}"


class _Told(NamedTuple):
    """One episode: what is to be imitated of it, and why it ended."""

    won: bool
    sequences: tuple[TokenSequence, ...]
    reason: str


def demonstrate(
    jobs: Sequence[tuple[Task, int]],
    agent: DemonstratingAgent,
    env: gymnasium.Env[str, str],
    seed: int,
    is_detour: Callable[[int, int], bool] = lambda seed, turn: False,
    processes: Processes = ALONE,
) -> Demonstrations:
    """Plays episodes and keeps those that were won.

    Args:
        jobs: Tasks, each with the number of its sample.
        agent: Who plays.
        env: Where.
        seed: Seed of the run.
        is_detour: Whether the command of a turn, given the seed of its episode, is not to be imitated.
        processes: Who shares the episodes; all get all of them, in the order of the jobs.

    Raises:
        DemonstrationError: If no episode was won.
        ProcessesError: If another process has ended or does not answer.
    """
    shares = processes.gather([_told(job, agent, env, seed, is_detour) for job in processes.share(jobs)])
    told = [one for row in zip_longest(*shares) for one in row if one is not None]
    sequences = tuple(sequence for one in told for sequence in one.sequences)
    reason = next((one.reason for one in told if one.reason and not one.won), "")
    if not sequences:
        why = f": {reason}" if reason else ""
        raise DemonstrationError(f"none of {len(told)} demonstrations was won, so there is nothing to imitate{why}")
    return Demonstrations(sequences, len(told), sum(one.won for one in told), reason)


def _told(
    job: tuple[Task, int],
    agent: DemonstratingAgent,
    env: gymnasium.Env[str, str],
    seed: int,
    is_detour: Callable[[int, int], bool],
) -> _Told:
    task, sample = job
    played = play_episode(env, agent, task, sample, episode_seed(seed, f"demonstration {task.id}", sample))
    if played.outcome is not Outcome.WON:
        return _Told(False, (), played.reason)
    detours = {turn for turn in range(len(played.turns)) if is_detour(played.seed, turn)}
    imitated = (without_turns(sequence, detours) for sequence in sequences_of(played))
    return _Told(True, tuple(one for one in imitated if one is not None), played.reason)


def without_turns(sequence: TokenSequence, turns: set[int]) -> TokenSequence | None:
    """The same tokens, but the responses of some turns are no longer the policy's own; None if no other is left."""
    kept = [place for place, turn in enumerate(sequence.turns) if turn not in turns]
    if not kept:
        return None
    mask = list(sequence.mask)
    own = [place for place, sampled in enumerate(mask) if sampled]
    start = 0
    for turn, length in zip(sequence.turns, sequence.lengths, strict=True):
        for place in own[start : start + length] if turn in turns else ():
            mask[place] = False
        start += length
    return TokenSequence(
        sequence.ids,
        tuple(mask),
        sequence.logprobs,
        tuple(sequence.turns[place] for place in kept),
        tuple(sequence.lengths[place] for place in kept),
    )
