"""Every prompt of redraft, by name."""

from __future__ import annotations

from typing import Any

from redraft.prompts import drafting, judging, revising
from redraft.prompts.contract import Prompt

JUDGING: tuple[Prompt[Any, Any], ...] = (
    judging.ASK_DOCUMENT,
    judging.RANK_QUESTIONS,
    judging.ANSWER_FROM_SUMMARY,
    judging.COMPARE_ANSWERS,
    judging.ASK_SUMMARY,
    judging.ANSWER_FROM_DOCUMENT,
)
"""The prompts that judge a draft."""

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
    revising.REVISE,
)

PROMPTS: dict[str, Prompt[Any, Any]] = {prompt.name: prompt for prompt in _ALL}
