"""What judging and refining will ask for at most, before anything is asked."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil
from typing import Any

from redraft.agents.evidence import EvidenceDesk
from redraft.agents.examiner import (
    ANSWER_TOKENS,
    COMPARISON_TOKENS,
    NUMBER_TOKENS,
    QUESTION_TOKENS,
    batch_size,
    reply_tokens,
)
from redraft.evaluators import consistency, packs
from redraft.evaluators.base import statements_of
from redraft.graphs.policy import FINDINGS_AT_ONCE
from redraft.preparing import Order, Prepared
from redraft.prompts import judging
from redraft.prompts.contract import Prompt
from redraft.prompts.revising import REVISE
from redraft.session import fitting_document
from redraft.settings import Judging
from redraft.text.passages import Passages

# As a rule: a question with its number, a point with its evidence, a sentence of a summary.
_QUESTION = 40
_POINT = 200
_WORDS_A_SENTENCE = 15


@dataclass(frozen=True, slots=True)
class Stage:
    """One kind of work, over all rounds."""

    name: str
    calls: int
    prompt_tokens: int
    completion_tokens: int


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
        if "consistency" in self._how.metrics and self._sentences:
            yield self._consistency()
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
        answering, comparing = self._calls(questions, ANSWER_TOKENS), self._calls(questions, COMPARISON_TOKENS)
        prompt = answering * (self._summary + self._overhead(judging.ANSWER_FROM_SUMMARY)) + questions * _QUESTION
        prompt += comparing * self._overhead(judging.COMPARE_ANSWERS) + questions * 2 * _QUESTION
        completion = questions * (ANSWER_TOKENS + COMPARISON_TOKENS)
        return Stage("coverage", drafts * (answering + comparing), drafts * prompt, drafts * completion)

    def _consistency(self) -> Stage:
        """Every draft may be new from end to end, and every answer have to be looked for twice."""
        asked = consistency.asked_each(self._sentences)
        claims = min(self._sentences * consistency.claims_each(self._sentences, self._how.claims), self._how.claims)
        asking, reading = self._calls(self._sentences, asked * QUESTION_TOKENS), 2 * self._calls(claims, ANSWER_TOKENS)
        prompt = asking * self._overhead(judging.ASK_SUMMARY) + self._summary
        answered = min(claims, self._how.top_k or claims)
        evidence = self._seats * reading * min(self._desk.room, self._prepared.plan.document_tokens)
        prompt += evidence + self._seats * (
            reading * self._overhead(judging.ANSWER_FROM_DOCUMENT) + 2 * answered * _QUESTION
        )
        completion = self._sentences * asked * QUESTION_TOKENS + self._seats * 2 * answered * ANSWER_TOKENS
        drafts = 1 + self._rounds
        return Stage("consistency", drafts * (asking + self._seats * reading), drafts * prompt, drafts * completion)

    def _revisions(self) -> Stage:
        document = self._prepared.plan.document_tokens if fitting_document(self._prepared) else 0
        prompt = document + 2 * self._summary + FINDINGS_AT_ONCE * _POINT + self._overhead(REVISE)
        return Stage("revising", self._rounds, self._rounds * prompt, self._rounds * self._summary)

    def _calls(self, items: int, tokens: int) -> int:
        """How many batches so many items come to, when each takes so many tokens of a reply."""
        return ceil(items / batch_size(reply_tokens(self._desk.window), tokens))

    def _overhead(self, prompt: Prompt[Any, Any]) -> int:
        return self._prepared.tokenizer.count(self._prepared.book.source(prompt.name))
