"""One game as a record, and its compact form, which packed files hold and digests are made of."""

import hashlib
import json
from dataclasses import dataclass

from ..errors import GameError
from ..task import Task
from .dialect import Dialect
from .problem import Problem, problem_from_record, problem_to_record


@dataclass(frozen=True, slots=True)
class Game:
    """One playable game.

    Attributes:
        task: Id, task type and digest; ``metadata["dialect"]`` is the dialect.
        problem: Initial facts and goal.
        sentence: The whole task line, ``Your task is to: put a mug in desk.``
        dialect: ``0.4`` or ``0.3``.
        walkthrough: Commands that win, as the file gives them; None where it gives none (dialect 0.3).
        source: Where the game was read: the path of a ``game.tw-pddl``, ``PACK#ID`` for a packed game, or
            ``generated``.
        rules: For dialect 0.3 the sha256 of the file's own domain and grammar, which it is played by; else empty.
    """

    task: Task
    problem: Problem
    sentence: str
    dialect: str
    walkthrough: tuple[str, ...] | None
    source: str
    rules: str = ""

    @classmethod
    def make(
        cls,
        task_id: str,
        problem: Problem,
        sentence: str,
        walkthrough: tuple[str, ...] | None,
        *,
        dialect: str = Dialect.V04,
        source: str = "generated",
        rules: str = "",
    ) -> "Game":
        """Makes a game and its task, with the digest of what is played."""
        facts = canonical_facts(problem, sentence, dialect, rules)
        task = make_task(task_id, problem.goal.task_type, digest_of(facts), dialect)
        return cls(task, problem, sentence, dialect, walkthrough, source, rules)


@dataclass(frozen=True, slots=True)
class StoredGame:
    """A game in compact form, about 7 kB: what a panel keeps of a game that is not being played.

    Attributes:
        task: As in ``Game``.
        facts: The canonical JSON of problem, sentence and dialect, and of the rules of dialect 0.3.
        walkthrough: As in ``Game``.
        source: As in ``Game``.
    """

    task: Task
    facts: bytes
    walkthrough: tuple[str, ...] | None
    source: str

    @classmethod
    def of(cls, game: Game) -> "StoredGame":
        """Stores a game."""
        facts = canonical_facts(game.problem, game.sentence, game.dialect, game.rules)
        return cls(game.task, facts, game.walkthrough, game.source)

    def load(self) -> Game:
        """Decodes the game.

        Raises:
            GameError: If the facts are damaged: not those that the digest was made of, or not a game.
        """
        if digest_of(self.facts) != self.task.digest:
            raise GameError(f"{self.source}: the game is damaged (its sha256 differs): make the file again")
        try:
            record, sentence, dialect, *others = json.loads(self.facts)
            (rules,) = others or [""]
            problem = problem_from_record(record)
        except (ValueError, TypeError, RecursionError):
            raise GameError(f"{self.source}: the game is not in the compact form: pack it again") from None
        except GameError as error:
            raise GameError(f"{self.source}: {error}") from None
        if (problem.goal.task_type, dialect) != (self.task.type, self.task.metadata["dialect"]):
            raise GameError(f"{self.source}: the game is not of the type or dialect it is listed with: pack it again")
        return Game(self.task, problem, sentence, dialect, self.walkthrough, self.source, rules)


def canonical_facts(problem: Problem, sentence: str, dialect: str, rules: str = "") -> bytes:
    """Writes what is played as compact JSON: equal games give equal bytes, wherever they were read."""
    form = [problem_to_record(problem), sentence, str(dialect), *([rules] if rules else [])]
    return json.dumps(form, separators=(",", ":"), ensure_ascii=True).encode()


def digest_of(facts: bytes) -> str:
    """The sha256 (hex) that identifies a game in ``Task.digest`` and in panel hashes."""
    return hashlib.sha256(facts).hexdigest()


def make_task(task_id: str, task_type: str, digest: str, dialect: str) -> Task:
    """Makes the task of a game."""
    return Task(task_id, str(task_type), digest, {"dialect": str(dialect)})
