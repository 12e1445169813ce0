"""The coherence experiment: how confusing summaries are, by annotations or judges (BooookScore, tables 1, 2 and 5)."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from statistics import fmean
from typing import Annotated, Any

from pydantic import Field

from redraft.agents.judge import gather_all, wording_of
from redraft.domain import Document, content_id
from redraft.errors import UsageError
from redraft.evaluators.base import statements_of
from redraft.evaluators.coherence import CLEAR, CONFUSING, CONFUSION, UNTYPED, Booookscore, least_window, sentences_of
from redraft.evaluators.consistency import english_tokenizer, stems
from redraft.evaluators.metric_info import MIN_SHARE
from redraft.evaluators.reference.keyfacts import ALL
from redraft.evaluators.statistics import RESAMPLES, SEED
from redraft.fields import field_like
from redraft.graphs.prepared import tokenizer_of
from redraft.lab.agreement.annotations import Annotations, ConfusionVerdict, Summaries, read_references
from redraft.lab.agreement.measures import cohens_kappa, correlate, percent_agreement, precision_and_recall
from redraft.lab.declared import declared
from redraft.lab.experiments.experiment import MAX_LINES, Experiment, JudgedPart, NamedFrame, Outcome
from redraft.lab.experiments.frames import ENDS, Frame, by_group, figures, frame_of, mean_of, percent
from redraft.lab.experiments.orders import Asked, NamedModel, Seats
from redraft.lab.experiments.runner import JUDGING, Cell, Item, RunBatch, RunOutcome, by_system, check_work
from redraft.order import Evaluate, Order
from redraft.prompts.book import PromptBook
from redraft.prompts.coherence import ERROR_TYPES
from redraft.prompts.qa import Statement
from redraft.report.tables import Table, figure, number, plain
from redraft.runs.experiment_runner import ExperimentRunner, Failure
from redraft.runs.prepare import check_judging, prepare
from redraft.settings import DraftConfig, JudgeConfig
from redraft.store.connection import storable
from redraft.text import units as text_units
from redraft.text.languages import is_foreign, language_context, language_of
from redraft.text.sanitizer import one_line
from redraft.text.tokens import ESTIMATE, tokenizer_named
from redraft.text.units import repeated, units
from redraft.text.words import count_words

PARTS = 5
"""The parts of equal size, by length, that summaries are put into."""
_SHOWN, _OTHER = 60, "another type"
VOCABULARY = "cl100k_base"
"""The vocabulary by which the paper counts tokens."""
_TRIGRAM, _WINDOW, _WIDEST = 3, 8192, 131_072


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
class CoherenceItem(Item, label="{0.system}", by="{0.system}", made="made"):
    """One summary by one system's verdicts, an annotation file's or a judge's. Sheets for people are made from it."""

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
    marks: int = 0
    """The number of people's marks, of which one may have several types."""
    confusing: tuple[Mapping[str, object], ...] = ()
    """Each confusing sentence, with the types of its errors and the questions that it leaves open."""
    verdicts_by_sentence: Annotated[Mapping[int, bool], Field(exclude=True)] = field(default_factory=dict)
    """Whether each sentence is confusing, by its number, where that is known."""
    made: Annotated[bool, Field(exclude=True)] = True

    @property
    def is_result(self) -> bool:
        """True if a judge judged any sentence."""
        return bool(self.runs and self.judged)

    @property
    def verdicts(self) -> tuple[int, int]:
        """The numbers of sentences that were judged, and that were not."""
        return self.judged, self.unjudged


