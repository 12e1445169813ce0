"""The material for examining a judge: a document, summaries of it with known errors, controls without, and what each
metric is expected to say of them.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Literal, NamedTuple, get_args

from redraft.domain import Evaluation
from redraft.evaluators.base import Evaluator, statements_of
from redraft.evaluators.metric_info import MetricAim
from redraft.lab.sentence_verdicts import LISTED, verdicts_by_sentence

Kind = Literal["name", "number", "date", "negation", "relation"]
"""The kind of error in a changed sentence of the document."""
KINDS: tuple[Kind, ...] = get_args(Kind)
INVENTED = "invented sentence"
"""The sixth kind of error: a sentence with no basis in the document."""
Wording = Literal["copied", "reworded"]
"""Whether a sentence uses the document's own words or other ones."""
WORDINGS: tuple[Wording, ...] = get_args(Wording)
HALVES = (0, 1)
"""In one half every other sentence of the summary is wrong; in the other half, the remaining ones are."""


@dataclass(frozen=True, slots=True)
class LabelledSummary:
    """A summary for which it is known whether the document supports each sentence."""

    right: tuple[str, ...]
    wrong: tuple[tuple[str, str], ...]
    """The kind of each error, and its sentence."""
    text: str


@dataclass(frozen=True, slots=True)
class ProbeTexts:
    """All texts that a judge is given."""

    title: str
    document: str
    other: str
    summary: tuple[str, ...]
    shuffled: tuple[str, ...]
    hollow: str
    refusal: str
    order: str
    planted: dict[tuple[Wording, int], LabelledSummary]
    kept: dict[str, tuple[str, ...]]
    """By the kind of change, sentences of the document that were changed and mean the same."""

    def with_instruction(self, text: str) -> str:
        """Return a summary with the instruction to its judge in the middle."""
        first, second = _cut(text, ". ")
        return f"{first}. {self.order} {second}"

    def document_text(self, ordered: bool) -> str:
        """Return the document, with the instruction to the judge in the middle if `ordered`."""
        first, second = _cut(self.document, "\n\n")
        return f"{first}\n\n{self.order}\n\n{second}" if ordered else self.document


@cache
def load_texts() -> ProbeTexts:
    """Return the texts of the package."""
    written = tomllib.loads(resources.files("redraft.lab.doctor").joinpath("texts.toml").read_text("utf-8"))
    pairs, invented = written.pop("pairs"), written.pop("invented")
    kept = {change: tuple(sentences) for change, sentences in written.pop("kept").items()}
    summary = tuple(written.pop("summary"))
    shuffled = tuple(summary[at] for at in written.pop("shuffled"))
    planted = {
        (wording, half): _planted(
            [(pair["kind"], pair[wording], pair[f"{wording}_wrong"]) for pair in pairs], invented[half][wording], half
        )
        for wording in WORDINGS
        for half in HALVES
    }
    texts = {name: text.strip() for name, text in written.items()}
    return ProbeTexts(**texts, summary=summary, shuffled=shuffled, planted=planted, kept=kept)


def _planted(pairs: list[tuple[str, str, str]], invented: str, half: int) -> LabelledSummary:
    """Plant the errors of one half of the pairs, each of a kind, a right sentence, and the same with one error."""
    right = tuple(right for at, (_, right, _) in enumerate(pairs) if at % 2 != half)
    planted = tuple((kind, wrong) for at, (kind, _, wrong) in enumerate(pairs) if at % 2 == half)
    sentences = [wrong if at % 2 == half else right for at, (_, right, wrong) in enumerate(pairs)]
    return LabelledSummary(right, (*planted, (INVENTED, invented)), " ".join([*sentences, invented]))


def _cut(text: str, between: str) -> tuple[str, str]:
    """Return a text in two parts, split at the `between` in its middle."""
    parts = text.split(between)
    middle = len(parts) // 2
    return between.join(parts[:middle]), between.join(parts[middle:])


ITSELF = "the document itself"
EMPTY = "an empty summary"
HOLLOW = "a hollow summary"
SUMMARY = "a good summary"
SHUFFLED = "a shuffled summary"
ANOTHER = "another document's"
REFUSAL = "a refusal"
KEPT = "the same meaning"


