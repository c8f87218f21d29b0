"""``holdergym play``: a game at the terminal, for a person or to watch an agent."""

import sys
from collections.abc import Callable
from contextlib import closing, suppress

import click
import gymnasium

from ..agents.agent import Agent, AgentError, Conversation, Exchange, episode_seed
from ..agents.registry import make_alfworld_agent, settings_of
from ..envs.alfworld.env import ALFWorldEnv
from ..envs.alfworld.games import open_games
from ..envs.errors import EnvironmentFailure, HolderGymError
from ..envs.task import Task
from ..envs.wording import counted
from .paths import PATH_TEXT
from .terminal import echo

HUMAN = "human"
_LIST = "?"
_QUIT = ("quit", "exit")
_WATCHED = ("expert", "random", "walkthrough")


@click.command()
@click.option("--panel", help="Panel to play from. [default: builtin_valid, or the only panel of --data]")
@click.option(
    "--data", type=PATH_TEXT, help="Folder with json_2.1.1, or a packed file. [default: what ALFWORLD_DATA names]"
)
@click.option("--task", "task_id", help="Id of the game. [default: one drawn by --seed]")
@click.option("--task-type", help="Draw among the games of this type.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of the draw.")
@click.option("--agent", default=HUMAN, show_default=True, help=f"human, or watch {', '.join(_WATCHED)}.")
@click.option("--engine", default="native", show_default=True, help="native, or textworld: the stock engine.")
@click.option("--max-steps", type=click.IntRange(min=1), default=50, show_default=True, help="Commands until the end.")
def command(
    panel: str | None,
    data: str | None,
    task_id: str | None,
    task_type: str | None,
    seed: int,
    agent: str,
    engine: str,
    max_steps: int,
) -> int:
    """Play a game yourself, or watch an agent play it.

    Type commands as the game knows them; ? lists those that it would carry out now, quit ends. Commands may
    also be piped in, one a line. The exit code is 0 when the game was won, else 1.

    \b
    Examples:
      holdergym play
      holdergym play --agent expert --task-type pick_heat_then_place_in_recep
    """
    games = open_games(panel, data)
    player = None if agent == HUMAN else make_alfworld_agent(settings_of(agent, _WATCHED), games)
    env = ALFWorldEnv(games.panel.name, data, engine, task_type, max_steps)
    with closing(env):
        try:
            observation, info = env.reset(seed=seed, options={"task": task_id} if task_id else None)
            task = games.panel.task(info["task_id"])
            echo(f"{task.id} ({task.type})\n")
            choose = _ask() if player is None else _watch(player, task, seed)
            return _play(env, observation, info, choose)
        except AgentError as error:
            raise HolderGymError(f"the agent gave up: {error}") from None
        except EnvironmentFailure as error:
            raise HolderGymError(f"the engine failed: {error}") from None


Chooser = Callable[[str, list[str]], str | None]


def _play(env: gymnasium.Env[str, str], observation: str, info: dict[str, object], choose: Chooser) -> int:
    """Takes turns until the end; ``choose`` gives the next command, or None to stop."""
    terminated = truncated = False
    while not (terminated or truncated):
        echo(observation.rstrip("\n"))
        commands = info["admissible_commands"]
        assert isinstance(commands, list)
        action = choose(observation, commands)
        if action is None:
            echo(f"\nstopped after {_steps(info)}, not won")
            return 1
        observation, _, terminated, truncated, info = env.step(action)
    echo(observation.rstrip("\n"))
    echo(f"\n{'won' if terminated else 'not won: the step limit is reached'}, {_steps(info)}")
    return 0 if terminated else 1


def _steps(info: dict[str, object]) -> str:
    steps = info["steps"]
    assert isinstance(steps, int)
    return counted(steps, "step")


def _ask() -> Chooser:
    """A person's turn. Lists commands on ``?``; ends with ``quit``, at the end of the input, or with Ctrl-C."""
    if sys.stdin.isatty():
        with suppress(ImportError):  # line editing and history, where the system has them
            import readline  # noqa: F401

    def choose(observation: str, commands: list[str]) -> str | None:
        while True:
            try:
                typed = input("\n> ")
            except (EOFError, KeyboardInterrupt):
                return None
            except UnicodeDecodeError:
                echo("that is not UTF-8 text: type a command, ? to list them")
                continue
            if not sys.stdin.isatty():
                echo(typed)  # so that a piped game reads like a typed one
            if typed.strip() == _LIST:
                echo("\n".join(f"  {known}" for known in commands))
            elif typed.strip() in _QUIT:
                return None
            elif typed.strip():
                return typed

    return choose


def _watch(agent: Agent, task: Task, seed: int) -> Chooser:
    """An agent's turn, shown as if typed."""
    history: list[Exchange] = []
    own_seed = episode_seed(seed, task.id, 0)

    def choose(observation: str, commands: list[str]) -> str:
        conversation = Conversation(task, 0, own_seed, tuple(history), observation, commands)
        action = agent.act([conversation])[0].action
        history.append(Exchange(observation, action))
        echo(f"\n> {action}")
        return action

    return choose
