"""What a prompt file said is kept with the run, and held against the fingerprint when it matters."""

import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from holdergym.agents.backends.settings import OpenAISettings
from holdergym.agents.language_model_settings import LanguageModelSettings
from holdergym.agents.making import make_language_model
from holdergym.agents.prompt import PromptError, built_in_template
from holdergym.eval.config import EvalConfig
from holdergym.eval.errors import RunError
from holdergym.eval.evaluation import evaluate
from holdergym.eval.prompt_texts import contradiction, read_texts
from holdergym.eval.run import read_run
from holdergym.leaderboards.submissions.board import add_run
from holdergym.leaderboards.submissions.checking import RefusedError

from ..agents.backends.misbehaving_server import MisbehavingServer, properly, status
from ..agents.conftest import tiny_checkpoint

__all__ = ["tiny_checkpoint"]

pytest.importorskip("jinja2", reason="needs the extra `train`")
pytest.importorskip("httpx2", reason="needs the extra `openai`")

Play = Callable[..., Path]
# Not ASCII, and with the line ends of another system: it is kept to the byte.
TEXT = built_in_template("free") + "{# für mich #}\r\n"


@pytest.fixture
def server() -> Iterator[MisbehavingServer]:
    made = MisbehavingServer()
    yield made
    made.die()


@pytest.fixture
def prompt(tmp_path: Path) -> Path:
    path = tmp_path / "mine.jinja"
    path.write_bytes(TEXT.encode())
    return path


@pytest.fixture
def play(server: MisbehavingServer, tmp_path: Path, prompt: Path) -> Play:
    """Plays the built-in problems at a real server with the prompt file."""

    def played(name: str = "run", *, resume: bool = False, **settings: object) -> Path:
        agent = LanguageModelSettings(
            model="tiny",
            prompt=str(settings.pop("prompt", prompt)),
            backend=OpenAISettings(base_url=server.url, send="messages", retries=0),
        )
        evaluate(
            EvalConfig(env="math", panel="builtin_valid", agent=agent, out=tmp_path / name, workers=1, **settings),
            resume=resume,
        )
        return tmp_path / name

    return played


def test_the_text_is_in_the_run_folder_to_the_byte(play: Play, prompt: Path) -> None:
    run = read_run(play(limit=3))
    assert (run.folder / "prompt.jinja").read_bytes() == prompt.read_bytes()
    assert contradiction(run.folder, run.config.agent, run.manifest.agent_fingerprint) == ""
    (run.folder / "prompt.jinja").write_text(TEXT.replace("\r", ""))
    assert "prompt.jinja is not what played" in contradiction(
        run.folder, run.config.agent, run.manifest.agent_fingerprint
    )


def test_a_prompt_of_the_package_is_not_copied(play: Play) -> None:
    assert not (play(limit=3, prompt="free") / "prompt.jinja").exists()


def test_the_kept_text_plays_the_same_run_again(play: Play, tmp_path: Path) -> None:
    first = play("first", limit=3)
    (tmp_path / "again").mkdir()
    shutil.copy(first / "prompt.jinja", tmp_path / "again" / "mine.jinja")
    second = play("second", limit=3, prompt=tmp_path / "again" / "mine.jinja")
    assert read_run(second).manifest.agent_fingerprint == read_run(first).manifest.agent_fingerprint


def test_an_older_run_gets_its_copy_when_it_goes_on(play: Play, server: MisbehavingServer) -> None:
    server.book.planned.extend([properly, status(400, "not this one")])
    folder = play(limit=3)
    assert not read_run(folder).complete
    (folder / "prompt.jinja").unlink()
    play(limit=3, resume=True)
    assert (folder / "prompt.jinja").read_bytes() == TEXT.encode()
    assert read_run(folder).complete


