import math
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal

import pytest
from holdergym.envs.errors import ConfigError
from holdergym.envs.settings import (
    Layer,
    as_toml,
    assignment_layer,
    digest,
    file_layer,
    first_difference,
    keys_of,
    merge,
    resolve,
)
from pydantic import Field


class Shape(StrEnum):
    LINEAR = "linear"
    COSINE = "cosine"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plain:
    name: Literal["plain"] = "plain"


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    name: Literal["model"] = "model"
    path: Path
    temperature: Annotated[float, Field(ge=0)] = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Optimiser:
    rate: float = 1e-6
    betas: tuple[float, ...] = (0.9, 0.999)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    rounds: Annotated[int, Field(ge=1)] = 3
    p: float = 1.0
    shape: Shape = Shape.LINEAR
    note: str | None = None
    verbose: bool = False
    agent: Annotated[Plain | Model, Field(discriminator="name")] = field(default_factory=Plain)
    optimiser: Optimiser = field(default_factory=Optimiser)


def of(**values: object) -> Recipe:
    return resolve(Recipe, [Layer("test", values)])


def test_nothing_given_is_the_defaults() -> None:
    assert resolve(Recipe, []) == Recipe()


def test_a_later_layer_wins_and_groups_are_merged() -> None:
    first = Layer("a", {"rounds": 4, "optimiser": {"rate": 0.5, "betas": [0.1, 0.2]}})
    second = Layer("b", {"optimiser": {"rate": 0.25}})
    assert resolve(Recipe, [first, second]) == Recipe(rounds=4, optimiser=Optimiser(rate=0.25, betas=(0.1, 0.2)))


def test_merging_leaves_the_layers_as_they_are() -> None:
    first = Layer("a", {"optimiser": {"rate": 0.5}})
    resolve(Recipe, [first, Layer("b", {"optimiser": {"rate": 0.25}})])
    assert first.values == {"optimiser": {"rate": 0.5}}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("rounds=4", {"rounds": 4}),
        ("p=-inf", {"p": -math.inf}),
        ("verbose=true", {"verbose": True}),
        ("note=hello world", {"note": "hello world"}),
        ('note="4"', {"note": "4"}),
        ("optimiser.betas=[0.5, 0.6]", {"optimiser": {"betas": [0.5, 0.6]}}),
        ("note=a=b", {"note": "a=b"}),
        (" note = a ", {"note": "a"}),
        ("note=", {"note": ""}),
    ],
)
def test_assignments(text: str, value: dict[str, object]) -> None:
    layer = assignment_layer([text])
    assert layer.values == value
    resolve(Recipe, [layer])


