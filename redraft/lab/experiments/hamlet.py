"""The HAMLET experiment: models answer the queries of key-fact trees, and judges check the answers (tables 4 to 8, 12 to
14, section 5.2 and appendix C)."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import combinations
from random import Random
from statistics import StatisticsError, correlation
from typing import Annotated, Any, Literal, get_args

import pandas as pd
from pydantic import Field

from redraft.agents.accounts import gather_all
from redraft.domain import Document, Evaluation, KeyFacts, Perspective, Tree, computed
from redraft.domain import Outcome as MetricOutcome
from redraft.errors import NoAnswerError, UsageError
from redraft.evaluators.consensus import total
from redraft.evaluators.faithfulness import Faithfulness
from redraft.evaluators.keyfact_recall import KeyfactRecall
from redraft.evaluators.metric_info import NONE
from redraft.evaluators.reference.keyfacts import ALL, LEVELS, ORPHANED, UNJUDGED, bin_of, share, trees_for
from redraft.lab.experiments.experiment import MAX_LINES, Cell, Experiment, Item, Outcome
from redraft.lab.experiments.frames import Frame, frame_of, groups, mean_of, share_gap, spent_each, summarize, values_of
from redraft.lab.experiments.plan import DRAFTING, JUDGING, ModelsDesign, NamedModel, check_models, with_judge
from redraft.lab.experiments.runner import RunBatch, Used, refuse_if_none_fits, run_certificate, run_usage
from redraft.report.history.certificates import Certificate
from redraft.report.tables import Table, figure, number, plain
from redraft.runs.experiment_runner import ExperimentRunner, Failure
from redraft.runs.model_pool import with_addresses
from redraft.runs.models import tokenizer_of
from redraft.runs.prepare import RunSpec, prepare
from redraft.settings import BuildKeyfacts, DraftConfig, Evaluate, JudgeConfig, ModelSettings, PerspectiveName
from redraft.text.sanitizer import one_line

KEYFACTS = "key facts"
WHOLE = "whole"
LEVEL_COLUMNS, LEVEL_KEYS = (*LEVELS, WHOLE), (*LEVELS, ALL)
"""The levels of facts and all of them together, as named in tables and in metrics."""
FIFTHS = tuple(bin_of((n + 0.5) / 5) for n in range(5))
MODELS_MEAN, ALL_MODELS = "mean of models", "all models"
_CARRIED = (*LEVELS, NONE, ALL)
_EXTRINSIC, _INTRINSIC = "out_of_article", ("relation", "entity", "sentence")
_DIMENSIONS = ("faithfulness", "objectivity", "significance", ORPHANED, UNJUDGED)
_MIN_PAIRS = 3
_METRICS = ("recall", "faithfulness")


@dataclass(frozen=True, slots=True)
class PooledShare:
    """A part of a whole; an item on which judges differ counts as a fraction."""

    part: float
    whole: int

    @computed
    def value(self) -> float | None:
        """The share by equations 1 and 2; None if the whole is zero."""
        return share(self.part, self.whole)


@dataclass(frozen=True, slots=True)
class HamletScore:
    """The result of one metric on one summary, as numbers that can be summed."""

    outcome: MetricOutcome
    score: float | None = None
    levels: Mapping[str, PooledShare] = field(default_factory=dict)
    """The shares by level of the key facts, and over all."""
    unjudged: int = 0
    errors: Mapping[str, int] = field(default_factory=dict)
    """The numbers of unfaithful sentences by error category."""


@dataclass(frozen=True, slots=True)
class HamletItem(Item):
    """One query to one model, and its results. A None field does not exist, or not yet."""

    chunk: int
    position: float
    perspective: Perspective
    query: str
    model: str
    words: int | None = None
    gaps: int = 0
    """The number of the document's chunks left out because the model could not summarize them."""
    recall: HamletScore | None = None
    faithfulness: HamletScore | None = None
    size: str = ""
    """The size of the chunks for key facts, as it was asked for."""
    second: Mapping[str, tuple[HamletScore, HamletScore]] = field(default_factory=dict)
    """Recall and faithfulness by further judges, or against the whole document, by name."""
    nothing: bool = False
    """Whether the model answered that the document does not help: recall is 0, and there is no sentence to verify."""
    taken: Used | None = None
    """The usage of drafting the answer."""

    @computed
    def bin(self) -> str:
        """The fifth of the document that the facts are in."""
        return bin_of(self.position)

    @property
    def is_made(self) -> bool:
        """Whether the answer was judged."""
        return self.faithfulness is not None

    @property
    def label(self) -> str:
        """The query and its model."""
        return f"chunk {self.chunk + 1} {self.perspective} by {self.model}"

    @property
    def by(self) -> str:
        """The model."""
        return self.model

    @property
    def verdicts(self) -> tuple[int, int]:
        """The numbers of verdicts on facts and sentences that were given, and that are missing."""
        scores = [score for score in (self.recall, self.faithfulness) if score]
        judged = sum(score.levels[ALL].whole for score in scores if ALL in score.levels)
        return judged, sum(score.unjudged for score in scores)