def test_a_changed_copy_or_prompt_is_not_gone_on_with(play: Play, server: MisbehavingServer, prompt: Path) -> None:
    server.book.planned.extend([properly, status(400, "not this one")])
    folder = play(limit=3)
    episodes = (folder / "episodes.jsonl").read_bytes()
    (folder / "prompt.jinja").write_text("other")
    with pytest.raises(RunError, match=r"prompt\.jinja was changed after the run began") as caught:
        play(limit=3, resume=True)
    assert "\n" not in str(caught.value)
    (folder / "prompt.jinja").write_bytes(TEXT.encode())
    prompt.write_bytes(TEXT.encode() + b"{# more #}")
    with pytest.raises(RunError, match="it was played by"):
        play(limit=3, resume=True)
    assert (folder / "episodes.jsonl").read_bytes() == episodes
    assert (folder / "prompt.jinja").read_bytes() == TEXT.encode()


def test_a_users_own_file_of_that_name_is_not_written_over(play: Play, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "prompt.jinja").write_text("my notes")
    with pytest.raises(RunError, match=r"it holds 'prompt\.jinja'\) and is not a run folder"):
        play(limit=3)
    assert (folder / "prompt.jinja").read_text() == "my notes"
    # The prompt itself, or what a process left that was killed before the manifest, is no obstacle.
    (folder / "prompt.jinja").write_bytes(TEXT.encode())
    (folder / ".prompt.jinja.0123abcd.new").write_text("half")
    assert read_run(play(limit=3, prompt=folder / "prompt.jinja")).complete
    assert (folder / "prompt.jinja").read_bytes() == TEXT.encode()
    assert not list(folder.glob(".prompt*"))


def test_a_prompt_that_changes_under_ones_hands_is_noticed(play: Play, prompt: Path) -> None:
    run = read_run(play(limit=3))
    prompt.write_bytes(TEXT.encode() + b"{# more #}")
    with pytest.raises(PromptError, match=r"mine\.jinja was changed while the agent was being made"):
        read_texts(run.config.agent, run.manifest.agent_fingerprint)


def test_a_board_takes_the_text_too_and_refuses_another_one(play: Play, tmp_path: Path) -> None:
    folder = play()
    added = add_run(folder, tmp_path / "board")
    assert (added.folder / "prompt.jinja").read_bytes() == TEXT.encode()
    assert '"prompt.jinja": "' in (added.folder / "submission.json").read_text()
    for text, says in ((b"other", "not what played"), (b"\xff", "not UTF-8")):
        (folder / "prompt.jinja").write_bytes(text)
        with pytest.raises(RefusedError, match=says) as caught:
            add_run(folder, tmp_path / "board", name="another")
        assert "\n" not in str(caught.value)
    assert sorted(path.name for path in (tmp_path / "board").iterdir() if not path.name.startswith(".")) == ["run"]
    (folder / "prompt.jinja").unlink()  # as in a run of an earlier version
    assert not (add_run(folder, tmp_path / "older").folder / "prompt.jinja").exists()


@pytest.mark.slow
@pytest.mark.llm
def test_a_chat_template_is_kept_as_well(tiny_checkpoint: Path, tmp_path: Path, prompt: Path) -> None:
    template = tmp_path / "template.jinja"
    template.write_text("{% for message in messages %}{{ message['content'] }}\n{% endfor %}Answer:")
    settings = LanguageModelSettings(
        model=str(tiny_checkpoint), prompt=str(prompt), chat_template=str(template), max_tokens=4
    )
    run = evaluate(EvalConfig(env="math", panel="builtin_valid", limit=2, agent=settings, out=tmp_path / "run"))
    assert (run.folder / "prompt.jinja").read_bytes() == TEXT.encode()
    assert (run.folder / "chat_template.jinja").read_bytes() == template.read_bytes()
    fingerprint = run.manifest.agent_fingerprint
    assert contradiction(run.folder, run.config.agent, fingerprint) == ""
    (run.folder / "chat_template.jinja").write_text("{{ messages }}")
    assert "prompt.jinja and chat_template.jinja are not what played" in contradiction(
        run.folder, run.config.agent, fingerprint
    )
    # Where the package's own texts are a part of the hash, another version may have others, and nothing is refused.
    for change in ({"prompt": "free"}, {"chat_template": "plain"}, {"chat_template": None}):
        other = replace(run.config.agent, **change)
        made = make_language_model(other, "math")
        assert read_texts(other, made.fingerprint).keys() < {"prompt.jinja", "chat_template.jinja"}
        made.close()
