"""Whether scores of several runs can be held against each other: judged by the same, by the same, of the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from redraft.dossier.beside.sides import Side
from redraft.dossier.scrubbing import scrubbed
from redraft.store.agreements import Standing
from redraft.text.cleaning import one_line

_LONGEST = 80
_MOST_NAMES = 8
_ASPECTS: tuple[tuple[str, Callable[[Standing], object]], ...] = (
    ("the judges differ", lambda one: one.judge),
    ("the versions of the metric differ", lambda one: one.version),
    ("the prompts differ", lambda one: one.prompts),
    ("the ways of judging differ", lambda one: one.terms),
)


def why_not(metric: str, sides: Sequence[Side]) -> str:
    """Why scores by a metric are not comparable; empty where they are. Only of runs on one document it matters by what
    of it they were judged."""
    return "; ".join(what for what, _ in _differing(metric, {str(n): side for n, side in enumerate(sides)}))


def warnings(metrics: Sequence[str], sides: Mapping[str, Side]) -> Iterator[str]:
    """In sentences what keeps scores from being comparable."""
    for metric in metrics:
        judged = {name: side for name, side in sides.items() if metric in side.scored}
        name = metric.replace("_", " ")
        for what, values in _differing(metric, judged):
            yield f"Scores of {name} are not comparable: {what} ({_told(values)})."
        yield from _lacking(metric, {name: side for name, side in sides.items() if metric not in side.scored})


def _lacking(metric: str, sides: Mapping[str, Side]) -> Iterator[str]:
    """Which runs have no score, and why as far as that is known."""
    by_reason: dict[str, list[str]] = {}
    for name, side in sides.items():
        told = next((one.reason for one in side.scores if one.metric == metric), "it was not judged by that")
        by_reason.setdefault(one_line(told) or "nobody knows why", []).append(name)
    for reason, names in by_reason.items():
        yield f"There is no score of {metric.replace('_', ' ')} for {_listed(names)}: {reason}."


def _differing(metric: str, sides: Mapping[str, Side]) -> Iterator[tuple[str, Mapping[str, str]]]:
    """What differs, with its value by run."""
    standings = {name: side.standing(metric) for name, side in sides.items()}
    for what, aspect in _ASPECTS:
        values = {name: str(aspect(one)) for name, one in standings.items()}
        if len(set(values.values())) > 1:
            yield what, values
    documents = dict.fromkeys(side.run.document for side in sides.values())
    for document in documents:
        values = {name: side.yardstick(metric) for name, side in sides.items() if side.run.document == document}
        if len(set(values.values())) > 1:
            yield "they rest on different questions or key facts", values
            return


def _listed(names: Sequence[str]) -> str:
    """Some names, and how many more."""
    more = len(names) - _MOST_NAMES
    return " and ".join([*names[:_MOST_NAMES], *([f"{more:,} more"] if more > 0 else [])])


def _told(values: Mapping[str, str]) -> str:
    """The values with the names of the runs that have them."""
    by_value: dict[str, list[str]] = {}
    for name, value in values.items():
        by_value.setdefault(value, []).append(name)
    return "; ".join(
        f"{_listed(names)}: {one_line(scrubbed(value), _LONGEST) or 'none'}" for value, names in by_value.items()
    )
