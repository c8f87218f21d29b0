"""The agent that is a language model, with a real small checkpoint behind it."""

import json
from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path

import pytest
from holdergym.agents.agent import AgentError, AgentTimeout, EpisodeLimit, Exchange, Response
from holdergym.agents.backends.backend import Backend, FinishReason, Generation, Request, Sampling
from holdergym.agents.backends.settings import OpenAISettings, TransformersSettings
from holdergym.agents.composing import MessageComposer, Viewer
from holdergym.agents.language_model import LanguageModelAgent, Limits, Reading
from holdergym.agents.language_model_settings import LanguageModelSettings
from holdergym.agents.making import make_language_model
from holdergym.agents.parsing import Rule
from holdergym.agents.prompt import open_prompt
from holdergym.agents.rollout import EpisodeJob, roll_out
from holdergym.agents.trajectory import Outcome, Trajectory
from holdergym.agents.usage import Prices, Usage
from holdergym.envs.alfworld.env import ALFWorldEnv
from holdergym.envs.errors import ConfigError, HolderGymError
from holdergym.eval.config import EvalConfig
from holdergym.eval.evaluation import evaluate
from holdergym.eval.run import EPISODES, SUMMARY

from .conftest import CHAT_TEMPLATE

pytestmark = pytest.mark.llm


@pytest.fixture
def settings(tiny_checkpoint: Path) -> LanguageModelSettings:
    """Short replies of the small checkpoint, in windows that fit its context of 512 tokens."""
    return LanguageModelSettings(
        model=str(tiny_checkpoint),
        prompt="window",
        history=0,
        admissible=False,
        max_tokens=12,
        temperature=1.0,
        backend=TransformersSettings(max_batch=4),
    )


@pytest.fixture
def agent(settings: LanguageModelSettings) -> Iterator[LanguageModelAgent]:
    made = make_language_model(settings, "alfworld")
    yield made
    made.close()


class Parrot(Backend):
    """Says one text to everything. What is tested with it is what the agent makes of replies, not models."""

    context_length = None

    def __init__(self, text: str, finish: FinishReason = FinishReason.STOP) -> None:
        self.text = text
        self.finish = finish
        self.requests: list[Request] = []

    def submit(self, request: Request) -> Future[Generation]:
        self.requests.append(request)
        future: Future[Generation] = Future()
        future.set_result(Generation(self.text, self.finish, usage=Usage(9, 0, 3)))
        return future

    def close(self) -> None:
        pass


def parrot_agent(parrot: Parrot, *, episode_tokens: int | None = None, **reading: bool) -> LanguageModelAgent:
    return LanguageModelAgent(
        name="parrot",
        fingerprint="parrot",
        open_backend=lambda: parrot,
        composer=MessageComposer(open_prompt("window"), Viewer(2, True)),
        sampling=Sampling(max_tokens=8, temperature=0.3, stop=("x",)),
        limits=Limits(response_tokens=8, episode_tokens=episode_tokens, response_s=5.0),
        reading=Reading(rule=Rule.TAGS, **reading),
    )


def played(agent: LanguageModelAgent, episodes: int = 3, in_flight: int = 4, max_steps: int = 3) -> list[Trajectory]:
    panel = ALFWorldEnv().panel
    jobs = [EpisodeJob(panel.tasks[number], 0, 100 + number) for number in range(episodes)]
    found = list(roll_out(jobs, agent, lambda: ALFWorldEnv(max_steps=max_steps), in_flight))
    return sorted(found, key=lambda one: one.task_id)


def test_episodes_keep_every_sampled_token(agent: LanguageModelAgent) -> None:
    for trajectory in played(agent):
        assert trajectory.outcome is Outcome.LIMIT
        for turn in trajectory.turns:
            assert turn.prompt_ids is not None
            assert turn.response_ids is not None
            assert turn.logprobs is not None
            assert 0 < len(turn.response_ids) == len(turn.logprobs) <= 12
            assert turn.usage == Usage(len(turn.prompt_ids), turn.usage.cached, len(turn.response_ids))
            assert turn.finish == ("length" if len(turn.response_ids) == 12 else "stop")
            # Random weights say nothing sensible: it is recorded as such, and costs a step.
            assert turn.unparsable
            assert not turn.valid
            assert turn.action == ""
            assert turn.remarks