def coherence_item(
    system: str,
    summary: Summary,
    verdicts: Sequence[ConfusionVerdict],
    by_sentence: Mapping[int, ConfusionVerdict],
    unjudged: int = 0,
    marks: Sequence[ConfusionVerdict] | None = None,
    failure: Failure | None = None,
) -> CoherenceItem:
    """Return what a system says of a summary: one verdict for each judged sentence, and people's marks, if any.

    The score is that of equation 1. There is none if a judge left most sentences open, or left some open and found only
    faults: the open ones may be clear.
    """
    confused = sum(verdict.confusing for verdict in verdicts)
    few = len(verdicts) < MIN_SHARE * (len(verdicts) + unjudged) or confused == len(verdicts)
    texts = {statement.id: statement.sentence for statement in summary.sentences}
    faulty = [verdict for verdict in marks or verdicts if verdict.confusing]
    types = Counter[str](kind for verdict in faulty for kind in verdict.types)
    types[_OTHER] = sum(bool(verdict.unknown) for verdict in faulty)
    types[UNTYPED] = sum(not verdict.types and not verdict.unknown for verdict in faulty)
    confusing = [
        {"number": number, "sentence": texts[number]}
        | {"types": (*verdict.types, *verdict.unknown), "questions": tuple(verdict.questions)}
        for number, verdict in by_sentence.items()
        if verdict.confusing
    ]
    lengths = {name: getattr(summary, name) for name in ("tokens", "words", "repeated_trigrams")}
    counts = {"judged": len(verdicts), "unjudged": unjudged, "confused": confused, "marks": len(marks or ())}
    return CoherenceItem(
        *(storable(summary.id), one_line(summary.id, _SHOWN), system),
        **{**lengths, **counts},
        score=None if not verdicts or (failure and few) else 1 - confused / len(verdicts),
        types={kind: types[kind] for kind in (*ERROR_TYPES, _OTHER, UNTYPED) if types[kind]},
        spans=len(summary.sentences) if marks is not None else 0,
        confusing=tuple(confusing),
        verdicts_by_sentence={number: verdict.confusing for number, verdict in by_sentence.items()},
        failure=failure,
    )


def score_frame(items: Sequence[CoherenceItem]) -> Frame:
    """Return the score of every system, and its spread (table 2)."""
    rows = []
    for item in items:
        row: dict[str, object] = {"system": item.system, "score": item.score, "sentences": item.judged + item.unjudged}
        row |= {"judged": item.judged, "unjudged": item.unjudged, "confused": item.confused if item.judged else None}
        rows.append(row)
    return by_group(frame_of(rows), ("system",), lambda group: [figures("booookscore", "scores", group)])


def type_frame(items: Sequence[CoherenceItem]) -> Frame:
    """Return how often each type of confusion occurs (table 1 and figure 4)."""
    rows = []
    for system, group in by_system(items).items():
        counts = sum((Counter(item.types) for item in group), Counter[str]())
        total = sum(item.spans or item.judged for item in group)
        kinds = [kind for kind in (*ERROR_TYPES, _OTHER, UNTYPED) if counts[kind] or kind in ERROR_TYPES]
        for kind in kinds if any(item.judged for item in group) else ():
            share = 100 * counts[kind] / total
            rows.append({"system": system, "type": kind, "sentences": counts[kind], "% of sentences": share})
    return frame_of(rows, ("system", "type", "sentences", "% of sentences"))


def length_frame(summaries: Sequence[Summary]) -> Frame:
    """Return the mean lengths and repetition of the summaries that contain a sentence (table 2)."""
    columns = ("tokens", "words", "sentences", "repeated_trigrams")
    worded = [[getattr(summary, name) for name in columns] for summary in summaries if summary.sentences]
    frame = Frame(worded, columns=list(columns), dtype=object)
    return frame_of([figures("booookscore", "lengths", frame.assign(sentences=frame["sentences"].map(len)))])


