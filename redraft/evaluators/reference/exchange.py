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
    Pack,
    PackQuestion,
    Tree,
    TypedQuestion,
    TypedQuestions,
    third_of,
)
from redraft.errors import PackError
from redraft.evaluators.reference.keyfacts import keyfacts_id, middle_of
from redraft.evaluators.reference.pack_file import (
    AGAIN,
    PackContents,
    PackFile,
    TypedQuestionEntry,
    TypedSection,
    names,
    opened,
    pack_id,
    shaped,
    typed_id,
)
from redraft.store.store import Store
from redraft.text.sanitizer import one_line
from redraft.text.words import has_words, words_key

_ABOVE: dict[Level, Level] = {"branch": "root", "leaf": "branch"}
_ROUNDING = 1e-9
# In characters: a second or two.
_MAX_SEARCHED = 1_000_000_000


@dataclass(frozen=True, slots=True)
class PackFileChecker:
    """Checks the file at `place` against its document."""

    document: Document
    place: str

    def check(self, given: PackFile) -> tuple[Pack | None, KeyFacts | None, TypedQuestions | None]:
        """Return the questions, key facts and typed questions of the file; raises if any of them does not fit the
        document."""
        if not given.questions and not given.keyfacts and not given.typed:
            self._refuse("there are no questions and no key facts in it")
        self._affordable(given)
        if given.keyfacts:
            self._check_keyfacts(given.keyfacts)
        return self._pack(given), given.keyfacts, self._typed(given.typed) if given.typed else None

    def _affordable(self, given: PackFile) -> None:
        """Refuse more evidence without a place than can be looked for in the whole document in a moment."""
        trees = given.keyfacts.trees if given.keyfacts else ()
        evidences = [question.evidence for question in given.questions]
        evidences += [fact.evidence for tree in trees for fact in tree.facts]
        searched = sum(bool(evidence.text) for evidence in evidences if evidence.span is None)
        if searched * len(self.document.text) > _MAX_SEARCHED:
            self._refuse(f"it has {searched:,} pieces of evidence without their places in the document")

    def _refuse(self, why: str) -> NoReturn:
        raise PackError(why, place=self.place, hint=AGAIN)

    def _pack(self, given: PackFile) -> Pack | None:
        if not given.questions:
            if given.id is not None:
                self._refuse(f"there are no questions in pack {one_line(given.id, 20)}")
            return None
        if given.id is None or given.model is None:
            self._refuse("it does not say which questions these are, and by whom")
        for rank, question in enumerate(given.questions, 1):
            self._check_question(rank, question)
        self._differ(given.questions, "question")
        if pack_id(self.document.id, given.questions) != given.id:
            self._refuse(f"its questions are not those of pack {one_line(given.id, 20)}: the file was changed")
        about = self.document.id
        return Pack(given.id, about, given.model, given.prompt_hashes, given.questions, given.missing, imported=True)

    def _differ(self, questions: Sequence[PackQuestion | TypedQuestion], what: str) -> None:
        if len({one_line(question.text).casefold() for question in questions}) < len(questions):
            self._refuse(f"a {what} is in it twice")

    def _check_question(self, rank: int, given: PackQuestion) -> None:
        where = f"question {rank}"
        if given.id != rank:
            self._refuse(f"{where} has the rank {given.id}")
        if not (has_words(given.text) and has_words(given.answer)):
            self._refuse(f"{where} has no words, or its answer has none")
        self._check_evidence(given.evidence, where)

    def _typed(self, given: TypedSection) -> TypedQuestions:
        if not 0 < given.end <= len(self.document.text):
            self._refuse("its typed questions are about more than there is of the document")
        questions = tuple(self._typed_question(at, entry, given.end) for at, entry in enumerate(given.questions, 1))
        self._differ(questions, "typed question")
        if typed_id(self.document.id, given.end, questions) != given.id:
            self._refuse(
                f"its typed questions are not those with the id {one_line(given.id, 20)}: the file was changed"
            )
        hashes, missing = given.prompt_hashes, given.missing
        return TypedQuestions(
            given.id, given.document, given.model, hashes, given.end, questions, missing, imported=True
        )

    def _typed_question(self, rank: int, given: TypedQuestionEntry, end: int) -> TypedQuestion:
        where = f"typed question {rank}"
        if given.id != rank:
            self._refuse(f"{where} has the rank {given.id}")
        paragraph = given.paragraph
        if not 0 <= paragraph.start < paragraph.end <= end:
            self._refuse(f"{where} is about a place that was not asked about")
        if third_of(paragraph, end) != given.third:
            self._refuse(f"{where} is not about the {given.third}")
        question = TypedQuestion(rank, given.type, given.text, given.answer, given.reason, paragraph)
        if flaw := flaw_of(question, self.document.text[paragraph.start : paragraph.end]):
            self._refuse(f"{where} {flaw}")
        return question

    def _check_keyfacts(self, found: KeyFacts) -> None:
        for number, tree in enumerate(found.trees, 1):
            self._check_tree(number, tree)
        self._in_order(found.trees)
        if not any(tree.kept for tree in found.trees):
            self._refuse("all of its key facts were pruned")
        if keyfacts_id(self.document.id, found.trees) != found.id:
            self._refuse(f"its key facts are not those with the id {one_line(found.id, 20)}: the file was changed")

    def _check_tree(self, number: int, tree: Tree) -> None:
        where, length = f"tree {number}", len(self.document.text)
        if not 0 <= tree.span.start < tree.span.end <= length:
            self._refuse(f"{where} is about a place that is not in the document")
        if abs(tree.position - middle_of(tree.span, length)) > _ROUNDING:
            self._refuse(f"{where} is not at the position {tree.position}")
        for at, fact in enumerate(tree.facts, 1):
            self._check_fact(at, fact, where)
        self._hang_together(tree.facts, where)
        if tree.query and not (tree.kept and has_words(tree.query)):
            self._refuse(f"the query of {where} has no words, or nothing that answers it")

    def _check_fact(self, number: int, fact: KeyFact, where: str) -> None:
        where = f"fact {number} of {where}"
        if fact.id != number:
            self._refuse(f"{where} has the number {fact.id}")
        if not has_words(fact.text):
            self._refuse(f"{where} has no words")
        self._check_evidence(fact.evidence, where)

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

    def _check_evidence(self, given: Evidence, where: str) -> None:
        (text, span), document = (given.text, given.span), self.document.text
        if span is None:
            there = text in document
        else:
            there = 0 <= span.start < span.end <= len(document) and document[slice(*span)] == text
        if not there:
            self._refuse(f"the evidence of {where} is not at that place in the document")


def flaw_of(one: TypedQuestion, paragraph: str) -> str:
    """Return why a question is not of its type, or an empty string."""
    if not has_words(one.text):
        return "has no words"
    if one.type == "unanswerable":
        return "has an answer" if one.answer or one.reason else ""
    if not has_words(one.answer):
        return "has no answer"
    if one.type == "binary":
        if one.answer not in ("yes", "no"):
            return "is answered with neither yes nor no"
        return "" if has_words(one.reason) else "has no reason"
    if one.reason:
        return "has a reason, which only yes and no have"
    stands = one.type != "extractive" or f" {words_key(one.answer)} " in f" {words_key(paragraph)} "
    return "" if stands else "has an answer that is not in its paragraph"


_IMPORTED = "imported"


def import_pack(store: Store, data: bytes, document: Document | None, place: str) -> PackContents:
    """Store an exported pack once all of it has been checked; its document is judged by it from then on."""
    content = opened(data, place)
    if about := names(content):
        # Before the other checks, which take time.
        document = _its_document(store, document, *about, place)
    file = shaped(content, place)
    assert document is not None, "a pack without a document has no shape"
    pack, keyfacts, typed = PackFileChecker(document, place).check(file)
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
