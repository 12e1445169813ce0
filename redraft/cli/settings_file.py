"""Settings files `redraft.toml`: defaults of commands, named models, and rubrics."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource
from platformdirs import user_config_path

from redraft import plugins
from redraft.errors import UsageError
from redraft.sources import MAX_SETTINGS_BYTES, read_file

if TYPE_CHECKING:
    from pydantic import BaseModel

    from redraft.fields import FoundRule
    from redraft.settings import FoundSettings, ModelSettings, RubricSettings

    M = TypeVar("M", bound=BaseModel)

FILE_NAME = "redraft.toml"
NAMED_FILE = "redraft.settings_file"
"""The key of the context's `meta` with the file that `--config` or `REDRAFT_CONFIG` names."""
MODELS = "models"
"""The table that contains a table for each named model."""
RUBRICS = "rubrics"
"""The same for each metric that is stated in a sentence."""
_PRICE = "write price = { prompt = 0.25, completion = 2.0 }: US dollars for a million tokens"
_EXAMPLES = {
    MODELS: 'write named tables, such as\n[models.strong]\nmodel = "openai:gpt-5"',
    RUBRICS: 'write, for example,\n[rubrics.plain_tone]\nrequirement = "Written for a reader without legal training"',
}
_MODEL_NAME = re.compile(r"[\w.-]+")
_NAMED_REQUIREMENT = re.compile(r"([^\W\d][\w-]*)=(.*)", re.DOTALL)


@dataclass(frozen=True)
class SettingsFile:
    """A settings file. One that is merely found may be a stranger's, so it may set only what does no harm."""

    path: Path
    content: dict[str, Any]
    is_found: bool = False

    @property
    def shared(self) -> dict[str, Any]:
        """Return what it says for all commands, by key."""
        return {key: value for key, value in self.content.items() if not isinstance(value, dict)}

    @property
    def tables(self) -> dict[str, dict[str, Any]]:
        """Return its tables, those of commands by their names."""
        tables = {key: value for key, value in self.content.items() if isinstance(value, dict)}
        return {name: table for name, table in tables.items() if name not in (MODELS, RUBRICS)}

    def values(self, command: str) -> dict[str, Any]:
        """Return what it says for a command, by key."""
        return {**self.shared, **self.tables.get(command, {})}


def own_configuration() -> Path:
    """Return the path of the user's own configuration, which need not exist."""
    return user_config_path("redraft") / FILE_NAME


def settings_files() -> list[SettingsFile]:
    """Return the settings files that exist, the strongest last: if none is named, the one found in the current
    directory, then the user's own configuration, and the named one. A found file is outranked by whatever is the user's
    own."""
    context = click.get_current_context(silent=True)
    named_file = (context and context.meta.get(NAMED_FILE)) or os.environ.get("REDRAFT_CONFIG")
    own, in_directory = own_configuration(), Path(FILE_NAME)
    paths = [own, *([Path(named_file)] if named_file else [])]
    files = [SettingsFile(path, content_of(path)) for path in paths if path.exists()]
    if not named_file and in_directory.exists() and not (own.exists() and in_directory.samefile(own)):
        files.insert(0, SettingsFile(in_directory, content_of(in_directory), is_found=True))
    return files


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


def model_tables() -> dict[str, ModelSettings]:
    """Return the checked model tables of the settings files by name; empty if there are none. A file that is merely
    found defines no models."""
    files = [file for file in settings_files() if not file.is_found]
    tables: dict[str, ModelSettings] = {}
    for file in files:
        tables |= checked_tables(file.content.get(MODELS, {}), str(file.path))
    return tables


def checked_tables(tables: object, place: str) -> dict[str, ModelSettings]:
    """Check the `models` table of the file at `place`; raises `UsageError` for any error in it."""
    from redraft.settings import ModelSettings

    return _checked(tables, MODELS, ModelSettings, place)


def rubric_tables() -> dict[str, RubricSettings]:
    """Return the checked rubrics of the settings files by name; empty if there are none."""
    tables: dict[str, RubricSettings] = {}
    for file in settings_files():
        tables |= checked_rubrics(file.content.get(RUBRICS, {}), str(file.path))
    return tables