def test_a_sampled_episode_does_not_hang_on_its_neighbours(settings: LanguageModelSettings) -> None:
    """Seeds derive from task, sample and turn: one at a time or many at once, the same tokens come."""

    def said(in_flight: int) -> list[list[tuple[int, ...] | None]]:
        agent = make_language_model(settings, "alfworld")
        try:
            return [[turn.response_ids for turn in one.turns] for one in played(agent, 5, in_flight)]
        finally:
            agent.close()

    assert said(1) == said(5) == said(2)


def test_a_reply_without_a_command_is_never_mapped_to_one(conversation) -> None:
    now = conversation(1)
    (response,) = parrot_agent(Parrot("look")).act([now])
    assert (response.action, response.unparsable, response.reply) == ("", True, "look")
    (response,) = parrot_agent(Parrot("I would rather Look Around Here, so LOOK"), send_tail=True).act([now])
    assert (response.action, response.unparsable) == ("ther look around here, so look", True)


@pytest.mark.parametrize(("opened", "action"), [("", "look"), ("<think>\n", "")])
def test_a_reply_within_thinking_that_the_prompt_began_has_no_command(
    opened: str, action: str, settings: LanguageModelSettings, tmp_path: Path, conversation
) -> None:
    template = tmp_path / "thinking.jinja"
    template.write_text(CHAT_TEMPLATE.replace("assistant\n{% endif %}", f"assistant\n{opened}{{% endif %}}"))
    parrot = Parrot("Maybe <action>look</action>? Let me think ab", FinishReason.LENGTH)
    agent = make_language_model(replace(settings, chat_template=str(template)), "alfworld", backend=parrot)
    (response,) = agent.act([conversation(1)])
    assert (response.action, response.unparsable) == (action, not action)


def test_an_inadmissible_command_is_sent_as_it_is_unless_snapping_is_asked_for(conversation) -> None:
    now = conversation(1)
    (response,) = parrot_agent(Parrot("<action>Lok</action>")).act([now])
    assert (response.action, response.snapped_from) == ("lok", None)
    (response,) = parrot_agent(Parrot("<action>Lok</action>"), snap=True).act([now])
    assert (response.action, response.snapped_from) == ("look", "lok")
    (response,) = parrot_agent(Parrot("<action>fly to Mars</action>"), snap=True).act([now])
    assert (response.action, response.snapped_from) == ("fly to mars", None)


def test_each_request_has_its_own_seed_and_the_settings(conversation) -> None:
    parrot = Parrot("<action>look</action>")
    agent = parrot_agent(parrot)
    agent.act([conversation(0), conversation(1), replace(conversation(1), seed=8)])
    agent.act([conversation(1)])
    seeds = [request.sampling.seed for request in parrot.requests]
    assert len(set(seeds[:3])) == 3
    assert seeds[3] == seeds[1]
    assert all(0 <= seed < 2**31 for seed in seeds)
    assert parrot.requests[0].sampling.temperature == 0.3
    assert parrot.requests[0].sampling.stop == ("x",)
    assert parrot.requests[0].timeout_s == 5.0


def test_the_tokens_of_an_episode_run_out(conversation) -> None:
    parrot = Parrot("<action>look</action>")
    agent = parrot_agent(parrot, episode_tokens=10)
    now = conversation(2)
    spent = [replace(e, response=Response("look", usage=Usage(9, 0, 3))) for e in now.history]
    agent.act([replace(now, history=spent)])
    assert parrot.requests[-1].sampling.max_tokens == 4
    with pytest.raises(EpisodeLimit, match="all 10 tokens") as limit:
        agent.act([replace(now, history=[*spent, *spent])])
    assert limit.value.outcome is Outcome.TOKENS


def test_a_conversation_that_outgrows_the_context_has_its_own_outcome(settings: LanguageModelSettings) -> None:
    agent = make_language_model(replace(settings, prompt="chat", admissible=True, history=None), "alfworld")
    try:
        (trajectory,) = played(agent, 1, 1, max_steps=30)
    finally:
        agent.close()
    assert trajectory.outcome is Outcome.CONTEXT
    assert trajectory.outcome.finished
    assert "512" in trajectory.reason


def test_a_model_that_takes_too_long_is_no_loss(settings: LanguageModelSettings) -> None:
    agent = make_language_model(replace(settings, timeout_s=1e-9), "alfworld")
    try:
        (trajectory,) = played(agent, 1, 1)
    finally:
        agent.close()
    assert trajectory.outcome is Outcome.TIMEOUT
    assert not trajectory.outcome.finished


