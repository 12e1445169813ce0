"""The result of comparing two summaries: the verdicts, and which one is better."""

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
    """One of the two summaries with its statistics."""

    draft: Draft
    sentences: int
    statistics: Mapping[str, Any]

    def to_json(self) -> dict[str, object]:
        """Return a summary of a comparison as JSON."""
        return {"words": self.draft.words, "sentences": self.sentences, "statistics": self.statistics}


@dataclass(frozen=True, slots=True)
class SummaryComparison:
    """Two summaries, A and B, and the verdicts on them. The run and its usage are in `result`."""

    result: Result
    first: ComparedSummary
    second: ComparedSummary
    preference: Evaluation

    @property
    def aspects(self) -> Mapping[str, Mapping[str, Any]]:
        """The winner by aspect, and the votes of the judgings."""
        return cast(Mapping[str, Mapping[str, Any]], self.preference.details["aspects"])

    @property
    def judgings(self) -> Sequence[Mapping[str, Any]]:
        """The verdicts of each judge, in both orders."""
        return cast(Sequence[Mapping[str, Any]], self.preference.details["judgings"])

    @property
    def document_read(self) -> bool:
        """Whether every judge that gave a verdict saw the document."""
        return bool(self.preference.details["document_read"])

    @property
    def same(self) -> bool:
        """Whether both are the same text, so that no judge was asked."""
        return bool(self.preference.details["same"])

    @property
    def winner(self) -> str | None:
        """The better one overall: `a`, `b` or `tie`; None without a verdict."""
        return winner_in(self.preference)

    @property
    def certificate(self) -> Certificate:
        """The certificate of the verdict."""
        return self.result.certificates[PREFERENCE]

    def to_json(self) -> dict[str, object]:
        """Return the `compare --json` contract; fields are added, never changed."""
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
    """Return the result of a `compare` run. Raises a `RunError` for another run, or without a verdict yet."""
    run = result.run
    if run.kind != "compare":
        raise RunError(f"run {run.id} does not compare summaries", hint="redraft compare SOURCE A B")
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
    """Return the better summary of a run that compares two; None for other runs, and before there is a verdict."""
    known = store.judgments.of(run.draft) if run.kind == "compare" and run.draft else {}
    return winner_in(known[PREFERENCE]) if PREFERENCE in known else None


def winner_in(preference: Evaluation) -> str | None:
    """Return the better summary overall according to an evaluation."""
    aspects = cast(Mapping[str, Mapping[str, Any]], preference.details["aspects"])
    return cast(str | None, aspects["overall"]["winner"])
