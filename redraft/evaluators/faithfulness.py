"""Faithfulness: the share of the summary's sentences that the document bears out, level by level (HAMLET, eq. 2)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from redraft.agents.factfinder import SENTENCES_NEAR, SUPPORTED, VERIFICATION, Factfinder, Verified
from redraft.agents.judge import Judge
from redraft.agents.together import together
from redraft.domain import Evaluation, Evidence, Finding, Span
from redraft.evaluators.alignment import align
from redraft.evaluators.base import Case, Evaluator, Sitting, concluded
from redraft.evaluators.consensus import majority
from redraft.evaluators.forecasting import A_NUMBER, Ahead, Stage
from redraft.evaluators.words import NONE
from redraft.packs.keyfacts import ALL, LEVELS, Item, items_of, share
from redraft.prompts.factual import FACTUAL, VERIFY_SENTENCES
from redraft.prompts.judging import Statement

_WHAT_TO_DO = {
    "out_of_article": "The document does not say this. Take it out, or say what the document says.",
    "entity": "A name, number or pronoun is not the document's. Say what the document says.",
    "relation": "The document says something else of how these relate. Say what the document says.",
    "sentence": "The document contradicts all of this. Say what the document says, or take it out.",
}
_OTHERWISE = "The judges do not agree on what is wrong with this. Say what the document says."


@dataclass(frozen=True, slots=True)
class _Seat:
    """One judge's verdicts by the sentence's place in the summary."""

    verdicts: dict[int, Verified]
    sitting: Sitting


@dataclass(frozen=True, slots=True)
class Faithfulness(Evaluator):
    """Holds every sentence against the document, or against the chunk whose query the summary answers.

    Key facts are not grown for it; where there are some, the score is also given by the level of the facts that a
    sentence carries.
    """

    name = "faithfulness"
    prompts = FACTUAL
    aim = "truth"
    uses = "keyfacts"
    heeds_query = True

    def forecast(self, ahead: Ahead) -> Iterator[Stage]:
        """Every draft may be new from end to end, and more have to be read for every sentence."""
        if not ahead.sentences:
            return
        calls, evidence = ahead.searching(ahead.sentences, ahead.needs(VERIFICATION), SENTENCES_NEAR, ahead.query)
        sentences = 2 * (2 * ahead.summary + ahead.sentences * A_NUMBER)  # each of them with the one before it, twice
        prompt = evidence + calls * ahead.overhead(VERIFY_SENTENCES) + sentences
        completion = 2 * ahead.sentences * ahead.needs(VERIFICATION)
        times = ahead.judgings
        yield Stage(self.name, times * calls, times * prompt, times * completion)

    async def evaluate(self, case: Case) -> Evaluation:
        """Score, and find each sentence that is not borne out, with the evidence that comes closest."""
        if not case.statements:
            return self.not_applicable("the summary has no sentence")
        within = case.trees[0].span if case.query is not None and case.trees else None
        panel = await together(_sit(judge, case, within) for judge in case.panel)
        verdicts = majority([seat.sitting.ballot for seat in panel], range(len(case.statements)))
        items = items_of(case.trees)
        levels = await _levels(case, items)
        wrong = Counter(verdict for verdict in verdicts.values() if verdict != SUPPORTED)
        details: dict[str, object] = {
            "errors": dict(sorted(wrong.items())),
            "by_level": by_level(verdicts, levels) if levels is not None else None,
            "sentences": [_shown(n, one, panel, verdicts, levels) for n, one in enumerate(case.statements)],
        }
        evaluation = Evaluation(
            self.name,
            self.version,
            "scored",
            judged=len(verdicts),
            unjudged=len(case.statements) - len(verdicts),
            findings=tuple(_findings(case.statements, panel, verdicts)),
            details=details,
        )
        return concluded(evaluation, [seat.sitting for seat in panel])


def by_level(verdicts: Mapping[int, str], levels: Mapping[int, set[str]]) -> dict[str, dict[str, float | int | None]]:
    """Equation 2: of the sentences that carry facts of a level, or none at all, the share that is faithful.

    `levels` has an entry for every sentence; one that carries facts of several levels counts in each of them.
    """
    groups = {
        level: [n for n in verdicts if level in (levels.get(n) or {NONE}) or level == ALL]
        for level in (ALL, *LEVELS, NONE)
    }
    return {level: _share([verdicts[n] for n in group]) for level, group in groups.items()}


def _share(verdicts: Sequence[str]) -> dict[str, float | int | None]:
    faithful = sum(verdict == SUPPORTED for verdict in verdicts)
    return {"faithfulness": share(faithful, len(verdicts)), "faithful": faithful, "judged": len(verdicts)}


async def _sit(judge: Judge, case: Case, within: Span | None) -> _Seat:
    found = await Factfinder(judge).verify(case.statements, case.desk, within)
    ballot = {n: str(one.category) for n, one in sorted(found.verdicts.items())}
    score = share(sum(verdict == SUPPORTED for verdict in ballot.values()), len(ballot))
    return _Seat(found.verdicts, Sitting(judge.name, score, ballot, found.trouble))


async def _levels(case: Case, items: Sequence[Item]) -> dict[int, set[str]] | None:
    """By sentence the levels of the facts that it carries; None where nothing is known of any fact."""
    aligned = await align(case, items) if items else None
    if aligned is None or not aligned.verdicts:
        return None
    place = {statement.id: n for n, statement in enumerate(case.statements)}
    levels: dict[int, set[str]] = {n: set() for n in place.values()}
    for fact in aligned.sentences:
        for number in aligned.where(fact):
            levels[place[number]].add(items[fact].fact.level)
    return levels


def _findings(statements: Sequence[Statement], panel: Sequence[_Seat], verdicts: Mapping[int, str]) -> list[Finding]:
    """The sentences that are not borne out, in their order."""
    return [
        _finding(statements[n], verdict, [seat.verdicts[n] for seat in panel if n in seat.verdicts])
        for n, verdict in verdicts.items()
        if verdict != SUPPORTED
    ]


def _finding(statement: Statement, verdict: str, said: Sequence[Verified]) -> Finding:
    against = [one for one in said if one.category == verdict] or [one for one in said if one.category != SUPPORTED]
    one = max(against, key=lambda verified: bool(verified.evidence))
    return Finding(
        Faithfulness.name,
        verdict,
        "correct",
        _WHAT_TO_DO.get(verdict, _OTHERWISE),
        sentence=statement.sentence,
        expected=one.reason,
        evidence=_evidence(one),
    )


def _evidence(one: Verified) -> Evidence | None:
    if not one.evidence:
        return None
    span = None if one.start is None or one.end is None else Span(one.start, one.end)
    return Evidence(one.evidence, span)


def _shown(
    n: int,
    statement: Statement,
    panel: Sequence[_Seat],
    verdicts: Mapping[int, str],
    levels: Mapping[int, set[str]] | None,
) -> dict[str, object]:
    said = [seat.verdicts[n] for seat in panel if n in verdicts and seat.sitting.ballot.get(n) == verdicts[n]]
    shown: dict[str, object] = {
        "id": statement.id,
        "verdict": verdicts.get(n, "unjudged"),
        "reason": said[0].reason if said else "",
    }
    if levels is not None:
        shown["levels"] = [level for level in LEVELS if level in levels[n]] or [NONE]
    return shown
