"""The judges of a run: their votes on items, the document's pack, and the evaluations of drafts."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from inspect import isawaitable
from itertools import combinations
from pathlib import Path
from statistics import fmean, stdev
from traceback import extract_tb, format_exception
from typing import Any, Generic, TypeVar, get_args

from pydantic import ValidationError

from redraft.agents.accounts import ItemResults, TaskCache, gather_all
from redraft.agents.evidence import EvidenceReader
from redraft.agents.judge import Judge
from redraft.agents.writer import Outliner
from redraft.builtin.facade import IDENTITY
from redraft.domain import UNANSWERED, Evaluation, Finding, KeyFacts, Pack, Perspective
from redraft.errors import (
    BudgetError,
    JudgingError,
    ModelError,
    ProviderError,
    RateLimited,
    StoreError,
    TransientError,
)
from redraft.evaluators.base import METRIC, Case, DocumentPack, Evaluator, statements_of
from redraft.evaluators.figures import weighted_mean
from redraft.evaluators.findings import without_conflicts, without_overruled
from redraft.evaluators.metric_info import ABSTAINED, WEIGHED, MetricAim, with_enough_verdicts
from redraft.evaluators.reference.keyfact_builder import KeyFactBuilder
from redraft.evaluators.reference.questions import PackSize, build_pack, pack_key
from redraft.events import Notice, Observer
from redraft.fields import error_text
from redraft.llm.addresses import environment_keys, redacted
from redraft.llm.base import ScriptError
from redraft.prompts.summarization import DocumentOutline
from redraft.settings import REFERENCES, JudgeConfig
from redraft.store.connection import off_loop
from redraft.store.store import Store
from redraft.text.languages import ENGLISH, is_foreign, language_of, other_language_in

_log = logging.getLogger("redraft.metrics")
_PACKAGE = str(Path(__file__).parents[1])

DISPUTED = "disputed"
"""The verdict on an item on which no single verdict has a majority."""
UNJUDGED: Mapping[str, object] = {"verdict": "unjudged", "value": None}
"""How an item without a verdict is shown."""
OPEN = frozenset({UNJUDGED["verdict"]})
"""Verdicts that are neither right nor wrong."""

ItemVerdicts = Mapping[int, str]
"""One judge's verdicts by item; items that it left open are absent."""
AnswerT = TypeVar("AnswerT")
PartT = TypeVar("PartT", Pack, KeyFacts)
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class JudgeVerdicts(Generic[AnswerT]):
    """One judge's verdicts by item, the value of each from 0 to 1, and its errors."""

    judge: str
    by_item: ItemVerdicts
    points: Mapping[int, float]
    trouble: str = ""
    answers: Mapping[int, AnswerT] = field(default_factory=dict)
    """What the judge answered, as far as the metric keeps it."""

    @classmethod
    def of(
        cls, judge: Judge, results: ItemResults[AnswerT], verdict: Callable[[AnswerT], str], fine: str
    ) -> JudgeVerdicts[AnswerT]:
        """Return a judge's verdicts by its answers; an item counts 1 if the verdict is `fine`, else 0."""
        by_item = {n: verdict(answer) for n, answer in sorted(results.verdicts.items())}
        points = {n: float(verdict == fine) for n, verdict in by_item.items()}
        return cls(judge.name, by_item, points, results.trouble, results.verdicts)

    def confirmed(self, second: JudgeVerdicts[AnswerT], items: Sequence[int]) -> JudgeVerdicts[AnswerT]:
        """Return the verdicts, with those of another judge on the items that this one doubted."""

        def merged(own: Mapping[int, T], others: Mapping[int, T]) -> dict[int, T]:
            kept = {number: value for number, value in own.items() if number not in items}
            return kept | {items[at]: value for at, value in others.items()}

        return JudgeVerdicts(
            f"{self.judge}, confirmed by {second.judge}",
            merged(self.by_item, second.by_item),
            merged(self.points, second.points),
            second.trouble,
            merged(self.answers, second.answers),
        )


@dataclass(frozen=True, slots=True)
class ItemVotes:
    """The verdicts of the judges on one item."""

    verdict: str
    """The majority verdict, or `DISPUTED`."""
    value: float
    """The mean of the judges' values. Every score is a mean of such values, weighted if its items are."""
    votes: Counter[str]

    def against(self, fine: str) -> tuple[int, int]:
        """Return how many judges object, and how many judged."""
        return self.votes.total() - self.votes[fine], self.votes.total()

    def said_against(self, fine: str) -> tuple[int, int] | None:
        """Return the same for a finding, which may come from a single judge."""
        return self.against(fine) if self.votes.total() > 1 else None

    def objection(self, fine: str) -> str:
        """Return the most common objection; among equals the first."""
        return next(verdict for verdict, _ in self.votes.most_common() if verdict != fine)


