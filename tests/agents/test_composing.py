"""From conversations to tokens: what the model sees is what was sampled, with only new text between."""

from dataclasses import replace
from pathlib import Path

import pytest
from holdergym.agents.agent import AgentError, Conversation, Exchange, Response
from holdergym.agents.chat_format import ChatFormat
from holdergym.agents.composing import MessageComposer, TokenComposer, Viewer
from holdergym.agents.prompt import open_prompt
from hypothesis import given, settings
from hypothesis import strategies as st

pytestmark = pytest.mark.llm


@pytest.fixture(scope="session")
def chat(tiny_checkpoint: Path) -> ChatFormat:
    from holdergym.agents.checkpoints import find_checkpoint
    from holdergym.agents.loading import load_tokenizer

    return ChatFormat(load_tokenizer(find_checkpoint(str(tiny_checkpoint))))


def composer(chat: ChatFormat, prompt: str = "chat", history: int | None = None) -> TokenComposer:
    return TokenComposer(open_prompt(prompt), Viewer(history, admissible=True), chat)


def play(made: TokenComposer, conversation: Conversation, replies: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """The prompts of an episode in which the model samples given tokens."""
    prompts = []
    for turn in range(len(replies) + 1):
        history = [
            replace(exchange, response=Response(exchange.action, "r", prompts[number], replies[number]))
            for number, exchange in enumerate(conversation.history[:turn])
        ]
        now = replace(conversation, history=history, observation=_seen(conversation, turn))
        prompts.append(made.compose(now).ids)
    return prompts


def _seen(conversation: Conversation, turn: int) -> str:
    history = conversation.history
    return history[turn].observation if turn < len(history) else conversation.observation


@settings(max_examples=25, deadline=None)
@given(st.lists(st.lists(st.integers(0, 300), min_size=1, max_size=9).map(tuple), min_size=1, max_size=5))
def test_each_prompt_begins_with_all_that_was_seen_and_said(chat, conversation, replies) -> None:
    """Whatever was sampled, be it half a character or an end token in the middle: nothing is encoded again."""
    prompts = play(composer(chat), conversation(len(replies)), replies)
    for before, reply, after in zip(prompts, replies, prompts[1:], strict=False):
        assert after[: len(before) + len(reply)] == before + reply


def test_the_text_between_is_the_template_s(chat, conversation) -> None:
    tokenizer = chat._tokenizer
    end = tokenizer.convert_tokens_to_ids("<|im_end|>")
    for ended in (True, False):
        reply = tuple(tokenizer("look", add_special_tokens=False)["input_ids"]) + ((end,) if ended else ())
        first, second = play(composer(chat), conversation(1), [reply])
        text = tokenizer.decode(second[len(first) :])
        assert text.startswith("look<|im_end|>\n<|im_start|>user\n")
        assert text.count("<|im_end|>") == 2
        assert text.endswith("<|im_start|>assistant\n")


def test_a_window_is_fresh_each_turn(chat, conversation) -> None:
    prompts = play(composer(chat, "window", 2), conversation(4), [(5, 6)] * 4)
    texts = [chat._tokenizer.decode(prompt) for prompt in prompts]
    assert all(text.count("<|im_start|>user") == 1 for text in texts)
    assert "[Observation 3: You see 2.] [Action 3: go to desk 2]" in texts[4]
    assert "[Observation 2:" not in texts[4]


def test_a_conversation_with_a_limited_history_forgets_the_oldest(chat, conversation) -> None:
    prompts = play(composer(chat, "react", 2), conversation(5), [(7, 8, 9)] * 5)
    text = chat._tokenizer.decode(prompts[5])
    assert text.count("<|im_start|>user") == 3
    assert "You see 2." not in text
    assert "You see 3." in text
    # What stays are the sampled tokens all the same.
    joined = " ".join(map(str, prompts[5]))
    assert joined.count(" 7 8 9 ") >= 2


def test_messages_say_the_same_as_tokens(chat, conversation) -> None:
    """A server that makes the tokens itself gets the conversation that the tokens here spell."""
    tokenizer = chat._tokenizer
    played = conversation(2)
    replies = ["go to desk 1 <action>look</action>", "look"]
    ids = [tuple(tokenizer(reply, add_special_tokens=False)["input_ids"]) for reply in replies]
    prompts = play(composer(chat), played, ids)
    history = [replace(e, response=Response(e.action, reply)) for e, reply in zip(played.history, replies, strict=True)]
    messages = (
        MessageComposer(open_prompt("chat"), Viewer(None, True)).compose(replace(played, history=history)).messages
    )
    text = tokenizer.apply_chat_template(
        [message._asdict() for message in messages], tokenize=False, add_generation_prompt=True
    )
    assert tokenizer.decode(prompts[-1]) == text
    assert [message.role for message in messages[-5:]] == ["user", "assistant", "user", "assistant", "user"]


def test_an_agent_without_tokens_cannot_go_on(chat, conversation) -> None:
    played = conversation(1)
    history = [Exchange("o", "a", (), Response("a", "said by a server that tells no tokens"))]
    with pytest.raises(AgentError, match=r"agent\.backend\.send=messages"):
        composer(chat).compose(replace(played, history=history))
