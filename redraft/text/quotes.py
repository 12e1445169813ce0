"""Finds the words of a quotation in a document."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import groupby
from math import ceil
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from redraft.document import Span
from redraft.text.languages import ENGLISH, is_foreign, language_spans_in
from redraft.text.sentences import sentences
from redraft.text.vectors import terms
from redraft.text.words import count_words

SHARE = 0.6
"""The least share of a quote's terms in a sentence that is taken for its source."""

FEWEST = 3
"""The fewest words of a quote that are evidence."""

# The only letter that is longer in lower case; lower-casing must not shift any offset.
_LOWER_IN_PLACE = {ord("İ"): "i"}
_BEYOND = 0x10000


class _FoldedText(NamedTuple):
    """A text without case, spaces and punctuation, and each character's original offset."""

    text: str
    offsets: npt.NDArray[np.int64]


def locate(text: str, quote: str, within: Sequence[Span] = ()) -> Span | None:
    """Return the span of the `quote` in `text`, or None. It is searched for literally, then without case, spaces and
    punctuation, each time in the spans `within` first."""
    quote = quote.strip()
    if not quote:
        return None
    places = [*within, Span(0, len(text))]
    found = (find(text, quote, span) for find in (_to_the_letter, _loosely) for span in places)
    return next((span for span in found if span), None)


def source_of(text: str, quote: str, within: Sequence[Span]) -> Span | None:
    """Return the span of the `quote`, or else of the sentence of `within` that shares most of its terms."""
    return locate(text, quote, within) or (_paraphrased(text, quote, within) if quote.strip() else None)


def quoted_in(text: str, quote: str) -> Span | None:
    """Return the span in which a text has all words of a quote in order; None for quotes of too few words."""
    return locate(text, quote) if count_words(quote) >= FEWEST else None


def _to_the_letter(text: str, quote: str, span: Span) -> Span | None:
    for at in _occurrences(text, quote, span.start, span.end):
        if _is_whole(text, at, at + len(quote)):
            return Span(at, at + len(quote))
    return None


def _loosely(text: str, quote: str, span: Span) -> Span | None:
    wanted = _fold(quote).text
    if not wanted:
        return None
    folded = _fold_once(text)
    first, last = np.searchsorted(folded.offsets, span)
    for at in _occurrences(folded.text, wanted, int(first), int(last)):
        start, end = int(folded.offsets[at]), int(folded.offsets[at + len(wanted) - 1]) + 1
        if _is_whole(text, start, end):
            return Span(start, end)
    return None


def _paraphrased(text: str, quote: str, within: Sequence[Span]) -> Span | None:
    language_spans = language_spans_in(text)
    wanted = {language: Counter(terms(quote, language)) for _, language in language_spans}
    candidates = dict.fromkeys(sentence for span in within for sentence in sentences(text, span))
    read_by = {
        candidate: next(its for span, its in language_spans if candidate.start < span.end) for candidate in candidates
    }
    told = {one: Counter(terms(text[one.start : one.end], its)) for one, its in read_by.items() if wanted[its]}
    if not told:
        return None
    shared = {one: (wanted[read_by[one]] & found).total() for one, found in told.items()}
    best = max(told, key=lambda one: (shared[one], -told[one].total()))
    return best if shared[best] >= SHARE * wanted[read_by[best]].total() else None


def _occurrences(text: str, wanted: str, start: int, end: int) -> Iterator[int]:
    """Yield the non-overlapping spans of `wanted`."""
    at = text.find(wanted, start, end)
    while at >= 0:
        yield at
        at = text.find(wanted, at + len(wanted), end)


def _is_whole(text: str, start: int, end: int) -> bool:
    """Return whether the span begins and ends at word boundaries."""
    return not (_is_within_word(text, start) or _is_within_word(text, end))


def _is_within_word(text: str, at: int) -> bool:
    return 0 < at < len(text) and _is_spaced_letter(text[at - 1]) and _is_spaced_letter(text[at])


def _is_spaced_letter(character: str) -> bool:
    """Return whether a character is a digit or a cased letter, of a script with spaces between words."""
    return character.isalnum() and unicodedata.category(character) != "Lo"


