"""The rules one by one, on a hand-made kitchen. That they are the stock engine's is test_parity's matter."""

import gzip
import json
from pathlib import Path

import pytest
from holdergym.envs.alfworld import world as world_module
from holdergym.envs.alfworld.names import join_names, number_names
from holdergym.envs.alfworld.pddl import parse_problem
from holdergym.envs.alfworld.problem import Problem
from holdergym.envs.alfworld.state import NOTHING_HAPPENS, State
from holdergym.envs.alfworld.world import World


def play(state: State, *commands: str) -> str:
    """Plays commands that must all be admissible and returns the last answer."""
    answer = ""
    for command in commands:
        assert command in state.admissible_commands()
        answer = state.step(command)
        assert answer != NOTHING_HAPPENS, command
    return answer


def test_names_count_down_in_id_order() -> None:
    ids = ["drawer_bar_2", "drawer_bar_1", "sink_bar_1", "sink_bar_1_bar_sinkbasin", "drawer_bar_10"]
    assert number_names(ids) == {
        "drawer_bar_1": "drawer 3",
        "drawer_bar_10": "drawer 2",
        "drawer_bar_2": "drawer 1",
        "sink_bar_1": "sink 1",
        "sink_bar_1_bar_sinkbasin": "sinkbasin 1",
    }


def test_lists_put_a_comma_before_and_even_between_two() -> None:
    assert [join_names(list("abc")[:n]) for n in range(4)] == ["nothing", "a", "a, and b", "a, b, and c"]


def test_introduction_lists_receptacles_by_id_not_by_name(kitchen: Problem) -> None:
    assert World(kitchen, "Your task is to: x.").introduction == (
        "-= Welcome to TextWorld, ALFRED! =-\n\nYou are in the middle of a room. Looking quickly around you, you see "
        "a cabinet 2, a cabinet 1, a countertop 1, a diningtable 1, a fridge 1, a microwave 1, and a sinkbasin 1."
        "\n\nYour task is to: x."
    )


def test_first_commands(state: State) -> None:
    assert state.admissible_commands() == [
        "go to cabinet 1",
        "go to cabinet 2",
        "go to countertop 1",
        "go to diningtable 1",
        "go to fridge 1",
        "go to microwave 1",
        "go to sinkbasin 1",
        "help",
        "inventory",
        "look",
    ]
    assert state.step("look").endswith("you see nothing.")
    assert state.step("inventory") == "You are not carrying anything."
    assert state.step("help").startswith("Available commands:\n  look:")


def test_going_shows_one_receptacle_and_facing_shows_all(state: State) -> None:
    assert play(state, "go to countertop 1") == (
        "You arrive at countertop 1. On the countertop 1, you see a apple 3, a apple 1, a egg 1, and a plate 1."
    )
    assert state.step("look") == "You are facing the cabinet 2, and countertop 1. Next to it, you see nothing."
    assert state.step("go to cabinet 2") == NOTHING_HAPPENS  # it stands at the same place
    assert state.step("examine cabinet 2") == "The cabinet 2 is closed."
    assert play(state, "open cabinet 2") == "You open the cabinet 2. The cabinet 2 is open. In it, you see a apple 2."
    assert play(state, "close cabinet 2") == "You close the cabinet 2."
    assert "take apple 2 from cabinet 2" not in state.admissible_commands()


def test_only_the_held_object_can_be_examined(state: State) -> None:
    play(state, "go to countertop 1")
    assert state.step("examine egg 1") == NOTHING_HAPPENS
    assert play(state, "take egg 1 from countertop 1", "examine egg 1") == "There's nothing special about egg 1."
    assert state.step("inventory") == "You are carrying: a egg 1."
    assert not [c for c in state.admissible_commands() if c.startswith("take ")]


