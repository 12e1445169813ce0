"""Settings from a file: `redraft.toml`, below the command line and the environment."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from redraft.errors import UsageError

FILE_NAME = "redraft.toml"


def read_config(commands: Mapping[str, click.Command]) -> dict[str, dict[str, Any]]:
    """Defaults for each command: the file's top-level keys, and those of the table with the command's name.

    Keys are the long names of options. A key that no command knows is an error, for it is a typing mistake.
    """
    path = Path(os.environ.get("REDRAFT_CONFIG", FILE_NAME))
    if not path.exists():
        return {}
    import tomllib

    try:
        content = tomllib.loads(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"cannot be read: {error}", place=str(path)) from error
    shared = {_name(key): value for key, value in content.items() if not isinstance(value, dict)}
    tables = {key: value for key, value in content.items() if isinstance(value, dict)}
    known = {name: _options(command) for name, command in commands.items()}
    _refuse_unknown(set(shared), set().union(*known.values()), str(path))
    _refuse_unknown(set(tables), set(known), str(path))
    defaults: dict[str, dict[str, Any]] = {}
    for command, options in known.items():
        own = {_name(key): value for key, value in tables.get(command, {}).items()}
        _refuse_unknown(set(own), options, f"{path} [{command}]")
        defaults[command] = {
            key: _value(commands[command], key, value, str(path))
            for key, value in {**shared, **own}.items()
            if key in options
        }
    return defaults


def _value(command: click.Command, key: str, value: object, place: str) -> object:
    """The value as if it had been typed, so that it is checked as on the command line; flags are true or false."""
    option = next(parameter for parameter in command.params if parameter.name == key)
    is_flag = isinstance(option, click.Option) and option.is_flag
    if isinstance(value, bool) is not is_flag or not isinstance(value, (str, int, float)):
        raise UsageError(f"{key.replace('_', '-')} cannot be {value!r}", place=place)
    return value if is_flag else str(value)


def _name(key: str) -> str:
    return key.replace("-", "_")


def _options(command: click.Command) -> set[str]:
    """The parameters that a file may set: the options, under the names that click gives them."""
    return {
        parameter.name
        for parameter in command.params
        if isinstance(parameter, click.Option) and parameter.name and parameter.envvar
    }


def _refuse_unknown(given: set[str], known: set[str], place: str) -> None:
    if unknown := sorted(given - known):
        raise UsageError(
            f"unknown setting {', '.join(unknown)}",
            place=place,
            hint="the settings are the long names of the options: see `redraft summarize --help`",
        )
