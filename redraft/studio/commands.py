"""`redraft studio`: pages and an HTTP API; `redraft mcp`: an MCP server; `redraft compare-runs`, which needs none."""

from __future__ import annotations

import asyncio
import os
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from redraft.cli import options, parse_options
from redraft.cli.output_files import Form, form_of, hand_over, page_options
from redraft.cli.sections import command
from redraft.cli.settings_file import named_tables
from redraft.cli.terminal import INTERRUPTED, say
from redraft.errors import UsageError
from redraft.plugins import require
from redraft.settings import ModelSettings

if TYPE_CHECKING:
    from redraft.studio.context import StudioConfig


_STUDIO_EPILOG = """\b
Examples:
  redraft studio
  redraft studio --port 9000 --max-cost 2
  redraft studio --experiments results
  redraft studio --read-only --host 0.0.0.0

It prints the address to open, with a token that keeps out other users of this
machine. If other machines can reach it (--host), put it behind a server with TLS.
Press Ctrl-C to stop it; unfinished runs can be resumed, here or with `redraft
resume`.
"""


@command(epilog=_STUDIO_EPILOG)
@options.typed_option("--host", section="output", metavar="HOST", default="127.0.0.1", help="Address to listen on.")
@options.typed_option(
    "--port",
    section="output",
    type=click.IntRange(0, 65535),
    metavar="N",
    help="Port.  [default: 8765, or the next free one]",
)
@options.option("--token", section="output", metavar="TEXT", help="Token to use instead of a generated one.")
@options.typed_option(
    "--no-token",
    section="output",
    is_flag=True,
    help="Let every user of this machine read without the token; writing still needs it.",
)
@options.typed_option("--read-only", section="output", is_flag=True, help="Allow no changes.")
@options.typed_option(
    "--experiments", section="output", metavar="DIR", help="Folder with tables of experiments to show as well."
)
@options.limit_options
@options.prices
@options.db
@options.quiet
def studio(
    host: str,
    port: int | None,
    token: str | None,
    no_token: bool,
    read_only: bool,
    experiments: str | None,
    db: str | None,
    quiet: bool,
    **given: Any,
) -> int:
    """Start, watch, compare and review runs in the browser. Limits apply to each run."""
    require("the studio", "studio", "starlette", "uvicorn", "python_multipart")
    from redraft.llm.langsmith import tracing
    from redraft.store.sqlite import IN_MEMORY
    from redraft.studio.context import StudioConfig
    from redraft.studio.server import serve

    if db is not None and Path(db) == IN_MEMORY:
        raise UsageError("the studio needs a database that is a file", hint="name one with --db")
    folder = Path(experiments).expanduser() if experiments else None
    if folder is not None and not folder.is_dir():
        raise UsageError(f"--experiments: there is no folder {experiments}", hint="check the path")
    config = StudioConfig(
        database=db,
        token=token or "",
        read_only=read_only,
        guarded=not no_token,
        models=named_tables(ModelSettings),
        prices=parse_options.prices(given),
        limits=parse_options.limits(given),
        experiments=folder,
    )
    with tracing(bool(given["trace_to_langsmith"])):
        serve(host, port, config, lambda address, is_known: _tell(address, is_known, quiet=quiet))
    if not quiet:
        say("stopped; finished work is kept")
    return 0


def _tell(address: str, config: StudioConfig, *, quiet: bool) -> None:
    """Where it can be opened. Whoever reads the terminal may come in."""
    say(f"redraft studio: {address}")
    if quiet:
        return
    if config.exposed:
        say("  other machines can reach it, and without TLS the token can be read on the way")
    if not config.guarded:
        say("  every user of this machine can read all documents (--no-token)")
    if config.read_only:
        say("  read-only")
    say("  press Ctrl-C to stop")


_MCP_EPILOG = """\b
Examples:
  redraft mcp
  redraft mcp --root ~/books -m openai:gpt-5-mini --max-cost 5
  claude mcp add redraft -- redraft mcp --root ~/books

Agents start this command and talk to it over stdin and stdout. They can name
files in --root, apart from hidden ones, and the runs that this server has begun
or that --runs names. Limits apply to all runs of one server together. Models
are chosen here, not by the agent.
"""


