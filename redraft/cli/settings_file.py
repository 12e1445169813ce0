"""Settings files `redraft.toml`: defaults of commands, named models, and rubrics."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource
from platformdirs import user_config_path

from redraft import plugins
from redraft.errors import UsageError
from redraft.sources import MAX_SETTINGS_BYTES, read_file

if TYPE_CHECKING:
    from redraft.fields import FoundRule
    from redraft.settings import FoundSettings, ModelSettings, RubricSettings


FILE_NAME = "redraft.toml"
NAMED_FILE = "redraft.settings_file"
"""The key of the context's `meta` with the file that `--config` or `REDRAFT_CONFIG` names."""
MODELS = "models"
"""The table that contains a table for each named model."""
RUBRICS = "rubrics"
"""The same for each metric that is stated in a sentence."""


@dataclass(frozen=True)
class SettingsFile:
    """A settings file. One that is merely found may be a stranger's, so it may set only what does no harm."""

    path: Path
    content: dict[str, Any]
    is_found: bool = False

    def tables(self, name: str) -> object:
        """Return the table of named tables: models or rubrics."""
        return self.content.get(name, {})


def own_configuration() -> Path:
    """Return the path of the user's own configuration, which need not exist."""
    return user_config_path("redraft") / FILE_NAME


def settings_files() -> list[SettingsFile]:
    """Return the settings files that exist, the strongest first: the named one, the user's own configuration, and, if
    none is named, the one found in the current directory. A found file is outranked by whatever is the user's own."""
    context = click.get_current_context(silent=True)
    named_file = (context and context.meta.get(NAMED_FILE)) or os.environ.get("REDRAFT_CONFIG")
    paths = [Path(named_file)] if named_file else []
    paths += [own_configuration()]
    files = [SettingsFile(path, content_of(path)) for path in paths if path.exists()]
    found = Path(FILE_NAME)
    if not named_file and found.exists() and not (paths[-1].exists() and found.samefile(paths[-1])):
        files.append(SettingsFile(found, content_of(found), is_found=True))
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


_NAME = re.compile(r"[\w.-]+")
_PRICE = "write price = { prompt = 0.25, completion = 2.0 }: US dollars for a million tokens"
_TABLES = 'write named tables, such as\n[models.strong]\nmodel = "openai:gpt-5"'
_RUBRICS = 'write, for example,\n[rubrics.plain_tone]\nrequirement = "Written for a reader without legal training"'


def model_tables() -> dict[str, ModelSettings]:
    """Return the checked model tables of the settings files by name; empty if there are none. A file that is merely
    found defines no models."""
    files = [file for file in reversed(settings_files()) if not file.is_found]
    return {
        name: model for file in files for name, model in checked_tables(file.tables(MODELS), str(file.path)).items()
    }


def checked_tables(tables: object, place: str) -> dict[str, ModelSettings]:
    """Check the `models` table of the file at `place`; raises `UsageError` for any error in it."""
    if not isinstance(tables, Mapping):
        raise UsageError("`models` is not a table", place=place, hint=_TABLES)
    return {str(name): _checked(str(name), table, place) for name, table in tables.items()}


def rubric_tables() -> dict[str, RubricSettings]:
    """Return the checked rubrics of the settings files by name; empty if there are none."""
    return {
        name: rubric
        for file in reversed(settings_files())
        for name, rubric in checked_rubrics(file.tables(RUBRICS), str(file.path)).items()
    }


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
    rubrics: dict[str, RubricSettings] = {}
    for word in words:
        if stated := _IN_WORDS.fullmatch(word):
            checked = checked_rubrics({stated[1]: {"requirement": stated[2].strip()}}, "--rubric")
        else:
            checked = checked_rubrics(_content_named(word).get(RUBRICS, {}), word)
        if not checked:
            raise UsageError("has no rubrics", place=word, hint=_RUBRICS)
        if twice := rubrics.keys() & checked.keys():
            raise UsageError(f"--rubric: there are two rubrics named {min(twice)}", hint="rename one")
        rubrics |= checked
    return rubrics


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
        fields = ", ".join(ModelSettings.model_fields)
        raise UsageError(f"unknown field {', '.join(map(str, unknown))}", place=at, hint=f"known fields: {fields}")
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
    """Return the defaults of each command: the files' top-level keys and those of the command's table.

    Keys are long option names. A key that no command has is a typo and raises an error. A group's table applies to all
    of its commands.
    """
    config: dict[str, Any] = {}
    for file in reversed(settings_files()):
        _check_tables(file, commands)
        defaults = {name: _defaults(command, _values_for(file, name), file) for name, command in commands.items()}
        config = _over(defaults, config)
    return config