def test_a_closed_model_ends_what_waits_for_it(agent: LanguageModelAgent, conversation) -> None:
    agent.open()
    agent.close()
    with pytest.raises(AgentError, match="closed"):
        agent.act([conversation(0)])


def test_a_hanging_back_end_is_left_alone(conversation, monkeypatch: pytest.MonkeyPatch) -> None:
    class Hanging(Parrot):
        def submit(self, request: Request) -> Future[Generation]:
            return Future()

    monkeypatch.setattr("holdergym.agents.language_model._GRACE_SECONDS", 0.01)
    agent = parrot_agent(Hanging("x"))
    agent._limits = replace(agent._limits, response_s=0.01)
    with pytest.raises(AgentTimeout, match="hangs"):
        agent.act([conversation(0)])


def test_names_and_fingerprints(settings: LanguageModelSettings, tmp_path: Path) -> None:
    agent = make_language_model(settings, "alfworld")
    assert agent.name == "tiny-llama (window)"
    same = replace(settings, timeout_s=3.0, prices=Prices(prompt=1.0))
    assert make_language_model(same, "alfworld").fingerprint == agent.fingerprint
    for change in ({"temperature": 0.5}, {"history": 1}, {"max_tokens": 9}, {"snap": True}, {"prompt": "react"}):
        assert make_language_model(replace(settings, **change), "alfworld").fingerprint != agent.fingerprint
    assert make_language_model(replace(settings, snap=True), "alfworld").name == "tiny-llama (window, snapped)"
    mine = tmp_path / "mine.jinja"
    mine.write_text('{% set style = "window" %}{% set rule = "tags" %}{% macro user(turn) %}a{% endmacro %}')
    first = make_language_model(replace(settings, prompt=str(mine)), "alfworld").fingerprint
    mine.write_text(mine.read_text().replace("}a{", "}b{"))
    assert make_language_model(replace(settings, prompt=str(mine)), "alfworld").fingerprint != first


def test_a_number_in_a_list_that_is_hidden_cannot_be_chosen(settings: LanguageModelSettings) -> None:
    with pytest.raises(ConfigError, match=r"'tiny' lets the model choose .* agent\.admissible=false hides that list"):
        make_language_model(replace(settings, prompt="tiny"), "alfworld")
    make_language_model(replace(settings, prompt="tiny", admissible=True, history=None), "alfworld")


def test_settings_that_contradict_each_other(settings: LanguageModelSettings) -> None:
    server = OpenAISettings(send="messages", base_url="http://127.0.0.1:9/v1", retries=0)
    with pytest.raises(ConfigError, match=r"agent.chat_template"):
        make_language_model(replace(settings, backend=server, chat_template="plain"), "alfworld")
    with pytest.raises(HolderGymError, match=r"127.0.0.1:9"):
        make_language_model(replace(settings, backend=server), "alfworld")


def test_a_run_is_recorded_and_resumed(settings: LanguageModelSettings, tmp_path: Path) -> None:
    config = EvalConfig(limit=4, max_steps=3, agent=settings, out=tmp_path / "run")
    whole = evaluate(config)
    assert whole.complete
    lines = (tmp_path / "run" / EPISODES).read_text().splitlines(keepends=True)
    summary = (tmp_path / "run" / SUMMARY).read_text()
    (tmp_path / "run" / EPISODES).write_text("".join(lines[:2]) + lines[2][:99])
    assert evaluate(config, resume=True).complete
    assert (tmp_path / "run" / SUMMARY).read_text() == summary
    ours = {json.loads(line)["task_id"]: json.loads(line)["turns"][0]["response_ids"] for line in lines}
    again = (tmp_path / "run" / EPISODES).read_text().splitlines()
    assert ours == {json.loads(line)["task_id"]: json.loads(line)["turns"][0]["response_ids"] for line in again}
    assert (tmp_path / "run" / "tokens.npz").is_file()


def test_an_exchange_by_another_agent_costs_no_tokens(conversation) -> None:
    now = replace(conversation(1), history=[Exchange("o", "look")])
    (response,) = parrot_agent(Parrot("<action>look</action>"), episode_tokens=5).act([now])
    assert response.action == "look"
