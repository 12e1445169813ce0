"""Settings files `redraft.toml`: defaults of commands, named models, and rubrics."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource
from platformdirs import user_config_path

from redraft import plugins
from redraft.cli.terminal import say
from redraft.errors import UsageError
from redraft.sources import MAX_SETTINGS_BYTES, read_file

if TYPE_CHECKING:
    from pydantic import BaseModel

    from redraft.fields import FoundRule
    from redraft.settings import FoundSettings, RubricSettings

    M = TypeVar("M", bound=BaseModel)

FILE_NAME = "redraft.toml"
NAMED_FILE = "redraft.settings_file"
"""The key of the context's `meta` with the file that `--config` or `REDRAFT_CONFIG` names."""
MODELS, RUBRICS = "models", "rubrics"
"""The tables that contain a table for each named model, and for each metric that is stated in a sentence."""
_TABLES = {"ModelSettings": MODELS, "RubricSettings": RUBRICS}
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

    def values(self, command: str = "") -> dict[str, Any]:
        """Return what it says for all commands, by key, and what the table of a command says in place of it."""
        shared = {key: value for key, value in self.content.items() if not isinstance(value, dict)}
        return {**shared, **self.tables.get(command, {})}

    @property
    def tables(self) -> dict[str, dict[str, Any]]:
        """Return its tables of commands by their names."""
        tables = {key: value for key, value in self.content.items() if isinstance(value, dict)}
        return {name: table for name, table in tables.items() if name not in (MODELS, RUBRICS)}


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


def named_tables(kind: type[M]) -> dict[str, M]:
    """Return the checked tables of a kind in the settings files by name, such as `ModelSettings`; empty if there are
    none. A file that is merely found defines no models."""
    name = _TABLES[kind.__name__]
    tables: dict[str, M] = {}
    for file in settings_files():
        if not (file.is_found and name == MODELS):
            tables |= checked_tables(kind, file.content.get(name, {}), str(file.path))
    return tables


def checked_tables(settings: type[M], tables: object, place: str) -> dict[str, M]:
    """Check the `models` or `rubrics` table of the file at `place`; raises `UsageError` for any error in it."""
    from pydantic import ValidationError

    from redraft.fields import first_problem
    from redraft.settings import EXTRACTIVE

    kind = _TABLES[settings.__name__]
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
            checked[str(name)] = settings.model_validate(table, strict=kind == MODELS)
        except ValidationError as error:
            field, problem = first_problem(error)
            hint = _PRICE if field.partition(".")[0] == "price" else _EXAMPLES[kind]
            if error.errors()[0]["type"] == "extra_forbidden":
                hint = f"choose from: {', '.join(settings.model_fields)}"
            raise UsageError(f"{field}: {problem}", place=f"{place} [{kind}.{name}]", hint=hint) from None
    return checked


def rubrics_given(words: Sequence[str]) -> dict[str, RubricSettings]:
    """Return the rubrics of `--rubric` by name: each word is NAME=REQUIREMENT, or a file with tables of rubrics."""
    from redraft.settings import RubricSettings

    rubrics: dict[str, RubricSettings] = {}
    for word in words:
        if stated := _NAMED_REQUIREMENT.fullmatch(word):
            checked = checked_tables(RubricSettings, {stated[1]: {"requirement": stated[2].strip()}}, "--rubric")
        elif Path(word).exists():
            checked = checked_tables(RubricSettings, content_of(Path(word)).get(RUBRICS, {}), word)
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
    from redraft.settings import ModelSettings, RubricSettings

    if not (files := settings_files()):
        return {}
    settable = {name: set(_options(command)) for name, command in commands.items()}
    every = set[str]().union(*settable.values())
    for file in files:
        place = str(file.path)
        if file.is_found and MODELS in file.content:
            raise _refused(f"[{MODELS}]", file)
        checked_tables(ModelSettings, file.content.get(MODELS, {}), place)
        checked_tables(RubricSettings, file.content.get(RUBRICS, {}), place)
        unknown = {place: file.values().keys() - every or file.tables.keys() - settable.keys()}
        for name, table in file.tables.items():
            unknown[f"{place} [{name}]"] = table.keys() - settable.get(name, every)
        for part, keys in unknown.items():
            if keys:
                near = get_close_matches(min(keys), sorted(every | settable.keys()), 1)
                hint = "".join(f"did you mean `{name}`? " for name in near)
                hint += (
                    "Settings are the long names of options, at the top of the file or under a command, such as"
                    " [summarize]: see `redraft summarize --help`"
                )
                raise UsageError(f"unknown setting {', '.join(sorted(keys))}", place=part, hint=hint)
    return {name: _defaults(command, name, files) for name, command in commands.items()}


