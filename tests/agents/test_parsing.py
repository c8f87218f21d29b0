"""Replies as models really give them, and the command in them, by the rules of the module."""

import pytest
from holdergym.agents.parsing import Remark, Rule, nearest_command, parse_reply
from hypothesis import given
from hypothesis import strategies as st

NO_ACTION, UNCLOSED, EMPTY = Remark.NO_ACTION, Remark.UNCLOSED_ACTION, Remark.EMPTY
ENDLESS, SEVERAL, CUT = Remark.ENDLESS_THINKING, Remark.SEVERAL_ACTIONS, Remark.CUT_ACTION

# Reply, command, what is remarked besides NO_THINKING and CHINESE.
TAGS = [
    ("<think>The mug is dirty.</think><action>go to sinkbasin 1</action>", "go to sinkbasin 1", []),
    ("<think>a</think>\n\n<action>\n  look\n</action>\n", "look", []),
    ("I should look around. <action>look</action>", "look", []),
    ("<action>look</action>", "look", []),
    ("<action>look</action> That should help.", "look", []),
    ("<ACTION>Go To Shelf 1</ACTION>", "go to shelf 1", []),
    ("<Action>open fridge 1</action>", "open fridge 1", []),
    ("<action>take mug 1 from shelf 2.</action>", "take mug 1 from shelf 2.", []),
    ("<action>`look`</action>", "`look`", []),
    ('<action>"look"</action>', '"look"', []),
    ("```\n<action>look</action>\n```", "look", []),
    ("```xml\n<think>x</think><action>inventory</action>\n```", "inventory", []),
    ("**Action:** <action>look</action>", "look", []),
    ("<action>look</action><action>look</action>", "look", []),
    ("<action>look</action> or <action> LOOK </action>", "look", []),
    ("<action>look</action><action>inventory</action>", "look", [SEVERAL]),
    ("<action>go to desk 1</action>\n<action>take pen 1 from desk 1</action>", "go to desk 1", [SEVERAL]),
    ("<action>go to desk 1\ntake pen 1 from desk 1</action>", "go to desk 1\ntake pen 1 from desk 1", []),
    ("<action>look", None, [UNCLOSED]),
    ("<think>a</think><action>take mug 1 from", None, [UNCLOSED]),
    ("<action>look<action>inventory</action>", "look<action>inventory", []),
    ("<action>look</action", None, [UNCLOSED]),
    ("look</action>", None, [NO_ACTION]),
    ("look", None, [NO_ACTION]),
    ("Action: look", None, [NO_ACTION]),
    ("< action >look</ action >", None, [NO_ACTION]),
    ("&lt;action&gt;look&lt;/action&gt;", None, [NO_ACTION]),
    ("[action]look[/action]", None, [NO_ACTION]),
    ('{"action": "look"}', None, [NO_ACTION]),
    ("<act>look</act>", None, [NO_ACTION]),
    ("", None, [EMPTY]),
    (" \n\t ", None, [EMPTY]),
    ("<action></action>", None, [EMPTY]),
    ("<action>  \n </action>", None, [EMPTY]),
    ("<think>a</think>", None, [EMPTY]),
    ("<think>The mug is in the fridge. So I", None, [ENDLESS]),
    ("<think>I could say <action>look</action> but", None, [ENDLESS]),
    ("<think>Maybe <action>look</action>?</think><action>inventory</action>", "inventory", []),
    ("<think>Maybe <action>look</action>?</think>", None, [EMPTY]),
    ("<think>a</think><think>b</think><action>look</action>", "look", []),
    ("<think>a</think><action>look</action></think>", None, [EMPTY]),
    ("no opening tag here</think><action>look</action>", "look", []),
    ("<action>look</action><think>That was quick.</think>", None, [EMPTY]),
    ("<THINK>a</THINK><action>look</action>", "look", []),
    ("<think>我要看看</think><action>look</action>", "look", []),
    ("<action>看</action>", "看", []),
    ("<think>Je regarde.</think><action>regarder</action>", "regarder", []),
    ("<action>put mug 1 in/on desk 1</action>", "put mug 1 in/on desk 1", []),
    ("<action>move <mug 1> to desk 1</action>", "move <mug 1> to desk 1", []),
    ("<action>GO TO DESK 1</action>", "go to desk 1", []),
    ("<action>go  to  desk 1</action>", "go  to  desk 1", []),
    ("<action>\ud83d look</action>", "\ud83d look", []),
]
LINES = [
    ("Thought: I need a mug.\nAction: go to shelf 1", "go to shelf 1", []),
    ("Action: look", "look", []),
    ("action:look", "look", []),
    ("  ACTION:  Look  \n", "look", []),
    ("Thought: a\nAction: look\nObservation: You see a desk.", "look", []),
    ("Action: look\nAction: look", "look", []),
    ("Action: look\nThought: b\nAction: inventory", "look", [SEVERAL]),
    ("Thought: a\nAction:", None, [EMPTY]),
    ("Thought: a\nAction:   \nlook", None, [EMPTY]),
    ("Thought: I do nothing.", None, [NO_ACTION]),
    ("Thought: the Action: look would help", None, [NO_ACTION]),
    ("> Action: look", None, [NO_ACTION]),
    ("**Action:** look", None, [NO_ACTION]),
    ("Action : look", None, [NO_ACTION]),
    ("<action>look</action>", None, [NO_ACTION]),
    ("<think>Action: look</think>\nAction: inventory", "inventory", []),
    ("<think>Action: look", None, [ENDLESS]),
    ("Action: look.", "look.", []),
    ("Action: `look`", "`look`", []),
    ("Action: take mug 1 from shelf 1 # the mug", "take mug 1 from shelf 1 # the mug", []),
    ("Action 1: look", None, [NO_ACTION]),
]
WHOLE = [
    (r"The answer is \boxed{7}.", r"The answer is \boxed{7}.", []),
    (" So X = 7. \n", "So X = 7.", []),
    ("<think>7 or 8</think> \\boxed{8}", "\\boxed{8}", []),
    ("<think>7 or 8", None, [ENDLESS]),
    ("<think>7</think>", None, [EMPTY]),
    ("", None, [EMPTY]),
    ("```python\nprint(1)\n```", "```python\nprint(1)\n```", []),
]
CASES = [(Rule.TAGS, *case) for case in TAGS] + [(Rule.LINE, *c) for c in LINES] + [(Rule.WHOLE, *c) for c in WHOLE]


