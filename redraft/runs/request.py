"""What a run is asked to do: its settings, and those of its chapters and candidates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from redraft.domain import Document, Span
from redraft.errors import PlanError, UsageError
from redraft.evaluators.base import Evaluator, Metric, as_evaluator
from redraft.evaluators.catalog import valid_name
from redraft.evaluators.rubric import Rubric
from redraft.fields import list_argument, settings_argument, validated
from redraft.graphs.plan import DIRECT, chapter_words
from redraft.graphs.state import Scope, Task
from redraft.graphs.strategies import name_of
from redraft.llm.base import Model
from redraft.llm.langsmith import Tracing, check_config
from redraft.readers.parts import only
from redraft.runs.models import ModelRoles, with_addresses, writer_as_judge
from redraft.runs.prepare import PreparedDocument, RunSpec, prepare
from redraft.settings import (
    DEFAULT_GOALS,
    EXTRACTIVE,
    GIVEN_STRATEGY,
    MERGING,
    USUAL_METRICS,
    Ask,
    DraftConfig,
    JudgeConfig,
    Limits,
    ModelSettings,
    RefineConfig,
    purpose_of_draft,
)
from redraft.text.languages import declared_language, language_spans_of, undetected_language
from redraft.text.sanitizer import one_line
from redraft.text.words import count_words, has_words

_KINDS: tuple[type[BaseModel], ...] = (DraftConfig, JudgeConfig, RefineConfig)


@dataclass(frozen=True, slots=True)
class RunRequest:
    """The settings of a session overlaid with those of one run."""

    settings: DraftConfig = field(default_factory=DraftConfig)
    judging: JudgeConfig = field(default_factory=JudgeConfig)
    refinement: RefineConfig | None = None
    metrics: tuple[str, ...] = ()
    own: Mapping[str, Evaluator] = field(default_factory=dict)
    """Metrics passed as objects, by name."""
    config: Mapping[str, Any] = field(default_factory=dict)
    """Callbacks, tags and metadata for LangChain."""

    @property
    def parts(self) -> tuple[DraftConfig, JudgeConfig, RefineConfig | None]:
        """Return the settings of drafting, judging and refining."""
        return self.settings, self.judging, self.refinement

    def with_bases(
        self, settings: DraftConfig | None, judging: JudgeConfig | None, refinement: RefineConfig | None
    ) -> RunRequest:
        """Return the request with other base settings where they are given."""
        return replace(
            self,
            settings=settings_argument(DraftConfig, settings, "settings") or self.settings,
            judging=settings_argument(JudgeConfig, judging, "judging") or self.judging,
            refinement=settings_argument(RefineConfig, refinement, "refinement") or self.refinement,
        )

    def with_options(self, options: Mapping[str, Any]) -> RunRequest:
        """Return the request with fields of settings, judging and refinement by name."""
        config = {name: value for name, value in options.items() if name in Tracing.__annotations__}
        check_config(config)
        options = {name: value for name, value in options.items() if name not in config}
        known = {name for kind in _KINDS for name in kind.model_fields}
        if unknown := sorted(options.keys() - known):
            raise UsageError(f"there is no option {unknown[0]!r}", hint=_near(unknown[0], sorted(known)))
        if "strategy" in options:
            options = {**options, "strategy": name_of(options["strategy"])}
        refining = _those(RefineConfig, options)
        refinement = self.refinement
        if refining:
            goals = {"goals": refinement.goals if refinement else DEFAULT_GOALS}
            refinement = validated(RefineConfig, (refinement.model_dump() if refinement else goals) | refining)
        return replace(
            self,
            settings=validated(
                DraftConfig, self.settings.model_dump(exclude_unset=True) | _those(DraftConfig, options)
            ),
            judging=validated(JudgeConfig, self.judging.model_dump() | _those(JudgeConfig, options)),
            refinement=refinement,
            config=config,
        )

    def with_metrics(self, metrics: Sequence[Metric]) -> RunRequest:
        """Return the request with metrics by name, as objects or as functions."""
        names: dict[str, None] = {}
        own = dict(self.own)
        for one in list_argument(metrics, "metrics"):
            if isinstance(one, str):
                names[one] = None
            else:
                metric = as_evaluator(one)
                names[name := valid_name(metric)] = None
                own[name] = metric
        return replace(self, metrics=tuple(names) or self.metrics, own=own)

    def of_task(self, task: Task, scope: Scope) -> tuple[RunRequest, str | Path | None]:
        """Return the request with the input of a graph; `summary` is where a given summary comes from."""
        known = {"text", "source", "summary", "recorded", "metrics", "strategy"}
        options = {name: value for name, value in task.items() if name not in known}
        judging = RefineConfig.model_fields.keys() | {"metrics"}
        if scope == "summarize" and (stray := sorted(n for n, value in task.items() if value and n in judging)):
            raise UsageError(
                f"this graph only drafts, so {stray[0]} has no effect",
                hint="use redraft.graphs.summarizer, or leave it out",
            )
        if "source" not in task and "text" not in task:
            raise UsageError("the graph was given no document", hint='start it with {"text": ...} or {"source": PATH}')
        request = self.with_options(options).with_metrics(task.get("metrics", ()))
        if request.settings.by_chapter:
            raise UsageError("a graph drafts no chapters", hint="use `await session.summarize(..., by_chapter=True)`")
        if request.settings.drafts > 1:
            raise UsageError("a graph makes one draft", hint="use `await session.summarize(..., drafts=K)`")
        if task["strategy"] != GIVEN_STRATEGY:
            return request.with_options({"strategy": task["strategy"]}), None
        if "summary" not in task:
            raise UsageError("the graph was given no summary", hint='give its text, or its path, as "summary"')
        return request, task["summary"]

    def judged_as_before(self, before: DraftConfig, model_roles: ModelRoles) -> RunRequest:
        """Return the request of a fork. If no judge is named, the model `before` judges what another one writes."""
        return replace(self, judging=judged_as_before(self.judging, before, model_roles.settings(self.settings)))

    def order(self, scope: Scope, model_roles: ModelRoles, **given: Any) -> tuple[DraftConfig, RunSpec]:
        """Return what a run is to do with these settings."""
        settings, evaluators = model_roles.settings(self.settings), tuple(self.own.values())
        given["config"] = self.config
        if scope == "summarize":
            return settings, RunSpec(**given)
        refinement = self.refinement or RefineConfig(goals=dict(DEFAULT_GOALS))
        refine_config = model_roles.refinement(refinement) if scope == "refine" else None
        judging = model_roles.judging(self.judging, settings, refine_config)
        named = (*self.metrics, *judging.metrics, *(refine_config.goals if refine_config else ()))
        rubrics = {
            evaluator.name: evaluator.settings
            for evaluator in evaluators
            if isinstance(evaluator, Rubric) and evaluator.name in named
        }
        judging = judging.model_copy(
            update={"metrics": tuple(dict.fromkeys(named)) or USUAL_METRICS, "rubrics": {**judging.rubrics, **rubrics}}
        )
        return settings, RunSpec(purpose_of_draft(judging, refine_config), own=evaluators, **given)


def _near(unknown: str, known: Sequence[str]) -> str:
    """Return the hint for an option that does not exist."""
    if unknown == "limits" or unknown in Limits.model_fields:
        what = "..." if unknown == "limits" else f"{unknown}=..."
        return f"limits belong to a session, and to `resume`: limits=redraft.Limits({what})"
    if near := get_close_matches(unknown, known, 1):
        return f"did you mean {near[0]}?"
    return f"choose from: {', '.join(known)}"


_OF_DRAFTS = frozenset({"strategy", "by_chapter", "until", "merge", "drafts"})
_OF_REFINING = frozenset(RefineConfig.model_fields)
_OF_JUDGING = frozenset(JudgeConfig.model_fields) - frozenset(DraftConfig.model_fields)
_IDLE: Mapping[str, frozenset[str]] = {
    "summarize": _OF_JUDGING,
    "refine": _OF_DRAFTS,
    "evaluate": _OF_DRAFTS | _OF_REFINING,
    "compare": _OF_DRAFTS | _OF_REFINING | {"words"},
    "build": _OF_DRAFTS | _OF_REFINING | {"words"},
    "ask": _OF_DRAFTS | _OF_REFINING,
}
"""The options that make no difference to a call; to `summarize`, where it judges nothing."""


def refuse_idle(call: str, options: Mapping[str, Any]) -> None:
    """Raise `UsageError` for an option that would make no difference to a call."""
    if idle := next((name for name in options if name in _IDLE[call]), None):
        adding = ", or add metrics=[...] or goals={...}, so that the summary is judged" * (call == "summarize")
        raise UsageError(f"{idle} makes no difference to `{call}`", hint=f"leave it out{adding}")


def _those(kind: type[BaseModel], options: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if name in kind.model_fields}


def judged_as_before(judging: JudgeConfig, before: DraftConfig, writer: DraftConfig) -> JudgeConfig:
    """Return the judging settings of a fork. If it has another writer and no judge is named, the model `before` judges,
    at its own address: a model that judges its own text is lenient."""
    if judging.judges or (before.model, before.base_url) == (writer.model, writer.base_url):
        return judging
    tables = {}
    if before.model != EXTRACTIVE:
        shared = ModelSettings.model_fields.keys() & DraftConfig.model_fields.keys()
        own = {name: getattr(writer_as_judge(before), name) for name in shared}
        tables[before.model] = ModelSettings(**{name: value for name, value in own.items() if value is not None})
    return judging.model_copy(update={"judges": (before.model,), "models": {**judging.models, **tables}})


_LONGEST_QUESTION = 2_000


def answer_spec(
    settings: DraftConfig,
    judging: JudgeConfig,
    question: str,
    *,
    config: Mapping[str, Any] | None = None,
) -> tuple[DraftConfig, RunSpec]:
    """What a run is to do that answers a question. The answer is judged where a judge is named."""
    if not isinstance(question, str):
        raise UsageError(f"the question is of the type {type(question).__name__}", hint="pass it as text")
    question = one_line(question)
    if not has_words(question):
        raise UsageError("the question is empty", hint="write it in words, such as: Why did the bank break?")
    if len(question) > _LONGEST_QUESTION:
        raise UsageError(f"the question has {len(question):,} characters", hint=f"use at most {_LONGEST_QUESTION:,}")
    purpose = Ask(judging=judging.model_copy(update={"metrics": ("consistency",)}) if judging.judges else None)
    return settings.model_copy(update={"query": question}), RunSpec(purpose, config=config or {})


def chapter_document(document: Document, title: str, span: Span) -> Document:
    """Return a chapter as a document of its own, with the note on what was left out of the whole. Its language is
    detected unless the user gave one."""
    part = only(document, [span])
    if document.language:
        language = (
            document.language if undetected_language(document) else declared_language(document.language, part.text)
        )
    else:
        tongues = language_spans_of(part)
        language = tongues[0].language if len(tongues) == 1 else ""
    return replace(part, title=f"{document.title}: {title}", notes=(), language=language)


def chapter_settings(settings: DraftConfig, chapter: Document) -> DraftConfig:
    """Return the settings of a chapter from those of the whole, whose word limit is known."""
    assert settings.words is not None
    limit = chapter_words(settings.words, count_words(chapter.text))
    return settings.model_copy(update={"by_chapter": False, "words": limit, "source_language": None})


def chapter_spec(order: RunSpec) -> RunSpec:
    """Return the order for a chapter: that of the whole, with questions of its own."""
    if order.judging is None:
        return order
    judging = order.judging.model_copy(update={"pack": None, "keyfacts": None, "reference": None})
    return replace(order, purpose=purpose_of_draft(judging, order.refinement))


def with_places(order: RunSpec, settings: DraftConfig) -> RunSpec:
    """Return the order with the addresses of judges and deciders given by name."""
    if order.judging is None:
        return order
    there = with_addresses(order.judging, settings, order.refinement)
    return replace(order, purpose=order.purpose.model_copy(update={"judging": there}))


# The candidate that uses the other strategy, if the strategy was chosen automatically.
_OTHERWISE = 2
_OTHER = {DIRECT: MERGING, MERGING: DIRECT}


def prepare_candidate(
    document: Document, settings: DraftConfig, number: int, writer: Model | None = None
) -> PreparedDocument:
    """Prepare a candidate: another sample by the same strategy; if the strategy was chosen automatically, the second
    candidate uses the other one where that differs."""
    draft_config = settings.model_copy(update={"drafts": 1})
    if number == _OTHERWISE and settings.chosen and settings.strategy in _OTHER:
        try:
            other = prepare(document, draft_config.model_copy(update={"strategy": _OTHER[settings.strategy]}), writer)
        except PlanError:
            pass
        else:
            if len(other.chunks) > 1 or other.settings.strategy == DIRECT:
                return other
    return prepare(document, draft_config.model_copy(update={"sample": settings.sample + number - 1}), writer)
