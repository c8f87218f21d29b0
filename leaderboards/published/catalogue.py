"""Which published tables are known, paper by paper, in the order of the papers."""

from dataclasses import replace
from typing import Final

from ...envs.errors import UnknownNameError
from .benchmarks import ALFWORLD_TYPES, AVERAGE, OVERALL
from .layout import DELTA, PASS_1, SUCCESS, Column, Table

CLAIM, SETTING = "claim", "setting"
# What lists claims and settings of a paper, rather than a table of it.
CLAIMS, SETTINGS, STATEMENTS = "claims", "settings", "statements"


def _math(*names: str, n: dict[str, int] | None = None, samples: int | None = None) -> tuple[Column, ...]:
    sizes = n or {}
    return tuple(Column(name, n=sizes.get(name), samples=None if name == AVERAGE else samples) for name in names)


_HOLDER_SIZES = {"AIME24": 30, "AMC": 83, "MATH500": 500, "Minerva": 272, "OlympiadBench": 675}
_SUITE = _math("AIME24", "AMC", "MATH500", "Minerva", "OlympiadBench", AVERAGE, n=_HOLDER_SIZES, samples=1)
_QWEN3_SUITE = (
    Column("MATH500", samples=1),
    Column("AIME25", "pass@8", samples=8, header="AIME25 (pass@8)"),
    *_math("AMC23", "Minerva", "OlympiadBench", samples=1),
    Column(AVERAGE),
)
_HOUSEHOLD = (*(Column(kind, SUCCESS) for kind in ALFWORLD_TYPES), Column(OVERALL, SUCCESS, n=128, samples=1))
_GREEDY = ((PASS_1, "--protocol math-greedy-4096"), ("pass@8", "--protocol math-pass-8"))
_BY_MODEL = (("Model", "model"), ("Method", "label"))
_BY_P = (("Method", "label"), ("p", "setting"))
_MODEL_AND_P = (("Model", "model"), ("Method", "label"), ("p", "setting"))
_CLAIM = (Column("value", CLAIM, "", better=""),)
_STATED = (Column("value", "", "", better=""),)
_SETTING = (Column("value", SETTING, "text", better=""),)

_HOLDERPO = Table("holderpo", "", "", "", _SUITE, env="math", evaluation=_GREEDY)
_HOLDER_TABLES = (
    replace(
        _HOLDERPO,
        name="1",
        title="Static p: AIME24 and MATH500 pull in opposite directions (Qwen2.5-Math-7B)",
        place="Table 1",
        columns=(_SUITE[0], _SUITE[2]),
        rows=_BY_P,
    ),
    replace(_HOLDERPO, name="2", title="Five mathematics benchmarks", place="Table 2", rows=_MODEL_AND_P, rank="model"),
    Table(
        "holderpo",
        "3",
        "ALFWorld by task type (Qwen2.5-1.5B-Instruct)",
        "Table 3",
        _HOUSEHOLD,
        _BY_P,
        env="alfworld",
        evaluation=((SUCCESS, "--protocol gigpo-128"),),
        note=(
            "All is the rate over all episodes, not the mean of the six columns; 128 episodes a validation is what "
            "the authors' launch script sets"
        ),
    ),
    replace(_HOLDERPO, name="4", title="Clipping by token (Qwen2.5-Math-7B)", place="Table 4, App. D", rows=_BY_P),
    replace(_HOLDERPO, name="5", title="Shapes of the schedule (Qwen2.5-Math-7B)", place="Table 5, App. E", rows=_BY_P),
    replace(
        _HOLDERPO,
        name="6",
        title="Qwen3-4B-Base",
        place="Table 6, App. F",
        columns=_QWEN3_SUITE,
        rows=_BY_P,
    ),
    replace(
        _HOLDERPO,
        name="7",
        title="Qwen3-8B-Base",
        place="Table 7, App. F",
        columns=_QWEN3_SUITE,
        rows=_BY_P,
    ),
)

