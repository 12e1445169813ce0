"""The base class of metrics: what a metric is given, the votes of the judges on its items, and what it returns."""

from __future__ import annotations

import asyncio
import inspect
import json
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from numbers import Real
from statistics import fmean, stdev
from typing import Any, Generic, TypeVar, get_args

from redraft.agents.evidence import EvidenceReader
from redraft.agents.examiner import is_same
from redraft.agents.judge import ItemResults, Judge, first_error, gather_all
from redraft.domain import Document, Evaluation, Finding, KeyFacts, Pack, Perspective, Tree
from redraft.errors import UsageError
from redraft.evaluators.metric_info import ABSTAINED, WEIGHED, WITHOUT_JUDGE, MetricFacts
from redraft.evaluators.reference.keyfacts import UNJUDGED, trees_for
from redraft.prompts.book import PromptBook
from redraft.prompts.qa import Statement
from redraft.settings import JudgeConfig
from redraft.text.languages import language_of
from redraft.text.quotes import needs_context
from redraft.text.sentences import sentences_in
from redraft.text.tokens import Tokenizer
from redraft.text.vectors import Encoder
from redraft.text.word_keys import telling

METRIC: ContextVar[str] = ContextVar("metric", default="")
"""The metric that is currently judging."""


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
    part: Callable[[], Awaitable[Pack | KeyFacts | None]] | None = None
    """Waits for the part of the pack that a metric uses, if it `begins_without` it."""

    async def with_part(self) -> Case:
        """Return the case with the part of the pack that the metric uses, once it is there."""
        part = await self.part() if self.part else None
        if part is None:
            return self
        return replace(self, pack=part) if isinstance(part, Pack) else replace(self, keyfacts=part)

    @property
    def document(self) -> Document:
        """Return the document."""
        return self.reader.document

    @property
    def trees(self) -> tuple[Tree, ...]:
        """Return the key facts that the summary is judged by."""
        return trees_for(self.keyfacts, self.query, self.perspectives) if self.keyfacts else ()


class Evaluator(MetricFacts, ABC):
    """A metric. Derive from it, set `name`, and implement `evaluate`. A metric keeps no state: one object judges many
    drafts concurrently."""

    @abstractmethod
    async def evaluate(self, case: Case) -> Evaluation:
        """Judge the draft. Items that cannot be judged are counted and never become a score.

        If this raises, the metric is reported as failed with the exception as the reason, and the run goes on. Only a
        used-up budget, a database that cannot be written, and an unreachable provider end a run.
        """

    def configured(self, judging: JudgeConfig, encoder: Encoder | None) -> Evaluator:  # noqa: ARG002  (as it is)
        """Return the metric configured by a run's settings."""
        return self

    def check(self, book: PromptBook, tokenizer: Tokenizer, window: int | None) -> None:
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
        fields: dict[str, Any] = {"findings": tuple(findings), "held": tuple(held), "details": details or {}}
        return self.checked(Evaluation(self.name, self.version, "scored", float(score), judged, unjudged, **fields))

    def measured(
        self, details: Mapping[str, object], *, judged: int = 0, unjudged: int = 0, findings: Iterable[Finding] = ()
    ) -> Evaluation:
        """Return figures that are not a score, with the number of items and of items without a figure, and the
        findings."""
        fields: dict[str, Any] = {"findings": tuple(findings), "details": details}
        return self.checked(Evaluation(self.name, self.version, "measured", None, judged, unjudged, **fields))

    def not_applicable(self, reason: str) -> Evaluation:
        """Return that the metric does not apply to the draft."""
        return Evaluation(self.name, self.version, "not_applicable", reason=reason)

    def failed(self, reason: str, unjudged: int = 0) -> Evaluation:
        """Return that the draft could not be judged."""
        return Evaluation(self.name, self.version, "failed", reason=reason, unjudged=unjudged)

    def checked(self, evaluation: Evaluation) -> Evaluation:
        """Return the evaluation; raises `ValueError` if this metric may not return it."""
        name, problem = self.name, ""
        returned: object = evaluation
        if not isinstance(returned, Evaluation):  # a metric of another package may return anything
            raise ValueError(f"the metric {name} returned {returned!r:.80} instead of an Evaluation: self.scored(0.5)")
        score, foreign = evaluation.score, [finding.metric for finding in evaluation.findings if finding.metric != name]
        if evaluation.metric != name:
            problem = f"gave an evaluation of the metric {evaluation.metric}"
        elif (evaluation.outcome == "scored") != (score is not None):
            problem = f"gave the score {score} with the outcome {evaluation.outcome}"
        elif score is not None and not 0 <= score <= 1:
            problem = f"gave a score of {score}, which is not from 0 to 1"
        elif evaluation.judged < 0 or evaluation.unjudged < 0:
            problem = f"judged {evaluation.judged} items and left out {evaluation.unjudged}"
        elif foreign:
            problem = f"gave a finding of the metric {foreign[0]}"
        else:
            try:
                json.dumps(dict(evaluation.details), allow_nan=False)
            except (TypeError, ValueError) as error:
                problem = f"gave details that are not JSON: {error}"
        if problem:
            raise ValueError(f"the metric {name} {problem}")
        return evaluation


