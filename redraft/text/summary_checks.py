"""Distinguishes a summary from a refusal or a provider's error, and finds traces of how it was made."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from functools import lru_cache

from redraft.lazy import pattern
from redraft.text.languages import language_of
from redraft.text.quotes import carries
from redraft.text.sentences import sentences
from redraft.text.vectors import telling_terms
from redraft.text.words import count_words, is_unspaced, words

# The least share of telling words in common with the source, by whether the text is far shorter than requested, and
# whether it refers to itself.
_LEAST = {(False, False): 0.2, (False, True): 0.4, (True, False): 0.4, (True, True): 0.75}
# A text is far shorter than requested below this share of the requested words, and below this many words.
_FAR_SHORTER, _LONGEST_REFUSAL = 1 / 3, 60
# The fewest telling words for a decision, if the text is far too short, or all of them are in its source.
_FEWEST = 3
# Up to this many words in another script are seldom an unrequested translation.
_SHORT = 20
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
    if count_words(text) >= _FEWEST and text in source:
        return False
    unlike = is_unspaced(text) and not is_unspaced(source) and not language
    length = count_words(text) / (_LETTERS_A_WORD if unlike else 1)
    brief, own = length < min(_FAR_SHORTER * words, _LONGEST_REFUSAL), bool(_FIRST_PERSON.search(text.casefold()))
    if not brief and _says_long_words_of(text, source):
        return False
    spoken, read = language_of(text), language_of(source)
    telling = telling_terms(text, spoken)
    share = len(telling & telling_terms(source, read)) / len(telling) if telling else 0.0
    if brief and len(telling) < _FEWEST:
        return own or share < 1
    if share >= _LEAST[brief, own]:
        return False
    asked_so = not language and _script(text) == _script(source)
    if asked_so and not (spoken and read and spoken != read):
        return brief or own or not carries(source, text)
    # It may be a translation, requested or not.
    if carries(source, text):
        return brief and (own or not language)
    speaks = own and length <= _LONGEST_REFUSAL
    return brief or speaks or asked_so or (not language and length <= _SHORT)


def _says_long_words_of(text: str, source: str) -> bool:
    """Return whether a text clearly shares long words with its source, in any language."""
    long = _long_words(text)
    return len(long) >= _MANY and len(long & _long_words(source)) >= _PLAINLY * len(long)


@lru_cache(maxsize=64)
def _long_words(text: str) -> frozenset[str]:
    return frozenset(word[:_LONG] for word in _LONG_WORD.findall(text.casefold()))


@lru_cache(maxsize=64)
def _script(text: str) -> str:
    """Return the script of most letters of a text's beginning."""
    letters = (one for one in text[:_LETTERS] if one.isalpha())
    names = Counter(unicodedata.name(one, "").partition(" ")[0] for one in letters)
    name = max(names, key=lambda one: names[one], default="")
    return "CJK" if name in _EAST_ASIAN else name


# By language: names of parts, names of a summary, and headings over one.
_PARTS = (
    r"\b(?:this|our|next|previous|following|current|given|above) (?:chunk|excerpt|extract|segment|portion|passage"
    r"|part of the (?:text|document|story)|section of the (?:text|document|story)|text|document)\b|\bthe excerpt\b"
    r"|\b(?:this|updated|merged|combined|revised|running|previous) summar(?:y|ies)\b"
    r"|\b(?:dieser|der|diesem|dem|dieses|des) (?:Auszugs?|Textauszugs?|Ausschnitts?|Abschnitts?)\b|\bZusammenfassung\b"
    r"|\b(?:cet|l['’]) ?extrait\b|\bce (?:passage|résumé)\b|\b(?:este|el) (?:extracto|fragmento|pasaje|resumen)\b"
    r"|\b(?:questo|il) (?:brano|estratto|riassunto)\b|\b(?:este|o) (?:trecho|excerto|resumo)\b"
    r"|\b(?:этом|этот|данном) (?:отрыв|фрагмент)\w*|本文|摘要|节选|節選|抜粋|要約"
)
_HEADING = r"^[ \t]*(?:#{1,6}[ \t]|\*\*[^*\n]{1,60}\*\*:?[ \t]*$|(?:summary|part \d+|chapter \d+)[ \t]*[:.]?[ \t]*$)"
_SHOWS = re.compile(f"{_PARTS}|{_HEADING}", re.IGNORECASE | re.MULTILINE)
_INTRODUCED = re.compile(
    r"\b((?:[A-Z][\w'’-]+ ){0,2}[A-Z][\w'’-]+), (?:an?|the|der|die|das|ein|eine|le|la|un|une|el|una?|il|o|os)"
    r" [^,.;\n]{3,80}[,.;]"
)
_FEWEST_WORDS = 6
_ALIKE = 0.8


def needs_tidying(summary: str) -> bool:
    """Return whether a summary may need tidying; a model decides in case of doubt."""
    return bool(_SHOWS.search(summary)) or _introduces_twice(summary) or _says_twice(summary)


def _introduces_twice(summary: str) -> bool:
    last_names = Counter(found[1].split()[-1] for found in _INTRODUCED.finditer(summary))
    return any(count > 1 for count in last_names.values())


def _says_twice(summary: str) -> bool:
    """Return whether two sentences have nearly the same words."""
    bags = [frozenset(words(summary[span.start : span.end])) for span in sentences(summary)]
    told = [bag for bag in bags if len(bag) >= _FEWEST_WORDS]
    return any(
        len(one & other) >= _ALIKE * min(len(one), len(other)) for at, one in enumerate(told) for other in told[:at]
    )
