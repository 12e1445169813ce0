"""Makes the runs of an experiment or a form on one budget, each only once over all repetitions.

A form is a template that is filled: every section is a summary of its own, answering what belongs there. It is an
ordinary run, which is found again when requested again, resumed where it stopped, and can be shown by itself.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import count
from typing import Annotated, Any

from pydantic import InstanceOf, PlainSerializer

from redraft.agents.judge import gather_all
from redraft.domain import Document, Totals, computed, content_id
from redraft.errors import BudgetError, NoAnswerError, PromptError, StoreError, UsageError, stored_error
from redraft.events import Event, Notice, Observer, PartDone, RunStarted, StageStarted, ignore_event
from redraft.graphs.prepared import PreparedDocument
from redraft.llm.budget import Budget, PriceTable
from redraft.order import Order
from redraft.report.history.citations import citations_of
from redraft.report.history.lineage import DocumentRead
from redraft.report.history.results import Result, read_result
from redraft.report.outputs.formats import (
    BUILT_IN_WRITER,
    Paper,
    PaperPart,
    Template,
    TemplateSection,
    missing_notes,
)
from redraft.runs.driver import Runner
from redraft.runs.models import ModelRole, server_window
from redraft.runs.order import SessionOrder, document_of
from redraft.runs.prepare import identify, prepare_run, prompts_used
from redraft.runs.session import Session, runner_of
from redraft.settings import EXTRACTIVE, Limits
from redraft.store.connection import off_loop, storable
from redraft.store.runs import Run
from redraft.store.store import Store
from redraft.text.sanitizer import one_line

_LONGEST_MESSAGE = 500


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a result is missing: the stage, the error code and the message."""

    stage: str
    code: str
    message: str


def failure(stage: str, error: Exception) -> Failure:
    """Return the failure record of an error."""
    problem = describe_error(error)
    return Failure(stage, problem["code"], problem["message"])


def describe_error(error: Exception) -> dict[str, Any]:
    """Return an error as it is stored with an item or a batch: its code, message and hint."""
    words = stored_error(error)
    return {**words, "message": storable(one_line(words["message"], _LONGEST_MESSAGE))}


@dataclass(slots=True)
class RunWatch:
    """Follows one of many runs: records its id and forwards its notable events."""

    name: str
    observer: Observer
    run: str | None = None
    step: str = ""
    """The kind of work, for a plan."""
    on_start: Callable[[str], object] | None = None
    """Called with the run's id when it starts or is resumed."""

    def __call__(self, event: Event) -> None:
        """Record or forward an event. Stages are dropped: they mean little when many runs are in progress."""
        if isinstance(event, RunStarted):
            self.run = event.run
            if self.on_start is not None:
                self.on_start(event.run)
        elif isinstance(event, Notice):
            self.observer(event if event.everywhere else Notice(f"{self.name}: {event.message}"))
        elif not isinstance(event, StageStarted | PartDone):
            self.observer(event)


