"""The stock engine in its worker process: that it plays, and that nothing of it is left behind, whatever happens."""

import gc
import importlib.util
import json
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from holdergym.envs.alfworld.domain import game_entries, game_file_text
from holdergym.envs.alfworld.game import Game
from holdergym.envs.alfworld.game_file import make_game, read_file
from holdergym.envs.alfworld.generator import generate_game
from holdergym.envs.alfworld.native import NativeSimulator
from holdergym.envs.alfworld.simulator import SimulatorError, SimulatorTimeout
from holdergym.envs.alfworld.stock import StockLimits, StockSimulator
from holdergym.envs.alfworld.stock_process import WorkerProcess
from holdergym.envs.errors import ConfigError, GameError, MissingExtraError

_MISSING = [name for name in ("alfworld", "textworld", "psutil") if importlib.util.find_spec(name) is None]
needs_stock = pytest.mark.skipif(bool(_MISSING), reason=f"the extra 'alfworld' is not installed: {_MISSING}")
stock = pytest.mark.stock


def is_gone(pid: int) -> bool:
    """Whether a process is gone, and not merely a zombie. It may belong to another process by now."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def becomes_gone(pid: int) -> bool:
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        if is_gone(pid):
            return True
        time.sleep(0.05)
    return False


def pid_of(simulator: StockSimulator) -> int:
    pid = simulator.pid
    assert pid is not None
    return pid


@pytest.fixture(scope="module")
def game() -> Game:
    return generate_game(1, difficulty="tiny")


@pytest.fixture
def simulator() -> Iterator[StockSimulator]:
    started = StockSimulator()
    yield started
    started.close()


@needs_stock
@stock
def test_it_plays_the_walkthrough_and_reuses_its_process(simulator: StockSimulator, game: Game) -> None:
    native = NativeSimulator()
    assert game.walkthrough
    pids = set()
    for played in (game, game, generate_game(2, difficulty="tiny"), game):
        assert simulator.reset(played) == native.reset(played)
        for command in played.walkthrough or ():
            assert simulator.step(command) == native.step(command)
        pids.add(pid_of(simulator))
    assert len(pids) == 1


@needs_stock
@stock
def test_a_killed_worker_is_an_error_and_is_replaced(simulator: StockSimulator, game: Game) -> None:
    simulator.reset(game)
    first = pid_of(simulator)
    os.kill(first, signal.SIGKILL)
    with pytest.raises(SimulatorError, match="failed to carry out 'look': killed by SIGKILL") as caught:
        simulator.step("look")
    assert not isinstance(caught.value, SimulatorTimeout)
    assert simulator.pid is None
    assert is_gone(first)
    with pytest.raises(SimulatorError, match="call reset"):
        simulator.step("look")
    simulator.reset(game)
    assert pid_of(simulator) != first
    assert simulator.step("inventory").text == "You are not carrying anything."


@needs_stock
@stock
def test_a_hung_worker_is_a_timeout_and_is_replaced(game: Game) -> None:
    simulator = StockSimulator(StockLimits(step_seconds=0.5))
    simulator.reset(game)
    first = pid_of(simulator)
    os.kill(first, signal.SIGSTOP)
    began = time.monotonic()
    with pytest.raises(SimulatorTimeout, match=r"did not carry out 'look' within 0\.5 s"):
        simulator.step("look")
    assert time.monotonic() - began < 5
    assert is_gone(first)
    assert simulator.reset(game) == NativeSimulator().reset(game)
    simulator.close()


@needs_stock
@stock
def test_a_start_that_takes_too_long_is_a_timeout(game: Game) -> None:
    simulator = StockSimulator(StockLimits(start_seconds=0.05))
    with pytest.raises(SimulatorTimeout, match=r"did not start within 0\.05 s"):
        simulator.reset(game)
    assert simulator.pid is None


@needs_stock
@stock
def test_a_game_that_it_cannot_read_is_an_error_with_its_last_words(simulator: StockSimulator, game: Game) -> None:
    broken = replace(game.problem, locations=tuple(f"{name} )" for name in game.problem.locations))
    with pytest.raises(SimulatorError, match=r"failed to begin alfworld/x/y/z: exit status 1, \S+"):
        simulator.reset(Game.make("alfworld/x/y/z", broken, game.sentence, None))
    assert simulator.reset(game) == NativeSimulator().reset(game)


@needs_stock
@stock
@pytest.mark.slow
@pytest.mark.parametrize("limits", [StockLimits(games=2), StockLimits(megabytes=1)])
def test_the_worker_is_replaced_by_count_and_by_memory(limits: StockLimits, game: Game) -> None:
    simulator = StockSimulator(limits)
    pids = []
    for _ in range(3):
        simulator.reset(game)
        pids.append(pid_of(simulator))
        simulator.step("look")
    expected = [0, 0, 1] if limits.games == 2 else [0, 1, 2]
    assert [sorted(set(pids), key=pids.index).index(pid) for pid in pids] == expected
    assert all(is_gone(pid) for pid in pids[:-1] if pid != pids[-1])
    simulator.close()
    assert is_gone(pids[-1])


@needs_stock
@stock
@pytest.mark.slow
def test_close_ends_the_worker_and_may_be_repeated(simulator: StockSimulator, game: Game) -> None:
    simulator.close()
    simulator.reset(game)
    pid = pid_of(simulator)
    simulator.close()
    simulator.close()
    assert is_gone(pid)
    with pytest.raises(SimulatorError, match="call reset"):
        simulator.step("look")


@needs_stock
@stock
def test_garbage_collection_ends_the_worker(game: Game) -> None:
    simulator = StockSimulator()
    simulator.reset(game)
    pid = pid_of(simulator)
    del simulator
    gc.collect()
    assert is_gone(pid)


@needs_stock
@stock
@pytest.mark.parametrize(
    "ending",
    [
        "os.kill(os.getpid(), 9)",
        *(pytest.param(code, marks=pytest.mark.slow) for code in ("", "raise SystemExit(3)", "1 / 0", "os._exit(1)")),
    ],
)
def test_the_worker_ends_with_the_interpreter_however_that_ends(ending: str) -> None:
    script = f"""
        import os
        from holdergym.envs.alfworld.generator import generate_game
        from holdergym.envs.alfworld.stock import StockSimulator

        simulator = StockSimulator()
        simulator.reset(generate_game(1, difficulty="tiny"))
        print(simulator.pid, flush=True)
        {ending}
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, timeout=120, check=False
    )
    assert becomes_gone(int(done.stdout))


