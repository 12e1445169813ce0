"""The coherence experiment: how confusing summaries are, by annotations or judges (BooookScore, tables 1, 2 and 5)."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import pairwise
from statistics import fmean
from typing import Annotated

from pydantic import Field

from redraft.agents.accounts import gather_all
from redraft.agents.judge import Judge, reply_tokens
from redraft.agents.proofreader import CONFUSION, Proofreader, least_window
from redraft.domain import Document, content_id, record_json
from redraft.errors import BudgetError, UsageError
from redraft.evaluators.base import statements_of
from redraft.evaluators.booookscore import UNTYPED, Booookscore, sentences_of
from redraft.evaluators.consensus import RESAMPLES, SEED
from redraft.evaluators.metric_info import MIN_SHARE
from redraft.evaluators.reference.keyfacts import ALL
from redraft.evaluators.similarity import rouge_l
from redraft.lab.agreement.annotations import Annotations, ConfusionVerdict, Summaries, match_marks, match_to_sentences
from redraft.lab.agreement.measures import class_scores, cohens_kappa, correlate, percent_agreement, spread_of_mean
from redraft.lab.experiments.experiment import MAX_LINES, Cell, Experiment, Item, Outcome
from redraft.lab.experiments.frames import ENDS, Frame, frame_of, mean_of, percent
from redraft.lab.experiments.plan import JUDGING, JudgesDesign, check_models
from redraft.lab.experiments.runner import GuardedStage, RunBatch, open_work, run_certificate
from redraft.llm.base import Model
from redraft.prompts.coherence import ERROR_TYPES, FIND_CONFUSION
from redraft.prompts.qa import Statement
from redraft.report.history.certificates import Certificate
from redraft.report.tables import Table, figure, plain
from redraft.runs.experiment_runner import ExperimentRunner, Failure
from redraft.runs.job import wording
from redraft.runs.model_pool import with_addresses
from redraft.runs.prepare import PreparedDocument, RunSpec, prepare
from redraft.settings import EXTRACTIVE, DraftConfig, ExperimentPart, JudgeConfig
from redraft.store.connection import storable
from redraft.text.languages import language_context, language_of
from redraft.text.sanitizer import one_line
from redraft.text.tokens import ESTIMATE, tokenizer_named
from redraft.text.units import repeated, units
from redraft.text.words import count_words

VOCABULARY = "cl100k_base"
"""The vocabulary by which the paper counts tokens."""
_TRIGRAM, _PARTS, _SHOWN = 3, 5, 60
_WINDOW, _WIDEST = 8192, 131_072
_OTHER = "another type"
_IN_ENGLISH_ALONE = (
    "the built-in model judges English only, and this is in another language ({}): name a language model as judge"
    " (--judge openai:MODEL)"
)
_CANNOT_TELL = "the judge cannot tell for some sentences"
_ASIDE = {
    "silent": "summaries for which the annotations list no sentence",
    "textless": "annotated summaries that are not in the file of summaries",
    "elsewhere": "annotated sentences that begin or end differently from ours",
    "lost": "annotated sentences that are not in the summary",
    "undecided": "entries that call a sentence both confusing and not confusing, which count as not judged",
    "unknown": "types that the paper does not define",
    "unclear": "sentences that may be marked: the words occur in others too",
}
"""What did not match between annotations and summaries."""


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
class ConfusingSentence:
    """A confusing sentence, the types of its errors, and the questions that it leaves open."""

    number: int
    sentence: str
    types: tuple[str, ...]
    questions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CoherenceItem(Item):
    """One summary by one system's verdicts, from which sheets for people are made: an annotation file's or a judge's."""

    system: str
    tokens: int = 0
    words: int = 0
    repeated_trigrams: float | None = None
    judged: int = 0
    """The number of judged sentences; where people marked spans, the sentences of a span are one."""
    unjudged: int = 0
    confused: int = 0
    score: float | None = None
    types: Mapping[str, int] = field(default_factory=dict)
    """The numbers of confusing sentences, or of marks, by type of error."""
    spans: int = 0
    """The number of sentences, where people marked spans of any length in them."""
    confusing: tuple[ConfusingSentence, ...] = ()
    verdicts_by_sentence: Annotated[Mapping[int, bool], Field(exclude=True)] = field(default_factory=dict)
    """Whether each sentence is confusing, by its number, where that is known."""
    made: Annotated[bool, Field(exclude=True)] = True

    @property
    def id(self) -> str:
        """The id of the summary."""
        return self.document

    @property
    def is_made(self) -> bool:
        """Whether the system has read the summary."""
        return self.made

    @property
    def label(self) -> str:
        """The system."""
        return self.system

    @property
    def by(self) -> str:
        """The system."""
        return self.system

    @property
    def verdicts(self) -> tuple[int, int]:
        """The numbers of sentences that were judged, and that were not."""
        return self.judged, self.unjudged


