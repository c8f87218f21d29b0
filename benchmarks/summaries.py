"""Times the statistics over 100,000 episodes: reading a run folder, its summary, and a comparison of two.

    python benchmarks/summaries.py [--episodes 100000] [--samples 100]

Two run folders are written with the real record writer. Their episodes are those of the expert and of the random agent
(cut at 8 commands) on the built-in games, given to made-up tasks over and over. Each figure is of a process of its own,
as a user runs it, start of Python included; its memory is the peak that the system counts.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from holdergym.agents.agent import episode_seed
from holdergym.agents.registry import ExpertSettings, RandomSettings
from holdergym.envs.panel import Panel
from holdergym.envs.task import Task
from holdergym.eval.config import EvalConfig
from holdergym.eval.episode import Episode, episode_from_line
from holdergym.eval.evaluation import evaluate
from holdergym.eval.journal import read_lines
from holdergym.eval.provenance import begin_session
from holdergym.eval.run import EPISODES
from holdergym.eval.run_folder import Plan, RunFolder

SUMMARY = """
import sys
from pathlib import Path
from holdergym.eval.run import read_run
from holdergym.eval.summary import summary_text
text = summary_text(read_run(Path(sys.argv[1])))
"""


def played(folder: Path) -> list[Episode]:
    """Real episodes of two agents, to be given to other tasks."""
    found: list[Episode] = []
    for agent, steps in ((ExpertSettings(), 50), (RandomSettings(), 8)):
        out = folder / agent.name
        evaluate(EvalConfig(agent=agent, max_steps=steps, out=out))
        found += read_lines(out / EPISODES, lambda line, number: episode_from_line(line))
    return found


def write(folder: Path, real: Sequence[Episode], tasks: int, samples: int, shift: int) -> None:
    """Writes a run folder in which real episodes belong to made-up tasks."""
    types = sorted({episode.trajectory.task_type for episode in real})
    panel = Panel.of("made_up", [Task(f"alfworld/made_up/t{i:06}", types[i % 6], f"{i:064x}") for i in range(tasks)])
    config = EvalConfig(panel="made_up", engine="native", max_steps=50, samples=samples)
    plan = Plan(config, panel, "0.4", "made-up", "made-up")
    with RunFolder(folder, plan, begin_session()) as opened:
        for number, slot in enumerate(plan.schedule.slots()):
            episode = real[(number * 7919 + shift) % len(real)]
            trajectory = replace(
                episode.trajectory,
                task_id=slot.task_id,
                task_type=panel.task(slot.task_id).type,
                sample=slot.sample,
                seed=episode_seed(0, slot.task_id, slot.sample),
                agent="made-up",
            )
            opened.append(replace(episode, trajectory=trajectory))


def run(name: str, command: Sequence[str]) -> None:
    """Runs a process and prints what it took."""
    began = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    took = time.perf_counter() - began
    if status:
        raise SystemExit(f"{name} failed")
    peak = usage.ru_maxrss / 1024
    busy = usage.ru_utime + usage.ru_stime
    print(f"  {name:34} {took:6.2f} s  {busy:6.2f} s of processor time  {peak:6.0f} MiB at most", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--episodes", type=int, default=100_000, help="episodes of a run")
    parser.add_argument("--samples", type=int, nargs="+", default=[1, 100], help="samples of each task")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        real = played(folder)
        for samples in arguments.samples:
            tasks = arguments.episodes // samples
            runs = [folder / f"{side}-{samples}" for side in "ab"]
            for shift, out in enumerate(runs):
                write(out, real, tasks, samples, shift * 31)
            size = sum(path.stat().st_size for path in runs[0].iterdir()) / 2**20
            print(f"{tasks * samples:,} episodes, {tasks:,} tasks with {samples} each, {size:,.0f} MiB")
            run("start of Python and imports", [sys.executable, "-c", "import holdergym.eval.summary"])
            run("read and summarise one run", [sys.executable, "-c", SUMMARY, str(runs[0])])
            holdergym = [sys.executable, "-m", "holdergym"]
            run("holdergym leaderboard, one run", [*holdergym, "leaderboard", str(runs[0])])
            run("holdergym compare, two such runs", [*holdergym, "compare", *map(str, runs)])


if __name__ == "__main__":
    main()
