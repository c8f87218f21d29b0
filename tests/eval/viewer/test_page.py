"""What goes into the page, without a browser."""

import json
import re
from pathlib import Path

import pytest
from holdergym.agents.trajectory import Outcome, Turn
from holdergym.envs.errors import HolderGymError
from holdergym.eval.config import EvalConfig
from holdergym.eval.evaluation import evaluate
from holdergym.eval.viewer.page import viewer_page

from .conftest import GOAL, WriteRun

HOSTILE = "</script><script>alert(1)</script><!--<script> & \u2028 \ud83d"


def blocks_of(page: str) -> dict[str, object]:
    found = re.findall(r'<script type="application/json" id="([\w-]+)">(.*?)</script>', page, re.DOTALL)
    return {name: json.loads(text) for name, text in found}


def test_everything_of_a_run_is_there(played: dict[str, Path]) -> None:
    blocks = blocks_of(viewer_page([played["random"]]))
    lines = [json.loads(line) for line in (played["random"] / "episodes.jsonl").read_text().splitlines()]
    assert len(blocks) == 1 + len(lines) == 13
    index = blocks["index"]
    (rows,) = index["rows"]
    for number, (row, line) in enumerate(zip(rows, sorted(lines, key=lambda line: line["task_id"]), strict=True)):
        assert (row["task"], row["outcome"], row["steps"]) == (line["task_id"], line["outcome"], len(line["turns"]))
        body = blocks[f"episode-0-{number}"]
        assert [turn["action"] for turn in body["turns"]] == [turn["action"] for turn in line["turns"]]
        assert [turn["observation"] for turn in body["turns"]] == [turn["observation"] for turn in line["turns"]]
        assert body["final"] == line["final_observation"]
        assert f"Your task is to: {index['tasks'][row['task']]['goal']}" in line["turns"][0]["observation"]
    summary = json.loads((played["random"] / "summary.json").read_text())
    (run,) = index["runs"]
    assert run["overall"]["rate"] == summary["overall"]["success_rate"]
    assert sum(run["outcomes"].values()) == 12
    assert ["Panel sha256", summary["panel"]["sha256"]] in run["origin"]


def test_no_text_can_end_its_block(write_run: WriteRun) -> None:
    turn = Turn(GOAL + HOSTILE, HOSTILE, False, 0.0, reply=HOSTILE, finish="stop")
    run = write_run("hostile", [[turn]], agent=f"me {HOSTILE[:-1]}", final=HOSTILE)
    page = viewer_page([run])
    page.encode("utf-8")  # No half of a surrogate pair is left, which could not be written.
    data = page[page.index('<script type="application/json"') : page.rindex("<script>")]
    for inside in re.findall(r'<script type="application/json" id="[\w-]+">(.*?)</script>\n', data, re.DOTALL):
        assert not set("<>&") & set(inside)
    blocks = blocks_of(page)
    assert blocks["episode-0-0"]["turns"][0]["reply"] == HOSTILE
    assert blocks["index"]["runs"][0]["agent"] == f"me {HOSTILE[:-1]}"


def test_an_episode_that_was_played_again_is_shown_as_it_counts(write_run: WriteRun) -> None:
    run = write_run("again", [[Turn(GOAL, "look", True, 0.0)]], outcomes=[Outcome.ERROR])
    line = json.loads((run / "episodes.jsonl").read_text())
    assert blocks_of(viewer_page([run]))["index"]["runs"][0]["notes"][-1].startswith(
        "Failed as error or timeout: 1 of 1 "
    )
    line |= {"outcome": "won", "reason": "", "goal_condition_success_rate": 1.0}
    line["turns"][-1]["reward"] = 1.0
    with (run / "episodes.jsonl").open("a") as file:
        file.write(json.dumps(line) + "\n")
    (row,) = blocks_of(viewer_page([run]))["index"]["rows"][0]
    assert row["outcome"] == "won"