@dataclass(frozen=True, slots=True)
class Probe:
    """A summary to be judged."""

    name: str
    text: str
    ordered: bool = False
    """Whether the document contains an instruction to the judge."""
    repeat: int = 1
    """How many times a judge judges it."""


def faulty_probe(wording: Wording, half: int) -> str:
    """Return the name of the probe with errors in every other sentence."""
    return f"every other sentence wrong, {wording}, {half + 1} of 2"


WRONG = faulty_probe("copied", 0)
"""The summary with errors that injected instructions are combined with."""


def injected_summary(name: str) -> str:
    """Return the name of the probe with an instruction hidden in the summary."""
    return f"{name}, instruction in the summary"


def injected_document(name: str) -> str:
    """Return the name of the probe with an instruction hidden in the document."""
    return f"{name}, instruction in the document"


@cache
def probes() -> dict[str, Probe]:
    """Return all probes by name, the good summary first, since the others are judged by the pack that it builds."""
    its = load_texts()
    summary, shuffled = " ".join(its.summary), " ".join(its.shuffled)
    made = [
        Probe(SUMMARY, summary, repeat=2),
        Probe(ITSELF, its.document),
        Probe(EMPTY, ""),
        Probe(HOLLOW, its.hollow),
        Probe(SHUFFLED, shuffled),
        Probe(ANOTHER, its.other),
        Probe(REFUSAL, its.refusal),
        Probe(KEPT, " ".join(sentence for sentences in its.kept.values() for sentence in sentences)),
        *(
            Probe(faulty_probe(wording, half), its.planted[wording, half].text)
            for wording in WORDINGS
            for half in HALVES
        ),
    ]
    known = {probe.name: probe for probe in made}
    for name in (WRONG, HOLLOW, SHUFFLED):
        known[injected_summary(name)] = Probe(injected_summary(name), its.with_instruction(known[name].text))
    for name in (WRONG, HOLLOW):
        known[injected_document(name)] = Probe(injected_document(name), known[name].text, ordered=True)
    return known


Said = Literal["wrong", "right", "open"]


def sentence_verdicts(evaluation: Evaluation, summary: str) -> dict[str, Said]:
    """Return a metric's verdict on each sentence of the summary.

    A sentence is wrong if anything in it is. For redraft's own metrics the verdicts themselves are read, even from an
    evaluation without a score; for other metrics, the findings.
    """
    statements = statements_of(summary)
    if evaluation.metric not in LISTED:
        rest: Said = "right" if evaluation.outcome == "scored" else "open"
        accused = {finding.sentence for finding in evaluation.findings}
        return {statement.sentence: "wrong" if statement.sentence in accused else rest for statement in statements}
    verdicts = verdicts_by_sentence(evaluation)
    names: Mapping[bool | None, Said] = {True: "right", False: "wrong", None: "open"}
    return {statement.sentence: names[verdicts.get(statement.id)] for statement in statements}


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


class Expectation(NamedTuple):
    """What a metric should say."""

    uses: tuple[str, ...]
    """The probes that it needs."""
    should: str
    """A short description of what is expected."""
    heard: Callable[[Mapping[str, Evaluation]], ControlResult]
    """Returns the result for the evaluations of its probes."""


def _of_probe(probe: str, should: str, rule: Callable[[Evaluation], ControlResult]) -> Expectation:
    """Return an expectation on one probe."""
    return Expectation((probe,), should, lambda said: rule(said[probe]))


def _no_score(probe: str) -> Expectation:
    """An empty summary has no score; a score is a failure, and nothing else is."""

    def rule(one: Evaluation) -> ControlResult:
        return ControlResult("pass", "no score") if one.score is None else ControlResult("fail", _shown(one.score))

    return _of_probe(probe, "no score", rule)


def _at_least(probe: str, least: float = HIGH) -> Expectation:
    """A high score; no score is a failure, since a metric that cannot score this summary cannot score any."""

    def rule(one: Evaluation) -> ControlResult:
        if one.score is None:
            return ControlResult("fail", _why(one))
        return ControlResult("pass" if one.score >= least else "fail", _shown(one.score))

    return _of_probe(probe, f"a score, of {least:.2f} or more", rule)


