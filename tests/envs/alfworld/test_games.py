import json
import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from holdergym.envs.alfworld import games as games_module
from holdergym.envs.alfworld.game import Game
from holdergym.envs.alfworld.games import RELEASED, Games, find_data, open_games, panel_names
from holdergym.envs.alfworld.generator import generate_game, generate_games
from holdergym.envs.alfworld.pack import PackedPanel, write_pack
from holdergym.envs.alfworld.problem import Problem
from holdergym.envs.alfworld.tree import write_games
from holdergym.envs.alfworld.world import World
from holdergym.envs.errors import GameError, HolderGymError, UnknownNameError

GAMES = 7
"""Games in the tree that these tests damage: one more than there are task types."""


@pytest.fixture(scope="module")
def clean_tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("clean")
    write_games(root, generate_games(3, GAMES, 0.0, panel="mine"))
    return root


@pytest.fixture
def tree(clean_tree: Path, tmp_path: Path) -> Path:
    """A root with one split, ``mine``, of small generated games; a test may damage it."""
    shutil.copytree(clean_tree, tmp_path / "data")
    return tmp_path / "data"


def game_files(root: Path) -> list[Path]:
    return sorted(root.glob("json_2.1.1/*/*/*/game.tw-pddl"))


def rewrite(path: Path, **entries: object) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **entries}))


def without(path: Path, key: str) -> None:
    entries = json.loads(path.read_text())
    del entries[key]
    path.write_text(json.dumps(entries))


# What a tree gives


def test_a_tree_gives_back_the_games_written(tree: Path) -> None:
    written = {game.task.id: game for game in generate_games(3, GAMES, 0.0, panel="mine")}
    games = open_games("mine", tree)
    assert games.panel.label == "mine"
    assert list(games) == sorted(written)
    for task_id, game in games.items():
        assert game.problem == written[task_id].problem
        assert game.task == written[task_id].task
        assert (game.sentence, game.walkthrough) == (written[task_id].sentence, written[task_id].walkthrough)
        assert game.dialect == "0.4"
        assert Path(game.source).is_file()
    assert games.left_out == ()


def test_the_hash_depends_on_what_is_played_only(tree: Path) -> None:
    before = open_games("mine", tree).panel.sha256
    for path in game_files(tree):
        entries = json.loads(path.read_text())
        entries["pddl_problem"] = entries["pddl_problem"].upper().replace(" ", "\n  ")
        shuffled = {key: entries[key] for key in sorted(entries, reverse=True)}
        path.write_text(json.dumps({**shuffled, "walkthrough": None, "comment": 1}, indent=3))
    moved = tree.rename(tree.parent / "moved")
    assert open_games("mine", moved).panel.sha256 == before
    changed = game_files(moved)[2]
    grammar = json.loads(changed.read_text())["grammar"]
    rewrite(changed, grammar=grammar.replace("Your task is to: ", "Your task is to: please ", 1))
    assert open_games("mine", moved).panel.sha256 != before


def test_opening_again_shares_the_games_until_a_file_changes(tree: Path) -> None:
    first = open_games("mine", tree)
    assert open_games("mine", str(tree)) is first
    assert open_games("mine", tree / "json_2.1.1") is first
    shutil.rmtree(game_files(tree)[0].parent)
    second = open_games("mine", tree)
    assert len(second) == len(first) - 1
    assert second.panel.sha256 != first.panel.sha256


