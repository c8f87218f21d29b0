"""What a plan says of the episodes of a run."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from holdergym.agents.language_model_settings import LanguageModelSettings
from holdergym.training import Method, preset
from holdergym.training.planning import plan_as_text
from holdergym.training.variants.s2l import ExplorerMix

from ..word_game import settings


def planned(checkpoint: Path, method: Method, **changes: Any) -> list[str]:
    """The lines behind the settings."""
    text = plan_as_text(settings(checkpoint, method, **changes))
    return text[text.index("A round: ") :].splitlines()


def test_one_is_not_told_as_many(tiny_checkpoint: Path) -> None:
    method = preset("reinforce++")
    lines = planned(tiny_checkpoint, method, rounds=1, groups=1, group_size=1, updates=1, max_steps=1)
    assert lines[0] == (
        "A round: 1 task x 1 episode = 1 episode of at most 1 turn of at most 4 tokens: at most 4 sampled tokens; 1 "
        "optimiser step."
    )
    assert lines[1] == "The run: 1 round, 1 episode, 1 optimiser step."
    assert planned(tiny_checkpoint, method)[:2] == [
        "A round: 3 tasks x 4 episodes = 12 episodes of at most 1 turn of at most 4 tokens: at most 48 sampled tokens; "
        "2 optimiser steps.",
        "The run: 2 rounds, 24 episodes, 4 optimiser steps.",
    ]


@pytest.mark.parametrize(
    ("transition", "rounds", "said"),
    [
        (0, 4, "plays no episode: its share is 0 in all rounds of the run."),
        (None, 1, "plays no episode: its share is 0 in all rounds of the run."),
        (1, 4, "plays 25.0% of the episodes, all of them in round 1."),
        (2, 4, "plays 25.0% of the episodes, all of them in round 1."),
        (3, 4, "plays 37.5% of the episodes, all of them in rounds 1 to 2."),
        (9, 1, "plays 100.0% of the episodes, all of them in round 1."),
    ],
)
def test_when_the_explorer_plays(
    tiny_checkpoint: Path, explorer: Path, transition: int | None, rounds: int, said: str
) -> None:
    method = replace(preset("s2l-po"), source=ExplorerMix(transition=transition))
    named = LanguageModelSettings(model=str(explorer))
    assert f"{explorer} {said}" in planned(tiny_checkpoint, method, explorer=named, rounds=rounds)


def test_episodes_that_are_rounded_up_or_played_twice_are_counted(
    tiny_checkpoint: Path, explorer: Path, partner: Path
) -> None:
    """Of groups of 5 apart, four rounds play 5 + 0, 4 + 2, 2 + 4 and 0 + 5."""
    apart = replace(preset("s2l-po"), source=ExplorerMix(transition=4, groups="separate"))
    lines = planned(tiny_checkpoint, apart, explorer=LanguageModelSettings(model=str(explorer)), rounds=4, group_size=5)
    assert lines[0].startswith("A round: 3 tasks x at most 6 episodes = 18 episodes of")
    assert lines[1].startswith("The run: 4 rounds, 66 episodes,")
    twice = planned(tiny_checkpoint, preset("codistill"), partner=LanguageModelSettings(model=str(partner)))
    assert twice[0].startswith("A round: 3 tasks x 8 episodes = 24 episodes")
    assert twice[1].startswith("The run: 2 rounds, 48 episodes")
