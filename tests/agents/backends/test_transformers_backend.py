"""The transformers back end on real models: against plain forward passes, ``generate`` and itself in other batches."""

import random
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Future
from contextlib import closing, contextmanager
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
    TokenPrompt,
)
from holdergym.agents.checkpoints import ModelError, find_checkpoint

pytestmark = pytest.mark.llm
torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from holdergym.agents.backends import row_attention  # noqa: E402
from holdergym.agents.backends.transformers_backend import TransformersBackend  # noqa: E402
from holdergym.agents.loading import load_model, load_tokenizer  # noqa: E402

MakeRequest = Callable[..., Request]
WAIT_S = 120


def _prompt(length: int, seed: int) -> tuple[int, ...]:
    drawn = random.Random(seed)
    return tuple(drawn.randrange(3, 380) for _ in range(length))


def _mixed_requests(ask: MakeRequest, count: int = 14) -> list[Request]:
    """Prompts of 1 to 200 tokens, responses of up to 40; half of them greedy."""
    drawn = random.Random(5)
    return [
        ask(
            _prompt(drawn.choice([1, 2, 7, 30, 90, 200]), number),
            max_tokens=drawn.randrange(1, 40),
            temperature=0.0 if number % 2 else 1.0,
            top_p=drawn.choice([1.0, 0.9]),
            top_k=drawn.choice([0, 50]),
            seed=number,
        )
        for number in range(count)
    ]


def _answers(futures: list[Future[Generation]]) -> list[Generation]:
    return [future.result(WAIT_S) for future in futures]


def _alone(model, tokenizer, requests: list[Request]) -> list[Generation]:  # type: ignore[no-untyped-def]
    """One at a time, with nothing kept."""
    with closing(TransformersBackend(model, tokenizer, max_batch=1, cache_gib=0.0)) as backend:
        return [backend.submit(request).result(WAIT_S) for request in requests]


def _assert_same(ours: list[Generation], theirs: list[Generation]) -> None:
    assert [one.response_ids for one in ours] == [other.response_ids for other in theirs]
    assert [(one.text, one.finish) for one in ours] == [(other.text, other.finish) for other in theirs]
    for one, other in zip(ours, theirs, strict=True):
        assert one.logprobs == pytest.approx(other.logprobs, abs=1e-4)


