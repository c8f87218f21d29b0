"""What is kept of ended responses: the longest beginning is found, and the memory is bounded whatever comes."""

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from holdergym.agents.backends.prefix_store import SHORTEST, PrefixStore  # noqa: E402
from holdergym.agents.backends.slot_cache import LayerState  # noqa: E402
from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

pytestmark = pytest.mark.llm
_BYTES_PER_TOKEN = 2 * 2 * 4 * 4  # layers, keys and values, numbers, bytes


def _state(ids: list[int]) -> list[LayerState]:
    """Two layers whose numbers are the tokens themselves."""
    keys = torch.tensor(ids, dtype=torch.float32)[None, :, None].repeat(1, 1, 4)
    return [LayerState(keys.clone(), keys.clone()) for _ in range(2)]


def _bytes(store: PrefixStore) -> int:
    return sum(tensor.nbytes for entry in vars(store)["_entries"] for layer in entry.state for tensor in layer)


@settings(max_examples=100, deadline=None)
@given(
    texts=st.lists(st.lists(st.integers(0, 1), min_size=1, max_size=40), max_size=25),
    limit=st.integers(0, 60 * _BYTES_PER_TOKEN),
)
def test_memory_is_bounded_and_what_is_found_is_right(texts: list[list[int]], limit: int) -> None:
    store = PrefixStore(limit)
    for ids in texts:
        prefix = store.find(ids)
        assert 0 <= prefix.length < len(ids)
        if prefix.length:
            assert prefix.state[0].keys[0, : prefix.length, 0].tolist() == ids[: prefix.length]
        store.keep(ids, _state(ids))
        assert _bytes(store) <= limit


def test_the_longest_beginning_is_found_and_the_least_used_is_forgotten() -> None:
    store = PrefixStore(60 * _BYTES_PER_TOKEN)
    first, second = [1] * 20, [1] * 10 + [2] * 15
    store.keep(first, _state(first))
    store.keep(second, _state(second))
    assert store.find([*first, 9]).length == 20  # used last
    assert store.find([*second[:12], 9, 9]).length == 12
    assert store.find([*first, 9]).length == 20
    third = [3] * 30
    store.keep(third, _state(third))  # 75 tokens are too many
    assert store.find([*second, 9]).length == 10  # what it has in common with the first
    assert store.find([*first, 9]).length == 20
    assert store.find([*third, 9]).length == 30


def test_a_longer_state_takes_the_place_of_its_beginning() -> None:
    store = PrefixStore(100 * _BYTES_PER_TOKEN)
    for length in (10, 20, 30, 40):
        store.keep([1] * length, _state([1] * length))
        assert _bytes(store) == length * _BYTES_PER_TOKEN
    store.keep([2] * 101, _state([2] * 101))  # never fits: nothing is thrown out for it
    assert _bytes(store) == 40 * _BYTES_PER_TOKEN
    store.clear()
    assert _bytes(store) == 0
    assert store.find([1] * 40).length == 0


@settings(max_examples=200, deadline=None)
@given(texts=st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=30), max_size=30), places=st.integers(1, 200))
def test_what_is_found_is_what_looking_at_every_state_finds(texts: list[list[int]], places: int) -> None:
    """The tree against a list of all states, with the same rules: what is contained goes, then the least used."""
    store = PrefixStore(places * _BYTES_PER_TOKEN)
    kept: list[list[int]] = []
    for ids in texts:
        shared = {tuple(one): _common(one, ids[:-1]) for one in kept}
        longest = max(shared.values(), default=0)
        prefix = store.find(ids)
        assert prefix.length == (longest if longest >= SHORTEST else 0)
        if prefix.length:
            # Which of several as good ones was taken is the store's own affair.
            used = [int(token) for token in prefix.state[0].keys[0, :, 0]]
            assert shared[tuple(used)] == longest
            kept.remove(used)
            kept.append(used)
        store.keep(ids, _state(ids))
        if len(ids) <= places:
            kept = [one for one in kept if one != ids[: len(one)]]
            while sum(map(len, kept)) + len(ids) > places:
                kept.pop(0)
            kept.append(ids)
        assert _bytes(store) == sum(map(len, kept)) * _BYTES_PER_TOKEN


def _common(first: list[int], second: list[int]) -> int:
    return next(
        (at for at, (a, b) in enumerate(zip(first, second, strict=False)) if a != b), min(len(first), len(second))
    )
