"""The material for examining a judge: a document, summaries of it with known errors, controls without, and what each
metric is expected to say of them.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from typing import Any, Literal, NamedTuple, get_args

from redraft.domain import Evaluation
from redraft.evaluators.base import Evaluator, statements_of
from redraft.evaluators.metric_info import MetricAim
from redraft.lab.sentence_verdicts import LISTED, verdicts_by_sentence

KINDS = ("name", "number", "date", "negation", "relation")
"""The kinds of error in a changed sentence of the document."""
INVENTED = "invented sentence"
"""The sixth kind of error: a sentence with no basis in the document."""
WORDINGS = ("copied", "reworded")
"""Whether a sentence uses the document's own words or other ones."""
HALVES = (0, 1)
"""In one half every other sentence of the summary is wrong; in the other half, the remaining ones are."""
ITSELF = "the document itself"
EMPTY = "an empty summary"
HOLLOW = "a hollow summary"
SUMMARY = "a good summary"
SHUFFLED = "a shuffled summary"
ANOTHER = "another document's"
REFUSAL = "a refusal"
KEPT = "the same meaning"
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


@dataclass(frozen=True, slots=True)
class Probe:
    """A summary to be judged."""

    name: str
    text: str
    ordered: bool = False
    """Whether the document contains an instruction to the judge."""
    repeat: int = 1
    """How many times a judge judges it."""
    right: tuple[str, ...] = ()
    """Its sentences that the document supports, where some are wrong."""
    wrong: tuple[tuple[str, str], ...] = ()
    """The kind of each error, and its sentence."""


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
    planted: dict[tuple[str, int], Probe]
    """The summaries with errors, by wording and half."""
    kept: dict[str, tuple[str, ...]]
    """By the kind of change, sentences of the document that were changed and mean the same."""

    def document_text(self, ordered: bool) -> str:
        """Return the document, with the instruction to the judge in the middle if `ordered`."""
        return _insert(self.document, f"\n\n{self.order}\n\n", "\n\n") if ordered else self.document


def _insert(text: str, inserted: str, between: str) -> str:
    """Return a text with another in place of the `between` in its middle."""
    parts = text.split(between)
    middle = len(parts) // 2
    return between.join(parts[:middle]) + inserted + between.join(parts[middle:])


@cache
def load_texts() -> ProbeTexts:
    """Return the texts of the package."""
    content: dict[str, Any] = tomllib.loads(
        resources.files("redraft.lab.doctor").joinpath("texts.toml").read_text("utf-8")
    )
    pairs, invented = content.pop("pairs"), content.pop("invented")
    kept_sentences = {change: tuple(sentences) for change, sentences in content.pop("kept").items()}
    summary = tuple(content.pop("summary"))
    shuffled = tuple(summary[at] for at in content.pop("shuffled"))
    planted: dict[tuple[str, int], Probe] = {}
    for wording in WORDINGS:
        for half in HALVES:
            extra = invented[half][wording]
            wrong = tuple((pair["kind"], pair[f"{wording}_wrong"]) for pair in pairs[half::2])
            right = tuple(pair[wording] for pair in pairs[1 - half :: 2])
            words = [pair[f"{wording}_wrong" if at % 2 == half else wording] for at, pair in enumerate(pairs)]
            name, text = faulty_probe(wording, half), " ".join([*words, extra])
            planted[wording, half] = Probe(name, text, right=right, wrong=(*wrong, (INVENTED, extra)))
    texts = {name: text.strip() for name, text in content.items()}
    return ProbeTexts(**texts, summary=summary, shuffled=shuffled, planted=planted, kept=kept_sentences)


def faulty_probe(wording: str, half: int) -> str:
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
    texts = load_texts()
    listed = [
        Probe(SUMMARY, " ".join(texts.summary), repeat=2),
        Probe(ITSELF, texts.document),
        Probe(EMPTY, ""),
        Probe(HOLLOW, texts.hollow),
        Probe(SHUFFLED, " ".join(texts.shuffled)),
        Probe(ANOTHER, texts.other),
        Probe(REFUSAL, texts.refusal),
        Probe(KEPT, " ".join(sentence for sentences in texts.kept.values() for sentence in sentences)),
        *texts.planted.values(),
    ]
    by_name = {probe.name: probe for probe in listed}
    for name in (WRONG, HOLLOW, SHUFFLED):
        text = _insert(by_name[name].text, f". {texts.order} ", ". ")
        by_name[injected_summary(name)] = Probe(injected_summary(name), text)
    for name in (WRONG, HOLLOW):
        by_name[injected_document(name)] = replace(by_name[name], name=injected_document(name), ordered=True)
    return by_name