@pytest.fixture(params=["row by row", "padded"])
def attention(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both ways of attention, whatever the lengths."""
    monkeypatch.setattr(row_attention, "_WORTH_A_CALL", 0 if request.param == "row by row" else 1 << 60)


@pytest.mark.usefixtures("attention")
def test_a_response_does_not_depend_on_what_else_is_in_the_batch(tiny_model, tiny_tokenizer, ask: MakeRequest) -> None:  # type: ignore[no-untyped-def]
    requests = _mixed_requests(ask)
    alone = _alone(tiny_model, tiny_tokenizer, requests)
    assert len({one.response_ids for one in alone}) == len(alone)  # as varied as they should be
    for order in (requests, requests[::-1]):
        with closing(TransformersBackend(tiny_model, tiny_tokenizer, max_batch=5)) as backend:
            together = _answers([backend.submit(request) for request in order])
        _assert_same(together if order is requests else together[::-1], alone)


def test_logprobs_are_those_of_a_fresh_forward_pass(  # type: ignore[no-untyped-def]
    tiny_model, tiny_tokenizer, ask: MakeRequest, true_logprobs
) -> None:
    with closing(TransformersBackend(tiny_model, tiny_tokenizer)) as backend:
        for generation in _answers([backend.submit(request) for request in _mixed_requests(ask)]):
            assert generation.logprobs == pytest.approx(true_logprobs(tiny_model, generation), abs=1e-3)


def test_greedy_is_what_generate_does(tiny_model, tiny_tokenizer, ask: MakeRequest) -> None:  # type: ignore[no-untyped-def]
    _assert_generates(tiny_model, tiny_tokenizer, ask)


def _assert_generates(model, tokenizer, ask: MakeRequest) -> None:  # type: ignore[no-untyped-def]
    requests = [ask(_prompt(length, length), max_tokens=32) for length in (1, 3, 20, 50)]
    with closing(TransformersBackend(model, tokenizer)) as backend:
        answers = _answers([backend.submit(request) for request in requests])
    for request, answer in zip(requests, answers, strict=True):
        assert isinstance(request.prompt, TokenPrompt)
        ids = torch.tensor([request.prompt.ids], device=model.device)
        with torch.inference_mode():
            output = model.generate(
                ids, attention_mask=torch.ones_like(ids), max_new_tokens=32, do_sample=False, pad_token_id=0
            )
        assert answer.response_ids == tuple(output[0, ids.shape[1] :].tolist())


def test_a_prompt_that_goes_on_is_computed_from_there(tiny_model, tiny_tokenizer, ask: MakeRequest) -> None:  # type: ignore[no-untyped-def]
    """Several episodes turn by turn, interleaved; each prompt is the last one, its response and new tokens."""
    with closing(TransformersBackend(tiny_model, tiny_tokenizer, max_batch=3)) as backend:
        prompts = [_prompt(40, seed) for seed in range(4)]
        for turn in range(4):
            requests = [ask(ids, max_tokens=8 + turn, temperature=1.0, seed=turn) for ids in prompts]
            kept = _answers([backend.submit(request) for request in requests])
            _assert_same(kept, _alone(tiny_model, tiny_tokenizer, requests))
            for ids, answer in zip(prompts, kept, strict=True):
                assert answer.usage is not None
                assert answer.response_ids is not None
                assert (answer.usage.prompt, answer.usage.generated) == (len(ids), len(answer.response_ids))
                # All but the new tokens and the one that was drawn last.
                assert answer.usage.cached == (0 if turn == 0 else len(ids) - 10 - 1)
            prompts = [
                (*ids, *(answer.response_ids or ()), *_prompt(10, 100 + turn))
                for ids, answer in zip(prompts, kept, strict=True)
            ]


def test_a_prompt_that_branches_off_or_repeats_uses_what_is_common(  # type: ignore[no-untyped-def]
    tiny_model, tiny_tokenizer, ask: MakeRequest
) -> None:
    first = _prompt(60, 1)
    requests = [ask(first), ask(first), ask((*first[:30], *_prompt(30, 2))), ask(first[:20]), ask(_prompt(60, 3))]
    with closing(TransformersBackend(tiny_model, tiny_tokenizer)) as backend:
        answers = [backend.submit(request).result(WAIT_S) for request in requests]
    # Never the last token of a prompt: its logits are needed.
    assert [answer.usage and answer.usage.cached for answer in answers] == [0, 59, 30, 19, 0]
    _assert_same(answers, _alone(tiny_model, tiny_tokenizer, requests))


def test_a_group_that_is_begun_at_once_computes_its_prompt_once(  # type: ignore[no-untyped-def]
    tiny_model, tiny_tokenizer, ask: MakeRequest
) -> None:
    """The samples of a task, as in training: nothing has ended yet that could have been kept."""
    shared, other = _prompt(60, 1), _prompt(50, 2)
    prompts = [shared, shared, (*shared[:40], *_prompt(9, 3)), other, other, shared[:20], shared]
    requests = [ask(ids, max_tokens=9 + number, temperature=1.0, seed=number) for number, ids in enumerate(prompts)]
    with closing(TransformersBackend(tiny_model, tiny_tokenizer, max_batch=8, cache_gib=0.0)) as backend:
        decoder, joined = vars(backend)["_decoder"], threading.Event()
        join = decoder.join

        def together(job: object) -> None:
            assert joined.wait(WAIT_S)  # until all have been asked
            join(job)

        decoder.join = together
        futures = [backend.submit(request) for request in requests]
        joined.set()
        answers = _answers(futures)
    assert [answer.usage and answer.usage.cached for answer in answers] == [0, 59, 40, 0, 49, 19, 59]
    _assert_same(answers, _alone(tiny_model, tiny_tokenizer, requests))


def test_tokens_that_no_model_has_spoil_nothing_for_those_who_wait_with_them(  # type: ignore[no-untyped-def]
    tiny_model, tiny_tokenizer, ask: MakeRequest
) -> None:
    prompts = [_prompt(20, 1), (*_prompt(19, 2), 2**40), _prompt(21, 3)]
    with closing(TransformersBackend(tiny_model, tiny_tokenizer)) as backend:
        first, bad, last = [backend.submit(ask(ids)) for ids in prompts]
        with pytest.raises(BackendError, match="not among the model's"):
            bad.result(WAIT_S)
        assert all(answer.response_ids for answer in _answers([first, last]))


def test_the_seed_and_nothing_else_decides_a_draw(tiny_model, tiny_tokenizer, ask: MakeRequest) -> None:  # type: ignore[no-untyped-def]
    requests = [ask(_prompt(20, 1), temperature=1.0, seed=seed) for seed in (1, 2, 1, 3)]
    with closing(TransformersBackend(tiny_model, tiny_tokenizer)) as backend:
        first, second, again, third = (one.response_ids for one in _answers([backend.submit(r) for r in requests]))
    assert first == again
    assert len({first, second, third}) == 3


def test_stop_texts_end_a_response_and_are_cut_off(tiny_model, tiny_tokenizer, ask: MakeRequest) -> None:  # type: ignore[no-untyped-def]
    [whole] = _alone(tiny_model, tiny_tokenizer, [ask(_prompt(20, 7), max_tokens=40)])
    assert whole.response_ids is not None
    decoded = [tiny_tokenizer.decode(whole.response_ids[: at + 1]) for at in range(len(whole.response_ids))]
    # A stop text that begins within one token and ends within a later one.
    middle = len(decoded[20])
    stop = whole.text[middle - 1 : middle + 2]
    first = whole.text.find(stop)
    [cut] = _alone(tiny_model, tiny_tokenizer, [ask(_prompt(20, 7), max_tokens=40, stop=("never said", stop))])
    assert (cut.text, cut.finish) == (whole.text[:first], FinishReason.STOP)
    assert cut.response_ids is not None
    assert cut.response_ids == whole.response_ids[: len(cut.response_ids)]
    # It ends with the first token that completes the stop text.
    assert stop in tiny_tokenizer.decode(cut.response_ids)
    assert stop not in tiny_tokenizer.decode(cut.response_ids[:-1])


def test_an_end_token_ends_a_response_and_is_no_text(tiny_model, tiny_tokenizer, ask: MakeRequest) -> None:  # type: ignore[no-untyped-def]
    requests = [ask(_prompt(9, 1), max_tokens=400, temperature=2.0, seed=seed) for seed in range(16)]
    with closing(TransformersBackend(tiny_model, tiny_tokenizer)) as backend:
        answers = _answers([backend.submit(request) for request in requests])
    ended = [answer for answer in answers if answer.finish is FinishReason.STOP]
    assert ended
    for answer in ended:
        assert answer.response_ids is not None
        assert answer.response_ids[-1] == tiny_tokenizer.eos_token_id
        assert tiny_tokenizer.eos_token_id not in answer.response_ids[:-1]
        assert "<|im_end|>" not in answer.text


def test_the_token_limit_and_the_end_of_the_context_cut_a_response(  # type: ignore[no-untyped-def]
    tiny_model, tiny_tokenizer, ask: MakeRequest
) -> None:
    with closing(TransformersBackend(tiny_model, tiny_tokenizer, max_context=64)) as backend:
        assert backend.context_length == 64
        limited, full, last = _answers([backend.submit(ask(_prompt(length, 2))) for length in (20, 60, 63)])
        for answer, length in ((limited, 24), (full, 4), (last, 1)):
            assert answer.response_ids is not None
            assert (len(answer.response_ids), answer.finish) == (length, FinishReason.LENGTH)
        with pytest.raises(ContextOverflow, match="64 tokens and the context 64"):
            backend.submit(ask(_prompt(64, 2))).result(WAIT_S)
    with closing(TransformersBackend(tiny_model, tiny_tokenizer, max_context=10_000)) as backend:
        assert backend.context_length == 512


@contextmanager
def _slow(model, seconds: float) -> Iterator[None]:  # type: ignore[no-untyped-def]
    """Makes each pass take longer, as a larger model would."""
    handle = model.register_forward_pre_hook(lambda *_: time.sleep(seconds))
    try:
        yield
    finally:
        handle.remove()


def test_time_limits_hold_while_waiting_and_while_growing(tiny_model, tiny_tokenizer, ask: MakeRequest) -> None:  # type: ignore[no-untyped-def]
    with (
        _slow(tiny_model, 0.02),
        closing(TransformersBackend(tiny_model, tiny_tokenizer, max_batch=2)) as backend,
    ):
        began = time.monotonic()
        growing = backend.submit(ask(_prompt(5, 1), max_tokens=400, timeout_s=2.0))
        other = backend.submit(ask(_prompt(5, 2), max_tokens=140))
        waiting = backend.submit(ask(_prompt(5, 3), timeout_s=0.3))
        with pytest.raises(BackendTimeout, match=r"0\.3 seconds"):
            waiting.result(WAIT_S)
        # Its time was over while both places were taken.
        assert time.monotonic() - began < 1.5
        with pytest.raises(BackendTimeout, match="2 seconds"):
            growing.result(WAIT_S)
        generation = other.result(WAIT_S)
    _assert_same([generation], _alone(tiny_model, tiny_tokenizer, [ask(_prompt(5, 2), max_tokens=140)]))


def test_closing_ends_everything_at_once(tiny_model, tiny_tokenizer, ask: MakeRequest) -> None:  # type: ignore[no-untyped-def]
    with _slow(tiny_model, 0.02):
        backend = TransformersBackend(tiny_model, tiny_tokenizer, max_batch=2)
        futures = [backend.submit(ask(_prompt(5, seed), max_tokens=500)) for seed in range(4)]
        time.sleep(0.1)
        began = time.monotonic()
        backend.close()
        backend.close()
    assert time.monotonic() - began < 1.0
    for future in [*futures, backend.submit(ask(_prompt(5, 9)))]:
        with pytest.raises(BackendError, match="was closed"):
            future.result(1)
    assert "language-model" not in {thread.name for thread in threading.enumerate()}


def test_a_cancelled_request_is_never_begun(tiny_model, tiny_tokenizer, ask: MakeRequest) -> None:  # type: ignore[no-untyped-def]
    with (
        _slow(tiny_model, 0.02),
        closing(TransformersBackend(tiny_model, tiny_tokenizer, max_batch=1)) as backend,
    ):
        first = backend.submit(ask(_prompt(5, 1), max_tokens=20))
        second = backend.submit(ask(_prompt(5, 2)))
        assert second.cancel()
        first.result(WAIT_S)
        assert backend.submit(ask(_prompt(5, 3), max_tokens=1)).result(WAIT_S).text
        with pytest.raises(CancelledError):
            second.result(1)


def test_changed_weights_are_seen_after_forget(tiny_checkpoint: Path, tiny_tokenizer, ask: MakeRequest) -> None:  # type: ignore[no-untyped-def]
    model = load_model(find_checkpoint(str(tiny_checkpoint)), "float32", "cpu")
    request = ask(_prompt(50, 4))
    with closing(TransformersBackend(model, tiny_tokenizer)) as backend:
        # At once after the last response, again and again: nothing may still be busy then.
        for _ in range(20):
            before = backend.submit(request).result(WAIT_S)
            backend.forget()
        with torch.no_grad():
            for weight in model.model.layers[0].parameters():
                weight.mul_(1.5)
        after = backend.submit(request).result(WAIT_S)
        with _slow(model, 0.02):
            busy = backend.submit(request)
            with pytest.raises(BackendError, match="in the middle of a response"):
                backend.forget()
            busy.result(WAIT_S)
    assert after.usage is not None
    assert after.usage.cached == 0
    assert after.response_ids != before.response_ids
    _assert_same([after], _alone(model, tiny_tokenizer, [request]))


def test_a_request_that_is_about_to_join_is_seen_by_forget(tiny_model, tiny_tokenizer, ask: MakeRequest) -> None:  # type: ignore[no-untyped-def]
    joins, may_join = threading.Event(), threading.Event()
    with closing(TransformersBackend(tiny_model, tiny_tokenizer)) as backend:
        decoder = vars(backend)["_decoder"]
        join = decoder.join

        def late(job: object) -> None:
            joins.set()
            assert may_join.wait(WAIT_S)
            join(job)

        decoder.join = late
        future = backend.submit(ask(_prompt(5, 1), max_tokens=1))
        assert joins.wait(WAIT_S)
        with pytest.raises(BackendError, match="in the middle of a response"):
            backend.forget()
        may_join.set()
        future.result(WAIT_S)
        backend.forget()


@pytest.mark.usefixtures("attention")
@pytest.mark.parametrize("other", [30, 200])
def test_what_was_no_number_spoils_no_later_response(  # type: ignore[no-untyped-def]
    other: int, tiny_checkpoint: Path, tiny_tokenizer, ask: MakeRequest
) -> None:
    model = load_model(find_checkpoint(str(tiny_checkpoint)), "float32", "cpu")
    shared = _prompt(60, 1)
    requests = [ask((*shared[:20], 5)), ask(shared[:3]), ask(_prompt(other, 2))]
    requests = [replace(one, prompt=TokenPrompt(tuple(id for id in one.prompt.ids if id != 7))) for one in requests]
    expected = _alone(model, tiny_tokenizer, requests)
    with closing(TransformersBackend(model, tiny_tokenizer, max_batch=4)) as backend:
        with torch.no_grad():
            before = model.get_input_embeddings().weight[7].clone()
            model.get_input_embeddings().weight[7] = float("nan")
        for prompt in ((*shared, 7), (7,) * 40):
            with pytest.raises(BackendError, match="NaN"):
                backend.submit(ask(prompt)).result(WAIT_S)
        with torch.no_grad():
            model.get_input_embeddings().weight[7] = before
        _assert_same(_answers([backend.submit(request) for request in requests]), expected)


def test_what_torch_refuses_ends_the_batch_and_not_the_back_end(  # type: ignore[no-untyped-def]
    tiny_model, tiny_tokenizer, ask: MakeRequest
) -> None:
    passes = 0

    def run_out(*_: object) -> None:
        nonlocal passes
        passes += 1
        if passes == 6:
            raise torch.OutOfMemoryError("CUDA out of memory.\nTried to allocate 20 MiB")

    with closing(TransformersBackend(tiny_model, tiny_tokenizer)) as backend:
        handle = tiny_model.register_forward_pre_hook(run_out)
        try:
            for future in [backend.submit(ask(_prompt(9, seed))) for seed in range(2)]:
                with pytest.raises(BackendError, match=r"failed: CUDA out of memory\. Tried to allocate 20 MiB"):
                    future.result(WAIT_S)
        finally:
            handle.remove()
        again = ask(_prompt(9, 0))
        _assert_same([backend.submit(again).result(WAIT_S)], _alone(tiny_model, tiny_tokenizer, [again]))


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_mistake_in_the_code_is_reported_and_nobody_waits_for_ever(  # type: ignore[no-untyped-def]
    tiny_model, tiny_tokenizer, ask: MakeRequest
) -> None:
    def mistake(*_: object) -> None:
        raise ZeroDivisionError("a bug")

    with closing(TransformersBackend(tiny_model, tiny_tokenizer)) as backend:
        handle = tiny_model.register_forward_pre_hook(mistake)
        try:
            for future in [backend.submit(ask(_prompt(9, seed))) for seed in range(3)]:
                with pytest.raises(BackendError, match="has stopped: ZeroDivisionError: a bug"):
                    future.result(WAIT_S)
        finally:
            handle.remove()


def test_weights_that_give_no_numbers_are_no_answer(tiny_checkpoint: Path, tiny_tokenizer, ask: MakeRequest) -> None:  # type: ignore[no-untyped-def]
    model = load_model(find_checkpoint(str(tiny_checkpoint)), "float32", "cpu")
    with closing(TransformersBackend(model, tiny_tokenizer)) as backend:
        with torch.no_grad():
            model.lm_head.weight[7, 0] = float("nan")
        for temperature in (0.0, 1.0):
            with pytest.raises(BackendError, match="NaN"):
                backend.submit(ask(_prompt(5, 1), temperature=temperature)).result(WAIT_S)
    with pytest.raises(ModelError, match="NaN"):
        TransformersBackend(model, tiny_tokenizer)


def test_prompts_that_no_model_reads_are_refused_each_for_itself(  # type: ignore[no-untyped-def]
    tiny_model, tiny_tokenizer, ask: MakeRequest
) -> None:
    with closing(TransformersBackend(tiny_model, tiny_tokenizer)) as backend:
        for ids, words in (((), "no tokens"), ((5, 400_000), "not among"), ((-1,), "not among")):
            with pytest.raises(BackendError, match=words):
                backend.submit(ask(ids)).result(WAIT_S)
        with pytest.raises(TypeError):
            backend.submit(Request(MessagePrompt(()), Sampling(max_tokens=1)))
        assert backend.submit(ask(_prompt(5, 1))).result(WAIT_S).text


def test_a_tokenizer_of_another_model_is_refused(tiny_model, tiny_checkpoint: Path) -> None:  # type: ignore[no-untyped-def]
    tokenizer = load_tokenizer(find_checkpoint(str(tiny_checkpoint)))
    tokenizer.add_tokens([f"<extra-{number}>" for number in range(200)])
    with pytest.raises(ModelError, match="do not belong together"):
        TransformersBackend(tiny_model, tokenizer)


_SIZES = {
    "vocab_size": 400,
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "initializer_range": 0.25,
    "eos_token_id": 2,
    "bos_token_id": None,
    "pad_token_id": 0,
}
_KINDS = {
    "tied embeddings": ("llama", {"tie_word_embeddings": True}),
    "grouped heads": ("qwen3", {"num_key_value_heads": 2, "head_dim": 32}),
    "sliding window": ("mistral", {"sliding_window": 16, "num_key_value_heads": 2}),
    "some layers slide": ("gemma3_text", {"sliding_window": 16, "num_key_value_heads": 2, "head_dim": 16}),
    "absolute positions": ("gpt2", {"n_positions": 256}),
    "learned positions with an offset": ("opt", {"ffn_dim": 96, "word_embed_proj_dim": 64}),
    "relative positions": ("bloom", {"n_head": 4}),
    "part of a head rotates": ("gpt_neox", {}),
    "states and no keys": ("mamba", {}),
    "experts": (
        "qwen3_moe",
        {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 32, "num_key_value_heads": 2},
    ),
}


@pytest.mark.parametrize("kind", _KINDS)
@pytest.mark.usefixtures("attention")
def test_models_of_every_kind_answer_as_generate_does(kind: str, tiny_tokenizer, ask: MakeRequest) -> None:  # type: ignore[no-untyped-def]
    model_type, more = _KINDS[kind]
    torch.manual_seed(3)
    config = transformers.AutoConfig.for_model(model_type, **(_SIZES | more))
    model = transformers.AutoModelForCausalLM.from_config(config, dtype=torch.float32).eval()
    _assert_generates(model, tiny_tokenizer, ask)


@pytest.mark.parametrize("kind", ["openai-gpt", "rwkv", "xlstm"])
def test_models_that_cannot_be_decoded_are_refused(kind: str, tiny_tokenizer) -> None:  # type: ignore[no-untyped-def]
    config = transformers.AutoConfig.for_model(kind, **_SIZES)
    model = transformers.AutoModelForCausalLM.from_config(config, dtype=torch.float32).eval()
    with pytest.raises(ModelError, match=type(model).__name__):
        TransformersBackend(model, tiny_tokenizer)


def test_a_model_that_takes_no_notice_of_positions_is_refused(tiny_checkpoint: Path, tiny_tokenizer) -> None:  # type: ignore[no-untyped-def]
    """As some models of other people's do, whose code comes with them."""
    model = load_model(find_checkpoint(str(tiny_checkpoint)), "float32", "cpu")

    def from_zero(module: object, args: object, kwargs: dict[str, object]) -> tuple[object, dict[str, object]]:
        positions = kwargs.get("position_ids")
        return args, kwargs | ({} if positions is None else {"position_ids": positions - positions.min()})  # type: ignore[attr-defined]

    model.register_forward_pre_hook(from_zero, with_kwargs=True)
    with pytest.raises(ModelError, match="otherwise token by token than at once"):
        TransformersBackend(model, tiny_tokenizer)


def test_a_model_that_has_played_trains_and_is_saved_as_before(
    tiny_checkpoint: Path, tiny_tokenizer, tmp_path: Path
) -> None:  # type: ignore[no-untyped-def]
    """Its attention is exchanged for the back end; nobody else may notice."""
    checkpoint = find_checkpoint(str(tiny_checkpoint))
    ids = torch.tensor([_prompt(40, 1), _prompt(40, 2)])
    mask = torch.ones_like(ids)
    mask[0, :15] = 0
    results = []
    for plays in (False, True):
        model = load_model(checkpoint, "float32", "cpu")
        if plays:
            TransformersBackend(model, tiny_tokenizer).close()
        logits = model(input_ids=ids, attention_mask=mask).logits
        logits[mask.bool()].square().mean().backward()
        results.append((logits.detach(), model.lm_head.weight.grad, model.model.layers[0].self_attn.q_proj.weight.grad))
    for ours, theirs in zip(*results, strict=True):
        assert torch.equal(ours, theirs)
    model.save_pretrained(tmp_path)
    assert (tmp_path / "config.json").read_bytes() == (tiny_checkpoint / "config.json").read_bytes()


@pytest.mark.slow
def test_the_embedded_model_agrees_with_generate_and_forward(  # type: ignore[no-untyped-def]
    smollm2: Path, ask: MakeRequest, true_logprobs
) -> None:
    checkpoint = find_checkpoint("smollm2-135m")
    model, tokenizer = load_model(checkpoint, "float32", "cpu"), load_tokenizer(checkpoint)
    torch.set_num_threads(2)
    requests = []
    for number, question in enumerate(["Where is the mug?", "Name three rooms of a house.", "What is 12 + 30?"]):
        ids = tokenizer.apply_chat_template(
            [{"role": "user", "content": question}], add_generation_prompt=True, return_dict=False
        )
        requests += [ask(ids, max_tokens=40), ask(ids, max_tokens=25, temperature=0.7, seed=number)]
    with closing(TransformersBackend(model, tokenizer, max_batch=4)) as backend:
        answers = _answers([backend.submit(request) for request in requests])
    _assert_same(answers, _alone(model, tokenizer, requests))
    for request, answer in zip(requests, answers, strict=True):
        assert answer.logprobs == pytest.approx(true_logprobs(model, answer), abs=1e-3)
        if request.sampling.temperature == 0.0:
            assert isinstance(request.prompt, TokenPrompt)
            ids = torch.tensor([request.prompt.ids])
            with torch.inference_mode():
                output = model.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=40, do_sample=False)
            assert answer.response_ids == tuple(output[0, ids.shape[1] :].tolist())