@dataclass(frozen=True, slots=True)
class PanelVerdicts(Generic[AnswerT]):
    """The verdicts of all judges of a panel on so many items, and the votes on each item that has any."""

    judges: tuple[JudgeVerdicts[AnswerT], ...]
    count: int
    items: Mapping[int, ItemVotes]

    @classmethod
    def of(cls, judges: Iterable[JudgeVerdicts[AnswerT]], count: int) -> PanelVerdicts[AnswerT]:
        """Return the verdicts of some judges on so many items."""
        verdicts = tuple(judges)
        return cls(verdicts, count, aggregate(verdicts, range(count)))

    def answers(self, n: int, verdict: str | None = None) -> list[AnswerT]:
        """Return the answers behind a verdict on an item, or else behind the panel's own."""
        wanted = verdict or (self.items[n].verdict if n in self.items else None)
        behind = [verdicts for verdicts in self.judges if wanted and verdicts.by_item.get(n) == wanted]
        return [verdicts.answers[n] for verdicts in behind if n in verdicts.answers]

    def shown(self, n: int) -> dict[str, object]:
        """Return the verdict on an item and its value and, where several judges voted, the votes."""
        if n not in self.items:
            return dict(UNJUDGED)
        item = self.items[n]
        votes = {"votes": dict(item.votes)} if item.votes.total() > 1 else {}
        return {"verdict": item.verdict, "value": item.value, **votes}


def aggregate(judges: Sequence[JudgeVerdicts[Any]], items: Iterable[int]) -> dict[int, ItemVotes]:
    """Return the votes on each item; items without a verdict are left out."""
    result: dict[int, ItemVotes] = {}
    for item, verdict in majority([verdicts.by_item for verdicts in judges], items).items():
        voters = [verdicts for verdicts in judges if item in verdicts.by_item]
        votes = Counter(voter.by_item[item] for voter in voters)
        result[item] = ItemVotes(verdict, fmean(voter.points[item] for voter in voters), votes)
    return result


def disputed_items(items: Mapping[int, ItemVotes], fine: str, order: Iterable[int] | None = None) -> list[int]:
    """Return the items that any judge objects to: those with a majority first."""
    disputed = [n for n in (items if order is None else order) if items[n].against(fine)[0]]
    return sorted(disputed, key=lambda n: 2 * items[n].against(fine)[0] <= items[n].votes.total())


def majority(by_judge: Sequence[ItemVerdicts], items: Iterable[int]) -> dict[int, str]:
    """Return the majority verdict on each item; items without a verdict are left out."""
    result: dict[int, str] = {}
    for item in items:
        votes = Counter(by_item[item] for by_item in by_judge if item in by_item)
        if votes:
            verdict, most = votes.most_common(1)[0]
            result[item] = verdict if 2 * most > votes.total() else DISPUTED
    return result


def agreement(by_judge: Sequence[ItemVerdicts]) -> float | None:
    """Return the share of equal verdicts over all pairs of judges and the items both judged; None for one judge."""
    pairs = list(combinations(by_judge, 2))
    equal = [first[item] == second[item] for first, second in pairs for item in first.keys() & second.keys()]
    return fmean(equal) if equal else None


def spread(scores: Sequence[float]) -> dict[str, float | int]:
    """Return the mean, standard deviation and range of repeated scores of one draft."""
    deviation = stdev(scores) if len(scores) > 1 else 0.0
    return {"n": len(scores), "mean": fmean(scores), "sd": deviation, "lowest": min(scores), "highest": max(scores)}


async def panel_verdicts(
    case: Case, items: Sequence[T], fine: str, ask: Callable[[Judge, Sequence[T]], Awaitable[JudgeVerdicts[AnswerT]]]
) -> PanelVerdicts[AnswerT]:
    """Return the verdicts of every judge of the panel on some items. `ask` has one of them judge some items, and
    numbers the verdicts by their position among these. What is not found `fine`, the confirmer decides, if there is
    one."""

    async def judged(judge: Judge) -> JudgeVerdicts[AnswerT]:
        first = await ask(judge, items)
        doubted = [number for number in range(len(items)) if first.by_item.get(number) != fine]
        if case.confirmer is None or not doubted:
            return first
        return first.confirmed(await ask(case.confirmer, [items[number] for number in doubted]), doubted)

    return PanelVerdicts.of(await gather_all(judged(judge) for judge in case.panel), len(items))


