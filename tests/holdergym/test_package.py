"""What the package promises as a whole: light imports, one direction of imports, every folder installed."""

import ast
import importlib
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from holdergym.envs.errors import MissingExtraError

from holdergym.cli import VERBS

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("envs", "agents", "eval", "training", "leaderboards")
# What each room may import; the front door may import everything.
ALLOWED = {
    "envs": set(),
    "agents": {"envs"},
    "eval": {"envs", "agents"},
    "training": {"envs", "agents"},
    "leaderboards": {"envs", "agents", "eval"},
}
HEAVY = {"torch", "transformers", "textworld", "alfworld", "vllm", "pandas", "scipy"}


def sources(*rooms: str) -> Iterator[tuple[str, Path]]:
    for room in rooms:
        for path in sorted((ROOT / room).rglob("*.py")):
            yield room, path


LAZY = ["envs", "envs.alfworld", "envs.math", "agents", "agents.backends", "eval", "leaderboards"]
LIGHT = ["holdergym", "holdergym.cli", "holdergym.agents.scripted", *(f"holdergym.{room}" for room in LAZY)]


@pytest.mark.parametrize("module", LIGHT)
def test_importing_loads_nothing_heavy(module: str) -> None:
    code = f"import sys, {module}; print(*sorted({HEAVY!r} & {{name.partition('.')[0] for name in sys.modules}}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.split() == []


SMALL = [
    "table list",
    "list recipes",
    "--help",
    "list",
    "games list",
    "doctor",
    "problems list",
    "play --agent expert",
    "eval --help",
    "power --help",
]


@pytest.mark.parametrize("verb", SMALL)
def test_small_verbs_load_nothing_heavy(verb: str) -> None:
    code = (
        f"import sys; from holdergym.cli import main\ntry: main({verb.split()!r})\n"
        f"except SystemExit: print(*sorted({HEAVY!r} & {{name.partition('.')[0] for name in sys.modules}}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.splitlines()[-1] == ""


@pytest.mark.parametrize("room", LAZY)
def test_what_a_room_offers_is_there_and_known_to_type_checkers(room: str) -> None:
    module = importlib.import_module(f"holdergym.{room}")
    path = ROOT.joinpath(*room.split("."), "__init__.py")
    (typed,) = [node for node in ast.parse(path.read_text()).body if isinstance(node, ast.If)]
    promised = {
        alias.name: f".{node.module}" for node in typed.body if isinstance(node, ast.ImportFrom) for alias in node.names
    }
    assert promised == module._LAZY
    assert set(promised) <= set(module.__all__) <= set(dir(module))
    # A part of the package would take the place of a name that it shares, as soon as anything imports it.
    assert not {file.stem for file in path.parent.iterdir()} & set(module.__all__)
    for name in module.__all__:
        try:
            assert getattr(module, name).__name__ == name
        except (ModuleNotFoundError, MissingExtraError):
            assert name in {
                *("OpenAIBackend", "TransformersBackend", "VllmBackend", "VllmServerBackend"),
                *("open_vllm", "open_vllm_server"),
            }
        except AttributeError:
            assert name in {"PROTOCOLS", "AgentSettings"}  # not a class or a function
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        module.nonsense  # noqa: B018


def test_the_list_of_verbs_is_complete_and_loads_none_of_them() -> None:
    files = {path.stem for path in (ROOT / "holdergym" / "cli").glob("*.py")}
    verbs = {name for name in files if "\ndef command(" in (ROOT / "holdergym" / "cli" / f"{name}.py").read_text()}
    assert set(VERBS) == verbs
    for verb, summary in VERBS.items():
        help_text = importlib.import_module(f"holdergym.cli.{verb}").command.help
        assert " ".join(help_text.split()).startswith(summary)
    code = (
        "import sys; from holdergym.cli import main\ntry: main(['--help'])\n"
        "except SystemExit: print(*[n for n in sys.modules if n.startswith('holdergym.eval') or n == 'pydantic'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert "quickstart" in done.stdout
    assert done.stdout.splitlines()[-1] == ""


def test_rooms_import_in_one_direction() -> None:
    found = []
    for room, path in sources(*ROOMS):
        depth = len(path.relative_to(ROOT).parts) - 1
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.level > depth:
                target = (node.module or "").partition(".")[0]
                targets = [target] if target else [alias.name for alias in node.names]
                found += [(path, name) for name in targets if name in ROOMS and name not in ALLOWED[room]]
            elif isinstance(node, ast.ImportFrom | ast.Import):
                names = [node.module or ""] if isinstance(node, ast.ImportFrom) else [a.name for a in node.names]
                found += [(path, name) for name in names if node_is_absolute(node) and name.startswith("holdergym")]
    assert found == []


def node_is_absolute(node: ast.ImportFrom | ast.Import) -> bool:
    return isinstance(node, ast.Import) or node.level == 0


def test_every_folder_with_code_is_installed() -> None:
    listed = set(tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"])
    folders = {
        "holdergym" if path.parent == ROOT / "holdergym" else ".".join(path.parent.relative_to(ROOT).parts)
        for _, path in sources("holdergym", *ROOMS)
    }
    packages = {name if name.startswith("holdergym") else f"holdergym.{name}" for name in folders}
    assert packages == listed


def test_no_file_grows_past_what_can_be_read_at_once() -> None:
    lengths = {path: len(path.read_text().splitlines()) for _, path in sources("holdergym", *ROOMS)}
    assert {str(path): length for path, length in lengths.items() if length > 500} == {}


def test_the_version_is_the_distribution_s() -> None:
    from importlib.metadata import version

    import holdergym

    assert holdergym.__version__ == version("holdergym")
    with pytest.raises(AttributeError, match="no attribute 'utils'"):
        holdergym.utils  # noqa: B018
