import importlib.util
import json
import string
from pathlib import Path

import pytest
from holdergym.envs.alfworld.dialect import Dialect, recognise
from holdergym.envs.errors import GameError

GRAMMAR = 'grammar :: """ {"intro": [], "task": [ {"rhs": "%s"} ] } """; action x { template :: "%s"; }'
OLD_TEMPLATE = "put {o} in/on {r}"


def test_the_old_dialect_is_known_by_its_template() -> None:
    wording = recognise("(define (domain alfred))", GRAMMAR % ("Your task is to: put a mug in desk.", OLD_TEMPLATE))
    assert wording[:2] == (Dialect.V03, "Your task is to: put a mug in desk.")
    assert len(wording.rules) == 64


def test_any_other_wording_is_refused() -> None:
    with pytest.raises(
        GameError, match=r"the domain \(sha256 [0-9a-f]{12}\.\.\.\) is not that of ALFWorld 0\.4 or 0\.3"
    ):
        recognise("(define (domain other))", GRAMMAR % ("Your task is to: x.", "move {o} to {r}"))


def test_a_task_sentence_may_be_escaped_as_json() -> None:
    assert recognise("", GRAMMAR % (r"Your task is to: drink caf\u00e9.", OLD_TEMPLATE)).sentence.endswith("café.")


@pytest.mark.parametrize("sign", ["[", "]", "{", "}", "<", ">", "#", "|", ";", r"\"", r"\\", r"\n", r"\r", r"\t"])
def test_signs_of_the_text_grammar_are_refused_in_a_task_sentence(sign: str) -> None:
    with pytest.raises(GameError, match="which the text grammar would take as a command"):
        recognise("", GRAMMAR % (f"Your task is to: a{sign}b", OLD_TEMPLATE))


@pytest.mark.shared
def test_the_released_texts_are_dialect_04(shared: Path) -> None:
    domain = (shared / "alfworld" / "domain.pddl").read_text()
    grammar = (shared / "alfworld" / "grammar_template.twl2").read_text()
    sentence = "Your task is to: put some mug on desk."
    assert recognise(domain, grammar.replace("{TASK}", sentence)) == (Dialect.V04, sentence, "")
    for changed in (grammar.replace("You arrive at", "You came to"), grammar + " "):
        with pytest.raises(GameError, match="the grammar"):
            recognise(domain, changed.replace("{TASK}", sentence))
    with pytest.raises(GameError, match="the domain"):
        recognise(domain + " ", grammar.replace("{TASK}", sentence))


def _package_data() -> Path:
    """The folder with the texts that the package alfworld ships, found without importing it."""
    spec = importlib.util.find_spec("alfworld")
    if spec is None or spec.origin is None:
        pytest.skip("the extra 'alfworld' is not installed")
    return Path(spec.origin).parent / "data"


@pytest.mark.stock
def test_the_texts_of_the_package_are_dialect_04() -> None:
    """``alfworld-generate`` writes them into games with human task sentences."""
    data = _package_data()
    grammar = (data / "alfred.twl2").read_text()
    wording = recognise((data / "alfred.pddl").read_text(), grammar)
    assert wording == (Dialect.V04, "Your task is to: UNKNOWN GOAL.", "")


@pytest.mark.stock
@pytest.mark.shared
def test_the_stock_engine_shows_the_sentences_that_are_accepted_as_they_are(
    official_data: Path, tmp_path: Path
) -> None:
    """Every printable ASCII character that is not refused, more than one blank, and a letter with an accent."""
    _package_data()
    textworld = pytest.importorskip("textworld")
    refused = set('[]{}<>#|;"\\')
    accepted = "".join(sign for sign in string.printable if sign.isprintable() and sign not in refused)
    sentence = f"Your task is to:  {accepted}  é"
    path = next(official_data.glob("json_2.1.1/valid_unseen/*/*/game.tw-pddl"))
    game = json.loads(path.read_text())
    original = recognise(game["pddl_domain"], game["grammar"]).sentence
    game["grammar"] = game["grammar"].replace(original, sentence, 1)
    assert recognise(game["pddl_domain"], game["grammar"]).sentence == sentence
    (tmp_path / "game.tw-pddl").write_text(json.dumps(game))
    env = textworld.start(str(tmp_path / "game.tw-pddl"), textworld.EnvInfos(feedback=True))
    assert env.reset().feedback.endswith("\n\n" + sentence)
