"""What a judge gets to read before a claim is said to be missing: true claims accused, false ones found, and the cost.

    python -m benchmarks.evidence --set claims=DIR [--windows N ...]

DIR holds documents (`*.txt`) and claims about each (`NAME.claims.jsonl`: a true and a false sentence, a question with a
true and a false answer, and the quotes that settle both); its default is claims under $REDRAFT_DATA. The judge is an
oracle: it answers, and contradicts a false sentence, only where one of the quotes is in what it is shown; else it says
that there is nothing. Each claim is judged as consistency does it (a question to answer) and as faithfulness does (a
sentence to verify), beside each document alone and beside all of them one after another. It exits with 1 where a bound
is missed: no true claim accused and every false one found, in every window; and a quote among the first four windows of
at least 95 of 100 claims about all documents together.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.common import DATA, options_of, table, use_vocabulary
from redraft.agents.evidence import EvidenceQuery, EvidenceReader
from redraft.agents.examiner import Examiner
from redraft.agents.fact_checker import FactChecker
from redraft.agents.judge import Judge, reply_tokens
from redraft.agents.retrieval import NEAR
from redraft.domain import Document, content_id
from redraft.llm.base import FunctionModel, Line, Request
from redraft.prompts import factual, qa
from redraft.prompts.book import PromptBook
from redraft.prompts.qa import Statement
from redraft.store.store import Store
from redraft.text.retrieval import Passages
from redraft.text.tokens import Tokenizer, tokenizer_named

WINDOWS = (4_000, 8_000, 16_000, 64_000, 128_000)
VOCABULARY_NAME = "o200k_base"
LEAST_IN_FIRST_LOOK = 0.95


@dataclass(frozen=True)
class Claim:
    """A statement about a document, true and false, and the words that settle it."""

    question: str
    true: tuple[str, str]
    """The answer and the sentence."""
    false: tuple[str, str]
    quotes: tuple[str, ...]

    def said(self, *, right: bool) -> tuple[str, str]:
        """What a summary says."""
        return self.true if right else self.false

    def quoted_in(self, texts: Sequence[str]) -> str:
        """The first of the quotes that is in some texts; empty where none is."""
        return next((quote for quote in self.quotes if any(quote in text for text in texts)), "")


@dataclass(frozen=True)
class Told:
    """A document and the claims about it."""

    name: str
    document: Document
    claims: tuple[Claim, ...]


@dataclass
class Oracle:
    """Knows the claims, and says only what the passages before it show. It counts what it is sent."""

    claims: Sequence[Claim]
    right: bool
    tokenizer: Tokenizer
    book: PromptBook
    sent: int = 0
    read: int = 0
    _by_question: dict[str, Claim] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._by_question = {one.question: one for one in self.claims}
        self._by_question |= {one.said(right=self.right)[1]: one for one in self.claims}

    def __call__(self, request: Request[Any, Any]) -> Line:
        """The reply to a prompt."""
        passages = request.given.texts
        self.sent += self.tokenizer.count(self.book.render(request.prompt, request.given))
        self.read += sum(map(self.tokenizer.count, passages))
        if isinstance(request.given, qa.AnswerFromDocumentInput):
            return qa.DocumentAnswers(answers=[self._answer(one, passages) for one in request.given.questions])
        return factual.Verifications(sentences=[self._verified(one, passages) for one in request.given.sentences])

    def _answer(self, asked: qa.QuestionItem, passages: Sequence[str]) -> qa.DocumentAnswer:
        claim = self._by_question[asked.question]
        quote = claim.quoted_in(passages)
        answer = claim.true[0] if quote else ""
        return qa.DocumentAnswer(id=asked.id, quote=quote, answered=bool(quote), answer=answer)

    def _verified(self, asked: Statement, passages: Sequence[str]) -> factual.Verification:
        quote = self._by_question[asked.sentence].quoted_in(passages)
        shown: factual.Category = "none" if self.right else "relation"
        category: factual.Category = shown if quote else "out_of_article"
        return factual.Verification(id=asked.id, reason="as the passages have it", quote=quote, category=category)


@dataclass
class Row:
    """What came of the claims in one window."""

    claims: int = 0
    accused: int = 0
    found: int = 0
    undecided: int = 0
    sent: int = 0
    readings: float = 0.0
    in_first_look: int = 0

    def __add__(self, other: Row) -> Row:
        return Row(*(getattr(self, name) + getattr(other, name) for name in self.__dataclass_fields__))


def told_in(folder: Path) -> list[Told]:
    """The documents of a folder with their claims."""
    found = []
    for path in sorted(folder.glob("*.txt")):
        lines = path.with_suffix(".claims.jsonl").read_text("utf-8").splitlines()
        claims = tuple(_claim(json.loads(line)) for line in lines)
        found.append(Told(path.stem, _document(path.stem, path.read_text("utf-8")), claims))
    return found


def _document(name: str, text: str) -> Document:
    return Document(content_id(text), name, text)


def _claim(one: dict[str, Any]) -> Claim:
    true, false = (one["answer"], one["sentence"]), (one["false_answer"], one["false_sentence"])
    return Claim(one["question"], true, false, tuple(one["quotes"]))


def joined(told: Sequence[Told]) -> Told:
    """All documents one after another, and all claims."""
    text = "\n\n".join(one.document.text for one in told)
    return Told("all", _document("all", text), tuple(claim for one in told for claim in one.claims))


@dataclass(frozen=True)
class Bench:
    """Judges claims about documents."""

    store: Store
    tokenizer: Tokenizer
    book: PromptBook = field(default_factory=PromptBook)

    def reader(self, told: Told, window: int) -> EvidenceReader:
        """Where a judge with such a window looks things up."""
        passages = Passages(told.document, self.tokenizer)
        return EvidenceReader(
            told.document, passages, self.tokenizer, window, self.tokenizer.count(told.document.text), reading="auto"
        )

    async def row(self, told: Told, window: int, *, answers: bool) -> Row:
        """The claims as questions to be answered, or as sentences to be verified."""
        reader, row = self.reader(told, window), Row(len(told.claims))
        for right in (True, False):
            oracle = Oracle(told.claims, right, self.tokenizer, self.book)
            model = FunctionModel(oracle, f"oracle of {told.name} {window} {answers} {right}")
            judge = Judge(model, self.book, self.store.judgments, reply_tokens=reply_tokens(window))
            held = self._answered if answers else self._verified
            for verdict in await held(judge, reader, told.claims, right=right):
                row.undecided += verdict is None
                row.accused += right and verdict is False
                row.found += not right and verdict is False
            row.sent += oracle.sent
            row.readings += oracle.read / reader.document_tokens / 2
        return row

    async def _answered(
        self, judge: Judge, reader: EvidenceReader, claims: Sequence[Claim], *, right: bool
    ) -> list[bool | None]:
        wanted = [EvidenceQuery(one.question, one.said(right=right)) for one in claims]
        found = await Examiner(judge).answers_from_document(wanted, reader)
        verdicts: list[bool | None] = []
        for n, claim in enumerate(claims):
            answer = found.verdicts.get(n)
            # Of a false claim nothing but another answer of the document's is a finding.
            silent = answer is not None and not answer.answered
            undecided = answer is None or (silent and not right)
            verdicts.append(None if undecided or answer is None else answer.answer == claim.said(right=right)[0])
        return verdicts

    async def _verified(
        self, judge: Judge, reader: EvidenceReader, claims: Sequence[Claim], *, right: bool
    ) -> list[bool | None]:
        statements = [Statement(id=n, sentence=one.said(right=right)[1]) for n, one in enumerate(claims, 1)]
        found = await FactChecker(judge).verify(statements, reader, None)
        said = [found.verdicts[n].category if n in found.verdicts else None for n in range(len(claims))]
        silent = None if not right else False
        named = {None: None, "none": True, "out_of_article": silent}
        return [named.get(one, False) for one in said]

    def in_first_look(self, told: Told) -> int:
        """For how many of the true claims a quote is among the windows that are read first."""
        reader = self.reader(told, WINDOWS[-1])
        read = (
            [reader.text(span) for span in reader.wanted(EvidenceQuery(one.question, one.true), NEAR)]
            for one in told.claims
        )
        return sum(bool(one.quoted_in(texts)) for one, texts in zip(told.claims, read, strict=True))


async def rows(told: Sequence[Told], windows: Sequence[int]) -> Iterator[tuple[str, int, bool, Row]]:
    """By what is read, window and kind what comes of it."""
    found = []
    with tempfile.TemporaryDirectory() as folder, Store(Path(folder) / "redraft.db") as store:
        runner = Bench(store, tokenizer_named(VOCABULARY_NAME))
        for name, documents in (("alone", list(told)), ("all joined", [joined(told)])):
            first = sum(runner.in_first_look(one) for one in documents)
            for window in windows:
                for answers in (True, False):
                    each = [await runner.row(one, window, answers=answers) for one in documents]
                    row = sum(each, Row())
                    row.readings /= len(documents)
                    row.in_first_look = first
                    found.append((name, window, answers, row))
    return iter(found)


def report(found: Sequence[tuple[str, int, bool, Row]]) -> bool:
    """The table, and the result in one line; whether all bounds are kept."""
    head = ("documents", "window", "held as", "true accused", "false found", "undecided", "quote in first look")
    lines: list[tuple[object, ...]] = [(*head, "tokens a claim", "readings")]
    for name, window, answers, row in found:
        counts = (f"{row.accused} of {row.claims}", f"{row.found} of {row.claims}", row.undecided)
        share = f"{100 * row.in_first_look / row.claims:.1f}%"
        cost = (round(row.sent / 2 / row.claims), f"{row.readings:.2f}")
        lines.append((name, f"{window:,}", "questions" if answers else "sentences", *counts, share, *cost))
    table(lines)
    accused, found_least = max(row.accused for *_, row in found), min(row.found for *_, row in found)
    claims = found[0][3].claims
    first = found[-1][3].in_first_look / claims
    kept = accused == 0 and found_least == claims and first >= LEAST_IN_FIRST_LOOK
    print(
        f"\n{'kept' if kept else 'MISSED'}: at most {accused} of {claims} true claims accused, at least {found_least}"
        f" of {claims} false ones found, a quote in the first look for {100 * first:.1f}% (all joined)"
    )
    return kept


def main() -> None:
    """The command."""
    parser = options_of(__doc__)
    parser.add_argument("--claims", type=Path, default=DATA / "claims")
    parser.add_argument("--windows", type=int, nargs="*", default=WINDOWS)
    given = parser.parse_args()
    told = told_in(given.claims) if given.claims.is_dir() else []
    if not told:
        sys.exit(f"skipped: {given.claims} holds no documents with claims")
    use_vocabulary()
    found = asyncio.run(rows(told, given.windows))
    sys.exit(0 if report(list(found)) else 1)


if __name__ == "__main__":
    main()