def coherence_item(
    system: str,
    summary: Summary,
    said: Sequence[ConfusionVerdict],
    by_sentence: Mapping[int, ConfusionVerdict],
    unjudged: int = 0,
    marks: Sequence[ConfusionVerdict] | None = None,
    failure: Failure | None = None,
) -> CoherenceItem:
    """Return what a system says of a summary: one verdict for each judged sentence, and people's marks, if any.

    The score is that of equation 1. There is none if a judge left most sentences open, or left some open and found only
    faults: the open ones may be clear.
    """
    confused = sum(verdict.confusing for verdict in said)
    few = len(said) < MIN_SHARE * (len(said) + unjudged) or confused == len(said)
    texts = {statement.id: statement.sentence for statement in summary.sentences}
    return CoherenceItem(
        *(storable(summary.id), one_line(summary.id, _SHOWN), system),
        tokens=summary.tokens,
        words=summary.words,
        repeated_trigrams=summary.repeated_trigrams,
        judged=len(said),
        unjudged=unjudged,
        confused=confused,
        score=None if not said or (failure and few) else 1 - confused / len(said),
        types=_types(marks or said),
        spans=len(summary.sentences) if marks is not None else 0,
        confusing=tuple(
            ConfusingSentence(number, texts[number], (*verdict.types, *verdict.unknown), tuple(verdict.questions))
            for number, verdict in by_sentence.items()
            if verdict.confusing
        ),
        verdicts_by_sentence={number: verdict.confusing for number, verdict in by_sentence.items()},
        failure=failure,
    )


def _types(verdicts: Sequence[ConfusionVerdict]) -> dict[str, int]:
    """Return the number of sentences of each type."""
    confusing = [verdict for verdict in verdicts if verdict.confusing]
    counts = Counter(kind for verdict in confusing for kind in verdict.types)
    counts[_OTHER] = sum(bool(verdict.unknown) for verdict in confusing)
    counts[UNTYPED] = sum(not verdict.types and not verdict.unknown for verdict in confusing)
    return {kind: counts[kind] for kind in (*ERROR_TYPES, _OTHER, UNTYPED) if counts[kind]}


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
        return RunSpec(ExperimentPart(kind="booookscore", judging=judging), prompts=(FIND_CONFUSION,))


@dataclass(frozen=True, slots=True)
class MeasuredSummaries:
    """The summaries of a file with their lengths and annotations, and who is to judge them."""

    design: CoherenceDesign
    file: Summaries
    summaries: tuple[Summary, ...]
    tokenizer: str
    """The vocabulary by which tokens are counted."""
    annotated: tuple[Annotations, ...] = ()
    """The annotations; the others are compared with the first."""
    items: tuple[CoherenceItem, ...] = ()
    """What the annotations say of the summaries."""
    aside: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """The counts of what did not match between annotations and summaries, by their name and the reason."""
    references: Mapping[str, Sequence[str]] | None = None

    @property
    def document(self) -> Document:
        """The texts of the file as one document, which gives the language of those too short to tell."""
        text = "\n\n".join(self.file.texts.values())
        return Document(content_id(text), self.file.name, text, source=self.file.name)


