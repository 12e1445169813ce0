"""Finds the words of a quotation in a document."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from math import ceil

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


def locate(text: str, quote: str, within: Sequence[Span] = (), *, fewest: int = 0) -> Span | None:
    """Return the span of the `quote` in `text`, or None, also for a quote of fewer words than `fewest`. It is searched
    for literally, then without case, spaces and punctuation, each time in the spans `within` first."""
    if count_words(quote) < fewest:
        return None
    quote, places = quote.strip(), [*within, Span(0, len(text))]
    for place in places if quote else ():
        for at in _occurrences(text, quote, *place):
            if not _cuts_word(text, span := Span(at, at + len(quote))):
                return span
    folded_quote, _ = _fold(quote)
    folded, offsets = _fold_once(text) if folded_quote else ("", np.zeros(0, dtype=np.int64))
    for place in places if folded_quote else ():
        first, last = np.searchsorted(offsets, place)
        for at in _occurrences(folded, folded_quote, int(first), int(last)):
            span = Span(int(offsets[at]), int(offsets[at + len(folded_quote) - 1]) + 1)
            if not _cuts_word(text, span):
                return span
    return None


def source_of(text: str, quote: str, within: Sequence[Span]) -> Span | None:
    """Return the span of the `quote`, or else of the sentence of `within` that shares most of its terms."""
    span = locate(text, quote, within)
    if span or not quote.strip():
        return span
    language_spans = language_spans_in(text)
    quote_terms = {language: Counter(terms(quote, language)) for _, language in language_spans}
    candidates: list[tuple[int, int, bool, Span]] = []
    for sentence in dict.fromkeys(sentence for place in within for sentence in sentences(text, place)):
        language = next(language for place, language in language_spans if sentence.start < place.end)
        if sought := quote_terms[language]:
            sentence_terms = Counter(terms(text[sentence.start : sentence.end], language))
            shared = (sought & sentence_terms).total()
            candidates.append((shared, -sentence_terms.total(), shared >= SHARE * sought.total(), sentence))
    _, _, is_source, best = max(candidates, key=lambda candidate: candidate[:2], default=(0, 0, False, None))
    return best if is_source else None


def _occurrences(text: str, part: str, start: int, end: int) -> Iterator[int]:
    """Yield where `part` occurs between two offsets, without overlaps."""
    at = text.find(part, start, end)
    while at >= 0:
        yield at
        at = text.find(part, at + len(part), end)


def _cuts_word(text: str, span: Span) -> bool:
    """Return whether a span begins or ends between two digits or cased letters, of a script with spaces."""
    around = [text[at - 1 : at + 1] for at in span if 0 < at < len(text)]
    return any(all(sign.isalnum() and unicodedata.category(sign) != "Lo" for sign in signs) for signs in around)


def _fold(text: str) -> tuple[str, npt.NDArray[np.int64]]:
    """Return a text without case, spaces and punctuation, and each character's original offset."""
    lower = text.translate(_LOWER_IN_PLACE).lower()
    codes = np.frombuffer(lower.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    is_kept = ~_ignored()[np.minimum(codes, _BEYOND)]
    return codes[is_kept].tobytes().decode("utf-32-le", "surrogatepass"), np.flatnonzero(is_kept)


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
_NAME = re.compile(r"(?<=\w[ ,;:–—-])\s*[^\W\d_a-z][^\W\d_]{2,}")
# This many letters of a name are the same in every grammatical case.
_STEM = 4


def shares_names(text: str, source: str) -> bool | None:
    """Return whether a text has numbers or names of its source, as a translation does; None if the source has none that
    can be compared: names are compared in the same script."""
    numbers, own_numbers = _numbers(source), _numbers(text)
    names, own_names = _names(source), _names(text)
    scripts = {_script(name) for name in own_names} or {_script(letter) for letter in text if letter.isalpha()}
    names = {name for name in names if _script(name) in scripts}
    if not numbers | names:
        return None
    shared = len(numbers & own_numbers) + len(names & own_names)
    is_common = len(names) > _COMMON * count_words(source)
    return shared >= (1 if is_common else ceil(len(numbers | names) / _ONE_OF))


def _numbers(text: str) -> set[str]:
    """Return the numbers of at least two digits; smaller ones are often written in words."""
    runs = (
        *(filter(str.isdecimal, run) for run in _NUMBER.findall(text)),
        *(map(str, map(_IDEOGRAPHS.index, run)) for run in _COUNTED.findall(text)),
    )
    numbers = {"".join(str(unicodedata.decimal(digit)) for digit in run) for run in runs}
    return {number for number in numbers if len(number) > 1}


def _names(text: str) -> set[str]:
    """Return the beginnings of the capitalized words within sentences, in lower case without accents."""
    names = (match[0].strip() for match in _NAME.finditer(text) if match[0].strip()[0].isupper())
    plain = (unicodedata.normalize("NFD", name.casefold()) for name in names)
    return {"".join(sign for sign in name if not unicodedata.combining(sign))[:_STEM] for name in plain}


def _script(text: str) -> str:
    return unicodedata.name(text[0], "").partition(" ")[0]
