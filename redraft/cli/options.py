"""Options that several commands share, each also read from the environment as REDRAFT_<NAME>."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])


def option(*names: str, **settings: Any) -> Callable[[F], F]:
    """A click option with its environment variable, and its default in the help where it has one."""
    long = next(name for name in names if name.startswith("--"))
    variable = "REDRAFT_" + long.split("/")[0].removeprefix("--").replace("-", "_").upper()
    shown = settings.get("default") is not None and not settings.get("is_flag")
    return click.option(*names, envvar=variable, show_default=shown, **settings)


def together(*options: Callable[[F], F]) -> Callable[[F], F]:
    """Several options as one decorator, in the order in which the help shall list them."""

    def decorate(function: F) -> F:
        for one in reversed(options):
            function = one(function)
        return function

    return decorate


db = option("--db", metavar="FILE", help="The database; its default is in your data directory.")
as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
quiet = option("--quiet", "-q", is_flag=True, help="No narration and no progress on stderr.")
output = click.option("--output", "-o", metavar="FILE", help="Write the summary to a file instead of stdout.")
prices = option("--prices", metavar="FILE", help="TOML file with prices of models; goes before the built-in table.")

settings_options = together(
    option(
        "--strategy",
        type=click.Choice(["hierarchical", "incremental", "direct"]),
        default="hierarchical",
        help="How the summary is drafted.",
    ),
    option("--words", type=click.IntRange(min=10), metavar="N", help="Limit of the summary; 600 for a long document."),
    option("--query", metavar="TEXT", help="Summarize what answers this question."),
    option("--model", metavar="NAME", default="extractive", help="extractive (built in), or openai:NAME."),
    option("--base-url", metavar="URL", help="OpenAI-compatible server; default OPENAI_BASE_URL."),
    option("--chunk-tokens", type=click.IntRange(min=16), metavar="N", default=2048, help="Most tokens of a chunk."),
    option(
        "--context-tokens",
        type=click.IntRange(min=64),
        metavar="N",
        default=8192,
        help="Most tokens of a prompt with its reply.",
    ),
    option(
        "--temperature", type=click.FloatRange(0, 2), metavar="T", help="For every prompt, in place of each one's own."
    ),
    option("--prompts", metavar="SET|DIR", default="standard", help="standard, simple (weak models), or a directory."),
    option("--sample", type=click.IntRange(min=0), metavar="N", default=0, help="Another number, another draw."),
)

limit_options = together(
    option("--concurrency", type=click.IntRange(1, 1000), metavar="N", help="Most requests at once.  [default: 16]"),
    option("--requests-per-minute", type=click.IntRange(min=1), metavar="N", help="Most requests a minute."),
    option("--tokens-per-minute", type=click.IntRange(min=1), metavar="N", help="Most tokens a minute."),
    option("--max-cost", type=click.FloatRange(min=0, min_open=True), metavar="USD", help="Stop before it costs more."),
    option("--max-calls", type=click.IntRange(min=1), metavar="N", help="Stop before there are more calls."),
    option(
        "--timeout",
        type=click.FloatRange(min=0, min_open=True),
        metavar="SECONDS",
        help="Most seconds a request may take.  [default: 300]",
    ),
)