@needs_stock
@stock
@pytest.mark.slow
def test_an_interrupt_ends_the_worker_so_that_no_late_answer_is_taken(simulator: StockSimulator, game: Game) -> None:
    simulator.reset(game)
    first = pid_of(simulator)
    os.kill(first, signal.SIGSTOP)
    timer = threading.Timer(0.5, signal.pthread_kill, [threading.main_thread().ident, signal.SIGINT])
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        simulator.step("look")
    timer.join()
    assert is_gone(first)
    simulator.reset(game)
    assert simulator.step("inventory").text == "You are not carrying anything."


@needs_stock
@stock
@pytest.mark.slow
def test_a_fork_does_not_touch_the_worker_of_its_parent(simulator: StockSimulator, game: Game) -> None:
    simulator.reset(game)
    pid = pid_of(simulator)
    child = os.fork()
    if child == 0:
        refused = False
        try:
            simulator.step("look")
        except SimulatorError:
            refused = True
        simulator.close()
        os._exit(0 if refused else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert pid_of(simulator) == pid
    assert simulator.step("inventory").text == "You are not carrying anything."


@needs_stock
@stock
@pytest.mark.slow
def test_simulators_in_threads_play_games_of_their_own() -> None:
    games = [generate_game(seed, difficulty="tiny") for seed in (1, 2)]

    def play(game: Game) -> bool:
        simulator, native = StockSimulator(), NativeSimulator()
        same = simulator.reset(game) == native.reset(game)
        for command in game.walkthrough or ():
            same &= simulator.step(command) == native.step(command)
        simulator.close()
        return same

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(play, games)) == [True, True]


@needs_stock
@stock
def test_the_old_dialect_is_played_by_the_rules_in_its_file(
    simulator: StockSimulator, game: Game, tmp_path: Path
) -> None:
    path = tmp_path / "split" / "task" / "trial" / "game.tw-pddl"
    path.parent.mkdir(parents=True)
    entries = game_entries(game)
    grammar = (
        str(entries["grammar"]).replace("move {o} to {r}", "put {o} in/on {r}").replace("You move the", "You put the")
    )
    path.write_text(json.dumps({**entries, "grammar": grammar, "walkthrough": None}))
    old = make_game(path, read_file(path))
    assert old.dialect == "0.3"
    simulator.reset(old)
    assert game.walkthrough
    for command in game.walkthrough[:-1]:
        simulator.step(command)
    last = game.walkthrough[-1]
    assert simulator.step(last).text == "Nothing happens."
    observation = simulator.step(last.replace("move", "put").replace(" to ", " in/on "))
    assert observation.text.startswith("You put the")
    assert (observation.won, observation.goal_condition_success_rate) == (True, 1.0)


@needs_stock
def test_a_changed_file_is_refused(game: Game, tmp_path: Path) -> None:
    path = tmp_path / "split" / "task" / "trial" / "game.tw-pddl"
    path.parent.mkdir(parents=True)
    path.write_text(game_file_text(game))
    read = make_game(path, read_file(path))
    path.write_text(game_file_text(generate_game(2, difficulty="tiny")))
    simulator = StockSimulator()
    with pytest.raises(GameError, match="has changed since the games were opened"):
        simulator.reset(read)
    path.unlink()
    with pytest.raises(GameError, match="cannot be read"):
        simulator.reset(read)
    assert simulator.pid is None


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "textworld", None)
    with pytest.raises(MissingExtraError, match=r"needs .*textworld.*: pip install 'holdergym\[alfworld\]'"):
        StockSimulator()


@pytest.mark.parametrize("name", ["start_seconds", "step_seconds", "games", "megabytes"])
def test_limits_must_be_positive(name: str) -> None:
    with pytest.raises(ConfigError, match=name):
        StockLimits(**{name: 0})


def test_a_process_that_ends_instead_of_starting_is_an_error() -> None:
    with pytest.raises(SimulatorError, match=r"failed to start: exit status 1, .*No module named holdergym\.no_such"):
        WorkerProcess("holdergym.no_such", 60)
