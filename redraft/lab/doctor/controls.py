"""The material for examining a judge: summaries of a document with known faults, and controls, which say what a metric
should make of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, NamedTuple, get_args

from redraft.agents.judge import gather_all
from redraft.domain import Document, Evaluation, Totals
from redraft.errors import BudgetError, UsageError
from redraft.evaluators.base import Evaluator, statements_of
from redraft.evaluators.catalog import built_in, metrics
from redraft.evaluators.coherence import CLEAR, Booookscore
from redraft.evaluators.consistency import CONSISTENT, Consistency
from redraft.evaluators.factual import SUPPORTED, Faithfulness
from redraft.evaluators.metric_info import METRICS, MetricAim
from redraft.evaluators.reference.keyfacts import UNJUDGED
from redraft.events import StageStarted
from redraft.lab.declared import declared
from redraft.lab.experiments.runner import PlanStep, RunBatch, check_work, cost_table, plan_steps
from redraft.llm.budget import PriceTable
from redraft.order import Evaluate
from redraft.report.tables import Table
from redraft.runs.experiment_runner import ExperimentRunner, RunWatch

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


LISTED: Mapping[str, tuple[str, str, str]] = {
    Consistency.name: ("claims", "sentence", CONSISTENT),
    Faithfulness.name: ("sentences", "id", SUPPORTED),
    Booookscore.name: ("sentences", "id", CLEAR),
}
"""By metric: the detail that lists its verdicts, the field with the number of the sentence, the verdict for right."""


def judged_entries(evaluation: Evaluation | None, detail: str) -> list[Mapping[str, Any]]:
    """Return the entries of a detail of an evaluation that have a verdict."""
    listed: object = evaluation.details.get(detail) if evaluation else None
    return [entry for entry in (listed if isinstance(listed, list) else ()) if entry["verdict"] != UNJUDGED]


def verdicts_by_sentence(evaluation: Evaluation) -> dict[int, bool]:
    """Return whether each sentence with a verdict is right, by number: it is wrong if anything in it is."""
    detail, number, right = LISTED[evaluation.metric]
    verdicts: dict[int, bool] = {}
    for entry in judged_entries(evaluation, detail):
        is_right = entry["verdict"] == right
        verdicts[entry[number]] = min(is_right, verdicts.get(entry[number], is_right))
    return verdicts


def verdicts_on(evaluation: Evaluation, sentences: Sequence[str]) -> tuple[bool | None, ...]:
    """Return a verdict for each of these sentences, which are the paragraphs of the judged summary.

    It is empty if the metric does not judge single sentences, or if the sentence boundaries differ so much that they
    cannot be matched. One of their sentences may be several of ours: it is wrong if one of these is.
    """
    parts = [len(statements_of(sentence)) for sentence in sentences]
    if evaluation.metric not in LISTED or sum(parts) != len(statements_of("\n\n".join(sentences))):
        return ()
    verdicts = verdicts_by_sentence(evaluation)
    ends = [sum(parts[: at + 1]) for at in range(len(parts))]
    return tuple(
        min((verdicts[n] for n in range(end - size + 1, end + 1) if n in verdicts), default=None)
        for end, size in zip(ends, parts, strict=True)
    )


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


def _judges(sentences: Sequence[tuple[str, str]], *, spares: bool = False, without: str = "") -> Expectation:
    """Return that each of these sentences, with their probes, is judged wrong; with the name of a probe `without` an
    instruction to the judge, each of those that are judged wrong there. Or, if it `spares` right ones, that only a
    small share is."""
    size = len(sentences)

    def check(evaluations: Evaluations) -> tuple[Verdict, str]:
        verdicts = {name: sentence_verdicts(of, probes()[name].text) for name, of in evaluations.items()}
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
    ordered = f"{SHUFFLED}, {IN_SUMMARY}", SHUFFLED
    above = _scored(ordered, f"no more than {APART:.2f} above", lambda above: above <= APART)
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


DOCTOR = "doctor"
"""The purpose of its runs, and the command that repeats them."""


@dataclass(frozen=True, slots=True)
class ControlCheck:
    """One control of one metric, and its result."""

    control: str
    metric: str
    should: str
    said: str
    """What the metric said."""
    verdict: Verdict
    runs: tuple[str, ...] = ()
    """The runs that it is based on."""


@dataclass(frozen=True, slots=True)
class JudgeCheckup:
    """The results of one judge, and the number of controls with each."""

    judge: str
    controls: tuple[ControlCheck, ...]
    usage: Totals
    passed: int
    failed: int
    cannot_tell: int
    not_made: int
    """The number of controls that the budget did not reach."""


def checked_metrics(names: Iterable[str], objects: Sequence[Evaluator] = ()) -> tuple[Evaluator, ...]:
    """Return the metrics of these names, some of which are passed as objects. Raise for one without controls, which
    gives no score, or asks no judge."""
    evaluators = metrics(names, objects)
    for evaluator in evaluators:
        asks_nobody = evaluator.name in METRICS and not evaluator.prompts
        if why := "gives no score" if evaluator.aim is None else "asks no judge" if asks_nobody else "":
            scoring = ", ".join(name for name in METRICS if built_in(name).aim and built_in(name).prompts)
            hint = f"there are controls for {scoring}, and for your own metrics"
            raise UsageError(f"there are no controls for {evaluator.name}, which {why}", hint=hint)
    return evaluators


def probe_runs(evaluators: Sequence[Evaluator]) -> list[tuple[Probe, Document, tuple[str, ...]]]:
    """Return all probes with their documents and the metrics that judge them, those that others depend on first.

    The content metrics share one document, since they judge by its pack. For the other metrics each probe has its own
    copy, distinguished by blank lines at the end: verdicts on a sentence in one probe must not be reused in another,
    and no questions may be asked about key facts that were built from the document.
    """
    runs: list[tuple[Probe, Document, tuple[str, ...]]] = []
    for number, probe in enumerate(probes().values(), 1):
        names: dict[bool, list[str]] = {True: [], False: []}
        for metric in evaluators:
            if any(probe.name in expectation.uses for expectation in expectations_of(metric).values()):
                names[metric.aim == "content"].append(metric.name)
        for is_content, listed in names.items():
            text = document_text(probe.ordered) + "\n" * (0 if is_content else number)
            runs += [(probe, Document.from_text(text, load_texts()["title"]), tuple(listed))] if listed else []
    return runs


async def examine_all(
    orders: Sequence[Evaluate], runner: ExperimentRunner
) -> tuple[list[JudgeCheckup], BudgetError | None]:
    """Examine the judge of each order by its metrics, in sequence, on one shared budget. Return their results, and why
    some controls were not run."""
    # Reject unknown names or prices before any request is made.
    check_work(runner, *((order.settings, order.judging) for order in orders))
    runner.share_budget(DOCTOR, repr(orders))
    return [await examine(order, runner) for order in orders], runner.stopped


async def examine(order: Evaluate, runner: ExperimentRunner, objects: Sequence[Evaluator] = ()) -> JudgeCheckup:
    """Have a judge judge all probes within the runner's limits, and compare its verdicts with the expected ones. Some
    metrics may be `objects`.

    Finished runs are reused. Any error that ends a run, such as an unavailable provider, ends the examination.
    """
    evaluators, checks = checked_metrics(order.judging.metrics, objects), list[ControlCheck]()
    results = await _judge_probes(order, evaluators, runner)
    for metric in evaluators:
        for control, expectation in expectations_of(metric).items():
            of_probes = {name: results[metric.name, name] for name in expectation.uses}
            evaluations = {name: evaluation for name, (_, evaluation) in of_probes.items() if evaluation}
            verdict: Verdict = "not made"
            words = "the budget was used up"
            if len(evaluations) == len(of_probes):
                verdict, words = expectation.check(evaluations)
            runs = tuple(run for run, _ in of_probes.values() if run)
            checks.append(ControlCheck(control, metric.name, expectation.should, words, verdict, runs))
    counts = Counter(check.verdict for check in checks)
    usage = await RunBatch(runner, 0).usage({run for run, _ in results.values()})
    numbers = (counts[verdict] for verdict in get_args(Verdict))
    return JudgeCheckup(order.judging.judges[0], tuple(checks), usage, *numbers)


async def _judge_probes(
    order: Evaluate, evaluators: Sequence[Evaluator], runner: ExperimentRunner
) -> dict[tuple[str, str], tuple[str | None, Evaluation | None]]:
    """Return the run and the evaluation of each metric and probe, as far as the budget reaches."""
    planned = probe_runs(evaluators)
    batch = RunBatch(runner, len(planned))
    runner.observer(StageStarted(f"controls for {order.judging.judges[0]}", 0))
    results: dict[tuple[str, str], tuple[str | None, Evaluation | None]] = {}

    async def judge(probe: Probe, document: Document, names: tuple[str, ...]) -> None:
        judging = order.judging.model_copy(update={"metrics": names, "repeat": probe.repeat})
        of_probe = order.model_copy(update={"judging": judging, "given": probe.text, "experiment": DOCTOR})
        watch, result = RunWatch(probe.name, runner.observer, step=", ".join(names)), None
        async with batch.places:
            with suppress(BudgetError):
                result = await runner.find_or_run(document, of_probe, watch)
        run = result.run.id if result else watch.run
        results.update({(name, probe.name): (run, result.evaluations.get(name) if result else None) for name in names})
        batch.report_progress(f"{probe.name}: {watch.step}")

    # The first probe builds the pack by which the others are judged. A summary with an injected instruction comes after
    # the same one without it: the replies on its sentences are cached, and must not be affected by the instruction.
    ordered = {f"{name}, {IN_SUMMARY}" for name in (WRONG, HOLLOW, SHUFFLED)}
    turns = {probe.name: 0 if probe.name == SUMMARY else 2 if probe.name in ordered else 1 for probe, *_ in planned}
    for turn in range(3):
        await gather_all(judge(*part) for part in planned if turns[part[0].name] == turn)
    return results


def plan_table(orders: Sequence[Evaluate], prices: PriceTable) -> Table:
    """Return the plan: what judging all summaries costs by metric, with what is built from the document once. No
    request is made, not even for a server's window."""
    steps: dict[tuple[int, str], PlanStep] = {}
    for number, order in enumerate(orders):
        evaluators = checked_metrics(order.judging.metrics)
        _, counted = plan_steps(lambda runner: _judge_probes(order, evaluators, runner), (), prices)  # noqa: B023
        for step in counted:
            same = steps.setdefault((number, step.name), step)
            if same is not step:
                same.add(step.calls, step)
                same.runs += step.runs
    about = "Each metric judges each summary once; questions and key facts are built once. Numbers are approximate."
    return cost_table([*steps.values()], about)