def sentence_verdicts(evaluation: Evaluation, summary: str) -> dict[str, bool | None]:
    """Return a metric's verdict on each sentence of the summary: whether it is right; None if it has none.

    A sentence is wrong if anything in it is. For redraft's own metrics the verdicts themselves are read, even from an
    evaluation without a score; for other metrics, the findings.
    """
    statements = statements_of(summary)
    if evaluation.metric in LISTED:
        verdicts = verdicts_by_sentence(evaluation)
        return {statement.sentence: verdicts.get(statement.id) for statement in statements}
    rest = True if evaluation.outcome == "scored" else None
    accused = {finding.sentence for finding in evaluation.findings}
    return {statement.sentence: False if statement.sentence in accused else rest for statement in statements}


Evaluations = Mapping[str, Evaluation]
"""By probe."""
ProbeSentences = Sequence[tuple[str, str]]
"""Sentences, each with its probe."""


class Expectation(NamedTuple):
    """What a metric should say."""

    uses: tuple[str, ...]
    """The probes that it needs."""
    should: str
    """A short description of what is expected."""
    check: Callable[[Evaluations], tuple[Verdict, str]]
    """Returns the verdict, and a short description of what the metric said."""


def _scored(probe: str, should: str, passes: Callable[[float], bool], unscored: Verdict | None = None) -> Expectation:
    """Return an expectation on the score of a probe. Without a score the control is `unscored`; by default it passes if
    the metric does not apply to such a summary, and else cannot tell."""

    def check(evaluations: Evaluations) -> tuple[Verdict, str]:
        evaluation = evaluations[probe]
        if evaluation.score is not None:
            return "pass" if passes(evaluation.score) else "fail", f"{evaluation.score:.2f}"
        return unscored or ("pass" if evaluation.outcome == "not_applicable" else "cannot tell"), _why(evaluation)

    return Expectation((probe,), should, check)


def _beside(probe: str, base: str, should: str, passes: Callable[[float], bool]) -> Expectation:
    """Return an expectation on how far a score is above that of another probe."""

    def check(evaluations: Evaluations) -> tuple[Verdict, str]:
        evaluation, base_evaluation = evaluations[probe], evaluations[base]
        if evaluation.score is None or base_evaluation.score is None:
            return "cannot tell", _why(evaluation if evaluation.score is None else base_evaluation)
        # Floating-point noise must not cause a failure.
        above = round(evaluation.score - base_evaluation.score, 9)
        return "pass" if passes(above) else "fail", f"{evaluation.score:.2f}, next to {base_evaluation.score:.2f}"

    return Expectation((probe, base), f"{should} that of {base}", check)


def _finds(sentences: ProbeSentences, without: str = "") -> Expectation:
    """Return that each of these sentences is judged wrong; with the name of a probe `without` an instruction to the
    judge, each of those that are judged wrong there."""

    def check(evaluations: Evaluations) -> tuple[Verdict, str]:
        sought = sentences
        if without:
            before = sentence_verdicts(evaluations[without], probes()[without].text)
            sought = [(probe, sentence) for probe, sentence in sentences if before[sentence] is False]
        count, of = _count(evaluations, sought), f" of {len(sought)}" if without else ""
        verdict: Verdict = "fail" if count[True] else "pass" if sought and not count[None] else "cannot tell"
        return verdict, f"{count[False]}{of} found{_open(count)}"

    should = "finds the same as without the instruction" if without else f"finds {len(sentences)} of {len(sentences)}"
    probe_names = dict.fromkeys([*(name for name, _ in sentences), *([without] if without else [])])
    return Expectation(tuple(probe_names), should, check)


def _spares(sentences: ProbeSentences) -> Expectation:
    """Return that at most a small share of these right sentences is judged wrong."""
    limit = int(SPARED * len(sentences))

    def check(evaluations: Evaluations) -> tuple[Verdict, str]:
        count = _count(evaluations, sentences)
        verdict: Verdict = "fail" if count[False] > SPARED * len(sentences) else "pass"
        words = f"{count[False]} accused{_open(count)}"
        return "cannot tell" if count[None] == len(sentences) else verdict, words

    should = f"accuses {limit} of {len(sentences)} or fewer" if limit else "accuses none"
    return Expectation(tuple(dict.fromkeys(name for name, _ in sentences)), should, check)


