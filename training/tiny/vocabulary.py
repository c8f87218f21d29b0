"""The words of the tiny policies: what their environment and their prompts say, and nothing else."""

import re
from typing import Final, Literal

from ...envs.alfworld.household import SPELLING

World = Literal["alfworld", "math"]

# More than any room of the released games has of one class, and more commands than any of them lists at once.
_NUMBERS = 60
_CHOICES = 160

_HOUSEHOLD = r"""
a about above admissible already and arrive article at be book can carrying clean cleaned closed command commands cool
cold cooled do down facing find for from games give given go got have heat heated help hold hot in inside inventory is
it its just keep left look looking make middle move moved new next normal not nothing now of off on one open or other
out pick picked place places put quickly room see seen slice sliced some special start take task that the then them
there things this to turn two under up use using want what with work you your around examine close closed on happens
an anything are check current location object receptacle sharp something
Available In It Looking Next Nothing On The There This Welcome You Your TextWorld ALFRED none any
"""
_ARITHMETIC = r"""
a and are be by Compute Find Solve What answer box boxed do equal equals for from give given in is it less let minus
modulo more of plus product remainder result solve sum than the then times to value when where whole divided with
What's Evaluate Answer quotient difference after step so carry write frac cdot times text if number numbers sqrt mod
"""
_SIGNS = tuple("""\n .,:;!?'"()[]{}<>=+-*/\\$^_#%&|@~`""")
_DIGITS = tuple("0123456789")

PATTERN: Final = {
    # A word or a number with the blank before it, or one sign: put behind each other they are the text again.
    "alfworld": r" ?#?[0-9]+| ?[A-Za-z]+| !|[^A-Za-z0-9]",
    # Every digit by itself, so that numbers are added as they are written.
    "math": r"[0-9]| ?[A-Za-z]+|[^A-Za-z0-9]",
}
"""How text is split into words, by environment."""


def words(world: World) -> tuple[str, ...]:
    """All words of an environment, with and without a blank before them, in a fixed order."""
    if world == "alfworld":
        bare = sorted({*_HOUSEHOLD.split(), *SPELLING})
        counted = [*map(str, range(_NUMBERS + 1)), *(f"#{number}" for number in range(1, _CHOICES + 1))]
    else:
        bare, counted = sorted({*_ARITHMETIC.split(), *(chr(letter) for letter in range(ord("a"), ord("z") + 1))}), []
    parts = [part for word in bare for part in re.findall("[A-Za-z]+", word)]
    found = [
        *_SIGNS,
        " !",
        *_DIGITS,
        *parts,
        *(f" {part}" for part in parts),
        *counted,
        *(f" {one}" for one in counted),
    ]
    return tuple(dict.fromkeys(found))
