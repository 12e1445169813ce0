"""Which language a text shows to be in.

CLD3 says so, by a few samples of a text, however long it is. The same text always gets the same answer.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import cache, lru_cache
from typing import Any

from gcld3 import NNetLanguageIdentifier

from redraft.text.words import UNSPACED

UNKNOWN = ""

# A language is known by ISO 639, as in `de` or `de-AT`; how it is written where comes behind.
_TAG = re.compile(r"\s*([A-Za-z]{2,3})(?:[-_][A-Za-z0-9]{1,8})*\s*\Z")
# What CLD3, or an old file, calls by another name.
_CALLED = {"iw": "he", "in": "id", "ji": "yi", "nb": "no", "nn": "no", "jw": "jv", "fil": "tl"}
_NOTHING_SAID = frozenset(["und", "zxx", "mul", "mis"])

# A text is known by so many stretches of so many characters, spread over it; most of them have to agree.
_SAMPLES, _SAMPLE = 5, 1_000
# In the Latin script fewer letters than this are as likely to be a row of names. With these bounds 4 of 53,322 English
# sentences are taken for another language (`benchmarks/detection.py`); other scripts show much sooner.
_FEWEST_LATIN, _SURE_LATIN = 60, 0.97
_FEWEST_OTHERS, _SURE_OTHERS = 30, 0.9
_FEWEST_UNSPACED, _SURE_UNSPACED = 6, 0.7
_LATIN_ENDS = "\u024f"
_UNFIT = re.compile("[\x00\ud800-\udfff]")
_UNSPACED_LETTER = re.compile(f"[{UNSPACED}]")


def primary(tag: str) -> str:
    """The language alone of what a file says of itself: `de` of `de-AT`; nothing where that names none."""
    found = _TAG.match(tag)
    if found is None:
        return UNKNOWN
    code = found[1].lower()
    return UNKNOWN if code in _NOTHING_SAID else _CALLED.get(code, code)


def shown_by(text: str) -> str:
    """The language that a text shows to be in, such as `de`; empty where it is too short to tell, or mixed."""
    samples = _samples(text)
    votes = Counter(one for one in map(_told, samples) if one)
    language, count = votes.most_common(1)[0] if votes else (UNKNOWN, 0)
    return language if 2 * count > len(samples) else UNKNOWN


def shown_within(text: str) -> frozenset[str]:
    """The languages that stretches of a text show to be in."""
    return frozenset(_told(one) for one in _samples(text)) - {UNKNOWN}


def _samples(text: str) -> list[str]:
    """Stretches of a text from its beginning to its end; a short one as a whole."""
    text_length = len(text)
    if text_length <= _SAMPLE:
        return [text]
    count = min(_SAMPLES, -(-text_length // _SAMPLE))
    starts = ((text_length - _SAMPLE) * at // (count - 1) for at in range(count))
    return [text[start : start + _SAMPLE] for start in starts]


@lru_cache(maxsize=4096)
def _told(sample: str) -> str:
    """The language of a stretch of text; nothing where it has few letters, or few that tell."""
    letters = [one for one in sample if one.isalpha()]
    fewest, sure = _bounds(letters)
    if len(letters) < fewest:
        return UNKNOWN
    found = _detector().FindLanguage(_shown(sample, letters))
    # Text in another script than its own, such as `ru-Latn`, is seldom what it is taken for.
    return UNKNOWN if found.probability < sure or "-" in found.language else primary(found.language)


def _bounds(letters: list[str]) -> tuple[int, float]:
    """How many letters of such a script it takes to tell a language, and how sure the detector has to be."""
    if 2 * sum(one <= _LATIN_ENDS for one in letters) > len(letters):
        return _FEWEST_LATIN, _SURE_LATIN
    return (_FEWEST_UNSPACED, _SURE_UNSPACED) if _unspaced(letters) else (_FEWEST_OTHERS, _SURE_OTHERS)


def _shown(sample: str, letters: list[str]) -> str:
    """What the detector is shown. Spaces and Latin names among Chinese lead it astray."""
    unspaced = _unspaced(letters)
    return "".join(unspaced) if unspaced else _UNFIT.sub(" ", sample)


def _unspaced(letters: list[str]) -> list[str]:
    """The letters of scripts that put no spaces between words, if most are."""
    found = _UNSPACED_LETTER.findall("".join(letters))
    return found if 2 * len(found) > len(letters) else []


@cache
def _detector() -> Any:
    return NNetLanguageIdentifier(0, 4 * _SAMPLE)
