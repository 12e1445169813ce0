"""Annotation sheets for people as CSV: their questions, sample sizes, and how they are read."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil, sqrt
from pathlib import Path
from random import Random
from statistics import NormalDist
from types import MappingProxyType
from typing import Any, Generic, Literal, NamedTuple, TypeVar, get_args

from redraft.agents.fact_checker import SUPPORTED
from redraft.document import merge_spans
from redraft.domain import Document, Evaluation, Finding, KeyFacts, Perspective, Span, Tree, content_id
from redraft.errors import RunError, UsageError
from redraft.evaluators.base import statements_of
from redraft.evaluators.consistency import CONSISTENT, Consistency
from redraft.evaluators.coverage import Coverage
from redraft.evaluators.faithfulness import Faithfulness
from redraft.evaluators.figures import Interval, interval_of_share
from redraft.evaluators.keyfact_recall import STATED, KeyfactRecall
from redraft.evaluators.reference.keyfacts import ORPHANED, UNJUDGED, trees_for
from redraft.evaluators.votes import OPEN
from redraft.lab.agreement.people import FileProblem, read_text
from redraft.report.history.certificates import judges_of
from redraft.report.history.results import Result, document_read, read_result
from redraft.report.tables import in_csv
from redraft.store.runs import Run
from redraft.store.store import Store
from redraft.text.retrieval import Passages
from redraft.text.sanitizer import one_line
from redraft.text.tokens import tokenizer_named

ID, ASKED_COLUMN, PERSON = "id", "asked", "person"
CHOICES: Mapping[str, tuple[str, ...]] = {
    "annotations": ("agree", "partly", "disagree"),
    "preferences": ("1", "2", "tie"),
}
"""The answers to each kind of question."""
MARK_COLUMNS = ("span", "question", "types", "second span")
"""The columns of a sheet of marks that people fill in."""
AS_ABOVE = "(as above)"
"""In place of a text that is in a row above."""
_ABOVE = frozenset({"passage", "passages", "facts", "summary", "summary 1", "summary 2"})
"""The columns whose long texts are in the first of their rows only."""
_A_SHEET = "give a CSV file written by `redraft agree sheet`"


def without_repeats(rows: Iterable[Mapping[str, str]]) -> Iterator[list[str]]:
    """Yield the cells of what people see, without texts that are also in the row above."""
    above: Mapping[str, str] = {}
    for row in rows:
        again = {name for name in _ABOVE.intersection(row) if row[name] == above.get(name)}
        yield [AS_ABOVE if name in again else str(in_csv(text, lines=True)) for name, text in row.items()]
        above = row


def cell_text(cell: str) -> str:
    """Return what a person wrote, without the mark that keeps a spreadsheet from reading it as a formula."""
    text = cell.strip()
    return text[1:] if text[:1] == "'" and text[1:2] in ("=", "+", "-", "@") else text


@dataclass(frozen=True, slots=True)
class Sheet:
    """A sheet of any kind, as a page shows it."""

    kind: str
    columns: tuple[str, ...]
    rows: tuple[Mapping[str, str], ...]

    @property
    def answers(self) -> tuple[str, ...]:
        """The columns that people fill in."""
        persons = tuple(name for name in self.columns if name.lower().startswith(PERSON))
        return persons or tuple(name for name in self.columns if name in MARK_COLUMNS)

    @property
    def choices(self) -> tuple[str, ...]:
        """The answers to choose from; none where people write."""
        return () if self.kind == "marks" else CHOICES.get(self.kind, ("yes", "no", "?"))


def parse_sheet(text: str) -> Sheet:
    """Return a sheet that is given as text; raise if it is none."""
    read = _table(text.removeprefix("\ufeff"))
    columns = tuple(read.fieldnames or ())
    try:
        rows = tuple({name: row.get(name) or "" for name in columns} for row in read)
    except csv.Error as error:
        raise UsageError(f"it is not a table: {error}", hint=_A_SHEET) from error
    kinds = sheet_kinds(row.get(ID, "") for row in rows)
    sheet = Sheet(min(kinds, default=""), columns, rows)
    if len(kinds) != 1 or not sheet.answers:
        raise UsageError("it is not a sheet for people", hint=_A_SHEET)
    return sheet


def sheet_kinds(ids: Iterable[str]) -> set[str]:
    """Return the kinds of sheets that these ids of rows are from."""
    return {one.split("/")[1] for one in ids if one.count("/") == 2}


def _table(text: str) -> csv.DictReader[str]:
    """Return the rows of a CSV file; in some countries spreadsheets separate columns by semicolons or tabs."""
    mark = max(",;\t", key=text.partition("\n")[0].count)
    # A cell may be as long as a chapter.
    csv.field_size_limit(10_000_000)
    return csv.DictReader(io.StringIO(text, newline=""), delimiter=mark)


def _in_file(rows: Iterable[Sequence[str]]) -> str:
    """Return rows as a CSV file. Without a byte order mark spreadsheets assume the local encoding."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\r\n").writerows(rows)
    return "\ufeff" + out.getvalue()


