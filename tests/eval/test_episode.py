import json
import math
from dataclasses import replace

import pytest
from holdergym.agents.trajectory import Outcome, Trajectory, Turn
from holdergym.agents.usage import Usage
from holdergym.eval.episode import Episode, episode_from_line, episode_to_line
from holdergym.eval.fields import EpisodeFormatError
from hypothesis import given
from hypothesis import strategies as st

# Any text at all, with half surrogate pairs, line separators and NUL.
texts = st.text(st.characters(exclude_categories=()), max_size=20)
counts = st.integers(0, 2**48)
shares = st.floats(0, 1)


tokens = st.lists(st.integers(0, 150_000), max_size=4).map(tuple)


# The commands that a turn may choose from: sorted as those of the games, or in any order, also twice.
some = st.lists(st.sampled_from(["go to desk 1", "inventory", "look", ""]) | texts, max_size=6)
offers = st.just(()) | some.map(lambda commands: tuple(sorted(set(commands)))) | some.map(tuple)


@st.composite
def turns(draw: st.DrawFn, before: tuple[int, ...] = ()) -> Turn:
    """A turn, of a scripted agent or of a language model, whose prompt may go on from what it saw before."""
    turn = Turn(
        observation=draw(texts),
        action=draw(texts),
        valid=draw(st.booleans()),
        reward=draw(st.floats(allow_nan=False)),
        agent_seconds=draw(st.integers(0, 10**9)) / 1e6,
        env_seconds=draw(st.integers(0, 10**9)) / 1e6,
    )
    if draw(st.booleans()):
        return turn
    response_ids = draw(st.none() | tokens)
    # Samplers compute in float32, and so much is kept.
    one = st.floats(max_value=0.0, allow_infinity=False, width=32)
    logprobs = None if response_ids is None else tuple(draw(one) for _ in response_ids)
    return replace(
        turn,
        reply=draw(texts),
        prompt_ids=draw(st.none() | tokens | tokens.map(lambda more: before + more)),
        response_ids=response_ids,
        logprobs=draw(st.sampled_from([None, logprobs])),
        finish=draw(st.sampled_from([None, "stop", "length"])),
        unparsable=draw(st.booleans()),
        remarks=draw(st.sampled_from([(), ("no_action", "chinese")])),
        snapped_from=draw(st.none() | texts),
        usage=draw(st.none() | st.builds(Usage, counts, st.none() | counts, counts)),
    )


@st.composite
def episode_turns(draw: st.DrawFn) -> tuple[Turn, ...]:
    played: list[Turn] = []
    before: tuple[int, ...] = ()
    for _ in range(draw(st.integers(0, 3))):
        played.append(replace(draw(turns(before)), admissible_commands=draw(offers)))
        before = (played[-1].prompt_ids or ()) + (played[-1].response_ids or ())
    return tuple(played)


@st.composite
def episodes(draw: st.DrawFn) -> Episode:
    trajectory = Trajectory(
        task_id=draw(texts),
        task_type=draw(texts),
        sample=draw(counts),
        seed=draw(counts),
        agent=draw(texts),
        turns=draw(episode_turns()),
        outcome=draw(st.sampled_from(Outcome)),
        goal_condition_success_rate=draw(shares),
        final_observation=draw(texts),
        reason=draw(texts),
    )
    return Episode(trajectory, draw(st.none() | counts))


def test_what_was_not_measured_is_null(make_episode) -> None:
    """An episode that failed before it began has no goal rate: 0.0 would be a number that nobody measured."""
    failed = make_episode(0, Outcome.ERROR, steps=0, goal_condition_success_rate=math.nan)
    line = episode_to_line(failed).encode()
    assert json.loads(line)["goal_condition_success_rate"] is None
    assert math.isnan(episode_from_line(line).trajectory.goal_condition_success_rate)
    with pytest.raises(EpisodeFormatError, match="goal_condition_success_rate"):
        episode_from_line(line.replace(b'"error"', b'"limit"'))


@given(episodes())
def test_what_is_written_is_read_again(episode: Episode) -> None:
    line = episode_to_line(episode)
    assert line.endswith("\n")
    assert line.count("\n") == 1
    assert line.isascii()
    assert episode_from_line(line.encode()) == episode


@given(episodes(), st.data())
def test_a_cut_line_is_never_taken_for_an_episode(episode: Episode, data: st.DataObject) -> None:
    line = episode_to_line(episode).encode()
    cut = data.draw(st.integers(0, len(line) - 2))
    with pytest.raises(EpisodeFormatError):
        episode_from_line(line[:cut])


