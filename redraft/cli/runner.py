"""Runs long tasks from a terminal: with progress, a clean stop, and a hint on how to continue."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext
from typing import TYPE_CHECKING, Any, TypeVar

import click

from redraft.cli import hints, parse_options
from redraft.cli.output_files import OutputTarget
from redraft.cli.review import reviewer
from redraft.cli.terminal import DONE, FAILED, SHORT, echo_json, on_termination, say
from redraft.cli.views.outcome import close_form, deliver, finish
from redraft.cli.views.progress import open_progress
from redraft.domain import Document, record_json
from redraft.errors import BudgetError, RedraftError, RunCommand, StoreError, UsageError
from redraft.events import Event, RunStarted
from redraft.llm.budget import PriceTable
from redraft.llm.langsmith import tracing
from redraft.order import Order
from redraft.plugins import require
from redraft.report.history.results import Result
from redraft.report.outputs.formats import WITH_NOTES, WRITERS, Template
from redraft.runs.models import ModelLike
from redraft.runs.session import Session, runner_of
from redraft.settings import EXTRACTIVE, Limits
from redraft.store.store import Store
from redraft.text.words import enumeration

if TYPE_CHECKING:
    from redraft.runs.experiment_runner import ExperimentRunner

T = TypeVar("T")
_HTTP, _KEPT = "http/protobuf", "finished work is kept"


def carry_out(
    source: Document | tuple[str, ...],
    order: Order,
    values: Mapping[str, Any],
    *,
    target: OutputTarget | None = None,
) -> int:
    """Carry out an order on a document, which is read if need be, and print the result, or show its plan; return the
    exit code."""
    document = parse_options.document_at(source, values) if isinstance(source, tuple) else source
    target, judging = target or OutputTarget(None, "text", values["as_json"]), order.judging
    if judging and {*(judging.judges or [order.settings.model])} == {EXTRACTIVE}:
        beyond = [metric for metric in judging.reported_metrics if metric in ("booookscore", *judging.rubrics)]
        if beyond and not values["quiet"]:
            say(f"note: the built-in model does not judge {enumeration(beyond)}: name a language model with --judge")
    limits = parse_options.limits(values)
    if values["dry_run"]:
        from redraft.cli.views.plans import print_plan
        from redraft.runs.dry_run import plan_run
        from redraft.runs.order import SessionOrder

        try:
            # What is answered already is looked up, if there is a store that can be read.
            answers = Store(values["db"], must_exist=True, only_read=True)
        except StoreError:
            answers = None
        with answers or nullcontext():
            plan = plan_run(document, order, SessionOrder(prices=parse_options.prices(values)), answers)
        if target.as_json:
            echo_json(plan.model_dump(mode="json"))
        else:
            print_plan(plan, limits)
        return DONE
    with Store(values["db"]) as store:
        if judging := order.judging:
            ids = {"pack": store.packs.get(judging.pack).id} if judging.pack else {}
            ids |= {"keyfacts": store.keyfacts.get(judging.keyfacts).id} if judging.keyfacts else {}
            order = order.model_copy(update={"judging": judging.model_copy(update=ids)})
        return run_and_finish(
            store, lambda session: runner_of(session).begin_order(document, order), values, limits, target
        )


def fill_form(document: Document, template: Template, order: Order, values: Mapping[str, Any], to: OutputTarget) -> int:
    """Draft every section of the template, then write and print the form; return the exit code."""
    from redraft.cli.views.plans import show_form_plan
    from redraft.runs.dry_run import plan_run
    from redraft.runs.experiment_runner import fill, form_paper, order_of_section
    from redraft.runs.order import SessionOrder

    contents, prices, quiet = (document, template, order), parse_options.prices(values), values["quiet"]
    if values["dry_run"]:
        defaults = SessionOrder(prices=prices)
        plans = [plan_run(document, order_of_section(section, order), defaults) for section in template.drafted]
        return show_form_plan(template, plans, as_json=to.as_json)
    with Store(values["db"]) as store:
        form = run_experiment(
            lambda runner: fill(runner, *contents), store, parse_options.limits(values), prices, quiet=quiet
        )
        advice = "the drafts are stored: repeat the command with another file"
        deliver(
            lambda file_format: WRITERS[file_format](form_paper(store, form, notes=file_format in WITH_NOTES)),
            record_json(form),
            to,
            advice,
        )
    if not quiet:
        close_form(form, to.output)
    return report_end(form.complete, form.stopped, done=any(section.run for section in form.sections), quiet=quiet)


def run_and_finish(
    store: Store,
    task: Callable[[Session], Coroutine[Any, Any, Result]],
    values: Mapping[str, Any],
    limits: Limits,
    target: OutputTarget,
    *,
    decider: ModelLike | None = None,
) -> int:
    """Run a task to the end, or to a stop with a hint on how to continue. Print its result; return the exit code."""
    run, prices, quiet = "", parse_options.prices(values), values["quiet"]

    with open_progress(quiet=quiet) as (show, line):

        def observe(event: Event) -> None:
            nonlocal run
            if isinstance(event, RunStarted):
                run = event.run
            show(event)

        async def result_of_task() -> Result:
            async with until_stopped():
                asking = reviewer(store, line)
                session = Session(
                    store, decider=decider, limits=limits, prices=prices, reviewer=asking, observer=observe
                )
                hints.own_places(values, runner_of(session).places)
                async with session:
                    return await task(session)

        try:
            result = asyncio.run(result_of_task())
        except (KeyboardInterrupt, asyncio.CancelledError):
            if not run:
                raise KeyboardInterrupt from None
            loss = store.connection.loss
            hint = "" if loss else f"Resume: {hints.run_command('resume', run)}"
            raise StoppedError(f"stopped; {loss or _KEPT}", hint=hint) from None
        except RedraftError as error:
            if loss := store.connection.loss:
                error.fix = (loss,)
            elif run and not isinstance(error, UsageError) and RunCommand("resume", run) not in error.fix:
                # The settings of a run cannot change: one begun by mistake has to be begun again.
                first = (*error.fix, "\n  ") if error.fix else ()
                error.fix = (*first, hints.resume_step(store.runs.get(run), error.stored))
            raise
    shown = {name: values[name] for name in ("show_all", "pruned") if name in values}
    return finish(store, result, target, quiet=quiet, **shown)


def run_experiment(
    task: Callable[[ExperimentRunner], Coroutine[Any, Any, T]],
    store: Store,
    limits: Limits,
    prices: PriceTable,
    *,
    quiet: bool,
) -> T:
    """Run a task of many runs to its end; a `StoppedError` says how to continue after an interruption."""
    from redraft.runs.experiment_runner import ExperimentRunner

    with open_progress(quiet=quiet) as (show, _):

        async def result_of_task() -> T:
            async with until_stopped():
                return await task(ExperimentRunner(store, limits, prices, show))

        try:
            return asyncio.run(result_of_task())
        except (KeyboardInterrupt, asyncio.CancelledError):
            raise StoppedError(f"stopped; {_KEPT}", hint=hints.GO_ON) from None


def report_end(complete: bool, stopped: BudgetError | None, *, done: bool, quiet: bool, undecided: bool = False) -> int:
    """Print what is missing and how to continue; return the exit code."""
    if complete:
        return DONE
    if not quiet:
        say(
            f"{stopped.message}\n  repeat the command with a higher limit to continue"
            if stopped
            else "the judge could not decide: see the last table\n  choose another judge with --judge, or leave out the"
            " metric; the same judge would answer the same"
            if undecided
            else f"something failed: see the last table\n  {hints.GO_ON}"
        )
    return SHORT if stopped or done else FAILED


class StoppedError(RedraftError, code="interrupted"):
    """The user stopped a run or an experiment; the hint says how to continue."""


@asynccontextmanager
async def until_stopped() -> AsyncIterator[None]:
    """Within the context, SIGTERM stops the task as cleanly as Ctrl-C, and tracing is off unless the user asked for
    it."""
    current, loop = asyncio.current_task(), asyncio.get_running_loop()
    assert current is not None
    stopping = on_termination(lambda: loop.call_soon_threadsafe(current.cancel))
    values = click.get_current_context().params
    spans: AbstractContextManager[None] = nullcontext()
    if values.get("send_spans"):
        check_spans()
        from redraft.integrations.opentelemetry import sending

        spans = sending(say)
    with stopping, tracing(bool(values.get("trace_to_langsmith"))), spans:
        yield


def check_spans() -> None:
    """Refuse to send spans where they cannot be sent, or where no receiver is set."""
    sdk, exporter = "opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.http"
    require("--set send_spans", "telemetry", "opentelemetry", sdk, exporter)
    names = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
    if not any(os.environ.get(name) for name in names):
        raise UsageError(
            "--set send_spans needs to know where spans go",
            hint="set OTEL_EXPORTER_OTLP_ENDPOINT, such as http://127.0.0.1:4318",
        )
    names = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
    protocol = next(filter(None, map(os.environ.get, names)), _HTTP)
    if protocol != _HTTP:
        raise UsageError(
            f"--set send_spans sends spans by {_HTTP}, and OTEL_EXPORTER_OTLP_PROTOCOL says {protocol}",
            hint="name an address that takes that, usually the one with port 4318, and leave the variable out",
        )
