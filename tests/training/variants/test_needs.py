"""What the plan says of the memory of a run with several models."""

from dataclasses import replace
from pathlib import Path

import pytest
from holdergym.agents.backends.settings import OpenAISettings, TransformersSettings, VllmServerSettings, VllmSettings
from holdergym.agents.language_model_settings import LanguageModelSettings
from holdergym.training import preset
from holdergym.training.config import LoraSettings
from holdergym.training.models import open_models
from holdergym.training.needs import memory_needed, memory_to_play, needs_as_text, parameters_of, parameters_of_model
from holdergym.training.trainer import Progress, Trainer

from ..word_game import LETTERS, settings

GIB = 2**30


def test_what_two_learners_hold_is_what_the_plan_counts(tiny_checkpoint: Path, partner: Path) -> None:
    named = LanguageModelSettings(model=str(partner))
    config = settings(tiny_checkpoint, preset("codistill"), partner=named, updates=1)
    sizes = [parameters_of(config), parameters_of_model(str(partner))]
    with open_models(config) as models:
        Trainer(config, models, LETTERS).round(Progress())
        for learner, size in zip(models.learners, sizes, strict=True):
            weights = list(learner.policy.model.parameters())
            moments = learner.optimiser.state()["state"]
            held = sum(one.nbytes for one in weights)
            assert isinstance(moments, dict)
            held += sum(one[key].nbytes for one in moments.values() for key in ("exp_avg", "exp_avg_sq"))
            held += sum(one.nbytes for one in learner.policy.trained)  # their gradients, while there are any
            assert size is not None
            assert memory_needed(config, size) == held / GIB
    first, second, together = needs_as_text(config, sizes[0]).splitlines()
    assert first.startswith("Memory: 0.0 GiB for weights, gradients and AdamW of ")
    assert second.startswith("The partner: 0.0 GiB for the same of its own, ")
    assert together == "All models together: 0.0 GiB."


def test_sizes_of_many_gib(tiny_checkpoint: Path, partner: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two policies of half a billion and of one and a half billion weights, by their sizes alone."""
    small, large = 0.5 * GIB, 1.5 * GIB
    monkeypatch.setattr("holdergym.training.needs.parameters_of_model", lambda model: large)
    named = LanguageModelSettings(model=str(partner), backend=TransformersSettings(dtype="float32"))
    full = settings(tiny_checkpoint, preset("codistill+expo"), partner=named)
    # Five copies of 4 bytes: the KL penalty wants a reference of each.
    assert needs_as_text(full, small).splitlines()[1:] == [
        "The partner: 30.0 GiB for the same of its own, 1,611 million weights.",
        "All models together: 40.0 GiB.",
    ]
    adapters = replace(full, lora=LoraSettings())
    assert needs_as_text(adapters, small).splitlines()[1:] == [
        "The partner: 6.0 GiB for its frozen weights, 1,611 million weights.",
        "All models together: 7.0 GiB.",
    ]


def test_an_explorer_needs_its_weights_and_from_a_file_nothing(tiny_checkpoint: Path, explorer: Path) -> None:
    named = LanguageModelSettings(model=str(explorer), backend=TransformersSettings(dtype="float32"))
    config = settings(tiny_checkpoint, preset("s2l-po"), explorer=named, rounds=4)
    size = parameters_of_model(str(explorer))
    assert size is not None
    assert memory_to_play(named, size) == 2 * memory_to_play(LanguageModelSettings(model="m"), size) == 4 * size / GIB
    assert needs_as_text(config, 1e9).splitlines()[1] == "The explorer: 0.0 GiB for its weights alone."
    stored = replace(config, explorer_samples=Path("tokens.npz"))
    assert "no memory, as its episodes come from a file." in needs_as_text(stored, 1e9)
    server = replace(config, explorer=replace(named, backend=OpenAISettings(base_url="http://127.0.0.1:1/v1")))
    assert "no memory here, as a server computes it." in needs_as_text(server, 1e9)
    # Without a round that it plays in none is loaded to play.
    off = replace(config, method=replace(config.method, source=replace(config.method.source, transition=0)))
    assert "explorer" not in needs_as_text(off, 1e9)


def test_models_that_are_not_here(tiny_checkpoint: Path) -> None:
    away = LanguageModelSettings(model="someone/somewhere")
    config = settings(tiny_checkpoint, preset("codistill"), partner=away)
    lines = needs_as_text(config, 1e9).splitlines()
    assert lines[1:] == ["The partner: not known, as the checkpoint is not here."]
    alone = settings(tiny_checkpoint, preset("grpo"))
    assert needs_as_text(alone, None).count("\n") == 0


def test_an_engine_has_a_copy_of_the_weights_and_takes_the_gpu(tiny_checkpoint: Path) -> None:
    plain = settings(tiny_checkpoint, preset("grpo"))

    def said(backend: VllmSettings | VllmServerSettings, size: float | None = 0.5 * GIB) -> list[str]:
        return needs_as_text(replace(plain, agent=replace(plain.agent, backend=backend)), size).splitlines()

    policy, engine, together = said(VllmSettings())
    assert policy == needs_as_text(plain, 0.5 * GIB)
    assert engine == (
        "The policy's vLLM: 1.0 GiB for a copy of the weights of its own; of a GPU, which it shares with the trainer, "
        "it takes more than 90 % unless told otherwise: set agent.backend.engine.gpu_memory_utilization to the part "
        "that the trainer leaves."
    )
    assert together == "All models together: 11.0 GiB."
    server = said(VllmServerSettings(dtype="float32"))
    assert server[1].startswith("The policy's vLLM: 2.0 GiB for ")
    assert server[1].endswith("leaves, or give it another GPU by agent.backend.environment.CUDA_VISIBLE_DEVICES.")
    assert server[2] == "All models together: 12.0 GiB."
    for spelled in ("gpu_memory_utilization", "gpu-memory-utilization"):
        told = said(VllmServerSettings(engine={spelled: 0.4}))[1]
        assert "it takes the part 0.4 (agent.backend.engine.gpu_memory_utilization)" in told
    elsewhere = said(VllmServerSettings(environment={"CUDA_VISIBLE_DEVICES": 1}))[1]
    assert elsewhere.endswith("its own, on the GPUs of agent.backend.environment.CUDA_VISIBLE_DEVICES=1.")
    assert said(VllmSettings(), None)[1].startswith("The policy's vLLM: not known, as the checkpoint is not here; of a")


def test_so_have_those_of_other_models(
    tiny_checkpoint: Path, partner: Path, explorer: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holdergym.training.needs.parameters_of_model", lambda model: 1.5 * GIB)
    both = LanguageModelSettings(model=str(partner), backend=VllmServerSettings())
    _, first, second, together = needs_as_text(
        settings(tiny_checkpoint, preset("codistill"), partner=both), 0.5 * GIB
    ).splitlines()
    assert first == "The partner: 24.0 GiB for the same of its own, 1,611 million weights."
    assert second.startswith("The partner's vLLM: 3.0 GiB for a copy ")
    assert "or give it another GPU by partner.backend.environment.CUDA_VISIBLE_DEVICES" in second
    assert together == "All models together: 35.0 GiB."
    named = LanguageModelSettings(model=str(explorer), backend=VllmSettings())
    explored = needs_as_text(settings(tiny_checkpoint, preset("s2l-po"), explorer=named, rounds=4), 0.5 * GIB)
    assert "The explorer: 3.0 GiB for a copy " in explored
    assert "set explorer.backend.engine.gpu_memory_utilization" in explored
