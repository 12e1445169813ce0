"""Sheets for people as CSV: written and read; and how many rows a sample needs."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from math import ceil, sqrt
from pathlib import Path
from random import Random
from statistics import NormalDist
from types import MappingProxyType
from typing import Any, TypeVar, get_args

from redraft.document import merge_spans
from redraft.domain import Document, KeyFacts, Perspective, Span, Tree, content_id
from redraft.errors import RunError, UsageError
from redraft.evaluators.base import statements_of
from redraft.evaluators.consistency import CONSISTENT, Consistency
from redraft.evaluators.coverage import Coverage
from redraft.evaluators.factual import STATED, SUPPORTED, Faithfulness, KeyfactRecall
from redraft.evaluators.reference.keyfacts import ORPHANED, UNJUDGED, trees_for
from redraft.lab.agreement.people import FileProblem, data_text, json_of
from redraft.lab.declared import declared
from redraft.lab.doctor.controls import judged_entries
from redraft.report.history.judges import judges_of
from redraft.report.history.results import document_read, read_result
from redraft.report.tables import in_csv
from redraft.store.store import Store
from redraft.text.retrieval import Passages
from redraft.text.sanitizer import one_line
from redraft.text.tokens import tokenizer_named

_ID, _PERSON = "id", "person"
_ABOVE = frozenset({"passage", "passages", "facts", "summary", "summary 1", "summary 2"})
"""The columns whose long texts are in the first of their rows only."""
_MEANINGS = {"yes": True, "y": True, "true": True, "1": True, "no": False, "n": False, "false": False, "0": False}
# Spreadsheets truncate longer cells.
_LONGEST = 32_000
_SHOWN = 40
CONFIDENCE = 0.95
MARGINS = (0.03, 0.05, 0.1)
# The share with the largest variance.
_HALF = 0.5
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class SheetKind:
    """A kind of sheet, as `sheets.toml` declares it."""

    title: str
    needs: str
    asked: str = ""
    dimensions: Mapping[str, str] = field(default_factory=dict)
    shares: str = ""
    choices: Sequence[str] = ()
    columns: Sequence[str] = ()
    files: int = 0
    """How many files of summaries it is made of, if it is about coherence and not about a run."""
    annotated: bool = False
    """Whether it is made of annotations, too."""
    metric: str = ""
    finding: Mapping[str, str] = field(default_factory=dict)


KINDS: Mapping[str, SheetKind] = {name: SheetKind(**entry) for name, entry in declared("sheets").items()}


@dataclass(frozen=True, slots=True)
class SheetRow:
    """A row of a sheet: what people see, and the judge's verdict."""

    id: str
    """The run, the kind of sheet, and a hash of the words: the same each time the run is read."""
    shown: Mapping[str, str]
    verdict: bool | None = None
    """The judge's yes or no; None if it was not judged, such as a query."""
    group: str = ""
    """The group in which the row is counted, such as the dimension of a fact or the kind of an error."""
    asked: str = ""
    """What people are asked."""
    judge: str = ""
    """Whose verdict it is."""
    choices: Mapping[str, str] = field(default_factory=dict)
    """What a choice means in this row, where it is not its own word."""

    @property
    def content(self) -> str:
        """What the row is about: the same for all judges of it."""
        return self.id.rpartition("/")[2]


def unique_rows(rows: Iterable[SheetRow], what: str, lacking: str) -> list[SheetRow]:
    """Return the rows in order, each once even if several judges answered it; raise if there are none."""
    unique: dict[str, SheetRow] = {}
    for row in rows:
        unique.setdefault(row.content, row)
    if not unique:
        raise UsageError(lacking, hint=KINDS[what].needs)
    return list(unique.values())


def draw_sample(everything: Sequence[T], size: int) -> list[T]:
    """Return a random sample of at most this size in the original order, always the same."""
    return [everything[n] for n in sorted(Random(0).sample(range(len(everything)), min(size, len(everything))))]


def sample_size(population: int, margin: float, confidence: float = CONFIDENCE) -> int:
    """Return the sample size that keeps the error of a share within the margin."""
    of_many = NormalDist().inv_cdf((1 + confidence) / 2) ** 2 * _HALF * (1 - _HALF) / margin**2
    # Round up to whole items, ignoring floating-point noise.
    return min(population, ceil(round(of_many / (1 + (of_many - 1) / population), 6)))


def margin_of_error(size: int, population: int, confidence: float = CONFIDENCE) -> float | None:
    """Return the margin of error of a sample's share; None for an empty sample, 0 if it is the whole population."""
    if not size:
        return None
    correction = (population - size) / (population - 1) if population > 1 else 0.0
    return NormalDist().inv_cdf((1 + confidence) / 2) * sqrt(_HALF * (1 - _HALF) / size * max(0.0, correction))


