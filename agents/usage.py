"""What a response costs: tokens, and money where prices are given."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

_PER = 1_000_000


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one or several responses.

    Attributes:
        prompt: Tokens of the prompts.
        cached: How many of them were not computed again, because an earlier prompt began with them; None where a server
            does not say.
        generated: Tokens of the responses.
    """

    prompt: int = 0
    cached: int | None = 0
    generated: int = 0

    @classmethod
    def total(cls, usages: Iterable["Usage"]) -> "Usage":
        """The sum; what is not known of one is not known of all."""
        prompt = generated = 0
        cached: int | None = 0
        for usage in usages:
            prompt += usage.prompt
            cached = None if cached is None or usage.cached is None else cached + usage.cached
            generated += usage.generated
        return cls(prompt, cached, generated)


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """What a million tokens cost, in whatever currency.

    Attributes:
        prompt: Price of a million prompt tokens that are computed.
        cached: Price of a million cached prompt tokens; None for the price of the others.
        generated: Price of a million tokens of responses.
    """

    prompt: Annotated[float, Field(ge=0)] = 0.0
    cached: Annotated[float, Field(ge=0)] | None = None
    generated: Annotated[float, Field(ge=0)] = 0.0

    def cost(self, usage: Usage) -> float:
        """What so many tokens cost; at most, where it is not known how many were cached."""
        price = self.prompt if self.cached is None else self.cached
        cached = usage.cached or 0
        return ((usage.prompt - cached) * self.prompt + cached * price + usage.generated * self.generated) / _PER
