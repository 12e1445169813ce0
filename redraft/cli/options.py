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


def _metrics() -> str:
    from redraft.evaluators.catalog import names

    return ", ".join(names())


def _strategies() -> str:
    from redraft import plugins

    # redraft's own stand in a module that takes LangGraph a second to import.
    return ", ".join(("hierarchical", "incremental", "direct", *plugins.names("strategies")))


db = option("--db", section="output", metavar="FILE", help="The database; its default is in your data directory.")
as_json = typed_option("--json", "as_json", section="output", is_flag=True, help="Print JSON.")
quiet = option("--quiet", "-q", section="output", is_flag=True, help="No narration and no progress on stderr.")
output = typed_option(
    "--output", "-o", section="output", metavar="FILE", help="Write the summary to a file instead of stdout."
)
show_all = typed_option(
    "--all", "show_all", section="output", is_flag=True, help="Show every finding, however many there are."
)
dry_run = typed_option(
    "--dry-run",
    section="limits",
    is_flag=True,
    help="Show the plan: calls, tokens, money, at most. Nothing is asked and nothing stored.",
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
length_options = grouped(
    words,
    option("--query", section="summary", metavar="TEXT", help="Summarize what answers this question."),
)
query = option(
    "--query",
    section="summary",
    metavar="TEXT",
    help="The question that the summary answers: the query of a tree of `redraft keyfacts`, by whose facts it is"
    " judged.",
)

strategy = option(
    "--strategy",
    section="summary",
    metavar="NAME",
    default="hierarchical",
    listing=_strategies,
    help=f"How the summary is drafted: {LISTED}.",
)
chunk_tokens = option(
    "--chunk-tokens",
    section="summary",
    type=click.IntRange(min=16),
    metavar="N",
    default=2048,
    help="Most tokens of a chunk.",
)
drafting_options = grouped(strategy, length_options, chunk_tokens)

temperature = option(
    "--temperature",
    section="model",
    type=click.FloatRange(0, 2),
    metavar="T",
    help="For every prompt, in place of each one's own.",
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
        default=8192,
        help="Most tokens of a prompt with its reply.",
    ),
    replies,
    draw_options,
)
model_options = grouped(
    option(
        "--model",
        "-m",
        section="model",
        metavar="NAME",
        default="extractive",
        help="extractive (built in), openai:NAME, or PROVIDER:NAME.",
    ),
    setup_options,
)

judge_base_url = option(
    "--judge-base-url",
    section="judging",
    metavar="URL",
    help="Where the judges are served, if elsewhere.",
)

_PANEL = "Model that judges, in place of --model; several decide by majority."
panel_options = grouped(
    option("--judge", section="judging", multiple=True, metavar="NAME", help=_PANEL), judge_base_url
)
judge_options = grouped(
    option(
        "--judge",
        section="judging",
        multiple=True,
        metavar="NAME",
        help=f"{_PANEL} The first asks the questions and finds the key facts.",
    ),
    judge_base_url,
)

required_judges = option(
    "--judge",
    section="judging",
    multiple=True,
    required=True,
    metavar="NAME",
    help="Model that judges: extractive, openai:NAME, or PROVIDER:NAME.",
)

questions = option(
    "--questions",
    section="judging",
    type=click.IntRange(1, 1000),
    metavar="N",
    help="Most questions about the document: their number grows with the root of its length, up to N.  [default: 40]",
)

keyfact_options = grouped(
    option(
        "--perspective",
        section="judging",
        type=click.Choice(["both", "analytical", "narrative"]),
        help="Key facts of what the document means and argues (analytical), of what happens in it (narrative), or both."
        "  [default: both]",
    ),
    option(
        "--validator",
        section="judging",
        metavar="NAME",
        help="Model that validates key facts, in place of the first judge, who finds them.",
    ),
)

repeat = option(
    "--repeat",
    section="judging",
    type=click.IntRange(1, 50),
    metavar="K",
    help="Let each judge judge K times.  [default: 1]",
)

verdict_options = grouped(
    repeat,
    option(
        "--claims",
        section="judging",
        type=click.IntRange(1, 10_000),
        metavar="N",
        help="Most questions about one summary.  [default: 120]",
    ),
    option(
        "--batch",
        section="judging",
        type=click.IntRange(1, 100),
        metavar="N",
        help="Sentences of the summary judged at once for booookscore; 1 is the paper's way.  [default: 10]",
    ),
    option(
        "--top-k",
        section="judging",
        type=click.IntRange(min=1),
        metavar="K",
        help="Judge by the K most important questions only.",
    ),
    option(
        "--similarity",
        section="judging",
        type=click.Choice(["exact", "rouge1", "cosine"]),
        help="How answers are compared; cosine needs --embeddings.  [default: rouge1]",
    ),
    option(
        "--threshold",
        section="judging",
        type=click.FloatRange(0, 1, max_open=True),
        metavar="X",
        help="Answers no more alike than this differ.  [default: 0.6]",
    ),
    option(
        "--embeddings",
        section="judging",
        metavar="MODEL",
        help="A sentence-transformers model, by name or path, to find passages by too.",
    ),
    option(
        "--pack",
        section="judging",
        metavar="ID",
        help="Judge by these questions, not by the document's own: see `redraft pack list`.",
    ),
    option("--keyfacts", section="judging", metavar="ID", help="Judge by these key facts, not by the document's own."),
)

judging_options = grouped(judge_options, questions, keyfact_options, verdict_options)

metric_option = option(
    "--metric",
    section="judging",
    multiple=True,
    metavar="NAME",
    listing=_metrics,
    help=f"{LISTED}; may be repeated. booookscore is about coherence, and statistics are always there. The key facts"
    " for keyfact_recall cost about ten readings of the document, once.  [default: coverage and consistency]",
)

refining_options = grouped(
    option(
        "--goal",
        "-g",
        section="refining",
        multiple=True,
        metavar="METRIC=VALUE",
        help="Least score that satisfies, such as coverage=0.8; may be repeated.",
    ),
    option(
        "--rounds", section="refining", type=click.IntRange(1, 100), metavar="N", help="Most revisions.  [default: 4]"
    ),
    option(
        "--policy",
        section="refining",
        type=click.Choice(["consistency-first", "paper", "weakest-first", "all", "agent"]),
        help="What is mended first; with agent a model decides.  [default: consistency-first]",
    ),
    option(
        "--decider",
        section="refining",
        metavar="NAME",
        help="Model that decides with --policy agent, in place of --model.",
    ),
    option(
        "--tolerance",
        section="refining",
        type=click.FloatRange(0, 1),
        metavar="X",
        help="How far another goal's metric may fall in a revision that is taken.  [default: 0.02]",
    ),
    option(
        "--review/--no-review",
        section="refining",
        default=None,
        help="Before each revision, show what it is to mend, and let you drop findings, add some, or edit the draft.",
    ),
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
    option(
        "--timeout",
        section="limits",
        type=click.FloatRange(min=0, min_open=True),
        metavar="SECONDS",
        help="Most seconds a request may take.  [default: 300]",
    ),
    option(
        "--trace-to-langsmith",
        section="model",
        is_flag=True,
        help="Send all that is read and written to LangSmith, as its own variables say; they alone send nothing.",
    ),
)