@dataclass(frozen=True, slots=True)
class ConfiguredMetric(Evaluator):
    """A metric of redraft's own, which may depend on the settings of judging, and use an encoder."""

    judging: JudgeConfig = field(default_factory=JudgeConfig)
    encoder: Encoder | None = None

    def configured(self, judging: JudgeConfig, encoder: Encoder | None) -> Evaluator:
        """Return the metric configured by a run's settings."""
        return replace(self, judging=judging, encoder=encoder)


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


_BINS = 5


def bin_of(position: float) -> str:
    """Return the fifth of the document for a position from 0 to 1."""
    lowest = min(int(position * _BINS), _BINS - 1) * 100 // _BINS
    return f"{lowest}-{lowest + 100 // _BINS}%"


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
    if isinstance(metric, Evaluator):
        return metric
    if not callable(metric) or isinstance(metric, type):
        raise UsageError(
            f"{metric!r:.80} is not a metric",
            hint="name one, or pass a redraft.Rubric, a function of a redraft.Case, or an instance of a"
            " subclass of redraft.Evaluator",
        )
    return FunctionMetric(getattr(metric, "__name__", ""), metric)


DISPUTED = "disputed"
"""The verdict on an item on which no single verdict has a majority."""

AnswerT = TypeVar("AnswerT")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Vote(Generic[AnswerT]):
    """A judge's verdict on an item, the item's value from 0 to 1, and the answer behind it, as far as that is shown."""

    verdict: str
    value: float
    answer: AnswerT | None = None


Votes = ItemResults[Vote[AnswerT]]
"""One judge's votes by item; items that it left open have none."""


def votes_of(results: ItemResults[AnswerT], verdict: Callable[[AnswerT], tuple[str, float]]) -> Votes[AnswerT]:
    """Return a judge's votes by its answers; `verdict` returns that of an answer, and the value of its item."""
    answers = (results.verdicts, results.undecided)
    decided, undecided = ({n: Vote(*verdict(answer), answer) for n, answer in of.items()} for of in answers)
    return ItemResults(decided, results.trouble, undecided)


@dataclass(frozen=True, slots=True)
class ItemVotes(Generic[AnswerT]):
    """The votes of the judges on one item, counted."""

    votes: tuple[Vote[AnswerT], ...]
    counts: Counter[str]
    """How many judges gave each verdict."""
    verdict: str
    """The majority verdict, or `DISPUTED`."""
    value: float
    """The mean of the judges' values. Every score is a mean of such values, weighted if its items are."""
    objections: int
    """How many judges object."""
    objection: str
    """The most common objection; among equals the first, and empty where nobody objects."""
    said_by: tuple[int, int] | None
    """How many judges object, and how many judged; None for a single judge."""

    @classmethod
    def of(cls, votes: tuple[Vote[AnswerT], ...], fine: str) -> ItemVotes[AnswerT]:
        """Count some votes; `fine` is the verdict that objects to nothing."""
        counts = Counter(vote.verdict for vote in votes)
        verdict, votes_for = counts.most_common(1)[0]
        majority = verdict if 2 * votes_for > len(votes) else DISPUTED
        objections = len(votes) - counts[fine]
        objection = next((verdict for verdict, _ in counts.most_common() if verdict != fine), "")
        said_by = (objections, len(votes)) if len(votes) > 1 else None
        return cls(votes, counts, majority, fmean(vote.value for vote in votes), objections, objection, said_by)


