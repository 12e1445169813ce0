"""Exporting and importing packs, with checks against the document."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import TypeVar

from redraft.domain import (
    Document,
    Evidence,
    KeyFact,
    KeyFacts,
    Level,
    Pack,
    Tree,
)
from redraft.errors import PackError, RunCommand
from redraft.evaluators.reference.keyfacts import keyfacts_id, middle_of
from redraft.evaluators.reference.pack_file import (
    AGAIN,
    PackContents,
    PackFile,
    names,
    opened,
    pack_id,
    shaped,
)
from redraft.store.shelf import QuestionSets
from redraft.store.store import Store
from redraft.text.sanitizer import one_line
from redraft.text.words import has_words

PartT = TypeVar("PartT", Pack, KeyFacts)

_ABOVE: dict[Level, Level] = {"branch": "root", "leaf": "branch"}
_ROUNDING = 1e-9
# In characters: a second or two.
_MAX_SEARCHED = 1_000_000_000


@dataclass(frozen=True, slots=True)
class PackFileChecker:
    """Checks the file at `place` against its document."""

    document: Document
    place: str

    def check(self, file: PackFile) -> tuple[Pack | None, KeyFacts | None]:
        """Return the questions and the key facts of the file; raises if any of them does not fit the document."""
        parts = (self._problems, self._keyfact_problems, self._question_problems)
        for problem in chain.from_iterable(problems(file) for problems in parts):
            raise PackError(problem, place=self.place, fix=AGAIN)
        pack = None
        if file.questions and file.id and file.model:
            hashes, missing = file.prompt_hashes, file.missing
            pack = Pack(file.id, self.document.id, file.model, hashes, file.questions, missing, imported=True)
        return pack, file.keyfacts

    def _problems(self, file: PackFile) -> Iterator[str]:
        """Yield what is wrong with the file as a whole. More evidence without a place than can be looked for in the
        document in a moment is refused."""
        if not file.questions and not file.keyfacts:
            yield "there are no questions and no key facts in it"
        trees = file.keyfacts.trees if file.keyfacts else ()
        evidences = [question.evidence for question in file.questions]
        evidences += [fact.evidence for tree in trees for fact in tree.facts]
        searched = sum(bool(evidence.text) for evidence in evidences if evidence.span is None)
        if searched * len(self.document.text) > _MAX_SEARCHED:
            yield f"it has {searched:,} pieces of evidence without their places in the document"

    def _question_problems(self, file: PackFile) -> Iterator[str]:
        pack_name = one_line(file.id or "", 20)
        if not file.questions:
            if file.id is not None:
                yield f"there are no questions in pack {pack_name}"
            return
        if file.id is None or file.model is None:
            yield "it does not say which questions these are, and by whom"
        for rank, question in enumerate(file.questions, 1):
            where = f"question {rank}"
            if question.id != rank:
                yield f"{where} has the rank {question.id}"
            if not (has_words(question.text) and has_words(question.answer)):
                yield f"{where} has no words, or its answer has none"
            yield from self._evidence_problems(question.evidence, where)
        if len({one_line(question.text).casefold() for question in file.questions}) < len(file.questions):
            yield "a question is in it twice"
        if pack_id(self.document.id, file.questions) != file.id:
            yield f"its questions are not those of pack {pack_name}: the file was changed"

    def _keyfact_problems(self, file: PackFile) -> Iterator[str]:
        if (keyfacts := file.keyfacts) is None:
            return
        trees = keyfacts.trees
        for number, tree in enumerate(trees, 1):
            yield from self._tree_problems(tree, f"tree {number}")
        # In document order, one per stretch and perspective.
        if len({(tree.chunk, tree.perspective) for tree in trees}) < len(trees):
            yield "there are two trees of the same chunk from the same perspective"
        for number, (before, tree) in enumerate(pairwise(trees), 2):
            same = tree.chunk == before.chunk and tree.span == before.span
            if not same and not (tree.chunk > before.chunk and tree.span.start >= before.span.end):
                yield f"tree {number} is not in its place"
        if not any(tree.kept for tree in trees):
            yield "all of its key facts were pruned"
        if keyfacts_id(self.document.id, trees) != keyfacts.id:
            yield f"its key facts are not those with the id {one_line(keyfacts.id, 20)}: the file was changed"

    def _tree_problems(self, tree: Tree, where: str) -> Iterator[str]:
        """Yield what is wrong with a tree. Depth first, every fact follows a parent of the level above, which excludes
        cycles, and no fact survives its parent."""
        length = len(self.document.text)
        if not 0 <= tree.span.start < tree.span.end <= length:
            yield f"{where} is about a place that is not in the document"
        if abs(tree.position - middle_of(tree.span, length)) > _ROUNDING:
            yield f"{where} is not at the position {tree.position}"
        latest: dict[Level, KeyFact] = {}
        for number, fact in enumerate(tree.facts, 1):
            fact_name, above = f"fact {number} of {where}", latest.get(_ABOVE.get(fact.level, "leaf"))
            if fact.id != number:
                yield f"{fact_name} has the number {fact.id}"
            if not has_words(fact.text):
                yield f"{fact_name} has no words"
            yield from self._evidence_problems(fact.evidence, fact_name)
            if fact.level == "root":
                above, latest = None, {}
            if fact.parent != (above.id if above else None) or (above is None and fact.level != "root"):
                yield f"{fact_name} is not under a {_ABOVE.get(fact.level, 'tree')}"
            if above and fact.kept and not above.kept:
                yield f"{fact_name} was kept, and the {above.level} above it was not"
            latest[fact.level] = fact
        if tree.query and not (tree.kept and has_words(tree.query)):
            yield f"the query of {where} has no words, or nothing that answers it"

    def _evidence_problems(self, evidence: Evidence, where: str) -> Iterator[str]:
        (text, span), document = (evidence.text, evidence.span), self.document.text
        valid = span is None or 0 <= span.start < span.end <= len(document)
        if not valid or (text not in document if span is None else document[slice(*span)] != text):
            yield f"the evidence of {where} is not at that place in the document"


def import_pack(store: Store, data: bytes, document: Document | None, place: str) -> PackContents:
    """Store an exported pack once all of it has been checked; its document is judged by it from then on."""
    content = opened(data, place)
    if about := names(content):
        # Before the other checks, which take time.
        key, title = about[0], one_line(about[1], 60)
        if document is not None and document.id != key:
            hint = "give the file that it was built from: one changed character makes a different document"
            raise PackError(f"the pack is about another document, {title!r}", place=place, hint=hint)
        if document is None and not store.documents.has(key):
            fix = ("give the document too: ", RunCommand("pack import", more=("SOURCE", "PACK")))
            raise PackError(f"its document, {title!r}, is not in this database", place=place, fix=fix)
        document = document or store.documents.get(key)
    file = shaped(content, place)
    assert document is not None, "a pack without a document has no shape"
    pack, keyfacts = PackFileChecker(document, place).check(file)
    store.documents.add(document)
    _shelve(store.packs, pack)
    _shelve(store.keyfacts, keyfacts)
    return PackContents(document, pack, keyfacts)


def _shelve(shelf: QuestionSets[PartT], part: PartT | None) -> None:
    if part is not None:
        shelf.add(part, "imported")
        shelf.prefer(part.id)
