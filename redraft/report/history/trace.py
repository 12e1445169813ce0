"""The trace of a run: its rounds, and the texts its drafts were made from, also those of runs it was forked from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, TypeVar

from pydantic import Field

from redraft.domain import (
    GIVEN,
    REVIEW,
    Draft,
    Evaluation,
    Finding,
    Parent,
    Piece,
    Round,
    Span,
    computed,
    content_id,
)
from redraft.errors import RunCommand, RunError
from redraft.report.history.certificates import Certificate, certificates
from redraft.report.history.requests import request_outcomes
from redraft.report.history.results import Result, evaluations_of, metrics_json, read_result
from redraft.settings import FIGURES
from redraft.store.runs import Run
from redraft.store.store import Store
from redraft.text.sanitizer import one_line

T = TypeVar("T")
_TITLE = 60
GIVEN_SAID = "your summary"
"""The display name of a draft given by the user, whose sources are unknown."""


@dataclass(frozen=True, slots=True)
class TextNode:
    """A draft or a partial summary, and what it was made from."""

    run: str
    name: str
    """The id of the draft, or the name of the piece in its run."""
    said: str
    """The display name."""
    level: int | None
    """The level of a piece; None for a draft."""
    text: str
    parents: tuple[Parent, ...]

    @property
    def key(self) -> str:
        """A key that is unique among the texts of all runs."""
        return f"{self.run}:{self.name}"


class AncestryReader:
    """Finds the texts that drafts were made from, reading each once."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._runs: dict[str, _RunTexts] = {}
        self._members: dict[tuple[str, str], TextNode] = {}

    def draft(self, key: str) -> TextNode:
        """Return a draft with its sources."""
        made = self._store.runs.draft(key)
        node = self._members.get((made.run, key))
        if node is None:
            relatives = self._relatives(made.run)
            parents = relatives.recorded.get(key) or (self._origin(made, relatives),)
            node = TextNode(made.run, key, _draft_said(made), None, made.text, parents)
            self._members[made.run, key] = node
        return node

    def above(self, parent: Parent, run: str) -> TextNode | None:
        """Return the member that has the text of a parent; None for the document, and for a text that was rewritten
        since."""
        if not parent.node:
            return None
        if "/" not in parent.node:
            return self.draft(parent.node)
        relatives = self._relatives(run)
        piece = relatives.pieces.get(parent.node)
        if piece is None or content_id(piece.text) != parent.text:
            piece = self._store.runs.piece_of(run, parent.text)
        return None if piece is None else self._piece(piece, relatives)

    def in_order(self, last: TextNode) -> Iterator[TextNode]:
        """Yield all ancestors of a draft, each after all of its own parents; the draft itself is the last."""
        done: set[str] = set()
        waiting = [last]
        while waiting:
            member = waiting[-1]
            open_still = [node for node in self.parents(member) if node is not None and node.key not in done]
            if open_still:
                waiting.extend(reversed(open_still))
                continue
            waiting.pop()
            if member.key not in done:
                done.add(member.key)
                yield member

    def read(self, run: str) -> Span | None:
        """Return the part of the document that was read in a run; None if its chunks are no longer known."""
        relatives = self._relatives(run)
        return relatives.document if relatives.chunks else None

    def parents(self, member: TextNode) -> list[TextNode | None]:
        """Return the members that have the texts a member was made from, in order."""
        return [self.above(parent, member.run) for parent in member.parents]

    def _piece(self, piece: Piece, relatives: _RunTexts) -> TextNode:
        place = (relatives.run.id, piece.name)
        if place not in self._members:
            parents = relatives.recorded.get(piece.name) or (relatives.whole,)
            said = piece_name(piece, relatives.chapters)
            self._members[place] = TextNode(*place, said, piece.level, piece.text, parents)
        return self._members[place]

    def _relatives(self, run: str) -> _RunTexts:
        if run not in self._runs:
            known = self._store.runs.get(run)
            pieces = {piece.name: piece for piece in self._store.runs.pieces(run)}
            chunks = self._store.chunks(known)
            ends = [chunk.span for chunk in chunks]
            chapters = [chapter.title for chapter in self._store.chapters.of(run)]
            self._runs[run] = _RunTexts(known, pieces, self._store.ancestry.of(run), ends, chapters)
        return self._runs[run]

    def _origin(self, draft: Draft, relatives: _RunTexts) -> Parent:
        """Return the source of a draft without a record, like a given one: the forked draft, or the document."""
        origin = self._forked_from(draft, relatives.run)
        return Parent.of_draft(origin) if origin else relatives.whole

    def _forked_from(self, draft: Draft, run: Run) -> Draft | None:
        """Return the draft that a fork started from; None if the run is not a fork, or its parent was deleted."""
        if run.parent is None:
            return None
        try:
            self._store.runs.get(run.parent)
        except RunError:
            return None
        drafts = self._store.runs.drafts(run.parent)
        return next((one for one in drafts if one.text == draft.text), None)


