"""How far the built-in judge sees the same sentences of a summary as confusing as people do.

    python -m benchmarks.confusion [--fit]

Reads booookscore/human and booookscore/annotations under $REDRAFT_DATA (by default ../shared/data). A sentence is
confusing to people where what one of them marked overlaps it. The judge's weights are fitted to what people marked, so
every book is judged here with weights that were fitted on other books: the books are divided into ten folds by a hash
of their names. With --fit, the weights that the judge has are made again, on all books, and printed as
redraft/builtin/coherence/weighing.py has them.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections import defaultdict
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
from redraft.builtin.coherence.analysis import Analysed, analyse
from redraft.builtin.coherence.reading import read
from redraft.builtin.coherence.signs import Sign
from redraft.builtin.coherence.weighing import DIRECTIONS, Part, Weighing, Weights, chances
from redraft.prompts.coherence import ERROR_TYPES

FOLDER = Path("booookscore")
PEOPLE = FOLDER / "human" / "summary-gpt4-4096-hier.json"
GPT4 = FOLDER / "annotations" / "gpt4-4096-hier.json"

# A mark of one word that stands in several places says not which sentence is meant.
_SHORTEST_AMBIGUOUS = 2
_RECALLS = tuple(tenth / 10 for tenth in range(1, 10))
_RESAMPLES = 1000
_FOLDS = 10
# What each part of the judge learns to see.
_LEARNT: Mapping[Part, frozenset[str]] = {
    "omission": frozenset({"entity omission", "event omission", "causal omission", "salience", "language"}),
    "break": frozenset({"discontinuity", "inconsistency"}),
    "repetition": frozenset({"duplication"}),
}
# How much the weights are held back from growing.
_PENALTY = 30.0

Numbers = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Sentence:
    """A sentence of a summary: what people found in it, what the judge reads off it, and whether GPT-4 marked it."""

    book: str
    labels: frozenset[str]
    read: Analysed
    marked: bool


@dataclass(frozen=True)
class Judged:
    """A sentence as it is judged with weights that were fitted on other books."""

    book: str
    labels: frozenset[str]
    score: float
    flagged: bool
    marked: bool


@cache
def annotated(data: Path) -> tuple[Sentence, ...]:
    """All sentences of the summaries that people annotated."""
    people = json.loads((data / PEOPLE).read_text("utf-8"))
    gpt4 = json.loads((data / GPT4).read_text("utf-8"))
    found: list[Sentence] = []
    for book, entry in sorted(people.items()):
        marks = gpt4.get(book) or {}
        for one, labels in zip(analyse(entry["summary"]), labels_of(entry["summary"], entry), strict=True):
            found.append(Sentence(book, labels, one, _is_marked(one.line.text, marks)))
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


def _is_marked(text: str, marks: Mapping[str, Any]) -> bool:
    """Whether GPT-4 found a sentence confusing, however it was cut."""
    for sentence in marks:
        known = " ".join(sentence.split())
        if known == text or (min(len(known), len(text)) > 30 and (known in text or text in known)):
            return True
    return False


def folds(of: Sequence[Sentence]) -> list[frozenset[str]]:
    """The books, divided into ten parts by a hash of their names."""
    books = sorted({one.book for one in of}, key=lambda book: hashlib.sha256(book.encode()).digest())
    return [frozenset(books[fold::_FOLDS]) for fold in range(_FOLDS)]


@cache
def judged(data: Path) -> tuple[Judged, ...]:
    """All sentences, each judged with weights that were fitted on the books of the other folds."""
    found: list[Judged] = []
    for fold in folds(annotated(data)):
        weighing = fitted([one for one in annotated(data) if one.book not in fold])
        for one in annotated(data):
            if one.book in fold:
                verdict = one.read._replace(chances=chances(one.read.signed.signs, weighing))
                found.append(Judged(one.book, one.labels, verdict.score, verdict.confuses, one.marked))
    return tuple(found)


def fitted(of: Sequence[Sentence]) -> Weighing:
    """The weights of all parts, as what people marked in some sentences gives them."""
    return {part: _part(part, of) for part in DIRECTIONS}


def _part(part: Part, of: Sequence[Sentence]) -> Weights:
    """A logistic model whose signs may only speak in the direction that is known of them."""
    names: list[Sign] = list(DIRECTIONS[part])
    signs = np.array([[one.read.signed.signs[name] for name in names] for one in of], dtype=float)
    right = np.array([not _LEARNT[part].isdisjoint(one.labels) for one in of], dtype=float)
    mean, spread = signs.mean(0), signs.std(0) + 1e-9
    scaled = (signs - mean) / spread

    def loss(at: Numbers) -> tuple[float, Numbers]:
        sums = scaled @ at[1:] + at[0]
        error = 1 / (1 + np.exp(-sums)) - right
        value = float((np.logaddexp(0, sums) - right * sums).sum() + _PENALTY / 2 * (at[1:] ** 2).sum())
        return value, np.concatenate([[error.sum()], scaled.T @ error + _PENALTY * at[1:]])

    bounds = [(None, None), *((0, None) if DIRECTIONS[part][name] > 0 else (None, 0) for name in names)]
    best = minimize(loss, np.zeros(len(names) + 1), jac=True, bounds=bounds, method="L-BFGS-B").x
    slopes = best[1:] / spread
    return Weights(
        float(best[0] - (slopes * mean).sum()),
        {name: float(slope) for name, slope in zip(names, slopes, strict=True)},
    )


def auc(of: Sequence[Judged]) -> float:
    """How often a sentence that people marked scores higher than one that they did not."""
    return float(roc_auc_score([bool(one.labels) for one in of], [one.score for one in of]))


def auc_within(of: Sequence[Judged]) -> float:
    """How often it does beside a sentence of the same summary; a summary counts by how much is marked in it."""
    areas: list[float] = []
    counts: list[int] = []
    for own in _by_book(of).values():
        marked = sum(bool(one.labels) for one in own)
        if 0 < marked < len(own):
            areas.append(auc(own))
            counts.append(marked)
    return float(np.average(areas, weights=counts))


def _by_book(of: Sequence[Judged]) -> dict[str, list[Judged]]:
    books: defaultdict[str, list[Judged]] = defaultdict(list)
    for one in of:
        books[one.book].append(one)
    return dict(sorted(books.items()))


def interval(of: Sequence[Judged]) -> tuple[float, float]:
    """Between what the area lies in nineteen of twenty samples of the books, drawn with replacement."""
    books = list(_by_book(of).values())
    draw = np.random.default_rng(0)
    areas = [
        auc([one for at in draw.integers(len(books), size=len(books)) for one in books[at]]) for _ in range(_RESAMPLES)
    ]
    low, high = np.quantile(areas, [0.025, 0.975])
    return float(low), float(high)


def precision_at(of: Sequence[Judged]) -> list[tuple[float, float]]:
    """The best precision at each tenth of recall."""
    precision, recall, _ = precision_recall_curve([bool(one.labels) for one in of], [one.score for one in of])
    return [(least, float(precision[recall >= least].max())) for least in _RECALLS]


def report(data: Path) -> Iterator[str]:
    """The figures, as lines to print."""
    of = judged(data)
    books, marked = _by_book(of), sum(bool(one.labels) for one in of)
    yield f"{len(books)} books, {len(of):,} sentences, {marked} of them marked by people ({marked / len(of):.1%})"
    yield f"Each book is judged with weights fitted on other books ({_FOLDS} folds), not with those that the judge has,"
    yield "which are fitted on all of them. The signs were chosen while these books were looked at, though: in books"
    yield "that nobody has seen, expect somewhat less."
    low, high = interval(of)
    yield f"  ROC AUC, all sentences together: {auc(of):.3f} (by books, 95 %: {low:.3f} to {high:.3f})"
    yield f"  ROC AUC within summaries:        {auc_within(of):.3f}"
    yield "  recall:    " + "  ".join(f"{recall:5.1f}" for recall, _ in precision_at(of))
    yield "  precision: " + "  ".join(f"{precision:5.3f}" for _, precision in precision_at(of))
    yield f"  the judge's verdicts: {_point(of, [one.flagged for one in of])}"
    yield f"  GPT-4's verdicts:     {_point(of, [one.marked for one in of])}"
    for label in ERROR_TYPES:
        its = [one for one in of if label in one.labels]
        area = auc([one for one in of if label in one.labels or not one.labels])
        seen, others = sum(one.flagged for one in its), sum(one.marked for one in its)
        yield f"  {label:>16}: {len(its):3} sentences, ROC AUC {area:.3f}, {seen:2} of them seen, {others:2} by GPT-4"


def _point(of: Sequence[Judged], said: Sequence[bool]) -> str:
    hits = sum(bool(one.labels) and yes for one, yes in zip(of, said, strict=True))
    people = sum(bool(one.labels) for one in of)
    false = (sum(said) - hits) / (len(of) - people)
    return (
        f"precision {hits / max(1, sum(said)):.3f}, recall {hits / people:.3f}, false alarms {false:.3f},"
        f" flagged {sum(said) / len(of):.3f}"
    )


def fit(data: Path) -> Iterator[str]:
    """The weights of the judge, fitted on all books, as they stand in the code."""
    for part, weights in fitted(annotated(data)).items():
        yield f'    "{part}": Weights('
        yield f"        {weights.base:.3f},"
        yield "        {"
        for name, slope in weights.slopes.items():
            yield f'            "{name}": {slope:.3f},'
        yield "        },"
        yield "    ),"


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    arguments.add_argument("--fit", action="store_true", help="make the weights again")
    options = arguments.parse_args()
    if not (DATA / PEOPLE).is_file():
        print(f"skipped: {DATA} holds no {PEOPLE}; set REDRAFT_DATA to the folder that does")
        sys.exit(0)
    for line in fit(DATA) if options.fit else report(DATA):
        print(line)


if __name__ == "__main__":
    main()