@dataclass(frozen=True, slots=True)
class HamletCell(Cell):
    """A document with its key facts, once they are found, for one size of chunks."""

    size: str = ""
    tokens: int = 0
    keyfacts: KeyFacts | None = None

    @property
    def key(self) -> str:
        """The size of chunks."""
        return f"chunks of {self.size}"

    def as_json(self) -> dict[str, object]:
        """Return the document with its key facts."""
        keyfacts = {"id": self.keyfacts.id, "missing": self.keyfacts.missing} if self.keyfacts else None
        return {**super(HamletCell, self).as_json(), "size": self.size, "tokens": self.tokens, "keyfacts": keyfacts}


def scores_of(evaluations: Mapping[str, Evaluation]) -> tuple[HamletScore, HamletScore]:
    """Return the results of both metrics as numbers."""
    recall, faithfulness = (evaluations[metric.name] for metric in (KeyfactRecall, Faithfulness))
    # If alignment failed, the sentences' key facts are unknown, so that there is only the overall share.
    levels = _levels(faithfulness, "faithful")
    if faithfulness.score is not None:
        levels[ALL] = PooledShare(total([round(faithfulness.score * faithfulness.judged, 9)]), faithfulness.judged)
    return _score(recall, _levels(recall, "stated")), _score(faithfulness, levels)


def _score(evaluation: Evaluation, levels: Mapping[str, PooledShare]) -> HamletScore:
    details: Mapping[str, Any] = evaluation.details
    errors = dict(details.get("errors") or {}) if evaluation.outcome == "scored" else {}
    return HamletScore(evaluation.outcome, evaluation.score, levels, evaluation.unjudged, errors)


def _levels(evaluation: Evaluation, counted: str) -> dict[str, PooledShare]:
    details: Mapping[str, Any] = evaluation.details if evaluation.outcome == "scored" else {}
    levels = details.get("by_level") or {}
    return {level: PooledShare(counts[counted], counts["judged"]) for level, counts in levels.items()}


def _abstained(item: HamletItem, tree: Tree) -> HamletItem:
    """Return the item of a model that answered NOTHING: no fact of the tree is stated, and no sentence is there."""
    levels = {level: PooledShare(0, sum(level in (fact.level, ALL) for fact in tree.kept)) for level in LEVEL_KEYS}
    recall, faithfulness = HamletScore("scored", 0.0, levels), HamletScore("not_applicable")
    return replace(item, recall=recall, faithfulness=faithfulness, words=0, failure=None, nothing=True)


Against = Literal["chunk", "document"]
FULL_TEXT = "full text"
HAMLET = "hamlet"
QUERY = "How do the people of this part of the book stand to each other, and what comes of it in the end?"
"""A placeholder as long as the queries of trees, used before there are any."""
# Rounding makes the first of two equally near trees win, whatever the last bits are.
_DECIMALS = 9


