"""Detects the language of a text, and decides in which language it is processed."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from functools import cache, lru_cache
from itertools import pairwise
from typing import NamedTuple

from gcld3 import NNetLanguageIdentifier

from redraft.document import Document, Span
from redraft.text.words import UNSPACED

UNKNOWN = ""

# An ISO 639 code, as in `de` or `de-AT`; script and region follow.
_TAG = re.compile(r"\s*([A-Za-z]{2,3})(?:[-_][A-Za-z0-9]{1,8})*\s*\Z")
# Aliases of CLD3 and of old files.
_CALLED = {"iw": "he", "in": "id", "ji": "yi", "nb": "no", "nn": "no", "jw": "jv", "fil": "tl"}
_NOTHING_SAID = frozenset(["und", "zxx", "mul", "mis"])

# The number and size of samples, most of which have to agree.
_SAMPLES, _SAMPLE = 5, 1_000
# Fewer letters of the Latin script may be a row of names. With these bounds 4 of 53,322 English sentences are taken for
# another language (`benchmarks/detection.py`); other scripts are detected much sooner.
_MIN_LATIN, _SURE_LATIN = 60, 0.97
_MIN_OTHERS, _SURE_OTHERS = 30, 0.9
_MIN_UNSPACED, _SURE_UNSPACED = 6, 0.7
_LATIN_ENDS = "\u024f"
_UNFIT = re.compile("[\x00\ud800-\udfff]")
_identifier = cache(NNetLanguageIdentifier)
_UNSPACED_LETTER = re.compile(f"[{UNSPACED}]")


def primary(tag: str) -> str:
    """Return the language code of a file's tag, such as `de` for `de-AT`; empty if it names none."""
    match = _TAG.match(tag)
    if match is None:
        return UNKNOWN
    code = match[1].lower()
    return UNKNOWN if code in _NOTHING_SAID else _CALLED.get(code, code)


def detected_language(text: str) -> str:
    """Return the detected language of a text, such as `de`; empty if it is too short or mixed."""
    samples = _samples(text)
    votes = Counter(vote for vote in map(_told, samples) if vote)
    language, count = votes.most_common(1)[0] if votes else (UNKNOWN, 0)
    return language if 2 * count > len(samples) else UNKNOWN