def fill_sheet(sheet: Sheet, answers: Mapping[int, Mapping[str, str]]) -> str:
    """Return a sheet with answers filled in, by the number of the row and the name of the column."""
    rows = [list(sheet.columns)]
    for number, row in enumerate(sheet.rows):
        given = answers.get(number, {})
        said = {name: str(in_csv(one_line(text))) for name, text in given.items() if name in sheet.answers}
        rows.append([said.get(name, row[name]) for name in sheet.columns])
    return _in_file(rows)


CONFIDENCE = 0.95
MARGINS = (0.03, 0.05, 0.1)
# The share with the largest variance.
_HALF = 0.5

T = TypeVar("T")


def draw_sample(everything: Sequence[T], size: int, seed: int) -> list[T]:
    """Return a random sample of this size in the original order, the same for the same seed."""
    if size >= len(everything):
        return list(everything)
    return [everything[n] for n in sorted(Random(seed).sample(range(len(everything)), size))]


def sample_size(population: int, margin: float, confidence: float = CONFIDENCE) -> int:
    """Return the sample size that keeps the error of a share within the margin."""
    z = _z(confidence)
    of_many = z * z * _HALF * (1 - _HALF) / margin**2
    # Round up to whole items, ignoring floating-point noise.
    return min(population, ceil(round(of_many / (1 + (of_many - 1) / population), 6)))


def margin_of_error(size: int, population: int, confidence: float = CONFIDENCE) -> float | None:
    """Return the margin of error of a sample's share; None for an empty sample, 0 if it is the whole population."""
    if not size:
        return None
    z = _z(confidence)
    left = (population - size) / (population - 1) if population > 1 else 0.0
    return z * sqrt(_HALF * (1 - _HALF) / size * max(0.0, left))


def share_interval(part: int, whole: int) -> tuple[float | None, Interval | None]:
    """Return a share with its Wilson interval; None for both if the whole is empty."""
    if not whole:
        return None, None
    return part / whole, interval_of_share(part / whole, whole)


def _z(confidence: float) -> float:
    """Return the standard normal quantile for a two-sided confidence."""
    return NormalDist().inv_cdf((1 + confidence) / 2)


What = Literal["facts", "queries", "alignment", "verification", "claims", "questions", "answers"]
KINDS: tuple[What, ...] = get_args(What)
_LETTERS = 8
# Spreadsheets truncate longer cells.
_LONGEST = 32_000
_NEAREST = 2
_BETWEEN = "\n[...]\n"

ASKED: Mapping[str, str] = {
    "faithfulness": "Does the passage say all of this fact outright?",
    "objectivity": "Is the fact free of opinions, guesses, and words that judge?",
    "significance": "Does the fact matter for what the passage is about?",
    "naturalness": "Is this a fluent and grammatical question that a person might ask?",
    "relevance": "Can the question be answered from the passage?",
    "alignment": "Does the summary state this fact, if only in other words?",
    "verification": "Does the document support all of this sentence?",
    "claims": "Does the document support this answer to the question?",
    "key information": "Does the question ask for key information of the document?",
    "answerable": "Does the document state this answer, or does it follow from the document?",
    "complete": "Do these questions cover all key aspects that a summary should address?",
    "relevant": "Is the answer about what is asked? 'There is none' also counts as an answer.",
    "no answer": "Is it right that the text does not answer the question?",
    "consistent": "Does the text support the answer?",
}
"""The yes-or-no questions for people: by dimension of facts and queries, else by kind of sheet."""
DIMENSIONS: Mapping[What, tuple[str, ...]] = {
    "facts": ("faithfulness", "objectivity", "significance"),
    "queries": ("naturalness", "relevance"),
    "questions": ("key information", "answerable", "complete"),
    "answers": ("relevant", "no answer", "consistent"),
}


