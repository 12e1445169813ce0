"""The HAMLET experiment: models answer the queries of key-fact trees, and judges check the answers (tables 3 to 8, 12
to 14, section 5.2, appendix C)."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from random import Random
from typing import Any, Literal, get_args

from pydantic import Field

from redraft.agents.judge import gather_all
from redraft.domain import Document, Evaluation, KeyFacts, Perspective, Tree
from redraft.errors import NoAnswerError, Set, UsageError
from redraft.evaluators.base import Evaluator
from redraft.evaluators.faithfulness import Faithfulness
from redraft.evaluators.figures import total
from redraft.evaluators.keyfact_recall import KeyfactRecall
from redraft.evaluators.reference.keyfacts import ALL, trees_for
from redraft.lab.experiments.experiment import MAX_LINES, Experiment, Outcome
from redraft.lab.experiments.frames import groups
from redraft.lab.experiments.hamlet_frames import (
    FULL_TEXT,
    LEVEL_KEYS,
    METRICS,
    WHOLE,
    HamletCell,
    HamletItem,
    HamletScore,
    PooledShare,
    difference_frame,
    error_frame,
    fact_frame,
    faithfulness_frame,
    gap_frame,
    judge_frame,
    length_frame,
    pooled_shares,
    pruning_frame,
    recall_frame,
    score_frame,
    size_frame,
    summary_frame,
)
from redraft.lab.experiments.orders import Asked, HamletOrder, ModelsDesign, NamedModel
from redraft.lab.experiments.plan import DRAFTING, JUDGING, check_models, with_judge
from redraft.lab.experiments.runner import Certificate, RunBatch, refuse_if_none_fits, run_certificate, total_usage
from redraft.order import BuildKeyfacts, Evaluate, Order, Summarize
from redraft.report.tables import Table, figure, number, plain
from redraft.runs.experiment_runner import ExperimentRunner, Failure
from redraft.runs.models import tokenizer_of, with_addresses
from redraft.runs.prepare import prepare
from redraft.settings import JudgeConfig, ModelSettings
from redraft.text.sanitizer import one_line

KEYFACTS = "key facts"


def scores_of(evaluations: Mapping[str, Evaluation]) -> tuple[HamletScore, HamletScore]:
    """Return the results of both metrics as numbers."""
    scores: list[HamletScore] = []
    for name, counted in ((KeyfactRecall.name, "stated"), (Faithfulness.name, "faithful")):
        evaluation = evaluations[name]
        details: Mapping[str, Any] = evaluation.details if evaluation.outcome == "scored" else {}
        by_level = details.get("by_level") or {}
        levels = {level: PooledShare(counts[counted], counts["judged"]) for level, counts in by_level.items()}
        # If alignment failed, the sentences' key facts are unknown, so that there is only the overall share.
        if name == Faithfulness.name and evaluation.score is not None:
            faithful = total([round(evaluation.score * evaluation.judged, 9)])
            levels[ALL] = PooledShare(faithful, evaluation.judged)
        errors = dict(details.get("errors") or {})
        scores.append(HamletScore(evaluation.outcome, evaluation.score, levels, evaluation.unjudged, errors))
    recall, faithfulness = scores
    return recall, faithfulness


Against = Literal["chunk", "document"]
HAMLET = "hamlet"
QUERY = "How do the people of this part of the book stand to each other, and what comes of it in the end?"
"""A placeholder as long as the queries of trees, used before there are any."""
# Rounding makes the first of two equally near trees win, whatever the last bits are.
_DECIMALS = 9


class HamletDesign(HamletOrder, ModelsDesign):
    """The design of the experiment: everything but the documents and the limits."""

    own: dict[str, ModelSettings] = Field(default={}, exclude=True)
    """The validator's own settings from the settings file, by its name."""
    others: tuple[NamedModel, ...] = ()
    """Further judges of the same summaries by the same key facts."""

    @property
    def perspectives(self) -> tuple[Perspective, ...]:
        """The perspectives of the queries."""
        return get_args(Perspective) if self.perspective == "both" else (self.perspective,)

    def keyfact_spec(self) -> Order:
        """Return the spec of a run that finds a document's key facts."""
        judging = JudgeConfig(
            perspective=self.perspective,
            validator=self.validator,
            models=dict(self.own),
            keyfact_chunks=self.keyfact_chunks,
            keyfact_overlap=self.keyfact_overlap,
        )
        return BuildKeyfacts(judging=self._seated(judging, self.judge), experiment=HAMLET)

    @property
    def judge_roles(self) -> dict[str, tuple[NamedModel, Against]]:
        """Who judges every summary against what, by name: first the judge of all tables, under no name."""
        roles: dict[str, tuple[NamedModel, Against]] = {"": (self.judge, "chunk")}
        roles |= {model.name: (model, "chunk") for model in self.others}
        full_text_judges = (self.judge, *self.others) if self.full_text else ()
        return roles | {f"{model.name}, {FULL_TEXT}": (model, "document") for model in full_text_judges}

    def judge_spec(self, keyfacts: str, summary: str, judge: NamedModel, against: Against) -> Order:
        """Return the spec of a run in which a judge judges a summary."""
        judging = JudgeConfig(
            metrics=("keyfact_recall", "faithfulness"),
            keyfacts=keyfacts,
            perspective=self.perspective,
            evidence="whole",
            verify_against=against,
        )
        return Evaluate(judging=self._seated(judging, judge), given=summary, experiment=HAMLET)

    def _seated(self, judging: JudgeConfig, judge: NamedModel) -> JudgeConfig:
        """Return the judging by a judge, with the server of every model filled in."""
        settings = self.keyed(judge, {"query": None})
        return with_addresses(with_judge(judging, judge.name, settings), settings)

    def check(self, runner: ExperimentRunner) -> None:
        """Raise if a name or a price is unknown, before anything is paid for."""
        check_models(runner, *((self.writer_settings(model.name, query=""), None) for model in self.models))
        check_models(runner, (self.judge_settings(query=None), self.keyfact_spec().judging))
        other_judges = [
            (self.keyed(model, {"query": None}), self.judge_spec("", "", model, "chunk")) for model in self.others
        ]
        check_models(runner, *((settings, order.judging) for settings, order in other_judges))


