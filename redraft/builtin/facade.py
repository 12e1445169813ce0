"""The interface of the built-in model, whose parts are loaded on first use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from redraft.builtin.identity import IDENTITY, NOT_UNDERSTOOD, VERSION
from redraft.llm.base import Model
from redraft.prompts.contract import Prompt
from redraft.prompts.summarization import MERGE, MergeInput
from redraft.text.languages import is_foreign

__all__ = ["IDENTITY", "NOT_UNDERSTOOD", "VERSION", "is_answered", "open_model", "reads", "shortened"]


def open_model() -> Model:
    """Return the model."""
    from redraft.builtin.model import ExtractiveModel

    return ExtractiveModel()


def reads(language: str) -> bool:
    """Return whether it can judge by a text in a language: only English. It drafts in any language."""
    return not is_foreign(language)


def is_answered(prompt: Prompt[Any, Any]) -> bool:
    """Return whether it answers a prompt; it does not answer those of other packages."""
    from redraft.builtin.model import HANDLERS

    return prompt.name in HANDLERS


def shortened(texts: Sequence[str], words: int) -> str:
    """Return sentences of some texts, in order and literally, within a limit."""
    from redraft.builtin.model import handler_for

    return handler_for(MERGE)(MergeInput(summaries=list(texts), words=words))