def _samples(text: str) -> list[str]:
    """Return samples from all of a text; a short text is the only sample."""
    text_length = len(text)
    if text_length <= _SAMPLE:
        return [text]
    count = min(_SAMPLES, -(-text_length // _SAMPLE))
    starts = ((text_length - _SAMPLE) * at // (count - 1) for at in range(count))
    return [text[start : start + _SAMPLE] for start in starts]


@lru_cache(maxsize=4096)
def _told(sample: str) -> str:
    """Return the language of a sample; empty if it has too few letters, or the detector is unsure."""
    letters = [letter for letter in sample if letter.isalpha()]
    unspaced = _UNSPACED_LETTER.findall("".join(letters))
    bounds, shown = (_MIN_OTHERS, _SURE_OTHERS), _UNFIT.sub(" ", sample)
    if 2 * sum(letter <= _LATIN_ENDS for letter in letters) > len(letters):
        bounds = _MIN_LATIN, _SURE_LATIN
    elif 2 * len(unspaced) > len(letters):
        # Without spaces and Latin names among Chinese.
        bounds, shown = (_MIN_UNSPACED, _SURE_UNSPACED), "".join(unspaced)
    if len(letters) < bounds[0]:
        return UNKNOWN
    guess = _identifier(0, 4 * _SAMPLE).FindLanguage(shown)
    # Romanized text, such as `ru-Latn`, is seldom detected correctly.
    return UNKNOWN if guess.probability < bounds[1] or "-" in guess.language else primary(guess.language)


ENGLISH = "en"

# Languages so similar that only a long text distinguishes them; for them a file's tag counts.
_ALIKE = tuple(
    frozenset(group.split())
    for group in (
        "no da sv",
        "hr bs sr sh sl mk bg",
        "id ms",
        "es gl ca pt",
        "cs sk",
        "ru uk be bg",
        "hi mr ne",
        "fa ar ur ps",
        "zh yue wuu ja",
        "nl af fy",
        "de lb nds",
    )
)


class LanguageSpan(NamedTuple):
    """A span of a text and its language."""

    span: Span
    language: str


class _LanguageContext(NamedTuple):
    """The language of the current document, and the languages that its text may be mistaken for."""

    language: str
    mistaken: frozenset[str]
    text: str = ""
    language_spans: tuple[LanguageSpan, ...] = ()
    """The text and languages of several documents in different languages; else empty."""


# Sentences are split in many places, down to the built-in model, which only has its prompt. All of them must use the
# same language.
_reading: ContextVar[_LanguageContext | None] = ContextVar("redraft_reading", default=None)


@contextmanager
def language_context(document: Document) -> Iterator[None]:
    """Process everything within the context in the language of a document, or of each of several."""
    language, language_spans = (
        primary(document.language) or detected_language(document.text),
        language_spans_of(document),
    )
    detected = frozenset(_told(sample) for sample in _samples(document.text)) - {UNKNOWN}
    several = (document.text, language_spans) if len(language_spans) > 1 else ()
    about = _LanguageContext(language, frozenset() if language in detected else detected, *several)
    token = _reading.set(about if language or several else None)
    try:
        yield
    finally:
        _reading.reset(token)


def language_spans_of(document: Document) -> tuple[LanguageSpan, ...]:
    """Return the language spans of a document: one, unless it is several documents in several languages."""
    main_language, end = primary(document.language) or detected_language(document.text), len(document.text)
    parts = () if primary(document.language) else document.members
    spans: list[LanguageSpan] = []
    for mark, (start, after) in zip(parts, pairwise([*(mark.start for mark in parts), end]), strict=True):
        language = primary(mark.language) or detected_language(document.text[mark.start : mark.end]) or main_language
        if spans and spans[-1].language == language:
            spans[-1] = LanguageSpan(Span(spans[-1].span.start, after), language)
        else:
            spans.append(LanguageSpan(Span(start, after), language))
    whole = LanguageSpan(Span(0, end), spans[0].language if spans else main_language)
    return tuple(spans) if len(spans) > 1 else (whole,)


def other_language_in(document: Document) -> str:
    """Return a language other than English of a document, or of one of several; empty if there is none."""
    return next(filter(is_foreign, (span.language for span in language_spans_of(document))), "")


def language_of(text: str) -> str:
    """Return the language in which a text is processed, such as `de`; empty if it is unknown.

    While a document is processed that is its language, unless the text is clearly in another one.
    """
    detected, about = detected_language(text), _reading.get()
    if about is None:
        return detected
    is_mistaken = detected in (UNKNOWN, *about.mistaken) or any(_are_alike(detected, name) for name in about.mistaken)
    if about.language and is_mistaken:
        return about.language
    spoken = [span.language for span in about.language_spans if span.language]
    alike = next((language for language in spoken if _are_alike(detected, language)), detected)
    return detected if detected in spoken else alike


def language_spans_in(text: str, language: str | None = None) -> tuple[LanguageSpan, ...]:
    """Return the language spans of a text: those of several documents, or of their beginning, or else one in `language`
    or its own."""
    about, end = _reading.get(), len(text)
    if about and about.language_spans and (text is about.text or about.text.startswith(text)):
        return tuple(
            LanguageSpan(Span(span.start, min(span.end, end)), language)
            for span, language in about.language_spans
            if span.start < end or not span.start
        )
    return (LanguageSpan(Span(0, end), language_of(text) if language is None else language),)


def language_spans_beside(texts: Sequence[str]) -> list[tuple[LanguageSpan, ...]]:
    """Return the language spans of texts that belong together."""
    about = _reading.get()
    language = None if about and about.language_spans else language_of("\n".join(texts))
    return [language_spans_in(text, language) for text in texts]


def with_language(document: Document, languages: str | None) -> Document:
    """Return the document with its language set to the given one, or, for several documents, to one for each, separated
    by commas; None leaves it as it is."""
    if languages is None:
        return document
    parts, by_document = document.members, iter(languages.split(","))
    marks = document.marks
    if several := len(parts) > 1 and languages.count(",") == len(parts) - 1:
        marks = tuple(mark._replace(language=next(by_document)) if mark.kind == "document" else mark for mark in marks)
    return replace(document, marks=marks, language="" if several else languages, own_language=own_language(document))


def own_language(document: Document) -> str:
    """Return the document's own language, regardless of the user's choice."""
    return document.language if document.own_language is None else document.own_language


def languages_of(document: Document) -> str:
    """Return the languages of a document in the form that `with_language` takes."""
    parts = [mark.language for mark in document.members]
    languages = parts if parts and not document.language else [document.language]
    return ",".join(language.strip() if primary(language) else UNKNOWN for language in languages)


def with_declared_language(document: Document, language: str = "") -> Document:
    """Return the document with its declared language, or with the detected one where its text is clearly in another;
    `language` replaces it."""
    return with_language(
        replace(document, language=declared_language(document.language, document.text)), language or None
    )


def declared_language(declared: str, text: str) -> str:
    """Return the declared language of a document, unless its text is clearly in another one."""
    detected, code = detected_language(text), primary(declared)
    return declared if code and (_are_alike(code, detected) or detected in (UNKNOWN, code)) else detected


def is_foreign(language: str) -> bool:
    """Return whether a language is known to be other than English."""
    return primary(language) not in (UNKNOWN, ENGLISH)


def undetected_language(document: Document) -> str:
    """Return the language of a document if its text shows another one or none, since results depend on it; for several
    documents those of all."""
    language_spans = language_spans_of(document)
    if len(language_spans) == 1:
        return "" if language_spans[0].language == detected_language(document.text) else language_spans[0].language
    is_detected = all(detected_language(document.text[slice(*span.span)]) == span.language for span in language_spans)
    return "" if is_detected else ", ".join(span.language for span in language_spans)


def language_key(document: Document) -> str:
    """Return the id of a text, with its language if it differs from the detected one, as part of a cache key."""
    language = undetected_language(document)
    return f"{document.id} in {language}" if language else document.id


def _are_alike(first: str, second: str) -> bool:
    return any({first, second} <= group for group in _ALIKE)
