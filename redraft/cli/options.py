"""Options that several commands share, and `--preset`, which makes a paper's settings the defaults of the others.
Most can also be set as REDRAFT_<NAME> in the environment.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

import click
from click.core import ParameterSource
from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic_core import PydanticUndefined

from redraft.cli import parse_options
from redraft.cli.sections import CHECK, LISTED, SectionOption, SourceArgument
from redraft.cli.terminal import say
from redraft.errors import UsageError
from redraft.fields import Section, first_problem, option_of
from redraft.settings import USUAL_METRICS, DraftConfig, JudgeConfig, Limits, RefineConfig
from redraft.sources import set_size_limit
from redraft.store.addresses import is_server

if TYPE_CHECKING:
    from redraft.presets import Preset


F = TypeVar("F", bound=Callable[..., Any])


def option(*names: str, section: Section, **settings: Any) -> Callable[[F], F]:
    """Create an option with an environment variable; the help shows its default, if any.

    The values of a repeatable option are separated by spaces in the environment.
    """
    long = next(name for name in names if name.startswith("--"))
    variable = "REDRAFT_" + long.split("/")[0].removeprefix("--").replace("-", "_").upper()
    return typed_option(*names, section=section, envvar=variable, **settings)


def typed_option(*names: str, section: Section, **settings: Any) -> Callable[[F], F]:
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

    def decorate(function: F) -> F:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


def of_field(model: type[BaseModel], name: str, **otherwise: Any) -> Callable[[F], F]:
    """Create the option that a settings field declares; `otherwise` overrides its arguments.

    `DraftConfig` belongs to a new run, so its options have the defaults of the fields. Limits and judging settings may
    belong to a resumed run, which keeps its own: the help states their defaults, but the options have none.
    """
    field, setting_option = model.model_fields[name], option_of(model, name)
    assert setting_option is not None, f"{name} is not an option"
    has_default = model is DraftConfig and setting_option.default is None
    default = setting_option.default or _in_words(field.default)
    text = field.description or ""
    settings: dict[str, Any] = {
        "section": setting_option.section,
        "metavar": setting_option.metavar,
        "found": setting_option.found,
        # An experiment that compares values of a setting has an option for it.
        "rare": setting_option.rare and not otherwise.get("multiple"),
        "help": text if has_default or not default else f"{text}  [default: {default}]",
        "default": field.default if has_default else None,
        **_kind(model, name, setting_option.names),
        **otherwise,
    }
    # A name without dashes is the name of the function's parameter: `at`, or that of the option.
    names = (*setting_option.names, settings.pop("at", setting_option.parameter))
    return (option if setting_option.environment else typed_option)(*names, **settings)


def _in_words(default: object) -> str:
    """Return a default as text for the help; empty for None, False and empty values."""
    if default in (None, False, (), PydanticUndefined):
        return ""
    return f"{default:g}" if isinstance(default, float) else str(default)


class FieldType(click.ParamType[Any]):
    """The type of an option whose value is that of a settings field, checked as it is everywhere else."""

    def __init__(self, model: type[BaseModel], name: str) -> None:
        self.name = name
        self._model = model

    @cached_property
    def _adapter(self) -> TypeAdapter[Any]:
        field = self._model.model_fields[self.name]
        annotated: Any = Annotated[field.annotation, field]
        return TypeAdapter(annotated)

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> Any:  # noqa: ARG002
        try:
            return self._adapter.validate_python(value)
        except ValidationError as error:
            raise UsageError(first_problem(error)[1], field=self.name) from None


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
    return {"type": FieldType(model, name), **choices}


_SIZE = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,9})?) ?(|B|kB|MB|GB)", re.IGNORECASE)
_UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9}


def size(value: str) -> int:
    """Return the number of bytes that a text such as 50MB means."""
    match = _SIZE.fullmatch(value)
    bytes_at_most = int(float(match[1]) * _UNITS[match[2].upper()]) if match else 0
    if not bytes_at_most:
        raise click.BadParameter(f"{value!r} is not a size. Write it as 50MB or 2GB.")
    return bytes_at_most


def set_source_limit(context: click.Context, parameter: click.Parameter, limit: int) -> None:  # noqa: ARG001
    """Set the largest size that sources may have."""
    set_size_limit(limit)


def _strategies() -> str:
    from redraft import plugins

    # redraft's own strategies are listed here because importing their module loads LangGraph, which takes a second.
    return ", ".join(("auto", "hierarchical", "incremental", "direct", *plugins.names("strategies")))


sources = click.argument("sources", metavar="SOURCE...", nargs=-1, required=True, cls=SourceArgument)
"""A document, or several that are read as one. Other arguments follow it."""


def _database(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    """Return the database that was named. Its folder must exist, as that of an output file must."""
    name: str | None = _place(context, parameter, value)
    if name and not is_server(name) and not Path(name).expanduser().absolute().parent.is_dir():
        raise UsageError("its directory does not exist", place=name, hint="make it, or name another file")
    return name


db = option(
    "--db",
    section="output",
    metavar="FILE",
    callback=_database,
    help="The database, or its postgresql:// address.",
)
as_json = typed_option("--json", "as_json", section="output", is_flag=True, help="Print JSON.")
quiet = option("--quiet", "-q", section="output", is_flag=True, help="Print no progress and no notes to stderr.")
output = typed_option(
    "--output", "-o", section="output", metavar="FILE", help="Write the summary to a file instead of stdout."
)
output_file = typed_option(
    "--output", "-o", section="output", metavar="FILE", help="Write to this file instead of stdout."
)
summary_output = grouped(
    output,
    typed_option(
        "--format",
        "form",
        section="output",
        type=click.Choice(["text", "markdown", "bullets", "json", "html", "docx"]),
        help="By default FILE's ending decides, else text; html and docx cite the document.",
    ),
)
show_all = typed_option("--all", "show_all", section="output", is_flag=True, help="Show all findings.")
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


def fields(model: type[BaseModel], *names: str) -> Callable[[F], F]:
    """Create the options of several fields of one model."""
    return grouped(*(of_field(model, name) for name in names))


words = of_field(DraftConfig, "words")
query = of_field(DraftConfig, "query")
writing_language = of_field(DraftConfig, "language")
writing_options = grouped(query, writing_language)
length_options = grouped(words, writing_options)
strategy = of_field(DraftConfig, "strategy", listing=_strategies)
chunk_tokens = of_field(DraftConfig, "chunk_tokens")
until = of_field(DraftConfig, "until")
by_chapter = of_field(DraftConfig, "by_chapter")
drafting_options = grouped(
    *(strategy, length_options, of_field(DraftConfig, "words_as"), chunk_tokens),
    fields(DraftConfig, "chunking", "until"),
)


def window_option(otherwise: str) -> Callable[[F], F]:
    """Create `--context-tokens` for a command where its default is `otherwise`."""
    text = f"Maximum tokens of a prompt and its reply.  [default: {otherwise}]"
    return of_field(DraftConfig, "context_tokens", default=None, help=text)


temperature = of_field(DraftConfig, "temperature")
prompt_set = of_field(DraftConfig, "prompts")
replies = of_field(DraftConfig, "replies")
_server = fields(DraftConfig, "base_url", "key_env", "context_tokens")
setup_options = grouped(
    _server, fields(DraftConfig, "replies", "reasoning_tokens", "temperature", "top_p", "prompts", "sample")
)
other_model = grouped(
    of_field(
        DraftConfig, "model", help="Model that revises; the judges of RUN still judge, unless there is a --judge."
    ),
    _server,
)
model_options = grouped(of_field(DraftConfig, "model"), setup_options)
embeddings = of_field(JudgeConfig, "embeddings")


def _again(model: type[BaseModel], name: str, what: str) -> Callable[[F], F]:
    text = f"{what}, as the database has it: only one that is named again is used."
    return of_field(model, name, default=None, help=text)


own_place_options = grouped(
    _again(DraftConfig, "base_url", "Address of the writer's server"),
    _again(DraftConfig, "key_env", "Environment variable with the key of that server"),
    _again(JudgeConfig, "base_url", "Address of the judges' server"),
    _again(DraftConfig, "model", "Writer from a plugin or on this machine"),
    _again(JudgeConfig, "judges", "Judge from a plugin or on this machine, such as nli:NAME"),
    _again(JudgeConfig, "embeddings", "Embedding model"),
    _again(DraftConfig, "prompts", "Folder of prompts"),
)
"""What a stored run may name only if the user names it now, since a stranger may have written the database."""

max_source = option(
    "--max-source",
    section="limits",
    type=size,
    metavar="SIZE",
    default="200MB",
    rare=True,
    expose_value=False,
    callback=set_source_limit,
    help="Largest file or stdin accepted.",
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
    of_field(DraftConfig, "source_language"),
    typed_option(
        "--partial",
        section="source",
        is_flag=True,
        rare=True,
        help="Read a damaged file even if less than 90% of its text is readable.",
    ),
)
"""The part of the document to read."""

timeout = of_field(Limits, "timeout")
limit_options = grouped(
    *(of_field(Limits, name) for name in Limits.model_fields),
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

reading_options = grouped(setup_options, part_options, limit_options, max_source, prices, dry_run)
asking_options = grouped(of_field(DraftConfig, "model"), reading_options)
"""The options of a command that reads a document and asks models about it."""
store_options = grouped(db, as_json, quiet)


def _metrics() -> str:
    from redraft.evaluators.catalog import names

    return ", ".join(names())


judge_base_url = of_field(JudgeConfig, "base_url")
panel_options = grouped(
    of_field(JudgeConfig, "judges", help="Model that judges, instead of --model; several decide by majority."),
    judge_base_url,
)
judge_options = grouped(of_field(JudgeConfig, "judges"), judge_base_url)
required_judges = of_field(
    JudgeConfig,
    "judges",
    required=True,
    help="Model that judges: extractive, openai:NAME, PROVIDER:NAME, or the NAME of a [models.NAME] in redraft.toml.",
)
questions = fields(JudgeConfig, "questions", "stretch_tokens")
validator = of_field(JudgeConfig, "validator")
perspective = of_field(JudgeConfig, "perspective")
keyfact_options = fields(JudgeConfig, "perspective", "validator", "keyfact_chunks", "keyfact_overlap")
repeat = of_field(JudgeConfig, "repeat")
verdict_options = grouped(
    fields(JudgeConfig, "repeat", "claims", "batch", "top_k", "formula", "similarity", "evidence", "second_look"),
    fields(JudgeConfig, "threshold", "embeddings", "pack", "keyfacts"),
)
verify_against = of_field(JudgeConfig, "verify_against")
rubric = typed_option(
    "--rubric",
    section="judging",
    multiple=True,
    metavar="NAME=TEXT",
    help="Also judge how far the summary meets the requirement TEXT; a FILE with [rubrics.NAME] tables instead can"
    " define levels. May be repeated.",
)
judging_options = grouped(
    judge_options, of_field(JudgeConfig, "confirm"), rubric, questions, keyfact_options, verdict_options
)
metric_option = of_field(JudgeConfig, "metrics", listing=_metrics)
reference = option(
    "--reference",
    section="judging",
    metavar="FILE",
    help="Another summary of SOURCE, for comparison by --metric position.",
)

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
decider = of_field(RefineConfig, "decider")
rounds = of_field(RefineConfig, "rounds")
free_length = of_field(RefineConfig, "free_length")
goal_options = fields(RefineConfig, "goals", "rounds", "policy", "decider", "judged_share", "feedback", "free_length")
refining_options = grouped(goal_options, of_field(RefineConfig, "review"))


_ANY = {"context_tokens", "temperature", "top_p"}
"""Settings of any model: a command that takes only these from a preset does not follow its paper."""


_PAPER = {"chunk-size": "hamlet"}
"""The papers of experiments that are not named after them."""


def _names() -> str:
    from redraft.presets import presets

    return ", ".join(presets())


def _lay_under(context: click.Context, _: click.Parameter, name: str | None) -> None:
    """Make the preset's settings the defaults of the command's other options."""
    if name is None or context.resilient_parsing:
        return
    from redraft.presets import preset

    parameters, values = _options(context), _values_in(context, preset(name))
    defaults = {
        str(parameters[key].name): _fitting(parameters[key], value)
        for key, value in values.items()
        if key in parameters
    }
    if "metric" not in (context.default_map or {}):
        context.meta[parse_options.METRICS_OF_A_PRESET] = values.get("metric", ())
    context.meta[CHECK] = lambda: _check(context, preset(name))
    context.default_map = {**defaults, **(context.default_map or {})}


def _options(context: click.Context) -> dict[str, click.Parameter]:
    """Return the command's parameters by name, and by option where that is another name."""
    parameters = [*context.command.params, *getattr(context.command, "rare", ())]
    by_name = {str(parameter.name): parameter for parameter in parameters}
    options = [(word, parameter) for parameter in parameters for word in parameter.opts if word.startswith("--")]
    return {**{word[2:].replace("-", "_"): parameter for word, parameter in options}, **by_name}


