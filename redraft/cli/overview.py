"""The overview: every command in a line; a command's module is loaded where somebody uses it."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from pkgutil import resolve_name
from typing import NamedTuple

import click

_HOME = "redraft.cli.commands"


class Listed(NamedTuple):
    """A command as the overview has it."""

    place: str
    """Where it is, below the commands, as in `batch.group:batch`."""
    does: str
    """What it does, in a line."""


class Commands(MutableMapping[str, click.Command]):
    """Commands by name, each loaded at its first use: an overview of twenty needs none of them."""

    def __init__(self, listed: dict[str, Listed]) -> None:
        self.listed = listed
        self._loaded: dict[str, click.Command] = {}

    def __getitem__(self, name: str) -> click.Command:
        if name not in self._loaded:
            place, does = self.listed[name]
            found: click.Command = resolve_name(f"{_HOME}.{place}")
            found.short_help = does
            self._loaded[name] = found
        return self._loaded[name]

    def __setitem__(self, name: str, command: click.Command) -> None:
        self.listed[name] = Listed("", command.get_short_help_str())
        self._loaded[name] = command

    def __delitem__(self, name: str) -> None:
        del self.listed[name]
        self._loaded.pop(name, None)

    def __iter__(self) -> Iterator[str]:
        return iter(self.listed)

    def __len__(self) -> int:
        return len(self.listed)


class Overview(click.Group):
    """The group of all commands, in the order in which they are listed."""

    def list_commands(self, _: click.Context) -> list[str]:
        """Their names."""
        return list(self.commands)

    def format_commands(self, _: click.Context, formatter: click.HelpFormatter) -> None:
        """A line for each, without loading it."""
        assert isinstance(self.commands, Commands)
        with formatter.section("Commands"):
            formatter.write_dl([(name, one.does) for name, one in self.commands.listed.items()])