def test_look_shows_what_was_taken_here_and_laid_elsewhere_here(state: State) -> None:
    play(state, "go to countertop 1", "take plate 1 from countertop 1", "open cabinet 2")
    play(state, "move plate 1 to cabinet 2")
    assert state.step("look").endswith("Next to it, you see a plate 1.")
    play(state, "take plate 1 from cabinet 2", "move plate 1 to countertop 1")
    assert state.step("look").endswith("Next to it, you see a plate 1.")  # it is not back in the cabinet
    play(state, "take plate 1 from countertop 1", "move plate 1 to cabinet 2", "take plate 1 from cabinet 2")
    assert state.step("look").endswith("Next to it, you see nothing.")


def test_an_object_in_two_receptacles_stays_in_the_other(state: State) -> None:
    play(state, "go to countertop 1", "take apple 1 from countertop 1", "go to fridge 1", "open fridge 1")
    assert state.step("examine fridge 1").endswith("you see a apple 1.")
    play(state, "move apple 1 to fridge 1")
    assert state.step("examine fridge 1").endswith("you see a apple 1.")


def test_treatments_ignore_doors_and_change_what_examining_says(state: State) -> None:
    play(state, "go to countertop 1", "take apple 3 from countertop 1", "go to microwave 1")
    assert play(state, "heat apple 3 with microwave 1") == "You heat the apple 3 using the microwave 1."
    assert state.step("examine apple 3") == "This is a hot apple 3."
    assert play(state, "go to sinkbasin 1", "clean apple 3 with sinkbasin 1", "examine apple 3") == (
        "This is a hot and clean apple 3."
    )
    assert play(state, "go to fridge 1", "cool apple 3 with fridge 1", "examine apple 3") == (
        "This is a cool and clean apple 3."
    )


def test_cool_alone_is_called_cold(state: State) -> None:
    play(state, "go to cabinet 2", "open cabinet 2", "take apple 2 from cabinet 2")
    assert state.step("examine apple 2") == "This is a cold apple 2."


def test_a_vessel_never_shows_its_state_and_leaves_its_contents(state: State) -> None:
    play(state, "go to countertop 1", "take plate 1 from countertop 1", "go to sinkbasin 1")
    play(state, "clean plate 1 with sinkbasin 1")
    assert state.step("examine plate 1") == "This is a normal plate 1. In it, you see a egg 1."
    assert play(state, "go to countertop 1").endswith("a apple 3, a apple 1, and a egg 1.")


def test_slicing_reaches_into_closed_receptacles_and_goes_by_the_location_fact(state: State) -> None:
    play(state, "go to diningtable 1", "take knife 1 from diningtable 1", "go to countertop 1")
    slices = [c for c in state.admissible_commands() if c.startswith("slice ")]
    # apple 1 has no location fact; apple 2 lies in the closed cabinet
    assert slices == ["slice apple 2 with knife 1", "slice apple 3 with knife 1"]
    assert play(state, *slices) == "You sliced the apple 3 with the knife 1."
    play(state, "move knife 1 to countertop 1", "take apple 3 from countertop 1")
    assert state.step("examine apple 3") == "This is a sliced apple 3."
    play(state, "go to sinkbasin 1", "clean apple 3 with sinkbasin 1")
    assert state.step("examine apple 3") == "This is a clean sliced apple 3."


def test_a_lamp_in_a_closed_cabinet_can_be_used_again_and_again(state: State) -> None:
    assert play(state, "go to cabinet 1", "use desklamp 1") == "You turn on the desklamp 1."
    assert play(state, "use desklamp 1") == "You turn on the desklamp 1."


def test_won_is_not_latched_and_progress_counts_conditions(state: State) -> None:
    play(state, "go to countertop 1", "take apple 3 from countertop 1")
    # apple 1 lies in the fridge from the start, but it is not cleanable: it does not count
    assert (state.won, state.goal_condition_success_rate()) == (False, 0.0)
    play(state, "go to sinkbasin 1", "clean apple 3 with sinkbasin 1")
    assert state.goal_condition_success_rate() == pytest.approx(1 / 3)
    play(state, "go to fridge 1", "open fridge 1", "move apple 3 to fridge 1")
    assert (state.won, state.goal_condition_success_rate()) == (True, 1.0)
    play(state, "take apple 3 from fridge 1")
    assert (state.won, state.goal_condition_success_rate()) == (False, pytest.approx(1 / 3))


