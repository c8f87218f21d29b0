"""The command line: one file a verb, loaded only when it is called."""

import errno
import importlib
import os
import sys

import click

from ..envs.errors import HolderGymError, UnknownNameError
from ..version import __version__

VERBS = ("doctor", "eval", "games", "leaderboard", "list", "methods", "play", "problems", "quickstart")


class _Verbs(click.Group):
    """Finds a verb ``NAME`` as ``command`` in the module ``holdergym.cli.NAME``."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command:
        if cmd_name not in VERBS:
            raise UnknownNameError("command", cmd_name, VERBS)
        module = importlib.import_module(f"{__name__}.{cmd_name}")
        command = module.command
        assert isinstance(command, click.Command)
        return command


@click.group(cls=_Verbs, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="holdergym")
def holdergym() -> None:
    """Evaluate agents on ALFWorld, with numbers that can be defended.

    \b
    First steps:
      holdergym quickstart
      holdergym doctor
    """


def main(args: list[str] | None = None) -> None:
    """Runs the command line and exits: 0 when it worked, 2 and one line on standard error for bad input."""
    try:
        status = holdergym.main(args, prog_name="holdergym", standalone_mode=False)
        if sys.stdout is not None:  # None where the shell closed it
            sys.stdout.flush()
    except click.exceptions.NoArgsIsHelpError as error:
        print(error.format_message(), file=sys.stderr)
        sys.exit(2)
    except click.UsageError as error:
        _fail(error.format_message(), error.ctx.command_path if error.ctx else "holdergym")
    except click.ClickException as error:
        _fail(error.format_message(), "holdergym")
    except HolderGymError as error:
        _fail(str(error), "holdergym")
    except OSError as error:
        if error.filename is not None:
            # A path that a user gave and that no part of the program looked at first: too long, a loop of links,
            # not allowed.
            _fail(f"{error.filename}: {error.strerror}: give another path", "holdergym")
        if error.errno not in (errno.EPIPE, errno.ENOSPC):
            raise
        # Whoever read the output has gone, as `head` does, or its disk is full. Nothing more can be written there.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if error.errno == errno.EPIPE:
            sys.exit(1)
        _fail(f"cannot write the output: {error.strerror}", "holdergym")
    except (click.Abort, KeyboardInterrupt):
        print("holdergym: interrupted", file=sys.stderr)
        sys.exit(130)
    sys.exit(status if isinstance(status, int) else 0)


def _fail(message: str, command: str) -> None:
    """Prints one line, whatever line breaks the message carries, and exits with code 2."""
    print(f"{command}: error: {' '.join(message.split())}", file=sys.stderr)
    sys.exit(2)
