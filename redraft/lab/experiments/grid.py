"""The grid experiment: models, strategies and existing summaries, on documents, by metrics and by preference
(BooookScore, tables 2 and 4).

On one document a judge takes one summary after the other, so that what two summaries share is asked once; documents and
judges run concurrently.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import combinations, product
from typing import Any

from pydantic import Field

from redraft.agents.judge import gather_all
from redraft.domain import Document
from redraft.errors import UsageError
from redraft.evaluators.catalog import metrics, with_rubrics
from redraft.evaluators.metric_info import PREFERENCE
from redraft.fields import Settings
from redraft.lab.experiments.experiment import MAX_LINES, Cell, Experiment, Outcome
from redraft.lab.experiments.grid_frames import (
    GridJudgment,
    GridPreference,
    GridScore,
    GridSummary,
    GridSystem,
    agreement_frame,
    configuration_frame,
    difference_frame,
    document_scores,
    preference_frame,
    score_frame,
    summary_frame,
    votes_of,
)
from redraft.lab.experiments.orders import Asked, GridOrder, NamedModel, own_key_only
from redraft.lab.experiments.plan import DRAFTING, JUDGING, PublicJudging, build_spec, check_models, with_judge
from redraft.lab.experiments.runner import (
    JudgingPack,
    RunBatch,
    judging_pack,
    refuse_if_none_fits,
    required_parts,
    total_usage,
)
from redraft.lab.experiments.sources import ExistingSummaries, read_existing_summaries
from redraft.order import Compare, Evaluate, Order, Summarize
from redraft.prompts.coherence import ASPECTS
from redraft.report.tables import Table, figure, number, plain
from redraft.runs.experiment_runner import ExperimentRunner, Failure
from redraft.runs.prepare import check_judging, prepare
from redraft.settings import STATISTICS, DraftConfig, JudgeConfig

GRID = "grid"
_TRIGRAMS = "3"


class GridDesign(Settings):
    """The design: every judge judges all contestants on all documents, separately."""

    contestants: tuple[GridSystem, ...]
    judges: tuple[NamedModel, ...]
    judging: PublicJudging
    ready: ExistingSummaries = Field(default=ExistingSummaries(), exclude=True)
    prefer: bool = False
    """True if the judges also compare summaries in pairs."""

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics by which summaries are scored."""
        return self.judging.metrics

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """The pairs of contestants to compare, by name."""
        return list(combinations([system.name for system in self.contestants], 2))

    def keyed(self, settings: DraftConfig | None) -> DraftConfig:
        """Return the settings of a contestant or a judge, with the key that its server may get."""
        assert settings is not None
        drafting = [system.settings for system in self.contestants if system.settings]
        return own_key_only(settings, drafting + [judge.settings for judge in self.judges])

    def judge_settings(self, judge: NamedModel) -> DraftConfig:
        """Return a judge's settings for given summaries."""
        return self.keyed(judge.settings).model_copy(update={"strategy": "given", "words": None})

    def judge_spec(
        self, judge: NamedModel, summary: str, pack: Mapping[str, str | None], scored: Sequence[str]
    ) -> Order:
        """Return the spec of a run in which a judge judges a summary."""
        changes: dict[str, object] = {"metrics": tuple(scored), "validator": None, "models": {}, **pack}
        judging = with_judge(self.judging.model_copy(update=changes), judge.name, self.judge_settings(judge))
        return Evaluate(judging=judging, given=summary, experiment=GRID)

    def check(self, runner: ExperimentRunner) -> None:
        """Raise for invalid settings and for unknown names or prices, before anything is paid for."""
        names = Counter(system.name for system in self.contestants)
        if twice := next((name for name, number in names.items() if number > 1), None):
            raise UsageError(f"two systems are named {twice}", hint="rename the folder, or the system, of one")
        for metric in metrics(self.metrics, with_rubrics(self.judging, ())):
            if metric.aim is None:
                hint = "leave it out; lengths and repetition are in the tables anyway"
                raise UsageError(f"--metric: {metric.name} gives no score to compare systems by", hint=hint)
        drafting = [self.keyed(system.settings) for system in self.contestants if system.settings]
        check_models(runner, *((settings, None) for settings in (*drafting, *map(self.judge_settings, self.judges))))


