"""What a form or a program asks for, the run that results, and plans that wait for confirmation."""

from __future__ import annotations

import secrets
import time
from collections import OrderedDict
from collections.abc import Mapping
from typing import Annotated, Any, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from redraft import plugins
from redraft.errors import UsageError
from redraft.evaluators.catalog import check_goals, metrics, names
from redraft.evaluators.metric_info import refuse_self_check
from redraft.fields import checked, same
from redraft.graphs.strategies import STRATEGIES
from redraft.runs.prepare import RunSpec
from redraft.runs.request import with_places
from redraft.settings import (
    DEFAULT_GOALS,
    EXTRACTIVE,
    USUAL_METRICS,
    DraftConfig,
    JudgeConfig,
    ModelSettings,
    RefineConfig,
    with_draft,
)

Models = Mapping[str, ModelSettings]


class RunBody(BaseModel):
    """What a run shall do. The document is given by `document` or `text`, or as a file of the request."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    document: str | None = Field(default=None, max_length=64)
    """The id of a document that is in the database, or the beginning of it."""
    text: str | None = None
    """The text of the document."""
    title: str = Field(default="", max_length=300)
    """Its title, with `text`."""
    kind: Literal["summarize", "evaluate", "refine"] = "summarize"
    """Draft a summary; draft it and judge it; or redraft it until it meets its goals."""
    summary: str | None = Field(default=None, max_length=2_000_000)
    """A summary that there is already, to be judged or refined in place of one that is drafted."""
    strategy: str = "hierarchical"
    model: str = EXTRACTIVE
    """`extractive`, or the name of a model of the settings file."""
    judge: str | None = None
    """Who judges, where it is not the model that writes."""
    words: Annotated[int | None, Field(le=1_000_000)] = same(DraftConfig, "words")
    query: Annotated[str | None, Field(max_length=2000)] = same(DraftConfig, "query")
    metrics: tuple[str, ...] = ()
    """By what a draft is judged; without any, by the goals' metrics or the usual ones."""
    goals: dict[str, float] = {}
    rounds: int = same(RefineConfig, "rounds")
    review: bool = same(RefineConfig, "review")
    allow_self_check: bool = same(RefineConfig, "allow_self_check")


def order_of(asked: RunBody, models: Models) -> tuple[DraftConfig, RunSpec]:
    """The settings and the order of a run. What cannot be meant is a `UsageError` that says so."""
    if asked.summary is not None and asked.kind == "summarize":
        raise UsageError("a summary was given, and nothing is to be done with it", hint="judge it, or refine it")
    if asked.goals and asked.kind != "refine":
        raise UsageError("goals are what a summary is refined for", hint="choose to refine it, or leave them out")
    settings = _settings(asked, models)
    if asked.kind == "summarize":
        return settings, RunSpec()
    refinement = _refinement(asked) if asked.kind == "refine" else None
    wanted = tuple(dict.fromkeys([*asked.metrics, *(refinement.goals if refinement else ())]))
    judging = JudgeConfig(metrics=wanted or USUAL_METRICS, **_judge(asked, models))
    known = metrics((*judging.metrics, *(refinement.goals if refinement else ())))
    check_goals(refinement.goals if refinement else (), known)
    refuse_self_check(settings, judging, refinement)
    order = RunSpec(with_draft(judging, refinement), given=asked.summary)
    return settings, with_places(order, settings)


def _settings(asked: RunBody, models: Models) -> DraftConfig:
    if asked.strategy not in strategies():
        raise UsageError(f"there is no strategy {asked.strategy!r}", hint=f"there are: {', '.join(strategies())}")
    own = _own(_known(asked.model, models)) if asked.model != EXTRACTIVE else {}
    values = {"strategy": asked.strategy, "words": asked.words, "query": asked.query or None, **own}
    return checked(DraftConfig, values)


def _own(table: ModelSettings) -> dict[str, Any]:
    """What the settings file says of a model."""
    return {name: getattr(table, name) for name in table.model_fields_set if getattr(table, name) is not None}


def _known(name: str, models: Models) -> ModelSettings:
    """Only models that the settings file names are asked: nobody else's address gets a document, or a key."""
    if name not in models:
        there = ", ".join((EXTRACTIVE, *models))
        raise UsageError(f"there is no model {name!r} here", hint=f"there are: {there}; redraft.toml names them")
    return models[name]


def _judge(asked: RunBody, models: Models) -> dict[str, Any]:
    if not asked.judge or asked.judge == asked.model:
        return {}
    if asked.judge == EXTRACTIVE:
        return {"judges": (EXTRACTIVE,)}
    return {"judges": (asked.judge,), "models": {asked.judge: _known(asked.judge, models)}}


def _refinement(asked: RunBody) -> RefineConfig:
    given = asked.model_dump(include={"rounds", "review", "allow_self_check"})
    return checked(RefineConfig, {"goals": asked.goals or DEFAULT_GOALS, **given})


def strategies() -> tuple[str, ...]:
    """The strategies that there are."""
    return (*STRATEGIES, *plugins.names("strategies"))


def aims() -> tuple[str, ...]:
    """The metrics that can be a goal."""
    return tuple(one.name for one in metrics(names()) if one.aim)


T = TypeVar("T")
_MOST, _SECONDS = 16, 3600.0


class Pending(Generic[T]):
    """Things by names that nobody can guess. Of too many the oldest goes."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, tuple[float, T]] = OrderedDict()

    def keep(self, thing: T) -> str:
        """Keep it; returns its name."""
        key = secrets.token_urlsafe(12)
        self._kept[key] = (time.monotonic(), thing)
        while len(self._kept) > _MOST:
            self._kept.popitem(last=False)
        return key

    def look(self, key: str) -> T:
        """What is kept under a name."""
        since, thing = self._kept.get(key, (float("-inf"), None))
        if thing is None or time.monotonic() - since > _SECONDS:
            raise UsageError("that plan is not kept any more", hint="fill in the form again")
        return thing

    def take(self, key: str) -> T:
        """The same, which is kept no longer."""
        thing = self.look(key)
        del self._kept[key]
        return thing
