"""Options that are declared once, as fields of the settings."""

from __future__ import annotations

from typing import Annotated, Any

import click
import pytest
from click.testing import CliRunner
from pydantic import BaseModel, Field

import redraft
from redraft.cli.options import of_field
from redraft.cli.sections import Command
from redraft.fields import parameters_of, same, setting
from redraft.settings import DraftConfig, JudgeConfig, Limits, ModelSettings, RefineConfig

# What a workshop is made with, and a single run cannot have otherwise.
OF_A_WORKSHOP = {"model", "base_url", "key_env", "source_language", "replies", "judge", "judge_base_url", "validator"}
OF_A_WORKSHOP |= {"confirm", "decider", "metric"}


class Example(BaseModel):
    """Fields of each kind."""

    share: float = setting(0.5, "A share.", "judging", "X", gt=0, lt=1)
    names: tuple[str, ...] = setting((), "Names.", "judging", "NAME", "--name", "-n")
    loud: bool = setting(False, "Loud.", "judging")
    check: bool = setting(True, "Check.", "judging", None, "--check/--no-check", said="they do")
    hidden: int = 3


def called(*arguments: str) -> Any:
    """What the function of a command with the options of `Example` is given, or what is printed."""
    found: dict[str, Any] = {}
    command = click.Command("example", callback=lambda **given: found.update(given))
    for name in ("check", "loud", "names", "share"):
        of_field(Example, name)(command)
    done = CliRunner().invoke(command, arguments)
    return done.output if done.output else found


def test_an_option_has_the_type_the_bounds_and_the_name_of_its_field() -> None:
    assert called() == {"share": None, "name": (), "loud": None, "check": None}
    assert called("--share", "0.2", "-n", "a", "--name", "b", "--loud", "--no-check") == {
        "share": 0.2,
        "name": ("a", "b"),
        "loud": True,
        "check": False,
    }
    assert "is not in the range 0<x<1" in called("--share", "1")


def test_the_help_says_the_default_of_the_field_or_the_words_for_it() -> None:
    said = " ".join(str(called("--help")).split())
    assert "A share. [default: 0.5]" in said
    assert "Check. [default: they do]" in said
    assert "Loud. -n, --name" in said


def test_an_option_of_a_new_run_has_the_default_of_its_field() -> None:
    command = Command("example")
    of_field(DraftConfig, "chunk_tokens")(command)
    of_field(Limits, "concurrency")(command)
    assert {one.name: one.default for one in command.params} == {"chunk_tokens": 2048, "concurrency": None}


def test_the_parameters_of_a_model_are_those_of_its_fields_that_are_options() -> None:
    assert parameters_of(Example) == {"share": "share", "name": "names", "loud": "loud", "check": "check"}


def test_the_same_field_of_another_model_has_its_bounds_beside_its_own() -> None:
    class Body(BaseModel):
        words: Annotated[int | None, Field(le=100)] = same(DraftConfig, "words")

    shown = Body.model_json_schema()["properties"]["words"]
    assert shown["anyOf"][0] == {"type": "integer", "minimum": 10, "maximum": 100}
    assert shown["description"] == DraftConfig.model_fields["words"].description
    assert "maximum" not in DraftConfig.model_json_schema()["properties"]["words"]["anyOf"][0]


@pytest.mark.parametrize("name", sorted(set(ModelSettings.model_fields) - {"model", "context_tokens", "prompts"}))
def test_a_model_of_the_settings_file_and_the_writer_have_the_same_fields(name: str) -> None:
    own, writers = ModelSettings.model_fields[name], DraftConfig.model_fields[name]
    assert (own.annotation, own.default, own.metadata) == (writers.annotation, writers.default, writers.metadata)


def test_the_options_of_a_run_in_python_are_those_of_the_command_line() -> None:
    known = {name for model in (DraftConfig, JudgeConfig, RefineConfig) for name in parameters_of(model)}
    fields = {"goal": "goals"}
    expected = {fields.get(name, name) for name in known - OF_A_WORKSHOP} | {"max_tokens"}
    assert set(redraft.Options.__annotations__) == expected