_S2L_EVAL = (
    (PASS_1, "--samples 16 --set agent.temperature=0.7 --set agent.top_p=0.8 --set agent.top_k=20"),
    ("accuracy", "--samples 16 --set agent.temperature=0.7 --set agent.top_p=0.8 --set agent.top_k=20"),
)
_S2L_SUITE = ("AIME24", "AIME25", "MATH500", "OlympiadBench")
_EXPLORED = (("Learner", "model"), ("Method", "label"), ("Explorer", "setting"))
_S2L_TABLES = (
    Table(
        "s2l-po",
        "1",
        "Pass@1 with a small explorer, and the deltas as printed",
        "Table 1",
        (
            *_math(*_S2L_SUITE, n={"OlympiadBench": 675}, samples=16),
            *(Column(name, DELTA, "points", better="", header=f"{name} delta") for name in _S2L_SUITE),
        ),
        _EXPLORED,
        rank="model",
        env="math",
        evaluation=_S2L_EVAL,
        note="Qwen3 learners are base models, InternLM2.5 too; Pass@1 is the mean over 16 samples",
    ),
    Table(
        "s2l-po",
        "2",
        "Out of domain: CommonsenseQA",
        "Table 2",
        (Column("CommonsenseQA", "accuracy", n=1221, samples=16),),
        _EXPLORED,
        rank="model",
    ),
    Table(
        "s2l-po",
        "3",
        "Diversity of 64 answers on AIME24 falls with the model's size",
        "Table 3",
        (
            Column("Self-BLEU", "diversity", "share", better="low"),
            Column("EditDiv", "diversity", "share"),
            Column("UniqueAns", "diversity", "share"),
        ),
        (("Model", "model"),),
    ),
    Table(
        "s2l-po",
        "4",
        "Without the explorer's diversity the gain is gone (Qwen3-8B-Base)",
        "Table 4",
        _math("AIME24", "AIME25", samples=16),
        _EXPLORED,
        env="math",
        evaluation=_S2L_EVAL,
    ),
    Table(
        "s2l-po",
        "anneal",
        "AIME accuracy over training, by length of the transition",
        "figure anneal of the project page",
        tuple(
            Column(name, "accuracy", "share", better="")
            for name in ("S2L, 8-step transition", "S2L, 5-step transition", "GRPO")
        ),
        (("Training prompts, thousands", "label"),),
        rank="",
    ),
    Table(
        "s2l-po",
        "teaser",
        "Compute, time and accuracy of two kinds of noise",
        "teaser of the project page",
        tuple(Column(name, "teaser", "", better="") for name in ("trajectory noise (S2L)", "token noise", "GRPO")),
        (("Quantity", "label"),),
        rank="",
    ),
)

_COV_TABLES = (
    Table(
        "cov-grpo",
        "main",
        "Five mathematics benchmarks",
        "main table, by notes",
        _math("AIME24", "MATH500", "AMC23", "Minerva", "OlympiadBench", AVERAGE),
        _BY_MODEL,
        rank="model",
        env="math",
        evaluation=((PASS_1, "--protocol math-greedy-4096"),),
        note="the notes do not name the models; how the paper decodes is not known",
    ),
    Table(
        "cov-grpo",
        "steps",
        "More training steps",
        "ablation, by notes",
        _math("MATH500", "OlympiadBench"),
        (("Method", "label"), ("Steps", "setting")),
        env="math",
        evaluation=((PASS_1, "--protocol math-greedy-4096"),),
    ),
    Table(
        "cov-grpo",
        "quantiles",
        "Mean covariance of the most extreme tokens",
        "analysis, by notes",
        (Column("positive side", "covariance", "", better=""), Column("negative side", "covariance", "", better="")),
        (("Share of tokens, %", "label"),),
        rank="",
    ),
)

