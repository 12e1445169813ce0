"""Commands whose options stand in sections of the help. It shows the most important ones of a large command, whose rare
ones are set by `--set NAME=VALUE`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

import click
from click.types import OptionHelpExtra

from redraft.cli.hints import SHELL, if_installed
from redraft.cli.overview import CommandGroup, WithExamples, help_texts
from redraft.cli.settings_file import found_settings
from redraft.cli.terminal import say, say_reading
from redraft.errors import RedraftError, choose, parts_of
from redraft.fields import FoundRule, Section, option_of
from redraft.settings import RefineConfig

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
LISTED = "{listed}"
FOUND = "redraft.found"
"""The key of the context's `meta` with what a settings file that was merely found has set."""
CHECK = "redraft.check"
"""The key of the context's `meta` with a check that needs all parameters."""
EVERY = "redraft.every"
"""The key of the context's `meta` where the help is to have all options."""
_WIDEST_NAME, _MAX_NAMED = 28, 3
_TRACING = tuple(
    f"{owner}_{name}"
    for owner in ("LANGSMITH", "LANGCHAIN")
    for name in ("TRACING", "TRACING_V2", "HANDLER", "RUNS_ENDPOINTS")
)


class SectionOption(click.Option):
    """An option in a section of the help. A `rare` one is set by `--set`."""

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
        shown. `found` says whether a settings file that is merely found may set it."""
        super().__init__(*args, **settings)
        self.section, self.found, self.rare = section, found, rare
        self.long = next(name for name in self.opts if name.startswith("--"))
        self.key = self.long.removeprefix("--").replace("-", "_")
        """The name that `--set` takes, such as `top_k`."""
        self._listing = listing

    @property
    def typed_name(self) -> str:
        """Return how a user names it: `--words`, or `--set top_k`."""
        return f"--set {self.key}" if self.rare else self.long

    def add_to_parser(self, parser: Any, ctx: click.Context) -> None:
        """Have the command line parsed for it, unless `--set` sets it."""
        if not self.rare:
            super().add_to_parser(parser, ctx)

    def get_error_hint(self, context: click.Context | None) -> str:
        return f"'{self.typed_name}'" if self.rare else super().get_error_hint(context)

    def get_help_record(self, context: click.Context) -> tuple[str, str] | None:
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


class _SetOption(SectionOption):
    """`--set NAME=VALUE`, which gives the rare options of a command their values before they are read."""

    def __init__(self) -> None:
        super().__init__(
            ["--set", "settings_to_set"],
            section="output",
            multiple=True,
            metavar="NAME=VALUE",
            is_eager=True,
            expose_value=False,
            help="Set one of the less usual settings; may be repeated: see docs/options.md.",
        )

    def handle_parse_result(
        self, ctx: click.Context, opts: Mapping[str, Any], args: list[str]
    ) -> tuple[Any, list[str]]:
        """Take the values apart, as if each option had been typed. Raises for a name that the command does not have."""
        assert isinstance(ctx.command, Command)
        assert isinstance(opts, dict)
        options = {option.key: option for option in ctx.command.options}
        for pair in opts.pop(str(self.name), ()):
            name, equals, value = pair.partition("=")
            option = options.get(name.strip().replace("-", "_"))
            if option is None:
                rare = [option.key for option in options.values() if option.rare]
                problem = f"there is no setting {name!r} here; {choose(rare, name.strip().replace('-', '_'))}"
            elif not option.rare:
                problem = f"{name} has an option of its own: {option.long}"
            else:
                problem = "" if equals else f"{name} has no value: write {name}=VALUE"
            if option is None or problem:
                raise click.BadParameter(problem, ctx, param_hint="'--set'")
            opts[str(option.name)] = value.strip()
        return None, args


_RUN = re.compile(r"[0-9a-fA-F]{2,8}|last")
_WITH_STORED = {
    "compare": "; stored runs: redraft compare-runs RUN RUN",
    "evaluate": "; to judge a stored summary: redraft evaluate SOURCE RUN",
    "refine": "; to refine a stored summary: redraft refine SOURCE RUN",
}


def names_a_run(word: str) -> bool:
    """Return whether a word is no file and looks like the id of a run, or its beginning, or is `last`."""
    return _RUN.fullmatch(word) is not None and not os.path.exists(word)


class SourceArgument(click.Argument):
    """What a command reads. The command says so before it begins, unless it is quiet."""

    def handle_parse_result(
        self, ctx: click.Context, opts: Mapping[str, Any], args: list[str]
    ) -> tuple[Any, list[str]]:
        """Read the argument. Where several sources are to come first and there are words only for later arguments, the
        error names the one that is missing."""
        arguments = [parameter for parameter in ctx.command.params if isinstance(parameter, click.Argument)]
        later_words = [word for argument in arguments[1:] if isinstance(word := opts.get(str(argument.name)), str)]
        number = len(later_words)
        is_missing = self.required and self.value_is_missing(opts.get(str(self.name)))
        if number and is_missing and self is arguments[0] and self.nargs == -1:
            usage = " ".join(ctx.command.collect_usage_pieces(ctx)[1:])
            missing = arguments[number].make_metavar(ctx)
            stored = _WITH_STORED.get(str(ctx.command.name), "") if any(map(names_a_run, later_words)) else ""
            step = stored and if_installed(stored)
            raise click.UsageError(f"{missing} is missing: {ctx.command_path} {usage}{step}", ctx)
        return super().handle_parse_result(ctx, opts, args)


class Command(WithExamples):
    """A command with its options in sections. The help shows only the `first` of them: those that are given, or that
    `commands.toml` names for the command; or else all."""

    def __init__(self, *args: Any, first: Sequence[str] = (), **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.first = first
        rare = [parameter for parameter in self.params if isinstance(parameter, SectionOption) and parameter.rare]
        if rare:
            self.params = [*(parameter for parameter in self.params if parameter not in rare), _SetOption(), *rare]

    @property
    def options(self) -> list[SectionOption]:
        """Return the options, with those that `--set` sets at the end."""
        return [parameter for parameter in self.params if isinstance(parameter, SectionOption)]

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments. An error for an unknown option says what to use instead."""
        try:
            return super().parse_args(context, args)
        except click.NoSuchOption as error:
            message = f"No such option {error.option_name!r}. {self._instead(error.option_name, context)}".rstrip()
            raise click.NoSuchOption(error.option_name, message, ctx=context) from None

    def _instead(self, name: str, context: click.Context) -> str:
        """Return what to use instead of an unknown option: `--set`, a command that has it, such as the only one of its
        group, the known option that starts with it, or the nearest one. A rare one of another command is not named."""
        by_key = {option.key: option for option in self.options}
        key = name.removeprefix("--").replace("-", "_")
        if name == "--config":
            return "Write it before the command: redraft --config FILE COMMAND ..."
        if key in by_key and by_key[key].rare:
            return f"Write --set {key}=VALUE."
        declared = (option_of(RefineConfig, field) for field in RefineConfig.model_fields)
        if any(option and name in option.names for option in declared):
            here = " Here --metric chooses what is judged." * ("metric" in by_key)
            return f"`redraft refine` has it, and `redraft summarize --refine`.{here}"
        group = context.parent.command if context.parent else None
        # The commands of redraft itself are loaded only when they are used.
        loaded = group.commands if isinstance(group, CommandGroup) and isinstance(group.commands, dict) else {}
        owners = [word for word, part in loaded.items() if any(name in parameter.opts for parameter in part.params)]
        if len(owners) == 1 and context.parent:
            return f"`{context.parent.command_path} {owners[0]}` has it."
        names = [word for option in self.options if not option.rare for word in (*option.opts, *option.secondary_opts)]
        longer = sorted((word for word in names if word.startswith(name)), key=len)
        exact = [word for word in longer if len(word) == len(name) + 1]
        likely = (exact or longer or get_close_matches(name, names, 1)) if name.startswith("--") else []
        return f"Did you mean {' or '.join(likely)}?" if likely else ""

    def invoke(self, context: click.Context) -> Any:
        """Say what is read, and whether texts go to LangSmith, which takes the option and not its own variables alone;
        then run the command. The next step of an error is worded for the shell."""
        try:
            quiet = bool(context.params.get("quiet"))
            context.meta[FOUND] = from_file = found_settings(context)
            if from_file is not None and not quiet:
                say(str(from_file))
            context.meta.get(CHECK, lambda: None)()
            if not context.params.get("trace_to_langsmith"):
                for name in _TRACING:
                    os.environ.pop(name, None)
            elif not context.params.get("dry_run"):
                from redraft.llm.langsmith import destination

                say(f"sending the document's text and all replies to LangSmith: {destination()}")
            sources = [parameter for parameter in self.params if isinstance(parameter, SourceArgument)]
            names: list[str] = []
            for source in sources:
                values = context.params[str(source.name)]
                some = (*values[:_MAX_NAMED], *["..."] * bool(values[_MAX_NAMED:]))
                names += (values,) if isinstance(values, str) else some
            say_reading(*names, quiet=not names or context.params.get("quiet", True))
            return super().invoke(context)
        except RedraftError as error:
            error.fix = parts_of(SHELL.render(error.fix))
            raise

    def format_options(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the most important options, or all if there are few, under the titles of their sections."""
        by_name, path = {option.long.removeprefix("--"): option for option in self.options}, context.command_path[8:]
        first = self.first or help_texts().get(path, {}).get("first", "").split()
        options = [by_name[name] for name in first] if first and EVERY not in context.meta else self.options
        records = [(option.section, record) for option in options if (record := option.get_help_record(context))]
        help_option = self.get_help_option(context)
        if help_option and (record := help_option.get_help_record(context)):
            records.append(("output", record))
        widest = min(_WIDEST_NAME, max((len(name) for _, (name, _) in records), default=0))
        by_section = {section: [record for owner, record in records if owner == section] for section in SECTIONS}
        sections = [section for section in SECTIONS if by_section[section]]
        for section in sections:
            # A single section has no title of its own.
            with formatter.section(SECTIONS[section] if len(sections) > 1 else "Options"):
                formatter.write_dl([(name.ljust(widest), text) for name, text in by_section[section]], col_max=widest)
        if len(options) < len(by_name):
            formatter.write_paragraph()
            formatter.write_text(f"`redraft help {path}` lists all {len(by_name)} options.")


def command(name: str | None = None, **settings: Any) -> Callable[[Callable[..., Any]], Command]:
    """Create a command with grouped help."""
    return click.command(name, cls=Command, **settings)
