"""The frame of each page: head, policy, navigation, style and script.

A page allows its own script by its hash, and what that script loads, which is the chart library beside it. It allows
nothing else: no other script, no frame, no form, and no network. Styles are free, as the library sets some.
"""

import base64
import hashlib
import json
from collections.abc import Sequence
from functools import cache
from importlib.resources import files

from ...version import __version__
from .charts import Chart, JsonObject
from .markup import safe

_FIRST = (("Leaderboard", "index.html"), ("Training", "training.html"))
_LAST = (("How to read it", "reading.html"),)
_ESCAPES = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
PLOTLY = "assets/plotly.min.js"


def page(title: str, body: str, *, at: str, charts: Sequence[Chart] = (), extra: Sequence[tuple[str, str]] = ()) -> str:
    """A whole page.

    Args:
        title: Its title, not yet escaped.
        body: What stands in it, as HTML.
        at: Its own path in the site, from which links go.
        charts: What is drawn in it.
        extra: More pages for the navigation: names and paths.
    """
    style, script = asset("site.css"), asset("site.js")
    up = "../" * at.count("/")
    current = ' aria-current="page"'
    policy = (
        f"default-src 'none'; script-src {_source(script)} 'strict-dynamic'; style-src 'unsafe-inline'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    links = "".join(
        f'<a href="{up}{path}"{current if path == at else ""}>{safe(name)}</a>'
        for name, path in (*_FIRST, *extra, *_LAST)
    )
    data = json_block("charts", {"library": up + PLOTLY, "charts": [chart.record() for chart in charts]})
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n<meta name="referrer" content="no-referrer">\n'
        f"<title>{safe(title)} · HölderGym</title>\n<style>{style}</style>\n</head>\n<body>\n"
        '<a class="skip" href="#content">Skip to the content</a>\n'
        f'<header class="top"><div><a class="mark" href="{up}index.html">HölderGym</a>'
        f'<nav aria-label="Pages">{links}</nav></div></header>\n'
        f'<main id="content">\n{body}\n</main>\n'
        f"<footer>Made by holdergym {safe(__version__)} from run folders. "
        f'<a href="{up}reading.html">How to read it</a></footer>\n'
        f"{data if charts else ''}\n<script>{script}</script>\n</body>\n</html>\n"
    )


def json_block(name: str, record: JsonObject) -> str:
    """A JSON block that no text inside can end or turn into markup."""
    text = json.dumps(record, separators=(",", ":"), allow_nan=False)
    for character, escape in _ESCAPES.items():
        text = text.replace(character, escape)
    return f'<script type="application/json" id="{name}">{text}</script>'


def figures(charts: Sequence[Chart], tables: Sequence[str]) -> str:
    """Charts side by side where there is room, each with the table of its numbers below it."""
    parts = [
        f'<figure aria-labelledby="of-{chart.name}"><h3 id="of-{chart.name}">{safe(chart.title)}</h3>'
        f'<p class="note">{safe(chart.note)}</p>'
        f'<div class="plot" id="{chart.name}"><p>The numbers of this picture stand in the table below it; drawing it '
        f"needs scripts.</p></div><div>{table}</div></figure>"
        for chart, table in zip(charts, tables, strict=True)
    ]
    return f'<div class="figures">{"".join(parts)}</div>'


@cache
def asset(name: str) -> str:
    """A file of this package."""
    return (files(__package__ or "") / name).read_text(encoding="utf-8")


def _source(text: str) -> str:
    """How a content security policy names an inline script: by its hash."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
