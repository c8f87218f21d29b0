"""The quick reader takes exactly the lines that the whole reader takes, and finds the same in them."""

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest
from holdergym.agents.trajectory import Outcome, Turn
from holdergym.agents.usage import Usage
from holdergym.eval.episode import Episode, episode_from_line, episode_to_line
from holdergym.eval.errors import RunError
from holdergym.eval.fields import EpisodeFormatError
from holdergym.eval.journal import Journal
from holdergym.eval.quick_reading import played_from_line, read_played
from holdergym.eval.results import Played
from hypothesis import given
from hypothesis import strategies as st

from .test_episode import episodes

# What may stand in the place of any value.
odd = st.sampled_from(
    [None, True, 0, -1, 1, 1.5, "x", "won", [], [1], ["x"], [0.5], [1, 2, 3], {}, float("nan"), float("inf"), 10**30]
)


def both_ways(line: bytes) -> None:
    """Reads a line whole and quickly: the same result, or the same complaint."""
    try:
        expected: Played | str = Played.of(episode_from_line(line), 7)
    except EpisodeFormatError as error:
        expected = str(error)
    try:
        found: Played | str = played_from_line(line, 7)
    except EpisodeFormatError as error:
        found = str(error)
    assert repr(found) == repr(expected)  # seconds may be NaN in a changed line, which does not equal itself


@pytest.mark.parametrize("outcome", list(Outcome))
def test_a_goal_rate_that_was_not_measured(make_episode, outcome: Outcome) -> None:
    line = episode_to_line(make_episode(0, Outcome.ERROR, steps=0, goal_condition_success_rate=math.nan))
    both_ways(line.replace('"error"', f'"{outcome.value}"').encode())


def with_tokens(episode: Episode, replies: list[str], counted: bool) -> Episode:
    """The episode as a language model would have played it: each prompt goes on from the last one."""
    ids: tuple[int, ...] = (1, 2)
    turns = []
    for number, reply in enumerate(replies):
        prompt = (*ids, 10 + number)
        said = (20 + number, 30)
        ids = prompt + said
        turns.append(
            Turn(
                observation="o",
                action="look",
                valid=number % 2 == 0,
                reward=0.0,
                reply=reply,
                prompt_ids=prompt,
                response_ids=said,
                logprobs=(-0.5, -0.0),
                finish="length" if number == 1 else "stop",
                unparsable=number == 2,
                remarks=("no_action",),
                usage=Usage(len(prompt), number, 2) if counted else None,
            )
        )
    return replace(episode, trajectory=replace(episode.trajectory, turns=tuple(turns)))


@given(episodes())
def test_every_episode_gives_the_same_result(episode: Episode) -> None:
    both_ways(episode_to_line(episode).encode())


@given(episodes(), st.lists(st.text(max_size=5), max_size=4), st.booleans(), st.data())
def test_a_changed_line_is_read_or_refused_alike(
    episode: Episode, replies: list[str], counted: bool, data: st.DataObject
) -> None:
    talking = with_tokens(episode, replies, counted).trajectory
    turns = tuple(replace(turn, admissible_commands=("help", "look")) for turn in talking.turns)
    record = json.loads(episode_to_line(replace(episode, trajectory=replace(talking, turns=turns))))
    place = record
    if record["turns"] and data.draw(st.booleans()):
        place = data.draw(st.sampled_from(record["turns"]))
    elif "admissible_commands" in record and data.draw(st.booleans()):
        place = record["admissible_commands"]
    key = data.draw(st.sampled_from([*place, "answer", "verdict", "reply", "finish", "prompt_from", "unknown"]))
    if data.draw(st.booleans()):
        place.pop(key, None)
    else:
        place[key] = data.draw(odd)
    both_ways(json.dumps(record).encode())


def test_a_language_model_s_turns_are_counted(make_episode) -> None:
    line = episode_to_line(with_tokens(make_episode(0, Outcome.LIMIT), ["a", "b", "c", "d"], counted=True)).encode()
    result = played_from_line(line, 1).result
    assert (result.replies, result.unparsable_replies, result.cut_replies, result.invalid_commands) == (4, 1, 1, 2)
    assert result.usage == Usage(3 + 6 + 9 + 12, 6, 8)
    assert played_from_line(line, 1) == Played.of(episode_from_line(line), 1)
    # Nothing was said of what was cached in one of them.
    untold = line.replace(b'"usage":[6,1,2]', b'"usage":[6,null,2]')
    assert untold != line
    assert played_from_line(untold, 1).result.usage == Usage(3 + 6 + 9 + 12, None, 8)
    both_ways(untold)
    for usage in (b"[null,1,2]", b"[6,-1,2]", b"[6,1]", b"[6,1,2,3]", b"[6,true,2]", b"[6,1.0,2]", b"6"):
        both_ways(line.replace(b"[6,1,2]", usage))
        with pytest.raises(EpisodeFormatError):
            played_from_line(line.replace(b"[6,1,2]", usage), 1)


@pytest.mark.parametrize("text", ["half a pair \ud800", "\u2028", "\0", "\ud83d\ude00", "\x7f"])
def test_any_text_in_an_episode(make_episode, text: str) -> None:
    both_ways(episode_to_line(make_episode(0, final_observation=text)).encode())


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"{}",
        b"[]",
        b"\xff",
        b"[" * 5000,
        b'{"schema": 2}',
        b'{"schema": 1, "schema": 2}',
        b'{"schema": 1.0}',
    ],
)
def test_what_is_no_episode(line: bytes) -> None:
    both_ways(line)


def test_a_key_that_is_there_twice(make_episode) -> None:
    """The last one counts in both readers, as in most of JSON."""
    line = episode_to_line(make_episode(0)).rstrip().encode()
    both_ways(line[:-1] + b',"outcome":"lost","sample":5}')
    both_ways(line[:-1] + b',"outcome":"lost","sample":-5}')
    both_ways(b'{"outcome":"lost","sample":-5,' + line[1:])


def test_a_damaged_line_is_refused_with_its_number(tmp_path: Path, make_episode) -> None:
    path = tmp_path / "episodes.jsonl"
    with Journal(path) as journal:
        for number in range(3):
            journal.append(make_episode(number))
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([lines[0], lines[1].replace(b'"schema":1', b'"schema":9'), lines[2]]))
    with pytest.raises(RunError, match=r"line 2 of .*schema version 9 .* upgrade holdergym"):
        list(read_played(path))
    path.write_bytes(b"".join(lines)[:-3])
    assert [played.line for played in read_played(path)] == [1, 2]
