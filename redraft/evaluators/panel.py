"""The judges of a run: their metrics and pack, what has been judged, and what rulings changed."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar, get_args

from pydantic import ValidationError

from redraft.agents.accounts import TaskCache
from redraft.agents.evidence import EvidenceReader
from redraft.agents.judge import Judge
from redraft.agents.outliner import Outliner
from redraft.builtin.facade import IDENTITY
from redraft.domain import Evaluation, Finding, KeyFacts, Pack, Perspective
from redraft.errors import BudgetError, JudgingError, ProviderError, RateLimited, StoreError, TransientError
from redraft.evaluators.base import METRIC, Case, DocumentPack, Evaluator, PackPart, statements_of
from redraft.evaluators.metric_info import WITHDRAWN, MetricAim, founded
from redraft.evaluators.reference.keyfact_builder import Gardener
from redraft.evaluators.reference.questions import Quantity, build_pack, pack_key, shows_outline
from redraft.evaluators.similarity import is_same
from redraft.events import Noted, Observer
from redraft.fields import in_words
from redraft.llm.fakes import ScriptError
from redraft.prompts.summarization import Outline
from redraft.rulings import Ruling
from redraft.settings import YARDSTICKS, JudgeConfig
from redraft.store.connection import off_loop
from redraft.store.store import Store
from redraft.text.languages import ENGLISH, foreign_in, is_foreign, language_of
from redraft.text.word_keys import telling


def without_overruled(evaluation: Evaluation, rulings: Mapping[str, Ruling]) -> Evaluation:
    """The evaluation without the findings that `rulings`, by the findings' ids, overrule; as it is where none is."""
    gone = [one for one in evaluation.findings if one.id in rulings and rulings[one.id].overruled]
    if not gone:
        return evaluation
    known = evaluation.details.get(WITHDRAWN)
    earlier = list(known) if isinstance(known, list | tuple) else []
    details = {**evaluation.details, WITHDRAWN: [*earlier, *(_shown(one, rulings[one.id]) for one in gone)]}
    return replace(without(evaluation, gone), details=details)


def without(evaluation: Evaluation, gone: Sequence[Finding]) -> Evaluation:
    """The evaluation without some of its findings; their items count in full."""
    left = tuple(one for one in evaluation.findings if one not in gone)
    if evaluation.score is None or not evaluation.judged:
        return replace(evaluation, findings=left)
    gain = sum(1 - one.value for one in gone) / evaluation.judged
    return replace(evaluation, score=min(1.0, evaluation.score + gain), findings=left)


def _shown(finding: Finding, ruling: Ruling) -> dict[str, object]:
    return {
        "finding": finding.id,
        "task": finding.task,
        "sentence": finding.sentence,
        "question": finding.question,
        "says": finding.found,
        "quote": ruling.quote,
        "span": [ruling.start, ruling.end],
        "reason": ruling.reason,
        "by": ruling.by,
    }


# The share of telling words that two questions about the same thing have in common.
_ALIKE = 0.5


def without_conflicts(evaluations: Mapping[str, Evaluation]) -> dict[str, Evaluation]:
    """Those evaluations of a draft that are others now: a finding is withdrawn that wants removed what another one
    wants added, and has the document's words for. What it is about counts as borne out."""
    wanted = [one for said in evaluations.values() for one in said.findings if one.task == "add" and one.evidence]
    changed: dict[str, Evaluation] = {}
    for name, evaluation in evaluations.items():
        dropped = [
            one for one in evaluation.findings if one.task == "remove" and any(_clash(one, add) for add in wanted)
        ]
        if dropped:
            changed[name] = without(evaluation, dropped)
    return changed


def _clash(remove: Finding, add: Finding) -> bool:
    """Whether one wants out of the summary what the other wants in it."""
    if not add.question or not remove.question:
        return is_same(add.expected, remove.found or remove.sentence)
    if not is_same(add.expected, remove.found):
        return False
    one, other = telling(add.question), telling(remove.question)
    return is_same(add.question, remove.question) or len(one & other) >= _ALIKE * len(one | other) > 0


