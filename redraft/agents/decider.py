"""The decider: a model that leads the revision. It sees the scoreboard and may look things up before it decides."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from redraft.agents import library
from redraft.agents.evidence import EvidenceDesk
from redraft.agents.judge import Judge
from redraft.agents.research import AT_ONCE, Answered, Research
from redraft.domain import Finding, Round, Span
from redraft.errors import RejectedRequest, ReplyError
from redraft.prompts.deciding import DECIDE, DecideGiven, Decision, Option, Read, Standing
from redraft.prompts.tags import NOBODY, Tags
from redraft.rulings import Lookup
from redraft.text.cleaning import one_line
from redraft.text.quotes import quoted_in

T = TypeVar("T")

DECISION_TOKENS = 600
LOOKS = 2
"""How often something is looked up before a decision."""
MOST_ATTEMPTS, AN_ATTEMPT = 8, 200
"""How many of the latest revisions are told of, and the tokens of one at most, as a rule."""
_MOST_FINDINGS = 40
# Of what a prompt has room for beside the summary and the reply.
_SHARE_OF_FINDINGS, _SHARE_OF_PASSAGES = 0.6, 0.4
_LONGEST_TEXT, _LONGEST_REASON = 300, 600
# What is said around a finding's texts to name them.
_TAG_TOKENS = 40


@dataclass(frozen=True, slots=True)
class Board:
    """What there is to decide on."""

    summary: str
    scores: Mapping[str, float | None]
    """Those of the metrics with goals first."""
    goals: Mapping[str, float]
    findings: Sequence[Finding]
    """What may be mended, the most wanted first."""
    rounds: Sequence[Round]
    rounds_left: int
    at_most: int
    """How many findings a revision is to mend at most."""
    unsure: Collection[str] = ()
    """The metrics of whose items too few have a verdict to tell whether their goals are met."""


@dataclass(frozen=True, slots=True)
class Decided:
    """What is to be done. Without findings, and without `stop`, nothing valid was said, and `why` says what was."""

    findings: tuple[Finding, ...]
    why: str
    instruction: str = ""
    stop: bool = False
    lookups: tuple[Lookup, ...] = ()
    """What was looked up before."""
    kept: tuple[tuple[Finding, str], ...] = ()
    """The findings that the document speaks against, and its words, which it has."""


@dataclass(frozen=True, slots=True)
class Decider:
    """Decides with one model; it looks passages up at one desk. One that is not `bounded` has no window."""

    judge: Judge
    desk: EvidenceDesk
    bounded: bool = True

    async def decide(self, board: Board, label: str) -> Decided:
        """What the next revision is to mend, or that there shall be none."""
        findings, looked = self._shown(board.findings), list[Answered]()
        for looks in range(LOOKS, -1, -1):
            given = self._given(board, findings, looked, looks)
            try:
                decision = (await self.judge.ask(DECIDE, given, DECISION_TOKENS, label)).value
            except (ReplyError, RejectedRequest) as error:
                why = f"the decider has decided nothing: {one_line(error.message, _LONGEST_REASON)}"
                return Decided((), why, lookups=_lookups(looked))
            searches = [one for one in decision.look_up if one_line(one)]
            if decision.mend or decision.stop or decision.kept or not (searches or decision.read):
                break
            if looks:
                # The first search indexes the document, and nothing else should have to wait for that.
                looked += await asyncio.to_thread(self._research(given, findings).answers, searches, decision.read)
        decided = _decided(decision, findings, board.at_most)
        return replace(decided, lookups=_lookups(looked), kept=self._kept(decision, findings))

    def _kept(self, decision: Decision, findings: Sequence[Finding]) -> tuple[tuple[Finding, str], ...]:
        """What it contests with words that the document has."""
        quotes = {one.finding: one_line(one.quote, _LONGEST_REASON) for one in decision.kept}
        return tuple(
            (findings[number - 1], quote)
            for number, quote in quotes.items()
            if 0 < number <= len(findings) and quoted_in(self.desk.document.text, quote)
        )

    def _research(self, given: DecideGiven, findings: Sequence[Finding]) -> Research:
        """What can be looked up by whoever is `given` the findings."""
        tags = Tags(given)

        def finding(said: str) -> Finding | None:
            number = tags.number("findings", said)
            return None if number == NOBODY else findings[number - 1]

        return Research(self.desk, self._room_of_passages, finding)

    @property
    def _room_of_passages(self) -> int:
        return int(self.desk.room * _SHARE_OF_PASSAGES)

    def _shown(self, findings: Sequence[Finding]) -> list[Finding]:
        """As many findings as the prompt has room for."""
        if not self.bounded:
            return list(findings)
        room = int(self.desk.room * _SHARE_OF_FINDINGS)
        return _fitting(findings[:_MOST_FINDINGS], lambda one: self._tokens(_option(0, one)), room)

    def _tokens(self, option: Option) -> int:
        texts = (option.problem, option.sentence, option.question, option.answer, option.why, option.evidence)
        return _TAG_TOKENS + sum(self.desk.tokenizer.count(text) for text in texts)

    def _given(self, board: Board, findings: Sequence[Finding], looked: Sequence[Answered], looks: int) -> DecideGiven:
        count = self.desk.tokenizer.count
        answers = [_answer(one.lookup) for one in looked]
        # What was asked for last is what is wanted most.
        found = list(dict.fromkeys(span for one in reversed(looked) for span in one.spans))
        room = self._room_of_passages - sum(_TAG_TOKENS + count(one) for one in answers)
        near = _fitting(found, lambda span: _TAG_TOKENS + count(self.desk.text(span)), room)
        if len(near) < len(found):
            answers.append(f"there is no room for {len(found) - len(near)} of the passages found before")
        judged = [one for one in board.rounds if one.number and one.accepted is not None]
        return DecideGiven(
            summary=board.summary,
            scoreboard=[_standing(number, metric, board) for number, metric in enumerate(board.scores, 1)],
            findings=[_option(number, one) for number, one in enumerate(findings, 1)],
            tried=[_attempt(one) for one in judged[-MOST_ATTEMPTS:]],
            answers=answers,
            passages=[self._read(span) for span in self.desk.joined([near])],
            rounds_left=board.rounds_left,
            at_most=board.at_most,
            looks=looks,
            requests=AT_ONCE,
        )

    def _read(self, span: Span) -> Read:
        passage = library.passage_at(self.desk.document, span)
        return Read(place=f"characters {passage.start}-{passage.end}, {passage.place}", text=passage.text)


def _lookups(looked: Sequence[Answered]) -> tuple[Lookup, ...]:
    return tuple(one.lookup for one in looked)


def _answer(lookup: Lookup) -> str:
    found = lookup.said or f"{lookup.found} passage{'s' * (lookup.found != 1)}"
    return f"{lookup.asked}: {found}"


def _fitting(items: Sequence[T], tokens: Callable[[T], int], room: int) -> list[T]:
    """The first of them, and those after it that there is room for."""
    chosen: list[T] = []
    for item in items:
        room -= tokens(item)
        if chosen and room < 0:
            break
        chosen.append(item)
    return chosen


def _decided(decision: Decision, findings: Sequence[Finding], at_most: int) -> Decided:
    why = one_line(decision.why, _LONGEST_REASON)
    numbers = dict.fromkeys(number for number in decision.mend if 0 < number <= len(findings))
    if numbers:
        chosen = tuple(findings[number - 1] for number in list(numbers)[:at_most])
        return Decided(chosen, why, one_line(decision.instruction, _LONGEST_REASON))
    if decision.stop:
        return Decided((), why or "no reason was given", stop=True)
    said = f", saying: {why}" if why else ""
    return Decided((), f"the decider has named no finding that there is{said}")


def _standing(number: int, metric: str, board: Board) -> Standing:
    score, goal = board.scores[metric], board.goals.get(metric)
    figure = "none" if score is None else f"{score:.4f}"
    if goal is None:
        return Standing(id=number, metric=metric, score=figure)
    met = "no" if score is None or score < goal else "unsure" if metric in board.unsure else "yes"
    return Standing(id=number, metric=metric, score=figure, goal=f"{goal:g}", met=met)


def _option(number: int, finding: Finding) -> Option:
    return Option(
        id=number,
        metric=finding.metric,
        task=finding.task,
        problem=one_line(finding.explanation, _LONGEST_TEXT),
        sentence=one_line(finding.sentence, _LONGEST_TEXT),
        question=one_line(finding.question, _LONGEST_TEXT),
        answer=one_line(finding.answer, _LONGEST_TEXT),
        why=one_line(finding.why, _LONGEST_TEXT),
        evidence=one_line(finding.evidence.text, _LONGEST_TEXT) if finding.evidence else "",
    )


def _attempt(one: Round) -> str:
    aims = f", for {' and '.join(one.aims)}" if one.aims else ""
    told = f" The reviser was told: {one.instruction}" if one.instruction else ""
    became = f"{'taken' if one.accepted else 'refused'}, {one.reason}"
    number = len(one.findings)
    return f"Revision {one.number}{aims}, {number} finding{'s' * (number != 1)}: {became}.{told}"