@dataclass(frozen=True, slots=True)
class _RunTexts:
    """What is recorded about the texts of one run."""

    run: Run
    pieces: dict[str, Piece]
    recorded: dict[str, tuple[Parent, ...]]
    chunks: list[Span]
    chapters: list[str]

    @property
    def document(self) -> Span:
        """The span of the document that was read."""
        return Span(0, self.chunks[-1].end if self.chunks else 0)

    @property
    def whole(self) -> Parent:
        """The whole span as a parent of a text."""
        return Parent("excerpt", self.run.document, self.document)


def piece_name(piece: Piece, chapters: Sequence[str] = ()) -> str:
    """Return the display name of a partial summary: the chunks it covers, or their titles if they are chapters."""
    first, last = piece.first_chunk + 1, piece.last_chunk + 1
    chunks = f"chunk {first}" if first == last else f"chunks {first} to {last}"
    if chapters:
        ends = [one_line(chapters[at], _TITLE) for at in (piece.first_chunk, piece.last_chunk)]
        chunks = " to ".join(f"“{title}”" for title in dict.fromkeys(ends))
    level = f"level {piece.level} " if piece.level else ""
    return f"{level}summary of {chunks}{', shortened' if piece.step else ''}"


def _draft_said(draft: Draft) -> str:
    if draft.node == GIVEN:
        return GIVEN_SAID
    return f"draft {draft.round}" if draft.round else "the first draft"


# Evaluations of a draft without a score: a person's requests, and the statistics.
_UNSCORED = {REVIEW, *FIGURES}


