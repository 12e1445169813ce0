"""What is wrong with the wording of a sentence beyond doubt: a word stands there twice, or it breaks off."""

from __future__ import annotations

import re
from typing import Literal

from redraft.text.sentences import ends_sentence
from redraft.text.wording import listed

Fault = Literal["doubled word", "cut short"]

_DOUBLED = re.compile(r"\b(the|a|an|of|to|and|their|its|been|for|with|from|at) \1\b", re.IGNORECASE)
_HANGING = listed(
    "a an the and or but of to with from into because which who whose when while his their its your our my"
)
_FEWEST_WORDS = 5


def fault(text: str) -> Fault | None:
    """What is wrong with a sentence, if anything is."""
    if _DOUBLED.search(text):
        return "doubled word"
    written = text.split()
    cut = len(written) >= _FEWEST_WORDS and not ends_sentence(text) and written[-1] in _HANGING
    return "cut short" if cut else None