def sample_trees(
    keyfacts: KeyFacts, perspectives: Sequence[Perspective], count: int | None = None, seed: int | None = None
) -> list[Tree]:
    """Return the trees whose queries are asked, in document order, the same for the same arguments.

    The document is cut into `count` equal stretches. Each stretch asks the query nearest to its middle, or with a
    `seed` to a random place in it; the perspectives take turns.
    """
    # Of two trees with the same query, only the first is ever used to judge.
    trees = [tree for tree in keyfacts.trees if tree.query and trees_for(keyfacts, tree.query, perspectives) == (tree,)]
    if count is None or count >= len(trees):
        return trees
    random = Random(seed)
    remaining = list(range(len(trees)))
    for turn in range(count):
        place = (turn + (0.5 if seed is None else random.random())) / count
        perspective = perspectives[turn % len(perspectives)]
        distances = {n: round(abs(trees[n].position - place), _DECIMALS) for n in remaining}
        remaining.remove(min(remaining, key=lambda n: (trees[n].perspective != perspective, distances[n], n)))
    return [tree for n, tree in enumerate(trees) if n not in remaining]


HamletOutcome = Outcome[HamletDesign, HamletCell, HamletItem]


class HamletExperiment(Experiment[HamletDesign, HamletCell, HamletItem]):
    """Models answer the queries of key-fact trees."""

    name = HAMLET
    title = "HAMLET: recall and faithfulness by level, perspective and position"
    item = "one query and one model each"

    def design(self, request: Asked) -> HamletDesign:
        """Return the design that was asked for: the first judge finds the key facts and gives the scores of tables."""
        if not request.writers or not request.judges:
            raise UsageError("no model takes part", fix=("name one with ", Set("model")))
        judge, *other_judges = request.judges
        fields = request.fields(HamletOrder)
        tables = {name: settings for name, settings in request.own.items() if name == fields.get("validator")}
        return HamletDesign(models=request.writers, judge=judge, others=tuple(other_judges), own=tables, **fields)

    async def cells(
        self, documents: Sequence[Document], design: HamletDesign, runner: ExperimentRunner
    ) -> list[HamletCell]:
        """Return the documents. Raise if no model can read any of them."""
        design.check(runner)
        drafts = [(document, model.name) for document in documents for model in design.models]
        plans = [partial(prepare, document, design.writer_settings(model, query=QUERY)) for document, model in drafts]
        await asyncio.to_thread(refuse_if_none_fits, plans)
        tokenizer, _ = tokenizer_of(design.judge_settings(query=None))
        tokens = [await asyncio.to_thread(tokenizer.count, document.text) for document in documents]
        return [HamletCell(document, tokens=count) for document, count in zip(documents, tokens, strict=True)]

    async def run_cell(
        self, cell: HamletCell, design: HamletDesign, batch: RunBatch
    ) -> tuple[HamletCell, list[HamletItem]]:
        """Find the key facts, imported or built, and have their queries answered and the answers judged."""
        document, store = cell.document, batch.runner.store
        keyfacts = store.keyfacts.imported(document.id)
        if keyfacts is None:
            judge, order = design.judge_settings(query=None), design.keyfact_spec()
            outcome = await batch.run_part(KEYFACTS, KEYFACTS, document.title, document, judge, order)
            runs = {KEYFACTS: outcome.run} if outcome.run else {}
            cell = replace(cell, runs=runs, failures=(outcome.failure,) if outcome.failure else ())
            if outcome.result is None:
                return cell, []
            assert outcome.result.run.judging is not None
            assert outcome.result.run.judging.keyfacts is not None
            keyfacts = store.keyfacts.get(outcome.result.run.judging.keyfacts)
        trees = sample_trees(keyfacts, design.perspectives, design.queries, design.seed)
        queries = [(tree, model.name) for tree in trees for model in design.models]
        batch.of += len(queries)
        place = (document.id, document.title)
        items = [
            (HamletItem(*place, tree.chunk, tree.position, tree.perspective, tree.query, model), tree)
            for tree, model in queries
        ]
        answers = [
            (f"{document.title}, {item.label}", partial(_answered, cell, item, tree, keyfacts, design, batch))
            for item, tree in items
        ]
        return replace(cell, keyfacts=keyfacts), await gather_all(batch.run_task(*answer) for answer in answers)

    def certificates(
        self, items: Sequence[HamletItem], _: Sequence[HamletCell], runner: ExperimentRunner
    ) -> list[Certificate]:
        """Return the certificates of both metrics: one judge gives all scores, with the same prompts."""
        judged_items = [item for item in items if item.recall and item.faithfulness and not item.nothing]
        certificates = []
        evaluators: tuple[type[Evaluator], ...] = (KeyfactRecall, Faithfulness)
        for metric, name in zip(evaluators, METRICS, strict=True) if judged_items else ():
            scores: list[HamletScore] = [getattr(item, name) for item in judged_items]
            counts = (
                sum(score.levels[ALL].whole for score in scores if ALL in score.levels),
                sum(score.unjudged for score in scores),
            )
            run = runner.store.runs.get(judged_items[0].runs[JUDGING])
            certificates.append(run_certificate(run, metric.name, metric.version, *counts))
        return certificates

    def tables(self, outcome: HamletOutcome) -> Iterator[Table]:
        """Return the tables."""
        design, items = outcome.design, outcome.items
        facts = fact_frame(outcome.cells, design.perspectives)
        frames = {
            "summaries": summary_frame(items),
            "recall": recall_frame(items),
            "gaps": gap_frame(items),
            "faithfulness": faithfulness_frame(items),
            "errors": error_frame(items),
            "length": length_frame(items),
            "sizes": size_frame(facts, design.perspectives),
            "pruning": pruning_frame(facts, design.perspectives),
        }
        if len(design.judge_roles) > 1:
            frames["judges"] = judge_frame(items, design.judge.name, list(design.judge_roles))
        if len(design.models) > 1:
            frames["differences"] = difference_frame(items)
        for name, frame in frames.items():
            yield self.table(name, frame, outcome)

    def notes(self, outcome: HamletOutcome) -> Iterator[str]:
        """Return who validated key facts, and what summaries there are."""
        design, settings = outcome.design, outcome.design.models[0].settings
        yield f"key facts validated by {plain(design.validator or design.judge.name)}"
        yield f"chunks for key facts, in tokens: {design.keyfact_chunks}"
        limit = f"at most {settings.words} words" if settings.words else "as long as suits the document"
        yield f"summaries: {settings.strategy}, {limit}, each of the whole document and answering one query"
        if lost := sum(cell.keyfacts is None for cell in outcome.cells):
            yield f"documents without key facts, and so without items: {lost} of {len(outcome.cells)}"
        if gaps := sum(item.gaps > 0 for item in outcome.items):
            yield f"summaries that leave out chunks the model could not summarize: {gaps}"
        if nothing := sum(item.nothing for item in outcome.items):
            yield f"answers of NOTHING: {nothing}"

    def headline(self, outcome: HamletOutcome, tables: Mapping[str, Table]) -> Iterator[str]:
        """Return the pooled shares of each model, and its largest gap."""
        items = outcome.items
        for (model,), chosen in list(groups(score_frame(items, "recall"), "model"))[:MAX_LINES]:
            sentences = score_frame([item for item in items if item.model == model], "faithfulness")
            gaps = [number(record[WHOLE]) for record in tables["gaps"].records if record["model"] == model]
            gap = max((gap for gap in gaps if gap is not None), default=None)
            stated, faithful = (figure(pooled_shares(frame, [ALL])[ALL], 2) for frame in (chosen, sentences))
            facts, judged = (int(sum(frame[f"{ALL} whole"])) for frame in (chosen, sentences))
            yield (
                f"{plain(model)}: recall {stated} of {facts:,} key facts, faithful {faithful} of"
                f" {judged:,} sentences, largest gap between fifths {figure(gap, 2)}"
            )