@dataclass(frozen=True)
class PanelVotes(Generic[AnswerT]):
    """The votes of all judges of a panel on so many items, by the judge's name; `fine` is the verdict that objects to
    nothing."""

    judges: Sequence[tuple[str, Votes[AnswerT]]]
    count: int
    fine: str

    @cached_property
    def items(self) -> Mapping[int, ItemVotes[AnswerT]]:
        """Return the votes on each item that has any."""
        votes = {n: tuple(of.verdicts[n] for _, of in self.judges if n in of.verdicts) for n in range(self.count)}
        return {n: ItemVotes.of(of_item, self.fine) for n, of_item in votes.items() if of_item}

    def answers(self, n: int, verdict: str = "") -> list[AnswerT]:
        """Return the answers behind a verdict on an item, or else behind the panel's own."""
        if n not in self.items:
            return []
        verdict = verdict or self.items[n].verdict
        behind = (vote.answer for vote in self.items[n].votes if vote.verdict == verdict)
        return [answer for answer in behind if answer is not None]

    def shown(self, n: int) -> dict[str, object]:
        """Return the verdict on an item and its value and, where several judges voted, the votes."""
        if (item := self.items.get(n)) is None:
            return {"verdict": UNJUDGED, "value": None}
        votes = {"votes": dict(item.counts)} if len(item.votes) > 1 else {}
        return {"verdict": item.verdict, "value": item.value, **votes}

    def disputed_items(self, order: Iterable[int] | None = None) -> list[int]:
        """Return the items that any judge objects to: those with a majority first."""
        disputed = [n for n in (self.items if order is None else order) if self.items[n].objections]
        return sorted(disputed, key=lambda n: 2 * self.items[n].objections <= len(self.items[n].votes))


def agreement(by_judge: Sequence[Mapping[int, str]]) -> float | None:
    """Return the share of equal verdicts over all pairs of judges and the items both judged; None for one judge."""
    pairs = combinations(by_judge, 2)
    equal = [first[item] == second[item] for first, second in pairs for item in first.keys() & second.keys()]
    return fmean(equal) if equal else None


def weighted_mean(items: Mapping[int, Vote[Any] | ItemVotes[Any]], weights: Sequence[int] = ()) -> float | None:
    """Return the mean value of items by number, each counted as often as it weighs, or once without weights; None for
    no items."""
    values = [item.value for item in items.values()]
    return fmean(values, [weights[n] for n in items] if weights else None) if values else None


async def panel_votes(
    case: Case, items: Sequence[T], fine: str, ask: Callable[[Judge, Sequence[T]], Awaitable[Votes[AnswerT]]]
) -> PanelVotes[AnswerT]:
    """Return the votes of every judge of the panel on some items. `ask` has one of them judge some items, and numbers
    the votes by their position among these. What is not found `fine`, the confirmer decides, if there is one."""

    async def votes_by(judge: Judge) -> tuple[str, Votes[AnswerT]]:
        first = await ask(judge, items)
        settled = {n: vote for n, vote in first.verdicts.items() if vote.verdict == fine}
        doubted = [n for n in range(len(items)) if n not in settled]
        if case.confirmer is None or not doubted:
            return judge.name, first
        second = await ask(case.confirmer, [items[n] for n in doubted])
        votes = settled | {doubted[at]: vote for at, vote in second.verdicts.items()}
        return f"{judge.name}, confirmed by {case.confirmer.name}", ItemResults(votes, second.trouble)

    return PanelVotes(await gather_all(map(votes_by, case.panel)), len(items), fine)


