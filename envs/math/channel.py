"""Messages between the grader and its workers: JSON behind its length, with a deadline on every transfer."""

import json
import socket
import struct
import time

_LENGTH = struct.Struct(">Q")
MAX_BYTES = 64 * 2**20


class ChannelClosed(Exception):
    """The other end is gone."""


class DeadlinePassed(Exception):
    """The message did not come in time."""


class Channel:
    """One end of a socket pair.

    Args:
        end: The socket; the channel owns it.
    """

    def __init__(self, end: socket.socket) -> None:
        self._socket = end

    def send(self, message: object, timeout: float | None = None) -> None:
        """Sends a message.

        Raises:
            ChannelClosed: If the other end is gone.
            DeadlinePassed: If the other end does not take it within ``timeout`` seconds.
        """
        data = json.dumps(message).encode()
        self._socket.settimeout(timeout)
        try:
            self._socket.sendall(_LENGTH.pack(len(data)) + data)
        except TimeoutError:
            raise DeadlinePassed from None
        except OSError:
            raise ChannelClosed from None

    def receive(self, timeout: float | None = None) -> object:
        """Waits for a message.

        Raises:
            ChannelClosed: If the other end is gone.
            DeadlinePassed: If no whole message came within ``timeout`` seconds.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        (length,) = _LENGTH.unpack(self._exactly(_LENGTH.size, deadline))
        if length > MAX_BYTES:
            raise ChannelClosed
        message: object = json.loads(self._exactly(length, deadline))
        return message

    def close(self) -> None:
        """Closes this end; the other end finds out when it next reads."""
        self._socket.close()

    def _exactly(self, count: int, deadline: float | None) -> bytes:
        parts, missing = [], count
        while missing:
            left = None if deadline is None else deadline - time.monotonic()
            if left is not None and left <= 0:
                raise DeadlinePassed
            self._socket.settimeout(left)
            try:
                part = self._socket.recv(min(missing, 2**20))
            except TimeoutError:
                raise DeadlinePassed from None
            except OSError:
                raise ChannelClosed from None
            if not part:
                raise ChannelClosed
            parts.append(part)
            missing -= len(part)
        return b"".join(parts)
