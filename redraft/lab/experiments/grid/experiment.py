"""The grid experiment: models, strategies and existing summaries, on documents, by metrics and by preference.

On one document a judge takes one summary after the other, so that what two summaries share is asked once; documents and
judges run concurrently.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from redraft.agents.accounts import gather_all
from redraft.domain import Document, Evaluation
from redraft.evaluators.catalog import metrics, with_rubrics
from redraft.evaluators.metric_info import PREFERENCE
from redraft.events import StageStarted
from redraft.lab.experiments.grid.records import (
    GRID,
    GridDesign,
    GridJudgment,
    GridOutcome,
    GridPreference,
    GridScore,
    GridSummary,
    GridSystem,
    Lengths,
    UnjudgedDocument,
    Yardsticks,
    votes_of,
)
from redraft.lab.experiments.plan import (
    DRAFTING,
    JUDGING,
    NamedModel,
)
from redraft.lab.experiments.runner import JudgingPack, RunBatch, refuse_if_none_fits, taken_by, yardstick
from redraft.prompts.coherence import ASPECTS
from redraft.runs.experiment_runner import ExperimentRunner, Failure
from redraft.runs.prepare import RunSpec, check_judging, prepare
from redraft.settings import STATISTICS, DraftConfig
from redraft.store.store import Store

_TRIGRAMS = "3"


@dataclass(frozen=True, slots=True)
class _GridDocument:
    """A document of the experiment, and what its summaries are judged by."""

    document: Document
    yardstick: JudgingPack

    @property
    def yardsticks(self) -> Yardsticks:
        """The ids of what its summaries are judged by."""
        return Yardsticks(**self.yardstick.by)


async def grid(documents: Sequence[Document], design: GridDesign, runner: ExperimentRunner) -> GridOutcome:
    """Run what is not done yet, within the limits. A failure is recorded and does not stop the rest."""
    design.check(runner)
    runner.draw_on(GRID, repr(design), *(document.id for document in documents))
    await asyncio.to_thread(_check_plans, documents, design, runner.store)
    batch = RunBatch(runner, _parts(documents, design))
    runner.observer(StageStarted("summaries and verdicts", 0))
    done = await gather_all(_on_document(document, design, batch) for document in documents)
    judged = [one for _, found, _ in done for one in found]
    preferred = [one for _, _, found in done for one in found]
    built = [run for place, _, _ in done for run in place.yardstick.runs]
    by_judge = {
        judge.name: [one.run for one in judged if one.judge == judge.name and one.run]
        + [one.run for one in preferred if one.judge == judge.name and one.run]
        for judge in design.judges
    }
    made = [one.summary.run for one in judged if one.summary.run]
    return GridOutcome(
        design,
        tuple((document.id, document.title) for document in documents),
        tuple(judged),
        tuple(preferred),
        tuple(
            UnjudgedDocument(place.document.id, place.document.title, lost.stage, lost)
            for place, _, _ in done
            for lost in place.yardstick.failures
        ),
        await taken_by(runner, built) if built else None,
        {name: await taken_by(runner, runs) for name, runs in by_judge.items()},
        await taken_by(runner, [*built, *made, *(run for runs in by_judge.values() for run in runs)]),
        runner.stopped,
    )


def _parts(documents: Sequence[Document], design: GridDesign) -> int:
    drafted = sum(one.settings is not None for one in design.contestants)
    ready = sum(len(texts) for of_one in design.ready.systems.values() for texts in of_one.values())
    judges, pairs = len(design.judges), len(design.pairs) if design.prefers else 0
    each = len(design.needs) + drafted * (1 + judges) + pairs * judges
    return each * len(documents) + ready * judges


def _check_plans(documents: Sequence[Document], design: GridDesign, store: Store) -> None:
    """Raise, before anything is paid for, if no contestant can summarize any document or a judge cannot do its work."""
    for judge in design.judges:
        prepared = prepare(documents[0], design.configured(judge))
        check_judging(design.verdict(judge, "", Yardsticks(), design.metrics), prepared, store)
    drafting = [one for one in design.contestants if one.settings is not None and one.refines is None]
    plans = [partial(prepare, document, design.drafting(one)) for document in documents for one in drafting]
    refuse_if_none_fits(plans)


async def _on_document(
    document: Document, design: GridDesign, batch: RunBatch
) -> tuple[_GridDocument, list[GridJudgment], list[GridPreference]]:
    by = await yardstick(document, design.needs, design.judging, design.builder, design.building, batch)
    place = _GridDocument(document, by)
    summaries = await _summaries(place, design, batch)
    judged = await gather_all(_judged(place, summaries, judge, design, batch) for judge in design.judges)
    preferred: list[list[GridPreference]] = []
    if design.prefers:
        preferred = await gather_all(_preferred(place, summaries, judge, design, batch) for judge in design.judges)
    return place, [one for some in judged for one in some], [one for some in preferred for one in some]


async def _summaries(place: _GridDocument, design: GridDesign, batch: RunBatch) -> list[GridSummary]:
    """Return the summaries of a document in the order of the contestants. Drafts are refined one after the other, since
    their first drafts have much in common."""
    plain = [one for one in design.contestants if one.settings is not None and one.refines is None]
    drafts = await gather_all(drafted(place.document, one.name, design.drafting(one), GRID, batch) for one in plain)
    known = {one.name: [draft] for one, draft in zip(plain, drafts, strict=True)}
    for one in design.contestants:
        if one.refines is not None:
            (draft,) = known[one.refines]
            known[one.name] = [await _refined(place, one, draft, design, batch)]
        elif one.settings is None:
            known[one.name] = _ready(place.document, one, design)
    return [summary for one in design.contestants for summary in known[one.name]]


def _ready(document: Document, one: GridSystem, design: GridDesign) -> list[GridSummary]:
    """Return the existing summaries of a document, or a record that there is none."""
    texts = design.ready.systems[one.name].get(document.id, ())
    if not texts:
        lost = Failure("summaries", "missing", "it has no summary of this document")
        return [GridSummary(document.id, document.title, one.name, failure=lost)]
    return [GridSummary(document.id, document.title, one.name, n, text) for n, text in enumerate(texts, 1)]


async def drafted(
    document: Document, contestant: str, settings: DraftConfig, experiment: str, batch: RunBatch
) -> GridSummary:
    """Draft one summary of a document for an experiment, or record why there is none."""
    order = RunSpec(experiment=experiment)
    made = await batch.made(DRAFTING, f"{DRAFTING} {contestant}", document, settings, order)
    summary = GridSummary(document.id, document.title, contestant, run=made.run, failure=made.failure)
    if made.result is None:
        return replace(summary, made=made.failure is not None)
    result = made.result
    taken, words = await taken_by(batch.runner, [result.run.id]), result.settings.words
    return replace(summary, text=result.summary or "", limit=words, gaps=len(result.gaps), taken=taken)


async def _refined(
    place: _GridDocument, one: GridSystem, draft: GridSummary, design: GridDesign, batch: RunBatch
) -> GridSummary:
    """Refine a draft within the word limit that it was made for. Without a draft, return its failure."""
    document = place.document
    summary = GridSummary(
        document.id, document.title, one.name, gaps=draft.gaps, failure=draft.failure, made=draft.made
    )
    if draft.text is None:
        return summary
    settings = design.drafting(one).model_copy(update={"strategy": "given", "words": draft.limit})
    order = design.refining(one, draft.text, place.yardsticks)
    made = await batch.made("refining", f"refining {one.name}", document, settings, order)
    summary = replace(summary, run=made.run, failure=made.failure)
    if made.result is None:
        return replace(summary, made=made.failure is not None)
    taken = await taken_by(batch.runner, [run for run in (draft.run, made.run) if run])
    return replace(summary, text=made.result.summary or "", limit=draft.limit, taken=taken)


async def _judged(
    place: _GridDocument, summaries: Sequence[GridSummary], judge: NamedModel, design: GridDesign, batch: RunBatch
) -> list[GridJudgment]:
    known = metrics(design.metrics, with_rubrics(design.judging, ()))
    lost = [one.name for one in known if one.needs in place.yardstick.lacking]
    scored = [name for name in design.metrics if name not in lost]
    reason = "it could not be judged: see the failures"
    unmeasured = {name: GridScore("failed", reason=reason) for name in lost} if place.yardstick.failures else {}
    return [await _verdict(place, one, judge, scored, unmeasured, design, batch) for one in summaries]


async def _verdict(
    place: _GridDocument,
    summary: GridSummary,
    judge: NamedModel,
    scored: Sequence[str],
    unmeasured: Mapping[str, GridScore],
    design: GridDesign,
    batch: RunBatch,
) -> GridJudgment:
    empty = GridJudgment(summary, judge.name)
    if summary.text is None:
        return empty
    step = f"{JUDGING} {summary.contestant} by {judge.name}"
    order = design.verdict(judge, summary.text, place.yardsticks, scored)
    made = await batch.made(JUDGING, step, place.document, design.configured(judge), order)
    if made.result is None:
        return replace(empty, run=made.run, failure=made.failure)
    found = made.result.evaluations
    scores = {one: GridScore.of(found[one]) if one in found else unmeasured[one] for one in design.metrics
              if one in found or one in unmeasured}  # fmt: skip
    return replace(empty, run=made.run, scores=scores, lengths=_lengths(found.get(STATISTICS)))


def _lengths(found: Evaluation | None) -> Lengths:
    if found is None or found.outcome != "measured":
        return Lengths()
    details: Mapping[str, Any] = found.details
    return Lengths(
        details["summary"]["tokens"], details["novel_ngrams"][_TRIGRAMS], details["repeated_ngrams"][_TRIGRAMS]
    )


async def _preferred(
    place: _GridDocument, summaries: Sequence[GridSummary], judge: NamedModel, design: GridDesign, batch: RunBatch
) -> list[GridPreference]:
    """Return a judge's preferences for each pair of contestants; of several summaries by one, the first counts."""
    texts = {one.contestant: one for one in reversed(summaries)}
    return [await _preference(place, texts[a], texts[b], judge, design, batch) for a, b in design.pairs]


async def _preference(
    place: _GridDocument, one: GridSummary, other: GridSummary, judge: NamedModel, design: GridDesign, batch: RunBatch
) -> GridPreference:
    document = place.document
    pair = GridPreference(document.id, document.title, one.contestant, other.contestant, judge.name)
    if not one.text or not other.text:
        return replace(pair, made=False)
    step, pair_name = f"preferences by {judge.name}", f"{one.contestant} or {other.contestant}, by {judge.name}"
    order = design.comparing(judge, one.text, other.text)
    made = await batch.made("preference", step, document, design.configured(judge), order, pair_name)
    if made.result is None:
        return replace(pair, run=made.run, failure=made.failure, made=made.failure is not None)
    found = made.result.evaluations[PREFERENCE]
    same = bool(found.details["same"])
    return replace(pair, run=made.run, votes=votes_of(found.details, ASPECTS), same=same)
