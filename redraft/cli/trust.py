"""A settings file that is merely found may set a few harmless things; all else in it needs the user's word, once."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource
from platformdirs import user_config_path

from redraft import plugins
from redraft.cli.settings_file import FILE_NAME, MODELS, content_of, is_found
from redraft.cli.terminal import say
from redraft.errors import UsageError
from redraft.sources import write
from redraft.store.addresses import shown

_PRIVATE = 0o600
# Nobody sets such a variable but for redraft and the address that a file names: it is the user's word for that.
_OWN_KEY = "REDRAFT_KEY"
_OWN_ADDRESS = frozenset({"base-url", "key-env"})
_DB = "db"
# What a stranger may set: numbers and switches of which none names a file, a program, an address or a key, or says what
# may be spent on what.
_HARMLESS = frozenset(
    [
        *("words", "language", "skip", "chunk-tokens", "until", "preset", "quiet"),
        *("context-tokens", "temperature", "top-p", "max-tokens", "sample", "seed", "replies", "reasoning-tokens"),
        *("repeat", "questions", "stretch-tokens", "claims", "batch", "top-k", "similarity", "threshold"),
        *("second-look", "perspective", "refine", "rounds", "policy", "tolerance", "judged-share", "review"),
        *("concurrency", "requests-per-minute", "tokens-per-minute", "max-cost", "max-calls", "timeout"),
    ]
)
_MODELS = frozenset({"model", "writer", "judge", "validator", "decider"})
_SETS = frozenset({"standard", "simple"})
_HOSTED = "openai:"
_EVERY_TABLE = frozenset({MODELS, "studio"})
"""The commands that may ask any model of the file."""
Places = dict[str, str]


def remembered_in() -> Path:
    """Where the word is kept: outside of the directories that it is about."""
    return user_config_path("redraft") / "trusted.json"


def places_in(content: Mapping[str, Any]) -> Places:
    """What a settings file says that needs the user's word: `[table] key`, and the value."""
    tables = {f"[{name}] ": value for name, value in content.items() if isinstance(value, Mapping)}
    named = _models_in(content)
    tables |= {_label(name): value for name, value in named.items()}
    said = [(f"{table}{key}", value) for table, rows in {"": content, **tables}.items() for key, value in rows.items()]
    places = {
        key: value for key, value in said if not isinstance(value, Mapping) and _needs_word(_name(key), value, named)
    }
    places |= {
        f"{_label(name)}{key}": value
        for name, table in named.items()
        for key, value in table.items()
        if isinstance(value, Mapping)
    }
    return {key: _shown(shown(str(value)) if _name(key) == _DB else value) for key, value in places.items()}


def _needs_word(name: str, value: object, tables: Collection[str] = ()) -> bool:
    """Whether a found file may not set this unasked: all that is not known to be harmless."""
    if name in _HARMLESS:
        return False
    values = [str(one) for one in value] if isinstance(value, list | tuple) else [str(value)]
    if name in _MODELS:
        return not all(_is_hosted(one) or one in tables for one in values)
    if name == "prompts":
        return not _SETS.issuperset(values)
    if name == "strategy":
        return not set(plugins.names("strategies")).isdisjoint(values)
    if name in ("metric", "goal"):
        return not set(plugins.names("metrics")).isdisjoint(one.partition("=")[0].strip() for one in values)
    return True


def _is_hosted(model: str) -> bool:
    """Whether a model is built in, or one of the server that the user has chosen; no other loads or finds anything."""
    return model == "extractive" or (model.startswith(_HOSTED) and "//" not in model)


def _name(key: str) -> str:
    return key.rpartition(" ")[2].replace("_", "-")


