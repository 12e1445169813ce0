"""Distinguishes a summary from a refusal, a request for material, and a text about something else."""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections import Counter
from functools import lru_cache
from pathlib import Path
from typing import Any

from redraft.lazy import pattern
from redraft.text.languages import language_of
from redraft.text.quotes import shares_names
from redraft.text.vectors import telling_terms
from redraft.text.words import count_words, is_unspaced

_SHORT = 60
"""The most words of a reply that only declines."""
_PATTERNS: Any = tomllib.loads(Path(__file__).with_name("refusals.toml").read_text("utf-8"))
_ASKING = (
    rf"(?=(?:{start})(?!\w))(?=.{{0,160}}\b{thing}\b)(?=.{{0,250}}?\b{giving}\b)"
    for start, thing, giving in _PATTERNS["requests"]
)
_KNOWN = "|".join((*_PATTERNS["declining"], *_ASKING, *_PATTERNS["asking"]))
_REFUSAL = pattern(rf"[\s\"'“‘*_¿]*(?:{_KNOWN})", re.IGNORECASE | re.DOTALL)


def declines(text: str) -> bool:
    """Return whether a text only declines to write, or asks for material."""
    return len(text.split()) <= _SHORT and bool(_REFUSAL.match(text))


# The least share of telling words in common with the source, by whether the text is far shorter than requested, and
# whether it refers to itself.
_MIN_SHARED = {(False, False): 0.2, (False, True): 0.4, (True, False): 0.4, (True, True): 0.75}
# A text is far shorter than requested below this share of the requested words, and below this many words.
_FAR_SHORTER, _LONGEST_REFUSAL = 1 / 3, 60
# The fewest telling words for a decision, if the text is far too short, or all of them are in its source.
_MIN_TELLING = 3
# Up to this many words in another script are seldom an unrequested translation.
_FEW = 20
_LETTERS_A_WORD = 2.5
_LETTERS = 1_000
# With this many long words, and this share of them in the source, nothing else is checked.
_LONG, _MANY, _PLAINLY = 6, 8, 0.6
_LONG_WORD = pattern(rf"[^\W\d_]{{{_LONG},}}")
_FIRST_PERSON = pattern(
    r"\b(?:i|i['’](?:m|d|ll|ve)|we|my|our|ich|mir|wir|je|j['’]\w+|nous|yo|nosotros|io|eu|ik|wij|jeg|jag|saya|tôi|"
    r"я|мне|мы|мені|ми|εγώ|אני|איני|मैं|मुझे)\b|我|私|저는"
)
_EAST_ASIAN = frozenset(("HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA"))


def is_no_summary(text: str, source: str, words: int, language: str | None = None) -> bool:
    """Return whether a text is not a summary of its source, for which up to this many words were requested, in
    `language` or the source's own."""
    if count_words(text) >= _MIN_TELLING and text in source:
        return False
    unlike = is_unspaced(text) and not is_unspaced(source) and not language
    length = count_words(text) / (_LETTERS_A_WORD if unlike else 1)
    is_brief = length < min(_FAR_SHORTER * words, _LONGEST_REFUSAL)
    speaks_as_i = bool(_FIRST_PERSON.search(text.casefold()))
    long_words = _long_words(text)
    if (
        not is_brief
        and len(long_words) >= _MANY
        and len(long_words & _long_words(source)) / len(long_words) >= _PLAINLY
    ):
        return False
    text_language, source_language = language_of(text), language_of(source)
    terms = telling_terms(text, text_language)
    share = len(terms & telling_terms(source, source_language)) / len(terms) if terms else 0.0
    if is_brief and len(terms) < _MIN_TELLING:
        return speaks_as_i or share < 1
    if share >= _MIN_SHARED[is_brief, speaks_as_i]:
        return False
    has_its_script = not language and _script(text) == _script(source)
    if has_its_script and not (text_language and source_language and text_language != source_language):
        return is_brief or speaks_as_i or not shares_names(source, text)
    # It may be a translation, requested or not.
    if shares_names(source, text):
        return is_brief and (speaks_as_i or not language)
    is_short_speech = speaks_as_i and length <= _LONGEST_REFUSAL
    return is_brief or is_short_speech or has_its_script or (not language and length <= _FEW)


@lru_cache(maxsize=64)
def _long_words(text: str) -> frozenset[str]:
    return frozenset(word[:_LONG] for word in _LONG_WORD.findall(text.casefold()))


@lru_cache(maxsize=64)
def _script(text: str) -> str:
    """Return the script of most letters of a text's beginning."""
    letters = filter(str.isalpha, text[:_LETTERS])
    names = Counter(unicodedata.name(letter, "").partition(" ")[0] for letter in letters)
    name = max(names, key=names.__getitem__, default="")
    return "CJK" if name in _EAST_ASIAN else name
