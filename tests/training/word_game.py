"""A game that a model with random weights learns in seconds, and small models with one tokenizer."""

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium
import torch
from gymnasium import spaces
from holdergym.agents.language_model_settings import LanguageModelSettings
from holdergym.envs.panel import Panel
from holdergym.envs.task import Task
from holdergym.training.config import OptimiserSettings, TrainConfig, ValidationSettings
from holdergym.training.method import Method
from holdergym.training.models import open_models
from holdergym.training.playground import Playground
from holdergym.training.processes import ALONE, Processes
from holdergym.training.trainer import Progress, RoundReport, Trainer


class WordGame(gymnasium.Env[str, str]):
    """Won by a reply with the letter that the task asks for: what a model with random weights can learn in seconds."""

    observation_space = spaces.Text(200)
    action_space = spaces.Text(200)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None):  # type: ignore[no-untyped-def]
        super().reset(seed=seed)
        self._letter = (options or {})["task"].rpartition("/")[2]
        return f"Say {self._letter}", self._info(False)

    def step(self, action: str):  # type: ignore[no-untyped-def]
        won = self._letter in action
        return ("yes" if won else "no"), float(won), True, False, self._info(won)

    def _info(self, won: bool) -> dict[str, Any]:
        return {"won": won, "admissible_commands": [], "goal_condition_success_rate": float(won)}


PANEL = Panel.of("letters", [Task(f"made_up/letters/{letter}", letter, "0" * 64) for letter in "aeo"])
LETTERS = Playground("math", PANEL, PANEL, WordGame, WordGame)


def settings(checkpoint: Path, method: Method, **changes: Any) -> TrainConfig:
    """A run of a few rounds, the same to the last bit whenever it is played."""
    made = TrainConfig(
        env="math",
        agent=LanguageModelSettings(model=str(checkpoint), prompt="free", max_tokens=4, temperature=1.0),
        method=Method(name="placeholder"),
        rounds=2,
        groups=3,
        group_size=4,
        updates=2,
        optimiser=OptimiserSettings(learning_rate=2e-3),
        validation=ValidationSettings(every=0),
        in_flight=1,
    )
    return replace(made, **{"method": method, **changes})


def play(
    config: TrainConfig, rounds: int | None = None, processes: Processes = ALONE
) -> tuple[list[RoundReport], dict[str, torch.Tensor]]:
    """Plays some rounds.

    Returns:
        What they reported, and the weights of the policy afterwards.
    """
    reports: list[RoundReport] = []
    with open_models(config, processes) as models:
        trainer, progress = Trainer(config, models, LETTERS, processes), Progress()
        for _ in range(config.rounds if rounds is None else rounds):
            reports.append(trainer.round(progress))
            progress = reports[-1].progress
        weights = {name: one.detach().clone() for name, one in models.policy.model.named_parameters()}
    return reports, weights


def sibling(checkpoint: Path, folder: Path, *, width: int, layers: int, seed: int) -> Path:
    """A model of another size with the tokenizer of a checkpoint."""
    from transformers import LlamaConfig, LlamaForCausalLM

    folder.mkdir()
    for name in ("tokenizer.json", "tokenizer_config.json", "chat_template.jinja", "special_tokens_map.json"):
        if (checkpoint / name).is_file():
            shutil.copy(checkpoint / name, folder / name)
    config = LlamaConfig.from_pretrained(checkpoint)
    config.hidden_size, config.intermediate_size, config.num_hidden_layers = width, width * 2, layers
    torch.manual_seed(seed)
    LlamaForCausalLM(config).save_pretrained(folder)
    return folder
