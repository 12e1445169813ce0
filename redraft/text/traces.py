"""Whether a summary shows by its form how it was made: it speaks of parts, or says or introduces something twice."""

from __future__ import annotations

import re
from collections import Counter

from redraft.text.sentences import sentences
from redraft.text.units import words

# What summaries of parts call the part, by language; the words for a summary itself; and a heading over the text.
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
    """Whether anything in it is to be tidied, at a look: who is in doubt is read by a model."""
    return bool(_SHOWS.search(summary)) or _introduces_twice(summary) or _says_twice(summary)


def _introduces_twice(summary: str) -> bool:
    last_names = Counter(found[1].split()[-1] for found in _INTRODUCED.finditer(summary))
    return any(count > 1 for count in last_names.values())


def _says_twice(summary: str) -> bool:
    """Whether two sentences have nearly the same words."""
    bags = [frozenset(words(summary[span.start : span.end])) for span in sentences(summary)]
    told = [bag for bag in bags if len(bag) >= _FEWEST_WORDS]
    return any(
        len(one & other) >= _ALIKE * min(len(one), len(other)) for at, one in enumerate(told) for other in told[:at]
    )
