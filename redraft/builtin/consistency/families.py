"""Families of English words: the forms of one verb or noun, and what is derived from it, under one key.

They let a sentence be found again that somebody has put in words of their own: decide and decision, sold and sells.
Words of other languages are families by themselves, but for an ending that looks English.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from redraft.builtin.verbs import irregular
from redraft.text.wording import is_negation, is_number, keys

if TYPE_CHECKING:
    from nltk.stem.lancaster import LancasterStemmer


@lru_cache(maxsize=100_000)
def family(key: str) -> str:
    """What stands for the key of a word and all that are formed from the same one."""
    if not key.isascii() or not key.isalpha() or is_negation(key) or is_number(key):
        return key
    stem = str(_stemmer().stem(_plain_forms().get(key, key)))
    return key if is_negation(stem) else stem  # "note" is no "not"


@cache
def _plain_forms() -> Mapping[str, str]:
    """The plain form of each irregular verb. Made when it is first needed: keys take a second to load."""
    return {keys(form)[0]: keys(plain)[0] for form, plain in irregular().items()}


@cache
def _stemmer() -> LancasterStemmer:
    """Of the stemmers that there are the one that takes off most, and so leads from decision to decide. It takes longer
    to load than all else that a draft needs, which needs no families."""
    from nltk.stem.lancaster import LancasterStemmer

    return LancasterStemmer()
