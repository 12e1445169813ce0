"""The help: groups of options, the few that matter first, and everything on demand."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import click
import pytest
from click.testing import CliRunner
from pydantic import BaseModel, Field

import redraft
from redraft.cli.main import app
from redraft.cli.options import of_field
from redraft.cli.overview import GROUPS, help_texts
from redraft.cli.sections import Command
from redraft.fields import field_like, option_of, setting
from redraft.settings import DraftConfig, JudgeConfig, Limits, ModelSettings, RefineConfig
from tests.cli.local_command import LocalCommand


@pytest.fixture
def command(tmp_path: Path) -> LocalCommand:
    return LocalCommand(tmp_path, COLUMNS="80")


def _all(group: click.Group, *path: str) -> list[tuple[tuple[str, ...], Command]]:
    found = []
    for name, one in group.commands.items():
        if isinstance(one, click.Group):
            found += _all(one, *path, name)
        else:
            assert isinstance(one, Command), name
            found.append(((*path, name), one))
    return found


COMMANDS = _all(app)
LARGE = [
    (path, large, first)
    for path, large in COMMANDS
    if (first := large.first or help_texts().get(" ".join(path), {}).get("first", "").split())
]


def test_large_commands_show_ten_grouped_options(command: LocalCommand) -> None:
    output = command.run("summarize", "--help").out

    titles = ["Summary:", "Model:", "Judging:", "Refining:", "Limits:", "Output:"]
    assert [line for line in output.splitlines() if line in titles] == titles
    for short in ("-w, --words", "-m, --model", "-g, --goal", "-o, --output", "-q, --quiet"):
        assert short in output
    assert "--top-k" not in output
    number = len(dict(COMMANDS)[("summarize",)].options)
    assert f"`redraft help summarize` lists all {number} options." in output


@pytest.mark.parametrize(("path", "large", "first"), LARGE)
def test_short_help_has_ten_options(
    command: LocalCommand, path: tuple[str, ...], large: Command, first: list[str]
) -> None:
    known = {option.long.removeprefix("--") for option in large.options}
    assert len(first) == len(set(first)) == 10
    assert known > set(first)
    assert f"`redraft help {' '.join(path)}` lists all {len(known)} options." in command.run(*path, "--help").out
    for option in large.options:
        assert option.required <= (option.long.removeprefix("--") in first), "what is required is shown"


@pytest.mark.parametrize(("path", "one"), COMMANDS)
def test_help_lists_every_option_in_80_columns(command: LocalCommand, path: tuple[str, ...], one: Command) -> None:
    done = command.run("help", *path, code=0)
    assert one.help
    for option in one.options:
        assert option.typed_name in done.out
        assert option.help, option.typed_name
    for shown in (done.out, command.run(*path, "--help").out):
        assert max(map(len, shown.splitlines())) <= 80
    context = click.Context(one)
    assert sum(not option.rare for option in one.options) <= 40 + 2
    for option in one.options:
        assert (option.get_help_record(context) or ("", ""))[1].count("[default") <= 1, f"{option.long} says it twice"


def test_help_alone_is_the_whole_overview(command: LocalCommand) -> None:
    overview = command.run("help", code=0)
    assert overview.out == command.run("--help").out
    titles = [line for line in overview.out.splitlines() if line.removesuffix(":") in GROUPS]
    # Without the lab there is no research.
    expected = [f"{group}:" for group in GROUPS if group != "Research" or find_spec("redraft.lab")]
    assert titles == expected, "every command stands in its group"
    assert "...\n" not in command.run("help", "pack").out.partition("Commands:")[2]
    assert max(map(len, overview.out.splitlines())) <= 80


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("sumarize", "book.md"), "Did you mean 'summarize'?"),
        (("ls",), "Did you mean 'runs'?"),
        (("plan", "book.md"), "Did you mean 'summarize --dry-run'?"),
        (("pack", "biuld"), "Did you mean 'build'?"),
        (("help", "sumarize"), "Did you mean 'summarize'?"),
        (("help", "runs", "x"), "redraft runs has no command 'x'"),
    ],
)
def test_an_unknown_command_names_the_nearest(command: LocalCommand, arguments: tuple[str, ...], message: str) -> None:
    done = command.run(*arguments, code=2)
    assert message in done.err
    assert done.out == ""


def test_short_options_equal_the_long_ones(command: LocalCommand, tmp_path: Path) -> None:
    (tmp_path / "book.md").write_text("# T\n\n" + "The keeper of the light saw the ship come in. " * 80, "utf-8")
    done = command.run("summarize", "book.md", "-m", "extractive", "-w", "40", "-q", "-o", "out.md", "--json", code=0)
    assert done.json["settings"]["words"] == 40
    assert done.err == ""
    assert (tmp_path / "out.md").read_text() == done.json["summary"] + "\n"
    command.run("refine", "book.md", "out.md", "-g", "coverage=0.5", "--dry-run", out="coverage 0.5")


# What a workshop is made with, and a single run cannot have otherwise.
OF_A_WORKSHOP = {"model", "base_url", "key_env", "source_language", "replies", "judges", "validator"}
OF_A_WORKSHOP |= {"confirm", "decider", "metrics"}


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
    return done.output or str(done.exception or "") or found


def test_option_has_its_fields_type_and_bounds() -> None:
    assert called() == {"share": None, "names": (), "loud": None, "check": None}
    assert called("--share", "0.2", "-n", "a", "--name", "b", "--loud", "--no-check") == {
        "share": 0.2,
        "names": ("a", "b"),
        "loud": True,
        "check": False,
    }
    assert called("--share", "1") == "share: must be less than 1"
    text = " ".join(str(called("--help")).split())
    assert "A share. [default: 0.5]" in text
    assert "Check. [default: they do]" in text
    assert "Loud. -n, --name" in text


def test_option_has_its_fields_default() -> None:
    command = Command("example")
    of_field(DraftConfig, "chunk_tokens")(command)
    of_field(Limits, "concurrency")(command)
    assert {param.name: param.default for param in command.params} == {"chunk_tokens": 2048, "concurrency": None}


def test_equal_fields_have_their_own_bounds() -> None:
    class Body(BaseModel):
        words: Annotated[int | None, Field(le=100)] = field_like(DraftConfig, "words")

    shown = Body.model_json_schema()["properties"]["words"]
    assert shown["anyOf"][0] == {"type": "integer", "minimum": 10, "maximum": 100}
    assert shown["description"] == DraftConfig.model_fields["words"].description
    assert "maximum" not in DraftConfig.model_json_schema()["properties"]["words"]["anyOf"][0]


@pytest.mark.parametrize("name", sorted(set(ModelSettings.model_fields) - {"model", "context_tokens", "prompts"}))
def test_configured_model_has_the_writers_fields(name: str) -> None:
    own, writers = ModelSettings.model_fields[name], DraftConfig.model_fields[name]
    assert (own.annotation, own.default, own.metadata) == (writers.annotation, writers.default, writers.metadata)


def test_python_options_are_the_shells() -> None:
    models = (DraftConfig, JudgeConfig, RefineConfig)
    known = {name for model in models for name in model.model_fields if option_of(model, name)}
    expected = (known - OF_A_WORKSHOP) | {"max_tokens"}
    assert set(redraft.Options.__annotations__) == expected, "`Options` in redraft/graphs/state.py names each setting"
    offered = {parameter.name for _, one in COMMANDS for parameter in one.params}
    assert known - OF_A_WORKSHOP <= offered, "a group of options in redraft/cli/options.py names each setting"
