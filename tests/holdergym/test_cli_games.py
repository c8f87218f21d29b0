import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from holdergym.envs.alfworld.games import open_games

from .conftest import Cli


@pytest.fixture
def generated(cli: Cli, tmp_path: Path) -> Path:
    out = tmp_path / "games"
    assert cli("games", "generate", "--count", 6, "--difficulty", "tiny", "--out", out).status == 0
    return out


def game_files(root: Path) -> list[Path]:
    return sorted(root.glob("json_2.1.1/*/*/*/game.tw-pddl"))


# generate


def test_generate_writes_whole_games(cli: Cli, generated: Path, tmp_path: Path) -> None:
    assert len(game_files(generated)) == 6
    for path in game_files(generated):
        game = json.loads(path.read_text())
        assert sorted(game) == ["grammar", "pddl_domain", "pddl_problem", "solvable", "walkthrough"]
        assert game["solvable"] is True
        assert (path.parent / "initial_state.pddl").read_text() == game["pddl_problem"]
        assert path.parent.parent.name.startswith(json.loads((path.parent / "traj_data.json").read_text())["task_type"])
    again = cli("games", "generate", "--count", 6, "--difficulty", "0", "--out", tmp_path / "again")
    sha256 = open_games("generated", generated).panel.sha256
    assert again.out == f"{tmp_path}/again/json_2.1.1/generated: 6 games, sha256 {sha256}\n"
    other = cli("games", "generate", "--seed", 1, "--count", 6, "--difficulty", "0", "--out", tmp_path / "other")
    assert sha256 not in other.out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--count", "-3"), "-3 games cannot be generated: give a positive number"),
        (("--count", "0"), "0 games cannot be generated: give a positive number"),
        (("--count", "many"), "'many' is not a valid integer"),
        (("--difficulty", "1.5"), "difficulty 1.5 is outside [0, 1]"),
        (("--difficulty", "nan"), "difficulty nan is outside [0, 1]"),
        (("--difficulty", "ful"), "unknown difficulty 'ful'; did you mean 'full'?"),
        (("--panel", "valid_seen"), "--panel 'valid_seen' cannot be used"),
        (("--panel", "../up"), "--panel '../up' cannot be used"),
        (("--panel", "builtin_valid"), "--panel 'builtin_valid' cannot be used"),
    ],
)
def test_generate_refuses(cli: Cli, tmp_path: Path, options: tuple[str, str], message: str) -> None:
    assert message in cli.fails("games", "generate", "--out", tmp_path / "out", *options)
    assert not (tmp_path / "out").exists()


def test_generate_never_mixes_with_what_is_there(cli: Cli, generated: Path) -> None:
    message = cli.fails("games", "generate", "--out", generated)
    assert "json_2.1.1/generated is there already: choose another --out or --panel" in message
    assert cli("games", "generate", "--count", 1, "--out", generated, "--panel", "more").status == 0
    assert len(open_games("generated", generated)) == 6