def mean_evaluation(
    metric: Evaluator,
    panel: PanelVerdicts[Any],
    *,
    weights: Sequence[int] = (),
    unasked: int = 0,
    findings: Iterable[Finding] = (),
    held: Iterable[str] = (),
    details: Mapping[str, object] | None = None,
) -> Evaluation:
    """Return the evaluation whose score is the mean of the items' values, weighted if there are weights; failed if no
    item has a verdict. `unasked` items were never put to the judges."""
    items, judges, figures = panel.items, panel.judges, dict(details or {})
    score = weighted_mean({n: item.value for n, item in items.items()}, weights)
    trouble = next((verdicts.trouble for verdicts in judges if verdicts.trouble), "")
    figures |= {"trouble": trouble} if trouble else {}
    figures |= {WEIGHED: sum(weights[n] for n in items)} if weights else {}
    judged, unjudged = len(items), panel.count - len(items) + unasked
    if score is None:
        figures |= {} if trouble or unasked else {ABSTAINED: True}
        failed = metric.failed(trouble or "no judge gave a verdict on any item", unjudged)
        return replace(failed, details=figures)
    if len(judges) > 1:
        scores = [weighted_mean(verdicts.points, weights) for verdicts in judges]
        figures["judges"] = [
            {"judge": verdicts.judge, "score": own, "judged": len(verdicts.by_item)}
            for verdicts, own in zip(judges, scores, strict=True)
        ]
        figures["agreement"] = agreement([verdicts.by_item for verdicts in judges])
        figures["spread"] = spread([own for own in scores if own is not None])
    return Evaluation(
        metric.name, metric.version, "scored", score, judged, unjudged, tuple(findings), tuple(held), details=figures
    )


# Errors that are no metric's fault and would recur with the next one. A wrong test script must fail the test.
_ENDS_THE_RUN = (BudgetError, StoreError, ProviderError, RateLimited, TransientError, ScriptError)

_ABSTAINS = "the built-in model does not judge this: name a language model as judge"
_IN_ENGLISH_ALONE = (
    "the built-in model judges English only, and there is text here in another language ({}): name a language model as"
    " judge"
)