def measure_summaries(
    file: Summaries,
    annotations: Annotations | None,
    design: CoherenceDesign,
    *,
    beside: Sequence[Annotations] = (),
    references: Mapping[str, Sequence[str]] | None = None,
) -> MeasuredSummaries:
    """Return the summaries with their lengths and with their annotations, if any. No model is called."""
    tokenizer = tokenizer_named(VOCABULARY)
    annotated = (*((annotations,) if annotations else ()), *beside)
    measured = MeasuredSummaries(design, file, (), tokenizer.name, annotated, references=references)
    summaries, items, aside = [], list[CoherenceItem](), {}
    with language_context(measured.document):
        for key, text in file.texts.items():
            statements, trigrams = statements_of(text), repeated(units(text), _TRIGRAM)
            lengths = tokenizer.count(text), count_words(text), trigrams
            summaries.append(Summary(key, text, statements, sentences_of(statements), *lengths))
    for one in annotated:
        judged, aside[one.name] = _annotated(summaries, one)
        items += judged
    return replace(measured, summaries=tuple(summaries), items=tuple(items), aside=aside)


def _annotated(summaries: Sequence[Summary], annotations: Annotations) -> tuple[list[CoherenceItem], Mapping[str, int]]:
    """Return what the annotations say of the summaries. Raise if they belong to other summaries."""
    entries = annotations.entries
    if not any(summary.id in entries for summary in summaries):
        raise UsageError(
            f'the annotations have none of the ids of the summaries, such as "{one_line(summaries[0].id, _SHOWN)}"',
            place=annotations.name,
            hint="give the annotations of these summaries",
        )
    placed = [
        match_marks(entries.get(summary.id) or (), summary.statements)
        if annotations.marked
        else match_to_sentences(entries.get(summary.id) or (), summary.statements, every=annotations.every)
        for summary in summaries
    ]
    sentences = [entry for summary in summaries for entry in entries.get(summary.id) or ()]
    lost = sum(one.lost for one in placed)
    if 2 * lost > len(sentences):
        raise UsageError(
            f"{lost} of {len(sentences)} annotated sentences are not in the summaries",
            place=annotations.name,
            hint="the annotations are of other summaries: give those of these",
        )
    aside = {
        "silent": sum(not entries.get(summary.id) for summary in summaries if summary.sentences),
        "textless": len(entries.keys() - {summary.id for summary in summaries}),
        "unknown": sum(len(entry.verdict.unknown) for entry in sentences if entry.verdict),
        **{name: sum(getattr(one, name) for one in placed) for name in ("lost", "elsewhere", "undecided", "unclear")},
    }
    items = [
        coherence_item(
            *(annotations.name, summary, one.said, one.verdicts, one.unjudged),
            marks=one.marks if annotations.marked else None,
        )
        for summary, one in zip(summaries, placed, strict=True)
    ]
    return items, aside


@dataclass(frozen=True, slots=True)
class JudgeCell(Cell):
    """A judge, with the file's texts as the document of its run."""

    judge: str
    prepared: PreparedDocument
    order: RunSpec

    @property
    def key(self) -> str:
        """The judge."""
        return self.judge


CoherenceOutcome = Outcome[MeasuredSummaries, JudgeCell, CoherenceItem]


def annotated_outcome(measured: MeasuredSummaries) -> CoherenceOutcome:
    """Return what the annotations say, without judges."""
    return Outcome(measured, (), measured.items)


