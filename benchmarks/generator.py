"""Compares generated games with the official ones, room by room, and measures how fast they are generated.

    python benchmarks/generator.py --data DIR [--count 1200] [--difficulty 1.0]

DIR is the root of the official tree or a packed file (default: ALFWORLD_DATA). Figures are means, with the 10th and
the 90th percentile in brackets. Without official games only the generated ones are shown.
"""

import argparse
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from holdergym.envs.alfworld.game import Game
from holdergym.envs.alfworld.games import find_data, open_games, panel_names
from holdergym.envs.alfworld.generator import generate_games
from holdergym.envs.alfworld.planner import shortest_plan
from holdergym.envs.alfworld.problem import PICKUPABLE
from holdergym.envs.alfworld.world import World
from holdergym.envs.errors import HolderGymError

# Official task folders end with the number of the scene; its hundreds tell the kind of room.
_SCENES = {0: "kitchen", 2: "livingroom", 3: "bedroom", 4: "bathroom"}


class Figures(NamedTuple):
    """What is compared, of one game."""

    receptacles: int
    receptacle_locations: int
    locations: int
    objects: int
    portable_objects: int
    containers_with_doors: int
    share_with_doors: float
    empty_receptacles: int
    objects_in_receptacles: int
    objects_behind_doors: int
    objects_in_two_receptacles: int
    wanted_objects: int
    wanted_objects_in_target: int
    admissible_commands_at_reset: int


def measure(game: Game) -> Figures:
    problem = game.problem
    doors = {index for index, r in enumerate(problem.receptacles) if r.openable}
    holding = Counter(thing for thing, _ in problem.in_receptacle)
    wanted = {i for i, thing in enumerate(problem.objects) if thing.type == problem.goal.object_type}
    targets = {i for i, r in enumerate(problem.receptacles) if r.type == problem.goal.target_type}
    return Figures(
        receptacles=len(problem.receptacles),
        receptacle_locations=len({r.location for r in problem.receptacles}),
        locations=len(problem.locations),
        objects=len(problem.objects),
        portable_objects=sum(bool(thing.properties & PICKUPABLE) for thing in problem.objects),
        containers_with_doors=len(doors),
        share_with_doors=len(doors) / len(problem.receptacles),
        empty_receptacles=len(problem.receptacles) - len({place for _, place in problem.in_receptacle}),
        objects_in_receptacles=len(holding),
        objects_behind_doors=len({thing for thing, place in problem.in_receptacle if place in doors}),
        objects_in_two_receptacles=sum(number > 1 for number in holding.values()),
        wanted_objects=len(wanted),
        wanted_objects_in_target=len({o for o, place in problem.in_receptacle if o in wanted and place in targets}),
        admissible_commands_at_reset=len(World(problem, game.sentence).initial_state().admissible_commands()),
    )


def room_of(game: Game) -> str:
    last = game.task.id.split("/")[2].rsplit("-", 1)[1]
    return _SCENES[int(last) // 100] if last.isdigit() else last


def summary(values: Iterable[float]) -> str:
    ordered = sorted(values)
    if not ordered:
        return "-"
    low, high = ordered[len(ordered) // 10], ordered[len(ordered) * 9 // 10]
    places = 2 if isinstance(low, float) else 0
    return f"{fmean(ordered):.2f} [{low:.{places}f}, {high:.{places}f}]"


def print_rooms(official: Mapping[str, list[Figures]], generated: Mapping[str, list[Figures]]) -> None:
    for room in _SCENES.values():
        known, made = official.get(room, []), generated.get(room, [])
        print(f"\n{room:32} {f'official ({len(known)} games)':>24} {f'generated ({len(made)} games)':>24}")
        for field in Figures._fields:
            columns = [summary(getattr(row, field) for row in rows) for rows in (known, made)]
            print(f"  {field.replace('_', ' '):30} {columns[0]:>24} {columns[1]:>24}")


def print_plans(official: Mapping[str, list[int]], generated: Mapping[str, list[int]]) -> None:
    print(f"\n{'shortest plan':32} {'official':>24} {'generated':>24}")
    for task_type in sorted({*official, *generated}):
        columns = [lengths(known.get(task_type, [])) for known in (official, generated)]
        print(f"  {task_type:30} {columns[0]:>24} {columns[1]:>24}")


def lengths(plans: list[int]) -> str:
    return f"{fmean(plans):.2f} ({min(plans)} to {max(plans)})" if plans else "-"


def official_games(data: Path | None) -> list[Game]:
    """The games of all panels of the data, each once; none where there are no data."""
    if data is None:
        try:
            data = find_data()
        except HolderGymError as error:
            print(error)
            return []
    games = {game.task.digest: game for name in panel_names(data) for game in open_games(name, data=data).values()}
    return list(games.values())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="official games: the root of the tree, or a packed file")
    parser.add_argument("--count", type=int, default=1200, help="how many games to generate")
    parser.add_argument("--difficulty", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()

    started = time.process_time()
    generated = list(generate_games(arguments.seed, arguments.count, arguments.difficulty))
    seconds = time.process_time() - started
    official = official_games(arguments.data)

    rooms: list[dict[str, list[Figures]]] = []
    plans: list[dict[str, list[int]]] = []
    for games in (official, generated):
        by_room, by_type = defaultdict(list), defaultdict(list)
        for game in games:
            by_room[room_of(game)].append(measure(game))
            plan = shortest_plan(World(game.problem, game.sentence).initial_state())
            if plan is None:
                raise SystemExit(f"{game.task.id} cannot be won")
            by_type[game.task.type].append(len(plan))
        rooms.append(by_room)
        plans.append(by_type)
    print("Means, with the 10th and the 90th percentile in brackets.")
    print_rooms(*rooms)
    print_plans(*plans)
    print(
        f"\n{len(generated)} games in {seconds:.1f} s of processor time: {len(generated) / seconds:.0f} a second, with "
        "the walkthrough that proves each"
    )


if __name__ == "__main__":
    main()
