"""One pass of a transformers model."""

import inspect

from torch import Tensor
from transformers import PreTrainedModel
from transformers.cache_utils import Cache

from ..checkpoints import ModelError


class Forward:
    """Computes the logits of the next token of each row.

    Args:
        model: The model, in evaluation mode.

    Attributes:
        takes_positions: Whether the model is told the positions of tokens.

    Raises:
        ModelError: If the model keeps nothing from one pass to the next.
    """

    def __init__(self, model: PreTrainedModel) -> None:
        self._model = model
        known = inspect.signature(model.forward).parameters
        # Models with relative positions (ALiBi) read them off the mask and know no such argument.
        self.takes_positions = "position_ids" in known
        self._takes_keep = "logits_to_keep" in known
        # The newer name of the argument; the older one warns where there are both.
        self._cache_name = "cache" if "cache" in known else "past_key_values"
        if self._cache_name not in known:
            raise ModelError(
                f"{type(model).__name__} computes each token from the very beginning, which would take for ever: "
                "take a model that keeps keys and values"
            )

    def __call__(self, input_ids: Tensor, attention_mask: Tensor | None, positions: Tensor, cache: Cache) -> Tensor:
        """Passes new tokens through the model.

        Args:
            input_ids: New tokens, [rows, new tokens].
            attention_mask: 1 for what a row sees, [rows, old and new tokens]; or what is added to the scores, [rows, 1,
                new tokens, old and new tokens]; None where all rows see everything.
            positions: Position of each new token in its row, [rows, new tokens].
            cache: What was computed for the old tokens; the new ones are added.

        Returns:
            Logits behind the last new token, [rows, vocabulary].
        """
        device = self._model.device
        more: dict[str, Tensor | Cache | int] = {self._cache_name: cache}
        if self.takes_positions:
            more["position_ids"] = positions.to(device)
        if self._takes_keep:
            more["logits_to_keep"] = 1
        output = self._model(
            input_ids=input_ids.to(device),
            attention_mask=None if attention_mask is None else attention_mask.to(device),
            use_cache=True,
            **more,
        )
        logits: Tensor = output.logits[:, -1]
        return logits