def _fitting(option: click.Parameter, value: Any) -> Any:
    """Return a value as a list if the option is repeatable; of several metrics for one, the usual or the first."""
    several = isinstance(value, list | tuple)
    if isinstance(option, click.Option) and option.multiple:
        return value if several else [value]
    if not several:
        return value
    return option.default if set(value) == set(USUAL_METRICS) else value[0]


def _check(context: click.Context, chosen: Preset) -> None:
    """Refuse a preset that the command does not use. One that the environment or a file names for all commands is
    noted."""
    parameters, unrefined = _options(context), context.params.get("refine") is False
    names = chosen.settings.model_fields_set if unrefined else _values_in(context, chosen).keys()
    if (names & parameters.keys()) - _ANY or chosen.name in (
        context.command.name,
        _PAPER.get(str(context.command.name)),
    ):
        return
    hint = "add --refine" if unrefined else "leave out --preset"
    problem = f"the preset {chosen.name} sets nothing that this command uses"
    if context.get_parameter_source("preset") is ParameterSource.COMMANDLINE:
        raise UsageError(problem, hint=hint)
    if not context.params.get("quiet"):
        say(f"note: {problem}")


def _values_in(context: click.Context, preset: Preset) -> dict[str, Any]:
    """Return the preset's settings by parameter name; in experiments, with those that only experiments have."""
    of_experiment = preset.experiment if context.parent and context.parent.info_name == "experiment" else {}
    return {**_values(preset), **of_experiment}


def _values(preset: Preset) -> dict[str, Any]:
    """Return the preset's settings by parameter name, in the form that the options take."""
    fields = {**parse_options.JUDGING, **parse_options.REFINEMENT}
    names = {field: name for name, field in fields.items()}
    values = {names.get(field, field): value for field, value in preset.set_fields.items()}
    if goals := values.get("goal"):
        values["goal"] = [f"{metric}={goal}" for metric, goal in goals.items()]
    for name in ("questions", "claims"):
        if isinstance(ends := values.get(name), tuple):
            values[name] = "-".join(str(end) for end in ends)
    return values


def usual_preset(default: str | None) -> Callable[[F], F]:
    """Create `--preset` with a default preset."""
    return option(
        "--preset",
        section="model",
        metavar="NAME",
        default=default,
        is_eager=True,
        expose_value=False,
        found="yes",
        callback=_lay_under,
        listing=_names,
        help=f"Default to the settings of a paper ({LISTED}): see docs/presets.md.",
    )


preset_option = usual_preset(None)
