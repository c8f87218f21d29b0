"""Tiny policies: words that are text again, weights that begin as they should, and checkpoints like any other."""

from pathlib import Path

import pytest
import torch
from holdergym.agents.agent import Conversation, Exchange
from holdergym.agents.checkpoints import find_checkpoint
from holdergym.agents.composing import Viewer
from holdergym.agents.loading import load_model, load_tokenizer
from holdergym.agents.prompt import open_prompt
from holdergym.agents.searching import SearchingAgent
from holdergym.envs.alfworld.env import ALFWorldEnv
from holdergym.envs.math.builtin import builtin_problems
from holdergym.training.tiny.making import TinySize, make_tiny_policy, make_tokenizer
from holdergym.training.tiny.vocabulary import words

pytestmark = pytest.mark.llm


@pytest.mark.parametrize("world", ["alfworld", "math"])
def test_words_are_each_there_once(world: str) -> None:
    found = words(world)  # type: ignore[arg-type]
    assert len(set(found)) == len(found)
    assert all(found)


def test_everything_that_a_household_shows_is_known_and_comes_back() -> None:
    """Observations, commands and the prompts of every game of a panel, to the letter."""
    tokenizer = make_tokenizer("alfworld")
    prompt, viewer = open_prompt("tiny"), Viewer(None, True)
    env, agent = ALFWorldEnv("builtin_valid"), SearchingAgent()
    texts: set[str] = set()
    for task in env.panel.tasks:
        observation, info = env.reset(options={"task": task.id})
        history: list[Exchange] = []
        ended = cut = False
        while not (ended or cut):
            commands = info["admissible_commands"]
            conversation = Conversation(task, 0, 0, tuple(history), observation, commands)
            texts |= {observation, *commands, prompt.user(viewer.view(conversation, len(history), first=True))}
            action = agent.command(conversation)
            history.append(Exchange(observation, action, commands))
            observation, _, ended, cut, info = env.step(action)
    assert len(texts) > 1000
    for text in texts:
        ids = tokenizer(text, add_special_tokens=False)["input_ids"]
        assert tokenizer.unk_token_id not in ids, text
        assert tokenizer.decode(ids) == text


def test_every_built_in_problem_is_known_and_comes_back() -> None:
    tokenizer = make_tokenizer("math")
    problems = builtin_problems("builtin_train")
    for task in problems.panel.tasks:
        problem = problems[task.id]
        for text in (problem.statement, f"\\boxed{{{problem.golds[0]}}}"):
            ids = tokenizer(text, add_special_tokens=False)["input_ids"]
            assert tokenizer.unk_token_id not in ids, text
            assert tokenizer.decode(ids) == text


def test_an_ordinary_checkpoint(tmp_path: Path) -> None:
    size = TinySize(layers=2, width=32, heads=4, inner=32)
    weights = make_tiny_policy(tmp_path / "a", "alfworld", size=size)
    checkpoint = find_checkpoint(str(tmp_path / "a"))
    model, tokenizer = load_model(checkpoint), load_tokenizer(checkpoint)
    assert model.num_parameters() == weights < 100_000
    assert model.get_input_embeddings().num_embeddings == len(tokenizer)
    make_tiny_policy(tmp_path / "b", "alfworld", size=size)
    make_tiny_policy(tmp_path / "c", "alfworld", size=size, seed=1)
    digests = [find_checkpoint(str(tmp_path / name)).digest for name in "abc"]
    assert digests[0] == digests[1] != digests[2]


def test_making_one_leaves_the_callers_random_numbers_alone(tmp_path: Path) -> None:
    torch.manual_seed(3)
    expected = torch.rand(1)
    torch.manual_seed(3)
    make_tiny_policy(tmp_path / "a", "math", size=TinySize(layers=1, width=16, heads=2, inner=16))
    assert torch.rand(1) == expected


def test_the_first_layer_begins_by_looking_back(tmp_path: Path) -> None:
    make_tiny_policy(tmp_path / "a", "alfworld")
    model = load_model(find_checkpoint(str(tmp_path / "a")))
    model.set_attn_implementation("eager")
    ids = torch.randint(0, 900, (1, 150), generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        attention = model(ids, output_attentions=True).attentions[0][0]
    for head, weight_T_T in enumerate(attention):
        for token in (20, 80, 149):
            assert int(weight_T_T[token].argmax()) == token - head - 1
            assert float(weight_T_T[token].max()) > 0.9
