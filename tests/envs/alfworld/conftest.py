"""A hand-made kitchen that holds one of everything the rules speak of."""

import sys
from pathlib import Path

import pytest
from holdergym.envs.alfworld.pddl import parse_problem
from holdergym.envs.alfworld.problem import Problem
from holdergym.envs.alfworld.state import State
from holdergym.envs.alfworld.world import World

# `lockstep`, which compares engines, stands beside the benchmarks that use it, not in the package.
sys.path.append(str(Path(__file__).resolve().parents[3] / "benchmarks"))

SENTENCE = "Your task is to: clean some apple and put it in fridge."

KITCHEN = """
(define (problem kitchen) (:domain alfred)
(:objects agent1 - agent)
(:init
    (atLocation agent1 loc_bar_0)
    (receptacleType CounterTop_bar_1 CounterTopType) (receptacleAtLocation CounterTop_bar_1 loc_bar_1)
    (receptacleType Cabinet_bar_1 CabinetType) (receptacleAtLocation Cabinet_bar_1 loc_bar_1)
    (receptacleType Cabinet_bar_2 CabinetType) (receptacleAtLocation Cabinet_bar_2 loc_bar_2)
    (receptacleType Fridge_bar_1 FridgeType) (receptacleAtLocation Fridge_bar_1 loc_bar_3)
    (receptacleType Microwave_bar_1 MicrowaveType) (receptacleAtLocation Microwave_bar_1 loc_bar_4)
    (receptacleType Sink_bar_1_bar_SinkBasin SinkBasinType)
    (receptacleAtLocation Sink_bar_1_bar_SinkBasin loc_bar_5)
    (receptacleType DiningTable_bar_1 DiningTableType) (receptacleAtLocation DiningTable_bar_1 loc_bar_6)
    (openable Cabinet_bar_1) (openable Cabinet_bar_2) (openable Fridge_bar_1) (openable Microwave_bar_1)

    (objectType Apple_bar_1 AppleType) (objectType Apple_bar_2 AppleType) (objectType Apple_bar_3 AppleType)
    (objectType Plate_bar_1 PlateType) (objectType Knife_bar_1 KnifeType) (objectType DeskLamp_bar_1 DeskLampType)
    (objectType Sink_bar_1 SinkType) (objectType Egg_bar_1 EggType)
    (pickupable Apple_bar_1) (pickupable Apple_bar_2) (pickupable Apple_bar_3) (pickupable Plate_bar_1)
    (pickupable Knife_bar_1) (pickupable Egg_bar_1)
    (cleanable Apple_bar_1) (cleanable Apple_bar_2) (cleanable Plate_bar_1) (cleanable Knife_bar_1)
    (heatable Apple_bar_1) (heatable Apple_bar_2) (heatable Plate_bar_1)
    (coolable Apple_bar_1) (coolable Apple_bar_2) (coolable Plate_bar_1) (isCool Apple_bar_2)
    (sliceable Apple_bar_1) (sliceable Apple_bar_2) (toggleable DeskLamp_bar_1)
    (isReceptacleObject Plate_bar_1) (inReceptacleObject Egg_bar_1 Plate_bar_1)

    (inReceptacle Apple_bar_1 CounterTop_bar_1) (objectAtLocation Apple_bar_1 loc_bar_1)
    (inReceptacle Apple_bar_2 Cabinet_bar_1) (objectAtLocation Apple_bar_2 loc_bar_1)
    (inReceptacle Apple_bar_3 CounterTop_bar_1) (inReceptacle Apple_bar_3 Fridge_bar_1)
    (inReceptacle Plate_bar_1 CounterTop_bar_1) (objectAtLocation Plate_bar_1 loc_bar_1)
    (inReceptacle Egg_bar_1 CounterTop_bar_1) (objectAtLocation Egg_bar_1 loc_bar_1)
    (inReceptacle Knife_bar_1 DiningTable_bar_1) (objectAtLocation Knife_bar_1 loc_bar_6)
    (inReceptacle DeskLamp_bar_1 Cabinet_bar_2) (objectAtLocation DeskLamp_bar_1 loc_bar_2)
    (objectAtLocation Sink_bar_1 loc_bar_5)
    (objectAtLocation Apple_bar_1 loc_bar_1)

    (canContain CounterTopType AppleType) (canContain CounterTopType PlateType)
    (canContain CounterTopType KnifeType) (canContain CounterTopType EggType)
    (canContain CabinetType PlateType) (canContain FridgeType AppleType) (canContain FridgeType PlateType)
    (canContain DiningTableType AppleType) (canContain DiningTableType KnifeType)
)
(:goal (and (exists (?r - receptacle) (exists (?o - object) (and
    (cleanable ?o) (objectType ?o AppleType) (receptacleType ?r FridgeType) (isClean ?o) (inReceptacle ?o ?r))))))
)
"""


@pytest.fixture(scope="session")
def kitchen() -> Problem:
    """The kitchen's facts: a clean-then-place game."""
    return parse_problem(KITCHEN)


@pytest.fixture(scope="session")
def kitchen_text() -> str:
    """The kitchen as PDDL."""
    return KITCHEN


@pytest.fixture
def state(kitchen: Problem) -> State:
    """The kitchen at its start."""
    return World(kitchen, SENTENCE).initial_state()
