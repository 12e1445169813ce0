"""Defaults of commands from the settings file, below the command line and the environment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from redraft.cli.settings_file import MODELS, content_found, settings_file
from redraft.cli.tables import checked_tables
from redraft.errors import UsageError


def read_config(commands: Mapping[str, click.Command]) -> dict[str, Any]:
    """Defaults for each command: the file's top-level keys, and those of the table with the command's name.

    Keys are the long names of options. A key that no command knows is an error, for it is a typing mistake. A group's
    table is for all of its commands.
    """
    path, content = settings_file(), content_found()
    if not content:
        return {}
    if (models := content.pop(MODELS, None)) is not None:
        # What is wrong with them is told whatever the command, as it is of every other setting.
        checked_tables(models, str(path))
    shared = {key: value for key, value in content.items() if not isinstance(value, dict)}
    tables = {key: value for key, value in content.items() if isinstance(value, dict)}
    known = {name: _keys(command) for name, command in commands.items()}
    _refuse_unknown(set(shared), set().union(*known.values()), str(path))
    _refuse_unknown(set(tables), set(known), str(path))
    for command, table in tables.items():
        _refuse_unknown(set(table), known[command], f"{path} [{command}]")
    return {
        name: _defaults(command, {**shared, **tables.get(name, {})}, str(path)) for name, command in commands.items()
    }


def _defaults(command: click.Command, values: Mapping[str, object], place: str) -> dict[str, Any]:
    """The values that a command knows, by the names of its parameters; for a group, those of each of its commands."""
    if isinstance(command, click.Group):
        return {name: _defaults(one, values, place) for name, one in command.commands.items()}
    options = _options(command)
    return {
        str(options[key].name): _value(options[key], key, value, place)
        for key, value in values.items()
        if key in options
    }


def _value(option: click.Option, key: str, value: object, place: str) -> object:
    """The value as if it had been typed, so that it is checked as on the command line; flags are true or false."""
    if option.multiple:
        listed = value if isinstance(value, list) else [value]
        return [_word(one, key, place) for one in listed]
    if not option.is_flag:
        return _word(value, key, place)
    if not isinstance(value, bool):
        raise _impossible(key, value, place)
    return value


def _word(value: object, key: str, place: str) -> str:
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise _impossible(key, value, place)
    return str(value)


def _impossible(key: str, value: object, place: str) -> UsageError:
    return UsageError(f"{key} cannot be {value!r}", place=place)


def _keys(command: click.Command) -> set[str]:
    """The options that a file may set, of a group those of all its commands."""
    if isinstance(command, click.Group):
        return set().union(*(_keys(one) for one in command.commands.values()))
    return set(_options(command))


def _options(command: click.Command) -> dict[str, click.Option]:
    """The options that a file may set, which are those that the environment may set, by their long names."""
    found = [one for one in command.params if isinstance(one, click.Option) and one.envvar]
    return {name[2:]: one for one in found for name in one.opts if name.startswith("--")}


def _refuse_unknown(given: set[str], known: set[str], place: str) -> None:
    if unknown := sorted(given - known):
        raise UsageError(
            f"unknown setting {', '.join(unknown)}",
            place=place,
            hint="the settings are the long names of the options: see `redraft summarize --help`",
        )