def checked_rubrics(tables: object, place: str) -> dict[str, RubricSettings]:
    """Check the `rubrics` table of the file at `place`; raises `UsageError` for any error in it."""
    from redraft.settings import RubricSettings

    return _checked(tables, RUBRICS, RubricSettings, place)


def _checked(tables: object, kind: str, model: type[M], place: str) -> dict[str, M]:
    """Return the named tables of a kind as settings, each checked."""
    from pydantic import ValidationError

    from redraft.fields import EXTRACTIVE, first_problem

    if not isinstance(tables, Mapping):
        raise UsageError(f"`{kind}` is not a table", place=place, hint=_EXAMPLES[kind])
    checked: dict[str, M] = {}
    for name, table in tables.items():
        if not isinstance(table, Mapping):
            raise UsageError(f"`{name}` under `{kind}` is not a table", place=place, hint=_EXAMPLES[kind])
        if kind == MODELS and (not _MODEL_NAME.fullmatch(name) or name == EXTRACTIVE):
            hint = "use letters, digits, dots, dashes and underscores, and no other model's name"
            raise UsageError(f"a model cannot be named {name!r}", place=f"{place} [{kind}.{name}]", hint=hint)
        try:
            # A number in quotation marks is none; levels are a list in the file, and a tuple in the settings.
            checked[str(name)] = model.model_validate(table, strict=kind == MODELS)
        except ValidationError as error:
            field, problem = first_problem(error)
            hint = _PRICE if field.partition(".")[0] == "price" else _EXAMPLES[kind]
            if error.errors()[0]["type"] == "extra_forbidden":
                hint = f"choose from: {', '.join(model.model_fields)}"
            raise UsageError(f"{field}: {problem}", place=f"{place} [{kind}.{name}]", hint=hint) from None
    return checked


def rubrics_given(words: Sequence[str]) -> dict[str, RubricSettings]:
    """Return the rubrics of `--rubric` by name: each word is NAME=REQUIREMENT, or a file with tables of rubrics."""
    rubrics: dict[str, RubricSettings] = {}
    for word in words:
        if stated := _NAMED_REQUIREMENT.fullmatch(word):
            checked = checked_rubrics({stated[1]: {"requirement": stated[2].strip()}}, "--rubric")
        elif Path(word).exists():
            checked = checked_rubrics(content_of(Path(word)).get(RUBRICS, {}), word)
        else:
            hint = 'write NAME=TEXT, such as --rubric plain_tone="Written for a reader without legal training"'
            raise UsageError(f"--rubric: {word!r} has no name, and there is no such file", hint=hint)
        if not checked:
            raise UsageError("has no rubrics", place=word, hint=_EXAMPLES[RUBRICS])
        if twice := rubrics.keys() & checked.keys():
            raise UsageError(f"--rubric: there are two rubrics named {min(twice)}", hint="rename one")
        rubrics |= checked
    return rubrics


def read_config(commands: Mapping[str, click.Command]) -> dict[str, Any]:
    """Return the defaults of each command: the files' top-level keys and those of the command's table.

    Keys are long option names. A key that no command has is a typo and raises an error. A group's table applies to all
    of its commands.
    """
    files = settings_files()
    for file in files:
        _check(file, commands)
    return {name: _defaults(command, name, files) for name, command in commands.items()} if files else {}


def _check(file: SettingsFile, commands: Mapping[str, click.Command]) -> None:
    """Raise for errors in the tables of a file, whatever the command; they are reported like those in settings."""
    place = str(file.path)
    if file.is_found and MODELS in file.content:
        raise _refused(f"[{MODELS}]", file)
    checked_tables(file.content.get(MODELS, {}), place)
    checked_rubrics(file.content.get(RUBRICS, {}), place)
    settable = {name: set(_options(command)) for name, command in commands.items()}
    _refuse_unknown(file.shared, set().union(*settable.values()), place)
    _refuse_unknown(file.tables, settable, place)
    for name, table in file.tables.items():
        _refuse_unknown(table, settable[name], f"{place} [{name}]")


def _refuse_unknown(keys: Iterable[str], settable: Iterable[str], place: str) -> None:
    if unknown := sorted({*keys} - {*settable}):
        raise UsageError(
            f"unknown setting {', '.join(unknown)}",
            place=place,
            hint="the settings are the long names of the options: see `redraft summarize --help`",
        )