def test_worlds_are_shared_and_bounded(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(games_module, "_WORLDS", 2)
    games = Games.of("mine", open_games("mine", tree).values())
    first, second, third, *_ = games
    world = games.world(first)
    assert isinstance(world, World)
    assert games.world(first) is world
    games.world(second)
    games.world(third)
    assert games.world(first) is not world


def test_games_are_a_mapping(tree: Path) -> None:
    games = open_games("mine", tree)
    first = next(iter(games))
    assert isinstance(games[first], Game)
    assert first in games
    assert "alfworld/mine/x/y" not in games
    assert games.get("alfworld/mine/x/y") is None
    with pytest.raises(UnknownNameError, match=rf"unknown task of panel 'mine': '{first[:-1]}'; did you mean"):
        games[first[:-1]]
    with pytest.raises(UnknownNameError, match="unknown task"):
        games.world("nothing")
    assert repr(games) == f"Games('mine', {GAMES} games)"


def test_the_order_of_games_is_that_of_their_ids(kitchen: Problem, tmp_path: Path) -> None:
    """The folder names ``a`` and ``a-b`` sort one way, the ids with a slash after them the other."""
    ids = ["alfworld/mine/a/trial", "alfworld/mine/a-b/trial"]
    games = [Game.make(f"{task_id}", kitchen, f"Your task is to: {task_id[15]}x.", None) for task_id in ids]
    write_games(tmp_path, games)
    assert list(open_games("mine", tmp_path)) == sorted(ids)


# Where the data are


def test_alfworld_data_is_the_default(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALFWORLD_DATA", str(tree))
    assert find_data() == tree
    assert panel_names() == ("mine",)
    assert len(open_games("mine")) == GAMES
    assert open_games().panel.name == "builtin_valid"


def test_paths_may_be_relative_or_at_home(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tree.parent)
    monkeypatch.setenv("HOME", str(tree.parent))
    assert open_games("mine", "data") is open_games("mine", tree)
    assert open_games("mine", "~/data") is open_games("mine", tree)


def test_no_data(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ALFWORLD_DATA", raising=False)
    with pytest.raises(HolderGymError, match="no ALFWorld games: give --data DIR or set ALFWORLD_DATA"):
        open_games("valid_unseen")


def test_a_built_in_panel_takes_no_data(tree: Path) -> None:
    with pytest.raises(HolderGymError, match="panel 'builtin_valid' is generated: leave out --data"):
        open_games("builtin_valid", tree)


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("absent", "--data: there is no .*absent: give the folder that `alfworld-download` filled"),
        ("", "no folder json_2.1.1 in .*: give --data .*/bare or .*/data$"),
        ("data/json_2.1.1/mine", "is inside a tree of games: give its root, --data .*/data$"),
        ("empty", "no folder json_2.1.1 in .*empty: give the folder that `alfworld-download` filled, or"),
        ("file.txt", "file.txt is neither a folder nor a pack of games: give the folder with json_2.1.1"),
        ("bare", "bare/json_2.1.1 is empty: run `alfworld-download` again, or give another --data"),
        ("data", r"unknown panel of .*json_2.1.1: 'min'; did you mean 'mine'\?"),
    ],
)
def test_a_wrong_root_is_explained(tree: Path, place: str, message: str) -> None:
    (tree.parent / "empty").mkdir()
    (tree.parent / "bare" / "json_2.1.1").mkdir(parents=True)
    (tree.parent / "file.txt").write_text("no game")
    with pytest.raises(HolderGymError, match=message) as caught:
        open_games("mine" if place == "" else "min", tree.parent / place)
    assert "\n" not in str(caught.value)


def test_one_game_is_no_root(tree: Path) -> None:
    with pytest.raises(HolderGymError, match="is a single game: give the folder with json_2"):
        open_games("mine", game_files(tree)[0])


def test_wrong_alfworld_data_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALFWORLD_DATA", "/does/not/exist")
    with pytest.raises(HolderGymError, match="ALFWORLD_DATA: there is no /does/not/exist"):
        open_games("mine")


# Bad games: each ends in one line that names the file


def _twin(path: Path) -> None:
    shutil.copytree(path.parent, path.parent.with_name("trial_copy"))


def _lift(path: Path) -> None:
    shutil.copy(path, path.parent.parent / "game.tw-pddl")


def _pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def _dangle(path: Path) -> None:
    path.unlink()
    path.symlink_to("nowhere")


def _grow(path: Path) -> None:
    with path.open("r+b") as file:
        file.truncate(100 * 2**20)


def _swap(key: str, old: str, new: str) -> Callable[[Path], None]:
    def change(path: Path) -> None:
        text = json.loads(path.read_text())[key]
        assert old in text
        rewrite(path, **{key: text.replace(old, new)})

    return change


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda path: path.write_bytes(b""), "is cut or is not JSON"),
        (lambda path: path.write_bytes(path.read_bytes()[:20_000]), "is cut or is not JSON"),
        (lambda path: path.write_bytes(b"\xff\xfe\x00"), "is cut or is not JSON"),
        (lambda path: path.write_text("[" * 100_000), "is cut or is not JSON"),
        (lambda path: path.write_text("9" * 10_000), "is cut or is not JSON"),
        (lambda path: path.write_text("[1]"), "is not a game but a JSON list"),
        (_grow, "has 104,857,600 bytes, too many for a game"),
        (_pipe, "is not a regular file"),
        (_dangle, r"cannot be read \(No such file or directory\)"),
        (lambda path: without(path, "grammar"), "has no text under 'grammar'"),
        (lambda path: rewrite(path, pddl_domain=3), "has no text under 'pddl_domain'"),
        (lambda path: without(path, "solvable"), "was never marked solvable or not"),
        (lambda path: rewrite(path, solvable=None), "was never marked solvable or not"),
        (lambda path: rewrite(path, walkthrough=[1]), "its walkthrough is not a list of commands"),
        (_swap("pddl_problem", "(:goal", "(:gaol"), "no ':init'"),
        (_swap("pddl_domain", "(:action", "( :action"), r"the domain \(sha256 .*\) is not that of ALFWorld 0\.4"),
        (_swap("grammar", "You open", "You push"), r"the grammar \(sha256 .*\) is not that of ALFWorld 0\.4"),
        (_swap("grammar", '"task"', '"tusk"'), "the grammar has no task sentence"),
        (_swap("grammar", "Your task is to: ", "Please "), "does not start with 'Your task is to: '"),
        (_swap("grammar", "Your task is to: ", "Your task is to: #"), "which the text grammar would take as"),
        (_swap("grammar", "Your task is to: ", r"Your task is to: \q"), "is not a JSON string"),
        (_twin, "is the same game as .*game.tw-pddl: remove one of the two"),
        (_lift, "stands one folder too high: move it to TASK/TRIAL/game.tw-pddl"),
        (lambda path: path.parent.rename(path.parent.with_name("tab\there")), "is not plain UTF-8 text"),
    ],
)
def test_a_bad_game_is_one_line_that_names_it(tree: Path, damage: Callable[[Path], None], message: str) -> None:
    path = game_files(tree)[3]
    damage(path)
    with pytest.raises(GameError, match=message) as caught:
        open_games("mine", tree)
    assert path.parent.parent.name in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


