import pytest
import torch
from holdergym.training import Layout, Segments

# Two groups; group 0 has the episodes 0 (rows 0, 2) and 1 (row 1), group 1 the episode 2 (rows 3, 4).
LAYOUT = Layout(
    rows=Segments.from_lengths([2, 1, 3, 0, 2]),
    episodes=Segments(torch.tensor([0, 1, 0, 2, 2]), 3),
    groups=Segments(torch.tensor([0, 0, 1]), 2),
)


def test_units_are_turns_or_trajectories() -> None:
    assert LAYOUT.units("turn").index.tolist() == [0, 0, 1, 2, 2, 2, 4, 4]
    assert LAYOUT.units("trajectory").index.tolist() == [0, 0, 1, 0, 0, 0, 2, 2]
    assert LAYOUT.row_groups().index.tolist() == [0, 0, 0, 1, 1]


def test_take_renumbers_and_keeps_the_order() -> None:
    layout, tokens, rows, episodes = LAYOUT.take(torch.tensor([4, 2, 0]))
    assert tokens.tolist() == [0, 1, 3, 4, 5, 6, 7]
    assert rows.tolist() == [0, 2, 4]
    assert episodes.tolist() == [0, 2]
    assert layout.rows.index.tolist() == [0, 0, 1, 1, 1, 2, 2]
    assert layout.episodes.index.tolist() == [0, 0, 1]
    assert layout.groups.index.tolist() == [0, 1]
    assert layout.rows.count == 3
    assert layout.groups.count == 2


def test_cuts_episode() -> None:
    assert LAYOUT.cuts_episode(torch.tensor([0]))
    assert not LAYOUT.cuts_episode(torch.tensor([0, 2, 1]))


def test_single_turns() -> None:
    layout = Layout.of_single_turns([3, 1, 2, 2], group_size=2)
    assert layout.groups.index.tolist() == [0, 0, 1, 1]
    assert torch.equal(layout.units("turn").index, layout.units("trajectory").index)
    with pytest.raises(ValueError, match="do not divide into groups of 3"):
        Layout.of_single_turns([3, 1, 2, 2], group_size=3)


def test_refuses_partitions_that_do_not_fit_and_rows_named_twice() -> None:
    with pytest.raises(ValueError, match="rows and episodes do not fit"):
        Layout(Segments.from_lengths([1, 1]), Segments.from_lengths([1]), Segments.from_lengths([1]))
    with pytest.raises(ValueError, match="named twice"):
        LAYOUT.take(torch.tensor([1, 1]))
