"""What a sheet asks people about runs: each row a thing that a judge has said, without what it has said."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from redraft.agents.factfinder import SUPPORTED
from redraft.domain import Document, Evaluation, KeyFacts, Span, Tree, content_id
from redraft.errors import RunError, UsageError
from redraft.evaluators.alignment import STATED
from redraft.evaluators.base import statements_of
from redraft.evaluators.consensus import OPEN
from redraft.evaluators.consistency import CONSISTENT, Consistency
from redraft.evaluators.faithfulness import Faithfulness
from redraft.evaluators.keyfact_recall import KeyfactRecall
from redraft.history.results import Result, document_read, read_result
from redraft.store.store import Store
from redraft.text.passages import Passages, joined
from redraft.text.tokens import tokenizer_named

What = Literal["facts", "queries", "alignment", "verification", "claims"]
KINDS: tuple[What, ...] = get_args(What)
_LETTERS = 8
# A spreadsheet cuts a cell that holds more.
_LONGEST = 32_000
_NEAREST = 2
_BETWEEN = "\n[...]\n"

ASKED: Mapping[What, str] = {
    "facts": "Does the passage say this, without opinion, and does it matter for what the passage is about?",
    "queries": "Do these facts answer the question, and would a reader of the passage ask it?",
    "alignment": "Does the summary state this fact, if only in other words?",
    "verification": "Does the document bear out all of this sentence?",
    "claims": "Does the document bear out this answer to the question?",
}
"""What people are asked, to be answered by yes or no."""


@dataclass(frozen=True, slots=True)
class Question:
    """A row of a sheet: what people need to see, and what the judge has said of it."""

    id: str
    """The run, what it is about, and what stands for the words: the same whenever the run is read again."""
    shown: Mapping[str, str]
    said: bool | None
    """Yes or no; None for what nobody has judged, such as a query."""
    group: str
    """How rows are counted apart: by the level of a fact, by the kind of an error."""


def questions(store: Store, runs: Sequence[str], what: What) -> list[Question]:
    """All that may be asked about some runs, each thing once, in their order."""
    found: dict[str, Question] = {}
    for key in runs:
        result = read_result(store, key)
        document = document_read(store, result.run)
        for one in _READ[what](store, result, document):
            found.setdefault(one.id, one)
    if not found:
        raise UsageError(
            f"there is nothing to ask about {what} of {'these runs' if len(runs) > 1 else 'this run'}",
            hint=_NEEDS[what],
        )
    return list(found.values())


class Around:
    """The passages of a document that people need to see beside what is said about it."""

    def __init__(self, document: Document, tokenizer: str) -> None:
        self._text = document.text
        self._passages = Passages(document, tokenizer_named(tokenizer))

    def passages(self, words: str, place: Sequence[int] | None) -> str:
        """Those that hold the place that a verdict rests on, where it names one, and those nearest to some words.

        The latter are there in any case, so that nobody can see from a sheet what was said.
        """
        found = {one.span for one in self._passages.nearest(words, _NEAREST)}
        if place:
            found |= {one.span for one in self._passages.holding(Span(place[0], place[1]))}
        return _BETWEEN.join(self._text[span.start : span.end] for span in joined(found))


def _question(
    result: Result, what: What, said: bool | None, group: str, shown: Mapping[str, str], passages: str = ""
) -> Question:
    words = content_id("\n".join(shown.values()))[:_LETTERS]
    cut = {name: text[:_LONGEST] for name, text in {**shown, **({"passages": passages} if passages else {})}.items()}
    return Question(f"{result.run.id}/{what}/{words}", cut, said, group)


def _facts(store: Store, result: Result, document: Document) -> Iterator[Question]:
    """Facts that were validated, those that passed and those that did not."""
    for tree in _keyfacts(store, result).trees:
        for fact in tree.facts:
            shown = {**_place(document, tree), "fact": fact.text, "passage": _passage(document, tree)}
            yield _question(result, "facts", fact.kept, fact.level, shown)


def _queries(store: Store, result: Result, document: Document) -> Iterator[Question]:
    for tree in _keyfacts(store, result).trees:
        if tree.query:
            facts = "\n".join(f"- {fact.text}" for fact in tree.kept)
            shown = {**_place(document, tree), "question": tree.query, "facts": facts}
            shown["passage"] = _passage(document, tree)
            yield _question(result, "queries", None, tree.perspective, shown)


def _alignment(_: Store, result: Result, document: Document) -> Iterator[Question]:
    """Facts that a summary was held against."""
    for fact in _judged(result, KeyfactRecall.name, "facts"):
        shown = {"document": document.title, "fact": fact["fact"], "summary": result.summary or ""}
        yield _question(result, "alignment", fact["verdict"] == STATED, fact["level"], shown)


def _verification(_: Store, result: Result, document: Document) -> Iterator[Question]:
    """Sentences of a summary that were held against the document."""
    statements = {one.id: one for one in statements_of(result.summary or "")}
    around = Around(document, result.run.tokenizer)
    for sentence in _judged(result, Faithfulness.name, "sentences"):
        one = statements[sentence["id"]]
        shown = {"document": document.title, "sentence before": one.before, "sentence": one.sentence}
        right = sentence["verdict"] == SUPPORTED
        passages = around.passages(f"{one.before} {one.sentence}", sentence.get("place"))
        yield _question(result, "verification", right, "" if right else sentence["verdict"], shown, passages)


def _claims(_: Store, result: Result, document: Document) -> Iterator[Question]:
    """What a summary claims, as questions with its own answers."""
    statements = {one.id: one for one in statements_of(result.summary or "")}
    around = Around(document, result.run.tokenizer)
    for claim in _judged(result, Consistency.name, "claims"):
        sentence = statements[claim["sentence"]].sentence
        shown = {"document": document.title, "sentence": sentence}
        shown |= {"question": claim["question"], "answer": claim["found"]}
        right = claim["verdict"] == CONSISTENT
        passages = around.passages(f"{claim['question']} {claim['found']} {sentence}", claim.get("place"))
        yield _question(result, "claims", right, "" if right else claim["verdict"], shown, passages)


def _judged(result: Result, metric: str, items: str) -> Iterator[Mapping[str, Any]]:
    """The items of a metric on which there is a verdict."""
    evaluation: Evaluation | None = result.evaluations.get(metric)
    listed = evaluation.details.get(items) if evaluation else None
    for one in listed if isinstance(listed, list) else ():
        if one["verdict"] not in OPEN:
            yield one


def _keyfacts(store: Store, result: Result) -> KeyFacts:
    """The key facts that a run has built, or that it judges by."""
    judging = result.run.judging
    recall = result.evaluations.get(KeyfactRecall.name)
    key = (judging.keyfacts if judging else None) or (recall.details.get("keyfacts") if recall else None)
    if not isinstance(key, str):
        raise RunError(f"run {result.run.id} has no key facts", hint=_NEEDS["facts"])
    return store.keyfacts.get(key)


def _place(document: Document, tree: Tree) -> dict[str, str]:
    return {"document": document.title, "perspective": tree.perspective}


def _passage(document: Document, tree: Tree) -> str:
    return document.text[tree.span.start : tree.span.end]


_READ: Mapping[What, Callable[[Store, Result, Document], Iterator[Question]]] = {
    "facts": _facts,
    "queries": _queries,
    "alignment": _alignment,
    "verification": _verification,
    "claims": _claims,
}
_NEEDS: Mapping[What, str] = {
    "facts": "name a run of `redraft keyfacts`, or one that was judged by keyfact_recall",
    "queries": "name a run of `redraft keyfacts`, or one that was judged by keyfact_recall",
    "alignment": "name a run that was judged by keyfact_recall",
    "verification": "name a run that was judged by faithfulness",
    "claims": "name a run that was judged by consistency",
}
