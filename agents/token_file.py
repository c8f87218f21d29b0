"""The tokens of many episodes as arrays in one file: what training reads, without texts and without JSON.

All sequences stand one after the other, so nothing is padded. The file is NumPy's ``.npz``, compressed; it holds no
pickled objects and is read without running anything.
"""

import io
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from ..envs.errors import HolderGymError
from ..envs.files import replace_file
from .sequences import TokenSequence, sequences_of
from .trajectory import Outcome, Trajectory

SCHEMA = 1
_OUTCOMES = tuple(outcome.value for outcome in Outcome)
_KINDS: dict[str, type[np.generic]] = {
    "ids_T": np.int32,
    "mask_T": np.bool_,
    "logprobs_T": np.float32,
    "sequence_lengths_S": np.int32,
    "sequence_episodes_S": np.int32,
    "response_lengths_R": np.int32,
    "response_sequences_R": np.int32,
    "response_turns_R": np.int32,
    "rewards_R": np.float32,
    "valid_R": np.bool_,
    "outcomes_E": np.int8,
    "goal_condition_success_rates_E": np.float32,
    "samples_E": np.int32,
}

ScalarT = TypeVar("ScalarT", bound=np.generic)


class TokenFileError(HolderGymError):
    """A file of tokens that cannot be used as it is."""