def _shown(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def check_trusted(context: click.Context) -> None:
    """Ask for the user's word, or refuse, where only a found file has told a command what strangers may not tell it."""
    if not is_found():
        return
    content = content_of(Path(FILE_NAME))
    used, tables = _used(context, content), _tables_used(context, content)
    if context.params.get("dry_run"):
        # Nothing is sent, so that an address does no harm; a folder of prompts, or a model, is read all the same.
        used, tables = {key for key in used if not _is_address(key)}, {}
    path, places = Path(FILE_NAME).resolve(), places_in(content)
    if not used and not tables:
        return
    if (not used or _has_own_key(context, used)) and all(map(_is_keyed, tables.values())):
        return
    if _remembered().get(str(path)) == places:
        return
    if not (sys.stdin.isatty() and sys.stderr.isatty() and _agreed(path, places)):
        listed = ", ".join(f"{key} = {value}" for key, value in places.items())
        raise UsageError(
            f"it sets addresses, keys or files ({listed}) and is not trusted yet",
            place=str(path),
            hint="to trust it: redraft trust\nor name it yourself: REDRAFT_CONFIG=redraft.toml",
        )
    trust(path, places)


def trust(path: Path, places: Places) -> None:
    """Remember the user's word for what a file says now; it takes another one once that changes."""
    file = remembered_in()
    file.parent.mkdir(parents=True, exist_ok=True)
    known = {**_remembered(), str(path): places}
    write(file, json.dumps(known, indent=2) + "\n", "name the file in REDRAFT_CONFIG instead")
    file.chmod(_PRIVATE)


def _used(context: click.Context, content: Mapping[str, Any]) -> set[str]:
    """Those of the command's own options that have a value from the file for which the user's word is needed."""
    options = [one for one in context.command.params if isinstance(one, click.Option) and one.name and one.envvar]
    given = {word[2:]: str(one.name) for one in options for word in one.opts if word.startswith("--")}
    said = {*content, *(key for table in content.values() if isinstance(table, Mapping) for key in table)}
    tables = _models_in(content)
    return {
        key
        for key, name in given.items()
        # A preset's values are defaults, too.
        if key in said
        and context.get_parameter_source(name) is ParameterSource.DEFAULT_MAP
        # Nothing at all needs no word; an empty text is something, such as another database.
        and (value := context.params.get(name, True)) not in (None, ())
        and value is not False
        and _needs_word(key, value, tables)
    }


def _is_address(key: str) -> bool:
    return key.endswith("base-url") or key in {"key-env", "address", "trace-to-langsmith", "send-spans"}


def _models_in(content: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """The tables of models, by name."""
    tables = content.get(MODELS)
    named = tables.items() if isinstance(tables, Mapping) else ()
    return {name: table for name, table in named if isinstance(table, Mapping)}


def _label(name: str) -> str:
    return f"[{MODELS}.{name}] "


def _tables_used(context: click.Context, content: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """The models of the file that have anything that needs the word, of those that the command may ask."""
    names: set[str] = set()
    for value in context.params.values():
        names |= {value} if isinstance(value, str) else {*value} if isinstance(value, tuple) else set()
    tables = _models_in(content)
    asked = tables if context.command.name in _EVERY_TABLE else {name: tables[name] for name in names & tables.keys()}
    return {name: table for name, table in asked.items() if _keys_in_need(table)}


def _keys_in_need(table: Mapping[str, Any]) -> set[str]:
    return {key for key, value in table.items() if isinstance(value, Mapping) or _needs_word(_name(key), value)}


def _is_keyed(table: Mapping[str, Any]) -> bool:
    """Whether a model of the file gets a key which the user has set for just that, and has nothing else of its own."""
    at_openai = str(table.get("model") or "").startswith(_HOSTED)
    return (
        at_openai and _is_own_key(table.get("key_env")) and {_name(key) for key in _keys_in_need(table)} <= _OWN_ADDRESS
    )


def _has_own_key(context: click.Context, used: set[str]) -> bool:
    """Whether the only place is the address of a model that gets a key which the user has set for just that."""
    models = context.params.get("model") or context.params.get("models") or ()
    at_openai = all(name.startswith(_HOSTED) for name in ([models] if isinstance(models, str) else models))
    return _is_own_key(context.params.get("key_env")) and at_openai and used <= _OWN_ADDRESS


def _is_own_key(variable: object) -> bool:
    """Whether a variable is one that the user has set for redraft alone."""
    return str(variable or "").startswith(_OWN_KEY) and bool(os.environ.get(str(variable)))


def _remembered() -> dict[str, Places]:
    try:
        known = json.loads(remembered_in().read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) else {}


def _agreed(path: Path, places: Places) -> bool:
    say(f"{path} sets where your documents and keys go, or which files are loaded:")
    for key, value in places.items():
        say(f"  {key} = {value}")
    click.echo("Trust it from now on? [y/N] ", err=True, nl=False)
    return sys.stdin.readline().strip().lower() in {"y", "yes"}
