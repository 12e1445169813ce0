"""The items of BooookScore and their frames: scores, types of confusion, lengths, references, and agreement."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import fmean
from typing import Annotated, ClassVar

from pydantic import Field

from redraft.domain import computed
from redraft.evaluators.booookscore import UNTYPED
from redraft.evaluators.metric_info import MIN_SHARE
from redraft.evaluators.reference.keyfacts import ALL
from redraft.evaluators.similarity import rouge_l
from redraft.lab.agreement.annotations import ConfusionVerdict
from redraft.lab.agreement.measures import (
    cohens_kappa,
    correlate,
    percent_agreement,
    precision_and_recall,
    spread_of_mean,
)
from redraft.lab.experiments.experiment import Item
from redraft.lab.experiments.frames import ENDS, Frame, frame_of, mean_of, percent
from redraft.prompts.coherence import ERROR_TYPES
from redraft.prompts.qa import Statement
from redraft.runs.experiment_runner import Failure
from redraft.store.connection import storable
from redraft.text.sanitizer import one_line

PARTS = 5
"""The parts of equal size, by length, that summaries are put into."""
_SHOWN, _OTHER = 60, "another type"


@dataclass(frozen=True, slots=True)
class Summary:
    """A summary of the file, with its measurements."""

    id: str
    text: str
    statements: tuple[Statement, ...]
    """Its sentences and headings."""
    sentences: tuple[Statement, ...]
    """The sentences to judge; empty if the summary is."""
    tokens: int
    words: int
    repeated_trigrams: float | None
    """The share of its distinct trigrams that occur more than once."""


@dataclass(frozen=True, slots=True)
class ConfusingSentence:
    """A confusing sentence, the types of its errors, and the questions that it leaves open."""

    number: int
    sentence: str
    types: tuple[str, ...]
    questions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CoherenceItem(Item):
    """One summary by one system's verdicts, an annotation file's or a judge's. Sheets for people are made from it."""

    label_form: ClassVar[str] = "{0.system}"
    by_field: ClassVar[str] = "system"
    made_field: ClassVar[str] = "made"
    system: str
    tokens: int = 0
    words: int = 0
    repeated_trigrams: float | None = None
    judged: int = 0
    """The number of judged sentences; where people marked spans, the sentences of a span are one."""
    unjudged: int = 0
    confused: int = 0
    score: float | None = None
    types: Mapping[str, int] = field(default_factory=dict)
    """The numbers of confusing sentences, or of marks, by type of error."""
    spans: int = 0
    """The number of sentences, where people marked spans of any length in them."""
    marks: int = 0
    """The number of people's marks, of which one may have several types."""
    confusing: tuple[ConfusingSentence, ...] = ()
    verdicts_by_sentence: Annotated[Mapping[int, bool], Field(exclude=True)] = field(default_factory=dict)
    """Whether each sentence is confusing, by its number, where that is known."""
    made: Annotated[bool, Field(exclude=True)] = True

    @computed
    def id(self) -> str:
        """The id of the summary."""
        return self.document

    @property
    def verdicts(self) -> tuple[int, int]:
        """The numbers of sentences that were judged, and that were not."""
        return self.judged, self.unjudged


def coherence_item(
    system: str,
    summary: Summary,
    verdicts: Sequence[ConfusionVerdict],
    by_sentence: Mapping[int, ConfusionVerdict],
    unjudged: int = 0,
    marks: Sequence[ConfusionVerdict] | None = None,
    failure: Failure | None = None,
) -> CoherenceItem:
    """Return what a system says of a summary: one verdict for each judged sentence, and people's marks, if any.

    The score is that of equation 1. There is none if a judge left most sentences open, or left some open and found only
    faults: the open ones may be clear.
    """
    confused = sum(verdict.confusing for verdict in verdicts)
    few = len(verdicts) < MIN_SHARE * (len(verdicts) + unjudged) or confused == len(verdicts)
    texts = {statement.id: statement.sentence for statement in summary.sentences}
    faulty = [verdict for verdict in marks or verdicts if verdict.confusing]
    types = Counter[str](kind for verdict in faulty for kind in verdict.types)
    types[_OTHER] = sum(bool(verdict.unknown) for verdict in faulty)
    types[UNTYPED] = sum(not verdict.types and not verdict.unknown for verdict in faulty)
    return CoherenceItem(
        *(storable(summary.id), one_line(summary.id, _SHOWN), system),
        tokens=summary.tokens,
        words=summary.words,
        repeated_trigrams=summary.repeated_trigrams,
        judged=len(verdicts),
        unjudged=unjudged,
        confused=confused,
        score=None if not verdicts or (failure and few) else 1 - confused / len(verdicts),
        types={kind: types[kind] for kind in (*ERROR_TYPES, _OTHER, UNTYPED) if types[kind]},
        spans=len(summary.sentences) if marks is not None else 0,
        marks=len(marks or ()),
        confusing=tuple(
            ConfusingSentence(number, texts[number], (*verdict.types, *verdict.unknown), tuple(verdict.questions))
            for number, verdict in by_sentence.items()
            if verdict.confusing
        ),
        verdicts_by_sentence={number: verdict.confusing for number, verdict in by_sentence.items()},
        failure=failure,
    )


def by_system(items: Sequence[CoherenceItem]) -> dict[str, list[CoherenceItem]]:
    """Return the items of each system."""
    systems: dict[str, list[CoherenceItem]] = {}
    for item in items:
        systems.setdefault(item.system, []).append(item)
    return systems


