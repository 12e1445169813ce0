"""The order of a call as a session carries it out: with its models, and with metrics that were passed as objects. And
the orders of its chapters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from redraft.domain import Document, Span
from redraft.errors import UsageError
from redraft.evaluators.base import Evaluator, Metric, as_evaluator
from redraft.evaluators.catalog import names as known_names
from redraft.evaluators.catalog import valid_name
from redraft.evaluators.rubric import Rubric
from redraft.fields import MAX_EARLIER, Exchange, list_argument
from redraft.graphs.plan import chapter_words
from redraft.graphs.state import Scope, Task
from redraft.graphs.strategies import name_of
from redraft.llm.langsmith import Tracing, check_config
from redraft.order import Kind, Order, OrderParts, order_of_draft
from redraft.readers.parts import only
from redraft.report.history.citations import read_answer
from redraft.runs.model_names import writer_as_judge
from redraft.runs.models import ModelRoles
from redraft.settings import (
    DEFAULT_GOALS,
    EXTRACTIVE,
    GIVEN_STRATEGY,
    DraftConfig,
    JudgeConfig,
    Limits,
    ModelSettings,
    RefineConfig,
)
from redraft.store.runs import Run
from redraft.store.store import Store
from redraft.text.languages import declared_language, language_spans_of, undetected_language
from redraft.text.sanitizer import one_line
from redraft.text.words import count_words, has_words


@dataclass(frozen=True, slots=True)
class SessionOrder:
    """The parts of an order with the metrics that were passed as objects."""

    parts: OrderParts = field(default_factory=OrderParts)
    metrics: tuple[str, ...] = ()
    """The metrics of the session or call, besides those of the judging settings."""
    own: Mapping[str, Evaluator] = field(default_factory=dict)
    """Metrics passed as objects, by name."""

    def with_options(self, options: Mapping[str, Any]) -> SessionOrder:
        """Return the order with settings by name."""
        config = {name: value for name, value in options.items() if name in Tracing.__annotations__}
        check_config(config)
        values = {name: value for name, value in options.items() if name not in config}
        if limit := next((name for name in values if name == "limits" or name in Limits.model_fields), None):
            argument = "..." if limit == "limits" else f"{limit}=..."
            hint = f"limits belong to a session, and to `resume`: limits=redraft.Limits({argument})"
            raise UsageError(f"there is no setting {limit!r} of a call", hint=hint)
        if "strategy" in values:
            values["strategy"] = name_of(values["strategy"])
        return replace(self, parts=self.parts.edited(values))

    def with_metrics(self, metrics: Sequence[Metric]) -> SessionOrder:
        """Return the order with metrics by name, as objects or as functions."""
        names: dict[str, None] = {}
        evaluators = dict(self.own)
        for metric in list_argument(metrics, "metrics"):
            if isinstance(metric, str):
                names[metric] = None
            else:
                evaluator = as_evaluator(metric)
                if (name := valid_name(evaluator)) in names:
                    raise UsageError(f"there are two metrics named {name}", hint="give yours another name")
                names[name], evaluators[name] = None, evaluator
        # A name that is taken is refused before the session knows it.
        known_names(tuple(evaluators.values()))
        return replace(self, metrics=tuple(names) or self.metrics, own=evaluators)

    def of_task(self, task: Task, scope: Scope) -> tuple[SessionOrder, str | Path | None]:
        """Return the order with the input of a graph, and where a given summary comes from."""
        inputs = {"text", "source", "summary", "recorded", "metrics", "strategy"}
        options = {name: value for name, value in task.items() if name not in inputs}
        judging = RefineConfig.model_fields.keys() | {"metrics"}
        if scope == "summarize" and (stray := sorted(n for n, value in task.items() if value and n in judging)):
            raise UsageError(
                f"this graph only drafts, so {stray[0]} has no effect",
                hint="use redraft.graphs.summarizer, or leave it out",
            )
        if "source" not in task and "text" not in task:
            hint = 'name one: {"order": {"text": ...}} or {"order": {"source": PATH}}'
            raise UsageError("the graph was given no document", hint=hint)
        session_order = self.with_options(options).with_metrics(task.get("metrics", ()))
        if session_order.parts.settings.by_chapter:
            raise UsageError("a graph drafts no chapters", hint="use `await session.summarize(..., by_chapter=True)`")
        if task["strategy"] != GIVEN_STRATEGY:
            return session_order.with_options({"strategy": task["strategy"]}), None
        if "summary" not in task:
            raise UsageError("the graph was given no summary", hint='give its text, or its path, as "summary"')
        return session_order, task["summary"]

    def judged_as_before(self, before: DraftConfig, model_roles: ModelRoles) -> SessionOrder:
        """Return the order of a fork. If it has another writer and no judge is named, the model `before` judges, at its
        own address: a model that judges its own text is lenient."""
        judging, writer = self.parts.judging, model_roles.settings(self.parts.settings)
        if judging.judges or (before.model, before.base_url) == (writer.model, writer.base_url):
            return self
        tables = {}
        if before.model != EXTRACTIVE:
            shared = ModelSettings.model_fields.keys() & DraftConfig.model_fields.keys()
            fields = {name: getattr(writer_as_judge(before), name) for name in shared}
            tables[before.model] = ModelSettings(**{name: value for name, value in fields.items() if value is not None})
        update = {"judges": (before.model,), "models": {**judging.models, **tables}}
        return replace(self, parts=self.parts.with_parts(judging=judging.model_copy(update=update)))

    def order(self, kind: Kind, model_roles: ModelRoles, *, is_judged: bool = False, **inputs: Any) -> Order:
        """Return the order of a run of this kind with the models of the session. `inputs` are what it begins with, such
        as a `given` summary; a new one is only judged with `is_judged`."""
        parts = self.parts.with_parts(settings=model_roles.settings(self.parts.settings))
        if kind == "summarize" and not is_judged:
            return parts.order(kind).model_copy(update=inputs)
        refinement = None
        if kind == "refine":
            refinement = model_roles.refinement(parts.refinement or RefineConfig(goals=dict(DEFAULT_GOALS)))
        judging = model_roles.judging(parts.judging)
        names = (*self.metrics, *judging.metrics)
        metrics = {*names, *(refinement.goals if refinement else ())}
        rubrics = {name: metric.settings for name, metric in self.own.items() if isinstance(metric, Rubric)}
        rubrics = {**judging.rubrics, **{name: rubric for name, rubric in rubrics.items() if name in metrics}}
        judging = judging.model_copy(update={"metrics": names, "rubrics": rubrics})
        parts = parts.model_copy(update={"judging": judging, "refinement": refinement})
        return parts.order(kind, is_judged=is_judged).model_copy(update=inputs)


_LONGEST_QUESTION = 2_000


def checked_question(question: object) -> str:
    """Return a question on one line; raise `UsageError` for anything else."""
    if not isinstance(question, str):
        raise UsageError(f"the question is of the type {type(question).__name__}", hint="pass it as text")
    question = one_line(question)
    if not has_words(question):
        raise UsageError("the question is empty", hint="write it in words, such as: Why did the bank break?")
    if len(question) > _LONGEST_QUESTION:
        raise UsageError(f"the question has {len(question):,} characters", hint=f"use at most {_LONGEST_QUESTION:,}")
    return question


def order_of_question(
    settings: DraftConfig, judging: JudgeConfig, question: str, earlier: Sequence[Exchange] = ()
) -> Order:
    """Return the order to answer a question after the `earlier` ones. The answer is judged where a judge is named."""
    values = {"query": checked_question(question), "earlier": tuple(earlier)}
    return OrderParts(settings=settings, judging=judging).edited(values).order("ask")


def settings_to_ask(run: Run) -> tuple[DraftConfig, JudgeConfig]:
    """Return the settings by which a question is asked about the document of a run: with its models."""
    settings = run.settings.model_copy(update={"words": None, "chosen": "", "query": None, "earlier": ()})
    judging = run.judging or JudgeConfig()
    return settings, judging.model_copy(update={"pack": None, "keyfacts": None, "reference": None})


def exchanges_until(store: Store, key: str | None) -> tuple[Exchange, ...]:
    """Return the last questions with their answers, up to that of a run; none without a run."""
    if key is None:
        return ()
    answer = read_answer(store, key)
    latest = Exchange(question=answer.question, answer=answer.answer)
    return (*answer.result.settings.earlier, latest)[-MAX_EARLIER:]


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


def order_of_chapter(order: Order) -> Order:
    """Return the order for a chapter: that of the whole, with questions of its own."""
    if order.judging is None:
        return order
    judging = order.judging.model_copy(update={"pack": None, "keyfacts": None, "reference": None})
    return order_of_draft(judging, order.refinement, settings=order.settings, limits=order.limits)
