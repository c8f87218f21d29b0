"""The stock engine in a process of its own, answering one request after the other; ``stock.py`` starts it.

A request and a reply are a line of JSON each, over the socket whose number is the first argument. Nothing is caught
here: a failure ends the process, and its last words on standard error are the reason that ``stock.py`` reports.

    {"file": {...}, "goal": [...]}   begins a game; the file's entries are left out to play the last one again
    {"command": "..."}               gives a command
"""

import json
import os
import socket
import sys
import threading
from pathlib import Path
from typing import Any

from .problem import Goal, TaskType
from .stock_goal import PREDICATES, Facts, goal_progress


def main(channel: socket.socket) -> None:
    """Serves until the other side closes."""
    env = make_env()
    goal: Goal | None = None
    with channel.makefile("rw", encoding="ascii", newline="\n") as stream:

        def answer(reply: dict[str, object]) -> None:
            stream.write(json.dumps(reply) + "\n")
            stream.flush()

        answer({"ready": True})
        for line in stream:
            request = json.loads(line)
            if "command" in request:
                state, _, _ = env.step(request["command"])
            else:
                if "file" in request:
                    env.load(request["file"])
                    task_type, object_type, target_type = request["goal"]
                    goal = Goal(TaskType(task_type), object_type, target_type)
                state = env.reset()
            assert goal is not None
            progress = goal_progress(_facts(state["_facts"]), goal)
            answer(
                {
                    "text": state.feedback,
                    "commands": list(state["admissible_commands"]),
                    "won": bool(state["won"]),
                    "met": progress.met,
                    "conditions": progress.total,
                    "megabytes": _megabytes(),
                }
            )


def make_env() -> Any:  # noqa: ANN401 - the stock engine has no types
    """Makes the stock environment: the text engine, and the wrapper that names things.

    Each needs a wrapper of its own; environments that share one play one game.
    """
    # On import alfworld makes the folder that ALFWORLD_DATA names, or one in the home folder. Nothing is read from
    # there, so name one that exists.
    os.environ["ALFWORLD_DATA"] = str(Path(__file__).parent)
    from alfworld.agents.environment.alfred_tw_env import AlfredDemangler
    from textworld import EnvInfos
    from textworld.envs.pddl.pddl import PddlEnv

    return AlfredDemangler(PddlEnv(EnvInfos(won=True, admissible_commands=True)), shuffle=False)


def _facts(propositions: Any) -> Facts:  # noqa: ANN401 - the stock engine has no types
    facts: dict[str, set[tuple[str, ...]]] = {name: set() for name in PREDICATES}
    for proposition in propositions:
        if proposition.name in PREDICATES:
            facts[proposition.name].add(tuple(argument.name for argument in proposition.arguments))
    return facts


def _megabytes() -> float:
    import psutil

    return float(psutil.Process().memory_info().rss / 2**20)


def _end_with_parent() -> None:
    """Ends this process when the one that started it is gone, also in the middle of a request.

    Standard input is a pipe that is never written to: it ends when the parent does, however that ends.
    """

    def wait() -> None:
        # Not through sys.stdin: a thread that waits inside it makes an exit of this process abort.
        os.read(sys.stdin.fileno(), 1)
        os._exit(0)

    threading.Thread(target=wait, daemon=True).start()


if __name__ == "__main__":
    _end_with_parent()
    main(socket.socket(fileno=int(sys.argv[1])))
