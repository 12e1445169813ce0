"""A model that decides what the next revision fixes; it may look up passages before it decides."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, Field

from redraft.agents.evidence import EvidenceReader
from redraft.agents.judge import Judge
from redraft.document import merge_spans
from redraft.domain import REVIEW, Document, Finding, Lookup, Round, Span
from redraft.errors import RejectedRequest, ReplyError, UsageError
from redraft.prompts.revision import DECIDE, DecideInput, Decision, DecisionPassage, MetricStatus, Point
from redraft.prompts.tags import NO_ITEM, Tags
from redraft.text.places import place_of
from redraft.text.quotes import quoted_in
from redraft.text.retrieval import Passages
from redraft.text.sanitizer import one_line
from redraft.text.words import count_words, is_unspaced

_LONGEST_TEXT = 300

LONGEST_READ = 4000
"""The most characters that are read at once."""
MAX_PASSAGES = 10


class SearchRequest(BaseModel):
    """What to look for in the document."""

    model_config = ConfigDict(extra="forbid")

    query: str = Field(min_length=1, max_length=1000, description="What the passages should be about.")
    count: int = Field(default=3, ge=1, le=MAX_PASSAGES, description="How many passages.")


class DocumentPlace(BaseModel):
    """A place in the document."""

    model_config = ConfigDict(extra="forbid")

    start: int = Field(ge=0, description="The first character.")
    end: int = Field(gt=0, description=f"The character after the last; at most {LONGEST_READ} are read.")


class FoundPassage(BaseModel):
    """Words of the document, and where they stand."""

    start: int
    end: int
    place: str
    text: str


def find_passages(document: Document, passages: Passages, search: SearchRequest) -> list[FoundPassage]:
    """Return the passages of a document nearest to a query, the nearest first."""
    return [passage_at(document, passage.span) for passage in passages.nearest(search.query, search.count)]


def read_span(document: Document, place: DocumentPlace) -> FoundPassage:
    """Return the text at a place, shortened if it is long. Raises `UsageError` if there is none."""
    length = len(document.text)
    # No request reads a whole document, however short.
    most = min(LONGEST_READ, (length + 1) // 2)
    span = Span(place.start, min(place.end, place.start + most, length))
    if span.start >= span.end:
        raise UsageError(
            f"there is nothing from character {place.start:,} to {place.end:,}",
            hint=f"the document has {length:,} characters",
        )
    return passage_at(document, span)


def passage_at(document: Document, span: Span) -> FoundPassage:
    """Return the text of a document at a span."""
    text = document.text[span.start : span.end]
    return FoundPassage(start=span.start, end=span.end, place=place_of(document, span), text=text)


AT_ONCE = 3
"""How many searches, and how many places, are answered at once."""
_PASSAGES = 6
# How many passages are read on each side of a named place.
_BESIDE = 1
_LONGEST_SEARCH, _LONGEST_SHOWN = 200, 80
_PERCENT = re.compile(r"(\d{1,9})(?:[.,]\d{1,9})? ?%")
_FROM_TO = re.compile(r"(\d{1,12})\s*(?:-|–|—|to|\.{2,3}|,)\s*(\d{1,12})")
# 1,200 is one number; a comma with a space separates two.
_THOUSANDS = re.compile(r"(?<=\d)[,'’\u202f](?=\d{3}(?!\d))")
_NO_PLACE = 'that is not a place: name one such as "40%" or "1200-2400", or the id of a finding'


@dataclass(frozen=True, slots=True)
class LookupResult:
    """A request and the places found for it."""

    lookup: Lookup
    spans: tuple[Span, ...] = ()


@dataclass(frozen=True, slots=True)
class Research:
    """Looks up places for a model that sees some findings; no place is longer than `room` tokens."""

    reader: EvidenceReader
    room: int
    finding: Callable[[str], Finding | None]
    """Returns the finding with an id."""

    def answers(self, searches: Sequence[str], places: Sequence[str]) -> list[LookupResult]:
        """Return the results of each request."""
        count = max(1, _PASSAGES // max(1, min(AT_ONCE, len(searches))))
        return [
            *(self._search(search, count) for search in searches[:AT_ONCE]),
            *_too_many(len(searches), "search", "searches"),
            *(self._read(place) for place in places[:AT_ONCE]),
            *_too_many(len(places), "place", "places"),
        ]

    def _search(self, said: str, count: int) -> LookupResult:
        asked = f"search: {one_line(said, _LONGEST_SHOWN)}"
        search = SearchRequest(query=one_line(said, _LONGEST_SEARCH), count=count)
        passages = find_passages(self.reader.document, self.reader.passages, search)
        if not passages:
            return LookupResult(Lookup(asked, 0, "nothing in the document matches these words; try others"))
        return LookupResult(
            Lookup(asked, len(passages)), tuple(Span(passage.start, passage.end) for passage in passages)
        )

    def _read(self, said: str) -> LookupResult:
        asked = f"read: {one_line(said, _LONGEST_SHOWN)}"
        try:
            passage = read_span(self.reader.document, self._place(said))
        except UsageError as error:
            return LookupResult(Lookup(asked, 0, ": ".join(filter(None, (error.message, error.hint)))))
        return LookupResult(Lookup(asked, 1), (Span(passage.start, passage.start + self._fitting(passage.text)),))

    def _place(self, said: str) -> DocumentPlace:
        """Return the place that is named by a percentage, by characters, or by a finding's id."""
        finding = self.finding(said)
        if finding is not None:
            if finding.evidence is None or finding.evidence.span is None:
                raise UsageError("that finding has no place in the document", hint="search for what it is about")
            return self._around(finding.evidence.span)
        plain = _THOUSANDS.sub("", said)
        if percent := _PERCENT.search(plain):
            length, part = len(self.reader.document.text), int(percent[1])
            if part > 100:
                raise UsageError("a document ends at 100%")
            at = min(length * part // 100, length - 1)
            return self._around(Span(at, at + 1))
        if between := _FROM_TO.search(plain):
            start, end = int(between[1]), int(between[2])
            if end:
                return DocumentPlace(start=start, end=end)
        raise UsageError(_NO_PLACE)

    def _around(self, span: Span) -> DocumentPlace:
        """Return the place widened to whole passages."""
        near = [passage.span for passage in self.reader.passages.around(span, _BESIDE)] or [span]
        return DocumentPlace(start=min(one.start for one in near), end=max(one.end for one in near))

    def _fitting(self, text: str) -> int:
        """Return how many characters of a text fit the room."""
        return min(len(text), max(1, self.reader.tokenizer.measure(text).reach(0, self.room)))


def _too_many(number: int, one: str, many: str) -> list[LookupResult]:
    left = number - AT_ONCE
    if left <= 0:
        return []
    asked = f"{left:,} more {one if left == 1 else many}"
    return [LookupResult(Lookup(asked, 0, f"no more than {AT_ONCE} {many} are answered at once"))]


T = TypeVar("T")

DECISION_TOKENS = 600
LOOKUP_ROUNDS = 2
"""How often something may be looked up before a decision."""
A_REQUEST = "a person's requests"
MAX_ATTEMPTS, AN_ATTEMPT = 8, 200
"""How many of the latest revisions are listed, and the usual maximum of tokens for one."""
_MAX_FINDINGS = 40
# Shares of the room left by the summary and the reply.
_SHARE_OF_FINDINGS, _SHARE_OF_PASSAGES = 0.6, 0.4
_LONGEST_REASON = 600
# Tokens of the fence and the labels of a finding.
_TAG_TOKENS = 40


@dataclass(frozen=True, slots=True)
class DecisionContext:
    """What the decider decides on."""

    summary: str
    scores: Mapping[str, float | None]
    """The metrics with goals first."""
    goals: Mapping[str, float]
    findings: Sequence[Finding]
    """The findings that may be fixed, most important first."""
    rounds: Sequence[Round]
    rounds_left: int
    at_most: int
    """The most findings that a revision may fix."""
    words: int
    """The word limit of the summary."""
    unsure: Collection[str] = ()
    """The metrics with too few verdicts to tell whether their goals are met."""


@dataclass(frozen=True, slots=True)
class DecisionResult:
    """The decision. Without findings and without `stop` the reply was not valid, and `why` says so."""

    findings: tuple[Finding, ...]
    why: str
    instruction: str = ""
    stop: bool = False
    lookups: tuple[Lookup, ...] = ()
    """The lookups before the decision."""
    kept: tuple[tuple[Finding, str], ...] = ()
    """The contested findings, with the document's words that contradict them."""


@dataclass(frozen=True, slots=True)
class Decider:
    """Decides with one model, which may search the document. A decider that is not `bounded` has no window."""

    judge: Judge
    reader: EvidenceReader
    bounded: bool = True

    async def decide(self, board: DecisionContext, label: str) -> DecisionResult:
        """Return what the next revision should fix, or that the refinement stops."""
        findings, lookup_results = self._shown(board.findings), list[LookupResult]()
        for looks in range(LOOKUP_ROUNDS, -1, -1):
            decide_input = self._given(board, findings, lookup_results, looks)
            try:
                decision = (await self.judge.ask(DECIDE, decide_input, DECISION_TOKENS, label)).value
            except (ReplyError, RejectedRequest) as error:
                why = f"the decider made no decision: {one_line(error.message, _LONGEST_REASON)}"
                return DecisionResult((), why, lookups=_lookups(lookup_results))
            searches = [one for one in decision.look_up if one_line(one)]
            if decision.fix or decision.stop or decision.kept or not (searches or decision.read):
                break
            if looks:
                # The first search indexes the document, so it runs in a thread.
                lookup_results += await asyncio.to_thread(
                    self._research(decide_input, findings).answers, searches, decision.read
                )
        decided = _decided(decision, findings, board.at_most)
        return replace(decided, lookups=_lookups(lookup_results), kept=self._kept(decision, findings))

    def _kept(self, decision: Decision, findings: Sequence[Finding]) -> tuple[tuple[Finding, str], ...]:
        """Return the findings that are contested with words from the document."""
        quotes = {finding.finding: one_line(finding.quote, _LONGEST_REASON) for finding in decision.kept}
        return tuple(
            (findings[number - 1], quote)
            for number, quote in quotes.items()
            if 0 < number <= len(findings) and quoted_in(self.reader.document.text, quote)
        )

    def _research(self, given: DecideInput, findings: Sequence[Finding]) -> Research:
        tags = Tags(given)

        def finding(said: str) -> Finding | None:
            number = tags.number("findings", said)
            return None if number == NO_ITEM else findings[number - 1]

        return Research(self.reader, self._room_of_passages, finding)

    @property
    def _room_of_passages(self) -> int:
        return int(self.reader.room * _SHARE_OF_PASSAGES)

    def _shown(self, findings: Sequence[Finding]) -> list[Finding]:
        if not self.bounded:
            return list(findings)
        room = int(self.reader.room * _SHARE_OF_FINDINGS)
        count = self.reader.tokenizer.count
        cost = lambda one: _TAG_TOKENS + sum(map(count, point_to_choose(0, one).texts))  # noqa: E731
        return _fitting(findings[:_MAX_FINDINGS], cost, room)

    def _given(
        self, board: DecisionContext, findings: Sequence[Finding], looked: Sequence[LookupResult], looks: int
    ) -> DecideInput:
        count = self.reader.tokenizer.count
        answers = [_answer(lookup_result.lookup) for lookup_result in looked]
        # The latest requests come first.
        spans = list(dict.fromkeys(span for lookup_result in reversed(looked) for span in lookup_result.spans))
        room = self._room_of_passages - sum(_TAG_TOKENS + count(answer) for answer in answers)
        near = _fitting(spans, lambda span: _TAG_TOKENS + count(self.reader.text(span)), room)
        if len(near) < len(spans):
            answers.append(f"there is no room for {len(spans) - len(near)} of the passages found before")
        rounds = [one for one in board.rounds if one.number and one.accepted is not None]
        return DecideInput(
            summary=board.summary,
            scoreboard=[_standing(number, metric, board) for number, metric in enumerate(board.scores, 1)],
            findings=[point_to_choose(number, finding) for number, finding in enumerate(findings, 1)],
            tried=[_attempt(one) for one in rounds[-MAX_ATTEMPTS:]],
            answers=answers,
            passages=[self._read(span) for span in merge_spans(near)],
            rounds_left=board.rounds_left,
            length=count_words(board.summary),
            words=board.words,
            characters=is_unspaced(board.summary),
            at_most=board.at_most,
            looks=looks,
            requests=AT_ONCE,
        )

    def _read(self, span: Span) -> DecisionPassage:
        passage = passage_at(self.reader.document, span)
        return DecisionPassage(place=f"characters {passage.start}-{passage.end}, {passage.place}", text=passage.text)


def _lookups(looked: Sequence[LookupResult]) -> tuple[Lookup, ...]:
    return tuple(lookup_result.lookup for lookup_result in looked)


def _answer(lookup: Lookup) -> str:
    found = lookup.said or f"{lookup.found} passage{'s' * (lookup.found != 1)}"
    return f"{lookup.asked}: {found}"


def _fitting(items: Sequence[T], tokens: Callable[[T], int], room: int) -> list[T]:
    """Return the first item, and those after it that fit the room."""
    chosen: list[T] = []
    for item in items:
        room -= tokens(item)
        if chosen and room < 0:
            break
        chosen.append(item)
    return chosen


def _decided(decision: Decision, findings: Sequence[Finding], at_most: int) -> DecisionResult:
    why = one_line(decision.why, _LONGEST_REASON)
    numbers = dict.fromkeys(number for number in decision.fix if 0 < number <= len(findings))
    if numbers:
        chosen = tuple(findings[number - 1] for number in list(numbers)[:at_most])
        return DecisionResult(chosen, why, one_line(decision.instruction, _LONGEST_REASON))
    if decision.stop:
        return DecisionResult((), why or "no reason was given", stop=True)
    said = f", saying: {why}" if why else ""
    return DecisionResult((), f"the decider named no existing finding{said}")


def _standing(number: int, metric: str, board: DecisionContext) -> MetricStatus:
    score, goal = board.scores[metric], board.goals.get(metric)
    figure = "none" if score is None else f"{score:.4f}"
    if goal is None:
        return MetricStatus(id=number, metric=metric, score=figure)
    met = "no" if score is None or score < goal else "unsure" if metric in board.unsure else "yes"
    return MetricStatus(id=number, metric=metric, score=figure, goal=f"{goal:g}", met=met)


def _attempt(one: Round) -> str:
    aimed = [A_REQUEST if metric == REVIEW else metric for metric in one.aims]
    aims = f", for {' and '.join(aimed)}" if aimed else ""
    told = f" Instruction: {one.instruction}" if one.instruction else ""
    became = f"{'accepted' if one.accepted else 'rejected'}, {one.reason}"
    number = len(one.findings)
    return f"Revision {one.number}{aims}, {number} finding{'s' * (number != 1)}: {became}.{told}"


def point_to_choose(number: int, finding: Finding) -> Point:
    """Return a finding for the choice of what to fix."""
    texts = {
        "problem": finding.explanation,
        "sentence": finding.sentence,
        "question": finding.question,
        "answer": finding.answer,
        "why": finding.why,
        "evidence": finding.evidence.text if finding.evidence else "",
    }
    short = {name: one_line(text, _LONGEST_TEXT) for name, text in texts.items()}
    return Point(id=number, metric=finding.metric, task=finding.task, **short)
