"""The interface of the built-in model, whose parts are loaded on first use."""

from __future__ import annotations

from collections.abc import Sequence

from redraft.builtin.identity import IDENTITY, NOT_UNDERSTOOD, VERSION
from redraft.llm.base import Model
from redraft.text.words import count_words

__all__ = ["IDENTITY", "NOT_UNDERSTOOD", "VERSION", "open_model", "shortened"]


def open_model() -> Model:
    """Return the model."""
    from redraft.builtin.judge import HANDLERS
    from redraft.builtin.stand_in import StandIn

    return StandIn(IDENTITY, HANDLERS)


def shortened(texts: Sequence[str], words: int) -> str:
    """Return sentences of some texts, in order and literally, within a limit; each gets room for its length."""
    from redraft.builtin.draft import compose

    return compose(texts, [count_words(text) for text in texts], words)
