"""The tables that games are generated from: consistent in themselves, and as the official games have it."""

import gzip
import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

import pytest
from holdergym.envs.alfworld.dice import Dice
from holdergym.envs.alfworld.errands import APPLIANCES, LAMP, draw_errand, draw_sentence
from holdergym.envs.alfworld.generator import generate_games
from holdergym.envs.alfworld.household import CAN_CONTAIN, PROPERTIES, SPELLING
from holdergym.envs.alfworld.pddl import parse_problem
from holdergym.envs.alfworld.problem import IS_COOL, Problem, TaskType
from holdergym.envs.alfworld.rooms import FLOOR, ROOMS

SCENES = {0: "kitchen", 2: "livingroom", 3: "bedroom", 4: "bathroom"}


class Official(NamedTuple):
    room: str
    sentence: str
    problem: Problem


@pytest.fixture(scope="module")
def official(shared: Path) -> list[Official]:
    """All official games that are here."""
    games = []
    for path in sorted((shared / "alfworld").glob("[tv]*.jsonl.gz")):
        if path.name.startswith("traj_slim"):
            continue
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            for row in map(json.loads, lines):
                scene = int(row["path"].split("/")[1].rsplit("-", 1)[1])
                games.append(Official(SCENES[scene // 100], row["task"], parse_problem(row["pddl_problem"])))
    return games


def bare(type_name: str) -> str:
    return type_name.removesuffix("type")


def test_rooms_hold_known_classes_in_furniture_that_they_have() -> None:
    for room in ROOMS.values():
        furniture = {line.kind: line for line in room.furniture}
        assert len(furniture) == len(room.furniture)
        assert furniture.keys() <= CAN_CONTAIN.keys()
        assert len({line.kind for line in room.stock}) == len(room.stock)
        for line in (*room.furniture, *room.stock):
            assert 0 < line.present <= 100
            assert line.numbers
            assert min(line.numbers) >= 1
        for line in room.stock:
            assert line.kind in PROPERTIES
            assert line.places.keys() <= {FLOOR, *furniture}
            assert min(line.places.values()) > 0
        assert all(line.doors in (0, *range(50, 101)) for line in room.furniture)


def test_each_class_has_a_spelling() -> None:
    assert SPELLING.keys() == PROPERTIES.keys() | CAN_CONTAIN.keys()
    assert SPELLING["tvstand"] == "TVStand"
    assert all(taken <= PROPERTIES.keys() for taken in CAN_CONTAIN.values())


@pytest.mark.parametrize("task_type", TaskType)
def test_errands_can_be_done_in_their_room(task_type: TaskType) -> None:
    dice = Dice("errands")
    for _ in range(600):
        errand = draw_errand(dice, task_type)
        room = ROOMS[errand.room]
        furniture = {line.kind for line in room.furniture}
        assert room.stock_of(errand.object).places.keys() - {FLOOR, errand.target}
        if task_type is TaskType.LOOK_AT:
            assert errand.target == LAMP
            assert room.stock_of(LAMP).places.keys() <= furniture
        else:
            assert errand.target in furniture
            assert errand.object in CAN_CONTAIN[errand.target]
            assert errand.target != APPLIANCES.get(task_type)
        if task_type in APPLIANCES:
            assert APPLIANCES[task_type] in furniture


@pytest.mark.shared
def test_abilities_are_those_of_the_official_games(official: list[Official]) -> None:
    found: dict[str, set[int]] = defaultdict(set)
    for game in official:
        for thing in game.problem.objects:
            found[bare(thing.type)].add(thing.properties & ~IS_COOL)
    # A footstool is sometimes portable; ours never is.
    assert found.pop("footstool") == {0, PROPERTIES["pen"]}
    assert found == {kind: {bits} for kind, bits in PROPERTIES.items() if kind != "footstool"}


@pytest.mark.shared
def test_what_fits_into_what_is_as_in_the_official_games(official: list[Official]) -> None:
    for game in official:
        objects = {bare(thing.type) for thing in game.problem.objects}
        furniture = {bare(receptacle.type) for receptacle in game.problem.receptacles}
        stated = {bare(kind): set(map(bare, taken)) for kind, taken in game.problem.can_contain}
        assert stated == {kind: CAN_CONTAIN[kind] & objects for kind in furniture if CAN_CONTAIN[kind] & objects}


@pytest.mark.shared
def test_sentences_are_worded_as_in_the_official_games(official: list[Official]) -> None:
    theirs: dict[TaskType, set[str]] = defaultdict(set)
    for game in official:
        goal = game.problem.goal
        theirs[goal.task_type].add(_template(game.sentence, bare(goal.object_type), bare(goal.target_type)))
    ours: dict[TaskType, set[str]] = defaultdict(set)
    dice = Dice("sentences")
    for task_type in TaskType:
        for _ in range(30):
            errand = draw_errand(dice, task_type)
            ours[task_type].add(_template(draw_sentence(dice, errand), errand.object, errand.target))
    assert ours == theirs


def _template(sentence: str, wanted: str, target: str) -> str:
    words = [{wanted: "OBJECT", target: "TARGET"}.get(word, word) for word in sentence.rstrip(".").split(" ")]
    return " ".join(words)


@pytest.mark.shared
def test_full_rooms_are_spread_like_the_official_ones(official: list[Official]) -> None:
    theirs = _spread((game.room, game.problem) for game in official)
    games = generate_games(0, 480)
    ours = _spread((game.task.id.split("/")[2].rsplit("-", 1)[1], game.problem) for game in games)
    for room, expected in theirs.items():
        for what, mean in expected.items():
            # A tenth, and one more for the small numbers, whose share of chance is large.
            assert ours[room][what] == pytest.approx(mean, rel=0.1, abs=1.0), f"{what} in a {room}"


def _spread(problems: Iterator[tuple[str, Problem]]) -> dict[str, dict[str, float]]:
    """Means by room of what a player meets."""
    by_room: dict[str, list[Counter[str]]] = defaultdict(list)
    for room, problem in problems:
        doors = {index for index, receptacle in enumerate(problem.receptacles) if receptacle.openable}
        by_room[room].append(
            Counter(
                receptacles=len(problem.receptacles),
                locations=len({receptacle.location for receptacle in problem.receptacles}),
                doors=len(doors),
                objects=len(problem.objects),
                lying=len({thing for thing, _ in problem.in_receptacle}),
                hidden=len({thing for thing, place in problem.in_receptacle if place in doors}),
            )
        )
    return {room: {what: fmean(c[what] for c in counts) for what in counts[0]} for room, counts in by_room.items()}
