"""Which function answers which prompt."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from redraft.errors import ModelError
from redraft.prompts.contract import Given_, Prompt, Value_

HANDLERS: dict[str, Callable[[Any], Any]] = {}
"""By the names of the prompts."""


def answers(prompt: Prompt[Given_, Value_]) -> Callable[[Callable[[Given_], Value_]], Callable[[Given_], Value_]]:
    """Bind the decorated function to `prompt`; it may be bound to several."""

    def bind(handler: Callable[[Given_], Value_]) -> Callable[[Given_], Value_]:
        if prompt.name in HANDLERS:
            raise ValueError(f"the prompt {prompt.name} already has a handler: {HANDLERS[prompt.name].__qualname__}")
        HANDLERS[prompt.name] = handler
        return handler

    return bind


def handler_for(prompt: Prompt[Given_, Value_]) -> Callable[[Given_], Value_]:
    """The function that answers `prompt`."""
    try:
        return cast(Callable[[Given_], Value_], HANDLERS[prompt.name])
    except KeyError:
        raise ModelError(
            f"the extractive model cannot answer the prompt {prompt.name}",
            place=prompt.name,
            hint="choose a chat model for it, or bind a handler to it with @answers",
        ) from None
