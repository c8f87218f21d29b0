from dataclasses import replace

from holdergym.eval.run import Run
from holdergym.leaderboards.rows import build_boards, sorted_types, type_label

from holdergym.version import __version__


def test_the_best_run_comes_first_and_runs_without_a_rate_last(make_run) -> None:
    runs = [make_run("a", won=3), make_run("b", won=0, failed=12), make_run("c", won=12), make_run("d", won=0)]
    (board,) = build_boards(runs)
    assert [row.run for row in board.rows] == ["c", "a", "d", "b"]
    assert (board.panel, board.size, board.env, board.dialect) == ("made_up", 12, "alfworld", "0.4")
    assert board.types == ("pick_and_place_simple", "look_at_obj_in_light", "pick_two_obj_and_place")


def test_equal_rates_are_ordered_by_name_whatever_the_order_given(make_run) -> None:
    runs = [make_run("b", "y"), make_run("c", "x"), make_run("a", "x")]
    (board,) = build_boards(runs)
    (again,) = build_boards(runs[::-1])
    assert [row.run for row in board.rows] == ["a", "c", "b"]
    assert board == again


def test_runs_on_different_panels_are_never_in_one_board(make_run, panel_of) -> None:
    runs = [
        make_run("whole"),
        make_run("other_games", panel=panel_of(digest="b")),
        make_run("part", panel=panel_of().limit(6)),
        make_run("other_name", panel=panel_of("later")),
    ]
    boards = build_boards(runs)
    assert len(boards) == 4
    assert all(len(board.rows) == 1 for board in boards)
    assert sorted(board.panel for board in boards) == ["later", "made_up", "made_up", "made_up[6 of 12]"]


def test_counts_by_type_add_up(make_run) -> None:
    (board,) = build_boards([make_run("a", won=5, failed=2, missing=1)])
    (row,) = board.rows
    for name in ("finished", "won", "errors", "missing", "expected"):
        assert getattr(row.overall, name) == sum(getattr(row.by_type[kind], name) for kind in board.types)
    assert (row.overall.won, row.overall.finished, row.overall.errors, row.overall.missing) == (5, 9, 2, 1)


def test_a_row_says_what_is_special_about_it(make_run) -> None:
    runs = [
        make_run("plain"),
        make_run("short", max_steps=30),
        make_run("cut", missing=4),
        make_run("failed", failed=3),
        make_run("twice", samples=2),
    ]
    (board,) = build_boards(runs)
    notes = {row.run: row.notes for row in board.rows}
    assert notes == {
        "plain": ("max_steps 50",),
        "short": ("max_steps 30",),
        "cut": ("max_steps 50", "incomplete: 8 of 12 episodes played"),
        "failed": ("max_steps 50", "3 failed (error or timeout) and left out of the rates"),
        "twice": ("max_steps 50", "2 samples a task", "intervals by a bootstrap of whole tasks"),
    }


def test_conditions_that_all_rows_share_are_not_repeated(make_run) -> None:
    (board,) = build_boards([make_run("a", max_steps=30), make_run("b", max_steps=30)])
    assert [row.notes for row in board.rows] == [(), ()]


def test_versions_that_differ_are_named_where_they_could_matter(make_run) -> None:
    old = [make_run("old"), make_run("mixed"), make_run("new"), make_run("stock", engine="textworld")]
    changes = [{"holdergym": "0.0.1"}, {}, {"torch": "1.0"}, {"textworld": "1.6"}]
    runs = [with_versions(run, change) for run, change in zip(old, changes, strict=True)]
    mixed = runs[1].manifest
    sessions = (*mixed.sessions, replace(mixed.sessions[0], versions={"holdergym": "0.0.1"}))
    runs[1] = replace(runs[1], manifest=replace(mixed, sessions=sessions))
    (board,) = build_boards(runs)
    notes = {row.run: row.notes for row in board.rows}
    assert notes == {
        "old": ("engine native", "holdergym 0.0.1"),
        "mixed": ("engine native", f"holdergym 0.0.1 and {__version__}"),
        "new": ("engine native", f"holdergym {__version__}"),
        "stock": ("engine textworld", f"holdergym {__version__}"),
    }


def with_versions(run: Run, change: dict[str, str]) -> Run:
    sessions = tuple(replace(each, versions=each.versions | change) for each in run.manifest.sessions)
    return replace(run, manifest=replace(run.manifest, sessions=sessions))


def test_the_columns_are_those_of_the_published_tables() -> None:
    types = sorted_types(["other", "pick_two_obj_and_place", "look_at_obj_in_light", "pick_and_place_simple"])
    assert [type_label(kind) for kind in types] == ["Pick", "Look", "Pick2", "other"]
