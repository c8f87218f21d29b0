"""A real vLLM engine in this process, against plain forward passes of the transformers library.

Run it where vLLM is installed: ``make test-vllm``.
"""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from holdergym.agents.backends.backend import (
    BackendError,
    BackendTimeout,
    ContextOverflow,
    FinishReason,
    Generation,
    MessagePrompt,
    Request,
    Sampling,
)
from holdergym.agents.backends.settings import VllmSettings
from holdergym.agents.checkpoints import ModelError

pytestmark = [pytest.mark.vllm, pytest.mark.slow, pytest.mark.timeout(600)]
psutil = pytest.importorskip("psutil")

from holdergym.agents.backends.vllm_backend import VllmBackend, open_vllm  # noqa: E402

MakeRequest = Callable[..., Request]
WAIT_S = 120
PROMPTS = [tuple(range(start, start + length)) for start, length in ((5, 1), (40, 7), (90, 60), (3, 200))]


@pytest.fixture(scope="module")
def settings() -> Iterator[VllmSettings]:
    """A small engine."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VLLM_CPU_KVCACHE_SPACE", "1")
        patch.setenv("HF_HUB_OFFLINE", "1")
        yield VllmSettings(dtype="float32", engine={"max_num_seqs": 8})


@pytest.fixture(scope="module")
def backend(tiny_checkpoint: Path, settings: VllmSettings, tiny_tokenizer) -> Iterator[VllmBackend]:  # type: ignore[no-untyped-def]
    """An engine for all tests that leave it whole."""
    with closing(open_vllm(tiny_checkpoint, settings, tiny_tokenizer)) as engine:
        yield engine


def test_tokens_and_logprobs_are_those_of_a_plain_forward_pass(  # type: ignore[no-untyped-def]
    backend: VllmBackend, tiny_model, ask: MakeRequest, true_logprobs, assert_greedy
) -> None:
    requests = [ask(ids, max_tokens=32, temperature=t, seed=n) for n, ids in enumerate(PROMPTS) for t in (0.0, 1.0)]
    for request, future in [(request, backend.submit(request)) for request in requests]:
        generation = future.result(WAIT_S)
        assert generation.prompt_ids == request.prompt.ids  # type: ignore[union-attr]
        assert generation.logprobs == pytest.approx(true_logprobs(tiny_model, generation), abs=1e-3)
        assert generation.usage is not None
        assert (generation.usage.prompt, generation.usage.generated) == (
            len(generation.prompt_ids or ()),
            len(generation.response_ids or ()),
        )
        if request.sampling.temperature == 0.0:
            assert_greedy(tiny_model, generation)


def test_it_agrees_with_the_transformers_back_end(  # type: ignore[no-untyped-def]
    backend: VllmBackend, tiny_model, tiny_tokenizer, ask: MakeRequest
) -> None:
    from holdergym.agents.backends.transformers_backend import TransformersBackend

    requests = [ask(ids, max_tokens=24) for ids in PROMPTS]
    with closing(TransformersBackend(tiny_model, tiny_tokenizer)) as other:
        for request in requests:
            ours, theirs = (one.submit(request).result(WAIT_S) for one in (backend, other))
            assert (ours.response_ids, ours.text, ours.finish) == (theirs.response_ids, theirs.text, theirs.finish)
            assert ours.logprobs == pytest.approx(theirs.logprobs, abs=1e-3)


def test_the_seed_decides_a_draw(backend: VllmBackend, ask: MakeRequest) -> None:
    requests = [ask(PROMPTS[1], temperature=1.0, seed=seed) for seed in (1, 2, 1)]
    first, second, again = (one.response_ids for one in _answers(backend, requests))
    assert first == again != second


def test_stop_texts_and_limits_end_a_response(  # type: ignore[no-untyped-def]
    backend: VllmBackend, tiny_tokenizer, ask: MakeRequest
) -> None:
    [whole] = _answers(backend, [ask(PROMPTS[2], max_tokens=40)])
    assert whole.response_ids is not None
    assert (len(whole.response_ids), whole.finish) == (40, FinishReason.LENGTH)
    middle = len(tiny_tokenizer.decode(whole.response_ids[:21]))
    stop = whole.text[middle - 1 : middle + 2]
    [cut] = _answers(backend, [ask(PROMPTS[2], max_tokens=40, stop=(stop,))])
    assert (cut.text, cut.finish) == (whole.text[: whole.text.find(stop)], FinishReason.STOP)
    assert cut.response_ids is not None
    assert cut.response_ids == whole.response_ids[: len(cut.response_ids)]


def test_the_end_of_the_context_cuts_a_response(backend: VllmBackend, ask: MakeRequest) -> None:
    assert backend.context_length == 512
    [last] = _answers(backend, [ask([7] * 508, max_tokens=50)])
    assert last.response_ids is not None
    assert len(last.response_ids) <= 4
    with pytest.raises(ContextOverflow, match="512 tokens and the context 512"):
        backend.submit(ask([7] * 512)).result(WAIT_S)


def test_prompts_that_no_model_reads_are_refused_each_for_itself(backend: VllmBackend, ask: MakeRequest) -> None:
    for ids in ((), (400_000,)):
        with pytest.raises(BackendError):
            backend.submit(ask(ids)).result(WAIT_S)
    with pytest.raises(TypeError):
        backend.submit(Request(MessagePrompt(()), Sampling(max_tokens=1)))
    assert _answers(backend, [ask(PROMPTS[0])])


def test_a_late_response_is_broken_off_and_others_go_on(backend: VllmBackend, ask: MakeRequest) -> None:
    late = backend.submit(ask(PROMPTS[1], max_tokens=500, timeout_s=0.2, temperature=1.0))
    fine = backend.submit(ask(PROMPTS[2], max_tokens=8))
    with pytest.raises(BackendTimeout, match=r"within 0\.2 seconds"):
        late.result(WAIT_S)
    assert fine.result(WAIT_S).response_ids


def test_a_response_that_the_engine_breaks_off_is_none(backend: VllmBackend, ask: MakeRequest) -> None:
    engine = vars(backend)["_engine"]
    broken = backend.submit(ask(PROMPTS[1], max_tokens=500, temperature=1.0))
    end = time.monotonic() + WAIT_S
    while not (names := list(engine.output_processor.external_req_ids)):
        assert time.monotonic() < end
    vars(backend)["_loop"].submit(engine.abort(names)).result(WAIT_S)
    with pytest.raises(BackendError, match=r"has not finished a response \(finish_reason abort\)"):
        broken.result(WAIT_S)


def test_a_response_that_goes_round_in_circles_is_cut(
    backend: VllmBackend, ask: MakeRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    from holdergym.agents.backends import vllm_backend
    from vllm.sampling_params import RepetitionDetectionParams

    parameters = vllm_backend._parameters

    def watchful(request: Request, room: int):  # type: ignore[no-untyped-def]
        made = parameters(request, room)
        made.repetition_detection = RepetitionDetectionParams(max_pattern_size=8, min_pattern_size=1, min_count=2)
        return made

    monkeypatch.setattr(vllm_backend, "_parameters", watchful)
    found = _answers(backend, [ask(ids, max_tokens=250) for ids in PROMPTS])
    assert any(len(one.response_ids or ()) < 250 and one.finish is FinishReason.LENGTH for one in found)


def test_closing_breaks_off_and_a_dead_engine_is_said_to_be_dead(  # type: ignore[no-untyped-def]
    tiny_checkpoint: Path, settings: VllmSettings, tiny_tokenizer, ask: MakeRequest
) -> None:
    before = {process.pid for process in psutil.Process().children(recursive=True)}
    engine = open_vllm(tiny_checkpoint, settings, tiny_tokenizer)
    with closing(engine):
        assert _answers(engine, [ask(PROMPTS[0], max_tokens=2)])
        long = [engine.submit(ask(ids, max_tokens=500, temperature=1.0)) for ids in PROMPTS]
        for process in psutil.Process().children(recursive=True):
            if process.pid not in before and "EngineCore" in " ".join([process.name(), *process.cmdline()]):
                process.kill()
        for future in [*long, engine.submit(ask(PROMPTS[0]))]:
            with pytest.raises(BackendError, match="engine has died"):
                future.result(WAIT_S)
        began = time.monotonic()
    assert time.monotonic() - began < 30
    with pytest.raises(BackendError, match="was closed"):
        engine.submit(ask(PROMPTS[0])).result(WAIT_S)
    _until_gone(before)


def test_what_does_not_start_says_so(  # type: ignore[no-untyped-def]
    tiny_checkpoint: Path, settings: VllmSettings, tiny_tokenizer, tmp_path: Path
) -> None:
    with pytest.raises(ModelError, match=r"agent\.backend\.engine: vLLM does not take this"):
        open_vllm(tiny_checkpoint, VllmSettings(engine={"max_num_sequences": 8}), tiny_tokenizer)
    with pytest.raises(ModelError, match="vLLM engine does not start"):
        open_vllm(tmp_path, settings, tiny_tokenizer)
    # The model reads 512 tokens.
    with pytest.raises(ModelError, match="vLLM engine does not start"):
        open_vllm(tiny_checkpoint, VllmSettings(dtype="float32", max_context=100_000), tiny_tokenizer)


def test_an_engine_that_takes_too_long_to_start_is_ended(  # type: ignore[no-untyped-def]
    tiny_checkpoint: Path, settings: VllmSettings, tiny_tokenizer
) -> None:
    before = {process.pid for process in psutil.Process().children(recursive=True)}
    began = time.monotonic()
    with pytest.raises(ModelError, match=r"does not start within 2 seconds \(agent\.backend\.start_s\)"):
        open_vllm(tiny_checkpoint, replace(settings, start_s=2.0), tiny_tokenizer)
    assert time.monotonic() - began < 60
    _until_gone(before)


def _answers(backend: VllmBackend, requests: list[Request]) -> list[Generation]:
    return [future.result(WAIT_S) for future in [backend.submit(request) for request in requests]]


def _until_gone(before: set[int]) -> None:
    """Waits until all processes of an engine have ended."""
    end = time.monotonic() + WAIT_S
    while {process.pid for process in psutil.Process(os.getpid()).children(recursive=True)} - before:
        assert time.monotonic() < end
        time.sleep(0.2)
