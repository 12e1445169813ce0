"""`redraft summarize` and `redraft resume`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import click

from redraft.cli import options
from redraft.errors import UsageError

if TYPE_CHECKING:
    from pydantic import BaseModel

    from redraft.settings import Limits, Settings

M = TypeVar("M", bound="BaseModel")

_SUMMARIZE_EPILOG = """\b
Examples:
  redraft summarize book.txt
  cat book.md | redraft summarize - --words 300 --json
  redraft summarize book.txt --query "Why does the bank fail?"
  redraft summarize book.txt --model openai:gpt-5-mini --max-cost 0.50 -o out.md
"""


@click.command(epilog=_SUMMARIZE_EPILOG)
@click.argument("source")
@options.settings_options
@options.limit_options
@options.prices
@click.option("--dry-run", is_flag=True, help="Show the plan: chunks, calls, tokens, money. Nothing is asked.")
@options.output
@options.db
@options.as_json
@options.quiet
def summarize(
    source: str,
    dry_run: bool,
    output: str | None,
    db: str | None,
    prices: str | None,
    as_json: bool,
    quiet: bool,
    **given: Any,
) -> int:
    """Summarize SOURCE, a .txt or .md file, or - for stdin."""
    from redraft.cli import render
    from redraft.cli.running import check_output, finish, work
    from redraft.drafting import summarize as run
    from redraft.models.opening import price_of
    from redraft.models.prices import price_table
    from redraft.preparing import prepare
    from redraft.store.store import Store

    check_output(output)
    settings, limits = _settings(given), _limits(given)
    table = price_table(prices)
    if dry_run:
        prepared = prepare(source, settings)
        render.plan(prepared, price_of(prepared.settings, table), limits.concurrency, as_json=as_json)
        return 0
    with Store(db) as store:
        result = work(
            lambda observer: run(source, settings, store=store, limits=limits, prices=table, observer=observer),
            quiet=quiet,
        )
    return finish(result, output=output, as_json=as_json, quiet=quiet)


@click.command()
@click.argument("run_id", metavar="RUN")
@options.limit_options
@options.prices
@options.output
@options.db
@options.as_json
@options.quiet
def resume(
    run_id: str,
    output: str | None,
    db: str | None,
    prices: str | None,
    as_json: bool,
    quiet: bool,
    **given: Any,
) -> int:
    """Go on with RUN where it stopped; nothing is paid for twice.

    The run keeps the settings that it began with. Limits given here replace its own.
    """
    from redraft.cli.running import check_output, finish, work
    from redraft.drafting import resume as run
    from redraft.models.prices import price_table
    from redraft.store.store import Store

    check_output(output)
    table = price_table(prices)
    with Store(db) as store:
        limits = _limits(given, store.runs.get(run_id).limits)
        result = work(
            lambda observer: run(run_id, store=store, limits=limits, prices=table, observer=observer), quiet=quiet
        )
    return finish(result, output=output, as_json=as_json, quiet=quiet)


def _settings(given: dict[str, Any]) -> Settings:
    from redraft.settings import Settings

    return _checked(Settings, {name: value for name, value in given.items() if name in Settings.model_fields})


def _limits(given: dict[str, Any], before: Limits | None = None) -> Limits:
    """The limits that were given, over those that a run had before, over the defaults."""
    from redraft.settings import Limits

    named = {name: given[name] for name in Limits.model_fields if given[name] is not None}
    return _checked(Limits, {**(before or Limits()).model_dump(), **named})


def _checked(model: type[M], values: dict[str, Any]) -> M:
    """The model of these values. What it refuses is a user's mistake; bytes that are no text become question marks."""
    from pydantic import ValidationError

    texts = {
        name: value.encode("utf-8", "replace").decode() for name, value in values.items() if isinstance(value, str)
    }
    try:
        return model.model_validate({**values, **texts})
    except ValidationError as error:
        first = error.errors()[0]
        raise UsageError(f"--{str(first['loc'][0]).replace('_', '-')}: {first['msg']}") from error
