"""The judges of a run: metrics, the document's pack, stored evaluations, and the effect of rulings."""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field, replace
from inspect import isawaitable
from pathlib import Path
from traceback import extract_tb, format_exception
from typing import Any, TypeVar, get_args

from pydantic import ValidationError

from redraft.agents.accounts import TaskCache
from redraft.agents.evidence import EvidenceReader
from redraft.agents.judge import Judge
from redraft.agents.writer import Outliner
from redraft.builtin.facade import IDENTITY
from redraft.domain import UNANSWERED, Evaluation, Finding, KeyFacts, Pack, Perspective, Ruling, record_json
from redraft.errors import (
    BudgetError,
    JudgingError,
    ModelError,
    ProviderError,
    RateLimited,
    StoreError,
    TransientError,
    for_reader,
)
from redraft.evaluators.base import METRIC, Case, DocumentPack, Evaluator, PackPart, statements_of
from redraft.evaluators.metric_info import (
    WEIGHED,
    WITHDRAWN,
    MetricAim,
    WithdrawnFinding,
    with_enough_verdicts,
    withdrawn,
)
from redraft.evaluators.reference.keyfact_builder import KeyFactBuilder
from redraft.evaluators.reference.questions import PackSize, build_pack, pack_key
from redraft.evaluators.similarity import is_same
from redraft.events import Notice, Observer
from redraft.fields import error_text
from redraft.llm.addresses import environment_keys, redacted
from redraft.llm.base import ScriptError
from redraft.prompts.summarization import DocumentOutline
from redraft.settings import REFERENCES, JudgeConfig
from redraft.store.connection import off_loop
from redraft.store.store import Store
from redraft.text.languages import ENGLISH, is_foreign, language_of, other_language_in
from redraft.text.word_keys import telling

_log = logging.getLogger("redraft.metrics")
_PACKAGE = str(Path(__file__).parents[1])


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


# The share of content words that two questions about the same thing have in common.
_ALIKE = 0.5


def without_conflicts(evaluations: Mapping[str, Evaluation]) -> dict[str, Evaluation]:
    """Return the evaluations of a draft that change because two findings conflict: where one wants removed what another
    wants added, and the latter quotes the document, the former is withdrawn and its item counts as supported."""
    findings = [
        finding
        for said in evaluations.values()
        for finding in said.findings
        if finding.task == "add" and finding.evidence
    ]
    changed: dict[str, Evaluation] = {}
    for name, evaluation in evaluations.items():
        dropped = [
            finding
            for finding in evaluation.findings
            if finding.task == "remove" and any(_conflict(finding, add) for add in findings)
        ]
        if dropped:
            changed[name] = without_findings(evaluation, dropped)
    return changed


def _conflict(remove: Finding, add: Finding) -> bool:
    """Return whether one finding wants removed what the other wants in the summary."""
    if not add.question or not remove.question:
        return is_same(add.expected, remove.found or remove.sentence)
    if not is_same(add.expected, remove.found):
        return False
    one, other = telling(add.question), telling(remove.question)
    return is_same(add.question, remove.question) or len(one & other) >= _ALIKE * len(one | other) > 0


# Errors that are no metric's fault and would recur with the next one. A wrong test script must fail the test.
_ENDS_THE_RUN = (BudgetError, StoreError, ProviderError, RateLimited, TransientError, ScriptError)

_ABSTAINS = "the built-in model does not judge this: name a language model as judge (--judge openai:MODEL)"
_IN_ENGLISH_ALONE = (
    "the built-in model judges English only, and there is text here in another language ({}): name a language model as"
    " judge (--judge openai:MODEL)"
)