@dataclass(frozen=True, slots=True)
class HamletDesign(ModelsDesign):
    """The design of the experiment: everything but the documents and the limits."""

    validator: str | None = None
    own: Annotated[Mapping[str, ModelSettings], Field(exclude=True)] = field(default_factory=dict)
    """The validator's own settings from the settings file, by its name."""
    perspective: PerspectiveName = "both"
    queries: int | None = None
    """The number of queries about each document; None for all."""
    seed: int | None = None
    others: tuple[NamedModel, ...] = ()
    """Further judges of the same summaries by the same key facts."""
    full_text: bool = False
    """Whether faithfulness is also judged against the whole document."""
    sizes: tuple[str, ...] = (JudgeConfig().keyfact_chunks,)
    """The sizes of chunks for key facts. All tables but one are about the first."""
    overlap: int = 0

    @property
    def perspectives(self) -> tuple[Perspective, ...]:
        """The perspectives of the queries."""
        return get_args(Perspective) if self.perspective == "both" else (self.perspective,)

    def trees(self, keyfacts: KeyFacts) -> list[Tree]:
        """Return the trees whose queries are asked."""
        return sample_trees(keyfacts, self.perspectives, self.queries, self.seed)

    def answer_settings(self, model: str, query: str) -> DraftConfig:
        """Return the settings with which a model answers a query."""
        return self.writer_settings(model, query=query)

    def keyfact_spec(self, size: str) -> RunSpec:
        """Return the spec of a run that finds a document's key facts in chunks of a size."""
        judging = JudgeConfig(
            perspective=self.perspective,
            validator=self.validator,
            models=dict(self.own),
            keyfact_chunks=size,
            keyfact_overlap=self.overlap,
        )
        return RunSpec(BuildKeyfacts(judging=self._seated(judging, self.judge)), experiment=HAMLET)

    @property
    def judge_roles(self) -> dict[str, tuple[NamedModel, Against]]:
        """Who judges every summary against what, by name: first the judge of all tables, under no name."""
        found: dict[str, tuple[NamedModel, Against]] = {"": (self.judge, "chunk")}
        found |= {model.name: (model, "chunk") for model in self.others}
        everyone = (self.judge, *self.others) if self.full_text else ()
        return found | {f"{model.name}, {FULL_TEXT}": (model, "document") for model in everyone}

    def settings_for(self, judge: NamedModel, query: str | None) -> DraftConfig:
        """Return a judge's settings."""
        return self._keyed(judge, {"query": query})

    def judge_spec(self, keyfacts: str, summary: str, judge: NamedModel, against: Against) -> RunSpec:
        """Return the spec of a run in which a judge judges a summary."""
        judging = JudgeConfig(
            metrics=("keyfact_recall", "faithfulness"),
            keyfacts=keyfacts,
            perspective=self.perspective,
            evidence="whole",
            verify_against=against,
        )
        return RunSpec(Evaluate(judging=self._seated(judging, judge)), given=summary, experiment=HAMLET)

    def _seated(self, judging: JudgeConfig, judge: NamedModel) -> JudgeConfig:
        """Return the judging by a judge, with the server of every model filled in."""
        return with_addresses(
            with_judge(judging, judge.name, self.settings_for(judge, None)), self.settings_for(judge, None)
        )

    def check(self, runner: ExperimentRunner) -> None:
        """Raise if a name or a price is unknown, before anything is paid for."""
        check_models(runner, *((self.answer_settings(model.name, ""), None) for model in self.models))
        check_models(runner, (self.judge_settings(query=None), self.keyfact_spec(self.sizes[0]).judging))
        others = [(self.settings_for(model, None), self.judge_spec("", "", model, "chunk")) for model in self.others]
        check_models(runner, *((settings, order.judging) for settings, order in others))


def sample_trees(
    found: KeyFacts, perspectives: Sequence[Perspective], count: int | None = None, seed: int | None = None
) -> list[Tree]:
    """Return the trees whose queries are asked, in document order, the same for the same arguments.

    The document is cut into `count` equal stretches. Each stretch asks the query nearest to its middle, or with a
    `seed` to a random place in it; the perspectives take turns.
    """
    # Of two trees with the same query, only the first is ever used to judge.
    trees = [tree for tree in found.trees if tree.query and trees_for(found, tree.query, perspectives) == (tree,)]
    if count is None or count >= len(trees):
        return trees
    random = Random(seed)
    left = list(range(len(trees)))
    for turn in range(count):
        place = (turn + (0.5 if seed is None else random.random())) / count
        wanted = perspectives[turn % len(perspectives)]
        distances = {n: round(abs(trees[n].position - place), _DECIMALS) for n in left}
        left.remove(min(left, key=lambda n: (trees[n].perspective != wanted, distances[n], n)))
    return [tree for n, tree in enumerate(trees) if n not in left]


HamletOutcome = Outcome[HamletDesign, HamletCell, HamletItem]