@dataclass(frozen=True, slots=True)
class RoundTrace:
    """One round: its draft, the evaluations of it, and the findings on its base that it was to fix."""

    round: Round
    draft: Draft
    evaluations: Annotated[Mapping[str, Evaluation], Field(exclude=True)]
    to_fix: tuple[Finding, ...]
    certificates: Annotated[Mapping[str, Certificate], Field(exclude=True)] = field(default_factory=dict)
    """The certificates of the draft's scores by metric."""

    @computed
    def scores(self) -> dict[str, float | None]:
        """The draft's scores by metric; None if it could not be scored."""
        return {name: evaluation.score for name, evaluation in self.evaluations.items() if name not in _UNSCORED}

    @computed
    def metrics(self) -> dict[str, dict[str, Any]]:
        """The evaluations by metric as JSON, each with its findings and its certificate."""
        return metrics_json(self.evaluations, self.certificates)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All findings on the draft."""
        return tuple(finding for evaluation in self.evaluations.values() for finding in evaluation.findings)


@dataclass(frozen=True, slots=True)
class RunTrace:
    """A run with its rounds. A run without refinement has one round; a run without a draft, or one that compares two,
    has none."""

    result: Result
    rounds: tuple[RoundTrace, ...]

    @property
    def run(self) -> Run:
        """The run."""
        return self.result.run

    @computed
    def policy(self) -> str | None:
        """The policy that chose what each round was to fix; None without refinement."""
        return self.run.refinement.policy if self.run.refinement else None

    def turn(self, number: int) -> RoundTrace:
        """Return the round with this number. Raises a `RunError` that lists the rounds if there is none."""
        for turn in self.rounds:
            if turn.round.number == number:
                return turn
        there = ", ".join(str(turn.round.number) for turn in self.rounds) or "none yet"
        raise RunError(f"run {self.run.id} has no round {number}", hint=f"its rounds are: {there}")

    def number(self, draft: str | None) -> int | None:
        """Return the number of the round that made a draft; None if no round did."""
        return next((turn.round.number for turn in self.rounds if turn.draft.id == draft), None)


def read_trace(store: Store, key: str) -> RunTrace:
    """Return the rounds of a run, finished or not. Raises a `RunError` if there is no run with this id."""
    result = read_result(store, key)
    run, rounds = result.run, list(result.rounds)
    if not rounds and run.draft is not None and run.kind != "compare":
        rounds = [Round(0, run.draft)]
    judged = {made.draft: evaluations_of(store, made.draft, result.outline) for made in rounds}
    turns = tuple(
        RoundTrace(
            made,
            store.runs.draft(made.draft),
            _in_order(run, judged[made.draft]),
            tuple(_to_fix(made, judged.get(made.base or "", {}))),
            certificates(
                store,
                run,
                {name: evaluation for name, evaluation in judged[made.draft].items() if name not in _UNSCORED},
            ),
        )
        for made in rounds
    )
    return RunTrace(result, turns)


def result_at_round(store: Store, result: Result, number: int) -> Result:
    """Return the result as it would be with the draft of a round. Raises a `RunError` if there is no such round."""
    trace = read_trace(store, result.run.id)
    result.run.drafted()
    there = [turn.round.number for turn in trace.rounds]
    if number not in there:
        several = f"has rounds {there[0]} to {there[-1]}" if len(there) > 1 else "has only round 0"
        which = several if there else "has no rounds"
        raise RunError(f"run {result.run.id} {which}", fix=(RunCommand("trace", result.run.id), " lists them"))
    turn = trace.turn(number)
    shown = replace(result, draft=turn.draft, evaluations=turn.evaluations, certificates=turn.certificates)
    if number == there[-1]:
        return shown
    # What came later, and how the run ended, is no part of this round.
    rounds = tuple(one for one in result.rounds if one.number <= number)
    return replace(
        shown,
        run=replace(result.run, stop_reason=None, why=""),
        rounds=rounds,
        round_shown=f"round {number} of {there[-1]}",
        lost=tuple(one for one in result.lost if one <= number),
        requests=tuple(request_outcomes(store, rounds)),
    )


def scores_of(store: Store, run: Run) -> dict[str, float | None]:
    """Return the scores of a run's result, or of what it has so far."""
    return pick_scores(run, store.judgments.scores([run.draft])) if run.draft else {}


def pick_scores(run: Run, scores: Mapping[str, Mapping[str, float | None]]) -> dict[str, float | None]:
    """Pick the scores of a run's result from those of several drafts."""
    known = scores.get(run.draft or "", {}) if run.judging else {}
    return {name: score for name, score in _in_order(run, known).items() if name not in _UNSCORED}


def _in_order(run: Run, judged: Mapping[str, T]) -> dict[str, T]:
    """Return the evaluations in the order of the run's metrics, then the statistics, then a person's requests."""
    wanted = [*(run.judging.reported_metrics if run.judging else ()), REVIEW]
    return {name: judged[name] for name in wanted if name in judged}


def _to_fix(made: Round, judged: Mapping[str, Evaluation]) -> Iterator[Finding]:
    known = {finding.id: finding for evaluation in judged.values() for finding in evaluation.findings}
    return (known[key] for key in made.findings if key in known)