@dataclass(frozen=True, slots=True)
class Panel:
    """Judges drafts of one document. Verdicts are stored as they arrive."""

    store: Store
    reader: EvidenceReader
    panel: tuple[Judge, ...]
    evaluators: tuple[Evaluator, ...]
    judging: JudgeConfig
    observer: Observer
    validator: Judge
    """The judge that validates key facts; the first of the panel extracts them."""
    query: str | None = None
    """The question that the drafts answer; None for summaries of the whole document."""
    confirmer: Judge | None = None
    """The judge that decides what the panel objects to or leaves open."""
    outliner: Outliner | None = None
    """Provides an outline of the document from the summaries of its parts, if there are any."""
    _once: TaskCache = field(default_factory=TaskCache)
    _unbuilt: dict[str, Exception] = field(default_factory=dict)
    """Why a part of the pack could not be built; it is not retried for every draft."""
    _notices: set[str] = field(default_factory=set)

    @property
    def aims(self) -> dict[str, MetricAim | None]:
        """Return what each metric measures, by name."""
        return {evaluator.name: evaluator.aim for evaluator in self.evaluators}

    @property
    def _first(self) -> Judge:
        """Return the first judge that can read the document."""
        language = other_language_in(self.reader.document)
        return next((judge for judge in self.panel if judge.can_read(language)), self.panel[0])

    async def outline(self) -> DocumentOutline | None:
        """Return the outline, where the document's parts were summarized; the document is not read again for it."""
        return await self.outliner.known() if self.outliner else None

    async def pack(self, *, complete: bool = False) -> Pack:
        """Return the pack that drafts are judged by: the requested, the imported, a stored, or a new one. With
        `complete`, the missing parts of a stored one are tried again; cached answers are not asked for again."""
        pack = await off_loop(self._stored_pack)
        if pack and not (complete and pack.missing and not pack.imported and not self.judging.pack):
            return pack
        built = await build_pack(self._first, self.reader, self._size, self.observer, await self.outline())
        key = pack_key(self._first, self._size)
        await off_loop(self.store.packs.add, built, key)
        return await off_loop(self.store.packs.find, built.document, key) or built

    @property
    def _size(self) -> PackSize:
        return PackSize(self.judging.questions, self.judging.stretch_tokens)

    def _stored_pack(self) -> Pack | None:
        """Return the pack that need not be built."""
        document, packs = self.reader.document.id, self.store.packs
        if self.judging.pack:
            return packs.get(self.judging.pack)
        return packs.imported(document) or packs.find(document, pack_key(self._first, self._size))

    async def keyfacts(self, *, complete: bool = False) -> KeyFacts:
        """Return the key facts that drafts are judged by: the requested, the imported, stored, or new ones; `complete`
        as for `pack`."""
        facts = await off_loop(self._stored_keyfacts)
        if facts and not (complete and facts.missing and not facts.imported and not self.judging.keyfacts):
            return facts
        builder = self._keyfact_builder(self._perspectives)
        built = await builder.build()
        await off_loop(self.store.keyfacts.add, built, builder.key)
        return await off_loop(self.store.keyfacts.find, built.document, builder.key) or built

    @property
    def _perspectives(self) -> tuple[Perspective, ...]:
        chosen = self.judging.perspective
        return get_args(Perspective) if chosen == "both" else (chosen,)

    def _stored_keyfacts(self) -> KeyFacts | None:
        """Return the key facts that need not be built. Trees from both perspectives serve requests for either."""
        document, shelf = self.reader.document.id, self.store.keyfacts
        if self.judging.keyfacts:
            return shelf.get(self.judging.keyfacts)
        builders = [self._keyfact_builder(perspectives) for perspectives in (self._perspectives, get_args(Perspective))]
        built = (shelf.find(document, builder.key) for builder in builders)
        return shelf.imported(document) or next((facts for facts in built if facts), None)

    def _keyfact_builder(self, perspectives: tuple[Perspective, ...]) -> KeyFactBuilder:
        can_validate = self.validator.can_read(other_language_in(self.reader.document))
        validator = self.validator if can_validate else self._first
        size, overlap = self.judging.keyfact_chunks, self.judging.keyfact_overlap
        return KeyFactBuilder(self._first, validator, self.reader, perspectives, self.observer, size, overlap)

    async def judge_by(self, metric: str, draft: str) -> Evaluation:
        """Judge a stored draft by one metric and store the evaluation; waits for the pack only if needed.

        Exceptions that end the run propagate; any other, or a pack that cannot be built, makes the metric fail.
        """
        evaluator = next(evaluator for evaluator in self.evaluators if evaluator.name == metric)
        stored_draft = await off_loop(self.store.runs.draft, draft)
        judging = METRIC.set(metric)
        try:
            if stored_draft.node == UNANSWERED:
                evaluation = evaluator.not_applicable("the question has no answer to judge")
            else:
                evaluation = await self._judge(evaluator, stored_draft.text)
        except _ENDS_THE_RUN:
            raise
        except Exception as error:  # noqa: BLE001  (whatever a metric does, the others have their say)
            reason = _reason(error, evaluator)
            hint = f"; {error.hint}" if isinstance(error, JudgingError) and error.hint else ""
            self.observer(Notice(f"{evaluator.name} failed: {reason}{hint}"))
            evaluation = evaluator.failed(reason)
        finally:
            METRIC.reset(judging)
        rulings = await off_loop(self.store.rulings.of, self.reader.document.id)
        evaluation = without_overruled(evaluation, rulings)
        await off_loop(self.store.judgments.keep, draft, evaluation)
        return evaluation

    async def resolve_conflicts(self, draft: str) -> dict[str, Evaluation]:
        """Resolve conflicts between the findings of all metrics, and store the changes."""
        stored = await off_loop(self.store.judgments.of, draft)
        changed = without_conflicts({name: evaluation for name, evaluation in stored.items() if name in self.aims})
        for evaluation in changed.values():
            await off_loop(self.store.judgments.keep, draft, evaluation)
        return changed

    async def apply_rulings(self, draft: str) -> list[Evaluation]:
        """Withdraw the findings on a draft that were overruled since; stores and returns the changed evaluations."""
        rulings = await off_loop(self.store.rulings.of, self.reader.document.id)
        stored = await off_loop(self.store.judgments.of, draft)
        new = {name: without_overruled(evaluation, rulings) for name, evaluation in stored.items()}
        changed = [evaluation for name, evaluation in new.items() if evaluation is not stored[name]]
        for evaluation in changed:
            await off_loop(self.store.judgments.keep, draft, evaluation)
        return changed

    async def _judge(self, evaluator: Evaluator, text: str) -> Evaluation:
        """Return a metric's evaluation of a text by the judges that can read it and the document, with the part of the
        pack that its score depends on."""
        statements = statements_of(text)
        languages = (other_language_in(self.reader.document), language_of(text))
        language = next(filter(is_foreign, languages), ENGLISH)
        judges = tuple(judge for judge in self.panel if judge.can_read(language))
        if evaluator.prompts and statements and not judges:
            reason = _IN_ENGLISH_ALONE.format(language)
            if reason not in self._notices:
                self._notices.add(reason)
                self.observer(Notice(reason))
            return evaluator.failed(reason, len(statements))
        yardstick = await self._yardstick(evaluator, build=bool(statements))
        case = Case(statements, judges or self.panel, self.reader, yardstick, self.query, text, self.confirmer)
        returned: Any = evaluator.evaluate(case)
        evaluation = evaluator.checked(await returned if isawaitable(returned) else returned)
        evaluation = with_enough_verdicts(evaluation)
        built_in = all(judge.model.identity == IDENTITY for judge in self.panel)
        if evaluation.outcome == "failed" and evaluation.unjudged and built_in:
            evaluation = replace(evaluation, reason=_ABSTAINS)
        part = yardstick.pack if evaluator.needs == "questions" else yardstick.keyfacts
        if evaluator.needs is None or part is None or evaluation.outcome != "scored":
            return evaluation
        reference = {REFERENCES[evaluator.needs]: part.id, "missing": list(part.missing)}
        return replace(evaluation, details={**reference, **evaluation.details, **reference})

    async def _yardstick(self, evaluator: Evaluator, *, build: bool) -> DocumentPack:
        """Return the pack for a metric: the part that it needs is built if missing, the part that it uses only loaded.
        Nothing is built for an empty draft or for a query, whose tree must exist already."""
        part = evaluator.needs or evaluator.uses
        build = build and part in {metric.needs for metric in self.evaluators}
        if part == "questions":
            pack = self._built(evaluator, self.pack) if build else off_loop(self._stored_pack)
            return DocumentPack(await pack)
        if part == "keyfacts":
            build = build and self.query is None
            facts = self._built(evaluator, self.keyfacts) if build else off_loop(self._stored_keyfacts)
            return DocumentPack(None, await facts, self._perspectives)
        return DocumentPack()

    async def _built(self, evaluator: Evaluator, build: Callable[[], Coroutine[Any, Any, PartT]]) -> PartT | None:
        """Build a part of the pack; None where that fails and the metric can do without."""
        part = evaluator.needs or evaluator.uses or ""
        try:
            if part in self._unbuilt:
                raise self._unbuilt[part]
            return await self._once.get_or_create(part, build)
        except _ENDS_THE_RUN:
            raise
        except Exception as error:
            self._unbuilt[part] = error
            if evaluator.needs == part:
                raise
            return None


