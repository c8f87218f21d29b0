"""A server of one's own that answers nonsense: a real process behind a socket, which is no vLLM."""

import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

pytest.importorskip("httpx2")

from holdergym.agents.backends.backend import BackendError
from holdergym.agents.backends.kept_program import KeptProgram
from holdergym.agents.backends.openai_wire import Model
from holdergym.agents.backends.vllm_server import VllmServerBackend, _Running

pytestmark = pytest.mark.timeout(120)
WAIT_S = 60

# Answers every request with status 200 and what it is given.
ANSWERS = """
import sys
from http.server import BaseHTTPRequestHandler
from socketserver import UnixStreamServer

class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        body = sys.argv[2].encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST

    def log_message(self, *args):
        pass

with UnixStreamServer(sys.argv[1], Handler) as server:
    server.serve_forever()
"""


@pytest.fixture
def folder() -> Iterator[Path]:
    """The server's files; pytest's own folders have too long names for a socket."""
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


@pytest.mark.parametrize("body", ["", "{broken", "<html>"])
def test_an_answer_that_is_no_json_is_an_error_in_one_line(body: str, folder: Path) -> None:
    (folder / "answers.py").write_text(ANSWERS)
    program = KeptProgram(
        [sys.executable, str(folder / "answers.py"), str(folder / "socket"), body],
        environment=os.environ,
        folder=folder / "own",
        work=folder,
        log=folder / "server.log",
    )
    running = _Running(program, folder)
    with closing(VllmServerBackend(running, Model("policy", "vllm", 100), "float32", str)) as backend:
        end = time.monotonic() + WAIT_S
        while not running.socket.exists():
            assert time.monotonic() < end
            time.sleep(0.05)
        with pytest.raises(BackendError, match="the vLLM server's answer to pause is no JSON: ") as error:
            backend.take_weights(folder, WAIT_S)
        assert (body or "it says nothing") in str(error.value)
        assert "\n" not in str(error.value)
    assert (folder / "server.log").exists()  # kept, as after every failure
