"""Makes the agent that is a language model out of its settings."""

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ..envs.errors import ConfigError
from ..envs.settings import as_toml, digest
from .backends.backend import Backend, Sampling
from .backends.settings import OpenAISettings, TransformersSettings, VllmServerSettings, VllmSettings
from .chat_format import ChatFormat
from .checkpoints import Checkpoint, find_checkpoint
from .composing import Composer, MessageComposer, TokenComposer, Viewer
from .embedded import EMBEDDED
from .language_model import LanguageModelAgent, Limits, Reading
from .language_model_settings import CIRCUMSTANCES, MAX_TOKENS, LanguageModelSettings
from .loading import load_model, load_tokenizer
from .parsing import Rule
from .prompt import Prompt, built_in_template, open_prompt, read_template

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

_SHOWN = 12


class TokenMaker(NamedTuple):
    """How prompts become tokens here.

    Attributes:
        composer: Makes prompts.
        prompt: Their template.
        opens_thinking: Whether prompts end within a ``<think>``.
    """

    composer: TokenComposer
    prompt: Prompt
    opens_thinking: bool


def make_composer(settings: LanguageModelSettings, kind: str, tokenizer: "PreTrainedTokenizerBase") -> TokenMaker:
    """Makes the prompts that a model with these settings reads.

    Args:
        settings: Prompt, history and chat template.
        kind: What will be played, ``alfworld`` or ``math``.
        tokenizer: The model's tokenizer.

    Raises:
        HolderGymError: If a file cannot be read or the template cannot be used.
    """
    prompt = _prompt(settings, kind)
    chat = ChatFormat(tokenizer, _chat_template(settings.chat_template).text, settings.template_arguments)
    return TokenMaker(TokenComposer(prompt, _viewer(settings, prompt), chat), prompt, chat.opens_thinking)


def _prompt(settings: LanguageModelSettings, kind: str) -> Prompt:
    prompt = open_prompt(settings.prompt or ("free" if kind == "math" else "chat"))
    if prompt.rule is Rule.CHOICE and not settings.admissible:
        raise ConfigError(
            f"the prompt {prompt.name!r} lets the model choose a number in the list of admissible commands, and "
            "agent.admissible=false hides that list: leave one of them out"
        )
    return prompt


def _viewer(settings: LanguageModelSettings, prompt: Prompt) -> Viewer:
    history = prompt.history if settings.history is None else settings.history
    return Viewer(history, settings.admissible, settings.dialect)


class _ChatTemplate(NamedTuple):
    """A chat template in place of the tokenizer's own, and the texts that end a response with it."""

    text: str | None = None
    stop: tuple[str, ...] = ()


def make_language_model(
    settings: LanguageModelSettings, kind: str, backend: Backend | None = None
) -> LanguageModelAgent:
    """Loads or reaches the model and makes the agent.

    Args:
        settings: Which model, and how it plays.
        kind: What it will play, ``alfworld`` or ``math``: decides on the prompt where none is set.
        backend: A back end that has the model already, in training for example. It is the caller's to close, so do
            not close the agent. None loads or reaches the model when it is first needed.

    Raises:
        HolderGymError: If the model or a file cannot be loaded, or a package is missing.
    """
    prompt = _prompt(settings, kind)
    template = _chat_template(settings.chat_template)
    max_tokens = settings.max_tokens or MAX_TOKENS[kind]
    composer: Composer
    if _is_here(settings):
        checkpoint = find_checkpoint(settings.model, settings.revision)
        tokenizer = load_tokenizer(checkpoint)
        composer, _, thinking_open = make_composer(settings, kind, tokenizer)
        open_backend = _backend(settings, checkpoint, tokenizer) if backend is None else lambda: backend
    else:
        if settings.chat_template is not None or settings.template_arguments:
            raise ConfigError(
                "the server makes the tokens, so agent.chat_template and agent.template_arguments cannot be set; "
                "agent.backend.send=tokens makes them here"
            )
        assert isinstance(settings.backend, OpenAISettings)
        checkpoint = None
        # What a server's template puts before a response is not known; what it cuts out of one it says.
        composer, thinking_open = MessageComposer(prompt, _viewer(settings, prompt)), False
        open_backend = _server(settings.backend, settings.model, sends_tokens=False)
    return LanguageModelAgent(
        name=_name(settings, checkpoint, prompt),
        fingerprint=_fingerprint(settings, checkpoint, prompt, template),
        open_backend=open_backend,
        composer=composer,
        sampling=Sampling(
            max_tokens=max_tokens,
            temperature=settings.temperature or 0.0,
            top_p=settings.top_p,
            top_k=settings.top_k,
            stop=(*prompt.stop, *template.stop),
        ),
        limits=Limits(
            response_tokens=max_tokens,
            episode_tokens=settings.max_episode_tokens,
            response_s=settings.timeout_s,
        ),
        reading=Reading(
            rule=prompt.rule,
            snap=settings.snap,
            send_tail=settings.unparsable == "tail",
            thinking_open=thinking_open,
        ),
    )


