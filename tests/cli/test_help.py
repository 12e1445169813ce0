"""The help: groups of options, the few that matter first, and everything on demand."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import click
import pytest

import redraft
from redraft.cli.main import app
from redraft.cli.overview import GROUPS, help_texts
from redraft.cli.sections import Command
from redraft.fields import option_of
from redraft.settings import DraftConfig, JudgeConfig, RefineConfig
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
        (("help", "sumarize"), "Did you mean 'summarize'?"),
        (("help", "runs", "x"), "redraft runs has no command 'x'"),
    ],
)
def test_an_unknown_command_names_the_nearest(command: LocalCommand, arguments: tuple[str, ...], message: str) -> None:
    done = command.run(*arguments, code=2)
    assert message in done.err
    assert done.out == ""


# What a workshop is made with, and a single run cannot have otherwise.
OF_A_WORKSHOP = {"model", "base_url", "key_env", "source_language", "replies", "judges", "validator"}
OF_A_WORKSHOP |= {"confirm", "decider", "metrics"}


def test_python_options_are_the_shells() -> None:
    models = (DraftConfig, JudgeConfig, RefineConfig)
    known = {name for model in models for name in model.model_fields if option_of(model, name)}
    expected = (known - OF_A_WORKSHOP) | {"max_tokens"}
    assert set(redraft.Options.__annotations__) == expected, "`Options` in redraft/graphs/state.py names each setting"
    offered = {parameter.name for _, one in COMMANDS for parameter in one.params}
    assert known - OF_A_WORKSHOP <= offered, "a group of options in redraft/cli/options.py names each setting"
