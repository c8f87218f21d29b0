"""What computes responses for the transformers back end, a token at a time."""

from collections import deque
from typing import Protocol

from .responses import Job


class Decoder(Protocol):
    """Computes responses. It is used from one thread only; what torch raises passes through."""

    @property
    def free(self) -> int:
        """How many more responses can join."""

    @property
    def busy(self) -> bool:
        """Whether any response is growing."""

    def join(self, waiting: deque[Job]) -> None:
        """Takes requests from the front, as many as are computed in one pass and at least one, while there is room.

        It computes their prompts and draws their first tokens. Those that it has taken are its own to answer.
        """

    def advance(self) -> None:
        """Draws one more token of each response, and gives those that have ended to their futures."""

    def forget(self) -> None:
        """Forgets what was computed for ended responses."""

    def abandon(self, error: Exception) -> None:
        """Gives up all growing responses with an error and starts afresh."""
