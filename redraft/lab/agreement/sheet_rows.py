"""The rows of sheets about runs: what people are asked about key facts, queries, verdicts, questions and answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple, get_args

from redraft.document import merge_spans
from redraft.domain import Document, Finding, KeyFacts, Perspective, Span, Tree, content_id
from redraft.errors import RunError, UsageError
from redraft.evaluators.base import OPEN, statements_of
from redraft.evaluators.consistency import CONSISTENT, Consistency
from redraft.evaluators.coverage import Coverage
from redraft.evaluators.faithfulness import SUPPORTED, Faithfulness
from redraft.evaluators.keyfact_recall import STATED, KeyfactRecall
from redraft.evaluators.reference.keyfacts import ORPHANED, UNJUDGED, trees_for
from redraft.lab.agreement.sheets import SheetAnswers, SheetRow, person_columns, sheet_file, yes_or_no_answers
from redraft.lab.declared import declared
from redraft.report.history.judges import judges_of
from redraft.report.history.results import document_read, read_result
from redraft.store.store import Store
from redraft.text.retrieval import Passages
from redraft.text.tokens import tokenizer_named

What = Literal["facts", "queries", "alignment", "verification", "claims", "questions", "answers"]
_LETTERS = 8
_LONGEST = 32_000
_NEAREST = 2


class PassageFinder:
    """Finds the passages of a document that people need to see along with a claim about it."""

    def __init__(self, document: Document, tokenizer: str) -> None:
        self._text = document.text
        self._passages = Passages(document, tokenizer_named(tokenizer))

    def passages(self, words: str, place: Sequence[int] | None = None) -> str:
        """Return the passages that contain the place of a verdict, if it names one, and those nearest to some words.

        The nearest ones are always included, so that a sheet never reveals the verdict.
        """
        spans = {passage.span for passage in self._passages.nearest(words, _NEAREST)}
        if place:
            spans |= {passage.span for passage in self._passages.holding(Span(place[0], place[1]))}
        return "\n[...]\n".join(self._text[span.start : span.end] for span in merge_spans(spans))


class _Question(NamedTuple):
    """What people are shown, with the judge's verdict."""

    group: str
    shown: Mapping[str, str]
    said: bool | None = None
    passages: str = ""
    judge: str = ""


class _JudgedRun:
    """A run with what its rows are made of."""

    def __init__(self, store: Store, run: str) -> None:
        self._store, self.result = store, read_result(store, run)
        self.run = self.result.run
        self.document = document_read(store, self.run)
        self.summary = self.result.summary or ""
        self.reads_document = self.run.judging is not None and self.run.judging.verify_against == "document"
        self.statements = {statement.id: statement for statement in statements_of(self.summary)}

    @cached_property
    def around(self) -> PassageFinder:
        return PassageFinder(self.document, self.run.tokenizer)

    @property
    def judge(self) -> str:
        """Who judged, and whether against the whole document."""
        return " + ".join(judges_of(self.run)) + (", full text" if self.reads_document else "")

    @cached_property
    def keyfacts(self) -> KeyFacts | None:
        """The key facts that the run built, or that it judges by."""
        scores = [self.result.evaluations.get(name) for name in (KeyfactRecall.name, Faithfulness.name)]
        built = self.run.judging.keyfacts if self.run.judging else None
        ids = [built, *(evaluation.details.get("keyfacts") for evaluation in scores if evaluation)]
        key = next((key for key in ids if isinstance(key, str)), None)
        return None if key is None else self._store.keyfacts.get(key)

    @property
    def trees(self) -> Sequence[Tree]:
        """The trees of its key facts; raise if it has none."""
        if self.keyfacts is None:
            raise RunError(f"run {self.run.id} has no key facts", hint=KINDS["facts"].needs)
        return self.keyfacts.trees

    @cached_property
    def chunk(self) -> str:
        """The chunk whose query the summary answers; empty if it answers none."""
        query, keyfacts = self.run.settings.query, self.keyfacts
        if query is None or keyfacts is None or self.reads_document:
            return ""
        trees = trees_for(keyfacts, query, get_args(Perspective))
        return self.passage(trees[0]) if trees else ""

    def passage(self, tree: Tree) -> str:
        return self.document.text[tree.span.start : tree.span.end]

    def items(self, metric: str, detail: str) -> Iterator[Mapping[str, Any]]:
        """Yield the items of a metric that have a verdict."""
        evaluation = self.result.evaluations.get(metric)
        listed = evaluation.details.get(detail) if evaluation else None
        yield from (item for item in (listed if isinstance(listed, list) else ()) if item["verdict"] not in OPEN)