class HamletExperiment(Experiment[HamletDesign, HamletCell, HamletItem]):
    """Models answer the queries of key-fact trees."""

    name = HAMLET
    title = "HAMLET: recall and faithfulness by level, perspective and position"
    item = "one query and one model each"

    async def cells(
        self, documents: Sequence[Document], design: HamletDesign, runner: ExperimentRunner
    ) -> list[HamletCell]:
        """Return each document with each size of chunks. Raise if no model can read any document, and for key facts of
        one imported size where several are wanted."""
        design.check(runner)
        drafts = [(document, model.name) for document in documents for model in design.models]
        plans = [partial(prepare, document, design.answer_settings(model, QUERY)) for document, model in drafts]
        await asyncio.to_thread(refuse_if_none_fits, plans)
        for document in documents:
            if len(design.sizes) > 1 and runner.store.keyfacts.imported(document.id) is not None:
                what = f"{document.title} has imported key facts, whose chunks have one size"
                raise UsageError(what, hint="name one size with --keyfact-chunks, or use another database")
        tokenizer, _ = tokenizer_of(design.judge_settings(query=None))
        tokens = {document.id: await asyncio.to_thread(tokenizer.count, document.text) for document in documents}
        return [HamletCell(document, size, tokens[document.id]) for document in documents for size in design.sizes]

    async def run_cell(
        self, cell: HamletCell, design: HamletDesign, batch: RunBatch
    ) -> tuple[HamletCell, list[HamletItem]]:
        """Find the key facts, imported or built, and have their queries answered and the answers judged."""
        document, store, keyfacts = (
            cell.document,
            batch.runner.store,
            batch.runner.store.keyfacts.imported(cell.document.id),
        )
        if keyfacts is None:
            judge, order = design.judge_settings(query=None), design.keyfact_spec(cell.size)
            outcome = await batch.run_part(KEYFACTS, KEYFACTS, document.title, document, judge, order)
            runs = {KEYFACTS: outcome.run} if outcome.run else {}
            cell = replace(cell, runs=runs, failures=(outcome.failure,) if outcome.failure else ())
            if outcome.result is None:
                return cell, []
            assert outcome.result.run.judging is not None
            assert outcome.result.run.judging.keyfacts is not None
            keyfacts = store.keyfacts.get(outcome.result.run.judging.keyfacts)
        queries = [(tree, model.name) for tree in design.trees(keyfacts) for model in design.models]
        batch.of += len(queries)
        place = (document.id, document.title)
        items = [
            (HamletItem(*place, tree.chunk, tree.position, tree.perspective, tree.query, model, size=cell.size), tree)
            for tree, model in queries
        ]
        work = [
            batch.run_task(
                f"{document.title}, {item.label}", partial(_answered, cell, item, tree, keyfacts, design, batch)
            )
            for item, tree in items
        ]
        return replace(cell, keyfacts=keyfacts), await gather_all(work)

    def certificates(
        self, items: Sequence[HamletItem], _: Sequence[HamletCell], runner: ExperimentRunner
    ) -> list[Certificate]:
        """Return the certificates of both metrics: one judge gives all scores, with the same prompts."""
        judged = [item for item in items if item.recall and item.faithfulness and not item.nothing]
        certificates = []
        for metric, name in zip((KeyfactRecall, Faithfulness), _METRICS, strict=True) if judged else ():
            scores: list[HamletScore] = [getattr(item, name) for item in judged]
            counts = (
                sum(score.levels[ALL].whole for score in scores if ALL in score.levels),
                sum(score.unjudged for score in scores),
            )
            run = runner.store.runs.get(judged[0].runs[JUDGING])
            certificates.append(run_certificate(runner, run, metric.name, metric.version, *counts))
        return certificates

    def writers(self, design: HamletDesign) -> Iterable[str]:
        """Return the models."""
        return [model.name for model in design.models]

    def judges(self, design: HamletDesign) -> Iterable[str]:
        """Return the judge of all tables."""
        return [design.judge.name]

    def tables(self, outcome: HamletOutcome) -> Iterator[Table]:
        """Return the tables; all but one are about the first size."""
        design, first = outcome.design, outcome.design.sizes[0]
        items = [item for item in outcome.items if item.size == first]
        facts = fact_frame(outcome.cells, design.perspectives)
        frames = {
            "summaries": summary_frame(items),
            "recall": recall_frame(items),
            "gaps": gap_frame(items),
            "faithfulness": faithfulness_frame(items),
            "errors": error_frame(items),
            "length": length_frame(items),
            "sizes": size_frame(facts[facts["size"] == first], design.perspectives),
            "pruning": pruning_frame(facts[facts["size"] == first], design.perspectives),
        }
        if len(design.judge_roles) > 1:
            frames["judges"] = judge_frame(items, design.judge.name, list(design.judge_roles))
        if len(design.sizes) > 1:
            frames["chunks"] = chunk_frame(facts, outcome.items, design.sizes)
        if len(design.models) > 1:
            frames["differences"] = difference_frame(items)
        for name, frame in frames.items():
            yield self.table(name, frame, outcome)

    def notes(self, outcome: HamletOutcome) -> Iterator[str]:
        """Return who validated key facts, and what summaries there are."""
        design, settings = outcome.design, outcome.design.models[0].settings
        yield f"key facts validated by {plain(design.validator or design.judge.name)}"
        yield f"chunks for key facts, in tokens: {', '.join(design.sizes)}"
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
        items = [item for item in outcome.items if item.size == outcome.design.sizes[0]]
        for (model,), chosen in list(groups(score_frame(items, "recall"), "model"))[:MAX_LINES]:
            sentences = score_frame([item for item in items if item.model == model], "faithfulness")
            gaps = [number(record[WHOLE]) for record in tables["gaps"].records if record["model"] == model]
            gap = max((gap for gap in gaps if gap is not None), default=None)
            yield (
                f"{plain(model)}: recall {figure(_shares(chosen, [ALL])[ALL], 2)} of {_whole(chosen):,} key facts,"
                f" faithful {figure(_shares(sentences, [ALL])[ALL], 2)} of {_whole(sentences):,} sentences, largest gap"
                f" between fifths {figure(gap, 2)}"
            )


