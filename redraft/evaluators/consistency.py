"""Consistency: does the document answer the summary's own questions as the summary does? (LongSumEval, Algorithm 1)
With the measures of how alike two answers are, and ROUGE in any language."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache, partial
from math import ceil
from typing import Any, TypeVar

import numpy as np
from typing_extensions import override

from redraft.agents import examiner
from redraft.agents.evidence import EvidenceQuery
from redraft.agents.judge import Attempt, Entries, EntryBudget, ItemResults, Judge, ask_all, in_batches, label_of
from redraft.domain import Evaluation, Finding, Pack, PackQuestion, Span
from redraft.errors import UsageError
from redraft.evaluators.base import (
    Case,
    ConfiguredMetric,
    PanelVotes,
    Vote,
    Votes,
    distinct_errors,
    mean_evaluation,
    panel_votes,
)
from redraft.evaluators.metric_info import UNSUPPORTED
from redraft.prompts import qa
from redraft.prompts.book import PromptBook
from redraft.prompts.silence import is_answer
from redraft.settings import SimilarityName
from redraft.text.languages import is_foreign, language_of
from redraft.text.retrieval import Ranker
from redraft.text.tokens import Tokenizer
from redraft.text.vectors import Encoder
from redraft.text.words import stemmer

CONSISTENT, INCONSISTENT = "consistent", "inconsistent"
# The usual number of facts in a sentence; each may be wrong by itself.
A_SENTENCE = 6
# Questions of this importance or more count towards the upper end of a range.
_IMPORTANT = 4
CLAIM = EntryBudget(frame=46, words=38)
"""What an entry of a reply with one question may hold."""
# Every other possible question about a sentence is asked.
_ASKED_AS_A_RULE = 0.5
# How many of the pack's questions count as being about the same thing.
_NEAREST = 2
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Claim:
    """A question about a sentence of the summary, with the sentence's answer."""

    statement: qa.Statement
    asked: qa.SummaryQuestion

    def query(self, pack: Pack | None) -> EvidenceQuery:
        """Return the evidence query for the claim, with the places cited by the pack's questions that are closest to
        it."""
        also = tuple(filter(None, dict.fromkeys((self.asked.answer, self.statement.sentence, self.asked.search))))
        spans: Iterable[Span | None] = ()
        if pack is not None and pack.questions:
            scores = _ranker(pack.questions).scores(" ".join((self.asked.question, *also)))
            order = [int(at) for at in np.argsort(-scores, kind="stable")[:_NEAREST] if scores[at] > 0]
            spans = dict.fromkeys(pack.questions[at].evidence.span for at in order)
        return EvidenceQuery(self.asked.question, also, tuple(span for span in spans if span is not None))


@lru_cache(maxsize=8)
def _ranker(questions: tuple[PackQuestion, ...]) -> Ranker:
    texts = [f"{question.text} {question.answer}" for question in questions]
    return Ranker(texts, [language_of("\n".join(texts))] * len(texts))


_ScoredAnswer = tuple[examiner.StoredAnswer, float, str]
"""A judge's answer from the document, its likeness to the summary's (1 or 0 where the judge compared them), and what
was read of the document for it."""
_Answers = PanelVotes[_ScoredAnswer]


