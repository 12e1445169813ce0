"""How far the built-in judge sees the same sentences of a summary as confusing as people do.

    python -m benchmarks.confusion [--half "developed on"] [--fit]

Reads booookscore/human and booookscore/annotations under $REDRAFT_DATA (by default ../shared/data). The books are
divided into two halves by a hash of their names: the judge's signs were chosen and its weights fitted on one of them
alone, and the other is held out. A sentence is confusing to people where what one of them marked overlaps it. With
--fit, the weights are made again and printed as redraft/models/extractive/coherence/weighing.py has them.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize
from sklearn.metrics import precision_recall_curve, roc_auc_score

from benchmarks.common import DATA
from redraft.models.extractive.coherence.analysis import analyse
from redraft.models.extractive.coherence.confusion import find_confusion
from redraft.models.extractive.coherence.reading import read
from redraft.models.extractive.coherence.repeats import repeats
from redraft.models.extractive.coherence.signs import SIGNS, Sign, signs_of
from redraft.models.extractive.coherence.weighing import DIRECTIONS, Part
from redraft.prompts.coherence import ERROR_TYPES, ConfusionGiven, SummarySentence

FOLDER = Path("booookscore")
PEOPLE = FOLDER / "human" / "summary-gpt4-4096-hier.json"
ANNOTATED = ("gpt4-4096-hier", "gpt4-2048-hier", "gpt4-2048-inc")
DEVELOPED, HELD_OUT = "developed on", "held out"
HALVES = (DEVELOPED, HELD_OUT)

# A mark of one word that stands in several places says not which sentence is meant.
_SHORTEST_AMBIGUOUS = 2
_RECALLS = tuple(tenth / 10 for tenth in range(1, 10))
_RESAMPLES = 1000
_FOLDS = 10
_BATCH = 10
# What each part of the judge learns to see.
_LEARNT: Mapping[Part, frozenset[str]] = {
    "omission": frozenset({"entity omission", "event omission", "causal omission"}),
    "break": frozenset({"discontinuity", "inconsistency"}),
    "repetition": frozenset({"duplication"}),
}
# GPT-4's annotations of the same half are a weaker guide to what is omitted. It marks next to nothing else.
_GUIDED: Part = "omission"
_GUIDE_WEIGHT = 0.1
# How much the weights are held back from growing.
_PENALTY = 10.0

Numbers = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Judged:
    """A sentence of a summary: what people found in it, what the built-in judge says, and whether GPT-4 marked it."""

    book: str
    labels: frozenset[str]
    score: float
    flagged: bool
    marked: bool


@dataclass(frozen=True)
class Example:
    """A sentence to learn from: what was found in it, and its signs."""

    book: str
    labels: frozenset[str]
    signs: tuple[float, ...]


def half_of(book: str) -> str:
    """Which half of the books one belongs to."""
    return HELD_OUT if hashlib.sha256(book.encode()).digest()[0] % 2 else DEVELOPED


@cache
def judged(data: Path) -> tuple[Judged, ...]:
    """All sentences of the summaries that people annotated."""
    people = json.loads((data / PEOPLE).read_text("utf-8"))
    gpt4 = _annotations(data, ANNOTATED[0])
    found: list[Judged] = []
    for book, entry in sorted(people.items()):
        summary = entry["summary"]
        scored = analyse(summary)
        flagged = _flagged(summary)
        marks = gpt4.get(book) or {}
        for one, labels, flag in zip(scored, labels_of(summary, entry), flagged, strict=True):
            found.append(Judged(book, labels, one.score, flag, _mark(one.line.text, marks) is not None))
    return tuple(found)


def labels_of(summary: str, entry: Mapping[str, Any]) -> list[frozenset[str]]:
    """What people found in each sentence of a summary: the labels of all marks that overlap it."""
    flat = " ".join(summary.split())
    spans: list[tuple[int, int]] = []
    at = 0
    for line in read(summary):
        start = flat.index(line.text, at)
        at = start + len(line.text)
        spans.append((start, at))
    found: list[set[str]] = [set() for _ in spans]
    for text, labels in _marks(entry):
        first = flat.find(text)
        unclear = len(text.split()) < _SHORTEST_AMBIGUOUS and flat.count(text) > 1
        for number, (start, end) in enumerate(spans):
            if first >= 0 and not unclear and start < first + len(text) and end > first:
                found[number].update(labels)
    return [frozenset(labels) for labels in found]


def _marks(entry: Mapping[str, Any]) -> Iterator[tuple[str, Sequence[str]]]:
    for single in entry["singles"]:
        yield " ".join(single["span"].split()), single["labels"]
    for relation in entry["relations"]:
        for side in ("span_a", "span_b"):
            yield " ".join(relation[side].split()), relation["shared_labels"]


def _flagged(summary: str) -> list[bool]:
    """Which sentences the judge calls confusing, asked as the proofreader asks."""
    asked = [SummarySentence(id=number, sentence=line.text) for number, line in enumerate(read(summary), 1)]
    verdicts: dict[int, bool] = {}
    for at in range(0, len(asked), _BATCH):
        for one in find_confusion(ConfusionGiven(summary=summary, sentences=asked[at : at + _BATCH])).sentences:
            verdicts[one.id] = bool(one.is_confusing)
    return [verdicts[one.id] for one in asked]


def _annotations(data: Path, name: str) -> dict[str, Any]:
    annotated: dict[str, Any] = json.loads((data / FOLDER / "annotations" / f"{name}.json").read_text("utf-8"))
    return annotated


def _mark(text: str, marks: Mapping[str, Any]) -> frozenset[str] | None:
    """What GPT-4 found in a sentence, however it was cut; None where nothing."""
    for sentence, mark in marks.items():
        known = " ".join(sentence.split())
        if known == text or (min(len(known), len(text)) > 30 and (known in text or text in known)):
            return frozenset(mark["types"] or ())
    return None


def auc(of: Sequence[Judged]) -> float:
    """How often a sentence that people marked scores higher than one that they did not."""
    return float(roc_auc_score([bool(one.labels) for one in of], [one.score for one in of]))


def interval(of: Sequence[Judged]) -> tuple[float, float]:
    """Between what the area lies in nineteen of twenty samples of the books, drawn with replacement."""
    books: dict[str, list[Judged]] = {}
    for one in of:
        books.setdefault(one.book, []).append(one)
    names = sorted(books)
    draw = np.random.default_rng(0)
    areas: list[float] = []
    for _ in range(_RESAMPLES):
        sample = [one for at in draw.integers(len(names), size=len(names)) for one in books[names[at]]]
        if any(one.labels for one in sample):
            areas.append(auc(sample))
    low, high = np.quantile(areas, [0.025, 0.975])
    return float(low), float(high)


def precision_at(of: Sequence[Judged]) -> list[tuple[float, float]]:
    """The best precision at each tenth of recall."""
    precision, recall, _ = precision_recall_curve([bool(one.labels) for one in of], [one.score for one in of])
    return [(least, float(precision[recall >= least].max())) for least in _RECALLS]


def report(data: Path, halves: Sequence[str] = HALVES) -> Iterator[str]:
    """The figures, as lines to print."""
    everything = judged(data)
    yield f"{len(everything):,} sentences, {sum(bool(one.labels) for one in everything)} of them marked by people"
    for half in halves:
        of = [one for one in everything if half_of(one.book) == half]
        low, high = interval(of)
        books = len({one.book for one in of})
        share = sum(bool(one.labels) for one in of) / len(of)
        yield f"\n{half}: {books} books, {len(of):,} sentences, {share:.1%} marked"
        if half == DEVELOPED:
            yield f"  ROC AUC with weights fitted on other books of this half: {cross_validated(data):.3f}"
        yield f"  ROC AUC: {auc(of):.3f} (by books, 95 %: {low:.3f} to {high:.3f})"
        yield "  recall:    " + "  ".join(f"{recall:5.1f}" for recall, _ in precision_at(of))
        yield "  precision: " + "  ".join(f"{precision:5.3f}" for _, precision in precision_at(of))
        yield f"  the judge's verdicts: {_point(of, [one.flagged for one in of])}"
        yield f"  GPT-4's verdicts:     {_point(of, [one.marked for one in of])}"
        for label in ERROR_TYPES:
            its = [one for one in of if label in one.labels]
            area = auc([one for one in of if label in one.labels or not one.labels])
            seen = sum(one.flagged for one in its)
            yield f"  {label:>16}: {len(its):3} sentences, ROC AUC {area:.3f}, {seen} of them seen"


def _point(of: Sequence[Judged], said: Sequence[bool]) -> str:
    hits = sum(bool(one.labels) and yes for one, yes in zip(of, said, strict=True))
    people = sum(bool(one.labels) for one in of)
    false = (sum(said) - hits) / (len(of) - people)
    return (
        f"precision {hits / max(1, sum(said)):.3f}, recall {hits / people:.3f}, false alarms {false:.3f},"
        f" flagged {sum(said) / len(of):.3f}"
    )


@dataclass(frozen=True)
class Rows:
    """What a part is fitted on: the signs of sentences, whether each is one to see, how much it counts, its book."""

    signs: Numbers
    right: Numbers
    weight: Numbers
    books: npt.NDArray[np.str_]

    def without(self, books: Sequence[str]) -> Rows:
        """The rows of other books."""
        kept = ~np.isin(self.books, books)
        return Rows(self.signs[kept], self.right[kept], self.weight[kept], self.books[kept])


def rows_for(part: Part, data: Path) -> Rows:
    """What one part learns from: the half that is for it, as people marked it, and for omissions as GPT-4 did."""
    own = examples(data)
    guide = _guide(data) if part == _GUIDED else ()
    both = [*own, *guide]
    return Rows(
        np.array([one.signs for one in both], dtype=float),
        np.array([not _LEARNT[part].isdisjoint(one.labels) for one in both], dtype=float),
        np.array([1.0] * len(own) + [_GUIDE_WEIGHT] * len(guide)),
        np.array([one.book for one in both]),
    )


@cache
def examples(data: Path) -> tuple[Example, ...]:
    """The half that the judge is developed on, as people marked it."""
    people = json.loads((data / PEOPLE).read_text("utf-8"))
    return tuple(
        Example(book, labels, signs)
        for book, entry in sorted(people.items())
        if half_of(book) == DEVELOPED
        for labels, signs in zip(labels_of(entry["summary"], entry), _signs(entry["summary"]), strict=True)
    )


@cache
def _guide(data: Path) -> tuple[Example, ...]:
    found: list[Example] = []
    for name in ANNOTATED:
        summaries = json.loads((data / FOLDER / "summaries" / f"{name}-cleaned.json").read_text("utf-8"))
        for book, marks in sorted(_annotations(data, name).items()):
            if marks is None or book not in summaries or half_of(book) != DEVELOPED:
                continue
            summary = summaries[book]
            for line, signs in zip(read(summary), _signs(summary), strict=True):
                found.append(Example(book, _mark(line.text, marks) or frozenset(), signs))
    return tuple(found)


def _signs(summary: str) -> list[tuple[float, ...]]:
    lines = read(summary)
    return [tuple(one.signs[sign] for sign in SIGNS) for one in signs_of(lines, repeats(lines))]


def fitted(part: Part, rows: Rows) -> tuple[float, dict[Sign, float]]:
    """The weights of one part: a logistic model whose signs may only speak in the direction that is known of them."""
    used = [(SIGNS.index(sign), up) for sign, up in DIRECTIONS[part].items()]
    signs = rows.signs[:, [at for at, _ in used]]
    mean, spread = signs.mean(0), signs.std(0) + 1e-9
    scaled, weight = (signs - mean) / spread, rows.weight / rows.weight.mean()

    def loss(of: Numbers) -> tuple[float, Numbers]:
        sums = scaled @ of[1:] + of[0]
        error = weight * (1 / (1 + np.exp(-sums)) - rows.right)
        value = float((weight * (np.logaddexp(0, sums) - rows.right * sums)).sum() + _PENALTY / 2 * (of[1:] ** 2).sum())
        return value, np.concatenate([[error.sum()], scaled.T @ error + _PENALTY * of[1:]])

    bounds = [(None, None), *((0, None) if up > 0 else (None, 0) for _, up in used)]
    best = minimize(loss, np.zeros(len(used) + 1), jac=True, bounds=bounds, method="L-BFGS-B").x
    slopes = best[1:] / spread
    return float(best[0] - (slopes * mean).sum()), {
        SIGNS[at]: float(slope) for (at, _), slope in zip(used, slopes, strict=True)
    }


def cross_validated(data: Path) -> float:
    """The area on the half that the judge was developed on, each book with weights that were fitted without it."""
    of = examples(data)
    books = sorted({one.book for one in of}, key=lambda book: hashlib.sha256(book.encode()).digest())
    scores = np.zeros(len(of))
    for fold in range(_FOLDS):
        out = books[fold::_FOLDS]
        asked = [at for at, one in enumerate(of) if one.book in out]
        for part in DIRECTIONS:
            base, slopes = fitted(part, rows_for(part, data).without(out))
            sums = [
                base + sum(slope * of[at].signs[SIGNS.index(sign)] for sign, slope in slopes.items()) for at in asked
            ]
            scores[asked] += 1 / (1 + np.exp(-np.array(sums)))
    return float(roc_auc_score([bool(one.labels) for one in of], scores))


def fit(data: Path) -> Iterator[str]:
    """The weights as they stand in the code."""
    for part in DIRECTIONS:
        base, slopes = fitted(part, rows_for(part, data))
        yield f'    "{part}": Weights('
        yield f"        {base:.3f},"
        yield "        {"
        for name, slope in slopes.items():
            yield f'            "{name}": {slope:.3f},'
        yield "        },"
        yield "    ),"


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    arguments.add_argument("--fit", action="store_true", help="make the weights again")
    arguments.add_argument("--half", choices=HALVES, help="only this half")
    options = arguments.parse_args()
    if not (DATA / PEOPLE).is_file():
        print(f"skipped: {DATA} holds no {PEOPLE}; set REDRAFT_DATA to the folder that does")
        sys.exit(0)
    for line in fit(DATA) if options.fit else report(DATA, [options.half] if options.half else HALVES):
        print(line)


if __name__ == "__main__":
    main()
