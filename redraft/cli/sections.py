"""Grouped help: options in sections, and only the most important ones of a large command."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from typing import Any, TypeVar

import click
from click.types import OptionHelpExtra

from redraft.cli import hints
from redraft.cli.settings_file import found_settings
from redraft.cli.terminal import say, say_reading
from redraft.errors import RedraftError, parts_of
from redraft.fields import FoundRule, Section

Record = tuple[str, str]
F = TypeVar("F", bound=Callable[..., Any])

SECTIONS: dict[Section, str] = {
    "source": "Source",
    "summary": "Summary",
    "model": "Model",
    "judging": "Judging",
    "refining": "Refining",
    "limits": "Limits",
    "output": "Output",
}
"""The titles of the sections, in the order of the help."""
_WIDEST_NAME, _MAX_NAMED = 28, 3
_TRACING = tuple(
    f"{owner}_{name}"
    for owner in ("LANGSMITH", "LANGCHAIN")
    for name in ("TRACING", "TRACING_V2", "HANDLER", "RUNS_ENDPOINTS")
)
LISTED = "{listed}"


class SectionOption(click.Option):
    """An option in a section of the help."""

    def __init__(
        self,
        *args: Any,
        section: Section,
        listing: Callable[[], str] | None = None,
        found: FoundRule = "no",
        rare: bool = False,
        **settings: Any,
    ) -> None:
        """Create the option. The result of `listing` replaces `LISTED` in the help; it is called only when the help is
        shown. `found` says whether a settings file that is merely found may set it. A `rare` one is set by `--set`."""
        if rare and not settings.get("is_flag") and not settings.get("multiple"):
            settings.setdefault("default", None)  # click replaces its own mark of no value only in parameters it parses
        super().__init__(*args, **settings)
        self.section, self.found, self.rare = section, found, rare
        self._listing = listing

    @property
    def key(self) -> str:
        """Return the name that `--set` takes, such as `top_k`."""
        return self.long.removeprefix("--").replace("-", "_")

    @property
    def typed_name(self) -> str:
        """Return how a user names it: `--words`, or `--set top_k`."""
        return f"--set {self.key}" if self.rare else self.long

    def get_error_hint(self, context: click.Context | None) -> str:
        return f"'{self.typed_name}'" if self.rare else super().get_error_hint(context)

    @property
    def long(self) -> str:
        """The long name, such as `--words`."""
        return next(name for name in self.opts if name.startswith("--"))

    def get_help_record(self, context: click.Context) -> Record | None:
        record = super().get_help_record(context)
        if record is None:
            return None
        name, text = record
        if self.rare:
            value = "true" if isinstance(self.type, click.types.BoolParamType) else self.make_metavar(context)
            name = f"{self.typed_name}={value}"
        return name, text if self._listing is None else text.replace(LISTED, self._listing())

    def get_help_extra(self, context: click.Context) -> OptionHelpExtra:
        """Return the default and other extras without the number range, which the error for a wrong value states."""
        extra = super().get_help_extra(context)
        extra.pop("range", None)
        return extra


class SourceArgument(click.Argument):
    """What a command reads. The command says so before it begins, unless it is quiet."""

    def names(self, context: click.Context) -> list[str]:
        """Return the names that were given, the first of many."""
        values = context.params[str(self.name)]
        return (
            [values] if isinstance(values, str) else [*values[:_MAX_NAMED], *(["..."] if values[_MAX_NAMED:] else [])]
        )


FOUND = "redraft.found"
"""The key of the context's `meta` with what a settings file that was merely found has set."""
CHECK = "redraft.check"
"""The key of the context's `meta` with a check that needs all parameters."""


def options_of(command: click.Command) -> list[SectionOption]:
    """Return the options of a command, with those that `--set` sets at the end."""
    options = [parameter for parameter in command.params if isinstance(parameter, SectionOption)]
    return [*options, *(command.rare if isinstance(command, Command) else ())]


_SET = "settings_to_set"


def _set_option() -> SectionOption:
    """Create `--set` for a command that has rare options."""
    return SectionOption(
        ["--set", _SET],
        section="output",
        multiple=True,
        metavar="NAME=VALUE",
        help="Set one of the less usual settings; may be repeated: see docs/options.md.",
    )


