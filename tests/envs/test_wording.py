import pytest
from holdergym.envs.errors import nearest
from holdergym.envs.wording import counted


def test_counts() -> None:
    assert [counted(n, "task") for n in (0, 1, 2, 3553)] == ["0 tasks", "1 task", "2 tasks", "3,553 tasks"]
    assert counted(2, "failed one is", "failed ones are") == "2 failed ones are"


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("Pick", "; did you mean 'pick_and_place'?"),
        ("COOL", "; did you mean 'pick_cool_then_place'?"),
        ("lok_at_obj", "; did you mean 'look_at_obj'?"),
        ("pi", "; known: look_at_obj, pick_and_place, pick_cool_then_place"),
        ("zebra", "; known: look_at_obj, pick_and_place, pick_cool_then_place"),
    ],
)
def test_the_name_that_was_probably_meant(name: str, meant: str) -> None:
    assert nearest(name, ["pick_and_place", "pick_cool_then_place", "look_at_obj"]) == meant
