"""Plays the native engine against the stock one, step by step, and prints every difference.

    python benchmarks/parity.py [--data DIR] [--games 72] [--workers 2] [--seed 0]

Four parts: official games with the unmodified stock engine and game files, evenly from all splits and task types; more
of them, picked so that rare texts are reached; official games whose rules were replaced by those of
``holdergym.envs.alfworld.domain``; generated games. Compared after the reset and after every
command are the text, the admissible commands as a list, whether the game is won and how much of the goal holds.

DIR is the root of the official tree (default: ALFWORLD_DATA). Without official games only generated ones are played.
Ends with status 1 if there is a difference or nothing was compared. The whole takes some twenty minutes on two cores.
"""

import argparse
import os
import queue
import re
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path
from random import Random
from typing import NamedTuple

from holdergym.envs.alfworld.game import Game
from holdergym.envs.alfworld.games import find_data, open_games, panel_names
from holdergym.envs.alfworld.generator import DIFFICULTIES, generate_game
from holdergym.envs.alfworld.native import NativeSimulator
from holdergym.envs.alfworld.problem import IS_COOL, TaskType
from holdergym.envs.alfworld.stock import StockSimulator
from holdergym.envs.errors import HolderGymError
from lockstep.compare import Comparison, compare
from lockstep.exercises import Exercises

SPECIALS = ("treatments", "shuttles", "twins", "vessels", "odd commands")

# Texts that hardly ever come up, so that the log shows whether they did.
RARE_TEXTS = {
    "a hot and clean sliced": re.compile("This is a hot and clean sliced"),
    "a cool and clean sliced": re.compile("This is a cool and clean sliced"),
    "a clean sliced": re.compile("This is a clean sliced"),
    "a hot sliced": re.compile("This is a hot sliced"),
    "a cool sliced": re.compile("This is a cool sliced"),
    "a sliced": re.compile("This is a sliced"),
    "a hot and clean": re.compile("This is a hot and clean (?!sliced)"),
    "a cool and clean": re.compile("This is a cool and clean (?!sliced)"),
    "a cold": re.compile("This is a cold"),
    "an object that holds others": re.compile("This is a normal .* you see a "),
    "look lists an object": re.compile("Next to it, you see a "),
    "look lists an object twice": re.compile(r"Next to it, you see .*(a \w+ \d+)\b.*\1\b"),
    "a light turned on": re.compile("You turn on"),
    "nothing happens": re.compile("Nothing happens"),
}


class Job(NamedTuple):
    """A game to play with a list of commands."""

    part: str
    exercise: str
    game: Game
    commands: list[str]


def official_games(data: Path | None, count: int, seed: int) -> list[Game]:
    """Picks games, the cells of split and task type by turns."""
    cells: dict[tuple[str, str], list[Game]] = defaultdict(list)
    for name in panel_names(data):
        games = open_games(name, data)
        for task in Random(f"{seed}\t{name}").sample(games.panel.tasks, len(games.panel.tasks)):
            cell = cells[name, task.type]
            if len(cell) < count:
                cell.append(games[task.id])
    rounds = zip_longest(*(cells[key] for key in sorted(cells)))
    return [game for games in rounds for game in games if game is not None][:count]


def jobs_of(part: str, games: Iterable[Game], seed: int) -> Iterator[Job]:
    for number, game in enumerate(games):
        exercises = Exercises(game, seed)
        yield Job(part, "walkthrough and on", game, exercises.walkthrough(further=15))
        yield Job(part, "random walk", game, exercises.random_walk(50, odd=0.15))
        # Each game gets one special exercise, by turns; not every game has what each needs.
        special = SPECIALS[number % len(SPECIALS)]
        yield Job(part, special, game, special_commands(exercises, special) or exercises.shuttles())


def special_commands(exercises: Exercises, special: str) -> list[str]:
    commands: list[str] = getattr(exercises, special.replace(" ", "_"))()
    return commands


def rare_jobs(part: str, games: Iterable[Game], seed: int, runs: int) -> Iterator[Job]:
    """Finds special exercises that reach each rare text in so many runs. The native engine is fast enough to try."""
    reached: Counter[str] = Counter()
    native = NativeSimulator()
    for game in games:
        exercises = Exercises(game, seed)
        for special in SPECIALS[:-1]:
            commands = special_commands(exercises, special)
            names = set(rare_names(compare(game, commands, native, NativeSimulator()).texts))
            if any(reached[name] < runs for name in names):
                reached.update(names)
                yield Job(part, special, game, commands)


def rare_names(texts: Iterable[str]) -> Iterator[str]:
    return (name for name, pattern in RARE_TEXTS.items() for text in texts if pattern.search(text))


def generated_games(count: int, seed: int) -> list[Game]:
    sizes, types = list(DIFFICULTIES.values()), sorted(TaskType)
    return [
        generate_game(seed + i, difficulty=sizes[i % len(sizes)], task_type=types[i % len(types)]) for i in range(count)
    ]


