"""Real checkpoints: a small one with random weights, made here, and the embedded one.

Tests that are marked ``llm`` need torch and transformers, and those marked ``vllm`` a vLLM engine as well. Where these
are not installed the tests are skipped and say so.
"""

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest
from holdergym.agents.agent import Conversation, Exchange
from holdergym.envs.task import Task

CHAT_TEMPLATE: Final = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
_NEEDED = {"llm": ("torch", "transformers"), "vllm": ("torch", "transformers", "vllm")}
# What the tokenizer is trained on: enough for words as tokens, and for some that are cut.
_TEXT = (
    "You are in the middle of a room. Looking quickly around you, you see a cabinet 1, a countertop 1, a desk 2. "
    "Your task is to: put a clean mug in desk. go to desk 1, take mug 1 from desk 1, open fridge 1, heat, cool, look. "
    "Nothing happens. On the countertop 1, you see an apple 1, a bread 1 and a knife 2. Grüße, 你好, 🙂."
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skips what needs a package that is not installed."""
    missing = {
        mark: [package for package in packages if importlib.util.find_spec(package) is None]
        for mark, packages in _NEEDED.items()
    }
    for item in items:
        for mark, packages in missing.items():
            if packages and item.get_closest_marker(mark):
                item.add_marker(pytest.mark.skip(reason=f"needs {', '.join(packages)}: the extra of that name"))


def save_tokenizer(folder: Path, *, template: str | None = CHAT_TEMPLATE) -> int:
    """Trains and saves a small tokenizer, and returns the number of its tokens."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        special_tokens=["<|endoftext|>", "<|im_start|>", "<|im_end|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator([_TEXT], trainer)
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<|im_end|>", pad_token="<|endoftext|>")
    if template is not None:
        fast.chat_template = template
    fast.save_pretrained(folder)
    return len(fast)


@pytest.fixture(scope="session")
def tiny_checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a Llama with two layers and random weights, whose replies are as varied as they are senseless."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    folder = tmp_path_factory.mktemp("models") / "tiny-llama"
    vocabulary = save_tokenizer(folder)
    config = LlamaConfig(
        vocab_size=vocabulary,
        hidden_size=128,
        intermediate_size=192,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        head_dim=64,
        max_position_embeddings=512,
        # Far from uniform, so that the most likely token does not hang on rounding.
        initializer_range=0.25,
        bos_token_id=None,
        eos_token_id=2,
        pad_token_id=0,
    )
    torch.manual_seed(20)
    LlamaForCausalLM(config).save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def smollm2() -> Path:
    """The folder of the embedded checkpoint; made for the first time, that takes a minute and a download."""
    from holdergym.agents.checkpoints import ModelError, find_checkpoint
    from holdergym.envs.errors import MissingExtraError

    try:
        return find_checkpoint("smollm2-135m").folder
    except (ModelError, MissingExtraError) as error:
        pytest.skip(f"no embedded checkpoint: {error}")


@pytest.fixture(scope="session")
def conversation() -> Callable[[int], Conversation]:
    """Makes a conversation of some finished turns."""

    def make(turns: int) -> Conversation:
        task = Task("alfworld/made_up/t0", "pick_clean_then_place_in_recep", "0" * 64)
        opening = "You see 0.\n\nYour task is to: put a clean mug in desk 1."
        history = [
            Exchange(opening if turn == 0 else f"You see {turn}.", f"go to desk {turn}", ("help", "look"))
            for turn in range(turns)
        ]
        return Conversation(task, 0, 7, history, opening if not turns else f"You see {turns}.", ("help", "look"))

    return make
