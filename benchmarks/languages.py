"""The same chapter in four languages, with the twelve questions that a judge might well ask about it."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import NamedTuple


class Questioned(NamedTuple):
    """A question about a sentence, its answer, and the sentence."""

    question: str
    answer: str
    quote: str


_TEXTS = tomllib.loads((Path(__file__).parent / "texts" / "languages.toml").read_text("utf-8"))
LANGUAGES = {language: [Questioned(**entry) for entry in entries] for language, entries in _TEXTS.items()}


def chapter(asked: list[Questioned]) -> str:
    """The chapter itself, which is what the questions quote."""
    between = "" if asked is LANGUAGES["Japanese"] else " "
    return between.join(one.quote for one in asked)