def mean_evaluation(
    metric: Evaluator,
    panel: PanelVotes[Any],
    *,
    weights: Sequence[int] = (),
    unasked: int = 0,
    findings: Iterable[Finding] = (),
    held: Iterable[str] = (),
    details: Mapping[str, object] | None = None,
) -> Evaluation:
    """Return the evaluation whose score is the mean of the items' values, weighted if there are weights; failed if no
    item has a verdict. `unasked` items were never put to the judges."""
    items, figures = panel.items, dict(details or {})
    score = weighted_mean(items, weights)
    trouble = first_error(votes for _, votes in panel.judges)
    figures |= {"trouble": trouble} if trouble else {}
    figures |= {WEIGHED: sum(weights[n] for n in items)} if weights else {}
    unjudged = panel.count - len(items) + unasked
    if score is None:
        figures |= {} if trouble or unasked else {ABSTAINED: True}
        failed = metric.failed(trouble or "no judge gave a verdict on any item", unjudged)
        return replace(failed, details=figures)
    if len(panel.judges) > 1:
        votes_by = [votes.verdicts for _, votes in panel.judges]
        means = [weighted_mean(votes, weights) for votes in votes_by]
        figures["judges"] = [
            {"judge": judge, "score": mean, "judged": len(votes.verdicts)}
            for (judge, votes), mean in zip(panel.judges, means, strict=True)
        ]
        figures["agreement"] = agreement([{n: vote.verdict for n, vote in votes.items()} for votes in votes_by])
        scores = [mean for mean in means if mean is not None]
        deviation, ends = stdev(scores) if len(scores) > 1 else 0.0, {"lowest": min(scores), "highest": max(scores)}
        figures["spread"] = {"n": len(scores), "mean": fmean(scores), "sd": deviation, **ends}
    return metric.scored(score, judged=len(items), unjudged=unjudged, findings=findings, held=held, details=figures)


ACCUSING = ("remove", "correct")
"""The tasks of findings that say that the document does not support the draft."""


def is_same_error(error: Finding, second: Finding) -> bool:
    """Return whether two findings, of one draft or of two, object to the same claim: by the same words of the document,
    or to the same answer to one question, in one sentence, or for the same reason."""
    places = [finding.evidence.span for finding in (error, second) if finding.evidence and finding.evidence.span]
    if error.id == second.id or (len(places) == 2 and places[0].overlaps(places[1])):
        return True
    subjects = ((error.question, second.question), (error.sentence, second.sentence), (error.expected, second.expected))
    return is_same(error.found, second.found) and any(is_same(*pair) for pair in subjects)


def distinct_errors(findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings, in order, with those of one error combined into one; of one metric or of several. Other
    findings stay as they are."""
    groups: list[list[Finding]] = []
    for finding in findings:
        for group in groups if finding.question and finding.sentence and finding.task in ACCUSING else ():
            # Those that object to the same answer of a sentence, or by the same words of the document.
            peers = [error for error in group if error.question and error.task in ACCUSING]
            if any(error.sentence == finding.sentence and is_same_error(finding, error) for error in peers):
                group.append(finding)
                break
        else:
            groups.append([finding])
    combined: list[Finding] = []
    for group in groups:
        # The first that says what is right, and with it those that the document corrects with other words.
        main = next((finding for finding in group if finding.task == "correct"), group[0])
        distinct, corrected = [main], telling(main.expected)
        for finding in group:
            words = telling(finding.expected)
            if words and words.isdisjoint(corrected):
                distinct, corrected = [*distinct, finding], corrected | words
        # It counts as much as the findings of its own metric together.
        same_metric = [finding for finding in group if finding.metric == main.metric]
        counts = sum(finding.counts for finding in same_metric)
        combined.append(
            replace(
                main,
                question=" ".join(finding.question for finding in distinct),
                found="; ".join(finding.found for finding in distinct),
                expected="; ".join(finding.expected for finding in distinct),
                value=sum(finding.value * finding.counts for finding in same_metric) / counts,
                weight=max(finding.weight for finding in group),
                counts=counts,
            )
        )
    return combined
