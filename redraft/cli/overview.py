"""The table of commands: the core's, and those of guests, which are packages that bring commands of their own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from functools import cache, cached_property
from importlib import resources
from pkgutil import resolve_name
from typing import Any, NamedTuple

import click

from redraft import plugins
from redraft.cli.hints import if_installed
from redraft.errors import UsageError

GROUPS = ("Every day", "Runs", "Judges", "Research", "Serve", "Set up")
"""The titles of the overview, in their order."""


class HelpEntry(NamedTuple):
    """A command's entry in the overview."""

    place: str
    """The module and the attribute, such as `redraft.cli.commands.batch:batch`."""
    does: str
    """A one-line description."""
    group: str = "Other"
    """The title that the command stands under; one of `GROUPS`, or a guest's own."""


class Commands(Mapping[str, click.Command]):
    """Commands by name, each loaded at first use. Guests are asked only for names that the core does not have.

    A guest's entry point in the group `redraft.commands` is a dictionary of `HelpEntry` by command.
    """

    def __init__(self, core: Mapping[str, HelpEntry]) -> None:
        self._core = core

    @cached_property
    def entries(self) -> Mapping[str, HelpEntry]:
        """All entries: the core's, then those of guests."""
        entries = dict(self._core)
        for guest in plugins.names("commands"):
            table: Mapping[str, HelpEntry] = plugins.load("commands", guest)
            if duplicates := sorted(entries.keys() & table.keys()):
                package = plugins.package_of("commands", guest)
                raise UsageError(
                    f"the package {package} has a command named {duplicates[0]}, and so has another",
                    hint=f"update {package}, or remove it: it is among its entry points redraft.commands",
                )
            entries |= table
        return entries

    def __getitem__(self, name: str) -> click.Command:
        entry = self._core[name] if name in self._core else self.entries[name]
        command: click.Command = resolve_name(entry.place)
        command.short_help = entry.does
        return command

    def __iter__(self) -> Iterator[str]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)


@cache
def help_texts() -> Mapping[str, Mapping[str, str]]:
    """Return what `commands.toml` says of commands, by their words; of `redraft` alone under that."""
    import tomllib

    return tomllib.loads(resources.files("redraft.cli").joinpath("commands.toml").read_text("utf-8"))


class WithExamples(click.Command):
    """A command whose help ends with examples."""

    def format_epilog(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples as they are, and what stands below them in paragraphs."""
        if examples := help_texts().get(context.command_path.removeprefix("redraft "), {}).get("examples"):
            # Without those of guests that are not here.
            lines = (line for line in examples.splitlines() if not line.startswith("  redraft ") or if_installed(line))
            self.epilog = "\n".join(["\b\nExamples:", *lines])
        super().format_epilog(context, formatter)


_ALSO_CALLED = {
    "summarize --dry-run": ("cost", "estimate", "plan", "price"),
    "models": ("config", "configure", "init", "key", "keys", "login", "set", "settings", "setup"),
    "runs": ("history", "jobs", "list", "ls", "ps", "status"),
    "evaluate": ("check", "eval", "judge", "score", "verify"),
    "refine": ("edit", "improve", "revise", "rewrite"),
    "ask": ("chat", "qa", "question"),
    "forget": ("clean", "delete", "rm", "remove"),
    "studio": ("browser", "serve", "server", "ui", "web"),
    "resume": ("continue", "restart", "retry"),
}


class CommandGroup(WithExamples, click.Group):
    """A group that lists its commands in the order of the code, most important first, and names the nearest command for
    an unknown one, as click itself does since 8.5; `usual` runs if none is named."""

    def __init__(self, *args: Any, usual: str = "", **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.usual = usual

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments; insert the usual command if the first argument is not a command."""
        is_unnamed = bool(self.usual and args) and args[0] not in {*self.commands, *context.help_option_names}
        return super().parse_args(context, [self.usual, *args] if is_unnamed else args)

    def list_commands(self, _: click.Context) -> list[str]:
        """Return the names of the commands."""
        return list(self.commands)

    def resolve_command(
        self, context: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        word = args[0]
        if not word.startswith("-") and self.get_command(context, word) is None:
            near = [name for name, words in _ALSO_CALLED.items() if word in words and context.parent is None]
            near = near or get_close_matches(word, self.list_commands(context), 1)
            context.fail(f"No such command {word!r}." + "".join(f" Did you mean {name!r}?" for name in near))
        return super().resolve_command(context, args)

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        """Write one line per command; of all commands in groups, and without loading them."""
        if not isinstance(self.commands, Commands):
            super().format_commands(context, formatter)
            return
        entries = self.commands.entries
        widest = max(map(len, entries))
        for group in dict.fromkeys((*GROUPS, *(entry.group for entry in entries.values()))):
            lines = [(name.ljust(widest), entry.does) for name, entry in entries.items() if entry.group == group]
            if lines:
                with formatter.section(group):
                    formatter.write_dl(lines)
