from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from holdergym.envs.alfworld import builtin
from holdergym.envs.alfworld.builtin import builtin_games, generate_builtin
from holdergym.envs.alfworld.game import Game
from holdergym.envs.alfworld.games import BUILTIN_PANELS, Games, open_games
from holdergym.envs.alfworld.generator import TASK_TYPES
from holdergym.envs.alfworld.problem import TaskType
from holdergym.envs.errors import HolderGymError, UnknownNameError

# Results on these panels are compared across versions: a change of these hashes is a change of the panels.
HASHES = {
    "builtin_pick_train": "da5cc6c86a0cf46949c00a31ba5bb3ed77b5733a5cad5701003415908b501d05",
    "builtin_pick_valid": "b4d2590e10dca9ce93a4e0625da2ba6dbd7660bcbdda75fa951ff27f50706942",
    "builtin_small_train": "324b215145c3e86fff997040c0b5d98560cab59e4338e7a617d21720af968470",
    "builtin_small_valid": "a148849262a750c94141bd402d008724fecd5a563a867d44bef9c60fff2de9cf",
    "builtin_train": "ae7af16b6e059c60f8d4f6a4cd23a697dc14b1df4d2cfa978bf49104a27b7559",
    "builtin_valid": "0059c23ddb8c0c9d193f402badb08d31141de6843c2eedaa9da442cc9b3634f2",
}


@pytest.fixture(scope="module")
def made() -> dict[str, list[Game]]:
    """The built-in games, generated anew."""
    return {name: list(generate_builtin(name)) for name in BUILTIN_PANELS}


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty cache folder of this test's own, and nothing in memory before or after."""
    monkeypatch.setattr("platformdirs.user_cache_path", lambda name: tmp_path / "cache" / name)
    builtin_games.cache_clear()
    yield tmp_path / "cache"
    builtin_games.cache_clear()


def packs(cache: Path) -> list[Path]:
    return [path for path in cache.rglob("*") if path.is_file()]


@pytest.mark.parametrize("name", BUILTIN_PANELS)
def test_panels_are_those_of_every_other_machine(name: str, made: dict[str, list[Game]]) -> None:
    assert Games.of(name, made[name]).panel.sha256 == HASHES[name]


def test_panels_are_balanced_and_share_nothing(made: dict[str, list[Game]]) -> None:
    every, tiny = {"0", "25", "50", "75", "100"}, {"0"}
    for name, each, at_each_size, difficulties in (
        ("builtin_train", 100, 20, every),
        ("builtin_valid", 10, 2, every),
        ("builtin_small_train", 100, 100, tiny),
        ("builtin_small_valid", 20, 20, tiny),
        ("builtin_pick_train", 600, 600, tiny),
        ("builtin_pick_valid", 100, 100, tiny),
    ):
        games = made[name]
        types = [TaskType.PICK_AND_PLACE] if "pick" in name else TASK_TYPES
        assert Counter(game.task.type for game in games) == dict.fromkeys(types, each)
        sizes = Counter((game.task.type, game.task.id.rsplit("_", 1)[1]) for game in games)
        assert set(sizes.values()) == {at_each_size}
        assert {size for _, size in sizes} == difficulties
    together = [game for games in made.values() for game in games]
    assert len({game.task.digest for game in together}) == 2080
    seeds = [game.task.id.rsplit("/", 1)[1].split("_")[1] for game in together]
    assert len(set(seeds)) == 2080


def test_opening_generates_once_and_reads_the_cache_after(
    cache: Path, made: dict[str, list[Game]], monkeypatch: pytest.MonkeyPatch
) -> None:
    fresh = open_games("builtin_valid")
    assert open_games("builtin_valid") is fresh
    assert len(packs(cache)) == 1

    builtin_games.cache_clear()
    monkeypatch.setattr(builtin, "generate_builtin", lambda name: pytest.fail("the cache was not read"))
    cached = open_games("builtin_valid")
    assert cached is not fresh
    assert cached.panel == fresh.panel
    assert dict(cached) == dict(fresh) == {game.task.id: game for game in made["builtin_valid"]}


@pytest.mark.parametrize("damage", [b"", b"not a pack", None])
def test_a_damaged_cache_is_made_again(cache: Path, damage: bytes | None) -> None:
    fresh = builtin_games("builtin_valid")
    (pack,) = packs(cache)
    whole = pack.read_bytes()
    pack.write_bytes(whole[: len(whole) // 2] if damage is None else damage)
    builtin_games.cache_clear()
    assert builtin_games("builtin_valid").panel == fresh.panel
    assert packs(cache) == [pack]
    assert pack.read_bytes() == whole


def test_a_foreign_pack_in_the_cache_is_replaced(cache: Path) -> None:
    fresh = builtin_games("builtin_valid")
    (pack,) = packs(cache)
    whole = pack.read_bytes()
    few = Games.of("builtin_valid", list(fresh.values())[:3])
    builtin.write_pack(pack, [builtin.PackedPanel(few.panel, few.stored)])
    builtin_games.cache_clear()
    assert len(builtin_games("builtin_valid")) == 60
    assert pack.read_bytes() == whole


def test_an_unwritable_cache_costs_nothing_but_time(cache: Path) -> None:
    cache.write_text("a file where the folder should be")
    assert len(builtin_games("builtin_valid")) == 60
    assert cache.read_text() == "a file where the folder should be"


def test_games_that_come_out_differently_are_refused(
    cache: Path, made: dict[str, list[Game]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(builtin, "generate_builtin", lambda name: made[name][1:])
    with pytest.raises(HolderGymError, match="instead of 0059c23ddb8c"):
        builtin_games("builtin_valid")
    assert packs(cache) == []


def test_an_unknown_panel_names_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'builtin_train'"):
        builtin_games("builtin_tran")
