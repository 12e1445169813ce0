"""The controls: what a metric should say of each summary, by the metric's aim."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from redraft.evaluators.base import Evaluator
from redraft.evaluators.metric_info import MetricAim
from redraft.lab.doctor.expectations import (
    HIGH_FORM,
    Beside,
    Expectation,
    Finds,
    FindsStill,
    NoScore,
    Repeats,
    ScoreAtLeast,
    ScoreAtMost,
    Spares,
)
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
    texts,
)


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
