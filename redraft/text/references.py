"""Words that point back to something said before. Known for English only; other texts are taken as they stand."""

from __future__ import annotations

import re

from redraft.text.languages import ENGLISH, is_foreign

_POINTING = re.compile(
    r"\b(?:he|she|they|him|her|them|his|hers|their|theirs|himself|herself|themselves)\b"
    r"|^\W*(?:it|its|this|that|these|those|such|here|there|both|neither|another|the (?:other|latter|former|same))\b",
    re.IGNORECASE,
)


def points_back(sentence: str, language: str = ENGLISH) -> bool:
    """Whether a sentence of a text in a language may need those before it to be understood."""
    return not is_foreign(language) and bool(_POINTING.search(sentence))