def _is_here(settings: LanguageModelSettings) -> bool:
    """Whether the model's tokenizer is needed here: always, except for a server that takes messages."""
    if not isinstance(settings.backend, OpenAISettings):
        return True
    if settings.backend.send != "auto":
        return settings.backend.send == "tokens"
    return settings.model in EMBEDDED or Path(settings.model).expanduser().is_dir()


def _backend(
    settings: LanguageModelSettings, checkpoint: Checkpoint, tokenizer: "PreTrainedTokenizerBase"
) -> Callable[[], Backend]:
    match settings.backend:
        case TransformersSettings() as local:
            return partial(_open_transformers, local, checkpoint, tokenizer)
        case VllmSettings() as engine:
            from .backends.vllm_backend import open_vllm

            return partial(open_vllm, checkpoint.folder, engine, tokenizer)
        case VllmServerSettings() as started:
            from .backends.vllm_server import open_vllm_server, require_vllm

            require_vllm(started)  # what is missing is said before anything is begun
            return partial(open_vllm_server, checkpoint.folder, started, tokenizer)
        case OpenAISettings() as server:
            return _server(server, settings.model, sends_tokens=True)


def _open_transformers(
    settings: TransformersSettings, checkpoint: Checkpoint, tokenizer: "PreTrainedTokenizerBase"
) -> Backend:
    from .backends.transformers_backend import TransformersBackend

    return TransformersBackend(
        load_model(checkpoint, settings.dtype, settings.device),
        tokenizer,
        max_batch=settings.max_batch,
        cache_gib=settings.cache_gib,
        max_context=settings.max_context,
    )


def _server(settings: OpenAISettings, model: str, *, sends_tokens: bool) -> Callable[[], Backend]:
    """Asks a server for its model at once, so that a wrong address is known before anything is begun."""
    from .backends.openai_backend import OpenAIBackend, find_model

    return partial(OpenAIBackend, settings, find_model(settings, model, sends_tokens=sends_tokens))


def _chat_template(name: str | None) -> _ChatTemplate:
    if name is None:
        return _ChatTemplate()
    if name == "plain":
        return _ChatTemplate(built_in_template("plain_chat"), ("\n\nUser:", "\n\nSystem:"))
    return _ChatTemplate(read_template(Path(name).expanduser()))


def _name(settings: LanguageModelSettings, checkpoint: Checkpoint | None, prompt: Prompt) -> str:
    """The model, and what a reader of a table must know of how it was asked."""
    model = settings.model if checkpoint is None else checkpoint.name
    marks = [prompt.name]
    marks += ["snapped"] if settings.snap else []
    marks += ["tail sent"] if settings.unparsable == "tail" else []
    return f"{model} ({', '.join(marks)})"


def _fingerprint(
    settings: LanguageModelSettings, checkpoint: Checkpoint | None, prompt: Prompt, template: _ChatTemplate
) -> str:
    """The model, the prompt and the settings, each with the beginning of a hash."""
    model = settings.model if checkpoint is None else f"{checkpoint.name}@{checkpoint.digest[:_SHOWN]}"
    texts = _digest_of_texts(prompt, template)
    # What these name is in the hashes already, whatever its path.
    named = ("model", "prompt", "chat_template", "prices")
    rest = digest(as_toml(settings, leave_out=(*CIRCUMSTANCES, *named)))
    return f"llm {model} prompt {prompt.name}@{texts} settings {rest[:_SHOWN]}"


def digest_of_texts(settings: LanguageModelSettings, kind: str) -> str:
    """The beginning of a hash over the texts of prompt and chat template, as it stands in a fingerprint.

    Args:
        settings: Prompt and chat template.
        kind: What is played, ``alfworld`` or ``math``.

    Raises:
        HolderGymError: If a file cannot be read or used.
    """
    return _digest_of_texts(_prompt(settings, kind), _chat_template(settings.chat_template))


def digest_in_fingerprint(fingerprint: str) -> str | None:
    """The same hash out of a fingerprint; None if it is not one of a language model."""
    found = re.search(rf" prompt .+@([0-9a-f]{{{_SHOWN}}}) settings [0-9a-f]{{{_SHOWN}}}$", fingerprint)
    return found[1] if found else None


def digest_of_sources(prompt: str, chat_template: str | None) -> str:
    """The same hash of the prompt's own (hexadecimal sha256) and the chat template's text; None for a tokenizer's."""
    return digest(f"{prompt} {chat_template}")[:_SHOWN]


def _digest_of_texts(prompt: Prompt, template: _ChatTemplate) -> str:
    return digest_of_sources(prompt.digest, template.text)
