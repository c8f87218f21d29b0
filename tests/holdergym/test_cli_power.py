"""``holdergym power``: the numbers of the help and of the headline example."""

import re

import pytest
from click.testing import CliRunner
from holdergym.envs.errors import ConfigError

from holdergym.cli.power import command


def power(*arguments: str) -> str:
    done = CliRunner().invoke(command, arguments, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def test_the_headline_gap_takes_about_1240_tasks_an_arm() -> None:
    shown = power("--baseline", "0.908", "--effect", "0.03")
    unpaired = int(re.search(r"unpaired +([\d,]+) tasks for each agent", shown)[1].replace(",", ""))
    assert 1235 <= unpaired <= 1245
    assert "90.8% against 93.8%" in shown
    assert re.search(r"paired +1,\d{3} tasks, played once by both \(14\.26% of them discordant\)", shown)


def test_agents_that_find_the_same_tasks_hard_need_fewer() -> None:
    shown = power("--baseline", "0.908", "--effect", "0.03", "--correlation", "0.6")
    assert int(re.search(r" paired +([\d,]+) tasks", shown)[1].replace(",", "")) < 700


@pytest.mark.parametrize("effect", ["0.0001", "-0.0001", "0.000001"])
def test_a_tiny_effect_takes_many_tasks_and_little_time(effect: str) -> None:
    shown = power("--baseline", "0.908", "--effect", effect)
    paired, unpaired = (int(found.replace(",", "")) for found in re.findall(r"paired +([\d,]+) tasks", shown))
    assert paired == pytest.approx(unpaired, rel=0.01)
    assert paired > 100_000_000


def test_what_a_panel_can_show() -> None:
    shown = power("--baseline", "0.908", "--effect", "0.03", "--tasks", "134")
    assert re.search(r" paired +\d+(\.\d+)?% power", shown)
    assert "smallest gain over 90.8% that 134 tasks show with 80% power" in shown
    assert re.search(r" paired +[5-9]\.\d points", shown)
    assert power("--baseline", "0.99", "--tasks", "10").count("none") == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--baseline", "0.5"], "give --effect .* or --tasks"),
        (["--baseline", "0.99", "--effect", "0.1"], "second rate of 1.09"),
        (["--baseline", "0.5", "--effect", "0"], "must be another one"),
        (["--baseline", "0.5", "--effect", "-1e-300"], "too small to plan for: give at least 0.000001"),
        (["--baseline", "0.5", "--effect", "0.4", "--correlation", "0.9"], "give another --correlation"),
    ],
)
def test_what_cannot_be(arguments: list[str], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        power(*arguments)


@pytest.mark.parametrize("baseline", ["0", "1", "90.8"])
def test_a_rate_is_between_0_and_1(baseline: str) -> None:
    assert CliRunner().invoke(command, ["--baseline", baseline, "--tasks", "5"]).exit_code == 2
