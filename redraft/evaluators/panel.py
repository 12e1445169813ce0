"""The judges of a run: they build what drafts are judged by, once, judge drafts by every metric, and withdraw findings
that a second look overrules."""

from __future__ import annotations

import logging
from asyncio import Lock
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from inspect import isawaitable
from traceback import format_exception
from typing import Any, get_args

from pydantic import ValidationError

from redraft.agents.evidence import EvidenceReader
from redraft.agents.examiner import is_same
from redraft.agents.judge import Judge
from redraft.agents.writer import Outliner
from redraft.builtin.facade import IDENTITY
from redraft.domain import UNANSWERED, Evaluation, Finding, KeyFacts, Pack, Perspective, Ruling, record_json
from redraft.errors import BudgetError, JudgingError, ModelError, ProviderError, RateLimited, StoreError, TransientError
from redraft.evaluators.base import METRIC, Case, Evaluator, statements_of
from redraft.evaluators.metric_info import (
    WEIGHED,
    WITHDRAWN,
    MetricAim,
    WithdrawnFinding,
    with_enough_verdicts,
    withdrawn,
)
from redraft.evaluators.reference.builders import KeyFactBuilder, PackBuilder
from redraft.events import Notice, Observer
from redraft.fields import error_text
from redraft.llm.addresses import environment_keys, redacted
from redraft.llm.base import ScriptError
from redraft.settings import REFERENCES, JudgeConfig, PackPart
from redraft.store.connection import off_loop
from redraft.store.documents import QuestionSets
from redraft.store.store import Store
from redraft.text.languages import ENGLISH, is_foreign, language_of, other_language_in
from redraft.text.word_keys import telling
from redraft.text.words import spaced

_log = logging.getLogger("redraft.metrics")

# Errors that are no metric's fault and would recur with the next one. A wrong test script must fail the test.
_ENDS_THE_RUN = (BudgetError, StoreError, ProviderError, RateLimited, TransientError, ScriptError)

_ABSTAINS = "the built-in model does not judge this: name a language model as judge"
_IN_ENGLISH_ALONE = (
    "the built-in model judges English only, and there is text here in another language ({}): name a language model as"
    " judge"
)


