"""Runs a policy over token sequences, in parts that fit into memory, and scores the tokens that were sampled."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor

from ..agents.checkpoints import ModelError
from ..agents.sequences import TokenSequence
from .batch import PolicyTokens
from .logprobs import token_logprobs
from .processes import ALONE, Processes

if TYPE_CHECKING:
    from transformers import PreTrainedModel


class Part(NamedTuple):
    """Sequences that go through the model together.

    Attributes:
        numbers: Which sequences, in rising order.
        tokens: Numbers of their sampled tokens among those of all sequences, in order.
    """

    numbers: tuple[int, ...]
    tokens: Tensor


def cut(
    sequences: Sequence[TokenSequence],
    budget: int,
    together: Sequence[int] | None = None,
    only: Sequence[int] | None = None,
) -> list[Part]:
    """Cuts sequences into parts whose padded size is at most ``budget`` tokens, sequences of like length together.

    Args:
        sequences: What is to be cut.
        budget: Most tokens of a part, padding included. A longer sequence is a part by itself.
        together: A key for each sequence; those with equal keys stay in one part, whatever its size. None for
            no such bond.
        only: Numbers of the sequences that are wanted; None for all.
    """
    bonds: dict[int, list[int]] = {}
    for number in range(len(sequences)) if only is None else only:
        bonds.setdefault(number if together is None else together[number], []).append(number)
    longest = {key: max(len(sequences[number].ids) for number in numbers) for key, numbers in bonds.items()}
    starts = [0]
    for one in sequences:
        starts.append(starts[-1] + sum(one.lengths))
    parts: list[list[int]] = []
    for key in sorted(bonds, key=lambda key: (longest[key], key)):
        # The bonds come by rising length, so the last one added is the longest of the part.
        if parts and (len(parts[-1]) + len(bonds[key])) * longest[key] <= budget:
            parts[-1] += bonds[key]
        else:
            parts.append(list(bonds[key]))
    return [_part(sorted(numbers), starts) for numbers in parts]


def _part(numbers: list[int], starts: list[int]) -> Part:
    ranges = [torch.arange(starts[number], starts[number + 1]) for number in numbers]
    return Part(tuple(numbers), torch.cat(ranges))


class Scorer:
    """Scores sampled tokens by a policy.

    Args:
        model: A causal language model with an output layer (``get_output_embeddings``).
        temperature: Sampling temperature: the logits are divided by it.
    """

    def __init__(self, model: "PreTrainedModel", temperature: float = 1.0) -> None:
        self._model = model
        self._temperature = temperature

    def part(self, sequences: Sequence[TokenSequence], *, entropy: bool = True, gradient: bool = True) -> PolicyTokens:
        """Scores the sampled tokens of some sequences in one pass, in their order; differentiable.

        Sequences are padded on the right, and the padding is masked: under causal attention no token sees what
        stands behind it, so padding changes nothing.

        Args:
            sequences: At least one.
            entropy: Whether the entropies are differentiable.
            gradient: Whether anything is.
        """
        device = self._model.device
        width = max(len(one.ids) for one in sequences)
        ids = torch.zeros((len(sequences), width), dtype=torch.long)
        seen = torch.zeros((len(sequences), width), dtype=torch.long)
        sampled = torch.zeros((len(sequences), width), dtype=torch.bool)
        for row, one in enumerate(sequences):
            ids[row, : len(one.ids)] = torch.tensor(one.ids)
            seen[row, : len(one.ids)] = 1
            sampled[row, : len(one.ids)] = torch.tensor(one.mask)
        ids, seen, sampled = ids.to(device), seen.to(device), sampled.to(device)
        with torch.set_grad_enabled(gradient):
            # The body alone: its head would make the whole table of logits.
            hidden = self._model.base_model(input_ids=ids, attention_mask=seen, use_cache=False).last_hidden_state
            # What stands before a token predicts it. A sequence begins with a prompt, so there always is something.
            before = hidden[:, :-1][sampled[:, 1:]]
            head = self._model.get_output_embeddings()
            scores = token_logprobs(
                before,
                head.weight,
                ids[:, 1:][sampled[:, 1:]],
                bias_V=getattr(head, "bias", None),
                temperature=self._temperature,
                entropy_gradient=entropy and gradient,
            )
        return PolicyTokens(scores.logp_T, scores.entropy_T)

    def all(self, sequences: Sequence[TokenSequence], budget: int, processes: Processes = ALONE) -> PolicyTokens:
        """Scores the sampled tokens of all sequences without gradients.

        Args:
            sequences: At least one.
            budget: Most tokens in the model at once, padding included.
            processes: Who shares the work; each gets all scores.
        """
        total = sum(sum(one.lengths) for one in sequences)
        logp_T, entropy_T = torch.zeros(total), torch.zeros(total)
        mine = processes.deal([len(one.ids) for one in sequences], range(len(sequences)))
        parts = cut(sequences, budget, only=mine)
        idle = processes.idle(len(parts))
        for part in parts:
            scores = self.part([sequences[number] for number in part.numbers], gradient=False)
            assert scores.entropy_T is not None
            logp_T[part.tokens] = scores.logp_T.float().cpu()
            entropy_T[part.tokens] = scores.entropy_T.float().cpu()
        for _ in range(idle):
            self.part([min(sequences, key=lambda one: len(one.ids))], gradient=False)
        return PolicyTokens(processes.sum(logp_T), processes.sum(entropy_T))


# What rounding makes of two ways through one model, at most; the second for numbers of 16 bits.
_ROUNDING, _ROUNDING_16 = 1e-4, 0.05


def require_plain_head(model: "PreTrainedModel") -> None:
    """Checks that a model's logits are its output layer times its last hidden states, which is how tokens are scored.

    Some architectures scale or cap their logits behind the output layer (Granite, Cohere, Gemma 2 and 3).

    Raises:
        ModelError: If they are something else: the policy that is trained would not be the one that plays.
    """
    ids = torch.arange(min(16, int(model.get_input_embeddings().num_embeddings)), device=model.device)[None]
    with torch.no_grad():
        logits = model(input_ids=ids, use_cache=False).logits.float()
        hidden = model.base_model(input_ids=ids, use_cache=False).last_hidden_state
        head = model.get_output_embeddings()
        plain = torch.nn.functional.linear(hidden, head.weight, getattr(head, "bias", None)).float()
    off = float((logits.log_softmax(-1) - plain.log_softmax(-1)).abs().max())
    if not off < (_ROUNDING if model.dtype == torch.float32 else _ROUNDING_16):
        raise ModelError(
            f"the logits of a {type(model).__name__} are not its output layer times its hidden states (off by "
            f"{off:.3g}): such a model cannot be trained here yet"
        )
