"""Every prompt of redraft, by name."""

from __future__ import annotations

from typing import Any

from redraft.prompts import coherence, drafting, judging, keyfacts, revising
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
    keyfacts.KEYFACTS_ANALYTICAL,
    keyfacts.KEYFACTS_NARRATIVE,
    keyfacts.FACTS_FAITHFUL,
    keyfacts.FACTS_OBJECTIVE,
    keyfacts.FACTS_SIGNIFICANT,
    keyfacts.QUERY_ANALYTICAL,
    keyfacts.QUERY_NARRATIVE,
    keyfacts.ALIGN_FACTS,
    keyfacts.VERIFY_SENTENCES,
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
    keyfacts.JUDGE_CHUNK,
    coherence.FIND_CONFUSION,
    coherence.PREFER_SUMMARY,
    revising.REVISE,
)

PROMPTS: dict[str, Prompt[Any, Any]] = {prompt.name: prompt for prompt in _ALL}