def features(game: Game) -> Iterator[str]:
    """What is special about a game."""
    problem = game.problem
    places: dict[int, list[int]] = defaultdict(list)
    for thing, receptacle in problem.in_receptacle:
        places[thing].append(receptacle)
    doubled = [held for held in places.values() if len(held) > 1]
    if doubled:
        yield "an object in two receptacles"
    if any(len({problem.receptacles[r].location for r in held}) < len(held) for held in doubled):
        yield "an object in two receptacles at one place"
    stated = set(problem.at_location)
    if any((thing, problem.receptacles[r].location) not in stated for thing, r in problem.in_receptacle):
        yield "an object whose objectAtLocation is elsewhere"
    if any(thing.properties & IS_COOL for thing in problem.objects):
        yield "an object that is cool at the start"
    if problem.in_object:
        yield "an object that holds others"
    if max(Counter(r.location for r in problem.receptacles).values()) > 2:
        yield "three receptacles at one place"


def play(jobs: list[Job], workers: int) -> Iterator[tuple[Job, Comparison]]:
    """Plays jobs side by side; those of one game stay together, so that the stock engine loads it once."""
    by_game = defaultdict(list)
    for job in jobs:
        by_game[job.part, job.game.task.id].append(job)
    with ExitStack() as opened:
        simulators: queue.SimpleQueue[StockSimulator] = queue.SimpleQueue()
        for _ in range(workers):
            simulators.put(opened.enter_context(closing(StockSimulator())))

        def play_game(group: list[Job]) -> list[tuple[Job, Comparison]]:
            stock = simulators.get()
            try:
                native = NativeSimulator()
                return [(job, compare(job.game, job.commands, reference=stock, tested=native)) for job in group]
            finally:
                simulators.put(stock)

        pool = opened.enter_context(ThreadPoolExecutor(workers))
        for results in pool.map(play_game, by_game.values()):
            yield from results


def report(results: Iterable[tuple[Job, Comparison]], total: int) -> int:
    """Prints progress and counts; gives the number of differences, or -1 if nothing was compared."""
    games: dict[str, set[str]] = defaultdict(set)
    cells: dict[str, set[str]] = defaultdict(set)
    observations: Counter[str] = Counter()
    exercises: Counter[str] = Counter()
    rare: Counter[str] = Counter()
    special: Counter[str] = Counter()
    won = undone = differences = 0
    started = time.monotonic()
    for done, (job, found) in enumerate(results, start=1):
        if job.game.task.id not in games[job.part]:
            special.update(features(job.game))
        games[job.part].add(job.game.task.id)
        cells[job.part].add(f"{job.game.task.id.split('/')[1]} {job.game.task.type}")
        observations[job.part] += found.observations
        exercises[job.exercise] += found.observations
        rare.update(set(rare_names(found.texts)))
        won += found.won
        undone += found.undone
        if found.difference is not None:
            differences += 1
            print(f"DIFFERENCE ({job.part}, {job.exercise}) {found.difference}", flush=True)
        if done % 20 == 0 or done == total:
            seconds = time.monotonic() - started
            print(f"{done} of {total} in {seconds:.0f} s: {differences} differences", flush=True)

    print("\npart                           games  split x type  observations compared")
    for part in games:
        print(f"{part:30} {len(games[part]):5} {len(cells[part]):13} {observations[part]:22,}")
    print(f"{'together':30} {sum(map(len, games.values())):5} {'':13} {sum(observations.values()):22,}")
    print(f"\nof them with the game won: {won:,}; wins undone by going on: {undone:,}")
    for title, counts in (("by exercise", exercises), ("games with", special), ("runs that reached the text", rare)):
        print(f"\n{title}")
        names = RARE_TEXTS if counts is rare else sorted(counts)
        for name in names:
            print(f"  {name:45} {counts[name]:6,}")
    print(f"\n{differences} differences")
    return differences if observations.total() else -1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="root of the official tree")
    parser.add_argument("--games", type=int, default=72, help="official games with their own rules")
    parser.add_argument("--rare", type=int, default=4, help="runs that reach each rare text")
    parser.add_argument("--own-rules", type=int, default=12, help="official games with the rules of domain.py")
    parser.add_argument("--generated", type=int, default=12, help="generated games")
    parser.add_argument("--workers", type=int, default=2, help="stock engines side by side")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()

    jobs: list[Job] = []
    try:
        data = find_data(arguments.data)
    except HolderGymError as error:
        if arguments.data is not None or os.environ.get("ALFWORLD_DATA"):
            raise SystemExit(str(error)) from None
        print(f"{error}\nOnly generated games are played.")
    else:
        games = official_games(data, arguments.games, arguments.seed)
        jobs += jobs_of("official games", games, arguments.seed)
        games = official_games(data, 20 * arguments.rare, arguments.seed + 1)
        jobs += rare_jobs("official games, rare texts", games, arguments.seed, arguments.rare)
        games = official_games(data, arguments.own_rules, arguments.seed + 2)
        ours = [replace(game, source="written with own rules") for game in games]
        jobs += jobs_of("official games, own rules", ours, arguments.seed)
    jobs += jobs_of("generated games", generated_games(arguments.generated, arguments.seed), arguments.seed)
    print(f"{len(jobs)} runs, {sum(len(job.commands) + 1 for job in jobs):,} observations")
    sys.exit(1 if report(play(jobs, arguments.workers), len(jobs)) else 0)


if __name__ == "__main__":
    main()
