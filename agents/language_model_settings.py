"""What can be set for an agent that is a language model."""

from dataclasses import dataclass, field
from typing import Annotated, Literal

from pydantic import Field

from .backends.settings import BackendSettings, Positive, TransformersSettings
from .chat_format import TemplateArgument
from .usage import Prices

# Most tokens of a response by what is played, where the settings do not say.
MAX_TOKENS = {"alfworld": 512, "math": 1024}


@dataclass(frozen=True, slots=True, kw_only=True)
class LanguageModelSettings:
    """Lets a language model play; set agent.model, agent.backend.name and agent.prompt.

    Attributes:
        model: ``smollm2-135m``, a folder, or an id of the Hugging Face hub; behind a server also its name there.
        revision: Branch, tag or commit of a hub repository.
        backend: What computes the model.
        prompt: ``chat``, ``window``, ``react``, ``free``, or a file; None takes ``chat``, and ``free`` for mathematics.
        chat_template: ``plain``, or a file, in place of the tokenizer's own chat template.
        template_arguments: Further arguments of the chat template, for example ``enable_thinking``.
        history: Finished turns that the model sees; None leaves it to the prompt.
        admissible: Whether the model sees the admissible commands.
        dialect: Wording of the commands that the prompt names; None takes that of each game.
        temperature: Divides the logits before a token is drawn; 0 takes the most likely one. None takes 0, and 1 where
            each task is played several times.
        top_p: Draws from the most likely tokens that hold this share of the probability.
        top_k: Draws from this many most likely tokens; 0 from all.
        max_tokens: Most tokens of a response; None takes 512, and 1,024 for mathematics.
        max_episode_tokens: Most tokens of all responses of an episode; at it the episode ends as ``token_limit``.
        timeout_s: Seconds for a response, after which the episode ends as ``timeout``.
        snap: Whether an inadmissible command becomes the admissible one nearest to it.
        unparsable: What is sent for a reply without a command: ``nothing``, or ``tail``, its last 30 characters in
            small letters, as verl-agent does.
        prices: What tokens cost, for the cost columns.
    """

    name: Literal["llm"] = "llm"
    model: str
    revision: str | None = None
    backend: Annotated[BackendSettings, Field(discriminator="name")] = field(default_factory=TransformersSettings)
    prompt: str | None = None
    chat_template: str | None = None
    template_arguments: dict[str, TemplateArgument] = field(default_factory=dict)
    history: Annotated[int, Field(ge=0)] | None = None
    admissible: bool = True
    dialect: Literal["0.3", "0.4"] | None = None
    temperature: Annotated[float, Field(ge=0, le=100)] | None = None
    top_p: Annotated[float, Field(gt=0, le=1)] = 1.0
    top_k: Annotated[int, Field(ge=0)] = 0
    max_tokens: Positive | None = None
    max_episode_tokens: Positive | None = None
    timeout_s: Annotated[float, Field(gt=0)] = 600.0
    snap: bool = False
    unparsable: Literal["nothing", "tail"] = "nothing"
    prices: Prices | None = None


# Settings that say where and how fast a model runs. They change no answer, so they are no part of what a run is, and
# may change when it is resumed. Keys as in LanguageModelSettings.
CIRCUMSTANCES = (
    "backend.base_url",
    "backend.api_key_env",
    "backend.concurrency",
    "backend.requests_per_minute",
    "backend.retries",
    "backend.start_s",
    "backend.python",
    "backend.environment",
    "timeout_s",
)
