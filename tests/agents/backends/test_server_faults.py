"""Whole runs against a server that dies or talks nonsense: nothing finished is lost, and no failure is a loss."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("httpx2")
pytest.importorskip("jinja2")

from .misbehaving_server import MisbehavingServer, raw, status

KEY = "sk-secret-0123456789"
EPISODES, STEPS = 6, 3


@pytest.fixture
def server() -> Iterator[MisbehavingServer]:
    """A server that does as it is told."""
    running = MisbehavingServer()
    yield running
    running.die()


def _run(server: MisbehavingServer, out: Path, *more: str) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "holdergym", "eval", "--model", "tiny", "--backend", "openai", "--quiet"]
    command += ["--limit", str(EPISODES), "--max-steps", str(STEPS), "--workers", "2", "--out", str(out)]
    for assignment in (f"base_url={server.url}", "send=messages", "retries=1"):
        command += ["--set", f"agent.backend.{assignment}"]
    environment = os.environ | {"OPENAI_API_KEY": KEY}
    return subprocess.Popen(
        [*command, *more], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def _end(process: "subprocess.Popen[str]") -> tuple[int, str]:
    out, error = process.communicate(timeout=120)
    assert "Traceback" not in error
    assert KEY not in out + error
    return process.returncode, error


def _episodes(out: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in (out / "episodes.jsonl").read_text().splitlines()]


def test_a_server_that_dies_costs_what_was_not_finished_and_resume_makes_up_for_it(
    server: MisbehavingServer, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    server.book.seconds = 0.05
    process = _run(server, out)
    end = time.monotonic() + 60
    while len(server.book.received) < 2 * STEPS + 2:  # two episodes have ended
        assert process.poll() is None
        assert time.monotonic() < end
        time.sleep(0.01)
    server.die()
    assert _end(process)[0] == 1
    first = _episodes(out)
    outcomes = [episode["outcome"] for episode in first]
    assert len(outcomes) == EPISODES
    assert outcomes.count("limit") >= 2
    assert outcomes.count("error") >= 1
    assert set(outcomes) == {"limit", "error"}
    for episode in first:
        assert ("connection failed" in str(episode["reason"])) is (episode["outcome"] == "error")
    server.come_back()
    assert _end(_run(server, out, "--resume"))[0] == 0
    after = _episodes(out)
    finished = {episode["task_id"]: episode for episode in after if episode["outcome"] == "limit"}
    assert len(finished) == EPISODES
    for episode in first:
        if episode["outcome"] == "limit":
            assert finished[episode["task_id"]] == episode


def test_nonsense_for_an_episode_is_an_error_of_that_episode_with_its_reason(
    server: MisbehavingServer, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    server.book.planned.extend([raw(b"<html>"), raw(b"<html>"), status(400, f"I do not like {KEY}")])
    code, _ = _end(_run(server, out, "--workers", "1"))
    assert code == 1
    episodes = _episodes(out)
    reasons = [str(episode["reason"]) for episode in episodes if episode["outcome"] == "error"]
    assert len(reasons) == 2
    assert "after 2 attempts: the answer cannot be used: it is not JSON" in reasons[0]
    assert "status 400: I do not like ***" in reasons[1]
    assert [episode["outcome"] for episode in episodes].count("limit") == EPISODES - 2
    for path in out.iterdir():
        assert KEY.encode() not in path.read_bytes()


def test_a_server_that_is_not_there_is_one_line_and_no_run_folder(server: MisbehavingServer, tmp_path: Path) -> None:
    server.die()
    code, error = _end(_run(server, tmp_path / "run"))
    assert code == 2
    [line] = error.splitlines()
    assert f"cannot reach a server at {server.url}" in line
    assert "agent.backend.base_url" in line
    assert not (tmp_path / "run").exists()
    server.come_back()
