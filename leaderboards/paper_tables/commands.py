"""The commands that would produce a row of a published table, as text: what trains it, and what measures it."""

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from ..published.benchmarks import AVERAGE, panel_of
from ..published.layout import Column, Table
from ..published.record import Published

# Where the commands put what they make: `holdergym table --runs runs` finds it there.
RUNS, TRAININGS = "runs", "trainings"

_HUB: Final = {
    "Qwen2.5-1.5B-Instruct": "Qwen/Qwen2.5-1.5B-Instruct",
    "Qwen2.5-0.5B": "Qwen/Qwen2.5-0.5B",
    "Qwen2.5-3B": "Qwen/Qwen2.5-3B",
    "Qwen2.5-3B-Instruct": "Qwen/Qwen2.5-3B-Instruct",
    "Qwen2.5-7B": "Qwen/Qwen2.5-7B",
    "Qwen2.5-14B": "Qwen/Qwen2.5-14B",
    "Qwen2.5-32B": "Qwen/Qwen2.5-32B",
    "Qwen2.5-Math-1.5B": "Qwen/Qwen2.5-Math-1.5B",
    "Qwen2.5-Math-7B": "Qwen/Qwen2.5-Math-7B",
    "Qwen3-4B-Base": "Qwen/Qwen3-4B-Base",
    "Qwen3-8B-Base": "Qwen/Qwen3-8B-Base",
    "Qwen3-14B-Base": "Qwen/Qwen3-14B-Base",
    "DeepSeek-R1-Distill-Qwen-1.5B": "deepseek-ai/DeepSeek-R1-Distill-Qwen-1.5B",
    "DeepSeek-R1-Distill-Qwen-7B": "deepseek-ai/DeepSeek-R1-Distill-Qwen-7B",
}
_METHODS: Final = {
    ("GRPO", "math"): "grpo",
    ("GRPO", "alfworld"): "grpo-verl-agent",
    ("Dr.GRPO", "math"): "dr-grpo",
    ("Oat-Zero", "math"): "dr-grpo",
    ("GMPO", "math"): "gmpo",
    ("GMPO", "alfworld"): "gmpo",
    ("PMPO", "math"): "pmpo-style",
    ("APMPO", "math"): "apmpo",
    ("GSPO", "math"): "gspo",
    ("DAPO", "math"): "dapo",
    ("Clip-Cov", "math"): "clip-cov",
    ("KL-Cov", "math"): "kl-cov",
    ("GiGPO", "alfworld"): "gigpo",
    ("RLOO", "alfworld"): "rloo-ppo",
    ("S2L-PO", "math"): "s2l-po",
    ("CW-GRPO", "math"): "cov_gaussian",
    ("AVSPO", "math"): "avspo",
    ("FG-ExPO", "math"): "expo",
    ("CoDistill-GRPO", "math"): "codistill",
}
# Recipes, which fix everything a paper says of a run; `holdergym train --preset` takes them.
_RECIPES: Final = {
    "Qwen2.5-Math-7B": ("holderpo-math-qwen2.5-math-7b", "p=linear 2 to -2 clip=sequence"),
    "Qwen2.5-Math-1.5B": ("holderpo-math-qwen2.5-math-1.5b", ""),
    "DeepSeek-R1-Distill-Qwen-7B": ("holderpo-math-r1-distill-qwen-7b", "p=linear 2 to -2 clip=sequence"),
    "Qwen3-4B-Base": ("holderpo-math-qwen3-4b", "p=linear 2 to -2 clip=sequence"),
    "Qwen3-8B-Base": ("holderpo-math-qwen3-8b", "p=linear 2 to -2 clip=sequence"),
    "Qwen2.5-1.5B-Instruct": ("holderpo-alfworld-qwen2.5-1.5b", "p=linear 1 to -1 clip=sequence"),
}
# Papers that train as the recipes do: HölderPO, and those whose protocols it takes over.
_OF_THE_RECIPES: Final = ("holderpo", "gmpo", "gigpo")
_CHECKPOINT: Final = "CHECKPOINT is what the training prints at its end"
# Names in the paper's table 5, and shapes of ours going up and down.
_SHAPES: Final = {
    "linear": ("linear", "linear_dec"),
    "square": ("quad", "quad_dec"),
    "cube": ("cubic", "cubic_dec"),
    "sin": ("sin", "cos"),
}
_SCHEDULE = re.compile(r"p=(?P<shape>\w+) (?P<first>-?\d+) to (?P<last>-?\d+) clip=(?P<clip>\w+)")
_STATIC = re.compile(r"p=(?P<p>-?\d+) clip=(?P<clip>\w+)")