PartT = TypeVar("PartT", Pack, KeyFacts)


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
    _said: set[str] = field(default_factory=set)

    async def pack(self, *, complete: bool = False) -> Pack:
        """Return the pack that drafts are judged by: the requested, the imported, a stored, or a new one. With
        `complete`, the missing parts of a stored one are tried again; cached answers are not asked for again."""
        known = await off_loop(self._known_pack)
        if known and not (complete and known.missing and not known.imported and not self.judging.pack):
            return known
        built = await build_pack(self._first, self.reader, self._size, self.observer, await self.outline())
        await off_loop(self.store.packs.add, built, self._pack_key)
        return await off_loop(self.store.packs.find, self.reader.document.id, self._pack_key) or built

    async def outline(self) -> DocumentOutline | None:
        """Return the outline, where the document's parts were summarized; the document is not read again for it."""
        return await self.outliner.known() if self.outliner else None

    @property
    def _size(self) -> PackSize:
        return PackSize(self.judging.questions, self.judging.stretch_tokens)

    @property
    def _pack_key(self) -> str:
        return pack_key(self._first, self._size)

    def _known_pack(self) -> Pack | None:
        """Return the pack that need not be built."""
        document, packs = self.reader.document.id, self.store.packs
        if self.judging.pack:
            return packs.get(self.judging.pack)
        return packs.imported(document) or packs.find(document, self._pack_key)

    async def keyfacts(self, *, complete: bool = False) -> KeyFacts:
        """Return the key facts that drafts are judged by: the requested, the imported, stored, or new ones; `complete`
        as for `pack`."""
        facts = await off_loop(self._known_keyfacts)
        if facts and not (complete and facts.missing and not facts.imported and not self.judging.keyfacts):
            return facts
        builder = self._keyfact_builder(self.perspectives)
        built = await builder.build()
        await off_loop(self.store.keyfacts.add, built, builder.key)
        return await off_loop(self.store.keyfacts.find, self.reader.document.id, builder.key) or built

    def _known_keyfacts(self) -> KeyFacts | None:
        """Return the key facts that need not be built. Trees from both perspectives serve requests for either."""
        document, shelf = self.reader.document.id, self.store.keyfacts
        if self.judging.keyfacts:
            return shelf.get(self.judging.keyfacts)
        builders = [self._keyfact_builder(perspectives) for perspectives in (self.perspectives, get_args(Perspective))]
        built = (shelf.find(document, builder.key) for builder in builders)
        return shelf.imported(document) or next((facts for facts in built if facts), None)

    def _keyfact_builder(self, perspectives: tuple[Perspective, ...]) -> KeyFactBuilder:
        validator = self.validator if self.validator.can_read(self._language) else self._first
        size, overlap = self.judging.keyfact_chunks, self.judging.keyfact_overlap
        return KeyFactBuilder(self._first, validator, self.reader, perspectives, self.observer, size, overlap)

    @property
    def _first(self) -> Judge:
        """Return the first judge that can read the document."""
        return next((judge for judge in self.panel if judge.can_read(self._language)), self.panel[0])

    @property
    def _language(self) -> str:
        return other_language_in(self.reader.document)

    @property
    def perspectives(self) -> tuple[Perspective, ...]:
        """Return the perspectives for key facts."""
        chosen = self.judging.perspective
        return get_args(Perspective) if chosen == "both" else (chosen,)

    @property
    def aims(self) -> dict[str, MetricAim | None]:
        """Return what each metric measures, by name."""
        return {evaluator.name: evaluator.aim for evaluator in self.evaluators}

    async def judge_by(self, metric: str, draft: str) -> Evaluation:
        """Judge a stored draft by one metric and store the evaluation; waits for the pack only if needed.

        Exceptions that end the run propagate; any other, or a pack that cannot be built, makes the metric fail.
        """
        evaluator = next(one for one in self.evaluators if one.name == metric)
        judged = await off_loop(self.store.runs.draft, draft)
        judging = METRIC.set(metric)
        try:
            if judged.node == UNANSWERED:
                evaluation = evaluator.not_applicable("the question has no answer to judge")
            else:
                evaluation = await self._judged(evaluator, judged.text)
        except _ENDS_THE_RUN:
            raise
        except Exception as error:  # noqa: BLE001  (whatever a metric does, the others have their say)
            reason = _reason(error, evaluator.name) + _logged(error, evaluator)
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
        names = {evaluator.name for evaluator in self.evaluators}
        known = await off_loop(self.store.judgments.of, draft)
        changed = without_conflicts({name: one for name, one in known.items() if name in names})
        for evaluation in changed.values():
            await off_loop(self.store.judgments.keep, draft, evaluation)
        return changed

    async def apply_rulings(self, draft: str) -> list[Evaluation]:
        """Withdraw the findings on a draft that were overruled since; stores and returns the changed evaluations."""
        rulings = await off_loop(self.store.rulings.of, self.reader.document.id)
        known = await off_loop(self.store.judgments.of, draft)
        new = {name: without_overruled(evaluation, rulings) for name, evaluation in known.items()}
        changed = [evaluation for name, evaluation in new.items() if evaluation is not known[name]]
        for one in changed:
            await off_loop(self.store.judgments.keep, draft, one)
        return changed

    async def _judged(self, evaluator: Evaluator, text: str) -> Evaluation:
        """Return a metric's evaluation of a text by the judges that can read it and the document."""
        statements = statements_of(text)
        language = next(filter(is_foreign, (self._language, language_of(text))), ENGLISH)
        panel = tuple(judge for judge in self.panel if judge.can_read(language))
        if evaluator.prompts and statements and not panel:
            reason = for_reader(_IN_ENGLISH_ALONE.format(language))
            if reason not in self._said:
                self._said.add(reason)
                self.observer(Notice(reason))
            return evaluator.failed(reason, len(statements))
        yardstick = await self._yardstick(evaluator, build=bool(statements))
        case = Case(statements, panel or self.panel, self.reader, yardstick, self.query, text, self.confirmer)
        given: Any = evaluator.evaluate(case)
        found = await given if isawaitable(given) else given
        evaluation = self._advised(with_enough_verdicts(evaluator.checked(found)))
        return _with_reference(yardstick, evaluator, evaluation)

    def _advised(self, evaluation: Evaluation) -> Evaluation:
        """Return the evaluation with advice on other judges, where the built-in model abstains."""
        built_in = all(judge.model.identity == IDENTITY for judge in self.panel)
        if evaluation.outcome != "failed" or not evaluation.unjudged or not built_in:
            return evaluation
        return replace(evaluation, reason=for_reader(_ABSTAINS))

    async def _yardstick(self, evaluator: Evaluator, *, build: bool) -> DocumentPack:
        """Return the pack for a metric: the part that it needs is built if missing, the part that it uses only loaded.
        Nothing is built for an empty draft or for a query, whose tree must exist already."""
        part = evaluator.needs or evaluator.uses
        built = build and part in {one.needs for one in self.evaluators}
        match part:
            case "questions":
                pack = self._built(evaluator, part, self.pack) if built else off_loop(self._known_pack)
                return DocumentPack(await pack)
            case "keyfacts":
                built = built and self.query is None
                facts = self._built(evaluator, part, self.keyfacts) if built else off_loop(self._known_keyfacts)
                return DocumentPack(None, await facts, self.perspectives)
        return DocumentPack()

    async def _built(
        self, evaluator: Evaluator, part: PackPart, build: Callable[[], Coroutine[Any, Any, PartT]]
    ) -> PartT | None:
        """Build a part of the pack; None where that fails and the metric can do without."""
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


