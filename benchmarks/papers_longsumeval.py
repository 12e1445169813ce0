"""LongSumEval: what its tables have that can be recomputed, from QAGS and SummEval and from its own figures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import comb
from statistics import fmean, stdev

from benchmarks.common import DATA
from benchmarks.papers import Check
from redraft.lab.agreement.formats import FORMATS
from redraft.lab.agreement.people import Dataset
from redraft.lab.experiments.frames import percent_change

PAPER = "LongSumEval"
SETS = {"qags": "qags/mturk_cnndm.jsonl", "summeval": "summeval/summaries.jsonl"}

# Table III: initial, refined and change in %, of all summaries, of those with low coverage, and with low consistency.
CHANGES = """
.549 .767 39.71  .430 .790 83.72  .514 .806 56.81   .820 .875 6.71   .806 .872 8.19   .582 .858 47.42
.632 .737 16.61  .445 .740 66.29  .634 .720 13.56   .757 .807 6.61   .764 .776 1.57   .561 .762 35.83
.644 .701 8.85   .459 .752 63.83  .645 .743 15.19   .785 .786 .13    .788 .790 .25    .566 .766 35.34
.532 .586 10.15  .366 .604 65.03  .467 .586 25.48   .778 .732 -5.91  .748 .708 -5.35  .538 .691 28.44
.535 .725 35.51  .415 .727 75.18  .524 .728 38.93   .762 .796 4.46   .753 .768 1.99   .518 .752 45.17
"""
# Table II: the figures other than 0, and how many systems there are.
TAUS = {
    "SummEval": (16, ".417 .567 .200 .500 .500 .483 .450 .367 .350 .683 .667 .333 .500"),
    "GovReport": (12, ".303 -.182 -.364 -.091 -.030 -.091 -.061 -.333 .242 .030 .121 .273 .515"),
}


def checks() -> list[Check]:
    """Return the checks; those on data only where the data are."""
    return [*_lengths(), *_changes(), *_taus()]


def _lengths() -> Iterator[Check]:
    note = "characters, which the table calls words"
    if (path := DATA / SETS["qags"]).exists():
        read = FORMATS["qags"].read(str(path))
        documents = [len(item.source) for item in read.items]
        summaries = [len(" ".join(item.sentences)) for item in read.items]
        yield Check(PAPER, "table I, QAGS-C, documents", 235, len(documents))
        yield Check(PAPER, "table I, QAGS-C, their length", 1791, round(fmean(documents), 1), 0.5, note)
        yield Check(PAPER, "table I, QAGS-C, its deviation", 192, round(stdev(documents), 1), 0.5)
        yield Check(PAPER, "table I, QAGS-C, length of summaries", 284, round(fmean(summaries), 1), 0.6, note)
        yield Check(PAPER, "table I, QAGS-C, its deviation", 83, round(stdev(summaries), 1), 0.5)
    if (path := DATA / SETS["summeval"]).exists():
        read = FORMATS["summeval"].read(str(path))
        documents = _document_lengths(read)
        yield Check(PAPER, "table I, SummEval, documents", 100, len(documents))
        yield Check(PAPER, "table I, SummEval, deviation of their length", 601, round(stdev(documents), 1), 0.5)
        summaries = [len(item.summary) for item in read.items]
        yield Check(PAPER, "table I, SummEval, length of summaries", 343, round(fmean(summaries), 1), 0.5, note)


def _document_lengths(read: Dataset) -> list[int]:
    return list({item.document: len(item.source) for item in read.items}.values())


def _changes() -> Iterator[Check]:
    numbers = [float(one) for one in CHANGES.split()]
    cells = [numbers[at : at + 3] for at in range(0, len(numbers), 3)]
    right = sum(abs((percent_change(first, last) or 0.0) - said) < 0.0051 for first, last, said in cells)
    yield Check(PAPER, "table III, changes in %", len(cells), right)


def _taus() -> Iterator[Check]:
    for name, (systems, said) in TAUS.items():
        taus = [float(one) for one in said.split()]
        note = f"of the means of {systems} systems"
        yield Check(PAPER, f"table II, tau on {name}", len(taus), sum(_is_tau(one, systems) for one in taus), note=note)


def _is_tau(said: float, ranked: int) -> bool:
    """Return whether a figure can be the tau of so many items without ties: their pairs are in or out of order."""
    pairs = comb(ranked, 2)
    possible: Sequence[float] = [round((2 * n - pairs) / pairs, 3) for n in range(pairs + 1)]
    return said in possible
