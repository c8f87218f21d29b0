"""A method as text: its settings, and its exponent over the rounds."""

from .method import Method
from .schedules import PAPER_NAMES, Schedule

WIDTH, HEIGHT = 64, 13


def describe(method: Method) -> str:
    """All settings as a settings file has them, and a plot where p has a schedule."""
    from ..envs.settings import as_toml

    text = as_toml(method).rstrip()
    exponent = method.aggregation.exponent
    return f"{text}\n\n{plot(exponent)}" if isinstance(exponent, Schedule) else text


def plot(schedule: Schedule) -> str:
    """The exponent over the rounds, in characters."""
    rounds = [1 + round(column * (schedule.rounds - 1) / (WIDTH - 1)) for column in range(WIDTH)]
    values = [schedule.at(number) for number in rounds]
    height = schedule.high - schedule.low
    level = [round((value - schedule.low) / height * (HEIGHT - 1)) if height else 0 for value in values]
    lines = [f"p over rounds: {schedule.shape} ({PAPER_NAMES[schedule.shape]})"]
    for row in range(HEIGHT - 1, -1, -1):
        edge = row in (0, HEIGHT // 2, HEIGHT - 1)
        label = f"{schedule.low + height * row / (HEIGHT - 1):8.2f}" if edge else " " * 8
        lines.append(f"{label} |" + "".join("*" if at == row else " " for at in level).rstrip())
    lines.append(" " * 9 + "+" + "-" * WIDTH)
    last = str(schedule.rounds)
    lines.append(" " * 10 + "1" + last.rjust(WIDTH - 1))
    return "\n".join(lines)
