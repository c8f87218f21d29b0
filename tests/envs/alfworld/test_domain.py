import json

import pytest
from holdergym.envs.alfworld.dialect import Dialect, recognise
from holdergym.envs.alfworld.domain import DOMAIN, game_file_text, grammar
from holdergym.envs.alfworld.game import Game
from holdergym.envs.alfworld.game_file import make_game, read_file
from holdergym.envs.alfworld.problem import Problem
from holdergym.envs.errors import GameError

SENTENCE = "Your task is to: clean some apple and put it in fridge."


@pytest.fixture
def game(kitchen: Problem) -> Game:
    return Game.make("alfworld/test/kitchen/1", kitchen, SENTENCE, ("go to fridge 1",))


def test_own_rules_are_recognised_as_dialect_0_4():
    assert recognise(DOMAIN, grammar(SENTENCE)) == (Dialect.V04, SENTENCE, "")


@pytest.mark.parametrize("edited", [DOMAIN + " ", DOMAIN.replace("openable", "Openable")])
def test_edited_rules_are_refused(edited: str):
    with pytest.raises(GameError, match="domain"):
        recognise(edited, grammar(SENTENCE))


def test_own_domain_is_refused_with_another_grammar():
    with pytest.raises(GameError, match="other rules"):
        recognise(DOMAIN, grammar(SENTENCE).replace("take {o}", "grab {o}"))


@pytest.mark.parametrize("sign", ["{", "}", "[", "]", "#", "|", ";", '"', "\\", "<", ">", "\n", "\t"])
def test_sentence_that_the_grammar_would_change_is_refused(sign: str):
    with pytest.raises(GameError, match="task sentence"):
        grammar(f"Your task is to: put a mug{sign} in desk.")


def test_sentence_must_be_a_task_line():
    with pytest.raises(GameError, match="does not start"):
        grammar("put a mug in desk.")


@pytest.mark.parametrize("sentence", ["Your task is to: put a café's mug (hot, 50%) in desk!", SENTENCE])
def test_sentence_comes_back(sentence: str):
    assert recognise(DOMAIN, grammar(sentence)).sentence == sentence


def test_game_file_is_read_back_as_the_same_game(game: Game, tmp_path):
    path = tmp_path / "test" / "kitchen" / "1" / "game.tw-pddl"
    path.parent.mkdir(parents=True)
    path.write_text(game_file_text(game))
    read = make_game(path, read_file(path))
    assert read.task == game.task
    assert (read.problem, read.sentence, read.walkthrough) == (game.problem, game.sentence, game.walkthrough)


def test_game_file_has_the_official_keys(game: Game):
    entries = json.loads(game_file_text(game))
    assert sorted(entries) == ["grammar", "pddl_domain", "pddl_problem", "solvable", "walkthrough"]
    assert entries["solvable"] is True


def test_game_file_of_the_old_dialect_is_refused(kitchen: Problem):
    old = Game.make("alfworld/test/kitchen/1", kitchen, SENTENCE, None, dialect="0.3")
    with pytest.raises(GameError, match=r"dialect 0\.3"):
        game_file_text(old)
