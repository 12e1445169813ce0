"""The contents of a comparison: the contract of `compare-runs --format json` and of the HTTP API. Fields are added to
it, never changed.
"""

from __future__ import annotations

from typing import Any, Literal

from redraft.domain import Totals
from redraft.report.dossier.contents import DossierModel, PlaceEntry, Positions

FORMAT = 1
Standing = Literal["flipped", "changed", "open", "same"]
"""Of an item: one summary has it and another has not; all have it or none has, in different ways; in some run nobody
gave a verdict on it, so that it counts nowhere; all have the same."""


class Range(DossierModel):
    """What holds 95 % of the resamples of a figure."""

    low: float
    high: float

    @property
    def has_zero(self) -> bool:
        """Whether there may be nothing at all."""
        return self.low <= 0 <= self.high


class ScoreBeside(DossierModel):
    """What a metric says of the summary of a run."""

    metric: str
    outcome: str
    score: float | None
    interval: Range | None
    """If other items had been drawn. None where fewer than five are judged, or where the score is not their mean."""
    judged: int
    unjudged: int
    reason: str
    stands_on: str
    """Who judged and by what, in a line."""
    self_check: bool
    """Whether the built-in model has judged what it has written itself."""


class SentenceBeside(DossierModel):
    """A sentence of a summary, and where in the document it comes from."""

    number: int
    text: str
    percent: int | None
    """How far into the document its best source is, in hundredths; None where it has none."""
    wrong: tuple[str, ...]
    """What was found wrong with it, by metric and kind."""


class RunBeside(DossierModel):
    """A run with its summary."""

    name: str
    """What it is called here: A, or A2 where a contestant has several."""
    run: str
    kind: str
    status: str
    document: str
    contestant: str
    """The letter of the contestant that it is of."""
    model: str
    judges: tuple[str, ...]
    strategy: str
    version: str
    created: str
    words: int
    used: Totals
    """What it took; cached are the answers that were there already, from earlier runs: they cost nothing."""
    summary: str
    sentences: tuple[SentenceBeside, ...]
    scores: tuple[ScoreBeside, ...]
    positions: Positions | None
    left_out: tuple[str, ...]
    """What is not in the summary, and why."""
    language: str = ""
    """The language that the summary is in, such as `de`; empty where nothing tells."""


class RunVerdict(DossierModel):
    """What was said of an item in one run."""

    run: str
    """The run's name here."""
    verdict: str
    """Empty where the run was not judged by that item."""
    value: float | None
    """1 where the summary has it, 0 where not, between them where judges differ; None without a verdict."""
    found: str
    sentences: tuple[int, ...]


class ItemBeside(DossierModel):
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


class DocumentBeside(DossierModel):
    """A document with the runs on it."""

    id: str
    title: str
    words: int
    runs: tuple[str, ...]
    """Their names."""
    items: tuple[ItemBeside, ...]
    """Those that flipped first."""
    language: str = ""
    """The language that it is in, such as `de`; empty where nothing tells."""


class ContestantScore(DossierModel):
    """What a contestant comes to by a metric."""

    metric: str
    mean: float
    interval: Range | None
    """If other documents had been drawn, or of one document other items."""
    documents: int


class ComparedRuns(DossierModel):
    """What is compared: a run, or all runs on several documents that have model, strategy and settings in common."""

    letter: str
    label: str
    runs: tuple[str, ...]
    """Their names."""
    scores: tuple[ContestantScore, ...]
    cost_usd: float | None
    """Per run, as are the tokens and the seconds."""
    tokens: float
    seconds: float
    words: float
    fifths: tuple[float, ...]
    """Which share of its summaries comes from each fifth of their documents; empty where no sentence is traced."""


class ScoreDifference(DossierModel):
    """A paired difference of two contestants by one metric: the first minus the second."""

    metric: str
    first: str
    second: str
    over: Literal["items", "documents"]
    pairs: int
    """How many items, or documents, both are judged by."""
    left_out: int
    """How many of them are judged for one of the two only, or by other judges, prompts, versions or items."""
    difference: float | None
    """None where nothing can be compared."""
    interval: Range | None
    says: str
    """The same in a sentence."""


class FifthDifference(DossierModel):
    """A paired difference in a fifth of the document."""

    measure: str
    """A metric, or `share` for how much of the summary comes from there."""
    first: str
    second: str
    fifth: int
    """From 1, the beginning, to 5."""
    over: Literal["items", "documents", "summaries"]
    pairs: int
    values: tuple[float, float]
    """What each of the two comes to there."""
    difference: float
    interval: Range | None


class Setting(DossierModel):
    """Something that the contestants do not have in common."""

    name: str
    values: tuple[tuple[Any, ...], ...]
    """For each contestant all that its runs have it set to."""


class RunsBeside(DossierModel):
    """Two runs or more beside each other."""

    format: int = FORMAT
    title: str
    holds: str
    """What it contains of the documents, in a sentence."""
    warnings: tuple[str, ...]
    """Why scores are not comparable, and what else one has to know before one reads them."""
    contestants: tuple[ComparedRuns, ...]
    runs: tuple[RunBeside, ...]
    documents: tuple[DocumentBeside, ...]
    differences: tuple[ScoreDifference, ...]
    fifths: tuple[FifthDifference, ...]
    settings: tuple[Setting, ...]
    cautions: tuple[str, ...]
    """How the figures are to be read."""
