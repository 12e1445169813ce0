"""The examiner: answers questions from a document, and compares such answers with those of a summary."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, TypeVar

from redraft.agents.evidence import CitedPlace, EvidenceBatch, EvidenceQuery, EvidenceReader, EvidenceSearch, Scope
from redraft.agents.judge import Attempt, Entries, EntryBudget, ItemResults, Judge, Memory, ask_all, in_batches
from redraft.domain import AGAIN, Span
from redraft.prompts import qa
from redraft.prompts.contract import UNSURE, Unsure
from redraft.prompts.qa import Pair, QuestionItem, Statement, SummaryLine, Verdict, yes_or_no
from redraft.prompts.silence import is_answer
from redraft.text.languages import is_foreign, language_key, language_of
from redraft.text.reply_cleanup import declines
from redraft.text.sanitizer import one_line
from redraft.text.vectors import telling_terms
from redraft.text.words import has_words, words_key

# What one entry of a reply may hold.
ANSWER = EntryBudget(frame=42, words=12, sentences=1)
COMPARISON = EntryBudget(frame=32, words=24)
FRAME_TOKENS = 600
"""Tokens of the prompt and reply schema."""
LAST = 2
"""How many of the sentences that a sentence refers back to are read for its meaning."""
# Entries usually take this share of their maximum.
_AS_A_RULE = 0.6
# Questions are answered from shared passages: fewer at once leave less to read past.
_QUESTIONS_NEAR = 32
_LONGEST_ANSWER = 600


class StoredAnswer(CitedPlace):
    """An answer from the document, as stored, with its place."""

    answered: bool | Unsure
    answer: str
    share: float | None = None
    """How much of a claim's wording the document has, if the judge measures that."""


