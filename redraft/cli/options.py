"""Options that several commands share, each also read from the environment as REDRAFT_<NAME>."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from redraft.cli.sections import LISTED, Option, Section
from redraft.cli.sizes import Size, allow

F = TypeVar("F", bound=Callable[..., Any])


def option(*names: str, section: Section, **settings: Any) -> Callable[[F], F]:
    """An option with its environment variable, and its default in the help where it has one.

    What may be given several times is separated by blanks in the environment.
    """
    long = next(name for name in names if name.startswith("--"))
    variable = "REDRAFT_" + long.split("/")[0].removeprefix("--").replace("-", "_").upper()
    return typed_option(*names, section=section, envvar=variable, **settings)


def typed_option(*names: str, section: Section, **settings: Any) -> Callable[[F], F]:
    """An option that is for one command at a time: neither the environment nor the settings file sets it."""
    shown = settings.get("default") is not None and not settings.get("is_flag")
    return click.option(*names, cls=Option, section=section, show_default=shown, **settings)


def grouped(*options: Callable[[F], F]) -> Callable[[F], F]:
    """Several options as one decorator, in the order in which the help shall list them."""

    def decorate(function: F) -> F:
        for one in reversed(options):
            function = one(function)
        return function

    return decorate


def _strategies() -> str:
    from redraft import plugins

    # redraft's own stand in a module that takes LangGraph a second to import.
    return ", ".join(("auto", "hierarchical", "incremental", "direct", *plugins.names("strategies")))


sources = click.argument("sources", metavar="SOURCE...", nargs=-1, required=True)
"""A document, or several that are read as one. What a command takes besides stands behind them."""

db = option("--db", section="output", metavar="FILE", help="The database, or its postgresql:// address.")
as_json = typed_option("--json", "as_json", section="output", is_flag=True, help="Print JSON.")
quiet = option("--quiet", "-q", section="output", is_flag=True, help="No narration and no progress on stderr.")
output = typed_option(
    "--output", "-o", section="output", metavar="FILE", help="Write the summary to a file instead of stdout."
)
summary_output = grouped(
    output,
    typed_option(
        "--format",
        "form",
        section="output",
        type=click.Choice(["text", "markdown", "bullets", "json", "html", "docx"]),
        help="Without it, as FILE is called, or else text; html and docx have notes on where each sentence comes from.",
    ),
)
show_all = typed_option(
    "--all", "show_all", section="output", is_flag=True, help="Show every finding, however many there are."
)
dry_run = typed_option(
    "--dry-run",
    section="limits",
    is_flag=True,
    help="Show the plan: calls, tokens, money, at most, or about. Nothing is asked and nothing stored.",
)
prices = option(
    "--prices",
    section="limits",
    metavar="FILE",
    help="TOML file with prices of models; goes before the built-in table.",
)

words = option(
    "--words",
    "-w",
    section="summary",
    type=click.IntRange(min=10),
    metavar="N",
    help="Limit of the summary; without it, one that fits.",
)
query = option(
    "--query",
    section="summary",
    metavar="TEXT",
    help="The question that the summary answers. Where a tree of `redraft keyfacts` has it, its facts are what counts.",
)
writing_options = grouped(
    query,
    option(
        "--language",
        section="summary",
        metavar="NAME",
        help="Language to write in, by its English name, such as German; without it, the document's own"
        " (see --source-language for that).",
    ),
)
length_options = grouped(words, writing_options)

strategy = option(
    "--strategy",
    section="summary",
    metavar="NAME",
    default="auto",
    listing=_strategies,
    help=f"How the summary is drafted: {LISTED}. auto drafts directly what fits the model's window and is no long"
    " story, and else merges summaries of the parts.",
)
chunk_tokens = option(
    "--chunk-tokens",
    section="summary",
    type=click.IntRange(min=16),
    metavar="N",
    default=2048,
    help="Most tokens of a chunk.",
)
chunking = option(
    "--chunking",
    section="summary",
    type=click.Choice(["natural", "fixed"]),
    default="natural",
    help="natural: chunks end at chapters, scenes or paragraphs, and what surrounds the text (thanks, notes on the"
    " author, references) is left out of the draft; fixed: all of it, in chunks as large as they may be.",
)
until = option(
    "--until",
    section="summary",
    type=click.IntRange(min=64),
    metavar="N",
    help="Read the first N tokens of the document and no more, up to the end of a sentence.  [default: all]",
)
by_chapter = typed_option(
    "--by-chapter",
    section="summary",
    is_flag=True,
    help="One summary of each chapter, side by side, and one of all made from them. --words is that of all; a"
    " chapter's has half as many at most, and a third of the chapter.",
)
merge = option(
    "--merge",
    section="summary",
    type=click.Choice(["summaries", "source"]),
    default="summaries",
    help="What a merge of summaries has in view: these alone, or beside each the paragraphs of the document that it"
    " rests on, in a third of the room.",
)
drafts = option(
    "--drafts",
    section="summary",
    type=click.IntRange(1, 8),
    metavar="K",
    default=1,
    help="Make K drafts and go on with the best: by its scores where it is judged, else, and where these are equal, by"
    " comparing two at a time. With --strategy auto one is drafted in another way, where the document fits the window.",
)
drafting_options = grouped(strategy, length_options, chunk_tokens, chunking, until, merge, drafts)

temperature = option(
    "--temperature",
    section="model",
    type=click.FloatRange(0, 2),
    metavar="T",
    help="For every prompt that the writer is asked, in place of each one's own.",
)
prompt_set = option(
    "--prompts",
    section="model",
    metavar="SET|DIR",
    default="standard",
    help="standard, simple (weak models), or a directory.",
)
draw_options = grouped(
    temperature,
    option(
        "--top-p",
        section="model",
        type=click.FloatRange(0, 1, min_open=True),
        metavar="P",
        help="The writer draws each word from the likeliest ones that together have this probability.  [default: the"
        " model's own]",
    ),
    prompt_set,
    option(
        "--sample",
        section="model",
        type=click.IntRange(min=0),
        metavar="N",
        default=0,
        help="Another number, another draw.",
    ),
)
replies = option(
    "--replies",
    section="model",
    type=click.Choice(["schema", "tools", "plain"]),
    help="How structured replies are asked for: by a JSON schema, by function calling, or in words alone.  [default:"
    " the first of these that the server takes]",
)
reasoning_tokens = option(
    "--reasoning-tokens",
    section="model",
    type=click.IntRange(min=0),
    metavar="N",
    help="Most tokens that a model may think for in each call, besides its reply.  [default: as its name and its"
    " replies tell]",
)
setup_options = grouped(
    option(
        "--base-url",
        section="model",
        metavar="URL",
        help="Where the model is served; for openai:NAME the default is OPENAI_BASE_URL.",
    ),
    option(
        "--key-env",
        section="model",
        metavar="VARIABLE",
        help="The environment variable with the key for openai:NAME, in place of OPENAI_API_KEY.",
    ),
    option(
        "--context-tokens",
        section="model",
        type=click.IntRange(min=64),
        metavar="N",
        help="The writer's window: most tokens of a prompt with its reply.  [default: the model's own where that is"
        " known, else 8192]",
    ),
    replies,
    reasoning_tokens,
    draw_options,
)
model_options = grouped(
    option(
        "--model",
        "--writer",
        "-m",
        "model",
        section="model",
        metavar="NAME",
        default="extractive",
        help="Who writes, and judges unless --judge says who: extractive (built in), openai:NAME, PROVIDER:NAME, or the"
        " NAME of a [models.NAME] in redraft.toml.",
    ),
    setup_options,
)

embeddings = option(
    "--embeddings",
    section="judging",
    metavar="MODEL",
    help="A sentence-transformers model, by name or path, to find passages and origins by too.",
)

max_source = option(
    "--max-source",
    section="limits",
    type=Size(),
    metavar="SIZE",
    default="200MB",
    expose_value=False,
    callback=allow,
    help="Most bytes of a file or of stdin; what has more is refused.",
)

part_options = grouped(
    typed_option(
        "--chapters",
        section="source",
        metavar="RANGE",
        help="Read these chapters alone: 3-12, or 1,4-6, or 3-.",
    ),
    typed_option("--pages", section="source", metavar="RANGE", help="Read these pages alone, by printed number."),
    option(
        "--skip",
        section="source",
        metavar="KINDS",
        multiple=True,
        help="Leave out front, notes, contents, index, gutenberg, or none.  [default: contents,index,gutenberg]",
    ),
    typed_option(
        "--source-language",
        section="source",
        metavar="CODE",
        help="The language that SOURCE is in, such as de; without it, what the file says, or the text shows.",
    ),
    typed_option(
        "--partial",
        section="source",
        is_flag=True,
        help="Read a damaged file even where less than 90 % of its text can be read.",
    ),
)
"""Which part of a document is read."""

timeout = option(
    "--timeout",
    section="limits",
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    help="Most seconds a request may take.  [default: 300]",
)
limit_options = grouped(
    option(
        "--concurrency",
        section="limits",
        type=click.IntRange(1, 1000),
        metavar="N",
        help="Most requests at once.  [default: 16]",
    ),
    option(
        "--requests-per-minute",
        section="limits",
        type=click.IntRange(min=1),
        metavar="N",
        help="Most requests a minute.",
    ),
    option(
        "--tokens-per-minute", section="limits", type=click.IntRange(min=1), metavar="N", help="Most tokens a minute."
    ),
    option(
        "--max-cost",
        section="limits",
        type=click.FloatRange(min=0, min_open=True),
        metavar="USD",
        help="Stop before it costs more.",
    ),
    option(
        "--max-calls",
        section="limits",
        type=click.IntRange(min=1),
        metavar="N",
        help="Stop before there are more calls.",
    ),
    timeout,
    option(
        "--provider-batch",
        section="limits",
        is_flag=True,
        default=None,
        help="Hand requests over as jobs of the provider's batch API: cheaper, within a day.",
    ),
    option(
        "--trace-to-langsmith",
        section="model",
        is_flag=True,
        help="Send all that is read and written to LangSmith, as its own variables say; they alone send nothing.",
    ),
    option(
        "--send-spans",
        section="model",
        is_flag=True,
        help="Send how long what took to the collector in OTEL_EXPORTER_OTLP_ENDPOINT; no text is in it.",
    ),
)
