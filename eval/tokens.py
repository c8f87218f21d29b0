"""``tokens.npz``: the tokens of a run's episodes for training, made of ``episodes.jsonl`` alone."""

from pathlib import Path

from ..agents.sequences import NoTokensError
from ..agents.token_file import TokenArrays
from .journal import read_journal
from .results import Slot
from .run import EPISODES, Run

TOKENS = "tokens.npz"


def write_tokens(run: Run) -> Path | None:
    """Writes the tokens of the episodes that count, in the order of the panel; failed episodes are left out.

    Returns:
        The file, or None where a turn has no tokens, as with scripted agents and servers that do not tell them.

    Raises:
        HolderGymError: If a file cannot be read or written.
    """
    order = {Slot(result.task_id, result.sample): number for number, result in enumerate(run.results)}
    played: dict[int, TokenArrays] = {}
    try:
        for _, episode in read_journal(run.folder / EPISODES):
            trajectory = episode.trajectory
            if trajectory.outcome.finished:
                number = order[Slot(trajectory.task_id, trajectory.sample)]
                played[number] = TokenArrays.of([trajectory])
    except NoTokensError:
        return None
    arrays = TokenArrays.joined([played[number] for number in sorted(played)])
    path = run.folder / TOKENS
    arrays.save(path)
    return path