class ExperimentRunner(Runner):
    """Makes runs or finds stored ones. Its limits apply to all runs together, over all repetitions."""

    limits: Limits
    budget: Budget

    def __init__(
        self,
        store: Store,
        limits: Limits,
        prices: PriceTable | None = None,
        observer: Observer = ignore_event,
        session: Session | None = None,
    ) -> None:
        """`session` provides model objects and metrics; without one all are given by name."""
        messages = set[str]()

        def observe(event: Event) -> None:
            """Pass on messages common to all runs once, and every other event."""
            if isinstance(event, Notice) and event.everywhere:
                if event.message in messages:
                    return
                messages.add(event.message)
            observer(event)

        runner = Runner(store, SessionOrder(prices=prices)) if session is None else runner_of(session)
        budget = Budget(max_calls=limits.max_calls, max_cost=limits.max_cost)
        super().__init__(**runner.shared(observer=observe, limits=limits, budget=budget))
        self.stopped: BudgetError | None = None
        """Why no more runs are started."""
        self.opening = asyncio.Lock()
        """Held while an experiment opens a run of its own, so that these keep their order."""
        self._windows: dict[tuple[object, ...], int | None] = {}

    def share_budget(self, *experiment: str, paced: bool = False) -> None:
        """Set the budget of an experiment or a batch, which all processes that work on it share."""
        calls, cost, key = self.limits.max_calls, self.limits.max_cost, content_id("\n".join(experiment))
        self.budget = Budget(max_calls=calls, max_cost=cost, budget_key=key, paced=paced)

    async def open_own_run(self, prepared: PreparedDocument, order: Order) -> Run | None:
        """Return the run of an order if it is on record. Its usage counts against the budget."""

        def stored() -> Run | None:
            prompts = prompts_used(prepared.book, prepared.settings, order, self.defaults.evaluators)
            runs = self.store.runs.some(identity=identify(prepared, prompts, order))
            run = next((run for run in runs if run.status == "done"), runs[-1] if runs else None)
            if run is not None:
                self.store.calls.share(self.budget.terms.budget_key, run.id)
            return run

        return await off_loop(stored)

    def window(self, role: ModelRole) -> int | None:
        """Return a model's window as its server reports it; asked once."""
        if role.opened_as not in self._windows:
            self._windows[role.opened_as] = server_window(role)
        return self._windows[role.opened_as]

    async def find_or_run(self, document: Document, order: Order, watch: RunWatch) -> Result:
        """Return the completed run, after finding, resuming or starting it. A finished run that may gain is worked on
        again. Raises its errors."""
        # With every model's window, it identifies a run.
        objects = self.defaults.roles.objects
        prepared, order = await off_loop(
            lambda: prepare_run(document_of(self.store, document), order, self.window, objects)
        )
        for note in prepared.notes:
            self.observer(Notice(note, everywhere=True))
        run = await self.open_own_run(prepared, order)
        if run is not None:
            watch.run = run.id
            if run.status == "done":
                result = await off_loop(read_result, self.store, run.id)
                if not result.may_gain:
                    return result
        if self.stopped is not None:
            raise self.stopped
        try:
            result = await self.do_run(run, prepared, order, watch)
        except BudgetError as error:
            self.stopped = error
            raise
        if result.run.status == "stopped":
            # A partial draft is not a basis for judging a model.
            self.stopped = BudgetError((result.run.error or {}).get("message", "the budget is used up"))
            raise self.stopped
        return result

    async def do_run(self, run: Run | None, prepared: PreparedDocument, order: Order, watch: RunWatch) -> Result:
        """Resume the run, or start one; a plan counts it instead."""
        async with Runner(**self.shared(observer=watch)) as runner:
            runner.places.add(order, runner.defaults.roles.objects)
            return await (runner.begin_order(prepared, order) if run is None else runner.resume(run.id))


FORM = "form"
NOTHING = "The document says nothing about this."
_NOT_MADE = "Not drafted: the budget was used up first."


@dataclass(frozen=True, slots=True)
class FilledSection:
    """A section with its draft, or the reason why there is none; neither if it was not started."""

    section: TemplateSection
    run: str | None = None
    result: Result | None = None
    failure: Failure | None = None
    silent: bool = False
    """Whether the document says nothing about it."""

    @computed
    def status(self) -> str:
        """Return its status as one word."""
        if self.result is not None and self.result.draft is not None:
            return "done" if self.result.run.status == "done" else "unfinished"
        return "nothing" if self.silent else "failed" if self.failure else "not made"

    @property
    def complete(self) -> bool:
        """Return whether it has all that the document says."""
        return self.silent or bool(self.result and self.result.complete)

    @property
    def text(self) -> str:
        """Return the text under the heading."""
        if self.result is not None and self.result.summary is not None:
            return self.result.summary
        if self.failure is not None:
            return f"Not drafted: {self.failure.message}."
        return NOTHING if self.silent else _NOT_MADE


