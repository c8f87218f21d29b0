"""From turns to the token sequences that a model is trained on.

A turn is a prompt and the response to it. Where the prompt of a turn begins with all that the model saw and said in the
turn before, both are parts of one sequence, which goes through the model once. The tokens are those that were sampled:
nothing is decoded and encoded again, and a sequence is exactly what the model saw.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from ..envs.errors import HolderGymError
from .trajectory import Trajectory, Turn


class NoTokensError(HolderGymError):
    """A trajectory whose tokens are not known, so that nothing can be trained on it."""


@dataclass(frozen=True, slots=True)
class TokenSequence:
    """What goes through a model at once. All fields but ``turns`` have one entry a token.

    Attributes:
        ids: The tokens, prompts and responses in the order in which the model saw them.
        mask: Whether the model sampled the token: True exactly for the tokens of responses.
        logprobs: Log-probability of each sampled token when it was sampled; 0.0 elsewhere.
        turns: Numbers of the turns whose responses are in the sequence.
        lengths: Number of tokens of each of these responses.
    """

    ids: tuple[int, ...]
    mask: tuple[bool, ...]
    logprobs: tuple[float, ...]
    turns: tuple[int, ...]
    lengths: tuple[int, ...]


def sequences_of(trajectory: Trajectory, *, merge: bool = True) -> tuple[TokenSequence, ...]:
    """The sequences of an episode, in order of time.

    Args:
        trajectory: An episode that a language model played.
        merge: Whether turns that go on from each other share a sequence. Otherwise each turn has its own, as in
            verl-agent, where every turn is a row.

    Raises:
        NoTokensError: If a turn lacks its tokens or their log-probabilities.
    """
    found: list[_Growing] = []
    for number, turn in enumerate(trajectory.turns):
        prompt, response, logprobs = _tokens(trajectory, number, turn)
        if not found or not merge or not found[-1].goes_on_to(prompt):
            found.append(_Growing())
        found[-1].add(number, prompt, response, logprobs)
    return tuple(growing.finished() for growing in found)


def _tokens(
    trajectory: Trajectory, number: int, turn: Turn
) -> tuple[tuple[int, ...], tuple[int, ...], tuple[float, ...]]:
    if turn.prompt_ids is None or turn.response_ids is None or turn.logprobs is None:
        missing = "log-probabilities" if turn.response_ids is not None and turn.prompt_ids is not None else "tokens"
        raise NoTokensError(
            f"turn {number + 1} of task {trajectory.task_id!r}, sample {trajectory.sample} has no {missing}, so it "
            "cannot be trained on: play with the back end transformers or vllm, or with a server that gives them"
        )
    if len(turn.logprobs) != len(turn.response_ids):
        raise ValueError(f"{len(turn.logprobs)} log-probabilities for {len(turn.response_ids)} tokens")
    return turn.prompt_ids, turn.response_ids, turn.logprobs


class _Growing:
    """A sequence to which turns are added."""

    def __init__(self) -> None:
        self._ids: list[int] = []
        self._mask: list[bool] = []
        self._logprobs: list[float] = []
        self._turns: list[int] = []
        self._lengths: list[int] = []

    def goes_on_to(self, prompt: Sequence[int]) -> bool:
        """Whether a prompt begins with the whole sequence."""
        return list(prompt[: len(self._ids)]) == self._ids

    def add(self, number: int, prompt: Sequence[int], response: Sequence[int], logprobs: Sequence[float]) -> None:
        """Adds what the prompt of a turn adds to the sequence, and its response."""
        added = len(prompt) - len(self._ids)
        self._ids += [*prompt[len(self._ids) :], *response]
        self._mask += [False] * added + [True] * len(response)
        self._logprobs += [0.0] * added + list(logprobs)
        self._turns.append(number)
        self._lengths.append(len(response))

    def finished(self) -> TokenSequence:
        return TokenSequence(
            tuple(self._ids), tuple(self._mask), tuple(self._logprobs), tuple(self._turns), tuple(self._lengths)
        )