@command(
    epilog=_MCP_EPILOG,
    first="root model base-url judge context-tokens prompts max-cost max-calls concurrency db".split(),  # noqa: SIM905
)
@options.typed_option(
    "--root", section="source", metavar="DIR", default=".", help="Folder with the files that agents may name."
)
@options.typed_option(
    *("--runs", "runs"),
    section="source",
    metavar="ID",
    multiple=True,
    help="A run of the database that agents may read and resume as well; repeatable.",
)
@options.model_options
@options.panel_options
@options.settings("validator")
@options.limit_options
@options.max_source
@options.prices
@options.db
def mcp(root: str, db: str | None, runs: tuple[str, ...], **values: Any) -> None:
    """Serve redraft to agents over the Model Context Protocol: they start runs, poll them, and read results, passages
    and citations."""
    require("redraft mcp", "mcp", "mcp")
    folder = Path(root).expanduser().resolve()
    if not folder.is_dir():
        raise UsageError(f"--root: there is no folder {root}", hint="check the path")
    from redraft.cli.runner import until_stopped
    from redraft.llm.budget import Budget
    from redraft.runs.session import Session
    from redraft.studio.mcp import McpTools, serve

    limits = parse_options.limits(values)
    session = Session(
        db,
        settings=parse_options.settings(values),
        judging=parse_options.judging_without_draft(values),
        limits=limits,
        prices=parse_options.prices(values),
        budget=Budget(max_calls=limits.max_calls, max_cost=limits.max_cost),
    )

    async def served() -> None:
        try:
            # The protocol needs the bare stream; what else is printed goes to stderr.
            with redirect_stdout(sys.__stdout__):
                async with until_stopped(), session:
                    await serve(McpTools(session, folder, runs))
        except asyncio.CancelledError:
            say("redraft: stopped; finished work is kept")
            # The thread that reads standard input would keep the process alive.
            os._exit(INTERRUPTED)

    asyncio.run(served())


_COMPARE_EPILOG = """\b
Examples:
  redraft compare-runs 3fa2 9b1c
  redraft compare-runs 3fa2 9b1c -o compare.html
  redraft compare-runs first=3fa2 refined=9b1c --format json

The runs are on one document, and compared item by item. No model is called.
"""


@command("compare-runs", epilog=_COMPARE_EPILOG)
@click.argument("runs", metavar="[NAME=]RUN...", nargs=-1, required=True)
@page_options
@options.settings("embeddings")
@options.db
@options.quiet
def compare_runs(
    runs: tuple[str, ...], output: str | None, form: Form | None, embeddings: str | None, db: str | None, quiet: bool
) -> None:
    """Compare runs on one document: scores with intervals, the questions and facts on which they differ, paired
    differences, cost, and where in the document the summaries come from.
    """
    from redraft.evaluators.metric_info import OFFLINE_CHECK
    from redraft.studio.comparison import read_comparison
    from redraft.studio.comparison_views import compared_runs_markdown, comparison_page, comparison_verdict

    chosen_form = form_of(form, output)
    encoder = parse_options.encoder(embeddings)
    with parse_options.store_to_read(db) as store:
        comparison = read_comparison(store, runs, encoder=encoder)
    if chosen_form == "markdown":
        verdict = "; ".join(clause for _, _, clause in comparison_verdict(comparison))
        offline = any(run.result.offline_checked for run in comparison.runs) and bool(verdict)
        text = compared_runs_markdown(comparison, f"{verdict} ({OFFLINE_CHECK})" if offline else verdict)
    else:
        as_json = chosen_form == "json"
        text = comparison.model_dump_json(indent=2) + "\n" if as_json else comparison_page(comparison)
        for warning in () if quiet else comparison.warnings:
            say(f"warning: {warning}")
    hand_over(text, chosen_form, comparison.holds, output, quiet=quiet)
