import gzip
import json
from pathlib import Path

import pytest
from holdergym.envs.alfworld.pddl import format_problem, parse_problem
from holdergym.envs.alfworld.problem import Problem, TaskType, problem_from_record, problem_to_record
from holdergym.envs.errors import GameError


def test_facts_are_a_set_in_lower_case_and_id_order(kitchen: Problem) -> None:
    assert kitchen.goal == (TaskType.CLEAN, "appletype", "fridgetype")
    assert [r.id for r in kitchen.receptacles][:3] == ["cabinet_bar_1", "cabinet_bar_2", "countertop_bar_1"]
    assert kitchen.locations[kitchen.agent] == "loc_bar_0"
    # apple_bar_1 is said to be at loc_bar_1 twice, apple_bar_3 is in two receptacles and at no location
    assert [place for thing, place in kitchen.at_location if thing == 0] == [1]
    assert len([r for thing, r in kitchen.in_receptacle if thing == 2]) == 2
    assert not [place for thing, place in kitchen.at_location if thing == 2]


def test_text_and_record_round_trips(kitchen: Problem) -> None:
    assert parse_problem(format_problem(kitchen, "kitchen")) == kitchen
    assert problem_from_record(json.loads(json.dumps(problem_to_record(kitchen)))) == kitchen


@pytest.mark.shared
def test_official_problems_round_trip(shared: Path) -> None:
    count = 0
    with gzip.open(shared / "alfworld" / "valid_unseen.jsonl.gz", "rt") as lines:
        for line in lines:
            row = json.loads(line)
            problem = parse_problem(row["pddl_problem"])
            assert row["path"].split("/")[1].startswith(problem.goal.task_type + "-")
            assert parse_problem(format_problem(problem, "trial")) == problem
            assert problem_from_record(json.loads(json.dumps(problem_to_record(problem)))) == problem
            count += 1
    assert count == 134


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("(:goal", "(:gaol", "no ':init' before a ':goal'"),
        ("(isClean ?o)", "", "not the shape of a pick_and_place_simple"),
        ("(isClean ?o)", "(isClean ?o) (isHot ?o)", "not the shape of a pick_clean"),
        ("(and (exists", "(or (exists", "not the shape"),
        (
            "(openable Cabinet_bar_1)",
            "(opened Cabinet_bar_1)",
            "'(opened cabinet_bar_1)' occurs in no released",
        ),
        ("(openable Cabinet_bar_1)", "(openable)", "occurs in no released"),
        ("(openable Cabinet_bar_1)", "(openable Cabinet_bar_1", "'('"),
        ("(atLocation agent1 loc_bar_0)", "", "places 0 agents"),
        ("(receptacleAtLocation Fridge_bar_1 loc_bar_3)", "", "'fridge_bar_1' lacks a type or a location"),
        (
            "(receptacleAtLocation Fridge_bar_1 loc_bar_3)",
            "(receptacleAtLocation Fridge_bar_1 loc_bar_3) (receptacleAtLocation Fridge_bar_1 loc_bar_4)",
            "'fridge_bar_1' has more than one location",
        ),
        (
            "(inReceptacle Egg_bar_1 CounterTop_bar_1)",
            "(inReceptacle Egg_bar_1 Shelf_bar_1)",
            "'shelf_bar_1'",
        ),
    ],
)
def test_a_wrong_problem_is_refused_with_its_fault(kitchen_text: str, old: str, new: str, message: str) -> None:
    assert old in kitchen_text
    with pytest.raises(GameError) as error:
        parse_problem(kitchen_text.replace(old, new, 1))
    assert message in str(error.value)


@pytest.mark.parametrize("cut", [0, 100, 900, 3000])
def test_a_cut_problem_is_refused(kitchen_text: str, cut: int) -> None:
    with pytest.raises(GameError):
        parse_problem(kitchen_text[:cut])


@pytest.mark.parametrize("damage", [None, [], [0] * 10, [1] + [0] * 9, [2, [], [], [], 0, [], [], [], [], []]])
def test_a_damaged_record_is_refused(damage: list[object]) -> None:
    with pytest.raises(GameError, match="pack the games again"):
        problem_from_record(damage)
