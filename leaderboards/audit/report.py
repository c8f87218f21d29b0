"""The audit's findings as text, Markdown and JSON."""

import json
import textwrap
from collections import Counter
from collections.abc import Sequence

from ..markdown import escape
from .finding import SEVERITIES, Finding

SCHEMA = 1
_CELLS = 4
_WIDTH = 100


def summary(findings: Sequence[Finding]) -> str:
    """``3 errors, 1 warning, 0 notes``."""
    counts = Counter(finding.severity for finding in findings)
    return ", ".join(f"{counts[name]} {name}{'' if counts[name] == 1 else 's'}" for name in SEVERITIES)


def findings_as_text(findings: Sequence[Finding]) -> str:
    """A paragraph a finding: severity and rule, what does not agree, its cells."""
    parts = []
    for finding in findings:
        lines = [f"{finding.severity}: {finding.rule}"]
        lines += textwrap.wrap(finding.message, _WIDTH, initial_indent="  ", subsequent_indent="  ")
        lines += [f"    {cell}" for cell in finding.cells[:_CELLS]]
        if len(finding.cells) > _CELLS:
            lines.append(f"    and {len(finding.cells) - _CELLS} more cells")
        parts.append("\n".join(lines))
    return "\n\n".join([*parts, summary(findings)]) + "\n"


def findings_as_markdown(findings: Sequence[Finding]) -> str:
    """One table."""
    rows = [("Severity", "Rule", "Cells", "Finding"), ("---", "---", "---", "---")]
    for finding in findings:
        cells = "<br>".join(escape(str(cell)) for cell in finding.cells[:_CELLS])
        more = len(finding.cells) - _CELLS
        cells += f"<br>and {more} more" if more > 0 else ""
        rows.append((finding.severity, finding.rule, cells, escape(finding.message)))
    table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    return f"### Audit of the published tables\n\n{summary(findings)}\n\n{table}\n"


def findings_as_json(findings: Sequence[Finding]) -> str:
    """All findings with all their cells."""
    record = {
        "schema": SCHEMA,
        "counts": {name: sum(finding.severity == name for finding in findings) for name in SEVERITIES},
        "findings": [
            {
                "rule": finding.rule,
                "severity": finding.severity,
                "message": finding.message,
                "cells": [cell._asdict() for cell in finding.cells],
            }
            for finding in findings
        ],
    }
    return json.dumps(record, indent=2, ensure_ascii=False) + "\n"