class Command(click.Command):
    """A command with its options in sections; if `first` is given, the help shows only these. Its rare options are no
    parameters of click's: `--set NAME=VALUE` sets them."""

    def __init__(self, *args: Any, first: Sequence[str] = (), **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.first = first
        self.rare = [option for option in self.params if isinstance(option, SectionOption) and option.rare]
        if self.rare:
            self.params = [parameter for parameter in self.params if parameter not in self.rare]
            self.params.append(_set_option())

    @property
    def options(self) -> list[SectionOption]:
        """Return the options, with those that `--set` sets at the end."""
        return options_of(self)

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments, and then the values of `--set`."""
        rest = self._parse_words(context, args)
        if self.rare:
            values = self._values_to_set(context, context.params.pop(_SET))
            for option in self.rare:
                option.handle_parse_result(context, values, [])
        return rest

    def _values_to_set(self, context: click.Context, pairs: Sequence[str]) -> dict[str, str]:
        """Return the values of `--set` by parameter. Raises for a name that the command does not have."""
        options, values = {option.key: option for option in self.rare}, dict[str, str]()
        for pair in pairs:
            name, equals, value = pair.partition("=")
            key = name.strip().replace("-", "_")
            if not equals or key not in options:
                raise click.BadParameter(self._not_set(name, key), context, param_hint="'--set'")
            values[str(options[key].name)] = value.strip()
        return values

    def _not_set(self, name: str, key: str) -> str:
        """Return why `--set` cannot set what it names."""
        rare = [option.key for option in self.rare]
        if key in rare:
            return f"{name} has no value: write {name}=VALUE"
        if any(option.key == key for option in self.options):
            return f"{name} has an option of its own: --{key.replace('_', '-')}"
        near = get_close_matches(key, rare, 1)
        hint = f"did you mean {near[0]}?" if near else f"choose from {', '.join(rare)}"
        return f"there is no setting {name!r} here; {hint}"

    def _parse_words(self, context: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments. If a later argument is missing after several sources, the error names that one, not the
        first."""
        words = list(args)
        try:
            return super().parse_args(context, args)
        except click.MissingParameter as error:
            arguments = [parameter for parameter in self.params if isinstance(parameter, click.Argument)]
            if not arguments or error.param is not arguments[0] or arguments[0].nargs != -1:
                raise
            values, _, _ = self.make_parser(context).parse_args(words)
            number = sum(isinstance(values.get(str(argument.name)), str) for argument in arguments[1:])
            if not number:
                raise
            missing = arguments[number].make_metavar(context)
            usage = " ".join(self.collect_usage_pieces(context)[1:])
            message = f"{missing} is missing: {context.command_path} {usage}"
            raise click.UsageError(message, context) from None

    def invoke(self, context: click.Context) -> Any:
        """Say what is read, then run the command; word the next step of an error for the shell."""
        try:
            quiet = bool(context.params.get("quiet"))
            context.meta[FOUND] = from_file = found_settings(context)
            if from_file is not None and not quiet:
                say(str(from_file))
            context.meta.get(CHECK, lambda: None)()
            _mind_tracing(context)
            read = [
                name
                for parameter in self.params
                if isinstance(parameter, SourceArgument)
                for name in parameter.names(context)
            ]
            say_reading(*read, quiet=not read or context.params.get("quiet", True))
            return super().invoke(context)
        except RedraftError as error:
            error.fix = parts_of(hints.SHELL.render(error.fix))
            raise

    def format_options(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the most important options, or all if there are few."""
        by_name = {option.long.removeprefix("--"): option for option in self.options}
        options = [by_name[name] for name in self.first] if self.first else self.options
        self._write(options, context, formatter)
        if len(options) < len(by_name):
            path = context.command_path.partition(" ")[2]
            formatter.write_paragraph()
            formatter.write_text(f"`redraft help {path}` lists all {len(by_name)} options.")

    def everything(self, context: click.Context) -> str:
        """Return the help with all options."""
        formatter = context.make_formatter()
        self.format_usage(context, formatter)
        self.format_help_text(context, formatter)
        self._write(self.options, context, formatter)
        self.format_epilog(context, formatter)
        return formatter.getvalue().rstrip("\n")

    def _write(self, options: Iterable[SectionOption], context: click.Context, formatter: click.HelpFormatter) -> None:
        records = [(option.section, record) for option in options if (record := option.get_help_record(context))]
        help_option = self.get_help_option(context)
        if help_option and (record := help_option.get_help_record(context)):
            records.append(("output", record))
        write_sections(records, formatter)


def _mind_tracing(context: click.Context) -> None:
    """Announce that texts go to LangSmith if that was asked for; otherwise remove its tracing variables."""
    if not context.params.get("trace_to_langsmith"):
        for name in _TRACING:
            os.environ.pop(name, None)
    elif not context.params.get("dry_run"):
        from redraft.llm.langsmith import destination

        say(f"sending the document's text and all replies to LangSmith: {destination()}")


def write_sections(records: Sequence[tuple[Section, Record]], formatter: click.HelpFormatter) -> None:
    """Write records under their section titles, with aligned columns; a single section gets no title of its own."""
    widest = min(_WIDEST_NAME, max((len(name) for _, (name, _) in records), default=0))
    sections = [section for section in SECTIONS if any(record_section == section for record_section, _ in records)]
    for section in sections:
        with formatter.section(SECTIONS[section] if len(sections) > 1 else "Options"):
            formatter.write_dl(
                [(name.ljust(widest), text) for record_section, (name, text) in records if record_section == section],
                col_max=widest,
            )


class CommandGroup(hints.NearestGroup):
    """A group of commands; `usual` runs if none is named."""

    command_class = Command
    group_class = type

    def __init__(self, *args: Any, usual: str = "", **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.usual = usual

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments; insert the usual command if the first argument is not a command."""
        names = {*self.commands, *context.help_option_names}
        meant = [self.usual] if self.usual and args and args[0] not in names else []
        return super().parse_args(context, [*meant, *args])


def command(name: str | None = None, **settings: Any) -> Callable[[Callable[..., Any]], Command]:
    """Create a command with grouped help."""
    return click.command(name, cls=Command, **settings)
