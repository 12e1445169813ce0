"""Found settings: whatever a stranger's `redraft.toml` says, only a few harmless things of it take effect unasked.

A file is made of settings of the commands and of tables of models, each with some kind of value, in some place. A
command that finds it refuses it, or nothing but what is harmless is set.

    python -m tests.torture --tries 20000 --only settings
"""

from __future__ import annotations

import json
import os
import random
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import chdir
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import click
from click.core import ParameterSource

from redraft.cli.main import app
from redraft.cli.settings_file import read_config
from redraft.errors import UsageError
from redraft.settings import ModelSettings

Command = tuple[str, ...]

# Written down a second time on purpose: an option that is added later must not get in by itself.
MAY = {
    *("words", "language", "skip", "chunk-tokens", "until", "preset", "strategy", "metric", "goal"),
    *("context-tokens", "temperature", "top-p", "sample", "seed", "replies", "reasoning-tokens", "repeat"),
    *("questions", "stretch-tokens", "claims", "batch", "top-k", "similarity", "threshold", "second-look"),
    *("perspective", "refine", "rounds", "policy", "judged-share", "review", "concurrency"),
    *("requests-per-minute", "tokens-per-minute", "max-cost", "max-calls"),
    *("timeout", "tries", "longest-wait", "deadline"),
    *("feedback", "free-length", "max-tokens", "keyfact-overlap", "verify-against"),
    *("words-as", "chunking", "merge", "evidence", "keyfact-chunks"),
}
"""What may be set unasked, whatever the value."""
MODELS = {"model", "writer", "judge", "validator", "confirm", "decider"}
"""What may be set to a model that loads nothing and is asked nowhere but at the user's own server."""
HARMFUL = ["", "./model", "../x", "/tmp/model", "nli:./model", "http://stranger.example", "file:///etc/passwd", "mine"]
_VALUES = {
    "goal": "coverage=0.5",
    "skip": "notes",
    "preset": "hamlet",
    "questions": "9",
    "metric": "coverage",
    "max-source": "1MB",
}


def _leaves(command: click.Command, path: Command = ()) -> Iterator[tuple[Command, click.Command]]:
    """All commands, those of groups too."""
    if isinstance(command, click.Group):
        for name in command.list_commands(click.Context(command)):
            subcommand = command.get_command(click.Context(command), name)
            assert subcommand is not None
            yield from _leaves(subcommand, (*path, name))
    else:
        yield path, command


COMMANDS = dict(_leaves(app))
SETTINGS = [
    (path, word[2:], parameter)
    for path, command in COMMANDS.items()
    for parameter in command.params
    if isinstance(parameter, click.Option) and parameter.envvar
    for word in parameter.opts
    if word.startswith("--")
]
"""Each setting of each command."""


def typical(key: str, option: click.Option) -> object:
    """A value that the setting takes."""
    if option.is_flag:
        return True
    if key in _VALUES:
        return _VALUES[key]
    if isinstance(option.type, click.Choice):
        return str(option.type.choices[0])
    if isinstance(option.type, click.types.IntParamType | click.types.FloatParamType):
        minimum = getattr(option.type, "min", None) or 0
        return 0.5 if isinstance(option.type, click.types.FloatParamType) and minimum < 1 else max(1, minimum)
    return "mine"


def required(path: Command, but: click.Option | None = None) -> dict[str, object]:
    """The settings without which a command is not begun, one of them left out."""
    options = [
        option_
        for option_ in COMMANDS[path].params
        if isinstance(option_, click.Option) and option_.required and option_.envvar
    ]
    return {option_.opts[0][2:]: "extractive" for option_ in options if option_ is not but}


class Set(NamedTuple):
    """What came of a file: what it has set, or why a command refuses it."""

    values: Mapping[str, object] = {}
    """Those values of the command's settings that are the file's, and other ones than without it."""
    refused: str = ""

    @property
    def is_harm(self) -> bool:
        """Whether it is refused because it could do harm."""
        return "merely found" in self.refused


