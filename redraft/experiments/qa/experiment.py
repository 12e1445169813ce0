"""The experiment on questions: models answer typed questions about a document of which they read more and more."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from itertools import count

from redraft.agents.judge import Judge, longest_reply, reply_tokens
from redraft.agents.questioner import Judged, Questioner
from redraft.agents.together import together
from redraft.domain import Document
from redraft.errors import BudgetError, RedraftError, StoreError
from redraft.events import Noted, PartDone, StageStarted
from redraft.experiments.context.steps import Step
from redraft.experiments.qa.design import DIRECT, QA, Design
from redraft.experiments.qa.records import ANSWERS, QUESTIONS, VERDICTS, Cell, Item, Subject, items_of
from redraft.experiments.stages import DRAFTING
from redraft.packs.typed import TypedBuilder
from redraft.prompts.typed import AnswerPair
from redraft.questions import TypedQuestions
from redraft.runs.bench import Bench, Watch
from redraft.runs.failures import failure
from redraft.runs.jobs import desk_of, wording
from redraft.runs.preparing import Order, Prepared, prepare
from redraft.runs.recording import on_record
from redraft.runs.staff import Staff, Worker, at_work, hire
from redraft.settings import Settings
from redraft.store.runs import Run
from redraft.store.threads import off_loop
from redraft.text.chunks import beginning
from redraft.text.languages import reading


@dataclass(frozen=True, slots=True)
class Outcome:
    """All that came of the experiment."""

    design: Design
    subjects: tuple[Subject, ...]
    cells: tuple[Cell, ...]
    items: tuple[Item, ...]
    stopped: BudgetError | None = None

    @property
    def complete(self) -> bool:
        """Whether nothing failed and nothing is missing."""
        made = all(cell.status == "done" for cell in self.cells)
        return self.stopped is None and made and not any(subject.failures for subject in self.subjects)


async def qa(documents: Sequence[Document], design: Design, bench: Bench) -> Outcome:
    """Do what is not done yet, as far as the limits allow. What fails is recorded, and stops nothing else."""
    await asyncio.to_thread(design.check, bench)
    bench.draw_on(QA, repr(design), *(document.id for document in documents))
    await asyncio.to_thread(_check_plans, documents, design)
    for document in documents:
        await bench.begun(document, design.judging(), design.building())
    bench.observer(StageStarted("typed questions", 0))
    subjects = await together(_subject(document, design, bench) for document in documents)
    bench.observer(StageStarted("answers", 0))
    wanted = [
        (subject, Cell(subject.document.id, one.name, step))
        for subject in subjects
        if subject.questions
        for one in design.contestants
        for step in subject.steps
    ]
    await _count_what_is_known(wanted, design, bench)
    crowd, numbers = asyncio.Semaphore(bench.limits.concurrency), count(1)

    async def made(subject: Subject, cell: Cell) -> Cell:
        async with crowd:
            done = await _answered(subject, cell, design, bench)
        name = f"{subject.document.title}, {cell.model}, {cell.step.tokens:,} tokens: {done.status}"
        bench.observer(PartDone(name, next(numbers), len(wanted)))
        return done

    cells = await together(made(subject, cell) for subject, cell in wanted)
    bench.observer(StageStarted("verdicts", 0))
    judged = await together(
        _judged(subject, [cell for cell in cells if cell.document == subject.document.id], design, bench)
        for subject in subjects
    )
    found = tuple(item for _, items in judged for item in items)
    return Outcome(design, tuple(subject for subject, _ in judged), tuple(cells), found, bench.stopped)


def _check_plans(documents: Sequence[Document], design: Design) -> None:
    """Where no model has room for a step of any of the documents, say so before their questions are paid for."""
    refused: list[RedraftError] = []
    for document in documents:
        for one in design.contestants:
            try:
                design.prepared(document, one.name, design.course(document)[1][0])
            except RedraftError as error:
                refused.append(error)
            else:
                return
    raise refused[0]


async def _count_what_is_known(wanted: Sequence[tuple[Subject, Cell]], design: Design, bench: Bench) -> None:
    """Find all that was done before, so that it counts before anything more is spent."""
    for subject, cell in wanted:
        if subject.questions:
            order = design.answers(subject.questions.id)
            settings = design.answering(cell.model, cell.step)
            await bench.begun(subject.document, settings, order)
            if settings.strategy != DIRECT:
                await bench.known(subject.document, settings, Order())
    for subject in {id(subject): subject for subject, _ in wanted}.values():
        if subject.questions:
            await bench.begun(subject.document, design.judging(), design.verdicts(subject.questions.id))


@asynccontextmanager
async def _at_work(
    document: Document, settings: Settings, order: Order, bench: Bench
) -> AsyncIterator[tuple[Run, Prepared, Staff]]:
    """A run of a part of the experiment with whoever works on it, found again or begun. Replies that were given before
    come from the cache."""
    prepared = await asyncio.to_thread(prepare, document, settings)
    if bench.stopped is not None and await bench.begun(document, prepared.settings, order) is None:
        raise bench.stopped
    run = await bench.opened(prepared, order)
    hired = hire(prepared.settings, None, bench.limits, bench.prices)
    with bench.store.claim(run.id), reading(document):
        async with (
            on_record(bench.store, run.id),
            at_work(hired, run, prepared, bench.store, bench.observer, bench.budget) as staff,
        ):
            try:
                yield run, prepared, staff
            except BudgetError as error:
                bench.stopped = error
                raise


def _judge(worker: Worker, prepared: Prepared, bench: Bench) -> Judge:
    settings = worker.settings
    room = reply_tokens(settings.context_tokens)
    return Judge(
        worker.model,
        worker.book,
        bench.store.judgments,
        sample=settings.sample,
        temperature=settings.temperature,
        top_p=settings.top_p,
        reply_tokens=min(room, settings.max_tokens or room),
        longest_reply=longest_reply(settings.max_tokens),
        wording=wording(prepared),
        document=prepared.document.id,
    )


async def _subject(document: Document, design: Design, bench: Bench) -> Subject:
    """The document with its questions: imported, asked before, or asked now."""
    tokens, steps, said = await asyncio.to_thread(design.course, document)
    if said:
        bench.observer(Noted(f"{document.title} {said}"))
    subject = Subject(document, tokens, steps)
    if imported := bench.store.typed.imported(document.id):
        return replace(subject, questions=imported)
    try:
        async with _at_work(document, design.judging(), design.building(), bench) as (run, prepared, staff):
            subject = replace(subject, runs={QUESTIONS: run.id})
            questions = await _questions(_judge(staff.writer, prepared, bench), prepared, steps, design, bench)
            subject = replace(subject, questions=questions)
    except BudgetError:
        pass
    except StoreError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever it is, the other documents go on
        subject = replace(subject, failures=(failure(QUESTIONS, error),))
    return _used(subject, bench)


async def _questions(
    judge: Judge, prepared: Prepared, steps: Sequence[Step], design: Design, bench: Bench
) -> TypedQuestions:
    """Those that were asked before, or those that are asked now about all that any step reads."""
    document, until = prepared.document, steps[-1].until
    end = len(document.text)
    if until is not None:
        end = await asyncio.to_thread(beginning, document.text, prepared.tokenizer, until)
    desk = desk_of(prepared, [prepared.settings])
    builder = TypedBuilder(judge, desk, end, design.per_third, bench.observer)
    if known := await off_loop(bench.store.typed.find, document.id, builder.key):
        return known
    built = await builder.build()
    await off_loop(bench.store.typed.add, built, builder.key)
    return await off_loop(bench.store.typed.find, document.id, builder.key) or built


async def _answered(subject: Subject, cell: Cell, design: Design, bench: Bench) -> Cell:
    """The cell with its answers."""
    assert subject.questions is not None
    questions, settings = subject.questions.questions, design.answering(cell.model, cell.step)
    order, stage = design.answers(subject.questions.id), DRAFTING
    watch = Watch(f"{subject.document.title}, {cell.model}", bench.observer)
    try:
        read = await asyncio.to_thread(design.prepared, subject.document, cell.model, cell.step)
        cell = replace(cell, end=read.chunks[-1].span.end)
        text = subject.document.text[: cell.end]
        if settings.strategy != DIRECT:
            text = (await bench.made(subject.document, settings, Order(experiment=QA), watch)).summary or ""
        stage = ANSWERS
        async with _at_work(subject.document, settings, order, bench) as (run, prepared, staff):
            cell, judge = replace(cell, run=run.id), _judge(staff.writer, prepared, bench)
            label = f"after {cell.step.tokens} tokens"
            said = await Questioner(judge).answer(text, [one.text for one in questions], design.at_once, label)
        responses = {questions[n].id: one for n, one in sorted(said.verdicts.items())}
        cell = replace(cell, responses=responses, trouble=said.trouble, done=True)
    except BudgetError:
        pass
    except StoreError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever it is, the other cells go on
        cell = replace(cell, failure=failure(stage if watch.run else ANSWERS, error))
    used, drafted = (bench.store.calls.totals(run) if run else None for run in (cell.run, watch.run))
    return replace(cell, usage=used, draft=watch.run, drafting=drafted)


async def _judged(subject: Subject, cells: Sequence[Cell], design: Design, bench: Bench) -> tuple[Subject, list[Item]]:
    """The items of a document with their verdicts, all models' and steps' together, and how alike answers are."""
    similar = design.measure()
    with reading(subject.document):
        items = [item.compared(similar) for cell in cells for item in items_of(subject, cell)]
    pairs = [(at, item.pair) for at, item in enumerate(items) if item.pair]
    if not pairs or subject.questions is None:
        return subject, items
    order = design.verdicts(subject.questions.id)
    try:
        async with _at_work(subject.document, design.judging(), order, bench) as (run, prepared, staff):
            subject = replace(subject, runs={**subject.runs, VERDICTS: run.id})
            verdicts = await _verdicts(_judge(staff.writer, prepared, bench), [one for _, one in pairs], subject)
        for n, (at, _) in enumerate(pairs):
            items[at] = replace(items[at], verdict=verdicts.get(n))
    except BudgetError:
        pass
    except StoreError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever it is, the other documents go on
        subject = replace(subject, failures=(*subject.failures, failure(VERDICTS, error)))
    return _used(subject, bench), items


async def _verdicts(judge: Judge, pairs: Sequence[AnswerPair], subject: Subject) -> dict[int, Judged]:
    return (await Questioner(judge).verdicts(pairs, subject.document)).verdicts


def _used(subject: Subject, bench: Bench) -> Subject:
    return replace(subject, usage={stage: bench.store.calls.totals(run) for stage, run in subject.runs.items()})
