"""`redraft studio`: pages and an HTTP API on the database."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from redraft.cli import given as asked
from redraft.cli import options
from redraft.cli.sections import command
from redraft.cli.settings_file import model_tables
from redraft.cli.terminal import say
from redraft.errors import UsageError
from redraft.plugins import require

if TYPE_CHECKING:
    from redraft.studio.context import StudioConfig

_EPILOG = """\b
Examples:
  redraft studio
  redraft studio --port 9000 --max-cost 2
  redraft studio --experiments results
  redraft studio --read-only --host 0.0.0.0

It prints the address to open, with a token: everything needs it, since other
users of this machine can open the address, too. Where other machines can reach
it (--host), it should stand behind a server that brings TLS. Ctrl-C ends it;
runs under way are stopped, and go on with `redraft resume` or in here.
"""


@command(epilog=_EPILOG)
@options.typed_option(
    "--host", section="output", metavar="HOST", default="127.0.0.1", help="Where it listens: this machine alone."
)
@options.typed_option(
    "--port",
    section="output",
    type=click.IntRange(0, 65535),
    metavar="N",
    help="The port.  [default: 8765, or the next one that is free]",
)
@options.option("--token", section="output", metavar="TEXT", help="The token, in place of one that is made.")
@options.typed_option(
    "--no-token",
    section="output",
    is_flag=True,
    help="Let every user of this machine look without the token; what writes needs it all the same.",
)
@options.typed_option("--read-only", section="output", is_flag=True, help="Only look: nothing in it can write.")
@options.typed_option(
    "--experiments", section="output", metavar="DIR", help="A folder with tables of experiments, to be shown too."
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
    """Serve pages on the database: look at runs, compare, begin and review them. What is limited is each run."""
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
        models=model_tables(),
        prices=asked.prices(given),
        limits=asked.limits(given),
        experiments=folder,
    )
    with tracing(bool(given["trace_to_langsmith"])):
        serve(host, port, config, lambda address, known: _tell(address, known, quiet=quiet))
    if not quiet:
        say("stopped; what was done is kept")
    return 0


def _tell(address: str, config: StudioConfig, *, quiet: bool) -> None:
    """Where it can be opened. Whoever reads the terminal may come in."""
    say(f"redraft studio: {address}")
    if quiet:
        return
    if config.exposed:
        say("  other machines can reach it: the token is sent as it is where there is no TLS")
    if not config.guarded:
        say("  every user of this machine can see all of its documents: --no-token")
    if config.read_only:
        say("  only to read")
    say("  Ctrl-C ends it")
