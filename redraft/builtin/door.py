"""The door of the built-in model: what it can do for others, without loading what it is made of before that."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from redraft.builtin.identity import IDENTITY, VERSION
from redraft.models.base import Model
from redraft.prompts.contract import Prompt
from redraft.prompts.drafting import MergeGiven
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
    from redraft.builtin.model import answered

    return prompt.name in answered()


def shortened(texts: Sequence[str], words: int) -> str:
    """Sentences of some texts, in their order, within a limit: every word is theirs."""
    from redraft.builtin.model import merged

    return merged(MergeGiven(summaries=list(texts), words=words))
