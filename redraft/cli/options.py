"""Options that several commands share. Those of settings are made from the fields of orders, under whose names commands
get their values. Most can also be set as REDRAFT_<NAME> in the environment.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import reduce
from pathlib import Path
from pkgutil import resolve_name
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

import click
from click.core import ParameterSource
from pydantic import BaseModel, ByteSize, TypeAdapter, ValidationError
from pydantic_core import PydanticUndefined

from redraft import plugins
from redraft.cli.sections import CHECK, LISTED, SectionOption, SourceArgument
from redraft.cli.terminal import say
from redraft.errors import RunCommand, RunError, UsageError
from redraft.fields import Section, first_problem, option_of
from redraft.order import JUDGES_ADDRESS, PARTS, part_of
from redraft.settings import USUAL_METRICS, DraftConfig, JudgeConfig, Limits
from redraft.sources import size_limit
from redraft.store.connection import is_server

if TYPE_CHECKING:
    from redraft.presets import Preset

F = TypeVar("F", bound=Callable[..., Any])


def option(*names: str, section: Section = "output", **settings: Any) -> Callable[[F], F]:
    """Create an option with an environment variable; the help shows its default, if any.

    The values of a repeatable option are separated by spaces in the environment.
    """
    long = next(name for name in names if name.startswith("--"))
    variable = "REDRAFT_" + long.split("/")[0].removeprefix("--").replace("-", "_").upper()
    return typed_option(*names, section=section, envvar=variable, **settings)


def typed_option(*names: str, section: Section = "output", **settings: Any) -> Callable[[F], F]:
    """Create an option that only the command line sets, not the environment or the settings file."""
    has_default = settings.get("default") is not None and not settings.get("is_flag")
    if settings.get("metavar") in ("FILE", "DIR"):
        settings.setdefault("callback", _place)
    return click.option(*names, cls=SectionOption, section=section, show_default=has_default, **settings)


def _place(context: click.Context, parameter: click.Parameter, value: Any) -> Any:  # noqa: ARG001
    """Return the place that was named; None, for stdout, if the file to write is -."""
    if value == "":
        raise click.BadParameter("the name is empty.")
    return None if value == "-" and parameter.name == "output" else value


def grouped(*options: Callable[[F], F]) -> Callable[[F], F]:
    """Combine several options into one decorator; the help lists them in this order."""
    return lambda function: reduce(lambda decorated, option: option(decorated), reversed(options), function)


# redraft's own strategies are listed here because importing their module loads LangGraph, which takes a second.
_STRATEGIES = ("auto", "hierarchical", "incremental", "direct")
_LISTINGS: dict[str, Callable[[], str]] = {
    "strategy": lambda: ", ".join((*_STRATEGIES, *plugins.names("strategies"))),
    "metrics": lambda: ", ".join(resolve_name("redraft.evaluators.catalog:names")()),
}


def of_field(model: type[BaseModel], name: str, **otherwise: Any) -> Callable[[F], F]:
    """Create the option that a settings field declares; `otherwise` overrides its arguments.

    `DraftConfig` belongs to a new run, so its options have the defaults of the fields. Limits and judging settings may
    belong to a resumed run, which keeps its own: the help states their defaults, but the options have none.
    """
    field, declared = model.model_fields[name], option_of(model, name)
    assert declared is not None, f"{name} is not an option"
    has_default = model is DraftConfig and declared.default is None
    default = declared.default or ""
    if not default and field.default not in (None, False, (), PydanticUndefined):
        default = f"{field.default:g}" if isinstance(field.default, float) else str(field.default)
    text = field.description or ""
    settings: dict[str, Any] = {
        "section": declared.section,
        "metavar": declared.metavar,
        "found": declared.found,
        # An experiment that compares values of a setting has an option for it.
        "rare": declared.rare and not otherwise.get("multiple"),
        "help": text if has_default or not default else f"{text}  [default: {default}]",
        "default": field.default if has_default else None,
        "listing": _LISTINGS.get(name),
        **_kind(model, name, declared.names),
        **otherwise,
    }
    parameter = JUDGES_ADDRESS if (model, name) == (JudgeConfig, "base_url") else name
    return (option if declared.environment else typed_option)(*declared.names, parameter, **settings)


def settings(*names: str, **otherwise: Any) -> Callable[[F], F]:
    """Create the options of several settings, by their names in orders; `otherwise` overrides their arguments."""
    fields = [(PARTS[part_of(name)], "base_url" if name == JUDGES_ADDRESS else name) for name in names]
    return grouped(*(of_field(model, field, **otherwise) for model, field in fields))


def field_type(model: type[BaseModel], name: str) -> Callable[[Any], Any]:
    """Return the type of an option whose value is that of a settings field, checked as it is everywhere else."""

    def checked(value: Any) -> Any:
        field = model.model_fields[name]
        annotated: Any = Annotated[field.annotation, field]
        try:
            return TypeAdapter(annotated).validate_python(value)
        except ValidationError as error:
            raise UsageError(first_problem(error)[1], field=name) from None

    checked.__name__ = name
    return checked


def _kind(model: type[BaseModel], name: str, names: tuple[str, ...]) -> dict[str, Any]:
    """Return click's arguments for the type of a field."""
    annotation: Any = model.model_fields[name].annotation
    ends = get_args(annotation) if get_origin(annotation) in (Union, UnionType) else (annotation,)
    kind = next(end for end in ends if end is not type(None))
    if get_origin(kind) in (tuple, dict):
        return {"multiple": True}
    if kind is bool:
        return {} if "/" in names[0] else {"is_flag": True}
    choices = {"metavar": f"[{'|'.join(get_args(kind))}]"} if get_origin(kind) is Literal else {}
    return {"type": field_type(model, name), **choices}


