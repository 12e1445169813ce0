"""From summaries to figures by document: what the tables of a grid have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from redraft.dossier.beside.sides import interval_of_mean
from redraft.experiments.grid.records import GridOutcome, Judged

ALL_JUDGES = "mean of judges"
ENDS = ("95% from", "95% to")
COUNTS = ("summaries", "of", "failed", "unjudged")
"""The columns that say what a row rests on: summaries with a score, of how many, and verdicts that were not given."""


def ends(values: Sequence[float]) -> tuple[float | None, float | None]:
    """The interval of the mean of one value a document, by drawing other documents with all of theirs."""
    found = interval_of_mean(values)
    return (found.low, found.high) if found else (None, None)


@dataclass(frozen=True, slots=True)
class Series:
    """What one judge says of one contestant by one metric."""

    contestant: str
    judge: str
    metric: str
    judged: Sequence[Judged]

    @property
    def scores(self) -> list[float]:
        """One for each summary that has a score."""
        return [score for one in self.judged if (score := one.score(self.metric)) is not None]

    @property
    def by_document(self) -> dict[str, float]:
        """By document the mean of the scores of its summaries."""
        found: dict[str, list[float]] = {}
        for one in self.judged:
            if (score := one.score(self.metric)) is not None:
                found.setdefault(one.summary.document, []).append(score)
        return {document: fmean(scores) for document, scores in found.items()}

    @property
    def counts(self) -> tuple[int, int, int, int]:
        """The cells of the columns `COUNTS`."""
        failed = sum(bool(one.summary.failure or one.failure) or self._failed(one) for one in self.judged)
        known = [one.scores[self.metric] for one in self.judged if self.metric in one.scores]
        return (len(self.scores), len(self.judged), failed, sum(one.unjudged for one in known))

    def _failed(self, one: Judged) -> bool:
        found = one.scores.get(self.metric)
        return found is not None and found.outcome == "failed"


def series(outcome: GridOutcome, contestant: str, judge: str, metric: str) -> Series:
    """What one judge says of one contestant by one metric."""
    return Series(contestant, judge, metric, outcome.of(contestant, judge))


def by_document(outcome: GridOutcome, contestant: str, judge: str, metric: str) -> Mapping[str, float]:
    """By document the score of a contestant; of all judges their mean, where each of them gives one."""
    if judge != ALL_JUDGES:
        return series(outcome, contestant, judge, metric).by_document
    each = [series(outcome, contestant, one, metric).by_document for one in outcome.judges]
    shared = [one for one, _ in outcome.documents if all(one in of_one for of_one in each)]
    return {document: fmean(of_one[document] for of_one in each) for document in shared}


def labels(outcome: GridOutcome) -> dict[str, str]:
    """By document its title, with a number where others have the same."""
    seen: dict[str, int] = {}
    found: dict[str, str] = {}
    for document, title in outcome.documents:
        seen[title] = number = seen.get(title, 0) + 1
        found[document] = title if number == 1 else f"{title} ({number})"
    return found


def judges_of(outcome: GridOutcome) -> list[str]:
    """Each judge, and all together where there are several."""
    return [*outcome.judges, *([ALL_JUDGES] if len(outcome.judges) > 1 else [])]


def basis(outcome: GridOutcome) -> str:
    """What the tables rest on, in a sentence or two."""
    summaries, judged = outcome.summaries, outcome.judged
    there = sum(one.text is not None for one in summaries)
    status = [one.status for one in judged]
    open_ = sum(measured.unjudged for one in judged for measured in one.scores.values())
    given = sum(measured.judged for one in judged for measured in one.scores.values())
    return (
        f"Rests on {there} of {len(summaries)} summaries of {len(outcome.documents)}"
        f" document{'s' * (len(outcome.documents) != 1)}, {status.count('done')} of {len(judged)} judged in full;"
        f" {status.count('failed')} failed; {open_:,} of {open_ + given:,} verdicts were not given."
    )