def contestants(
    models: Sequence[NamedModel],
    strategies: Sequence[str],
    chunks: Sequence[int],
    words: Sequence[int | None],
    ready: Sequence[str] = (),
) -> tuple[GridSystem, ...]:
    """Return every combination of model, strategy, chunk size and limit, named by what varies, and the systems with
    existing summaries."""
    systems: list[GridSystem] = []
    for model, strategy, chunk, limit in product(models, strategies, chunks, words):
        if strategy == "direct" and chunk != chunks[0]:
            continue  # it takes the document whole, whatever the chunk size
        parts = [
            *([strategy] if len(strategies) > 1 else []),
            *([f"chunks of {chunk}"] if len(chunks) > 1 and strategy != "direct" else []),
            *([f"{limit} words"] if len(words) > 1 else []),
        ]
        changes = {"strategy": strategy, "chunk_tokens": chunk, "words": limit}
        settings = model.settings.model_copy(update=changes)
        systems.append(GridSystem(", ".join((model.name, *parts)), settings, model.name))
    return (*systems, *(GridSystem(name) for name in ready))


@dataclass(frozen=True, slots=True)
class PackCell(Cell):
    """A document, and what its summaries are judged by."""

    pack: JudgingPack = field(default_factory=JudgingPack)


GridItem = GridJudgment | GridPreference
GridOutcome = Outcome[GridDesign, PackCell, Any]


