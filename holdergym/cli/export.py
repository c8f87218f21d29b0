"""``holdergym export``: a run in the forms that others read."""

from pathlib import Path

import click

from ..agents.usage import Prices
from ..envs.errors import HolderGymError, nearest
from ..eval.exports.hf_results import Target, hf_results
from ..eval.exports.lm_eval import lm_eval_results
from ..eval.exports.table import episodes_as_csv, episodes_as_parquet
from ..eval.prices import model_of, prices_of, read_prices
from ..eval.run import Run, read_run
from .output import write_output
from .paths import OUTPUT, PATH
from .terminal import echo

_TABLES = ("csv", "parquet")
_FORMATS = (*_TABLES, "lm-eval", "hf-results")


@click.command()
@click.argument("run", type=PATH, metavar="RUN")
@click.option("--format", "form", type=click.Choice(_FORMATS), required=True, help="What to write.")
@click.option("--out", type=OUTPUT, required=True, help="File to write.")
@click.option("--unfinished", is_flag=True, help="Take the rate of a run that is not finished.")
@click.option(
    "--prices",
    type=PATH,
    help="csv, parquet: TOML file with what a million tokens cost, by model. [default: the run's agent.prices]",
)
@click.option("--dataset", metavar="OWNER/NAME", help="hf-results: the benchmark dataset on the hub.")
@click.option("--task-id", metavar="NAME", help="hf-results: the task of its eval.yaml. [default: the panel's name]")
@click.option("--revision", metavar="COMMIT", help="hf-results: commit of the dataset.")
@click.option("--source", metavar="URL", help="hf-results: where the episodes or a paper can be read.")
def command(run: Path, form: str, out: Path, unfinished: bool, prices: Path | None, **hub: str | None) -> None:
    """Write a run as a table of episodes or as a result file of another project.

    \b
    csv, parquet   a row an episode: task, outcome, steps, invalid commands, tokens, seconds, cost
    lm-eval        the results JSON of lm-evaluation-harness, with standard errors
    hf-results     an entry for .eval_results/*.yaml in a model repository of the Hugging Face hub

    \b
    Examples:
      holdergym eval --agent random --limit 6 --out runs/a
      holdergym export runs/a --format csv --out a.csv
      holdergym export runs/a --format lm-eval --out a.json
      holdergym export runs/a --format hf-results --dataset OWNER/NAME --out a.yaml
    """
    given = [name for name, value in hub.items() if value is not None]
    if form != "hf-results" and given:
        raise HolderGymError(f"--{given[0].replace('_', '-')} belongs to --format hf-results: leave it out")
    if prices is not None and form not in _TABLES:
        raise HolderGymError(f"--prices belongs to --format csv or parquet, and {form} has no costs: leave it out")
    content = _content(read_run(run), form, unfinished, prices, hub)
    write_output(out, content)
    echo(f"{out}: {len(content):,} bytes")


def _content(run: Run, form: str, unfinished: bool, prices: Path | None, hub: dict[str, str | None]) -> bytes:
    match form:
        case "csv":
            return episodes_as_csv(run, _prices(run, prices))
        case "parquet":
            return episodes_as_parquet(run, _prices(run, prices))
        case "lm-eval":
            return lm_eval_results(run, unfinished=unfinished)
    if hub["dataset"] is None:
        raise HolderGymError("--format hf-results needs --dataset OWNER/NAME, the benchmark that the result belongs to")
    target = Target(hub["dataset"], hub["task_id"], hub["revision"], hub["source"])
    return hf_results(run, target, unfinished=unfinished)


def _prices(run: Run, path: Path | None) -> Prices | None:
    """The prices of the run's model; those of other models in the file are for other runs."""
    if path is None:
        return prices_of(run)
    table = read_prices(path)
    model = model_of(run)
    if model is None:
        raise HolderGymError(f"{run.folder}: no language model played, so there are no costs: leave out --prices")
    if model not in table:
        raise HolderGymError(f"{path} has no prices of {model!r}, which played {run.folder}{nearest(model, table)}")
    return prices_of(run, table)