class CoherenceExperiment(Experiment[MeasuredSummaries, JudgeCell, CoherenceItem]):
    """Annotations and judges say which sentences of summaries confuse."""

    name = "booookscore"
    title = "BooookScore: how confusing summaries are"
    item = "one summary and one system each"

    async def run(
        self, documents: Sequence[Document], design: MeasuredSummaries, runner: ExperimentRunner
    ) -> CoherenceOutcome:
        """Have every sentence judged by every judge, within the limits."""
        outcome = await super().run(documents, design, runner)
        return replace(outcome, items=(*design.items, *outcome.items))

    async def cells(
        self, _: Sequence[Document], design: MeasuredSummaries, runner: ExperimentRunner
    ) -> list[JudgeCell]:
        """Return the judges, each prepared with the same texts."""
        if not any(summary.sentences for summary in design.summaries):
            raise UsageError("no summary has a sentence that could be judged", place=design.file.name)
        cells = await asyncio.to_thread(annotation_judges, design)
        for cell in cells:
            runner.note_token_counts(cell.prepared)
            check_models(runner, (cell.prepared.settings, cell.order.judging))
            await runner.open_own_run(cell.document, cell.prepared.settings, cell.order)
        return cells

    async def run_cell(
        self, cell: JudgeCell, design: MeasuredSummaries, batch: RunBatch
    ) -> tuple[JudgeCell, list[CoherenceItem]]:
        """Return one judge's verdicts on the summaries, from a run of its own. Earlier verdicts are reused."""
        batch.of += len(design.summaries)
        runner, items = batch.runner, [_unread(cell.judge, summary) for summary in design.summaries]
        # Judge the summaries in order: one that is only partly judged when the budget ends has no score.
        places = asyncio.Semaphore(runner.limits.concurrency)

        async def read(summary: Summary, proofreader: Proofreader) -> CoherenceItem:
            async with places:
                # Sentences are read in the summary's language, which falls back on that of all texts of the file.
                whole = replace(Document.from_text(summary.text), language=language_of(summary.text))
                with language_context(whole):
                    item = await _read(cell.judge, summary, proofreader, runner)
            batch.report_progress(f"{one_line(summary.id, _SHOWN)} by {cell.judge}")
            return item

        # When the budget ends, keep what has been done.
        with suppress(BudgetError):
            async with open_work(cell.prepared, cell.order, cell.order.judging, runner, JUDGING) as (run, pool):
                proofreader = _proofreader(cell, pool.judges[0].model, runner)
                items = await gather_all(read(summary, proofreader) for summary in design.summaries)
                items = [replace(item, runs={JUDGING: run.id}) for item in items]
                if runner.stopped is not None and not all(item.made for item in items):
                    raise runner.stopped
        return cell, items

    def certificates(
        self, items: Sequence[CoherenceItem], cells: Sequence[JudgeCell], runner: ExperimentRunner
    ) -> list[Certificate]:
        """Return a certificate for each judge's scores, over all summaries together."""
        certificates = []
        for cell in cells:
            judged = [item for item in items if item.system == cell.judge and item.runs]
            if judged:
                run = runner.store.runs.get(judged[0].runs[JUDGING])
                counts = sum(item.judged for item in judged), sum(item.unjudged for item in judged)
                certificates.append(run_certificate(runner, run, Booookscore.name, Booookscore.version, *counts))
        return certificates

    def is_some(self, outcome: CoherenceOutcome) -> bool:
        """Return True if a judge judged any sentence."""
        return any(item.judged for item in outcome.items if item.runs)

    def judges(self, design: MeasuredSummaries) -> Iterable[str]:
        """Return the judges."""
        return design.design.judges

    def tables(self, outcome: CoherenceOutcome) -> Iterator[Table]:
        """Return the tables, without those that must be empty for this outcome."""
        measured, items = outcome.design, outcome.items
        known = "an estimate, slightly too high" if measured.tokenizer == ESTIMATE else "the paper's"
        yield self.table("scores", score_frame(items), outcome, resamples=f"{RESAMPLES:,}")
        yield self.table("types", type_frame(items), outcome)
        lengths = length_frame(measured.summaries)
        yield self.table("lengths", lengths, outcome, tokenizer=f"{measured.tokenizer}: {known}")
        if measured.references is not None:
            yield self.table("references", reference_frame(measured.summaries, measured.references), outcome)
        if len(by_length := by_length_frame(items)):
            yield self.table("by_length", by_length, outcome, parts=_PARTS)
        systems = _systems(items)
        if measured.annotated and len(systems) > 1:
            yield self.table("agreement", agreement_frame(systems), outcome)

    def settings(self, outcome: CoherenceOutcome) -> Mapping[str, object]:
        """Return the files, the judges, and how spreads were made."""
        measured = outcome.design
        first = measured.annotated[0] if measured.annotated else None
        return {
            "summaries": measured.file.name,
            "annotations": first and first.name,
            "format": first and _format(first),
            "beside": [one.name for one in measured.annotated[1:]],
            "references": measured.references is not None,
            "judges": list(measured.design.judges),
            "certificates": [record_json(certificate) for certificate in outcome.certificates],
            "batch": measured.design.batch if measured.design.judges else None,
            "tokenizer": measured.tokenizer,
            "resamples": RESAMPLES,
            "seed": SEED,
        }

    def notes(self, outcome: CoherenceOutcome) -> Iterator[str]:
        """Return the files, and what did not match between them."""
        measured = outcome.design
        sentences = sum(len(summary.sentences) for summary in measured.summaries)
        count = len(measured.summaries)
        yield f"summaries: {count} of {plain(measured.file.name)}, with {sentences:,} sentences"
        for one in measured.annotated:
            yield f"annotations: {plain(one.name)}, which lists {_format(one)}"
            yield from (f"{_ASIDE[key]}: {count}" for key, count in measured.aside[one.name].items() if count)
        if measured.design.judges:
            batch = measured.design.batch
            yield f"judged at once: {'one sentence' if batch == 1 else f'{batch} sentences'}"

    def headline(self, outcome: CoherenceOutcome, tables: Mapping[str, Table]) -> Iterator[str]:
        """Return the scores of the first systems."""
        for record in tables["scores"].records[:MAX_LINES]:
            low, high = (record[name] for name in ENDS)
            between = (
                f" (95% from {100 * float(low):.1f} to {100 * float(high):.1f})"
                if low is not None and high is not None
                else ""
            )
            unjudged = f"; {record['unjudged']:,} sentences were not judged" if record["unjudged"] else ""
            score = figure(record["BooookScore"])  # type: ignore[arg-type]
            yield (
                f"{plain(str(record['system']))}: BooookScore {score}{between}, over {record['summaries']} of"
                f" {record['of']} summaries{unjudged}"
            )


