"""The base class of metrics, what a metric is given, and what it returns."""

from __future__ import annotations

import asyncio
import inspect
import json
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, Literal, get_args

from redraft.agents.evidence import EvidenceReader
from redraft.agents.judge import Judge
from redraft.domain import Document, Evaluation, Finding, KeyFacts, Pack, Perspective, Span, Tree
from redraft.errors import UsageError
from redraft.evaluators.metric_info import WITHOUT_JUDGE, MetricAim
from redraft.evaluators.reference.keyfacts import trees_for
from redraft.evaluators.reference.questions import cited_for
from redraft.prompts.book import PromptBook
from redraft.prompts.contract import Prompt
from redraft.prompts.qa import Statement
from redraft.settings import JudgeConfig
from redraft.text.languages import language_of
from redraft.text.quotes import needs_context
from redraft.text.sentences import sentences_in
from redraft.text.tokens import Tokenizer
from redraft.text.vectors import Encoder

METRIC: ContextVar[str] = ContextVar("metric", default="")
"""The metric that is currently judging."""
PackPart = Literal["questions", "keyfacts"]
"""The parts of a document's pack: questions, and trees of key facts."""


@dataclass(frozen=True, slots=True)
class Case:
    """A draft to judge, with everything that a metric may use."""

    statements: tuple[Statement, ...]
    """The sentences of the draft: each has its `id` from 1, its text as `sentence`, and the text `before` it where it
    refers back."""
    panel: tuple[Judge, ...]
    """The judges. The first one writes the questions, all of them answer. To use a prompt of your own, call `await
    judge.ask(prompt, given, room, label)` with its input, the maximum tokens of the reply, and a label for the ledger;
    the reply's `value` is the prompt's return type."""
    reader: EvidenceReader
    """Finds the passages of the document nearest to a question."""
    pack: Pack | None = None
    """The document's questions, for a metric that `needs` or `uses` them."""
    keyfacts: KeyFacts | None = None
    """The document's key facts, likewise."""
    perspectives: tuple[Perspective, ...] = get_args(Perspective)
    """The perspectives of the key facts that the summary is judged by."""
    query: str | None = None
    """The question that the summary answers; None for a summary of the whole document."""
    text: str = ""
    """The full text of the summary with its paragraphs."""
    confirmer: Judge | None = None
    """The judge that is asked about what the panel objects to or leaves open."""

    @property
    def document(self) -> Document:
        """Return the document."""
        return self.reader.document

    def cited_for(self, text: str) -> tuple[Span, ...]:
        """Return the places cited by the pack's questions that are closest to a text."""
        return cited_for(text, self.pack)

    @property
    def trees(self) -> tuple[Tree, ...]:
        """Return the key facts that the summary is judged by."""
        return trees_for(self.keyfacts, self.query, self.perspectives) if self.keyfacts else ()


class Evaluator(ABC):
    """A metric. Derive from it, set `name`, and implement `evaluate`. A metric keeps no state: one object judges many
    drafts concurrently."""

    name: str
    """The name for requests, reports and the store: letters, digits, hyphens and underscores."""
    version: int = 1
    """Stored with every score. Raise it when the metric changes its scores."""
    prompts: Sequence[Prompt[Any, Any]] = ()
    """The prompts of its judges. Their hashes are stored with a run, which cannot be resumed with other prompts."""
    aim: MetricAim | None = None
    """What it measures, which decides its place in a refinement; None for figures that cannot be a goal."""
    needs: PackPart | None = None
    """The part of the document's pack that is built for it if missing; never built for an empty draft."""
    uses: PackPart | None = None
    """The part of the pack that it uses if available."""
    heeds_query: bool = False
    """Whether its result depends on the question that the summary answers."""

    @abstractmethod
    async def evaluate(self, case: Case) -> Evaluation:
        """Judge the draft. Items that cannot be judged are counted and never become a score.

        If this raises, the metric is reported as failed with the exception as the reason, and the run goes on. Only a
        used-up budget, a database that cannot be written, and an unreachable provider end a run.
        """

    def configured(self, judging: JudgeConfig, encoder: Encoder | None) -> Evaluator:  # noqa: ARG002  (as it is)
        """Return the metric configured by a run's settings."""
        return self

    def check(self, book: PromptBook, tokenizer: Tokenizer, window: int | None) -> None:  # noqa: B027  (may be left)
        """Raise a `UsageError` for impossible settings before anything is paid for.

        `window` is the token limit of a prompt and its reply; None for judges without one.
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
        """Return a score from 0 to 1, the number of items, the number without a verdict, and the findings. Create a
        finding with `Finding(self.name, kind, task, explanation, ...)`; `held` lists the sentences that the score
        depends on. Raises `ValueError` for an invalid score or another metric's finding."""
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

    def measured(
        self, details: Mapping[str, object], *, judged: int = 0, unjudged: int = 0, findings: Iterable[Finding] = ()
    ) -> Evaluation:
        """Return figures that are not a score, with the number of items and of items without a figure, and the
        findings."""
        return self.checked(
            Evaluation(self.name, self.version, "measured", None, judged, unjudged, tuple(findings), details=details)
        )

    def not_applicable(self, reason: str) -> Evaluation:
        """Return that the metric does not apply to the draft."""
        return Evaluation(self.name, self.version, "not_applicable", reason=reason)

    def failed(self, reason: str, unjudged: int = 0) -> Evaluation:
        """Return that the draft could not be judged."""
        return Evaluation(self.name, self.version, "failed", reason=reason, unjudged=unjudged)

    def checked(self, evaluation: Evaluation) -> Evaluation:
        """Return the evaluation; raises `ValueError` if this metric may not return it."""
        if problem := _problem(evaluation, self.name):
            raise ValueError(f"the metric {self.name} {problem}")
        return evaluation