class GridExperiment(Experiment[GridDesign, PackCell, Any]):
    """Systems on documents, by metric and by preference."""

    name = GRID
    title = "Grid: systems on documents, by metric"
    item = "one summary, or one pair, and one judge each"

    def design(self, request: Asked) -> GridDesign:
        """Return the design: all combinations of models, strategies, sizes and limits, and existing summaries."""
        order = request.order(GridOrder)
        ready = read_existing_summaries(request.values.get("summaries", ()), request.documents)
        if not (request.writers or (ready.systems and request.judges)):
            hint = "name models with --model, or give --summaries and a --judge"
            raise UsageError("there is nothing to compare", hint=hint)
        systems = contestants(
            *(request.writers, order.strategies, order.chunk_sizes, order.word_limits or (None,)),
            ready=tuple(ready.systems),
        )
        judging = request.judging().model_copy(update={"judges": (), "base_url": None})
        return GridDesign(contestants=systems, judges=request.judges, judging=judging, ready=ready, prefer=order.prefer)

    async def cells(
        self, documents: Sequence[Document], design: GridDesign, runner: ExperimentRunner
    ) -> list[PackCell]:
        """Return the documents. Raise if nobody can summarize any, or if a judge cannot do its work."""

        def check() -> None:
            for judge in design.judges:
                prepared = prepare(documents[0], design.judge_settings(judge))
                check_judging(design.judge_spec(judge, "", {}, design.metrics), prepared, runner.store)
            settings = [design.keyed(system.settings) for system in design.contestants if system.settings is not None]
            refuse_if_none_fits(
                [partial(prepare, document, draft_config) for document in documents for draft_config in settings]
            )

        design.check(runner)
        await asyncio.to_thread(check)
        return list(map(PackCell, documents))

    async def run_cell(self, cell: PackCell, design: GridDesign, batch: RunBatch) -> tuple[PackCell, list[GridItem]]:
        """Build what summaries are judged by, draft them, and have them judged and compared."""
        document, judge, judging = cell.document, design.judges[0], design.judging
        # The first judge builds what summaries are judged by, without a query.
        settings = design.judge_settings(judge).model_copy(update={"query": None})
        parts = required_parts(design.metrics, judging)
        pack = await judging_pack(
            document,
            parts,
            judging,
            settings,
            lambda part: build_spec(part, judging, judge.name, settings, GRID),
            batch,
        )
        cell = replace(cell, pack=pack, runs=pack.runs, failures=pack.failures)
        drafts = await gather_all(_summaries(document, system, design, batch) for system in design.contestants)
        summaries = [summary for texts in drafts for summary in texts]
        judgments = await gather_all(_judgments(cell, summaries, judge, design, batch) for judge in design.judges)
        pairs = design.pairs if design.prefer else []
        preferred = await gather_all(
            _preferences(document, summaries, pairs, judge, design, batch) for judge in design.judges
        )
        items: list[GridItem] = [item for items in judgments for item in items]
        return cell, [*items, *(item for items in preferred for item in items)]

    def writers(self, design: GridDesign) -> Iterable[str]:
        """Return the models that draft."""
        return [system.model for system in design.contestants if system.settings]

    def is_some(self, outcome: GridOutcome) -> bool:
        """Return True if there is a score."""
        judgments = [item for item in outcome.items if isinstance(item, GridJudgment)]
        return any(score.score is not None for item in judgments for score in item.scores.values())

    def tables(self, outcome: GridOutcome) -> Iterator[Table]:
        """Return the tables, without those that must be empty for this outcome."""
        design, judgments = outcome.design, [item for item in outcome.items if isinstance(item, GridJudgment)]
        preferred = [item for item in outcome.items if isinstance(item, GridPreference)]
        means, judges = document_scores(judgments), [judge.name for judge in design.judges]
        systems = [system.name for system in design.contestants]
        yield self.table("scores", score_frame(judgments, design.metrics, systems, judges), outcome)
        yield self.table(
            "configurations", configuration_frame(judgments, design.metrics, design.contestants, judges), outcome
        )
        if design.pairs:
            documents = len(outcome.documents)
            yield self.table("differences", difference_frame(means, design.pairs, documents), outcome)
        if design.prefer and design.pairs:
            yield self.table("preferences", preference_frame(preferred, design.pairs, judges), outcome)
        if len(design.judges) > 1:
            yield self.table("judges", agreement_frame(judgments, preferred), outcome)
        yield self.table("summaries", summary_frame(judgments, design.metrics), outcome)

    def notes(self, outcome: GridOutcome) -> Iterable[str]:
        """Return the systems and metrics."""
        yield f"systems: {'; '.join(plain(system.name) for system in outcome.design.contestants)}"
        yield f"metrics: {', '.join(outcome.design.metrics)}"
        if strangers := outcome.design.ready.strangers:
            yield f"ready-made summaries of documents that are not part of the experiment: {strangers}"

    def headline(self, outcome: GridOutcome, tables: Mapping[str, Table]) -> Iterator[str]:
        """Return the mean scores of the first systems."""
        for record in tables["configurations"].records[:MAX_LINES]:
            scores = [f"{metric} {figure(number(record[metric]), 2)}" for metric in outcome.design.metrics]
            yield f"{plain(str(record['system']))}: {', '.join(scores)}"
        if (more := len(outcome.design.contestants) - MAX_LINES) > 0:
            yield f"and {more} more systems"


async def draft_summary(
    document: Document, contestant: str, settings: DraftConfig, experiment: str, batch: RunBatch
) -> GridSummary:
    """Draft one summary of a document for an experiment, or record why there is none."""
    batch.of += 1
    step, order = f"{DRAFTING} {contestant}", Summarize(experiment=experiment)
    outcome = await batch.run(DRAFTING, step, document, settings, order)
    runs = {DRAFTING: outcome.run} if outcome.run else {}
    summary = GridSummary(document.id, document.title, contestant, runs=runs, failure=outcome.failure)
    if (result := outcome.result) is None:
        return summary
    totals, words = await total_usage(batch.runner, [result.run.id]), result.settings.words
    return replace(summary, text=result.summary or "", limit=words, gaps=len(result.gaps), taken=totals)


