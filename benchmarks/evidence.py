"""What a judge gets to read before a claim is said to be missing: true claims accused, false ones found, and the cost.

    python -m benchmarks.evidence [--claims DIR] [--windows N ...]

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
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from benchmarks.common import DATA, fresh, options_of, table, use_vocabulary
from redraft.agents.evidence import NEAR, EvidenceQuery, EvidenceReader
from redraft.agents.examiner import answers_from_document
from redraft.agents.judge import Judge, reply_rooms
from redraft.domain import Document, content_id
from redraft.evaluators.factual import verify_sentences
from redraft.llm.base import FunctionModel, Line, Request
from redraft.prompts import factual, qa
from redraft.prompts.book import PromptBook
from redraft.prompts.qa import Statement
from redraft.store.store import Store
from redraft.text.retrieval import Passages
from redraft.text.tokens import tokenizer_named

WINDOWS = (4_000, 8_000, 16_000, 64_000, 128_000)
LEAST_IN_FIRST_LOOK = 0.95
_BOOK = PromptBook()


@dataclass(frozen=True)
class Claim:
    """A statement about a document, true and false, each as an answer and a sentence, and the words that settle it."""

    question: str
    true: tuple[str, str]
    false: tuple[str, str]
    quotes: tuple[str, ...]

    def stated(self, *, right: bool) -> tuple[str, str]:
        """The answer and the sentence of a summary."""
        return self.true if right else self.false

    def quoted_in(self, texts: Sequence[str]) -> str:
        """The first of the quotes that is in some texts; empty where none is."""
        return next((quote for quote in self.quotes if any(quote in text for text in texts)), "")


@dataclass(frozen=True)
class Reading:
    """A document and the claims about it."""

    document: Document
    claims: tuple[Claim, ...]

    def evidence(self, window: int) -> EvidenceReader:
        """Where a judge with such a window looks things up."""
        tokenizer = tokenizer_named("o200k_base")
        passages, tokens = Passages(self.document, tokenizer), tokenizer.count(self.document.text)
        return EvidenceReader(self.document, passages, tokenizer, window, tokens, reading="auto")

    def in_first_look(self) -> int:
        """For how many of the true claims a quote is among the windows that are read first."""
        evidence = self.evidence(WINDOWS[-1])
        spans = (evidence.wanted(EvidenceQuery(claim.question, claim.true), NEAR) for claim in self.claims)
        texts = ([evidence.text(span) for span in found] for found in spans)
        return sum(bool(claim.quoted_in(shown)) for claim, shown in zip(self.claims, texts, strict=True))


class Oracle:
    """Knows the claims, and says only what the passages before it show. It counts what it is sent."""

    def __init__(self, claims: Sequence[Claim], right: bool) -> None:
        self._claims = {claim.question: claim for claim in claims}
        self._claims |= {claim.stated(right=right)[1]: claim for claim in claims}
        self._count = tokenizer_named("o200k_base").count
        self._contradiction: factual.Category = "none" if right else "relation"
        self.sent = self.read = 0

    def __call__(self, request: Request[Any, Any]) -> Line:
        """The reply to a prompt."""
        passages = request.given.texts
        self.sent += self._count(_BOOK.render(request.prompt, request.given))
        self.read += sum(map(self._count, passages))
        if isinstance(request.given, qa.AnswerFromDocumentInput):
            return qa.DocumentAnswers(answers=[self._answer(item, passages) for item in request.given.questions])
        return factual.Verifications(sentences=[self._verified(item, passages) for item in request.given.sentences])

    def _answer(self, item: qa.QuestionItem, passages: Sequence[str]) -> qa.DocumentAnswer:
        claim = self._claims[item.question]
        quote = claim.quoted_in(passages)
        return qa.DocumentAnswer(id=item.id, quote=quote, answered=bool(quote), answer=claim.true[0] if quote else "")

    def _verified(self, item: Statement, passages: Sequence[str]) -> factual.Verification:
        quote = self._claims[item.sentence].quoted_in(passages)
        category = self._contradiction if quote else "out_of_article"
        return factual.Verification(id=item.id, reason="as the passages have it", quote=quote, category=category)


@dataclass
class Row:
    """What came of the claims in one window."""

    claims: int = 0
    accused: int = 0
    found: int = 0
    undecided: int = 0
    sent: int = 0
    readings: float = 0.0

    def __add__(self, other: Row) -> Row:
        return Row(*(getattr(self, each.name) + getattr(other, each.name) for each in fields(self)))


def readings_in(folder: Path) -> list[Reading]:
    """The documents of a folder with their claims."""
    readings = []
    for path in sorted(folder.glob("*.txt")):
        entries = map(json.loads, path.with_suffix(".claims.jsonl").read_text("utf-8").splitlines())
        claims = [
            Claim(
                entry["question"],
                (entry["answer"], entry["sentence"]),
                (entry["false_answer"], entry["false_sentence"]),
                tuple(entry["quotes"]),
            )
            for entry in entries
        ]
        text = path.read_text("utf-8")
        readings.append(Reading(Document(content_id(text), path.stem, text), tuple(claims)))
    return readings


def joined(readings: Sequence[Reading]) -> Reading:
    """All documents one after another, and all claims."""
    text = "\n\n".join(reading.document.text for reading in readings)
    claims = tuple(claim for reading in readings for claim in reading.claims)
    return Reading(Document(content_id(text), "all", text), claims)


async def row_of(store: Store, reading: Reading, window: int, *, answers: bool) -> Row:
    """The claims as questions to be answered, or as sentences to be verified."""
    evidence, row = reading.evidence(window), Row(len(reading.claims))
    for right in (True, False):
        oracle = Oracle(reading.claims, right)
        model = FunctionModel(oracle, f"oracle of {reading.document.title} {window} {answers} {right}")
        judge = Judge(model, _BOOK, store.verdicts, reply_tokens=reply_rooms(window)[0])
        judging = answered if answers else verified
        for verdict in await judging(judge, evidence, reading.claims, right=right):
            row.undecided += verdict is None
            row.accused += right and verdict is False
            row.found += not right and verdict is False
        row.sent += oracle.sent
        row.readings += oracle.read / evidence.document_tokens / 2
    return row


async def answered(
    judge: Judge, evidence: EvidenceReader, claims: Sequence[Claim], *, right: bool
) -> list[bool | None]:
    """Whether the document's answers are those of the summary; None where it is undecided."""
    queries = [EvidenceQuery(claim.question, claim.stated(right=right)) for claim in claims]
    answers = (await answers_from_document(judge, queries, evidence)).verdicts
    verdicts: list[bool | None] = []
    for n, claim in enumerate(claims):
        answer = answers.get(n)
        # Of a false claim nothing but another answer of the document's is a finding.
        if answer is None or not (answer.answered or right):
            verdicts.append(None)
        else:
            verdicts.append(answer.answer == claim.stated(right=right)[0])
    return verdicts


