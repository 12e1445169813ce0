"""Answering a summary's questions from passages of the document."""

from __future__ import annotations

from typing import NamedTuple

from redraft.models.extractive.details import Detail, details
from redraft.models.extractive.finding import Found, look_up
from redraft.models.extractive.forms import Claim, read_claim, read_question
from redraft.models.extractive.registry import answers
from redraft.models.extractive.source import Match, Source, Tiling, match
from redraft.models.extractive.wording import carries, is_negation, is_number, listed, pairs
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
_DENIAL = "Not so"
# What a negation brings with it, as in "he saw" and "he did not see".
_HELPERS = listed("do does did be is are was were have has had will would can could may might must should")
_LONGEST_TURN = 3
# A name or number stands in the place of another when this much else, at most, is different there.
_LOOSE_WORDS = 2


@answers(ANSWER_FROM_DOCUMENT)
def answer_from_document(given: AnswerFromDocumentGiven) -> DocumentAnswers:
    """Each answer from the place that is most like what the question says."""
    source = Source(given.passages)
    answered: list[DocumentAnswer] = []
    for asked in given.questions:
        claim = read_claim(asked.question)
        found = _check(source, claim) if claim else look_up(source, read_question(asked.question))
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
    tiling: Tiling
    match: Match

    @property
    def same(self) -> bool:
        """Whether a sentence of the passages speaks of the same thing, so that a difference is a contradiction."""
        return self.match.shared >= _SAME * len(self.keys)

    @property
    def line(self) -> int:
        """The line that says most about the claim."""
        return self.match.line if self.same else self.tiling.line


def _check(source: Source, claim: Claim) -> Found | None:
    """What the passages have in the place of the words asked about; None where they do not speak of it."""
    keys = [word.key for word in claim.words]
    if (line := source.find(keys)) is not None:
        return Found(claim.asked, [line])
    places = source.places(keys)
    tiling, beside = source.tile(keys, places), match(source, keys, places)
    if tiling is None or beside is None:
        return None
    laid = _Laid(claim, keys, source, tiling, beside)
    if laid.same and _is_denied(laid):
        return Found(_DENIAL, [laid.line])
    others: list[str] = []
    for detail in details(claim.text, claim.words):
        if claim.first <= detail.first < claim.end:
            if other := _instead(laid, detail):
                others.append(other)
            elif not _is_there(laid, detail):
                return None
    return Found(", ".join(others), [laid.line]) if others else _borne_out(laid)


def _borne_out(laid: _Laid) -> Found | None:
    """The words asked about that the passages have between the same neighbours."""
    claim = laid.claim
    pieces: list[list[int]] = []
    held = [at for at in laid.tiling.borne_out if claim.first <= at < claim.end]
    if len(held) < _LEAST_BORNE_OUT * (claim.end - claim.first):
        return None
    for at in held:
        if pieces and pieces[-1][1] == at:
            pieces[-1][1] = at + 1
        else:
            pieces.append([at, at + 1])
    return Found(" … ".join(claim.cut(first, end) for first, end in pieces), [laid.line])


def _is_denied(laid: _Laid) -> bool:
    """Whether one of the two says "not" where the other, in the same words, does not."""
    there = laid.source.lines[laid.match.line].keys
    for step, first, end, other_first, other_end in laid.match.steps[:-1]:
        short = max(end - first, other_end - other_first) <= _LONGEST_TURN
        if step == "equal" or not short or not laid.claim.first <= first < laid.claim.end:
            continue
        here, beyond = laid.keys[first:end], there[other_first:other_end]
        turned = any(map(is_negation, here)) != any(map(is_negation, beyond))
        if turned and not any(_says_more(key) for key in (*here, *beyond)):
            return True
    return False


def _says_more(key: str) -> bool:
    return carries(key) and not is_negation(key) and key not in _HELPERS


def _instead(laid: _Laid, marked: Detail) -> str:
    """The detail of the same kind that the passages have exactly where the claim has this one, if it is another."""
    if not laid.same:
        return ""
    line = laid.source.lines[laid.match.line]
    text = laid.source.text_of(laid.match.line)
    for step, first, end, other_first, other_end in laid.match.steps:
        own = laid.keys[max(first, marked.first) : min(end, marked.last + 1)]
        widest = marked.last - marked.first + 1 + _LOOSE_WORDS
        if step != "replace" or not own or max(end - first, other_end - other_first) > widest:
            continue
        for detail in details(text, line.own_words):
            its = line.keys[max(other_first, detail.first) : min(other_end, detail.last + 1)]
            if detail.kind == marked.kind and its and not set(own) & set(its):
                return text[detail.start : detail.end]
    return ""


def _is_there(laid: _Laid, detail: Detail) -> bool:
    """Whether the passages have a name at all, or a number where they speak of the same thing or beside the same word."""
    keys = laid.keys[detail.first : detail.last + 1]
    if detail.kind == "name":
        return any(key in laid.source for key in keys)
    near = {key for line in laid.source.lines[laid.tiling.line : laid.tiling.line + 2] for key in line.keys}
    return near.issuperset(keys) or any(
        laid.source.has_pair(*pair)
        for pair in pairs(laid.keys[max(0, detail.first - 1) : detail.last + 2])
        if all(map(carries, pair)) and not all(map(is_number, pair))
    )
