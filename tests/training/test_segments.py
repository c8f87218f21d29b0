import pytest
import torch
from holdergym.training import Segments
from hypothesis import given
from hypothesis import strategies as st

PARTS = Segments(torch.tensor([2, 0, 2, 0, 2]), 4)
ITEMS = torch.tensor([1.0, 2.0, 3.0, 4.0, 5.0], dtype=torch.float64)


def test_sums_means_and_maxima_of_scattered_parts_with_empty_ones() -> None:
    assert PARTS.sizes.tolist() == [2, 0, 3, 0]
    assert PARTS.sum(ITEMS).tolist() == [6, 0, 9, 0]
    assert PARTS.mean(ITEMS).tolist() == [3, 0, 3, 0]
    assert PARTS.maximum(-ITEMS, empty=-7.0).tolist() == [-2, -7, -1, -7]
    assert PARTS.spread(torch.tensor([10, 11, 12, 13])).tolist() == [12, 10, 12, 10, 12]
    assert PARTS.positions().tolist() == [0, 0, 1, 1, 2]


def test_from_lengths_and_from_keys() -> None:
    assert Segments.from_lengths([2, 0, 1]).index.tolist() == [0, 0, 2]
    keys = torch.tensor([[1, 5], [0, 9], [1, 5], [1, 4]])
    assert Segments.from_keys(keys).index.tolist() == [2, 0, 2, 1]


def test_compose_follows_items_through_two_partitions() -> None:
    inner = Segments.from_lengths([1, 2, 1])
    assert inner.compose(Segments(torch.tensor([1, 0, 1]), 2)).index.tolist() == [1, 0, 0, 1]


@given(st.floats(-1e6, 1e6, width=32), st.integers(1, 50))
def test_the_mean_of_equal_items_is_exactly_their_value(value: float, number: int) -> None:
    items = torch.full((number,), value)
    assert Segments.from_lengths([number]).mean(items).item() == items[0].item()


def test_the_mean_is_differentiable() -> None:
    items = ITEMS.clone().requires_grad_()
    assert torch.autograd.gradcheck(PARTS.mean, (items,))


@pytest.mark.parametrize("discount", [0.0, 0.5, 0.95, 1.0])
def test_discounted_returns_equal_the_recursion(discount: float) -> None:
    expected = torch.empty_like(ITEMS)
    for part in range(PARTS.count):
        running = 0.0
        for item in reversed((PARTS.index == part).nonzero().flatten().tolist()):
            running = ITEMS[item].item() + discount * running
            expected[item] = running
    torch.testing.assert_close(PARTS.discounted_returns(ITEMS, discount), expected)


def test_nothing_at_all() -> None:
    empty = Segments.from_lengths([])
    assert empty.sum(torch.empty(0)).shape == (0,)
    assert empty.discounted_returns(torch.empty(0), 0.9).shape == (0,)