@dataclass(frozen=True, slots=True, eq=False)
class TokenArrays:
    """Episodes, their sequences, and the responses in these.

    Shapes: E episodes, S sequences, R responses, T tokens.

    Attributes:
        ids_T: int32. Tokens of all sequences, one after the other.
        mask_T: bool. Whether the model sampled the token.
        logprobs_T: float32. Log-probability when it was sampled; 0 for tokens of prompts.
        sequence_lengths_S: int32. Tokens of each sequence.
        sequence_episodes_S: int32. The episode of each sequence, in order.
        response_lengths_R: int32. Tokens of each response.
        response_sequences_R: int32. The sequence of each response, in order.
        response_turns_R: int32. The turn that the response is.
        rewards_R: float32. Reward of the step that followed.
        valid_R: bool. Whether the command was admissible.
        outcomes_E: int8. How each episode ended, as an index into ``Outcome`` in the order of its definition.
        goal_condition_success_rates_E: float32.
        task_ids_E: text.
        samples_E: int32. 0, 1, ... when a task is played several times.
    """

    ids_T: NDArray[np.int32]  # noqa: N815 - shape suffixes
    mask_T: NDArray[np.bool_]  # noqa: N815
    logprobs_T: NDArray[np.float32]  # noqa: N815
    sequence_lengths_S: NDArray[np.int32]  # noqa: N815
    sequence_episodes_S: NDArray[np.int32]  # noqa: N815
    response_lengths_R: NDArray[np.int32]  # noqa: N815
    response_sequences_R: NDArray[np.int32]  # noqa: N815
    response_turns_R: NDArray[np.int32]  # noqa: N815
    rewards_R: NDArray[np.float32]  # noqa: N815
    valid_R: NDArray[np.bool_]  # noqa: N815
    outcomes_E: NDArray[np.int8]  # noqa: N815
    goal_condition_success_rates_E: NDArray[np.float32]  # noqa: N815
    task_ids_E: NDArray[np.str_]  # noqa: N815
    samples_E: NDArray[np.int32]  # noqa: N815

    @classmethod
    def of(cls, trajectories: Iterable[Trajectory], *, merge: bool = True) -> "TokenArrays":
        """Lays out episodes; see ``sequences_of`` for ``merge``.

        Raises:
            NoTokensError: If a turn lacks its tokens or their log-probabilities.
        """
        return cls.joined([cls._of_one(played, merge) for played in trajectories])

    @classmethod
    def _of_one(cls, played: Trajectory, merge: bool) -> "TokenArrays":
        found = sequences_of(played, merge=merge)
        responses = [
            (number, length, turn)
            for number, one in enumerate(found)
            for turn, length in zip(one.turns, one.lengths, strict=True)
        ]
        turns = [played.turns[turn] for _, _, turn in responses]
        return cls(
            ids_T=_joined([np.asarray(one.ids, np.int32) for one in found], np.int32),
            mask_T=_joined([np.asarray(one.mask, np.bool_) for one in found], np.bool_),
            logprobs_T=_joined([np.asarray(one.logprobs, np.float32) for one in found], np.float32),
            sequence_lengths_S=np.array([len(one.ids) for one in found], np.int32),
            sequence_episodes_S=np.zeros(len(found), np.int32),
            response_lengths_R=np.array([length for _, length, _ in responses], np.int32),
            response_sequences_R=np.array([number for number, _, _ in responses], np.int32),
            response_turns_R=np.array([turn for _, _, turn in responses], np.int32),
            rewards_R=np.array([turn.reward for turn in turns], np.float32),
            valid_R=np.array([turn.valid for turn in turns], np.bool_),
            outcomes_E=np.array([_OUTCOMES.index(played.outcome.value)], np.int8),
            goal_condition_success_rates_E=np.array([played.goal_condition_success_rate], np.float32),
            task_ids_E=np.array([played.task_id], np.str_),
            samples_E=np.array([played.sample], np.int32),
        )

    @classmethod
    def joined(cls, parts: Sequence["TokenArrays"]) -> "TokenArrays":
        """Puts the episodes of several together, in order. Arrays take a tenth of the memory of the trajectories."""
        episodes, sequences = 0, 0
        moved = []
        for part in parts:
            moved.append(
                replace(
                    part,
                    sequence_episodes_S=part.sequence_episodes_S + np.int32(episodes),
                    response_sequences_R=part.response_sequences_R + np.int32(sequences),
                )
            )
            episodes += part.episodes
            sequences += len(part.sequence_lengths_S)
        kinds: dict[str, type[np.generic]] = {"task_ids_E": np.str_, **_KINDS}
        return cls(**{name: _joined([getattr(part, name) for part in moved], kinds[name]) for name in kinds})

    @property
    def episodes(self) -> int:
        """Number of episodes."""
        return len(self.outcomes_E)

    def outcome(self, episode: int) -> Outcome:
        """How an episode ended."""
        return Outcome(_OUTCOMES[self.outcomes_E[episode]])

    def sequences(self) -> Iterator[tuple[int, TokenSequence]]:
        """Each sequence with the number of its episode."""
        ends = np.cumsum(self.sequence_lengths_S).tolist()
        bounds = np.searchsorted(self.response_sequences_R, np.arange(len(ends) + 1)).tolist()
        for number, end in enumerate(ends):
            part = slice(end - int(self.sequence_lengths_S[number]), end)
            responses = slice(bounds[number], bounds[number + 1])
            yield (
                int(self.sequence_episodes_S[number]),
                TokenSequence(
                    ids=tuple(self.ids_T[part].tolist()),
                    mask=tuple(self.mask_T[part].tolist()),
                    logprobs=tuple(self.logprobs_T[part].tolist()),
                    turns=tuple(self.response_turns_R[responses].tolist()),
                    lengths=tuple(self.response_lengths_R[responses].tolist()),
                ),
            )

    def save(self, path: Path) -> None:
        """Writes the file. It is there whole or not at all.

        Raises:
            TokenFileError: If it cannot be written.
        """
        packed = io.BytesIO()
        np.savez_compressed(packed, allow_pickle=False, schema=np.int64(SCHEMA), **self._arrays())
        try:
            replace_file(path, packed.getvalue())
        except OSError as error:
            raise TokenFileError(f"cannot write {path}: {error.strerror}") from None

    def _arrays(self) -> dict[str, NDArray[np.generic]]:
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


