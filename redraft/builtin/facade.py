"""The door of the built-in model: what it can do for others, without loading what it is made of before that."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from redraft.llm.base import Model
from redraft.prompts.contract import Prompt
from redraft.prompts.drafting import MERGE, MergeGiven
from redraft.text.languages import is_foreign

VERSION = 12
"""Part of what identifies a stored answer: raise it with every change after which an answer may differ."""

IDENTITY = f"extractive:{VERSION}"
"""Who the built-in model is, in whatever its answers are known by."""


def opened() -> Model:
    """The model itself."""
    from redraft.builtin.model import ExtractiveModel

    return ExtractiveModel()


def reads(language: str) -> bool:
    """Whether it can judge by a text in a language: it has the words of English alone. It drafts in any."""
    return not is_foreign(language)


def is_answered(prompt: Prompt[Any, Any]) -> bool:
    """Whether it has an answer to a prompt; it has none to those of other packages."""
    from redraft.builtin.model import HANDLERS

    return prompt.name in HANDLERS


def shortened(texts: Sequence[str], words: int) -> str:
    """Sentences of some texts, in their order, within a limit: every word is theirs."""
    from redraft.builtin.model import handler_for

    return handler_for(MERGE)(MergeGiven(summaries=list(texts), words=words))