@dataclass(frozen=True, slots=True)
class SheetRow:
    """A row of a sheet: what people see, and the judge's verdict."""

    id: str
    """The run, the kind of sheet, and a hash of the words: the same each time the run is read."""
    shown: Mapping[str, str]
    said: bool | None
    """The judge's yes or no; None if it was not judged, such as a query."""
    group: str
    """The group in which the row is counted, such as the dimension of a fact or the kind of an error."""
    asked: str = ""
    """What people are asked."""
    judge: str = ""
    """Whose verdict it is."""

    @property
    def content(self) -> str:
        """What the row is about: the same for all judges of it."""
        return self.id.rpartition("/")[2]


def questions(store: Store, runs: Sequence[str], what: What) -> list[SheetRow]:
    """Return all questions about some runs in order, each once even if several judges answered it; raise if there are
    none."""
    found: dict[str, SheetRow] = {}
    for key in runs:
        for row in run_rows(store, key, what):
            found.setdefault(row.content, row)
    if not found:
        raise UsageError(
            f"there is nothing to ask about {what} of {'these runs' if len(runs) > 1 else 'this run'}",
            hint=_SOURCES[what].needs,
        )
    return list(found.values())


def run_rows(store: Store, run: str, what: What) -> Iterator[SheetRow]:
    """Yield the rows of one run, with its judge's verdicts."""
    result = read_result(store, run)
    yield from _SOURCES[what].rows(store, result, document_read(store, result.run))


class PassageFinder:
    """Finds the passages of a document that people need to see along with a claim about it."""

    def __init__(self, document: Document, tokenizer: str) -> None:
        self._text = document.text
        self._passages = Passages(document, tokenizer_named(tokenizer))

    def passages(self, words: str, place: Sequence[int] | None) -> str:
        """Return the passages that contain the place of a verdict, if it names one, and those nearest to some words.

        The nearest ones are always included, so that a sheet never reveals the verdict.
        """
        spans = {passage.span for passage in self._passages.nearest(words, _NEAREST)}
        if place:
            spans |= {passage.span for passage in self._passages.holding(Span(place[0], place[1]))}
        return _BETWEEN.join(self._text[span.start : span.end] for span in merge_spans(spans))


def _question(
    result: Result,
    what: What,
    said: bool | None,
    group: str,
    shown: Mapping[str, str],
    passages: str = "",
    judge: str = "",
) -> SheetRow:
    words = content_id("\n".join(shown.values()))[:_LETTERS]
    cut = {name: text[:_LONGEST] for name, text in {**shown, **({"passages": passages} if passages else {})}.items()}
    asked = ASKED[group if what in DIMENSIONS else what]
    return SheetRow(f"{result.run.id}/{what}/{words}", cut, said, group, asked, judge or run_judge(result.run))


def run_judge(run: Run) -> str:
    """Return who judged in a run, and whether against the whole document."""
    full = run.judging is not None and run.judging.verify_against == "document"
    return " + ".join(judges_of(run)) + (", full text" if full else "")


def _facts(store: Store, result: Result, document: Document) -> Iterator[SheetRow]:
    """Yield every verdict of the validator on a fact. A fact below a pruned one has been pruned without a verdict, and
    one that a validator left open has none."""
    facts = _keyfacts(store, result)
    for tree in facts.trees:
        for fact in tree.facts:
            against = {objection.dimension for objection in fact.objections}
            for dimension in DIMENSIONS["facts"] if not against & {ORPHANED, UNJUDGED} else ():
                shown = {**_place(document, tree), "dimension": dimension, "fact": fact.text}
                shown["passage"] = _passage(document, tree)
                yield _question(result, "facts", dimension not in against, dimension, shown, judge=facts.validator)


def _queries(store: Store, result: Result, document: Document) -> Iterator[SheetRow]:
    for tree in _keyfacts(store, result).trees:
        for dimension in DIMENSIONS["queries"] if tree.query else ():
            facts = "\n".join(f"- {fact.text}" for fact in tree.kept)
            shown = {**_place(document, tree), "dimension": dimension, "question": tree.query, "facts": facts}
            shown["passage"] = _passage(document, tree)
            yield _question(result, "queries", None, dimension, shown)