@dataclass(frozen=True, slots=True)
class FilledForm:
    """A template filled from a document."""

    template: Template
    document: DocumentRead
    sections: tuple[FilledSection, ...]
    usage: Totals
    stopped: Annotated[InstanceOf[BudgetError], PlainSerializer(str)] | None = None

    @computed
    def complete(self) -> bool:
        """Return whether all sections are complete."""
        return all(section.complete for section in self.sections)


async def fill(runner: ExperimentRunner, document: Document, template: Template, order: Order) -> FilledForm:
    """Draft all sections concurrently. A section that fails does not affect the others."""
    runner.share_budget(FORM, document.id, *(f"{section.query} {section.words}" for section in template.drafted))
    if order.settings.model == EXTRACTIVE:
        limit = "cannot tell whether the document says anything about a section"
        runner.observer(Notice(f"the built-in model {limit}: it uses the sentences closest to its words"))
    numbers = count(1)
    semaphore = asyncio.Semaphore(runner.limits.concurrency)

    async def fill_section(section: TemplateSection) -> FilledSection:
        async with semaphore:
            watch = RunWatch(section.title, runner.observer)
            try:
                result = await runner.find_or_run(document, order_of_section(section, order), watch)
                filled_section = FilledSection(section, result.run.id, result)
            except NoAnswerError:
                filled_section = FilledSection(section, watch.run, silent=True)
            except BudgetError:
                partial = await off_loop(read_result, runner.store, watch.run) if watch.run else None
                filled_section = FilledSection(section, watch.run, partial if partial and partial.draft else None)
            except (StoreError, UsageError, PromptError):
                raise
            except Exception as error:  # noqa: BLE001 - whatever it is, the other sections go on
                filled_section = FilledSection(section, watch.run, failure=failure("drafting", error))
        runner.observer(PartDone(f"{section.title}: {filled_section.status}", next(numbers), len(template.drafted)))
        return filled_section

    filled = await gather_all(fill_section(section) for section in template.drafted)
    runs = [section.run for section in filled if section.run]
    usage = await off_loop(runner.store.calls.taken_by, runs) if runs else Totals()
    # They worked concurrently.
    longest = max((section.result.usage.seconds for section in filled if section.result), default=0.0)
    return FilledForm(template, document, tuple(filled), replace(usage, seconds=longest), runner.stopped)


def order_of_section(section: TemplateSection, order: Order) -> Order:
    """Return the order to draft a section, from that of the form."""
    settings = order.settings.model_copy(update={"words": section.words, "query": section.query})
    return order.model_copy(update={"settings": settings})


def form_paper(store: Store, form: FilledForm, *, notes: bool) -> Paper:
    """Return the form with its headings; with `notes`, sentences cite the document."""
    by_section = {section.section: section for section in form.sections}
    sections = form.template.sections
    first = sections[0]
    has_title = first.level == 1 and first.words is None
    parts: list[PaperPart] = []
    for section in sections[has_title:]:
        filled, citations = by_section.get(section), None
        result = filled.result if filled is not None else None
        if notes and filled is not None and filled.run and result is not None and result.draft is not None:
            citations = citations_of(store, filled.run)
        parts.append(PaperPart(filled.text if filled else "", section.title, section.level, citations))
    title = first.title if has_title else form.document.title or "Summary"
    results = [section.result for section in form.sections if section.result]
    model = results[0].settings.model if results else ""
    by = f", by {BUILT_IN_WRITER if model == EXTRACTIVE else model}" if model else ""
    about = [f"From {form.document.title}{by}; redraft, {len(form.sections)} sections."]
    for filled in form.sections:
        notes_of_section = missing_notes(filled.result) if filled.result else ()
        about += [f"{filled.section.title}: {note}" for note in notes_of_section]
    about += [f"The document: {note}." for note in form.document.notes]
    language = "" if results and results[0].settings.language else form.document.language
    return Paper(title, tuple(parts), about=tuple(about), language=language, is_titled=has_title)
