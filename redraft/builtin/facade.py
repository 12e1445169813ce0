"""The interface of the built-in model; its parts are loaded when it is first used."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from redraft.builtin.identity import IDENTITY, VERSION
from redraft.llm.base import Model
from redraft.prompts.contract import Prompt
from redraft.prompts.summarization import MERGE, MergeGiven
from redraft.text.languages import is_foreign

__all__ = ["IDENTITY", "VERSION", "is_answered", "opened", "reads", "shortened"]


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