def _check_tables(file: SettingsFile, commands: Mapping[str, click.Command]) -> None:
    """Raise for errors in the tables of a file, whatever the command; they are reported like those in settings."""
    place = str(file.path)
    if file.is_found and MODELS in file.content:
        raise _refused(f"[{MODELS}]", file)
    checked_tables(file.tables(MODELS), place)
    checked_rubrics(file.tables(RUBRICS), place)
    keys = {name: _keys(command) for name, command in commands.items()}
    _refuse_unknown(_shared(file).keys(), set().union(*keys.values()), place)
    tables = {key: value for key, value in file.content.items() if isinstance(value, dict)}
    _refuse_unknown(tables.keys() - {MODELS, RUBRICS}, set(keys), place)
    for command in tables.keys() - {MODELS, RUBRICS}:
        _refuse_unknown(tables[command].keys(), keys[command], f"{place} [{command}]")


def _shared(file: SettingsFile) -> dict[str, Any]:
    return {key: value for key, value in file.content.items() if not isinstance(value, dict)}


def _values_for(file: SettingsFile, command: str) -> dict[str, Any]:
    """Return what a file says for a command, by key."""
    table = file.content.get(command)
    return {**_shared(file), **(table if isinstance(table, dict) else {})}


def _over(stronger: Mapping[str, Any], weaker: Mapping[str, Any]) -> dict[str, Any]:
    """Return the defaults of a stronger file over those of a weaker one."""
    groups = {
        name: _over(value, weaker.get(name, {})) for name, value in stronger.items() if isinstance(value, Mapping)
    }
    return {**weaker, **stronger, **groups}


def found_settings(context: click.Context) -> FoundSettings | None:
    """Return what a file that was merely found sets for the command that is invoked; None if nothing."""
    from redraft.settings import FoundSettings

    files = settings_files()
    if not files or not files[-1].is_found:
        return None
    below_root, command = context, context.command
    while below_root.parent is not None and below_root.parent.parent is not None:
        below_root = below_root.parent
    *user_files, last = [(file, _values_for(file, str(below_root.info_name))) for file in files]
    outranked = {name for file, values in user_files for name in _defaults(command, values, file)}
    options = _options(command)
    values = {
        key: value
        for key, value in last[1].items()
        if key in options
        and options[key].name not in outranked
        and context.get_parameter_source(str(options[key].name)) is ParameterSource.DEFAULT_MAP
    }
    rubrics = {RUBRICS: list(last[0].content.get(RUBRICS, {}))} if {"metric", "goal"} & options.keys() else {}
    texts = {key: _text(value) for key, value in {**values, **rubrics}.items() if value != []}
    return FoundSettings(file=str(last[0].path.resolve()), values=texts) if texts else None


def _text(value: object) -> str:
    return (
        ",".join(map(_text, value))
        if isinstance(value, list)
        else str(value).lower()
        if value in (True, False)
        else str(value)
    )


_OWN_WORD = "give it as an option, in the environment, in your own configuration ({}), or in a file: --config FILE"


def _refused(key: str, file: SettingsFile) -> UsageError:
    return UsageError(
        f"{key} cannot be set by a settings file that was merely found in a folder, because it could do harm",
        place=str(file.path.resolve()),
        hint=_OWN_WORD.format(own_configuration()),
    )


def _refuse_harm(key: str, rule: FoundRule, value: object, file: SettingsFile) -> None:
    """Raise if a found file may not set this: what is not marked as harmless, and names that add something."""
    words = [str(word) for word in value] if isinstance(value, list) else [str(value)]
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


def _defaults(command: click.Command, values: Mapping[str, object], file: SettingsFile) -> dict[str, Any]:
    """Return the values for a command's options by parameter name; for a group, by command."""
    if isinstance(command, click.Group):
        return {name: _defaults(subcommand, values, file) for name, subcommand in command.commands.items()}
    options = _options(command)
    defaults: dict[str, Any] = {}
    for key, value in values.items():
        if key in options:
            if file.is_found:
                _refuse_harm(key, getattr(options[key], "found", "no"), value, file)
            defaults[str(options[key].name)] = _value(options[key], key, value, str(file.path))
    return defaults


def _value(option: click.Option, key: str, value: object, place: str) -> object:
    """Return the value as if given on the command line, so that it is checked alike; flags must be true or false."""
    if option.multiple:
        listed = value if isinstance(value, list) else [value]
        return [_word(word, key, place) for word in listed]
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
        return set().union(*(_keys(subcommand) for subcommand in command.commands.values()))
    return set(_options(command))


def _options(command: click.Command) -> dict[str, click.Option]:
    """Return the options with an environment variable, which a file may set too, by long name."""
    settable = [parameter for parameter in command.params if isinstance(parameter, click.Option) and parameter.envvar]
    return {name[2:]: option for option in settable for name in option.opts if name.startswith("--")}


def _refuse_unknown(keys: AbstractSet[str], settable: AbstractSet[str], place: str) -> None:
    if unknown := sorted(keys - settable):
        raise UsageError(
            f"unknown setting {', '.join(unknown)}",
            place=place,
            hint="the settings are the long names of the options: see `redraft summarize --help`",
        )
