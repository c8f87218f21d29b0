"""How the lines of the facts files become rows: which file a table is in, and what names a row in it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

NOT_READABLE = "NOT FOUND: not published where we could read it"
Line = Mapping[str, str]

_MATH_15 = "Qwen2.5-Math-1.5B"
_MATH_7 = "Qwen2.5-Math-7B"
_R1_7 = "DeepSeek-R1-Distill-Qwen-7B"
_INSTRUCT_15 = "Qwen2.5-1.5B-Instruct"


class Row(NamedTuple):
    """What names a row; the fields of ``Published`` of the same names."""

    model: str
    label: str
    method: str
    setting: str = ""
    config: str = ""
    metric: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Reading:
    """A table of the catalogue in a facts file.

    Attributes:
        table: Its id.
        file: Name of the facts file.
        row: What names the row of a line.
        columns: Header in the file of each column whose benchmark's name is not the header; with ``/printed delta``
            for columns of that metric.
        keep: Which lines belong to this table.
        missing: Why a cell of a line is empty though the paper has one; empty where there is nothing to find.
        text: The value of the only column, where the file has it inside a sentence.
    """

    table: str
    file: str
    row: Callable[[Line], Row]
    columns: Mapping[str, str] = field(default_factory=dict)
    keep: Callable[[Line], bool] = lambda line: True
    missing: Callable[[Line, str], str] = lambda line, benchmark: ""
    text: Callable[[Line], str] | None = None


def holder_config(p: str, clip: str) -> str:
    """P and clip in one spelling: ``p=linear 2 to -2 clip=sequence``."""
    shape = p.replace(" asc ", " ").replace(" des ", " ").replace(" -> ", " to ")
    return f"p={shape} clip={clip}"


def _holder(name: str) -> str:
    return name.replace("HolderPO", "HölderPO")


def _p_sensitivity(line: Line) -> Row:
    ours = line["method"].startswith("HolderPO")
    config = holder_config(line["p"], "sequence") if ours else ""
    return Row(line["base_model"], _holder(line["method"]), "HölderPO" if ours else line["method"], line["p"], config)


def _math_main(line: Line) -> Row:
    block, name, p = line["block"], line["method"], line["p_or_schedule"]
    model = _MATH_15 if block.startswith("1.5B") else _R1_7 if block.startswith("R1") else _MATH_7
    label = _holder(name)
    if name.startswith("Qwen2.5-Math"):
        return Row(model, label, "Instruct" if name.endswith("-Instruct") else "Base")
    if not name.startswith("HolderPO"):
        return Row(model, label, name.removesuffix("-1.5B").removesuffix("-7B"), p)
    if p.startswith("not stated"):
        return Row(model, label, "HölderPO", "p not stated", note="p is not stated in the table")
    return Row(model, label, "HölderPO", p, holder_config(p, "sequence"))


def _alfworld(line: Line) -> Row:
    name, p = line["method"], line["schedule"]
    if name != "HolderPO":
        return Row(_INSTRUCT_15, name, name, p.replace("p=", "").replace("p->", ""))
    return Row(_INSTRUCT_15, _holder(name), "HölderPO", p, holder_config(p, "sequence"))


def _ablation(clip: str) -> Callable[[Line], Row]:
    def row(line: Line) -> Row:
        p = line["p_or_schedule"]
        return Row(line["block"], _holder(line["method"]), "HölderPO", p, holder_config(p, clip))

    return row


def _qwen3(model: str) -> Callable[[Line], Row]:
    def row(line: Line) -> Row:
        name = line["method"]
        if name == model:
            return Row(model, name, "Base")
        if name.startswith("HolderPO"):
            p = name.removeprefix("HolderPO ")
            return Row(model, "HölderPO", "HölderPO", p, holder_config(p, "sequence"))
        return Row(model, name, name)

    return row


def _quoted(line: Line) -> Row:
    setting = line["setting"].removeprefix("ALFWorld ").replace("R1-Distill-Qwen-7B", _R1_7)
    name = line["method"]
    method, _, rest = name.partition(" w")
    config = {"GMPO with sequence-level clip": "p=0 clip=sequence", "GMPO without clip": "p=0 clip=none"}.get(name, "")
    if not config and rest:
        config = name.removeprefix(method).strip()
    if method == "GiGPO" and "w/ std" in name:
        config = ""  # the form that other papers call GiGPO
    return Row(setting, name, method, "", config)


def _origin(paper: str, *, household: bool) -> Callable[[Line], bool]:
    return lambda line: line["origin_paper"].startswith(paper) and line["setting"].startswith("ALFWorld") == household


_PROVENANCE = {
    "AIME24": "AIME24_or_Pick",
    "AMC": "AMC_or_Look",
    "MATH500": "MATH500_or_Clean",
    "Minerva": "Minerva_or_Heat",
    "OlympiadBench": "Oly_or_Cool",
    "Pick": "AIME24_or_Pick",
    "Look": "AMC_or_Look",
    "Clean": "MATH500_or_Clean",
    "Heat": "Minerva_or_Heat",
    "Cool": "Oly_or_Cool",
    "Avg": "Avg_or_All",
    "All": "Avg_or_All",
}


def _explored(line: Line) -> Row:
    family = line.get("family", "")
    model = {"Qwen3-Base": "Qwen3-{}-Base", "InternLM2.5-Base": "InternLM2.5-{}-Base"}.get(family, "{}")
    explorer = f"explorer {line['explorer']}" if line["explorer"] else ""
    return Row(model.format(line["learner"]), line["method"], line["method"], line["explorer"] or "-", explorer)


def _control(line: Line) -> Row:
    model, name = "Qwen3-8B-Base", line["setting"]
    if name.startswith("GRPO"):
        return Row(model, "GRPO", "GRPO", "-")
    if "without" in name:
        return Row(model, "S2L-PO without the explorer's diversity", "S2L-PO", "1.7B", "explorer 1.7B, no diversity")
    return Row(model, "S2L-PO", "S2L-PO", "1.7B", "explorer 1.7B")


def _by_model(line: Line) -> Row:
    return Row(line["model"], line["method"], line["method"])


def _cov(line: Line) -> Row:
    name = line["method"].removesuffix(" (this method)")
    model = line.get("model", "")
    return Row(f"{model}, not named" if model else "", name, name, note="the model is not named in the notes")


def _cov_steps(line: Line) -> Row:
    label = ", ".join(part for part in (line["train_step"], line["entropy_label"]) if part)
    return Row("1.5B, not named", line["method"], line["method"], label, f"step {line['train_step']}")


_INFERRED = "the model is not stated; its numbers are those of Qwen2.5-Math-1.5B"


def _ablated(label: str, config: str, method: str = "AVSPO") -> Row:
    return Row(_MATH_15, label, method, "", config, note=_INFERRED)


_STRATEGIES = {
    "none (GRPO)": "none",
    "random uniform": "uniform random",
    "random U[0,r_max]": "uniform random",
    "fixed partial r=0.5": "half of the largest",
    "fixed 0.5 r_max": "half of the largest",
}


def _strategy(line: Line) -> Row:
    label = line["strategy"]
    if label.startswith("none"):
        return _ablated(label, "", "GRPO")
    config = _STRATEGIES.get(label, label)
    return _ablated(label, "" if config == "stratified" else config)


def _threshold(line: Line) -> Row:
    label = line["threshold"]
    return _ablated(label, "" if label == "adaptive" else f"threshold {label}")


def _alpha(line: Line) -> Row:
    return _ablated(line["value"], "" if line["value"] == "0.5" else f"alpha={line['value']}")


def _number(line: Line) -> Row:
    label = f"{line['ablation']} {line['value']}".strip()
    return _ablated(label, "" if label == "adaptive K" else label)


def _sensitivity(line: Line) -> Row:
    label = line["setting"]
    return _ablated(label, "" if label.startswith("default") else label)


def _mechanism(line: Line) -> Row:
    label = line["repair"]
    if label.startswith("none"):
        return _ablated(label, "", "GRPO")
    return _ablated(label, "" if label.startswith("both") else label)


_CORRELATION = "correlation of ACR100 and final accuracy"


def _regression(line: Line) -> Row:
    quantity = line["quantity"]
    if quantity.startswith("conflicting"):
        note = "the sentence also says that this explains 79%"
        return Row("", f"{_CORRELATION}, once more in the text", "", "", _CORRELATION, note=note)
    note = "approximate" if line["note"] == "approximate" else ""
    label = f"{quantity} ({line['note']})" if quantity == "configurations" else quantity
    return Row("", label, "", "", quantity, note=note)


def _regression_value(line: Line) -> str:
    """The number; the second statement of the correlation is a sentence that ends with it."""
    return line["value"].rpartition("r=")[2] if line["quantity"].startswith("conflicting") else line["value"]


def _axis(line: Line) -> Row:
    return Row("", line["axis"], "", line["value"], f"{line['axis']} {line['value']}")


def _expo(line: Line) -> Row:
    return Row(line["model"], line["method"], line["method"], "", "", line["metric"])


def _codistill(line: Line) -> Row:
    if line["method"] == "all":
        return Row("a Llama pair, not named", "all methods", "")
    return _by_model(line)


def _not_found(line: Line, benchmark: str) -> str:
    return NOT_READABLE


def _codistill_missing(line: Line, benchmark: str) -> str:
    hints = {
        ("Qwen2.5-Math-1.5B", "GRPO"): "the abstract puts it 6.0 points below CoDistill-GRPO",
        ("Qwen2.5-Math-1.5B", "CoDistill-GRPO"): "the abstract puts it more than 11.6 points above the base model",
    }
    hint = hints.get((line["model"], line["method"]), "") if benchmark == "Minerva" else ""
    return f"{NOT_READABLE}; {hint}" if hint else NOT_READABLE


def _icml_missing(line: Line, benchmark: str) -> str:
    return "NOT FOUND: the average's seventh benchmark, values by model not published where we could read them"


def _readme_row(line: Line, benchmark: str) -> str:
    if line["explorer"] == "4B" and line["learner"] == "8B":
        return "NOT FOUND: the README gives this row on AIME only"
    return ""


READINGS: tuple[Reading, ...] = (
    Reading("holderpo/1", "holderpo_table1_p_sensitivity.csv", _p_sensitivity),
    Reading("holderpo/2", "holderpo_table2_math_main.csv", _math_main, {"Avg": "Avg_reported"}),
    Reading("holderpo/3", "holderpo_table3_alfworld.csv", _alfworld, {"All": "All_reported"}),
    Reading("holderpo/4", "holderpo_table4_token_level_clip.csv", _ablation("token"), {"Avg": "Avg_reported"}),
    Reading("holderpo/5", "holderpo_table5_schedule_shapes.csv", _ablation("sequence"), {"Avg": "Avg_reported"}),
    Reading(
        "holderpo/6",
        "holderpo_table6_qwen3_4b.csv",
        _qwen3("Qwen3-4B-Base"),
        {"Avg": "Avg_reported", "AIME25": "AIME25_pass8"},
    ),
    Reading(
        "holderpo/7",
        "holderpo_table7_qwen3_8b.csv",
        _qwen3("Qwen3-8B-Base"),
        {"Avg": "Avg_reported", "AIME25": "AIME25_pass8"},
    ),
    Reading(
        "s2l-po/1",
        "s2lpo_table1_main_pass1.csv",
        _explored,
        {
            "AIME24/printed delta": "printed_delta_AIME24",
            "AIME25/printed delta": "printed_delta_AIME25",
            "MATH500/printed delta": "printed_delta_MATH500",
            "OlympiadBench/printed delta": "printed_delta_Olympiad",
        },
        missing=_readme_row,
    ),
    Reading("s2l-po/2", "s2lpo_table2_commonsenseqa.csv", _explored, {"CommonsenseQA": "CommonsenseQA_acc"}),
    Reading(
        "s2l-po/3",
        "s2lpo_table3_diversity_aime24_k64.csv",
        lambda line: Row(line["model"], line["model"], "Base"),
        {"Self-BLEU": "Self_BLEU_lower_is_more_diverse"},
    ),
    Reading("s2l-po/4", "s2lpo_table4_controlled_diversity.csv", _control),
    Reading(
        "s2l-po/anneal",
        "s2lpo_figure_anneal_readoff.csv",
        lambda line: Row("", line["training_prompts_k"], "", "", f"{line['training_prompts_k']} thousand prompts"),
        {"S2L, 8-step transition": "S2L_8step_transition", "S2L, 5-step transition": "S2L_5step_transition"},
    ),
    Reading(
        "s2l-po/teaser",
        "s2lpo_figure_teaser_readoff.csv",
        lambda line: Row("", line["metric"], "", "", line["metric"]),
        {"trajectory noise (S2L)": "trajectory_noise_S2L", "token noise": "token_noise", "GRPO": "base_GRPO"},
    ),
    Reading("cov-grpo/main", "covgrpo_table_main.csv", _cov, {"Avg": "Avg_printed"}),
    Reading("cov-grpo/steps", "covgrpo_table_steps_ablation.csv", _cov_steps),
    Reading(
        "cov-grpo/quantiles",
        "covgrpo_table_covariance_quantiles.csv",
        lambda line: Row("", line["top_fraction_percent"], "", "", f"top {line['top_fraction_percent']}%"),
        {"positive side": "positive_side", "negative side": "negative_side"},
    ),
    Reading("avspo/icml", "avspo_table_main_icml.csv", _by_model, {"Avg": "Avg_printed"}, missing=_icml_missing),
    Reading("avspo/www-1", "avspo_table1_main_www.csv", _by_model, {"Avg": "Avg_printed"}),
    Reading(
        "avspo/icml-strategy",
        "avspo_table_virtual_sample_strategy.csv",
        _strategy,
        keep=lambda line: line["version"] == "ICML",
    ),
    Reading(
        "avspo/www-2",
        "avspo_table_virtual_sample_strategy.csv",
        _strategy,
        keep=lambda line: line["version"] == "WWW",
    ),
    Reading(
        "avspo/www-3",
        "avspo_table_alpha_and_K.csv",
        _alpha,
        {"mean K": "avg_K"},
        keep=lambda line: line["ablation"] == "alpha",
    ),
    Reading(
        "avspo/icml-threshold",
        "avspo_table_threshold.csv",
        _threshold,
        {"steps to target": "steps_to_target", "MATH500": "final_MATH500"},
        keep=lambda line: line["version"] == "ICML",
    ),
    Reading(
        "avspo/www-4",
        "avspo_table_threshold.csv",
        _threshold,
        {"steps to target": "steps_to_target", "MATH500": "final_MATH500"},
        keep=lambda line: line["version"] == "WWW",
    ),
    Reading("avspo/www-5", "avspo_table_alpha_and_K.csv", _number, keep=lambda line: line["ablation"] != "alpha"),
    Reading("avspo/www-6", "avspo_table_sensitivity.csv", _sensitivity),
    Reading("avspo/www-7", "avspo_table_other_model_families.csv", _by_model),
    Reading(
        "avspo/icml-mechanism",
        "avspo_table_mechanism_isolation.csv",
        _mechanism,
        {
            "all-wrong collapse": "all_wrong_collapse_percent",
            "all-correct collapse": "all_correct_collapse_percent",
        },
        missing=_not_found,
    ),
    Reading(
        "avspo/icml-efficiency",
        "avspo_table_efficiency_math7b.csv",
        lambda line: Row(_MATH_7, line["method"], line["method"]),
        {"samples used": "samples_used_percent", "relative cost": "relative_cost"},
        missing=_not_found,
    ),
    Reading("avspo/regression", "avspo_acr_regression.csv", _regression, text=_regression_value),
    Reading(
        "avspo/figure-difficulty-temperature",
        "avspo_figure_difficulty_temperature_readoff.csv",
        _axis,
        {"accuracy": "accuracy_fraction"},
    ),
    Reading(
        "avspo/figure-sensitivity-grid",
        "avspo_figure_sensitivity_grid_readoff.csv",
        _axis,
        {"final accuracy": "final_accuracy_percent"},
    ),
    Reading("expo/main", "expo_main_grid_mostly_not_found.csv", _expo, missing=_not_found),
    Reading("codistill/main", "codistill_main_grid_mostly_not_found.csv", _codistill, missing=_codistill_missing),
    Reading(
        "gmpo/math",
        "holderpo_baseline_provenance.csv",
        _quoted,
        _PROVENANCE,
        _origin("GMPO", household=False),
        missing=_not_found,
    ),
    Reading(
        "gmpo/alfworld",
        "holderpo_baseline_provenance.csv",
        _quoted,
        _PROVENANCE,
        _origin("GMPO", household=True),
    ),
    Reading(
        "gigpo/alfworld",
        "holderpo_baseline_provenance.csv",
        _quoted,
        _PROVENANCE,
        _origin("GiGPO", household=True),
        missing=_not_found,
    ),
    Reading(
        "apmpo/main",
        "baselines_apmpo.csv",
        _by_model,
        {"AIME24": "AIME24_pass1", "AMC23": "AMC23_pass1", "Avg": "Avg_pass1"},
    ),
    Reading(
        "dapo/reproduction",
        "baselines_dapo_reproduction.csv",
        lambda line: Row("Qwen2.5-32B", line["setup"], "DAPO", "", line["setup"].removeprefix("DAPO Qwen2.5-32B")),
    ),
    Reading(
        "entropy/main",
        "baselines_entropy_mechanism.csv",
        _by_model,
        {"OMNI-MATH": "OMNI_MATH", "Avg": "Avg_printed"},
    ),
)