_AVSPO_SIZES = {"MATH500": 500, "GSM8K": 1319, "Minerva": 272, "OlympiadBench": 396, "AMC": 120, "AIME24": 30}
_AVSPO_SUITE = ("MATH500", "GSM8K", "Minerva", "OlympiadBench", "AMC", "AIME24")
_AVSPO_EVAL = ((PASS_1, "--set agent.temperature=0.1 --set agent.max_tokens=2048 --seed 42"),)
_ACR = Column("ACR", "ACR", "share", better="low")
_AVSPO_MATH500 = Column("MATH500", n=500, samples=1)
_AVSPO = Table("avspo", "", "", "", (_AVSPO_MATH500, _ACR), env="math", evaluation=_AVSPO_EVAL)
_WWW = "of the earlier version (WWW)"
_ICML = "of the ICML version, by the repository's README"
_STRATEGY = (("Virtual rewards", "label"),)
_AVSPO_TABLES = (
    replace(
        _AVSPO,
        name="icml",
        title="Six benchmarks and the advantage collapse rate",
        place=f"main table {_ICML}",
        columns=(
            _ACR,
            *_math(*_AVSPO_SUITE, n=_AVSPO_SIZES, samples=1),
            Column("MMLU-Pro"),
            Column(AVERAGE),
        ),
        rows=_BY_MODEL,
        rank="model",
        note="set sizes and decoding are those of the earlier version; the average also counts MMLU-Pro",
    ),
    replace(
        _AVSPO,
        name="www-1",
        title="Six benchmarks",
        place=f"Table 1 {_WWW}",
        columns=(*_math(*_AVSPO_SUITE, n=_AVSPO_SIZES, samples=1), Column(AVERAGE)),
        rows=_BY_MODEL,
        rank="model",
    ),
    replace(
        _AVSPO, name="icml-strategy", title="How virtual rewards are chosen", place=f"ablation {_ICML}", rows=_STRATEGY
    ),
    replace(_AVSPO, name="www-2", title="How virtual rewards are chosen", place=f"Table 2 {_WWW}", rows=_STRATEGY),
    replace(
        _AVSPO,
        name="www-3",
        title="The exponent alpha of the number of virtual samples",
        place=f"Table 3 {_WWW}",
        columns=(_AVSPO_MATH500, _ACR, Column("mean K", "K", "", better="")),
        rows=(("alpha", "label"),),
    ),
    replace(
        _AVSPO,
        name="icml-threshold",
        title="Fixed and adaptive thresholds",
        place=f"ablation {_ICML}",
        columns=(
            Column("steps to target", "steps", "steps", better="low"),
            Column("target", "target", "%", better=""),
            _AVSPO_MATH500,
        ),
        rows=(("Threshold", "label"),),
    ),
    replace(
        _AVSPO,
        name="www-4",
        title="Fixed and adaptive thresholds",
        place=f"Table 4 {_WWW}",
        columns=(
            Column("steps to target", "steps", "steps", better="low"),
            Column("target", "target", "%", better=""),
            _AVSPO_MATH500,
            _ACR,
        ),
        rows=(("Threshold", "label"),),
    ),
    replace(
        _AVSPO,
        name="www-5",
        title="Fixed and adaptive numbers of virtual samples",
        place=f"Table 5 {_WWW}",
        rows=(("K", "label"),),
    ),
    replace(
        _AVSPO, name="www-6", title="Sensitivity to settings", place=f"Table 6 {_WWW}", rows=(("Setting", "label"),)
    ),
    replace(
        _AVSPO,
        name="www-7",
        title="Other families of models",
        place=f"Table 7 {_WWW}",
        rows=_BY_MODEL,
        rank="model",
    ),
    Table(
        "avspo",
        "icml-mechanism",
        "Which groups are repaired",
        "ablation of the ICML version, by notes",
        (
            Column("all-wrong collapse", "collapse", better="low"),
            Column("all-correct collapse", "collapse", better="low"),
            _AVSPO_MATH500,
        ),
        (("Repaired", "label"),),
        env="math",
        evaluation=_AVSPO_EVAL,
    ),
    Table(
        "avspo",
        "icml-efficiency",
        "Samples and cost (Qwen2.5-Math-7B)",
        "ablation of the ICML version, by notes",
        (
            Column("samples used", "usage", better=""),
            Column("relative cost", "cost", "", better="low"),
            Column("GSM8K", n=1319, samples=1),
            _AVSPO_MATH500,
        ),
        env="math",
        evaluation=_AVSPO_EVAL,
    ),
    Table(
        "avspo",
        "regression",
        "What the collapse rate says of the final accuracy",
        "text and README",
        _CLAIM,
        (("Quantity", "label"),),
        rank="",
    ),
    Table(
        "avspo",
        "figure-difficulty-temperature",
        "Collapse rate and accuracy by difficulty and temperature",
        "Figures 2 and 4 of the earlier version (WWW)",
        (Column("ACR", "ACR", "share", better=""), Column("accuracy", "accuracy", "share", better="")),
        (("Axis", "label"), ("Value", "setting")),
        rank="",
    ),
    Table(
        "avspo",
        "figure-sensitivity-grid",
        "Collapse rate over 100 steps and accuracy by size, temperature, G and difficulty",
        "figure sensitivity_grid of the repository",
        (Column("ACR100", "ACR", "share", better=""), Column("final accuracy", "accuracy", "%", better="")),
        (("Axis", "label"), ("Value", "setting")),
        rank="",
    ),
)