def test_there_are_enough_replies() -> None:
    assert len({(rule, reply) for rule, reply, _, _ in CASES}) >= 60


@pytest.mark.parametrize(("rule", "reply", "command", "remarks"), CASES, ids=[f"{c[0]}-{c[1]!r:.40}" for c in CASES])
def test_a_reply(rule: Rule, reply: str, command: str | None, remarks: list[Remark]) -> None:
    parsed = parse_reply(reply, rule)
    assert parsed.command == command
    assert [one for one in parsed.remarks if one not in (Remark.NO_THINKING, Remark.CHINESE)] == remarks
    assert (Remark.CHINESE in parsed.remarks) == any("\u4e00" <= letter <= "\u9fff" for letter in reply)
    thinks = "<think>" in reply.lower() and "</think>" in reply.lower()
    assert (Remark.NO_THINKING in parsed.remarks) == (not thinks)


@pytest.mark.parametrize(
    ("reply", "command"),
    [
        ("Thought: a\nAction: take mug 1 from", None),
        ("Thought: a\nAction: take mug 1 from shelf 1\n", "take mug 1 from shelf 1"),
        ("Action: look\nThought: and the", "look"),
        ("Action: look\nAction: inven", "look"),
        ("Thought: a\nAction: take mug 1 from \t", None),
        # The end of the reply is the command once more, but not its line.
        ("Thought: hm\nAction: look\nThen I take another look", "look"),
        ("Action: 1\nx = 1", "1"),
    ],
)
def test_a_cut_line_is_no_command_unless_it_has_ended(reply: str, command: str | None) -> None:
    parsed = parse_reply(reply, Rule.LINE, cut=True)
    assert parsed.command == command
    assert (CUT in parsed.remarks) == (command is None)


