"""Exporting and importing packs, with checks against the document."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NoReturn

from redraft.domain import (
    Document,
    Evidence,
    KeyFact,
    KeyFacts,
    Level,
    Objection,
    Pack,
    PackQuestion,
    Span,
    Tree,
    TypedQuestion,
    TypedQuestions,
    third_of,
)
from redraft.errors import PackError
from redraft.evaluators.reference.keyfacts import keyfacts_id, middle_of
from redraft.evaluators.reference.pack_file import (
    AGAIN,
    GivenEvidence,
    GivenFact,
    GivenPack,
    GivenQuestion,
    GivenTree,
    GivenTyped,
    GivenTypedQuestion,
    PackContents,
    names,
    opened,
    pack_id,
    shaped,
)
from redraft.evaluators.reference.typed import flaw_of, typed_id
from redraft.store.store import Store
from redraft.text.sanitizer import one_line
from redraft.text.words import count_words

_ABOVE: dict[Level, Level] = {"branch": "root", "leaf": "branch"}
_ROUNDING = 1e-9
# In characters: a second or two.
_MOST_SEARCHED = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Checker:
    """Checks the file at `place` against its document."""

    document: Document
    place: str

    def check(self, given: GivenPack) -> tuple[Pack | None, KeyFacts | None, TypedQuestions | None]:
        """Return the questions, key facts and typed questions of the file; raises if any of them does not fit the
        document."""
        if not given.questions and not given.keyfacts and not given.typed:
            self._refuse("there are no questions and no key facts in it")
        self._affordable(given)
        return self._pack(given), self._keyfacts(given), self._typed(given.typed)

    def _affordable(self, given: GivenPack) -> None:
        """Refuse more evidence without a place than can be looked for in the whole document in a moment."""
        trees = given.keyfacts.trees if given.keyfacts else ()
        told = [one.evidence for one in given.questions]
        told += [fact.evidence for tree in trees for fact in tree.facts]
        searched = sum(bool(one.text) for one in told if one.span is None)
        if searched * len(self.document.text) > _MOST_SEARCHED:
            self._refuse(f"it has {searched:,} pieces of evidence without their places in the document")

    def _refuse(self, why: str) -> NoReturn:
        raise PackError(why, place=self.place, hint=AGAIN)

    def _pack(self, given: GivenPack) -> Pack | None:
        if not given.questions:
            if given.id is not None:
                self._refuse(f"there are no questions in pack {one_line(given.id, 20)}")
            return None
        if given.id is None or given.model is None:
            self._refuse("it does not say which questions these are, and by whom")
        questions = tuple(self._question(at, one) for at, one in enumerate(given.questions, 1))
        if len({one_line(question.text).casefold() for question in questions}) < len(questions):
            self._refuse("a question is in it twice")
        if pack_id(self.document.id, questions) != given.id:
            self._refuse(f"its questions are not those of pack {one_line(given.id, 20)}: the file was changed")
        missing = tuple(given.missing)
        return Pack(given.id, self.document.id, given.model, given.prompt_hashes, questions, missing, imported=True)

    def _question(self, rank: int, given: GivenQuestion) -> PackQuestion:
        where = f"question {rank}"
        if given.rank != rank:
            self._refuse(f"{where} has the rank {given.rank}")
        if not (count_words(given.question) and count_words(given.answer)):
            self._refuse(f"{where} has no words, or its answer has none")
        evidence = self._evidence(given.evidence, where)
        return PackQuestion(rank, given.question, given.kind, given.answer, evidence, given.position)

    def _typed(self, given: GivenTyped | None) -> TypedQuestions | None:
        if given is None:
            return None
        if not 0 < given.end <= len(self.document.text):
            self._refuse("its typed questions are about more than there is of the document")
        questions = tuple(self._typed_question(at, one, given.end) for at, one in enumerate(given.questions, 1))
        if len({one_line(question.text).casefold() for question in questions}) < len(questions):
            self._refuse("a typed question is in it twice")
        if typed_id(self.document.id, given.end, questions) != given.id:
            self._refuse(
                f"its typed questions are not those with the id {one_line(given.id, 20)}: the file was changed"
            )
        about, missing = self.document.id, tuple(given.missing)
        hashes = given.prompt_hashes
        return TypedQuestions(given.id, about, given.model, hashes, given.end, questions, missing, imported=True)

    def _typed_question(self, rank: int, given: GivenTypedQuestion, end: int) -> TypedQuestion:
        where = f"typed question {rank}"
        if given.rank != rank:
            self._refuse(f"{where} has the rank {given.rank}")
        paragraph = Span(*given.paragraph)
        if not 0 <= paragraph.start < paragraph.end <= end:
            self._refuse(f"{where} is about a place that was not asked about")
        if third_of(paragraph, end) != given.third:
            self._refuse(f"{where} is not about the {given.third}")
        made = TypedQuestion(rank, given.type, given.question, given.answer, given.reason, paragraph)
        if flaw := flaw_of(made, self.document.text[paragraph.start : paragraph.end]):
            self._refuse(f"{where} {flaw}")
        return made

    def _keyfacts(self, given: GivenPack) -> KeyFacts | None:
        found = given.keyfacts
        if found is None:
            return None
        trees = tuple(self._tree(number, one) for number, one in enumerate(found.trees, 1))
        self._in_order(trees)
        if not any(tree.kept for tree in trees):
            self._refuse("all of its key facts were pruned")
        if keyfacts_id(self.document.id, trees) != found.id:
            self._refuse(f"its key facts are not those with the id {one_line(found.id, 20)}: the file was changed")
        return KeyFacts(
            found.id,
            self.document.id,
            found.builder,
            found.validator,
            found.prompt_hashes,
            trees,
            tuple(found.missing),
            imported=True,
        )

    def _tree(self, number: int, given: GivenTree) -> Tree:
        where = f"tree {number}"
        span, length = Span(*given.span), len(self.document.text)
        if not 0 <= span.start < span.end <= length:
            self._refuse(f"{where} is about a place that is not in the document")
        if abs(given.position - middle_of(span, length)) > _ROUNDING:
            self._refuse(f"{where} is not at the position {given.position}")
        facts = tuple(self._fact(at, one, where) for at, one in enumerate(given.facts, 1))
        self._hang_together(facts, where)
        tree = Tree(given.chunk, given.perspective, span, given.position, facts, given.query)
        if tree.query and not (tree.kept and count_words(tree.query)):
            self._refuse(f"the query of {where} has no words, or nothing that answers it")
        return tree

    def _fact(self, number: int, given: GivenFact, where: str) -> KeyFact:
        where = f"fact {number} of {where}"
        if given.id != number:
            self._refuse(f"{where} has the number {given.id}")
        if not count_words(given.fact):
            self._refuse(f"{where} has no words")
        evidence = self._evidence(given.evidence, where)
        objections = tuple(Objection(one.dimension, one.reason) for one in given.pruned)
        return KeyFact(number, given.level, given.parent, given.fact, evidence, objections)

    def _hang_together(self, facts: Sequence[KeyFact], where: str) -> None:
        """Raise unless, depth first, every fact follows a parent of the level above, and no fact survives its parent.
        This also excludes cycles."""
        latest: dict[Level, KeyFact] = {}
        for fact in facts:
            above = latest.get(_ABOVE[fact.level]) if fact.level in _ABOVE else None
            if fact.parent != (above.id if above else None) or (above is None and fact.level != "root"):
                self._refuse(f"fact {fact.id} of {where} is not under a {_ABOVE.get(fact.level, 'tree')}")
            if above and fact.kept and not above.kept:
                self._refuse(f"fact {fact.id} of {where} was kept, and the {above.level} above it was not")
            latest[fact.level] = fact
            if fact.level == "root":
                latest.pop("branch", None)

    def _in_order(self, trees: Sequence[Tree]) -> None:
        """Raise unless the trees are in document order, one per stretch and perspective."""
        if len({(tree.chunk, tree.perspective) for tree in trees}) < len(trees):
            self._refuse("there are two trees of the same chunk from the same perspective")
        for number, (before, tree) in enumerate(pairwise(trees), 2):
            same = tree.chunk == before.chunk and tree.span == before.span
            if not same and not (tree.chunk > before.chunk and tree.span.start >= before.span.end):
                self._refuse(f"tree {number} is not in its place")

    def _evidence(self, given: GivenEvidence, where: str) -> Evidence:
        text, span, document = given.text, None, self.document.text
        if given.span is not None:
            span = Span(*given.span)
            there = 0 <= span.start < span.end <= len(document) and document[span.start : span.end] == text
        else:
            there = text in document
        if not there:
            self._refuse(f"the evidence of {where} is not at that place in the document")
        return Evidence(text, span)


_IMPORTED = "imported"


def import_pack(store: Store, data: bytes, document: Document | None, place: str) -> PackContents:
    """Store an exported pack once all of it has been checked; its document is judged by it from then on."""
    content = opened(data, place)
    if about := names(content):
        # Before the other checks, which take time.
        document = _its_document(store, document, *about, place)
    given = shaped(content, place)
    assert document is not None, "a pack without a document has no shape"
    pack, keyfacts, typed = Checker(document, place).check(given)
    store.documents.add(document)
    if pack is not None:
        store.packs.add(pack, _IMPORTED)
        store.packs.prefer(pack.id)
    if keyfacts is not None:
        store.keyfacts.add(keyfacts, _IMPORTED)
        store.keyfacts.prefer(keyfacts.id)
    if typed is not None:
        store.typed.add(typed, _IMPORTED)
        store.typed.prefer(typed.id)
    return PackContents(document, pack, keyfacts, typed)


def _its_document(store: Store, document: Document | None, key: str, title: str, place: str) -> Document:
    """Return the document of a pack: the given one, or one in the store."""
    if document is None:
        if not store.documents.has(key):
            raise PackError(
                f"its document, {one_line(title, 60)!r}, is not in this database",
                place=place,
                hint="give the document too: redraft pack import SOURCE PACK",
            )
        return store.documents.get(key)
    if document.id != key:
        raise PackError(
            f"the pack is about another document, {one_line(title, 60)!r}",
            place=place,
            hint="give the file that it was built from: one changed character makes a different document",
        )
    return document