@dataclass(frozen=True, slots=True)
class Panel:
    """The judges of one document: they build its questions and key facts, and judge drafts. Verdicts are stored as they
    arrive."""

    store: Store
    reader: EvidenceReader
    judges: tuple[Judge, ...]
    """The first of them that can read the document writes questions and extracts key facts."""
    validating: Judge
    """The judge that validates key facts, if it can read the document."""
    judging: JudgeConfig
    observer: Observer
    outliner: Outliner | None = None
    """Provides an outline of the document from the summaries of its parts, if there are any."""
    evaluators: tuple[Evaluator, ...] = ()
    query: str | None = None
    """The question that the drafts answer; None for summaries of the whole document."""
    confirmer: Judge | None = None
    """The judge that decides what the panel objects to or leaves open."""
    _locks: defaultdict[str, Lock] = field(default_factory=lambda: defaultdict(Lock))
    _parts: dict[str, Pack | KeyFacts] = field(default_factory=dict)
    """The parts by key: all drafts of a run are judged by the same."""
    _errors: dict[str, Exception] = field(default_factory=dict)
    """Why a part could not be built; it is not tried again for every draft."""
    _notices: set[str] = field(default_factory=set)

    @property
    def perspectives(self) -> tuple[Perspective, ...]:
        """Return the perspectives of the key facts that drafts are judged by."""
        chosen = self.judging.perspective
        return get_args(Perspective) if chosen == "both" else (chosen,)

    async def part(self, name: PackPart, *, complete: bool = False) -> Pack | KeyFacts:
        """Return the questions or key facts that drafts are judged by: the requested, the imported, stored, or new
        ones. With `complete`, what stored ones lack is tried again; cached answers are not asked for again."""
        shelf, requested, (builder, *_) = self._sources(name)
        key, complete = builder.key, complete and not requested
        async with self._locks[key]:
            part = (None if complete else self._parts.get(key)) or await off_loop(self.stored, name)
            if part is None or (complete and part.missing and not part.imported):
                if key in self._errors:
                    raise self._errors[key]
                try:
                    built = await builder.build()
                except Exception as error:
                    self._errors[key] = error
                    raise
                await off_loop(shelf.add, built, key)
                part = await off_loop(shelf.find, built.document, key) or built
            self._parts[key] = part
            return part

    def stored(self, name: PackPart) -> Pack | KeyFacts | None:
        """Return the part that need not be built."""
        document, (shelf, requested, builders) = self.reader.document.id, self._sources(name)
        part: Pack | KeyFacts | None = shelf.get(requested) if requested else shelf.imported(document)
        return part or next(filter(None, (shelf.find(document, builder.key) for builder in builders)), None)

    def _sources(self, name: PackPart) -> tuple[QuestionSets[Any], str | None, list[PackBuilder | KeyFactBuilder]]:
        """Return where a part is stored, its id if the settings name one, and what builds it; key facts from both
        perspectives serve requests for either."""
        store, judging, language = self.store, self.judging, other_language_in(self.reader.document)
        writer = next((judge for judge in self.judges if judge.can_read(language)), self.judges[0])
        shared = (writer, self.reader, judging, self.observer)
        if name == "questions":
            return store.packs, judging.pack, [PackBuilder(*shared, self.outliner)]
        validator = self.validating if self.validating.can_read(language) else writer
        chosen = (self.perspectives, get_args(Perspective))
        return store.keyfacts, judging.keyfacts, [KeyFactBuilder(*shared, validator, points) for points in chosen]

    @property
    def aims(self) -> dict[str, MetricAim | None]:
        """Return what each metric measures, by name."""
        return {evaluator.name: evaluator.aim for evaluator in self.evaluators}

    async def judge_by(self, metric: str, draft: str) -> Evaluation:
        """Judge a stored draft by one metric and store the evaluation; waits for the pack only if needed.

        Exceptions that end the run propagate; any other, or a pack that cannot be built, makes the metric fail.
        """
        evaluator = next(evaluator for evaluator in self.evaluators if evaluator.name == metric)
        stored_draft = await off_loop(self.store.runs.draft, draft)
        token = METRIC.set(metric)
        try:
            if stored_draft.node == UNANSWERED:
                evaluation = evaluator.not_applicable("the question has no answer to judge")
            else:
                evaluation = await self._evaluation(evaluator, stored_draft.text)
        except _ENDS_THE_RUN:
            raise
        except Exception as error:  # noqa: BLE001  (whatever a metric does, the others have their say)
            reason, hint = f"{type(error).__name__}: {error}", ""
            if isinstance(error, JudgingError):
                reason, hint = str(error), f"; {error.hint}" if error.hint else ""
            elif isinstance(error, ValidationError) and error.title in ("Evaluation", "Finding", "Evidence"):
                first = error.errors()[0]
                problem = f"{'.'.join(map(str, first['loc']))}: {error_text(first)}, not {first['input']!r:.80}"
                reason = f"ValueError: the metric {metric} returned an invalid {error.title}: {problem}"
            if not isinstance(error, ModelError | JudgingError):
                traceback = redacted("".join(format_exception(error)), environment_keys())
                _log.error("the metric %s failed:\n%s", metric, traceback)
            self.observer(Notice(f"{spaced(metric)} failed: {reason}{hint}"))
            evaluation = evaluator.failed(reason)
        finally:
            METRIC.reset(token)
        rulings = await off_loop(self.store.rulings.by, "finding", document=self.reader.document.id)
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

    async def apply_rulings(self, draft: str) -> None:
        """Withdraw the findings on a draft that were overruled since, and store the changed evaluations."""
        rulings = await off_loop(self.store.rulings.by, "finding", document=self.reader.document.id)
        stored = await off_loop(self.store.judgments.of, draft)
        for evaluation in stored.values():
            if (changed := without_overruled(evaluation, rulings)) is not evaluation:
                await off_loop(self.store.judgments.keep, draft, changed)

    async def _evaluation(self, evaluator: Evaluator, text: str) -> Evaluation:
        """Return a metric's evaluation of a text by the judges that can read it and the document, with the part of the
        pack that its score depends on."""
        statements = statements_of(text)
        languages = (other_language_in(self.reader.document), language_of(text))
        language = next(filter(is_foreign, languages), ENGLISH)
        judges = tuple(judge for judge in self.judges if judge.can_read(language))
        if evaluator.prompts and statements and not judges:
            reason = _IN_ENGLISH_ALONE.format(language)
            if reason not in self._notices:
                self._notices.add(reason)
                self.observer(Notice(reason))
            return evaluator.failed(reason, len(statements))
        case = Case(statements, judges or self.judges, self.reader, text=text, query=self.query)
        pending = partial(self._part_for, evaluator, build=bool(statements))
        case = replace(case, perspectives=self.perspectives, confirmer=self.confirmer, part=pending)
        case = case if evaluator.begins_without else await case.with_part()
        returned: Any = evaluator.evaluate(case)
        evaluation = evaluator.checked(await returned if isawaitable(returned) else returned)
        evaluation = with_enough_verdicts(evaluation)
        built_in = all(judge.model.identity == IDENTITY for judge in self.judges)
        if evaluation.outcome == "failed" and evaluation.unjudged and built_in:
            evaluation = replace(evaluation, reason=_ABSTAINS)
        part = case.pack or case.keyfacts
        if evaluator.needs is None or part is None or evaluation.outcome != "scored":
            return evaluation
        reference = {REFERENCES[evaluator.needs]: part.id, "missing": list(part.missing)}
        return replace(evaluation, details={**reference, **evaluation.details, **reference})

    async def _part_for(self, evaluator: Evaluator, *, build: bool) -> Pack | KeyFacts | None:
        """Return the part of the pack for a metric: what it needs is built if missing, what it uses only loaded; None
        where building fails and the metric can do without. Nothing is built for an empty draft or for a query, whose
        tree must exist already."""
        part = evaluator.needs or evaluator.uses
        if part is None:
            return None
        needed = part in {metric.needs for metric in self.evaluators}
        if not (build and needed and (part == "questions" or self.query is None)):
            return await off_loop(self.stored, part)
        try:
            return await self.part(part)
        except Exception as error:
            if evaluator.needs == part or isinstance(error, _ENDS_THE_RUN):
                raise
            return None