def _alignment(_: Store, result: Result, document: Document) -> Iterator[SheetRow]:
    for fact in _judged(result, KeyfactRecall.name, "facts"):
        shown = {"document": document.title, "fact": fact["fact"], "summary": result.summary or ""}
        yield _question(result, "alignment", fact["verdict"] == STATED, fact["level"], shown)


def _verification(store: Store, result: Result, document: Document) -> Iterator[SheetRow]:
    """Yield the sentences with what the judge saw: the chunk of a query, else passages of the document."""
    statements = {statement.id: statement for statement in statements_of(result.summary or "")}
    around = PassageFinder(document, result.run.tokenizer)
    chunk = _chunk(store, result, document)
    for sentence in _judged(result, Faithfulness.name, "sentences"):
        one = statements[sentence["id"]]
        shown = {"document": document.title, "sentence before": one.before, "sentence": one.sentence}
        right = sentence["verdict"] == SUPPORTED
        passages = chunk or around.passages(f"{one.before} {one.sentence}", sentence.get("place"))
        yield _question(result, "verification", right, "" if right else sentence["verdict"], shown, passages)


def _claims(_: Store, result: Result, document: Document) -> Iterator[SheetRow]:
    """Yield the claims of a summary, as questions with the summary's answers."""
    statements = {statement.id: statement for statement in statements_of(result.summary or "")}
    around = PassageFinder(document, result.run.tokenizer)
    for claim in _judged(result, Consistency.name, "claims"):
        sentence = statements[claim["sentence"]].sentence
        shown = {"document": document.title, "sentence": sentence}
        shown |= {"question": claim["question"], "answer": claim["found"]}
        right = claim["verdict"] == CONSISTENT
        passages = around.passages(f"{claim['question']} {claim['found']} {sentence}", claim.get("place"))
        yield _question(result, "claims", right, "" if right else claim["verdict"], shown, passages)


def _questions(_: Store, result: Result, document: Document) -> Iterator[SheetRow]:
    """Yield the questions about a document by dimension, and all of them together."""
    around, listed = PassageFinder(document, result.run.tokenizer), list(_judged(result, Coverage.name, "questions"))
    for one in listed:
        passages = around.passages(f"{one['question']} {one['expected']}", None)
        for dimension in DIMENSIONS["questions"][:2]:
            shown = {"document": document.title, "dimension": dimension, "question": one["question"]}
            yield _question(result, "questions", None, dimension, {**shown, "answer": one["expected"]}, passages)
    if listed:
        shown = {"document": document.title, "dimension": "complete"}
        together = "\n".join(f"- {one['question']}" for one in listed)
        yield _question(result, "questions", None, "complete", {**shown, "question": together, "answer": ""}, "–")


def _answers(_: Store, result: Result, document: Document) -> Iterator[SheetRow]:
    """Yield the judge's answers by dimension: from the summary, then from the document."""
    around = PassageFinder(document, result.run.tokenizer)
    found = [
        ("the summary", one["question"], one["found"], result.summary or "")
        for one in _judged(result, Coverage.name, "questions")
    ]
    for one in _judged(result, Consistency.name, "claims"):
        passages = around.passages(f"{one['question']} {one['expected'] or one['found']}", one.get("place"))
        found.append(("the document", one["question"], one["expected"], passages))
    for source, question, answer, text in found:
        for dimension in ("relevant", "consistent" if answer else "no answer"):
            shown = {"document": document.title, "dimension": dimension, "from": source, "question": question}
            yield _question(result, "answers", None, dimension, {**shown, "answer": answer or "(no answer)"}, text)


def _chunk(store: Store, result: Result, document: Document) -> str:
    """Return the chunk whose query the summary answers; empty if it answers none."""
    query, judging, key = result.run.settings.query, result.run.judging, _keyfacts_of(result)
    if query is None or key is None or (judging is not None and judging.verify_against == "document"):
        return ""
    trees = trees_for(store.keyfacts.get(key), query, get_args(Perspective))
    return _passage(document, trees[0]) if trees else ""