def test_log_probabilities_that_are_not_finite_survive(make_episode) -> None:
    turn = Turn("o", "a", True, 0.0, response_ids=(7, 8), logprobs=(-math.inf, -0.5))
    episode = make_episode(0)
    episode = replace(episode, trajectory=replace(episode.trajectory, turns=(turn,)))
    assert episode_from_line(episode_to_line(episode).encode()) == episode


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"schema": 2}, "schema version 2 .* upgrade holdergym"),
        ({"schema": 0}, "no schema version 0"),
        ({"schema": True}, "'schema' is True"),
        ({"schema": None}, "'schema' is None"),
        ({"task_id": 3}, "'task_id' is 3, which is not a str"),
        ({"task_id": ...}, "'task_id' is missing"),
        ({"sample": -1}, "'sample' is -1, which is negative"),
        ({"sample": 1.0}, "'sample' is 1.0"),
        ({"outcome": "victory"}, "no outcome 'victory'"),
        ({"goal_condition_success_rate": 1.5}, "not between 0 and 1"),
        ({"goal_condition_success_rate": math.nan}, "not between 0 and 1"),
        ({"goal_condition_success_rate": True}, "is True, which is not a float"),
        ({"shortest": -2}, "negative"),
        ({"turns": {}}, "'turns' is {}"),
        ({"turns": [3]}, "a turn is not a JSON object"),
        ({"turns": [{"observation": "o"}]}, "'action' is missing"),
    ],
)
def test_a_wrong_field_is_named(make_episode, change: dict[str, object], message: str) -> None:
    record = {**json.loads(episode_to_line(make_episode(0))), **change}
    record = {key: value for key, value in record.items() if value is not ...}
    with pytest.raises(EpisodeFormatError, match=message):
        episode_from_line(json.dumps(record).encode())


def offering(episode: Episode, *offers: tuple[str, ...]) -> Episode:
    turns = tuple(Turn("o", "look", True, 0.0, admissible_commands=offer) for offer in offers)
    return replace(episode, trajectory=replace(episode.trajectory, turns=turns))


def test_a_command_is_written_once_however_often_it_is_offered(make_episode) -> None:
    """A sorted offer is written as what comes and goes."""
    stays = tuple(f"go to shelf {number}" for number in range(10, 40))
    episode = offering(make_episode(0), ("close box 1", *stays), ("look", *stays)[1:], (), (*stays, "look"))
    record = json.loads(episode_to_line(episode))["admissible_commands"]
    assert record["commands"] == ["close box 1", *stays, "look"]
    assert record["flips"]
    assert record["turns"] == [[*range(31)], [0], [*range(1, 31)], [*range(1, 32)]]
    assert episode_from_line(episode_to_line(episode).encode()) == episode


def test_lines_from_before_there_were_admissible_commands_are_read(make_episode) -> None:
    record = json.loads(episode_to_line(offering(make_episode(0), ("help", "look"), ("look",))))
    del record["admissible_commands"]
    read = episode_from_line(json.dumps(record).encode())
    assert read == offering(make_episode(0), (), ())
    assert "admissible_commands" not in json.loads(episode_to_line(read))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"flips": 1}, "'flips' is 1"),
        ({"flips": ...}, "'flips' is missing"),
        ({"commands": ...}, "'commands' .* is missing"),
        ({"commands": ["help", 3]}, "not a str"),
        ({"commands": ["help"]}, "not those of so many turns and commands"),
        ({"turns": [[0]]}, "not those of so many turns and commands"),
        ({"turns": [[0], [-1]]}, "not those of so many turns and commands"),
        ({"turns": [[0], 1]}, "'turns' is 1"),
        ({"turns": [[0], ["1"]]}, "not a int"),
    ],
)
def test_admissible_commands_that_do_not_fit_are_refused(make_episode, change: dict[str, object], message: str) -> None:
    record = json.loads(episode_to_line(offering(make_episode(0), ("help", "look"), ("look",))))
    wrong = {**record["admissible_commands"], **change}
    record["admissible_commands"] = {key: value for key, value in wrong.items() if value is not ...}
    with pytest.raises(EpisodeFormatError, match=message):
        episode_from_line(json.dumps(record).encode())


@pytest.mark.parametrize("line", [b"", b"\0\0\0", b"[]", b"3", b"\xff", b"{}", b"[" * 5000])
def test_a_line_that_is_no_episode(line: bytes) -> None:
    with pytest.raises(EpisodeFormatError):
        episode_from_line(line)


def test_token_ids_of_the_wrong_type_are_refused(make_episode) -> None:
    record = json.loads(episode_to_line(make_episode(0)))
    record["turns"][0]["response_ids"] = [1, "2"]
    with pytest.raises(EpisodeFormatError, match="'response_ids'"):
        episode_from_line(json.dumps(record).encode())
