"""What the command line's tests share with other rooms."""

from ..agents.conftest import tiny_checkpoint

__all__ = ["tiny_checkpoint"]
