"""The coherence experiment: how confusing summaries are, by annotations or judges, and what that costs."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from redraft.agents.accounts import gather_all
from redraft.agents.judge import Judge, reply_tokens
from redraft.agents.proofreader import CONFUSION, Proofreader, least_window
from redraft.domain import Document, Totals, content_id
from redraft.errors import BudgetError, Set, UsageError
from redraft.evaluators.base import statements_of
from redraft.evaluators.booookscore import Booookscore, sentences_of
from redraft.evaluators.metric_info import MIN_SHARE
from redraft.events import StageStarted
from redraft.lab.agreement.annotations import Annotations, ConfusionVerdict, Summaries, match_marks, match_to_sentences
from redraft.lab.experiments.plan import JUDGING, JudgesDesign, check_models
from redraft.lab.experiments.runner import GuardedStage, RunBatch, open_part, run_certificate
from redraft.llm.base import Model
from redraft.prompts.coherence import FIND_CONFUSION
from redraft.prompts.qa import Statement
from redraft.report.history.certificates import Certificate
from redraft.runs.experiment_runner import ExperimentRunner, Failure
from redraft.runs.job import wording
from redraft.runs.models import with_addresses
from redraft.runs.prepare import PreparedDocument, RunSpec, prepare
from redraft.settings import EXTRACTIVE, DraftConfig, ExperimentPart, JudgeConfig
from redraft.text.languages import language_context, language_of
from redraft.text.sanitizer import one_line
from redraft.text.tokens import Tokenizer, tokenizer_named
from redraft.text.units import repeated, units
from redraft.text.words import count_words

VOCABULARY = "cl100k_base"
"""The vocabulary by which the paper counts tokens."""
BOOOOKSCORE = "booookscore"
"""The experiment's name in its runs, and the command that repeats it."""
_TRIGRAM = 3
_WINDOW, _WIDEST = 8192, 131_072
_SHOWN = 60
_IN_ENGLISH_ALONE = (
    "the built-in model judges English only, and this is in another language ({}): name a language model as judge"
    " (--judge openai:MODEL)"
)
_CANNOT_TELL = "the judge cannot tell for some sentences"


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
class SystemJudgment:
    """The verdicts of one system on one summary."""

    said: tuple[ConfusionVerdict, ...] = ()
    """One verdict for each judged sentence."""
    unjudged: int = 0
    verdicts: Mapping[int, ConfusionVerdict] = field(default_factory=dict)
    """The verdicts by sentence number, where it is known."""
    failure: Failure | None = None
    made: bool = True
    """False if the budget ran out first."""
    marks: tuple[ConfusionVerdict, ...] = ()
    """People's marks, of which several may be on one sentence."""
    sentences: int = 0
    """The number of sentences if people marked spans of any length in them."""

    @property
    def confused(self) -> int:
        """The number of confusing sentences."""
        return sum(verdict.confusing for verdict in self.said)

    @property
    def score(self) -> float | None:
        """The score by equation 1 over the judged sentences; None if none was judged.

        It is also None if a judge left most sentences open, or left some open and found only faults: the open ones may
        be clear.
        """
        if not self.said:
            return None
        few = len(self.said) < MIN_SHARE * (len(self.said) + self.unjudged)
        if self.failure is not None and (few or self.confused == len(self.said)):
            return None
        return 1 - self.confused / len(self.said)


@dataclass(frozen=True, slots=True)
class System:
    """A source of verdicts on sentences: an annotation file or a judge. Its readings are by summary."""

    name: str
    readings: Mapping[str, SystemJudgment]
    aside: Mapping[str, int] = field(default_factory=dict)
    """The counts of what did not match between annotations and summaries, by reason."""
    usage: Totals | None = None
    """The usage of a judge."""
    run: str | None = None
    certificate: Certificate | None = None
    """The certificate for a judge's scores, over all summaries together."""


@dataclass(frozen=True, slots=True)
class ConfusingSentence:
    """A confusing sentence, the types of its errors, and the questions that it leaves open."""

    number: int
    sentence: str
    types: tuple[str, ...]
    questions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CoherenceItem:
    """One summary by one system's verdicts, in `items.json`, from which sheets for people are made."""

    system: str
    run: str | None
    id: str
    status: str
    score: float | None
    sentences: int
    judged: int
    unjudged: int
    confused: int
    types: Mapping[str, int]
    """The numbers of confusing sentences by type of error."""
    tokens: int
    words: int
    repeated_trigrams: float | None
    confusing: tuple[ConfusingSentence, ...]
    failure: Failure | None