def _options(command: click.Command) -> dict[str, click.Option]:
    """Return the options with an environment variable, which a file may set too, by long name; for a group, those of
    all its commands."""
    if isinstance(command, click.Group):
        return {name: option for part in command.commands.values() for name, option in _options(part).items()}
    settable = [parameter for parameter in command.params if isinstance(parameter, click.Option) and parameter.envvar]
    return {name[2:]: option for option in settable for name in option.opts if name.startswith("--")}


def _defaults(command: click.Command, table: str, files: Sequence[SettingsFile]) -> dict[str, Any]:
    """Return the values of the files for a command's options by parameter name, as if given on the command line, so
    that they are checked alike; for a group, by command. Raises for what a file may not set."""
    if isinstance(command, click.Group):
        return {name: _defaults(part, table, files) for name, part in command.commands.items()}
    options, values = _options(command), dict[str, Any]()
    for file in files:
        for key, value in file.values(table).items():
            if option := options.get(key):
                words = value if isinstance(value, list) and option.multiple else [value]
                texts = [str(word) for word in words]
                rule: FoundRule = getattr(option, "found", "no")
                if file.is_found and not _is_harmless(rule, texts):
                    raise _refused(key if rule == "no" else f"{key} = {','.join(texts)}", file)
                kinds = {type(word) for word in words}
                if not kinds <= ({bool} if option.is_flag else {str, int, float}):
                    raise UsageError(f"{key} cannot be {value!r}", place=str(file.path))
                values[str(option.name)] = value if option.is_flag else texts if option.multiple else texts[0]
    return values


def _is_harmless(rule: FoundRule, words: Sequence[str]) -> bool:
    """Return whether a found file may set these values: those of options that are marked as harmless, and names that
    add nothing."""
    match rule:
        case "model":
            from redraft.settings import EXTRACTIVE, ModelSettings

            models = {EXTRACTIVE, *named_tables(ModelSettings)}
            return all(word in models or (word.startswith("openai:") and "//" not in word) for word in words)
        case "prompts":
            from redraft.prompts.book import SETS

            return {*SETS}.issuperset(words)
        case "strategy":
            return not set(plugins.names("strategies")).intersection(words)
        case "metric":
            return not set(plugins.names("metrics")).intersection(word.partition("=")[0].strip() for word in words)
    return rule == "yes"


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
    stronger = _defaults(command, table, files[1:])
    options = _options(command)
    values = {
        key: value
        for key, value in found_file.values(table).items()
        if key in options and context.get_parameter_source(str(options[key].name)) is ParameterSource.DEFAULT_MAP
    }
    outranked = [key for key in values if options[key].name in stronger]
    if outranked and not context.params.get("quiet"):
        say(f"{', '.join(outranked)}: {files[-1].path} comes before {found_file.path.resolve()}")
    values = {key: value for key, value in values.items() if key not in outranked}
    if {"metric", "goal"} & options.keys():
        values[RUBRICS] = list(found_file.content.get(RUBRICS, {}))
    texts: dict[str, str] = {}
    for key, value in values.items():
        words = value if isinstance(value, list) else [value]
        if words:
            texts[key] = ",".join(str(word).lower() if isinstance(word, bool) else str(word) for word in words)
    return FoundSettings(file=str(found_file.path.resolve()), values=texts) if texts else None