def test_generate_into_a_file(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    message = cli.fails("games", "generate", "--count", 1, "--out", tmp_path / "file")
    assert "cannot be written" in message
    assert "choose another --out" in message


# list


def test_list_counts_by_type(cli: Cli, generated: Path) -> None:
    run = cli("games", "list", "--data", generated)
    assert (run.status, run.err) == (0, "")
    header, _, row = run.out.splitlines()
    assert header.split() == [
        "panel", "games", "pick_and_place", "look_at", "clean", "cool", "heat", "pick_two", "dialect", "sha256",
    ]  # fmt: skip
    sha256 = open_games("generated", generated).panel.sha256
    assert row.split() == ["generated", "6", "1", "1", "1", "1", "1", "1", "0.4", sha256[:16]]


def test_list_tasks(cli: Cli, generated: Path) -> None:
    lines = cli("games", "list", "--data", generated, "--tasks").out.splitlines()
    panel = open_games("generated", generated).panel
    assert lines == [f"{task.id}\t{task.type}\t0.4" for task in panel.tasks]


def test_list_without_data_shows_the_built_in_panels(cli: Cli) -> None:
    run = cli("games", "list")
    assert run.status == 0
    assert [line.split()[:2] for line in run.out.splitlines()[2:]] == [
        ["builtin_pick_train", "600"],
        ["builtin_pick_valid", "100"],
        ["builtin_small_train", "600"],
        ["builtin_small_valid", "120"],
        ["builtin_train", "600"],
        ["builtin_valid", "60"],
    ]


def test_list_warns_of_a_partial_split(cli: Cli, generated: Path) -> None:
    (generated / "json_2.1.1" / "generated").rename(generated / "json_2.1.1" / "valid_unseen")
    (generated / "json_2.1.1" / "valid_unseen" / "task" / "trial").mkdir(parents=True)
    run = cli("games", "list", "--data", generated)
    assert run.status == 0
    assert run.err.splitlines() == [
        "note: valid_unseen: 1 trial folder left out: no game.tw-pddl",
        "warning: valid_unseen is partial: 6 games here, 134 in the release",
    ]
    assert "6 of 134" in run.out


def test_list_shows_the_good_panels_beside_a_bad_one(cli: Cli, generated: Path) -> None:
    (generated / "json_2.1.1" / "empty").mkdir()
    run = cli("games", "list", "--data", generated)
    assert run.status == 2
    assert "generated" in run.out
    assert "json_2.1.1/empty holds no game" in run.err
    assert run.err.count("\n") == 1


def test_list_names_the_nearest_panel(cli: Cli, generated: Path) -> None:
    message = cli.fails("games", "list", "--data", generated, "--panel", "generatd")
    assert "unknown panel" in message
    assert "did you mean 'generated'?" in message


def test_wrong_data(cli: Cli, tmp_path: Path) -> None:
    assert "--data: there is no " in cli.fails("games", "list", "--data", tmp_path / "absent")
    assert "no folder json_2.1.1 in " in cli.fails("games", "verify", "--data", tmp_path)
    assert "no ALFWorld games: give --data DIR" in cli.fails("games", "verify")
    assert "no ALFWorld games: give --data DIR" in cli.fails("games", "list", "--panel", "valid_unseen")


# verify


def test_verify_good_games(cli: Cli, generated: Path) -> None:
    run = cli("games", "verify", "--data", generated)
    assert (run.status, run.out) == (0, "generated: 6 of 6 games can be played and solved\n")


def test_verify_shows_all_problems_at_once(cli: Cli, generated: Path) -> None:
    cut, unsolvable, wrong, lazy, misnamed, good = game_files(generated)
    cut.write_bytes(cut.read_bytes()[:1000])

    def rewrite(path: Path, **entries: object) -> None:
        path.write_text(json.dumps({**json.loads(path.read_text()), **entries}))

    rewrite(unsolvable, solvable=False)
    problem = json.loads(wrong.read_text())["pddl_problem"]
    # Nothing may be picked up any more: no walkthrough and no plan can work.
    rewrite(wrong, pddl_problem=re.sub(r"\(pickupable \S+\)", "", problem))
    rewrite(lazy, walkthrough=["look", "fly away"])
    moved = generated / "json_2.1.1" / "generated" / "look_at_obj_in_light-Mug-None-DeskLamp-1" / "trial"
    moved.parent.mkdir()
    misnamed.parent.rename(moved)
    shutil.copytree(good.parent, good.parent.with_name("twin"))

    run = cli("games", "verify", "--data", generated)
    assert run.status == 2
    assert "generated: 1 of 7 games can be played and solved\n" in run.out
    assert run.err == "holdergym: error: 7 problems found: see the lines above\n"
    lines = {line for line in run.out.splitlines() if not line.startswith("generated: ")}
    expected = [
        (cut, "is cut or is not JSON"),
        (unsolvable, "is marked unsolvable"),
        (wrong, "its walkthrough has command "),
        (wrong, "has no plan that wins, so nobody can solve it: remove it"),
        (lazy, "its walkthrough has command 2, 'fly away', do nothing: get the file again"),
        (moved / "game.tw-pddl", "unlike its folder's name: rename the folder"),
        (good.parent.with_name("twin") / "game.tw-pddl", f"is the same game as {good}: remove one of the two"),
    ]
    for path, problem in expected:
        assert [line for line in lines if line.startswith(f"{path}: ") and problem in line], (path.parent, problem)
    assert len(lines) == len(expected)


def test_verify_a_pack_and_a_built_in_panel(cli: Cli, generated: Path, tmp_path: Path) -> None:
    pack = tmp_path / "six.games"
    assert cli("games", "pack", "--data", generated, "--out", pack).status == 0
    assert "generated: 6 of 6 games" in cli("games", "verify", "--data", pack).out
    assert "builtin_valid: 60 of 60 games" in cli("games", "verify", "--panel", "builtin_valid").out


# pack


def test_pack_and_list_agree(cli: Cli, generated: Path, tmp_path: Path) -> None:
    pack = tmp_path / "six.games"
    run = cli("games", "pack", "--data", generated, "--out", pack)
    assert run.out == f"{pack}: 6 games in {pack.stat().st_size:,} bytes\n"
    assert cli("games", "list", "--data", pack).out == cli("games", "list", "--data", generated).out


def test_pack_does_not_replace_a_file_unasked(cli: Cli, generated: Path, tmp_path: Path) -> None:
    pack = tmp_path / "six.games"
    pack.write_text("precious")
    message = cli.fails("games", "pack", "--data", generated, "--out", pack)
    assert f"{pack} is there already: give --force to replace it" in message
    assert pack.read_text() == "precious"
    assert cli("games", "pack", "--data", generated, "--out", pack, "--force").status == 0
    assert len(open_games("generated", pack)) == 6


def test_pack_into_an_unwritable_place(cli: Cli, generated: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    message = cli.fails("games", "pack", "--data", generated, "--out", tmp_path / "file" / "six.games")
    assert "cannot be written" in message


def test_pack_refuses_a_bad_game(cli: Cli, generated: Path, tmp_path: Path) -> None:
    game_files(generated)[4].write_text("{}")
    message = cli.fails("games", "pack", "--data", generated, "--out", tmp_path / "six.games")
    assert "has no text under 'pddl_domain'" in message
    assert not (tmp_path / "six.games").exists()


@pytest.mark.shared
def test_official_games_verify(cli: Cli, official_data: Path) -> None:
    run = cli("games", "verify", "--data", official_data, "--panel", "valid_unseen", "--panel", "train")
    assert run.status == 0
    assert run.out.splitlines() == [
        "valid_unseen: 134 of 134 games can be played and solved",
        "train: 8 of 8 games can be played and solved",
    ]
    assert run.err == "warning: train is partial: 8 games here, 3553 in the release\n"


@pytest.mark.shared
@pytest.mark.slow
def test_all_official_games_verify(cli: Cli, shared: Path, tmp_path: Path) -> None:
    """Every shared game: the walkthrough wins and the planner proves it solvable."""
    script = shared / "alfworld" / "lay_out.py"
    subprocess.run([sys.executable, "-B", script, tmp_path / "all"], check=True, stdout=subprocess.DEVNULL, timeout=300)
    run = cli("games", "verify", "--data", tmp_path / "all")
    assert run.status == 0
    assert run.out.splitlines() == [
        "train: 600 of 600 games can be played and solved",
        "valid_seen: 140 of 140 games can be played and solved",
        "valid_train: 200 of 200 games can be played and solved",
        "valid_unseen: 134 of 134 games can be played and solved",
    ]