def _format(annotations: Annotations) -> str:
    if annotations.marked:
        return "what people marked"
    return "every sentence" if annotations.every else "the confusing sentences"


def annotation_judges(measured: MeasuredSummaries) -> list[JudgeCell]:
    """Return the judges, each prepared with the same texts."""
    design, document, cells = measured.design, measured.document, []
    if not design.judges:
        return []
    # Refuse judges named twice before any of them has a run of its own.
    judging = JudgeConfig(judges=design.judges, base_url=design.base_url, models=dict(design.own))
    with_addresses(judging, design.settings(design.judges[0]))
    for judge in design.judges:
        prepared = prepare(document, design.settings(judge))
        least = least_window(prepared.book, prepared.tokenizer)
        if (window := design.window(judge)) is None:
            longest = max(prepared.tokenizer.count(summary.text) for summary in measured.summaries)
            needed = least + 2 * longest + design.batch * CONFUSION.tokens(wording(prepared))
            settings = prepared.settings.model_copy(update={"context_tokens": _window(needed)})
            prepared = replace(prepared, settings=settings)
        elif judge != EXTRACTIVE and window < least:
            raise UsageError(
                f"the prompt does not fit into a window of {window:,} tokens",
                hint=f"use --context-tokens {least} or more, or leave it out; or use --prompts simple, which is shorter",
            )
        cells.append(JudgeCell(document, judge, prepared, design.order(judge)))
    return cells


