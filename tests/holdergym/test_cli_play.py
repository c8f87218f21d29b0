"""The game at the terminal, driven as a person or a pipe would."""

import os
import pty
import select
import subprocess
import sys
import time

import pytest

PLAY = [sys.executable, "-m", "holdergym", "play"]


def play(*arguments: str, typed: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([*PLAY, *arguments], input=typed, capture_output=True, timeout=60, check=False)


def test_watching_the_expert_win() -> None:
    done = play("--agent", "expert", "--task-type", "pick_and_place_simple")
    assert done.returncode == 0
    assert b"-= Welcome to TextWorld, ALFRED! =-" in done.stdout
    assert done.stdout.rstrip().splitlines()[-1].startswith(b"won, ")


def test_the_same_seed_gives_the_same_game() -> None:
    first, again, other = (play("--agent", "random", "--seed", seed, "--max-steps", "5") for seed in "112")
    assert first.stdout == again.stdout != other.stdout
    assert first.returncode == 1
    assert first.stdout.rstrip().endswith(b"not won: the step limit is reached, 5 steps")


def test_a_piped_game_lists_commands_and_stops_at_the_end_of_input() -> None:
    done = play(typed=b"?\ninventory\nfly\n")
    assert done.returncode == 1
    assert b"> ?\n  go to " in done.stdout
    assert b"> inventory\nYou are not carrying anything." in done.stdout
    assert b"> fly\nNothing happens." in done.stdout
    assert done.stdout.rstrip().endswith(b"stopped after 2 steps, not won")


def test_a_person_at_a_terminal_can_win_and_can_interrupt() -> None:
    watched = play("--agent", "expert", "--seed", "3").stdout.decode()
    plan = [line[2:] for line in watched.splitlines() if line.startswith("> ")]
    screen, code = at_terminal([*plan], "--seed", "3")
    assert code == 0
    assert f"won, {len(plan)} steps" in screen
    screen, code = at_terminal(["look", "\x03"], "--seed", "3")
    assert code == 1
    assert "stopped after 1 step, not won" in screen


def at_terminal(typed: list[str], *arguments: str) -> tuple[str, int]:
    """Types each line when the prompt stands there; gives the screen and the exit code."""
    pid, screen = pty.fork()
    if pid == 0:
        os.execv(sys.executable, [*PLAY, *arguments])
    text = ""
    end = time.monotonic() + 60
    waiting = list(typed)
    while time.monotonic() < end:
        if select.select([screen], [], [], 0.1)[0]:
            try:
                read = os.read(screen, 65536)
            except OSError:  # the terminal is gone with the game
                break
            if not read:
                break
            text += read.decode()
        elif waiting and text.endswith("> "):
            line = waiting.pop(0)
            os.write(screen, line.encode() if line == "\x03" else f"{line}\n".encode())
            text += " "
    os.close(screen)
    return text.replace("\r\n", "\n"), os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--agent", "exprt"], "unknown agent 'exprt'; did you mean 'expert'?"),
        (["--agent", "replay"], "unknown agent 'replay'"),
        (["--task", "alfworld/nowhere"], "unknown task of panel 'builtin_valid': 'alfworld/nowhere'"),
        (["--task-type", "pick_two"], "unknown task type of panel 'builtin_valid': 'pick_two'"),
        (["--panel", "builtin_vaild"], "builtin_vaild"),
        (["--engine", "nativ"], "unknown engine 'nativ'; did you mean 'native'?"),
        (["--seed", "-1"], "'--seed': -1 is not in the range"),
        (["--max-steps", "0"], "'--max-steps': 0 is not in the range"),
        (["--data", "/proc/none"], "there is no /proc/none"),
    ],
)
def test_bad_input_is_answered_in_one_line(arguments: list[str], message: str) -> None:
    done = play(*arguments)
    assert done.returncode == 2
    assert done.stdout == b""
    (line,) = done.stderr.decode().splitlines()
    assert message in line