async def verified(
    judge: Judge, evidence: EvidenceReader, claims: Sequence[Claim], *, right: bool
) -> list[bool | None]:
    """Whether the sentences are supported; None where it is undecided."""
    statements = [Statement(id=n, sentence=claim.stated(right=right)[1]) for n, claim in enumerate(claims, 1)]
    verdicts = (await verify_sentences(judge, statements, evidence, None)).verdicts
    categories = [verdicts[n].category if n in verdicts else None for n in range(len(claims))]
    meanings = {None: None, "none": True, "out_of_article": False if right else None}
    return [meanings.get(category, False) for category in categories]


Rows = list[tuple[str, int, bool, Row, int]]
"""What is read, the window, whether claims are questions, what came of them, and those quoted in the first look."""


async def rows_of(readings: Sequence[Reading], windows: Sequence[int]) -> Rows:
    """All rows of the table."""
    rows: Rows = []
    async with fresh() as session:
        for name, texts in (("alone", list(readings)), ("all joined", [joined(readings)])):
            first = sum(reading.in_first_look() for reading in texts)
            for window in windows:
                for answers in (True, False):
                    each = [await row_of(session.store, reading, window, answers=answers) for reading in texts]
                    row = sum(each, Row())
                    row.readings /= len(texts)
                    rows.append((name, window, answers, row, first))
    return rows


def report(rows: Rows) -> bool:
    """The table, and the result in one line; whether all bounds are met."""
    head = ("documents", "window", "judged as", "true accused", "false found", "undecided", "quote in first look")
    lines: list[tuple[object, ...]] = [(*head, "tokens a claim", "readings")]
    for name, window, answers, row, first in rows:
        counts = (f"{row.accused} of {row.claims}", f"{row.found} of {row.claims}", row.undecided)
        cost = (round(row.sent / 2 / row.claims), f"{row.readings:.2f}")
        share = f"{100 * first / row.claims:.1f}%"
        lines.append((name, f"{window:,}", "questions" if answers else "sentences", *counts, share, *cost))
    table(lines)
    *_, last, first = rows[-1]
    accused = max(row.accused for *_, row, _ in rows)
    missed = max(row.claims - row.found for *_, row, _ in rows)
    met = not accused and not missed and first >= LEAST_IN_FIRST_LOOK * last.claims
    print(f"\n{'met' if met else 'MISSED'}: at most {accused} true claims accused, at most {missed} false ones missed")
    return met


def main() -> None:
    """The command."""
    parser = options_of(__doc__)
    parser.add_argument("--claims", type=Path, default=DATA / "claims")
    parser.add_argument("--windows", type=int, nargs="*", default=WINDOWS)
    options = parser.parse_args()
    readings = readings_in(options.claims) if options.claims.is_dir() else []
    if not readings:
        sys.exit(f"skipped: {options.claims} holds no documents with claims")
    use_vocabulary()
    sys.exit(0 if report(asyncio.run(rows_of(readings, options.windows))) else 1)


if __name__ == "__main__":
    main()