def _facts(run: _JudgedRun) -> Iterator[_Question]:
    """Yield every verdict of the validator on a fact. A fact below a pruned one has been pruned without a verdict, and
    one that a validator left open has none."""
    for tree in run.trees:
        for fact in tree.facts:
            against = {objection.dimension for objection in fact.objections}
            for dimension in KINDS["facts"].dimensions if not against & {ORPHANED, UNJUDGED} else ():
                columns = {"perspective": tree.perspective, "dimension": dimension, "fact": fact.text}
                validator = run.keyfacts.validator if run.keyfacts else ""
                columns["passage"] = run.passage(tree)
                yield _Question(dimension, columns, dimension not in against, judge=validator)


def _queries(run: _JudgedRun) -> Iterator[_Question]:
    for tree in run.trees:
        for dimension in KINDS["queries"].dimensions if tree.query else ():
            facts = "\n".join(f"- {fact.text}" for fact in tree.kept)
            columns = {"perspective": tree.perspective, "dimension": dimension, "question": tree.query, "facts": facts}
            yield _Question(dimension, {**columns, "passage": run.passage(tree)})


def _alignment(run: _JudgedRun) -> Iterator[_Question]:
    for fact in run.items(KeyfactRecall.name, "facts"):
        yield _Question(fact["level"], {"fact": fact["fact"], "summary": run.summary}, fact["verdict"] == STATED)


def _verification(run: _JudgedRun) -> Iterator[_Question]:
    """Yield the sentences with what the judge saw: the chunk of a query, else passages of the document."""
    for item in run.items(Faithfulness.name, "sentences"):
        statement, right = run.statements[item["id"]], item["verdict"] == SUPPORTED
        columns = {"sentence before": statement.before, "sentence": statement.sentence}
        words = f"{statement.before} {statement.sentence}"
        passages = run.chunk or run.around.passages(words, item.get("place"))
        yield _Question("" if right else item["verdict"], columns, right, passages)


def _claims(run: _JudgedRun) -> Iterator[_Question]:
    """Yield the claims of a summary, as questions with the summary's answers."""
    for claim in run.items(Consistency.name, "claims"):
        sentence, right = run.statements[claim["sentence"]].sentence, claim["verdict"] == CONSISTENT
        columns = {"sentence": sentence, "question": claim["question"], "answer": claim["found"]}
        passages = run.around.passages(f"{claim['question']} {claim['found']} {sentence}", claim.get("place"))
        yield _Question("" if right else claim["verdict"], columns, right, passages)


def _questions(run: _JudgedRun) -> Iterator[_Question]:
    """Yield the questions about a document by dimension, and all of them together."""
    items = list(run.items(Coverage.name, "questions"))
    *of_each, of_all = KINDS["questions"].dimensions
    for item in items:
        passages = run.around.passages(f"{item['question']} {item['expected']}")
        for dimension in of_each:
            columns = {"dimension": dimension, "question": item["question"], "answer": item["expected"]}
            yield _Question(dimension, columns, passages=passages)
    if items:
        together = "\n".join(f"- {item['question']}" for item in items)
        yield _Question(of_all, {"dimension": of_all, "question": together, "answer": ""}, passages="–")


def _answers(run: _JudgedRun) -> Iterator[_Question]:
    """Yield the judge's answers by dimension: from the summary, then from the document."""
    answers = [
        ("the summary", item["question"], item["found"], run.summary) for item in run.items(Coverage.name, "questions")
    ]
    for item in run.items(Consistency.name, "claims"):
        words = f"{item['question']} {item['expected'] or item['found']}"
        passages = run.around.passages(words, item.get("place"))
        answers.append(("the document", item["question"], item["expected"], passages))
    for source, question, answer, passages in answers:
        for dimension in ("relevant", "consistent" if answer else "no answer"):
            columns = {"dimension": dimension, "from": source, "question": question, "answer": answer or "(no answer)"}
            yield _Question(dimension, columns, passages=passages)


