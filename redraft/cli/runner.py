"""Runs long tasks from a terminal: with progress, a clean stop, a hint on how to continue, and the review of drafts by
questions or in an editor.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from redraft.builtin.facade import NOT_UNDERSTOOD
from redraft.cli import hints, parse_options
from redraft.cli.output_files import OutputTarget
from redraft.cli.terminal import DONE, FAILED, SHORT, echo_json, on_stderr, on_termination, say
from redraft.cli.views.markdown import say_markdown
from redraft.cli.views.outcome import close_form, deliver, finish
from redraft.cli.views.progress import Display, open_progress
from redraft.domain import Document, ReviewQuestion, record_json
from redraft.errors import BudgetError, Fix, RedraftError, RunCommand, StoreError, UsageError
from redraft.events import Event, RunStarted
from redraft.llm.budget import PriceTable
from redraft.llm.langsmith import tracing
from redraft.order import Order
from redraft.plugins import require
from redraft.report.history.results import document_read, read_result
from redraft.report.markdown.evaluation import finding_item, places_in
from redraft.report.markdown.layout import table
from redraft.report.markdown.result import score_items
from redraft.report.outputs.formats import Template
from redraft.runs.driver import Reviewer
from redraft.runs.models import ModelLike
from redraft.runs.own_places import OwnPlaces
from redraft.runs.session import Session, runner_of
from redraft.settings import EXTRACTIVE, DraftConfig, Limits
from redraft.store.store import Store
from redraft.text.sanitizer import clean, one_line
from redraft.text.words import count, count_words

if TYPE_CHECKING:
    from redraft.runs.experiment_runner import ExperimentRunner

_HTTP = "http/protobuf"
_KEYS = (
    ("enter", "revise the draft now"),
    ("d 2 4", "drop findings 2 and 4: this run will not fix them"),
    ("a TEXT", "add a request in your own words"),
    ("e", "edit the draft in your editor ($EDITOR) instead of having it revised"),
    ("p", "print the draft and its findings again"),
    ("s", "stop here and keep the best draft so far"),
    ("?", "show this table"),
)
_PROMPT = "enter: revise now, or d, a, e, p, s, ?: "


def reviewer(store: Store, display: Display) -> Reviewer:
    """Return a reviewer that asks on the terminal while the progress display is paused."""

    async def review(request: ReviewQuestion) -> Mapping[str, Any] | None:
        # Blocking is harmless: nothing else runs meanwhile.
        with display.paused(), _stoppable():
            return _Review(store, request).ask()

    return review


class _Review:
    """A question to the person, repeated until it is answered."""

    def __init__(self, store: Store, request: ReviewQuestion) -> None:
        self._store = store
        self._request = request
        self._draft = store.runs.draft(request["draft"])
        self._writes = store.runs.get(self._draft.run).settings.model != EXTRACTIVE
        evaluations = store.judgments.of(self._draft.id)
        findings = {finding.id: finding for evaluation in evaluations.values() for finding in evaluation.findings}
        self._findings = [findings[entry["id"]] for entry in request["findings"] if entry["id"] in findings]
        self._dropped: set[int] = set()
        self._added: list[str] = []
        self._edited: str | None = None
        self._stop = False

    def ask(self) -> Mapping[str, Any] | None:
        """Show the draft and read commands until one ends the review. Return None at the end of input: the run then
        waits to be resumed."""
        self._show()
        while not self._stop:
            click.echo(_PROMPT, err=True, nl=False)
            line = sys.stdin.buffer.readline()
            if not line:
                say("\nno answer: the run waits for your review")
                return None
            command, _, rest = one_line(line.decode("utf-8", "replace")).partition(" ")
            if not command:
                break
            self._take(command, rest)
        return self._result()

    def _show(self) -> None:
        result = read_result(self._store, self._draft.run)
        document = document_read(self._store, result.run)
        with on_stderr():
            say(f"\nBefore revision {self._request['round']}: the best draft ({count(self._draft.words, 'word')})\n")
            for line in self._draft.text.split("\n"):
                say(line)
            say("")
            for line in score_items(result.scores, {}, result.goals, result.offline_checked):
                say(line)
            for name, text in (("why", self._request["why"]), ("instruction", self._request["instruction"])):
                if text:
                    say(f"{name}: {one_line(text)}")
            for outcome in result.requests:
                say(outcome.said)
            say(f"\nThis revision is to fix {count(len(self._findings), 'finding')}:")
            for number, finding in enumerate(self._findings, 1):
                say_markdown("\n".join(finding_item(finding, places_in(document), f"{number}.")))

    def _take(self, command: str, rest: str) -> None:
        match command.lower():
            case "d":
                say(f"  {self._drop(rest)}")
            case "a" if rest:
                self._added.append(rest)
                say(f"  added: {rest}" if self._writes else f"  added, but {NOT_UNDERSTOOD}; see `redraft models`")
            case "a":
                self._request_asked()
            case "e":
                say(f"  {self._edit()}")
            case "s":
                self._stop = True
                if self._added:
                    say(f"  not carried out: {count(len(self._added), 'request')} (the run stops here)")
            case "p":
                self._show()
            case "?":
                say_markdown(table([("key", "what it does"), *_KEYS]))
            case _:
                hint = f"; to request it, type: a {one_line(f'{command} {rest}', 60)}" if " " in rest else ""
                say(f"  {one_line(command, 20)!r} is not a key; ? lists them{hint}")

    def _request_asked(self) -> None:
        click.echo("  what to change: ", err=True, nl=False)
        if text := one_line(sys.stdin.buffer.readline().decode("utf-8", "replace")):
            self._take("a", text.removeprefix("a "))

    def _drop(self, words: str) -> str:
        """Drop findings by number; return the reply to print."""
        numbers = words.replace(",", " ").split()
        all_numbers = {str(number) for number in range(1, len(self._findings) + 1)}
        if not numbers or not all_numbers.issuperset(numbers):
            return f"give the numbers of findings, such as: d 1 (there are {len(self._findings)})"
        self._dropped |= {int(number) for number in numbers}
        remaining = len(self._findings) - len(self._dropped)
        return f"{count(remaining, 'finding')} left" if remaining else "none left: redraft looks for the next findings"

    def _edit(self) -> str:
        """Let the person edit the draft; return the reply to print."""
        before = self._draft.text if self._edited is None else self._edited
        try:
            text = click.edit(before + "\n", extension=".md")
        except (click.ClickException, UnicodeDecodeError) as error:
            return one_line(str(error), 200)
        edited = clean(text or "").strip()
        if text is not None and not edited:
            return "the text is empty: nothing was changed"
        if text is None or edited == before:
            return "nothing was changed"
        self._edited = edited
        return f"edited ({count(count_words(edited), 'word')}); enter judges it"

    def _result(self) -> Mapping[str, Any]:
        if self._stop:
            return {"stop": True}
        if self._edited is not None:
            return {"edited": self._edited, "add": self._added}
        return {"drop": [self._findings[number - 1].id for number in sorted(self._dropped)], "add": self._added}


@contextmanager
def _stoppable() -> Iterator[None]:
    """Let Ctrl-C and SIGTERM interrupt the wait for input; the event loop, which handles them, is blocked meanwhile."""
    before = {}
    for number in (signal.SIGINT, signal.SIGTERM):
        before[number] = signal.signal(number, _stop)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _stop(_number: int, _frame: object) -> None:
    say("")
    raise asyncio.CancelledError


T = TypeVar("T")


def carry_out(
    document: Document,
    order: Order,
    values: Mapping[str, Any],
    *,
    target: OutputTarget | None = None,
    pruned: bool = False,
) -> int:
    """Carry out an order and print the result, or show its plan; return the exit code."""
    limits, prices, quiet = parse_options.limits(values), parse_options.prices(values), values["quiet"]
    as_json = target.as_json if target else values["as_json"]
    if values["dry_run"]:
        from redraft.cli.views.plans import print_plan
        from redraft.runs.dry_run import plan_run

        with _known(values["db"]) as store_of_answers:
            plan = plan_run(document, order, prices, store_of_answers)
        if as_json:
            echo_json(plan.model_dump(mode="json"))
        else:
            print_plan(plan, limits)
        return DONE
    with Store(values["db"]) as store:
        order = _with_packs(order, store)
        result = run_task(
            store,
            lambda session: runner_of(session).begin_order(document, order),
            limits=limits,
            prices=prices,
            quiet=quiet,
        )
        show_all = values.get("show_all", False)
        return finish(store, result, target=target, as_json=as_json, quiet=quiet, show_all=show_all, pruned=pruned)


@contextmanager
def _known(db: str | None) -> Iterator[Store | None]:
    """Open the store to look up what is answered already; None without one that can be read."""
    try:
        store = Store(db, must_exist=True, only_read=True)
    except StoreError:
        yield None
        return
    with store:
        yield store


def fill_form(
    document: Document,
    template: Template,
    order: Order,
    values: Mapping[str, Any],
    to: OutputTarget,
) -> int:
    """Draft every section of the template, then write and print the form; return the exit code."""
    from redraft.cli.views.plans import show_form_plan
    from redraft.runs.forms import fill, form_paper, form_plans

    contents, prices, quiet = (document, template, order), parse_options.prices(values), values["quiet"]
    if values["dry_run"]:
        return show_form_plan(template, form_plans(*contents, prices), as_json=to.as_json)
    with Store(values["db"]) as store:
        form = run_experiment(
            lambda runner: fill(runner, *contents), store, parse_options.limits(values), prices, quiet=quiet
        )
        advice = "the drafts are stored: repeat the command with another file"
        deliver(lambda notes: form_paper(store, form, notes=notes), record_json(form), to, advice)
    if not quiet:
        close_form(form, to.output)
    return report_end(form.complete, form.stopped, done=any(section.run for section in form.sections), quiet=quiet)


def _with_packs(order: Order, store: Store) -> Order:
    """Return the order with the full ids of its pack and key facts; raises if one does not exist."""
    if (judging := order.judging) is None:
        return order
    ids = {"pack": store.packs.get(judging.pack).id} if judging.pack else {}
    ids |= {"keyfacts": store.keyfacts.get(judging.keyfacts).id} if judging.keyfacts else {}
    return order.model_copy(update={"judging": judging.model_copy(update=ids)})


def run_task(
    store: Store,
    task: Callable[[Session], Coroutine[Any, Any, T]],
    *,
    limits: Limits,
    prices: PriceTable,
    quiet: bool,
    decider: ModelLike | None = None,
    settings: DraftConfig | None = None,
    places: OwnPlaces | None = None,
) -> T:
    """Run a task to the end, or to a stop with a hint on how to continue. `places` are those that the user names for
    stored runs."""
    run = ""

    with open_progress(quiet=quiet) as progress:

        def observe(event: Event) -> None:
            nonlocal run
            if isinstance(event, RunStarted):
                run = event.run
                _remember_output(store, run)
            progress.observe(event)

        async def worked() -> T:
            person = reviewer(store, progress)
            session = Session(
                store,
                decider=decider,
                settings=settings,
                limits=limits,
                prices=prices,
                reviewer=person,
                observer=observe,
            )
            runner_of(session).places.update(places or OwnPlaces())
            async with session:
                return await task(session)

        try:
            return asyncio.run(run_until_stopped(worked()))
        except (KeyboardInterrupt, asyncio.CancelledError):
            if run and (loss := store.connection.loss):
                raise StoppedError("", f"stopped; {loss}") from None
            if run:
                raise StoppedError(f"Resume: {hints.run_command('resume', run)}") from None
            raise KeyboardInterrupt from None
        except RedraftError as error:
            if loss := store.connection.loss:
                error.fix = (loss,)
                raise
            # The settings of a run cannot change: one begun by mistake has to be begun again.
            if run and not isinstance(error, UsageError) and not any(_resumes(part, run) for part in error.fix):
                first = (*error.fix, "\n  ") if error.fix else ()
                error.fix = (*first, hints.resume_step(store.runs.get(run), limits, error.stored))
            raise


def _resumes(part: str | Fix, run: str) -> bool:
    return isinstance(part, RunCommand) and (part.command, part.run) == ("resume", run)


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

    with open_progress(quiet=quiet) as display:
        try:
            return asyncio.run(run_until_stopped(task(ExperimentRunner(store, limits, prices, display.observe))))
        except (KeyboardInterrupt, asyncio.CancelledError):
            raise StoppedError(hints.GO_ON) from None


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


def _remember_output(store: Store, run: str) -> None:
    """Record the file of `-o`, so that `resume` writes there; in a thread, because the write may wait."""
    if output := click.get_current_context().params.get("output"):
        path = str(Path(output).expanduser().absolute())
        asyncio.get_running_loop().run_in_executor(None, store.runs.set_output, run, path)


class StoppedError(RedraftError):
    """The user stopped a run or an experiment; the hint says how to continue."""

    code = "interrupted"

    def __init__(self, hint: str, message: str = "stopped; finished work is kept") -> None:
        super().__init__(message, hint=hint)


async def run_until_stopped(task: Coroutine[Any, Any, T]) -> T:
    """Run a task: SIGTERM stops it as cleanly as Ctrl-C, and tracing is off unless the user asked for it."""
    current, loop = asyncio.current_task(), asyncio.get_running_loop()
    assert current is not None
    stopping = on_termination(lambda: loop.call_soon_threadsafe(current.cancel))
    values = click.get_current_context().params
    try:
        with stopping, tracing(bool(values.get("trace_to_langsmith"))), _spans(bool(values.get("send_spans"))):
            return await task
    finally:
        task.close()  # If tracing or spans are unavailable, it was never awaited.


def _spans(enabled: bool) -> AbstractContextManager[None]:
    """Send spans while the context is active, if wanted."""
    if not enabled:
        return nullcontext()
    check_spans()
    from redraft.integrations.opentelemetry import sending

    return sending(say)


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