def score_frame(items: Sequence[CoherenceItem]) -> Frame:
    """Return the score of every system, and its spread (table 2)."""
    rows = []
    for system, group in by_system(items).items():
        scores = [item.score for item in group if item.score is not None]
        judged_count, unjudged = sum(item.judged for item in group), sum(item.unjudged for item in group)
        rows.append(
            {
                "system": system,
                "BooookScore": percent(mean_of(scores)),
                "score": mean_of(scores),
                **spread_of_mean(scores),
                "summaries": len(scores),
                "of": len(group),
                "sentences": judged_count + unjudged,
                "judged": judged_count,
                "unjudged": unjudged,
                "confused": sum(item.confused for item in group) if judged_count else None,
            }
        )
    return frame_of(rows)


def type_frame(items: Sequence[CoherenceItem]) -> Frame:
    """Return how often each type of confusion occurs (table 1 and figure 4)."""
    rows = []
    for system, group in by_system(items).items():
        counts = sum((Counter(item.types) for item in group), Counter[str]())
        total = sum(item.spans or item.judged for item in group)
        kinds = [kind for kind in (*ERROR_TYPES, _OTHER, UNTYPED) if counts[kind] or kind in ERROR_TYPES]
        for kind in kinds if any(item.judged for item in group) else ():
            share = 100 * counts[kind] / total
            rows.append({"system": system, "type": kind, "sentences": counts[kind], "% of sentences": share})
    return frame_of(rows, ("system", "type", "sentences", "% of sentences"))


def length_frame(summaries: Sequence[Summary]) -> Frame:
    """Return the mean lengths and repetition of the summaries that contain a sentence (table 2)."""
    worded = [summary for summary in summaries if summary.sentences]
    row = {
        "summaries": len(worded),
        "tokens": mean_of(summary.tokens for summary in worded),
        "words": mean_of(summary.words for summary in worded),
        "sentences": mean_of(len(summary.sentences) for summary in worded),
        "% repeated trigrams": percent(mean_of(summary.repeated_trigrams for summary in worded)),
    }
    return frame_of([row])


def by_length_frame(items: Sequence[CoherenceItem]) -> Frame:
    """Return the scores of each system by the length of summaries, and their correlation (figure 3)."""
    rows: list[dict[str, object]] = []
    for system, group in by_system(items).items():
        pairs = sorted((item.tokens, item.score) for item in group if item.score is not None)
        if len(pairs) < 2 * PARTS:
            continue
        ends = [len(pairs) * part // PARTS for part in range(PARTS + 1)]
        parts: dict[object, list[tuple[int, float]]] = {n: pairs[a:b] for n, (a, b) in enumerate(pairwise(ends), 1)}
        both = correlate(
            [float(tokens) for tokens, _ in pairs], [score for _, score in pairs], list(map(str, range(len(pairs))))
        )
        for part, chosen in {**parts, ALL: pairs}.items():
            scores, is_total = [score for _, score in chosen], part == ALL
            means = {"tokens": fmean(tokens for tokens, _ in chosen), "score": fmean(scores)}
            spread = {name: spread_of_mean(scores)[name] for name in ENDS}
            coefficients = {
                "Pearson": both["Pearson"] if is_total else None,
                "tau": both["tau-b"] if is_total else None,
            }
            rows.append({"system": system, "part": part, "summaries": len(chosen), **means, **spread, **coefficients})
    return frame_of(rows)


def reference_frame(summaries: Sequence[Summary], references: Mapping[str, Sequence[str]]) -> Frame:
    """Return the mean ROUGE-L of summaries against all and against the best of their references (table 5)."""
    scores = [
        [rouge_l(summary.text, reference) for reference in references[summary.id]]
        for summary in summaries
        if summary.sentences and references.get(summary.id)
    ]
    means, best = percent(mean_of(map(fmean, scores))), percent(mean_of(map(max, scores)))
    counts = {"summaries": len(scores), "references": sum(map(len, scores))}
    return frame_of([{**counts, "ROUGE-L": means, "of the best reference": best}])


def agreement_frame(systems: Mapping[str, Sequence[CoherenceItem]]) -> Frame:
    """Return how far every other system agrees with the first annotations, on the sentences that both judged."""
    (_, first), *judges = systems.items()
    labels = {
        (item.document, number): verdict for item in first for number, verdict in item.verdicts_by_sentence.items()
    }
    rows = []
    for judge, items in judges:
        verdicts = {(item.document, n): verdict for item in items for n, verdict in item.verdicts_by_sentence.items()}
        pairs = [(labels[key], verdict) for key, verdict in verdicts.items() if key in labels]
        row: dict[str, object] = {"judge": judge, "sentences": len(pairs)}
        theirs, verdicts_of_judge = [verdict for verdict, _ in pairs], [verdict for _, verdict in pairs]
        precision, recall = precision_and_recall(verdicts_of_judge, theirs)
        rows.append(
            {
                **row,
                "equal": percent_agreement(pairs) if pairs else None,
                "kappa": cohens_kappa(theirs, verdicts_of_judge) if pairs else None,
                "precision": precision,
                "recall": recall,
                "confused": sum(verdicts_of_judge),
                "by the annotations": sum(theirs),
            }
        )
    return frame_of(rows)
