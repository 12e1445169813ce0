"""A summary read sentence by sentence: who is named, what each sentence is about, and where it stands."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from typing import NamedTuple

from redraft.builtin.consistency.aliases import own_words
from redraft.builtin.consistency.families import family
from redraft.builtin.details import Detail, details
from redraft.builtin.verbs import AUXILIARIES, is_past, is_present
from redraft.text.cleaning import one_line
from redraft.text.sentences import paragraphs, sentences
from redraft.text.wording import Word, carries, is_number, keys, listed, words
from redraft.text.words import count_words

# Of a text with more of its letters in capitals, capitals say nothing.
_MOST_CAPITALS = 0.6
# What begins a sentence with a capital, and is nobody's name.
_OPENERS = listed(
    "meanwhile despite together however throughout eventually finally later during after before as when while upon"
    " amid amidst although though since additionally furthermore moreover unfortunately suddenly ultimately overall"
    " once along another years months weeks days unable determined"
)
_SINGULAR = listed("is was has does")


class Mention(NamedTuple):
    """A name where it stands in a sentence, and the keys of its words without titles."""

    detail: Detail
    own: tuple[str, ...]


class Line(NamedTuple):
    """A sentence of a summary with what is known of it."""

    text: str
    words: tuple[Word, ...]
    mentions: tuple[Mention, ...]
    names: frozenset[str]
    topics: frozenset[str]
    """The families of its words that say something, without names and numbers."""
    place: int
    """How many sentences of its paragraph stand before it."""
    paragraph: int
    """How many paragraphs stand before its own."""
    company: int
    """How many sentences its paragraph has."""

    @property
    def keys(self) -> list[str]:
        """The keys of its words."""
        return [word.key for word in self.words]

    def surface(self, at: int) -> str:
        """A word as it is written."""
        return self.text[self.words[at].start : self.words[at].end] if at < len(self.words) else ""


@lru_cache(maxsize=8)
def read(summary: str) -> tuple[Line, ...]:
    """The sentences of a summary that have words, in order: the first is number 1 to those who ask about them."""
    placed = _placed(summary)
    company = Counter(paragraph for _, _, paragraph in placed)
    found = [words(text) for text, _, _ in placed]
    shouted = _is_shouted(summary)
    marked = [
        [] if shouted else [detail for detail in details(text, of) if detail.kind == "name"]
        for (text, _, _), of in zip(placed, found, strict=True)
    ]
    inside = {
        key
        for of, there in zip(found, marked, strict=True)
        for detail in there
        if detail.last > 0
        for key in own_words([word.key for word in of[detail.first : detail.last + 1]])
        if key not in _opening()
    }
    small = {key for (text, _, _), of in zip(placed, found, strict=True) for key in _small(text, of)}
    return tuple(
        Line(
            text,
            tuple(of),
            *_content(of, [detail for detail in there if _is_name(text, of, detail, inside, small)]),
            place,
            paragraph,
            company[paragraph],
        )
        for (text, place, paragraph), of, there in zip(placed, found, marked, strict=True)
    )


def _small(text: str, of: Sequence[Word]) -> Iterator[str]:
    """The keys of the words that begin with a small letter."""
    return (word.key for word in of if text[word.start].islower())


def _placed(summary: str) -> list[tuple[str, int, int]]:
    """Each sentence on one line, with the number of those before it in its paragraph, and of paragraphs before that."""
    ends = [span.end for span in paragraphs(summary)]
    placed: list[tuple[str, int, int]] = []
    paragraph, before = 0, 0
    for span in sentences(summary):
        while span.start >= ends[paragraph]:
            paragraph, before = paragraph + 1, 0
        if count_words(text := one_line(summary[span.start : span.end])):
            placed.append((text, before, paragraph))
            before += 1
    return placed


def _is_shouted(text: str) -> bool:
    letters = [letter for letter in text if letter.isupper() or letter.islower()]
    return sum(letter.isupper() for letter in letters) > _MOST_CAPITALS * len(letters)


def _is_name(text: str, of: Sequence[Word], detail: Detail, inside: set[str], small: set[str]) -> bool:
    """Whether a lone word at the beginning is a name: it is one elsewhere, or does something."""
    if detail.last > 0:
        return True
    key = of[0].key
    if key in inside:
        return True
    if key in small or key in _opening():
        return False
    following = text[of[1].start : of[1].end] if len(of) > 1 else ""
    owns = text[detail.end : detail.end + 2] in ("'s", "’s")
    if not detail.sure:  # "James warns" and "soldiers warn"
        ending = text[: detail.end].endswith(("ing", "ed", "ly"))
        return owns or (not ending and (is_present(following) or following in _SINGULAR))
    return owns or is_past(following) or is_present(following) or following in AUXILIARIES or following == "and"


def _without_opener(of: Sequence[Word], detail: Detail) -> Detail:
    """A name without a word before it that begins the sentence, as in "Despite Ada's warning"."""
    if detail.first > 0 or detail.last == 0 or of[0].key not in _opening():
        return detail
    return detail._replace(first=1, start=of[1].start)


@cache
def _opening() -> frozenset[str]:
    return frozenset(key for word in _OPENERS for key in keys(word))


def _content(of: Sequence[Word], named: Sequence[Detail]) -> tuple[tuple[Mention, ...], frozenset[str], frozenset[str]]:
    """Whom a sentence mentions, the keys of their names, and its topics."""
    found = [word.key for word in of]
    mentions = tuple(
        Mention(detail, own)
        for detail in (_without_opener(of, detail) for detail in named)
        if (own := tuple(key for key in own_words(found[detail.first : detail.last + 1]) if len(key) > 1))
    )
    names = frozenset(key for mention in mentions for key in mention.own)
    topics = frozenset(family(key) for key in found if carries(key) and key not in names and not is_number(key))
    return mentions, names, topics