@dataclass(frozen=True, slots=True)
class SheetKind:
    """A kind of sheet about runs, as `sheets.toml` declares it."""

    title: str
    needs: str
    asked: str = ""
    dimensions: Mapping[str, str] = field(default_factory=dict)
    shares: str = ""


KINDS: Mapping[What, SheetKind] = {kind: SheetKind(**declared("sheets")[kind]) for kind in get_args(What)}
_ROWS: Mapping[What, Callable[[_JudgedRun], Iterator[_Question]]] = {
    "facts": _facts,
    "queries": _queries,
    "alignment": _alignment,
    "verification": _verification,
    "claims": _claims,
    "questions": _questions,
    "answers": _answers,
}
OPINIONS: Mapping[What, tuple[str, tuple[str, ...], Callable[[Finding], tuple[str, ...]]]] = {
    "claims": (
        Consistency.name,
        ("sentence", "question", "answer"),
        lambda finding: (finding.sentence, finding.question, finding.found),
    ),
    "verification": (Faithfulness.name, ("sentence",), lambda finding: (finding.sentence,)),
    "alignment": (KeyfactRecall.name, ("fact",), lambda finding: (finding.expected,)),
}
"""For the kinds that findings relate to: the metric of these findings, and how they are matched to rows."""


def run_rows(store: Store, name: str, what: What) -> Iterator[SheetRow]:
    """Yield the rows of one run, with its judge's verdicts."""
    run, kind = _JudgedRun(store, name), KINDS[what]
    for question in _ROWS[what](run):
        columns = {"document": run.document.title, **question.shown}
        words = content_id("\n".join(columns.values()))[:_LETTERS]
        columns |= {"passages": question.passages} if question.passages else {}
        yield SheetRow(
            f"{run.run.id}/{what}/{words}",
            {column: text[:_LONGEST] for column, text in columns.items()},
            question.said,
            question.group,
            kind.dimensions.get(question.group, kind.asked),
            question.judge or run.judge,
        )


def questions(store: Store, runs: Sequence[str], what: What) -> list[SheetRow]:
    """Return all questions about some runs in order, each once even if several judges answered it; raise if there are
    none."""
    rows: dict[str, SheetRow] = {}
    for run in runs:
        for row in run_rows(store, run, what):
            rows.setdefault(row.content, row)
    if not rows:
        of = "these runs" if len(runs) > 1 else "this run"
        raise UsageError(f"there is nothing to ask about {what} of {of}", hint=KINDS[what].needs)
    return list(rows.values())


def stored_answers(store: Store, runs: Sequence[str], what: What, rows: Sequence[SheetRow]) -> dict[str, str]:
    """Return the answers that people have already given on the findings behind the rows, by row id."""
    if what not in OPINIONS:
        return {}
    (metric, columns, key_of), answers = OPINIONS[what], dict[tuple[str, tuple[str, ...]], str]()
    for name in runs:
        result = read_result(store, name)
        opinions = store.opinions.of(result.run.id)
        evaluation = result.evaluations.get(metric)
        for finding in evaluation.findings if evaluation and opinions else ():
            if finding.id in opinions:
                answers[result.run.id, key_of(finding)] = "no" if opinions[finding.id].agrees else "yes"
    keys = {row.id: (row.id.partition("/")[0], tuple(row.shown[name] for name in columns)) for row in rows}
    return {row: answers[key] for row, key in keys.items() if key in answers}


def sheet_csv(rows: Sequence[SheetRow], person_count: int, answers: Mapping[str, str]) -> str:
    """Return the sheet as CSV for so many people. `answers` are known answers of the first one, by row."""
    with_answers = [replace(row, asked=f"{row.asked} (yes, no, or ? where you cannot tell)") for row in rows]
    return sheet_file(with_answers, person_columns(person_count), answers)


def read_sheets(paths: Sequence[str]) -> tuple[What, SheetAnswers[bool]]:
    """Return the kind of the sheets of several people, and their answers combined."""
    name, answers = yes_or_no_answers(paths)
    return next(kind for kind in KINDS if kind == name), answers
