"""Builds the viewer's page: one file without a server, a build step or the network.

Nothing that an agent, a game or a settings file says becomes markup. It goes into JSON blocks in which ``<``, ``>`` and
``&`` are escaped, and the script puts it on the page as text. A content security policy allows the page's own script
and style by their hashes and forbids everything else, the network included.
"""

import base64
import hashlib
import json
import re
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

from ...agents.language_model_settings import LanguageModelSettings
from ...envs.errors import HolderGymError
from ...envs.wording import counted
from ...version import __version__
from ..conditions import mismatches
from ..episode import Episode
from ..journal import read_journal
from ..run import EPISODES, Run, read_run
from .identity import identity
from .records import JsonObject, goal_of, prepare
from .tokens import TokenTexts, open_tokenizer

# In the order in which they are joined; each is one part of the same script.
_SCRIPTS = ("data.js", "text.js", "filters.js", "list.js", "tokens.js", "episode.js", "overview.js", "main.js")
_SLOT = re.compile(r"\[\[(\w+)\]\]")
_ESCAPES = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"}


def viewer_page(folders: Sequence[Path], tokenizer: str | None = None) -> str:
    """Makes the page of one run, or of two runs side by side.

    Args:
        folders: One or two run folders.
        tokenizer: Where the tokenizer of the runs' models is; None takes it from where each run's model was.

    Raises:
        HolderGymError: If a run cannot be read, both are the same, they share no task, or a tokenizer that was asked
            for cannot be loaded.
    """
    runs = [read_run(folder) for folder in folders]
    if len({run.folder.resolve() for run in runs}) < len(runs):
        raise HolderGymError(f"{folders[0]} is given twice: a run is compared with another one")
    if not set.intersection(*({task.id for task in run.panel.tasks} for run in runs)):
        raise HolderGymError(
            f"{folders[0]} and {folders[1]} have no task in common (panels {runs[0].panel.label!r} and "
            f"{runs[1].panel.label!r}): view each on its own"
        )
    tasks: dict[str, JsonObject] = {}
    parts: list[_Part] = []
    for number, run in enumerate(runs):
        episodes = _episodes(run)
        texts, note = _texts_of(run, episodes, tokenizer)
        part = _part(number, episodes, texts, tasks)
        parts.append(part._replace(head=identity(run, [note] if note else [])))
    index = _index(parts, tasks)
    if len(runs) > 1:
        index["mismatches"] = [str(mismatch) for mismatch in mismatches(runs[0], runs[1])]
        index["pairing"] = _pairing(*runs)
    return _assemble([_block("index", index), *(block for part in parts for block in part.blocks)])


class CutPage(NamedTuple):
    """A page that may not hold all episodes.

    Attributes:
        text: The page, which says so itself.
        left_out: Number of episodes that it does not hold.
    """

    text: str
    left_out: int


def cut_page(run: Run, most_bytes: int) -> CutPage:
    """Makes the page of one run as far as it fits into a size, the same on every machine: tokens are without texts.

    Args:
        run: The run.
        most_bytes: Most bytes of episodes; those at the end of the panel are left out. The rates are those of all.

    Raises:
        HolderGymError: If the episodes cannot be read.
        ValueError: If a number in them is not finite.
    """
    tasks: dict[str, JsonObject] = {}
    part = _part(0, _episodes(run), None, tasks, most_bytes)
    left_out = len(run.results) - len(part.rows)
    note = (
        f"Cut to {most_bytes / 1e6:g} MB: {len(part.rows)} of {counted(len(run.results), 'episode')} are here, in the "
        "order "
        "of the panel. Rates and counts are those of all."
    )
    part = part._replace(head=identity(run, [note] if left_out else []))
    return CutPage(_assemble([_block("index", _index([part], tasks)), *part.blocks]), left_out)


class _Part(NamedTuple):
    """A run's part of the page."""

    blocks: list[str]
    rows: list[JsonObject]
    head: JsonObject


def _part(
    number: int,
    episodes: Sequence[Episode],
    texts: TokenTexts | None,
    tasks: dict[str, JsonObject],
    most_bytes: int | None = None,
) -> _Part:
    """Prepares the episodes of a run, adds their tasks, and stops before they are larger than allowed."""
    part = _Part([], [], {})
    size = 0
    for place, episode in enumerate(episodes):
        prepared = prepare(episode, texts)
        block = _block(f"episode-{number}-{place}", prepared.body)
        size += len(block)
        if most_bytes is not None and size > most_bytes:
            break
        part.blocks.append(block)
        part.rows.append(prepared.row)
        task = tasks.setdefault(episode.trajectory.task_id, {"type": episode.trajectory.task_type, "goal": ""})
        task["goal"] = task["goal"] or goal_of(episode.trajectory)
    return part


def _index(parts: Sequence[_Part], tasks: dict[str, JsonObject]) -> JsonObject:
    return {
        "version": __version__,
        "runs": [part.head for part in parts],
        "tasks": tasks,
        "rows": [part.rows for part in parts],
    }


def _pairing(first: Run, second: Run) -> str:
    """What a reader must know of runs with different numbers of samples, or nothing."""
    if first.config.samples == second.config.samples:
        return ""
    return (
        f"A has {counted(first.config.samples, 'sample')} of each task and B {second.config.samples}: sample 0 stands "
        "beside sample 0 and so on, and what has no partner stands alone."
    )


def _episodes(run: Run) -> list[Episode]:
    """The episodes that count, in the order of the panel; of an episode that was played again, the last."""
    lines = {result.line for result in run.results}
    by_line = {line: episode for line, episode in read_journal(run.folder / EPISODES) if line in lines}
    return [by_line[result.line] for result in run.results]


def _texts_of(run: Run, episodes: Sequence[Episode], tokenizer: str | None) -> tuple[TokenTexts | None, str]:
    """What makes texts of a run's tokens, and else why there is nothing that does."""
    model = run.config.agent.model if isinstance(run.config.agent, LanguageModelSettings) else None
    if model is None or not _have_tokens(episodes):
        return None, ""
    if tokenizer is not None:
        return open_tokenizer(tokenizer), ""
    try:
        return open_tokenizer(model), ""
    except HolderGymError as error:
        return None, f"Tokens are shown without their texts: {error}."


def _have_tokens(episodes: Sequence[Episode]) -> bool:
    return any(turn.response_ids is not None for episode in episodes for turn in episode.trajectory.turns[:1])


def _block(name: str, record: JsonObject) -> str:
    """A JSON block that no text inside can end or turn into markup."""
    text = json.dumps(record, separators=(",", ":"), allow_nan=False)
    for character, escape in _ESCAPES.items():
        text = text.replace(character, escape)
    return f'<script type="application/json" id="{name}">{text}</script>'


def _assemble(blocks: Sequence[str]) -> str:
    script = '"use strict";\n(() => {\n' + "\n".join(_asset(name) for name in _SCRIPTS) + "})();\n"
    style = _asset("viewer.css")
    policy = (
        f"default-src 'none'; script-src {_source(script)}; style-src {_source(style)}; "
        "base-uri 'none'; form-action 'none'"
    )
    parts = {"policy": policy, "style": style, "data": "\n".join(blocks), "script": script}
    # One pass, so that nothing inside a part is taken for a place to fill.
    return _SLOT.sub(lambda found: parts[found[1]], _asset("viewer.html"))


def _source(text: str) -> str:
    """How a content security policy names an inline script or style: by its hash."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _asset(name: str) -> str:
    return (files(__package__ or "") / name).read_text(encoding="utf-8")