@dataclass(frozen=True, slots=True)
class CoherenceDesign(JudgesDesign):
    """The judges of summaries, and their settings."""

    batch: int = 10

    def settings(self, judge: str) -> DraftConfig:
        """Return the settings with which one judge reads the summaries."""
        if judge in self.own:
            its = self.own[judge]
            window = {"context_tokens": self.window(judge) or _WINDOW}
            named = {name: value for name, value in its.model_dump().items() if value is not None}
            return DraftConfig.model_validate({**named, **window, "strategy": "given"})
        return self.judge_settings(judge, _WINDOW)

    def window(self, judge: str) -> int | None:
        """Return the configured window of a judge; None if there is none."""
        its = self.own.get(judge)
        return self.context_tokens or (its.context_tokens if its else None)

    def order(self, judge: str) -> RunSpec:
        """Return the spec of a run that annotates."""
        models = {judge: self.own[judge]} if judge in self.own else {}
        judging = with_addresses(JudgeConfig(judges=(judge,), batch=self.batch, models=models), self.settings(judge))
        return RunSpec(ExperimentPart(kind=BOOOOKSCORE, judging=judging), prompts=(FIND_CONFUSION,))


@dataclass(frozen=True, slots=True)
class CoherenceOutcome:
    """The outcome of the experiment."""

    design: CoherenceDesign
    file: Summaries
    summaries: tuple[Summary, ...]
    tokenizer: str
    """The vocabulary by which tokens are counted."""
    annotations: Annotations | None = None
    beside: tuple[Annotations, ...] = ()
    """Annotations to be compared with the first."""
    systems: tuple[System, ...] = ()
    """The annotations, if any, before the judges."""
    references: Mapping[str, Sequence[str]] | None = None
    stopped: BudgetError | None = None

    @property
    def complete(self) -> bool:
        """True if every judge judged every sentence."""
        open_ = any(judgment.unjudged for judge in self.judges for judgment in judge.readings.values())
        return self.stopped is None and not open_

    @property
    def judges(self) -> tuple[System, ...]:
        """The systems that are judges."""
        return self.systems[len(self.annotated) :]

    @property
    def annotated(self) -> tuple[Annotations, ...]:
        """All annotations."""
        return (*((self.annotations,) if self.annotations else ()), *self.beside)


def measure_summaries(
    file: Summaries,
    annotations: Annotations | None,
    design: CoherenceDesign,
    *,
    beside: Sequence[Annotations] = (),
    references: Mapping[str, Sequence[str]] | None = None,
) -> CoherenceOutcome:
    """Return the summaries with their lengths and with their annotations, if any. No model is called."""
    tokenizer = tokenizer_named(VOCABULARY)
    with language_context(_document(file)):
        summaries = tuple(_measured(key, text, tokenizer) for key, text in file.texts.items())
    outcome = CoherenceOutcome(
        design, file, summaries, tokenizer.name, annotations, tuple(beside), references=references
    )
    return replace(outcome, systems=tuple(_annotated(summaries, one) for one in outcome.annotated))


def _measured(key: str, text: str, tokenizer: Tokenizer) -> Summary:
    statements, trigrams = statements_of(text), repeated(units(text), _TRIGRAM)
    tokens, words = tokenizer.count(text), count_words(text)
    return Summary(key, text, statements, sentences_of(statements), tokens, words, trigrams)


