"""The benchmarks of the published tables: how large they are, and which panel of ours is the same set."""

from types import MappingProxyType
from typing import Final, NamedTuple


class Benchmark(NamedTuple):
    """A column of published tables.

    Attributes:
        sizes: Numbers of problems that the sets of this name have, the usual one first.
        panel: Panel with the same problems; empty where HölderGym has none.
        task_type: The task type whose games make up the column; empty for all.
    """

    sizes: tuple[int, ...] = ()
    panel: str = ""
    task_type: str = ""


# valid_seen has 140 games and valid_unseen 134; papers draw 128 times from one of them.
ALFWORLD_PANEL: Final = "valid_seen"
PANEL_SIZES: Final = MappingProxyType({"valid_seen": 140, "valid_unseen": 134})

BENCHMARKS: Final = MappingProxyType(
    {
        "AIME24": Benchmark((30,), "aime2024"),
        "AIME25": Benchmark((30,), "aime2025"),
        "AMC": Benchmark((83, 40), "amc"),
        "AMC23": Benchmark((40, 83), "amc2023"),
        "MATH500": Benchmark((500,), "math500"),
        "Minerva": Benchmark((272,), "minerva_math"),
        "OlympiadBench": Benchmark((675,), "olympiadbench"),
        "GSM8K": Benchmark((1319,), "gsm8k"),
        "CommonsenseQA": Benchmark((1221,)),
        "MMLU-Pro": Benchmark(),
        "OMNI-MATH": Benchmark(),
        "Pick": Benchmark((), ALFWORLD_PANEL, "pick_and_place_simple"),
        "Look": Benchmark((), ALFWORLD_PANEL, "look_at_obj_in_light"),
        "Clean": Benchmark((), ALFWORLD_PANEL, "pick_clean_then_place_in_recep"),
        "Heat": Benchmark((), ALFWORLD_PANEL, "pick_heat_then_place_in_recep"),
        "Cool": Benchmark((), ALFWORLD_PANEL, "pick_cool_then_place_in_recep"),
        "PickTwo": Benchmark((), ALFWORLD_PANEL, "pick_two_obj_and_place"),
        "All": Benchmark((), ALFWORLD_PANEL),
    }
)

ALFWORLD_TYPES: Final = ("Pick", "Look", "Clean", "Heat", "Cool", "PickTwo")
AVERAGE: Final = "Avg"
OVERALL: Final = "All"


def panel_of(benchmark: str) -> str:
    """The panel of ours for a column; empty where there is none."""
    return BENCHMARKS[benchmark].panel if benchmark in BENCHMARKS else ""
