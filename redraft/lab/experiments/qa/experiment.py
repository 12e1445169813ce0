"""The QA experiment: models answer typed questions about a document of which they read more and more."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial

from redraft.agents.accounts import gather_all
from redraft.agents.judge import Judge
from redraft.agents.questioner import JudgedAnswer, Questioner
from redraft.domain import Document
from redraft.errors import BudgetError
from redraft.evaluators.reference.typed import TypedBuilder
from redraft.events import Noted, StageStarted
from redraft.lab.experiments.context.records import ReadingStep
from redraft.lab.experiments.plan import DRAFTING
from redraft.lab.experiments.qa.records import (
    ANSWERS,
    DIRECT,
    QA,
    QUESTIONS,
    VERDICTS,
    QaCell,
    QaDesign,
    QaItem,
    QaSubject,
    items_of,
)
from redraft.lab.experiments.runner import GuardedStage, RunBatch, judge_of, part_at_work, refuse_if_none_fits, used_by
from redraft.prompts.qa import AnswerPair
from redraft.questions import TypedQuestions
from redraft.runs.experiment_runner import ExperimentRunner, RunWatch
from redraft.runs.job import reader_of
from redraft.runs.model_pool import ModelPool
from redraft.runs.prepare import PreparedDocument, RunSpec, prepare
from redraft.settings import DraftConfig
from redraft.store.connection import off_loop
from redraft.store.runs import Run
from redraft.text.chunks import beginning
from redraft.text.languages import reading


@dataclass(frozen=True, slots=True)
class QaOutcome:
    """The outcome of the experiment."""

    design: QaDesign
    subjects: tuple[QaSubject, ...]
    cells: tuple[QaCell, ...]
    items: tuple[QaItem, ...]
    stopped: BudgetError | None = None

    @property
    def complete(self) -> bool:
        """True if nothing failed and nothing is missing."""
        made = all(cell.status == "done" for cell in self.cells)
        return self.stopped is None and made and not any(subject.failures for subject in self.subjects)


async def qa(documents: Sequence[Document], design: QaDesign, runner: ExperimentRunner) -> QaOutcome:
    """Run what is not done yet, within the limits. A failure is recorded and does not stop the rest."""
    await asyncio.to_thread(design.check, runner)
    runner.draw_on(QA, repr(design), *(document.id for document in documents))
    plans = [partial(_first_step, one, named.name, design) for one in documents for named in design.contestants]
    await asyncio.to_thread(refuse_if_none_fits, plans)
    for document in documents:
        await runner.begun(document, design.judging(), design.building())
    runner.observer(StageStarted("typed questions", 0))
    subjects = await gather_all(_subject(document, design, runner) for document in documents)
    runner.observer(StageStarted("answers", 0))
    wanted = [
        (subject, QaCell(subject.document.id, one.name, step))
        for subject in subjects
        if subject.questions
        for one in design.contestants
        for step in subject.steps
    ]
    await _count_what_is_known(wanted, design, runner)
    batch = RunBatch(runner, len(wanted))
    cells = await gather_all(
        batch.turn(
            f"{subject.document.title}, {cell.model}, {cell.step.tokens:,} tokens",
            partial(_answered, subject, cell, design, runner),
        )
        for subject, cell in wanted
    )
    runner.observer(StageStarted("verdicts", 0))
    judged = await gather_all(
        _judged(subject, [cell for cell in cells if cell.document == subject.document.id], design, runner)
        for subject in subjects
    )
    found = tuple(item for _, items in judged for item in items)
    return QaOutcome(design, tuple(subject for subject, _ in judged), tuple(cells), found, runner.stopped)


def _first_step(document: Document, name: str, design: QaDesign) -> PreparedDocument:
    return design.prepared(document, name, design.course(document)[1][0])


async def _count_what_is_known(
    wanted: Sequence[tuple[QaSubject, QaCell]], design: QaDesign, runner: ExperimentRunner
) -> None:
    """Find what was done before, so that it counts before anything more is spent."""
    for subject, cell in wanted:
        if subject.questions:
            order = design.answers(subject.questions.id)
            settings = design.answering(cell.model, cell.step)
            await runner.begun(subject.document, settings, order)
            if settings.strategy != DIRECT:
                await runner.known(subject.document, settings, RunSpec())
    for subject in {id(subject): subject for subject, _ in wanted}.values():
        if subject.questions:
            await runner.begun(subject.document, design.judging(), design.verdicts(subject.questions.id))


@asynccontextmanager
async def _at_work(
    document: Document, settings: DraftConfig, order: RunSpec, runner: ExperimentRunner, step: str
) -> AsyncIterator[tuple[Run, PreparedDocument, ModelPool]]:
    """Open a new or resumed run of a part of the experiment, with its models. Cached replies are reused."""
    prepared = await asyncio.to_thread(prepare, document, settings)
    if runner.stopped is not None and await runner.begun(document, prepared.settings, order) is None:
        raise runner.stopped
    run = await runner.opened(prepared, order)
    async with part_at_work(run, prepared, None, runner, step) as pool:
        yield run, prepared, pool


async def _subject(document: Document, design: QaDesign, runner: ExperimentRunner) -> QaSubject:
    """Return the document with its questions: imported, built before or built now."""
    tokens, steps, said = await asyncio.to_thread(design.course, document)
    if said:
        runner.observer(Noted(f"{document.title} {said}"))
    subject = QaSubject(document, tokens, steps)
    if imported := runner.store.typed.imported(document.id):
        return replace(subject, questions=imported)
    with GuardedStage(QUESTIONS) as tried:
        async with _at_work(document, design.judging(), design.building(), runner, QUESTIONS) as (run, prepared, pool):
            subject = replace(subject, runs={QUESTIONS: run.id})
            questions = await _questions(judge_of(pool.writer, prepared, runner), prepared, steps, design, runner)
            subject = replace(subject, questions=questions)
    subject = replace(subject, failures=(tried.failure,) if tried.failure else ())
    return _used(subject, runner)


async def _questions(
    judge: Judge, prepared: PreparedDocument, steps: Sequence[ReadingStep], design: QaDesign, runner: ExperimentRunner
) -> TypedQuestions:
    """Return the stored questions, or build new ones about everything that any step reads."""
    document, until = prepared.document, steps[-1].until
    end = len(document.text)
    if until is not None:
        end = await asyncio.to_thread(beginning, document.text, prepared.tokenizer, until)
    reader = reader_of(prepared, [prepared.settings])
    summary = design.references.get(document.id, "")
    builder = TypedBuilder(judge, reader, end, design.per_third, runner.observer, summary)
    if known := await off_loop(runner.store.typed.find, document.id, builder.key):
        return known
    built = await builder.build()
    await off_loop(runner.store.typed.add, built, builder.key)
    return await off_loop(runner.store.typed.find, document.id, builder.key) or built


async def _answered(subject: QaSubject, cell: QaCell, design: QaDesign, runner: ExperimentRunner) -> QaCell:
    assert subject.questions is not None
    questions, settings = subject.questions.questions, design.answering(cell.model, cell.step)
    order, document = design.answers(subject.questions.id), subject.document
    watch = RunWatch(f"{document.title}, {cell.model}", runner.observer, step=f"{DRAFTING}, {settings.strategy}")
    step = ANSWERS if settings.strategy == DIRECT else f"{ANSWERS}, {settings.strategy}"
    with GuardedStage(ANSWERS) as tried:
        read = await asyncio.to_thread(design.prepared, document, cell.model, cell.step)
        cell = replace(cell, end=read.chunks[-1].span.end)
        text = document.text[: cell.end]
        if settings.strategy != DIRECT:
            tried.stage = DRAFTING
            text = (await runner.made(document, settings, RunSpec(experiment=QA), watch)).summary or ""
            tried.stage = ANSWERS
        async with _at_work(document, settings, order, runner, step) as (run, prepared, pool):
            cell, judge = replace(cell, run=run.id), judge_of(pool.writer, prepared, runner)
            label = f"after {cell.step.tokens} tokens"
            said = await Questioner(judge).answer(text, [one.text for one in questions], design.at_once, label)
        responses = {questions[n].id: one for n, one in sorted(said.verdicts.items())}
        cell = replace(cell, responses=responses, trouble=said.trouble, done=True)
    used, drafted = used_by(runner, cell.run), used_by(runner, watch.run)
    return replace(cell, usage=used, draft=watch.run, drafting=drafted, failure=tried.failure)


async def _judged(
    subject: QaSubject, cells: Sequence[QaCell], design: QaDesign, runner: ExperimentRunner
) -> tuple[QaSubject, list[QaItem]]:
    """Return a document's items, over all models and steps, with their verdicts and similarities."""
    similar = design.measure()
    with reading(subject.document):
        items = [item.compared(similar) for cell in cells for item in items_of(subject, cell)]
    pairs = [(at, item.pair) for at, item in enumerate(items) if item.pair]
    if not pairs or subject.questions is None:
        return subject, items
    order = design.verdicts(subject.questions.id)
    with GuardedStage(VERDICTS) as tried:
        async with _at_work(subject.document, design.judging(), order, runner, VERDICTS) as (run, prepared, pool):
            subject = replace(subject, runs={**subject.runs, VERDICTS: run.id})
            verdicts = await _verdicts(judge_of(pool.writer, prepared, runner), [one for _, one in pairs], subject)
        for n, (at, _) in enumerate(pairs):
            items[at] = replace(items[at], verdict=verdicts.get(n))
    subject = replace(subject, failures=(*subject.failures, *([tried.failure] if tried.failure else ())))
    return _used(subject, runner), items


async def _verdicts(judge: Judge, pairs: Sequence[AnswerPair], subject: QaSubject) -> dict[int, JudgedAnswer]:
    return (await Questioner(judge).verdicts(pairs, subject.document)).verdicts


def _used(subject: QaSubject, runner: ExperimentRunner) -> QaSubject:
    return replace(subject, usage={stage: runner.store.calls.totals(run) for stage, run in subject.runs.items()})