def majority(answers: Sequence[bool | None]) -> bool | None:
    """Return the majority of the answers given; None if there are none, or a tie."""
    votes = [answer for answer in answers if answer is not None]
    return None if 2 * sum(votes) == len(votes) else 2 * sum(votes) > len(votes)


def sheet_csv(rows: Sequence[SheetRow], person_count: int, answers: Mapping[str, str] = MappingProxyType({})) -> str:
    """Return rows as CSV without the judge's verdicts, so that they influence no one, with empty columns for what so
    many people say, but for known `answers` in the first of them, by row.

    No cell is read as a formula, and a long text is in the first of its rows only.
    """
    kind = KINDS[rows[0].id.split("/")[1]]
    columns = kind.columns or [f"{_PERSON} {n}" for n in range(1, person_count + 1)]
    how = "" if kind.columns or kind.choices else " (yes, no, or ? where you cannot tell)"
    lines = [[_ID, *rows[0].shown, "asked", *columns]]
    above: Mapping[str, str] = {}
    for row in rows:
        cells = [
            "(as above)" if name in _ABOVE and text == above.get(name) else str(in_csv(text[:_LONGEST], lines=True))
            for name, text in row.shown.items()
        ]
        lines.append([row.id, *cells, f"{row.asked}{how}", answers.get(row.id, ""), *[""] * (len(columns) - 1)])
        above = row.shown
    out = io.StringIO()
    csv.writer(out, lineterminator="\r\n").writerows(lines)
    # Without a byte order mark spreadsheets assume the local encoding.
    return "\ufeff" + out.getvalue()