def test_a_game_without_permission(tree: Path) -> None:
    path = game_files(tree)[0]
    path.chmod(0)
    if os.access(path, os.R_OK):
        pytest.skip("this user may read every file")
    with pytest.raises(GameError, match=r"cannot be read \(Permission denied\)"):
        open_games("mine", tree)


# Games left out, as the stock engine does, never silently


def test_folders_without_a_game_are_counted(tree: Path) -> None:
    split = tree / "json_2.1.1" / "mine"
    for folder in (
        "pick_and_place_with_movable_recep-Fork-Cup-Desk-1",
        "pick_and_place_simple-AppleSliced-None-Desk-1",
    ):
        shutil.copytree(game_files(tree)[0].parent, split / folder / "trial_1")
    (split / "pick_and_place_simple-Mug-None-Desk-9" / "trial_2").mkdir(parents=True)
    (split / ".hidden" / "trial_3").mkdir(parents=True)
    (split / "notes.txt").write_text("not a folder")
    games = open_games("mine", tree)
    assert len(games) == GAMES
    assert games.panel.label == f"mine[{GAMES} of {GAMES + 1}]"
    assert Counter(item.reason for item in games.left_out) == {
        "movable receptacle or sliced object, as in the stock engine": 2,
        "no game.tw-pddl": 1,
    }


def test_a_game_marked_unsolvable_makes_the_panel_partial(tree: Path) -> None:
    rewrite(game_files(tree)[0], solvable=False)
    games = open_games("mine", tree)
    assert games.panel.label == f"mine[{GAMES - 1} of {GAMES}]"
    assert [item.folder for item in games.left_out] == [game_files(tree)[0].parent]
    assert games.left_out[0].reason == "marked unsolvable, as in the stock engine"


def test_a_split_without_games_is_refused(tree: Path) -> None:
    for path in game_files(tree):
        path.unlink()
    with pytest.raises(HolderGymError, match=rf"mine holds no game \({GAMES} trial folders without, 0 marked"):
        open_games("mine", tree)


def test_an_official_split_of_another_size_is_partial(tree: Path) -> None:
    (tree / "json_2.1.1" / "mine").rename(tree / "json_2.1.1" / "valid_unseen")
    assert open_games("valid_unseen", tree).panel.label == f"valid_unseen[{GAMES} of 134]"


def test_links_cannot_lead_in_a_circle(tree: Path) -> None:
    split = tree / "json_2.1.1" / "mine"
    (split / "up").symlink_to(split)
    (game_files(tree)[0].parent / "again").symlink_to(split.parent)
    games = open_games("mine", tree)
    assert len(games) == GAMES


@pytest.mark.parametrize("target", ["self", "nowhere"])
def test_a_link_that_leads_nowhere_may_hide_games(tree: Path, target: str) -> None:
    link = tree / "json_2.1.1" / "mine" / "self"
    link.symlink_to(link.with_name(target))
    with pytest.raises(GameError, match="mine/self: is a link that leads nowhere: mend or remove it"):
        open_games("mine", tree)


# The older dialect


def test_the_old_dialect_is_recorded_and_not_played_natively(tree: Path) -> None:
    path = game_files(tree)[0]
    grammar = json.loads(path.read_text())["grammar"]
    rewrite(path, grammar=grammar.replace('"move {o} to {r}"', '"put {o} in/on {r}"'))
    without(path, "walkthrough")
    games = open_games("mine", tree)
    old = next(game for game in games.values() if game.source == str(path))
    assert (old.dialect, old.walkthrough) == ("0.3", None)
    assert old.task.metadata["dialect"] == "0.3"
    with pytest.raises(GameError, match=r"speaks dialect 0\.3, and the native engine plays 0\.4: .*textworld"):
        games.world(old.task.id)