async def _answered(
    cell: HamletCell, item: HamletItem, tree: Tree, keyfacts: KeyFacts, design: HamletDesign, batch: RunBatch
) -> HamletItem:
    """Return an item with the answer and its verdicts, as far as they could be had."""
    document, settings = cell.document, design.answer_settings(item.model, item.query)
    outcome = await batch.run_part(DRAFTING, DRAFTING, item.label, document, settings, RunSpec(experiment=HAMLET))
    taken = run_usage(batch.runner, outcome.run)
    item = replace(item, runs={DRAFTING: outcome.run} if outcome.run else {}, taken=taken, failure=outcome.failure)
    if item.failure is not None and item.failure.code == NoAnswerError.code:
        return _abstained(item, tree)
    if (answer := outcome.result) is None:
        return item
    item = replace(item, gaps=len(answer.gaps), words=answer.draft.words if answer.draft else None)
    for name, (judge, against) in design.judge_roles.items():
        order = design.judge_spec(keyfacts.id, answer.summary or "", judge, against)
        stage, settings = f"{JUDGING} by {name}" if name else JUDGING, design.settings_for(judge, item.query)
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
        reasons = [f"{one.metric}: {one_line(one.reason)}" for one in failed if one.outcome == "failed"]
        failure = Failure(JUDGING, "judging", reasons[0]) if reasons else item.failure
        item = replace(item, recall=scores[0], faithfulness=scores[1], failure=failure)
    return item


def score_frame(items: Sequence[HamletItem], metric: str) -> Frame:
    """Return the items with their results by one metric, and the parts and wholes of all levels."""
    rows = []
    names = ("document", "model", "perspective", "chunk", "query", "words", "taken", "nothing")
    for item in items:
        score = getattr(item, metric) or HamletScore("not_applicable")
        levels = score.levels if score.score is not None else {}
        row = {name: getattr(item, name) for name in names} | {"position": item.bin, "failed": item.failure is not None}
        row |= {"score": score.score, "unjudged": score.unjudged if levels else 0, "errors": score.errors}
        for level in _CARRIED:
            pooled = levels.get(level, PooledShare(0, 0))
            row |= {f"{level} part": pooled.part, f"{level} whole": pooled.whole}
        rows.append(row)
    return frame_of(rows, () if rows else (*names, "position", "failed", "score", "unjudged", "errors", f"{ALL} whole"))


def _shares(chosen: Frame, levels: Sequence[str], columns: Sequence[str] = ()) -> dict[str, float | None]:
    """Return equation 1 or 2 by level, over all facts or sentences together."""
    values = [
        share(sum(chosen[f"{level} part"]), sum(chosen[f"{level} whole"])) if len(chosen) else None for level in levels
    ]
    return dict(zip(columns or levels, values, strict=True))


def _whole(chosen: Frame) -> int:
    return int(sum(chosen[f"{ALL} whole"]))


def _counts(chosen: Frame) -> dict[str, int]:
    scored, failed = int(chosen["score"].notna().sum()), int(sum(chosen["failed"]))
    return {"items": scored, "of": len(chosen), "failed": failed, "unjudged": int(sum(chosen["unjudged"]))}


def _by_model(chosen: Frame, values: Any) -> dict[str, float | None]:
    """Return values of one model, or the means of several, each of which weighs the same."""
    rows = frame_of([values(group) for _, group in groups(chosen, "model")] or [values(chosen)])
    return {name: mean_of(rows[name]) for name in rows.columns}


