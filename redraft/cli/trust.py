"""A settings file that is merely found: where it says that documents go needs the user's word, once."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource
from platformdirs import user_config_path

from redraft.cli.settings_file import FILE_NAME, MODELS, content_of, is_found
from redraft.cli.terminal import say
from redraft.errors import UsageError
from redraft.files import write
from redraft.store.places import is_server, shown

_PRIVATE = 0o600
# Nobody sets such a variable but for redraft and the address that a file names: it is the user's word for that.
_OWN_KEY = "REDRAFT_KEY"
_ROLES = ("model", "models", "judge", "validator", "decider")
# Documents go to a server with the address of a database, and with them what the environment has for its password.
_DB = "db"
Places = dict[str, str]


def remembered_in() -> Path:
    """Where the word is kept: outside of the directories that it is about."""
    return user_config_path("redraft") / "trusted.json"


def places_in(content: Mapping[str, Any]) -> Places:
    """What a settings file says about where documents and keys go: `[table] key`, and the value."""
    tables = {f"[{name}] ": value for name, value in content.items() if isinstance(value, Mapping)}
    tables |= {_label(name): value for name, value in _models_in(content).items()}
    said = [(f"{table}{key}", value) for table, rows in {"": content, **tables}.items() for key, value in rows.items()]
    places = {key: value for key, value in said if not isinstance(value, Mapping) and _is_place(key, value)}
    return {key: _shown(shown(value) if _name(key) == _DB else value) for key, value in places.items()}


def _is_place(key: str, value: object) -> bool:
    name = _name(key)
    named = name.endswith("base-url") or name in {"key-env", "trace-to-langsmith", "address"}
    return named or (name in _ROLES and "//" in _shown(value)) or (name == _DB and is_server(str(value)))


def _name(key: str) -> str:
    return key.rpartition(" ")[2].replace("_", "-")


def _shown(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def check_trusted(context: click.Context) -> None:
    """Ask for the user's word, or refuse, where a command would go where only a found file has told it to."""
    if not is_found() or context.params.get("dry_run"):
        return
    content = content_of(Path(FILE_NAME))
    used, tables = _places_used(context), _tables_used(context, content)
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
            f"it says where your documents and keys go ({listed}), and you have not said that it may",
            place=str(path),
            hint="if you trust it: redraft trust\nor name it yourself: REDRAFT_CONFIG=redraft.toml",
        )
    trust(path, places)


def trust(path: Path, places: Places) -> None:
    """Remember the user's word for what a file says now; it takes another one once that changes."""
    file = remembered_in()
    file.parent.mkdir(parents=True, exist_ok=True)
    known = {**_remembered(), str(path): places}
    write(file, json.dumps(known, indent=2) + "\n", "name the file in REDRAFT_CONFIG instead")
    file.chmod(_PRIVATE)


def _places_used(context: click.Context) -> set[str]:
    """Those of the command's own options about places that have their values from the file."""
    options = [one for one in context.command.params if isinstance(one, click.Option) and one.name and one.envvar]
    given = {next(word[2:] for word in one.opts if word.startswith("--")): str(one.name) for one in options}
    return {
        key
        for key, name in given.items()
        if context.get_parameter_source(name) is ParameterSource.DEFAULT_MAP
        and (value := context.params.get(name))
        and _is_place(key, value)
    }


def _models_in(content: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """The tables of models, by name."""
    tables = content.get(MODELS)
    named = tables.items() if isinstance(tables, Mapping) else ()
    return {name: table for name, table in named if isinstance(table, Mapping)}


def _label(name: str) -> str:
    return f"[{MODELS}.{name}] "


def _tables_used(context: click.Context, content: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """The models of the file that say where they are, of those that the command asks, whoever has named them."""
    names: set[str] = set()
    for role in _ROLES:
        value = context.params.get(role) or ()
        names |= {value} if isinstance(value, str) else {*value}
    tables = _models_in(content)
    asked = tables if context.command.name == MODELS else {name: tables[name] for name in names & tables.keys()}
    return {name: table for name, table in asked.items() if any(_is_place(key, value) for key, value in table.items())}


def _is_keyed(table: Mapping[str, Any]) -> bool:
    """Whether a model of the file gets a key which the user has set for just that."""
    variable = str(table.get("key_env") or "")
    at_openai = str(table.get("model") or "").startswith("openai:")
    return at_openai and variable.startswith(_OWN_KEY) and bool(os.environ.get(variable))


def _has_own_key(context: click.Context, used: set[str]) -> bool:
    """Whether the only place is the address of a model that gets a key which the user has set for just that."""
    models = context.params.get("model") or context.params.get("models") or ()
    at_openai = all(name.startswith("openai:") for name in ([models] if isinstance(models, str) else models))
    variable = str(context.params.get("key_env") or "")
    own = variable.startswith(_OWN_KEY) and bool(os.environ.get(variable))
    return own and at_openai and used <= {"base-url", "key-env"}


def _remembered() -> dict[str, Places]:
    try:
        known = json.loads(remembered_in().read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) else {}


def _agreed(path: Path, places: Places) -> bool:
    say(f"{path} says where your documents and keys go:")
    for key, value in places.items():
        say(f"  {key} = {value}")
    click.echo("Do you trust it, from now on? [y/N] ", err=True, nl=False)
    return sys.stdin.readline().strip().lower() in {"y", "yes"}