async def _summaries(document: Document, system: GridSystem, design: GridDesign, batch: RunBatch) -> list[GridSummary]:
    """Return a draft or the existing summaries of the document, or a record that there is none."""
    if system.settings is not None:
        return [await draft_summary(document, system.name, design.keyed(system.settings), GRID, batch)]
    texts = design.ready.systems[system.name].get(document.id, ())
    lost = Failure("summaries", "missing", "it has no summary of this document")
    ready = [GridSummary(document.id, document.title, system.name, n, text) for n, text in enumerate(texts, 1)]
    return ready or [GridSummary(document.id, document.title, system.name, failure=lost)]


async def _judgments(
    cell: PackCell, summaries: Sequence[GridSummary], judge: NamedModel, design: GridDesign, batch: RunBatch
) -> list[GridJudgment]:
    """Return a judge's verdicts. A metric that lacks its questions or key facts has failed."""
    evaluators = metrics(design.metrics, with_rubrics(design.judging, ()))
    lost = [evaluator.name for evaluator in evaluators if evaluator.needs in cell.pack.lacking]
    scored = [name for name in design.metrics if name not in lost]
    unmeasured = GridScore("failed", reason="it could not be judged: see the failures")
    judgments, settings = [], design.judge_settings(judge)
    for summary in summaries:
        judgment = GridJudgment.of(summary, judge.name)
        judgments.append(judgment)
        if summary.text is None:
            continue
        batch.of += 1
        step = f"{JUDGING} {summary.system} by {judge.name}"
        order = design.judge_spec(judge, summary.text, cell.pack.ids, scored)
        outcome = await batch.run(JUDGING, step, cell.document, settings, order)
        runs = {**summary.runs, **({f"{JUDGING} by {judge.name}": outcome.run} if outcome.run else {})}
        judgment = replace(judgment, runs=runs, failure=outcome.failure)
        if outcome.result is not None:
            evaluations = outcome.result.evaluations
            scores = dict.fromkeys(lost if cell.pack.failures else (), unmeasured)
            scores |= {name: GridScore.of(evaluations[name]) for name in scored if name in evaluations}
            scores = {metric: scores[metric] for metric in design.metrics if metric in scores}
            judgment = replace(judgment, scores=scores)
            statistics = evaluations.get(STATISTICS)
            if statistics is not None and statistics.outcome == "measured":
                details: Mapping[str, Any] = statistics.details
                novel, repeated = (details[name][_TRIGRAMS] for name in ("novel_ngrams", "repeated_ngrams"))
                lengths = {"novel_trigrams": novel, "repeated_trigrams": repeated}
                judgment = replace(judgment, lengths={"tokens": details["summary"]["tokens"], **lengths})
        judgments[-1] = judgment
    return judgments


async def _preferences(
    document: Document,
    summaries: Sequence[GridSummary],
    pairs: Sequence[tuple[str, str]],
    judge: NamedModel,
    design: GridDesign,
    batch: RunBatch,
) -> list[GridPreference]:
    """Return a judge's preferences for each pair of contestants; of several summaries by one, the first counts."""
    texts = {summary.system: summary.text for summary in reversed(summaries)}
    preferences = []
    for first, second in pairs:
        pair = GridPreference(document.id, document.title, first, second, judge.name, made=False)
        if (first_text := texts[first]) and (second_text := texts[second]):
            batch.of += 1
            judging = with_judge(JudgeConfig(repeat=design.judging.repeat), judge.name, design.judge_settings(judge))
            order = Compare(judging=judging, given=first_text, other=second_text, experiment=GRID)
            step = f"preferences by {judge.name}"
            outcome = await batch.run("preference", step, document, design.judge_settings(judge), order, pair.label)
            pair = replace(pair, runs={step: outcome.run} if outcome.run else {}, failure=outcome.failure)
            if outcome.result is not None:
                details: Mapping[str, Any] = outcome.result.evaluations[PREFERENCE].details
                pair = replace(pair, votes=votes_of(details, ASPECTS), same=bool(details["same"]), made=True)
        preferences.append(pair)
    return preferences


EXPERIMENT = GridExperiment()
