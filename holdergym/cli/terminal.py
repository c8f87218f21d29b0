"""What is printed. Text of games, models and file names shows on a terminal as it is, and never steers it."""

import io
import os
import re
import sys

import click

# Control characters but the line break and the tab, signs that turn the direction of writing, line separators, and
# halves of surrogate pairs, which stand for bytes of a file name that are not UTF-8 and cannot be printed at all.
_STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def visible(text: str) -> str:
    r"""The text with each character that would steer a terminal written out, as in ``\x1b``."""
    return _STEERING.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def echo(text: str = "", *, err: bool = False, nl: bool = True) -> None:
    """Prints a text, made visible; every verb prints with this.

    Args:
        text: One line or several.
        err: Whether it goes to standard error.
        nl: Whether a line break follows.

    Raises:
        OSError: If whoever read it has gone, or its disk is full.
    """
    click.echo(visible(text), err=err, nl=nl)


def open_streams() -> None:
    """Makes the three standard streams usable, whatever the shell or the encoding of the terminal leaves out.

    Where the shell closed one, as in ``2>&-``, it becomes the null device: otherwise the next file that is opened, an
    episode journal for example, would take its number and get what is printed. A character that the encoding lacks is
    printed as an escape.
    """
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number, which is this one
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115 - for the life of the process
        stream = getattr(sys, name)
        if mode == "w" and isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
