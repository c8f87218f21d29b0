"""Measures both engines on the same games and commands, and prints them side by side.

    python benchmarks/engine.py [--data DIR] [--games 12] [--steps 30] [--seed 0]

Times are processor time of one process, so a busy machine matters little; ratios matter most. ``load`` goes from the
path of an official file to a game that can be reset; ``reset`` and ``step`` give the text, the admissible commands and
whether the game is won. Without official games (DIR, or ALFWORLD_DATA) generated ones of full size are taken; without
the extra ``alfworld`` only the native engine is measured. Memory is the growth of resident memory for the stock engine,
much of which is not Python's, and what Python allocates for the native one. 12 games take some two minutes.
"""

import argparse
import gc
import os
import platform
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from statistics import median
from typing import Any, NamedTuple

from holdergym.envs.alfworld.game import Game, StoredGame
from holdergym.envs.alfworld.game_file import make_game, read_file
from holdergym.envs.alfworld.games import Games, build_world, find_data, open_games, panel_names
from holdergym.envs.alfworld.generator import generate_games
from holdergym.envs.alfworld.native import NativeSimulator
from holdergym.envs.alfworld.pack import PackedPanel, read_pack, write_pack
from holdergym.envs.alfworld.state import State
from holdergym.envs.alfworld.stock import missing_parts
from holdergym.envs.alfworld.stock_worker import make_env
from holdergym.envs.alfworld.tree import GAME_FILE, write_games
from holdergym.envs.alfworld.world import World
from holdergym.envs.errors import HolderGymError
from lockstep.exercises import Exercises

REPEATS = 7
WALK_SECONDS = 3.0
STOCK_LIVE_GAMES = 6
NATIVE_LIVE_GAMES = 100
FURTHER_COPIES = 8
MEMORY_STEPS = 50


@dataclass
class Clock:
    """Seconds and counts of one engine."""

    load: float = 0.0
    reset: float = 0.0
    step: float = 0.0
    games: int = 0
    steps: int = 0

    def mean_milliseconds(self, what: str) -> float:
        """Mean time of a load, a reset or a step."""
        total: float = getattr(self, what)
        return 1000 * total / (self.steps if what == "step" else self.games)


class Playing(NamedTuple):
    """A game file and the commands to play."""

    path: Path
    game: Game
    commands: list[str]


class Row(NamedTuple):
    """A line of the table."""

    what: str
    stock: float | None
    native: float
    unit: str
    target: str


def seconds(action: Callable[[], object]) -> float:
    started = time.process_time()
    action()
    return time.process_time() - started


def choose(panels: Sequence[Games], count: int, steps: int, seed: int) -> list[Playing]:
    """Takes games from all panels and task types by turns."""
    random = Random(seed)
    cells: dict[tuple[str, str], list[Game]] = {}
    for games in panels:
        for task in random.sample(games.panel.tasks, len(games.panel.tasks)):
            cells.setdefault((games.panel.name, task.type), []).append(games[task.id])
    rounds = [cell[turn] for turn in range(count) for cell in cells.values() if turn < len(cell)]
    return [
        Playing(Path(game.source), game, Exercises(game, seed).random_walk(steps, odd=0.0)) for game in rounds[:count]
    ]


def time_stock(playings: Iterable[Playing]) -> Clock:
    clock = Clock()
    env = make_env()
    for path, _, commands in playings:
        clock.load += seconds(lambda path=path: env.load(str(path)))
        clock.reset += seconds(env.reset)
        for command in commands:
            clock.step += seconds(lambda command=command: env.step(command))
        clock.games += 1
        clock.steps += len(commands)
    return clock


def time_native(playings: Sequence[Playing]) -> Clock:
    """The median of some repeats, each over all games."""
    repeats = [_time_native_once(playings) for _ in range(REPEATS)]
    medians = {name: median(getattr(clock, name) for clock in repeats) for name in ("load", "reset", "step")}
    return Clock(**medians, games=repeats[0].games, steps=repeats[0].steps)


def _time_native_once(playings: Sequence[Playing]) -> Clock:
    clock = Clock()
    for path, game, commands in playings:
        # A reset takes about as long as reading the clock, so time many at once.
        clock.load += seconds(lambda path=path: build_world(make_game(path, read_file(path))))
        simulator = NativeSimulator({game.task.id: build_world(game)}.__getitem__)
        clock.reset += seconds(lambda s=simulator, game=game: [s.reset(game) for _ in range(100)]) / 100
        clock.step += seconds(lambda s=simulator, commands=commands: [s.step(command) for command in commands])
        clock.games += 1
        clock.steps += len(commands)
    return clock


def time_pack(panels: Sequence[Games], folder: Path) -> tuple[float, int]:
    """Seconds for opening packed panels, decoding each game and building its tables; and the number of games."""
    path = folder / "games.pack"
    write_pack(path, [PackedPanel(games.panel, games.stored) for games in panels])

    def load_all() -> None:
        for games in panels:
            for stored in read_pack(path, games.panel.name).games:
                build_world(stored.load())

    return median(seconds(load_all) for _ in range(3)), sum(map(len, panels))


def time_walk(playings: Sequence[Playing], seed: int) -> tuple[float, float]:
    """Steps a second in a uniform random walk of 50 steps a game, and how many commands there were on average."""
    random = Random(seed)
    games = [playing.game for playing in playings]
    simulator = NativeSimulator({game.task.id: build_world(game) for game in games}.__getitem__)
    steps = offered = 0
    started = time.process_time()
    while time.process_time() - started < WALK_SECONDS:
        observation = simulator.reset(random.choice(games))
        for _ in range(50):
            observation = simulator.step(random.choice(observation.admissible_commands))
            offered += len(observation.admissible_commands)
        steps += 50
    return steps / (time.process_time() - started), offered / steps