def test_only_the_new_part_of_a_prompt_is_kept(spoken: Path) -> None:
    body = blocks_of(viewer_page([spoken]))["episode-0-0"]
    first, second = body["turns"]
    assert first["prompt"]["from"] == 0
    assert first["prompt"]["text"] == GOAL
    assert second["prompt"]["text"] == "You arrive at desk 1."
    assert second["prompt"]["from"] == first["prompt"]["count"] + len(first["tokens"]["ids"])


def test_the_pieces_of_tokens_are_the_reply(spoken: Path) -> None:
    for turn in blocks_of(viewer_page([spoken]))["episode-0-0"]["turns"]:
        tokens = turn["tokens"]
        assert tokens["said"] == turn["reply"] + "<|end|>"
        assert sum(tokens["lengths"]) == len(tokens["said"].encode("utf-16-le")) // 2
        assert len(tokens["lengths"]) == len(tokens["ids"]) == len(tokens["surprise"])
    assert tokens["surprise"][1] == 250


def test_a_tokenizer_that_never_said_it_shows_no_texts(spoken: Path, tmp_path: Path, tokenizer_folder: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    tokenizer = json.loads((tokenizer_folder / "tokenizer.json").read_text())
    vocabulary = tokenizer["model"]["vocab"]
    names = sorted(vocabulary, key=vocabulary.get)
    tokenizer["model"]["vocab"] = {name: number for number, name in enumerate([names[0], *reversed(names[1:])])}
    (other / "tokenizer.json").write_text(json.dumps(tokenizer))
    (other / "tokenizer_config.json").write_text((tokenizer_folder / "tokenizer_config.json").read_text())
    turns = blocks_of(viewer_page([spoken], str(other)))["episode-0-0"]["turns"]
    assert all("lengths" not in turn["tokens"] for turn in turns)


def test_without_a_tokenizer_the_page_says_so(write_run: WriteRun) -> None:
    turn = Turn(GOAL, "look", True, 0.0, reply="look", prompt_ids=(1, 2), response_ids=(3,), logprobs=(-0.5,))
    run = write_run("spoken", [[turn]], model="/nowhere/at/all")
    index = blocks_of(viewer_page([run]))["index"]
    assert "without their texts" in index["runs"][0]["notes"][0]
    assert "--tokenizer" in index["runs"][0]["notes"][0]
    with pytest.raises(HolderGymError, match="give --tokenizer"):
        viewer_page([run], "someone/nothing-of-that-name")


def test_runs_that_cannot_be_compared_are_refused(played: dict[str, Path], write_run: WriteRun) -> None:
    with pytest.raises(HolderGymError, match="given twice"):
        viewer_page([played["random"], played["random"]])
    other = write_run("other", [[Turn(GOAL, "look", True, 0.0)]])
    with pytest.raises(HolderGymError, match="no task in common"):
        viewer_page([played["random"], other])


def test_runs_with_other_numbers_of_samples_say_how_they_are_paired(tmp_path: Path) -> None:
    runs = []
    for samples in (3, 1):
        runs.append(tmp_path / str(samples))
        evaluate(EvalConfig(panel="builtin_valid", limit=2, max_steps=2, samples=samples, out=runs[-1]))
    index = blocks_of(viewer_page(runs))["index"]
    assert "A has 3 samples of each task and B 1" in index["pairing"]
    assert [[row["sample"] for row in rows] for rows in index["rows"]] == [[0, 1, 2] * 2, [0] * 2]
    assert blocks_of(viewer_page([runs[1]]))["index"].get("pairing") is None


def test_the_policy_names_the_script_and_style_that_are_there(played: dict[str, Path]) -> None:
    page = viewer_page([played["random"]])
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
    assert policy is not None
    assert policy[1].startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy[1]
    assert not re.search(r"https?://", page[page.rindex("<script>") :])
    assert "innerHTML" not in page[page.rindex("<script>") :]