def taken(path: Command, content: str) -> Set:
    """What a command takes from a file that lies in the current directory."""
    Path("redraft.toml").write_text(content, "utf-8")
    command = COMMANDS[path]
    words = ["x" for parameter in command.params if isinstance(parameter, click.Argument) and parameter.required]
    for parameter in command.params:
        if isinstance(parameter, click.Option) and parameter.required and not parameter.envvar:
            words += [parameter.opts[0], str(typical(parameter.opts[0][2:], parameter))]
    try:
        config: Any = read_config(app.commands)
        for name in path:
            config = config.get(name, {})
        context = click.Context(command, info_name=path[-1], default_map=config)
        with context:
            command.parse_args(context, words)
    except UsageError as error:
        return Set(refused=error.message)
    except click.ClickException as error:
        return Set(refused=error.format_message())
    return Set(_from_file(context, content))


def _from_file(context: click.Context, content: str) -> dict[str, object]:
    values: dict[str, object] = {}
    for parameter in context.command.params:
        if parameter.name and context.get_parameter_source(parameter.name) is ParameterSource.DEFAULT_MAP:
            key, usual = (
                max(parameter.opts, key=len).removeprefix("--"),
                parameter.get_default(click.Context(context.command)),
            )
            # A preset has values, too.
            if key in content and (value := context.params.get(parameter.name)) != usual:
                values[key] = value
    return values


def is_harmless(key: str, value: object) -> bool:
    """Whether a stranger may set this."""
    values = [str(word) for word in (value if isinstance(value, list | tuple) else [value])]
    if key in MODELS:
        return all(word == "extractive" or (word.startswith("openai:") and "//" not in word) for word in values)
    return key in MAY or (key == "prompts" and {*values} <= {"standard", "simple"})


def wrongly_set(tables: Mapping[str, Any], accepted: Set) -> list[str]:
    """What a file has set that it may not."""
    wrong = [f"{key} = {value!r}" for key, value in accepted.values.items() if not is_harmless(key, value)]
    return wrong if accepted.refused else wrong + [f"[models.{name}]" for name in tables]


class _Verbatim(str):
    """A value as it stands in the file."""


_SCALARS: list[object] = [
    *(True, False, 0, 1, -1, 7, 0.5, -0.5, 10**6, 10**25, float("inf"), float("nan"), "", "true", "1", "0.5", "none"),
    *HARMFUL,
    *(
        "openai:gpt-5-mini",
        "openai:http://stranger.example/v1",
        "extractive",
        "standard",
        "simple",
        "m",
        "a,b",
        "coverage",
    ),
    *(
        "\u001b]0;x\u0007",
        "a\u0000b",
        "x" * 5_000,
        "~/.ssh/id_rsa",
        "$HOME",
        "{{ 1 }}",
        "sqlite:///x.db",
        "postgresql://h/d",
    ),
    *(_Verbatim("2026-11-26"), _Verbatim("07:32:00"), _Verbatim("0x1F"), _Verbatim("'''a\nb'''"), _Verbatim("1e3")),
]
_TABLES: list[object] = [{}, {"a": 1}, {"model": "openai:m"}, {"base_url": "http://stranger.example"}, {"a": {"b": {}}}]


def _any(rng: random.Random) -> object:
    """A value of any kind."""
    kind = rng.random()
    if kind < 0.7:
        return rng.choice(_SCALARS)
    if kind < 0.9:
        return [rng.choice(_SCALARS) for _ in range(rng.randrange(3))]
    return rng.choice([*_TABLES, [{}], [[]], [["x"]]])


