"""Blocking calls and an assertion, for scripts, notebooks and tests that need no session of their own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from typing_extensions import Unpack

from redraft.domain import Document, Evaluation, Finding
from redraft.errors import UsageError
from redraft.evaluators.base import Metric, as_evaluator
from redraft.evaluators.metric_info import MIN_SHARE, goal_status
from redraft.fields import list_argument
from redraft.llm.langsmith import Tracing
from redraft.report.history.citations import Answer
from redraft.report.history.results import Result, document_read
from redraft.report.markdown.evaluation import judgment_markdown
from redraft.report.markdown.layout import plain
from redraft.runs.inputs import Sources
from redraft.runs.session import Session, SessionCall, SessionOptions, SyncSession
from redraft.settings import JudgeConfig
from redraft.store.store import Store
from redraft.text.sanitizer import one_line
from redraft.text.words import score


class AllOptions(SessionOptions, SessionCall, total=False):
    """The arguments of `Session`, and those of its methods."""

    store: Store | str | Path | None


def summarize(source: Sources, **options: Unpack[AllOptions]) -> Result:
    """Draft a summary, judge it if there are `metrics`, and refine it if there are `goals`:
    `redraft.summarize("book.md", model="openai:gpt-5-mini", words=300)`. The arguments are those of `Session` and
    `Session.summarize`. The run is stored in the default database, or in `store`, and can be resumed if it is
    interrupted."""
    of_session, of_run = _divided(options)
    of_both = {name: of_session[name] for name in ("metrics", "judging") if name in of_session}
    with Session(**of_session) as session:
        return session.summarize(source, **of_both, **of_run)


def evaluate(source: Sources, summary: str | Path, **options: Unpack[AllOptions]) -> Result:
    """Judge a summary, its text or the `Path` of its file, with the arguments of `Session` and `Session.evaluate`."""
    of_session, of_run = _divided(options)
    with Session(**of_session) as session:
        return session.evaluate(source, summary, **of_run)


def refine(
    source: Sources, summary: str | Path, *, findings: Sequence[Finding] = (), **options: Unpack[AllOptions]
) -> Result:
    """Refine a summary until it meets its goals; the arguments are those of `Session` and `Session.refine`."""
    of_session, of_run = _divided(options)
    with Session(**of_session) as session:
        return session.refine(source, summary, findings=findings, **of_run)


def ask(source: Sources, question: str, **options: Unpack[AllOptions]) -> Answer:
    """Answer a question about a document; the arguments are those of `Session` and `Session.ask`."""
    of_session, of_run = _divided(options)
    with Session(**of_session) as session:
        return session.ask(source, question, **of_run)


def _divided(options: AllOptions) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the arguments of the session, and those of the run."""
    arguments = dict(options)
    of_session = {name: value for name, value in arguments.items() if name in _OF_SESSION}
    return of_session, {name: value for name, value in arguments.items() if name not in of_session}


_OF_SESSION = {"store", *SessionOptions.__annotations__} - {*Tracing.__annotations__}
SESSIONS: list[SyncSession] = []
"""The sessions of the pytest plugin that are open; the last one is that of assertions that are given none. This is not
a context variable, because an asynchronous test may run in another context than its fixtures."""
_USUAL = {"consistency": 0.9, "coverage": 0.5}


def assert_summary(
    source: Sources,
    text: str,
    *,
    metrics: Sequence[Metric] = (),
    session: SyncSession | None = None,
    judging: JudgeConfig | None = None,
    **least: float,
) -> Result:
    """Raise `AssertionError` unless a summary has at least these scores:
    `assert_summary("book.md", text, consistency=0.9, coverage=0.5)`, which are also the defaults.

    `metrics` are further metrics by name or as objects; one that has no score here must reach 1. The message lists the
    findings of each metric that falls short. A metric without a score fails, and the message says why it has none. The
    session is that of the fixture `redraft_session` where that is used, or else a new one with the built-in judge.
    """
    __tracebackhide__ = True
    metrics = list_argument(metrics, "metrics")
    if not isinstance(session, SyncSession | None):
        raise UsageError(
            f"session is of the type {type(session).__name__}",
            hint="open it with `with redraft.Session(...) as session`",
        )
    names = [metric if isinstance(metric, str) else as_evaluator(metric).name for metric in metrics]
    goals = {**dict.fromkeys(names, 1.0), **least} or _USUAL
    if wrong := [name for name, value in goals.items() if not (isinstance(value, float | int) and 0 <= value <= 1)]:
        raise UsageError(f"{wrong[0]}={goals[wrong[0]]!r} is not a score from 0 to 1", hint=f"write {wrong[0]}=0.9")
    objects = [metric for metric in metrics if not isinstance(metric, str)]
    with ExitStack() as stack:
        judge = session or (SESSIONS[-1] if SESSIONS else stack.enter_context(Session()))
        names_and_objects = [
            *objects,
            *(name for name in goals if name not in {as_evaluator(one).name for one in objects}),
        ]
        result = judge.evaluate(source, text, metrics=names_and_objects, judging=judging)
        short = {name: one for name, least_score in goals.items()
                 if goal_status(one := result.evaluations[name], least_score, MIN_SHARE) != "met"}  # fmt: skip
        if not short:
            return result
        message = "\n".join(_lines(result, short, goals, document_read(judge.store, result.run)))
    raise AssertionError(message)


def _lines(
    result: Result, short: Mapping[str, Evaluation], goals: Mapping[str, float], document: Document
) -> Iterator[str]:
    """Yield the scores that are too low, in one line for pytest's own summary, and the findings of each metric."""
    yield "; ".join(
        f"{name} has no score" if one.score is None else f"{name} {score(one.score)}, not {score(goals[name])}"
        for name, one in short.items()
    )
    yield f"the summary of {one_line(result.title, 80)}, judged by {one_line(', '.join(result.judges), 80)}"
    for name, evaluation in short.items():
        if evaluation.score is None and evaluation.outcome == "measured":
            yield f"{name}: it gives figures and no score"
        elif evaluation.score is not None and evaluation.score >= goals[name]:
            yield f"{name}: only {evaluation.judged} of {evaluation.judged + evaluation.unjudged} items have a verdict"
    yield plain(judgment_markdown(short, document, rest="see its result"))
