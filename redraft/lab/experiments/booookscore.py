"""The coherence experiment: how confusing summaries are, by annotations or judges (BooookScore, tables 1, 2 and 5)."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from redraft.agents.judge import Judge, gather_all, reply_tokens
from redraft.domain import Document, content_id, record_json
from redraft.errors import BudgetError, Set, UsageError
from redraft.evaluators.base import statements_of
from redraft.evaluators.booookscore import CONFUSION, Booookscore, Proofreader, least_window, sentences_of
from redraft.evaluators.figures import RESAMPLES, SEED
from redraft.lab.agreement.annotations import Annotations, ConfusionVerdict, Summaries, match_marks, match_to_sentences
from redraft.lab.experiments.booookscore_frames import (
    PARTS,
    CoherenceItem,
    Summary,
    agreement_frame,
    by_length_frame,
    by_system,
    coherence_item,
    length_frame,
    reference_frame,
    score_frame,
    type_frame,
)
from redraft.lab.experiments.experiment import MAX_LINES, Cell, Experiment, Outcome
from redraft.lab.experiments.frames import ENDS
from redraft.lab.experiments.orders import CoherenceOrder, JudgesDesign
from redraft.lab.experiments.plan import JUDGING, check_models
from redraft.lab.experiments.runner import Certificate, GuardedStage, RunBatch, open_work, run_certificate
from redraft.order import ExperimentPart, Order
from redraft.prompts.coherence import FIND_CONFUSION
from redraft.report.tables import Table, figure, number, plain
from redraft.runs.experiment_runner import ExperimentRunner, Failure
from redraft.runs.job import wording
from redraft.runs.models import with_addresses
from redraft.runs.prepare import PreparedDocument, prepare
from redraft.settings import EXTRACTIVE, DraftConfig, JudgeConfig
from redraft.text.languages import language_context, language_of
from redraft.text.sanitizer import one_line
from redraft.text.tokens import ESTIMATE, tokenizer_named
from redraft.text.units import repeated, units
from redraft.text.words import count_words

VOCABULARY = "cl100k_base"
"""The vocabulary by which the paper counts tokens."""
_TRIGRAM, _SHOWN = 3, 60
_WINDOW, _WIDEST = 8192, 131_072
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


class CoherenceDesign(CoherenceOrder, JudgesDesign):
    """The judges of summaries, and their settings."""

    def settings(self, judge: str) -> DraftConfig:
        """Return the settings with which one judge reads the summaries."""
        if judge in self.own:
            table = self.own[judge]
            window = {"context_tokens": self.window(judge) or _WINDOW}
            values = {name: value for name, value in table.model_dump().items() if value is not None}
            return DraftConfig.model_validate({**values, **window, "strategy": "given"})
        return self.judge_settings(judge, _WINDOW)

    def window(self, judge: str) -> int | None:
        """Return the configured window of a judge; None if there is none."""
        table = self.own.get(judge)
        return self.context_tokens or (table.context_tokens if table else None)

    def order(self, judge: str) -> Order:
        """Return the spec of a run that annotates."""
        models = {judge: self.own[judge]} if judge in self.own else {}
        judging = with_addresses(JudgeConfig(judges=(judge,), batch=self.batch, models=models), self.settings(judge))
        return ExperimentPart(kind="booookscore", judging=judging, prompts=(FIND_CONFUSION,))


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
    for source in annotated:
        verdicts, aside[source.name] = _annotated(summaries, source)
        items += verdicts
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
    lost = sum(places.lost for places in placed)
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
        **{
            name: sum(getattr(places, name) for places in placed)
            for name in ("lost", "elsewhere", "undecided", "unclear")
        },
    }
    items = [
        coherence_item(
            *(annotations.name, summary, places.said, places.verdicts, places.unjudged),
            marks=places.marks if annotations.marked else None,
        )
        for summary, places in zip(summaries, placed, strict=True)
    ]
    return items, aside


@dataclass(frozen=True, slots=True)
class JudgeCell(Cell):
    """A judge, with the file's texts as the document of its run."""

    judge: str
    prepared: PreparedDocument
    order: Order

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
                document = replace(Document.from_text(summary.text), language=language_of(summary.text))
                with language_context(document):
                    item = await _read(cell.judge, summary, proofreader, runner)
            batch.report_progress(f"{one_line(summary.id, _SHOWN)} by {cell.judge}")
            return item

        # When the budget ends, keep what has been done.
        with suppress(BudgetError):
            async with open_work(cell.prepared, cell.order, cell.order.judging, runner, JUDGING) as (run, pool):
                model = pool.judges[0].model
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
                proofreader = Proofreader(judge, prepared.tokenizer, window, judging.batch)
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
            judged_items = [item for item in items if item.system == cell.judge and item.runs]
            if judged_items:
                run = runner.store.runs.get(judged_items[0].runs[JUDGING])
                counts = sum(item.judged for item in judged_items), sum(item.unjudged for item in judged_items)
                certificates.append(run_certificate(run, Booookscore.name, Booookscore.version, *counts))
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
        origin = "an estimate, slightly too high" if measured.tokenizer == ESTIMATE else "the paper's"
        yield self.table("scores", score_frame(items), outcome, resamples=f"{RESAMPLES:,}")
        yield self.table("types", type_frame(items), outcome)
        lengths = length_frame(measured.summaries)
        yield self.table("lengths", lengths, outcome, tokenizer=f"{measured.tokenizer}: {origin}")
        if measured.references is not None:
            yield self.table("references", reference_frame(measured.summaries, measured.references), outcome)
        if len(by_length := by_length_frame(items)):
            yield self.table("by_length", by_length, outcome, parts=PARTS)
        systems = by_system(items)
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
            "beside": [source.name for source in measured.annotated[1:]],
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
        for source in measured.annotated:
            yield f"annotations: {plain(source.name)}, which lists {_format(source)}"
            yield from (f"{_ASIDE[key]}: {count}" for key, count in measured.aside[source.name].items() if count)
        if measured.design.judges:
            batch = measured.design.batch
            yield f"judged at once: {'one sentence' if batch == 1 else f'{batch} sentences'}"

    def headline(self, _: CoherenceOutcome, tables: Mapping[str, Table]) -> Iterator[str]:
        """Return the scores of the first systems."""
        for record in tables["scores"].records[:MAX_LINES]:
            low, high = (number(record[name]) for name in ENDS)
            between = f" (95% from {100 * low:.1f} to {100 * high:.1f})" if low is not None and high is not None else ""
            unjudged = f"; {record['unjudged']:,} sentences were not judged" if record["unjudged"] else ""
            score = figure(number(record["BooookScore"]))
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
        minimum = least_window(prepared.book, prepared.tokenizer)
        if (window := design.window(judge)) is None:
            longest = max(prepared.tokenizer.count(summary.text) for summary in measured.summaries)
            needed = minimum + 2 * longest + design.batch * CONFUSION.tokens(wording(prepared))
            # A cached verdict is tied to the window in which it was given, and so windows grow in large steps.
            window = _WINDOW
            while window < min(needed, _WIDEST):
                window *= 2
            settings = prepared.settings.model_copy(update={"context_tokens": window})
            prepared = replace(prepared, settings=settings)
        elif judge != EXTRACTIVE and window < minimum:
            raise UsageError(
                f"the prompt does not fit into a window of {window:,} tokens",
                fix=(
                    *("use ", Set("context_tokens", minimum), " or more, or leave it out; or use "),
                    *(Set("prompts", "simple"), ", which is shorter"),
                ),
            )
        cells.append(JudgeCell(document, judge, prepared, design.order(judge)))
    return cells


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


EXPERIMENT = CoherenceExperiment()