@pytest.mark.parametrize(
    "command",
    [
        "",
        " ",
        "go",
        "go to",
        "go to fridge",
        "go to fridge 2",
        "go to  fridge 1",
        "Go to fridge 1",
        "GO TO FRIDGE 1",
        "go to fridge 1.",
        "go to the fridge 1",
        "go to apple 3",
        "goto fridge 1",
        "look around",
        "l",
        "i",
        "inventory look",
        "help me",
        "put apple 3 in/on countertop 1",
        "take apple 3",
        "take apple 3 from fridge 1",
        "take sink 1 from sinkbasin 1",
        "move apple 3 to countertop 1",
        "open countertop 1",
        "open fridge 1",
        "close cabinet 2",
        "examine agent1",
        "examine",
        "use apple 3",
        "heat apple 3 with microwave 1",
        "slice apple 3 with knife 1",
        "look\nlook",
        "look\x00",
        "go to fridge \uff11",
        "take apple 3 from countertop 1 from countertop 1",
        "😀" * 1000,
    ],
)
def test_anything_else_changes_nothing(state: State, command: str) -> None:
    play(state, "go to countertop 1")
    before = state.admissible_commands()
    assert command.strip() not in before
    assert state.step(command) == NOTHING_HAPPENS
    assert state.admissible_commands() == before


@pytest.mark.parametrize("blanks", [" {} ", "\t{}\n", "\u00a0{}\u3000", "\r\n{}"])
def test_any_blank_around_a_command_is_forgiven(state: State, blanks: str) -> None:
    assert state.step(blanks.format("go to fridge 1")).startswith("You arrive at fridge 1.")


def test_a_copy_shares_nothing_that_changes(state: State) -> None:
    play(state, "go to countertop 1", "take apple 3 from countertop 1")
    other = state.copy()
    play(other, "go to sinkbasin 1", "clean apple 3 with sinkbasin 1", "go to fridge 1", "open fridge 1")
    play(other, "move apple 3 to fridge 1", "go to cabinet 1", "use desklamp 1")
    assert "clean apple 3 with sinkbasin 1" not in state.admissible_commands()
    assert state.step("inventory") == "You are carrying: a apple 3."
    assert state.step("examine cabinet 2") == "The cabinet 2 is closed."
    assert state.step("examine apple 3") == "There's nothing special about apple 3."
    assert play(state, "go to fridge 1", "examine fridge 1") == "The fridge 1 is closed."


def test_lists_are_fresh(state: State) -> None:
    state.admissible_commands().clear()
    assert state.admissible_commands()


def test_a_full_view_cache_is_emptied_and_changes_nothing(kitchen: Problem, monkeypatch: pytest.MonkeyPatch) -> None:
    def transcript() -> list[tuple[str, list[str]]]:
        state = World(kitchen, "").initial_state()
        tour = ["go to countertop 1", "take egg 1 from countertop 1", "go to fridge 1", "open fridge 1"]
        tour += ["close fridge 1", "go to countertop 1", "move egg 1 to countertop 1"]
        return [(state.step(command), state.admissible_commands()) for command in tour * 3]

    with_room = transcript()
    monkeypatch.setattr(world_module, "_MAX_VIEWS", 1)
    assert transcript() == with_room


@pytest.mark.shared
def test_walkthroughs_win_all_official_games_exactly_at_their_end(shared: Path) -> None:
    count = 0
    for name in ("train_part", "valid_train", "valid_seen", "valid_unseen"):
        with gzip.open(shared / "alfworld" / f"{name}.jsonl.gz", "rt") as lines:
            for line in lines:
                row = json.loads(line)
                state = World(parse_problem(row["pddl_problem"]), row["task"]).initial_state()
                won_before = []
                for command in row["walkthrough"]:
                    won_before.append(state.won)
                    commands = state.admissible_commands()
                    assert commands == sorted(set(commands))
                    assert command in commands, (row["path"], command)
                    state.step(command)
                assert not any(won_before), row["path"]
                assert state.won, row["path"]
                count += 1
    assert count == 1074