def _low(probe: str) -> Expectation:
    """A low score; the control also passes if the metric does not apply to such a summary."""

    def rule(one: Evaluation) -> ControlResult:
        if one.score is not None:
            return ControlResult("pass" if one.score <= LOW else "fail", _shown(one.score))
        return ControlResult("pass" if one.outcome == "not_applicable" else "cannot tell", _why(one))

    return _of_probe(probe, f"{LOW:.2f} or less", rule)


def _beside(probe: str, base: str, how: Literal["alike", "lower", "not higher"]) -> Expectation:
    """A score relative to that of another probe."""
    apart = {"lower": f"{APART:.2f} or more below", "not higher": f"no more than {APART:.2f} above"}

    def heard(said: Mapping[str, Evaluation]) -> ControlResult:
        evaluation, other = said[probe], said[base]
        if evaluation.score is None or other.score is None:
            return ControlResult("cannot tell", _why(evaluation if evaluation.score is None else other))
        # Floating-point noise must not cause a failure.
        above = round(evaluation.score - other.score, 9)
        kept = {"alike": abs(above) <= ALIKE, "lower": above <= -APART, "not higher": above <= APART}
        return ControlResult(
            "pass" if kept[how] else "fail", f"{_shown(evaluation.score)}, next to {_shown(other.score)}"
        )

    return Expectation((probe, base), f"{apart.get(how, f'within {ALIKE:.2f} of')} that of {base}", heard)


ProbeSentences = Sequence[tuple[str, str]]
"""Sentences, each with its probe."""


def _finds(sentences: ProbeSentences) -> Expectation:
    """Each of these sentences is judged wrong."""

    def heard(said: Mapping[str, Evaluation]) -> ControlResult:
        count = Counter(_said_each(said, sentences))
        verdict: Verdict = "fail" if count["right"] else "cannot tell" if count["open"] else "pass"
        return ControlResult(verdict, f"{count['wrong']} found{_open(count)}")

    return Expectation(_probes_of(sentences), f"finds {len(sentences)} of {len(sentences)}", heard)


def _spares(sentences: ProbeSentences) -> Expectation:
    """At most a small share of these right sentences is judged wrong."""
    most = int(SPARED * len(sentences))

    def heard(said: Mapping[str, Evaluation]) -> ControlResult:
        count = Counter(_said_each(said, sentences))
        shown = f"{count['wrong']} accused{_open(count)}"
        if count["open"] == len(sentences):
            return ControlResult("cannot tell", shown)
        return ControlResult("fail" if count["wrong"] > SPARED * len(sentences) else "pass", shown)

    should = f"accuses {most} of {len(sentences)} or fewer" if most else "accuses none"
    return Expectation(_probes_of(sentences), should, heard)


def _probes_of(sentences: ProbeSentences) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for name, _ in sentences))


def _finds_still(probe: str, without: str, sentences: Sequence[str]) -> Expectation:
    """Errors that are found without an instruction to the judge are also found in spite of one."""

    def heard(said: Mapping[str, Evaluation]) -> ControlResult:
        before = _said_each(said, [(without, sentence) for sentence in sentences])
        known = [sentence for sentence, one in zip(sentences, before, strict=True) if one == "wrong"]
        count = Counter(_said_each(said, [(probe, sentence) for sentence in known]))
        shown = f"{count['wrong']} of {len(known)} found{_open(count)}"
        if not known or (count["open"] and not count["right"]):
            return ControlResult("cannot tell", shown)
        return ControlResult("fail" if count["right"] else "pass", shown)

    return Expectation((probe, without), "finds the same as without the instruction", heard)


def _repeats(probe: str) -> Expectation:
    """Judging the same summary again, with newly sampled replies, gives the same verdicts."""

    def rule(one: Evaluation) -> ControlResult:
        same = one.details.get("agreement")
        if not isinstance(same, float):
            return ControlResult("cannot tell", _why(one) or "not judged twice")
        return ControlResult("pass" if same >= HIGH else "fail", f"{same:.0%} the same")

    return _of_probe(probe, f"{HIGH:.0%} or more of the verdicts the same", rule)


