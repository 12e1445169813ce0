"""The rows of sheets about runs: what people are asked about key facts, queries, verdicts, questions and answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, get_args

from redraft.document import merge_spans
from redraft.domain import Document, KeyFacts, Perspective, Span, Tree, content_id
from redraft.errors import RunError, UsageError
from redraft.evaluators.base import statements_of
from redraft.evaluators.consistency import CONSISTENT, Consistency
from redraft.evaluators.coverage import Coverage
from redraft.evaluators.faithfulness import SUPPORTED, Faithfulness
from redraft.evaluators.keyfact_recall import STATED, KeyfactRecall
from redraft.evaluators.reference.keyfacts import ORPHANED, UNJUDGED, trees_for
from redraft.lab.agreement.sheets import KINDS, SheetRow
from redraft.report.history.judges import judges_of
from redraft.report.history.results import document_read, read_result
from redraft.store.store import Store
from redraft.text.retrieval import Passages
from redraft.text.tokens import tokenizer_named

_LETTERS = 8
_LONGEST = 32_000
_NEAREST = 2
_Question = tuple[str, bool | None, dict[str, str]]
"""The group of a row, the judge's verdict, and what people are shown by column."""


def cited_and_nearest(document: Document, passages: Passages, words: str, place: Sequence[int] | None = None) -> str:
    """Return the passages of a document that contain the place of a verdict, if it names one, and those nearest to some
    words.

    The nearest ones are always included, so that a sheet never reveals the verdict.
    """
    spans = {passage.span for passage in passages.nearest(words, _NEAREST)}
    if place:
        spans |= {passage.span for passage in passages.holding(Span(place[0], place[1]))}
    return "\n[...]\n".join(document.text[span.start : span.end] for span in merge_spans(spans))


class _JudgedRun:
    """A run with what its rows are made of: the rows of a kind of sheet are those of one of its methods."""

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
    def _passages(self) -> Passages:
        return Passages(self.document, tokenizer_named(self.run.tokenizer))

    def _around(self, words: str, place: Sequence[int] | None = None) -> str:
        """Return the passages that people need to see along with some words about the document."""
        return cited_and_nearest(self.document, self._passages, words, place)

    def _items(self, metric: str, detail: str) -> list[Mapping[str, Any]]:
        """Return the items of a metric that have a verdict."""
        evaluation = self.result.evaluations.get(metric)
        listed = evaluation.details.get(detail) if evaluation else None
        return [item for item in (listed if isinstance(listed, list) else ()) if item["verdict"] != UNJUDGED]

    def of_trees(self, what: str) -> Iterator[_Question]:
        """Yield every verdict of the validator on a fact, or the queries, by dimension. A fact below a pruned one has
        been pruned without a verdict, and one that a validator left open has none."""
        if self.keyfacts is None:
            raise RunError(f"run {self.run.id} has no key facts", hint=KINDS[what].needs)
        for tree in self.keyfacts.trees:
            head, passage = {"perspective": tree.perspective}, self.document.text[tree.span.start : tree.span.end]
            if what == "queries":
                facts = "\n".join(f"- {fact.text}" for fact in tree.kept)
                for dimension in KINDS[what].dimensions if tree.query else ():
                    columns = {"question": tree.query, "facts": facts, "passage": passage}
                    yield dimension, None, {**head, "dimension": dimension, **columns}
                continue
            for fact in tree.facts:
                against = {objection.dimension for objection in fact.objections}
                for dimension in KINDS[what].dimensions if not against & {ORPHANED, UNJUDGED} else ():
                    columns = {"dimension": dimension, "fact": fact.text, "passage": passage}
                    yield dimension, dimension not in against, {**head, **columns}

    def verdicts(self, what: str) -> Iterator[_Question]:
        """Yield the key facts with the whole summary, the sentences with what the judge saw (the chunk of a query, else
        passages of the document), or the claims as questions with the summary's answers."""
        if what == "alignment":
            for fact in self._items(KeyfactRecall.name, "facts"):
                yield fact["level"], fact["verdict"] == STATED, {"fact": fact["fact"], "summary": self.summary}
        elif what == "verification":
            trees: Sequence[Tree] = ()
            if self.run.settings.query is not None and self.keyfacts and not self._reads_document:
                trees = trees_for(self.keyfacts, self.run.settings.query, get_args(Perspective))
            for item in self._items(Faithfulness.name, "sentences"):
                line = self.statements[item["id"]]
                passages = self.document.text[trees[0].span.start : trees[0].span.end] if trees else ""
                passages = passages or self._around(f"{line.before} {line.sentence}", item.get("place"))
                columns = {"sentence before": line.before, "sentence": line.sentence, "passages": passages}
                is_right = item["verdict"] == SUPPORTED
                yield "" if is_right else item["verdict"], is_right, columns
        else:
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
    rows = run.of_trees(what) if what in ("facts", "queries") else run.verdicts(what)
    if what in ("questions", "answers"):
        rows = run.questions() if what == "questions" else run.answers()
    judge = run.keyfacts.validator if what == "facts" and run.keyfacts else run.judge
    for group, right, about in rows:
        columns = {"document": run.document.title, **about}
        words = content_id("\n".join(text for column, text in columns.items() if column != "passages"))[:_LETTERS]
        cells = {column: text[:_LONGEST] for column, text in columns.items()}
        question = kind.dimensions.get(group, kind.asked)
        yield SheetRow(f"{run.run.id}/{what}/{words}", cells, right, group, question, judge)


def questions(store: Store, runs: Sequence[str], what: str) -> list[SheetRow]:
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
