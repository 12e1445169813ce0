"""The settings file `redraft.toml`: defaults of commands, named models, and rubrics."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from redraft.errors import UsageError
from redraft.sources import MAX_SETTINGS_BYTES, read_file

if TYPE_CHECKING:
    from redraft.settings import ModelSettings, RubricSettings


FILE_NAME = "redraft.toml"
MODELS = "models"
"""The table that contains a table for each named model."""
RUBRICS = "rubrics"
"""The same for each metric that is stated in a sentence."""


def settings_file() -> Path:
    """Return the path of the settings file, which need not exist."""
    return Path(os.environ.get("REDRAFT_CONFIG", FILE_NAME))


def content_found() -> dict[str, Any]:
    """Return the content of the settings file; empty if there is none."""
    path = settings_file()
    return content_of(path) if path.exists() else {}


def is_found() -> bool:
    """Return whether the file lies in the current directory and was not named by the user."""
    return "REDRAFT_CONFIG" not in os.environ and Path(FILE_NAME).exists()


def content_of(path: Path) -> dict[str, Any]:
    """Return the content of a settings file; raises `UsageError` if it cannot be read."""
    import tomllib

    try:
        return tomllib.loads(read_file(path, MAX_SETTINGS_BYTES).decode())
    except OSError as error:
        raise UsageError(f"cannot be read: {error.strerror}", place=str(path)) from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"cannot be read: {error}", place=str(path)) from error
    except RecursionError as error:
        raise UsageError("cannot be read: it is nested too deeply", place=str(path)) from error


_NAME = re.compile(r"[\w.-]+")
_PRICE = "write price = { prompt = 0.25, completion = 2.0 }: US dollars for a million tokens"
_TABLES = 'write named tables, such as\n[models.strong]\nmodel = "openai:gpt-5"'
_RUBRICS = 'write, for example,\n[rubrics.plain_tone]\nrequirement = "Written for a reader without legal training"'


def model_tables() -> dict[str, ModelSettings]:
    """Return the checked model tables of the settings file by name; empty if there are none."""
    return checked_tables(content_found().get(MODELS, {}), str(settings_file()))


def checked_tables(tables: object, place: str) -> dict[str, ModelSettings]:
    """Check the `models` table of the file at `place`; raises `UsageError` for any error in it."""
    if not isinstance(tables, Mapping):
        raise UsageError("`models` is not a table", place=place, hint=_TABLES)
    return {str(name): _checked(str(name), table, place) for name, table in tables.items()}


def rubric_tables() -> dict[str, RubricSettings]:
    """Return the checked rubrics of the settings file by name; empty if there are none."""
    return checked_rubrics(content_found().get(RUBRICS, {}), str(settings_file()))


def checked_rubrics(tables: object, place: str) -> dict[str, RubricSettings]:
    """Check the `rubrics` table of the file at `place`; raises `UsageError` for any error in it."""
    from redraft.fields import validated
    from redraft.settings import RubricSettings

    if not isinstance(tables, Mapping) or not all(isinstance(table, Mapping) for table in tables.values()):
        raise UsageError(f"`{RUBRICS}` has something that is not a table", place=place, hint=_RUBRICS)
    rubrics: dict[str, RubricSettings] = {}
    for name, table in tables.items():
        try:
            rubrics[str(name)] = validated(RubricSettings, table)
        except UsageError as error:
            raise UsageError(error.message, place=f"{place} [{RUBRICS}.{name}]", hint=_RUBRICS) from error
    return rubrics


_IN_WORDS = re.compile(r"([^\W\d][\w-]*)=(.*)", re.DOTALL)


def rubrics_given(words: Sequence[str]) -> dict[str, RubricSettings]:
    """Return the rubrics of `--rubric` by name: each word is NAME=REQUIREMENT, or a file with tables of rubrics."""
    found: dict[str, RubricSettings] = {}
    for word in words:
        if stated := _IN_WORDS.fullmatch(word):
            made = checked_rubrics({stated[1]: {"requirement": stated[2].strip()}}, "--rubric")
        else:
            made = checked_rubrics(_content_named(word).get(RUBRICS, {}), word)
        if not made:
            raise UsageError("has no rubrics", place=word, hint=_RUBRICS)
        if twice := found.keys() & made.keys():
            raise UsageError(f"--rubric: there are two rubrics named {min(twice)}", hint="rename one")
        found |= made
    return found


def _content_named(word: str) -> dict[str, Any]:
    """Return the content of the file that an option names, which may be a requirement without a name."""
    if not Path(word).exists():
        hint = 'write NAME=TEXT, such as --rubric plain_tone="Written for a reader without legal training"'
        raise UsageError(f"--rubric: {word!r} has no name, and there is no such file", hint=hint)
    return content_of(Path(word))


def _checked(name: str, table: object, place: str) -> ModelSettings:
    from pydantic import ValidationError

    from redraft.fields import error_text
    from redraft.settings import EXTRACTIVE, ModelSettings

    at = f"{place} [{MODELS}.{name}]"
    if not isinstance(table, Mapping):
        raise UsageError(f"`{name}` under `{MODELS}` is not a table", place=place, hint=_TABLES)
    if not _NAME.fullmatch(name) or name == EXTRACTIVE:
        raise UsageError(
            f"a model cannot be named {name!r}",
            place=at,
            hint="use letters, digits, dots, dashes and underscores, and no other model's name",
        )
    if unknown := sorted({*table} - ModelSettings.model_fields.keys()):
        known = ", ".join(ModelSettings.model_fields)
        raise UsageError(f"unknown field {', '.join(map(str, unknown))}", place=at, hint=f"known fields: {known}")
    if table.get("key_env") == "":
        raise UsageError("key_env is empty", place=at, hint="name a variable, or leave it out")
    if "model" not in table:
        raise UsageError("model is missing", place=at, hint='add model = "openai:NAME"')
    try:
        return ModelSettings.model_validate(table, strict=True)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        hint = _PRICE if first["loc"][0] == "price" else ""
        raise UsageError(f"{where}: {error_text(first)}", place=at, hint=hint) from None


def read_config(commands: Mapping[str, click.Command]) -> dict[str, Any]:
    """Return the defaults of each command: the file's top-level keys and those of the command's table.

    Keys are long option names. A key that no command has is a typo and raises an error. A group's table applies to all
    of its commands.
    """
    path, content = settings_file(), content_found()
    if not content:
        return {}
    if (models := content.pop(MODELS, None)) is not None:
        # Errors in model tables are reported by every command, like those in other settings.
        checked_tables(models, str(path))
    if (rubrics := content.pop(RUBRICS, None)) is not None:
        checked_rubrics(rubrics, str(path))
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
    """Return the values for a command's options by parameter name; for a group, by command."""
    if isinstance(command, click.Group):
        return {name: _defaults(one, values, place) for name, one in command.commands.items()}
    options = _options(command)
    return {
        str(options[key].name): _value(options[key], key, value, place)
        for key, value in values.items()
        if key in options
    }


def _value(option: click.Option, key: str, value: object, place: str) -> object:
    """Return the value as if given on the command line, so that it is checked alike; flags must be true or false."""
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
    """Return the options that a file may set; for a group, those of all its commands."""
    if isinstance(command, click.Group):
        return set().union(*(_keys(one) for one in command.commands.values()))
    return set(_options(command))


def _options(command: click.Command) -> dict[str, click.Option]:
    """Return the options with an environment variable, which a file may set too, by long name."""
    found = [parameter for parameter in command.params if isinstance(parameter, click.Option) and parameter.envvar]
    return {name[2:]: one for one in found for name in one.opts if name.startswith("--")}


def _refuse_unknown(given: set[str], known: set[str], place: str) -> None:
    if unknown := sorted(given - known):
        raise UsageError(
            f"unknown setting {', '.join(unknown)}",
            place=place,
            hint="the settings are the long names of the options: see `redraft summarize --help`",
        )
