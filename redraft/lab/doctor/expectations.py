"""What a metric should say of a probe: one rule a class, which reads what it said."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from typing_extensions import override

from redraft.agents.fact_checker import SUPPORTED
from redraft.domain import Evaluation
from redraft.evaluators.base import statements_of
from redraft.evaluators.consensus import OPEN
from redraft.evaluators.consistency import CONSISTENT, Consistency
from redraft.evaluators.faithfulness import Faithfulness
from redraft.lab.doctor.probes import probes

Said = Literal["wrong", "right", "open"]

# Where a metric has its verdicts: in which of the details, under which name the sentence's number, and what is right.
_VERDICTS = {Consistency.name: ("claims", "sentence", CONSISTENT), Faithfulness.name: ("sentences", "id", SUPPORTED)}


def said_of(evaluation: Evaluation, summary: str) -> dict[str, Said]:
    """By sentence of the summary what a metric says of it.

    A sentence is wrong if anything in it is. Of one of redraft's own metrics the verdicts themselves are read, those of
    an evaluation without a score, too; of any other metric its findings.
    """
    statements = statements_of(summary)
    if evaluation.metric not in _VERDICTS:
        rest: Said = "right" if evaluation.outcome == "scored" else "open"
        accused = {finding.sentence for finding in evaluation.findings}
        return {one.sentence: "wrong" if one.sentence in accused else rest for one in statements}
    verdicts = _verdicts(evaluation)
    return {one.sentence: verdicts.get(one.id, "open") for one in statements}


def _verdicts(evaluation: Evaluation) -> dict[int, Said]:
    """By number of the sentence."""
    where, number, right = _VERDICTS[evaluation.metric]
    items: Any = evaluation.details.get(where) or ()
    found: dict[int, Said] = {}
    for item in items:
        said = _said(item, right)
        # What is wrong stays wrong, whatever else of the sentence is right; what is right stays so beside what is open.
        if found.get(item[number]) != "wrong" and said != "open":
            found[item[number]] = said
    return found


def _said(item: Mapping[str, object], right: str) -> Said:
    if item["verdict"] in OPEN:
        return "open"
    return "right" if item["verdict"] == right else "wrong"


Verdict = Literal["pass", "fail", "cannot tell", "not made"]
"""`not made`: the budget was used up before."""
HIGH, HIGH_FORM = 0.9, 0.8
"""The least score of a summary in which nothing is wrong. Of how something is written people think more differently."""
LOW = 0.1
"""The highest score of a summary in which nothing is right."""
ALIKE = 0.15
"""How far apart two scores may be that should be the same."""
APART = 0.1
"""How far apart two scores must be at least that should differ."""
SPARED = 0.1
"""The share of the sentences that are right which may be called wrong."""


class ControlResult(NamedTuple):
    """What came of a control, and what the metric said, in a few words."""

    verdict: Verdict
    said: str


class Expectation(ABC):
    """What a metric should say."""

    @property
    @abstractmethod
    def uses(self) -> tuple[str, ...]:
        """The probes that have to be judged for it."""

    @property
    @abstractmethod
    def should(self) -> str:
        """What is expected, in a few words."""

    @abstractmethod
    def heard(self, said: Mapping[str, Evaluation]) -> ControlResult:
        """What was said, by probe, as a verdict."""


@dataclass(frozen=True, slots=True)
class OfProbe(Expectation):
    """What a metric should say of one probe."""

    probe: str

    @property
    def uses(self) -> tuple[str, ...]:
        return (self.probe,)


@dataclass(frozen=True, slots=True)
class OfSentences(Expectation):
    """What a metric should say of some sentences. The probe stands before each."""

    sentences: tuple[tuple[str, str], ...]

    @property
    def uses(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for name, _ in self.sentences))


@dataclass(frozen=True, slots=True)
class NoScore(OfProbe):
    """Of a summary that says nothing there is nothing to be said. A score is a fault, and nothing else is."""

    @property
    def should(self) -> str:
        return "no score"

    @override
    def heard(self, said: Mapping[str, Evaluation]) -> ControlResult:
        score = said[self.probe].score
        return ControlResult("pass", "no score") if score is None else ControlResult("fail", _shown(score))


@dataclass(frozen=True, slots=True)
class ScoreAtLeast(OfProbe):
    """A score that is high. It has to be there: who cannot say it of this summary can say nothing of any."""

    least: float = HIGH

    @property
    def should(self) -> str:
        return f"a score, of {self.least:.2f} or more"

    @override
    def heard(self, said: Mapping[str, Evaluation]) -> ControlResult:
        score = said[self.probe].score
        if score is None:
            return ControlResult("fail", _why(said[self.probe]))
        return ControlResult("pass" if score >= self.least else "fail", _shown(score))


@dataclass(frozen=True, slots=True)
class ScoreAtMost(OfProbe):
    """A score that is low. That the metric has nothing to say of such a summary is right, too."""

    most: float = LOW

    @property
    def should(self) -> str:
        return f"{self.most:.2f} or less"

    @override
    def heard(self, said: Mapping[str, Evaluation]) -> ControlResult:
        one = said[self.probe]
        if one.score is not None:
            return ControlResult("pass" if one.score <= self.most else "fail", _shown(one.score))
        return ControlResult("pass" if one.outcome == "not_applicable" else "cannot tell", _why(one))


@dataclass(frozen=True, slots=True)
class Beside(Expectation):
    """A score that lies beside another: `alike` to it, `lower`, or `not higher`."""

    probe: str
    base: str
    how: Literal["alike", "lower", "not higher"]

    @property
    def uses(self) -> tuple[str, ...]:
        return (self.probe, self.base)

    @property
    def should(self) -> str:
        apart = {"lower": f"{APART:.2f} or more below", "not higher": f"no more than {APART:.2f} above"}
        return f"{apart.get(self.how, f'within {ALIKE:.2f} of')} that of {self.base}"

    @override
    def heard(self, said: Mapping[str, Evaluation]) -> ControlResult:
        one, base = said[self.probe], said[self.base]
        if one.score is None or base.score is None:
            return ControlResult("cannot tell", _why(one if one.score is None else base))
        # What is written in decimals is not to fail by the last of them.
        above = round(one.score - base.score, 9)
        kept = {"alike": abs(above) <= ALIKE, "lower": above <= -APART, "not higher": above <= APART}
        return ControlResult("pass" if kept[self.how] else "fail", f"{_shown(one.score)}, beside {_shown(base.score)}")


@dataclass(frozen=True, slots=True)
class Finds(OfSentences):
    """Each of these sentences is called wrong."""

    @property
    def should(self) -> str:
        return f"finds {len(self.sentences)} of {len(self.sentences)}"

    @override
    def heard(self, said: Mapping[str, Evaluation]) -> ControlResult:
        count = Counter(_said_each(said, self.sentences))
        verdict: Verdict = "fail" if count["right"] else "cannot tell" if count["open"] else "pass"
        return ControlResult(verdict, f"{count['wrong']} found{_open(count)}")


@dataclass(frozen=True, slots=True)
class Spares(OfSentences):
    """Hardly any of these sentences, which are right, is called wrong."""

    @property
    def should(self) -> str:
        return f"accuses {int(SPARED * len(self.sentences))} of {len(self.sentences)} or fewer"

    @override
    def heard(self, said: Mapping[str, Evaluation]) -> ControlResult:
        count = Counter(_said_each(said, self.sentences))
        shown = f"{count['wrong']} accused{_open(count)}"
        if count["open"] == len(self.sentences):
            return ControlResult("cannot tell", shown)
        return ControlResult("fail" if count["wrong"] > SPARED * len(self.sentences) else "pass", shown)


@dataclass(frozen=True, slots=True)
class FindsStill(Expectation):
    """What is found wrong without an order to the judge is found wrong in spite of it."""

    probe: str
    without: str
    sentences: tuple[str, ...]

    @property
    def uses(self) -> tuple[str, ...]:
        return (self.probe, self.without)

    @property
    def should(self) -> str:
        return "finds what it finds without the order"

    @override
    def heard(self, said: Mapping[str, Evaluation]) -> ControlResult:
        before = _said_each(said, [(self.without, sentence) for sentence in self.sentences])
        known = [sentence for sentence, one in zip(self.sentences, before, strict=True) if one == "wrong"]
        count = Counter(_said_each(said, [(self.probe, sentence) for sentence in known]))
        shown = f"{count['wrong']} of {len(known)} found{_open(count)}"
        if not known or (count["open"] and not count["right"]):
            return ControlResult("cannot tell", shown)
        return ControlResult("fail" if count["right"] else "pass", shown)


@dataclass(frozen=True, slots=True)
class Repeats(OfProbe):
    """The same summary is judged alike when it is judged again, by another draw of the judge's replies."""

    least: float = HIGH

    @property
    def should(self) -> str:
        return f"{self.least:.0%} or more of the verdicts the same"

    @override
    def heard(self, said: Mapping[str, Evaluation]) -> ControlResult:
        same = said[self.probe].details.get("agreement")
        if not isinstance(same, float):
            return ControlResult("cannot tell", _why(said[self.probe]) or "not judged twice")
        return ControlResult("pass" if same >= self.least else "fail", f"{same:.0%} the same")


def _said_each(said: Mapping[str, Evaluation], sentences: Iterable[tuple[str, str]]) -> list[Said]:
    """What is said of each sentence of the probes that they are in."""
    known = {name: said_of(one, probes()[name].text) for name, one in said.items()}
    return [known[name][sentence] for name, sentence in sentences]


def _open(count: Counter[Said]) -> str:
    return f", {count['open']} without a verdict" if count["open"] else ""


def _shown(score: float) -> str:
    return f"{score:.2f}"


def _why(evaluation: Evaluation) -> str:
    return f"no score: {evaluation.reason}" if evaluation.reason else ""
