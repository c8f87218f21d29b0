"""The chart library: one file out of an installed package, which the site carries along.

Plotly.js is maintained, draws in the browser without the network, and is the one such library whose own Python package
brings the script, so that nobody's file is kept in this repository. It is large (4.8 MB), so the pages share one copy
and load it only when a picture is about to be seen; the tables do not need it.
"""

import importlib.util
from pathlib import Path

from ...envs.errors import HolderGymError, MissingExtraError
from ...envs.files import read_file

_PLACE = ("package_data", "plotly.min.js")


def plotly_script() -> bytes:
    """Reads the library, without importing its package.

    Raises:
        MissingExtraError: If it is not installed.
        HolderGymError: If it cannot be read.
    """
    found = importlib.util.find_spec("plotly")
    places = list(found.submodule_search_locations or ()) if found is not None else []
    path = Path(places[0]).joinpath(*_PLACE) if places else None
    if path is None or not path.is_file():
        raise MissingExtraError("holdergym leaderboard build", "site", "plotly")
    try:
        return read_file(path)
    except OSError as error:
        raise HolderGymError(f"cannot read {path}: {error.strerror}") from None
