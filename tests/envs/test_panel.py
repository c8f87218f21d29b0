import copy
import pickle
from collections import Counter

import pytest
from holdergym.envs.errors import HolderGymError, UnknownNameError
from holdergym.envs.panel import Panel
from holdergym.envs.task import Task


def tasks(count: int) -> list[Task]:
    return [Task(f"toy/all/{i:03}", f"type {i * 6 // count}", f"{i:064x}", {"dialect": "0.4"}) for i in range(count)]


@pytest.mark.parametrize("sizes", [(24, 18, 31, 23, 21, 17), (35, 13, 27, 16, 25, 24), (10,) * 6, (1, 99, 3)])
def test_a_limited_panel_keeps_the_shares_of_its_types(sizes: tuple[int, ...]) -> None:
    tasks = [Task(f"alfworld/p/{kind}-{i:02}", str(kind), "d") for kind, n in enumerate(sizes) for i in range(n)]
    panel = Panel.of("p", tasks)
    for count in range(1, len(tasks)):
        kept = panel.limit(count).tasks
        assert len(kept) == count
        for kind, size in enumerate(sizes):
            number = sum(task.type == str(kind) for task in kept)
            assert abs(number - count * size / len(tasks)) < 1 + 1e-9
            assert number or size * count < len(tasks)


def test_the_hash_depends_on_ids_and_digests_but_not_on_order_or_name() -> None:
    panel = Panel.of("a", tasks(10))
    assert Panel.of("b", tasks(10)[::-1]).sha256 == panel.sha256
    assert Panel.of("a", tasks(9)).sha256 != panel.sha256
    changed = [*tasks(9), Task("toy/all/009", "type 5", "f" * 64)]
    assert Panel.of("a", changed).sha256 != panel.sha256


def test_every_task_once() -> None:
    with pytest.raises(HolderGymError, match="'toy/all/003' more than once"):
        Panel.of("a", [*tasks(10), tasks(10)[3]])
    with pytest.raises(HolderGymError, match="empty"):
        Panel.of("a", [])


@pytest.mark.parametrize("count", [1, 5, 6, 7, 30, 59, 60, 61])
def test_a_limited_panel_is_spread_and_says_so(count: int) -> None:
    limited = Panel.of("a", tasks(60)).limit(count)
    assert len(limited.tasks) == min(count, 60)
    assert len({task.type for task in limited.tasks}) == min(count, 6)
    assert limited.label == ("a" if count >= 60 else f"a[{count} of 60]")
    assert limited.partial == (count < 60)
    if count >= 60:
        assert limited.sha256 == Panel.of("a", tasks(60)).sha256


@pytest.mark.parametrize("count", [0, -1])
def test_a_limit_below_one_is_refused(count: int) -> None:
    with pytest.raises(HolderGymError, match="positive number"):
        Panel.of("a", tasks(3)).limit(count)


def test_unknown_names_are_answered_with_the_nearest() -> None:
    panel = Panel.of("a", tasks(60))
    with pytest.raises(UnknownNameError, match="did you mean 'toy/all/001'"):
        panel.task("toy/all/0001")
    with pytest.raises(UnknownNameError, match="did you mean 'type 1'"):
        panel.of_type("type1")
    assert panel.of_type("type 1").label == "a[10 of 60]"
    assert panel.task("toy/all/007").type == "type 0"


def test_panels_travel_between_processes() -> None:
    panel = Panel.of("a", tasks(3))
    assert pickle.loads(pickle.dumps(panel)) == panel
    assert copy.deepcopy(panel).sha256 == panel.sha256


def test_a_drawn_panel_counts_its_draws() -> None:
    panel = Panel.of("p", [Task(f"t{number}", "k", "0" * 64) for number in range(30)])
    drawn = panel.draw(100, seed=1)
    assert drawn == panel.draw(100, seed=1)
    assert drawn.episodes == sum(drawn.draws or ()) == 100
    assert len(drawn.tasks) <= 30
    assert sum(drawn.draws_of(number) for number in range(len(drawn.tasks))) == 100
    assert drawn.label == f"p[100 draws of 30, {len(drawn.tasks)} different]"
    assert drawn.sha256 not in (panel.sha256, Panel("p", drawn.tasks, 30).sha256, panel.draw(100, seed=2).sha256)
    assert panel.episodes == 30
    with pytest.raises(HolderGymError, match="0 tasks cannot be drawn"):
        panel.draw(0, seed=1)
    with pytest.raises(ValueError, match="number of draws"):
        Panel("p", panel.tasks, 30, (1,))


def test_draws_are_uniform() -> None:
    panel = Panel.of("p", [Task(f"t{number}", "k", "0" * 64) for number in range(10)])
    counts = {task.id: 0 for task in panel.tasks}
    for seed in range(200):
        drawn = panel.draw(50, seed)
        for number, task in enumerate(drawn.tasks):
            counts[task.id] += drawn.draws_of(number)
    # 10,000 draws: five standard deviations of a binomial with share 0.1.
    assert all(abs(count - 1000) < 150 for count in counts.values())


@pytest.mark.parametrize("count", [5, 10, 20, 40, 50])
def test_a_limit_keeps_types_that_take_turns(count: int) -> None:
    panel = Panel.of("p", [Task(f"t{number:03}", f"k{number % 5}", "0" * 64) for number in range(200)])
    kept = panel.limit(count)
    assert Counter(task.type for task in kept.tasks) == {f"k{kind}": count // 5 for kind in range(5)}
