"""The interface of the built-in model, whose parts are loaded on first use."""

from __future__ import annotations

from collections.abc import Sequence

from redraft.builtin.identity import IDENTITY, NOT_UNDERSTOOD, VERSION
from redraft.llm.base import Model
from redraft.text.languages import is_foreign
from redraft.text.words import count_words

__all__ = ["IDENTITY", "NOT_UNDERSTOOD", "VERSION", "open_model", "reads", "shortened"]


def open_model() -> Model:
    """Return the model."""
    from redraft.builtin.model import ExtractiveModel

    return ExtractiveModel()


def reads(language: str) -> bool:
    """Return whether it can judge by a text in a language: only English. It drafts in any language."""
    return not is_foreign(language)


def shortened(texts: Sequence[str], words: int) -> str:
    """Return sentences of some texts, in order and literally, within a limit; each gets room for its length."""
    from redraft.builtin.draft import compose

    return compose(texts, [count_words(text) for text in texts], words)
