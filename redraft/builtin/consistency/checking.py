"""Answering a summary's questions from passages of the document."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence, Set
from typing import NamedTuple

from redraft.builtin.consistency.retelling import Retelling
from redraft.builtin.coverage.finding import Found, look_up
from redraft.builtin.details import Detail, details
from redraft.builtin.forms import Claim, read_claim, read_question
from redraft.builtin.registry import answers
from redraft.builtin.source import Match, Source, Tiling, match
from redraft.builtin.wording import carries, is_negation, is_number, listed, pairs
from redraft.prompts.judging import (
    ANSWER_FROM_DOCUMENT,
    UNANSWERABLE,
    AnswerFromDocumentGiven,
    DocumentAnswer,
    DocumentAnswers,
)

# Two sentences of which one has this share of the other's words, in order, speak of the same thing.
_SAME = 0.6
# With a smaller share of a part borne out, the passages do not say it.
_LEAST_BORNE_OUT = 0.4
# That two people are named together says nothing of what the one did to the other.
_LEAST_SAID = 0.5
# A sentence is copied when this share of it stands in the passages in runs of at least so many words.
_COPIED = 0.35
_SHORTEST_COPY = 3
# An answer that is to differ shares less than this with what is asked about.
_MOST_ALIKE = 0.5
_DENIAL = "Not so"
# What a negation brings with it, as in "he saw" and "he did not see".
_HELPERS = listed(
    "do does did be is are was were have has had will would can could may might must should"
    " everybody everyone everything all every always ever some somebody someone something any anybody anyone anything"
)
_LONGEST_TURN = 3
# How far before a word what denies it stands, and how far it may when other words come between.
_JUST_BEFORE, _NEAR = 2, 7


@answers(ANSWER_FROM_DOCUMENT)
def answer_from_document(given: AnswerFromDocumentGiven) -> DocumentAnswers:
    """Each answer from the place that is most like what the question says."""
    source = Source(given.passages)
    retelling = Retelling(source)
    answered: list[DocumentAnswer] = []
    for asked in given.questions:
        claim = read_claim(asked.question)
        found = _check(source, retelling, claim) if claim else look_up(source, read_question(asked.question))
        answered.append(
            DocumentAnswer(id=asked.id, answer=found.answer, quote=source.text_of(found.lines[0]))
            if found
            else DocumentAnswer(id=asked.id, answer=UNANSWERABLE, quote="")
        )
    return DocumentAnswers(answers=answered)


class _Laid(NamedTuple):
    """A claim laid beside the places of the passages that are most like it."""

    claim: Claim
    keys: list[str]
    source: Source
    retelling: Retelling
    tiling: Tiling
    match: Match
    near: frozenset[str]
    """Which of its telling words the passages have close together."""

    @property
    def same(self) -> bool:
        """Whether a sentence of the passages speaks of the same thing, so that a difference is a contradiction."""
        return self.match.shared >= _SAME * len(self.keys)

    @property
    def line(self) -> int:
        """The line that says most about the claim."""
        return self.match.line if self.same else self.tiling.line


def _check(source: Source, retelling: Retelling, claim: Claim) -> Found | None:
    """What the passages have in the place of the words asked about; None where they do not speak of it."""
    keys = [word.key for word in claim.words]
    if (line := source.find(keys)) is not None:
        return Found(claim.asked, [line])
    places = source.places(keys)
    tiling, beside = source.tile(keys, places), match(source, keys, places)
    if tiling is None or beside is None:
        return None
    laid = _Laid(claim, keys, source, retelling, tiling, beside, source.surroundings(keys, places))
    if laid.same and _is_denied(laid):
        return Found(_DENIAL, [laid.line])
    if not laid.same and not _denies_too(laid):
        return None
    if not laid.same and tiling.copied(_SHORTEST_COPY) < _COPIED * len(keys):
        line = retelling.line_for(claim)
        return None if line is None else Found(claim.asked, [line])
    others: list[str] = []
    for detail in details(claim.text, claim.words):
        if claim.first <= detail.first < claim.end:
            if other := _instead(laid, detail):
                others.append(other)
            elif detail.sure and not _is_there(laid, detail):
                return None
    return Found(", ".join(others), [laid.line]) if others else _borne_out(laid)


def _borne_out(laid: _Laid) -> Found | None:
    """The words asked about that the passages bear out.

    A writer who copies goes wrong where one copied piece is joined to another, so of a copied sentence those words
    count that have the same neighbours in the passages. One who puts things in words of their own has other neighbours
    everywhere: there those count that are found close together.
    """
    claim = laid.claim
    held = set(laid.tiling.borne_out)
    if laid.tiling.copied(_SHORTEST_COPY) < _COPIED * len(laid.keys):
        held |= _with_little_words(laid.keys, laid.near)
    asked = [at for at in sorted(held) if claim.first <= at < claim.end]
    if len(asked) < _LEAST_BORNE_OUT * (claim.end - claim.first) or _is_only_named(laid, held):
        return None
    pieces: list[list[int]] = []
    for at in asked:
        if pieces and pieces[-1][1] == at:
            pieces[-1][1] = at + 1
        else:
            pieces.append([at, at + 1])
    return Found(" … ".join(claim.cut(first, end) for first, end in pieces), [laid.line])


def _is_only_named(laid: _Laid, held: Set[int]) -> bool:
    """Whether the passages have the names and numbers, and too little of what is said of them."""
    claim = laid.claim
    named = {at for detail in details(claim.text, claim.words) for at in range(detail.first, detail.last + 1)}
    said = [at for at in range(claim.first, claim.end) if at not in named and carries(laid.keys[at])]
    there = sum(at in held or laid.keys[at] in laid.near for at in said)
    return there < _LEAST_SAID * len(said)


def _with_little_words(keys: Sequence[str], known: frozenset[str]) -> set[int]:
    """Where the `known` words stand, each with the articles and the like before it."""
    held: set[int] = set()
    first = 0
    for at, key in enumerate(keys):
        if carries(key):
            if key in known:
                held.update(range(first, at + 1))
            first = at + 1
    return held


def _is_denied(laid: _Laid) -> bool:
    """Whether one of the two says "not" where the other, in the same words, does not."""
    there = laid.source.lines[laid.match.line].keys
    for step, first, end, other_first, other_end in laid.match.steps[:-1]:
        short = max(end - first, other_end - other_first) <= _LONGEST_TURN
        if step == "equal" or not short or not laid.claim.first <= first < laid.claim.end:
            continue
        here, beyond = laid.keys[first:end], there[other_first:other_end]
        turned = any(map(is_negation, here)) != any(map(is_negation, beyond))
        # "No part" for "a great part" is a denial too: all that is said instead of the one is "no".
        only = step == "replace" and any(_is_only_no(side) for side in (here, beyond))
        if turned and (only or not any(_says_more(key) for key in (*here, *beyond))):
            return True
    return _is_turned(laid, there)


def _is_turned(laid: _Laid, there: Sequence[str]) -> bool:
    """Whether a word that both have is denied in one of the two, just before it, and nowhere near it in the other."""

    def denied(keys: Sequence[str], at: int, reach: int) -> bool:
        return any(map(is_negation, keys[max(0, at - reach) : at]))

    for step, first, end, other, _ in laid.match.steps:
        for at in range(max(first, laid.claim.first), min(end, laid.claim.end)) if step == "equal" else ():
            place = other + at - first
            if carries(laid.keys[at]) and not is_negation(laid.keys[at]):
                here, beyond = denied(laid.keys, at, _JUST_BEFORE), denied(there, place, _JUST_BEFORE)
                if (here and not denied(there, place, _NEAR)) or (beyond and not denied(laid.keys, at, _NEAR)):
                    return True
    return False


def _denies_too(laid: _Laid) -> bool:
    """Whether the passages deny something of whatever the words asked about deny something of."""
    for at in range(laid.claim.first, laid.claim.end):
        if is_negation(laid.keys[at]):
            denied = next((key for key in laid.keys[at + 1 :] if carries(key) and not is_negation(key)), "")
            if denied and not laid.source.denies(denied):
                return False
    return True


def _is_only_no(keys: Sequence[str]) -> bool:
    return len(keys) == 1 and is_negation(keys[0])


def _says_more(key: str) -> bool:
    return carries(key) and not is_negation(key) and key not in _HELPERS


def _instead(laid: _Laid, marked: Detail) -> str:
    """The detail of the same kind that the passages have exactly where the claim has this one, if it is another."""
    if not laid.same:
        return ""
    keys = laid.source.lines[laid.match.line].keys
    whole = tuple(laid.keys[marked.first : marked.last + 1])
    for first, end, other_first, other_end in _replacements(laid):
        own = laid.keys[max(first, marked.first) : min(end, marked.last + 1)]
        if not own or _tell(laid.keys[first:end], own):
            continue
        for detail in laid.source.details_of(laid.match.line):
            its = keys[max(other_first, detail.first) : min(other_end, detail.last + 1)]
            alone = not _tell(keys[other_first:other_end], its)
            if detail.kind == marked.kind and its and alone and not _alike(own, its):
                if laid.retelling.may_be_one(whole, tuple(keys[detail.first : detail.last + 1])):
                    continue
                return _told_apart(laid, detail, max(other_first, detail.first), min(other_end, detail.last + 1))
    return ""


def _replacements(laid: _Laid) -> Iterator[tuple[int, int, int, int]]:
    """Which words of the claim stand where the line has which others; at either end, as many of the line's as it has.

    A claim that leaves out how the line begins or goes on says nothing else for that.
    """
    for step, first, end, other_first, other_end in laid.match.steps:
        if step == "replace":
            size = max(end - first, 1)
            if end == len(laid.keys):
                other_end = min(other_end, other_first + size)
            elif first == 0:
                other_first = max(other_first, other_end - size)
            yield first, end, other_first, other_end


def _told_apart(laid: _Laid, detail: Detail, first: int, end: int) -> str:
    """A detail, or only the words of it that differ where the rest is most of what is asked about."""
    line = laid.source.lines[laid.match.line]
    asked = Counter(laid.keys[laid.claim.first : laid.claim.end])
    whole = Counter(line.keys[detail.first : detail.last + 1])
    text = laid.source.text_of(laid.match.line)
    if 2 * (asked & whole).total() <= _MOST_ALIKE * (asked.total() + whole.total()):
        return text[detail.start : detail.end]
    found = laid.source.words_of(laid.match.line)
    return text[found[first].start : found[end - 1].end]


def _tell(keys: Sequence[str], apart_from: Sequence[str]) -> bool:
    """Whether there is more than little words among `keys`, as where "Harry Kane" stands for "the English striker"."""
    return any(carries(key) for key in keys if key not in apart_from)


def _alike(own: Sequence[str], its: Sequence[str]) -> bool:
    """Whether two names or numbers may be one, as "West Brom" and "West Bromwich Albion" are."""
    return any(
        here == there
        or (
            here.isalpha()
            and there.isalpha()
            and min(len(here), len(there)) > 2
            and here[: len(there)] == there[: len(here)]
        )
        for here in own
        for there in its
    )


def _is_there(laid: _Laid, detail: Detail) -> bool:
    """Whether the passages have a name or number where they speak of the same thing, or a number beside the same word.

    In a sentence that the passages have much the same, a name may come from elsewhere, to stand for a pronoun.
    """
    keys = laid.keys[detail.first : detail.last + 1]
    if detail.kind == "name":
        return any(key in (laid.source if laid.same else laid.near) for key in keys)
    lines = laid.source.lines[laid.tiling.line : laid.tiling.line + 2]
    return {word.key for line in lines for word in line.words}.issuperset(keys) or any(
        laid.source.has_pair(*pair)
        for pair in pairs(laid.keys[max(0, detail.first - 1) : detail.last + 2])
        if all(map(carries, pair)) and not all(map(is_number, pair))
    )
