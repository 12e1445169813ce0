"""All findings of a run with what became of them, and the sentences of its summary."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from redraft.domain import REVIEW, Finding
from redraft.report.dossier.contents import (
    FindingEntry,
    FindingOutcome,
    Places,
    Positions,
    SentenceEntry,
    SourceEntry,
    State,
)
from redraft.report.history.changes import DraftDiff, SentenceChange, difference
from redraft.report.history.lineage import DRIFTS, Lineage, TracedSentence
from redraft.report.history.trace import RunTrace, Turn
from redraft.text.positions import OriginMass, bins, density, shares, spread
from redraft.text.sanitizer import one_line
from redraft.text.sentences import is_heading

_ORDER: tuple[State, ...] = ("open", "fixed", "set aside")


@dataclass(slots=True)
class _FindingHistory:
    """A finding, and the rounds where it came up."""

    finding: Finding
    rounds: list[int] = field(default_factory=list)
    aimed: list[FindingOutcome] = field(default_factory=list)


class FindingRecord:
    """The findings of a run, numbered: those that apply to the result first, in the order of its sentences."""

    def __init__(self, trace: RunTrace, numbers: Mapping[str, int], places: Places) -> None:
        """`numbers` are the numbers of the result's sentences, by their text."""
        self._trace = trace
        self._sentences = numbers
        self._places = places
        self._result = next((turn for turn in trace.rounds if turn.draft.id == trace.run.draft), None)
        self._line = _line_of_descent(trace, self._result)
        known = self._gathered()
        ordered = sorted(known.values(), key=lambda one: (_ORDER.index(self._state(one)), self._about(one) or 10**9))
        self.numbers = {one.finding.id: number for number, one in enumerate(ordered, 1)}
        self.entries = tuple(self._entry(one) for one in ordered)

    def numbered(self, findings: Sequence[Finding]) -> tuple[int, ...]:
        """Return the numbers of findings."""
        return tuple(sorted({self.numbers[one.id] for one in findings if one.id in self.numbers}))

    def _gathered(self) -> dict[str, _FindingHistory]:
        known: dict[str, _FindingHistory] = {}
        by_draft = {turn.draft.id: turn for turn in self._trace.rounds}
        for turn in self._trace.rounds:
            for finding in turn.findings:
                known.setdefault(finding.id, _FindingHistory(finding)).rounds.append(turn.round.number)
            base = by_draft.get(turn.round.base or "")
            if base is None:
                continue
            answers = _answers(difference(base, turn))
            for finding in turn.to_fix:
                one = known.setdefault(finding.id, _FindingHistory(finding))
                said = {one.finding: one for one in turn.round.answers}.get(finding.id)
                change = answers.get(finding.id)
                outcome = FindingOutcome(
                    round=turn.round.number,
                    taken=turn.round.accepted,
                    gone=finding.id in answers,
                    before=change.before if change else "",
                    after=change.after if change else "",
                    became=said.became if said else "",
                    words=said.said if said else "",
                )
                one.aimed.append(outcome)
        for one in known.values():
            one.rounds = sorted(set(one.rounds))
        return known

    def _state(self, one: _FindingHistory) -> State:
        tried = [outcome for outcome in one.aimed if outcome.round in self._line]
        came_up = any(number in self._line for number in one.rounds)
        # No metric looks for a request again: it is met only if an accepted round tried it, and did not leave it.
        unmet = one.finding.metric == REVIEW and came_up and (not tried or tried[-1].became == "left")
        if self._result is None or self._result.round.number in one.rounds or unmet:
            return "open"
        return "fixed" if came_up else "set aside"

    def _about(self, one: _FindingHistory) -> int | None:
        """Return the number of the sentence it is about; None if that is not in the result."""
        return self._sentences.get(one_line(one.finding.sentence)) if one.finding.sentence else None

    def _entry(self, one: _FindingHistory) -> FindingEntry:
        finding = one.finding
        evidence = finding.evidence
        return FindingEntry.of(
            finding,
            number=self.numbers[finding.id],
            sentence=self._about(one),
            about=finding.sentence,
            evidence=self._places.at(evidence.span) if evidence else None,
            said=evidence.text if evidence else "",
            judges=f"{finding.said_by[0]} of {finding.said_by[1]} judges" if finding.said_by else "",
            rounds=tuple(one.rounds),
            aimed=tuple(one.aimed),
            state=self._state(one),
        )


def _line_of_descent(trace: RunTrace, result: Turn | None) -> set[int]:
    """Return the round of the result and those of its ancestors."""
    by_draft = {turn.draft.id: turn for turn in trace.rounds}
    line: set[int] = set()
    while result is not None and result.round.number not in line:
        line.add(result.round.number)
        result = by_draft.get(result.round.base or "")
    return line


def _answers(found: DraftDiff) -> dict[str, SentenceChange | None]:
    """Return the findings that are gone, by id, with the change to credit, if any."""
    gone: dict[str, SentenceChange | None] = {finding.id: None for finding in found.answered_elsewhere}
    return gone | {finding.id: change for change in found.changes for finding in change.answers}


_BINS = 10


def sentence_numbers(lineage: Lineage) -> dict[str, int]:
    """Return the number of each sentence by its text; that of the first if several are equal."""
    found: dict[str, int] = {}
    for one in lineage.sentences:
        found.setdefault(one.text, one.number)
    return found


def sentences(lineage: Lineage, places: Places, findings: Sequence[FindingEntry]) -> Iterator[SentenceEntry]:
    """Yield each sentence of a draft."""
    about: dict[int, list[int]] = {}
    for finding in findings:
        if finding.sentence is not None and finding.state == "open":
            about.setdefault(finding.sentence, []).append(finding.number)
    for one in lineage.sentences:
        heading = is_heading(one.text)
        yield SentenceEntry.of(
            one,
            start=one.span.start,
            end=one.span.end,
            sources=() if heading else tuple(_sources(one, places)),
            drift=DRIFTS[one.drift] if one.drift and not heading else "",
            invented=one.invented if not one.places and not heading else "",
            findings=tuple(about.get(one.number, ())),
        )


def _sources(sentence: TracedSentence, places: Places) -> Iterator[SourceEntry]:
    by = sentence.by or "words"
    for one in sentence.places:
        yield SourceEntry(place=places.known(one.span), weight=round(one.weight, 3), way=one.way, by=by)


def positions(lineage: Lineage) -> Positions:
    """Return which parts of the document the draft comes from. Each sentence counts one, shared among its places by
    weight."""
    length = max(1, len(lineage.document.text))
    told = [one for one in lineage.sentences if not is_heading(one.text)]
    traced = [one for one in told if one.places]
    found = [
        OriginMass(
            (origin.span.start + origin.span.end) / 2 / length, origin.weight / sum(o.weight for o in one.places)
        )
        for one in traced
        for origin in one.places
    ]
    return Positions(
        traced=len(traced),
        untraced=len(told) - len(traced),
        thirds=tuple(shares(found, bins(3))),
        bins=tuple(shares(found, bins(_BINS))),
        density=tuple(density(found)),
        spread=spread(found, min(len(traced), _BINS)),
    )
