"""The decider: a model that leads the revision. It sees the scoreboard and may look things up before it decides."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from redraft.agents.evidence import EvidenceDesk
from redraft.agents.judge import Judge
from redraft.domain import Finding, Round, Span
from redraft.errors import RejectedRequest, ReplyError
from redraft.prompts.deciding import DECIDE, DecideGiven, Decision, Option, Standing
from redraft.text.cleaning import one_line

T = TypeVar("T")

DECISION_TOKENS = 600
LOOKS, PASSAGES_A_LOOK = 2, 6
"""How often passages are looked up before a decision, and how many each time."""
_SEARCHES = 3
MOST_ATTEMPTS, AN_ATTEMPT = 8, 200
"""How many of the latest revisions are told of, and the tokens of one at most, as a rule."""
_MOST_FINDINGS = 40
# Of what a prompt has room for beside the summary and the reply.
_SHARE_OF_FINDINGS, _SHARE_OF_PASSAGES = 0.6, 0.4
_LONGEST_TEXT, _LONGEST_SEARCH, _LONGEST_REASON = 300, 200, 600
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


@dataclass(frozen=True, slots=True)
class Decider:
    """Decides with one model; it looks passages up at one desk. One that is not `bounded` has no window."""

    judge: Judge
    desk: EvidenceDesk
    bounded: bool = True

    async def decide(self, board: Board, label: str) -> Decided:
        """What the next revision is to mend, or that there shall be none.

        Where a search finds nothing the same is asked as before, and the cache answers.
        """
        findings, found, looks = self._shown(board.findings), list[Span](), LOOKS
        while True:
            given = self._given(board, findings, found, _SEARCHES if looks else 0)
            try:
                decision = (await self.judge.ask(DECIDE, given, DECISION_TOKENS, label)).value
            except (ReplyError, RejectedRequest) as error:
                return Decided((), f"the decider has decided nothing: {one_line(error.message, _LONGEST_REASON)}")
            searches = [search for one in decision.look_up if (search := one_line(one, _LONGEST_SEARCH))][:_SEARCHES]
            if decision.mend or decision.stop or not searches or not looks:
                return _decided(decision, findings, board.at_most)
            # The first search indexes the document, and nothing else should have to wait for that.
            found = list(dict.fromkeys([*found, *await asyncio.to_thread(self._found, searches)]))
            looks -= 1

    def _found(self, searches: Sequence[str]) -> list[Span]:
        each = PASSAGES_A_LOOK // len(searches)
        return [passage.span for one in searches for passage in self.desk.passages.nearest(one, each)]

    def _shown(self, findings: Sequence[Finding]) -> list[Finding]:
        """As many findings as the prompt has room for."""
        if not self.bounded:
            return list(findings)
        room = int(self.desk.room * _SHARE_OF_FINDINGS)
        return _fitting(findings[:_MOST_FINDINGS], lambda one: self._tokens(_option(0, one)), room)

    def _tokens(self, option: Option) -> int:
        texts = (option.problem, option.sentence, option.question, option.answer, option.why, option.evidence)
        return _TAG_TOKENS + sum(self.desk.tokenizer.count(text) for text in texts)

    def _given(self, board: Board, findings: Sequence[Finding], found: Sequence[Span], searches: int) -> DecideGiven:
        room = int(self.desk.room * _SHARE_OF_PASSAGES)
        near = _fitting(found, lambda span: self.desk.tokenizer.count(self.desk.text(span)), room)
        judged = [one for one in board.rounds if one.number and one.accepted is not None]
        return DecideGiven(
            summary=board.summary,
            scoreboard=[_standing(number, metric, board) for number, metric in enumerate(board.scores, 1)],
            findings=[_option(number, one) for number, one in enumerate(findings, 1)],
            tried=[_attempt(one) for one in judged[-MOST_ATTEMPTS:]],
            passages=[self.desk.text(span) for span in self.desk.joined([near])],
            rounds_left=board.rounds_left,
            at_most=board.at_most,
            searches=searches,
        )


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