async def _answered(
    cell: HamletCell, item: HamletItem, tree: Tree, keyfacts: KeyFacts, design: HamletDesign, batch: RunBatch
) -> HamletItem:
    """Return an item with the answer and its verdicts, as far as they could be had."""
    document, settings = cell.document, design.writer_settings(item.model, query=item.query)
    outcome = await batch.run_part(DRAFTING, DRAFTING, item.label, document, settings, Summarize(experiment=HAMLET))
    usage = await total_usage(batch.runner, [outcome.run]) if outcome.run else None
    item = replace(item, runs={DRAFTING: outcome.run} if outcome.run else {}, taken=usage, failure=outcome.failure)
    if item.failure is not None and item.failure.code == NoAnswerError.code:
        levels = {level: PooledShare(0, sum(level in (fact.level, ALL) for fact in tree.kept)) for level in LEVEL_KEYS}
        recall, faithfulness = HamletScore("scored", 0.0, levels), HamletScore("not_applicable")
        return replace(item, recall=recall, faithfulness=faithfulness, words=0, failure=None, nothing=True)
    if (answer := outcome.result) is None:
        return item
    item = replace(item, gaps=len(answer.gaps), words=answer.draft.words if answer.draft else None)
    for name, (judge, against) in design.judge_roles.items():
        order = design.judge_spec(keyfacts.id, answer.summary or "", judge, against)
        stage, settings = f"{JUDGING} by {name}" if name else JUDGING, design.keyed(judge, {"query": item.query})
        outcome = await batch.run_part(JUDGING, f"{stage} {item.model}", item.label, document, settings, order)
        runs = {**item.runs, **({stage: outcome.run} if outcome.run else {})}
        item = replace(item, runs=runs, failure=outcome.failure or item.failure)
        if outcome.result is None:
            return item
        scores, evaluations = scores_of(outcome.result.evaluations), outcome.result.evaluations
        if name:
            item = replace(item, second={**item.second, name: scores})
            continue
        failed = [evaluations[metric.name] for metric in (KeyfactRecall, Faithfulness)]
        reasons = [
            f"{evaluation.metric}: {one_line(evaluation.reason)}"
            for evaluation in failed
            if evaluation.outcome == "failed"
        ]
        failure = Failure(JUDGING, "judging", reasons[0]) if reasons else item.failure
        item = replace(item, recall=scores[0], faithfulness=scores[1], failure=failure)
    return item


EXPERIMENT = HamletExperiment()
