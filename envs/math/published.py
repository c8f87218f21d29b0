"""The published sets that are known by name: how many problems they have, and the panel hash that proves it is them."""

from types import MappingProxyType
from typing import Final, NamedTuple


class Published(NamedTuple):
    """What identifies a set.

    Attributes:
        files: Names, without suffix, of the file that holds it.
        rows: Number of problems.
        sha256: Its panel hash, over the ids, statements and golds.
        remark: What a reader of a number on this set should know; empty if nothing.
    """

    files: tuple[str, ...]
    rows: int
    sha256: str
    remark: str = ""


PUBLISHED: Final = MappingProxyType(
    {
        "aime2024": Published(("aime2024",), 30, "c43b342a7dd82c0100bf9e985ff6c8fd4f98afe20f189b46b0d5f6e91606debe"),
        "aime2025": Published(("aime2025",), 30, "f880e1e9e653768922148bc292bb6f19f6f8c8433f6919fb06dcbb61b24a44ae"),
        "amc": Published(
            ("amc_83", "amc"),
            83,
            "b9383bdc77ffa8f7801c93cf6c6d859c5d0258f7bcf4e9c33b682c35fe3bf315",
            "43 problems of 2022 and 40 of 2023",
        ),
        "amc2023": Published(
            ("amc2023_40", "amc2023"), 40, "441e9e6db1d5863a6a41d4425815440959028b449ddffa893ca3979d3bc61e23"
        ),
        "gsm8k": Published(
            ("gsm8k_test", "gsm8k"), 1319, "25db1f695f0c7f4a980b085961bb57a43e5ae6ed3623e9efe448c2296c8b1d3a"
        ),
        "math500": Published(
            ("math500",), 500, "215006e3400f871fe8ef028e8ea6a01f9eacff491d9962c490733effeaad3172", "part of math_test"
        ),
        "math_test": Published(
            ("math_test",), 5000, "10816521abf4f7e2c62caf5ae555f4438d1a2ab74f83d2722af2987f49ab335a"
        ),
        "minerva_math": Published(
            ("minerva_math",),
            272,
            "5528295b7d4b845be23ce8fceba23150d7cf86e467b00e6841897f22b8fdb70c",
            "58 golds in e-notation; evaluators disagree on how exact an answer must be",
        ),
        "olympiadbench": Published(
            ("olympiadbench",),
            675,
            "ba10eb6c1a7f226ad22db680413b4a50eab53c67319c0fc8c761e1697240cb3f",
            "94 problems with several answers",
        ),
    }
)
