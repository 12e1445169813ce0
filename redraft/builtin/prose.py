"""Reading prose for the sentences that could stand in a summary, and judging how well each of them would."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import prod

from redraft.builtin.lexicon import (
    FIRST_PERSON,
    GESTURE,
    PERSONAL,
    SECOND_PERSON,
    SPEECH,
    matter_around,
)
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
_CLAUSE_END = re.compile(
    r",? (?:—|–|-) ?|[;:—] ?"
    r"|, (?:and|but|or|so|yet|which|who|whose|where|while|though|although|as|for) "
)
_SHORTEST_CLAUSE = 6
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
    """Its number in the part; before a paragraph one is left out."""
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


def first_clause(sentence: str) -> str:
    """A sentence of English up to where it might have ended, where that is not too early."""
    for found in _CLAUSE_END.finditer(sentence):
        clause = sentence[: found.start()]
        if len(clause.split()) >= _SHORTEST_CLAUSE and clause.count(",") != 1:
            return f"{clause}."
    return sentence


def cut(text: str, limit: int, language: str) -> str:
    """The beginning of `text` in at most `limit` words, up to a clause where one ends late enough, as a sentence."""
    return finish(next(_runs(text, limit), ""), language)


def _runs(text: str, limit: int) -> Iterator[str]:
    """`text` in runs of at most `limit` words, each up to a clause where one ends late enough."""
    at = 0
    while at < len(text):
        end = max(_reach(text, limit, at), at + 1)
        if end < len(text):
            clauses = [found.end() for found in _CLAUSE.finditer(text, (at + end) // 2, end)]
            end = clauses[-1] if clauses else end
        yield text[at:end].strip()
        at = end


def _reach(text: str, limit: int, start: int) -> int:
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
        place += 1
        aloud = bytearray(len(body))
        for speech in SPEECH.finditer(body):
            aloud[slice(*speech.span())] = b"\1" * len(speech.group())
        for span in sentences(body):
            spoken = sum(aloud[span.start : span.end]) / (span.end - span.start)
            for piece in _pieces(plain(body[span.start : span.end])):
                line = finish(piece, language)
                if words := count_words(line):
                    yield _Found(line, words, part, place, spoken, around or bool(around_it.search(line)))
                    place += 1


def _pieces(sentence: str) -> Iterable[str]:
    """The sentence, or runs of its words where it is a text without full stops rather than a sentence."""
    longest = _RUNAWAY_WORDS if not ends_sentence(sentence) else _LONGEST_WORDS
    return [sentence] if count_words(sentence) <= longest else _runs(sentence, _RUN_WORDS)


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
        told = _length(sentence.words) * _manner(sentence, told_by_one=told_by_one, foreign=foreign)
        standing = LAST_RESORT if sentence.matter else told * _substance(sentence, names, met, foreign=foreign)
        judged.append(Sentence(sentence.text, sentence.words, sentence.part, standing, behind, sentence.spoken > 0))
        before = sentence
    return judged


def _manner(sentence: _Found, *, told_by_one: bool, foreign: bool) -> float:
    """How much a sentence reads like one of a summary: told and not asked, complete, and not of I and you."""
    text = sentence.text
    drawbacks = [
        (text.rstrip("\"'”’»)").endswith(("?", "!")), 0.3),
        ("..." in text or "…" in text, 0.5),
        (text[0].islower() or (not text[0].isalnum() and text[0] not in "\"'“‘«「("), 0.3),
    ]
    if not foreign:
        drawbacks += [
            (not told_by_one and bool(FIRST_PERSON.search(text)), 0.4),
            (bool(SECOND_PERSON.search(text)), 0.4),
            (sentence.words < _GESTURE_WORDS and bool(GESTURE.search(text)), 0.6),
        ]
    return prod(factor for applies, factor in drawbacks if applies)


def _length(words: int) -> float:
    for fewer_than, standing in ((5, 0.15), (8, 0.3), (12, 0.6), (16, 0.85), (41, 1.0)):
        if words < fewer_than:
            return standing
    return max(0.3, 1 - (words - 40) / 60)


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
