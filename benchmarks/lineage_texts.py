"""Texts of which it is known where every sentence comes from: marked documents, and summaries made out of them.

Every paragraph of a document begins with a mark of its own. The sentences of the texts made out of it are copied,
reworded or fused from two, through one, two or three levels; among those of the last text some are planted that no
parent has.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Literal

from redraft.domain import Span
from redraft.text.sentences import sentences
from redraft.text.word_keys import carries, listed, words

Kind = Literal["copied", "reworded", "fused", "invented"]
KINDS: tuple[Kind, ...] = ("copied", "reworded", "fused")

_SYNONYMS = Path(__file__).parent / "texts" / "synonyms.txt"
_QUOTES = re.compile('["“”]')
_MARK = "[{}] "
_MARKED = re.compile(r"\[(\d+)\] ")
_HALF = re.compile(r"(?<!\w)['’]|['’](?!\w)|[()\[\]]")
_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_NAME = re.compile(r"(?<=[a-z,] )[A-Z][a-z]{2,}\b")
_CLAUSE = re.compile(r"[,;] (?:and |but )?| (?:and|but|while|when|because|as) ")
_PHRASE = re.compile(r" (?=(?:in|on|at|with|for|from|under|over|into|after|before|through|across|by) )")
# A shorter sentence, such as "He nodded.", may stand in several paragraphs.
_FEWEST = 6
# This share of the telling words without a synonym is left out when a sentence is reworded.
_LEFT_OUT = 0.15
# The sentences of each part of a document that are told of, and those of each kind in the summary.
_OF_A_PIECE, _OF_A_KIND = 20, 8
# Sentences that are reworded are fused as well.
_HANDLING: tuple[Kind, ...] = ("copied", "reworded", "reworded")


@dataclass(frozen=True)
class Told:
    """A sentence, and the marks of the paragraphs that it comes from: none for an invented one."""

    text: str
    marks: tuple[str, ...]
    kind: Kind


@dataclass(frozen=True)
class Made:
    """A text made of known sentences, and the texts that it was made from."""

    told: tuple[Told, ...]
    parents: tuple[Made | Stretch, ...]

    @property
    def text(self) -> str:
        return " ".join(one.text for one in self.told)

    def spans(self) -> Iterator[Span]:
        """Where each of the sentences stands."""
        at = 0
        for one in self.told:
            yield Span(at, at + len(one.text))
            at += len(one.text) + 1


@dataclass(frozen=True)
class Stretch:
    """Whole paragraphs of a document one behind the other, from an offset of it on."""

    text: str
    start: int


@cache
def synonyms() -> dict[str, str]:
    """The kept dictionary."""
    lines = _SYNONYMS.read_text("utf-8").splitlines()
    return dict(line.split() for line in lines if not line.startswith("#"))


def marked(text: str) -> str:
    """A document whose every paragraph carries a mark."""
    paragraphs = [" ".join(part.split()) for part in re.split(r"\n\s*\n", text) if part.strip()]
    return "\n\n".join(_MARK.format(f"{number:04}") + part for number, part in enumerate(paragraphs, 1))


def mark_at(document: str, span: Span) -> str:
    """The mark of the paragraph that a place is in."""
    return _MARKED.findall(document, 0, span.end)[-1]


def stretches(document: str, count: int) -> list[Stretch]:
    """A document in so many parts of about the same length."""
    found: list[Stretch] = []
    start = 0
    for part in range(1, count + 1):
        end = len(document) if part == count else document.find("\n\n", part * len(document) // count) + 2
        found.append(Stretch(document[start:end], start))
        start = end
    return found


def sayings(stretch: Stretch) -> list[Told]:
    """The sentences of some paragraphs that say enough, as they stand there."""
    found: list[Told] = []
    for paragraph in stretch.text.split("\n\n"):
        if match := _MARKED.match(paragraph):
            body = paragraph[match.end() :]
            texts = [_QUOTES.sub("", body[span.start : span.end]).strip() for span in sentences(body)]
            found += [Told(text, (match[1],), "copied") for text in texts if _is_plain(text)]
    return found


def reworded(text: str, chance: random.Random) -> str:
    """A sentence with synonyms, some words left out, and its parts in another order; and still one sentence."""
    made = (_turned(_exchanged(text, left_out, chance)) for left_out in (_LEFT_OUT, _LEFT_OUT, 0.0))
    return next((one for one in made if _is_one(one)), text)


def _exchanged(text: str, left_out: float, chance: random.Random) -> str:
    known = synonyms()

    def other(match: re.Match[str]) -> str:
        word = match.group()
        if (synonym := known.get(word.lower())) is not None:
            return synonym.capitalize() if word[0].isupper() else synonym
        telling = word[0].islower() and all(carries(one.key) for one in words(word))
        return "" if telling and chance.random() < left_out else word

    return re.sub(r" +(?=[ ,.;!?])", "", _WORD.sub(other, text))


def fused(one: str, other: str, chance: random.Random) -> str:
    """A sentence out of two."""
    first, second = (_bare(reworded(text, chance)) for text in (one, other))
    return f"{first}{chance.choice([', and ', ', while ', '; '])}{_lowered(second)}."


def invented(strangers: Sequence[str], own: str, chance: random.Random) -> str:
    """A sentence of another text, with the names of this one in the place of its own."""
    names = _NAME.findall(own)
    return _NAME.sub(lambda _: chance.choice(names), chance.choice(strangers)) if names else chance.choice(strangers)


def summarized(document: str, levels: int, chance: random.Random, strangers: Sequence[str], parts: int = 4) -> Made:
    """A summary of a marked document by so many steps, some of its sentences copied, reworded, fused and invented.

    With one step it is made from the `parts` of the document themselves, with two from a piece about each of them, with
    three from pieces that were each made from two of these.
    """
    made: list[Made | Stretch] = list(stretches(document, parts))
    kept = [_drawn(sayings(one), chance) for one in made if isinstance(one, Stretch)]
    for level in range(levels - 1):
        at_once = 2 if level else 1
        groups = [range(at, min(at + at_once, len(made))) for at in range(0, len(made), at_once)]
        kept = [[_passed_on(one, chance) for at in group for one in kept[at]] for group in groups]
        made = [Made(tuple(told), tuple(made[at] for at in group)) for told, group in zip(kept, groups, strict=True)]
    return Made(_last([one for told in kept for one in told], document, chance, strangers), tuple(made))


def _drawn(pool: Sequence[Told], chance: random.Random) -> list[Told]:
    """Some of the sentences, each to be copied from now on, or reworded at each step."""
    some = chance.sample(pool, min(len(pool), _OF_A_PIECE))
    return [replace(one, kind=chance.choice(_HANDLING)) for one in some]


def _last(found: Sequence[Told], document: str, chance: random.Random, strangers: Sequence[str]) -> tuple[Told, ...]:
    """The sentences of the summary, out of those of the texts below it, with the invented ones here and there."""
    copied = [one for one in found if one.kind == "copied"]
    others = [one for one in found if one.kind == "reworded"]
    chance.shuffle(others)
    told = chance.sample(copied, min(len(copied), _OF_A_KIND))
    told += [_passed_on(one, chance) for one in others[:_OF_A_KIND]]
    rest = others[_OF_A_KIND : 3 * _OF_A_KIND]
    told += [
        Told(fused(one.text, other.text, chance), (*one.marks, *other.marks), "fused")
        for one, other in zip(rest[::2], rest[1::2], strict=False)
        if one.marks != other.marks
    ]
    told += [Told(invented(strangers, document, chance), (), "invented") for _ in range(_OF_A_KIND)]
    chance.shuffle(told)
    return tuple(told)


def _passed_on(one: Told, chance: random.Random) -> Told:
    return replace(one, text=reworded(one.text, chance)) if one.kind == "reworded" else one


def _turned(text: str) -> str:
    """The two halves of a sentence, which end with a clause or a phrase, the other way round."""
    middle = len(text) / 2
    bare = _bare(text)
    for pattern in (_CLAUSE, _PHRASE):
        seams = [seam for seam in pattern.finditer(bare) if 0.2 < seam.start() / len(bare) < 0.8]
        if seams:
            seam = min(seams, key=lambda seam: abs(seam.start() - middle))
            return f"{bare[seam.end() :][:1].upper()}{bare[seam.end() + 1 :]}, {_lowered(bare[: seam.start()])}."
    return text


def _bare(text: str) -> str:
    """Without the marks around it, so that it may be part of another sentence."""
    return text.strip().strip("\"'“”‘’.!?… ")


def _lowered(text: str) -> str:
    """With a small letter at its beginning, unless it begins with a name."""
    first = text.split(" ", 1)[0]
    return text[:1].lower() + text[1:] if first.lower() in _openers() else text


@cache
def _openers() -> frozenset[str]:
    return listed("a an the he she it they we his her their its there this that these those in on at as when")


def _is_plain(text: str) -> bool:
    """Whether it says enough, and is one sentence wherever it stands: half a pair of marks makes one of many."""
    return (
        len({word.key for word in words(text) if carries(word.key)}) >= _FEWEST
        and text.endswith((".", "!", "?"))
        and not _HALF.search(text)
        and _is_one(text)
    )


def _is_one(text: str) -> bool:
    """Whether the splitter takes it for one sentence, also with another behind it: it knows "me." as a state."""
    return len(sentences(f"{text} Silence fell.")) == 2
