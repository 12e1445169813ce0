"""A model that is none: it repeats the first or the last sentences of what it is given. For trying things out."""

from __future__ import annotations

import re
from typing import Any

from redraft import DraftConfig, Request, UsageError
from redraft.errors import ModelError
from redraft.testing import FunctionModel
from redraft_example.author import NAMES_THE_AUTHOR, Author

_SENTENCE = re.compile(r"[^.!?]*[.!?]+[”\"']*\s*")
_BYLINE = re.compile(r"\b[Bb]y ([A-Z][\w.]*(?: [A-Z][\w.]*)+)")
_TEXTS = ("excerpt", "summaries", "document", "summary")


def echo(name: str, _settings: DraftConfig) -> FunctionModel:
    """The model for `--model echo:NAME`. A factory is given what follows the colon, and the run's settings."""
    if name not in {"first", "last"}:
        raise UsageError(f"there is no model echo:{name}", hint="use echo:first or echo:last")

    def answer(request: Request[Any, Any]) -> str | Author:
        if request.prompt.name == NAMES_THE_AUTHOR.name:
            return _author(request.given.beginning, request.given.summary)
        if request.prompt.returns is not str:
            raise ModelError(f"echo:{name} cannot answer the prompt {request.prompt.name}", hint="use a chat model")
        given = {field: getattr(request.given, field, None) for field in _TEXTS}
        text = next(value for value in given.values() if value)
        sentences = _SENTENCE.findall(" ".join(text) if isinstance(text, list) else text)
        return _within(sentences, getattr(request.given, "words", len(" ".join(sentences))), last=name == "last")

    return FunctionModel(answer, f"echo:{name}")


def _within(sentences: list[str], words: int, *, last: bool) -> str:
    """As many whole sentences from one end as there is room for."""
    kept: list[str] = []
    for sentence in reversed(sentences) if last else sentences:
        words -= len(sentence.split())
        if words < 0 and kept:
            break
        kept.append(" ".join(sentence.split()))
    return " ".join(reversed(kept) if last else kept)


def _author(beginning: str, summary: str) -> Author:
    byline, named = _BYLINE.search(beginning), _BYLINE.search(summary)
    return Author(author=byline[1] if byline else "", quote=named.group() if named else "")