def _options(command: click.Command) -> dict[str, click.Option]:
    """Return the options with an environment variable, which a file may set too, by long name; for a group, those of
    all its commands."""
    if isinstance(command, click.Group):
        return {name: option for part in command.commands.values() for name, option in _options(part).items()}
    settable = [parameter for parameter in command.params if isinstance(parameter, click.Option) and parameter.envvar]
    return {name[2:]: option for option in settable for name in option.opts if name.startswith("--")}


def _defaults(command: click.Command, table: str, files: Sequence[SettingsFile]) -> dict[str, Any]:
    """Return the values of the files for a command's options by parameter name; for a group, by command."""
    if isinstance(command, click.Group):
        return {name: _defaults(part, table, files) for name, part in command.commands.items()}
    return {name: value for file in files for name, value in _values(command, table, file).items()}


def _values(command: click.Command, table: str, file: SettingsFile) -> dict[str, Any]:
    """Return the values of one file for a command's options by parameter name, as if given on the command line, so that
    they are checked alike. Raises for what the file may not set."""
    options, values = _options(command), dict[str, Any]()
    for key, value in file.values(table).items():
        if option := options.get(key):
            words = value if isinstance(value, list) and option.multiple else [value]
            texts = [str(word) for word in words]
            if file.is_found:
                _refuse_harm(key, getattr(option, "found", "no"), texts, file)
            kinds = {type(word) for word in words}
            if not kinds <= ({bool} if option.is_flag else {str, int, float}):
                raise UsageError(f"{key} cannot be {value!r}", place=str(file.path))
            values[str(option.name)] = value if option.is_flag else texts if option.multiple else texts[0]
    return values


def _refuse_harm(key: str, rule: FoundRule, words: Sequence[str], file: SettingsFile) -> None:
    """Raise if a found file may not set this: what is not marked as harmless, and names that add something."""
    if rule == "model":
        from redraft.fields import EXTRACTIVE

        models = {EXTRACTIVE, *model_tables()}
        harmless = all(word in models or (word.startswith("openai:") and "//" not in word) for word in words)
    elif rule == "prompts":
        from redraft.prompts.book import SETS

        harmless = {*SETS}.issuperset(words)
    elif rule == "strategy":
        harmless = not set(plugins.names("strategies")).intersection(words)
    elif rule == "metric":
        harmless = not set(plugins.names("metrics")).intersection(word.partition("=")[0].strip() for word in words)
    else:
        harmless = rule == "yes"
    if not harmless:
        raise _refused(key if rule == "no" else f"{key} = {','.join(words)}", file)


def _refused(key: str, file: SettingsFile) -> UsageError:
    return UsageError(
        f"{key} cannot be set by a settings file that was merely found in a folder, because it could do harm",
        place=str(file.path.resolve()),
        hint="give it as an option, in the environment, in your own configuration"
        f" ({own_configuration()}), or in a file: --config FILE",
    )


def found_settings(context: click.Context) -> FoundSettings | None:
    """Return what a file that was merely found sets for the command that is invoked; None if nothing."""
    from redraft.settings import FoundSettings

    files = settings_files()
    if not files or not files[0].is_found:
        return None
    below_root, command = context, context.command
    while below_root.parent is not None and below_root.parent.parent is not None:
        below_root = below_root.parent
    table, found_file = str(below_root.info_name), files[0]
    outranked = _defaults(command, table, files[1:])
    options = _options(command)
    values = {
        key: value
        for key, value in found_file.values(table).items()
        if key in options
        and options[key].name not in outranked
        and context.get_parameter_source(str(options[key].name)) is ParameterSource.DEFAULT_MAP
    }
    if {"metric", "goal"} & options.keys():
        values[RUBRICS] = list(found_file.content.get(RUBRICS, {}))
    texts = {key: _text(value) for key, value in values.items() if value != []}
    return FoundSettings(file=str(found_file.path.resolve()), values=texts) if texts else None


def _text(value: object) -> str:
    """Return a value as a file has it, of a list the entries."""
    if isinstance(value, list):
        return ",".join(map(_text, value))
    return str(value).lower() if isinstance(value, bool) else str(value)