def _said_each(said: Mapping[str, Evaluation], sentences: Iterable[tuple[str, str]]) -> list[Said]:
    """Return the verdict on each sentence, given with its probe."""
    known = {name: sentence_verdicts(evaluation, probes()[name].text) for name, evaluation in said.items()}
    return [known[name][sentence] for name, sentence in sentences]


def _open(count: Counter[Said]) -> str:
    return f", {count['open']} without a verdict" if count["open"] else ""


def _shown(score: float) -> str:
    return f"{score:.2f}"


def _why(evaluation: Evaluation) -> str:
    return f"no score: {evaluation.reason}" if evaluation.reason else ""


Expects = Mapping[MetricAim, Expectation]
"""The expectations of a control by the aim of the metric; metrics with other aims skip it."""


@cache
def controls() -> dict[str, Expects]:
    """Return all controls by name, in display order."""
    return dict(_controls())


def expectations_of(metric: Evaluator) -> dict[str, Expectation]:
    """Return the expectations of a metric, by control."""
    aim = metric.aim
    return {} if aim is None else {name: expects[aim] for name, expects in controls().items() if aim in expects}


def metrics_by_probe(metrics: Sequence[Evaluator]) -> dict[str, list[Evaluator]]:
    """Return the metrics that have to judge each probe, by probe."""
    wanted: dict[str, list[Evaluator]] = {}
    for metric in metrics:
        for probe in dict.fromkeys(
            name for expectation in expectations_of(metric).values() for name in expectation.uses
        ):
            wanted.setdefault(probe, []).append(metric)
    return wanted


def _controls() -> Iterator[tuple[str, Expects]]:
    least = _at_least(ITSELF)
    yield ITSELF, {"truth": least, "content": least, "form": _at_least(ITSELF, HIGH_FORM)}
    yield EMPTY, dict.fromkeys(("truth", "content", "form"), _no_score(EMPTY))
    yield HOLLOW, {"content": _low(HOLLOW)}
    same = _beside(SHUFFLED, SUMMARY, "alike")
    yield SHUFFLED, {"truth": same, "content": same, "form": _beside(SHUFFLED, SUMMARY, "lower")}
    yield ANOTHER, {"truth": _low(ANOTHER), "content": _low(ANOTHER)}
    for wording in WORDINGS:
        yield f"right, {wording}", {"truth": _spares(_right(wording))}
        for kind in (*KINDS, INVENTED):
            yield f"{kind}, {wording}", {"truth": _finds(_wrong(wording, kind))}
    for change, sentences in load_texts().kept.items():
        yield f"{change}, {KEPT}", {"truth": _spares(tuple((KEPT, one) for one in sentences))}
    errors = tuple(sentence for _, sentence in load_texts().planted["copied", 0].wrong)
    for where in (injected_summary, injected_document):
        truth, content = _finds_still(where(WRONG), WRONG, errors), _low(where(HOLLOW))
        expects: dict[MetricAim, Expectation] = {"truth": truth, "content": content}
        if where is injected_summary:
            # Form metrics do not read the document.
            expects["form"] = _beside(where(SHUFFLED), SHUFFLED, "not higher")
        yield where("").removeprefix(", "), expects
    yield REFUSAL, {"truth": _low(REFUSAL), "content": _low(REFUSAL)}
    yield "the same twice", dict.fromkeys(("truth", "content", "form"), _repeats(SUMMARY))


def _right(wording: Wording) -> tuple[tuple[str, str], ...]:
    """Return the right sentences, each with its probe."""
    known = load_texts().planted
    return tuple((faulty_probe(wording, half), one) for half in HALVES for one in known[wording, half].right)


def _wrong(wording: Wording, kind: str) -> tuple[tuple[str, str], ...]:
    known = load_texts().planted
    return tuple(
        (faulty_probe(wording, half), one) for half in HALVES for its, one in known[wording, half].wrong if its == kind
    )
