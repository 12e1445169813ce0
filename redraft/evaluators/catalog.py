"""All metrics by name: redraft's own, those of installed packages, and those passed as objects."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pkgutil import resolve_name
from typing import get_args

from redraft import plugins
from redraft.errors import Choose, UsageError
from redraft.evaluators.base import Evaluator, PackPart
from redraft.evaluators.metric_info import OWN, PREFERENCE, MetricAim
from redraft.evaluators.rubric import rubrics_of
from redraft.prompts.book import PROMPTS
from redraft.settings import JudgeConfig
from redraft.text.vectors import Encoder

BUILT_IN: Mapping[str, Evaluator] = {
    name: resolve_name(f"redraft.evaluators.{info.place}")() for name, info in OWN.items()
}
"""redraft's own metrics in listing order."""

_KIND: plugins.Kind = "metrics"
_NAME = re.compile(r"[^\W\d][\w-]*")
# Names of stored evaluations that are not metrics; the first holds a person's requests.
TAKEN = ("review", PREFERENCE)


def names(own: Sequence[Evaluator] = ()) -> tuple[str, ...]:
    """Return the names of all metrics: redraft's own, those of installed packages, and `own`."""
    plugins.refuse_taken(_KIND, BUILT_IN)
    taken = [*BUILT_IN, *plugins.names(_KIND)]
    for evaluator in own:
        name = named(evaluator)
        if name in taken:
            raise UsageError(f"there are two metrics named {name}", hint="give yours another name")
        taken.append(name)
    return tuple(taken)


def metrics(wanted: Iterable[str], own: Sequence[Evaluator] = ()) -> tuple[Evaluator, ...]:
    """Return the metrics of these names in order. Raises `UsageError` for an unknown name, listing the known ones."""
    there, given = names(own), {evaluator.name: evaluator for evaluator in own}
    found: list[Evaluator] = []
    for name in wanted:
        if name not in there:
            raise UsageError(f"there is no metric {name!r}", fix=Choose(tuple(there), name))
        found.append(given.get(name) or BUILT_IN.get(name) or _installed(name))
    _check_prompts(found)
    return tuple(found)


def evaluators(
    judging: JudgeConfig, encoder: Encoder | None = None, own: Sequence[Evaluator] = ()
) -> tuple[Evaluator, ...]:
    """Return the metrics to judge a draft by, and the statistics, which need no judge. `own` are metrics passed as
    objects."""
    found = metrics(judging.reported_metrics, with_rubrics(judging, own))
    return tuple(evaluator.configured(judging, encoder) for evaluator in found)


def with_rubrics(judging: JudgeConfig | None, own: Sequence[Evaluator]) -> tuple[Evaluator, ...]:
    """Return the metrics that are not redraft's: those passed as objects, and the rubrics of the settings."""
    passed = {evaluator.name for evaluator in own}
    return (*own, *(rubric for rubric in rubrics_of(judging or JudgeConfig()) if rubric.name not in passed))


def check_goals(goals: Iterable[str], evaluators: Sequence[Evaluator]) -> None:
    """Refuse a goal for what is not a metric, or has no score that could reach it."""
    known = {evaluator.name: evaluator for evaluator in evaluators}
    for goal in goals:
        if goal not in known:
            scored = tuple(evaluator.name for evaluator in evaluators if evaluator.aim)
            raise UsageError(f"there is no metric {goal!r}", fix=Choose(scored, goal))
        if known[goal].aim is None:
            nothing = "give no score, so they" if goal.endswith("s") else "gives no score, so it"
            raise UsageError(f"{goal} {nothing} cannot be a goal")


def _installed(name: str) -> Evaluator:
    """Load the metric of an entry point. Errors name its package."""
    make = plugins.load(_KIND, name)
    try:
        evaluator = make()
    except Exception as error:
        raise UsageError(
            f"the installed metric {name} cannot be made: {type(error).__name__}: {error}",
            hint="its entry point must be callable without arguments; update its package, or remove it",
        ) from error
    if not isinstance(evaluator, Evaluator) or named(evaluator) != name:
        what = (
            f"calls itself {evaluator.name}"
            if isinstance(evaluator, Evaluator)
            else f"is not an Evaluator but {evaluator!r:.80}"
        )
        raise UsageError(
            f"the installed metric {name} {what}",
            hint="an entry point of redraft.metrics must have its metric's name, and return an Evaluator when called",
        )
    return evaluator


def named(one: object) -> str:
    """Return the name of a metric passed as an object, if it is one."""
    if not isinstance(one, Evaluator):
        raise UsageError(f"{one!r:.80} is not a metric", hint="pass an instance of a subclass of Evaluator")
    name = getattr(one, "name", None)
    if name is None:
        raise UsageError(f"the metric {type(one).__name__} has no name", hint='set it in the class: name = "my_metric"')
    if not isinstance(name, str) or not _NAME.fullmatch(name) or name in TAKEN:
        raise UsageError(
            f"{name!r} is not a valid name for a metric ({type(one).__name__})",
            hint=f"use letters, digits, hyphens and underscores, and none of {', '.join(TAKEN)}",
        )
    for field, known in (("aim", get_args(MetricAim)), ("needs", get_args(PackPart)), ("uses", get_args(PackPart))):
        value = getattr(one, field)
        if value is not None and value not in known:
            raise UsageError(
                f"the metric {name} has the {field} {value!r}", hint=f"use None or one of {', '.join(map(repr, known))}"
            )
    return name


def _check_prompts(found: Sequence[Evaluator]) -> None:
    """Raise if two prompts share a name, since prompts are stored by name."""
    known = dict(PROMPTS)
    for evaluator in found:
        for prompt in evaluator.prompts:
            if known.setdefault(prompt.name, prompt) != prompt:
                raise UsageError(
                    f"the metric {evaluator.name} has a prompt named {prompt.name}, but another prompt has that name",
                    hint="give the prompt another name, such as that of the metric",
                )
            if prompt.name not in PROMPTS and not prompt.template:
                raise UsageError(
                    f"the prompt {prompt.name} of the metric {evaluator.name} has no template",
                    hint="pass it: Prompt(..., template=...)",
                )


def scoring(own: Sequence[Evaluator] = ()) -> tuple[str, ...]:
    """Return the names of the metrics that can be goals."""
    return tuple(evaluator.name for evaluator in metrics(names(own), own) if evaluator.aim)