def _annotated(summaries: Sequence[Summary], annotations: Annotations) -> System:
    """Return what the annotations say of the summaries. Raise if they belong to other summaries."""
    entries = annotations.entries
    if not any(summary.id in entries for summary in summaries):
        raise UsageError(
            f'the annotations have none of the ids of the summaries, such as "{one_line(summaries[0].id, _SHOWN)}"',
            place=annotations.name,
            hint="give the annotations of these summaries",
        )
    placed = {
        one.id: match_marks(entries.get(one.id) or (), one.statements)
        if annotations.marked
        else match_to_sentences(entries.get(one.id) or (), one.statements, every=annotations.every)
        for one in summaries
    }
    annotated_sentences = [entry for one in summaries for entry in entries.get(one.id) or ()]
    lost = sum(placed_annotations.lost for placed_annotations in placed.values())
    if 2 * lost > len(annotated_sentences):
        raise UsageError(
            f"{lost} of {len(annotated_sentences)} annotated sentences are not in the summaries",
            place=annotations.name,
            hint="the annotations are of other summaries: give those of these",
        )
    unknown = [name for entry in annotated_sentences if entry.verdict for name in entry.verdict.unknown]
    aside = {
        "silent": sum(not entries.get(one.id) for one in summaries if one.sentences),
        "textless": len(entries.keys() - {one.id for one in summaries}),
        "lost": lost,
        "elsewhere": sum(placed_annotations.elsewhere for placed_annotations in placed.values()),
        "undecided": sum(placed_annotations.undecided for placed_annotations in placed.values()),
        "unknown": len(unknown),
        "unclear": sum(placed_annotations.unclear for placed_annotations in placed.values()),
    }
    readings: dict[str, SystemJudgment] = {}
    for one in summaries:
        its, sentences = placed[one.id], len(one.sentences) if annotations.marked else 0
        judgment = SystemJudgment(its.said, its.unjudged, its.verdicts, marks=its.marks, sentences=sentences)
        readings[one.id] = judgment
    return System(annotations.name, readings, aside)


@dataclass(frozen=True, slots=True)
class AnnotationJudge:
    """A judge, with the file's texts as the document of its run."""

    judge: str
    prepared: PreparedDocument
    order: RunSpec