# The share of content words that two questions about the same thing have in common.
_ALIKE = 0.5


def without_overruled(evaluation: Evaluation, rulings: Mapping[str, Ruling]) -> Evaluation:
    """Return the evaluation without the findings that `rulings`, by finding id, overrule."""
    gone = [finding for finding in evaluation.findings if finding.id in rulings and rulings[finding.id].overruled]
    if not gone:
        return evaluation
    findings = [*withdrawn(evaluation), *(WithdrawnFinding(finding, rulings[finding.id]) for finding in gone)]
    return replace(
        without_findings(evaluation, gone), details={**evaluation.details, WITHDRAWN: list(map(record_json, findings))}
    )


def without_findings(evaluation: Evaluation, gone: Sequence[Finding]) -> Evaluation:
    """Return the evaluation without some of its findings; their items count in full."""
    findings = tuple(finding for finding in evaluation.findings if finding not in gone)
    if evaluation.score is None or not evaluation.judged:
        return replace(evaluation, findings=findings)
    lost = sum(finding.counts * (1 - finding.value) for finding in gone)
    weighed = evaluation.details.get(WEIGHED)
    gain = lost / (weighed if isinstance(weighed, int) else evaluation.judged)
    return replace(evaluation, score=min(1.0, evaluation.score + gain), findings=findings)


def without_conflicts(evaluations: Mapping[str, Evaluation]) -> dict[str, Evaluation]:
    """Return the evaluations of a draft that change because two findings conflict: where one wants removed what another
    wants added, and the latter quotes the document, the former is withdrawn and its item counts as supported."""
    findings = [finding for evaluation in evaluations.values() for finding in evaluation.findings]
    additions = [finding for finding in findings if finding.task == "add" and finding.evidence]

    def conflicts(remove: Finding, add: Finding) -> bool:
        both_asked = bool(add.question and remove.question)
        if not is_same(add.expected, remove.found if both_asked else remove.found or remove.sentence):
            return False
        added, removed = telling(add.question), telling(remove.question)
        is_alike = len(added & removed) >= _ALIKE * len(added | removed) > 0
        return not both_asked or is_alike or is_same(add.question, remove.question)

    changed: dict[str, Evaluation] = {}
    for name, evaluation in evaluations.items():
        removals = [finding for finding in evaluation.findings if finding.task == "remove"]
        if dropped := [remove for remove in removals if any(conflicts(remove, add) for add in additions)]:
            changed[name] = without_findings(evaluation, dropped)
    return changed
