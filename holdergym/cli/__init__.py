"""The command line: one file a verb, loaded only when it is called."""

import contextlib
import errno
import importlib
import os
import sys

import click

from ..envs.errors import HolderGymError, UnknownNameError
from ..version import __version__
from .terminal import open_streams, visible

# Every verb and the first sentence of its help, which stands here so that the list of verbs loads none of them.
VERBS = {
    "acr": "Report the advantage collapse rate of a training run, or of an evaluation with several samples a task.",
    "compare": "Compare runs task by task: who wins more often, by how much, and is it more than chance?",
    "doctor": "Say what is installed, which games are found, and what to do about what is missing.",
    "eval": "Play every task of a panel once and report success rates by task type.",
    "export": "Write a run as a table of episodes or as a result file of another project.",
    "games": "List, verify, pack and generate ALFWorld games.",
    "leaderboard": "Show run folders as a table: a row a run, a column a task type, with counts and 95% intervals.",
    "list": "List environments, panels, agents, prompts, protocols and training recipes.",
    "methods": "List training methods, show their settings, and check which go together.",
    "play": "Play a game yourself, or watch an agent play it.",
    "plot": "Draw the curves of a training run: success, reward, p, entropy, KL, clipping.",
    "power": "Say how many tasks a comparison needs, or what it can see with the tasks that there are.",
    "problems": "List panels of mathematics problems and check problem files.",
    "quickstart": "Play the built-in games with two agents and print their table by task type.",
    "table": "Show published tables with our numbers beside them, and check what the papers print.",
    "train": "Train a policy on an environment by a published method, and keep the best checkpoint.",
    "view": "Write a page that shows a run episode by episode, turn by turn.",
}

# As a shell reports a program that SIGPIPE ended.
_BROKEN_PIPE = 141


class _Verbs(click.Group):
    """Finds a verb ``NAME`` as ``command`` in the module ``holdergym.cli.NAME``."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(VERBS)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(VERBS.items()))

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

    \b
    Exit codes:
      0    it worked
      1    it worked and found something: failed episodes, a problem, a game that was not won
      2    bad input; one line says what to do
      130  interrupted
      141  whoever read the output has gone, as in `holdergym list | head -1`
    """


def main(args: list[str] | None = None) -> None:
    """Runs the command line and exits with one of the codes that ``holdergym --help`` lists."""
    open_streams()
    try:
        status = holdergym.main(args, prog_name="holdergym", standalone_mode=False)
        sys.stdout.flush()
    except SystemExit:
        sys.exit(_BROKEN_PIPE)  # the only case in which click, told not to exit, does so itself
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
            sys.exit(_BROKEN_PIPE)
        _fail(f"cannot write the output: {error.strerror}", "holdergym")
    except (click.Abort, KeyboardInterrupt):
        with contextlib.suppress(OSError):
            print("holdergym: interrupted", file=sys.stderr)
        sys.exit(130)
    sys.exit(status if isinstance(status, int) else 0)


def _fail(message: str, command: str) -> None:
    """Prints one line, whatever line breaks the message carries, and exits with code 2."""
    with contextlib.suppress(OSError):  # if standard error takes nothing either, the code says it
        print(f"{command}: error: {visible(' '.join(message.split()))}", file=sys.stderr)
    sys.exit(2)
