"""Why a response ended, in the words of servers and engines."""

from .backend import FinishReason

# OpenAI's words, and those of servers that have further ones: text-generation-inference (eos_token, stop_sequence),
# llama.cpp (eos, word, limit), Mistral (model_length). vLLM's repetition, where that is switched on, breaks off a
# response that says the same again and again: the model's doing, and a cut response.
_WORDS = {
    "stop": FinishReason.STOP,
    "tool_calls": FinishReason.STOP,
    "function_call": FinishReason.STOP,
    "eos": FinishReason.STOP,
    "eos_token": FinishReason.STOP,
    "stop_sequence": FinishReason.STOP,
    "word": FinishReason.STOP,
    "length": FinishReason.LENGTH,
    "limit": FinishReason.LENGTH,
    "model_length": FinishReason.LENGTH,
    "repetition": FinishReason.LENGTH,
}


def finish_from(word: object) -> FinishReason | None:
    """What a word for the end of a response means.

    None for every other: ``abort``, ``error``, ``content_filter``, none at all. Such a response is not what the model
    would have said, and nobody may be judged by it.
    """
    return _WORDS.get(word) if isinstance(word, str) else None
