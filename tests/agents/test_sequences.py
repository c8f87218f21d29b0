"""Token sequences and the file of arrays: what training reads is what the model saw."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from holdergym.agents.sequences import NoTokensError, sequences_of
from holdergym.agents.token_file import TokenArrays, TokenFileError, load_tokens
from holdergym.agents.trajectory import Outcome, Trajectory, Turn
from hypothesis import given, settings
from hypothesis import strategies as st

tokens = st.lists(st.integers(0, 99), min_size=1, max_size=5).map(tuple)


def turn(prompt: tuple[int, ...], response: tuple[int, ...], reward: float = 0.0) -> Turn:
    logprobs = tuple(-0.5 - number / 8 for number in range(len(response)))
    return Turn("o", "a", True, reward, "r", prompt, response, logprobs)


def trajectory(*turns: Turn, sample: int = 0, outcome: Outcome = Outcome.WON) -> Trajectory:
    return Trajectory("task", "type", sample, 7, "agent", turns, outcome, 1.0)


@st.composite
def episodes(draw: st.DrawFn) -> Trajectory:
    """Turns that go on from each other, or begin anew, as draws have it."""
    turns: list[Turn] = []
    seen: tuple[int, ...] = ()
    for _ in range(draw(st.integers(0, 5))):
        if draw(st.booleans()):
            seen = ()
        turns.append(turn(seen + draw(tokens), draw(tokens)))
        seen = (turns[-1].prompt_ids or ()) + (turns[-1].response_ids or ())
    return trajectory(*turns, outcome=draw(st.sampled_from(Outcome)))


@given(episodes(), st.booleans())
def test_sequences_are_exactly_what_the_model_saw(played: Trajectory, merge: bool) -> None:
    sequences = sequences_of(played, merge=merge)
    assert [number for one in sequences for number in one.turns] == list(range(len(played.turns)))
    for one in sequences:
        assert len(one.ids) == len(one.mask) == len(one.logprobs)
        last = played.turns[one.turns[-1]]
        assert one.ids == (last.prompt_ids or ()) + (last.response_ids or ())
        sampled = [token for token, mask in zip(one.ids, one.mask, strict=True) if mask]
        logprobs = [value for value, mask in zip(one.logprobs, one.mask, strict=True) if mask]
        said = [played.turns[number] for number in one.turns]
        assert sampled == [token for t in said for token in t.response_ids or ()]
        assert logprobs == [value for t in said for value in t.logprobs or ()]
        assert list(one.lengths) == [len(t.response_ids or ()) for t in said]
        assert sum(one.mask) == sum(one.lengths)
        # Each response stands right behind its own prompt.
        for t in said:
            prompt, response = t.prompt_ids or (), t.response_ids or ()
            assert one.ids[: len(prompt) + len(response)] == prompt + response
            assert all(one.mask[len(prompt) : len(prompt) + len(response)])
    if not merge:
        assert len(sequences) == len(played.turns)


def test_turns_that_go_on_share_a_sequence() -> None:
    played = trajectory(turn((1, 2), (3,)), turn((1, 2, 3, 4), (5, 6)), turn((9,), (8,)))
    first, second = sequences_of(played)
    assert first.ids == (1, 2, 3, 4, 5, 6)
    assert first.mask == (False, False, True, False, True, True)
    assert first.logprobs == (0.0, 0.0, -0.5, 0.0, -0.5, -0.625)
    assert (first.turns, second.turns) == ((0, 1), (2,))
    assert len(sequences_of(played, merge=False)) == 3


@pytest.mark.parametrize("missing", ["prompt_ids", "response_ids", "logprobs"])
def test_without_tokens_there_is_nothing_to_train_on(missing: str) -> None:
    played = trajectory(turn((1,), (2,)), replace(turn((1,), (2,)), **{missing: None}))
    with pytest.raises(NoTokensError, match=r"turn 2 of task 'task', sample 0 has no .*cannot be trained on"):
        sequences_of(played)


@settings(max_examples=40, deadline=None)
@given(st.lists(episodes(), max_size=4), st.booleans())
def test_the_file_gives_back_what_was_saved(tmp_path_factory, played: list[Trajectory], merge: bool) -> None:
    path = tmp_path_factory.mktemp("arrays") / "tokens.npz"
    arrays = TokenArrays.of(played, merge=merge)
    arrays.save(path)
    again = load_tokens(path, vocabulary=100)
    expected = [(number, one) for number, p in enumerate(played) for one in sequences_of(p, merge=merge)]
    assert list(again.sequences()) == expected
    assert [again.outcome(number) for number in range(again.episodes)] == [p.outcome for p in played]
    assert again.task_ids_E.tolist() == [p.task_id for p in played]


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "tokens.npz"
    TokenArrays.of([trajectory(turn((1, 2), (3,)), turn((1, 2, 3, 4), (5, 6), 1.0), turn((9,), (8,)))]).save(path)
    return path


def change(path: Path, **arrays: object) -> None:
    with np.load(path) as file:
        found = {name: file[name] for name in file.files}
    for name, value in arrays.items():
        found[name] = np.asarray(value, found[name].dtype)
    np.savez(path, **found)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"ids_T": [1, 2, 3, 4, 5, 6, 9]}, "arrays over T are not of the same length"),
        ({"mask_T": [0, 0, 1, 1, 1, 1, 0, 1]}, "mask does not fit"),
        ({"mask_T": [0, 0, 1, 0, 1, 1, 1, 1]}, "mask does not fit"),
        ({"sequence_lengths_S": [5, 2]}, "do not add up"),
        ({"sequence_lengths_S": [7, 1]}, "mask does not fit"),
        ({"sequence_episodes_S": [0, 1]}, "episodes that are not there"),
        ({"response_sequences_R": [0, 1, 0]}, "sequences that are not there"),
        ({"ids_T": [1, 2, 3, 4, 5, 6, 9, -8]}, "negative"),
        ({"ids_T": [1, 2, 3, 4, 5, 6, 9, 100]}, "token 100 is not among the 100"),
        ({"logprobs_T": [0, 0, np.nan, 0, -1, -1, 0, -1]}, "a log-probability is not one"),
        ({"logprobs_T": [0, 0, 0.5, 0, -1, -1, 0, -1]}, "a log-probability is not one"),
        ({"logprobs_T": [0, -1, -1, 0, -1, -1, 0, -1]}, "not sampled"),
        ({"outcomes_E": [40]}, "no such outcome"),
        ({"schema": 2}, "version 2, and this version of holdergym reads up to 1"),
        ({"schema": 0}, "is no file of tokens"),
    ],
)
def test_a_file_that_contradicts_itself_is_refused(saved: Path, arrays: dict[str, object], message: str) -> None:
    load_tokens(saved, 100)
    change(saved, **arrays)
    with pytest.raises(TokenFileError, match=message):
        load_tokens(saved, 100)


def test_files_that_are_none(saved: Path, tmp_path: Path) -> None:
    with pytest.raises(TokenFileError, match="there is no file"):
        load_tokens(tmp_path / "nothing.npz")
    whole = saved.read_bytes()
    for damaged in (b"", b"text", whole[: len(whole) // 2], whole[:-1]):
        saved.write_bytes(damaged)
        with pytest.raises(TokenFileError, match="no file of tokens"):
            load_tokens(saved)
    np.savez(saved, schema=np.int64(1))
    with pytest.raises(TokenFileError, match="no array"):
        load_tokens(saved)


def test_no_flipped_bit_is_a_traceback(saved: Path) -> None:
    whole = saved.read_bytes()
    noticed = 0
    for place in range(0, len(whole), 7):
        broken = bytearray(whole)
        broken[place] ^= 16
        saved.write_bytes(broken)
        said = _complaint(saved)
        assert "\n" not in said
        noticed += bool(said)
    assert noticed > 100


def _complaint(path: Path) -> str:
    try:
        load_tokens(path, 100)
    except TokenFileError as error:
        return str(error)
    return ""
