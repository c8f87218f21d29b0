from itertools import combinations

from holdergym.leaderboards.site.letters import MOST_GROUPS, tie_letters
from hypothesis import given
from hypothesis import strategies as st


@given(st.integers(0, 9), st.data())
def test_two_share_a_letter_exactly_if_they_cannot_be_told_apart(count: int, data: st.DataObject) -> None:
    pairs = list(combinations(range(count), 2))
    apart = {pair for pair in pairs if data.draw(st.booleans())}
    letters = tie_letters(count, apart)
    assert letters is not None
    assert len(letters) == count
    sets = [set(text.split()) for text in letters]
    assert all(sets)
    for i, j in pairs:
        assert bool(sets[i] & sets[j]) == ((i, j) not in apart)
    # No letter is needless: each tells of a tie that no other letter has, or is that of a run that stands alone.
    for letter in set().union(*sets):
        group = {number for number, mine in enumerate(sets) if letter in mine}
        assert not any(
            group < {number for number, mine in enumerate(sets) if other in mine}
            for other in set().union(*sets) - {letter}
        )


def test_the_best_run_has_the_first_letter() -> None:
    assert tie_letters(4, {(0, 2), (0, 3), (1, 3)}) == ["a", "a b", "b c", "c"]
    assert tie_letters(0, ()) == []


def test_more_groups_than_anybody_reads_are_no_letters() -> None:
    """The pairs 0-1, 2-3, ... told apart and no others: every choice of one of each pair is a group."""
    assert MOST_GROUPS < 2**6
    assert tie_letters(12, {(2 * n, 2 * n + 1) for n in range(6)}) is None
