import re
import subprocess
import sys
import tomllib
from dataclasses import replace

import pytest
from holdergym.envs.errors import ConfigError, UnknownNameError
from holdergym.envs.settings import Layer, as_toml, assignment_layer, resolve
from holdergym.training import Method, Schedule, preset, preset_names
from holdergym.training.aggregation import HolderAggregation
from holdergym.training.clipping import ClipRange
from holdergym.training.describe import describe, plot
from holdergym.training.exponents import ClipFractionExponent, ConstantExponent

from ..conftest import REPOSITORY


@pytest.mark.parametrize("name", preset_names())
def test_a_preset_survives_its_settings_file(name: str) -> None:
    method = preset(name)
    assert method.name == name
    assert resolve(Method, [Layer("preset", tomllib.loads(as_toml(method)))]) == method


def overridden(name: str, *assignments: str) -> Method:
    return resolve(Method, [Layer("preset", tomllib.loads(as_toml(preset(name)))), assignment_layer(assignments)])


def test_overrides_reach_every_stage() -> None:
    method = overridden("holderpo-static", "aggregation.exponent.p=-1", "aggregation.clip=token", "kl.coefficient=0.02")
    assert method.aggregation.exponent == ConstantExponent(p=-1.0)
    assert method.aggregation.clip == "token"
    assert method.kl.coefficient == 0.02
    infinite = overridden("holderpo-static", "aggregation.exponent.p=inf")
    assert infinite.aggregation.exponent == ConstantExponent(p=float("inf"))
    per = overridden("holderpo-alfworld", "aggregation.per=trajectory", "aggregation.exponent.rounds=40")
    assert per.aggregation.per == "trajectory"


@pytest.mark.parametrize(
    ("name", "assignment", "message"),
    [
        ("holderpo-static", "aggregation.exponent.p=abc", "aggregation.exponent.p"),
        ("holderpo-static", "aggregation.clip=sequense", "did you mean 'sequence'"),
        ("holderpo", "aggregation.exponent.shape=linear_desc", "did you mean 'linear_dec'"),
        ("grpo", "advantage.epsilonn=1", "did you mean 'epsilon'"),
        ("grpo", "reduction.over=token", "did you mean 'tokens'"),
    ],
)
def test_bad_overrides_get_one_line(name: str, assignment: str, message: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(message)) as error:
        overridden(name, assignment)
    assert "\n" not in str(error.value)


def test_the_published_settings() -> None:
    holder = preset("holderpo")
    assert holder.aggregation == HolderAggregation(
        exponent=Schedule(shape="linear_dec", low=-2, high=2, rounds=500),
        clip="sequence",
        clip_range=ClipRange(low=0.2, high=0.2),
    )
    assert not holder.needs_reference
    assert preset("holderpo-alfworld").needs_reference
    assert preset("gspo").aggregation.clip_range == ClipRange(low=3e-4, high=4e-4)
    assert preset("gmpo").aggregation.clip_range == ClipRange(low=0.4, high=0.4, log=True)
    assert isinstance(preset("pmpo-style").aggregation.exponent, ClipFractionExponent)
    assert [name for name in preset_names() if preset(name).needs_current_logp] == [
        "clip-cov",
        "kl-cov",
        "cov_gaussian",
    ]
    assert not preset("kl-cov").needs_reference


def test_an_unknown_name_names_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'holderpo'"):
        preset("hoelderpo")


@pytest.mark.parametrize("name", ["grpo+", "+grpo", "grpo++avspo", "reinforce+++", "+", "+avspo"])
def test_a_plus_that_joins_nothing_is_refused_in_one_line(name: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(f"{name!r} has nothing on one side of a '+'")) as error:
        preset(name)
    assert "\n" not in str(error.value)


def test_a_plus_too_few_or_an_empty_name_is_an_unknown_name() -> None:
    with pytest.raises(UnknownNameError, match=r"did you mean 'reinforce\+\+'"):
        preset("reinforce+")
    with pytest.raises(UnknownNameError, match="unknown method ''"):
        preset("")


def test_every_preset_has_its_section_in_the_papers_page() -> None:
    page = (REPOSITORY / "docs" / "PAPERS.md").read_text(encoding="utf-8")
    sections = re.split(r"^## ", page, flags=re.MULTILINE)[1:]
    for name in preset_names():
        holding = [section for section in sections if f"`{name}`" in section.partition("\n")[0]]
        assert len(holding) == 1, f"{name} is not in the heading of exactly one section"
        for label in ("Equation", "Symbols", "Settings", "Source", "Status", "Known deviations"):
            assert f"**{label}.**" in holding[0], f"{name} lacks {label}"
        status = re.search(r"\*\*Status\.\*\* ([a-z ]+)", holding[0])
        assert status is not None
        assert status[1].startswith(("runnable", "limits tested", "number reproduced"))


def test_plot() -> None:
    lines = plot(Schedule(shape="linear_dec", low=-1, high=1, rounds=150)).splitlines()
    assert lines[0] == "p over rounds: linear_dec (Linear Des)"
    assert lines[1].startswith("    1.00 |*")
    assert lines[7].startswith("    0.00 |")
    assert lines[13].endswith("*")
    assert lines[15].endswith("150")
    level = plot(Schedule(low=1, high=1))
    assert level.count("*") == 64


def test_describe() -> None:
    assert "p over rounds" in describe(preset("holderpo"))
    assert tomllib.loads(describe(preset("grpo"))) == tomllib.loads(as_toml(preset("grpo")))


def test_methods_are_values() -> None:
    assert replace(preset("grpo")) == preset("grpo")
    assert hash(preset("grpo")) == hash(replace(preset("grpo")))


def test_without_torch_one_line_says_what_to_install() -> None:
    code = """
import importlib.util
found = importlib.util.find_spec
importlib.util.find_spec = lambda name, package=None: None if name == "torch" else found(name, package)
import holdergym.training
"""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    last = result.stderr.strip().splitlines()[-1]
    assert last.endswith("holdergym.training needs torch, which is not installed: pip install 'holdergym[train]'")


def test_importing_the_package_does_not_load_torch() -> None:
    code = "import sys, holdergym, holdergym.envs; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], timeout=60, check=False).returncode == 0
