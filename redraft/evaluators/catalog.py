"""All metrics by name: redraft's own, those of installed packages, and those passed as objects."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Sequence
from functools import cache
from pkgutil import resolve_name
from typing import get_args

from redraft import plugins
from redraft.errors import UsageError, choose
from redraft.evaluators.base import Evaluator, FunctionMetric, as_evaluator
from redraft.evaluators.metric_info import METRICS, PREFERENCE, MetricAim
from redraft.evaluators.rubric import Rubric
from redraft.prompts.book import PROMPTS
from redraft.settings import JudgeConfig, PackPart
from redraft.text.vectors import Encoder


@cache
def built_in(name: str) -> Evaluator:
    """Return a metric of redraft's own, which is loaded when it is first used."""
    evaluator: Evaluator = resolve_name(f"redraft.evaluators.{METRICS[name]}")()
    return evaluator


def stored_metric(name: str) -> Evaluator | None:
    """Return the metric of a stored run; None if it is no longer installed."""
    try:
        return built_in(name) if name in METRICS else _installed(name) if name in plugins.names(_KIND) else None
    except Exception:  # noqa: BLE001  (a faulty plugin, reported where its metric is used)
        return None


_KIND: plugins.Kind = "metrics"
_NAME = re.compile(r"[^\W\d][\w-]*")
# Names of stored evaluations that are not metrics; the first holds a person's requests.
RESERVED_NAMES = ("review", PREFERENCE)


def names(extra: Sequence[Evaluator] = ()) -> tuple[str, ...]:
    """Return the names of all metrics: redraft's own, those of installed packages, and the `extra` ones."""
    plugins.refuse_taken(_KIND, METRICS)
    listed = [*METRICS, *plugins.names(_KIND)]
    for evaluator in extra:
        if (name := valid_name(as_evaluator(evaluator))) in listed:
            raise UsageError(f"there are two metrics named {name}", hint="give yours another name")
        listed.append(name)
    return tuple(listed)


def metrics(chosen: Iterable[str], extra: Sequence[Evaluator] = ()) -> tuple[Evaluator, ...]:
    """Return the metrics of these names in order. Raises `UsageError` for an unknown name, listing the known ones, and
    for two prompts of one name, since prompts are stored by name."""
    listed, by_name = names(extra), {evaluator.name: evaluator for evaluator in extra}
    evaluators: list[Evaluator] = []
    prompts = dict(PROMPTS)
    for name in chosen:
        if name not in listed:
            raise UsageError(f"there is no metric {name!r}", hint=choose(tuple(listed), name))
        evaluator = by_name.get(name) or (built_in(name) if name in METRICS else _installed(name))
        evaluators.append(evaluator)
        for prompt in evaluator.prompts:
            if prompts.setdefault(prompt.name, prompt) != prompt:
                raise UsageError(
                    f"the metric {evaluator.name} has a prompt named {prompt.name}, but another prompt has that name",
                    hint="give the prompt another name, such as that of the metric",
                )
            if prompt.name not in PROMPTS and not prompt.template:
                raise UsageError(
                    f"the prompt {prompt.name} of the metric {evaluator.name} has no template",
                    hint="pass it: Prompt(..., template=...)",
                )
    return tuple(evaluators)


def evaluators(
    judging: JudgeConfig, encoder: Encoder | None = None, extra: Sequence[Evaluator] = ()
) -> tuple[Evaluator, ...]:
    """Return the metrics to judge a draft by, and the statistics, which need no judge. `extra` are metrics passed as
    objects."""
    chosen = metrics(judging.reported_metrics, with_rubrics(judging, extra))
    return tuple(evaluator.configured(judging, encoder) for evaluator in chosen)


def with_rubrics(judging: JudgeConfig | None, extra: Sequence[Evaluator]) -> tuple[Evaluator, ...]:
    """Return the metrics that are not redraft's: those passed as objects, and the rubrics of the settings."""
    passed, rubrics = {evaluator.name for evaluator in extra}, judging.rubrics if judging else {}
    return (*extra, *(Rubric(name, **dict(rubric)) for name, rubric in rubrics.items() if name not in passed))


def check_goals(goals: Iterable[str], evaluators: Sequence[Evaluator]) -> None:
    """Refuse a goal for what is not a metric, or has no score that could reach it."""
    aims = {evaluator.name: evaluator.aim for evaluator in evaluators}
    for goal in goals:
        if goal not in aims:
            raise UsageError(f"there is no metric {goal!r}", hint=choose(tuple(filter(aims.get, aims)), goal))
        if aims[goal] is None:
            reason = "give no score, so they" if goal.endswith("s") else "gives no score, so it"
            raise UsageError(f"{goal} {reason} cannot be a goal")


def scoring(extra: Sequence[Evaluator] = ()) -> tuple[str, ...]:
    """Return the names of the metrics that can be goals."""
    return tuple(evaluator.name for evaluator in metrics(names(extra), extra) if evaluator.aim)


def valid_name(metric: Evaluator) -> str:
    """Return the name of a metric; raises `UsageError` if it is no valid one."""
    kind, name = type(metric).__name__, getattr(metric, "name", None)
    if name is None:
        raise UsageError(f"the metric {kind} has no name", hint='set it in the class: name = "my_metric"')
    if not isinstance(name, str) or not _NAME.fullmatch(name) or name in RESERVED_NAMES:
        raise UsageError(
            f"{name!r} is not a valid name for a metric ({kind})",
            hint=f"use letters, digits, hyphens and underscores, and none of {', '.join(RESERVED_NAMES)}",
        )
    for field, options in (("aim", get_args(MetricAim)), ("needs", get_args(PackPart)), ("uses", get_args(PackPart))):
        value = getattr(metric, field)
        if value is not None and value not in options:
            hint = f"use None or one of {', '.join(map(repr, options))}"
            raise UsageError(f"the metric {name} has the {field} {value!r}", hint=hint)
    return name


def _installed(name: str) -> Evaluator:
    """Load the metric of an entry point. Errors name its package."""
    make = plugins.load(_KIND, name)
    parameters = inspect.signature(make).parameters.values() if inspect.isfunction(make) else ()
    # A function of a case is a metric itself, and does not make one.
    takes_case = any(parameter.default is parameter.empty for parameter in parameters)
    try:
        evaluator = FunctionMetric(name, make) if takes_case else make()
    except Exception as error:
        raise UsageError(
            f"the installed metric {name} cannot be made: {type(error).__name__}: {error}",
            hint="its entry point must be a function of a case, or callable without arguments; update its package,"
            " or remove it",
        ) from error
    hint = "an entry point of redraft.metrics must have its metric's name, and return an Evaluator when called"
    if not isinstance(evaluator, Evaluator):
        raise UsageError(f"the installed metric {name} is not an Evaluator but {evaluator!r:.80}", hint=hint)
    if valid_name(evaluator) != name:
        raise UsageError(f"the installed metric {name} calls itself {evaluator.name}", hint=hint)
    return evaluator
