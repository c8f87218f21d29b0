"""Makes tiny policies: a Llama with random weights, and a tokenizer whose tokens are words."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ...agents.loading import quiet_transformers
from ...envs.errors import MissingExtraError
from .vocabulary import PATTERN, World, words

if TYPE_CHECKING:
    from transformers import LlamaForCausalLM, PreTrainedTokenizerBase
    from transformers.models.llama.modeling_llama import LlamaAttention

UNKNOWN, END, PADDING = "<|unknown|>", "<|end|>", "<|padding|>"
_ROLES = {role: f"<|{role}|>" for role in ("system", "user", "assistant")}

# Prompts are short, so the slowest wave need not be long; and how much nearer neighbours of the right place score less.
_ROPE_BASE = 100.0
_SHARPNESS = 6.0

_TEMPLATE = (
    "{% for message in messages %}<|{{ message.role }}|>{{ message.content }}"
    "{% if message.role == 'assistant' %}<|end|>{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TinySize:
    """How large a tiny policy is.

    Attributes:
        layers: Number of layers.
        width: Numbers that stand for a token.
        heads: Heads of attention; they share the width.
        inner: Width inside the feed-forward parts.
        context: Most tokens of a prompt and its response.
    """

    layers: int = 3
    width: int = 128
    heads: int = 8
    inner: int = 256
    context: int = 4096


def make_tiny_policy(folder: Path, world: World, *, size: TinySize | None = None, seed: int = 0) -> int:
    """Writes a policy that knows nothing yet, as a checkpoint that the evaluator loads.

    It is a Llama (arXiv 2302.13971) with one table for input and output. Its tokenizer knows the words of the
    environment and no others, which all become the same token.

    Args:
        folder: Where to write; it is made if it is not there.
        world: ``alfworld`` or ``math``.
        size: How large.
        seed: Seed of the weights.

    Returns:
        The number of weights.

    Raises:
        MissingExtraError: If torch or transformers are not installed.
    """
    try:
        import torch
        from transformers import LlamaConfig, LlamaForCausalLM
    except ModuleNotFoundError as error:
        raise MissingExtraError("a tiny policy", "train", error.name or "torch") from None
    size = size or TinySize()
    tokenizer = make_tokenizer(world)
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=size.width,
        intermediate_size=size.inner,
        num_hidden_layers=size.layers,
        num_attention_heads=size.heads,
        num_key_value_heads=size.heads,
        max_position_embeddings=size.context,
        attention_bias=True,
        rope_parameters={"rope_type": "default", "rope_theta": _ROPE_BASE},
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        initializer_range=size.width**-0.5,
    )
    # The caller's own random numbers go on as if nothing had been drawn here.
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = LlamaForCausalLM(config)
    with torch.no_grad():
        _begin_quietly(model)
        _look_back(model.model.layers[0].self_attn, size)
    with quiet_transformers():
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
    return int(model.num_parameters())


def _begin_quietly(model: "LlamaForCausalLM") -> None:
    """Lets every layer begin by doing nothing, so that a token is not drowned in what random weights make of others.

    Tokens begin with numbers of the size that the layers' norms give out, and the last norm makes up for it in the
    output, which has the same table. With small ones the first norm multiplies every step of the table, and the policy
    of one optimiser step is far from that of the step before.
    """
    width = model.config.hidden_size
    model.model.embed_tokens.weight.mul_(width**0.5)
    model.model.norm.weight.fill_(width**-0.5)
    for layer in model.model.layers:
        layer.self_attn.o_proj.weight.zero_()
        layer.mlp.down_proj.weight.zero_()


def _look_back(attention: "LlamaAttention", size: TinySize) -> None:
    """Lets head h of the first layer begin by looking at the token h + 1 places before.

    To find out that neighbours belong together is what takes a small model longest. With constant queries and keys the
    score under rotary positions (arXiv 2104.09864) hangs on the distance d alone: the sum of cos((d - h - 1) f) over
    all frequencies f, which is largest at d = h + 1.
    """
    import torch

    half = size.width // size.heads // 2
    frequency_F = _ROPE_BASE ** (-torch.arange(half) / half)
    distance_H = torch.arange(1, size.heads + 1)
    angle_H_F = distance_H[:, None] * frequency_F
    key_H_F = torch.ones_like(angle_H_F)
    strength = (_SHARPNESS * (2 * half) ** 0.5) ** 0.5
    attention.q_proj.weight.zero_()
    attention.k_proj.weight.zero_()
    attention.q_proj.bias.copy_(strength * torch.cat([angle_H_F.cos(), -angle_H_F.sin()], dim=1).flatten())
    attention.k_proj.bias.copy_(strength * torch.cat([key_H_F, 0 * key_H_F], dim=1).flatten())


def make_tokenizer(world: World) -> "PreTrainedTokenizerBase":
    """The tokenizer of a tiny policy.

    Decoding gives back the text, as every word carries the blank before it; a word that is not known is lost.
    """
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    special = [UNKNOWN, END, PADDING, *_ROLES.values()]
    numbers = {word: number for number, word in enumerate([*special, *words(world)])}
    tokenizer = Tokenizer(models.WordLevel(numbers, unk_token=UNKNOWN))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(PATTERN[world]), "isolated")
    tokenizer.decoder = decoders.Fuse()
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        unk_token=UNKNOWN,
        eos_token=END,
        pad_token=PADDING,
        additional_special_tokens=list(_ROLES.values()),
        clean_up_tokenization_spaces=False,
    )
    fast.chat_template = _TEMPLATE
    return fast
