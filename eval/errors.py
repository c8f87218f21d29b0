"""What can be wrong with a run folder."""

from ..envs.errors import HolderGymError


class RunError(HolderGymError):
    """A run folder that cannot be written, read or continued as it is."""
