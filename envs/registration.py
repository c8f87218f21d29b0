"""The environments' names in Gymnasium's registry."""

from typing import Final

# Id of each environment and the task type that it keeps, None for all six.
ENVIRONMENTS: Final[dict[str, str | None]] = {
    "holdergym/ALFWorld-v0": None,
    "holdergym/ALFWorldPickAndPlace-v0": "pick_and_place_simple",
    "holdergym/ALFWorldLookAtInLight-v0": "look_at_obj_in_light",
    "holdergym/ALFWorldCleanAndPlace-v0": "pick_clean_then_place_in_recep",
    "holdergym/ALFWorldCoolAndPlace-v0": "pick_cool_then_place_in_recep",
    "holdergym/ALFWorldHeatAndPlace-v0": "pick_heat_then_place_in_recep",
    "holdergym/ALFWorldPickTwoAndPlace-v0": "pick_two_obj_and_place",
}
ENTRY_POINT: Final = "holdergym.envs.alfworld.env:ALFWorldEnv"

# Id of each environment of mathematics problems and its class.
MATH_ENVIRONMENTS: Final[dict[str, str]] = {
    "holdergym/Math-v0": "holdergym.envs.math.env:MathEnv",
    "holdergym/MathRetry-v0": "holdergym.envs.math.env:MathRetryEnv",
    "holdergym/MathPython-v0": "holdergym.envs.math.env:MathPythonEnv",
}


def register() -> None:
    """Registers the environments for ``gymnasium.make``; doing so again changes nothing.

    The step limit is the environment's own ``max_steps``: Gymnasium's ``max_episode_steps`` would hide it from
    the environment, and with it the reason why an episode ended.
    """
    import gymnasium

    for env_id, task_type in ENVIRONMENTS.items():
        if env_id not in gymnasium.registry:
            kwargs = {} if task_type is None else {"task_type": task_type}
            gymnasium.register(env_id, entry_point=ENTRY_POINT, kwargs=kwargs)
    for env_id, entry_point in MATH_ENVIRONMENTS.items():
        if env_id not in gymnasium.registry:
            gymnasium.register(env_id, entry_point=entry_point)
