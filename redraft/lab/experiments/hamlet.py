"""The HAMLET experiment: models answer the queries of key-fact trees, and judges check the answers (tables 3 to 8, 12
to 14, section 5.2, appendix C)."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import combinations, product
from statistics import correlation
from typing import Annotated, Any, Literal, get_args

import pandas as pd
from pydantic import Field, PlainSerializer, SerializerFunctionWrapHandler, model_serializer

from redraft.agents.judge import gather_all
from redraft.domain import Document, Evaluation, KeyFacts, Perspective, Tree, computed
from redraft.domain import Outcome as MetricOutcome
from redraft.errors import NoAnswerError, Set, UsageError
from redraft.evaluators.base import Evaluator, bin_of
from redraft.evaluators.factual import Faithfulness, KeyfactRecall
from redraft.evaluators.metric_info import NONE
from redraft.evaluators.reference.keyfacts import ALL, LEVELS, ORPHANED, UNJUDGED, share, trees_for
from redraft.evaluators.statistics import total
from redraft.graphs.prepared import tokenizer_of
from redraft.lab.experiments import frames
from redraft.lab.experiments.experiment import MAX_LINES, Experiment, JudgedPart, NamedFrame, Outcome
from redraft.lab.experiments.frames import Frame
from redraft.lab.experiments.orders import Asked, HamletOrder, NamedModel, Seats
from redraft.lab.experiments.runner import DRAFTING, JUDGING, Cell, Item, RunBatch, Used, check_work
from redraft.order import Evaluate, Summarize
from redraft.report.tables import Table, figure, number, plain
from redraft.runs.experiment_runner import ExperimentRunner, Failure
from redraft.runs.prepare import prepare
from redraft.settings import JudgeConfig
from redraft.text.sanitizer import one_line

WHOLE, FULL_TEXT = "whole", "full text"
LEVEL_COLUMNS, LEVEL_KEYS = (*LEVELS, WHOLE), (*LEVELS, ALL)
"""The levels of facts and all of them together, as named in tables and in metrics."""
FIFTHS = tuple(bin_of((n + 0.5) / 5) for n in range(5))
MODELS_MEAN, ALL_MODELS = "mean of models", "all models"
METRICS = ("recall", "faithfulness")
_JUDGED = (KeyfactRecall.name, Faithfulness.name)
_OF_KEYFACTS = ("validator", "perspective", "keyfact_chunks", "keyfact_overlap")
"""The settings that say how key facts are found."""
_CARRIED = (*LEVELS, NONE, ALL)
_EXTRINSIC, _INTRINSIC = "out_of_article", ("relation", "entity", "sentence")
_DIMENSIONS = ("faithfulness", "objectivity", "significance", ORPHANED, UNJUDGED)
_MIN_PAIRS = 3


Pooled = tuple[float, int]
"""A part of a whole; an item on which judges differ counts as a fraction."""
_PLACE = ("chunk", "position", "perspective", "query")
# Their JSON has the shares by equations 1 and 2, too.
_IN_ITEMS = PlainSerializer(
    lambda levels: {
        level: {"part": float(part), "whole": whole, "value": share(part, whole)}
        for level, (part, whole) in levels.items()
    }
)


@dataclass(frozen=True, slots=True)
class HamletScore:
    """The result of one metric on one summary, as numbers that can be summed."""

    outcome: MetricOutcome
    score: float | None = None
    levels: Annotated[Mapping[str, Pooled], _IN_ITEMS] = field(default_factory=dict)
    """The shares by level of the key facts, and over all."""
    unjudged: int = 0
    errors: Mapping[str, int] = field(default_factory=dict)
    """The numbers of unfaithful sentences by error category."""

    @property
    def judged(self) -> int:
        """The number of facts or sentences with a verdict."""
        return self.levels[ALL][1] if ALL in self.levels else 0


@dataclass(frozen=True, slots=True)
class HamletItem(Item, by="{0.model}", made="faithfulness"):
    """The query of a tree to one model, and its results. A None field does not exist, or not yet."""

    tree: Annotated[Tree, PlainSerializer(lambda tree: {name: getattr(tree, name) for name in _PLACE})]
    model: str
    words: int | None = None
    gaps: int = 0
    """The number of the document's chunks left out because the model could not summarize them."""
    recall: HamletScore | None = None
    faithfulness: HamletScore | None = None
    second: Mapping[str, tuple[HamletScore, HamletScore]] = field(default_factory=dict)
    """Recall and faithfulness by further judges, or against the whole document, by name."""
    nothing: bool = False
    """Whether the model answered that the document does not help: recall is 0, and there is no sentence to verify."""
    taken: Used | None = None
    """The usage of drafting the answer."""

    @model_serializer(mode="wrap")
    def _flat(self, serialized: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Return its JSON, in which the place and the query of the tree are fields of their own."""
        fields: dict[str, Any] = {}
        for name, value in serialized(self).items():
            fields |= value if name == "tree" else {name: value}
        return fields

    @computed
    def bin(self) -> str:
        """The fifth of the document that the facts are in."""
        return bin_of(self.tree.position)

    @property
    def label(self) -> str:
        """The query and its model."""
        return f"chunk {self.tree.chunk + 1} {self.tree.perspective} by {self.model}"

    @property
    def verdicts(self) -> tuple[int, int]:
        """The numbers of verdicts on facts and sentences that were given, and that are missing."""
        scores = [score for score in (self.recall, self.faithfulness) if score]
        return sum(score.judged for score in scores), sum(score.unjudged for score in scores)


@dataclass(frozen=True, slots=True)
class HamletCell(Cell):
    """A document with its key facts, once they are found."""

    tokens: int = 0
    keyfacts: KeyFacts | None = None


def score_frame(items: Sequence[HamletItem], metric: str) -> Frame:
    """Return the items with their results by one metric, and the parts and wholes of all levels."""
    rows = []
    names = ("document", "model", "words", "taken", "nothing")
    for item in items:
        score = getattr(item, metric) or HamletScore("not_applicable")
        levels = score.levels if score.score is not None else {}
        row = {name: getattr(item, name) for name in names} | {name: getattr(item.tree, name) for name in _PLACE}
        row |= {"position": item.bin, "failed": item.failure is not None}
        row |= {"score": score.score, "unjudged": score.unjudged if levels else 0, "errors": score.errors}
        for level in _CARRIED:
            row[f"{level} part"], row[f"{level} whole"] = levels.get(level, (0, 0))
        rows.append(row)
    figures = ("failed", "score", "unjudged", "errors", f"{ALL} whole")
    return frames.frame_of(rows, () if rows else (*names, *_PLACE, *figures))


def pooled_shares(rows: Frame, levels: Sequence[str], columns: Sequence[str] = ()) -> dict[str, float | None]:
    """Return equation 1 or 2 by level, over all facts or sentences together."""
    values = [share(sum(rows[f"{level} part"]), sum(rows[f"{level} whole"])) if len(rows) else None for level in levels]
    return dict(zip(columns or levels, values, strict=True))


def _counts(chosen: Frame) -> dict[str, int]:
    scored, failed = int(chosen["score"].notna().sum()), int(sum(chosen["failed"]))
    return {"items": scored, "of": len(chosen), "failed": failed, "unjudged": int(sum(chosen["unjudged"]))}


def _summarized(
    frame: Frame, by: Mapping[str, Sequence[str]], values: Callable[[Frame], dict[str, float | None]], unit: str = ""
) -> Frame:
    """Return a row for each perspective and model, and for the mean of several models, each of which weighs the same,
    by further columns; with a unit, also the number of facts or sentences."""

    def row(chosen: Frame) -> dict[str, object]:
        rows = frames.frame_of([values(group) for _, group in frames.groups(chosen, "model")] or [values(chosen)])
        means = {name: frames.mean_of(rows[name]) for name in rows.columns}
        units = {unit: int(sum(chosen[f"{ALL} whole"]))} if unit else {}
        return {**means, **units, **_counts(chosen)}

    models = list(frame["model"].unique())
    order = {"perspective": sorted(frame["perspective"].unique()), "model": models + [ALL] * (len(models) > 1), **by}
    return frames.summarize(frame, order, row).replace({"model": {ALL: MODELS_MEAN}})


def summary_frame(items: Sequence[HamletItem]) -> Frame:
    """Return the mean recall and faithfulness of each model (table 7)."""
    recall, faithfulness = (score_frame(items, metric) for metric in METRICS)
    scores = {"recall": recall["score"], "faithfulness": faithfulness["score"]}
    frame = recall.assign(**scores, unjudged=recall["unjudged"] + faithfulness["unjudged"])
    return frames.by_group(frame, ("model",), lambda rows: [frames.figures("hamlet", "summaries", rows)])


def share_frame(items: Sequence[HamletItem], metric: str) -> Frame:
    """Return recall, by position and level, or faithfulness, by the level of the facts in a sentence (tables 13, 5)."""
    unit, levels, names = ("facts", LEVEL_KEYS, LEVEL_COLUMNS) if metric == "recall" else ("sentences", _CARRIED, ())
    by: dict[str, Sequence[str]] = {"position": [*FIFTHS, ALL]} if metric == "recall" else {}
    frame = score_frame(items, metric)
    return _summarized(frame, by, lambda group: pooled_shares(group, levels, names), unit)


def gap_frame(items: Sequence[HamletItem]) -> Frame:
    """Return the gaps between positions: by level, the recall of the best fifth minus that of the worst (table 4)."""

    def gap(chosen: Frame) -> dict[str, float | None]:
        by_fifth = (chosen[chosen["position"] == fifth] for fifth in FIFTHS)
        fifths = frames.frame_of(pooled_shares(rows, LEVEL_KEYS, LEVEL_COLUMNS) for rows in by_fifth)
        recalls = {level: frames.values_of(fifths[level]) for level in LEVEL_COLUMNS}
        return {level: max(values) - min(values) if len(values) > 1 else None for level, values in recalls.items()}

    return _summarized(score_frame(items, "recall"), {}, gap)


def error_frame(items: Sequence[HamletItem]) -> Frame:
    """Return the kinds of unfaithful sentences of each model, pooled, and as the mean of models (tables 12 and 14)."""
    frame = score_frame(items, "faithfulness")
    models = frame["model"].nunique()

    def rows_of(chosen: Frame) -> Iterator[dict[str, object]]:
        counts = sum(map(Counter, chosen["errors"]), Counter[str]())
        every, intrinsic = counts.total(), sum(counts[kind] for kind in _INTRINSIC)
        kinds = {"extrinsic": counts[_EXTRINSIC], "intrinsic": intrinsic}
        kinds |= {f"intrinsic: {kind}": counts[kind] for kind in _INTRINSIC}
        kinds |= {"judges disagree": disputed} if (disputed := every - intrinsic - counts[_EXTRINSIC]) else {}
        for kind, count in kinds.items():
            inside = share(count, intrinsic) if kind.startswith("intrinsic") else None
            shares = {"sentences": count, "of all errors": share(count, every), "of intrinsic errors": inside}
            # There are no numbers where nothing was judged.
            shares = shares if chosen["score"].notna().any() else dict.fromkeys(shares)
            yield {"error": kind, **shares, **_counts(chosen)}

    def means_of(same: Frame) -> Iterator[dict[str, object]]:
        shares = {name: frames.mean_of(same[name]) for name in ("of all errors", "of intrinsic errors")}
        if len(same) == models:
            yield {"model": MODELS_MEAN, "sentences": None, **shares, **_counts(frame)}

    every = pd.concat([frame, frame.assign(model=ALL_MODELS)]) if models > 1 else frame
    table = frames.by_group(every, ("model",), rows_of, ("error", "of all errors"))
    if models < 2:
        return table
    return pd.concat([table, frames.by_group(table[table["model"] != ALL_MODELS], ("error",), means_of)])


def length_frame(items: Sequence[HamletItem]) -> Frame:
    """Return the correlation of summary length and recall by level (section 5.2)."""
    frame = score_frame(items, "recall")

    def rows_of(chosen: Frame) -> Iterator[dict[str, object]]:
        # An answer of NOTHING has no length to correlate.
        answers = chosen[chosen["words"].notna() & ~chosen["nothing"].astype(bool)]
        for column, level in zip(LEVEL_COLUMNS, LEVEL_KEYS, strict=True):
            measured = answers[answers[f"{level} whole"] > 0]
            recalls = measured[f"{level} part"] / measured[f"{level} whole"]
            is_enough = len(measured) >= _MIN_PAIRS and measured["words"].nunique() > 1 and recalls.nunique() > 1
            value = correlation(measured["words"], recalls) if is_enough else None
            yield {"level": column, "correlation": value, "summaries": len(measured), **_counts(chosen)}

    every = frame.assign(model=ALL_MODELS)
    every = pd.concat([every, frame]) if frame["model"].nunique() > 1 else every
    return frames.by_group(every, ("model",), rows_of, ("level", "correlation"))


def difference_frame(items: Sequence[HamletItem]) -> Frame:
    """Return the differences between models by level, over the queries for which both have a score (table 6)."""
    rows, scores = [], {metric: score_frame(items, metric).dropna(subset="score") for metric in METRICS}
    for names in combinations(dict.fromkeys(item.model for item in items), 2):
        for (metric, frame), levels in zip(scores.items(), (LEVEL_KEYS, _CARRIED), strict=True):
            for sides, both in frames.pairs(frame, "model", ["document", "chunk", "perspective", "query"], [names]):
                for level in levels:
                    parts = [f"{level} {part}{side}" for side in ("", " of second") for part in ("part", "whole")]
                    gap = frames.share_gap(both.reindex(columns=["document", *parts]).to_numpy().tolist(), "queries")
                    rows.append({**sides, "metric": metric, "level": level, **gap})
    return frames.frame_of(rows)


def fact_frame(cells: Sequence[HamletCell], perspectives: Sequence[Perspective]) -> Frame:
    """Return a row for each tree and for each of its key facts, with its level, and why it did not pass validation."""
    rows: list[dict[str, object]] = []
    for cell in cells:
        for tree in cell.keyfacts.trees if cell.keyfacts else ():
            if tree.perspective not in perspectives:
                continue
            head: dict[str, object] = {"document": cell.document.title, "id": cell.document.id, "tokens": cell.tokens}
            head |= {"perspective": tree.perspective, "pruned part": False, "pruned whole": False}
            rows.append({**head, "trees": True, "queries": bool(tree.query)})
            for fact in tree.facts:
                reasons = {objection.dimension for objection in fact.objections}
                failed = {dimension: dimension in reasons for dimension in _DIMENSIONS}
                head |= {"level": fact.level, "facts": fact.kept, "pruned part": not fact.kept, "pruned whole": True}
                rows.append({**head, **failed, **{level: fact.kept and fact.level == level for level in LEVELS}})
    columns = ("document", "id", "tokens", "perspective", "level", "trees", "queries", *LEVELS, "facts")
    return frames.frame_of(rows).reindex(columns=[*columns, *_DIMENSIONS, "pruned part", "pruned whole"])


def size_frame(facts: Frame, perspectives: Sequence[Perspective]) -> Frame:
    """Return the tokens, trees and kept facts of each document (table 8)."""

    def rows_of(document: Frame) -> Iterator[dict[str, object]]:
        for perspective in perspectives:
            sizes = frames.figures("hamlet", "sizes", document[document["perspective"] == perspective])
            yield {"perspective": perspective, "tokens": int(document["tokens"].iloc[0]), **sizes}

    table = frames.by_group(facts, ("id", "document"), rows_of, ("perspective", "tokens", "trees")).drop(columns="id")
    if (documents := facts["id"].nunique()) < 2:
        return table
    sums = table.drop(columns="document").groupby("perspective", sort=False).sum()
    both = pd.concat([sums.assign(document="total"), (sums / documents).assign(document="mean")])
    return pd.concat([table, both.loc[list(perspectives)].reset_index()])


def pruning_frame(facts: Frame, perspectives: Sequence[Perspective]) -> Frame:
    """Return how many facts did not pass validation, and why (appendix C)."""
    by = {"perspective": [*perspectives, *([ALL] if len(perspectives) > 1 else [])], "level": LEVEL_KEYS}
    table = frames.summarize(facts, by, partial(frames.figures, "hamlet", "pruning"))
    return table.replace({"perspective": {ALL: "both"}})


def judge_frame(items: Sequence[HamletItem], roles: Mapping[str, tuple[NamedModel, Against]]) -> Frame:
    """Return the mean scores by each judge, over the summaries that all have judged (table 3, without people)."""
    scores = frames.frame_of(
        {
            f"{name} {metric}": score and score.score
            for name, both in {"": (item.recall, item.faithfulness), **item.second}.items()
            for metric, score in zip(METRICS, both, strict=True)
        }
        for item in items
    )
    common = scores.reindex(columns=[f"{name} {metric}" for name in roles for metric in METRICS]).dropna()
    rows = []
    for name, (judge, against) in roles.items():
        means = {metric: frames.mean_of(common[f"{name} {metric}"]) for metric in METRICS}
        head = {"judge": judge.name, "reference": FULL_TEXT if against == "document" else against}
        rows.append({**head, **means, "summaries": len(common), "of": len(items)})
    return frames.frame_of(rows)


def scores_of(evaluations: Mapping[str, Evaluation]) -> tuple[HamletScore, HamletScore]:
    """Return the results of both metrics as numbers."""
    scores: list[HamletScore] = []
    for name, counted in zip(_JUDGED, ("stated", "faithful"), strict=True):
        evaluation = evaluations[name]
        details: Mapping[str, Any] = evaluation.details if evaluation.outcome == "scored" else {}
        by_level = details.get("by_level") or {}
        levels = {level: (counts[counted], counts["judged"]) for level, counts in by_level.items()}
        # If alignment failed, the sentences' key facts are unknown, so that there is only the overall share.
        if name == Faithfulness.name and evaluation.score is not None:
            faithful = total([round(evaluation.score * evaluation.judged, 9)])
            levels[ALL] = (faithful, evaluation.judged)
        errors = dict(details.get("errors") or {})
        scores.append(HamletScore(evaluation.outcome, evaluation.score, levels, evaluation.unjudged, errors))
    recall, faithfulness = scores
    return recall, faithfulness


Against = Literal["chunk", "document"]
QUERY = "How do the people of this part of the book stand to each other, and what comes of it in the end?"
"""A placeholder as long as the queries of trees, used before there are any."""


def sample_trees(keyfacts: KeyFacts, perspectives: Sequence[Perspective], count: int | None = None) -> list[Tree]:
    """Return the trees whose queries are asked, in document order, the same for the same arguments.

    The document is cut into `count` equal stretches. Each asks the query nearest to its middle; the perspectives take
    turns.
    """
    # Of two trees with the same query, only the first is ever used to judge.
    trees = [tree for tree in keyfacts.trees if tree.query and trees_for(keyfacts, tree.query, perspectives) == (tree,)]
    if count is None or count >= len(trees):
        return trees
    remaining = list(range(len(trees)))
    for turn in range(count):
        place = (turn + 0.5) / count
        perspective = perspectives[turn % len(perspectives)]
        # Rounding makes the first of two equally near trees win, whatever the last bits are.
        distances = {n: round(abs(trees[n].position - place), 9) for n in remaining}
        remaining.remove(min(remaining, key=lambda n: (trees[n].perspective != perspective, distances[n], n)))
    return [tree for n, tree in enumerate(trees) if n not in remaining]


class HamletDesign(HamletOrder, Seats, Experiment[HamletCell, HamletItem]):
    """Models answer the queries of key-fact trees. The first judge finds the key facts and gives the scores of tables;
    further judges judge the same summaries by the same key facts."""

    name = "hamlet"
    title = "HAMLET: recall and faithfulness by level, perspective and position"
    item = "one query and one model each"
    judging: JudgeConfig = Field(default=JudgeConfig(), exclude=True)
    """How a document's key facts are found, with the validator's own settings if it has any."""

    @classmethod
    def asked(cls, request: Asked) -> HamletDesign:
        """Return the design that was asked for."""
        if not request.writers or not request.judges:
            raise UsageError("no model takes part", fix=("name one with ", Set("model")))
        asked, models = request.judging(), {"writers": request.writers, "judges": request.judges}
        own = {name: settings for name, settings in asked.models.items() if name == asked.validator}
        judging = JudgeConfig(models=own, **{name: getattr(asked, name) for name in _OF_KEYFACTS})
        return cls(judging=judging, **models, **request.fields(HamletOrder))

    @property
    def perspectives(self) -> tuple[Perspective, ...]:
        """The perspectives of the queries."""
        asked = self.judging.perspective
        return get_args(Perspective) if asked == "both" else (asked,)

    @property
    def judge_roles(self) -> dict[str, tuple[NamedModel, Against]]:
        """Who judges every summary against what, by name: first the judge of all tables, under no name."""
        roles: dict[str, tuple[NamedModel, Against]] = {"": (self.judge, "chunk")}
        roles |= {model.name: (model, "chunk") for model in self.judges[1:]}
        full_text_judges = self.judges if self.full_text else ()
        return roles | {f"{model.name}, {FULL_TEXT}": (model, "document") for model in full_text_judges}

    async def cells(self, documents: Sequence[Document], runner: ExperimentRunner) -> list[HamletCell]:
        """Return the documents. Raise, before anything is paid for, if a name or a price is unknown, or no model can
        read any of them."""
        building, drafting = self.judging_by(self.judging, self.judge), [model.name for model in self.writers]
        choices = [
            *((self.writer_settings(name, query=""), None) for name in drafting),
            (self.judge_settings(query=None), building),
            *((self.keyed(judge.settings, query=None), None) for judge in self.judges[1:]),
        ]
        drafts = product(documents, (self.writer_settings(name, query=QUERY) for name in drafting))
        plans = [partial(prepare, document, settings) for document, settings in drafts]
        await asyncio.to_thread(check_work, runner, *choices, plans=plans)
        tokenizer, _ = tokenizer_of(self.judge_settings(query=None))
        tokens = [await asyncio.to_thread(tokenizer.count, document.text) for document in documents]
        sizes = zip(documents, tokens, strict=True)
        return [HamletCell(document, tokens=n, about={"tokens": n, "keyfacts": None}) for document, n in sizes]

    async def run_cell(self, cell: HamletCell, batch: RunBatch) -> tuple[HamletCell, list[HamletItem]]:
        """Find the key facts, imported or built, and have their queries answered and the answers judged."""
        document, cell = cell.document, await batch.judging_pack(cell, _JUDGED, self.judging, self)
        if (pack_id := cell.ids["keyfacts"]) is None:
            return cell, []
        keyfacts = batch.runner.store.keyfacts.get(pack_id)
        trees = sample_trees(keyfacts, self.perspectives, self.queries)
        queries = [(tree, model.name) for tree in trees for model in self.writers]
        batch.of += len(queries)
        answers = []
        for tree, model in queries:
            item = HamletItem(document.id, document.title, tree, model)
            work = partial(self._answered, cell, item, keyfacts, batch)
            answers.append(batch.run_task(f"{document.title}, {item.label}", work))
        about = {**cell.about, "keyfacts": {"id": keyfacts.id, "missing": keyfacts.missing}}
        return replace(cell, keyfacts=keyfacts, about=about), await gather_all(answers)

    def judged_parts(self, items: Sequence[HamletItem], _: Sequence[HamletCell]) -> Iterator[JudgedPart]:
        """Return the verdicts of both metrics: one judge gives all scores, with the same prompts."""
        judged_items = [item for item in items if item.recall and item.faithfulness and not item.nothing]
        evaluators: tuple[type[Evaluator], ...] = (KeyfactRecall, Faithfulness)
        for metric, name in zip(evaluators, METRICS, strict=True) if judged_items else ():
            scores: list[HamletScore] = [getattr(item, name) for item in judged_items]
            counts = sum(score.judged for score in scores), sum(score.unjudged for score in scores)
            yield judged_items[0].runs[JUDGING], metric.name, metric.version, *counts

    def frames(self, items: Sequence[HamletItem], cells: Sequence[HamletCell]) -> Iterator[NamedFrame]:
        """Yield the tables; models and judges are compared where there are several."""
        facts = fact_frame(cells, self.perspectives)
        yield "summaries", summary_frame(items)
        yield "recall", share_frame(items, "recall")
        yield "gaps", gap_frame(items)
        yield "faithfulness", share_frame(items, "faithfulness")
        yield "errors", error_frame(items)
        yield "length", length_frame(items)
        yield "sizes", size_frame(facts, self.perspectives)
        yield "pruning", pruning_frame(facts, self.perspectives)
        if len(self.judge_roles) > 1:
            yield "judges", judge_frame(items, self.judge_roles)
        if len(self.writers) > 1:
            yield "differences", difference_frame(items)

    def settings_of(self, outcome: Outcome[HamletCell, HamletItem]) -> Mapping[str, object]:
        """Return the settings behind the results, with those of key facts."""
        return {**{name: getattr(self.judging, name) for name in _OF_KEYFACTS}, **super().settings_of(outcome)}

    def notes(self, items: Sequence[HamletItem], cells: Sequence[HamletCell]) -> Iterator[str]:
        """Return who validated key facts, and what is missing."""
        yield f"key facts validated by {plain(self.judging.validator or self.judge.name)}"
        if lost := sum(cell.keyfacts is None for cell in cells):
            yield f"documents without key facts, and so without items: {lost} of {len(cells)}"
        if gaps := sum(item.gaps > 0 for item in items):
            yield f"summaries that leave out chunks the model could not summarize: {gaps}"
        if nothing := sum(item.nothing for item in items):
            yield f"answers of NOTHING: {nothing}"

    def headline(self, items: Sequence[HamletItem], tables: Mapping[str, Table]) -> Iterator[str]:
        """Return the pooled shares of each model, and its largest gap."""
        for (model,), chosen in list(frames.groups(score_frame(items, "recall"), "model"))[:MAX_LINES]:
            sentences = score_frame([item for item in items if item.model == model], "faithfulness")
            gaps = [number(record[WHOLE]) for record in tables["gaps"].records if record["model"] == model]
            gap = max((gap for gap in gaps if gap is not None), default=None)
            both = [
                (pooled_shares(frame, [ALL])[ALL], int(sum(frame[f"{ALL} whole"]))) for frame in (chosen, sentences)
            ]
            stated, faithful = (f"{figure(value, 2)} of {size:,}" for value, size in both)
            scores = f"{plain(model)}: recall {stated} key facts, faithful {faithful} sentences"
            yield f"{scores}, largest gap between fifths {figure(gap, 2)}"

    async def _answered(self, cell: HamletCell, item: HamletItem, keyfacts: KeyFacts, batch: RunBatch) -> HamletItem:
        """Return an item with the answer and its verdicts, as far as they could be had."""
        document, query, summarizing = cell.document, item.tree.query, Summarize(experiment=self.name)
        settings = self.writer_settings(item.model, query=query)
        outcome = await batch.run_part(DRAFTING, DRAFTING, item.label, document, settings, summarizing)
        usage = await batch.usage([outcome.run]) if outcome.run else None
        item = replace(outcome.recorded(item, DRAFTING), taken=usage)
        if item.failure is not None and item.failure.code == NoAnswerError.code:
            levels = {level: (0, sum(level in (fact.level, ALL) for fact in item.tree.kept)) for level in LEVEL_KEYS}
            recall, faithfulness = HamletScore("scored", 0.0, levels), HamletScore("not_applicable")
            return replace(item, recall=recall, faithfulness=faithfulness, words=0, failure=None, nothing=True)
        if (answer := outcome.result) is None:
            return item
        item = replace(item, gaps=len(answer.gaps), words=answer.draft.words if answer.draft else None)
        how: dict[str, Any] = {"keyfacts": keyfacts.id, "perspective": self.judging.perspective, "evidence": "whole"}
        for name, (judge, against) in self.judge_roles.items():
            judging = self.judging_by(JudgeConfig(metrics=_JUDGED, verify_against=against, **how), judge)
            order = Evaluate(judging=judging, given=answer.summary or "", experiment=self.name)
            stage, settings = f"{JUDGING} by {name}" if name else JUDGING, self.keyed(judge.settings, query=query)
            outcome = await batch.run_part(JUDGING, f"{stage} {item.model}", item.label, document, settings, order)
            item = outcome.recorded(item, stage)
            if outcome.result is None:
                return item
            scores, evaluations = scores_of(outcome.result.evaluations), outcome.result.evaluations
            if name:
                item = replace(item, second={**item.second, name: scores})
                continue
            item = replace(item, recall=scores[0], faithfulness=scores[1])
            for evaluation in [evaluations[name] for name in _JUDGED if evaluations[name].outcome == "failed"][:1]:
                reason = f"{evaluation.metric}: {one_line(evaluation.reason)}"
                item = replace(item, failure=Failure(JUDGING, "judging", reason))
        return item


EXPERIMENT = HamletDesign
