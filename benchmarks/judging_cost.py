"""What judging costs: the tokens of a first draft and of a second, for documents and windows of several sizes.

    python -m benchmarks.judging_cost [--metric NAME ...] [--words 600] [--sizes N ...] [--windows N ...]

The judge goes by rules, and replies at the length at which a model does: it asks a question about every nine words of
a sentence, words every third answer otherwise than the summary, contradicts one in twelve, and finds one in twelve
nowhere. What is counted is what is sent and what comes back, with the schema of the reply, by o200k_base where it is
there: every call in the ledger, and no discount for what a provider has read before. With 250 words it exits with 1
where a bound is missed, as it is for the second draft of a short document: what is asked of its new sentences does not
grow with the document. The second draft has two other sentences in place of two, and one more. Longer documents
(`--sizes 50000 100000`) take minutes.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sqlite3
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast
from zlib import crc32

from benchmarks.common import prose, table, use_vocabulary
from redraft import Document, Session
from redraft.agents.evidence import has_room
from redraft.domain import Usage
from redraft.graphs.plan import DEFAULT_WORDS
from redraft.llm import structured_output
from redraft.llm.base import Reply, Request, Sampling
from redraft.prompts import factual, qa
from redraft.prompts.contract import InputT, ValueT
from redraft.prompts.tags import TagContext, Tags
from redraft.readers.documents import parse
from redraft.settings import USUAL_METRICS
from redraft.text.sentences import sentences
from redraft.text.tokens import tokenizer_named

SIZES = (5_000, 10_000, 20_000)
WINDOWS = (8_192, 32_768, 128_000)
VOCABULARY_NAME = "o200k_base"
_BOUND_WORDS, _LONG = 250, 20_000
MOST, MOST_LONG, MOST_SECOND, LEAST_SHARED = 3.5, 2.5, 1.3, 0.6
"""The bounds, for a summary of 250 words: the readings of a document that a first judging comes to, and of one from
20,000 words on; of a second judging; and the share of what is repeated that is in shared prefixes."""
_SPARE = 12
"""How many further sentences there are to put into a second draft."""


@dataclass
class Reader:
    """A judge by rules, who remembers what each question is about."""

    prompts: str = "standard"
    identity: str = "reader"
    known: dict[str, tuple[str, str]] = field(default_factory=dict)
    """By question its answer, and the sentence that holds it."""
    read: list[list[str]] = field(default_factory=list)
    """What it was shown of the document to judge by, prompt by prompt."""

    def most_tokens(self, sampling: Sampling) -> int:
        return sampling.max_tokens or 0

    async def ask(self, request: Request[InputT, ValueT]) -> Reply[ValueT]:
        value = getattr(self, request.prompt.name)(request.given)
        wire = json.dumps(value.model_dump(mode="json", context=TagContext(Tags(request.given))), ensure_ascii=False)
        if texts := getattr(request.given, "texts", None):
            self.read.append(list(texts))
        tokenizer = tokenizer_named(VOCABULARY_NAME)
        usage = Usage(
            tokenizer.count(request.text) + tokenizer.count(structured_output.prompt_schema(request)),
            tokenizer.count(wire),
        )
        assert usage.completion_tokens <= (request.sampling.max_tokens or 0), request.prompt.name
        return Reply(cast(ValueT, value), wire, usage)

    def _asked(self, sentence: str, at: int) -> tuple[str, str]:
        """A question about the part of a sentence, and its answer."""
        words = sentence.split()
        part = words[len(words) * at // 3 : len(words) * (at + 1) // 3] or words
        question = f"What does the narrator tell of {' '.join(part[:4])} in the part about {' '.join(words[:3])}?"
        answer = " ".join(part[-8:])
        self.known[question] = answer, " ".join(words)
        return question, answer

    def ask_document(self, given: qa.AskDocumentInput) -> qa.DocumentQuestions:
        lines = _sentences(given.document or given.excerpt or "")
        chosen = lines[:: max(1, len(lines) // given.count)][: given.count]
        asked = [(self._asked(one, 1), one) for one in chosen]
        return qa.DocumentQuestions(
            questions=[
                qa.DocumentQuestion(question=question, kind="what", answer=answer, quote=_first_ten(one), weight=2)
                for (question, answer), one in asked
            ]
        )

    def rank_questions(self, given: qa.RankInput) -> qa.Ranking:
        return qa.Ranking(essential=[], important=[one.id for one in given.candidates], minor=[])

    def answer_from_summary(self, given: qa.AnswerFromSummaryInput) -> qa.SummaryAnswers:
        answers = []
        for one in given.questions:
            held = crc32(one.question.encode()) % 2 == 0
            answer = self.known[one.question][0] if held else ""
            ids = _ids(given)
            rests_on = [ids[crc32(answer.encode()) % len(ids)]] if held else []
            answers.append(qa.SummaryAnswer(id=one.id, sentences=rests_on, answered=held, answer=answer))
        return qa.SummaryAnswers(answers=answers)

    def compare_answers(self, given: qa.CompareInput) -> qa.Comparisons:
        return qa.Comparisons(
            comparisons=[
                qa.Comparison(
                    id=one.id,
                    reason="The two answers name the same thing in other words.",
                    verdict="contradicts" if _kind(one.question) == 1 else "full",
                )
                for one in given.pairs
            ]
        )

    def ask_summary(self, given: qa.AskSummaryInput) -> qa.SummaryQuestions:
        found = []
        for one in given.sentences:
            if not isinstance(one, qa.SummaryLine) or (given.only and one.id not in given.only):
                continue
            asked = [
                self._asked(one.sentence, at)
                for at in range(min(given.at_most, max(1, len(one.sentence.split()) // 9)))
            ]
            questions = [
                qa.SummaryQuestion(question=question, answer=answer, search="", importance=3)
                for question, answer in asked
            ]
            found.append(qa.SentenceQuestions(id=one.id, questions=questions))
        return qa.SummaryQuestions(sentences=found)

    def answer_from_document(self, given: qa.AnswerFromDocumentInput) -> qa.DocumentAnswers:
        there = " ".join(" ".join(given.texts).split())
        return qa.DocumentAnswers(answers=[self._found(one, there) for one in given.questions])

    def _found(self, one: qa.QuestionItem, there: str) -> qa.DocumentAnswer:
        answer, sentence = self.known[one.question]
        kind = _kind(one.question)
        if sentence not in there or kind == 2:
            return qa.DocumentAnswer(id=one.id, quote="", answered=False, answer="")
        if kind == 1:
            answer = "something else altogether, as it is told there"
        elif kind % 3 == 0:
            answer = f"put otherwise, that is about {answer.split()[0]}"
        return qa.DocumentAnswer(id=one.id, quote=_first_ten(sentence), answered=True, answer=answer)

    def verify_sentences(self, given: factual.VerifyInput) -> factual.Verifications:
        there = " ".join(" ".join(given.texts).split())
        return factual.Verifications(
            sentences=[
                factual.Verification(
                    id=one.id,
                    reason="The passages say so, in as many words and in the same order of events.",
                    quote=" ".join(one.sentence.split()[:16]),
                    category="none" if " ".join(one.sentence.split()) in there else "out_of_article",
                )
                for one in given.sentences
            ]
        )


def _first_ten(sentence: str) -> str:
    """As much of a sentence as a quote is asked to have."""
    return " ".join(sentence.split()[:10])


def _ids(given: qa.AnswerFromSummaryInput) -> list[int]:
    return [one.id for one in given.sentences if isinstance(one, qa.SummaryLine)]


def _kind(question: str) -> int:
    return crc32(question.encode()) % 12


def _sentences(text: str) -> list[str]:
    found = (" ".join(text[span.start : span.end].split()) for span in sentences(text))
    return [one for one in found if 10 <= len(one.split()) <= 30]


def drafts(document: Document, words: int) -> tuple[str, str]:
    """A first draft of sentences from all parts of a document, and a second."""
    lines = _sentences(document.text)
    count = words // 18
    chosen = [lines[at * len(lines) // count] for at in range(count)]
    others = [one for one in lines[1 :: len(lines) // _SPARE] if one not in chosen]
    second = [*chosen]
    second[count // 3], second[2 * count // 3] = others[0], others[1]
    return " ".join(chosen), " ".join([*second, others[2]])


async def spent(
    document: Document, window: int, words: int, metrics: Sequence[str], prompts: str, reader: Reader | None = None
) -> list[Spent]:
    """The calls of the first judging and of the second."""
    found: list[Spent] = []
    reader = reader or Reader(prompts)
    with tempfile.TemporaryDirectory() as folder:
        async with Session(Path(folder) / "redraft.db", model=cast(Any, reader)) as session:
            for text in drafts(document, words):
                asked = {"context_tokens": window, "prompts": prompts}
                result = await session.evaluate(document, text, metrics=tuple(metrics), **asked)  # type: ignore[arg-type]
                found.append(Spent.on(session.store.path, result.run.id))
    return found


@dataclass(frozen=True)
class Spent:
    """The calls of a run, the tokens sent and those received, by prompt."""

    by_prompt: Mapping[str, tuple[int, int, int]]

    @classmethod
    def on(cls, path: Path, run: str) -> Spent:
        """What the ledger has of a run."""
        with closing(sqlite3.connect(path)) as database:
            rows = database.execute(
                "SELECT prompt, count(*), sum(prompt_tokens), sum(completion_tokens) FROM calls WHERE run = ? "
                "GROUP BY prompt",
                (run,),
            )
            return cls({prompt: (calls, sent, received) for prompt, calls, sent, received in rows})

    @property
    def tokens(self) -> int:
        """Of all prompts."""
        return sum(sent + received for _, sent, received in self.by_prompt.values())


def share_in_prefixes(read: Sequence[Sequence[str]]) -> float:
    """Of what is shown of the document to judge by more than once, the share that begins a prompt as one before it.

    That is what a provider remembers. Both drafts are counted.
    """
    tokenizer = tokenizer_named(VOCABULARY_NAME)
    seen: list[str] = []
    repeated, shared = 0, 0
    for passages in read:
        text = "\n".join(passages)
        prefix = max((_shared_prefix(text, one) for one in seen), default=0)
        again = [one for one in passages if any(one in other for other in seen)]
        repeated += max(tokenizer.count(text[:prefix]), sum(map(tokenizer.count, again)))
        shared += tokenizer.count(text[:prefix])
        seen.append(text)
    return shared / repeated if repeated else 1.0


def _shared_prefix(one: str, other: str) -> int:
    """How many characters two texts have in common from the first on."""
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def is_kept(size: int, tokens: int, window: int, readings: tuple[float, float], shared: float) -> bool:
    """Whether the bounds are kept, which hold where a document is read whole."""
    if not has_room(window, tokens):
        return True
    first, second = readings
    most = MOST_LONG if size >= _LONG else MOST
    return first <= most and shared >= LEAST_SHARED and second <= MOST_SECOND


async def report(
    sizes: Sequence[int], windows: Sequence[int], words: int, metrics: Sequence[str], prompts: str
) -> bool:
    """Both tables: what it comes to, and by prompt; and whether the bounds are kept."""
    tokenizer = tokenizer_named(VOCABULARY_NAME)
    text = prose().split(" ")
    head = ("words", "tokens", "window", "first draft", "readings", "second draft", "readings", "repeated in prefixes")
    kept = True
    rows: list[tuple[object, ...]] = [head]
    details: list[tuple[object, ...]] = []
    for size in sizes:
        document = parse(" ".join((text * (size // len(text) + 1))[:size]).encode(), name="book.txt")
        tokens = tokenizer.count(document.text)
        for window in windows:
            reader = Reader(prompts)
            first, second = await spent(document, window, words, metrics, prompts, reader)
            shared, readings = share_in_prefixes(reader.read), (first.tokens / tokens, second.tokens / tokens)
            rows.append((f"{size:,}", f"{tokens:,}", f"{window:,}", f"{first.tokens:,}", readings[0]))
            rows[-1] = (*rows[-1], f"{second.tokens:,}", readings[1], f"{100 * shared:.0f}%")
            kept &= words != _BOUND_WORDS or is_kept(size, tokens, window, readings, shared)
            for name in sorted(first.by_prompt | second.by_prompt):
                one, other = (shown.by_prompt.get(name, (0, 0, 0)) for shown in (first, second))
                share = f"{sum(one[1:]) / tokens:.2f}"
                details.append((f"{size:,}", f"{window:,}", name, *(f"{cell:,}" for cell in one), share))
                details[-1] += tuple(f"{cell:,}" for cell in other)
    print(f"a summary of {words} words, {', '.join(metrics)}: tokens sent and received\n")
    table(rows)
    print()
    counted = ("calls", "sent", "received")
    table([("words", "window", "prompt", *counted, "of the document", *counted), *details])
    if words == _BOUND_WORDS:
        print(f"\nbounds where a document is read whole: {'kept' if kept else 'MISSED'}")
    return kept


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--metric", action="append", default=[])
    parser.add_argument("--words", type=int, default=DEFAULT_WORDS)
    parser.add_argument("--sizes", type=int, nargs="*", default=SIZES)
    parser.add_argument("--windows", type=int, nargs="*", default=WINDOWS)
    parser.add_argument("--prompts", default="standard")
    given = parser.parse_args()
    use_vocabulary()
    metrics = given.metric or USUAL_METRICS
    kept = asyncio.run(report(given.sizes, given.windows, given.words, metrics, given.prompts))
    sys.exit(0 if kept else 1)


if __name__ == "__main__":
    main()
