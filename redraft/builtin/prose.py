"""Reading prose for the sentences that could stand in a summary, and judging how well each of them would."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from redraft.builtin.lexicon import (
    FIRST_PERSON,
    GESTURE,
    PERSONAL,
    SECOND_PERSON,
    SPEECH,
    matter_around,
)
from redraft.domain import Span
from redraft.text.languages import ENGLISH, is_foreign
from redraft.text.sentences import ends_sentence, paragraphs, sentences
from redraft.text.words import count_words

LAST_RESORT = 1e-4
"""The standing of what is no sentence of the text proper, as a heading or a licence: taken where nothing else is."""

_HEADING_WORDS = 12
# A publisher's notice is dropped whole where it is one paragraph; a longer one is judged sentence by sentence.
_NOTICE_WORDS = 150
_RUNAWAY_WORDS = 80
_LONGEST_WORDS = 400
_RUN_WORDS = 30
_GESTURE_WORDS = 20

_MARKS_AT_START = re.compile(r"^(?:#{1,6}\s+|>\s*|[-+•]\s+|\d{1,3}[.)]\s+(?=\D))+")
_EMPHASIS = re.compile(r"\*+|`+|(?<!\w)_+(?=\w)|(?<=[\w.,!?;:'\"”’])_+(?!\w)|(?<!\w)_+(?!\w)")
_LINK = re.compile(r"!?\[([^\[\]]*)\]\([^()\s]*\)")
_SPACES = re.compile(r"\s+")
_CLAUSE = re.compile(r"(?<=[,;:—–、，；：\n])\s*")
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]")
_DANGLING_MARKS = " \t\n,;:—–、，；：-([“‘"
_DANGLING_WORD = re.compile(
    r"(?<!\w)(?:and|or|but|the|an?|of|to|in|on|at|by|for|with|from|as|that|which|who)$", re.IGNORECASE
)
_LONGEST_DANGLING = 8
_MOST_DANGLING = 4
_NAME = re.compile(r"\b[A-Z][\w’'-]*[a-z]\b")
_NAME_WITHIN = re.compile(r"(?<=[a-z,;’'] )[A-Z][\w’'-]*[a-z]\b")
_FIGURE = re.compile(r"\b\d[\d.,]*\b")


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence without its markdown, and how well it would do in a summary, from nearly 0 to about 1."""

    text: str
    words: int
    part: int
    standing: float
    follows: bool
    """It stands directly behind the sentence that is read before it, in the same paragraph."""
    spoken: bool
    """Somebody speaks in it."""

    @property
    def unmarked(self) -> str:
        """Without the brackets of a name that stands for the pronoun that it began with."""
        return self.text.replace("[", "", 1).replace("]", "", 1) if self.text.startswith("[") else self.text


@dataclass(frozen=True, slots=True)
class _Found:
    """A sentence as it stands in the text."""

    text: str
    words: int
    part: int
    place: int
    opens: bool
    """A paragraph begins with it."""
    spoken: float
    """Which share of it is direct speech."""
    matter: bool
    """It is a heading, or belongs to what publishers put around a text."""


def read(parts: Sequence[str], language: str) -> list[Sentence]:
    """The sentences of all `parts`, in order, judged together. What was said before word for word is left out."""
    found: list[_Found] = []
    seen: set[str] = set()
    for number, part in enumerate(parts):
        for sentence in _sentences_of(part, number, language):
            key = sentence.text.casefold()
            if key not in seen:
                seen.add(key)
                found.append(sentence)
    return _judge(found, foreign=is_foreign(language))


def plain(text: str) -> str:
    """`text` on one line and without its markdown."""
    line = _SPACES.sub(" ", _MARKS_AT_START.sub("", _LINK.sub(r"\1", text.strip()))).strip()
    return _EMPHASIS.sub("", line).lstrip("# ").strip()


def finish(text: str, language: str = ENGLISH) -> str:
    """Make `text` end as a sentence ends, dropping what would dangle before the full stop: marks, and small words of
    English."""
    if not text or ends_sentence(text):
        return text
    core = text.rstrip(_DANGLING_MARKS)
    for _ in range(0 if is_foreign(language) else _MOST_DANGLING):
        if not (word := _DANGLING_WORD.search(core, max(0, len(core) - _LONGEST_DANGLING))):
            break
        core = core[: word.start()].rstrip(_DANGLING_MARKS)
    core = core or text
    return core + ("。" if _CJK.match(core[-1]) else ".")


