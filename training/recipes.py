"""The papers' recipes: every setting of a published run, where it comes from, and what is not known of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from ..envs.errors import UnknownNameError

# The recipe that makes its own model, and its short form; see quick.py.
QUICK: Final = "quick"
QUICK_SHORT: Final = "quick-short"

Values = Mapping[str, object]

_PAPER = "arXiv 2605.12058v2, sections 4.1 and App. F"
_MATH_SCRIPT = "the authors' scripts/qwen2.5-math-7b-holder.sh at 1d27a37"
_ALFWORLD_SCRIPT = "the authors' run_alfworld.sh at 1d27a37, and verl-agent's defaults in their fork at 1ecfd40"


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """A published training run as settings of ours.

    Attributes:
        name: Its name, for ``holdergym train --preset``.
        title: What it trains, and how.
        method: The method's preset.
        settings: What differs from our defaults; nested as in a settings file.
        parameters: Weights of the model, by its model card.
        data: What has to be given with ``--data``.
        sources: Where the settings come from.
        differences: What we do otherwise.
        unknown: What the sources do not say, and what stands here instead.
    """

    name: str
    title: str
    method: str
    settings: Values
    parameters: float
    data: str
    sources: tuple[str, ...]
    differences: tuple[str, ...]
    unknown: tuple[str, ...] = ()

    @property
    def model(self) -> str:
        """The checkpoint that it begins with."""
        agent = self.settings["agent"]
        assert isinstance(agent, Mapping)
        return str(agent["model"])


_MATH_SETTINGS: Values = {
    "env": "math",
    "panel": "train_math_lvl3to5_8k",
    "rounds": 500,
    "groups": 128,
    "group_size": 8,
    "updates": 8,
    "gradient_checkpointing": True,
    "save_every": 20,
    "optimiser": {"learning_rate": 1e-6, "beta1": 0.9, "beta2": 0.95, "weight_decay": 0.0, "max_norm": 1.0},
    "method": {"aggregation": {"exponent": {"shape": "linear_dec", "low": -2.0, "high": 2.0, "rounds": 500}}},
    "rewards": {"won": 1.0, "lost": 0.0},
    "validation": {"panel": "math500", "every": 20},
}
_MATH_DATA = (
    "a folder with train_math_lvl3to5_8k.jsonl (8,523 problems of MATH, levels 3 to 5: id, problem, answer) and math500"
)
_MATH_DIFFERENCES = (
    "weights, gradients and AdamW are kept in float32 on one device; the authors train in bfloat16 under ZeRO-2 on "
    "four GPUs, so the sizes of a step agree and its rounding does not",
    "answers are graded by our rules (docs/GRADING.md), and a correct answer in a response that the limit of tokens "
    "cut is right; the authors give it 0",
    "all 8,523 problems come once before one comes again; their 128 prompts a round are drawn per process",
    "the run ends after round 500, whose checkpoint the authors evaluate; their script goes on to 20 passes over the "
    "problems with p at its end",
    "the sentence that asks for a box stands behind the problem; theirs stands in the system message of the template "
    "qwen_math, which Qwen2.5-Math's own chat template adds here too",
)
_SEED = "the seed: theirs is the time of day; 0 here"


def _math(name: str, model: str, parameters: float, unknown: tuple[str, ...] = ()) -> Recipe:
    agent = {"name": "llm", "model": model, "prompt": "free", "temperature": 1.0, "max_tokens": 3000}
    return Recipe(
        name=f"holderpo-math-{name}",
        title=f"HölderPO on mathematics with {model}, p from 2 to -2",
        method="holderpo",
        settings={**_MATH_SETTINGS, "agent": agent},
        parameters=parameters,
        data=_MATH_DATA,
        sources=(_PAPER, _MATH_SCRIPT),
        differences=_MATH_DIFFERENCES,
        unknown=(*unknown, "that S = 500 rounds is in the script only, not in the paper", _SEED),
    )


_UNMATCHED: Final = ("data, lengths and rounds: the paper says 'matched configurations'; those of the 7B run here",)

RECIPES: Final[tuple[Recipe, ...]] = (
    _math("qwen2.5-math-7b", "Qwen/Qwen2.5-Math-7B", 7.62e9),
    _math(
        "qwen2.5-math-1.5b",
        "Qwen/Qwen2.5-Math-1.5B",
        1.54e9,
        ("whether anything but the model differs from the 7B run; nothing does here",),
    ),
    _math(
        "r1-distill-qwen-7b",
        "deepseek-ai/DeepSeek-R1-Distill-Qwen-7B",
        7.62e9,
        ("which template this model had: the only script uses qwen_math; its own chat template here",),
    ),
    _math("qwen3-4b", "Qwen/Qwen3-4B-Base", 4.02e9, _UNMATCHED),
    _math("qwen3-8b", "Qwen/Qwen3-8B-Base", 8.19e9, _UNMATCHED),
    Recipe(
        name="holderpo-alfworld-qwen2.5-1.5b",
        title="HölderPO on ALFWorld with Qwen2.5-1.5B-Instruct, p from 1 to -1",
        method="holderpo-alfworld",
        settings={
            "env": "alfworld",
            "panel": "train",
            "max_steps": 50,
            "rounds": 150,
            "groups": 16,
            "group_size": 8,
            "updates": 16,
            "gradient_checkpointing": True,
            "save_every": 10,
            "agent": {
                "name": "llm",
                "model": "Qwen/Qwen2.5-1.5B-Instruct",
                "prompt": "window",
                "history": 2,
                "temperature": 1.0,
                "max_tokens": 512,
                "unparsable": "tail",
            },
            "optimiser": {"learning_rate": 1e-6, "beta1": 0.9, "beta2": 0.999, "weight_decay": 0.01, "max_norm": 1.0},
            "rewards": {"won": 10.0, "lost": 0.0, "invalid_penalty": 0.1},
            "method": {
                "aggregation": {"exponent": {"shape": "linear_dec", "low": -1.0, "high": 1.0, "rounds": 150}},
                "kl": {"coefficient": 0.01},
                "entropy": {"coefficient": 0.001},
            },
            "validation": {"panel": "valid_seen", "every": 5},
        },
        parameters=1.54e9,
        data="the folder that alfworld-download makes (or ALFWORLD_DATA)",
        sources=(_PAPER, _ALFWORLD_SCRIPT),
        differences=(
            "a round has 16 optimiser steps, each on 8 episodes; theirs has one for every 256 turns, so their number "
            "follows from how long the episodes are",
            "a turn costs 0.1 where its command is not admissible; theirs where tags are missing or a Chinese "
            "character occurs",
            "the wording of the prompt is ours; its parts and their order are verl-agent's",
            "validation plays every game of valid_seen once, greedily; theirs draws 128 of them at temperature 0.4 "
            "(`holdergym eval --protocol gigpo-128` measures a checkpoint so)",
            "weights, gradients and AdamW are kept in float32 on one device",
        ),
        unknown=(
            "S, the length of the schedule: 150 here, the length of the run; the script's default is 1000, with a "
            "constant p of 1",
            "AdamW's betas and weight decay: verl's defaults (0.9, 0.999, 0.01) here",
            "whether the reported number is the last validation or the best",
            "the number of seeds, and the seed; 0 here",
        ),
    ),
)


def find_recipe(name: str) -> Recipe:
    """The recipe of this name.

    Raises:
        UnknownNameError: If there is none; the message names the nearest.
    """
    for recipe in RECIPES:
        if recipe.name == name:
            return recipe
    raise UnknownNameError("preset", name, [QUICK, QUICK_SHORT, *(recipe.name for recipe in RECIPES)])


def recipe_as_text(recipe: Recipe) -> str:
    """What a reader must know of a recipe besides its settings."""
    sections = (
        ("From", recipe.sources),
        ("Needs", (recipe.data,)),
        ("Differs from the paper", recipe.differences),
        ("Not known", recipe.unknown),
    )
    lines = [f"# {recipe.title}"]
    for title, items in sections:
        lines += ["", f"{title}:", *(f"- {item}" for item in items)]
    return "\n".join(lines)
