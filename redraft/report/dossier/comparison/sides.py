"""What a comparison reads from each run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isclose
from statistics import fmean

import numpy as np

from redraft.domain import Document, Evaluation, Totals
from redraft.errors import UsageError
from redraft.evaluators.consensus import draws, interval
from redraft.report.dossier.comparison.contents import Range, ScoreBeside, SentenceBeside
from redraft.report.dossier.contents import JudgedItem, Places, Positions
from redraft.report.dossier.findings import positions, sentence_numbers
from redraft.report.dossier.judged import items, scores
from redraft.report.history.certificates import standing_of
from redraft.report.history.lineage import Lineage, read_lineage
from redraft.report.history.results import Result, document_read, read_result
from redraft.settings import FIGURES
from redraft.store.judgments import JudgeSetup
from redraft.store.runs import Run
from redraft.store.store import Store
from redraft.text.places import percent_of
from redraft.text.sanitizer import clean, one_line, scrubbed
from redraft.text.vectors import Encoder
from redraft.text.words import count_words

LEAST = 5
"""With fewer values there is no interval: it would hardly exceed the range of the values."""
_DIGITS = 6


def interval_of_mean(values: Sequence[float]) -> Range | None:
    """Return the range of 95 % of resampled means, regardless of the order of the values; None for fewer than 5."""
    if len(values) < LEAST:
        return None
    found = interval(draws(len(values)) @ np.sort(np.asarray(values, dtype=np.float64)) / len(values))
    return Range(low=round(found.low, _DIGITS), high=round(found.high, _DIGITS)) if found else None


_WITHOUT_SUMMARY = {
    "pack": "it builds questions",
    "keyfacts": "it builds key facts",
    "compare": "it asked which of two summaries is better",
    "lineage": "it traced the summary of another run",
}
# The details of an evaluation that identify the questions or key facts it used.
_YARDSTICKS = ("pack", "keyfacts")


@dataclass(frozen=True, slots=True)
class Side:
    """A run as read for a comparison."""

    result: Result
    document: Document
    document_words: int
    named: str
    """The name that the user gave it; empty without one."""
    sentences: tuple[SentenceBeside, ...]
    positions: Positions | None
    items: tuple[JudgedItem, ...]
    scores: tuple[ScoreBeside, ...]

    @property
    def run(self) -> Run:
        """The stored run."""
        return self.result.run

    @property
    def used(self) -> Totals:
        """The usage totals."""
        return self.result.usage

    @property
    def scored(self) -> Mapping[str, float]:
        """The scores by metric, for metrics that have one."""
        return {one.metric: one.score for one in self.scores if one.score is not None}

    def standing(self, metric: str) -> JudgeSetup:
        """Return the judge setup of a metric."""
        return standing_of(self.run, metric, self.result.evaluations[metric].version)

    def yardstick(self, metric: str) -> str:
        """Return the id of the questions or key facts that a metric used; empty if it uses none."""
        details = self.result.evaluations[metric].details
        return next((str(details[name]) for name in _YARDSTICKS if details.get(name)), "")


def read_side(store: Store, key: str, named: str, encoder: Encoder | None) -> Side:
    """Return a run with its summary. Raises a `UsageError` if it has none."""
    run = store.runs.get(key)
    if run.kind in _WITHOUT_SUMMARY:
        raise UsageError(
            f"run {run.id} made no summary: {_WITHOUT_SUMMARY[run.kind]}", hint="`redraft runs` lists the runs that did"
        )
    if run.draft is None:
        raise UsageError(f"run {run.id} has no summary yet", hint=f"redraft resume {run.id}")
    result = read_result(store, run.id)
    document = document_read(store, run)
    lineage = read_lineage(store, run.id, encoder=encoder)
    return Side(
        result=result,
        document=document,
        document_words=count_words(document.text),
        named=one_line(named),
        sentences=tuple(_sentences(lineage, result)),
        positions=positions(lineage) if any(one.places for one in lineage.sentences) else None,
        items=tuple(items(store, result, Places(document))),
        scores=tuple(_scores(result)),
    )


def _sentences(lineage: Lineage, result: Result) -> Iterator[SentenceBeside]:
    numbers, wrong = sentence_numbers(lineage), dict[int, list[str]]()
    for evaluation in result.evaluations.values():
        for finding in evaluation.findings:
            if number := numbers.get(one_line(finding.sentence)) if finding.sentence else None:
                wrong.setdefault(number, []).append(f"{finding.metric}: {finding.kind}")
    for one in lineage.sentences:
        best = max(one.places, key=lambda origin: origin.weight, default=None)
        yield SentenceBeside(
            number=one.number,
            text=clean(lineage.text[one.span.start : one.span.end]).strip(),
            percent=percent_of(lineage.document, best.span.start) if best else None,
            wrong=tuple(dict.fromkeys(map(one_line, wrong.get(one.number, ())))),
        )


def _scores(result: Result) -> Iterator[ScoreBeside]:
    for one in scores(result):
        if one.metric in FIGURES:
            continue
        values = counted(result.evaluations[one.metric])
        yield ScoreBeside.of(one, interval=interval_of_mean(values) if values else None)


def counted(evaluation: Evaluation) -> Sequence[float]:
    """Return the item values that the score is the mean of; empty if it is not the mean of any."""
    if evaluation.score is None:
        return ()
    for listed in evaluation.details.values():
        values = _values(listed)
        if len(values) == evaluation.judged and values and isclose(fmean(values), evaluation.score, abs_tol=1e-9):
            return values
    return ()


def _values(listed: object) -> list[float]:
    if not isinstance(listed, list | tuple):
        return []
    known = [one.get("value") for one in listed if isinstance(one, Mapping)]
    return [float(value) for value in known if isinstance(value, int | float)]


def left_out(side: Side) -> Iterator[str]:
    """Yield what is missing from a summary."""
    for gap in side.result.gaps:
        which = f"{side.result.unit.capitalize()} {gap.chunk + 1} of {side.result.chunks}"
        yield f"{which} of the document was left out: {scrubbed(gap.reason)}"
    if side.result.status != "done":
        yield f"The run is {side.result.status}."
