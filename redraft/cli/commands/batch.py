"""`redraft batch`: summarize many documents with several workers; without a subcommand it takes documents."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from redraft.cli import options, parse_options
from redraft.cli.hints import own_places, run_command
from redraft.cli.output_files import FILES, TableForm, table_form, write_text
from redraft.cli.overview import CommandGroup
from redraft.cli.parse_options import store_to_read
from redraft.cli.sections import command
from redraft.cli.terminal import json_text, on_termination, say, show_record
from redraft.domain import record_json
from redraft.errors import RedraftError, UsageError
from redraft.settings import Limits
from redraft.text.words import count

if TYPE_CHECKING:
    from redraft.batches.engine import Engine
    from redraft.batches.queue import Status
    from redraft.store.store import Store


_NAMED = 5
"""The skipped files that are named."""


worker_options = options.grouped(
    options.option(
        "--workers",
        section="limits",
        type=click.IntRange(1, 256),
        metavar="N",
        help="Number of workers; limits apply to all of them together.  [default: 2, or one per processor]",
    ),
    options.option(
        "--engine",
        section="limits",
        metavar="NAME",
        default="local",
        help="Where workers run: local, on this machine, or ray, on a Ray cluster.",
    ),
    options.option(
        "--address",
        section="limits",
        metavar="WHERE",
        rare=True,
        help="Address of the Ray cluster: auto, ray://HOST:10001, or local to start one.  [default: auto, else local]",
    ),
)


@command(short_help="Summarize any number of documents.")
@options.sources
@options.drafting_options
@options.refine_flag("Judge the summaries, and refine them until they meet their goals.")
@options.goal_options
@options.settings("metrics")
@options.judging_options
@options.preset_option
@options.model_options
@options.part_options
@options.limit_options
@options.typed_option(
    "--allow-paths", section="source", is_flag=True, help="Allow a .jsonl file to name files outside its folder."
)
@options.max_source
@options.prices
@worker_options
@options.dry_run
@options.output_to("Folder for the summaries, one file per document.", "DIR")
@options.typed_option("--name", metavar="NAME", help="Name of the batch.  [default: made from its settings]")
@options.store_options
def run(sources: tuple[str, ...], **values: Any) -> int:
    """Summarize all SOURCEs with several workers, under one budget.

    Repeat the command to continue: finished documents are kept, failed ones are tried again.
    """
    from redraft.batches.request import BatchRequest, estimate, open_batch
    from redraft.batches.sources import check, paths_allowed, skipped
    from redraft.batches.tables import folder_named
    from redraft.cli.views.plans import show_plan
    from redraft.store.store import Store

    folder = Path(values["output"] or "")
    if folder.suffix.lower() in FILES and not folder.expanduser().is_dir():
        hint = "for a table: redraft batch results -o results.csv"
        raise UsageError("--output names a folder for the summaries", place=values["output"], hint=hint)
    paths_allowed.set(values["allow_paths"])
    if (names := skipped(sources)) and not values["quiet"]:
        more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
        say(f"skipped {count(len(names), 'file')} that redraft cannot read: {', '.join(names[:_NAMED])}{more}")
    if stray := next((name for name in ("pack", "keyfacts") if values[name]), None):
        raise UsageError(f"--set {stray} applies to one document only", hint="leave it out")
    judging, refinement = parse_options.refined(values, "the summaries")
    part = parse_options.document_part(values)
    request, limits = (
        BatchRequest(parse_options.settings(values), judging, refinement, part),
        parse_options.limits(values),
    )
    if values["dry_run"]:
        plan = estimate(sources, request, parse_options.prices(values)).table()
        return show_plan(plan, as_json=values["as_json"])
    check(sources, values["output"])
    with Store(values["db"]) as store:
        opening = _engine(store, values)
        opened = open_batch(store, sources, request, limits, folder=folder_named(values["output"]), name=values["name"])
        return _work(store, opening, opened.name, values)


@command(short_help="Resume a batch; failed documents are tried again.")
@options.newest_batch_argument
@options.own_place_options
@options.limit_options
@options.max_source
@options.prices
@worker_options
@options.store_options
def resume(name: str, **values: Any) -> int:
    """Resume the batch NAME, or the newest, where it stopped. Nothing is paid for twice.

    Failed documents are tried again. The batch keeps its settings and its folder. Limits given here replace its own.
    """
    from redraft.batches.queue import Batches
    from redraft.batches.request import open_again

    with parse_options.store_to_read(values["db"]) as store:
        limits = parse_options.limits(values, Limits.model_validate(Batches(store).get(name).limits))
        opening = _engine(store, values)
        open_again(store, name, own_places(values), limits)
        return _work(store, opening, name, values)


def _engine(store: Store, values: Mapping[str, Any]) -> AbstractContextManager[Engine]:
    """Return the engine that is asked for. Without it, or what else is asked for and not installed, no batch is
    opened."""
    from redraft.batches.engine import engine_named
    from redraft.cli.runner import check_spans

    if values["send_spans"]:
        check_spans()
    return engine_named(values["engine"], values["address"], store.address)


def _work(store: Store, opening: AbstractContextManager[Engine], name: str, values: Mapping[str, Any]) -> int:
    """Work on an open batch to its end, and show what came of it; return the exit code."""
    from redraft.batches.queue import Batches
    from redraft.batches.request import BatchRequest
    from redraft.batches.tables import drive
    from redraft.batches.worker import keep_texts, terms_of
    from redraft.cli.runner import StoppedError
    from redraft.cli.views.batches import batch_progress, finish

    def interrupt() -> None:
        raise KeyboardInterrupt

    quiet = values["quiet"]
    try:
        with on_termination(interrupt), opening as engine:
            workers, traced = values["workers"] or engine.room, values["trace_to_langsmith"]
            prices = str(Path(values["prices"]).expanduser().absolute()) if values["prices"] else None
            terms = terms_of(store, name, workers, prices=prices, traced=traced, spans=values["send_spans"])
            if not quiet:
                documents = count(Batches(store).counts(name).all, "document")
                say(f"batch {name}: {documents}, {count(terms.of, 'worker')}")
            if engine.is_elsewhere:
                # What is a file here cannot be read by workers on other machines.
                reading = BatchRequest.from_json(Batches(store).get(name).asked).reading
                if (files := keep_texts(store, name, reading)) and not quiet:
                    say(f"stored {count(files, 'file')} in the database for workers on other machines")
            with batch_progress(quiet=quiet) as (note, watch):
                snapshot = drive(store, engine, terms, note, watch)
    except KeyboardInterrupt:
        hint = f"Resume: {run_command('batch resume', name)}"
        raise StoppedError("stopped; finished work is kept", hint=hint) from None
    return finish(store, snapshot, as_json=values["as_json"], quiet=quiet)


@command(short_help="Show the status of batches.")
@click.argument("name", required=False, type=options.NameOrNewest("batch"))
@options.db
@options.as_json
def status(name: str | None, db: str | None, as_json: bool) -> None:
    """Show the status and the results so far of the batch NAME; without NAME, list all batches, newest first."""
    from redraft.batches.queue import Batches
    from redraft.batches.tables import read_snapshot
    from redraft.cli.views.batches import batches_markdown, show_batch

    with store_to_read(db) as store:
        if name is not None:
            show_batch(store, read_snapshot(store, name), as_json=as_json)
            return
        snapshots = [read_snapshot(store, batch_.name) for batch_ in Batches(store).all()]
    content, none = {"batches": [*map(record_json, snapshots)]}, "No batches yet. Make one: redraft batch FILES..."
    show_record(content, batches_markdown(snapshots, datetime.now(UTC)), as_json=as_json, empty=none)


@command(short_help="Print the result for each document.")
@options.newest_batch_argument
@options.typed_option(
    "--format",
    "form",
    type=click.Choice(["jsonl", "csv"]),
    help="jsonl: one object per line; csv: for spreadsheets; by default FILE's ending decides, else jsonl.",
)
@options.output_file
@options.db
@options.quiet
def results(name: str, form: TableForm | None, output: str | None, db: str | None, quiet: bool) -> None:
    """Print a line for each document of the batch NAME, or of the newest: summary, scores and run, or the error."""
    from redraft.batches.sources import items_of
    from redraft.report.tables import items_csv

    table_format = table_form(form, output)
    with store_to_read(db) as store:
        rows = (asdict(item) for item in items_of(store, name))
        if table_format == "csv":
            write_text(items_csv(list(rows)), output)
        elif output:
            write_text("".join(f"{json_text(row, indent=None)}\n" for row in rows), output)
        else:
            for row in rows:
                click.echo(json_text(row, indent=None))
    if output and not quiet:
        say(f"written to {output}")


@command(short_help="Pause a batch.")
@options.batch_argument
@options.db
@options.quiet
def pause(name: str, db: str | None, quiet: bool) -> None:
    """Pause the batch NAME: start no more documents, and finish those in progress."""
    leased = _set_status(name, db, "paused", "pause")
    if not quiet:
        at_work = f"; {leased} in progress will be finished" if leased else ""
        say(f"batch {name} is paused{at_work}")
        say(f"Resume: {run_command('batch resume', name)}")


@command(short_help="Stop a batch and its workers.")
@options.batch_argument
@options.db
@options.quiet
def cancel(name: str, db: str | None, quiet: bool) -> None:
    """Stop the batch NAME and its workers; finished summaries are kept.

    Requests in flight may be charged, and are repeated if the batch is resumed.
    """
    _set_status(name, db, "cancelled", "cancel")
    if not quiet:
        say(f"batch {name} is cancelled; finished summaries are kept")
        say(f"Resume it anyway: {run_command('batch resume', name)}")


def _set_status(name: str, db: str | None, status: Status, verb: str) -> int:
    """Set the status of a batch, unless it is finished; return how many of its items workers have."""
    from redraft.batches.queue import Batches

    with store_to_read(db) as store:
        batches = Batches(store)
        batches.get(name)
        counts = batches.counts(name)
        if not counts.left:
            problem = f"batch {name} is finished: there is nothing to {verb}"
            raise RedraftError(problem, hint=f"redraft batch results {name}")
        batches.set_status(name, status)
        return counts.leased


@click.group(cls=CommandGroup, usual="run")
def batch() -> None:
    """Summarize any number of documents, by several workers, under one budget.

    `redraft batch FILES...` is short for `redraft batch run FILES...`. Repeat the command to
    continue a batch that stopped, for whatever reason.
    """


for subcommand in (run, status, results, pause, cancel, resume):
    batch.add_command(subcommand)