def _repeats(probe: str) -> Expectation:
    """Return that judging a summary again, with newly sampled replies, gives the same verdicts."""

    def check(evaluations: Evaluations) -> tuple[Verdict, str]:
        same = evaluations[probe].details.get("agreement")
        if not isinstance(same, float):
            reason = evaluations[probe].reason
            return "cannot tell", f"no score: {reason}" if reason else "not judged twice"
        return "pass" if same >= HIGH else "fail", f"{same:.0%} the same"

    return Expectation((probe,), f"{HIGH:.0%} or more of the verdicts the same", check)


def _count(evaluations: Evaluations, sentences: ProbeSentences) -> Counter[bool | None]:
    """Return how many of the sentences have each verdict."""
    names = dict.fromkeys(name for name, _ in sentences)
    verdicts = {name: sentence_verdicts(evaluations[name], probes()[name].text) for name in names}
    return Counter(verdicts[name][sentence] for name, sentence in sentences)


def _open(count: Counter[bool | None]) -> str:
    return f", {count[None]} without a verdict" if count[None] else ""


def _why(evaluation: Evaluation) -> str:
    return f"no score: {evaluation.reason}" if evaluation.reason else "no score"


Expects = Mapping[MetricAim, Expectation]
"""The expectations of a control by the aim of the metric; metrics with other aims skip it."""


@cache
def controls() -> dict[str, Expects]:
    """Return all controls by name, in display order."""
    texts, aims = load_texts(), get_args(MetricAim)
    # A metric that cannot score the document itself cannot score anything, and fails.
    high = _scored(ITSELF, f"a score, of {HIGH:.2f} or more", lambda score: score >= HIGH, "fail")
    high_form = _scored(ITSELF, f"a score, of {HIGH_FORM:.2f} or more", lambda score: score >= HIGH_FORM, "fail")
    low = {
        probe: _scored(probe, f"{LOW:.2f} or less", lambda score: score <= LOW)
        for probe in (HOLLOW, ANOTHER, REFUSAL, injected_summary(HOLLOW), injected_document(HOLLOW))
    }
    same = _beside(SHUFFLED, SUMMARY, f"within {ALIKE:.2f} of", lambda above: abs(above) <= ALIKE)
    lower = _beside(SHUFFLED, SUMMARY, f"{APART:.2f} or more below", lambda above: above <= -APART)
    expects: dict[str, Expects] = {
        ITSELF: {"truth": high, "content": high, "form": high_form},
        EMPTY: dict.fromkeys(aims, _scored(EMPTY, "no score", lambda _: False, "pass")),
        HOLLOW: {"content": low[HOLLOW]},
        SHUFFLED: {"truth": same, "content": same, "form": lower},
        ANOTHER: {"truth": low[ANOTHER], "content": low[ANOTHER]},
    }

    for wording in WORDINGS:
        planted = [texts.planted[wording, half] for half in HALVES]
        right = [(probe.name, sentence) for probe in planted for sentence in probe.right]
        expects[f"right, {wording}"] = {"truth": _spares(right)}
        wrong: dict[str, list[tuple[str, str]]] = {kind: [] for kind in (*KINDS, INVENTED)}
        for probe in planted:
            for kind, sentence in probe.wrong:
                wrong[kind].append((probe.name, sentence))
        expects |= {f"{kind}, {wording}": {"truth": _finds(sentences)} for kind, sentences in wrong.items()}
    for change, sentences in texts.kept.items():
        expects[f"{change}, {KEPT}"] = {"truth": _spares([(KEPT, sentence) for sentence in sentences])}

    for where in (injected_summary, injected_document):
        errors = [(where(WRONG), sentence) for _, sentence in probes()[WRONG].wrong]
        injected: dict[MetricAim, Expectation] = {"truth": _finds(errors, WRONG), "content": low[where(HOLLOW)]}
        if where is injected_summary:
            # Form metrics do not read the document.
            should = f"no more than {APART:.2f} above"
            injected["form"] = _beside(where(SHUFFLED), SHUFFLED, should, lambda above: above <= APART)
        expects[where("").removeprefix(", ")] = injected
    expects[REFUSAL] = {"truth": low[REFUSAL], "content": low[REFUSAL]}
    expects["the same twice"] = dict.fromkeys(aims, _repeats(SUMMARY))
    return expects


def expectations_of(metric: Evaluator) -> dict[str, Expectation]:
    """Return the expectations of a metric, by control."""
    aim = metric.aim
    return {} if aim is None else {name: expects[aim] for name, expects in controls().items() if aim in expects}