def _reason(error: Exception, evaluator: Evaluator) -> str:
    """Return why a metric failed, as a sentence. An unexpected exception is logged with its traceback; of a metric that
    is not redraft's own, the reason names the line."""
    if isinstance(error, JudgingError):
        return str(error)
    reason = f"{type(error).__name__}: {error}"
    if isinstance(error, ModelError):
        return reason
    if isinstance(error, ValidationError) and error.title in ("Evaluation", "Finding", "Evidence"):
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        problem = f"{where}: {error_text(first)}, not {first['input']!r:.80}"
        reason = f"ValueError: the metric {evaluator.name} returned an invalid {error.title}: {problem}"
    traceback = redacted("".join(format_exception(error)), environment_keys())
    _log.error("the metric %s failed:\n%s", evaluator.name, traceback)
    outside = [frame for frame in extract_tb(error.__traceback__) if not frame.filename.startswith(_PACKAGE)]
    code = getattr(getattr(evaluator, "function", None), "__code__", None)
    if not outside or (code is None and type(evaluator).__module__.startswith("redraft.")):
        return reason
    home = code.co_filename if code else outside[0].filename
    lines = [frame.lineno for frame in outside if frame.filename == home]
    return f"{reason} ({Path(home).name}, line {lines[-1]})" if lines else reason
