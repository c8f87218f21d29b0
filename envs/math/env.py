r"""Mathematics as Gymnasium environments: one answer, several attempts, or Python to compute with."""

import re
from collections.abc import Sequence

from ..errors import ConfigError, UnknownNameError
from .answers.extraction import Policy, find_answer
from .episode import ProblemEnv, Reply
from .grader import Verdict
from .problem import Problem
from .sandbox import Ending, Isolation, Limits, run_program, strongest_isolation

BOXED = r"Put your final answer in \boxed{}."
RETRY = r"Put your final answer in \boxed{}. If it is wrong you may answer again."
PYTHON = (
    "You may run Python: write a program between ```python and ```, and what it prints is shown to you. "
    r"When you know the answer, put it in \boxed{} and write no program."
)
_RIGHT = "Your answer is correct."
_WRONG = "Your answer is wrong."
_NEITHER = r"There is neither a program between ```python and ``` nor an answer in \boxed{}."
_PROGRAM = re.compile(r"```(?:python|py)[ \t]*\r?\n(?P<source>.*?)(?:```|\Z)", re.DOTALL)


class MathEnv(ProblemEnv):
    """One problem, one answer: the episode ends with the first step. The reward is 1.0 if it is correct, else 0.0.

    A response without an answer is a wrong one; ``info["verdict"]`` tells them apart. The rest is said at
    ``ProblemEnv``; the arguments are those, with an instruction that asks for a box.
    """

    def __init__(
        self,
        panel: str | None = "builtin_valid",
        data: str | None = None,
        task_type: str | None = None,
        instruction: str = BOXED,
        policy: str = "boxed",
        grader_timeout_s: float = 5.0,
        grader_workers: int = 1,
        render_mode: str | None = None,
    ) -> None:
        super().__init__(instruction, panel, data, task_type, policy, grader_timeout_s, grader_workers, 1, render_mode)

    def _respond(self, problem: Problem, action: str) -> Reply:
        judgement = self._judge(problem, action)
        right = judgement.verdict is Verdict.CORRECT
        return Reply(_RIGHT if right else _WRONG, float(right), True, judgement)

    def _longest_answer(self) -> int:
        return 100


class MathRetryEnv(ProblemEnv):
    """One problem, several attempts. The agent is told that the last answer was wrong, and nothing more.

    The episode ends with the first correct answer or with the last attempt. A response without an answer uses up an
    attempt like a wrong one.

    Args:
        rewards: Reward of a correct answer at the first attempt, the second, ...: as many attempts as there are
            rewards.
        panel, data, task_type, instruction, policy, grader_timeout_s, grader_workers, render_mode: See ``ProblemEnv``.

    Raises:
        HolderGymError: If the problems cannot be opened or a setting is wrong.
    """

    def __init__(
        self,
        panel: str | None = "builtin_valid",
        data: str | None = None,
        task_type: str | None = None,
        rewards: Sequence[float] = (1.0, 0.5, 0.25),
        instruction: str = RETRY,
        policy: str = "boxed",
        grader_timeout_s: float = 5.0,
        grader_workers: int = 1,
        render_mode: str | None = None,
    ) -> None:
        if not rewards or not all(type(reward) in (int, float) for reward in rewards):
            raise ConfigError(f"rewards must be a list of at least one number, one for each attempt, not {rewards!r}")
        self._rewards = tuple(float(reward) for reward in rewards)
        super().__init__(
            instruction, panel, data, task_type, policy, grader_timeout_s, grader_workers, len(rewards), render_mode
        )

    def _respond(self, problem: Problem, action: str) -> Reply:
        judgement = self._judge(problem, action)
        attempts = len(self._rewards)
        if judgement.verdict is Verdict.CORRECT:
            return Reply(_RIGHT, self._rewards[self._steps - 1], True, judgement)
        if self._steps == attempts:
            return Reply(_WRONG, 0.0, True, judgement)
        return Reply(f"{_WRONG} Try again: attempt {self._steps + 1} of {attempts}.", 0.0, False, judgement)

    def _longest_answer(self) -> int:
        return 200


class MathPythonEnv(ProblemEnv):
    """One problem; the agent may run Python programs before it answers. Only an answer in a box counts.

    The last program of a response is run, in a fresh interpreter each time, unless a boxed answer stands behind it.
    Its output is the next observation. How far programs are kept apart from your files and network depends on the
    system: see ``isolation``, ``holdergym.envs.math.sandbox`` and docs/GRADING.md.

    Args:
        max_steps: Step limit of an episode; without an answer by then it is truncated.
        python_seconds: Wall and processor time of a program.
        python_memory_mb: Memory of a program, in MiB.
        isolation: ``bubblewrap``, ``namespaces`` or ``limits``; None takes the strongest that works here.
        panel, data, task_type, instruction, grader_timeout_s, grader_workers, render_mode: See ``ProblemEnv``.

    Attributes:
        isolation: The isolation in use.

    Raises:
        HolderGymError: If the problems cannot be opened or a setting is wrong.
    """

    def __init__(
        self,
        panel: str | None = "builtin_valid",
        data: str | None = None,
        task_type: str | None = None,
        max_steps: int = 5,
        python_seconds: float = 5.0,
        python_memory_mb: int = 512,
        isolation: str | None = None,
        instruction: str = PYTHON,
        grader_timeout_s: float = 5.0,
        grader_workers: int = 1,
        render_mode: str | None = None,
    ) -> None:
        if isolation is not None and isolation not in tuple(Isolation):
            raise UnknownNameError("isolation", isolation, [known.value for known in Isolation])
        self._limits = Limits(python_seconds, python_memory_mb)
        self.isolation = Isolation(isolation) if isolation is not None else strongest_isolation()
        super().__init__(
            instruction, panel, data, task_type, "boxed", grader_timeout_s, grader_workers, max_steps, render_mode
        )

    def _respond(self, problem: Problem, action: str) -> Reply:
        programs = list(_PROGRAM.finditer(action))
        behind = action[programs[-1].end() :] if programs else action
        if find_answer(behind, Policy.BOXED) is not None:
            judgement = self._judge(problem, behind)
            right = judgement.verdict is Verdict.CORRECT
            return Reply(_RIGHT if right else _WRONG, float(right), True, judgement)
        if not programs:
            return Reply(_NEITHER, 0.0, False, None)
        return Reply(self._run(programs[-1]["source"]), 0.0, False, None)

    def _run(self, source: str) -> str:
        execution = run_program(source, self._limits, self.isolation)
        most = self._longest_answer() - 200
        shown = self._printable(execution.output)[:most].rstrip("\n")
        note = {
            Ending.FINISHED: "" if shown else "The program printed nothing.",
            Ending.FAILED: "The program failed.",
            Ending.TIMEOUT: f"The program was stopped after {self._limits.seconds:g} seconds.",
            Ending.TOO_MUCH_OUTPUT: "The program was stopped: it printed too much.",
        }[execution.ending]
        return "\n".join(part for part in (shown, note) if part)

    def _longest_answer(self) -> int:
        return 2 * self._limits.output_characters
