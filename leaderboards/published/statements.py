"""What the papers' texts say of their own numbers: claims with the cells that they speak of, and stated conditions."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from .claims import GAIN, ORDER, RELATIVE, VALUE, Claim
from .record import COPY, PRIMARY, SECOND_HAND

AVERAGING, BASELINES = "averaging", "baselines"
POOLED, MATCHED = "pooled over problems", "run under the same settings"
GROUPS_PER_STEP, GROUP_SIZE = "groups a step", "group size"


class Stated(NamedTuple):
    """A condition that a text states; two values for one quantity contradict each other.

    Attributes:
        row: Name of its row in the table ``paper/statements``.
        quantity: What it is about; a table's id for how that table was made.
        place: Where it is stated.
        value: What is stated.
        unit: ``text``, or a unit.
        metric: What kind of condition it is.
        source: Where it was read.
        evidence: As for a published number.
    """

    row: str
    quantity: str
    place: str
    value: str
    unit: str
    metric: str
    source: str
    evidence: str


_HOLDERPO, _AVSPO = "arXiv 2605.12058v2", "WWW_2026_paper_4458.pdf in hexixiang/ACR @c04e7b3"

STATED: Final[Mapping[str, tuple[Stated, ...]]] = {
    "holderpo": (
        Stated(
            "training-problems_text",
            "training problems of the mathematics runs",
            "text, Sec. 4.1 (MATH levels 3 to 5)",
            "8523",
            "problems",
            "statement",
            f"{_HOLDERPO}, Sec. 4.1",
            PRIMARY,
        ),
        Stated(
            "training-problems_figure-3",
            "training problems of the mathematics runs",
            "caption of Figure 3 (MATH-12k)",
            "12000",
            "problems",
            "statement",
            f"{_HOLDERPO}, caption of Figure 3",
            PRIMARY,
        ),
        Stated("baselines", "holderpo", "text, Sec. 4", MATCHED, "text", BASELINES, f"{_HOLDERPO}, Sec. 4", PRIMARY),
    ),
    "avspo": (
        Stated(
            "averaging_www-1", "avspo/www-1", "text of the earlier version", POOLED, "text", AVERAGING, _AVSPO, PRIMARY
        ),
        Stated(
            "groups-a-step",
            "avspo",
            "one epoch of 500 problems in 500 steps, 8 sequences a batch",
            "1",
            "",
            GROUPS_PER_STEP,
            _AVSPO,
            PRIMARY,
        ),
        Stated("group-size", "avspo", "text of the earlier version", "8", "", GROUP_SIZE, _AVSPO, PRIMARY),
    ),
}

_LINEAR_7B = "qwen2.5-math-7b_holderpo-dynamic_linear-2-to-minus-2"
_STATIC_3 = "qwen2.5-math-7b_holderpo-static_3"
_GRPO_7B, _GMPO_7B = "qwen2.5-math-7b_grpo_1", "qwen2.5-math-7b_gmpo_0"
_QWEN3_4B, _QWEN3_8B = "qwen3-4b-base", "qwen3-8b-base"


def claims_of(folder: Path, lines_of: Callable[[Path], Sequence[Mapping[str, str]]]) -> dict[str, list[Claim]]:
    """The claims of each paper, with the values that the facts files have."""
    return {
        "holderpo": _holderpo(lines_of(folder / "holderpo_headline_claims.csv")),
        "s2l-po": _S2L,
        "expo": _expo(lines_of(folder / "expo_headline_claims.csv")),
        "codistill": _codistill(lines_of(folder / "codistill_headline_claims.csv")),
    }


def _holderpo(lines: Sequence[Mapping[str, str]]) -> list[Claim]:
    def claim(
        number: int,
        row: str,
        text: str,
        kind: str,
        cells: tuple[str, str, str, str],
        part: int = 0,
        metric: str = "pass@1",
    ) -> Claim:
        table, of, over, benchmark = cells
        line = lines[number]
        value = line["value"].split(" / ")[part]
        unit = {RELATIVE: "%", GAIN: "points"}.get(kind, "%")
        source = line["source"].removeprefix("primary: ")
        return Claim("holderpo", row, text, kind, value, "", unit, table, of, over, benchmark, metric, source, PRIMARY)

    best = ("holderpo/2", _LINEAR_7B, _GRPO_7B, "Avg")
    four, eight = f"{_QWEN3_4B}_holderpo_linear-2-to-minus-2", f"{_QWEN3_8B}_holderpo_linear-2-to-minus-2"
    household = "qwen2.5-1.5b-instruct_holderpo_linear-1-to-minus-1"
    over_grpo = "qwen2.5-1.5b-instruct_grpo_1"
    return [
        claim(0, "average", "average of five benchmarks with p from 2 to -2, Qwen2.5-Math-7B", VALUE, best),
        claim(1, "average-over-grpo", "relative gain of that average over GRPO", RELATIVE, best),
        claim(2, "aime24-p-3", "AIME24 with p = 3, a new best", VALUE, ("holderpo/2", _STATIC_3, _GMPO_7B, "AIME24")),
        claim(3, "aime24-before", "best AIME24 among compared methods", VALUE, ("holderpo/2", _GMPO_7B, "", "AIME24")),
        claim(
            4,
            "alfworld",
            "ALFWorld success with p from 1 to -1",
            VALUE,
            ("holderpo/3", household, over_grpo, "All"),
            metric="success",
        ),
        claim(
            5,
            "alfworld-over-grpo",
            "relative gain over GRPO on ALFWorld",
            RELATIVE,
            ("holderpo/3", household, over_grpo, "All"),
            metric="success",
        ),
        claim(
            6,
            "qwen3-4b-over-dapo",
            "gain of the average over DAPO, Qwen3-4B",
            GAIN,
            ("holderpo/6", four, f"{_QWEN3_4B}_dapo", "Avg"),
        ),
        claim(
            6,
            "qwen3-4b-over-grpo",
            "gain of the average over GRPO, Qwen3-4B",
            GAIN,
            ("holderpo/6", four, f"{_QWEN3_4B}_grpo", "Avg"),
            1,
        ),
        claim(
            7,
            "qwen3-8b-over-dapo",
            "gain of the average over DAPO, Qwen3-8B",
            GAIN,
            ("holderpo/7", eight, f"{_QWEN3_8B}_dapo", "Avg"),
        ),
        claim(
            7,
            "qwen3-8b-over-grpo",
            "gain of the average over GRPO, Qwen3-8B",
            GAIN,
            ("holderpo/7", eight, f"{_QWEN3_8B}_grpo", "Avg"),
            1,
        ),
        Claim(
            "holderpo",
            "decreasing-p",
            "a decreasing p is better than an increasing one",
            ORDER,
            "",
            table="holderpo/5",
            of="des 2 -> -2",
            over="asc -2 -> 2",
            benchmark="Avg",
            metric="pass@1",
            source=_HOLDERPO,
            evidence=PRIMARY,
            note="no number: the text argues for a schedule from large to small p",
        ),
    ]


_S2L = [
    Claim(
        "s2l-po",
        "aime24-over-grpo",
        "AIME24 gain over GRPO with the 1.7B explorer, as the text writes it",
        RELATIVE,
        "8.8",
        "",
        "%",
        "s2l-po/1",
        "qwen3-8b-base_s2l-po_1.7b",
        "qwen3-8b-base_grpo",
        "AIME24",
        "pass@1",
        "arXiv 2605.30789v1, text",
        PRIMARY,
    )
]


def _expo(lines: Sequence[Mapping[str, str]]) -> list[Claim]:
    cells = {
        "AIME25 pass@32": ("expo/main", "AIME25", "pass@32"),
        "AIME25 pass@1": ("expo/main", "AIME25", "pass@1"),
        "AIME24 pass@32": ("expo/main", "AIME24", "pass@32"),
        "average pass@32 over 6 benchmarks": ("expo/main", "Avg", "pass@32"),
    }
    found = []
    for line in lines:
        table, benchmark, metric = cells[line["metric"]]
        model = line["model"].lower()
        primary = line["source"].startswith("primary: ")
        found.append(
            Claim(
                "expo",
                f"{model}_{benchmark.lower()}-{metric.replace('@', '-')}",
                f"gain over GRPO: {line['metric']}, {line['model']}",
                GAIN,
                line["gain"],
                "",
                "points",
                table,
                f"{model}_fg-expo_{metric.replace('@', '-')}",
                f"{model}_grpo_{metric.replace('@', '-')}",
                benchmark,
                metric,
                line["source"].removeprefix("primary: ").removeprefix("primary text through a third-party capture of "),
                PRIMARY if primary else COPY,
            )
        )
    return found


def _codistill(lines: Sequence[Mapping[str, str]]) -> list[Claim]:
    model = "qwen2.5-math-1.5b"
    cells = {0: (f"{model}_base", ">"), 1: (f"{model}_grpo", "")}
    found = []
    for number, line in enumerate(lines):
        over, qualifier = cells.get(number, ("", ""))
        text = f"{line['claim']}, {line['model']}"
        value = line["value"].removeprefix("more than ").strip()
        if number == 3:
            value, qualifier = "18", "about"
        told = value if number in (0, 1, 3) else ""
        found.append(
            Claim(
                "codistill",
                ("minerva-over-base", "minerva-over-grpo", "large-model", "speedup", "families")[number],
                text,
                GAIN if over else "",
                told,
                qualifier,
                "%" if number == 3 else "points" if over else "",
                "codistill/main" if over else "",
                f"{model}_codistill-grpo" if over else "",
                over,
                "Minerva" if over else "",
                "pass@1" if over else "",
                line["source"].removeprefix("primary: "),
                PRIMARY if line["source"].startswith("primary") else SECOND_HAND,
                "" if told else "the abstract gives no number",
            )
        )
    return found