def _fold(text: str) -> _FoldedText:
    lower = text.translate(_LOWER_IN_PLACE).lower()
    codes = np.frombuffer(lower.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    kept = ~_ignored()[np.minimum(codes, _BEYOND)]
    return _FoldedText(codes[kept].tobytes().decode("utf-32-le", "surrogatepass"), np.flatnonzero(kept))


_fold_once = lru_cache(maxsize=2)(_fold)


@lru_cache(maxsize=1)
def _ignored() -> npt.NDArray[np.bool_]:
    """Return which characters are ignored: spaces, punctuation and invisible ones of the first plane."""
    table = [unicodedata.category(chr(code))[0] in "PZC" for code in range(_BEYOND)]
    return np.array([*table, False])


_POINTING = re.compile(
    r"\b(?:he|she|they|him|her|them|his|hers|their|theirs|himself|herself|themselves)\b"
    r"|^\W*(?:it|its|this|that|these|those|such|here|there|both|neither|another|the (?:other|latter|former|same))\b",
    re.IGNORECASE,
)


def needs_context(sentence: str, language: str = ENGLISH) -> bool:
    """Return whether a sentence may need those before it to be understood."""
    return not is_foreign(language) and bool(_POINTING.search(sentence))


# With this many names and numbers, at least one has to be in common.
_ONE_OF = 10
# Above this share of capitalized words, as in German, capitals do not mark names.
_COMMON = 0.2
_NUMBER = re.compile(r"\d+(?:[.,\u00a0\u202f ’']\d{3})*(?!\d)")
_IDEOGRAPHS = "〇一二三四五六七八九"
_COUNTED = re.compile(f"[{_IDEOGRAPHS}]{{2,}}")
_WORD = re.compile("[A-Za-zÀ-ÖØ-öø-ɏ]+|[\u0400-\u04ff]+|[\u0370-\u03ff]+|[\u30a1-\u30fa\u30fc]+")
_SYLLABLES = re.compile("[\u3041-\u30fa\u30fc]")
_SHORTEST = 3
# This many letters of a name are the same in every grammatical case.
_STEM = 4
# Consonants that scripts substitute for one another; unstable ones are left out.
_SOUNDS = str.maketrans("bwlqgczjx", "vvrkkssss", "aeiouyhf'")
_SOFT_C = re.compile(r"c(?![eiy])")
_CONSONANTS = re.compile("(?:E(?=[^AEIOUY]$))?([^AEIOUY]*)")


def shares_names(text: str, source: str) -> bool | None:
    """Return whether a text has numbers or names of its source, as a translation does; None if the source has none."""
    numbers = _numbers(source)
    names, common = _names(source)
    if not _can_be_read(text):
        names = set()
    wanted = len(numbers) + len(names)
    if not wanted:
        return None
    own, _ = _names(text)
    found = len(numbers & _numbers(text)) + sum(any(_same(name, other) for other in own) for name in names)
    return found >= (1 if common else ceil(wanted / _ONE_OF))


def _numbers(text: str) -> set[str]:
    """Return the numbers of at least two digits; smaller ones are often written in words."""
    found = {"".join(str(unicodedata.decimal(one)) for one in run if one.isdecimal()) for run in _NUMBER.findall(text)}
    found |= {"".join(str(_IDEOGRAPHS.index(one)) for one in run) for run in _COUNTED.findall(text)}
    return {one for one in found if len(one) > 1}


def _names(text: str) -> tuple[set[str], bool]:
    """Return the names; None if too many words are capitalized to tell."""
    words = [word for span in sentences(text) for word in _within(text[span.start : span.end])]
    names = {word for word in words if len(word) >= _SHORTEST and (word[0].isupper() or _SYLLABLES.match(word))}
    cased = [word for word in words if not _SYLLABLES.match(word)]
    return names, sum(word[0].isupper() for word in cased) > _COMMON * len(cased)


def _within(sentence: str) -> Iterator[str]:
    """Return the words of a sentence without a capitalized first one."""
    for place, word in enumerate(_WORD.findall(sentence)):
        if place or _SYLLABLES.match(word):
            yield word


def _can_be_read(text: str) -> bool:
    """Return whether names are recognizable in a text, by capitals or syllables."""
    letters = [one for one in text if one.isalpha()]
    cased = sum(letter.lower() != letter.upper() for letter in letters)
    return bool(_SYLLABLES.search(text)) or 2 * cased > len(letters)


def _same(one: str, other: str) -> bool:
    if _script(one) == _script(other):
        first, second = _plain(one)[:_STEM], _plain(other)[:_STEM]
        return first.startswith(second) or second.startswith(first)
    first, second = sorted((_sounds(one), _sounds(other)), key=len)
    return len(first) > 1 and len(second) - len(first) <= 1 and second.startswith(first)


def _script(word: str) -> str:
    return unicodedata.name(word[0]).partition(" ")[0]


def _plain(word: str) -> str:
    """Return a word in lower case without accents."""
    if _SYLLABLES.match(word):
        return word
    return "".join(one for one in unicodedata.normalize("NFD", word.casefold()) if not unicodedata.combining(one))


def _sounds(word: str) -> str:
    """Return the consonants of a word, unified across scripts, doubled ones once."""
    latin = "".join(_latin(one) for one in _plain(word))
    sounds = _SOFT_C.sub("k", latin.replace("ch", "s")).translate(_SOUNDS)
    return "".join(key for key, _ in groupby(sounds))


def _latin(letter: str) -> str:
    """Return the Latin spelling of a letter from its Unicode name: Ж is CYRILLIC CAPITAL LETTER ZHE."""
    if letter.isascii():
        return letter
    *before, name = unicodedata.name(letter, "").split() or [""]
    if name in ("SIGN", "MARK") or before[-2:] == ["LETTER", "SMALL"]:
        return ""
    # Names such as EN and ES, BE and ZHE.
    match = _CONSONANTS.match(name)
    return match[1].lower() if match else ""
