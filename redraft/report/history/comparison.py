"""What a comparison of two summaries has come to: which of them the judges prefer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, cast

from redraft.domain import GIVEN, OTHER, Draft, Evaluation
from redraft.errors import RunError
from redraft.evaluators.metric_info import PREFERENCE
from redraft.report.history.certificates import Certificate
from redraft.report.history.results import Result, count_sentences, figures
from redraft.store.runs import Run
from redraft.store.store import Store


@dataclass(frozen=True, slots=True)
class ComparedSummary:
    """One of the two summaries, and the figures on it."""

    draft: Draft
    sentences: int
    statistics: Mapping[str, Any]

    def to_json(self) -> dict[str, object]:
        """A summary of a comparison, as programs read it."""
        return {"words": self.draft.words, "sentences": self.sentences, "statistics": self.statistics}


@dataclass(frozen=True, slots=True)
class SummaryComparison:
    """Two summaries, A and B, and what was said of them. The run and what it took are in `result`."""

    result: Result
    first: ComparedSummary
    second: ComparedSummary
    preference: Evaluation

    @property
    def aspects(self) -> Mapping[str, Mapping[str, Any]]:
        """By aspect the winner, and how the judgings voted."""
        return cast(Mapping[str, Mapping[str, Any]], self.preference.details["aspects"])

    @property
    def judgings(self) -> Sequence[Mapping[str, Any]]:
        """What each judge said, in both orders."""
        return cast(Sequence[Mapping[str, Any]], self.preference.details["judgings"])

    @property
    def document_read(self) -> bool:
        """Whether every judge that gave a verdict had the document before it."""
        return bool(self.preference.details["document_read"])

    @property
    def same(self) -> bool:
        """Whether both are the same text, so that nobody was asked."""
        return bool(self.preference.details["same"])

    @property
    def winner(self) -> str | None:
        """The better one overall: `a`, `b` or `tie`; None where nobody gave a verdict."""
        return winner_in(self.preference)

    @property
    def certificate(self) -> Certificate:
        """What stands behind the verdict."""
        return self.result.certificates[PREFERENCE]

    def to_json(self) -> dict[str, object]:
        """The contract of `compare --json`; fields are added to it, never changed."""
        result, preference = self.result, self.preference
        shown: dict[str, object] = {
            "run": result.run.id,
            "source": result.source,
            "model": result.settings.model,
            "judges": result.judges,
            "summaries": {"a": self.first.to_json(), "b": self.second.to_json()},
            "outcome": preference.outcome,
            "judged": preference.judged,
            "unjudged": preference.unjudged,
            "same": self.same,
            "document_read": self.document_read,
            "preference": self.aspects,
            "agreement": preference.details["agreement"],
            "judgings": self.judgings,
            "certificate": self.certificate.to_json(),
        }
        reason = {"reason": preference.reason} if preference.reason else {}
        return shown | reason | {"usage": asdict(result.usage)}


def compared(store: Store, result: Result) -> SummaryComparison:
    """What a run of `compare` has come to."""
    run = result.run
    if run.kind != "compare":
        raise RunError(f"run {run.id} compares no summaries", hint="redraft compare SOURCE A B")
    made = {draft.node: draft for draft in store.runs.drafts(run.id)}
    first, second = (store.judgments.of(made[node].id) for node in (GIVEN, OTHER))
    if PREFERENCE not in first:
        raise RunError(f"run {run.id} has no verdict yet", hint=f"redraft resume {run.id}")
    counts = count_sentences(store, run, [made[GIVEN], made[OTHER]])
    return SummaryComparison(
        result,
        ComparedSummary(made[GIVEN], counts[0], figures(first) or {}),
        ComparedSummary(made[OTHER], counts[1], figures(second) or {}),
        first[PREFERENCE],
    )


def preferred(store: Store, run: Run) -> str | None:
    """The better summary of a run that compares two; None for every other, and while there is no verdict."""
    known = store.judgments.of(run.draft) if run.kind == "compare" and run.draft else {}
    return winner_in(known[PREFERENCE]) if PREFERENCE in known else None


def winner_in(preference: Evaluation) -> str | None:
    """The better summary overall, going by an evaluation."""
    aspects = cast(Mapping[str, Mapping[str, Any]], preference.details["aspects"])
    return cast(str | None, aspects["overall"]["winner"])