def resident_megabytes() -> float:
    """Resident memory now. Linux only: elsewhere NaN."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        return float("nan")
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def native_memory(stored: Sequence[StoredGame], seed: int) -> tuple[float, float]:
    """Megabytes that a played game takes with one live copy, facts included, and each further live copy."""
    random = Random(seed)
    tracemalloc.start()
    try:
        games = [stored[i % len(stored)].load() for i in range(NATIVE_LIVE_GAMES)]
        worlds = [build_world(game) for game in games]
        live: list[State] = [_wander(world, random) for world in worlds]
        alone = tracemalloc.get_traced_memory()[0]
        # The tables fill as games are played: fill them before counting what only the copies add.
        for world in worlds:
            for _ in range(FURTHER_COPIES):
                _wander(world, random)
        filled = tracemalloc.get_traced_memory()[0]
        live += [_wander(world, random) for world in worlds for _ in range(FURTHER_COPIES)]
        further = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    return alone / len(games) / 2**20, (further - filled) / (FURTHER_COPIES * len(games)) / 2**20


def _wander(world: World, random: Random) -> State:
    state = world.initial_state()
    for _ in range(MEMORY_STEPS):
        state.step(random.choice(state.admissible_commands()))
    return state


def stock_memory(playings: Sequence[Playing]) -> float:
    """Megabytes a live game takes, after the first ones, which load what all share."""
    live: list[Any] = []
    gc.collect()
    before = resident_megabytes()
    for path, _, commands in playings[:STOCK_LIVE_GAMES]:
        env = make_env()
        env.load(str(path))
        env.reset()
        for command in commands[:5]:
            env.step(command)
        live.append(env)
    gc.collect()
    return (resident_megabytes() - before) / len(live)


def print_rows(rows: Iterable[Row]) -> None:
    print(f"\n{'':34} {'stock':>12} {'native':>12} {'ratio':>10} {'target':>10}")
    for what, stock, native, unit, target in rows:
        left = "-" if stock is None else f"{stock:,.3f} {unit}"
        ratio = "-" if stock is None else f"{stock / native:,.0f}x"
        print(f"{what:34} {left:>12} {f'{native:,.5f}':>9} {unit} {ratio:>10} {target:>10}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="root of the official tree")
    parser.add_argument("--games", type=int, default=12, help="games that both engines play")
    parser.add_argument("--steps", type=int, default=30, help="commands in each")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    if arguments.games < 1 or arguments.steps < 1:
        parser.error("--games and --steps must be positive")

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        try:
            data = find_data(arguments.data)
        except HolderGymError as error:
            if arguments.data is not None:
                raise SystemExit(str(error)) from None
            print(f"{error}\nGenerated games of full size are measured instead.")
            data = folder
            write_games(folder, generate_games(arguments.seed, max(arguments.games, 60)))
        panels = [open_games(panel, data) for panel in panel_names(data)]
        playings = choose(panels, arguments.games, arguments.steps, arguments.seed)
        if any(playing.path.name != GAME_FILE for playing in playings):
            raise SystemExit(f"{data}: give the root of an official tree: the stock engine reads files")
        measure(panels, playings, folder, arguments.seed)


def measure(panels: Sequence[Games], playings: Sequence[Playing], folder: Path, seed: int) -> None:
    stock = None
    missing = missing_parts()
    if missing:
        print(f"The stock engine is not measured: no {' and '.join(missing)} (pip install 'holdergym[alfworld]').")
    else:
        stock = time_stock(playings)
    native = time_native(playings)
    pack_seconds, packed = time_pack(panels, folder)
    steps_per_second, offered = time_walk(playings, seed)
    memory, copy_memory = native_memory([stored for games in panels for stored in games.stored], seed)

    print(
        f"\n{len(playings)} games, {native.steps} steps; Python {platform.python_version()}, {os.cpu_count()} cores, "
        f"load {os.getloadavg()[0]:.1f}; processor time"
    )

    def of(what: str) -> float | None:
        return None if stock is None else stock.mean_milliseconds(what)

    print_rows(
        [
            Row("load an official file", of("load"), native.mean_milliseconds("load"), "ms", "400x"),
            Row("load from a packed file", of("load"), 1000 * pack_seconds / packed, "ms", "1,000x"),
            Row("reset", of("reset"), native.mean_milliseconds("reset"), "ms", "50,000x"),
            Row("step with admissible commands", of("step"), native.mean_milliseconds("step"), "ms", "3,000x"),
            Row("memory of a live game", None if stock is None else stock_memory(playings), memory, "MB", ""),
        ]
    )
    print(f"\nnative engine alone ({packed} packed games, {NATIVE_LIVE_GAMES} live ones)")
    print(f"  random walk on one core            {steps_per_second:12,.0f} steps/s   target 40,000")
    print(f"    admissible commands, mean        {offered:12.1f}")
    print(f"  open a pack and build all games    {pack_seconds:12.3f} s")
    print(f"  memory of a game, played           {memory:12.3f} MB        target under 0.2")
    print(f"  memory of each further live copy   {1024 * copy_memory:12.2f} kB")


if __name__ == "__main__":
    main()
