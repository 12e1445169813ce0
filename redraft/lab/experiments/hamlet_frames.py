"""The items of HAMLET and their frames: recall and faithfulness, gaps, errors, lengths, and the key facts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import combinations
from statistics import StatisticsError, correlation
from typing import ClassVar

from redraft.domain import KeyFacts, Perspective, computed
from redraft.domain import Outcome as MetricOutcome
from redraft.evaluators.metric_info import NONE
from redraft.evaluators.reference.keyfacts import ALL, LEVELS, ORPHANED, UNJUDGED, bin_of, share
from redraft.lab.experiments.experiment import Cell, Item
from redraft.lab.experiments.frames import (
    Frame,
    by_group,
    frame_of,
    groups,
    mean_of,
    share_gap,
    spent_each,
    summarize,
    values_of,
)
from redraft.lab.experiments.runner import Used

WHOLE, FULL_TEXT = "whole", "full text"
LEVEL_COLUMNS, LEVEL_KEYS = (*LEVELS, WHOLE), (*LEVELS, ALL)
"""The levels of facts and all of them together, as named in tables and in metrics."""
FIFTHS = tuple(bin_of((n + 0.5) / 5) for n in range(5))
MODELS_MEAN, ALL_MODELS = "mean of models", "all models"
METRICS = ("recall", "faithfulness")
_CARRIED = (*LEVELS, NONE, ALL)
_EXTRINSIC, _INTRINSIC = "out_of_article", ("relation", "entity", "sentence")
_DIMENSIONS = ("faithfulness", "objectivity", "significance", ORPHANED, UNJUDGED)
_MIN_PAIRS = 3


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

    by_field: ClassVar[str] = "model"
    made_field: ClassVar[str] = "faithfulness"
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
    def label(self) -> str:
        """The query and its model."""
        return f"chunk {self.chunk + 1} {self.perspective} by {self.model}"

    @property
    def verdicts(self) -> tuple[int, int]:
        """The numbers of verdicts on facts and sentences that were given, and that are missing."""
        scores = [score for score in (self.recall, self.faithfulness) if score]
        judged_count = sum(score.levels[ALL].whole for score in scores if ALL in score.levels)
        return judged_count, sum(score.unjudged for score in scores)


@dataclass(frozen=True, slots=True)
class HamletCell(Cell):
    """A document with its key facts, once they are found."""

    tokens: int = 0
    keyfacts: KeyFacts | None = None

    def as_json(self) -> dict[str, object]:
        """Return the document with its key facts."""
        keyfacts = {"id": self.keyfacts.id, "missing": self.keyfacts.missing} if self.keyfacts else None
        return {**super(HamletCell, self).as_json(), "tokens": self.tokens, "keyfacts": keyfacts}


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


def pooled_shares(chosen: Frame, levels: Sequence[str], columns: Sequence[str] = ()) -> dict[str, float | None]:
    """Return equation 1 or 2 by level, over all facts or sentences together."""
    values = [
        share(sum(chosen[f"{level} part"]), sum(chosen[f"{level} whole"])) if len(chosen) else None for level in levels
    ]
    return dict(zip(columns or levels, values, strict=True))


def _counts(chosen: Frame) -> dict[str, int]:
    scored, failed = int(chosen["score"].notna().sum()), int(sum(chosen["failed"]))
    return {"items": scored, "of": len(chosen), "failed": failed, "unjudged": int(sum(chosen["unjudged"]))}


def _by_model(chosen: Frame, values: Callable[[Frame], dict[str, float | None]]) -> dict[str, float | None]:
    """Return values of one model, or the means of several, each of which weighs the same."""
    rows = frame_of([values(group) for _, group in groups(chosen, "model")] or [values(chosen)])
    return {name: mean_of(rows[name]) for name in rows.columns}


def _summarized(frame: Frame, by: Mapping[str, Sequence[str]], row: Callable[[Frame], dict[str, object]]) -> Frame:
    """Return a row for each perspective and model, and for the mean of several models, by further columns."""
    models = list(frame["model"].unique())
    order = {"perspective": sorted(frame["perspective"].unique()), "model": models + [ALL] * (len(models) > 1), **by}
    return summarize(frame, order, row).replace({"model": {ALL: MODELS_MEAN}})


def summary_frame(items: Sequence[HamletItem]) -> Frame:
    """Return the mean recall and faithfulness of each model (table 7)."""
    faithfulness = score_frame(items, "faithfulness")

    def rows_of(recall: Frame) -> Iterator[dict[str, object]]:
        frames = (recall, faithfulness[faithfulness["model"] == recall["model"].iloc[0]])
        scores, counts = [mean_of(frame["score"]) for frame in frames], [_counts(frame) for frame in frames]
        yield {
            **dict(zip(METRICS, scores, strict=True)),
            "mean": mean_of(scores) if None not in scores else None,
            "words": mean_of(recall["words"]),
            **spent_each(recall["taken"]),
            "for recall": counts[0]["items"],
            "for faithfulness": counts[1]["items"],
            "of": len(recall),
            "failed": counts[0]["failed"],
            "unjudged": counts[0]["unjudged"] + counts[1]["unjudged"],
            "nothing": int(sum(recall["nothing"])),
        }

    return by_group(score_frame(items, "recall"), ("model",), rows_of)


def recall_frame(items: Sequence[HamletItem]) -> Frame:
    """Return recall by perspective, model, position and level (table 13)."""
    frame = score_frame(items, "recall")

    def row(chosen: Frame) -> dict[str, object]:
        shares = _by_model(chosen, lambda group: pooled_shares(group, LEVEL_KEYS, LEVEL_COLUMNS))
        return {**shares, "facts": int(sum(chosen[f"{ALL} whole"])), **_counts(chosen)}

    return _summarized(frame, {"position": [*FIFTHS, ALL]}, row)


def gap_frame(items: Sequence[HamletItem]) -> Frame:
    """Return the gaps between positions: by level, the recall of the best fifth minus that of the worst (table 4)."""

    def gap(chosen: Frame) -> dict[str, float | None]:
        by_fifth = (chosen[chosen["position"] == fifth] for fifth in FIFTHS)
        fifths = frame_of(pooled_shares(rows, LEVEL_KEYS, LEVEL_COLUMNS) for rows in by_fifth)
        recalls = {level: values_of(fifths[level]) for level in LEVEL_COLUMNS}
        return {level: max(values) - min(values) if len(values) > 1 else None for level, values in recalls.items()}

    frame = score_frame(items, "recall")
    return _summarized(frame, {}, lambda chosen: {**_by_model(chosen, gap), **_counts(chosen)})


def faithfulness_frame(items: Sequence[HamletItem]) -> Frame:
    """Return faithfulness by the level of the facts in a sentence (table 5)."""
    frame = score_frame(items, "faithfulness")

    def row(chosen: Frame) -> dict[str, object]:
        shares = _by_model(chosen, lambda group: pooled_shares(group, _CARRIED))
        return {**shares, "sentences": int(sum(chosen[f"{ALL} whole"])), **_counts(chosen)}

    return _summarized(frame, {}, row)


def error_frame(items: Sequence[HamletItem]) -> Frame:
    """Return the kinds of unfaithful sentences of each model, pooled, and as the mean of models (tables 12 and 14)."""
    frame = score_frame(items, "faithfulness")
    models = list(frame["model"].unique())
    rows: list[dict[str, object]] = []
    for model in [*models, *([ALL] if len(models) > 1 else [])]:
        chosen = frame if model == ALL else frame[frame["model"] == model]
        counts = sum(map(Counter, chosen["errors"]), Counter[str]())
        every, intrinsic = counts.total(), sum(counts[kind] for kind in _INTRINSIC)
        kinds = {"extrinsic": counts[_EXTRINSIC], "intrinsic": intrinsic}
        kinds |= {f"intrinsic: {kind}": counts[kind] for kind in _INTRINSIC}
        kinds |= {"judges disagree": disputed} if (disputed := every - intrinsic - counts[_EXTRINSIC]) else {}
        for kind, number in kinds.items():
            inside = share(number, intrinsic) if kind.startswith("intrinsic") else None
            shares = {"sentences": number, "of all errors": share(number, every), "of intrinsic errors": inside}
            # There are no numbers where nothing was judged.
            shares = shares if chosen["score"].notna().any() else dict.fromkeys(shares)
            head = {"model": ALL_MODELS if model == ALL else model, "error": kind}
            rows.append({**head, **shares, **_counts(chosen)})
    table = frame_of(rows, () if rows else ("model", "error", "of all errors"))
    if len(models) > 1:
        for (error,), same in groups(table[table["model"] != ALL_MODELS], "error"):
            means = {name: mean_of(same[name]) for name in ("of all errors", "of intrinsic errors")}
            if len(same) == len(models):
                rows.append({"model": MODELS_MEAN, "error": error, "sentences": None, **means, **_counts(frame)})
    return frame_of(rows) if rows else table


def length_frame(items: Sequence[HamletItem]) -> Frame:
    """Return the correlation of summary length and recall by level (section 5.2)."""
    frame = score_frame(items, "recall")
    models = list(frame["model"].unique())
    rows = []
    for model in [ALL, *(models if len(models) > 1 else [])]:
        chosen = frame if model == ALL else frame[frame["model"] == model]
        # An answer of NOTHING has no length to correlate.
        answers = chosen[chosen["words"].notna() & ~chosen["nothing"].astype(bool)]
        for column, level in zip(LEVEL_COLUMNS, LEVEL_KEYS, strict=True) if len(chosen) else ():
            measured = answers[answers[f"{level} whole"] > 0]
            recalls = list(measured[f"{level} part"] / measured[f"{level} whole"])
            lengths, value, why = list(measured["words"]), None, f"n/a: fewer than {_MIN_PAIRS} summaries"
            if len(lengths) >= _MIN_PAIRS:
                with suppress(StatisticsError):
                    value, why = correlation(lengths, recalls), ""
                if value is None:
                    why = f"n/a: all {'lengths' if len(set(lengths)) == 1 else 'recalls'} are the same"
            rows.append(
                {
                    "model": ALL_MODELS if model == ALL else model,
                    "level": column,
                    "correlation": value,
                    "note": why,
                    "summaries": len(measured),
                    **_counts(chosen),
                }
            )
    return frame_of(rows, () if rows else ("model", "level", "correlation"))


def difference_frame(items: Sequence[HamletItem]) -> Frame:
    """Return the differences between models by level, over the queries for which both have a score (table 6)."""
    rows = []
    frames = {metric: score_frame(items, metric) for metric in METRICS}
    for first, second in combinations(dict.fromkeys(item.model for item in items), 2):
        for (metric, frame), levels in zip(frames.items(), (LEVEL_KEYS, _CARRIED), strict=True):
            scored = frame[frame["score"].notna()]
            sides = [scored[scored["model"] == model] for model in (first, second)]
            pairs = sides[0].merge(sides[1], on=["document", "chunk", "perspective", "query"])
            for level in levels:
                names = [f"{level} {part}_{side}" for side in "xy" for part in ("part", "whole")]
                gap = share_gap(pairs.reindex(columns=["document", *names]).to_numpy().tolist(), "queries")
                rows.append({"first": first, "second": second, "metric": metric, "level": level, **gap})
    return frame_of(rows)


def fact_frame(cells: Sequence[HamletCell], perspectives: Sequence[Perspective]) -> Frame:
    """Return a row for each key fact, and one without a level for each tree."""
    rows: list[dict[str, object]] = []
    for cell in cells:
        for tree in cell.keyfacts.trees if cell.keyfacts else ():
            if tree.perspective not in perspectives:
                continue
            head: dict[str, object] = {"document": cell.document.title, "id": cell.document.id}
            head |= {"tokens": cell.tokens, "perspective": tree.perspective}
            rows.append({**head, "query": bool(tree.query), "level": None, "kept": False})
            for fact in tree.facts:
                reasons = {objection.dimension for objection in fact.objections}
                failed = {dimension: dimension in reasons for dimension in _DIMENSIONS}
                rows.append({**head, "query": False, "level": fact.level, "kept": fact.kept, **failed})
    columns = ("document", "perspective", "tokens", "id", "query", "level", "kept", *_DIMENSIONS)
    return frame_of(rows, columns)


def _sizes(chosen: Frame) -> dict[str, int]:
    facts = chosen[chosen["level"].notna()]
    kept_by_level = Counter(facts[facts["kept"].astype(bool)]["level"])
    return {
        "trees": len(chosen) - len(facts),
        "queries": int(sum(chosen["query"])),
        **{level: kept_by_level[level] for level in LEVELS},
        "facts": kept_by_level.total(),
        "unjudged": int(sum(facts[UNJUDGED])),
    }


def size_frame(facts: Frame, perspectives: Sequence[Perspective]) -> Frame:
    """Return the tokens, trees and kept facts of each document (table 8)."""
    documents = [(title, group) for (_, title), group in groups(facts, "id", "document")]
    tokens = [int(group["tokens"].iloc[0]) for _, group in documents]
    rows: list[dict[str, object]] = []
    for (title, group), count in zip(documents, tokens, strict=True):
        for perspective in perspectives:
            sizes = _sizes(group[group["perspective"] == perspective])
            rows.append({"document": title, "perspective": perspective, "tokens": count, **sizes})
    for perspective in perspectives if len(documents) > 1 else ():
        total = {"tokens": sum(tokens), **_sizes(facts[facts["perspective"] == perspective])}
        rows.append({"document": "total", "perspective": perspective, **total})
        means = {name: count / len(documents) for name, count in total.items()}
        rows.append({"document": "mean", "perspective": perspective, **means})
    return frame_of(rows, () if rows else ("document", "perspective", "tokens", "trees"))


def pruning_frame(facts: Frame, perspectives: Sequence[Perspective]) -> Frame:
    """Return how many facts did not pass validation, and why (appendix C)."""

    def row(chosen: Frame) -> dict[str, object]:
        facts_found = chosen[chosen["level"].notna()]
        pruned = len(facts_found) - int(sum(facts_found["kept"]))
        reasons = {dimension: int(sum(facts_found[dimension])) for dimension in _DIMENSIONS}
        return {"found": len(facts_found), "pruned": pruned, "share": share(pruned, len(facts_found)), **reasons}

    both = [ALL] if len(perspectives) > 1 else []
    table = summarize(facts, {"perspective": [*perspectives, *both], "level": LEVEL_KEYS}, row)
    return table.replace({"perspective": {ALL: "both"}})


def judge_frame(items: Sequence[HamletItem], judge: str, names: Sequence[str]) -> Frame:
    """Return the mean scores by each judge, over the summaries that all have judged (table 3, without people)."""
    scores = frame_of(
        {
            f"{name} {metric}": score and score.score
            for name, both in {"": (item.recall, item.faithfulness), **item.second}.items()
            for metric, score in zip(METRICS, both, strict=True)
        }
        for item in items
    )
    common = scores.reindex(columns=[f"{name} {metric}" for name in names for metric in METRICS]).dropna()
    rows = []
    for name in names:
        full = name.endswith(f", {FULL_TEXT}")
        who = name.removesuffix(f", {FULL_TEXT}") or judge
        means = {metric: mean_of(common[f"{name} {metric}"]) for metric in METRICS}
        counts = {"summaries": len(common), "of": len(items)}
        rows.append({"judge": who, "reference": FULL_TEXT if full else "chunk", **means, **counts})
    return frame_of(rows)
