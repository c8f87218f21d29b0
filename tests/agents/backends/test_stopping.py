"""Stop texts, seen as they appear and cut off exactly."""

from collections.abc import Sequence

import pytest
from holdergym.agents.backends.stopping import StopWatch, before_stop
from hypothesis import given, settings
from hypothesis import strategies as st


def _decode(ids: Sequence[int]) -> str:
    """Tokens are bytes, so that a character may take several; 0 stands for nothing."""
    return bytes(one for one in ids if one).decode(errors="replace")


@settings(max_examples=300, deadline=None)
@given(
    text=st.text(alphabet="ab<>/é🙂\n", max_size=60),
    stop=st.lists(st.text(alphabet="ab<>/é🙂", min_size=1, max_size=6), max_size=3),
)
def test_a_stop_text_is_seen_with_its_last_token_and_not_before(text: str, stop: list[str]) -> None:
    watch = StopWatch(stop, _decode)
    ids = list(text.encode())
    for end in range(1, len(ids) + 1):
        whole = _decode(ids[:end])
        if watch.sees_stop(ids[:end]):
            assert any(one in whole for one in stop)
            cut = before_stop(whole, stop)
            assert whole.startswith(cut)
            assert not any(one in cut for one in stop)
            return
        assert not any(one in whole for one in stop)


@pytest.mark.parametrize(
    ("text", "stop", "left"),
    [("ab", (), "ab"), ("ab", ("c",), "ab"), ("xaby", ("b", "ab"), "x"), ("aa", ("a",), ""), ("", ("a",), "")],
)
def test_the_first_stop_text_counts(text: str, stop: tuple[str, ...], left: str) -> None:
    assert before_stop(text, stop) == left