def _window(needed: int) -> int:
    """Return a window in large steps, because a cached verdict is tied to the window in which it was given."""
    window = _WINDOW
    while window < min(needed, _WIDEST):
        window *= 2
    return window


def _proofreader(cell: JudgeCell, model: Model, runner: ExperimentRunner) -> Proofreader:
    prepared, judging = cell.prepared, cell.order.judging
    assert judging is not None
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
    return Proofreader(judge, prepared.tokenizer, window, judging.batch)


def _unread(judge: str, summary: Summary, failure: Failure | None = None) -> CoherenceItem:
    item = coherence_item(judge, summary, (), {}, len(summary.sentences), failure=failure)
    return replace(item, made=failure is not None or not summary.sentences)


async def _read(judge: str, summary: Summary, proofreader: Proofreader, runner: ExperimentRunner) -> CoherenceItem:
    if not summary.sentences:
        return _unread(judge, summary)
    if not proofreader.judge.can_read(language := language_of(summary.text)):
        return _unread(judge, summary, Failure(JUDGING, "unjudged", _IN_ENGLISH_ALONE.format(language)))
    results = None
    with GuardedStage(JUDGING, runner) as stage:
        results = await proofreader.read(summary.text, summary.sentences)
    if results is None:
        return _unread(judge, summary, stage.failure)
    verdicts = {
        summary.sentences[n].id: ConfusionVerdict(
            bool(confusion.confusing), confusion.types, questions=confusion.questions
        )
        for n, confusion in sorted(results.verdicts.items())
    }
    missing = len(summary.sentences) - len(verdicts)
    trouble = Failure(JUDGING, "unjudged", one_line(results.trouble or _CANNOT_TELL)) if missing else None
    return coherence_item(judge, summary, tuple(verdicts.values()), verdicts, missing, failure=trouble)


def _systems(items: Sequence[CoherenceItem]) -> dict[str, list[CoherenceItem]]:
    systems: dict[str, list[CoherenceItem]] = {}
    for item in items:
        systems.setdefault(item.system, []).append(item)
    return systems


def _spread(scores: Sequence[float]) -> dict[str, float | None]:
    spread = spread_of_mean(scores)
    return dict(zip(("sd", *ENDS), (spread.sd, spread.low, spread.high) if spread else (None,) * 3, strict=True))


def score_frame(items: Sequence[CoherenceItem]) -> Frame:
    """Return the score of every system, and its spread (table 2)."""
    rows = []
    for system, own in _systems(items).items():
        scores = [item.score for item in own if item.score is not None]
        judged, unjudged = sum(item.judged for item in own), sum(item.unjudged for item in own)
        rows.append(
            {
                "system": system,
                "BooookScore": percent(mean_of(scores)),
                "score": mean_of(scores),
                **_spread(scores),
                "summaries": len(scores),
                "of": len(own),
                "sentences": judged + unjudged,
                "judged": judged,
                "unjudged": unjudged,
                "confused": sum(item.confused for item in own) if judged else None,
            }
        )
    return frame_of(rows)


def type_frame(items: Sequence[CoherenceItem]) -> Frame:
    """Return how often each type of confusion occurs (table 1 and figure 4)."""
    rows = []
    for system, own in _systems(items).items():
        counts = sum((Counter(item.types) for item in own), Counter[str]())
        whole = sum(item.spans or item.judged for item in own)
        kinds = [kind for kind in (*ERROR_TYPES, _OTHER, UNTYPED) if counts[kind] or kind in ERROR_TYPES]
        for kind in kinds if any(item.judged for item in own) else ():
            share = 100 * counts[kind] / whole
            rows.append({"system": system, "type": kind, "sentences": counts[kind], "% of sentences": share})
    return frame_of(rows, ("system", "type", "sentences", "% of sentences"))