def load_tokens(path: Path, vocabulary: int | None = None) -> TokenArrays:
    """Reads a file of tokens and checks it: a wrong length or mask would train on the wrong tokens without a sound.

    Args:
        path: The file.
        vocabulary: Number of tokens that the model knows, to check the ids against.

    Raises:
        TokenFileError: If the file is missing, damaged or of a later version, its lengths or masks contradict each
            other, or a token is not in the vocabulary.
    """
    try:
        with np.load(path, allow_pickle=False) as file:
            found = {name: file[name] for name in file.files}
    except FileNotFoundError:
        raise TokenFileError(f"there is no file {path}") from None
    except OSError as error:
        raise TokenFileError(f"cannot read {path}: {error.strerror or 'it is no file of tokens'}") from None
    except (ValueError, EOFError, KeyError, NotImplementedError, zipfile.BadZipFile, zlib.error):
        raise TokenFileError(f"{path} is damaged, or no file of tokens") from None
    schema = found.pop("schema", None)
    if schema is None or schema.shape != () or int(schema) < 1:
        raise TokenFileError(f"{path} is no file of tokens")
    if int(schema) > SCHEMA:
        raise TokenFileError(f"{path} has version {int(schema)}, and this version of holdergym reads up to {SCHEMA}")
    expected = TokenArrays.__dataclass_fields__
    if missing := sorted(expected.keys() - found.keys()):
        raise TokenFileError(f"{path} is damaged: it has no array {missing[0]!r}")
    for name, kind in _KINDS.items():
        if found[name].dtype != kind:
            raise TokenFileError(f"{path} is damaged: its array {name!r} holds {found[name].dtype}")
    arrays = TokenArrays(**{name: found[name] for name in expected})
    if problem := _problem(arrays, vocabulary):
        raise TokenFileError(f"{path} is damaged: {problem}")
    return arrays


def _problem(arrays: TokenArrays, vocabulary: int | None) -> str:
    """What contradicts itself, or nothing."""
    tokens, episodes, sequences = len(arrays.ids_T), arrays.episodes, len(arrays.sequence_lengths_S)
    same = {
        "T": (arrays.ids_T, arrays.mask_T, arrays.logprobs_T),
        "S": (arrays.sequence_lengths_S, arrays.sequence_episodes_S),
        "R": (
            arrays.response_lengths_R,
            arrays.response_sequences_R,
            arrays.response_turns_R,
            arrays.rewards_R,
            arrays.valid_R,
        ),
        "E": (
            arrays.outcomes_E,
            arrays.goal_condition_success_rates_E,
            arrays.task_ids_E,
            arrays.samples_E,
        ),
    }
    for letter, group in same.items():
        if any(one.ndim != 1 or len(one) != len(group[0]) for one in group):
            return f"its arrays over {letter} are not of the same length"
    if (arrays.sequence_lengths_S < 1).any() or arrays.sequence_lengths_S.sum() != tokens:
        return "the lengths of its sequences do not add up to its tokens"
    if not _counts_up(arrays.sequence_episodes_S, episodes):
        return "its sequences name episodes that are not there"
    if not _counts_up(arrays.response_sequences_R, sequences):
        return "its responses name sequences that are not there"
    numbers = np.repeat(np.arange(sequences), arrays.sequence_lengths_S)
    masked = np.bincount(numbers[arrays.mask_T], minlength=sequences)
    answered = np.bincount(arrays.response_sequences_R, arrays.response_lengths_R, minlength=sequences)
    # A sequence ends with a response, so a mask that is shifted against the sequences shows at their ends.
    last_S = arrays.mask_T[np.cumsum(arrays.sequence_lengths_S) - 1]  # noqa: N806
    if (masked != answered).any() or not last_S[answered > 0].all():
        return "its mask does not fit the lengths of its responses"
    if tokens and arrays.ids_T.min() < 0:
        return "a token is negative"
    if tokens and vocabulary is not None and arrays.ids_T.max() >= vocabulary:
        return f"token {arrays.ids_T.max()} is not among the {vocabulary} of the model: it was played with another one"
    if np.isnan(arrays.logprobs_T).any() or (arrays.logprobs_T > 1e-3).any():
        return "a log-probability is not one"
    if (arrays.logprobs_T[~arrays.mask_T] != 0).any():
        return "a token that was not sampled has a log-probability"
    if not np.isin(arrays.outcomes_E, np.arange(len(_OUTCOMES))).all():
        return "there is no such outcome"
    return ""


def _counts_up(numbers: NDArray[np.int32], size: int) -> bool:
    """Whether numbers do not fall and are all below ``size``."""
    return not len(numbers) or bool((np.diff(numbers) >= 0).all() and numbers[0] >= 0 and numbers[-1] < size)


def _joined(parts: Sequence[NDArray[ScalarT]], kind: type[ScalarT]) -> NDArray[ScalarT]:
    return np.concatenate(parts) if parts else np.zeros(0, kind)
