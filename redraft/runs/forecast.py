"""What judging and refining will ask for at most, before anything is asked."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import ceil
from operator import mul
from typing import Any, Literal

from redraft.agents import factfinder
from redraft.agents.evidence import FAR, NEAR, EvidenceDesk
from redraft.agents.examiner import (
    ANSWER_TOKENS,
    COMPARISON_TOKENS,
    NUMBER_TOKENS,
    QUESTION_TOKENS,
    QUESTIONS_NEAR,
)
from redraft.agents.judge import batch_size, reply_tokens
from redraft.agents.proofreader import CONFUSION_TOKENS
from redraft.agents.referee import PREFERENCE_TOKENS, fits, prompt_tokens
from redraft.domain import Chunk
from redraft.evaluators import consistency
from redraft.evaluators.base import statements_of
from redraft.graphs.policy import FINDINGS_AT_ONCE
from redraft.packs import questions as packs
from redraft.packs.growing import chunk_tokens
from redraft.prompts import factual, judging
from redraft.prompts.coherence import FIND_CONFUSION
from redraft.prompts.contract import Prompt
from redraft.prompts.revising import REVISE
from redraft.runs.preparing import Order, Prepared
from redraft.runs.session import fitting_document
from redraft.settings import EXTRACTIVE, BuildKeyfacts, BuildQuestions, Judging
from redraft.text.chunks import chunk
from redraft.text.passages import WINDOW, Passages

# As a rule: a question or a fact with its number, a point with its evidence, a sentence of a summary.
_QUESTION = 40
_FACT = 50
_POINT = 200
_WORDS_A_SENTENCE = 15
# What is said around a sentence to number it.
_TAG = 16

Role = Literal["writer", "judge", "validator"]


@dataclass(frozen=True, slots=True)
class Stage:
    """One kind of work, over all rounds, and who does it."""

    name: str
    calls: int
    prompt_tokens: int
    completion_tokens: int
    by: Role = "judge"


@dataclass(frozen=True, slots=True)
class Forecast:
    """The stages, in the order in which they are first come to."""

    stages: tuple[Stage, ...]

    @property
    def calls(self) -> int:
        """Of all stages."""
        return sum(stage.calls for stage in self.stages)

    @property
    def prompt_tokens(self) -> int:
        """Of all stages."""
        return sum(stage.prompt_tokens for stage in self.stages)

    @property
    def completion_tokens(self) -> int:
        """Of all stages."""
        return sum(stage.completion_tokens for stage in self.stages)


def forecast(prepared: Prepared, order: Order) -> Forecast:
    """The most that judging and refining comes to when nothing is known yet and every reply is valid at once."""
    if order.judging is None:
        return Forecast(())
    return Forecast(tuple(_Forecaster(prepared, order, order.judging).stages()))


class _Forecaster:
    """Counts for one document, one summary and one way of judging."""

    def __init__(self, prepared: Prepared, order: Order, how: Judging) -> None:
        self._prepared = prepared
        self._order = order
        self._how = how
        document, tokenizer = prepared.document, prepared.tokenizer
        self._desk = EvidenceDesk(
            document=document,
            passages=Passages(document, tokenizer),
            tokenizer=tokenizer,
            window=prepared.settings.context_tokens,
            document_tokens=prepared.plan.document_tokens,
        )
        words = prepared.settings.words or 0
        self._summary = ceil(words * prepared.plan.tokens_per_word)
        self._sentences = ceil(words / _WORDS_A_SENTENCE)
        if order.given is not None and not order.refinement:
            self._sentences = len(statements_of(order.given))
        self._rounds = order.refinement.rounds if order.refinement else 0
        self._seats = max(1, len(how.judges)) * how.repeat

    def stages(self) -> Iterator[Stage]:
        if "coverage" in self._how.metrics:
            questions = packs.questions_wanted(self._desk, self._how.questions)
            yield self._pack(questions)
            yield self._coverage(min(questions, self._how.top_k or questions))
        elif isinstance(self._order.purpose, BuildQuestions):
            yield self._pack(packs.questions_wanted(self._desk, self._how.questions))
        if "consistency" in self._how.metrics and self._sentences:
            yield self._consistency()
        if "keyfact_recall" in self._how.metrics or isinstance(self._order.purpose, BuildKeyfacts):
            yield from self._keyfacts()
        if "keyfact_recall" in self._how.metrics and self._sentences:
            yield self._recall()
        if "faithfulness" in self._how.metrics and self._sentences:
            yield self._faithfulness()
        if "booookscore" in self._how.metrics and self._sentences:
            yield self._booookscore()
        if self._order.given is not None and self._order.other is not None:
            yield self._preference(self._order.given, self._order.other)
        if self._rounds:
            yield self._revisions()

    def _pack(self, questions: int) -> Stage:
        stretches = len(packs.stretches_of(self._desk))
        asked = stretches * packs.questions_each(questions, stretches)
        prompt = self._prepared.plan.document_tokens + stretches * self._overhead(judging.ASK_DOCUMENT)
        completion = asked * QUESTION_TOKENS
        if stretches == 1:
            return Stage("asking about the document", 1, prompt, completion)
        prompt += self._overhead(judging.RANK_QUESTIONS) + asked * 2 * _QUESTION
        return Stage("asking about the document", stretches + 1, prompt, completion + asked * NUMBER_TOKENS)

    def _coverage(self, questions: int) -> Stage:
        """Every draft is asked all questions, and every answer may differ from the document's."""
        drafts = self._seats * (1 + self._rounds)
        parts, part = self._parts()
        answering, comparing = parts * self._calls(questions, ANSWER_TOKENS), self._calls(questions, COMPARISON_TOKENS)
        prompt = answering * (part + self._overhead(judging.ANSWER_FROM_SUMMARY)) + parts * questions * _QUESTION
        prompt += comparing * self._overhead(judging.COMPARE_ANSWERS) + questions * 2 * _QUESTION
        completion = questions * (parts * ANSWER_TOKENS + COMPARISON_TOKENS)
        return Stage("coverage", drafts * (answering + comparing), drafts * prompt, drafts * completion)

    def _consistency(self) -> Stage:
        """Every draft may be new from end to end, and every answer have to be looked for twice."""
        asked = consistency.asked_each(self._sentences)
        claims = min(self._sentences * consistency.claims_each(self._sentences, self._how.claims), self._how.claims)
        asking = self._calls(self._sentences, asked * QUESTION_TOKENS)
        reading, evidence = self._searching(claims, ANSWER_TOKENS, QUESTIONS_NEAR)
        prompt = asking * self._overhead(judging.ASK_SUMMARY) + self._summary
        answered = min(claims, self._how.top_k or claims)
        prompt += self._seats * (
            evidence + reading * self._overhead(judging.ANSWER_FROM_DOCUMENT) + 2 * answered * _QUESTION
        )
        completion = self._sentences * asked * QUESTION_TOKENS + self._seats * 2 * answered * ANSWER_TOKENS
        drafts = 1 + self._rounds
        return Stage("consistency", drafts * (asking + self._seats * reading), drafts * prompt, drafts * completion)

    def _keyfacts(self) -> Iterator[Stage]:
        """Every tree may have as many facts as a reply has room for."""
        chunks, perspectives = self._chunks, self._perspectives
        trees, facts = len(chunks) * perspectives, self._facts_a_tree
        growing = max(self._overhead(prompt) for prompt in factual.GROWING.values())
        text = sum(one.tokens for one in chunks)
        room = reply_tokens(self._desk.window)
        yield Stage("finding key facts", trees, perspectives * text + trees * growing, trees * room)

        vetting, each = self._vetting(perspectives * facts), perspectives * facts
        calls = sum(vetting.values())
        prompt = sum(number * (text + len(chunks) * self._overhead(kind)) for kind, number in vetting.items())
        prompt += 3 * len(chunks) * each * _FACT
        completion = len(chunks) * each * (factfinder.SUPPORT_TOKENS + 2 * factfinder.OPINION_TOKENS)
        yield Stage("validating key facts", len(chunks) * calls, prompt, completion, "validator")

        querying = max(self._overhead(prompt) for prompt in factual.QUERYING.values())
        prompt = trees * (querying + facts * _FACT)
        yield Stage("asking what the trees answer", trees, prompt, trees * factfinder.QUERY_TOKENS)

    def _vetting(self, facts: int) -> dict[Prompt[Any, Any], int]:
        """How often a chunk is read to validate so many facts, by prompt."""
        opinions = self._batches(facts, factfinder.OPINION_TOKENS)
        return {
            factual.FACTS_FAITHFUL: self._batches(facts, factfinder.SUPPORT_TOKENS),
            factual.FACTS_OBJECTIVE: opinions,
            factual.FACTS_SIGNIFICANT: opinions,
        }

    def _recall(self) -> Stage:
        """Every draft is held against all facts, or against those of the tree whose query it answers."""
        trees = 1 if self._prepared.settings.query else len(self._chunks) * self._perspectives
        facts, drafts = trees * self._facts_a_tree, self._seats * (1 + self._rounds)
        parts, part = self._parts()
        calls = parts * self._batches(facts, factfinder.ALIGNMENT_TOKENS)
        prompt = calls * (part + self._overhead(factual.ALIGN_FACTS)) + parts * facts * _FACT
        completion = parts * facts * factfinder.ALIGNMENT_TOKENS
        return Stage("keyfact_recall", drafts * calls, drafts * prompt, drafts * completion)

    def _faithfulness(self) -> Stage:
        """Every draft may be new from end to end, and more have to be read for every sentence."""
        calls, evidence = self._searching(
            self._sentences, factfinder.VERIFICATION_TOKENS, factfinder.SENTENCES_NEAR, self._prepared.settings.query
        )
        sentences = 2 * (2 * self._summary + self._sentences * _TAG)  # each of them with the one before it, twice
        prompt = evidence + calls * self._overhead(factual.VERIFY_SENTENCES) + sentences
        completion = 2 * self._sentences * factfinder.VERIFICATION_TOKENS
        drafts = self._seats * (1 + self._rounds)
        return Stage("faithfulness", drafts * calls, drafts * prompt, drafts * completion)

    def _booookscore(self) -> Stage:
        """Every draft is another text, beside which each of its sentences is judged."""
        together = min(self._how.batch, batch_size(reply_tokens(self._desk.window), CONFUSION_TOKENS))
        calls, drafts = ceil(self._sentences / together), self._seats * (1 + self._rounds)
        prompt = (
            calls * (self._overhead(FIND_CONFUSION) + self._summary + _TAG) + self._summary + self._sentences * _TAG
        )
        completion = self._sentences * CONFUSION_TOKENS
        return Stage("booookscore", drafts * calls, drafts * prompt, drafts * completion)

    def _preference(self, first: str, second: str) -> Stage:
        """Every judge is asked in both orders, with the document where it has room for it."""
        if first.strip() == second.strip():
            return Stage("preference", 0, 0, 0)
        settings, document = self._prepared.settings, self._prepared.plan.document_tokens
        needed = prompt_tokens(self._prepared.book, self._prepared.tokenizer, first, second)
        windows = [
            None if name == EXTRACTIVE else settings.context_tokens for name in self._how.judges or (settings.model,)
        ]
        asked = [
            needed + document if fits(needed + document, window) else needed
            for window in windows
            if fits(needed, window)
        ]
        calls = 2 * self._how.repeat * len(asked)
        prompt = 2 * self._how.repeat * (sum(asked) - len(asked) * PREFERENCE_TOKENS)
        return Stage("preference", calls, prompt, calls * PREFERENCE_TOKENS)

    def _searching(self, items: int, tokens: int, near: int, query: str | None = None) -> tuple[int, int]:
        """The calls, and the tokens of evidence in them, when every item is looked for twice in the document.

        An answer to a query is held against the chunk that the query is about.
        """
        document = chunk_tokens(self._desk) if query else self._prepared.plan.document_tokens
        fitting = batch_size(reply_tokens(self._desk.window), tokens)
        first = min(near, fitting, max(1, self._desk.room // (NEAR * WINDOW)))
        second = fitting if document <= self._desk.room else min(fitting, max(1, self._desk.room // (FAR * WINDOW)))
        calls = ceil(items / first), ceil(items / second)
        evidence = min(document, self._desk.room, first * NEAR * WINDOW), min(document, self._desk.room)
        return sum(calls), sum(map(mul, calls, evidence))

    def _parts(self) -> tuple[int, int]:
        """In how many parts a summary is read, and the tokens of each; mostly it is one."""
        summary = self._summary + self._sentences * _TAG
        parts = max(1, ceil(summary / self._desk.room))
        return parts, ceil(summary / parts)

    @cached_property
    def _chunks(self) -> list[Chunk]:
        """The chunks that trees are grown on."""
        return chunk(self._prepared.document, self._prepared.tokenizer, chunk_tokens(self._desk))

    @property
    def _perspectives(self) -> int:
        return 2 if self._how.perspective == "both" else 1

    @property
    def _facts_a_tree(self) -> int:
        return batch_size(reply_tokens(self._desk.window), factfinder.FACT_TOKENS)

    def _revisions(self) -> Stage:
        document = self._prepared.plan.document_tokens if fitting_document(self._prepared) else 0
        prompt = document + 2 * self._summary + FINDINGS_AT_ONCE * _POINT + self._overhead(REVISE)
        return Stage("revising", self._rounds, self._rounds * prompt, self._rounds * self._summary, "writer")

    def _calls(self, items: int, tokens: int) -> int:
        """How many batches so many items come to, when each takes so many tokens of a reply."""
        return ceil(items / batch_size(reply_tokens(self._desk.window), tokens))

    def _batches(self, facts: int, tokens: int) -> int:
        """As many for facts, which stand in the prompt beside a text."""
        return ceil(facts / factfinder.facts_at_once(reply_tokens(self._desk.window), tokens))

    def _overhead(self, prompt: Prompt[Any, Any]) -> int:
        return self._prepared.tokenizer.count(self._prepared.book.source(prompt.name))
