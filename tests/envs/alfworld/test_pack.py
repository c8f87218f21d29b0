import gzip
import json
import random
from pathlib import Path

import pytest
from holdergym.envs.alfworld.game import Game, StoredGame
from holdergym.envs.alfworld.games import Games, open_games, panel_names
from holdergym.envs.alfworld.generator import generate_games
from holdergym.envs.alfworld.pack import PackedPanel, list_panels, read_pack, write_pack
from holdergym.envs.alfworld.problem import Problem
from holdergym.envs.errors import GameError, HolderGymError, UnknownNameError


@pytest.fixture(scope="module")
def household() -> Games:
    return Games.of("mine", generate_games(7, 12, 0.1, panel="mine"))


@pytest.fixture
def packed(household: Games, tmp_path: Path) -> Path:
    path = tmp_path / "mine.games"
    write_pack(path, [PackedPanel(household.panel, household.stored)])
    return path


def test_a_pack_gives_the_same_games(household: Games, packed: Path) -> None:
    games = open_games("mine", packed)
    assert games.panel == household.panel
    assert games.panel.sha256 == household.panel.sha256
    assert list(games) == list(household)
    for task_id, game in games.items():
        original = household[task_id]
        assert (game.problem, game.sentence) == (original.problem, original.sentence)
        assert (game.walkthrough, game.dialect) == (original.walkthrough, original.dialect)
        assert game.source == f"{packed}#{task_id}"


def test_the_file_depends_on_the_games_only(household: Games, packed: Path, tmp_path: Path) -> None:
    again = tmp_path / "elsewhere" / "again.games"
    write_pack(again, [PackedPanel(household.panel, household.stored)])
    assert again.read_bytes() == packed.read_bytes()
    reread = read_pack(packed, "mine")
    write_pack(again, [reread])
    assert again.read_bytes() == packed.read_bytes()


def test_several_panels_in_one_file(household: Games, tmp_path: Path) -> None:
    path = tmp_path / "two.games"
    small = Games.of("other", generate_games(50, 3, 0.0, panel="other"))
    cut = household.panel.limit(4)
    part = PackedPanel(cut, tuple(game for game in household.stored if game.task in cut.tasks))
    write_pack(path, [part, PackedPanel(small.panel, small.stored)])
    assert panel_names(path) == list_panels(path) == ("mine", "other")
    assert open_games("other", path).panel == small.panel
    assert open_games("mine", path).panel.label == "mine[4 of 12]"
    with pytest.raises(UnknownNameError, match="did you mean 'other'"):
        open_games("others", path)
    with pytest.raises(HolderGymError, match="holds several panels: choose one of mine, other"):
        open_games(None, path)


def test_the_only_panel_needs_no_name(packed: Path) -> None:
    assert open_games(data=packed).panel.name == "mine"


def test_any_cut_is_noticed(packed: Path) -> None:
    content = packed.read_bytes()
    for length in [*range(0, len(content), 97), len(content) - 1]:
        packed.write_bytes(content[:length])
        with pytest.raises(HolderGymError) as caught:
            open_games("mine", packed)
        assert str(packed) in str(caught.value)
        assert "\n" not in str(caught.value)


def test_any_changed_byte_is_noticed_or_harmless(packed: Path, household: Games) -> None:
    """A flipped bit may fall into gzip's unused header fields; then the games must be untouched."""
    content = packed.read_bytes()
    dice = random.Random(3)
    noticed = 0
    for _ in range(300):
        position = dice.randrange(2, len(content))
        damaged = bytearray(content)
        damaged[position] ^= 1 << dice.randrange(8)
        packed.write_bytes(bytes(damaged))
        try:
            games = read_pack(packed, "mine").games
        except HolderGymError:
            noticed += 1
        else:
            assert [game.facts for game in games] == [game.facts for game in household.stored]
    assert noticed > 280


def _members(path: Path) -> tuple[dict[str, object], list[bytes]]:
    lines = gzip.decompress(path.read_bytes()).splitlines()
    return json.loads(lines[0]), lines[1:]


def _write(path: Path, header: dict[str, object], lines: list[bytes]) -> None:
    body = gzip.compress(b"\n".join(lines) + b"\n")
    panels = header["panels"]
    assert isinstance(panels, list)
    panels[0]["bytes"] = len(body)
    path.write_bytes(gzip.compress(json.dumps(header).encode()) + body)


