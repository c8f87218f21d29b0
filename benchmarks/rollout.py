"""Times the rollout engine against a lock-step loop: same episodes, same model, same back end, in one run.

    python benchmarks/rollout.py [--model DIR] [--shape long short ...] [--episodes 48] [--in-flight 16] [--rounds 2]

A language model talks in built-in games. Its replies are sampled, so their lengths differ, and so do the episodes: some
wandering, whose length is drawn for each episode, then what the expert does. The shapes: ``long`` has 4 to 50 commands
an episode, as ALFWorld has, and prompts that grow to thousands of tokens; ``short`` has few commands and short replies;
``wordy`` has few commands and long replies; ``window`` is ``long`` with prompts of the last turns only, as in
verl-agent, of which nothing but the instructions is kept from turn to turn. The
commands do not come from the replies, so that a model with random weights, which says nothing sensible, has episodes as
mixed as a trained one has. All draws derive from task and turn: both loops should sample the very same tokens, and how
many replies are the same is printed.

The lock-step loop is what trainers commonly do: a batch of episodes takes a turn together, waits for the longest reply,
then all environments step; finished games leave the batch, and the next batch begins when the last one has ended. It
uses the same back end, in which a reply that has ended makes room at once: the usual padded ``generate`` is slower.

Passes are counted and both times are compared: wall time, and processor time, which other programs on the machine
disturb less. What the two ways do not share is the number of passes; from the two processor times and numbers of passes
follow the time that a pass takes however many rows it has, and the rest: prompts, attention, draws, which are the same
work both ways. The engine can save nothing of that rest, so with a small model on a processor, where long prompts are
most of the work, the ratio stays far below that of the passes.

Without ``--model`` a model of 1.5 million random weights is made, with a bias towards its end token.
"""

import argparse
import hashlib
import statistics
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import gymnasium
import torch
from holdergym.agents.agent import Agent, AgentError, Conversation, Exchange, Response
from holdergym.agents.backends.settings import TransformersSettings
from holdergym.agents.language_model_settings import LanguageModelSettings
from holdergym.agents.making import make_language_model
from holdergym.agents.rollout import EpisodeJob, roll_out
from holdergym.agents.scripted import ExpertAgent, RandomAgent
from holdergym.envs.alfworld.env import ALFWorldEnv
from holdergym.envs.alfworld.games import Games, open_games

PANEL = "builtin_valid"
CHAT_TEMPLATE = (
    "{% for message in messages %}<|start|>{{ message.role }}\n{{ message.content }}<|end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|start|>assistant\n{% endif %}"
)


class Shape(NamedTuple):
    """How long episodes are.

    Attributes:
        detour: Most commands before those of the expert.
        mean_reply: Tokens of a reply, in the mean.
        longest_reply: Tokens after which a reply is cut.
        prompt: What the model sees: ``chat``, all turns, or ``window``, the last ones.
    """

    detour: int
    mean_reply: int
    longest_reply: int
    prompt: str = "chat"


SHAPES = {
    "long": Shape(40, 32, 192),
    "short": Shape(10, 16, 96),
    "wordy": Shape(10, 128, 768),
    "window": Shape(40, 32, 192, prompt="window"),
}

Replies = dict[tuple[str, int], list[tuple[int, ...]]]
"""Response tokens of each turn, by task and sample."""


class Measurement(NamedTuple):
    """One way through all episodes."""

    seconds: float
    processor_seconds: float
    passes: int
    rows: int
    replies: Replies


class GuidedAgent(Agent):
    """Says what a language model says and does what was written down before.

    Args:
        talker: The language model.
        commands: What is done in each episode, by task and sample.
    """

    name = fingerprint = "guided"

    def __init__(self, talker: Agent, commands: Mapping[tuple[str, int], Sequence[str]]) -> None:
        self._talker = talker
        self._commands = commands

    def act(self, conversations: Sequence[Conversation]) -> list[Response]:
        """Answers each conversation, in order."""
        return [
            replace(reply, action=self._commands[conversation.task.id, conversation.sample][conversation.turn])
            for conversation, reply in zip(conversations, self._talker.act(conversations), strict=True)
        ]