# What is no metric's fault, and no better with the next one. A test's own script that is wrong has to fail the test.
_ENDS_THE_RUN = (BudgetError, StoreError, ProviderError, RateLimited, TransientError, ScriptError)

_BEYOND_COUNTING = (
    "the built-in judge sees only near-quotations, and what may be said in other words it leaves open: it takes a"
    " language model or a local entailment model as judge (--judge openai:MODEL, --judge nli:MODEL)"
)
_BEYOND_WORDING = (
    "the built-in judge sees what is said twice, or points at nothing, and cannot tell that a sentence is clear: how a"
    " summary reads takes a language model as judge (--judge openai:MODEL)"
)

_IN_ENGLISH_ALONE = (
    "the built-in model judges English only, and there is text here in another language ({}): name a language model as"
    " judge (--judge openai:MODEL)"
)

Part_ = TypeVar("Part_", Pack, KeyFacts)


@dataclass(frozen=True, slots=True)
class Panel:
    """Judges drafts of one document. Verdicts are stored as they are given."""

    store: Store
    reader: EvidenceReader
    panel: tuple[Judge, ...]
    evaluators: tuple[Evaluator, ...]
    judging: JudgeConfig
    observer: Observer
    validator: Judge
    """Who validates key facts; the first of the panel finds them."""
    query: str | None = None
    """The question that the drafts answer, where they are not about the document as a whole."""
    outliner: Outliner | None = None
    """Who has outlined the document by the summaries of its parts, where somebody has."""
    _once: TaskCache = field(default_factory=TaskCache)
    _unbuilt: dict[str, Exception] = field(default_factory=dict)
    """By part of the pack why it could not be built: it is not tried for every draft."""
    _said: set[Noted] = field(default_factory=set)

    async def pack(self) -> Pack:
        """The pack that the drafts are judged by: the one asked for, or imported, or built before, or a new one."""
        return await off_loop(self._known_pack) or await self._asked()

    async def completed_pack(self) -> Pack:
        """The pack, with what it lacks tried again; what the judges have said before is not asked again."""
        known = await off_loop(self._known_pack)
        chosen = known is not None and (known.imported or self.judging.pack or not known.missing)
        return known if known is not None and chosen else await self._asked()

    async def outline(self) -> Outline | None:
        """What the document comes to, where its parts were summarized; no document is read again for it."""
        return await self.outliner.known() if self.outliner else None

    async def _asked(self) -> Pack:
        outline = await self.outline() if shows_outline(self.reader, self._quantity) else None
        built = await build_pack(self._first, self.reader, self._quantity, self.observer, outline)
        await off_loop(self.store.packs.add, built, self._pack_key)
        return await off_loop(self.store.packs.find, self.reader.document.id, self._pack_key) or built

    @property
    def _quantity(self) -> Quantity:
        return Quantity(self.judging.questions, self.judging.stretch_tokens)

    @property
    def _pack_key(self) -> str:
        return pack_key(self._first, self.reader, self._quantity)

    def _known_pack(self) -> Pack | None:
        """The pack that need not be built first."""
        document, packs = self.reader.document.id, self.store.packs
        if self.judging.pack:
            return packs.get(self.judging.pack)
        return packs.imported(document) or packs.find(document, self._pack_key)

    async def keyfacts(self) -> KeyFacts:
        """The key facts that the drafts are judged by: those asked for, or imported, or built before, or new ones."""
        return await off_loop(self._known_keyfacts) or await self._grown()

    async def completed_keyfacts(self) -> KeyFacts:
        """The key facts, with what they lack tried again; what the judges have said before is not asked again."""
        known = await off_loop(self._known_keyfacts)
        chosen = known is not None and (known.imported or self.judging.keyfacts or not known.missing)
        return known if known is not None and chosen else await self._grown()

    async def _grown(self) -> KeyFacts:
        gardener = self._gardener(self.perspectives)
        grown = await gardener.grow()
        await off_loop(self.store.keyfacts.add, grown, gardener.key)
        return await off_loop(self.store.keyfacts.find, self.reader.document.id, gardener.key) or grown

    def _known_keyfacts(self) -> KeyFacts | None:
        """Those that need not be built first. Trees from both perspectives serve whoever wants one of them."""
        document, shelf = self.reader.document.id, self.store.keyfacts
        if self.judging.keyfacts:
            return shelf.get(self.judging.keyfacts)
        gardeners = [self._gardener(perspectives) for perspectives in (self.perspectives, get_args(Perspective))]
        built = (shelf.find(document, gardener.key) for gardener in gardeners)
        return shelf.imported(document) or next((found for found in built if found), None)

    def _gardener(self, perspectives: tuple[Perspective, ...]) -> Gardener:
        validator = self.validator if self.validator.reads(self._language) else self._first
        return Gardener(self._first, validator, self.reader, perspectives, self.observer)

    @property
    def _first(self) -> Judge:
        """The first of the panel who can read the document."""
        return next((judge for judge in self.panel if judge.reads(self._language)), self.panel[0])

    @property
    def _language(self) -> str:
        return foreign_in(self.reader.document)

    @property
    def perspectives(self) -> tuple[Perspective, ...]:
        """From which perspectives key facts are looked for."""
        chosen = self.judging.perspective
        return get_args(Perspective) if chosen == "both" else (chosen,)

    @property
    def aims(self) -> dict[str, MetricAim | None]:
        """What each of the metrics is about, by name."""
        return {evaluator.name: evaluator.aim for evaluator in self.evaluators}

    async def judge_by(self, metric: str, draft: str) -> Evaluation:
        """Judge a stored draft by one metric, and store what it says; who needs nothing of the pack waits for none.

        An exception that ends the run goes on; any other makes the metric one that has failed, and so does it where
        what the metric needs of the pack cannot be built.
        """
        evaluator = next(one for one in self.evaluators if one.name == metric)
        text = (await off_loop(self.store.runs.draft, draft)).text
        judging = METRIC.set(metric)
        try:
            evaluation = await self._judged(evaluator, text)
        except _ENDS_THE_RUN:
            raise
        except Exception as error:  # noqa: BLE001  (whatever a metric does, the others have their say)
            reason = _reason(error, evaluator.name)
            hint = f"; {error.hint}" if isinstance(error, JudgingError) and error.hint else ""
            self.observer(Noted(f"{evaluator.name} failed: {reason}{hint}"))
            evaluation = evaluator.failed(reason)
        finally:
            METRIC.reset(judging)
        rulings = await off_loop(self.store.rulings.of, self.reader.document.id)
        evaluation = without_overruled(evaluation, rulings)
        await off_loop(self.store.judgments.keep, draft, evaluation)
        return evaluation

    async def agreed(self, draft: str) -> dict[str, Evaluation]:
        """What is other than the metrics said, each by itself, once all of them are heard; it is stored."""
        names = {one.name for one in self.evaluators}
        known = await off_loop(self.store.judgments.of, draft)
        changed = without_conflicts({name: one for name, one in known.items() if name in names})
        for evaluation in changed.values():
            await off_loop(self.store.judgments.keep, draft, evaluation)
        return changed

    async def apply_rulings(self, draft: str) -> list[Evaluation]:
        """Withdraw from what was said of a draft what has been overruled since; returns the evaluations that changed.

        They are stored, all else of a draft stays as it is."""
        rulings = await off_loop(self.store.rulings.of, self.reader.document.id)
        known = await off_loop(self.store.judgments.of, draft)
        new = {name: without_overruled(one, rulings) for name, one in known.items()}
        changed = [one for name, one in new.items() if one is not known[name]]
        for one in changed:
            await off_loop(self.store.judgments.keep, draft, one)
        return changed

    async def _judged(self, evaluator: Evaluator, text: str) -> Evaluation:
        """What a metric says of a text, by those of the panel who can read it and the document."""
        statements = statements_of(text)
        language = next(filter(is_foreign, (self._language, language_of(text))), ENGLISH)
        panel = tuple(judge for judge in self.panel if judge.reads(language))
        if evaluator.prompts and statements and not panel:
            self._say_once(Noted(_IN_ENGLISH_ALONE.format(language)))
            return evaluator.failed(_IN_ENGLISH_ALONE.format(language), len(statements))
        yardstick = await self._yardstick(evaluator, build=bool(statements))
        case = Case(statements, panel or self.panel, self.reader, yardstick, self.query, text)
        evaluation = self._advised(founded(evaluator.checked(await evaluator.evaluate(case))), evaluator.aim)
        return _resting_on(yardstick, evaluator, evaluation)

    def _say_once(self, note: Noted) -> None:
        if note not in self._said:
            self._said.add(note)
            self.observer(note)

    def _advised(self, evaluation: Evaluation, aim: MetricAim | None) -> Evaluation:
        """The evaluation, and who could give a score where the built-in judge cannot tell enough to give one."""
        built_in = all(judge.model.identity == IDENTITY for judge in self.panel)
        if evaluation.outcome != "failed" or not evaluation.unjudged or not built_in:
            return evaluation
        takes = _BEYOND_WORDING if aim == "form" else _BEYOND_COUNTING
        return replace(evaluation, reason=f"{evaluation.reason}; {takes}")

    async def _yardstick(self, evaluator: Evaluator, *, build: bool) -> DocumentPack:
        """What a metric needs is built, for those that only use it too; otherwise that is taken where it is there.

        For a draft without a word, of which there is nothing to say, nothing is built.
        A query comes from trees that are there already: to grow some for it would be of no use.
        """
        part = evaluator.needs or evaluator.uses
        built = build and part in {one.needs for one in self.evaluators}
        match part:
            case "questions":
                pack = self._built(evaluator, part, self.pack) if built else off_loop(self._known_pack)
                return DocumentPack(await pack)
            case "keyfacts":
                grown = built and self.query is None
                facts = self._built(evaluator, part, self.keyfacts) if grown else off_loop(self._known_keyfacts)
                return DocumentPack(None, await facts, self.perspectives)
        return DocumentPack()

    async def _built(
        self, evaluator: Evaluator, part: PackPart, build: Callable[[], Coroutine[Any, Any, Part_]]
    ) -> Part_ | None:
        """A part of the pack; where it cannot be built, nothing for a metric that can do without."""
        try:
            if part in self._unbuilt:
                raise self._unbuilt[part]
            return await self._once.made(part, build)
        except _ENDS_THE_RUN:
            raise
        except Exception as error:
            self._unbuilt[part] = error
            if evaluator.needs == part:
                raise
            return None


def _resting_on(yardstick: DocumentPack, evaluator: Evaluator, evaluation: Evaluation) -> Evaluation:
    """The evaluation with what its score rests on: which part of the document's pack, and what that lacks."""
    part = yardstick.pack if evaluator.needs == "questions" else yardstick.keyfacts
    if evaluator.needs is None or part is None or evaluation.outcome != "scored":
        return evaluation
    rests_on = {YARDSTICKS[evaluator.needs]: part.id, "missing": list(part.missing)}
    return replace(evaluation, details={**rests_on, **evaluation.details, **rests_on})


def _reason(error: Exception, metric: str) -> str:
    """Why a metric has failed, in a sentence."""
    if isinstance(error, JudgingError):
        return str(error)
    if isinstance(error, ValidationError) and error.title in ("Evaluation", "Finding", "Evidence"):
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        given = f"returned an invalid {error.title}: {where}: {in_words(first)}, not {first['input']!r:.80}"
        return f"ValueError: the metric {metric} {given}"
    return f"{type(error).__name__}: {error}"
