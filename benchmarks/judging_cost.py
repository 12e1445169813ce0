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

import asyncio
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast
from zlib import crc32

from benchmarks.common import options_of, prose, shared_prefix, table, tokens_by_prompt, use_vocabulary
from redraft import Document, Session
from redraft.agents.evidence import BESIDE_DOCUMENT
from redraft.builtin.stand_in import StandIn
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

VOCABULARY_NAME = "o200k_base"
_BOUND_WORDS, _LONG = 250, 20_000
MOST, MOST_LONG, MOST_SECOND, LEAST_SHARED = 3.5, 2.5, 1.3, 0.6
"""The bounds, for a summary of 250 words: the readings of a document that a first judging comes to, and of one from
20,000 words on; of a second judging; and the share of what is repeated that is in shared prefixes."""
_SPARE = 12
"""How many further sentences there are to put into a second draft."""


class Reader(StandIn):
    """A judge by rules, who remembers what each question is about."""

    def __init__(self, prompts: str = "standard") -> None:
        handlers = {
            "ask_document": self.ask_document,
            "rank_questions": lambda given: qa.Ranking(
                essential=[], important=[item.id for item in given.candidates], minor=[]
            ),
            "answer_from_summary": self.answer_from_summary,
            "compare_answers": self.compare_answers,
            "ask_summary": self.ask_summary,
            "answer_from_document": self.answer_from_document,
            "verify_sentences": self.verify_sentences,
        }
        super().__init__("reader", handlers)
        self.prompts = prompts
        self.answers: dict[str, tuple[str, str]] = {}
        """By question its answer, and the sentence that holds it."""
        self.read: list[list[str]] = []
        """What it was shown of the document to judge by, prompt by prompt."""

    def most_tokens(self, sampling: Sampling) -> int:
        return sampling.max_tokens or 0

    async def ask(self, request: Request[InputT, ValueT]) -> Reply[ValueT]:
        value = cast(Any, self.answer(request.prompt, request.given))
        wire = json.dumps(value.model_dump(mode="json", context=TagContext(Tags(request.given))), ensure_ascii=False)
        if texts := getattr(request.given, "texts", None):
            self.read.append(list(texts))
        count = tokenizer_named(VOCABULARY_NAME).count
        usage = Usage(count(request.text) + count(structured_output.prompt_schema(request)), count(wire))
        assert usage.completion_tokens <= (request.sampling.max_tokens or 0), request.prompt.name
        return Reply(cast(ValueT, value), wire, usage)

    def _question(self, sentence: str, at: int) -> tuple[str, str]:
        """A question about the part of a sentence, and its answer."""
        words = sentence.split()
        part = words[len(words) * at // 3 : len(words) * (at + 1) // 3] or words
        question = f"What does the narrator tell of {' '.join(part[:4])} in the part about {' '.join(words[:3])}?"
        answer = " ".join(part[-8:])
        self.answers[question] = answer, " ".join(words)
        return question, answer

    def ask_document(self, given: qa.AskDocumentInput) -> qa.DocumentQuestions:
        lines = _sentences(given.document or given.excerpt or "")
        chosen = lines[:: max(1, len(lines) // given.count)][: given.count]
        questions = [(*self._question(line, 1), line) for line in chosen]
        return qa.DocumentQuestions(
            questions=[
                qa.DocumentQuestion(question=question, kind="what", answer=answer, quote=_first_ten(line), weight=2)
                for question, answer, line in questions
            ]
        )

    def answer_from_summary(self, given: qa.AnswerFromSummaryInput) -> qa.SummaryAnswers:
        answers = []
        ids = [line.id for line in given.sentences if isinstance(line, qa.SummaryLine)]
        for item in given.questions:
            answered = crc32(item.question.encode()) % 2 == 0
            answer = self.answers[item.question][0] if answered else ""
            rests_on = [ids[crc32(answer.encode()) % len(ids)]] if answered else []
            answers.append(qa.SummaryAnswer(id=item.id, sentences=rests_on, answered=answered, answer=answer))
        return qa.SummaryAnswers(answers=answers)

    def compare_answers(self, given: qa.CompareInput) -> qa.Comparisons:
        reason = "The two answers name the same thing in other words."
        return qa.Comparisons(
            comparisons=[
                qa.Comparison(id=pair.id, reason=reason, verdict="contradicts" if _kind(pair.question) == 1 else "full")
                for pair in given.pairs
            ]
        )

    def ask_summary(self, given: qa.AskSummaryInput) -> qa.SummaryQuestions:
        entries = []
        for line in given.sentences:
            if not isinstance(line, qa.SummaryLine) or (given.only and line.id not in given.only):
                continue
            most = min(given.at_most, max(1, len(line.sentence.split()) // 9))
            pairs = [self._question(line.sentence, at) for at in range(most)]
            questions = [qa.SummaryQuestion(question=q, answer=a, search="", importance=3) for q, a in pairs]
            entries.append(qa.SentenceQuestions(id=line.id, questions=questions))
        return qa.SummaryQuestions(sentences=entries)

    def answer_from_document(self, given: qa.AnswerFromDocumentInput) -> qa.DocumentAnswers:
        shown = " ".join(" ".join(given.texts).split())
        return qa.DocumentAnswers(answers=[self._document_answer(item, shown) for item in given.questions])

    def _document_answer(self, item: qa.QuestionItem, shown: str) -> qa.DocumentAnswer:
        answer, sentence = self.answers[item.question]
        kind = _kind(item.question)
        if sentence not in shown or kind == 2:
            return qa.DocumentAnswer(id=item.id, quote="", answered=False, answer="")
        if kind == 1:
            answer = "something else altogether, as it is told there"
        elif kind % 3 == 0:
            answer = f"put otherwise, that is about {answer.split()[0]}"
        return qa.DocumentAnswer(id=item.id, quote=_first_ten(sentence), answered=True, answer=answer)

    def verify_sentences(self, given: factual.VerifyInput) -> factual.Verifications:
        shown = " ".join(" ".join(given.texts).split())
        reason = "The passages say so, in as many words and in the same order of events."
        return factual.Verifications(
            sentences=[
                factual.Verification(
                    id=item.id,
                    reason=reason,
                    quote=" ".join(item.sentence.split()[:16]),
                    category="none" if " ".join(item.sentence.split()) in shown else "out_of_article",
                )
                for item in given.sentences
            ]
        )


def _first_ten(sentence: str) -> str:
    """As much of a sentence as a quote is asked to have."""
    return " ".join(sentence.split()[:10])


def _kind(question: str) -> int:
    return crc32(question.encode()) % 12


def _sentences(text: str) -> list[str]:
    lines = (" ".join(text[span.start : span.end].split()) for span in sentences(text))
    return [line for line in lines if 10 <= len(line.split()) <= 30]


def drafts(document: Document, words: int) -> tuple[str, str]:
    """A first draft of sentences from all parts of a document, and a second."""
    lines = _sentences(document.text)
    count = words // 18
    chosen = [lines[at * len(lines) // count] for at in range(count)]
    others = [line for line in lines[1 :: len(lines) // _SPARE] if line not in chosen]
    second = [*chosen]
    second[count // 3], second[2 * count // 3] = others[0], others[1]
    return " ".join(chosen), " ".join([*second, others[2]])


Spent = dict[str, tuple[int, int, int]]
"""By prompt the calls of a run, the tokens sent and those received."""


def tokens_of(spent: Spent) -> int:
    return sum(sent + received for _, sent, received in spent.values())


async def spent(document: Document, window: int, words: int, metrics: Sequence[str], reader: Reader) -> list[Spent]:
    """What the first judging takes, and the second."""
    with TemporaryDirectory() as folder:
        async with Session(Path(folder) / "redraft.db", model=cast(Any, reader)) as session:
            settings: Any = {"context_tokens": window, "prompts": reader.prompts}
            results = [
                await session.evaluate(document, text, metrics=tuple(metrics), **settings)
                for text in drafts(document, words)
            ]
            return [tokens_by_prompt(session.store.path, result.run.id) for result in results]


def share_in_prefixes(read: Sequence[Sequence[str]]) -> float:
    """Of what is shown of the document to judge by more than once, the share that begins a prompt as one before it.

    That is what a provider remembers. Both drafts are counted.
    """
    count = tokenizer_named(VOCABULARY_NAME).count
    seen: list[str] = []
    repeated, shared = 0, 0
    for passages in read:
        text = "\n".join(passages)
        prefix = count(text[: shared_prefix(text, seen)])
        again = [passage for passage in passages if any(passage in other for other in seen)]
        repeated += max(prefix, sum(map(count, again)))
        shared += prefix
        seen.append(text)
    return shared / repeated if repeated else 1.0


def is_within_bounds(size: int, tokens: int, window: int, readings: tuple[float, float], shared: float) -> bool:
    """Whether the bounds are met, which hold where a document is read whole."""
    if tokens + BESIDE_DOCUMENT > window:
        return True
    most = MOST_LONG if size >= _LONG else MOST
    return readings[0] <= most and shared >= LEAST_SHARED and readings[1] <= MOST_SECOND


async def report(
    sizes: Sequence[int], windows: Sequence[int], words: int, metrics: Sequence[str], prompts: str
) -> bool:
    """The table, and whether the bounds are met."""
    text = prose().split(" ")
    head = ("words", "tokens", "window", "first draft", "readings", "second draft", "readings", "repeated in prefixes")
    within = True
    rows: list[tuple[object, ...]] = [head]
    for size in sizes:
        document = parse(" ".join((text * (size // len(text) + 1))[:size]).encode(), name="book.txt")
        tokens = tokenizer_named(VOCABULARY_NAME).count(document.text)
        for window in windows:
            reader = Reader(prompts)
            first, second = map(tokens_of, await spent(document, window, words, metrics, reader))
            shared, readings = share_in_prefixes(reader.read), (first / tokens, second / tokens)
            counts = (f"{count:,}" for count in (size, tokens, window, first))
            rows.append((*counts, readings[0], f"{second:,}", readings[1], f"{100 * shared:.0f}%"))
            within &= words != _BOUND_WORDS or is_within_bounds(size, tokens, window, readings, shared)
    print(f"a summary of {words} words, {', '.join(metrics)}: tokens sent and received\n")
    table(rows)
    if words == _BOUND_WORDS:
        print(f"\nbounds where a document is read whole: {'met' if within else 'MISSED'}")
    return within


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("--metric", action="append", default=[])
    parser.add_argument("--words", type=int, default=DEFAULT_WORDS)
    parser.add_argument("--sizes", type=int, nargs="*", default=(5_000, 10_000, 20_000))
    parser.add_argument("--windows", type=int, nargs="*", default=(8_192, 32_768, 128_000))
    parser.add_argument("--prompts", default="standard")
    options = parser.parse_args()
    use_vocabulary()
    metrics = options.metric or USUAL_METRICS
    within = asyncio.run(report(options.sizes, options.windows, options.words, metrics, options.prompts))
    sys.exit(0 if within else 1)


if __name__ == "__main__":
    main()