_NEWEST = frozenset({"last", "latest", "newest", "-"})


class NameOrNewest(click.ParamType[str]):
    """The id of a run, or its beginning, or the name of a batch; `last` means the newest: of runs that are no part of
    anything larger. `STOPPED`, which nobody types, means the newest of those among them that can go on."""

    def __init__(self, name: Literal["run", "batch"] = "run") -> None:
        self.name = name

    def convert(self, value: str, parameter: click.Parameter | None, context: click.Context | None) -> str:  # noqa: ARG002
        if (value.lower() not in _NEWEST and value != STOPPED) or context is None:
            return value
        from redraft.batches.queue import Batches
        from redraft.report.history.summaries import latest_runs
        from redraft.store.store import Store

        is_typed = context.get_parameter_source("db") is ParameterSource.COMMANDLINE
        with Store(context.params.get("db"), must_exist=is_typed, to_read=True) as store:
            if self.name == "batch":
                names = [batch.name for batch in Batches(store).all()]
            else:
                runs = latest_runs(store, _SEARCHED if value == STOPPED else 1, include_parts=False)
                names = [run.run for run in runs if value != STOPPED or run.status not in _ENDED]
                if runs and not names:
                    raise RunError("no run has stopped before its end", fix=(RunCommand("runs"), " lists all runs"))
        if not names:
            words = ("batch", "FILES...") if self.name == "batch" else ("summarize", "FILE")
            fix = ("make one: ", RunCommand(words[0], more=words[1:]))
            raise RunError(f"there is no {self.name} yet", fix=fix)
        # A batch may have such a name.
        return value if value in names else names[0]


STOPPED, _ENDED = "the newest that stopped", frozenset({"done", "incomplete", "running"})
_SEARCHED = 100
"""The newest runs among which one that can go on is looked for."""
run_argument = click.argument("run_id", metavar="[RUN]", type=NameOrNewest(), default="last")
"""A run, or else the newest."""
stopped_run_argument = click.argument("run_id", metavar="[RUN]", type=NameOrNewest(), default=STOPPED)
"""A run, or else the newest that can go on."""
batch_argument = click.argument("name", metavar="NAME", type=NameOrNewest("batch"))
newest_batch_argument = click.argument("name", metavar="[NAME]", type=NameOrNewest("batch"), default="last")
"""A batch, or else the newest."""


def size(value: str) -> int:
    """Return the number of bytes that a text such as 50MB means."""
    try:
        if number := TypeAdapter(ByteSize).validate_python(value):
            return number
    except ValidationError:
        pass
    raise click.BadParameter(f"{value!r} is not a size. Write it as 50MB or 2GB.")


