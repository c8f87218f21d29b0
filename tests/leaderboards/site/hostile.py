"""A run and a training run whose every text would like to be something else."""

import json
from pathlib import Path

from holdergym.agents.agent import episode_seed
from holdergym.agents.language_model_settings import LanguageModelSettings
from holdergym.agents.trajectory import Outcome, Trajectory, Turn
from holdergym.agents.usage import Usage
from holdergym.envs.panel import Panel
from holdergym.envs.task import Task
from holdergym.eval.config import EvalConfig
from holdergym.eval.episode import Episode
from holdergym.eval.provenance import begin_session
from holdergym.eval.run_folder import Plan, RunFolder

EVIL = (
    "</script><script>window.hacked = 1</script>",
    '"><img src="x" onerror="window.hacked = 2">',
    "<svg onload=window.hacked=3></svg>",
    "<!-- <style>body { display: none }</style>",
    "javascript:window.hacked=4",
    "../../../../tmp/escaped",
    "| a \\ $x$ `b` \\input{/etc/passwd} & \n\n# c %",
    "\u202eevil\u2028\x1b[31m\ud800",
    "%{y:.1%}<b>bold</b><a href='http://example.org/'>link</a>",
)


def write_hostile_run(folder: Path, number: int) -> None:
    """Writes a run with two samples of four tasks, one of which failed."""
    evil = [EVIL[(number + place) % len(EVIL)].encode("utf-8", "replace").decode() for place in range(len(EVIL))]
    panel = Panel.of(
        EVIL[0], [Task(f"alfworld/{text}/{n}", EVIL[n % 4], f"{n:064x}") for n, text in enumerate(EVIL[:4])]
    )
    config = EvalConfig(
        panel=EVIL[0],
        samples=2,
        max_steps=9,
        engine="native",
        agent=LanguageModelSettings(model=evil[0], prompt="chat"),
    )
    plan = Plan(config, panel, EVIL[1], evil[1], f"{evil[2]} prompt chat@abc")
    with RunFolder(folder, plan, begin_session()) as opened:
        for place, slot in enumerate(plan.schedule.slots()):
            outcome = (Outcome.WON, Outcome.LIMIT, Outcome.WON, Outcome.ERROR)[(place + number) % 4]
            turn = Turn(
                evil[3], evil[4], False, float(outcome is Outcome.WON), reply=evil[5], finish="stop",
                usage=Usage(100, 0, 7 + place), remarks=(evil[0],),
            )  # fmt: skip
            opened.append(
                Episode(
                    Trajectory(
                        slot.task_id,
                        panel.task(slot.task_id).type,
                        slot.sample,
                        episode_seed(0, slot.task_id, slot.sample),
                        plan.agent_fingerprint,
                        (turn,),
                        outcome,
                        float(outcome is Outcome.WON),
                        evil[6],
                        "" if outcome.finished else evil[7],
                    ),
                    1,
                )
            )
        opened.summarise()
    manifest = json.loads((folder / "manifest.json").read_text())
    session = manifest["sessions"][0]
    session |= {"command": f"{evil[0]} {evil[1]}", "git_commit": evil[2], "system": evil[3], "started": evil[4]}
    session["versions"] |= {evil[0]: evil[1]}
    session["hardware"]["processor"] = evil[2]
    (folder / "manifest.json").write_text(json.dumps(manifest))


def write_hostile_training(folder: Path) -> None:
    """Writes a training run."""
    folder.mkdir(parents=True)
    quoted = [json.dumps(text.encode("utf-8", "replace").decode()) for text in EVIL]
    (folder / "config.toml").write_text(
        f"env = {quoted[0]}\npanel = {quoted[1]}\nseed = 99999999999999999\n"
        f"[agent]\nmodel = {quoted[2]}\n[method]\nname = {quoted[8]}\n",
        encoding="utf-8",
    )
    lines = ['{"round": 1, "success": 0.5, "p": 1e308, "kl": -1e308, "entropy": NaN}', '{"round": 2, "success": 0.75}']
    (folder / "metrics.jsonl").write_text("\n".join(lines) + "\n")