@pytest.mark.parametrize("texts", [["rounds"], ["=3"], ["a..b=3"], ["a=1", "a.b=2"], ["a.b=2", "a=1"]])
def test_an_unreadable_assignment_is_refused(texts: list[str]) -> None:
    with pytest.raises(ConfigError, match="override"):
        assignment_layer(texts)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"round": 4}, r"unknown setting 'round' \(from test\); did you mean 'rounds'"),
        ({"optimiser": {"rates": 1.0}}, r"'optimiser.rates' \(from test\); did you mean 'rate'"),
        ({"agent": {"name": "model", "path": "x", "temprature": 1.0}}, "did you mean 'temperature'"),
        ({"agent": {"name": "plain", "path": "x"}}, r"unknown setting 'agent.path' \(from test\)"),
        ({"agent": {"name": "modle", "path": "x"}}, "cannot be 'modle'; did you mean 'model'"),
        (
            {"agent": "model"},
            "'agent' .from test. is a group, not 'model': set agent.name=model, or give --agent model",
        ),
        ({"agent": "modle"}, "is a group, not 'modle': set agent.name=NAME; did you mean 'model'"),
        ({"note": "a\udcff"}, r"'note' \(from test\): not UTF-8: 'a.udcff'"),
        ({"optimiser": "adam"}, "is a group, not 'adam': set a key of it, optimiser.betas, optimiser.rate"),
        ({"agent": {"path": "x"}}, "'agent.name' is missing"),
        ({"agent": {"name": "model"}}, "'agent.path' is missing"),
        ({"shape": "cosin"}, "cannot be 'cosin'; did you mean 'cosine'"),
        ({"rounds": 0}, r"'rounds' \(from test\): .*greater than or equal to 1, not 0"),
        ({"rounds": "4"}, "'rounds' .* valid integer, not '4'"),
        ({"rounds": True}, "'rounds' .* valid integer, not True"),
        ({"rounds": 1.5}, "'rounds' .* integer, not 1.5"),
        ({"optimiser": {"betas": [0.1, "x"]}}, "'optimiser.betas.1' .* number, not 'x'"),
        ({"optimiser": 3}, "'optimiser'"),
    ],
)
def test_a_wrong_value_is_refused_in_one_line_that_names_it(values: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        of(**values)
    assert "\n" not in str(caught.value)


def test_the_message_names_the_layer_of_the_wrong_value() -> None:
    with pytest.raises(ConfigError, match=r"from b\.toml"):
        resolve(
            Recipe,
            [Layer("a.toml", {"rounds": 2}), Layer("b.toml", {"rounds": -1}), Layer("--set", {"p": 0})],
        )


def test_settings_of_an_agent_that_a_later_layer_replaces_are_refused() -> None:
    layers = [
        Layer("a.toml", {"agent": {"name": "model", "path": "x"}}),
        Layer("--agent", {"agent": {"name": "plain"}}),
    ]
    with pytest.raises(ConfigError, match=r"unknown setting 'agent.path' \(from a\.toml\)"):
        resolve(Recipe, layers)


def test_toml_round_trip_of_every_kind_of_value(tmp_path: Path) -> None:
    recipe = Recipe(p=-math.inf, shape=Shape.COSINE, note='say "a"\n', agent=Model(path=Path("m/x")))
    path = tmp_path / "config.toml"
    path.write_text(as_toml(recipe))
    assert resolve(Recipe, [file_layer(path)]) == recipe


def test_the_text_and_its_digest_depend_only_on_the_values() -> None:
    text = as_toml(Recipe(rounds=5))
    assert text == as_toml(of(rounds=5))
    assert digest(text) == digest(as_toml(of(rounds=5)))
    assert digest(text) != digest(as_toml(Recipe(rounds=6)))
    assert "rounds" not in as_toml(Recipe(), leave_out=("rounds",))


def test_keys_of_nested_values() -> None:
    layers = [Layer("a", {"rounds": 4, "agent": {"name": "model"}}), Layer("b", {"agent": {"path": "x"}})]
    assert merge(layers) == {"rounds": 4, "agent": {"name": "model", "path": "x"}}
    assert keys_of(merge(layers)) == ["rounds", "agent.name", "agent.path"]
    assert keys_of(merge(layers), leave_out=("rounds", "agent")) == []


def test_first_difference() -> None:
    assert first_difference(Recipe(), Recipe()) is None
    changed = first_difference(Recipe(), Recipe(optimiser=Optimiser(rate=0.5)))
    assert changed == ("optimiser.rate", 1e-6, 0.5)
    assert first_difference(Recipe(), Recipe(note="x")) == ("note", None, "x")
    assert first_difference(Recipe(), Recipe(note="x"), leave_out=("note",)) is None


@pytest.mark.parametrize(
    ("content", "message"),
    [(None, "no config file"), (b"a = ", "not valid TOML"), (b"a = '\xff'", "not UTF-8")],
)
def test_an_unreadable_file_is_refused(tmp_path: Path, content: bytes | None, message: str) -> None:
    path = tmp_path / "config.toml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ConfigError, match=message):
        file_layer(path)


def test_a_byte_order_mark_is_no_part_of_a_config_file(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_bytes(b"\xef\xbb\xbfrounds = 4\n")
    assert resolve(Recipe, [file_layer(path)]).rounds == 4


def test_a_folder_is_not_a_config_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot read"):
        file_layer(tmp_path)


def test_a_date_is_refused_as_the_wrong_type(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text("rounds = 2026-01-01\n")
    with pytest.raises(ConfigError, match=r"'rounds' .* integer"):
        resolve(Recipe, [file_layer(path)])
