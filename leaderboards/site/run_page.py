"""The page of a run: how well, against whom, where its episodes are, and how it is made again."""

import shlex
from collections.abc import Sequence

from ...envs.wording import counted
from ...eval.intervals import LEVEL
from ...eval.metrics import FAILURE_RULE_TEXT
from ..columns import measures, shown_types
from ..numbers import UNDEFINED, count, decimal, interval, percent
from ..rows import Board, type_label
from ..side_tables import SideTable, side_tables
from .entries import Entry, Ranking
from .markup import copies, facts, plain_table, safe, tags
from .pairs_table import pairs_of
from .ranking_page import heading_of
from .ranking_page import path_of as path_of_ranking
from .shell import page


def path_of(entry: Entry) -> str:
    """Where the page stands in the site."""
    return f"runs/{entry.slug}.html"


def run_page(ranking: Ranking, number: int, episodes: str, extra: Sequence[tuple[str, str]]) -> str:
    """Makes the page.

    Args:
        ranking: The ranking that the run stands in.
        number: Its number there, from 0.
        episodes: What the site has of its episodes, as HTML.
        extra: More pages for the navigation.
    """
    entry = ranking.entries[number]
    overall = entry.row.overall
    up = "../"
    rank = "" if entry.rank is None else f"rank {entry.rank} of {counted(len(ranking.entries), 'run')}"
    by_type = _by_type(ranking.board, entry)
    of_run = Board(**{name: getattr(ranking.board, name) for name in Board.__slots__} | {"rows": (entry.row,)})
    against = pairs_of(ranking, number)
    parts = [
        f'<p class="kicker"><a href="{up}index.html">Leaderboard</a> / '
        f'<a href="{up}{path_of_ranking(ranking)}">{safe(ranking.title)}</a></p>\n<h1>{safe(entry.title)}</h1>',
        f'<p class="figures-row"><span class="big">{percent(overall.success_rate)}<small> %</small></span>'
        f"<span>{count(overall)} episodes won, {LEVEL:.0%} interval {interval(overall.interval)}</span>"
        f"<span>{safe(rank)}</span></p>",
        tags(
            (
                ("run", entry.row.run),
                ("model", entry.model),
                ("method", entry.method),
                ("samples a task", str(entry.run.config.samples)),
            )
        ),
        "".join(f'<p class="note {kind}">{safe(note)}</p>' for note, kind in _notes(entry)),
        f"<h2>Task types</h2>\n{plain_table(by_type)}{copies(by_type)}" if by_type.rows else "",
        *(
            f"<h2>{safe(heading_of(table.title))}</h2>\n{plain_table(table)}{copies(table)}"
            for table in side_tables(of_run)
        ),
        f"<h2>Against the other runs</h2>\n{plain_table(against)}{copies(against)}" if against.rows else "",
        f"<h2>Episodes</h2>\n{episodes}",
        f"<h2>Make it again</h2>\n{_command(entry)}",
        f"<h2>Where it comes from</h2>\n{facts(_origin(entry))}",
    ]
    return page(
        f"{entry.title}, {entry.row.run}", "\n".join(part for part in parts if part), at=path_of(entry), extra=extra
    )


def _by_type(board: Board, entry: Entry) -> SideTable:
    columns = measures(board.env, with_goals=True)
    types = shown_types(board.types)
    named = [(type_label(kind), entry.row.by_type[kind]) for kind in types]
    rows = [
        (
            name,
            count(metrics),
            percent(metrics.success_rate),
            interval(metrics.interval),
            *(c.cell(metrics) for c in columns),
        )
        for name, metrics in [*named, ("all types" if "all" in types else "all", entry.row.overall)]
    ]
    headers = ("type", "won", "success %", "95% interval", *(column.header for column in columns))
    return SideTable("Success by task type", 1, headers, tuple(rows))


def _notes(entry: Entry) -> list[tuple[str, str]]:
    """What a reader must know before taking a number from the page, each with a mark for what makes a run "
    "incomplete.
    """
    overall = entry.row.overall
    grave = "warning" if overall.failed or overall.missing else ""
    notes = [("; ".join(entry.row.notes), grave)] if entry.row.notes else []
    if overall.failed:
        notes += [(f"Why episodes failed: {reason}", grave) for reason in entry.row.failures]
        notes.append((FAILURE_RULE_TEXT, grave))
    if entry.run.replayed:
        again = counted(entry.run.replayed, "failed episode was", "failed episodes were")
        notes.append((f"{again} played again", ""))
    return notes


def _command(entry: Entry) -> str:
    """The settings with which it is played again, and the command as it was recorded."""
    data = f" --data {'GAMES' if entry.run.config.env == 'alfworld' else 'PROBLEMS'}"
    sessions = entry.run.manifest.sessions
    needs_data = bool(sessions) and sessions[0].data is not None
    config = f"{entry.slug}.toml"
    again = f"holdergym eval --config {shlex.quote(config)}{data if needs_data else ''} --out runs/again"
    recorded = sessions[0].command if sessions else ""
    told = (
        '<p class="note">The command that began it, as the run folder says. Whoever made the folder wrote it: read it '
        f'before you run it.</p><pre class="command">{safe(recorded)}</pre>'
        if recorded
        else ""
    )
    return (
        f'<p class="note">With its settings, <a href="{safe(config)}" download>{safe(config)}</a>:</p>'
        f'<pre class="command">{safe(again)}</pre>{told}'
    )


def _origin(entry: Entry) -> list[tuple[str, str]]:
    run = entry.run
    manifest, config = run.manifest, run.config
    rows = [
        ("Agent", manifest.agent_fingerprint),
        ("Panel", run.panel.label),
        ("Panel sha256", run.panel.sha256),
        ("Settings sha256", manifest.config_sha256),
        ("Protocol", config.protocol or ""),
        ("Dialect", manifest.dialect),
        ("Engine", config.engine or ""),
        ("Step limit", "" if config.max_steps is None else str(config.max_steps)),
        ("Seed", str(config.seed)),
        ("Interval", f"{LEVEL:.0%}, {entry.row.overall.method.replace('_', ' ')}"),
        ("Seconds an episode", decimal(entry.row.spending.agent_seconds, 2).replace(UNDEFINED, "")),
    ]
    if manifest.sessions:
        first, last = manifest.sessions[0], manifest.sessions[-1]
        rows += [
            ("Started", first.started),
            ("Finished", last.finished or "not finished"),
            ("Sessions", str(len(manifest.sessions))),
            ("Commit", last.git_commit or ""),
            ("Versions", ", ".join(f"{name} {version}" for name, version in last.versions.items())),
            ("Machine", f"{last.hardware.processor}, {counted(last.hardware.cores, 'core')}, {last.system}"),
        ]
    return [(name, text) for name, text in rows if text]
