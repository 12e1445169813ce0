"""What every metric has in common: what it is given, what it gives back, and the class that it is derived from."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from redraft.agents.evidence import EvidenceReader
from redraft.agents.judge import Judge
from redraft.domain import Document, Evaluation, Finding, KeyFacts, Pack, Perspective, Span, Tree
from redraft.evaluators.consensus import ItemVotes, JudgeVerdicts, agreement, mean, spread
from redraft.evaluators.metric_info import MetricAim
from redraft.evaluators.reference.keyfacts import trees_for
from redraft.evaluators.reference.questions import cited_for
from redraft.prompts.book import PromptBook
from redraft.prompts.contract import Prompt
from redraft.prompts.qa import Statement
from redraft.settings import JudgeConfig
from redraft.text.languages import language_of
from redraft.text.quotes import points_back
from redraft.text.sentences import worded
from redraft.text.tokens import Tokenizer
from redraft.text.vectors import Encoder

METRIC: ContextVar[str] = ContextVar("metric", default="")
"""The metric that is judging."""
PackPart = Literal["questions", "keyfacts"]
"""What a document's pack has: questions, and trees of key facts."""

# How many sentences stand before one that points back.
_BEFORE = 1


@dataclass(frozen=True, slots=True)
class DocumentPack:
    """What of the document's pack is there: its questions, and its key facts, to be used from these perspectives."""

    pack: Pack | None = None
    keyfacts: KeyFacts | None = None
    perspectives: tuple[Perspective, ...] = get_args(Perspective)


@dataclass(frozen=True, slots=True)
class Case:
    """A draft before its judges: all that a metric may look at."""

    statements: tuple[Statement, ...]
    """Its sentences that have words: each with its `id` from 1, its `sentence`, and what stands `before` it where it
    points back."""
    panel: tuple[Judge, ...]
    """Who can be asked. The first asks the questions, all of them answer.

    A prompt of one's own is put to a judge by `await judge.ask(prompt, given, room, label)`: what it is given, the
    tokens of the reply at most, and a few words for the ledger. The reply's `value` is what the prompt returns.
    """
    reader: EvidenceReader
    """Finds the places of the document that are nearest to a question, and their words."""
    yardstick: DocumentPack = DocumentPack()
    """What the metric `needs` or `uses` of the document's pack."""
    query: str | None = None
    """The question that the summary answers, where it is not about the document as a whole."""
    text: str = ""
    """The summary as it stands, with its paragraphs."""

    @property
    def document(self) -> Document:
        """What is summarized."""
        return self.reader.document

    def cited_for(self, text: str) -> tuple[Span, ...]:
        """The places that the questions of the document's pack cite which have most to do with a text."""
        return cited_for(text, self.yardstick.pack)

    @property
    def trees(self) -> tuple[Tree, ...]:
        """The key facts that the summary is held against."""
        known = self.yardstick.keyfacts
        return trees_for(known, self.query, self.yardstick.perspectives) if known else ()