def _order(frame: Frame, *, mean: bool = True) -> dict[str, list[str]]:
    """Return the perspectives and models, with `ALL` of several models."""
    models = list(frame["model"].unique())
    every = [ALL] if mean and len(models) > 1 else []
    return {"perspective": sorted(frame["perspective"].unique()), "model": [*models, *every]}


def _named(frame: Frame, name: str = MODELS_MEAN) -> Frame:
    return frame.replace({"model": {ALL: name}})


def summary_frame(items: Sequence[HamletItem]) -> Frame:
    """Return the mean recall and faithfulness of each model (table 7)."""
    rows = []
    recall, faithfulness = (score_frame(items, metric) for metric in _METRICS)
    for (model,), chosen in groups(recall, "model"):
        sentences = faithfulness[faithfulness["model"] == model]
        scores = [mean_of(frame["score"]) for frame in (chosen, sentences)]
        counts = [_counts(frame) for frame in (chosen, sentences)]
        rows.append(
            {
                "model": model,
                **dict(zip(_METRICS, scores, strict=True)),
                "mean": mean_of(scores) if None not in scores else None,
                "words": mean_of(chosen["words"]),
                **spent_each(chosen["taken"]),
                "for recall": counts[0]["items"],
                "for faithfulness": counts[1]["items"],
                "of": len(chosen),
                "failed": counts[0]["failed"],
                "unjudged": counts[0]["unjudged"] + counts[1]["unjudged"],
                "nothing": int(sum(chosen["nothing"])),
            }
        )
    return frame_of(rows, () if rows else ("model", *_METRICS, "tokens each", "USD each"))


def recall_frame(items: Sequence[HamletItem]) -> Frame:
    """Return recall by perspective, model, position and level (table 13)."""
    frame = score_frame(items, "recall")

    def row(chosen: Frame) -> dict[str, object]:
        shares = _by_model(chosen, lambda group: _shares(group, LEVEL_KEYS, LEVEL_COLUMNS))
        return {**shares, "facts": _whole(chosen), **_counts(chosen)}

    return _named(summarize(frame, {**_order(frame), "position": [*FIFTHS, ALL]}, row))


def _gap(chosen: Frame) -> dict[str, float | None]:
    """Return by level the recall of the best fifth minus that of the worst."""
    fifths = frame_of(_shares(chosen[chosen["position"] == fifth], LEVEL_KEYS, LEVEL_COLUMNS) for fifth in FIFTHS)
    known = {level: values_of(fifths[level]) for level in LEVEL_COLUMNS}
    return {level: max(values) - min(values) if len(values) > 1 else None for level, values in known.items()}


def gap_frame(items: Sequence[HamletItem]) -> Frame:
    """Return the gaps between positions (table 4)."""
    frame = score_frame(items, "recall")
    return _named(summarize(frame, _order(frame), lambda chosen: {**_by_model(chosen, _gap), **_counts(chosen)}))


def faithfulness_frame(items: Sequence[HamletItem]) -> Frame:
    """Return faithfulness by the level of the facts in a sentence (table 5)."""
    frame = score_frame(items, "faithfulness")

    def row(chosen: Frame) -> dict[str, object]:
        shares = _by_model(chosen, lambda group: _shares(group, _CARRIED))
        return {**shares, "sentences": _whole(chosen), **_counts(chosen)}

    return _named(summarize(frame, _order(frame), row))


def error_frame(items: Sequence[HamletItem]) -> Frame:
    """Return the kinds of unfaithful sentences of each model, pooled, and as the mean of models (tables 12 and 14)."""
    frame = score_frame(items, "faithfulness")
    models = list(frame["model"].unique())
    rows: list[dict[str, object]] = []
    for model in [*models, *([ALL] if len(models) > 1 else [])]:
        chosen = frame if model == ALL else frame[frame["model"] == model]
        errors = (
            sum((Counter(errors) for errors in chosen["errors"]), Counter[str]())
            if chosen["score"].notna().any()
            else None
        )
        rows += [
            {"model": ALL_MODELS if model == ALL else model, **row, **_counts(chosen)} for row in _error_rows(errors)
        ]
    table = frame_of(rows, () if rows else ("model", "error", "of all errors"))
    if len(models) > 1:
        for (error,), same in groups(table[table["model"] != ALL_MODELS], "error"):
            means = {name: mean_of(same[name]) for name in ("of all errors", "of intrinsic errors")}
            if len(same) == len(models):
                rows.append({"model": MODELS_MEAN, "error": error, "sentences": None, **means, **_counts(frame)})
    return frame_of(rows) if rows else table


