"""Every prompt of redraft, by name."""

from __future__ import annotations

from typing import Any

from redraft.prompts import coherence, deciding, drafting, factual, judging, revising
from redraft.prompts.contract import Prompt

JUDGING: tuple[Prompt[Any, Any], ...] = (
    judging.ASK_DOCUMENT,
    judging.RANK_QUESTIONS,
    judging.ANSWER_FROM_SUMMARY,
    judging.COMPARE_ANSWERS,
    judging.ASK_SUMMARY,
    judging.ANSWER_FROM_DOCUMENT,
)
"""The prompts that judge a draft by questions and answers."""

FACTUAL: tuple[Prompt[Any, Any], ...] = (
    factual.KEYFACTS_ANALYTICAL,
    factual.KEYFACTS_NARRATIVE,
    factual.FACTS_FAITHFUL,
    factual.FACTS_OBJECTIVE,
    factual.FACTS_SIGNIFICANT,
    factual.QUERY_ANALYTICAL,
    factual.QUERY_NARRATIVE,
    factual.ALIGN_FACTS,
    factual.VERIFY_SENTENCES,
)
"""The prompts that build key facts, and judge a draft by them."""

_ALL: tuple[Prompt[Any, Any], ...] = (
    drafting.SUMMARIZE_CHUNK,
    drafting.MERGE,
    drafting.MERGE_ONWARD,
    drafting.BEGIN,
    drafting.UPDATE,
    drafting.COMPRESS,
    drafting.TIDY,
    drafting.SUMMARIZE_WHOLE,
    *JUDGING,
    *FACTUAL,
    factual.JUDGE_CHUNK,
    coherence.FIND_CONFUSION,
    coherence.PREFER_SUMMARY,
    revising.REVISE,
    deciding.DECIDE,
)

PROMPTS: dict[str, Prompt[Any, Any]] = {prompt.name: prompt for prompt in _ALL}
