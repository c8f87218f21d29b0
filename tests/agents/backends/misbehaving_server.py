"""A real HTTP server with OpenAI's interface that misbehaves on purpose, one request after the other as it is told."""

import contextlib
import json
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple

Behaviour = Callable[["Handler"], None]
RESPONSE_IDS = [11, 12, 2]


class Received(NamedTuple):
    """A request as it came."""

    path: str
    headers: Mapping[str, str]
    body: dict[str, object]
    moment: float


@dataclass
class Book:
    """What the server was told to do and what it saw.

    Attributes:
        planned: How the next requests are answered; when it is empty, properly.
        models: What ``GET /models`` answers; a behaviour, or the list of models.
        received: The requests for an answer, in order.
        active: Requests that are being answered now.
        most_active: Most of them at once so far.
        released: Set to let hanging requests go.
        connections: All that were ever opened.
    """

    planned: deque[Behaviour] = field(default_factory=deque)
    models: list[dict[str, object]] | Behaviour = field(
        default_factory=lambda: [{"id": "tiny", "owned_by": "vllm", "max_model_len": 100}]
    )
    received: list[Received] = field(default_factory=list)
    active: int = 0
    most_active: int = 0
    seconds: float = 0.0
    released: threading.Event = field(default_factory=threading.Event)
    connections: list[socket.socket] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)


class Handler(BaseHTTPRequestHandler):
    """Answers one connection."""

    protocol_version = "HTTP/1.1"
    book: Book

    def setup(self) -> None:
        super().setup()
        with self.book.lock:
            self.book.connections.append(self.connection)

    def log_message(self, *args: object) -> None:
        pass

    def do_GET(self) -> None:
        models = self.book.models
        if callable(models):
            models(self)
        else:
            self.give(200, {"object": "list", "data": models})

    def do_POST(self) -> None:
        self.body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        book = self.book
        with book.lock:
            book.received.append(Received(self.path, dict(self.headers), self.body, time.monotonic()))
            book.active += 1
            book.most_active = max(book.most_active, book.active)
            behave = book.planned.popleft() if book.planned else properly
        try:
            time.sleep(book.seconds)
            behave(self)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True
        finally:
            with book.lock:
                book.active -= 1

    def give(self, status: int, content: object, **headers: str) -> None:
        """Sends an answer: JSON of an object, or bytes as they are."""
        data = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


class MisbehavingServer:
    """The server, in threads of this process."""

    def __init__(self) -> None:
        self.book = Book()
        self._start(0)

    def _start(self, port: int) -> None:
        handler = type("BoundHandler", (Handler,), {"book": self.book})
        self._server = ThreadingHTTPServer(("127.0.0.1", port), handler)
        self._server.daemon_threads = True
        self._server.block_on_close = False
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    def die(self) -> None:
        """Ends all connections and takes no more, as when its process is killed."""
        self.book.released.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
        for connection in self.book.connections:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def come_back(self) -> None:
        """Begins again at the same address."""
        self.book.released.clear()
        self._start(self._server.server_port)


def completion(body: Mapping[str, object]) -> dict[str, object]:
    """A proper answer to a request, as vLLM gives it."""
    logprobs = [-0.5, -1.25, -0.125]
    usage = {"prompt_tokens": 4, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 2}}
    if "messages" in body:
        content = [{"token": "x", "logprob": value} for value in logprobs]
        choice: dict[str, object] = {
            "message": {"role": "assistant", "content": "go"},
            "logprobs": {"content": content},
        }
        return {"choices": [choice | {"finish_reason": "stop", "token_ids": RESPONSE_IDS}], "usage": usage}
    choice = {"text": "go", "logprobs": {"token_logprobs": logprobs}, "finish_reason": "stop"}
    more = {"token_ids": RESPONSE_IDS, "prompt_token_ids": body["prompt"]}
    return {"choices": [choice | more], "usage": usage}


def properly(handler: Handler) -> None:
    """Answers as it should."""
    handler.give(200, completion(handler.body))


def status(code: int, message: str = "no", **headers: str) -> Behaviour:
    """Refuses with a status and a message in OpenAI's form."""
    return lambda handler: handler.give(code, {"error": {"message": message, "type": "x"}}, **headers)


def raw(data: bytes, code: int = 200) -> Behaviour:
    """Sends these bytes."""
    return lambda handler: handler.give(code, data)


def altered(**changes: object) -> Behaviour:
    """Answers, but with changes in the choice."""

    def behave(handler: Handler) -> None:
        record = completion(handler.body)
        record["choices"][0].update(changes)  # type: ignore[index]
        handler.give(200, record)

    return behave


def hang_up(handler: Handler) -> None:
    """Closes the connection without a word."""
    handler.close_connection = True
    handler.connection.close()


def hang_up_midway(handler: Handler) -> None:
    """Promises more than it sends."""
    handler.send_response(200)
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    handler.wfile.write(b'{"choices": [')
    handler.close_connection = True


def hang(handler: Handler) -> None:
    """Says nothing until it is released."""
    handler.book.released.wait(60)
    handler.close_connection = True


def drip(handler: Handler) -> None:
    """Sends a blank now and then, for ever."""
    handler.send_response(200)
    handler.send_header("Transfer-Encoding", "chunked")
    handler.end_headers()
    while not handler.book.released.wait(0.05):
        handler.wfile.write(b"1\r\n \r\n")
        handler.wfile.flush()


def pour(handler: Handler) -> None:
    """Begins a proper answer with a text of 10 MB."""
    handler.send_response(200)
    handler.send_header("Transfer-Encoding", "chunked")
    handler.end_headers()
    piece = b"x" * 65536
    for data in (b'{"choices": [{"text": "', *[piece] * 160, b'"}]}'):
        handler.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
    handler.wfile.write(b"0\r\n\r\n")
