"""How a published table is laid out: its columns in the order of the paper, and what they hold."""

from dataclasses import dataclass, field

PASS_1, SUCCESS, DELTA = "pass@1", "success", "printed delta"


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a published table.

    Attributes:
        benchmark: What it is measured on, or the quantity.
        metric: What is measured; empty where each row says so.
        unit: Unit of the values.
        n: Problems or episodes, where the paper or its code says how many.
        samples: Samples of each problem, where it says so.
        better: ``high`` or ``low``; empty where no value is better than another.
        header: What the table prints; empty for the benchmark's name.
    """

    benchmark: str
    metric: str = PASS_1
    unit: str = "%"
    n: int | None = None
    samples: int | None = None
    better: str = "high"
    header: str = ""

    @property
    def title(self) -> str:
        """The header."""
        return self.header or self.benchmark


@dataclass(frozen=True, slots=True)
class Table:
    """A published table, or a figure that numbers were read off.

    Attributes:
        paper: Short name of the paper.
        name: Short name in the paper.
        title: What it shows.
        place: Where it stands in the paper.
        columns: In the order of the paper.
        rows: Header and field of what names a row; fields are those of ``Published``.
        rank: Field within whose equal values the best and second best are marked; ``all`` for the whole table, empty
            for no marks.
        env: What our runs of it play; empty where nothing of ours can be put beside it.
        evaluation: Options of ``holdergym eval`` by metric that measure as the paper does.
        note: What holds for all of it.
    """

    paper: str
    name: str
    title: str
    place: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[str, str], ...] = (("Method", "label"),)
    rank: str = "all"
    env: str = ""
    evaluation: tuple[tuple[str, str], ...] = field(default=())
    note: str = ""

    @property
    def id(self) -> str:
        """The table's name: ``holderpo/2``."""
        return f"{self.paper}/{self.name}"
