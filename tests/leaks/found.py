"""What a `redraft.toml` that lies in the current directory sets in each command, and what it may set."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import click
from click.core import ParameterSource

from redraft.cli.main import app
from redraft.cli.settings_file import read_config
from redraft.errors import UsageError

Command = tuple[str, ...]

# Written down a second time on purpose: an option that is added later must not get in by itself.
MAY = {
    *("words", "language", "skip", "chunk-tokens", "until", "preset", "strategy", "metric", "goal"),
    *("context-tokens", "temperature", "top-p", "sample", "seed", "replies", "reasoning-tokens", "repeat"),
    *("questions", "stretch-tokens", "claims", "batch", "top-k", "similarity", "threshold", "second-look"),
    *("perspective", "refine", "rounds", "policy", "judged-share", "review", "concurrency"),
    *("requests-per-minute", "tokens-per-minute", "max-cost", "max-calls"),
    *("timeout", "tries", "longest-wait", "deadline"),
    *("feedback", "free-length", "max-tokens", "verify-against"),
    *("words-as", "chunking", "merge", "evidence", "keyfact-chunks", "keyfact-overlap"),
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


class Set(NamedTuple):
    """What came of a file: what it has set, or why a command refuses it."""

    values: Mapping[str, object] = {}
    """Those values of the command's settings that are the file's, and other ones than without it."""
    refused: str = ""

    @property
    def is_harm(self) -> bool:
        return "merely found" in self.refused


def taken(path: Command, content: str) -> Set:
    """What a command takes from a file that lies in the current directory."""
    Path("redraft.toml").write_text(content, "utf-8")
    command = COMMANDS[path]
    arguments = [parameter for parameter in command.params if isinstance(parameter, click.Argument)]
    words = ["x" for argument in arguments if argument.required or isinstance(argument.default, str)]
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
    values = [str(word) for word in (value if isinstance(value, list | tuple) else [value])]
    if key in MODELS:
        return all(word == "extractive" or (word.startswith("openai:") and "//" not in word) for word in values)
    return key in MAY or (key == "prompts" and {*values} <= {"standard", "simple"})


def wrongly_set(accepted: Set) -> dict[str, object]:
    return {key: value for key, value in accepted.values.items() if not is_harmless(key, value)}


def toml(value: object) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{json.dumps(key)} = {toml(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    return (
        str(value).lower() if isinstance(value, bool) else json.dumps(value) if isinstance(value, str) else str(value)
    )