class Evaluator(ABC):
    """A metric. Derive from it, give it a name, and say in `evaluate` what there is to say of a draft.

    It has no memory: one object judges many drafts, several of them at once.
    """

    name: str
    """Under which it is asked for, reported and stored: letters, digits, hyphens and underscores."""
    version: int = 1
    """To be raised when it gives other scores than before. It is stored with every score."""
    prompts: Sequence[Prompt[Any, Any]] = ()
    """What its judges are asked. A run has their hashes on record, and is not resumed with others."""
    aim: MetricAim | None = None
    """What it is about, which decides when its turn comes in a refinement; None for figures, which are no goal."""
    needs: PackPart | None = None
    """What of the document's pack is built for it, if it is not there; for a draft without a word nothing is."""
    uses: PackPart | None = None
    """What of the pack it takes where it is there."""
    heeds_query: bool = False
    """Whether what it says depends on the question that the summary answers."""

    @abstractmethod
    async def evaluate(self, case: Case) -> Evaluation:
        """Judge the draft. What cannot be judged is counted; it never becomes a score.

        An exception makes a failed metric of it, with the exception as the reason, and the run goes on. What ends a run
        is a budget that is used up, a database that cannot be written, and a provider that is not to be had.
        """

    def configured(self, judging: JudgeConfig, encoder: Encoder | None) -> Evaluator:  # noqa: ARG002  (as it is)
        """The same metric as a run's settings want it."""
        return self

    def check(self, book: PromptBook, tokenizer: Tokenizer, window: int | None) -> None:  # noqa: B027  (may be left)
        """Raise a `UsageError` for what cannot be done, before anything is paid for.

        `window` is how many tokens a prompt and its reply may have; None for judges without such a limit.
        """

    def scored(
        self,
        score: float,
        *,
        judged: int = 1,
        unjudged: int = 0,
        findings: Iterable[Finding] = (),
        held: Iterable[str] = (),
        details: Mapping[str, object] | None = None,
    ) -> Evaluation:
        """A score from 0 to 1: from how many items, on how many there is no verdict, and what is wrong with the draft.

        A finding is made by `Finding(self.name, kind, task, explanation, ...)`; `held` are the sentences without which
        the score would fall. Raises `ValueError` for what is no score, or not this metric's.
        """
        return self.checked(
            Evaluation(
                self.name,
                self.version,
                "scored",
                float(score),
                judged=judged,
                unjudged=unjudged,
                findings=tuple(findings),
                held=tuple(held),
                details=details or {},
            )
        )

    def measured(self, details: Mapping[str, object], *, judged: int = 0, unjudged: int = 0) -> Evaluation:
        """Figures that do not say how good the draft is: from how many items, and on how many there are none."""
        return self.checked(
            Evaluation(self.name, self.version, "measured", judged=judged, unjudged=unjudged, details=details)
        )

    def not_applicable(self, reason: str) -> Evaluation:
        """The draft is none that the metric has anything to say of."""
        return Evaluation(self.name, self.version, "not_applicable", reason=reason)

    def failed(self, reason: str, unjudged: int = 0) -> Evaluation:
        """The draft could not be judged."""
        return Evaluation(self.name, self.version, "failed", reason=reason, unjudged=unjudged)

    def checked(self, evaluation: Evaluation) -> Evaluation:
        """The evaluation, if it is one that this metric may give; otherwise a `ValueError` says what is wrong."""
        if problem := _problem(evaluation, self.name):
            raise ValueError(f"the metric {self.name} {problem}")
        return evaluation


def _problem(given: object, name: str) -> str:
    """Why this is no evaluation by the metric of this name; empty when it is one."""
    if not isinstance(given, Evaluation):
        return f"gave no Evaluation, but {given!r:.80}"
    if given.metric != name:
        return f"gave an evaluation in the name of {given.metric}"
    if (given.outcome == "scored") != (given.score is not None):
        return f"gave the score {given.score} with the outcome {given.outcome}"
    if given.score is not None and not 0 <= given.score <= 1:
        return f"gave a score of {given.score}, which is not from 0 to 1"
    if given.judged < 0 or given.unjudged < 0:
        return f"judged {given.judged} items and left out {given.unjudged}"
    if foreign := next((one.metric for one in given.findings if one.metric != name), ""):
        return f"gave a finding in the name of {foreign}"
    try:
        json.dumps(dict(given.details), allow_nan=False)
    except (TypeError, ValueError) as error:
        return f"gave details that are no JSON: {error}"
    return ""


def statements_of(summary: str) -> tuple[Statement, ...]:
    """The sentences of a summary that have words, numbered from 1, with those before where they point back."""
    texts, language = worded(summary), language_of(summary)

    def before(at: int) -> str:
        return " ".join(texts[max(0, at - _BEFORE) : at]) if points_back(texts[at], language) else ""

    return tuple(Statement(id=at + 1, before=before(at), sentence=text) for at, text in enumerate(texts))


def concluded(
    evaluation: Evaluation, panel_verdicts: Sequence[JudgeVerdicts], items: Mapping[int, ItemVotes]
) -> Evaluation:
    """The evaluation with the mean of what the items count; failed when there is no verdict on any of them."""
    score = mean([item.value for item in items.values()])
    trouble = next((judge_verdicts.trouble for judge_verdicts in panel_verdicts if judge_verdicts.trouble), "")
    if score is None:
        reason = trouble or "no judge can tell of any item"
        return replace(evaluation, outcome="failed", score=None, findings=(), held=(), reason=reason)
    details = dict(evaluation.details)
    if len(panel_verdicts) > 1:
        details["judges"] = [
            {"judge": judge_verdicts.judge, "score": judge_verdicts.score, "judged": len(judge_verdicts.by_item)}
            for judge_verdicts in panel_verdicts
        ]
        details["agreement"] = agreement([judge_verdicts.by_item for judge_verdicts in panel_verdicts])
        details["spread"] = spread(
            [one for judge_verdicts in panel_verdicts if (one := judge_verdicts.score) is not None]
        )
    if trouble:
        details["trouble"] = trouble
    return replace(evaluation, score=score, details=details)