class Wanderer(Agent):
    """Wanders for so many commands as the episode's seed says, and then does what the expert does.

    Args:
        games: The games that will be played.
        longest: Most commands of wandering.
    """

    name = fingerprint = "wanderer"

    def __init__(self, games: Games, longest: int) -> None:
        self._longest = longest
        self._random = RandomAgent()
        self._expert = ExpertAgent(games)

    def act(self, conversations: Sequence[Conversation]) -> list[Response]:
        """Answers each conversation, in order."""
        return [self._answer(conversation) for conversation in conversations]

    def _answer(self, conversation: Conversation) -> Response:
        drawn = hashlib.sha256(f"detour {conversation.seed}".encode()).digest()
        if conversation.turn >= int.from_bytes(drawn[:4], "big") % (self._longest + 1):
            # Where nothing can win any more, it wanders on to the step limit.
            with suppress(AgentError):
                return self._expert.act([conversation])[0]
        return self._random.act([conversation])[0]


def make_model(folder: Path, texts: list[str], mean_reply: int) -> None:
    """A Phi with random weights: nearly all tokens are as likely, but the end token comes once in a mean reply."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PhiConfig, PhiForCausalLM, PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=2000,
        special_tokens=["<|end|>", "<|start|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<|end|>")
    fast.chat_template = CHAT_TEMPLATE
    fast.save_pretrained(folder)
    config = PhiConfig(
        vocab_size=len(fast),
        hidden_size=128,
        intermediate_size=256,
        num_hidden_layers=8,
        num_attention_heads=4,
        num_key_value_heads=1,
        max_position_embeddings=16_384,
        bos_token_id=None,
        eos_token_id=0,
    )
    torch.manual_seed(0)
    model = PhiForCausalLM(config)
    with torch.no_grad():
        model.lm_head.bias[0] = torch.tensor(len(fast) / (mean_reply - 1)).log()
    model.save_pretrained(folder)


def lock_step(
    jobs: Sequence[EpisodeJob], agent: Agent, envs: Sequence[gymnasium.Env[str, str]]
) -> Iterator[tuple[EpisodeJob, list[tuple[int, ...]]]]:
    """Plays a batch of as many episodes as environments after the other."""
    for start in range(0, len(jobs), len(envs)):
        batch = list(zip(jobs[start : start + len(envs)], envs, strict=False))
        seen = [env.reset(seed=job.seed, options={"task": job.task.id}) for job, env in batch]
        histories: list[list[Exchange]] = [[] for _ in batch]
        live = list(range(len(batch)))
        while live:
            conversations = [
                Conversation(*batch[at][0], tuple(histories[at]), seen[at][0], seen[at][1]["admissible_commands"])
                for at in live
            ]
            # fields of EpisodeJob: task, sample, seed, as Conversation has them first
            for at, conversation, response in zip(list(live), conversations, agent.act(conversations), strict=True):
                observation, _, terminated, truncated, info = batch[at][1].step(response.action)
                histories[at].append(
                    Exchange(conversation.observation, response.action, conversation.admissible_commands, response)
                )
                seen[at] = (observation, info)
                if terminated or truncated:
                    live.remove(at)
        for (job, _), history in zip(batch, histories, strict=True):
            yield job, [exchange.response.response_ids or () for exchange in history if exchange.response]


def measure(
    way: str,
    settings: LanguageModelSettings,
    commands: Mapping[tuple[str, int], Sequence[str]],
    jobs: list[EpisodeJob],
    in_flight: int,
) -> Measurement:
    """Plays all episodes with a model that is opened before and a cache that is empty."""
    talker = make_language_model(settings, "alfworld")
    with closing(talker):
        talker.open()
        passes = _count_passes(talker)
        agent = GuidedAgent(talker, commands)
        replies: Replies = {}
        began, processor = time.perf_counter(), time.process_time()
        if way == "engine":
            for played in roll_out(jobs, agent, ALFWorldEnv, in_flight):
                if not played.outcome.finished:
                    raise SystemExit(f"{played.task_id}: {played.reason}")
                replies[played.task_id, played.sample] = [turn.response_ids or () for turn in played.turns]
        else:
            envs = [ALFWorldEnv() for _ in range(in_flight)]
            for job, said in lock_step(jobs, agent, envs):
                replies[job.task.id, job.sample] = said
        seconds, processor = time.perf_counter() - began, time.process_time() - processor
    return Measurement(seconds, processor, len(passes), sum(passes), replies)


def _count_passes(talker: object) -> list[int]:
    """Fills a list with the number of rows of each pass that draws next tokens."""
    rows: list[int] = []
    decoder = vars(vars(talker)["_backend"])["_decoder"]
    model = vars(decoder)["_model"]

    def count(module: object, args: object, arguments: dict[str, torch.Tensor]) -> None:
        if arguments["input_ids"].shape[1] == 1:
            rows.append(len(arguments["input_ids"]))

    model.register_forward_pre_hook(count, with_kwargs=True)
    return rows


def spread(numbers: Sequence[int]) -> str:
    low, middle, high = min(numbers), statistics.median(numbers), max(numbers)
    return f"{low} to {high}, median {middle:g}, mean {statistics.fmean(numbers):.1f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", help="a folder, or smollm2-135m; without it a small one with random weights")
    parser.add_argument("--episodes", type=int, default=48)
    parser.add_argument("--in-flight", type=int, default=16)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--shape", nargs="+", choices=SHAPES, default=["long"])
    parser.add_argument("--threads", type=int, default=torch.get_num_threads(), help="threads of torch")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    for name in options.shape:
        run(options, name, SHAPES[name])


def run(options: argparse.Namespace, name: str, shape: Shape) -> None:
    """Compares both ways on episodes of one shape."""
    games = open_games(PANEL)
    tasks = games.panel.tasks
    jobs = [
        EpisodeJob(tasks[number % len(tasks)], number // len(tasks), 1000 + number)
        for number in range(options.episodes)
    ]
    # Planning takes time that no language model's agent takes, so it is done before.
    commands = {
        (played.task_id, played.sample): [turn.action for turn in played.turns]
        for played in roll_out(jobs, Wanderer(games, shape.detour), ALFWorldEnv, in_flight=1)
    }
    with tempfile.TemporaryDirectory() as folder:
        if options.model is None:
            make_model(Path(folder), [games.world(task.id).introduction for task in tasks], shape.mean_reply)
        settings = LanguageModelSettings(
            model=options.model or folder,
            backend=TransformersSettings(max_batch=options.in_flight),
            prompt=shape.prompt,
            admissible=False,
            temperature=1.0,
            max_tokens=shape.longest_reply,
        )
        print(f"\n{name}")
        compare(settings, commands, jobs, options.in_flight, options.rounds)


def compare(
    settings: LanguageModelSettings,
    commands: Mapping[tuple[str, int], Sequence[str]],
    jobs: list[EpisodeJob],
    in_flight: int,
    rounds: int,
) -> None:
    """Measures both ways in turns and prints what came out."""
    taken: dict[str, list[Measurement]] = {"lock-step": [], "engine": []}
    for number in range(rounds):
        for way in list(taken) if number % 2 == 0 else list(reversed(taken)):
            taken[way].append(measure(way, settings, commands, jobs, in_flight))
    first = taken["lock-step"][0].replies
    turns = [len(said) for said in first.values()]
    lengths = [len(ids) for said in first.values() for ids in said]
    print(f"{len(jobs)} episodes of {PANEL}, {in_flight} at once, {torch.get_num_threads()} threads, {rounds} rounds")
    print(f"turns of an episode: {spread(turns)}")
    print(f"tokens of a reply:   {spread(lengths)}")
    same = total = 0
    for ways in taken.values():
        for measurement in ways:
            for key, said in measurement.replies.items():
                total += len(said)
                same += sum(one == other for one, other in zip(said, first[key], strict=False))
    print(f"replies of the same tokens in all runs: {same:,} of {total:,}\n")
    wall, processor = {}, {}
    for way, measurements in taken.items():
        wall[way] = statistics.median(one.seconds for one in measurements)
        processor[way] = statistics.median(one.processor_seconds for one in measurements)
        one = measurements[0]
        print(
            f"  {way:10} {wall[way]:8.2f} s {sum(lengths) / wall[way]:8.0f} tokens/s {processor[way]:7.2f} processor s"
            f" {one.passes:7,} passes {one.rows / one.passes:5.1f} rows a pass"
        )
    slow, fast = (taken[way][0].passes for way in ("lock-step", "engine"))
    print(f"  ratio      {_ratio(wall):8.2f} x {_ratio(processor):30.2f} x {slow / fast:13.2f} x")
    a_pass = (processor["lock-step"] - processor["engine"]) / (slow - fast)
    rest = processor["engine"] - a_pass * fast
    print(f"  a pass takes {1000 * a_pass:.1f} processor ms; {rest:.1f} processor s are the same work both ways")


def _ratio(taken: Mapping[str, float]) -> float:
    return taken["lock-step"] / taken["engine"]


if __name__ == "__main__":
    main()
