"""Answering a summary's questions from passages of the document."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from redraft.models.extractive.details import Detail, details
from redraft.models.extractive.finding import Found, look_up
from redraft.models.extractive.forms import Claim, read_claim, read_question
from redraft.models.extractive.registry import answers
from redraft.models.extractive.source import Match, Source, Tiling, match
from redraft.models.extractive.wording import Word, carries, is_negation
from redraft.prompts.judging import (
    ANSWER_FROM_DOCUMENT,
    UNANSWERABLE,
    AnswerFromDocumentGiven,
    DocumentAnswer,
    DocumentAnswers,
)

# Two sentences of which one has this share of the other's words, in order, speak of the same thing.
_SAME = 0.6
# With a smaller share of a claim borne out, the passages do not speak of it.
_LEAST_BORNE_OUT = 0.2
_DENIAL = "None of it"
_HELPERS = frozenset("do does did be is are was were have has had will would can could".split())
_LONGEST_TURN = 3


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


class _Beside(NamedTuple):
    """A claim beside the place of the passages that is most like it."""

    claim: Claim
    keys: list[str]
    source: Source
    tiling: Tiling
    match: Match

    @property
    def same(self) -> bool:
        """Whether both speak of the same thing, so that a difference is a contradiction."""
        return self.match.shared >= _SAME * len(self.keys)


def _check(source: Source, claim: Claim) -> Found | None:
    keys = [word.key for word in claim.words]
    if (line := source.find(keys)) is not None:
        return Found(_own_words(claim), [line])
    places = source.places(keys)
    tiling, beside = source.tile(keys, places), match(source, keys, places)
    if tiling is None or beside is None:
        return None
    laid = _Beside(claim, keys, source, tiling, beside)
    return _check_marked(laid) if claim.kind else _check_statement(laid)


def _own_words(claim: Claim) -> str:
    """What a claim says where the document says the same."""
    if claim.kind is None:
        return claim.text
    return ", ".join(_cut(claim, first, end) for first, end in claim.marked)


def _cut(claim: Claim, first: int, end: int) -> str:
    return claim.text[claim.words[first].start : claim.words[end - 1].end]


def _check_statement(laid: _Beside) -> Found | None:
    if laid.same and _is_denied(laid):
        return Found(_DENIAL, [laid.match.line])
    borne_out = laid.tiling.borne_out
    if len(borne_out) < _LEAST_BORNE_OUT * len(laid.keys):
        return None
    pieces: list[list[int]] = []
    for at in borne_out:
        if pieces and pieces[-1][1] == at:
            pieces[-1][1] = at + 1
        else:
            pieces.append([at, at + 1])
    answer = " … ".join(_cut(laid.claim, first, end) for first, end in pieces)
    return Found(answer, [laid.match.line if laid.same else laid.tiling.line])


def _is_denied(laid: _Beside) -> bool:
    """Whether one of the two says "not" where the other, in the same words, does not."""
    there = laid.source.lines[laid.match.line].keys
    for step, first, end, other_first, other_end in laid.match.steps:
        if step == "equal" or max(end - first, other_end - other_first) > _LONGEST_TURN:
            continue
        here, beyond = laid.keys[first:end], there[other_first:other_end]
        if any(map(is_negation, here)) == any(map(is_negation, beyond)):
            continue
        inside = other_first > 0 and (first > 0 or end < len(laid.keys))
        if inside and not any(_says_more(key) for key in (*here, *beyond)):
            return True
    return False


def _says_more(key: str) -> bool:
    return carries(key) and not is_negation(key) and key not in _HELPERS


def _check_marked(laid: _Beside) -> Found | None:
    """What the passages have in the place of the marked details: the ones that differ, where some do."""
    others: list[str] = []
    line = laid.source.lines[laid.match.line]
    for first, end in laid.claim.marked:
        if laid.same and (other := _instead(laid, first, end, line.words)):
            others.append(other)
        elif not _is_there(laid, first, end):
            return None
    return Found(", ".join(others) or _own_words(laid.claim), [laid.match.line])


def _instead(laid: _Beside, first: int, end: int, there: Sequence[Word]) -> str:
    """The detail of the same kind that the passages have exactly where the claim has the marked one."""
    for step, step_first, step_end, other_first, other_end in laid.match.steps:
        if step != "replace" or step_end <= first or step_first >= end:
            continue
        text = laid.source.texts[laid.source.lines[laid.match.line].text]
        for detail in _details_of(text, laid.source.lines[laid.match.line].start, laid.source.lines[laid.match.line].end, there):
            overlaps = detail.first < other_end and detail.last >= other_first
            own = {word.key for word in there[detail.first : detail.last + 1]}
            if overlaps and detail.kind == laid.claim.kind and not own & set(laid.keys[first:end]):
                return text[detail.start : detail.end]
    return ""


def _details_of(text: str, start: int, end: int, of: Sequence[Word]) -> list[Detail]:
    shifted = [Word(word.key, word.start - start, word.end - start) for word in of]
    return [
        detail._replace(start=detail.start + start, end=detail.end + start)
        for detail in details(text[start:end], shifted)
    ]


def _is_there(laid: _Beside, first: int, end: int) -> bool:
    """Whether the passages have the marked detail: a name anywhere, a number where they speak of the same thing."""
    marked = laid.keys[first:end]
    if laid.claim.kind == "name":
        return any(key in laid.source for key in marked)
    near = {key for line in laid.source.lines[laid.tiling.line : laid.tiling.line + 2] for key in line.keys}
    return all(key in near for key in marked)
