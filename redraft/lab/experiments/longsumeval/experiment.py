"""LongSumEval's refinement: every first draft is refined in every way, by the same questions and the same judge."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from redraft.agents.accounts import together
from redraft.domain import Document, Evaluation
from redraft.events import StageStarted
from redraft.lab.experiments.longsumeval.records import (
    LONGSUMEVAL,
    LongSumEvalDesign,
    Refined,
    RefinedOutcome,
    RefineSetting,
    Stand,
)
from redraft.lab.experiments.plan import (
    BUILT,
    DRAFTING,
    USUAL_ROUNDS,
    NamedModel,
    PlanStep,
    Told,
    a_text,
    step_of,
    table_of,
    told,
)
from redraft.lab.experiments.runner import JudgingPack, RunBatch, taken_by, yardstick
from redraft.llm.prices import PriceTable
from redraft.report.history.results import Result
from redraft.report.reports.tables import Table
from redraft.runs.experiment_runner import ExperimentRunner, Failure
from redraft.runs.forecast import forecast
from redraft.runs.prepare import RunSpec, prepare
from redraft.settings import YARDSTICKS, Refine
from redraft.store.store import Store
from redraft.text.words import count_words

_REFINING = "refining"


async def longsumeval(
    documents: Sequence[Document], design: LongSumEvalDesign, bench: ExperimentRunner
) -> RefinedOutcome:
    """Do what is not done yet, as far as the limits allow. What fails is recorded, and stops nothing else."""
    design.check(bench)
    bench.draw_on(LONGSUMEVAL, repr(design), *(document.id for document in documents))
    drafts = 0 if design.ready.systems else len(design.writers)
    given = sum(len(texts) for of_one in design.ready.systems.values() for texts in of_one.values())
    summaries = given * len(design.writers) or len(documents) * drafts
    batch = RunBatch(bench, len(documents) * (len(design.needs) + drafts) + summaries * len(design.ways))
    bench.observer(StageStarted("drafts and revisions", 0))
    done = await together(_on_document(document, design, batch) for document in documents)
    refined = [one for _, found in done for one in found]
    runs = [run for by, _ in done for run in by.runs] + [one.run for one in refined if one.run]
    return RefinedOutcome(
        design,
        tuple((document.id, document.title) for document in documents),
        tuple(refined),
        tuple((one.title, lost) for one, (by, _) in zip(documents, done, strict=True) for lost in by.failures),
        await taken_by(bench, runs),
        bench.stopped,
    )


async def _on_document(
    document: Document, design: LongSumEvalDesign, batch: RunBatch
) -> tuple[JudgingPack, list[Refined]]:
    """All that comes of one document: one refinement after the other, since they begin with the same drafts."""
    by = await yardstick(document, design.needs, design.judging, design.seated(), design.building, batch)
    refined = [
        await _refined(document, writer, start, way, by, design, batch)
        for writer in design.writers
        for start in await _starts(document, writer, design, batch, by.runs)
        for way in design.ways
    ]
    return by, refined


@dataclass(frozen=True, slots=True)
class _Start:
    """A first draft with its limit, or why there is none."""

    system: str
    number: int
    text: str | None = None
    limit: int | None = None
    failure: Failure | None = None


async def _starts(
    document: Document, writer: NamedModel, design: LongSumEvalDesign, batch: RunBatch, runs: list[str]
) -> list[_Start]:
    """The first drafts that a writer refines: those that are there, or its own."""
    if design.ready.systems:
        return [
            _Start(system, number, text, writer.settings.words)
            for system, texts in design.ready.systems.items()
            for number, text in enumerate(texts.get(document.id, ()), 1)
        ]
    name = f"{document.title} by {writer.name}"
    made = await batch.made(DRAFTING, name, document, design.drafting(writer), RunSpec(experiment=LONGSUMEVAL))
    runs += [made.run] if made.run else []
    if made.result is None:
        return [_Start(writer.name, 1, failure=made.failure)]
    return [_Start(writer.name, 1, made.result.summary or "", made.result.settings.words)]


async def _refined(
    document: Document,
    writer: NamedModel,
    start: _Start,
    way: RefineSetting,
    by: JudgingPack,
    design: LongSumEvalDesign,
    batch: RunBatch,
) -> Refined:
    one = Refined(document.id, document.title, start.system, start.number, writer.name, way, failure=start.failure)
    if start.text is None:
        return replace(one, made=False)
    settings = design.drafting(writer).model_copy(update={"strategy": "given", "words": start.limit})
    name = f"{document.title}: {start.system}'s refined by {writer.name} to {way.thresholds}, {way.policy}"
    made = await batch.made(_REFINING, name, document, settings, design.refining(writer, way, start.text, by.by))
    one = replace(one, run=made.run, failure=made.failure)
    if made.result is None:
        return replace(one, made=made.failure is not None)
    store, result = batch.bench.store, made.result
    stands = await asyncio.to_thread(_stands, store, result)
    taken = await asyncio.to_thread(store.calls.taken_by, [result.run.id])
    lengths = (count_words(start.text), count_words(result.summary or ""))
    return replace(one, stands=tuple(stands), stop=result.run.stop_reason, words=lengths, taken=taken)


def _stands(store: Store, result: Result) -> list[Stand]:
    """Where the best draft stood after each round; a revision that is refused leaves it where it was."""
    stands: list[Stand] = []
    for made in result.rounds:
        if made.number == 0 or made.accepted:
            scores = _scores(store.judgments.of(made.draft), result)
        else:
            scores = dict(stands[-1].scores) if stands else {}
        stands.append(Stand(made.number, scores, made.number > 0, bool(made.accepted) and made.number > 0))
    return stands


def _scores(judged: dict[str, Evaluation], result: Result) -> dict[str, float | None]:
    assert result.run.judging is not None
    return {name: judged[name].score if name in judged else None for name in result.run.judging.metrics}


_ABOUT = (
    "The first figures are what it comes to at most, where every draft is as long as it may be and every revision is"
    " made, and each way to refine begins anew. The expected ones are a rule of thumb: replies of 60 % of their room,"
    " and one revision."
)


def plan_table(documents: Sequence[Document], design: LongSumEvalDesign, prices: PriceTable) -> Table:
    """What there is to do, what it may cost, and what it will cost as a rule."""
    return table_of([step for document in documents for step in _steps(document, design)], _ABOUT, prices)


def _steps(document: Document, design: LongSumEvalDesign) -> Iterator[PlanStep]:
    for part in design.needs:
        found = forecast(prepare(document, design.seated()), design.building(part))
        yield step_of(document, f"building {part}", design.seated(), 1, told(found.stages))
    for writer in design.writers:
        texts = [text for of_one in design.ready.systems.values() for text in of_one.get(document.id, ())]
        if not design.ready.systems:
            prepared = prepare(document, design.drafting(writer))
            it = prepared.plan
            stages = [(it.calls, it.prompt_tokens, it.completion_tokens)]
            yield step_of(document, f"{DRAFTING} {writer.name}", prepared.settings, 1, stages)
            texts = [a_text(it.words)]
        for way in design.ways:
            yield from _refining(document, writer, way, texts, design)


def _refining(
    document: Document, writer: NamedModel, way: RefineSetting, texts: Sequence[str], design: LongSumEvalDesign
) -> Iterator[PlanStep]:
    """The revisions by the writer, and the verdicts of the judge between them."""
    settings = design.drafting(writer).model_copy(update={"strategy": "given"})
    by = {name: getattr(design.judging, name) for name in YARDSTICKS.values()}
    for role, model in (("writer", settings), ("judge", design.seated())):
        most: list[Told] = []
        usual: list[Told] = []
        for text in texts:
            prepared, order = prepare(document, settings, given=text), design.refining(writer, way, text, by)
            assert isinstance(order.purpose, Refine)
            asked = order.purpose.refinement
            fewer = asked.model_copy(update={"rounds": min(USUAL_ROUNDS, asked.rounds)})
            likely = replace(order, purpose=order.purpose.model_copy(update={"refinement": fewer}))
            for some, one in ((most, order), (usual, likely)):
                stages = [it for it in forecast(prepared, one).stages if it.name not in BUILT]
                some += told([it for it in stages if (it.by == "writer") is (role == "writer")])
        name = f"{writer.name} to {way.thresholds}, {way.policy}: {role}"
        yield step_of(document, name, model, len(texts), most, usual)