def test_the_digest_of_the_old_dialect_covers_the_rules_that_it_is_played_by(tree: Path) -> None:
    """The stock engine plays such a game by the domain and the grammar in its file, whatever they say."""
    path = game_files(tree)[0]
    game = json.loads(path.read_text())
    new = open_games("mine", tree)
    current = next(task for task, known in new.items() if known.source == str(path))
    old_grammar = game["grammar"].replace('"move {o} to {r}"', '"put {o} in/on {r}"')
    digests = [new[current].task.digest]
    for grammar, domain in (
        (old_grammar, game["pddl_domain"]),
        (old_grammar.replace("You ", "Thou "), game["pddl_domain"]),
        (old_grammar, game["pddl_domain"] + "\n; other rules"),
    ):
        rewrite(path, grammar=grammar, pddl_domain=domain)
        games = open_games("mine", tree)
        stored = {known.task.id: known for known in games.stored}[current]
        assert stored.load() == games[current]
        assert games[current].task.digest == stored.task.digest
        digests.append(stored.task.digest)
    assert len(set(digests)) == 4


# The official games


@pytest.mark.shared
def test_official_splits(official_data: Path) -> None:
    assert panel_names(official_data) == ("train", "valid_seen", "valid_train", "valid_unseen")
    unseen = open_games("valid_unseen", official_data)
    assert unseen.panel.label == "valid_unseen"
    assert len(unseen) == RELEASED["valid_unseen"]
    assert unseen.panel.sha256 == "7afbe6ffa6db913f741cca511bac21dcf0e98beaac343ae4405df4350518bf46"
    assert Counter(task.type for task in unseen.panel.tasks) == {
        "look_at_obj_in_light": 18,
        "pick_and_place_simple": 24,
        "pick_clean_then_place_in_recep": 31,
        "pick_cool_then_place_in_recep": 21,
        "pick_heat_then_place_in_recep": 23,
        "pick_two_obj_and_place": 17,
    }
    assert all(game.dialect == "0.4" and game.walkthrough for game in unseen.values())
    seen = open_games("valid_seen", official_data)
    assert (seen.panel.label, len(seen)) == ("valid_seen", RELEASED["valid_seen"])
    assert open_games("train", official_data).panel.label == "train[8 of 3553]"


@pytest.mark.stock
def test_the_stock_loader_and_expert_find_written_games(clean_tree: Path) -> None:
    stock = pytest.importorskip("alfworld.agents.environment.alfred_tw_env")
    config = {
        "env": {"goal_desc_human_anns_prob": 0, "task_types": [1, 2, 3, 4, 5, 6]},
        "dataset": {"eval_id_data_path": str(clean_tree / "json_2.1.1" / "mine"), "num_eval_games": -1},
    }
    found = stock.AlfredTWEnv(config, train_eval="eval_in_distribution").game_files
    assert sorted(map(Path, found)) == game_files(clean_tree)
    for path, game in zip(game_files(clean_tree), open_games("mine", clean_tree).values(), strict=True):
        expert = stock.HandCodedTWAgent(max_steps=10)
        expert.reset(str(path))
        wanted = [expert.task_params["object_target"], expert.task_params["task_type"]]
        assert wanted == [game.problem.goal.object_type.removesuffix("type"), game.task.type]


@pytest.mark.shared
def test_a_copy_is_refused_also_where_the_number_of_games_is_right(official_data: Path, tmp_path: Path) -> None:
    split = tmp_path / "json_2.1.1" / "valid_unseen"
    shutil.copytree(official_data / "json_2.1.1" / "valid_unseen", split)
    first, second, *_ = sorted(split.glob("*/*"))
    shutil.rmtree(first)
    shutil.copytree(second, second.with_name("trial_copy"))
    with pytest.raises(GameError, match="is the same game as"):
        open_games("valid_unseen", tmp_path)


def test_writing_games_leaves_other_rules_alone_and_no_half_panel(tmp_path: Path) -> None:
    (tmp_path / "logic").mkdir()
    (tmp_path / "logic" / "alfred.pddl").write_text("another release's")

    def failing() -> Iterator[Game]:
        yield generate_game(1, panel="mine")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_games(tmp_path, failing())
    with pytest.raises(HolderGymError):
        open_games("mine", tmp_path)
    assert write_games(tmp_path, [generate_game(1, panel="mine")]) == 1
    assert open_games("mine", tmp_path).panel.label == "mine"
    assert (tmp_path / "logic" / "alfred.pddl").read_text() == "another release's"


def test_a_pack_of_a_built_in_panel_can_be_played(tmp_path: Path) -> None:
    built_in = open_games("builtin_valid")
    write_pack(tmp_path / "b.games", [PackedPanel(built_in.panel, built_in.stored)])
    assert open_games("builtin_valid", tmp_path / "b.games").panel == built_in.panel
