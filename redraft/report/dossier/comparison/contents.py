"""The contents of a comparison: the contract of `compare-runs --format json` and of the HTTP API. Fields are added,
never changed."""

from __future__ import annotations

from typing import Any, Literal

from redraft.domain import Totals
from redraft.report.dossier.contents import DossierModel, MetricScore, PlaceEntry, Positions, Range

FORMAT = 1
Standing = Literal["flipped", "changed", "open", "same"]
"""How an item compares. `flipped`: one summary has it and another does not; `changed`: all have it or none has, with
different verdicts; `open`: some run has no verdict on it, so that it is not counted; `same`: all have the same verdict.
"""


class ComparedSentence(DossierModel):
    """A sentence of a summary, and where in the document it comes from."""

    number: int
    text: str
    percent: int | None
    """How far into the document its best source is, in percent; None if it has none."""
    wrong: tuple[str, ...]
    """The findings on it, by metric and kind."""


class ComparedRun(DossierModel):
    """A run with its summary."""

    name: str
    """Its name in the comparison: A, or A2 if a contestant has several runs."""
    run: str
    kind: str
    status: str
    document: str
    contestant: str
    """The letter of its contestant."""
    model: str
    judges: tuple[str, ...]
    strategy: str
    version: str
    created: str
    words: int
    used: Totals
    """The usage totals. Cached replies were reused from earlier runs at no cost."""
    summary: str
    sentences: tuple[ComparedSentence, ...]
    scores: tuple[MetricScore, ...]
    positions: Positions | None
    left_out: tuple[str, ...]
    """What is missing from the summary, and why."""
    language: str = ""
    """The language of the summary, such as `de`; empty if unknown."""


class RunVerdict(DossierModel):
    """The verdict on an item in one run."""

    run: str
    """The name of the run in the comparison."""
    verdict: str
    """Empty if the run was not judged by that item."""
    value: float | None
    """1 if the summary has it, 0 if not, in between if judges differ; None without a verdict."""
    found: str
    sentences: tuple[int, ...]


class ComparedItem(DossierModel):
    """A question or a key fact, with the verdict in each run."""

    number: int
    metric: str
    kind: str
    key: str
    text: str
    expected: str
    place: PlaceEntry | None
    verdicts: tuple[RunVerdict, ...]
    standing: Standing


class ComparedDocument(DossierModel):
    """A document with its runs."""

    id: str
    title: str
    words: int
    runs: tuple[str, ...]
    """The names of the runs."""
    items: tuple[ComparedItem, ...]
    """The items, flipped ones first."""
    language: str = ""
    """The language of the document, such as `de`; empty if unknown."""


class ContestantScore(DossierModel):
    """A contestant's mean score by a metric."""

    metric: str
    mean: float
    interval: Range | None
    """The range with other documents drawn, or with other items for a single document."""
    documents: int


class ComparedContestant(DossierModel):
    """A contestant: one run, or all runs on several documents that share model, strategy and settings."""

    letter: str
    label: str
    runs: tuple[str, ...]
    """The names of the runs."""
    scores: tuple[ContestantScore, ...]
    cost_usd: float | None
    """The mean per run, as for the tokens and the seconds."""
    tokens: float
    seconds: float
    words: float
    fifths: tuple[float, ...]
    """The share of its summaries that comes from each fifth of the document; empty if no sentence is traced."""


class ScoreDifference(DossierModel):
    """A paired difference of two contestants by one metric: the first minus the second."""

    metric: str
    first: str
    second: str
    over: Literal["items", "documents"]
    pairs: int
    """The number of items, or documents, that both are judged by."""
    left_out: int
    """The number of those judged for only one of the two, or by other judges, prompts, versions or items."""
    difference: float | None
    """None if nothing can be compared."""
    interval: Range | None
    says: str
    """The difference in a sentence."""


class FifthDifference(DossierModel):
    """A paired difference in a fifth of the document."""

    measure: str
    """A metric, or `share` for the share of the summary that comes from there."""
    first: str
    second: str
    fifth: int
    """From 1, the start, to 5."""
    over: Literal["items", "documents", "summaries"]
    pairs: int
    values: tuple[float, float]
    """The value of each of the two there."""
    difference: float
    interval: Range | None


class Setting(DossierModel):
    """A setting in which the contestants differ."""

    name: str
    values: tuple[tuple[Any, ...], ...]
    """For each contestant, all values that its runs have."""


class RunComparison(DossierModel):
    """A comparison of two or more runs."""

    format: int = FORMAT
    title: str
    holds: str
    """A sentence on how much of the documents it contains."""
    warnings: tuple[str, ...]
    """Why scores are not comparable, and what else to know before reading them."""
    contestants: tuple[ComparedContestant, ...]
    runs: tuple[ComparedRun, ...]
    documents: tuple[ComparedDocument, ...]
    differences: tuple[ScoreDifference, ...]
    fifths: tuple[FifthDifference, ...]
    settings: tuple[Setting, ...]
    cautions: tuple[str, ...]
    """How to read the figures."""
