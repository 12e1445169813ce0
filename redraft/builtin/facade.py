"""The interface of the built-in model, whose parts are loaded on first use."""

from __future__ import annotations

from collections.abc import Sequence

from redraft.llm.base import Model
from redraft.text.words import count_words

VERSION = 17
"""Part of a stored answer's identity: raise it with every change that may change an answer."""
IDENTITY = f"extractive:{VERSION}"
"""The built-in model's name and version, part of the key of its stored answers. It judges English only."""
NOT_UNDERSTOOD = "the built-in model cannot follow requests in words"


def open_model() -> Model:
    """Return the model."""
    from redraft.builtin.judge import HANDLERS
    from redraft.builtin.stand_in import StandIn

    return StandIn(IDENTITY, HANDLERS)


def shortened(texts: Sequence[str], words: int) -> str:
    """Return sentences of some texts, in order and literally, within a limit; each gets room for its length."""
    from redraft.builtin.draft import compose

    return compose(texts, [count_words(text) for text in texts], words)
