"""Chat templates: prompts that only ever grow, whatever the model has sampled."""

from pathlib import Path

import pytest

transformers = pytest.importorskip("transformers")

from holdergym.agents.backends.backend import Message  # noqa: E402
from holdergym.agents.chat_format import ChatFormat  # noqa: E402
from holdergym.agents.checkpoints import ModelError, find_checkpoint  # noqa: E402
from holdergym.agents.loading import load_tokenizer  # noqa: E402
from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

from .conftest import CHAT_TEMPLATE, save_tokenizer  # noqa: E402

pytestmark = pytest.mark.llm
END = 2  # <|im_end|>
TALK = [Message("system", "You play."), Message("user", "You see a desk 1.")]


@pytest.fixture(scope="module")
def tokenizer(tiny_checkpoint: Path):  # type: ignore[no-untyped-def]
    """The small checkpoint's."""
    return load_tokenizer(find_checkpoint(str(tiny_checkpoint)))


def test_a_prompt_is_what_the_template_makes(tokenizer) -> None:  # type: ignore[no-untyped-def]
    ids = ChatFormat(tokenizer).begin(TALK)
    assert list(ids) == tokenizer.apply_chat_template(
        [message._asdict() for message in TALK], add_generation_prompt=True, return_dict=False
    )
    assert tokenizer.decode(ids).endswith("<|im_end|>\n<|im_start|>assistant\n")


@settings(max_examples=100, deadline=None)
@given(
    response=st.lists(st.integers(0, 399), max_size=12),
    ends=st.booleans(),
    said=st.text(max_size=30),
)
def test_a_prompt_goes_on_from_exactly_what_was_sampled(  # type: ignore[no-untyped-def]
    tokenizer, response: list[int], ends: bool, said: str
) -> None:
    chat = ChatFormat(tokenizer)
    prompt_ids = chat.begin(TALK)
    response_ids = (*[token for token in response if token != END], *([END] if ends else []))
    following = chat.go_on(prompt_ids, response_ids, Message("user", said))
    assert following[: len(prompt_ids) + len(response_ids)] == prompt_ids + response_ids
    # One end token stands behind a response, whether it was sampled or not.
    behind = tokenizer(f"<|im_end|>\n<|im_start|>user\n{said}<|im_end|>\n<|im_start|>assistant\n")["input_ids"]
    assert list(following[len(prompt_ids) + len(response_ids) :]) == (behind[1:] if ends else behind)


def test_what_the_user_says_cannot_be_taken_for_the_response(tokenizer) -> None:  # type: ignore[no-untyped-def]
    chat = ChatFormat(tokenizer)
    following = chat.go_on((5,), (6, END), Message("user", "I say @@response@@ twice: @@response@@"))
    assert tokenizer.decode(following[3:]).startswith("\n<|im_start|>user\nI say @@response@@ twice")


NO_SYSTEM = (
    "{% if messages[0].role == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}" + CHAT_TEMPLATE
)
DROPS_SYSTEM = CHAT_TEMPLATE.replace("for message in messages", "for message in messages if message.role != 'system'")


@pytest.mark.parametrize("template", [NO_SYSTEM, DROPS_SYSTEM])
def test_where_a_template_knows_no_system_message_the_user_says_it(tokenizer, template: str) -> None:  # type: ignore[no-untyped-def]
    text = tokenizer.decode(ChatFormat(tokenizer, template).begin(TALK))
    assert text == "<|im_start|>user\nYou play.\n\nYou see a desk 1.<|im_end|>\n<|im_start|>assistant\n"


def test_arguments_reach_the_template(tokenizer) -> None:  # type: ignore[no-untyped-def]
    template = CHAT_TEMPLATE + "{% if enable_thinking is defined and not enable_thinking %}<think></think>{% endif %}"
    for arguments, ends in (({}, "assistant\n"), ({"enable_thinking": False}, "<think></think>")):
        assert tokenizer.decode(ChatFormat(tokenizer, template, arguments).begin(TALK)).endswith(ends)


@pytest.mark.parametrize(
    ("template", "words"),
    [
        ("{% for %}", "the model's chat template fails: Expected an expression"),
        ("{{ messages[7].content }}", "the model's chat template fails: "),
        ("{{ raise_exception('never') }}", "the model's chat template fails: never"),
        (CHAT_TEMPLATE.replace("for message in messages", "for message in messages[:1]"), "leaves out what the model"),
    ],
)
def test_a_template_that_cannot_be_used_is_refused_before_anything_is_played(  # type: ignore[no-untyped-def]
    tokenizer, template: str, words: str
) -> None:
    with pytest.raises(ModelError) as caught:
        ChatFormat(tokenizer, template)
    assert words in str(caught.value)


def test_a_tokenizer_without_a_template_is_refused(tmp_path: Path) -> None:
    save_tokenizer(tmp_path, template=None)
    bare = transformers.AutoTokenizer.from_pretrained(tmp_path)
    with pytest.raises(ModelError, match=r"no chat template.*agent\.chat_template=plain"):
        ChatFormat(bare)
    assert ChatFormat(bare, CHAT_TEMPLATE).begin(TALK)