class Consistency(ConfiguredMetric):
    """Asks questions about the summary and looks up their answers in the document.

    By the `similarity` the two answers are compared by the judge, who compares those that are not identical, or by a
    measure, as in the paper; `cosine` needs an `encoder`. `claims` is the maximum number of questions; of a longer
    summary, evenly spread sentences are examined. Or it is a range, as in the paper: every sentence is examined, and
    the most important questions of all count. With a `second_look` the judge compares differing answers in words and
    reads more before calling them different."""

    name = "consistency"
    meaning = "How much of what the summary claims agrees with the document, from 0 to 1."
    version = 10
    prompts = (qa.ASK_SUMMARY, qa.ANSWER_FROM_DOCUMENT, qa.COMPARE_ANSWERS)
    item = "claim"
    aim = "truth"
    uses = "questions"
    begins_without = True

    @override
    def check(self, book: PromptBook, tokenizer: Tokenizer, window: int | None) -> None:
        """Refuse a likeness that takes a model of embeddings where there is none."""
        similarity(self.judging.similarity, self.encoder)

    async def evaluate(self, case: Case) -> Evaluation:
        """Score the draft, and find each claim that the document contradicts or does not make."""
        if not case.statements:
            return self.not_applicable("the summary has no sentence")
        most = self.judging.claims
        examined = case.statements if isinstance(most, tuple) else evenly_spread(case.statements, most)
        results = await questions_about(case, examined)
        at_most = A_SENTENCE if isinstance(most, tuple) else max(1, min(A_SENTENCE, most // len(examined)))
        claims: list[_Claim] = []
        for n, entry in sorted(results.verdicts.items()):
            valid = [question for question in entry.questions if is_answer(question.answer)]
            claims += [_Claim(examined[n], valid[at]) for at in _foremost(valid, at_most)]
        # The questions dropped because the judge did not give the sentence's answer.
        empty = sum(min(at_most, len(entry.questions)) for entry in results.verdicts.values()) - len(claims)
        claims = self._most_important(claims)
        passed_over = len(examined) - len(results.verdicts)
        if not claims:
            if passed_over or empty:
                return self.failed(results.trouble, passed_over + empty)
            return self.not_applicable("no sentence of the summary claims anything")
        # A sentence that the judge skipped counts like the average of the others; of a range, others take its place.
        unasked = empty + passed_over * ceil(len(claims) / len(results.verdicts))
        if isinstance(most, tuple):
            unasked = min(empty + passed_over, max(0, most[0] - len(claims)))
        case = await case.with_part()
        panel = await panel_votes(case, claims, CONSISTENT, partial(self._votes, case))
        # What most judges agree on first, then by importance.
        order = sorted(panel.items, key=lambda n: (-claims[n].asked.importance, n))
        first_answers = [next(iter(panel.answers(n)), (None, None, "")) for n in range(len(claims))]
        return mean_evaluation(
            self,
            panel,
            unasked=unasked,
            findings=distinct_errors(_finding(n, claims[n], panel) for n in panel.disputed_items(order)),
            details={
                "sentences": len(case.statements),
                "examined": len(examined) - passed_over,
                "claims": [
                    {
                        "sentence": claim.statement.id,
                        "question": claim.asked.question,
                        "importance": claim.asked.importance,
                        "found": claim.asked.answer,
                        "expected": answer.answer if answer else "",
                        "place": answer.place if answer else None,
                        "likeness": None if likeness is None else round(likeness, 4),
                        **panel.shown(n),
                    }
                    for n, (claim, (answer, likeness, _)) in enumerate(zip(claims, first_answers, strict=True))
                ],
            },
        )

    def _most_important(self, claims: Sequence[_Claim]) -> list[_Claim]:
        """Return the `top_k` most important claims where that is set; of a range, as many as are important, within its
        ends."""
        top_k, limits = self.judging.top_k, self.judging.claims
        if isinstance(limits, tuple):
            important = sum(claim.asked.importance >= _IMPORTANT for claim in claims)
            number = min(limits[1], max(limits[0], important))
            top_k = number if top_k is None else min(top_k, number)
        return [claims[n] for n in _foremost([claim.asked for claim in claims], top_k)]

    async def _votes(self, case: Case, judge: Judge, claims: Sequence[_Claim]) -> Votes[_ScoredAnswer]:
        threshold, alike = self.judging.threshold, similarity(self.judging.similarity, self.encoder)
        queries = [claim.query(case.pack) for claim in claims]
        results = await examiner.answers_from_document(judge, queries, case.reader)
        # "Not in the document" is a verdict only after the whole document was read.
        settled = results.decided(lambda answer: answer.answered is True or answer.is_from_whole)
        answers = dict(sorted(settled.verdicts.items()))
        likeness = {
            n: alike(claims[n].asked.answer, answer.answer) if answer.answered else 0.0 for n, answer in answers.items()
        }
        # Two answers are compared in words if they differ, or differ in little that may matter.
        is_compared = self.judging.second_look or self.judging.similarity == "judge"
        doubtful: list[int] = []
        for n in sorted(likeness) if is_compared else ():
            found_answer, answer_text = claims[n].asked.answer, answers[n].answer
            if answers[n].answered and not examiner.is_same(found_answer, answer_text):
                doubtful += [n] if likeness[n] <= threshold or examiner.is_doubtful(found_answer, answer_text) else []
        pairs: list[qa.Pair] = []
        second_queries: list[EvidenceQuery] = []
        for n in doubtful:
            claim, answer = claims[n].asked, answers[n]
            pairs.append(qa.Pair(id=0, question=claim.question, document=answer.answer, summary=claim.answer))
            # The second look includes the place that the first answer is from.
            cited = (*queries[n].cited, *([answer.place] if answer.place else []))
            is_glanced = answer.scope is not None and not answer.is_from_whole
            second_queries.append(replace(queries[n], cited=cited, glanced=is_glanced))
        confirm = self.judging.second_look
        compared = await examiner.compare_twice(judge, pairs, second_queries, case.reader, confirm=confirm)
        read = {n: answer.scope.description if answer.scope else "" for n, answer in answers.items()}
        for at, n in enumerate(doubtful):
            # An answer about something else neither supports nor contradicts the claim.
            if (comparison := compared.verdicts.get(at)) is None or comparison.verdict == "none":
                del likeness[n]
                continue
            # A claim need not say all that the document does.
            likeness[n] = float(comparison.verdict in ("full", "part"))
            read[n] = comparison.described(read[n])
            answers[n] = comparison.read or answers[n]
        votes: dict[int, Vote[_ScoredAnswer]] = {}
        for n, like in likeness.items():
            verdict = CONSISTENT if like > threshold else INCONSISTENT if answers[n].answered else UNSUPPORTED
            # Algorithm 1, line 11: similarities up to the threshold count 0, others count as they are. A judge that
            # compares words says how much of a claim the document has.
            share = answers[n].share
            value = like * (1.0 if share is None else share) if like > threshold else 0.0
            votes[n] = Vote(verdict, value, (answers[n], like, read[n]))
        return ItemResults(votes, results.trouble or compared.trouble)


def _foremost(asked: Sequence[qa.SummaryQuestion], count: int | None) -> list[int]:
    """Return the numbers of the so many most important questions, in their original order."""
    return sorted(sorted(range(len(asked)), key=lambda n: -asked[n].importance)[:count])


def _finding(n: int, claim: _Claim, panel: _Answers) -> Finding:
    item = panel.items[n]
    verdict = item.objection
    answer, _, read = panel.answers(n, verdict)[0]
    silent = verdict == UNSUPPORTED
    return Finding(
        Consistency.name,
        verdict,
        # There is no replacement for what the document does not mention.
        "remove" if silent else "correct",
        f"Not found in {read}." if silent else "The document says something else.",
        sentence=claim.statement.sentence,
        question=claim.asked.question,
        found=claim.asked.answer,
        expected="" if silent else answer.answer,
        evidence=None if silent else answer.evidence,
        said_by=item.said_by,
        read=read,
        value=item.value,
    )


def evenly_spread(items: Sequence[T], limit: int) -> list[T]:
    """Return an evenly spread selection of at most this many."""
    room = min(limit, len(items))
    return [items[at * len(items) // room] for at in range(room)]


async def questions_about(case: Case, statements: Sequence[qa.Statement]) -> ItemResults[qa.SentenceQuestions]:
    """Return the claims of some sentences of a summary as questions with answers, which the first judge writes.
    Questions are stored by sentence and what it refers back to, so an unchanged sentence of another draft is not asked
    about again."""
    judge, reader = case.panel[0], case.reader
    parts = reader.parts(case.statements)
    part_of = {statement.id: number for number, part in enumerate(parts) for statement in part}
    place = {statement.id: n for n, statement in enumerate(statements)}
    entry_tokens = A_SENTENCE * CLAIM.tokens(judge.wording)
    rooms = [judge.reply_room(examiner.FRAME_TOKENS + reader.tokens_of(part), reader.window) for part in parts]

    async def ask(numbers: Sequence[int], attempt: Attempt) -> Entries[qa.SentenceQuestions]:
        number = part_of[statements[numbers[0]].id]
        only = [] if len(numbers) == len(parts[number]) else [statements[n].id for n in numbers]
        fields = qa.AskSummaryInput(
            **examiner.summary_fields(parts[number]), only=only, at_most=A_SENTENCE, searched=reader.is_searched
        )
        room = min(len(numbers) * entry_tokens, rooms[number])
        reply = await judge.ask(qa.ASK_SUMMARY, fields, room, label_of("questions about", numbers), attempt)
        return reply, ((place[entry.id], entry) for entry in reply.value.sentences if entry.id in place)

    async def ask_about(numbers: Sequence[int]) -> ItemResults[qa.SentenceQuestions]:
        batches: list[Sequence[int]] = []
        for at in range(len(parts)):
            in_part = [n for n in numbers if part_of[statements[n].id] == at]
            batches += in_batches(in_part, examiner.entries_per_request(rooms[at], entry_tokens * _ASKED_AS_A_RULE))
        return await ask_all(batches, ask)

    meant = examiner.antecedents(case.statements)
    items = [[reader.document.id, A_SENTENCE, *meant[statement.id], statement.sentence] for statement in statements]
    return await judge.verdicts(qa.ASK_SUMMARY, qa.SentenceQuestions, items, ask_about)


Similarity = Callable[[str, str], float]
"""Symmetric; 1 for identical answers, 0 where either is empty."""

_DECIMALS = 6


def similarity(name: SimilarityName, encoder: Encoder | None) -> Similarity:
    """Return the measure called `name`; `cosine` needs an encoder. `judge` compares for equality only; the judge is
    asked about the rest."""
    measures: dict[str, Similarity] = {"exact": exact, "rouge1": rouge1}
    measures["judge"] = lambda answer, second_answer: float(examiner.is_same(answer, second_answer))
    if name in measures:
        return measures[name]
    if encoder is None:
        raise UsageError(
            "the similarity cosine needs an embedding model",
            hint='pip install "redraft[embeddings]" and name a model of sentence-transformers, or choose rouge1',
        )

    def cosine(answer: str, second_answer: str) -> float:
        if not examiner.words_of(answer) or not examiner.words_of(second_answer):
            return 0.0
        first, second = encoder.encode([answer, second_answer])
        # Rounded, so that identical answers have similarity 1 exactly.
        return round(min(1.0, max(0.0, float(np.dot(first, second)))), _DECIMALS)

    return cosine


def exact(answer: str, second_answer: str) -> float:
    """Return 1 for an exact match, except for case, articles, punctuation, whitespace and thousands separators, and
    otherwise the Jaccard similarity of the two sets of words. An answer that is only an article keeps it."""
    words, second_words = set(examiner.essential_words(answer)), set(examiner.essential_words(second_answer))
    if not words or not second_words:
        return 0.0
    return len(words & second_words) / len(words | second_words)


def rouge1(answer: str, second_answer: str) -> float:
    """Return ROUGE-1 F1 with stemming as in rouge-score, for any script and language."""
    language = language_of("\n".join(sorted((answer, second_answer))))
    return f1(examiner.words_of(answer), examiner.words_of(second_answer), language)


def f1(first_words: Sequence[str], second_words: Sequence[str], language: str) -> float:
    """Return ROUGE-1 F1 of two texts, given as words, in a language; to the last bit that of rouge-score."""
    first, second = (Counter(stems(words, language)) for words in (first_words, second_words))
    shared = (first & second).total()
    if not shared:
        return 0.0
    precision, recall = shared / second.total(), shared / first.total()
    return 2 * precision * recall / (precision + recall)


def stems(words: Sequence[str], language: str) -> list[str]:
    """Return the stems of lower-case words; for English those of rouge-score's tokenizer, which knows only a to z and 0
    to 9."""
    if is_foreign(language):
        stem = stemmer(language)
        return [stem(word) or word for word in words]
    return [token for word in words for token in (english_tokenizer().tokenize(word) if word.isascii() else [word])]


@cache
def english_tokenizer() -> Any:
    """Return the tokenizer of rouge-score with its stemmer."""
    # rouge-score imports NLTK, which is slow, and only ROUGE needs it.
    from rouge_score.tokenizers import DefaultTokenizer

    return DefaultTokenizer(use_stemmer=True)