def _problem(evaluation: object, name: str) -> str:
    """Return why this is not a valid evaluation by the metric of this name, or an empty string."""
    if not isinstance(evaluation, Evaluation):
        return f"returned {evaluation!r:.80} instead of an Evaluation, such as self.scored(0.5)"
    if evaluation.metric != name:
        return f"gave an evaluation of the metric {evaluation.metric}"
    if (evaluation.outcome == "scored") != (evaluation.score is not None):
        return f"gave the score {evaluation.score} with the outcome {evaluation.outcome}"
    if evaluation.score is not None and not 0 <= evaluation.score <= 1:
        return f"gave a score of {evaluation.score}, which is not from 0 to 1"
    if evaluation.judged < 0 or evaluation.unjudged < 0:
        return f"judged {evaluation.judged} items and left out {evaluation.unjudged}"
    if foreign := next((finding.metric for finding in evaluation.findings if finding.metric != name), ""):
        return f"gave a finding of the metric {foreign}"
    try:
        json.dumps(dict(evaluation.details), allow_nan=False)
    except (TypeError, ValueError) as error:
        return f"gave details that are not JSON: {error}"
    return ""


def statements_of(summary: str) -> tuple[Statement, ...]:
    """Return the sentences of a summary, numbered from 1, each with the one before it where it refers back."""
    texts, language = sentences_in(summary), language_of(summary)
    befores = ["", *texts]
    return tuple(
        Statement(id=at + 1, before=befores[at] if needs_context(text, language) else "", sentence=text)
        for at, text in enumerate(texts)
    )


def conciseness(statements: Sequence[Statement], needed: Collection[int]) -> dict[str, object] | None:
    """Return the share of a summary's sentences that some item rests on, and the numbers of the others; None where the
    judge names no sentence."""
    unneeded = [statement.id for statement in statements if statement.id not in needed]
    return {"share": 1 - len(unneeded) / len(statements), "unneeded": unneeded} if needed else None


MetricValue = float | bool | None | tuple[float | bool | None, str]
"""What a function returns: a score from 0 to 1, whether the summary passes, or None where the metric does not apply; or
one of these with the reason."""
MetricFunction = Callable[[Case], MetricValue | Awaitable[MetricValue]]
"""A metric as a function, which may be asynchronous. Its name is the metric's; the first paragraph of its docstring
says what a summary has to be."""
Metric = str | Evaluator | MetricFunction
"""A metric by its name, as an object, or as a function."""


@dataclass(frozen=True, slots=True)
class FunctionMetric(Evaluator):
    """A metric that calls a function. Where a summary falls short, the finding has the function's reason, and asks for
    what its docstring says."""

    name: str
    function: MetricFunction

    aim = "form"

    async def evaluate(self, case: Case) -> Evaluation:
        """Call the function, in a thread unless it is asynchronous."""
        returned = await asyncio.to_thread(self.function, case)
        value: object = await returned if inspect.isawaitable(returned) else returned
        score, reason = value if isinstance(value, tuple) and len(value) == 2 else (value, "")
        if not isinstance(reason, str):
            raise TypeError(f"{self.name} returned the reason {reason!r:.80}, which is not a text")
        if score is None:
            return self.not_applicable(reason or f"{self.name} returned None")
        if not isinstance(score, Real):
            raise TypeError(f"{self.name} returned {score!r:.80}, which is not a number from 0 to 1, a bool or None")
        requirement = " ".join((inspect.getdoc(self.function) or "").partition("\n\n")[0].split())
        request = f"Change the summary so that this is true: {requirement}" if requirement else ""
        ended = reason if not reason or reason[-1] in ".!?" else f"{reason}."
        explanation = " ".join(filter(None, (ended if request else reason, request)))
        findings = [Finding(self.name, self.name, "change", explanation)] if score < 1 and explanation else []
        scored = self.scored(float(score), findings=findings, details={WITHOUT_JUDGE: True})
        return replace(scored, reason=reason)


def as_evaluator(metric: Evaluator | MetricFunction) -> Evaluator:
    """Return a metric as an object. Raises `UsageError` if it is neither an object nor a function."""
    if (not callable(metric) and not isinstance(metric, Evaluator)) or isinstance(metric, type):
        raise UsageError(
            f"{metric!r:.80} is not a metric",
            hint="name one, or pass a redraft.Rubric, a function of a redraft.Case, or an instance of a"
            " subclass of redraft.Evaluator",
        )
    return metric if isinstance(metric, Evaluator) else FunctionMetric(getattr(metric, "__name__", ""), metric)
