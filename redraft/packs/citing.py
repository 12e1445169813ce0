"""The places that the questions of a pack cite: they are read for a claim that such a question is about."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from redraft.domain import Pack, PackQuestion, Span
from redraft.text.languages import language_of
from redraft.text.retrieval import Ranker

_NEAREST = 2
"""So many questions of the pack are taken to be about the same."""


def cited_for(text: str, pack: Pack | None) -> tuple[Span, ...]:
    """The places that those questions of a pack cite which have most to do with a question or a claim."""
    if pack is None or not pack.questions:
        return ()
    scores = _ranker(pack.questions).scores(text)
    order = [int(at) for at in np.argsort(-scores, kind="stable")[:_NEAREST] if scores[at] > 0]
    spans = (pack.questions[at].evidence.span for at in order)
    return tuple(dict.fromkeys(span for span in spans if span is not None))


@lru_cache(maxsize=8)
def _ranker(questions: tuple[PackQuestion, ...]) -> Ranker:
    texts = [f"{one.text} {one.answer}" for one in questions]
    return Ranker(texts, [language_of("\n".join(texts))] * len(texts))
