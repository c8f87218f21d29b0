"""A measured row as entries for ``.eval_results/*.yaml`` in a model repository of the Hugging Face hub."""

from collections.abc import Mapping

from ...envs.errors import HolderGymError, UnknownNameError
from ...eval.exports.hf_results import Target, hf_results
from ..published.benchmarks import BENCHMARKS
from .records import PaperTable

_RATES = ("pass@1", "success", "accuracy")


def row_as_hub_results(table: PaperTable, row: str, targets: Mapping[str, Target]) -> bytes:
    """One entry for each column for which a dataset of the hub is given; each is made of the run behind the cell.

    Args:
        table: The table with our numbers.
        row: Name of the row.
        targets: By column, where on the hub its number belongs.

    Raises:
        HolderGymError: If there is no such row or column, a column was not measured, its number is no success rate over
            its panel, or its run is not finished.
    """
    found = next((each for each in table.rows if each.name == row), None)
    if found is None:
        raise UnknownNameError(f"row of {table.table.id}:", row, [each.name for each in table.rows])
    cells = dict(zip((column.benchmark for column in table.table.columns), found.cells, strict=True))
    if not targets:
        raise HolderGymError("give --dataset COLUMN=OWNER/NAME for each number to export")
    entries = []
    for benchmark, target in targets.items():
        if benchmark not in cells:
            raise UnknownNameError(f"column of {table.table.id}:", benchmark, cells)
        measured = cells[benchmark].measured
        if measured is None:
            raise HolderGymError(f"{benchmark} of {row} was not measured: run it first, or leave its --dataset out")
        metric = next(column.metric for column in table.table.columns if column.benchmark == benchmark)
        published = cells[benchmark].published
        told = metric or (published.metric if published else "")
        part = benchmark not in BENCHMARKS or bool(BENCHMARKS[benchmark].task_type)
        if told not in _RATES or part or len(measured.sources) != 1:
            raise HolderGymError(f"{benchmark} of {table.table.id} is no success rate over one panel: leave it out")
        entries.append(hf_results(measured.sources[0].run, target))
    return b"".join(entries)