def cut(text: str, limit: int, language: str) -> str:
    """The beginning of `text` in at most `limit` words, up to a clause where one ends late enough, as a sentence."""
    reach = _reach(text, limit)
    if reach < len(text):
        clauses = [found.start() for found in _CLAUSE.finditer(text, reach // 2, reach)]
        text = text[: clauses[-1] if clauses else reach].rstrip()
    return finish(text, language)


def _reach(text: str, limit: int, start: int = 0) -> int:
    """How far from `start` on `text` holds `limit` words."""
    length = 8 * limit
    while start + length < len(text) and count_words(text[start : start + length]) <= limit:
        length *= 2
    window = text[start : start + length]
    fits = bisect_left(range(len(window)), True, key=lambda last: count_words(window[: last + 1]) > limit)
    return start + fits


def _sentences_of(text: str, part: int, language: str) -> Iterator[_Found]:
    place, outside, around_it = 0, False, matter_around(language)
    for paragraph in paragraphs(text):
        body = text[paragraph.start : paragraph.end]
        whole = plain(body)
        words = count_words(whole)
        heading = body.lstrip().startswith("#") or (not ends_sentence(whole) and words <= _HEADING_WORDS)
        note = whole.startswith("[") and whole.endswith("]")
        if heading:
            # What stands under the heading of an author's note belongs to it, up to the next heading.
            outside = bool(around_it.search(whole))
        around = heading or outside or note or (words <= _NOTICE_WORDS and bool(around_it.search(whole)))
        spans, first = sentences(body), place
        for span, spoken in zip(spans, _spoken(body, spans), strict=True):
            for piece in _pieces(plain(body[span.start : span.end]), language):
                if words := count_words(piece):
                    matter = around or bool(around_it.search(piece))
                    yield _Found(piece, words, part, place, place == first, spoken, matter)
                    place += 1


def _spoken(body: str, spans: Sequence[Span]) -> Iterator[float]:
    """Which share of each of the sentences at `spans` is direct speech."""
    speech = [Span(*found.span()) for found in SPEECH.finditer(body)]
    first = 0
    for span in spans:
        while first < len(speech) and speech[first].end <= span.start:
            first += 1
        at, covered = first, 0
        while at < len(speech) and speech[at].start < span.end:
            covered += min(span.end, speech[at].end) - max(span.start, speech[at].start)
            at += 1
        yield covered / (span.end - span.start)


def _pieces(sentence: str, language: str) -> Iterator[str]:
    """The sentence, or runs of its clauses or words where it is a text without full stops rather than a sentence."""
    longest = _RUNAWAY_WORDS if not ends_sentence(sentence) else _LONGEST_WORDS
    if count_words(sentence) <= longest:
        yield finish(sentence, language)
        return
    at = 0
    while at < len(sentence):
        end = max(_reach(sentence, _RUN_WORDS, at), at + 1)
        if end < len(sentence):
            clauses = [found.end() for found in _CLAUSE.finditer(sentence, (at + end) // 2, end)]
            end = clauses[-1] if clauses else end
        yield finish(sentence[at:end].strip(), language)
        at = end


def _judge(found: list[_Found], *, foreign: bool) -> list[Sentence]:
    """Give every sentence its standing, with an eye on who tells the text and who appears in it."""
    narrated = [sentence.text for sentence in found if sentence.spoken < 0.2]
    told_by_one = sum(bool(FIRST_PERSON.search(text)) for text in narrated) > 0.2 * len(narrated)
    names = Counter(name for text in narrated for name in set(_NAME_WITHIN.findall(text)))
    met: set[str] = set()
    judged: list[Sentence] = []
    before: _Found | None = None
    for sentence in found:
        behind = before is not None and (sentence.part, sentence.place - 1) == (before.part, before.place)
        told = _manner(sentence) if foreign else _voiced(sentence, _manner(sentence), told_by_one)
        standing = LAST_RESORT if sentence.matter else told * _substance(sentence, names, met, foreign=foreign)
        follows, spoken = behind and not sentence.opens, sentence.spoken > 0
        judged.append(Sentence(sentence.text, sentence.words, sentence.part, standing, follows, spoken))
        before = sentence
    return judged


def _manner(sentence: _Found) -> float:
    """How much a sentence reads like one of a summary: told, not spoken or asked, complete, of a middling length."""
    text, standing = sentence.text, _length(sentence.words)
    letters = sum(map(str.isalpha, text))
    drawbacks = (
        (sentence.spoken > 0.5, 0.1),
        (0.1 < sentence.spoken <= 0.5, 0.25),
        (_is_unbalanced(text), 0.15),
        (text.rstrip("\"'”’»)").endswith(("?", "!")), 0.3),
        ("..." in text or "…" in text, 0.5),
        (text[0].islower() or (not text[0].isalnum() and text[0] not in "\"'“‘«「("), 0.3),
        (letters < 0.6 * len(text) or sum(map(str.isupper, text)) > 0.5 * max(letters, 1), 0.1),
    )
    for applies, factor in drawbacks:
        if applies:
            standing *= factor
    return standing


def _voiced(sentence: _Found, standing: float, told_by_one: bool) -> float:
    """What is left of a sentence of English in which somebody says I or you, or only moves a hand."""
    text = sentence.text
    drawbacks = (
        (not told_by_one and bool(FIRST_PERSON.search(text)), 0.4),
        (bool(SECOND_PERSON.search(text)), 0.4),
        (sentence.words < _GESTURE_WORDS and bool(GESTURE.search(text)), 0.6),
    )
    for applies, factor in drawbacks:
        if applies:
            standing *= factor
    return standing


def _length(words: int) -> float:
    for fewer_than, standing in ((5, 0.15), (8, 0.3), (12, 0.6), (16, 0.85), (41, 1.0)):
        if words < fewer_than:
            return standing
    return max(0.3, 1 - (words - 40) / 60)


def _is_unbalanced(text: str) -> bool:
    return text.count('"') % 2 == 1 or any(text.count(a) != text.count(b) for a, b in ("“”", "()", "[]", "「」", "«»"))


def _substance(sentence: _Found, names: Counter[str], met: set[str], *, foreign: bool) -> float:
    """How much a sentence tells of named people and places, best of all when it is the first to name them."""
    named = [found for found in _NAME.finditer(sentence.text) if names[found.group()]]
    known = {found.group() for found in named}
    substance = 0.7 + 0.15 * min(len(known), 2) + (0.05 if _FIGURE.search(sentence.text) else 0.0)
    pointing = None if foreign else PERSONAL.search(sentence.text)
    if pointing and (not named or pointing.start() < named[0].start()):
        substance *= 0.7
    if sentence.spoken < 0.2:
        if any(names[name] >= 3 for name in known - met):
            substance *= 1.2
        met |= known
    return substance
