"""What the mathematics environments share: the draw of problems, the spaces, the info keys and the transcript."""

import os
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, NamedTuple, SupportsFloat

import gymnasium
from gymnasium.error import ResetNeeded

from ..errors import ConfigError, EnvironmentFailure, EnvironmentTimeout, UnknownNameError
from ..panel import Panel
from ..text_space import SharedText
from .answers.comparing import MIN_DIGITS
from .answers.extraction import Policy
from .grader import Judgement, Verdict, shared_grader
from .problem import Problem
from .problems import Problems, open_problems

RENDER_MODES = ("ansi",)
ASCII = frozenset(map(chr, range(0x20, 0x7F))) | {"\n"}
MAX_ACTION = 65_536
_OPTIONS = ("task",)
_SHOWN = 2_000


class Reply(NamedTuple):
    """What an environment makes of an action.

    Attributes:
        observation: The text that follows.
        reward: The reward of the step.
        terminated: Whether the problem is answered for good, rightly or wrongly.
        judgement: The verdict on the answer, if the action held one.
    """

    observation: str
    reward: float
    terminated: bool
    judgement: Judgement | None


class ProblemEnv(gymnasium.Env[str, str], ABC):
    """A mathematics problem, worked on in text. Subclasses say what an action does.

    ``terminated`` means that the problem is answered for good; ``truncated`` that the step limit was reached before.
    Each reset and step gives an ``info`` with the keys of all our environments and three more:

    - ``won``: whether the answer is correct.
    - ``admissible_commands``: always empty; any text may be sent.
    - ``task_id``, ``task_type`` (subject or family) and ``steps``.
    - ``goal_condition_success_rate``: 1.0 if won, else 0.0.
    - ``verdict``: the grader's verdict on the last answer, empty if there was none; ``answer``: that answer;
      ``reason``: why it is ``unparsable``.

    A verdict ``timeout`` or ``error`` is no wrong answer: ``step`` raises, and the episode's outcome is that.

    Args:
        instruction: Text behind the problem that says how to answer; empty for none.
        panel: Name of the panel, as ``open_problems`` takes it.
        data: Folder or file with the problems, as ``open_problems`` takes it.
        task_type: Keeps the problems of one subject or family.
        policy: Where an answer may stand: ``boxed`` or ``final``.
        grader_timeout_s: Seconds for one verdict.
        grader_workers: Worker processes for verdicts, shared by all environments of this process.
        max_steps: Step limit of an episode.
        render_mode: ``ansi`` makes ``render`` return the episode's transcript so far.

    Raises:
        HolderGymError: If the problems cannot be opened or a setting is wrong.
    """

    metadata: dict[str, Any] = {"render_modes": list(RENDER_MODES), "render_fps": 1}  # noqa: RUF012 - as the base class has it

    def __init__(
        self,
        instruction: str,
        panel: str | None,
        data: str | None,
        task_type: str | None,
        policy: str,
        grader_timeout_s: float,
        grader_workers: int,
        max_steps: int,
        render_mode: str | None,
    ) -> None:
        if render_mode is not None and render_mode not in RENDER_MODES:
            raise UnknownNameError("render mode", render_mode, RENDER_MODES)
        if policy not in tuple(Policy):
            raise UnknownNameError("answer policy", policy, [known.value for known in Policy])
        if type(max_steps) is not int or max_steps < 1:
            raise ConfigError(f"max_steps must be a whole number of at least 1, not {max_steps!r}")
        if isinstance(data, os.PathLike):
            raise ConfigError(f"data must be a string, as the environment's spec is kept as JSON: use str({data!r})")
        self._source = (panel, data, task_type)
        self._problems, self.panel = _open(*self._source)
        self._instruction = instruction
        self._grading = (policy, float(grader_timeout_s), int(grader_workers), MIN_DIGITS)
        shared_grader(*self._grading)
        self._max_steps = max_steps
        self.render_mode = render_mode
        statements = [problem.statement for problem in self._problems.values()]
        self._charset = charset = ASCII.union(instruction, *statements)
        longest = max(map(len, statements)) + len(instruction) + self._longest_answer()
        self.observation_space = SharedText(longest, min_length=1, charset=charset)
        self.action_space = SharedText(MAX_ACTION, min_length=1, charset=ASCII)
        self._problem: Problem | None = None
        self._steps = 0
        self._ending = ""
        self._transcript: list[str] = []

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Starts an episode.

        Args:
            seed: Seeds the draw of problems.
            options: ``{"task": ID}`` poses that problem; None or ``{}`` draws one.

        Raises:
            UnknownNameError: If the option or the task is unknown; the message names the nearest.
        """
        super().reset(seed=seed)
        problem = self._choose(options or {})
        self._problem = problem
        self._steps = 0
        self._ending = ""
        observation = f"{problem.statement}\n\n{self._instruction}" if self._instruction else problem.statement
        self._transcript = [observation]
        self._begin()
        return observation, self._info(problem, None)

    def step(self, action: str) -> tuple[str, SupportsFloat, bool, bool, dict[str, Any]]:
        """Takes the agent's next text.

        Raises:
            ResetNeeded: If no episode is running, because there was none yet or it has ended.
            TypeError: If the action is not a string.
            EnvironmentTimeout: If the grader gave no verdict in time.
            EnvironmentFailure: If the grader failed; the episode cannot be continued.
        """
        problem = self._problem
        if problem is None:
            raise ResetNeeded("no episode is running: call reset() before step()")
        if self._ending:
            raise ResetNeeded(f"the episode of task {problem.task.id} {self._ending}: call reset() before step()")
        if not isinstance(action, str):
            raise TypeError(f"an action is a text, not {type(action).__name__}")
        self._steps += 1
        self._ending = "was broken off by a failure of the grader"
        reply = self._respond(problem, action)
        truncated = not reply.terminated and self._steps >= self._max_steps
        self._ending = f"was answered in step {self._steps}" if reply.terminated else ""
        if truncated:
            self._ending = f"has ended at its limit of {self._max_steps} steps"
        if self.render_mode == "ansi":
            self._transcript += [f"> {self._printable(action[:_SHOWN])}", reply.observation]
        return reply.observation, reply.reward, reply.terminated, truncated, self._info(problem, reply.judgement)

    def render(self) -> str | None:
        """The transcript of the episode so far, in ``render_mode="ansi"``."""
        return "\n\n".join(self._transcript) if self.render_mode == "ansi" else None

    def close(self) -> None:
        """Ends the episode. The environment can be reset again; the shared grader goes on."""
        self._problem = None

    def __getstate__(self) -> dict[str, Any]:
        """Everything but the problems, which are opened again."""
        state = self.__dict__.copy()
        state.update(_problems=None, panel=None, _problem=self._problem and self._problem.task.id)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._problems, self.panel = _open(*self._source)
        task_id = state["_problem"]
        self._problem = self._problems[task_id] if task_id is not None else None

    @abstractmethod
    def _respond(self, problem: Problem, action: str) -> Reply:
        """What an action does."""

    @abstractmethod
    def _longest_answer(self) -> int:
        """Characters of the longest observation that ``_respond`` gives."""

    def _begin(self) -> None:
        """Sets back what a subclass keeps of an episode."""

    def _judge(self, problem: Problem, action: str) -> Judgement:
        judgement = shared_grader(*self._grading).grade_one(problem.golds, action)
        if judgement.verdict is Verdict.TIMEOUT:
            raise EnvironmentTimeout(f"task {problem.task.id}: {judgement.reason}")
        if judgement.verdict is Verdict.ERROR:
            raise EnvironmentFailure(f"task {problem.task.id}: {judgement.reason}")
        return judgement

    def _printable(self, text: str) -> str:
        """A text as an observation can hold it: characters that no problem uses are escaped."""
        return "".join(c if c in self._charset else c.encode("unicode_escape").decode() for c in text)

    def _choose(self, options: Mapping[str, object]) -> Problem:
        unknown = sorted(str(key) for key in options if key not in _OPTIONS)
        if unknown:
            raise UnknownNameError("reset option", unknown[0], _OPTIONS)
        if "task" not in options:
            task = self.panel.tasks[int(self.np_random.integers(len(self.panel.tasks)))]
            return self._problems[task.id]
        task_id = options["task"]
        if not isinstance(task_id, str):
            raise ConfigError(f"the reset option 'task' must be the id of a task, not {task_id!r:.80}")
        return self._problems[self.panel.task(task_id).id]

    def _info(self, problem: Problem, judgement: Judgement | None) -> dict[str, Any]:
        won = judgement is not None and judgement.verdict is Verdict.CORRECT
        return {
            "won": won,
            "admissible_commands": [],
            "task_id": problem.task.id,
            "task_type": problem.task.type,
            "goal_condition_success_rate": float(won),
            "steps": self._steps,
            "verdict": judgement.verdict.value if judgement else "",
            "answer": (judgement.answer or "") if judgement else "",
            "reason": judgement.reason if judgement else "",
        }


def _open(panel: str | None, data: str | None, task_type: str | None) -> tuple[Problems, Panel]:
    problems = open_problems(panel, data)
    return problems, problems.panel if task_type is None else problems.panel.of_type(task_type)
