"""What is said of a vLLM server before it is started, where vLLM is not installed."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("httpx2")
pytest.importorskip("torch")

from holdergym.agents.backends.settings import VllmServerSettings, VllmSettings, engine_arguments
from holdergym.agents.backends.vllm_launcher import as_options, for_cpu
from holdergym.agents.backends.vllm_server import _environment, require_vllm
from holdergym.agents.language_model_settings import LanguageModelSettings
from holdergym.agents.making import make_language_model
from holdergym.envs.errors import ConfigError
from holdergym.envs.settings import as_toml, assignment_layer, file_layer, resolve


@pytest.fixture
def bare_python(tmp_path: Path) -> str:
    """An interpreter that has the standard library and nothing else."""
    path = tmp_path / "python"
    path.write_text(f'#!/bin/sh\nexec "{sys.executable}" -I -S "$@"\n')
    path.chmod(0o755)
    return str(path)


def test_settings_come_from_the_command_line_and_from_a_file(tmp_path: Path) -> None:
    given = ["name=vllm_server", "python=.venv-vllm/bin/python", "engine.max_num_seqs=8", "start_s=90.5"]
    given += ["environment.CUDA_VISIBLE_DEVICES=1", "environment.VLLM_LOGGING_LEVEL=INFO"]
    layer = assignment_layer(["model=smollm2-135m", *(f"backend.{one}" for one in given)])
    settings = resolve(LanguageModelSettings, [layer])
    assert settings.backend == VllmServerSettings(
        python=".venv-vllm/bin/python",
        environment={"CUDA_VISIBLE_DEVICES": 1, "VLLM_LOGGING_LEVEL": "INFO"},
        start_s=90.5,
        engine={"max_num_seqs": 8},
    )
    (tmp_path / "settings.toml").write_text(as_toml(settings))
    assert resolve(LanguageModelSettings, [file_layer(tmp_path / "settings.toml")]) == settings


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["name=vllm", "python=python3"], "python"),
        (["name=vllm_server", "pyhton=python3"], "did you mean '.*python'"),
        (["name=vllm_serve"], "vllm_server"),
        (["name=vllm_server", "environment.A=true"], "environment"),
    ],
)
def test_wrong_settings_are_named(given: list[str], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        resolve(LanguageModelSettings, [assignment_layer(["model=x", *(f"backend.{one}" for one in given)])])


def test_an_interpreter_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(
        ConfigError, match=r"cannot start the interpreter /.*/no/python: No such file .*backend\.python"
    ):
        require_vllm(VllmServerSettings(python=str(tmp_path / "no" / "python")))
    (tmp_path / "text").write_text("no program")
    with pytest.raises(ConfigError, match=r"cannot start the interpreter .*text: Permission denied"):
        require_vllm(VllmServerSettings(python=str(tmp_path / "text")))
    with pytest.raises(ConfigError, match="is not a Python interpreter that works"):
        require_vllm(VllmServerSettings(python="/bin/true"))


def test_an_interpreter_without_vllm_is_refused_before_anything_is_begun(
    bare_python: str, tiny_checkpoint: Path
) -> None:
    settings = VllmServerSettings(python=bare_python)
    with pytest.raises(
        ConfigError, match=r"vLLM is not installed for .*python: .* set agent\.backend\.python"
    ) as error:
        require_vllm(settings)
    assert "\n" not in str(error.value)
    with pytest.raises(ConfigError, match="vLLM is not installed"):
        make_language_model(LanguageModelSettings(model=str(tiny_checkpoint), backend=settings), "math")


def test_eval_refuses_it_in_one_line(bare_python: str, tiny_checkpoint: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "holdergym", "eval", "--env", "math", "--model", str(tiny_checkpoint)]
    command += ["--backend", "vllm_server", "--set", f"agent.backend.python={bare_python}"]
    done = subprocess.run(
        [*command, "--out", str(tmp_path / "run")], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 2, done.stderr
    [line] = done.stderr.splitlines()
    assert line.startswith("holdergym: error: vLLM is not installed for ")
    assert not (tmp_path / "run").exists()


def test_a_python_of_this_environment_is_found_on_the_path(bare_python: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(Path(bare_python).parent))
    with pytest.raises(ConfigError, match=f"not installed for {bare_python}:"):
        require_vllm(VllmServerSettings(python="python"))


@pytest.mark.parametrize("name", ["port", "served_model_name", "served-model-name", "api_key", "worker_extension_cls"])
def test_what_the_server_is_told_is_not_for_the_user(name: str) -> None:
    with pytest.raises(ConfigError, match=f"agent.backend.engine.{name.replace('-', '_')} cannot be set"):
        require_vllm(VllmServerSettings(engine={name: "x"}))


def test_variables_of_this_environment_stay_here(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV"):
        monkeypatch.setenv(name, "here")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    monkeypatch.setenv("VLLM_LOGGING_LEVEL", "DEBUG")
    other = _environment(VllmServerSettings(python="elsewhere", environment={"CUDA_VISIBLE_DEVICES": "1,2", "N": 3}))
    assert not {"PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV"} & set(other)
    assert (other["CUDA_VISIBLE_DEVICES"], other["N"], other["VLLM_LOGGING_LEVEL"]) == ("1,2", "3", "DEBUG")
    assert other["VLLM_SERVER_DEV_MODE"] == "1"
    own = _environment(VllmServerSettings())
    assert own["PYTHONPATH"] == "here"
    assert os.environ["CUDA_VISIBLE_DEVICES"] == "0"


def test_a_launchers_one_thread_is_not_the_servers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert _environment(VllmServerSettings())["OMP_NUM_THREADS"] == "1"  # the user's
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "none")
    monkeypatch.setenv("RANK", "0")
    assert not {"OMP_NUM_THREADS", "TORCHELASTIC_RUN_ID", "RANK"} & set(_environment(VllmServerSettings()))
    assert _environment(VllmServerSettings(environment={"OMP_NUM_THREADS": 1}))["OMP_NUM_THREADS"] == "1"
    monkeypatch.setenv("OMP_NUM_THREADS", "4")  # torchrun leaves a number as it is
    assert _environment(VllmServerSettings())["OMP_NUM_THREADS"] == "4"


def test_options_are_spelled_as_vllm_spells_them() -> None:
    options = as_options(
        {"max_num_seqs": 8, "enforce_eager": True, "disable_log_stats": False, "seed": -1, "a_b": "c d"}
    )
    assert options == ["--max-num-seqs=8", "--enforce-eager", "--no-disable-log-stats", "--seed=-1", "--a-b=c d"]


def test_a_cpu_computes_long_numbers_eagerly_unless_told_otherwise() -> None:
    assert for_cpu(engine_arguments(VllmSettings())) == {
        "dtype": "float32",
        "tensor_parallel_size": 1,
        "disable_log_stats": True,
        "logprobs_mode": "raw_logprobs",
        "enforce_eager": True,
    }
    told = engine_arguments(VllmServerSettings(dtype="bfloat16", max_context=99, engine={"enforce_eager": False}))
    assert for_cpu(told) == told
    assert (told["max_model_len"], told["dtype"], told["enforce_eager"]) == (99, "bfloat16", False)


def test_what_runs_in_another_environment_needs_nothing_of_ours() -> None:
    from holdergym.agents.backends import keeper, vllm_launcher, vllm_weights

    for module in (keeper, vllm_launcher, vllm_weights):
        assert module.__file__ is not None
        code = f"import runpy; runpy.run_path({module.__file__!r}, run_name='alone')"
        subprocess.run([sys.executable, "-I", "-S", "-c", code], check=True, timeout=60)
