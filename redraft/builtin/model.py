"""The built-in model: answers every prompt by classical methods, without a key, a network or a language model."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from math import ceil
from typing import Any, cast

from pydantic import BaseModel

from redraft.builtin import answers, decisions, draft, facts, questions, revise
from redraft.builtin.identity import IDENTITY
from redraft.domain import Usage
from redraft.errors import ModelError
from redraft.llm.base import Reply, Request, Sampling
from redraft.prompts import arbitration, asking, decision, factual, origins, qa, summarization
from redraft.prompts import coherence as reading
from redraft.prompts import summarization as writing
from redraft.prompts.contract import Given_, Prompt, Value_
from redraft.prompts.factual import SPLIT_FACTS
from redraft.prompts.revision import CRITICIZE, REVISE

_CHARACTERS_PER_TOKEN = 4
Handler = Callable[[Any], Any]


def _bound(prompt: Prompt[Given_, Value_], handler: Callable[[Given_], Value_]) -> tuple[str, Handler]:
    return prompt.name, handler


HANDLERS: Mapping[str, Handler] = dict(
    (
        _bound(writing.BEGIN, draft.summarize_part),
        _bound(writing.SUMMARIZE_CHUNK, draft.summarize_part),
        _bound(writing.SUMMARIZE_WHOLE, draft.summarize_whole),
        _bound(writing.MERGE, draft.merge),
        _bound(writing.MERGE_ONWARD, draft.merge_onward),
        _bound(writing.UPDATE, draft.update),
        _bound(writing.COMPRESS, draft.compress),
        _bound(writing.TIDY, draft.tidy),
        _bound(summarization.OUTLINE, decisions.outline),
        _bound(CRITICIZE, revise.criticize),
        _bound(REVISE, revise.revise),
        _bound(qa.ASK_DOCUMENT, questions.ask_document),
        _bound(qa.RANK_QUESTIONS, questions.rank_questions),
        _bound(qa.ASK_SUMMARY, questions.ask_summary),
        _bound(qa.ANSWER_FROM_SUMMARY, answers.answer_from_summary),
        _bound(qa.ANSWER_FROM_DOCUMENT, answers.answer_from_document),
        _bound(asking.WRITE_ANSWER, answers.write_answer),
        _bound(qa.COMPARE_ANSWERS, answers.compare_answers),
        _bound(qa.ASK_TYPED, questions.ask_typed),
        _bound(qa.ANSWER_QUESTIONS, answers.answer_questions),
        _bound(qa.JUDGE_ANSWERS, answers.judge_answers),
        _bound(factual.KEYFACTS_ANALYTICAL, facts.grow),
        _bound(factual.KEYFACTS_NARRATIVE, facts.grow),
        _bound(factual.FACTS_FAITHFUL, facts.facts_faithful),
        _bound(factual.FACTS_OBJECTIVE, facts.facts_objective),
        _bound(factual.FACTS_SIGNIFICANT, facts.facts_significant),
        _bound(factual.QUERY_ANALYTICAL, facts.ask_query),
        _bound(factual.QUERY_NARRATIVE, facts.ask_query),
        _bound(factual.ALIGN_FACTS, facts.align_facts),
        _bound(factual.VERIFY_SENTENCES, facts.verify_sentences),
        _bound(factual.JUDGE_CHUNK, facts.judge_chunk),
        _bound(SPLIT_FACTS, facts.split_facts),
        _bound(reading.FIND_CONFUSION, decisions.find_confusion),
        _bound(reading.PREFER_SUMMARY, decisions.prefer_summary),
        _bound(decision.DECIDE, decisions.decide),
        _bound(arbitration.RULE_ON_FINDINGS, decisions.rule_on_findings),
        _bound(origins.TRACE_SENTENCES, decisions.trace_sentences),
    )
)
"""The functions that answer prompts, by prompt name."""


def handler_for(prompt: Prompt[Given_, Value_]) -> Callable[[Given_], Value_]:
    """Return the function that answers `prompt`; raises ModelError where there is none."""
    try:
        return cast(Callable[[Given_], Value_], HANDLERS[prompt.name])
    except KeyError:
        raise ModelError(
            f"the extractive model cannot answer the prompt {prompt.name}",
            place=prompt.name,
            hint="choose a chat model for it",
        ) from None


class ExtractiveModel:
    """A deterministic `Model` whose answers are sentences of its input."""

    identity = IDENTITY

    def most_tokens(self, sampling: Sampling) -> int:  # noqa: ARG002  (as the protocol has it)
        """Return None: replies of this model are free."""
        return 0

    async def ask(self, request: Request[Given_, Value_]) -> Reply[Value_]:
        return await asyncio.to_thread(_answer, request)


def _answer(request: Request[Given_, Value_]) -> Reply[Value_]:
    value = handler_for(request.prompt)(request.given)
    text = value.model_dump_json() if isinstance(value, BaseModel) else str(value)
    asked = len(request.given.model_dump_json())
    return Reply(
        value, text, Usage(ceil(asked / _CHARACTERS_PER_TOKEN), ceil(len(text) / _CHARACTERS_PER_TOKEN), reported=False)
    )