def test_a_cut_reply_with_whole_tags_counts() -> None:
    assert parse_reply("<action>look</action> and then", Rule.TAGS, cut=True).command == "look"


@pytest.mark.parametrize("cut", [False, True])
@pytest.mark.parametrize(
    ("rule", "reply", "command", "remarks"),
    [
        (Rule.TAGS, "Maybe I could <action>open fridge 1</action>? Let me think ab", None, [ENDLESS]),
        (Rule.WHOLE, r"Is it \boxed{7}? Let me check: 3", None, [ENDLESS]),
        (Rule.LINE, "So\nAction: look\nwould tell me", None, [ENDLESS]),
        (Rule.TAGS, "", None, [ENDLESS]),
        (Rule.TAGS, "Maybe <action>look</action>?</think><action>inventory</action>", "inventory", []),
        (Rule.WHOLE, r"7 or 8</think> \boxed{8}", r"\boxed{8}", []),
        (Rule.TAGS, "Hm.</think>", None, [EMPTY]),
    ],
)
def test_where_the_prompt_has_begun_the_thinking(
    rule: Rule, reply: str, command: str | None, remarks: list[Remark], cut: bool
) -> None:
    parsed = parse_reply(reply, rule, cut, thinking_open=True)
    assert parsed.command == command
    assert [one for one in parsed.remarks if one is not Remark.NO_THINKING] == remarks
    assert (Remark.NO_THINKING in parsed.remarks) == ("</think>" not in reply)


@given(st.text(st.characters(exclude_categories=()), max_size=60), st.sampled_from(Rule), st.booleans())
def test_no_text_breaks_a_rule(reply: str, rule: Rule, cut: bool) -> None:
    parsed = parse_reply(reply, rule, cut)
    assert parsed.command is None or (parsed.command and parsed.command in (reply.strip(), *_pieces(reply)))


def _pieces(reply: str) -> list[str]:
    """Everything that can stand in a reply, with and without its capitals."""
    texts = [reply, reply.lower()]
    return [text[i:j] for text in texts for i in range(len(text)) for j in range(i + 1, len(text) + 1)]


def test_ten_megabytes_take_no_time() -> None:
    for filler in ("<action>", "<think>", "</think>", "Action: ", "a", "<action>look</actio "):
        reply = filler * (10_000_000 // len(filler))
        for rule in Rule:
            parse_reply(reply, rule)


COMMANDS = ["go to desk 1", "go to desk 2", "inventory", "look", "take mug 1 from desk 1"]


@pytest.mark.parametrize(
    ("command", "nearest"),
    [
        ("look.", "look"),
        ("go to desk", "go to desk 1"),
        ("take mug from desk 1", "take mug 1 from desk 1"),
        ("`inventory`", "inventory"),
        ("fly to the moon", None),
        ("", None),
        ("look" * 100_000, None),
    ],
)
def test_the_nearest_command(command: str, nearest: str | None) -> None:
    assert nearest_command(command, COMMANDS) == nearest


@pytest.mark.parametrize(
    ("reply", "command", "remark"),
    [
        ("#2", "go to desk 2", None),
        ("2", "go to desk 2", None),
        (" #5 \n", "take mug 1 from desk 1", None),
        ("<think>the mug</think>#3", "inventory", None),
        ("#6", None, Remark.NO_SUCH_CHOICE),
        ("0", None, Remark.NO_SUCH_CHOICE),
        ("#-1", None, NO_ACTION),
        ("1 2", None, NO_ACTION),
        ("number 2", None, NO_ACTION),
        ("look", None, NO_ACTION),
        ("\u0662", None, NO_ACTION),  # a digit, but not one of ours
        ("1234567", None, NO_ACTION),
        (" ", None, EMPTY),
    ],
)
def test_a_choice(reply: str, command: str | None, remark: Remark | None) -> None:
    parsed = parse_reply(reply, Rule.CHOICE, commands=COMMANDS)
    assert parsed.command == command
    assert [one for one in parsed.remarks if one is not Remark.NO_THINKING] == ([remark] if remark else [])
    # A reply that was cut may lack digits: 1 of 12.
    assert parse_reply(reply, Rule.CHOICE, True, COMMANDS).command is None