def _judged(result: Result, metric: str, items: str) -> Iterator[Mapping[str, Any]]:
    """Yield the items of a metric that have a verdict."""
    evaluation: Evaluation | None = result.evaluations.get(metric)
    listed = evaluation.details.get(items) if evaluation else None
    for one in listed if isinstance(listed, list) else ():
        if one["verdict"] not in OPEN:
            yield one


def _keyfacts(store: Store, result: Result) -> KeyFacts:
    """Return the key facts that a run built, or that it judges by; raise if it has none."""
    key = _keyfacts_of(result)
    if key is None:
        raise RunError(f"run {result.run.id} has no key facts", hint=_KEYFACTS)
    return store.keyfacts.get(key)


def _keyfacts_of(result: Result) -> str | None:
    """Return the id of the key facts that a run built, or that it judges by."""
    judging = result.run.judging
    scores = [result.evaluations.get(name) for name in (KeyfactRecall.name, Faithfulness.name)]
    named = [
        judging.keyfacts if judging else None,
        *(evaluation.details.get("keyfacts") for evaluation in scores if evaluation),
    ]
    return next((one for one in named if isinstance(one, str)), None)


def _place(document: Document, tree: Tree) -> dict[str, str]:
    return {"document": document.title, "perspective": tree.perspective}


def _passage(document: Document, tree: Tree) -> str:
    return document.text[tree.span.start : tree.span.end]


class _Source(NamedTuple):
    """Where the rows of a kind of sheet are from, and what to name if there are none."""

    rows: Callable[[Store, Result, Document], Iterator[SheetRow]]
    needs: str


_KEYFACTS = "name a run of `redraft keyfacts`, or one that was judged by keyfact_recall"
_SOURCES: Mapping[What, _Source] = {
    "facts": _Source(_facts, _KEYFACTS),
    "queries": _Source(_queries, _KEYFACTS),
    "alignment": _Source(_alignment, "name a run that was judged by keyfact_recall"),
    "verification": _Source(_verification, "name a run that was judged by faithfulness"),
    "claims": _Source(_claims, "name a run that was judged by consistency"),
    "questions": _Source(_questions, "name a run that was judged by coverage"),
    "answers": _Source(_answers, "name a run that was judged by coverage or consistency"),
}


class _Same(NamedTuple):
    """How findings of a metric are matched to rows of a sheet."""

    metric: str
    shown: tuple[str, ...]
    found: Callable[[Finding], tuple[str, ...]]


ABOUT: Mapping[What, _Same] = {
    "claims": _Same(
        Consistency.name, ("sentence", "question", "answer"), lambda one: (one.sentence, one.question, one.found)
    ),
    "verification": _Same(Faithfulness.name, ("sentence",), lambda one: (one.sentence,)),
    "alignment": _Same(KeyfactRecall.name, ("fact",), lambda one: (one.expected,)),
}
"""For the kinds of sheets that findings relate to: the metric of these findings, and how to match them."""


def stored_answers(store: Store, runs: Sequence[str], what: What, questions: Sequence[SheetRow]) -> dict[str, str]:
    """Return the answers that people have already given on the findings behind the rows, by row id."""
    if what not in ABOUT:
        return {}
    same, said = ABOUT[what], dict[tuple[str, tuple[str, ...]], str]()
    for key in runs:
        result = read_result(store, key)
        opinions = store.opinions.of(result.run.id)
        evaluation = result.evaluations.get(same.metric)
        for finding in evaluation.findings if evaluation and opinions else ():
            if finding.id in opinions:
                said[result.run.id, same.found(finding)] = "no" if opinions[finding.id].agrees else "yes"
    rows = (
        (sheet_row.id, (sheet_row.id.partition("/")[0], tuple(sheet_row.shown[name] for name in same.shown)))
        for sheet_row in questions
    )
    return {row: said[about] for row, about in rows if about in said}


_SHOWN = 40


def sheet_csv(
    questions: Sequence[SheetRow], what: What, people: int, answers: Mapping[str, str] = MappingProxyType({})
) -> str:
    """Return the sheet as CSV, without the judge's verdicts, so that they influence no one. `answers` are known answers
    of the first person, by row."""
    rows = [
        replace(row, asked=f"{row.asked or ASKED[what]} (yes, no, or ? where you cannot tell)") for row in questions
    ]
    return sheet_file(rows, person_columns(people), answers)