def rows_of_sheet(path: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the rows of a sheet by column name, each with its place. A mark that keeps a spreadsheet from reading a
    cell as a formula is no part of it."""
    try:
        text = data_text(path)
        mark = max(",;\t", key=text.partition("\n")[0].count)
        # A cell may be as long as a chapter.
        csv.field_size_limit(10_000_000)
        for number, row in enumerate(csv.DictReader(io.StringIO(text, newline=""), delimiter=mark), 2):
            cells = {str(name).strip(): (value or "").strip() for name, value in row.items()}
            plain = {name: cell[cell[:2] in ("'=", "'+", "'-", "'@") :] for name, cell in cells.items()}
            yield f"{one_line(Path(path).name, _SHOWN)}, row {number}", plain
    except csv.Error as error:
        raise UsageError(f"it is not a table: {error}", place=path, hint="save it as CSV") from error


def is_released(path: str) -> bool:
    """Return whether a file has answers that BooookScore released, and is no sheet."""
    return Path(path).suffix.lower() == ".json"


def sheet_kind(paths: Sequence[str]) -> str:
    """Return the kind of the sheets of several people, or of what BooookScore released. Raise if they are of several
    kinds, or of none."""
    sheets = [path for path in paths if not is_released(path)]
    if not sheets:
        return "preferences" if isinstance(json_of(paths[0]), list) else "annotations"
    rows = [row.get(_ID, "").split("/") for path in sheets for _, row in rows_of_sheet(path)]
    kinds = {parts[1] if len(parts) == 3 else "" for parts in rows}
    if len(kinds) > 1 or not kinds <= KINDS.keys():
        hint = "leave the column `id` alone"
        raise UsageError("the rows come from different kinds of sheets", place=paths[0], hint=hint)
    return kinds.pop() if kinds else ""


def read_answers(paths: Sequence[str], kind: str) -> tuple[dict[str, list[Any]], list[FileProblem]]:
    """Return the answers in the sheets of several people by row id, one for each column of each file: True, False or
    one of the kind's choices, None for no answer; and the answers that mean nothing, which do not count."""
    choices = KINDS[kind].choices if kind else ()
    meanings: dict[str, Any] = {"": None, "?": None, **(dict(zip(choices, choices, strict=True)) or _MEANINGS)}
    expected = f"none of {', '.join(choices)}" if choices else "neither yes nor no"
    by_row: dict[str, list[Any]] = {}
    problems: list[FileProblem] = []
    columns = 0
    for path in paths:
        rows = [] if is_released(path) else list(rows_of_sheet(path))
        person_names = [name for name in (rows[0][1] if rows else {}) if name.lower().startswith(_PERSON)]
        if not person_names and not is_released(path):
            hint = "give a sheet written by `agree sheet`"
            raise UsageError("it has no column for a person's answers", place=path, hint=hint)
        for place, row in rows:
            answers = by_row.setdefault(row.get(_ID, ""), [])
            answers += [None] * (columns - len(answers))
            for name in person_names:
                word = row[name].lower().rstrip(".")
                answers.append(meanings.get(word))
                if word not in meanings:
                    problems.append((place, f"{one_line(row[name], _SHOWN)!r} is {expected}"))
        columns += len(person_names)
    return {name: [*answers, *[None] * (columns - len(answers))] for name, answers in by_row.items()}, problems


_LETTERS = 8
_NEAREST = 2
_Question = tuple[str, bool | None, dict[str, str]]
"""The group of a row, the judge's verdict, and what people are shown by column."""


def cited_and_nearest(document: Document, passages: Passages, words: str, place: Sequence[int] | None = None) -> str:
    """Return the passages of a document that contain the place of a verdict, if it names one, and those nearest to some
    words.

    The nearest ones are always included, so that a sheet never reveals the verdict.
    """
    spans = set(passages.nearest(words, _NEAREST))
    if place:
        spans |= set(passages.around(Span(place[0], place[1])))
    return "\n[...]\n".join(document.text[span.start : span.end] for span in merge_spans(spans))


class _JudgedRun:
    """A run with what its rows are made of: the rows of a kind of sheet are those of the method of its name."""

    def __init__(self, store: Store, name: str) -> None:
        self._store, self.result = store, read_result(store, name)
        self.run, self.summary = self.result.run, self.result.summary or ""
        self.document, judging = document_read(store, self.run), self.run.judging
        self.statements = {statement.id: statement for statement in statements_of(self.summary)}
        self._reads_document = judging is not None and judging.verify_against == "document"
        self.judge = " + ".join(judges_of(self.run)) + (", full text" if self._reads_document else "")
        """Who judged, and whether against the whole document."""

    @cached_property
    def keyfacts(self) -> KeyFacts | None:
        """The key facts that the run built, or that it judges by."""
        scores = [self.result.evaluations.get(name) for name in (KeyfactRecall.name, Faithfulness.name)]
        built = self.run.judging.keyfacts if self.run.judging else None
        ids = [built, *(evaluation.details.get("keyfacts") for evaluation in scores if evaluation)]
        key = next((key for key in ids if isinstance(key, str)), None)
        return None if key is None else self._store.keyfacts.get(key)

    @cached_property
    def _around(self) -> Callable[..., str]:
        """What returns the passages that people need to see along with some words about the document."""
        return partial(cited_and_nearest, self.document, Passages(self.document, tokenizer_named(self.run.tokenizer)))

    def _items(self, metric: str, detail: str) -> list[Mapping[str, Any]]:
        """Return the items of a metric that have a verdict."""
        return judged_entries(self.result.evaluations.get(metric), detail)

    def _trees(self, what: str) -> Iterator[tuple[Tree, str]]:
        """Yield the trees of key facts, each with the passage that it is about."""
        if self.keyfacts is None:
            raise RunError(f"run {self.run.id} has no key facts", hint=KINDS[what].needs)
        for tree in self.keyfacts.trees:
            yield tree, self.document.text[tree.span.start : tree.span.end]

    def facts(self) -> Iterator[_Question]:
        """Yield every verdict of the validator on a fact, by dimension. A fact below a pruned one has been pruned
        without a verdict, and one that a validator left open has none."""
        for tree, passage in self._trees("facts"):
            for fact in tree.facts:
                against = {objection.dimension for objection in fact.objections}
                for dimension in KINDS["facts"].dimensions if not against & {ORPHANED, UNJUDGED} else ():
                    columns = {"dimension": dimension, "fact": fact.text, "passage": passage}
                    yield dimension, dimension not in against, {"perspective": tree.perspective, **columns}

    def queries(self) -> Iterator[_Question]:
        """Yield the queries by dimension, with the facts that answer them."""
        for tree, passage in self._trees("queries"):
            facts = "\n".join(f"- {fact.text}" for fact in tree.kept)
            for dimension in KINDS["queries"].dimensions if tree.query else ():
                columns = {"dimension": dimension, "question": tree.query, "facts": facts, "passage": passage}
                yield dimension, None, {"perspective": tree.perspective, **columns}

    def alignment(self) -> Iterator[_Question]:
        """Yield the key facts with the whole summary."""
        for fact in self._items(KeyfactRecall.name, "facts"):
            yield fact["level"], fact["verdict"] == STATED, {"fact": fact["fact"], "summary": self.summary}

    def verification(self) -> Iterator[_Question]:
        """Yield the sentences with what the judge saw: the chunk of a query, else passages of the document."""
        trees: Sequence[Tree] = ()
        if self.run.settings.query is not None and self.keyfacts and not self._reads_document:
            trees = trees_for(self.keyfacts, self.run.settings.query, get_args(Perspective))
        for item in self._items(Faithfulness.name, "sentences"):
            line, is_right = self.statements[item["id"]], item["verdict"] == SUPPORTED
            passages = self.document.text[trees[0].span.start : trees[0].span.end] if trees else ""
            passages = passages or self._around(f"{line.before} {line.sentence}", item.get("place"))
            columns = {"sentence before": line.before, "sentence": line.sentence, "passages": passages}
            yield "" if is_right else item["verdict"], is_right, columns

    def claims(self) -> Iterator[_Question]:
        """Yield the claims as questions with the summary's answers."""
        for claim in self._items(Consistency.name, "claims"):
            sentence, is_right = self.statements[claim["sentence"]].sentence, claim["verdict"] == CONSISTENT
            passages = self._around(f"{claim['question']} {claim['found']} {sentence}", claim.get("place"))
            columns = {"sentence": sentence, "question": claim["question"], "answer": claim["found"]}
            yield "" if is_right else claim["verdict"], is_right, {**columns, "passages": passages}

    def questions(self) -> Iterator[_Question]:
        """Yield the questions about a document by dimension, and all of them together."""
        items = self._items(Coverage.name, "questions")
        *of_each, of_all = KINDS["questions"].dimensions
        for item in items:
            passages = self._around(f"{item['question']} {item['expected']}")
            for dimension in of_each:
                columns = {"dimension": dimension, "question": item["question"], "answer": item["expected"]}
                yield dimension, None, {**columns, "passages": passages}
        if items:
            together = "\n".join(f"- {item['question']}" for item in items)
            yield of_all, None, {"dimension": of_all, "question": together, "answer": "", "passages": "–"}

    def answers(self) -> Iterator[_Question]:
        """Yield the judge's answers by dimension: from the summary, then from the document."""
        questions = self._items(Coverage.name, "questions")
        answers = [("the summary", item["question"], item["found"], self.summary) for item in questions]
        for item in self._items(Consistency.name, "claims"):
            passages = self._around(f"{item['question']} {item['expected'] or item['found']}", item.get("place"))
            answers.append(("the document", item["question"], item["expected"], passages))
        for source, question, answer, passages in answers:
            for dimension in ("relevant", "consistent" if answer else "no answer"):
                columns = {"dimension": dimension, "from": source, "question": question}
                yield dimension, None, {**columns, "answer": answer or "(no answer)", "passages": passages}


def run_rows(store: Store, name: str, what: str) -> Iterator[SheetRow]:
    """Yield the rows of one run, with its judge's verdicts."""
    run, kind = _JudgedRun(store, name), KINDS[what]
    judge = run.keyfacts.validator if what == "facts" and run.keyfacts else run.judge
    for group, right, about in getattr(run, what)():
        columns = {"document": run.document.title, **about}
        words = content_id("\n".join(text for column, text in columns.items() if column != "passages"))[:_LETTERS]
        question = kind.dimensions.get(group, kind.asked)
        yield SheetRow(f"{run.run.id}/{what}/{words}", columns, right, group, question, judge)


def questions(store: Store, runs: Sequence[str], what: str) -> list[SheetRow]:
    """Return all questions about some runs in order; raise if there are none."""
    rows = (row for run in runs for row in run_rows(store, run, what))
    return unique_rows(rows, what, f"there is nothing to ask about {what} of th{'ese runs' if runs[1:] else 'is run'}")


def stored_answers(store: Store, runs: Sequence[str], what: str, rows: Sequence[SheetRow]) -> dict[str, str]:
    """Return the answers that people have already given on the findings behind the rows, by row id."""
    kind, answers = KINDS[what], dict[tuple[str, ...], str]()
    for name in runs if kind.metric else ():
        result = read_result(store, name)
        opinions = store.opinions.by("finding", run=result.run.id)
        evaluation = result.evaluations.get(kind.metric)
        for finding in evaluation.findings if evaluation and opinions else ():
            if finding.id in opinions:
                key = (result.run.id, *(getattr(finding, field) for field in kind.finding.values()))
                answers[key] = "no" if opinions[finding.id].agrees else "yes"
    keys = {row.id: (row.id.partition("/")[0], *(row.shown.get(name, "") for name in kind.finding)) for row in rows}
    return {row: answers[key] for row, key in keys.items() if key in answers}