def test_a_forged_game_is_refused_when_it_is_decoded(packed: Path) -> None:
    header, lines = _members(packed)
    lines[1] = lines[1].replace(b"_bar_", b"_baz_", 1)
    _write(packed, header, lines)
    games = open_games("mine", packed)
    first, second, *_ = games
    with pytest.raises(GameError, match=r"#alfworld/mine/.*: the game is damaged \(its sha256 differs\)"):
        games[first]
    assert games[second].task.id == second


def test_a_panel_name_that_would_steer_a_terminal_is_refused(packed: Path) -> None:
    header, lines = _members(packed)
    header["panels"][0]["name"] = "\x1b[2J"
    _write(packed, header, lines)
    with pytest.raises(GameError, match="is cut or damaged"):
        list_panels(packed)


def test_a_forged_index_is_refused(packed: Path) -> None:
    header, lines = _members(packed)
    rows = json.loads(lines[0])
    _write(packed, header, [json.dumps(rows[::-1]).encode(), *lines[:0:-1]])
    with pytest.raises(GameError, match="is cut or damaged"):
        open_games("mine", packed)
    first = next(row for row in rows if row[1] != "look_at_obj_in_light")
    first[1] = "look_at_obj_in_light"
    _write(packed, header, [json.dumps(rows).encode(), *lines[1:]])
    games = open_games("mine", packed)
    with pytest.raises(GameError, match="is not of the type or dialect it is listed with: pack it again"):
        games[first[0]]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "something else"}, "is not a pack of games"),
        ({"version": 2}, "is a pack of version 2, and this is version 1: pack the games again"),
        ({"panels": 3}, "is cut or damaged"),
        ({"panels": [{"name": "mine"}]}, "is cut or damaged"),
    ],
)
def test_a_foreign_header_is_refused(packed: Path, change: dict[str, object], message: str) -> None:
    header, _ = _members(packed)
    packed.write_bytes(gzip.compress(json.dumps({**header, **change}).encode()))
    with pytest.raises(GameError, match=message):
        open_games("mine", packed)


@pytest.mark.parametrize("content", [b"[]", b"plain text", b"[" * 100_000, b"\xff\xfe"])
def test_any_other_gzip_file_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "other.gz"
    path.write_bytes(gzip.compress(content))
    with pytest.raises(GameError, match="is not a pack of games: give a file made by `holdergym games pack`"):
        open_games("mine", path)


def test_a_gzip_bomb_is_not_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "bomb.gz"
    path.write_bytes(gzip.compress(bytes(50 * 2**20)))
    with pytest.raises(GameError, match="is cut or damaged"):
        open_games("mine", path)


def test_the_old_dialect_is_not_packed(kitchen: Problem, tmp_path: Path) -> None:
    """Only the stock engine plays it, and that needs the file's own grammar."""
    old = Game.make("alfworld/old/a/b", kitchen, "Your task is to: x.", None, dialect="0.3", source="FILE")
    games = Games.of("old", [old])
    with pytest.raises(GameError, match=r"FILE: speaks dialect 0\.3; a pack holds games of dialect 0\.4"):
        write_pack(tmp_path / "old.games", [PackedPanel(games.panel, games.stored)])
    assert not list(tmp_path.iterdir())


def test_a_failed_write_leaves_nothing_behind(household: Games, tmp_path: Path) -> None:
    (tmp_path / "taken").mkdir()
    with pytest.raises(HolderGymError, match=r"taken: cannot be written \(Is a directory\)"):
        write_pack(tmp_path / "taken", [PackedPanel(household.panel, household.stored)])
    assert [path.name for path in tmp_path.iterdir()] == ["taken"]


def test_stored_games_are_small(household: Games) -> None:
    assert max(len(game.facts) for game in map(StoredGame.of, household.values())) < 10_000


@pytest.mark.shared
def test_official_games_packed(official_data: Path, tmp_path: Path) -> None:
    tree = open_games("valid_unseen", official_data)
    path = tmp_path / "unseen.games"
    write_pack(path, [PackedPanel(tree.panel, tree.stored)])
    assert path.stat().st_size < 1500 * len(tree)

    decoded = [game.load() for game in read_pack(path, "valid_unseen").games]

    assert open_games("valid_unseen", path).panel == tree.panel
    assert [game.task.digest for game in decoded] == [task.digest for task in tree.panel.tasks]
    assert [(g.problem, g.sentence, g.walkthrough) for g in decoded] == [
        (g.problem, g.sentence, g.walkthrough) for g in tree.values()
    ]
