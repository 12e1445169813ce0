"""`redraft mcp`: an MCP server for agents."""

from __future__ import annotations

import os
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

from redraft.cli import options, parse_options
from redraft.cli.sections import command
from redraft.cli.terminal import INTERRUPTED, say
from redraft.errors import UsageError
from redraft.plugins import require


@command()
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
    import asyncio

    from redraft.cli.runner import run_until_stopped
    from redraft.integrations.mcp_server import McpTools, serve
    from redraft.llm.budget import Budget
    from redraft.runs.session import Session

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
                async with session:
                    await serve(McpTools(session, folder, runs))
        except asyncio.CancelledError:
            say("redraft: stopped; finished work is kept")
            # The thread that reads standard input would keep the process alive.
            os._exit(INTERRUPTED)

    asyncio.run(run_until_stopped(served()))