def _database(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    """Return the database that was named. Its folder must exist, as that of an output file must."""
    name: str | None = _place(context, parameter, value)
    if name and not is_server(name) and not Path(name).expanduser().absolute().parent.is_dir():
        raise UsageError("its directory does not exist", place=name, hint="make it, or name another file")
    return name


sources = click.argument("sources", metavar="SOURCE...", nargs=-1, required=True, cls=SourceArgument)
"""A document, or several that are read as one. Other arguments follow it."""
# It is eager because `last` is looked up in it.
db = option(
    "--db", is_eager=True, metavar="FILE", callback=_database, help="The database, or its postgresql:// address."
)
as_json = typed_option("--json", "as_json", is_flag=True, help="Print JSON.")
quiet = option("--quiet", "-q", is_flag=True, help="Print no progress and no notes to stderr.")
store_options = grouped(db, as_json, quiet)
show_all = typed_option("--all", "show_all", is_flag=True, help="Show all findings.")


def output_to(text: str, metavar: str = "FILE", **settings: Any) -> Callable[[F], F]:
    """Create `--output`, of which `text` is the help."""
    return typed_option("--output", "-o", metavar=metavar, help=text, **settings)


output_file = output_to("Write to this file instead of stdout.")
summary_output = grouped(
    output_to("Write the summary to a file instead of stdout."),
    typed_option(
        *("--format", "form"),
        type=click.Choice(["text", "markdown", "json", "html", "docx"]),
        help="By default FILE's ending decides, else text; html and docx cite the document.",
    ),
)
dry_run = typed_option(
    "--dry-run",
    section="limits",
    is_flag=True,
    help="Estimate calls, tokens and cost. No model is called and nothing is stored.",
)
prices = option(
    "--prices",
    section="limits",
    metavar="FILE",
    rare=True,
    help="TOML file with prices of models; overrides the built-in table.",
)
max_source = option(
    "--max-source",
    section="limits",
    type=size,
    metavar="SIZE",
    default="200MB",
    rare=True,
    expose_value=False,
    callback=lambda _context, _parameter, limit: size_limit.set(limit),
    help="Largest file or stdin accepted.",
)
limit_options = grouped(
    settings(*Limits.model_fields),
    option(
        "--trace-to-langsmith",
        section="model",
        is_flag=True,
        help="Send all texts and replies to LangSmith, as its environment variables say. Without this option"
        " nothing is sent.",
    ),
    option(
        "--send-spans",
        section="model",
        is_flag=True,
        rare=True,
        help="Send timings, without texts, to the collector in OTEL_EXPORTER_OTLP_ENDPOINT.",
    ),
)
part_options = grouped(
    typed_option(
        "--chapters", section="source", metavar="RANGE", help="Read only these chapters: 3-12, or 1,4-6, or 3-."
    ),
    typed_option("--pages", section="source", metavar="RANGE", help="Read only these pages, by printed number."),
    option(
        "--skip",
        section="source",
        metavar="KINDS",
        multiple=True,
        found="yes",
        help="Leave out front, notes, contents, index, gutenberg, or none.  [default: contents,index,gutenberg]",
    ),
    settings("source_language"),
    typed_option(
        "--partial",
        section="source",
        is_flag=True,
        rare=True,
        help="Read a damaged file even if less than 90% of its text is readable.",
    ),
)
"""The part of the document to read."""

writing_options = settings("query", "language")
length_options = grouped(settings("words"), writing_options)
drafting_options = grouped(
    settings("strategy"), length_options, settings("words_as", "chunk_tokens", "chunking", "until")
)


server_options = settings("base_url", "key_env", "context_tokens")
setup_options = grouped(
    server_options, settings("replies", "reasoning_tokens", "temperature", "top_p", "prompts", "sample")
)
model_options = grouped(settings("model"), setup_options)
reading_options = grouped(setup_options, part_options, limit_options, max_source, prices, dry_run)
asking_options = grouped(settings("model"), reading_options)
"""The options of a command that reads a document and asks models about it."""


_PLACES = {
    "base_url": "Address of the writer's server",
    "key_env": "Environment variable with the key of that server",
    JUDGES_ADDRESS: "Address of the judges' server",
    "model": "Writer from a plugin or on this machine",
    "judges": "Judge from a plugin or on this machine, such as nli:NAME",
    "embeddings": "Embedding model",
    "prompts": "Folder of prompts",
}
own_place_options = grouped(
    *(
        settings(name, default=None, help=f"{what}. The one on record is used only if you name it again.")
        for name, what in _PLACES.items()
    )
)
"""What a stored run may name only if the user names it now, since a stranger may have written the database."""

panel_options = grouped(
    settings("judges", help="Model that judges, instead of --model; several decide by majority."),
    settings(JUDGES_ADDRESS),
)
judge_options = settings("judges", JUDGES_ADDRESS)
questions = settings("questions", "stretch_tokens")
keyfact_options = settings("perspective", "validator", "keyfact_chunks", "keyfact_overlap")
verdict_options = grouped(
    settings("repeat", "claims", "batch", "top_k", "formula", "similarity", "evidence", "second_look"),
    settings("threshold", "embeddings", "pack", "keyfacts"),
)
rubric = typed_option(
    "--rubric",
    section="judging",
    multiple=True,
    metavar="NAME=TEXT",
    help="Also judge how far the summary meets the requirement TEXT; a FILE with [rubrics.NAME] tables instead can"
    " define levels. May be repeated.",
)
judging_options = grouped(judge_options, settings("confirm"), rubric, questions, keyfact_options, verdict_options)
findings = option(
    "--findings",
    section="refining",
    metavar="FILE",
    help="Findings to fix first, whatever the goals, as `evaluate --json` prints them; - reads stdin.",
)
requests = typed_option(
    "--request",
    "requests",
    section="refining",
    multiple=True,
    metavar="TEXT",
    help="What to change, in your own words, such as 'Say how it ends.'; may be repeated. Needs a language model.",
)
goal_options = settings("goals", "rounds", "policy", "decider", "judged_share", "feedback", "free_length")
refining_options = grouped(goal_options, settings("review"))


def refine_flag(text: str) -> Callable[[F], F]:
    """Create `--refine`, of which `text` is the help."""
    return option("--refine", section="summary", found="yes", is_flag=True, help=text)


CHOSEN = "redraft.preset"
"""The key of the context's `meta` with the chosen preset."""
_ANY = {"context_tokens", "temperature", "top_p"}
"""Settings of any model: a command that takes only these from a preset does not follow its paper."""
_PAPER = {"chunk-size": "hamlet"}
"""The papers of experiments that are not named after them."""


def usual_preset(default: str | None) -> Callable[[F], F]:
    """Create `--preset` with a default preset, whose settings become the defaults of the command's other options."""

    def lay_under(context: click.Context, _: click.Parameter, name: str | None) -> None:
        if name is None or context.resilient_parsing:
            return
        from redraft.presets import preset

        context.meta[CHOSEN] = chosen = preset(name)
        is_experiment = context.parent and context.parent.info_name == "experiment"
        values = {**chosen.set_fields, **(chosen.experiment if is_experiment else {})}
        # By name, and by option where that is another name.
        words = [(word, parameter) for parameter in context.command.params for word in parameter.opts]
        parameters = {word[2:].replace("-", "_"): parameter for word, parameter in words if word.startswith("--")}
        parameters |= {str(parameter.name): parameter for parameter in context.command.params}
        used = {key: value for key, value in values.items() if key in parameters}
        defaults = {str(parameters[key].name): _fitting(parameters[key], value) for key, value in used.items()}
        context.meta[CHECK] = lambda: _check(context, chosen, used)
        context.default_map = {**defaults, **(context.default_map or {})}

    return option(
        "--preset",
        section="model",
        metavar="NAME",
        default=default,
        is_eager=True,
        expose_value=False,
        found="yes",
        callback=lay_under,
        listing=lambda: ", ".join(resolve_name("redraft.presets:presets")()),
        help=f"Default to the settings of a paper ({LISTED}): see docs/presets.md.",
    )


def _fitting(parameter: click.Parameter, value: Any) -> Any:
    """Return a value as its option takes it: goals as words, a list if the option is repeatable; of several metrics for
    an option that takes one, the usual or the first."""
    if isinstance(value, dict):
        return [f"{metric}={goal}" for metric, goal in value.items()]
    is_list = isinstance(value, list | tuple)
    if isinstance(parameter, click.Option) and parameter.multiple:
        return value if is_list else [value]
    if parameter.name == "metrics" and is_list:
        return parameter.default if set(value) == set(USUAL_METRICS) else value[0]
    return value


def _check(context: click.Context, chosen: Preset, used: Collection[str]) -> None:
    """Refuse a preset of which the command has `used` nothing. One that the environment or a file names for all
    commands is noted."""
    is_unrefined = context.params.get("refine") is False
    names = chosen.settings.model_fields_set.intersection(used) if is_unrefined else {*used}
    papers = (context.command.name, _PAPER.get(str(context.command.name)))
    if names - _ANY or chosen.name in papers:
        return
    hint = "add --refine" if is_unrefined else "leave out --preset"
    problem = f"the preset {chosen.name} sets nothing that this command uses"
    if context.get_parameter_source("preset") is ParameterSource.COMMANDLINE:
        raise UsageError(problem, hint=hint)
    if not context.params.get("quiet"):
        say(f"note: {problem}")


preset_option = usual_preset(None)