_EXPO_TABLES = (
    Table(
        "expo",
        "main",
        "Six benchmarks, pass@1 and pass@32",
        "abstracts; the tables were not found",
        tuple(Column(name, "") for name in ("AIME24", "AIME25", "MATH500", "Minerva", "OlympiadBench", "AMC", AVERAGE)),
        (("Model", "model"), ("Method", "label"), ("Metric", "metric")),
        rank="",
        env="math",
        evaluation=(
            (PASS_1, "--samples 32 --set agent.temperature=0.6 --set agent.top_p=0.95"),
            ("pass@32", "--samples 32 --set agent.temperature=0.6 --set agent.top_p=0.95"),
        ),
        note="the paper's sampling was not found; 32 samples at T 0.6 and top-p 0.95 are HölderGym's own choice",
    ),
)
_CODISTILL_TABLES = (
    Table(
        "codistill",
        "main",
        "Four mathematics benchmarks",
        "by a reproduction; the tables were not found",
        _math("Minerva", "MATH500", "AMC", "OlympiadBench", n={"Minerva": 272}),
        _BY_MODEL,
        rank="",
        env="math",
        evaluation=((PASS_1, "--protocol math-greedy-4096"),),
    ),
)
_BASELINE_TABLES = (
    Table(
        "gmpo",
        "math",
        "Five mathematics benchmarks",
        "by notes",
        _math("AIME24", "AMC", "MATH500", "Minerva", "OlympiadBench", AVERAGE),
        _BY_MODEL,
        rank="model",
        env="math",
        evaluation=((PASS_1, "--protocol math-greedy"),),
    ),
    Table(
        "gmpo",
        "alfworld",
        "ALFWorld (Qwen2.5-1.5B-Instruct)",
        "by notes",
        (Column(OVERALL, SUCCESS),),
        env="alfworld",
        evaluation=((SUCCESS, "--protocol gigpo-128"),),
    ),
    Table(
        "gigpo",
        "alfworld",
        "ALFWorld by task type (Qwen2.5-1.5B-Instruct), means of three seeds",
        "by notes and verl-agent's README",
        tuple(Column(kind, SUCCESS) for kind in (*ALFWORLD_TYPES, OVERALL)),
        env="alfworld",
        evaluation=((SUCCESS, "--protocol gigpo-128"),),
    ),
    Table(
        "apmpo",
        "main",
        "Mathematics benchmarks",
        "by a note",
        _math("MATH500", "AIME24", "AMC23", "OlympiadBench", AVERAGE),
        _BY_MODEL,
        rank="model",
        env="math",
        evaluation=((PASS_1, "--protocol math-greedy"),),
    ),
    Table(
        "dapo",
        "reproduction",
        "The authors' own reproduction, with parts left out (Qwen2.5-32B)",
        "README of the recipe",
        (Column("AIME24", "accuracy"),),
        env="math",
        evaluation=(("accuracy", "--protocol math-avg-32"),),
    ),
    Table(
        "entropy",
        "main",
        "Seven mathematics benchmarks",
        "performance table of the repository, an image",
        _math("AIME24", "AIME25", "AMC", "MATH500", "OMNI-MATH", "OlympiadBench", "Minerva", AVERAGE),
        _BY_MODEL,
        rank="model",
        env="math",
        evaluation=((PASS_1, "--protocol math-avg-32"),),
        note="how many samples the paper takes is not known to us",
    ),
)


def _lists(paper: str, *names: str) -> tuple[Table, ...]:
    of = {
        CLAIMS: Table(
            paper, CLAIMS, "Claims in the text", "abstract and text", _CLAIM, (("Claim", "label"), ("Unit", "unit")), ""
        ),
        SETTINGS: Table(
            paper, SETTINGS, "Settings", "paper and code", _SETTING, (("Task", "setting"), ("Setting", "label")), ""
        ),
        STATEMENTS: Table(
            paper, STATEMENTS, "What the text states of its runs", "text", _STATED, (("Where", "label"),), ""
        ),
    }
    return tuple(of[name] for name in names)


TABLES: Final[tuple[Table, ...]] = (
    *_HOLDER_TABLES,
    *_lists("holderpo", CLAIMS, STATEMENTS, SETTINGS),
    *_S2L_TABLES,
    *_lists("s2l-po", CLAIMS, SETTINGS),
    *_COV_TABLES,
    *_lists("cov-grpo", SETTINGS),
    *_AVSPO_TABLES,
    *_lists("avspo", STATEMENTS, SETTINGS),
    *_EXPO_TABLES,
    *_lists("expo", CLAIMS, SETTINGS),
    *_CODISTILL_TABLES,
    *_lists("codistill", CLAIMS, SETTINGS),
    *_BASELINE_TABLES,
)


def find_table(table_id: str) -> Table:
    """The table of this name.

    Raises:
        UnknownNameError: If there is none.
    """
    for table in TABLES:
        if table.id == table_id:
            return table
    raise UnknownNameError("table", table_id, [table.id for table in TABLES])