def _error_rows(errors: Counter[str] | None) -> Iterator[dict[str, object]]:
    """Yield each kind of error with its share; without numbers where nothing was judged."""
    counts = errors or Counter[str]()
    every, intrinsic = counts.total(), sum(counts[kind] for kind in _INTRINSIC)
    kinds = {"extrinsic": counts[_EXTRINSIC], "intrinsic": intrinsic}
    kinds |= {f"intrinsic: {kind}": counts[kind] for kind in _INTRINSIC}
    kinds |= {"judges disagree": disputed} if (disputed := every - intrinsic - counts[_EXTRINSIC]) else {}
    for kind, found in kinds.items():
        inside = share(found, intrinsic) if kind.startswith("intrinsic") else None
        shares = {"sentences": found, "of all errors": share(found, every), "of intrinsic errors": inside}
        yield {"error": kind, **(shares if errors is not None else dict.fromkeys(shares))}


def length_frame(items: Sequence[HamletItem]) -> Frame:
    """Return the correlation of summary length and recall by level (section 5.2)."""
    frame = score_frame(items, "recall")
    models = list(frame["model"].unique())
    rows = []
    for model in [ALL, *(models if len(models) > 1 else [])]:
        chosen = frame if model == ALL else frame[frame["model"] == model]
        for column, level in zip(LEVEL_COLUMNS, LEVEL_KEYS, strict=True) if len(chosen) else ():
            known = chosen[chosen["words"].notna() & (chosen[f"{level} whole"] > 0)]
            recalls = list(known[f"{level} part"] / known[f"{level} whole"])
            value, why = _correlation(list(known["words"]), recalls)
            rows.append(
                {
                    "model": ALL_MODELS if model == ALL else model,
                    "level": column,
                    "correlation": value,
                    "note": why,
                    "summaries": len(known),
                    **_counts(chosen),
                }
            )
    return frame_of(rows, () if rows else ("model", "level", "correlation"))


def _correlation(lengths: Sequence[float], recalls: Sequence[float]) -> tuple[float | None, str]:
    """Return Pearson's coefficient, or why there is none."""
    if len(lengths) < _MIN_PAIRS:
        return None, f"n/a: fewer than {_MIN_PAIRS} summaries"
    try:
        return correlation(lengths, recalls), ""
    except StatisticsError:
        return None, f"n/a: all {'lengths' if len(set(lengths)) == 1 else 'recalls'} are the same"


def difference_frame(items: Sequence[HamletItem]) -> Frame:
    """Return the differences between models by level, over the queries for which both have a score (table 6)."""
    rows = []
    for metric, levels in zip(_METRICS, (LEVEL_KEYS, _CARRIED), strict=True):
        frame = score_frame(
            [item for item in items if (getattr(item, metric) or HamletScore("failed")).score is not None], metric
        )
        for first, second in combinations(dict.fromkeys(item.model for item in items), 2):
            sides = [frame[frame["model"] == model] for model in (first, second)]
            pairs = sides[0].merge(sides[1], on=["document", "chunk", "perspective", "query"])
            for level in levels:
                names = [f"{level} {part}_{side}" for side in "xy" for part in ("part", "whole")]
                columns = pairs.reindex(columns=["document", *names]).to_numpy().tolist()
                gap = share_gap(columns, "queries")
                rows.append({"first": first, "second": second, "metric": metric, "level": level, **gap})
    models = list(dict.fromkeys(item.model for item in items))
    places = {pair: place for place, pair in enumerate(combinations(models, 2))}
    return frame_of(sorted(rows, key=lambda row: places[row["first"], row["second"]]))


def fact_frame(cells: Sequence[HamletCell], perspectives: Sequence[Perspective]) -> Frame:
    """Return a row for each key fact, and one without a level for each tree."""
    rows: list[dict[str, object]] = []
    for cell in cells:
        for tree in cell.keyfacts.trees if cell.keyfacts else ():
            if tree.perspective not in perspectives:
                continue
            head = {"size": cell.size, "document": cell.document.title, "perspective": tree.perspective}
            head |= {"tokens": cell.tokens, "id": cell.document.id}
            rows.append({**head, "query": bool(tree.query), "level": None, "kept": False})
            for fact in tree.facts:
                reasons = {objection.dimension for objection in fact.objections}
                failed = {dimension: dimension in reasons for dimension in _DIMENSIONS}
                rows.append({**head, "query": False, "level": fact.level, "kept": fact.kept, **failed})
    columns = ("size", "document", "perspective", "tokens", "id", "query", "level", "kept", *_DIMENSIONS)
    return frame_of(rows, columns)


