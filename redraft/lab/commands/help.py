"""The commands of the lab with their help, which `commands.toml` has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from redraft.cli.sections import Command, CommandGroup, command
from redraft.lab.declared import declared

_MISSING = """\
The exit code is 3 when something is missing: items failed, or the budget is
used up. Repeat the command, with a higher limit, to continue.
"""


def lab_command(name: str) -> Callable[[Callable[..., Any]], Command]:
    """Create the command of this name with its help."""
    return command(name, first=declared("commands")[name].get("first", "").split(), **_help(name))


def lab_group(name: str, *, usual: str = "") -> Callable[[Callable[..., Any]], click.Group]:
    """Create the group of this name with its help; `usual` is the command that runs if none is named."""
    return click.group(name, cls=CommandGroup, usual=usual, **_help(name))


def _help(name: str) -> dict[str, Any]:
    entry = declared("commands")[name]
    texts = {text: entry[text] for text in ("help", "short_help") if text in entry}
    if "examples" in entry:
        texts["epilog"] = f"\b\nExamples:\n{entry['examples']}{_MISSING if entry.get('can_be_short') else ''}"
    return texts
