"""Run folders to look at, and a real browser to look with."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest
from holdergym.agents.agent import episode_seed
from holdergym.agents.language_model_settings import LanguageModelSettings
from holdergym.agents.registry import AgentSettings, ExpertSettings, RandomSettings
from holdergym.agents.trajectory import Outcome, Trajectory, Turn
from holdergym.agents.usage import Usage
from holdergym.envs.panel import Panel
from holdergym.envs.task import Task
from holdergym.eval.config import EvalConfig
from holdergym.eval.episode import Episode
from holdergym.eval.evaluation import evaluate
from holdergym.eval.provenance import begin_session
from holdergym.eval.run_folder import Plan, RunFolder
from holdergym.eval.viewer.page import viewer_page

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

GOAL = "You are in a room.\n\nYour task is to: put a mug in desk."
WriteRun = Callable[..., Path]
OpenPage = Callable[..., "Opened"]


class Opened(NamedTuple):
    """A page in the browser, and what it complained of and asked the network for."""

    page: "Page"
    complaints: list[str]
    requests: list[str]


@pytest.fixture(scope="session")
def played(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The same twelve built-in games, really played by two agents."""
    folder = tmp_path_factory.mktemp("played")
    agents: dict[str, AgentSettings] = {"random": RandomSettings(), "expert": ExpertSettings()}
    for name, agent in agents.items():
        evaluate(EvalConfig(panel="builtin_valid", limit=12, max_steps=20, agent=agent, out=folder / name))
    return {name: folder / name for name in agents}


@pytest.fixture
def write_run(tmp_path: Path) -> WriteRun:
    """Writes a run folder with given episodes, each the turns of one task."""

    def write(
        name: str,
        episodes: Sequence[Sequence[Turn]],
        *,
        outcomes: Sequence[Outcome] = (),
        model: str | None = None,
        agent: str = "scripted",
        final: str = "Nothing happens.",
    ) -> Path:
        panel = Panel.of(
            "made_up", [Task(f"alfworld/made_up/{n:05}", "pick", f"{n:064x}") for n in range(len(episodes))]
        )
        config = EvalConfig(panel="made_up")
        if model is not None:
            config = replace(config, agent=LanguageModelSettings(model=model))
        plan = Plan(config, panel, "0.4", agent, f"{agent}(version=1)")
        with RunFolder(tmp_path / name, plan, begin_session()) as folder:
            for number, (task, turns) in enumerate(zip(panel.tasks, episodes, strict=True)):
                outcome = outcomes[number] if outcomes else Outcome.LIMIT
                if outcome is Outcome.WON:
                    turns = [*turns[:-1], replace(turns[-1], reward=1.0)]
                trajectory = Trajectory(
                    task_id=task.id,
                    task_type=task.type,
                    sample=0,
                    seed=episode_seed(0, task.id, 0),
                    agent=plan.agent_fingerprint,
                    turns=tuple(turns),
                    outcome=outcome,
                    goal_condition_success_rate=float(outcome is Outcome.WON),
                    final_observation=final,
                    reason="" if outcome.finished else "the engine stopped",
                )
                folder.append(Episode(trajectory, 4))
            folder.summarise()
        return tmp_path / name

    return write


@pytest.fixture(scope="session")
def tokenizer_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A real byte-level tokenizer, trained on a few sentences."""
    pytest.importorskip("transformers", reason="needs the extra `train`")
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=400, special_tokens=["<|end|>"], initial_alphabet=pre_tokenizers.ByteLevel.alphabet()
    )
    tokenizer.train_from_iterator(["I need a mug. <action>go to desk 1</action>", GOAL] * 4, trainer)
    folder = tmp_path_factory.mktemp("tokenizer")
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<|end|>").save_pretrained(folder)
    return folder


@pytest.fixture
def spoken(tokenizer_folder: Path, write_run: WriteRun) -> Path:
    """A run of a model whose tokens are known, and one of whose replies holds no command."""
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(tokenizer_folder)
    replies = ["I need a mug. <action>go to desk 1</action>", "Žluťoučký kůň 🐎, said 漢字"]
    turns = []
    seen: tuple[int, ...] = ()
    for number, reply in enumerate(replies):
        observation = GOAL if number == 0 else "You arrive at desk 1."
        prompt = seen + tuple(tokenizer.encode(observation))
        response = (*tokenizer.encode(reply), tokenizer.eos_token_id)
        seen = prompt + response
        turns.append(
            Turn(
                observation,
                "go to desk 1" if number == 0 else "",
                number == 0,
                0.0,
                reply=reply,
                prompt_ids=prompt,
                response_ids=response,
                logprobs=tuple(-2.5 if place == 1 else -0.01 for place in range(len(response))),
                finish="stop" if number == 0 else "length",
                unparsable=number == 1,
                remarks=() if number == 0 else ("no_action",),
                usage=Usage(len(prompt), 0, len(response)),
            )
        )
    return write_run("spoken", [turns], model=str(tokenizer_folder), agent="tiny (chat)")


@pytest.fixture
def open_page(browser: "Browser", tmp_path: Path) -> Iterator[OpenPage]:
    """Writes the page of some runs and opens it from disk."""
    contexts = []

    def open_(
        *runs: Path, width: int = 1300, height: int = 850, scheme: str = "light", fragment: str = "", **options: str
    ) -> Opened:
        target = tmp_path / "view.html"
        target.write_text(viewer_page(runs, **options), encoding="utf-8", newline="\n")
        context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
        contexts.append(context)
        page = context.new_page()
        opened = Opened(page, [], [])
        page.on("console", lambda message: opened.complaints.append(message.text))
        page.on("pageerror", lambda error: opened.complaints.append(str(error)))
        page.on("request", lambda request: opened.requests.append(request.url))
        page.goto(target.as_uri() + fragment)
        page.set_default_timeout(5000)
        return opened

    yield open_
    for context in contexts:
        context.close()


def rows_of(page: "Page") -> list[str]:
    """The goals of the lines that are drawn, in order, once the page has done what it was told before."""
    # A change of a filter is drawn after a timer that has run off at once: this one comes behind it.
    page.evaluate("() => new Promise((done) => setTimeout(done, 20))")
    return json.loads(
        page.evaluate(
            """() => JSON.stringify([...document.querySelectorAll("#rows .row")]
                .sort((a, b) => a.ariaPosInSet - b.ariaPosInSet)
                .map((row) => row.querySelector(".goal").textContent))"""
        )
    )
