"""Plays an episode: an agent and an environment take turns until one of the typed outcomes."""

from time import perf_counter

import gymnasium

from ..envs.errors import EnvironmentFailure, EnvironmentTimeout
from ..envs.task import Task
from .agent import Agent, AgentError, Conversation, Exchange
from .trajectory import Outcome, Trajectory, Turn


def play_episode(env: gymnasium.Env[str, str], agent: Agent, task: Task, sample: int, seed: int) -> Trajectory:
    """Plays one episode.

    Failures of the machinery end the episode as ``error`` or ``timeout`` with their reason, so that they are
    never counted as losses; a command that got no answer is not among the turns. Anything else propagates:
    it is a mistake in the set-up or in the code, and would only repeat itself in the next episode.

    Args:
        env: Any environment with our info keys ``won``, ``admissible_commands`` and
            ``goal_condition_success_rate``. It is reset first and can be used again afterwards.
        agent: Who plays.
        task: What is played; the environment must know its id.
        sample: 0, 1, ... when a task is played several times.
        seed: Seed of the episode, for the environment and the agent.
    """
    turns: list[Turn] = []
    history: list[Exchange] = []
    observation, success_rate, reason = "", 0.0, ""
    try:
        observation, info = env.reset(seed=seed, options={"task": task.id})
        terminated = truncated = False
        while not (terminated or truncated):
            success_rate = info["goal_condition_success_rate"]
            commands: list[str] = info["admissible_commands"]
            conversation = Conversation(task, sample, seed, tuple(history), observation, commands)
            began = perf_counter()
            response = agent.act([conversation])[0]
            answered = perf_counter()
            following, reward, terminated, truncated, info = env.step(response.action)
            ended = perf_counter()
            turns.append(
                Turn(
                    observation=observation,
                    action=response.action,
                    # Blanks around a command are forgiven by the game, so they do not make it invalid. Where the
                    # environment lists no commands any text may be sent.
                    valid=not commands or response.action.strip() in commands,
                    reward=float(reward),
                    reply=response.reply,
                    prompt_ids=response.prompt_ids,
                    response_ids=response.response_ids,
                    logprobs=response.logprobs,
                    agent_seconds=answered - began,
                    env_seconds=ended - answered,
                )
            )
            history.append(Exchange(observation, response.action))
            observation = following
        success_rate = info["goal_condition_success_rate"]
        outcome = Outcome.WON if info["won"] else Outcome.LOST if terminated else Outcome.LIMIT
    except EnvironmentTimeout as error:
        outcome, reason = Outcome.TIMEOUT, _one_line(error)
    except (EnvironmentFailure, AgentError) as error:
        outcome, reason = Outcome.ERROR, _one_line(error)
    return Trajectory(
        task_id=task.id,
        task_type=task.type,
        sample=sample,
        seed=seed,
        agent=agent.fingerprint,
        turns=tuple(turns),
        outcome=outcome,
        goal_condition_success_rate=success_rate,
        final_observation=observation,
        reason=reason,
    )


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())
