"""For the tests of an application: scores that a summary must have, and models whose replies are recorded in a file."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from redraft import errors
from redraft.domain import Document, Evaluation, Usage
from redraft.errors import ModelError, ProviderError, ReplyError, UsageError
from redraft.evaluators.base import Metric, as_evaluator
from redraft.evaluators.metric_info import MIN_SHARE, goal_status
from redraft.fields import list_argument
from redraft.llm.base import FunctionModel as FunctionModel
from redraft.llm.base import Reply, Request, Sampling
from redraft.llm.base import ScriptedModel as ScriptedModel
from redraft.llm.base import ScriptError as ScriptError
from redraft.llm.recorded import request_key, text_of, value_in
from redraft.prompts.contract import InputT, ValueT
from redraft.report.history.results import Result, document_read
from redraft.report.markdown.evaluation import judgment_markdown, plain
from redraft.runs.models import ModelLike, model_roles, open_model, resolve
from redraft.runs.order import Sources
from redraft.runs.session import Session, SyncSession
from redraft.settings import DraftConfig, JudgeConfig, Limits
from redraft.sources import MAX_BYTES, read_file
from redraft.store.connection import off_loop
from redraft.text.sanitizer import one_line
from redraft.text.words import score

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
        by_name = [name for name in goals if name not in {as_evaluator(metric).name for metric in objects}]
        result = judge.evaluate(source, text, metrics=[*objects, *by_name], judging=judging)
        evaluations = result.evaluations
        short = {
            name: evaluations[name]
            for name, least_score in goals.items()
            if goal_status(evaluations[name], least_score, MIN_SHARE) != "met"
        }
        if not short:
            return result
        message = "\n".join(_lines(result, short, goals, document_read(judge.store, result.run)))
    raise AssertionError(message)


def _lines(
    result: Result, short: Mapping[str, Evaluation], goals: Mapping[str, float], document: Document
) -> Iterator[str]:
    """Yield the scores that are too low, in one line for pytest's own summary, and the findings of each metric."""
    yield "; ".join(
        f"{name} has no score"
        if evaluation.score is None
        else f"{name} {score(evaluation.score)}, not {score(goals[name])}"
        for name, evaluation in short.items()
    )
    yield f"the summary of {one_line(result.title, 80)}, judged by {one_line(', '.join(result.judges), 80)}"
    for name, evaluation in short.items():
        if evaluation.score is None and evaluation.outcome == "measured":
            yield f"{name}: it gives figures and no score"
        elif evaluation.score is not None and evaluation.score >= goals[name]:
            yield f"{name}: only {evaluation.judged} of {evaluation.judged + evaluation.unjudged} items have a verdict"
    yield plain(judgment_markdown(short, document, rest="see its result"))


_FLAGS = ("formless", "nameless")
# Errors that are recorded: the model has replied, and redraft's next request depends on what is wrong with the reply.
_REPLIES: dict[str, type[ReplyError]] = {
    kind.code: kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, ReplyError)
}


class Recording:
    """A model that replays the replies in a file: `Recording("judge.jsonl", "openai:gpt-5-mini")`.

    With `record=True` the model is asked for what the file lacks, and its replies are added. Without it no request is
    ever sent, and a run that needs another reply ends with a `ModelError`. A file may hold the replies of several
    models; `model` may be left out if it holds those of one. Replayed replies cost nothing and have no tokens. The
    session's store must not know the replies from earlier runs, so use a new one, such as ":memory:". The file contains
    what models quote from documents.
    """

    def __init__(self, path: str | Path, model: ModelLike | None = None, *, record: bool = False) -> None:
        self.path = Path(path)
        self._entries = _read(self.path)
        self._roles = model_roles(model, (), None, None)
        self._record = record
        self._writing = threading.Lock()
        models = {str(entry["model"]) for entry in self._entries.values()}
        if self._roles.model is None and (record or len(models) != 1):
            raise UsageError(
                f"the recording {self.path} holds the replies of {len(models) or 'no'} models",
                hint=f'name the model: redraft.testing.Recording("{self.path}", "openai:gpt-5-mini")',
            )
        self.identity: str = self._roles.model or models.pop()
        """The model's name, or the identity of a model object."""
        self.is_free = not record
        self.replayed = 0
        """The number of replies that came from the file."""

    def most_tokens(self, sampling: Sampling) -> int:
        """Return the most tokens of a visible reply, or 0 if nothing is recorded."""
        return sampling.max_tokens or 0 if self._record else 0

    async def ask(self, request: Request[InputT, ValueT]) -> Reply[ValueT]:
        """Return the recorded reply; or record it, if that is wanted."""
        # A reply that was cut off and the next one, which has more room, are two entries.
        key = request_key(request, self.identity, limited=True)
        if (entry := self._entries.get(key)) is not None:
            self.replayed += 1
            text, finish_reason = entry["reply"], str(entry.get("finish_reason", "stop"))
            if (code := entry.get("error")) is not None:
                kind = _REPLIES.get(str(code), ReplyError)
                failure = kind(str(entry.get("message")), text=text, usage=Usage(), finish_reason=finish_reason)
                for flag in {*_FLAGS}.intersection(entry.get("flags", ())):
                    setattr(failure, flag, True)
                raise failure
            try:
                return Reply(value_in(request, text), text, Usage(), finish_reason)
            except ValueError as problem:
                message = f"a reply in the recording does not fit the prompt {request.prompt.name}"
                raise ModelError(message, place=request.label, hint="delete the file, and record again") from problem
        if not self._record:
            raise ProviderError(
                f"the recording {self.path} has no reply of {self.identity} to this request"
                f" ({request.label or request.prompt.name})",
                hint="record it: pytest --redraft-record, or redraft.testing.Recording(..., record=True)",
            )
        entry = {"key": key, "model": self.identity, "prompt": request.prompt.name, "label": request.label}
        try:
            if (model := self._roles.objects.get(self.identity)) is not None:
                reply = await model.ask(request)
            else:
                settings = resolve(self._roles.settings(DraftConfig()))
                # For each request, because a recording is not closed, and the next may be made on another loop.
                async with open_model(settings, seconds=Limits().timeout) as opened:
                    reply = await opened.ask(request)
        except ReplyError as error:
            flags = [flag for flag in _FLAGS if getattr(error, flag, False)]
            failed = {"error": error.code, "message": error.message, "flags": flags}
            await off_loop(self._add, entry | {"reply": error.text, "finish_reason": error.finish_reason} | failed)
            raise
        await off_loop(self._add, entry | {"reply": text_of(request, reply), "finish_reason": reply.finish_reason})
        return reply

    def _add(self, entry: dict[str, Any]) -> None:
        with self._writing:
            self._entries[entry["key"]] = entry
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(entry, ensure_ascii=False) + "\n")


def _read(path: Path) -> dict[str, dict[str, Any]]:
    """Return the entries of a recording by their keys; empty if there is no file yet."""
    if not path.exists():
        return {}
    try:
        lines = read_file(path, MAX_BYTES).decode().split("\n")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise UsageError(f"cannot be read: {reason}", place=str(path)) from error
    entries: dict[str, dict[str, Any]] = {}
    for number, line in enumerate(lines, 1):
        try:
            if line.strip():
                entry = json.loads(line)
                entries[str(entry["key"])] = {"model": str(entry["model"]), "reply": str(entry["reply"]), **entry}
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            hint = "delete the line, and record again"
            raise UsageError(f"line {number} is not a recorded reply", place=str(path), hint=hint) from error
    return entries
