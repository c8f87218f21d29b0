"""A task: one game or one problem, known by a stable id."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Task:
    """One game or problem.

    Attributes:
        id: Stable identifier, ``KIND/SPLIT/...``, for example
            ``alfworld/valid_unseen/<task folder>/<trial folder>``. It never depends on the machine or on
            the order in which files are listed.
        type: The task type that tables are broken down by, for example ``pick_and_place_simple``.
        digest: sha256 (hex) of what is played, so that two panels with equal ids but different games differ.
        metadata: Further facts as strings, for example ``{"dialect": "0.4"}``.
    """

    id: str
    type: str
    digest: str
    metadata: Mapping[str, str] = field(default_factory=dict, compare=False)

    @property
    def kind(self) -> str:
        """The first part of the id: ``alfworld``, ``math``."""
        return self.id.partition("/")[0]