async def judge_summaries(outcome: CoherenceOutcome, runner: ExperimentRunner) -> CoherenceOutcome:
    """Have every sentence judged by every judge, within the limits. Failures are recorded."""
    design, summaries = outcome.design, outcome.summaries
    if not design.judges:
        return outcome
    if not any(summary.sentences for summary in summaries):
        raise UsageError("no summary has a sentence that could be judged", place=outcome.file.name)
    annotators = await asyncio.to_thread(annotation_judges, outcome)
    runner.share_budget("booookscore", repr(design), *(annotator.prepared.document.id for annotator in annotators))
    for annotator in annotators:
        runner.note_token_counts(annotator.prepared)
        check_models(runner, (annotator.prepared.settings, annotator.order.judging))
        await runner.open_own_run(annotator.prepared.document, annotator.prepared.settings, annotator.order)
    calls = sum(-(-len(summary.sentences) // design.batch) for summary in summaries)
    runner.observer(StageStarted("annotations", calls * len(annotators)))
    batch = RunBatch(runner, len(annotators) * len(summaries))
    systems = await gather_all(_system(annotator, summaries, batch) for annotator in annotators)
    return replace(outcome, systems=(*outcome.systems, *systems), stopped=runner.stopped)


def annotation_judges(outcome: CoherenceOutcome) -> list[AnnotationJudge]:
    """Return the judges, each prepared with the same texts."""
    document, judges = _document(outcome.file), outcome.design.judges
    # Refuse judges named twice before any of them has a run of its own.
    judging = JudgeConfig(judges=judges, base_url=outcome.design.base_url, models=dict(outcome.design.own))
    with_addresses(judging, outcome.design.settings(judges[0]))
    return [_annotation_judge(judge, document, outcome) for judge in judges]


def _document(file: Summaries) -> Document:
    """Return the texts of a file as one document, which gives the language of those too short to tell."""
    text = "\n\n".join(file.texts.values())
    return Document(content_id(text), file.name, text, source=file.name)


def _annotation_judge(judge: str, document: Document, outcome: CoherenceOutcome) -> AnnotationJudge:
    design, summaries = outcome.design, outcome.summaries
    prepared = prepare(document, design.settings(judge))
    least = least_window(prepared.book, prepared.tokenizer)
    if (window := design.window(judge)) is None:
        longest = max(prepared.tokenizer.count(summary.text) for summary in summaries)
        needed = least + 2 * longest + design.batch * CONFUSION.tokens(wording(prepared))
        settings = prepared.settings.model_copy(update={"context_tokens": _window(needed)})
        prepared = replace(prepared, settings=settings)
    elif judge != EXTRACTIVE and window < least:
        raise UsageError(
            f"the prompt does not fit into a window of {window:,} tokens",
            fix=(
                "use ",
                *(Set("context_tokens", least), " or more, or leave it out; or use ", Set("prompts", "simple")),
                ", which is shorter",
            ),
        )
    return AnnotationJudge(judge, prepared, design.order(judge))


def _window(needed: int) -> int:
    """Return a window in large steps, because a cached verdict is tied to the window in which it was given."""
    window = _WINDOW
    while window < min(needed, _WIDEST):
        window *= 2
    return window


async def _system(annotator: AnnotationJudge, summaries: Sequence[Summary], batch: RunBatch) -> System:
    """Return one judge's verdicts on the summaries, from a run of its own. Earlier verdicts are reused."""
    runner, store = batch.runner, batch.runner.store
    run = await runner.open_run(annotator.prepared, annotator.order)
    readings: list[SystemJudgment] = []
    # Judge the summaries in order: one that is only partly judged when the budget ends has no score.
    places = asyncio.Semaphore(runner.limits.concurrency)

    async def read(summary: Summary, proofreader: Proofreader) -> SystemJudgment:
        async with places:
            # Sentences are read in the summary's language, which in turn falls back on that of all texts of the file.
            whole = replace(Document.from_text(summary.text), language=language_of(summary.text))
            with language_context(whole):
                judgment = await _read(summary, proofreader, runner)
        batch.report_progress(f"{one_line(summary.id, _SHOWN)} by {annotator.judge}")
        return judgment

    # When the budget ends, keep what has been done.
    with suppress(BudgetError):
        async with open_part(run, annotator.prepared, annotator.order.judging, runner, JUDGING) as pool:
            proofreader = _proofreader(annotator, pool.judges[0].model, runner)
            readings = await gather_all(read(summary, proofreader) for summary in summaries)
            if runner.stopped is not None and not all(system_judgment.made for system_judgment in readings):
                raise runner.stopped
    by_id = {summary.id: system_judgment for summary, system_judgment in zip(summaries, readings, strict=True)}
    counts = (
        sum(len(system_judgment.said) for system_judgment in readings),
        sum(system_judgment.unjudged for system_judgment in readings),
    )
    behind = run_certificate(runner, run, Booookscore.name, Booookscore.version, *counts)
    return System(annotator.judge, by_id, usage=store.calls.totals(run.id), run=run.id, certificate=behind)


def _proofreader(annotator: AnnotationJudge, model: Model, runner: ExperimentRunner) -> Proofreader:
    prepared, order = annotator.prepared, annotator.order
    assert order.judging is not None
    window = prepared.settings.context_tokens
    judge = Judge(
        model,
        prepared.book,
        runner.store.judgments,
        temperature=prepared.settings.temperature,
        reply_tokens=reply_tokens(window),
        wording=wording(prepared),
        document=prepared.document.id,
    )
    return Proofreader(judge, prepared.tokenizer, window, order.judging.batch)


async def _read(summary: Summary, proofreader: Proofreader, runner: ExperimentRunner) -> SystemJudgment:
    whole = len(summary.sentences)
    if not whole:
        return SystemJudgment()
    if not proofreader.judge.can_read(language := language_of(summary.text)):
        return SystemJudgment(unjudged=whole, failure=Failure(JUDGING, "unjudged", _IN_ENGLISH_ALONE.format(language)))
    results = None
    with GuardedStage(JUDGING, runner) as stage:
        results = await proofreader.read(summary.text, summary.sentences)
    if results is None:
        return SystemJudgment(unjudged=whole, failure=stage.failure, made=stage.failure is not None)
    verdicts = {
        summary.sentences[n].id: ConfusionVerdict(
            bool(confusion.confusing), confusion.types, questions=confusion.questions
        )
        for n, confusion in sorted(results.verdicts.items())
    }
    short = whole - len(verdicts)
    trouble = Failure(JUDGING, "unjudged", one_line(results.trouble or _CANNOT_TELL)) if short else None
    return SystemJudgment(tuple(verdicts.values()), short, verdicts, trouble)
