"""The controls, and what each metric is expected to say of a probe: one rule per class."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, NamedTuple

from typing_extensions import override

from redraft.agents.fact_checker import SUPPORTED
from redraft.domain import Evaluation
from redraft.evaluators.base import Evaluator, statements_of
from redraft.evaluators.consensus import OPEN
from redraft.evaluators.consistency import CONSISTENT, Consistency
from redraft.evaluators.faithfulness import Faithfulness
from redraft.evaluators.metric_info import MetricAim
from redraft.lab.doctor.probes import (
    ANOTHER,
    EMPTY,
    HALVES,
    HOLLOW,
    INVENTED,
    ITSELF,
    KEPT,
    KINDS,
    REFUSAL,
    SHUFFLED,
    SUMMARY,
    WORDINGS,
    WRONG,
    Wording,
    in_document,
    in_summary,
    planted,
    probes,
    texts,
)

Said = Literal["wrong", "right", "open"]

# Where a metric's verdicts are: the key in the details, the key of the sentence number, and the verdict for right.
_VERDICTS = {Consistency.name: ("claims", "sentence", CONSISTENT), Faithfulness.name: ("sentences", "id", SUPPORTED)}


def said_of(evaluation: Evaluation, summary: str) -> dict[str, Said]:
    """Return a metric's verdict on each sentence of the summary.

    A sentence is wrong if anything in it is. For redraft's own metrics the verdicts themselves are read, even from an
    evaluation without a score; for other metrics, the findings.
    """
    statements = statements_of(summary)
    if evaluation.metric not in _VERDICTS:
        rest: Said = "right" if evaluation.outcome == "scored" else "open"
        accused = {finding.sentence for finding in evaluation.findings}
        return {one.sentence: "wrong" if one.sentence in accused else rest for one in statements}
    verdicts = _verdicts(evaluation)
    return {one.sentence: verdicts.get(one.id, "open") for one in statements}


def _verdicts(evaluation: Evaluation) -> dict[int, Said]:
    """Return the verdicts by sentence number."""
    where, number, right = _VERDICTS[evaluation.metric]
    items: Any = evaluation.details.get(where) or ()
    found: dict[int, Said] = {}
    for item in items:
        said = _said(item, right)
        # A wrong verdict outweighs right ones on the same sentence; a right one outweighs open ones.
        if found.get(item[number]) != "wrong" and said != "open":
            found[item[number]] = said
    return found


def _said(item: Mapping[str, object], right: str) -> Said:
    if item["verdict"] in OPEN:
        return "open"
    return "right" if item["verdict"] == right else "wrong"


Verdict = Literal["pass", "fail", "cannot tell", "not made"]
"""`not made`: the budget ran out before."""
HIGH, HIGH_FORM = 0.9, 0.8
"""The least score of a flawless summary; lower for form, on which people disagree more."""
LOW = 0.1
"""The highest score of an entirely wrong summary."""
ALIKE = 0.15
"""The largest difference between scores that should be equal."""
APART = 0.1
"""The least difference between scores that should differ."""
SPARED = 0.1
"""The largest share of right sentences that may be judged wrong."""


class ControlResult(NamedTuple):
    """The verdict of a control, and a short description of what the metric said."""

    verdict: Verdict
    said: str


class Expectation(ABC):
    """What a metric should say."""

    @property
    @abstractmethod
    def uses(self) -> tuple[str, ...]:
        """The probes that it needs."""

    @property
    @abstractmethod
    def should(self) -> str:
        """A short description of what is expected."""

    @abstractmethod
    def heard(self, said: Mapping[str, Evaluation]) -> ControlResult:
        """Return the result for the evaluations of its probes."""


@dataclass(frozen=True, slots=True)
class OfProbe(Expectation):
    """An expectation on one probe."""

    probe: str

    @property
    def uses(self) -> tuple[str, ...]:
        return (self.probe,)


@dataclass(frozen=True, slots=True)
class OfSentences(Expectation):
    """An expectation on some sentences, each given with its probe."""

    sentences: tuple[tuple[str, str], ...]

    @property
    def uses(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for name, _ in self.sentences))


@dataclass(frozen=True, slots=True)
class NoScore(OfProbe):
    """An empty summary has no score; a score is a failure, and nothing else is."""

    @property
    def should(self) -> str:
        return "no score"

    @override
    def heard(self, said: Mapping[str, Evaluation]) -> ControlResult:
        score = said[self.probe].score
        return ControlResult("pass", "no score") if score is None else ControlResult("fail", _shown(score))


@dataclass(frozen=True, slots=True)
class ScoreAtLeast(OfProbe):
    """A high score; no score is a failure, since a metric that cannot score this summary cannot score any."""

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
    """A low score; that the metric does not apply to such a summary is a pass, too."""

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
    """A score relative to another: `alike`, `lower` or `not higher`."""

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
        # Floating-point noise must not cause a failure.
        above = round(one.score - base.score, 9)
        kept = {"alike": abs(above) <= ALIKE, "lower": above <= -APART, "not higher": above <= APART}
        return ControlResult("pass" if kept[self.how] else "fail", f"{_shown(one.score)}, beside {_shown(base.score)}")


@dataclass(frozen=True, slots=True)
class Finds(OfSentences):
    """Each of these sentences is judged wrong."""

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
    """At most a small share of these right sentences is judged wrong."""

    @property
    def should(self) -> str:
        most = int(SPARED * len(self.sentences))
        return f"accuses {most} of {len(self.sentences)} or fewer" if most else "accuses none"

    @override
    def heard(self, said: Mapping[str, Evaluation]) -> ControlResult:
        count = Counter(_said_each(said, self.sentences))
        shown = f"{count['wrong']} accused{_open(count)}"
        if count["open"] == len(self.sentences):
            return ControlResult("cannot tell", shown)
        return ControlResult("fail" if count["wrong"] > SPARED * len(self.sentences) else "pass", shown)


@dataclass(frozen=True, slots=True)
class FindsStill(Expectation):
    """Errors that are found without an instruction to the judge are also found in spite of one."""

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
    """Judging the same summary again, with newly sampled replies, gives the same verdicts."""

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
    """Return the verdict on each sentence, given with its probe."""
    known = {name: said_of(one, probes()[name].text) for name, one in said.items()}
    return [known[name][sentence] for name, sentence in sentences]


def _open(count: Counter[Said]) -> str:
    return f", {count['open']} without a verdict" if count["open"] else ""


def _shown(score: float) -> str:
    return f"{score:.2f}"


def _why(evaluation: Evaluation) -> str:
    return f"no score: {evaluation.reason}" if evaluation.reason else ""


@dataclass(frozen=True, slots=True)
class Control:
    """A control, and the expectations by the aim of the metric; metrics with other aims skip it."""

    name: str
    expects: Mapping[MetricAim, Expectation]


@cache
def controls() -> tuple[Control, ...]:
    """Return all controls in display order."""
    return tuple(_controls())


def expected(metric: Evaluator) -> dict[str, Expectation]:
    """Return the expectations of a metric, by control."""
    aim = metric.aim
    return {} if aim is None else {one.name: one.expects[aim] for one in controls() if aim in one.expects}


def probed(metrics: Sequence[Evaluator]) -> dict[str, list[Evaluator]]:
    """Return the metrics that have to judge each probe, by probe."""
    wanted: dict[str, list[Evaluator]] = {}
    for metric in metrics:
        for probe in dict.fromkeys(name for one in expected(metric).values() for name in one.uses):
            wanted.setdefault(probe, []).append(metric)
    return wanted


def _controls() -> Iterator[Control]:
    least, low = ScoreAtLeast(ITSELF), ScoreAtMost
    yield Control(ITSELF, {"truth": least, "content": least, "form": ScoreAtLeast(ITSELF, HIGH_FORM)})
    yield Control(EMPTY, dict.fromkeys(("truth", "content", "form"), NoScore(EMPTY)))
    yield Control(HOLLOW, {"content": low(HOLLOW)})
    same = Beside(SHUFFLED, SUMMARY, "alike")
    yield Control(SHUFFLED, {"truth": same, "content": same, "form": Beside(SHUFFLED, SUMMARY, "lower")})
    yield Control(ANOTHER, {"truth": low(ANOTHER), "content": low(ANOTHER)})
    for wording in WORDINGS:
        yield Control(f"right, {wording}", {"truth": Spares(_right(wording))})
        for kind in (*KINDS, INVENTED):
            yield Control(f"{kind}, {wording}", {"truth": Finds(_wrong(wording, kind))})
    for change, sentences in texts().kept.items():
        yield Control(f"{change}, {KEPT}", {"truth": Spares(tuple((KEPT, one) for one in sentences))})
    errors = tuple(sentence for _, sentence in texts().planted["copied", 0].wrong)
    for where in (in_summary, in_document):
        truth, content = FindsStill(where(WRONG), WRONG, errors), low(where(HOLLOW))
        expects: dict[MetricAim, Expectation] = {"truth": truth, "content": content}
        if where is in_summary:
            # Form metrics do not read the document.
            expects["form"] = Beside(where(SHUFFLED), SHUFFLED, "not higher")
        yield Control(where("").removeprefix(", "), expects)
    yield Control(REFUSAL, {"truth": low(REFUSAL), "content": low(REFUSAL)})
    yield Control("the same twice", dict.fromkeys(("truth", "content", "form"), Repeats(SUMMARY)))


def _right(wording: Wording) -> tuple[tuple[str, str], ...]:
    """Return the right sentences, each with its probe."""
    known = texts().planted
    return tuple((planted(wording, half), one) for half in HALVES for one in known[wording, half].right)


def _wrong(wording: Wording, kind: str) -> tuple[tuple[str, str], ...]:
    known = texts().planted
    return tuple(
        (planted(wording, half), one) for half in HALVES for its, one in known[wording, half].wrong if its == kind
    )
