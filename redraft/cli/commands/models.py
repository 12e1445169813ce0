"""`redraft models`: who writes and who judges, what is known of them, and what answers on this machine."""

from __future__ import annotations

import asyncio
from typing import Any

import click

from redraft.cli import judging, options
from redraft.cli.sections import command
from redraft.cli.terminal import say

_EPILOG = """\b
Examples:
  redraft models
  redraft models -m openai:qwen3 --base-url http://localhost:11434/v1
  redraft models --check strong
  redraft models --check openai:gpt-5-mini --json

The models are those of the options, of the environment and of redraft.toml,
whose tables [models.NAME] have names of their own:

  [models.strong]
  model = "openai:gpt-5"
  key_env = "STRONG_KEY"

Servers are asked for the windows of their models, and --check asks a model two
short questions. Exit code 1: what was checked does not work.
"""
DONE, FAILED = 0, 1


@command(
    short_help="Show the models of all roles, and what answers on this machine.",
    epilog=_EPILOG,
    first=(
        "check",
        "model",
        "base-url",
        "key-env",
        "context-tokens",
        "judge",
        "judge-base-url",
        "prices",
        "db",
        "json",
    ),
)
@options.typed_option(
    "--check", section="model", metavar="NAME", help="Ask this model whether it works, and how it is best asked."
)
@judging.judge_options
@judging.validator
@judging.decider
@options.model_options
@options.timeout
@options.prices
@options.db
@options.as_json
def models(check: str | None, db: str | None, prices: str | None, as_json: bool, **given: Any) -> int:
    """Show who writes, judges, validates and decides: their windows, their prices, and what is known of their replies;
    and which servers of language models answer on this machine.
    """
    from redraft.cli import given as asked
    from redraft.cli.tables import model_tables
    from redraft.cli.views.render import echo_json
    from redraft.cli.views.roster import check_lines, nearby_lines, seat_lines
    from redraft.errors import UsageError
    from redraft.models import nearby
    from redraft.models.prices import price_table
    from redraft.runs.checking import check as checked_model
    from redraft.runs.roster import roster
    from redraft.settings import EXTRACTIVE, Judging
    from redraft.store.store import Store

    tables, table = model_tables(), price_table(prices)
    if check and check != EXTRACTIVE and ":" not in check and check not in tables:
        there = f"there are: {', '.join(tables)}" if tables else "there are none"
        raise UsageError(f"there is no model {check!r}", hint=f"name a table [models.NAME] ({there}), or PROVIDER:NAME")
    settings = asked.settings({**given, "model": check} if check else given)
    panel = Judging() if check else asked.judging_no_draft(given)
    with Store(db) as store:
        if check:
            seat = roster(settings, panel, None, {}, table, store, check)[0]
            if seat.settings.model == EXTRACTIVE:
                say("extractive is built in, and always works")
                return DONE
            done = asyncio.run(checked_model(seat, store, given["timeout"] or 60.0))
            if as_json:
                echo_json(done.to_json())
            else:
                for line in check_lines(done):
                    click.echo(line)
            return DONE if done.works else FAILED
        writes_as = given["model"] if given["model"] in tables else None
        seats = roster(settings, panel, given["decider"], tables, table, store, writes_as)
    found = nearby.nearby(nearby.USUAL)
    if as_json:
        here = [{"kind": one.port.kind, "base_url": one.port.url, "models": one.models} for one in found]
        echo_json({"models": [seat.to_json() for seat in seats], "nearby": here})
        return DONE
    for line in (*seat_lines(seats), "", *nearby_lines(found)):
        click.echo(line)
    return DONE
