"""The built-in model: answers every prompt by classical methods, without a key, a network or a language model."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping, Sequence
from math import ceil
from typing import Any

from pydantic import BaseModel

from redraft.builtin import draft, facts, questions, revise
from redraft.builtin.identity import IDENTITY
from redraft.builtin.support import checker_for, reason
from redraft.domain import Usage
from redraft.errors import ModelError
from redraft.llm.base import Reply, Request, Sampling
from redraft.prompts import coherence as reading
from redraft.prompts import factual, qa, revision, summarization
from redraft.prompts.coherence import (
    Choice,
    Confusion,
    ConfusionInput,
    Confusions,
    FindStopsInput,
    PreferenceReply,
    PreferInput,
    Stops,
)
from redraft.prompts.contract import UNSURE, InputT, Prompt, Unsure, ValueT
from redraft.prompts.factual import SPLIT_FACTS, PointRuling, PointRulings, RuleInput
from redraft.prompts.revision import (
    CHOOSE_DRAFT,
    CRITICIZE,
    EDIT,
    REVISE,
    ChooseInput,
    DecideInput,
    Decision,
    DraftChoice,
    MetricStatus,
)
from redraft.prompts.summarization import Outline, OutlineInput
from redraft.text.languages import language_of
from redraft.text.sanitizer import one_line
from redraft.text.sentences import sentences_in
from redraft.text.word_keys import telling
from redraft.text.words import same_words, words_key

_RULE = "the built-in model takes the metric furthest from its goal"
# The least share of a sentence's content words at its source.
_SHARE = 0.5


def decide(given: DecideInput) -> Decision:
    """Choose the metric furthest from its goal and its first findings, by rule."""
    with_findings = {finding.metric for finding in given.findings}
    missed = [status for status in given.scoreboard if status.metric in with_findings and status.met == "no"]
    if not missed:
        return Decision(why=f"{_RULE}: none is missed", stop=True)
    weakest = min(missed, key=_reached)
    chosen = [finding.id for finding in given.findings if finding.metric == weakest.metric][: given.at_most]
    return Decision(why=f"{_RULE}: {weakest.metric}", fix=chosen)


def _reached(standing: MetricStatus) -> float:
    """Return the share of the goal that is reached."""
    score = 0.0 if standing.score == "none" else float(standing.score)
    return score / max(float(standing.goal), 1e-9)


def rule_on_findings(given: RuleInput) -> PointRulings:
    """Return no ruling: rules cannot tell, so every finding stands."""
    why = "The built-in model cannot tell; a language model can (--judge)."
    return PointRulings(
        points=[PointRuling(id=point.id, reason=why, quote="", verdict="unclear") for point in given.points]
    )


def outline(_: OutlineInput) -> Outline:
    """Return nothing: finding turning points takes a reader."""
    return Outline(kind="other", line="", turning_points=[], cast=[], central=[], important=[], unneeded=[])


_MIN_SAID_WORDS = 4
_POINTS_BACK = re.compile(r"(?:he|she|they|it|his|hers?|theirs?|its)\b", re.IGNORECASE)
_CANNOT_TELL = "The built-in judge cannot tell: it finds no error in one that the other lacks."
_NOT_READ = "The built-in judge cannot tell without the document; a language model can (--judge)."


def find_confusion(given: ConfusionInput) -> Confusions:
    """Return a verdict on each sentence that is certainly confusing; the others are left open."""
    said = [words_key(text) for text in sentences_in(given.summary)]
    return Confusions(sentences=[_confusion(line.id, one_line(line.sentence), said) for line in given.sentences])


def _confusion(number: int, sentence: str, said: Sequence[str]) -> Confusion:
    key = words_key(sentence)
    # Parts of a long summary are numbered as in the whole, so the first of two equal sentences may be meant.
    if len(key.split()) >= _MIN_SAID_WORDS and key in said[: number - 1] and said.count(key) > 1:
        return Confusion(id=number, questions=["Why is this said twice?"], types=["duplication"])
    if number == 1 and [key] == said[:1] and (opening := _POINTS_BACK.match(sentence)):
        asked = f'Who or what is meant by "{opening.group().lower()}"?'
        return Confusion(id=number, questions=[asked], types=["entity omission"])
    return Confusion(id=number, questions=[], types=[UNSURE])


def find_stops(_: FindStopsInput) -> Stops:
    """Return nothing: it takes a reader to stop."""
    return Stops(stops=[], unsure=True)


def prefer_summary(given: PreferInput) -> PreferenceReply:
    """Prefer a summary without faults to one with faults; counting cannot tell anything else."""
    if same_words(given.first, given.second):
        return _preferred("Both say the same.", "tie", "tie")
    if not given.document:
        return _preferred(_NOT_READ)
    held = [list(map(checker_for((given.document,)).check, sentences_in(text))) for text in (given.first, given.second)]
    first, second = ([support for support in supports if support.is_accused] for supports in held)
    if bool(first) == bool(second):
        return _preferred(_CANNOT_TELL)
    better: Choice = "second" if first else "first"
    return _preferred(f"Of the other summary: {reason((first or second)[0])}", better)


def choose_draft(given: ChooseInput) -> DraftChoice:  # noqa: ARG001 - every prompt has a handler of its input
    """Leave open which of two drafts reads better."""
    return DraftChoice(reason=_CANNOT_TELL, clear=UNSURE, content=UNSURE, overall=UNSURE)


def _preferred(why: str, overall: Choice | Unsure = UNSURE, other: Choice | Unsure = UNSURE) -> PreferenceReply:
    return PreferenceReply(reason=why, detail=other, structure=other, logic=other, overall=overall)


_CHARACTERS_PER_TOKEN = 4
Handler = Callable[[Any], Any]


def _bound(prompt: Prompt[InputT, ValueT], handler: Callable[[InputT], ValueT]) -> tuple[str, Handler]:
    return prompt.name, handler


HANDLERS: Mapping[str, Handler] = dict(
    (
        _bound(summarization.BEGIN, draft.summarize_part),
        _bound(summarization.SUMMARIZE_CHUNK, draft.summarize_part),
        _bound(summarization.SUMMARIZE_WHOLE, draft.summarize_whole),
        _bound(summarization.MERGE, draft.merge),
        _bound(summarization.MERGE_ONWARD, draft.merge_onward),
        _bound(summarization.UPDATE, draft.update),
        _bound(summarization.COMPRESS, draft.compress),
        _bound(summarization.TIDY, draft.tidy),
        _bound(summarization.OUTLINE, outline),
        _bound(CRITICIZE, revise.criticize),
        _bound(REVISE, revise.revise),
        _bound(EDIT, revise.edit),
        _bound(CHOOSE_DRAFT, choose_draft),
        _bound(qa.ASK_DOCUMENT, questions.ask_document),
        _bound(qa.RANK_QUESTIONS, questions.rank_questions),
        _bound(qa.ASK_SUMMARY, questions.ask_summary),
        _bound(qa.ANSWER_FROM_SUMMARY, questions.answer_from_summary),
        _bound(qa.ANSWER_FROM_DOCUMENT, questions.answer_from_document),
        _bound(qa.WRITE_ANSWER, questions.write_answer),
        _bound(qa.COMPARE_ANSWERS, questions.compare_answers),
        _bound(qa.ASK_TYPED, questions.ask_typed),
        _bound(qa.ANSWER_QUESTIONS, questions.answer_questions),
        _bound(qa.JUDGE_ANSWERS, questions.judge_answers),
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
        _bound(reading.FIND_CONFUSION, find_confusion),
        _bound(reading.FIND_STOPS, find_stops),
        _bound(reading.PREFER_SUMMARY, prefer_summary),
        _bound(revision.DECIDE, decide),
        _bound(factual.RULE_ON_FINDINGS, rule_on_findings),
    )
)
"""The functions that answer prompts, by prompt name."""


def handler_for(prompt: Prompt[InputT, ValueT]) -> Callable[[InputT], ValueT]:
    """Return the function that answers `prompt`; raises ModelError where there is none."""
    if handler := HANDLERS.get(prompt.name):
        return handler
    what = f"the extractive model cannot answer the prompt {prompt.name}"
    raise ModelError(what, place=prompt.name, hint="choose a chat model for it")


class ExtractiveModel:
    """A deterministic `Model` whose answers are sentences of its input."""

    identity = IDENTITY

    def most_tokens(self, sampling: Sampling) -> int:  # noqa: ARG002  (as the protocol has it)
        """Return 0: replies of this model are free."""
        return 0

    async def ask(self, request: Request[InputT, ValueT]) -> Reply[ValueT]:
        return await asyncio.to_thread(_answer, request)


def _answer(request: Request[InputT, ValueT]) -> Reply[ValueT]:
    value = handler_for(request.prompt)(request.given)
    text = value.model_dump_json() if isinstance(value, BaseModel) else str(value)
    asked = len(request.given.model_dump_json())
    return Reply(
        value, text, Usage(ceil(asked / _CHARACTERS_PER_TOKEN), ceil(len(text) / _CHARACTERS_PER_TOKEN), reported=False)
    )