def length_frame(summaries: Sequence[Summary]) -> Frame:
    """Return the mean lengths and repetition of the summaries that contain a sentence (table 2)."""
    worded = [summary for summary in summaries if summary.sentences]
    row = {
        "summaries": len(worded),
        "tokens": mean_of(summary.tokens for summary in worded),
        "words": mean_of(summary.words for summary in worded),
        "sentences": mean_of(len(summary.sentences) for summary in worded),
        "% repeated trigrams": percent(mean_of(summary.repeated_trigrams for summary in worded)),
    }
    return frame_of([row])


def by_length_frame(items: Sequence[CoherenceItem]) -> Frame:
    """Return the scores of each system by the length of summaries, and their correlation (figure 3)."""
    rows: list[dict[str, object]] = []
    for system, own in _systems(items).items():
        pairs = sorted((item.tokens, item.score) for item in own if item.score is not None)
        if len(pairs) < 2 * _PARTS:
            continue
        ends = [len(pairs) * part // _PARTS for part in range(_PARTS + 1)]
        parts: dict[object, list[tuple[int, float]]] = {n: pairs[a:b] for n, (a, b) in enumerate(pairwise(ends), 1)}
        both = correlate(
            [float(tokens) for tokens, _ in pairs], [score for _, score in pairs], list(map(str, range(len(pairs))))
        )
        for part, chosen in {**parts, ALL: pairs}.items():
            scores, whole = [score for _, score in chosen], part == ALL
            means = {"tokens": fmean(tokens for tokens, _ in chosen), "score": fmean(scores)}
            spread = {name: _spread(scores)[name] for name in ENDS}
            coefficients = {"Pearson": both.pearson if whole else None, "tau": both.tau if whole else None}
            rows.append({"system": system, "part": part, "summaries": len(chosen), **means, **spread, **coefficients})
    return frame_of(rows)


def reference_frame(summaries: Sequence[Summary], references: Mapping[str, Sequence[str]]) -> Frame:
    """Return the mean ROUGE-L of summaries against all and against the best of their references (table 5)."""
    scores = [
        [rouge_l(summary.text, reference) for reference in references[summary.id]]
        for summary in summaries
        if summary.sentences and references.get(summary.id)
    ]
    means, best = percent(mean_of(map(fmean, scores))), percent(mean_of(map(max, scores)))
    counts = {"summaries": len(scores), "references": sum(map(len, scores))}
    return frame_of([{**counts, "ROUGE-L": means, "of the best reference": best}])


def agreement_frame(systems: Mapping[str, Sequence[CoherenceItem]]) -> Frame:
    """Return how far every other system agrees with the first annotations, on the sentences that both judged."""
    (_, first), *others = systems.items()
    people = {
        (item.document, number): verdict for item in first for number, verdict in item.verdicts_by_sentence.items()
    }
    rows = []
    for judge, items in others:
        verdicts = {(item.document, n): verdict for item in items for n, verdict in item.verdicts_by_sentence.items()}
        pairs = [(people[key], verdict) for key, verdict in verdicts.items() if key in people]
        row: dict[str, object] = {"judge": judge, "sentences": len(pairs)}
        theirs, own = [verdict for verdict, _ in pairs], [verdict for _, verdict in pairs]
        scores = class_scores(own, theirs) if pairs else None
        rows.append(
            {
                **row,
                "equal": percent_agreement(pairs) if pairs else None,
                "kappa": cohens_kappa(theirs, own) if pairs else None,
                "precision": scores and scores.precision,
                "recall": scores and scores.recall,
                "confused": sum(own),
                "by the annotations": scores.there if scores else 0,
            }
        )
    return frame_of(rows)


EXPERIMENT = CoherenceExperiment()
