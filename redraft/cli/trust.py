"""Trust in settings files: one that is only found may set harmless options; the rest needs the user's consent once."""

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
# Users set such a variable only for redraft and the address that a file names, which implies consent.
_OWN_KEY = "REDRAFT_KEY"
_OWN_ADDRESS = frozenset({"base-url", "key-env"})
_DB = "db"
# What an untrusted file may set: numbers and switches. None of them names a file, a program, an address or a key,
# or allows spending on something else.
_HARMLESS = frozenset(
    [
        *("words", "language", "skip", "chunk-tokens", "until", "preset", "quiet"),
        *("context-tokens", "temperature", "top-p", "max-tokens", "sample", "seed", "replies", "reasoning-tokens"),
        *("repeat", "questions", "stretch-tokens", "claims", "batch", "top-k", "similarity", "threshold"),
        *("second-look", "perspective", "refine", "rounds", "policy", "tolerance", "judged-share", "review"),
        *("feedback", "free-length", "keyfact-overlap", "verify-against", "probabilities"),
        *("concurrency", "requests-per-minute", "tokens-per-minute", "max-cost", "max-calls", "timeout"),
    ]
)
_MODELS = frozenset({"model", "writer", "judge", "validator", "confirm", "decider"})
_SETS = frozenset({"standard", "simple"})
_HOSTED = "openai:"
_EVERY_TABLE = frozenset({MODELS, "studio"})
"""The commands that may ask any model in the file."""
Places = dict[str, str]


def consent_file() -> Path:
    """Return the file that stores consent, which lies outside the directories it is about."""
    return user_config_path("redraft") / "trusted.json"


def settings_in_need(content: Mapping[str, Any]) -> Places:
    """Return the settings of a file that need the user's consent, as `[table] key` with the value."""
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
    """Return whether a found file needs consent to set this, which is everything not known to be harmless."""
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
    """Return whether a model is built in or on the server that the user has chosen; neither loads anything else."""
    return model == "extractive" or (model.startswith(_HOSTED) and "//" not in model)


def _name(key: str) -> str:
    return key.rpartition(" ")[2].replace("_", "-")


def _shown(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def check_trusted(context: click.Context) -> None:
    """Ask for the user's consent, or raise, if an untrusted file sets something that needs it."""
    if not is_found():
        return
    content = content_of(Path(FILE_NAME))
    used, tables = _used(context, content), _tables_used(context, content)
    if context.params.get("dry_run"):
        # Nothing is sent, so an address does no harm; prompt folders and models are still read.
        used, tables = {key for key in used if not _is_address(key)}, {}
    path, places = Path(FILE_NAME).resolve(), settings_in_need(content)
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
    """Remember the user's consent to the current settings of a file; changed settings need new consent."""
    file = consent_file()
    file.parent.mkdir(parents=True, exist_ok=True)
    known = {**_remembered(), str(path): places}
    write(file, json.dumps(known, indent=2) + "\n", "name the file in REDRAFT_CONFIG instead")
    file.chmod(_PRIVATE)


def _used(context: click.Context, content: Mapping[str, Any]) -> set[str]:
    """Return the command's own options whose value comes from the file and needs consent."""
    options = [
        parameter
        for parameter in context.command.params
        if isinstance(parameter, click.Option) and parameter.name and parameter.envvar
    ]
    given = {word[2:]: str(option.name) for option in options for word in option.opts if word.startswith("--")}
    said = {*content, *(key for table in content.values() if isinstance(table, Mapping) for key in table)}
    tables = _models_in(content)
    return {
        key
        for key, name in given.items()
        # Values of a preset are defaults, too.
        if key in said
        and context.get_parameter_source(name) is ParameterSource.DEFAULT_MAP
        # An unset value needs no consent; an empty text is a value, such as another database.
        and (value := context.params.get(name, True)) not in (None, ())
        and value is not False
        and _needs_word(key, value, tables)
    }


def _is_address(key: str) -> bool:
    return key.endswith("base-url") or key in {"key-env", "address", "trace-to-langsmith", "send-spans"}


def _models_in(content: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Return the model tables by name."""
    tables = content.get(MODELS)
    named = tables.items() if isinstance(tables, Mapping) else ()
    return {name: table for name, table in named if isinstance(table, Mapping)}


def _label(name: str) -> str:
    return f"[{MODELS}.{name}] "


def _tables_used(context: click.Context, content: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Return the model tables that the command may use and that need consent."""
    names: set[str] = set()
    for value in context.params.values():
        names |= {value} if isinstance(value, str) else {*value} if isinstance(value, tuple) else set()
    tables = _models_in(content)
    asked = tables if context.command.name in _EVERY_TABLE else {name: tables[name] for name in names & tables.keys()}
    return {name: table for name, table in asked.items() if _keys_in_need(table)}


def _keys_in_need(table: Mapping[str, Any]) -> set[str]:
    return {key for key, value in table.items() if isinstance(value, Mapping) or _needs_word(_name(key), value)}


def _is_keyed(table: Mapping[str, Any]) -> bool:
    """Return whether a model of the file needs consent only for its address and uses a key that the user set for
    redraft."""
    at_openai = str(table.get("model") or "").startswith(_HOSTED)
    return (
        at_openai and _is_own_key(table.get("key_env")) and {_name(key) for key in _keys_in_need(table)} <= _OWN_ADDRESS
    )


def _has_own_key(context: click.Context, used: set[str]) -> bool:
    """Return whether only the address needs consent and the model uses a key that the user set for redraft."""
    models = context.params.get("model") or context.params.get("models") or ()
    at_openai = all(name.startswith(_HOSTED) for name in ([models] if isinstance(models, str) else models))
    return _is_own_key(context.params.get("key_env")) and at_openai and used <= _OWN_ADDRESS


def _is_own_key(variable: object) -> bool:
    """Return whether a variable is set and its name says that the user set it for redraft."""
    return str(variable or "").startswith(_OWN_KEY) and bool(os.environ.get(str(variable)))


def _remembered() -> dict[str, Places]:
    try:
        known = json.loads(consent_file().read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) else {}


def _agreed(path: Path, places: Places) -> bool:
    say(f"{path} sets where your documents and keys go, or which files are loaded:")
    for key, value in places.items():
        say(f"  {key} = {value}")
    click.echo("Trust it from now on? [y/N] ", err=True, nl=False)
    return sys.stdin.readline().strip().lower() in {"y", "yes"}