def toml(value: object) -> str:
    """A value as a file has it."""
    if isinstance(value, _Verbatim):
        return value
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{json.dumps(key)} = {toml(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    return (
        str(value).lower() if isinstance(value, bool) else json.dumps(value) if isinstance(value, str) else str(value)
    )


def lines(values: Mapping[str, object]) -> str:
    """The settings as a file has them."""
    return "".join(f"{json.dumps(key)} = {toml(value)}\n" for key, value in values.items())


class File(NamedTuple):
    """A file, the command that finds it, and its tables of models."""

    path: Command
    content: str
    tables: Mapping[str, Any]


def _of_command(rng: random.Random) -> File:
    """One setting, or several, at the top or in the table of the command, among harmless ones."""
    path, key, option = rng.choice(SETTINGS)
    value = typical(key, option) if rng.random() < 0.3 else _any(rng)
    if option.multiple and rng.random() < 0.3:
        value = [value, value]
    settings = [setting for setting in SETTINGS if setting[0] == path]
    further = {
        name: typical(name, option_) for _, name, option_ in rng.sample(settings, min(len(settings), rng.randrange(4)))
    }
    spelt = rng.choice((key, key, key, key, key.replace("-", "_"), key.upper(), f" {key}", f"--{key}", key[:-1]))
    settings_set = {**further, spelt: value}
    top, table = required(path, option), {}
    for name, setting_value in settings_set.items():
        (top if rng.random() < 0.5 else table)[name] = setting_value
    name = rng.choice((path[0], path[0], path[0], rng.choice([*COMMANDS])[0], "models", "DEFAULT"))
    return File(path, lines(top) + (f"[{name}]\n{lines(table)}" if table else ""), {})


def _of_model(rng: random.Random) -> File:
    """A model under a name, with some of its fields, for one of the roles that a command has, or for none."""
    fields = [field for field in ModelSettings.model_fields if field != "model"]
    name = rng.choice(("m", "m", "strong", "a.b", "x y", "extractive", "openai:m"))
    model = rng.choice(("openai:m", "openai:m", "openai:m", "extractive", *HARMFUL, 7))
    kinds: list[Callable[[], object]] = [
        lambda: _any(rng),
        lambda: rng.choice(("http://x", 4096, 0.5, "simple", "plain")),
    ]
    table = {"model": model} | {field: rng.choice(kinds)() for field in rng.sample(fields, rng.randrange(3))}
    roles = [(path, key, option) for path, key, option in SETTINGS if key in MODELS]
    path, key, option = rng.choice(roles)
    settings = {**required(path, option), **({key: [name] if option.multiple else name} if key in MODELS else {})}
    more = {"m2": {"model": "openai:m2", "base_url": "http://stranger.example"}} if rng.random() < 0.3 else {}
    tables = {name: table, **more}
    return File(
        path,
        lines(settings) + "".join(f"[models.{json.dumps(n)}]\n{lines(table_)}" for n, table_ in tables.items()),
        tables,
    )


def _broken(rng: random.Random) -> File:
    """What is no such file, or hardly one."""
    path, content, _ = _of_command(rng)
    at = rng.randrange(len(content))
    junk = rng.choice(
        ("\0", "[", "]]", "=", '"', "\n[a]\n[a]\n", "[" * 3_000, "a." * 3_000 + "b = 1\n", "\ufeff", "\ud7ff", "# ")
    )
    return File(path, content[:at] + junk + content[at:] * rng.randrange(2), {})


_KINDS = ((_of_command, 12), (_of_model, 6), (_broken, 2))


def unasked(count: int, seed: int) -> Iterator[str]:
    """What so many files set that they may not, and what ended otherwise than in a sentence."""
    with tempfile.TemporaryDirectory() as folder:
        home = {"HOME": folder, "XDG_CONFIG_HOME": f"{folder}/config", "PATH": os.environ["PATH"]}
        with patch.dict(os.environ, home, clear=True), chdir(folder):
            for number in range(count):
                rng = random.Random(f"{seed} {number}")
                (kind,) = rng.choices([kind_ for kind_, _ in _KINDS], [weight for _, weight in _KINDS])
                path, content, tables = kind(rng)
                try:
                    wrong = wrongly_set(tables, taken(path, content))
                except Exception as error:  # noqa: BLE001  (it is what is looked for)
                    wrong = [f"{type(error).__name__}: {error}"]
                yield from (f"#{number}, {' '.join(path)}: {mistake} by {content[:300]!r}" for mistake in wrong)