def _sizes(chosen: Frame) -> dict[str, int]:
    facts = chosen[chosen["level"].notna()]
    kept = Counter(facts[facts["kept"].astype(bool)]["level"])
    return {
        "trees": len(chosen) - len(facts),
        "queries": int(sum(chosen["query"])),
        **{level: kept[level] for level in LEVELS},
        "facts": kept.total(),
        "unjudged": int(sum(facts[UNJUDGED])),
    }


def size_frame(facts: Frame, perspectives: Sequence[Perspective]) -> Frame:
    """Return the tokens, trees and kept facts of each document (table 8)."""
    documents = [(title, group) for (_, title), group in groups(facts, "id", "document")]
    tokens = [int(group["tokens"].iloc[0]) for _, group in documents]
    rows: list[dict[str, object]] = [
        {
            "document": title,
            "perspective": perspective,
            "tokens": count,
            **_sizes(group[group["perspective"] == perspective]),
        }
        for (title, group), count in zip(documents, tokens, strict=True)
        for perspective in perspectives
    ]
    for perspective in perspectives if len(documents) > 1 else ():
        total = {"tokens": sum(tokens), **_sizes(facts[facts["perspective"] == perspective])}
        rows.append({"document": "total", "perspective": perspective, **total})
        means = {name: count / len(documents) for name, count in total.items()}
        rows.append({"document": "mean", "perspective": perspective, **means})
    return frame_of(rows, () if rows else ("document", "perspective", "tokens", "trees"))


def pruning_frame(facts: Frame, perspectives: Sequence[Perspective]) -> Frame:
    """Return how many facts did not pass validation, and why (appendix C)."""

    def row(chosen: Frame) -> dict[str, object]:
        found = chosen[chosen["level"].notna()]
        pruned = len(found) - int(sum(found["kept"]))
        reasons = {dimension: int(sum(found[dimension])) for dimension in _DIMENSIONS}
        return {"found": len(found), "pruned": pruned, "share": share(pruned, len(found)), **reasons}

    both = [ALL] if len(perspectives) > 1 else []
    table = summarize(facts, {"perspective": [*perspectives, *both], "level": LEVEL_KEYS}, row)
    return table.replace({"perspective": {ALL: "both"}})


def judge_frame(items: Sequence[HamletItem], judge: str, names: Sequence[str]) -> Frame:
    """Return the mean scores by each judge, over the summaries that all have judged (table 3, without people)."""
    scores = frame_of(
        {
            (name, metric): score and score.score
            for name, both in {"": (item.recall, item.faithfulness), **item.second}.items()
            for metric, score in zip(_METRICS, both, strict=True)
        }
        for item in items
    )
    columns = [(name, metric) for name in names for metric in _METRICS]
    whole = scores.reindex(columns=pd.Index(columns, tupleize_cols=False)).dropna()
    rows = []
    for name in names:
        full = name.endswith(f", {FULL_TEXT}")
        who = name.removesuffix(f", {FULL_TEXT}") or judge
        means = {metric: mean_of(whole[(name, metric)]) for metric in _METRICS}
        counts = {"summaries": len(whole), "of": len(items)}
        rows.append({"judge": who, "reference": FULL_TEXT if full else "chunk", **means, **counts})
    return frame_of(rows)


def chunk_frame(facts: Frame, items: Sequence[HamletItem], sizes: Sequence[str]) -> Frame:
    """Return the key facts of each size of chunks, and what recall and faithfulness come of them."""
    rows = []
    for size in sizes:
        found = facts[(facts["size"] == size) & facts["level"].notna()]
        recall, sentences = (score_frame([item for item in items if item.size == size], metric) for metric in _METRICS)
        kept = int(sum(found["kept"]))
        rows.append(
            {
                "size": size,
                "trees": int((facts["size"] == size).sum()) - len(found),
                "facts": kept,
                "pruned": share(len(found) - kept, len(found)),
                **_shares(recall, LEVEL_KEYS, [f"recall {column}" for column in LEVEL_COLUMNS]),
                "faithfulness": _shares(sentences, [ALL])[ALL],
                "gap": mean_of(_gap(group)[WHOLE] for _, group in groups(recall, "model")),
                **_counts(recall),
            }
        )
    return frame_of(rows)


EXPERIMENT = HamletExperiment()
