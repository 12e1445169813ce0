"""Counts words and the units in which texts are measured, also in scripts without spaces."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache

from redraft.lazy import pattern
from redraft.text.sanitizer import one_line

UNSPACED = "\u0e00-\u0e7f\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
"""Chinese, Japanese and Thai have no spaces: there every letter counts as a word, as in word processors."""
WORD = pattern(rf"[{UNSPACED}]|[^\W{UNSPACED}]+(?:['’\-.,][^\W{UNSPACED}]+)*")
_UNSPACED_LETTER = pattern(f"[{UNSPACED}]")
_SPACED = pattern(r"\S+")
# Marks between letters of a script without spaces are no words.
_COUNTED = pattern(rf"[{UNSPACED}]|[^\s{UNSPACED}]*[^\W{UNSPACED}][^\s{UNSPACED}]*|(?<!\S)[^\s{UNSPACED}]+(?!\S)")
_BEGINNING = 20_000
_CENT = 0.01
_LANGUAGES = (
    "ar arabic, ca catalan, cs czech, da danish, de german, el greek, en english, es spanish, et estonian, eu basque, "
    "fa persian, fi finnish, fr french, ga irish, hi hindi, hu hungarian, hy armenian, id indonesian, it italian, lt "
    "lithuanian, ne nepali, nl dutch, no norwegian, pl polish, pt portuguese, ro romanian, ru russian, sr serbian, sv "
    "swedish, ta tamil, tr turkish, yi yiddish"
)
_STEMMERS = dict(language.split() for language in _LANGUAGES.split(", "))
"""The names of the stemmers by language."""


_SECONDS = 90
"""Longer durations are given in the next larger unit; the same limit applies to minutes."""
_SHORT = 10


def score(value: float | None) -> str:
    """Return a score with two digits, rounded down, so that it never looks like a goal that it misses; a dash for
    None."""
    return "–" if value is None else f"{int(value * 100 + 1e-9) / 100:.2f}"


def lasting(seconds: float) -> str:
    """Return a duration, rounded."""
    if seconds < _SECONDS:
        return f"{seconds + 0.5:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < _SECONDS else f"{minutes // 60:,} h {minutes % 60:02} min"


def duration(seconds: float) -> str:
    """Return how long something took: short times with a decimal, longer ones as `lasting`."""
    return f"{seconds:.1f} s" if seconds < _SHORT else lasting(seconds)


def dollars(cost: float | None, *, about: bool = False, exact: bool = False) -> str:
    """Return an amount in US dollars: "$12.40", "under $0.01", "free" for 0, "unknown" for None. With `about` it is an
    estimate; with `exact`, for prices and limits, all decimals are kept."""
    if not cost:
        return "unknown" if cost is None else "free"
    if exact and abs(cost - round(cost, 2)) > _CENT / 1e6:
        return f"${cost:,.10f}".rstrip("0")
    return "under $0.01" if cost < _CENT else f"{'about ' * about}${cost:,.2f}"


def has_unspaced(text: str) -> bool:
    """Return whether a text has letters of a script without spaces, which only have meaning together."""
    return _UNSPACED_LETTER.search(text) is not None


def count_words(text: str) -> int:
    """Return the number of words in `text`, as word processors and `wc -w` count them: "the ship's 16–18 guns" has
    four. In a script without spaces every letter is a word."""
    if not has_unspaced(text):
        return len(text.split())
    return sum(1 for _ in _COUNTED.finditer(text))


def word_ends(text: str) -> list[int]:
    """Return the offsets at which the words of `text` end."""
    counted = _COUNTED if has_unspaced(text) else _SPACED
    return [word.end() for word in counted.finditer(text)]


def is_unspaced(text: str) -> bool:
    """Return whether most words of a text's beginning are letters of a script without spaces."""
    beginning = text[:_BEGINNING]
    return 2 * len(_UNSPACED_LETTER.findall(beginning)) > count_words(beginning)


def has_words(text: str) -> bool:
    """Return whether there is a word in `text`."""
    return bool(WORD.search(text))


def words_key(text: str) -> str:
    """Return a key that ignores capitals, punctuation and spaces."""
    return " ".join(word.casefold() for word in WORD.findall(text))


@lru_cache(maxsize=8)
def stemmer(language: str) -> Callable[[str], str]:
    """Return a cached stemmer of a language; the identity if no rules are known."""
    import snowballstemmer

    name = _STEMMERS.get(language)

    @lru_cache(maxsize=200_000)
    def stem(word: str) -> str:
        # A stemmer is not thread-safe.
        return str(snowballstemmer.stemmer(name).stemWord(word))

    return stem if name else str


def count(number: int, what: str) -> str:
    """Return a number of things in words: 1 word, 2 words, 1,200 summaries."""
    if number == 1:
        return f"1 {what}"
    return f"{number:,} {what[:-1]}ies" if what.endswith("y") else f"{number:,} {what}s"


def enumeration(names: Iterable[str]) -> str:
    """Return names as in a sentence: a, b and c."""
    return " and ".join(", ".join(names).rsplit(", ", 1))


def spaced(name: str) -> str:
    """Return a name with spaces instead of underscores, on one line."""
    return one_line(name).replace("_", " ")
