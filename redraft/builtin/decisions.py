"""What is decided by rule, or left open: what to mend next, which findings stand, where a sentence comes from."""

from __future__ import annotations

from redraft.prompts.deciding import DecideGiven, Decision, Standing
from redraft.prompts.origins import AllSources, Sources, TraceGiven
from redraft.prompts.outlining import Outline, OutlineGiven
from redraft.prompts.ruling import RuledPoint, RuledPoints, RuleGiven
from redraft.text.languages import language_of
from redraft.text.word_keys import telling

_AS_WEAKEST_FIRST = "the built-in model decides as weakest-first does"
# A sentence comes from a place that has this share of its telling words.
_SHARE = 0.5


def decide(given: DecideGiven) -> Decision:
    """The metric that is furthest from its goal, and the first of its findings, as the policy weakest-first does."""
    with_findings = {finding.metric for finding in given.findings}
    missed = [one for one in given.scoreboard if one.metric in with_findings and one.met == "no"]
    if not missed:
        return Decision(why=f"{_AS_WEAKEST_FIRST}: nothing is left to mend", stop=True)
    weakest = min(missed, key=_reached)
    chosen = [finding.id for finding in given.findings if finding.metric == weakest.metric][: given.at_most]
    return Decision(why=f"{_AS_WEAKEST_FIRST}: {weakest.metric} is furthest from its goal", mend=chosen)


def _reached(standing: Standing) -> float:
    """The part of the goal that is reached."""
    score = 0.0 if standing.score == "none" else float(standing.score)
    return score / max(float(standing.goal), 1e-9)


def rule_on_findings(given: RuleGiven) -> RuledPoints:
    """Nothing can be told by rules, so that every finding stands."""
    why = "The built-in model cannot tell; a language model can (--judge)."
    return RuledPoints(points=[RuledPoint(id=one.id, reason=why, quote="", verdict="unclear") for one in given.points])


def outline(_: OutlineGiven) -> Outline:
    """Nothing: which sentences of a text are its turning points takes somebody who can read."""
    return Outline(kind="other", line="", turning_points=[], cast=[])


def trace_sentences(given: TraceGiven) -> AllSources:
    """The place with most of the telling words of a sentence, where it has half of them."""
    language = language_of("\n".join(place.passage for place in given.places))
    there = {place.id: telling(place.passage, language) for place in given.places}
    found: list[Sources] = []
    for one in given.sentences:
        wanted = telling(one.sentence, language)
        shared = {place: len(wanted & own) for place, own in there.items()}
        best = [place for place, count in shared.items() if count == max(shared.values()) >= _SHARE * len(wanted) > 0]
        found.append(Sources(id=one.id, places=best[:1]))
    return AllSources(sentences=found)