def _with_reference(yardstick: DocumentPack, evaluator: Evaluator, evaluation: Evaluation) -> Evaluation:
    """Return the evaluation with the pack part that its score depends on, and what that part lacks."""
    part = yardstick.pack if evaluator.needs == "questions" else yardstick.keyfacts
    if evaluator.needs is None or part is None or evaluation.outcome != "scored":
        return evaluation
    rests_on = {REFERENCES[evaluator.needs]: part.id, "missing": list(part.missing)}
    return replace(evaluation, details={**rests_on, **evaluation.details, **rests_on})


def _logged(error: Exception, evaluator: Evaluator) -> str:
    """Log an unexpected exception of a metric with its traceback. Return its place if the metric is not our own."""
    if isinstance(error, JudgingError | ModelError):
        return ""
    shown = redacted("".join(format_exception(error)), environment_keys())
    _log.error("the metric %s failed:\n%s", evaluator.name, shown)
    outside = [one for one in extract_tb(error.__traceback__) if not one.filename.startswith(_PACKAGE)]
    code = getattr(getattr(evaluator, "function", None), "__code__", None)
    if not outside or (code is None and type(evaluator).__module__.startswith("redraft.")):
        return ""
    home = code.co_filename if code else outside[0].filename
    lines = [one.lineno for one in outside if one.filename == home]
    return f" ({Path(home).name}, line {lines[-1]})" if lines else ""


def _reason(error: Exception, metric: str) -> str:
    """Return why a metric failed, as a sentence."""
    if isinstance(error, JudgingError):
        return str(error)
    if isinstance(error, ValidationError) and error.title in ("Evaluation", "Finding", "Evidence"):
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        given = f"returned an invalid {error.title}: {where}: {error_text(first)}, not {first['input']!r:.80}"
        return f"ValueError: the metric {metric} {given}"
    return f"{type(error).__name__}: {error}"
