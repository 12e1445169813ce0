"""The material for examining a judge: summaries of a document with known faults, and controls, which say what a metric
should make of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any, Literal, NamedTuple, get_args

from redraft.domain import Evaluation
from redraft.evaluators.base import Evaluator, statements_of
from redraft.evaluators.metric_info import MetricAim
from redraft.lab.declared import declared
from redraft.lab.sentence_verdicts import LISTED, verdicts_by_sentence

KINDS = ("name", "number", "date", "negation", "relation", "invented sentence")
"""The kinds of error in a sentence. An invented one has no basis in the document."""
RIGHT = "right"
"""Marks a sentence that the document supports, where others are wrong."""
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
WRONG = "every other sentence wrong, copied, 1 of 2"
"""The summary with errors that injected instructions are combined with."""
IN_SUMMARY, IN_DOCUMENT = "instruction in the summary", "instruction in the document"
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


class Probe(NamedTuple):
    """A summary to be judged."""

    name: str
    text: str
    ordered: bool = False
    """Whether the document contains an instruction to the judge."""
    repeat: int = 1
    """How many times a judge judges it."""
    sentences: tuple[tuple[str, str], ...] = ()
    """The kind of error in each sentence, or of a change that keeps the meaning, or `RIGHT`; and the sentence."""


@cache
def load_texts() -> dict[str, Any]:
    """Return the texts of the package, as `texts.toml` has them."""
    texts = declared("doctor/texts")
    return {name: text.strip() if isinstance(text, str) else text for name, text in texts.items()}


def document_text(ordered: bool) -> str:
    """Return the document, with the instruction to the judge in the middle if `ordered`."""
    texts = load_texts()
    return _insert(texts["document"], f"\n\n{texts['order']}\n\n", "\n\n") if ordered else texts["document"]


def _insert(text: str, inserted: str, between: str) -> str:
    """Return a text with another in place of the `between` in its middle."""
    parts = text.split(between)
    middle = len(parts) // 2
    return between.join(parts[:middle]) + inserted + between.join(parts[middle:])


def faulty_probe(wording: str, half: int) -> str:
    """Return the name of the probe with errors in every other sentence."""
    return f"every other sentence wrong, {wording}, {half + 1} of 2"


@cache
def probes() -> dict[str, Probe]:
    """Return all probes by name, the good summary first, since the others are judged by the pack that it builds."""
    texts = load_texts()
    listed = [
        Probe(SUMMARY, " ".join(texts["summary"]), repeat=2),
        Probe(ITSELF, texts["document"]),
        Probe(EMPTY, ""),
        Probe(HOLLOW, texts["hollow"]),
        Probe(SHUFFLED, " ".join(texts["summary"][at] for at in texts["shuffled"])),
        Probe(ANOTHER, texts["other"]),
        Probe(REFUSAL, texts["refusal"]),
    ]
    marked = {KEPT: [(change, sentence) for change, sentences in texts["kept"].items() for sentence in sentences]}
    for wording in WORDINGS:
        for half in HALVES:
            marked[faulty_probe(wording, half)] = [
                *(
                    (pair["kind"], pair[f"{wording}_wrong"]) if at % 2 == half else (RIGHT, pair[wording])
                    for at, pair in enumerate(texts["pairs"])
                ),
                (KINDS[-1], texts["invented"][half][wording]),
            ]
    for name, sentences in marked.items():
        text = " ".join(sentence for _, sentence in sentences)
        listed.append(Probe(name, text, sentences=tuple(sentences)))
    by_name = {probe.name: probe for probe in listed}
    for name in (WRONG, HOLLOW, SHUFFLED):
        text, injected = _insert(by_name[name].text, f". {texts['order']} ", ". "), f"{name}, {IN_SUMMARY}"
        by_name[injected] = Probe(injected, text)
    for name in (WRONG, HOLLOW):
        injected = f"{name}, {IN_DOCUMENT}"
        by_name[injected] = Probe(injected, by_name[name].text, ordered=True)
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
"""Probes, each with a sentence of it."""


class Expectation(NamedTuple):
    """What a metric should say."""

    uses: tuple[str, ...]
    """The probes that it needs."""
    should: str
    """A short description of what is expected."""
    check: Callable[[Evaluations], tuple[Verdict, str]]
    """Returns the verdict, and a short description of what the metric said."""


def _scored(
    uses: tuple[str, ...], should: str, passes: Callable[[float], bool], unscored: Verdict | None = None
) -> Expectation:
    """Return an expectation on the score of a probe, or on how far it is above that of a second one. Without a score
    the control is `unscored`; by default it passes if the metric does not apply to a single such summary, and else
    cannot tell."""

    def check(evaluations: Evaluations) -> tuple[Verdict, str]:
        scores = [score for name in uses if (score := evaluations[name].score) is not None]
        if len(scores) == len(uses):
            # Floating-point noise must not cause a failure.
            is_passed = passes(round(scores[0] - sum(scores[1:]), 9))
            return "pass" if is_passed else "fail", ", next to ".join(f"{score:.2f}" for score in scores)
        evaluation = next(evaluations[name] for name in uses if evaluations[name].score is None)
        is_excused = len(uses) == 1 and evaluation.outcome == "not_applicable"
        words = f"no score: {evaluation.reason}" if evaluation.reason else "no score"
        return unscored or ("pass" if is_excused else "cannot tell"), words

    return Expectation(uses, f"{should} that of {uses[1]}" if uses[1:] else should, check)


def _judges(sentences: ProbeSentences, *, spares: bool = False, without: str = "") -> Expectation:
    """Return that each of these sentences is judged wrong; with the name of a probe `without` an instruction to the
    judge, each of those that are judged wrong there. Or, if it `spares` right ones, that only a small share is."""
    size = len(sentences)

    def check(evaluations: Evaluations) -> tuple[Verdict, str]:
        verdicts = {
            name: sentence_verdicts(evaluation, probes()[name].text) for name, evaluation in evaluations.items()
        }
        sought = [pair for pair in sentences if not without or verdicts[without][pair[1]] is False]
        counts = Counter(verdicts[name][sentence] for name, sentence in sought)
        rest = f", {counts[None]} without a verdict" if counts[None] else ""
        if spares:
            verdict: Verdict = "fail" if counts[False] > SPARED * size else "pass"
            return "cannot tell" if counts[None] == size else verdict, f"{counts[False]} accused{rest}"
        verdict = "fail" if counts[True] else "pass" if sought and not counts[None] else "cannot tell"
        return verdict, f"{counts[False]}{f' of {len(sought)}' if without else ''} found{rest}"

    should = "finds the same as without the instruction" if without else f"finds {size} of {size}"
    if spares:
        limit = int(SPARED * size)
        should = f"accuses {limit} of {size} or fewer" if limit else "accuses none"
    return Expectation(tuple(dict.fromkeys(filter(None, (*dict(sentences), without)))), should, check)


Expects = Mapping[MetricAim, Expectation]
"""The expectations of a control by the aim of the metric; metrics with other aims skip it."""


def _on_sentences(names: Iterable[str]) -> dict[str, list[tuple[str, str]]]:
    """Return the sentences of some probes by what is the matter with them, each with its probe."""
    by_kind: dict[str, list[tuple[str, str]]] = {}
    for name in names:
        for kind, sentence in probes()[name].sentences:
            by_kind.setdefault(kind, []).append((name, sentence))
    return by_kind


@cache
def controls() -> dict[str, Expects]:
    """Return all controls by name, in display order."""
    aims = get_args(MetricAim)
    # A metric that cannot score the document itself cannot score anything, and fails.
    high = _scored((ITSELF,), f"a score, of {HIGH:.2f} or more", lambda score: score >= HIGH, "fail")
    high_form = _scored((ITSELF,), f"a score, of {HIGH_FORM:.2f} or more", lambda score: score >= HIGH_FORM, "fail")
    low = {
        name: _scored((name,), f"{LOW:.2f} or less", lambda score: score <= LOW)
        for name in (HOLLOW, ANOTHER, REFUSAL, f"{HOLLOW}, {IN_SUMMARY}", f"{HOLLOW}, {IN_DOCUMENT}")
    }
    both = (SHUFFLED, SUMMARY)
    same = _scored(both, f"within {ALIKE:.2f} of", lambda above: abs(above) <= ALIKE)
    lower = _scored(both, f"{APART:.2f} or more below", lambda above: above <= -APART)
    expects: dict[str, Expects] = {
        ITSELF: {"truth": high, "content": high, "form": high_form},
        EMPTY: dict.fromkeys(aims, _scored((EMPTY,), "no score", lambda _: False, "pass")),
        HOLLOW: {"content": low[HOLLOW]},
        SHUFFLED: {"truth": same, "content": same, "form": lower},
        ANOTHER: {"truth": low[ANOTHER], "content": low[ANOTHER]},
    }
    for wording in WORDINGS:
        sentences = _on_sentences(faulty_probe(wording, half) for half in HALVES)
        for kind in (RIGHT, *KINDS):
            expects[f"{kind}, {wording}"] = {"truth": _judges(sentences[kind], spares=kind == RIGHT)}
    for change, changed in _on_sentences([KEPT]).items():
        expects[f"{change}, {KEPT}"] = {"truth": _judges(changed, spares=True)}
    errors = [sentence for kind, sentence in probes()[WRONG].sentences if kind != RIGHT]
    for place in (IN_SUMMARY, IN_DOCUMENT):
        truth = _judges([(f"{WRONG}, {place}", sentence) for sentence in errors], without=WRONG)
        expects[place] = {"truth": truth, "content": low[f"{HOLLOW}, {place}"]}
    # Form metrics do not read the document.
    above = _scored(
        (f"{SHUFFLED}, {IN_SUMMARY}", SHUFFLED), f"no more than {APART:.2f} above", lambda above: above <= APART
    )
    expects[IN_SUMMARY] = {**expects[IN_SUMMARY], "form": above}
    expects[REFUSAL] = {"truth": low[REFUSAL], "content": low[REFUSAL]}

    def compare_repetitions(evaluations: Evaluations) -> tuple[Verdict, str]:
        """Return whether judging a summary again, with newly sampled replies, gives the same verdicts."""
        agreement, reason = evaluations[SUMMARY].details.get("agreement"), evaluations[SUMMARY].reason
        if not isinstance(agreement, float):
            return "cannot tell", f"no score: {reason}" if reason else "not judged twice"
        return "pass" if agreement >= HIGH else "fail", f"{agreement:.0%} the same"

    twice = Expectation((SUMMARY,), f"{HIGH:.0%} or more of the verdicts the same", compare_repetitions)
    expects["the same twice"] = dict.fromkeys(aims, twice)
    return expects


def expectations_of(metric: Evaluator) -> dict[str, Expectation]:
    """Return the expectations of a metric, by control."""
    aim = metric.aim
    return {} if aim is None else {name: expects[aim] for name, expects in controls().items() if aim in expects}
