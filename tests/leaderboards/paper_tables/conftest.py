"""Runs of a language model over the official panels, written as the evaluator writes them."""

from collections.abc import Callable

import pytest
from holdergym.agents.language_model_settings import LanguageModelSettings
from holdergym.envs.panel import Panel
from holdergym.envs.task import Task
from holdergym.eval.run import Run

TYPES = (
    "look_at_obj_in_light",
    "pick_and_place_simple",
    "pick_clean_then_place_in_recep",
    "pick_cool_then_place_in_recep",
    "pick_heat_then_place_in_recep",
    "pick_two_obj_and_place",
)
ROW = "holderpo/3/qwen2.5-1.5b-instruct_holderpo_linear-1-to-minus-1"


def household_panel(name: str = "valid_seen", size: int = 140) -> Panel:
    """A panel of the size of the official one. Its games are not the official ones, whose hash is not checked."""
    return Panel.of(name, [Task(f"alfworld/{name}/t{i:03}", TYPES[i % 6], f"{i:064x}") for i in range(size)])


@pytest.fixture
def measure(make_run) -> Callable[..., Run]:
    """Writes a run of a language model at ``runs/PLACE``; settings as of ``make_run``."""

    def write(place: str, *, won: int, model: str = "org/model", **settings: object) -> Run:
        agent = LanguageModelSettings(model=model)
        name = settings.pop("agent", f"llm {model}")
        return make_run(f"runs/{place}", name, won=won, agent_settings=agent, **settings)

    return write