async def compare_answers(judge: Judge, pairs: Sequence[Pair]) -> ItemResults[qa.Comparison]:
    """Return how much of the document's answer the summary's gives, for each pair; undecidable pairs are left out."""

    async def ask(numbers: Sequence[int], attempt: Attempt) -> Entries[qa.Comparison]:
        fields = qa.CompareInput(pairs=[pairs[n].model_copy(update={"id": n + 1}) for n in numbers])
        reply = await judge.ask_items(qa.COMPARE_ANSWERS, fields, numbers, COMPARISON, "compared", attempt)
        return reply, ((comparison.id - 1, comparison) for comparison in reply.value.comparisons)

    size = max(1, judge.reply_tokens // COMPARISON.tokens(judge.wording))
    items: list[list[Any]] = [[pair.question, pair.document, pair.summary, pair.sentence] for pair in pairs]
    results = await judge.verdicts(
        qa.COMPARE_ANSWERS, qa.Comparison, items, lambda numbers: ask_all(in_batches(numbers, size), ask)
    )
    return results.decided(lambda comparison: comparison.verdict != "unclear")


async def answers_from_document(
    judge: Judge, queries: Sequence[EvidenceQuery], reader: EvidenceReader, *, wide: bool = False
) -> ItemResults[StoredAnswer]:
    """Return the document's answers. The whole document is read before an answer counts as absent; `wide` reads more
    windows at first."""
    entry_tokens = ANSWER.tokens(judge.wording)

    doubted: set[int] = set()

    async def ask(reading: EvidenceBatch, attempt: Attempt) -> Entries[StoredAnswer]:
        spans, is_repeat = reading.spans, not doubted.isdisjoint(reading.numbers)
        # A second look at the same pages is a new sample, since the first reply is cached.
        attempt = replace(attempt, again=attempt.again != reading.wide)
        items = [QuestionItem(id=n + 1, question=queries[n].text) for n in reading.numbers]
        fields = qa.AnswerFromDocumentInput(**reader.fields(spans), questions=items, again=is_repeat)
        label = "doubted" if is_repeat else "read more for" if reading.wide else "looked up"
        asked = (reading.numbers, ANSWER, label, attempt, judge.longest_reply)
        reply = await judge.ask_items(qa.ANSWER_FROM_DOCUMENT, fields, *asked)
        answers = settled_answers(
            reply.value.answers,
            lambda: "\n".join(map(reader.text, spans)),
            lambda answer: reader.quoted(answer.quote, spans) is not None,
            doubted,
        )
        return reply, ((n, _stored(answer, reader, spans) if answer else None) for n, answer in answers)

    fitting = entries_per_request(judge.longest_reply, entry_tokens)
    search = EvidenceSearch(
        *(reader, queries, entry_tokens, min(fitting, _QUESTIONS_NEAR), fitting, ask),
        silent=lambda answer: answer.answered is not True,
        unsure=lambda answer: answer.answered == UNSURE,
    )
    # An answer in the document depends neither on what a summary says nor on how it was found.
    document_key = reader.document.id, language_key(reader.document), reader.reading
    memory: Memory[StoredAnswer] = Memory(
        [[*document_key, "answered", query.text] for query in queries],
        lambda _, text: StoredAnswer.model_validate_json(text),
        lambda _, answer: answer.model_dump_json() if answer.answered is True else None,
    )
    items = [[*reader.key(query, wide=wide), *(["wide"] if wide else [])] for query in queries]
    look, remembered = (search.second_look, None) if wide else (search.verdicts, memory)
    results = await judge.verdicts(qa.ANSWER_FROM_DOCUMENT, StoredAnswer, items, look, remembered)
    return results.decided(lambda answer: answer.answered != UNSURE)


def entries_per_request(room: int, tokens: float) -> int:
    """Return how many entries of a given size are requested in a reply with this room."""
    return max(1, int(room / (_AS_A_RULE * tokens)))


def summary_fields(statements: Sequence[Statement]) -> dict[str, Any]:
    """Return the prompt fields for some sentences of a summary."""
    lines = [SummaryLine(id=statement.id, sentence=statement.sentence) for statement in statements]
    return {"context": statements[0].before if statements else "", "sentences": lines}


def antecedents(statements: Sequence[Statement]) -> dict[int, list[str]]:
    """Return for each sentence the earlier ones that it refers back to, up to a self-contained one."""
    meant: dict[int, list[str]] = {}
    chain: list[str] = []
    for statement in statements:
        chain = chain if statement.before else []
        meant[statement.id] = list(chain) or ([statement.before] if statement.before else [])
        chain = [*chain, statement.sentence]
    return meant


def _stored(answer: qa.DocumentAnswer, reader: EvidenceReader, spans: Sequence[Span]) -> StoredAnswer:
    """Return an answer as it is stored, with its place."""
    if answer.answered is not True:
        return StoredAnswer(answered=UNSURE if answer.answered == UNSURE else False, answer="")
    text = one_line(answer.answer, _LONGEST_ANSWER)
    evidence = reader.sentence(answer.quote or text, spans)
    return StoredAnswer(answered=True, answer=text, share=answer.share, evidence=evidence)


@dataclass(frozen=True, slots=True)
class AnswerComparison:
    """How the summary's answer compares with the document's, why, and the answer of the second look."""

    verdict: Verdict
    reason: str
    read: StoredAnswer | None = None
    """None if the second look found the same answer as the first."""
    scope: Scope | None = None
    """The part of the document read for the second look."""
    quoted: bool = False
    """Whether the second look quotes the document."""

    def described(self, first: str) -> str:
        """Return what was read of the document: `first`, and again for a second look that quotes it."""
        return f"{first}{AGAIN}{self.scope.description}" if first and self.scope and self.quoted else first


async def compare_twice(
    judge: Judge, pairs: Sequence[Pair], queries: Sequence[EvidenceQuery], reader: EvidenceReader, *, confirm: bool
) -> ItemResults[AnswerComparison]:
    """Return a comparison of each pair. With `confirm`, the question of a contradicting pair is answered from the
    document once more, with more of it in view, and compared again."""
    first = await compare_answers(judge, pairs)
    compared = {n: AnswerComparison(comparison.verdict, comparison.reason) for n, comparison in first.verdicts.items()}
    doubted = [n for n, comparison in sorted(compared.items()) if confirm and comparison.verdict == "contradicts"]
    if not doubted:
        return ItemResults(compared, first.trouble)
    wider = await answers_from_document(judge, [queries[n] for n in doubted], reader, wide=True)
    read = {n: wider.verdicts[at] for at, n in enumerate(doubted) if at in wider.verdicts}
    # Where the second look gave another answer, that is the one to compare.
    changed = [
        n for n, answer in read.items() if answer.answered and words_key(answer.answer) != words_key(pairs[n].document)
    ]
    second = await compare_answers(judge, [pairs[n].model_copy(update={"document": read[n].answer}) for n in changed])
    recompared = dict(zip(changed, map(second.verdicts.get, range(len(changed))), strict=True))
    for n in doubted:
        if n not in read or (n in recompared and recompared[n] is None):
            del compared[n]
            continue
        compared[n] = replace(compared[n], scope=read[n].scope, quoted=bool(read[n].evidence))
        if (comparison := recompared.get(n)) is not None:
            compared[n] = replace(compared[n], verdict=comparison.verdict, reason=comparison.reason, read=read[n])
    return ItemResults(compared, first.trouble or wider.trouble)


# An answer given to this many questions is suspicious, or to all of them if there are fewer.
_SEVERAL = 3
_WORD = re.compile(r"\w+")
# Counts as an answer if its place is named: to "who was hurt", for instance.
_NONE = "none"

Answer = TypeVar("Answer", qa.SummaryAnswer, qa.DocumentAnswer)


def is_answered(
    answered: bool | Unsure | None, answer: str, *, placed: bool, by_words: bool = True
) -> bool | Unsure | None:
    """Return whether an answer counts as one; None if that is not a verdict. `placed` says that it names an existing
    place of the text, which outweighs a reply that denies having an answer. With `by_words`, words that say that there
    is no answer are none."""
    if answered == UNSURE:
        return UNSURE
    if not answer.strip():
        return None if answered is not False else False
    if by_words and not is_answer(answer):
        if answered is True and placed and words_key(answer) == _NONE:
            return True
        return None if answered and not has_words(answer) else False
    if declines(answer):
        return None
    return True if answered is not False else placed


def settled_answers(
    answers: Sequence[Answer],
    read: Callable[[], str],
    placed: Callable[[Answer], bool],
    doubted: set[int],
    *,
    compared: bool = False,
) -> list[tuple[int, Answer | None]]:
    """Return the answers of a reply, by the numbers of their questions from 0, to questions about the text that `read`
    returns; None for those to ask for again.

    `placed` says whether an answer names an existing place of that text. A doubtful answer is kept among the `doubted`
    ones and asked for again, once: without a place the second time there is none, and a bare "yes" is left open.
    `compared` answers are compared with their places afterwards, which finds those that say nothing."""
    keys = {(answer.id, words_key(answer.answer)) for answer in answers}
    fewest = min(_SEVERAL, max(2, len({number for number, _ in keys})))
    times = Counter(key for _, key in keys if key)
    settled: list[tuple[int, Answer | None]] = []
    new_doubts: set[int] = set()
    for answer in answers:
        number, is_placed = answer.id - 1, placed(answer)
        answered = is_answered(answer.answered, answer.answer, placed=is_placed, by_words=not compared)
        verdict = None if answered is None else answer.model_copy(update={"answered": answered})
        if answered is True and not (compared and is_placed):
            silent = answer.model_copy(update={"answered": False})
            words = words_key(answer.answer)
            is_bare = yes_or_no(answer.answer) is not None and len(_WORD.findall(answer.answer)) == 1
            # Several questions may have the same name as their answer, in the very words of the text.
            is_repeated = times[words] >= fewest and f" {words} " not in f" {_key(read())} "
            if is_repeated and not (is_placed and (is_bare or _shares_words(answer.answer, read()))):
                is_doubtful = is_bare
                verdict = None if is_placed or is_doubtful else silent
            else:
                is_doubtful = not is_placed and not is_bare and not _shares_words(answer.answer, read())
            if is_doubtful:
                is_second = number in doubted
                verdict = silent if is_second and not is_bare else None
                new_doubts |= set() if is_second else {number}
        settled.append((number, verdict))
    doubted.difference_update(number for number, _ in settled)
    doubted.update(new_doubts)
    return settled


def _shares_words(answer: str, text: str) -> bool:
    """Return whether an answer shares a telling word with a text."""
    language = language_of(text)
    return not telling_terms(text, language).isdisjoint(telling_terms(answer, language))


_key = lru_cache(maxsize=4)(words_key)


# Thai, Lao, Burmese, Khmer, Japanese and Chinese: every character counts as a word.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
_UNIT = re.compile(rf"[{_UNSPACED}]|[^{_UNSPACED}]+")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_ARTICLES = frozenset({"a", "an", "the"})
# This many differing words may turn a statement into its opposite.
_FEW = 2


def is_same(answer: str, second_answer: str) -> bool:
    """Return whether two answers differ only in case, articles, punctuation, and thousands separators."""
    return essential_words(answer) == essential_words(second_answer) != []


def is_doubtful(answer: str, second_answer: str) -> bool:
    """Return whether two answers that share most words may mean opposite things. The test is formal and works in any
    language: the same words in another order, another number, or a difference of so few words that one may replace
    ("before", "after") or negate the other."""
    in_order, others_in_order = essential_words(answer), essential_words(second_answer)
    words, second_counts = Counter(in_order), Counter(others_in_order)
    if words == second_counts:
        return in_order != others_in_order
    more, fewer = words - second_counts, second_counts - words
    if any(any(map(str.isnumeric, word)) for word in (*more, *fewer)):
        return True
    return more.total() <= _FEW and fewer.total() <= _FEW


def words_of(text: str) -> list[str]:
    """Return the lower-case words of `text` or, in scripts without spaces, its characters. Apostrophes separate words
    as in ROUGE: "didn't" is "didn" and "t"."""
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    parts = "".join(character if unicodedata.category(character)[0] in "LMN" else " " for character in folded).split()
    # Combining marks alone are no words, such as those left over from an emoji.
    return [unit for part in parts if any(map(str.isalnum, part)) for unit in _UNIT.findall(part)]


def essential_words(text: str) -> list[str]:
    """Return the words without English articles, unless nothing else is left. ("a" is a word in Spanish.)"""
    all_words = words_of(_THOUSANDS.sub("", text))
    articles = frozenset[str]() if is_foreign(language_of(text)) else _ARTICLES
    return [word for word in all_words if word not in articles] or all_words