def person_columns(count: int) -> list[str]:
    """Return the names of the columns for the answers of so many people."""
    return [f"{PERSON} {n}" for n in range(1, count + 1)]


def sheet_file(
    rows: Sequence[SheetRow], columns: Sequence[str], answers: Mapping[str, str] = MappingProxyType({})
) -> str:
    """Return rows as CSV, with empty columns for what people say, but for known `answers` in the first of them.

    No cell is read as a formula, and a passage is in the first of its rows only.
    """
    shown = without_repeats({name: text[:_LONGEST] for name, text in row.shown.items()} for row in rows)
    empty = [""] * (len(columns) - 1)
    lines = (
        [row.id, *cells, row.asked, answers.get(row.id, ""), *empty] for row, cells in zip(rows, shown, strict=True)
    )
    return _in_file([[ID, *rows[0].shown, ASKED_COLUMN, *columns], *lines])


A = TypeVar("A")


@dataclass(frozen=True, slots=True)
class SheetAnswers(Generic[A]):
    """People's answers by row id, one for each column of each file, and what could not be read."""

    by_row: Mapping[str, Sequence[A | None]]
    troubles: tuple[FileProblem, ...]

    @property
    def runs(self) -> list[str]:
        """The runs that the rows are about."""
        return list(dict.fromkeys(name.partition("/")[0] for name in self.by_row))


def combined_answers(paths: Sequence[str], meanings: Mapping[str, A | None], expected: str) -> SheetAnswers[A]:
    """Return the answers in the sheets of several people combined, by what each word means; an answer that means
    nothing, where something else was `expected`, is reported and does not count."""
    by_row: dict[str, list[A | None]] = {}
    troubles: list[FileProblem] = []
    columns = 0
    for path in paths:
        rows = list(sheet_rows(path))
        people = [name for name in (rows[0][1] if rows else {}) if name.lower().startswith(PERSON)]
        if not people:
            raise UsageError(
                "it has no column for a person's answers", place=path, hint="give a sheet written by `agree sheet`"
            )
        for place, row in rows:
            found = by_row.setdefault(row.get(ID, "").strip(), [])
            words = [row[name].strip().lower().rstrip(".") for name in people]
            found += [None] * (columns - len(found)) + [meanings.get(word) for word in words]
            unknown = (row[name] for name, word in zip(people, words, strict=True) if word not in meanings)
            troubles += (FileProblem(place, f"{one_line(said, _SHOWN)!r} is {expected}") for said in unknown)
        columns += len(people)
    whole = {name: [*found, *[None] * (columns - len(found))] for name, found in by_row.items()}
    return SheetAnswers(whole, tuple(troubles))


_MEANINGS: Mapping[str, bool | None] = {
    **dict.fromkeys(("yes", "y", "true", "1", "ja", "oui", "si", "sí"), True),
    **dict.fromkeys(("no", "n", "false", "0", "nein", "non"), False),
    **dict.fromkeys(("", "?", "unsure", "cannot tell"), None),
}


def read_sheets(paths: Sequence[str]) -> tuple[What, SheetAnswers[bool]]:
    """Return the kind of the sheets of several people, and their answers combined."""
    answers = combined_answers(paths, _MEANINGS, "neither yes nor no")
    known: list[What] = [kind for kind in KINDS if sheet_kinds(answers.by_row) == {kind}]
    if not known or any(name.count("/") != 2 for name in answers.by_row):
        raise UsageError(
            "the rows come from different kinds of sheets", place=paths[0], hint="leave the column `id` alone"
        )
    return known[0], answers


def sheet_rows(path: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the rows of a sheet by column name, each with its place."""
    try:
        for number, row in enumerate(_table(read_text(path)), 2):
            place = f"{one_line(Path(path).name, _SHOWN)}, row {number}"
            yield place, {str(name).strip(): value or "" for name, value in row.items()}
    except csv.Error as error:
        raise UsageError(f"it is not a table: {error}", place=path, hint="save it as CSV") from error


def majority(answers: Sequence[bool | None]) -> bool | None:
    """Return the majority of the answers given; None if there are none, or a tie."""
    known = [answer for answer in answers if answer is not None]
    yes = sum(known)
    return None if 2 * yes == len(known) else 2 * yes > len(known)
