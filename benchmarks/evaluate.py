"""Times whole evaluations: the evaluator on both engines, and what it costs beside the bare engine.

    python benchmarks/evaluate.py [--data DIR] [--panel valid_unseen] [--games 6]

The first table plays the same few games with the walkthrough agent through the native and the stock engine, from the
opened panel to the written summary, in a process that has evaluated before. The second plays the whole panel on the
native engine with the random agent, once through the evaluator (run folder, journal, summary) and once in a bare loop
over the same commands.
"""

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from holdergym.agents.registry import RandomSettings, WalkthroughSettings
from holdergym.envs.alfworld.games import open_games
from holdergym.envs.alfworld.stock import missing_parts
from holdergym.eval.config import EvalConfig
from holdergym.eval.evaluation import evaluate
from holdergym.eval.journal import read_journal
from holdergym.eval.run import EPISODES


def seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def compare_engines(panel: str, data: Path | None, games: int, folder: Path) -> None:
    # Once a process, and not what is compared here: opening the panel, importing what statistics need.
    evaluate(EvalConfig(panel=panel, data=data, limit=1, agent=WalkthroughSettings(), out=folder / "warm-up"))
    print(f"walkthroughs of {games} games of {panel}, whole evaluation")
    took = {}
    for engine in ("native", "textworld"):
        if engine == "textworld" and missing_parts():
            print("  textworld  not installed: pip install 'holdergym[alfworld]'")
            return
        config = EvalConfig(
            panel=panel, data=data, limit=games, engine=engine, agent=WalkthroughSettings(), out=folder / engine
        )
        took[engine] = seconds(lambda config=config: evaluate(config))
        print(f"  {engine:10} {took[engine]:8.2f} s  {took[engine] / games * 1000:10.1f} ms an episode")
    print(f"  ratio      {took['textworld'] / took['native']:8.0f} x")


def compare_with_bare_engine(panel: str, data: Path | None, folder: Path) -> None:
    opened = open_games(panel, None if data is None else str(data))
    config = EvalConfig(panel=panel, data=data, agent=RandomSettings(), out=folder / "random")
    through = seconds(lambda: evaluate(config))
    episodes = [numbered.episode.trajectory for numbered in read_journal(folder / "random" / EPISODES)]
    commands = sum(len(episode.turns) for episode in episodes)

    def bare() -> None:
        for episode in episodes:
            state = opened.world(episode.task_id).initial_state()
            for turn in episode.turns:
                state.step(turn.action)
                state.admissible_commands()
                state.goal_progress()

    alone = seconds(bare)
    print(f"random agent on {panel}: {len(episodes)} episodes, {commands} commands")
    print(f"  evaluator  {through:8.2f} s  {through / commands * 1e6:10.1f} us a command")
    print(f"  bare loop  {alone:8.2f} s  {alone / commands * 1e6:10.1f} us a command")
    print(f"  ratio      {through / alone:8.1f} x")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="official games; without them the built-in ones are played")
    parser.add_argument("--panel", help="[default: valid_unseen, or builtin_valid without --data]")
    parser.add_argument("--games", type=int, default=6, help="games that both engines play")
    args = parser.parse_args()
    panel = args.panel or ("valid_unseen" if args.data else "builtin_valid")
    with tempfile.TemporaryDirectory() as folder:
        compare_engines(panel, args.data, args.games, Path(folder))
        compare_with_bare_engine(panel, args.data, Path(folder))


if __name__ == "__main__":
    main()
