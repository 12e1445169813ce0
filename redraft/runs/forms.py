"""Fills a template: every section is a summary of its own, answering what belongs there, on one budget.

A section is an ordinary run: it is found again when requested again, resumed where it stopped, and can be shown by
itself.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from itertools import count
from typing import Annotated

from pydantic import InstanceOf, PlainSerializer

from redraft.agents.judge import gather_all
from redraft.domain import Document, Totals, computed
from redraft.errors import BudgetError, NoAnswerError, PromptError, StoreError, UsageError
from redraft.events import Notice, PartDone
from redraft.llm.budget import PriceTable
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
    with_basis,
)
from redraft.runs.dry_run import RunPlan, plan_run
from redraft.runs.experiment_runner import ExperimentRunner, Failure, RunWatch, failure
from redraft.settings import EXTRACTIVE
from redraft.store.connection import off_loop
from redraft.store.store import Store

FORM = "form"
NOTHING = "The document says nothing about this."
_NOT_MADE = "Not drafted: the budget was used up first."
_CANNOT_TELL = (
    "the built-in model cannot tell whether the document says anything about a section: it uses the sentences"
    " closest to its words"
)


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
    runner.share_budget(
        FORM,
        document.id,
        *(f"{template_section.query} {template_section.words}" for template_section in template.drafted),
    )
    if order.settings.model == EXTRACTIVE:
        runner.observer(Notice(_CANNOT_TELL))
    numbers = count(1)
    semaphore = asyncio.Semaphore(runner.limits.concurrency)

    async def fill_section(section: TemplateSection) -> FilledSection:
        async with semaphore:
            watch = RunWatch(section.title, runner.observer)
            try:
                result = await runner.find_or_run(document, _order_of(section, order), watch)
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
    usage = replace(usage, seconds=longest)
    return FilledForm(template, document, tuple(filled), usage, runner.stopped)


def form_plans(document: Document, template: Template, order: Order, prices: PriceTable) -> list[RunPlan]:
    """Return the plan of each section."""
    return [plan_run(document, _order_of(section, order), prices) for section in template.drafted]


def _order_of(section: TemplateSection, order: Order) -> Order:
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
    return with_basis(Paper(title, tuple(parts), about=tuple(about), language=language, is_titled=has_title))
