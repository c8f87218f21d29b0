"""Prompt files: the package's own, and what is wrong with others."""

from pathlib import Path

import pytest
from holdergym.agents.composing import Viewer
from holdergym.agents.parsing import Rule
from holdergym.agents.prompt import (
    PROMPTS,
    PastTurn,
    Prompt,
    PromptError,
    Style,
    TurnView,
    built_in_template,
    open_prompt,
)

pytest.importorskip("jinja2", reason="needs jinja2: the extra `train`")

VIEW = TurnView(
    task="put a clean mug in desk.",
    introduction="-= Welcome =- You see a desk 1.\n\nYour task is to: put a clean mug in desk.",
    observation="You arrive at desk 1.",
    commands=("go to desk 1", "help", "look"),
    step=3,
    past=(PastTurn(2, "You see nothing.", "look"), PastTurn(3, "Nothing happens.", "")),
    first=False,
    dialect="0.4",
)
LEAST = '{% set style = "window" %}{% set rule = "tags" %}{% macro user(turn) %}hi{% endmacro %}'


@pytest.mark.parametrize("name", PROMPTS)
def test_the_own_prompts(name: str) -> None:
    prompt = open_prompt(name)
    assert prompt.name == name
    assert len(prompt.digest) == 64
    text = prompt.user(VIEW)
    assert (VIEW.observation in text) == (name != "tiny")  # there, what is seen is in the commands
    assert "help" not in text.split()  # a command that only tells of the others
    assert "{" not in text
    assert ("look" in text) == (name not in ("free", "tiny"))


def test_window_is_verl_agent_s_protocol() -> None:
    prompt = open_prompt("window")
    assert (prompt.style, prompt.rule, prompt.history, prompt.system(VIEW)) == (Style.WINDOW, Rule.TAGS, 2, "")
    text = prompt.user(VIEW)
    for part in (
        "Your task is to: put a clean mug in desk.",
        "3 commands so far",
        "[Observation 2: You see nothing.] [Action 2: look]",
        "[Observation 3: Nothing happens.] [Action 3: (none)]",
        "You are at step 4. What you see now: You arrive at desk 1.",
        "<think>",
        "<action>",
        "go to desk 1\nlook",
    ):
        assert part in text
    # The task is told apart only from the second turn on: the first observation says it itself.
    first = prompt.user(TurnView(VIEW.task, "x", "x", (), 0, (), True, "0.4"))
    assert "Your task is to" not in first
    assert "work now" not in first


@pytest.mark.parametrize(("dialect", "wording"), [("0.4", "move cup 2 to shelf 1"), ("0.3", "put cup 2 in/on shelf 1")])
def test_the_wording_of_the_dialect(dialect: str, wording: str) -> None:
    view = TurnView("t", "i", "o", (), 0, (), True, dialect)
    assert wording in open_prompt("react").system(view)
    other = "put OBJECT in/on PLACE" if dialect == "0.3" else "move OBJECT to PLACE"
    assert other in open_prompt("chat").system(view)


def test_a_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.jinja"
    path.write_text(LEAST.replace("hi", "{{ turn.observation | upper }}"), encoding="utf-8")
    prompt = open_prompt(str(path))
    assert prompt.name == "mine.jinja"
    assert prompt.user(VIEW) == "YOU ARRIVE AT DESK 1."
    assert prompt.digest != open_prompt("window").digest


def test_text_is_not_escaped_as_html() -> None:
    prompt = Prompt("p", LEAST.replace("hi", "<b>{{ turn.observation }}</b>"))
    view = TurnView("t", "i", "a < b & c", (), 0, (), True, "0.4")
    assert prompt.user(view) == "<b>a < b & c</b>"


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("", "does not set 'style'"),
        (LEAST.replace('"window"', '"windo"'), "style cannot be 'windo'.* did you mean 'window'"),
        (LEAST.replace('"tags"', '"tag"'), "rule cannot be 'tag'"),
        (LEAST.replace("user", "usr"), "has no macro 'user'"),
        (LEAST.replace("hi", "  "), "gives no text"),
        (LEAST.replace("hi", "{{ turn.obs }}"), "its macro 'user' fails: .*obs"),
        (LEAST.replace("hi", "{{ 1 / 0 }}"), "its macro 'user' fails"),
        (LEAST.replace("hi", "{{ turn.__class__ }}"), "its macro 'user' fails"),
        (LEAST + "{% if %}", "line 1"),
        (LEAST + "{{ 1 / 0 }}", "division by zero"),
        (LEAST + "{% set many = range(1000000000) %}", "Range too big"),
        (LEAST.replace("hi", "{{ user(turn) }}"), "its macro 'user' fails: .*recursion"),
        (LEAST + '{% set stop = "x" %}', "stop must be a list of texts"),
        (LEAST + '{% set stop = [""] %}', "stop must be a list of texts"),
        (LEAST + "{% set history = -1 %}", "history must be a number"),
        (LEAST + '{% set examples = [{"user": "x"}] %}', "an example is"),
        (LEAST + "{% set examples = 3 %}", "examples must be a list"),
    ],
)
def test_a_file_that_is_no_prompt(source: str, message: str) -> None:
    with pytest.raises(PromptError, match=message) as failure:
        Prompt("mine", source)
    assert "\n" not in str(failure.value)


def test_no_such_prompt(tmp_path: Path) -> None:
    with pytest.raises(PromptError, match=r"no prompt 'reac'.*did you mean 'react'"):
        open_prompt("reac")
    binary = tmp_path / "binary"
    binary.write_bytes(b"\xff\xfe")
    with pytest.raises(PromptError, match="not UTF-8"):
        open_prompt(str(binary))


def test_each_template_is_told_of_in_its_first_line() -> None:
    for name in PROMPTS:
        assert built_in_template(name).startswith("{#-")


def test_a_viewer_hides_what_the_settings_withhold(conversation) -> None:
    played = conversation(5)
    assert Viewer(None, admissible=False).view(played, 5, first=False).commands == ()
    view = Viewer(2, admissible=True).view(played, 5, first=False)
    assert [past.number for past in view.past] == [4, 5]
    assert view.task == "put a clean mug in desk 1."
    assert view.step == 5
    assert Viewer(0, admissible=True).view(played, 5, first=False).past == ()
    assert len(Viewer(None, admissible=True).view(played, 5, first=False).past) == 5
    assert Viewer(None, True, "0.3").view(played, 0, first=True).dialect == "0.3"