@dataclass(frozen=True, slots=True)
class Commands:
    """What produces a row.

    Attributes:
        train: The training command; empty where nothing is trained or nothing can be.
        evaluate: The evaluation command, one for all benchmarks of the row; empty where nothing of ours measures it.
        remark: What is missing, or what the commands leave open.
    """

    train: str
    evaluate: str
    remark: str


def commands_of(table: Table, row: Sequence[Published], columns: Sequence[Column]) -> Commands:
    """The commands for some columns of a row.

    Args:
        table: The table.
        row: Its published cells, found or not.
        columns: Columns that are wanted.
    """
    first = row[0]
    if not table.env:
        return Commands("", "", "nothing of ours is measured like this")
    model = _HUB.get(first.model)
    place = f"{table.paper}/{table.name}/{first.row}"
    if first.method in ("Base", "Instruct"):
        named = f"{model}-Instruct" if model and first.method == "Instruct" else model
        if named is None:
            return Commands("", "", f"which checkpoint {first.model} is, is not known")
        return Commands("", _evaluate(table, columns, first, named, place), "")
    if model is None:
        return Commands("", "", f"which checkpoint {first.model or 'it'} is, is not known")
    train, remark = _train(table, first, model, place)
    return Commands(train, _evaluate(table, columns, first, "CHECKPOINT", place), remark)


def _train(table: Table, row: Published, model: str, place: str) -> tuple[str, str]:
    """The command, and what it leaves open."""
    out = f"--out {TRAININGS}/{place}"
    recipe, config = _RECIPES.get(row.model, ("", ""))
    method, settings = _method(table, row)
    own = row.method == "HölderPO" and row.config == config
    if own and recipe:
        return f"holdergym train --preset {recipe} --data DIR {out}", _CHECKPOINT
    if method is None:
        return "", f"HölderGym has no method {row.label}; CHECKPOINT is a model that you have"
    sets = [f"--set {shlex.quote(setting)}" for setting in settings]
    if recipe and table.paper in _OF_THE_RECIPES:
        # The recipe's data, batches and lengths, with another method in it.
        words = ["holdergym train", f"--preset {recipe}", f"--method {method}", "--data DIR", *sets, out]
        return " ".join(words), f"{_CHECKPOINT}; data, batches and rounds are those of the HölderPO run"
    panel = "--panel train_math_lvl3to5_8k" if table.env == "math" else "--panel train"
    words = ["holdergym train", f"--env {table.env}", panel, "--data DIR", f"--model {model}", f"--method {method}"]
    remark = f"{_CHECKPOINT}; data, batches and rounds are ours: set those of the paper"
    if row.method in ("S2L-PO", "CoDistill-GRPO"):
        remark += ", and the method's second model"
    return " ".join([*words, *sets, out]), remark


def _method(table: Table, row: Published) -> tuple[str | None, list[str]]:
    if row.method != "HölderPO":
        plain = row.config == "" or row.method == "S2L-PO"
        name = _METHODS.get((row.method, table.env)) if plain else None
        # The runs that HölderPO's mathematics tables quote have no KL term.
        no_kl = name == "grpo" and table.paper in _OF_THE_RECIPES
        return name, ["method.kl.coefficient=0"] if no_kl else []
    exponent = "method.aggregation.exponent"
    holder = "holderpo-alfworld" if table.env == "alfworld" else "holderpo"
    if found := _SCHEDULE.fullmatch(row.config):
        first, last = int(found["first"]), int(found["last"])
        shape = _SHAPES[found["shape"]][first > last]
        settings = [
            f"{exponent}.shape={shape}",
            f"{exponent}.low={min(first, last)}",
            f"{exponent}.high={max(first, last)}",
        ]
    elif found := _STATIC.fullmatch(row.config):
        holder, settings = "holderpo-static", [f"{exponent}.p={found['p']}"]
    else:
        return None, []
    if found["clip"] == "token":
        settings.append("method.aggregation.clip=token")
    return holder, settings


def _evaluate(table: Table, columns: Sequence[Column], row: Published, model: str, place: str) -> str:
    """One line that plays each panel of the wanted columns; panels with other options each have their own loop."""
    options = dict(table.evaluation)
    groups: dict[str, list[str]] = {}
    for column in columns:
        panel = panel_of(column.benchmark)
        metric = column.metric or row.metric
        if panel and column.benchmark != AVERAGE and metric in options and panel not in groups.get(options[metric], []):
            groups.setdefault(options[metric], []).append(panel)
    parts = []
    for chosen, panels in groups.items():
        command = f"holdergym eval --env {table.env} --data DIR {chosen} --model {model}"
        if len(panels) == 1:
            parts.append(f"{command} --panel {panels[0]} --out {RUNS}/{place}/{panels[0]}")
        else:
            parts.append(
                f"for panel in {' '.join(panels)}; do {command} --panel $panel --out {RUNS}/{place}/$panel; done"
            )
    return "; ".join(parts)
