"""Runs long tasks from a terminal: with progress, a clean stop and a hint on how to continue."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import click

from redraft.cli import given as asked
from redraft.cli import hints
from redraft.cli.output_files import Target
from redraft.cli.review import reviewer
from redraft.cli.terminal import on_termination, say
from redraft.cli.views.outcome import finish
from redraft.cli.views.plans import show_plan
from redraft.cli.views.progress import Display, open_progress
from redraft.domain import Document
from redraft.errors import RedraftError, UsageError
from redraft.events import Event, RunStarted
from redraft.llm.budget import PriceTable
from redraft.llm.langsmith import tracing
from redraft.runs.model_pool import ModelLike
from redraft.runs.prepare import RunSpec
from redraft.runs.request import with_places
from redraft.runs.session import Session
from redraft.settings import DraftConfig, Limits
from redraft.store.store import Store

T = TypeVar("T")


def carry_out(
    document: Document,
    settings: DraftConfig,
    order: RunSpec,
    given: Mapping[str, Any],
    *,
    target: Target | None = None,
    pruned: bool = False,
) -> int:
    """Carry out an order and print the result, or show its plan; return the exit code."""
    limits, prices, quiet = asked.limits(given), asked.prices(given), given["quiet"]
    as_json = target.as_json if target else given["as_json"]
    if given["dry_run"]:
        return show_plan(document, settings, order, prices, limits, as_json=as_json)
    with Store(given["db"]) as store:
        known = with_places(_with_packs(order, store), settings)
        result = work(
            store,
            lambda session: session.begin_order(document, settings, known),
            limits=limits,
            prices=prices,
            quiet=quiet,
        )
        shown = given.get("show_all", False)
        return finish(store, result, target=target, as_json=as_json, quiet=quiet, show_all=shown, pruned=pruned)


def _with_packs(order: RunSpec, store: Store) -> RunSpec:
    """Return the order with the full ids of its pack and key facts; raises if one does not exist."""
    if (judging := order.judging) is None:
        return order
    known = {"pack": store.packs.get(judging.pack).id} if judging.pack else {}
    known |= {"keyfacts": store.keyfacts.get(judging.keyfacts).id} if judging.keyfacts else {}
    whole = judging.model_copy(update=known)
    return replace(order, purpose=order.purpose.model_copy(update={"judging": whole}))


def work(
    store: Store,
    task: Callable[[Session], Coroutine[Any, Any, T]],
    *,
    limits: Limits,
    prices: PriceTable,
    quiet: bool,
    decider: ModelLike | None = None,
    settings: DraftConfig | None = None,
) -> T:
    """Run a task to the end, or to a stop with a hint on how to continue."""
    run = ""

    with open_progress(quiet=quiet) as progress:

        def observe(event: Event) -> None:
            nonlocal run
            if isinstance(event, RunStarted):
                run = event.run
                _remember_output(store, run)
            progress.observe(event)

        async def worked() -> T:
            person = reviewer(store, Display(observe, progress.paused))
            session = Session(
                store,
                decider=decider,
                settings=settings,
                limits=limits,
                prices=prices,
                reviewer=person,
                observer=observe,
            )
            async with session:
                return await task(session)

        try:
            return asyncio.run(until_stopped(worked()))
        except (KeyboardInterrupt, asyncio.CancelledError):
            if run:
                raise StoppedError(f"Resume: {hints.about('resume', run)}") from None
            raise KeyboardInterrupt from None
        except RedraftError as error:
            # The settings of a run cannot change: one begun by mistake has to be begun again.
            if run and not isinstance(error, UsageError) and f"redraft resume {run}" not in error.hint:
                error.hint = f"{error.hint}\n  Resume: {hints.resuming(run, limits, error.message)}".strip()
            raise


def _remember_output(store: Store, run: str) -> None:
    """Record the file of `-o`, so that `resume` writes there; in a thread, because the write may wait."""
    if output := click.get_current_context().params.get("output"):
        path = str(Path(output).expanduser().absolute())
        asyncio.get_running_loop().run_in_executor(None, store.runs.set_output, run, path)


class StoppedError(RedraftError):
    """The user stopped a run or an experiment; the hint says how to continue."""

    code = "interrupted"

    def __init__(self, hint: str) -> None:
        super().__init__("stopped; finished work is kept", hint=hint)


async def until_stopped(task: Coroutine[Any, Any, T]) -> T:
    """Run a task: SIGTERM stops it as cleanly as Ctrl-C, and tracing is off unless the user asked for it."""
    current, loop = asyncio.current_task(), asyncio.get_running_loop()
    assert current is not None
    stopping = on_termination(lambda: loop.call_soon_threadsafe(current.cancel))
    given = click.get_current_context().params
    try:
        with stopping, tracing(bool(given.get("trace_to_langsmith"))), _spans(bool(given.get("send_spans"))):
            return await task
    finally:
        task.close()  # If tracing or spans are unavailable, it was never awaited.


def _spans(wanted: bool) -> AbstractContextManager[None]:
    """Send spans while the context is active, if wanted."""
    if not wanted:
        return nullcontext()
    from redraft.telemetry.stages import check_spans

    check_spans()
    from redraft.telemetry.spans import sending

    return sending(say)