def by_length_frame(items: Sequence[CoherenceItem]) -> Frame:
    """Return the scores of each system by the length of summaries, and their correlation (figure 3)."""
    rows: list[dict[str, object]] = []
    for system, group in by_system(items).items():
        pairs = sorted((item.tokens, item.score) for item in group if item.score is not None)
        if len(pairs) < 2 * PARTS:
            continue
        bounds = [len(pairs) * part // PARTS for part in range(PARTS + 1)]
        parts: dict[object, list[tuple[int, float]]] = {n: pairs[a:b] for n, (a, b) in enumerate(pairwise(bounds), 1)}
        tokens, scores = ([float(pair[side]) for pair in pairs] for side in (0, 1))
        both = correlate(tokens, scores)
        for part, chosen in {**parts, ALL: pairs}.items():
            frame, is_total = Frame(chosen, columns=["tokens", "score"]), part == ALL
            spread = figures("booookscore", "by_length", frame)
            coefficients = {"Pearson": both["Pearson"], "tau": both["tau-b"]}
            of_all = coefficients if is_total else dict.fromkeys(coefficients)
            rows.append({"system": system, "part": part, **spread, **of_all})
    return frame_of(rows)


def rouge_l(text: str, second_text: str) -> float:
    """Return ROUGE-L F1 of two texts; for English exactly that of rouge-score with its stemmer."""
    stems_of: list[list[str]] = []
    for part in (text, second_text):
        language = language_of(part)
        is_english = not is_foreign(language)
        stems_of.append(english_tokenizer().tokenize(part) if is_english else stems(text_units.words(part), language))
    first, second = stems_of
    if not first or not second:
        return 0.0
    shared = text_units.common_length(text_units.word_places(first), len(first), second)
    return 2 * shared / (len(first) + len(second))


def reference_frame(summaries: Sequence[Summary], references: Mapping[str, Sequence[str]]) -> Frame:
    """Return the mean ROUGE-L of summaries against all and against the best of their references (table 5)."""
    worded = [summary for summary in summaries if summary.sentences and references.get(summary.id)]
    scores = [[rouge_l(summary.text, reference) for reference in references[summary.id]] for summary in worded]
    means, best = percent(mean_of(map(fmean, scores))), percent(mean_of(map(max, scores)))
    counts = {"summaries": len(scores), "references": sum(map(len, scores))}
    return frame_of([{**counts, "ROUGE-L": means, "of the best reference": best}])


def agreement_frame(systems: Mapping[str, Sequence[CoherenceItem]]) -> Frame:
    """Return how far every other system agrees with the first annotations, on the sentences that both judged."""
    verdicts_by_system = [
        {(item.document, n): verdict for item in items for n, verdict in item.verdicts_by_sentence.items()}
        for items in systems.values()
    ]
    labels, rows = verdicts_by_system[0], []
    for judge, verdicts in list(zip(systems, verdicts_by_system, strict=True))[1:]:
        pairs = [(labels[key], verdict) for key, verdict in verdicts.items() if key in labels]
        theirs, of_judge = [verdict for verdict, _ in pairs], [verdict for _, verdict in pairs]
        precision, recall = precision_and_recall(of_judge, theirs)
        row = {"judge": judge, "sentences": len(pairs), "equal": percent_agreement(pairs)}
        row |= {"kappa": cohens_kappa(theirs, of_judge), "precision": precision, "recall": recall}
        rows.append({**row, "confused": sum(of_judge), "by the annotations": sum(theirs)})
    return frame_of(rows)


class CoherenceDesign(Seats, Experiment[Cell, CoherenceItem]):
    """The summaries of a file with their lengths and annotations, and who is to judge which sentences confuse."""

    name = "booookscore"
    title = "BooookScore: how confusing summaries are"
    item = "one summary and one system each"
    batch: int = field_like(JudgeConfig, "batch")
    file: Summaries
    summaries: tuple[Summary, ...]
    tokenizer: str
    """The vocabulary by which tokens are counted."""
    document: Document
    """The texts of the file as one document, which gives the language of those too short to tell."""
    annotated: tuple[Annotations, ...] = ()
    """The annotations; the others are compared with the first."""
    items: tuple[CoherenceItem, ...] = ()
    """What the annotations say of the summaries."""
    aside: Mapping[str, Mapping[str, int]] = Field(default={})
    """The counts of what did not match between annotations and summaries, by their name and the reason."""
    references: Mapping[str, Sequence[str]] | None = None

    @classmethod
    def asked(cls, request: Asked) -> CoherenceDesign:
        """Return the summaries of a file with their annotations, if any. No model is called."""
        values = request.values
        if not (summaries := values.get("summaries")):
            raise UsageError("no summaries were given", hint="name a JSON file with their texts by id")
        file = Summaries.read(summaries) if isinstance(summaries, str) else summaries
        sources = [Annotations.read(of) if isinstance(of, str) else of for of in values.get("annotations") or ()]
        references = read_references(place) if (place := values.get("references")) else None
        fields: dict[str, Any] = {"writers": request.writers, "judges": request.judges}
        fields |= {"batch": values["batch"]} if values.get("batch") else {}
        return cls.measured(file, sources, references, **fields)

    @classmethod
    def measured(
        cls,
        file: Summaries,
        annotations: Sequence[Annotations] = (),
        references: Mapping[str, Sequence[str]] | None = None,
        **fields: Any,
    ) -> CoherenceDesign:
        """Return the summaries with their lengths and with their annotations, if any."""
        judges = [judge.name for judge in fields.get("judges", ())]
        if twice := next((name for name in judges if judges.count(name) > 1), None):
            raise UsageError(f"the judge {twice} is named twice")
        tokenizer = tokenizer_named(VOCABULARY)
        text = "\n\n".join(file.texts.values())
        document = Document(content_id(text), file.name, text, source=file.name)
        summaries, items, aside = [], list[CoherenceItem](), {}
        with language_context(document):
            for key, text in file.texts.items():
                statements, trigrams = statements_of(text), repeated(units(text), _TRIGRAM)
                lengths = tokenizer.count(text), count_words(text), trigrams
                summaries.append(Summary(key, text, statements, sentences_of(statements), *lengths))
        for source in annotations:
            verdicts, aside[source.name] = match_annotations(summaries, source)
            items += verdicts
        read = {"file": file, "summaries": tuple(summaries), "tokenizer": tokenizer.name, "document": document}
        matched = {"annotated": tuple(annotations), "items": tuple(items), "aside": aside, "references": references}
        return cls(**read, **matched, **fields)

    async def run(self, documents: Sequence[Document], runner: ExperimentRunner) -> Outcome[Cell, CoherenceItem]:
        """Have every sentence judged by every judge, within the limits."""
        outcome = await super().run(documents, runner)
        return replace(outcome, items=(*self.items, *outcome.items))

    async def cells(self, _: Sequence[Document], runner: ExperimentRunner) -> list[Cell]:
        """Return a cell for each judge, with its name as the key."""
        judged = [summary for summary in self.summaries if summary.sentences]
        if self.judges and not judged:
            raise UsageError("no summary has a sentence that could be judged", place=self.file.name)

        def check() -> None:
            for judge in self.judges:
                settings, order = self.reading_settings(judge), self.judge_spec(judge, judged[0])
                check_work(runner, (settings, order.judging))
                check_judging(order, prepare(self.summary_document(judged[0]), settings), runner.store)

        await asyncio.to_thread(check)
        return [Cell(self.document, key=judge.name) for judge in self.judges]

    async def run_cell(self, cell: Cell, batch: RunBatch) -> tuple[Cell, list[CoherenceItem]]:
        """Return one judge's verdicts on the summaries, in a run for each that has sentences."""
        (judge,) = (judge for judge in self.judges if judge.name == cell.key)
        settings = await asyncio.to_thread(self.reading_settings, judge)
        batch.of += len(self.summaries)

        async def judged(summary: Summary) -> CoherenceItem:
            if not summary.sentences:
                batch.report_progress(f"{one_line(summary.id, _SHOWN)} by {judge.name}")
                return coherence_item(judge.name, summary, (), {})
            document, order = self.summary_document(summary), self.judge_spec(judge, summary)
            outcome = await batch.run(JUDGING, JUDGING, document, settings, order, f"by {judge.name}")
            return judged_item(judge.name, summary, outcome)

        return cell, await gather_all(map(judged, self.summaries))

    def summary_document(self, summary: Summary) -> Document:
        """Return a summary as the document that it is judged on, in its own language or that of the file."""
        with language_context(self.document):
            language = language_of(summary.text)
        return Document(content_id(summary.text), one_line(summary.id, _SHOWN), summary.text, language=language)

    def judge_spec(self, judge: NamedModel, summary: Summary) -> Order:
        """Return the spec of a run in which a judge judges a summary."""
        judging = self.judging_by(JudgeConfig(metrics=(Booookscore.name,), batch=self.batch), judge)
        return Evaluate(judging=judging, given=summary.text, experiment=self.name)

    def reading_settings(self, judge: NamedModel) -> DraftConfig:
        """Return a judge's settings, by default with a window for the longest summary."""
        settings = self.keyed(judge.settings, strategy="given")
        if "context_tokens" in settings.model_fields_set:
            return settings
        tokenizer, _ = tokenizer_of(settings)
        longest = max(tokenizer.count(summary.text) for summary in self.summaries)
        reply = self.batch * CONFUSION.tokens(wording_of(self.document.text, tokenizer))
        needed = least_window(PromptBook(settings.prompts), tokenizer) + 2 * longest + reply
        # A cached verdict is tied to the window in which it was given, and so windows grow in large steps.
        window = _WINDOW
        while window < min(needed, _WIDEST):
            window *= 2
        return settings.model_copy(update={"context_tokens": window})

    def judged_parts(self, items: Sequence[CoherenceItem], cells: Sequence[Cell]) -> Iterator[JudgedPart]:
        """Return each judge's verdicts, over all summaries together."""
        for cell in cells:
            if judged_items := [item for item in items if item.system == cell.key and item.runs]:
                counts = sum(item.judged for item in judged_items), sum(item.unjudged for item in judged_items)
                yield judged_items[0].runs[JUDGING], Booookscore.name, Booookscore.version, *counts

    def captions(self, _cells: Sequence[Cell]) -> Mapping[str, object]:
        """Return how spreads were made, and how tokens were counted."""
        origin = "an estimate, slightly too high" if self.tokenizer == ESTIMATE else "the paper's"
        return {"resamples": f"{RESAMPLES:,}", "parts": PARTS, "tokenizer": f"{self.tokenizer}: {origin}"}

    def frames(self, items: Sequence[CoherenceItem], _cells: Sequence[Cell]) -> Iterator[NamedFrame]:
        """Yield the tables, without those that must be empty for these items."""
        systems = by_system(items)
        yield "scores", score_frame(items)
        yield "types", type_frame(items)
        yield "lengths", length_frame(self.summaries)
        if self.references is not None:
            yield "references", reference_frame(self.summaries, self.references)
        if len(by_length := by_length_frame(items)):
            yield "by_length", by_length
        if self.annotated and len(systems) > 1:
            yield "agreement", agreement_frame(systems)

    def settings_of(self, outcome: Outcome[Cell, CoherenceItem]) -> Mapping[str, object]:
        """Return the files, the judges, and how spreads were made."""
        first = self.annotated[0] if self.annotated else None
        return {
            "summaries": self.file.name,
            "annotations": first and first.name,
            "beside": [source.name for source in self.annotated[1:]],
            "references": self.references is not None,
            "judges": [judge.name for judge in self.judges],
            "certificates": list(outcome.certificates),
            "batch": self.batch if self.judges else None,
            "tokenizer": self.tokenizer,
            "resamples": RESAMPLES,
            "seed": SEED,
        }

    def notes(self, _items: Sequence[CoherenceItem], _cells: Sequence[Cell]) -> Iterator[str]:
        """Return the files, and what did not match between them."""
        sentences = sum(len(summary.sentences) for summary in self.summaries)
        count = len(self.summaries)
        yield f"summaries: {count} of {plain(self.file.name)}, with {sentences:,} sentences"
        for source in self.annotated:
            lists = "what people marked" if source.marked else "the confusing sentences"
            lists = "every sentence" if source.every and not source.marked else lists
            yield f"annotations: {plain(source.name)}, which lists {lists}"
            aside = declared("tables")["booookscore"]["aside"]
            yield from (f"{aside[key]}: {count}" for key, count in self.aside[source.name].items() if count)

    def headline(self, _items: Sequence[CoherenceItem], tables: Mapping[str, Table]) -> Iterator[str]:
        """Return the scores of the first systems."""
        for record in tables["scores"].records[:MAX_LINES]:
            low, high = (number(record[name]) for name in ENDS)
            between = f" (95% from {100 * low:.1f} to {100 * high:.1f})" if low is not None and high is not None else ""
            unjudged = f"; {record['unjudged']:,} sentences were not judged" if record["unjudged"] else ""
            score = f"{plain(str(record['system']))}: BooookScore {figure(number(record['BooookScore']))}{between}"
            yield f"{score}, over {record['summaries']} of {record['of']} summaries{unjudged}"


def match_annotations(
    summaries: Sequence[Summary], annotations: Annotations
) -> tuple[list[CoherenceItem], Mapping[str, int]]:
    """Return what the annotations say of the summaries. Raise if they belong to other summaries."""
    entries = annotations.entries
    if not any(summary.id in entries for summary in summaries):
        problem = f'none of the ids of the summaries, such as "{one_line(summaries[0].id, _SHOWN)}"'
        hint = "give the annotations of these summaries"
        raise UsageError(f"the annotations have {problem}", place=annotations.name, hint=hint)
    placed = [annotations.place(summary.id, summary.statements) for summary in summaries]
    sentences = [entry for summary in summaries for entry in entries.get(summary.id) or ()]
    lost = sum(places.lost for places in placed)
    if 2 * lost > len(sentences):
        problem = f"{lost} of {len(sentences)} annotated sentences are not in the summaries"
        hint = "the annotations are of other summaries: give those of these"
        raise UsageError(problem, place=annotations.name, hint=hint)
    aside = {
        "silent": sum(not entries.get(summary.id) for summary in summaries if summary.sentences),
        "textless": len(entries.keys() - {summary.id for summary in summaries}),
        "unknown": sum(len(entry.verdict.unknown) for entry in sentences if entry.verdict),
        "lost": lost,
        "undecided": sum(places.undecided for places in placed),
    }
    items = []
    for summary, places in zip(summaries, placed, strict=True):
        verdicts = [entry.verdict for entry in entries.get(summary.id) or () if entry.verdict]
        judged = (annotations.name, summary, places.units, places.verdicts, places.unjudged)
        items.append(coherence_item(*judged, marks=verdicts if annotations.marked else None))
    return items, aside


def judged_item(judge: str, summary: Summary, outcome: RunOutcome) -> CoherenceItem:
    """Return what a judge says of a summary, from its run."""
    evaluation = outcome.result.evaluations[Booookscore.name] if outcome.result else None
    details: Mapping[str, Any] = evaluation.details if evaluation else {}
    verdicts, failure = dict[int, ConfusionVerdict](), outcome.failure
    for entry in details.get("sentences", ()):
        if entry["verdict"] in (CLEAR, CONFUSING):
            is_confusing = entry["verdict"] == CONFUSING
            verdicts[entry["id"]] = ConfusionVerdict(is_confusing, entry["types"], questions=entry["questions"])
    missing = len(summary.sentences) - len(verdicts)
    if missing and evaluation is not None:
        cannot_tell = details.get("trouble", "the judge cannot tell for some sentences")
        reason = cannot_tell if "sentences" in details else evaluation.reason
        failure = Failure(JUDGING, "unjudged", one_line(reason))
    item = coherence_item(judge, summary, tuple(verdicts.values()), verdicts, missing, failure=failure)
    return replace(outcome.recorded(item, JUDGING), made=evaluation is not None or failure is not None)


EXPERIMENT = CoherenceDesign
