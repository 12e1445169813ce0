"""LangChain tools on a session for any agent: read the document, list findings, judge, revise."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Coroutine, Iterable, Sequence
from inspect import signature
from typing import Annotated, Any, cast, get_type_hints

from langchain_core.tools import BaseTool, StructuredTool, ToolException
from pydantic import BaseModel, ConfigDict, Field, create_model

from redraft.agents.judge import gather_all
from redraft.domain import REVIEW, Document, Draft, Finding, Round, Span, widened
from redraft.errors import Door, Fix, Raise, RedraftError, RunCommand, RunError, UsageError
from redraft.evaluators.metric_info import offline_checks
from redraft.fields import error_text, list_argument
from redraft.graphs.evaluation import metric, metric_verdict
from redraft.graphs.job import Job
from redraft.graphs.policy import findings_in, metric_scores
from redraft.graphs.refinement import confirm, revise, settle
from redraft.graphs.state import MetricVerdict, State, Update, new_refinement
from redraft.report.history.results import document_read, read_result
from redraft.runs.session import Session, runner_of
from redraft.settings import FIGURES, JudgeConfig, RefineConfig
from redraft.store.connection import off_loop
from redraft.store.runs import Run as StoredRun
from redraft.text.places import place_of
from redraft.text.retrieval import Passages
from redraft.text.sanitizer import one_line
from redraft.text.tokens import Tokenizer, tokenizer_named

Work = Callable[..., Coroutine[Any, Any, Any]]
MAX_FINDINGS, _LONGEST_READ, _MOST_NAMED = 50, 4000, 20

RunId = Annotated[str, Field(description="The id of the run, as every tool returns it.")]
Query = Annotated[str, Field(min_length=1, max_length=1000, description="What the passages should be about.")]
Count = Annotated[int, Field(ge=1, le=10, description="How many passages.")]
Start = Annotated[int, Field(ge=0, description="The first character.")]
End = Annotated[int, Field(gt=0, description=f"The character after the last; at most {_LONGEST_READ} are read.")]
FindingIds = Annotated[list[str], Field(min_length=1, max_length=MAX_FINDINGS, description="The ids of the findings.")]
Instruction = Annotated[str, Field(max_length=2000, description="Additional instructions for the reviser.")]
Reason = Annotated[str, Field(max_length=100, description="The reason in a word or two.")]
MetricName = Annotated[str | None, Field(description="Only findings of this metric.")]


class ToolDoor(Door):
    """The next step in arguments of tools and in tools. Where it takes a command, which agents lack, there is none, and
    a limit is for the user to raise."""

    def render(self, advice: Iterable[str | Fix]) -> str:
        parts = tuple(advice)
        if limit := next((part for part in parts if isinstance(part, Raise)), None):
            return f"only the user can raise `{limit.name}`: finish with what there is, and say so"
        commands = [part for part in parts if isinstance(part, RunCommand)]
        return "" if any(part.command != "resume" for part in commands) else super().render(parts)

    def setting(self, name: str, value: object) -> str:
        words = f"{value:g}" if isinstance(value, float) else value
        return f"`{name}`" if value is None else f"`{name}`={words}"

    def command(self, command: str, run: str, more: Sequence[str]) -> str:  # noqa: ARG002
        return f"call {command}" + (f" with run {run}" if run else "")


TOOL = ToolDoor()


def check_of_runs(session: Session, runs: Sequence[str] = ()) -> Callable[[str], str]:
    """Return a function that raises `RunError` for a run that a language model may not see, whether or not there is
    one: it may see those that its session has begun, and `runs`, which are full ids of stored runs."""
    begun, passed = runner_of(session).begun, list_argument(runs, "runs")
    for run in passed:
        if session.store.runs.get(run).id != run:
            raise UsageError(f"{run!r} is not the full id of a run", hint="pass result.run.id")

    def check(run: str) -> str:
        visible = dict.fromkeys([*passed, *begun])
        if run in visible:
            return run
        latest = ", ".join([*visible][-_MOST_NAMED:])
        hint = f"your runs are: {latest}" if visible else "no run has been started yet"
        raise RunError(f"you have no run with the id {one_line(run, 40)!r}", hint=hint)

    return check


FoundPassage = create_model("FoundPassage", start=int, end=int, place=str, text=str)
"""Words of the document, and where they stand."""


def find_passages(document: Document, tokenizer: Tokenizer, query: str, count: int) -> list[BaseModel]:
    """Return the passages of a document nearest to a query, the nearest first."""
    return [_passage(document, span) for span in Passages(document, tokenizer).nearest(query, count)]


def _passage(document: Document, span: Span) -> BaseModel:
    text = document.text[span.start : span.end]
    return FoundPassage(start=span.start, end=span.end, place=place_of(document, span), text=text)


FoundPassages = create_model("FoundPassages", run=str, passages=list[FoundPassage])
"""The passages found, nearest first."""
Findings = create_model("Findings", run=str, findings=list[Finding], more=(int, 0))
"""The findings on the draft; `more` are not listed."""
MetricReport = create_model(
    "MetricReport", run=str, metric=str, reason=str, offline_check=bool, **get_type_hints(MetricVerdict)
)
"""One metric's evaluation of the draft, in short, and whether the built-in model judged its own summary."""


_OF_ROUND: dict[str, Any] = {"run": str, "round": int, "scores": dict[str, float | None], "offline_check": bool}
"""The scores of the best draft after a round, and whether the built-in model judged its own summary."""
DraftReport = create_model("DraftReport", **_OF_ROUND, words=int, text=str)
"""The best draft so far."""
RevisionReport = create_model("RevisionReport", **_OF_ROUND, accepted=bool, reason=str)
"""The result of a revision: whether and why it was accepted."""
FinishReport = create_model("FinishReport", run=str, stop_reason=str, words=int)
"""The run has ended."""


def tools(session: Session, runs: Sequence[str] = ()) -> list[BaseTool]:
    """Return the tools of a session. Each works on a run, named by its full id: one that `session` has begun, or one of
    `runs`. No other run of the database is read or changed.

    Arguments and results are pydantic models: a tool message has the result as JSON content and the result itself as
    artifact. Errors are returned to the agent as a sentence. No tool returns a whole document. Tool calls are recorded
    with the run and count against its limits; cancelling a tool stops its work.
    """
    check = check_of_runs(session, runs)

    def tool(work: Work, parameters: type[BaseModel]) -> BaseTool:
        async def call(**arguments: Any) -> tuple[str, BaseModel]:
            try:
                check(arguments["run"])
                answer = await work(**arguments)
            except RedraftError as error:
                advice = TOOL.render(error.fix)
                raise ToolException(f"{error}{f' ({advice})' if advice else ''}") from error
            return answer.model_dump_json(), answer

        return StructuredTool.from_function(
            coroutine=call,
            name=work.__name__,
            description=work.__doc__,
            args_schema=parameters,
            response_format="content_and_artifact",
            handle_tool_error=True,
            handle_validation_error=lambda error: (
                f"{'.'.join(map(str, error.errors()[0]['loc']))}: {error_text(error.errors()[0])}"
            ),
        )

    return [tool(*entry) for entry in tool_table(run_tools(session)).values()]


def tool_table(works: Iterable[Work]) -> dict[str, tuple[Work, type[BaseModel]]]:
    """Return the functions of tools by name, each with its parameters."""
    works_by_name: dict[str, tuple[Work, type[BaseModel]]] = {}
    for work in works:
        types = get_type_hints(work, include_extras=True)
        fields: dict[str, Any] = {
            name: (types[name], ... if parameter.default is parameter.empty else parameter.default)
            for name, parameter in signature(work).parameters.items()
        }
        parameters = create_model(work.__name__, __config__=ConfigDict(extra="forbid"), **fields)
        works_by_name[work.__name__] = work, parameters
    return works_by_name


def run_tools(session: Session) -> list[Work]:
    """Return the functions of the tools that work on a run of a session, whose names and docstrings are the tools'."""
    of_run = _RunTools(session)
    works = (of_run.find_passages, of_run.read_span, of_run.list_findings, of_run.current_draft, of_run.revise)
    return [*works, of_run.finish, *map(of_run.judging, session.metrics())]


class _RunTools:
    """The implementation of the tools: methods have their names, and docstrings that say to an agent what they do."""

    def __init__(self, session: Session) -> None:
        self._runner, self._store = runner_of(session), session.store
        # An agent may make several calls at once: revisions of the best draft are made one after the other.
        self._turns: dict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def find_passages(self, run: RunId, query: Query, count: Count = 3) -> BaseModel:
        """Find the passages of the document that are nearest to a query."""
        stored_run = await off_loop(self._store.runs.get, run)
        document = await off_loop(document_read, self._store, stored_run)
        tokenizer = await off_loop(tokenizer_named, stored_run.tokenizer)
        passages = await off_loop(find_passages, document, tokenizer, query, count)
        return FoundPassages(run=run, passages=passages)

    async def read_span(self, run: RunId, start: Start, end: End) -> BaseModel:
        """Read the document from one character to another."""
        stored_run = await off_loop(self._store.runs.get, run)
        document = await off_loop(self._store.documents.get, stored_run.document)
        length = len(document.text)
        # No request reads a whole document, however short.
        last = min(end, start + min(_LONGEST_READ, (length + 1) // 2), length)
        if start >= last:
            raise UsageError(
                f"there is nothing from character {start:,} to {end:,}", hint=f"the document has {length:,} characters"
            )
        return _passage(document, Span(start, last))

    async def list_findings(self, run: RunId, metric: MetricName = None) -> BaseModel:
        """List the findings of the metrics on the best draft."""
        draft = (await self._best(run))[1]
        evaluations = await off_loop(self._store.judgments.of, draft.id)
        if metric is not None and metric not in evaluations:
            names = ", ".join(sorted(evaluations.keys() - set(FIGURES))) or "nothing"
            raise UsageError(
                f"the draft has not been judged by {metric!r}, but by {names}", hint="each metric has a tool of its own"
            )
        chosen = [evaluation for name, evaluation in evaluations.items() if metric in (None, name)]
        findings = [finding for evaluation in chosen for finding in evaluation.findings]
        more = max(0, len(findings) - MAX_FINDINGS)
        return Findings(run=run, findings=findings[:MAX_FINDINGS], more=more)

    async def current_draft(self, run: RunId) -> BaseModel:
        """Show the best draft of the summary so far, with its scores."""
        stored_run, best = await self._best(run)
        scores = (await off_loop(read_result, self._store, run)).scores
        itself = _judges_itself(stored_run, best.round, scores)
        return widened(DraftReport, best, run=run, scores=scores, offline_check=itself)

    async def _best(self, run: str) -> tuple[StoredRun, Draft]:
        """Return a run and its best draft."""
        stored_run = await off_loop(self._store.runs.get, run)
        return stored_run, await off_loop(self._store.runs.draft, stored_run.drafted())

    def judging(self, metric: str) -> Work:
        async def judge(run: RunId) -> BaseModel:
            async with self._runner.at_work(run, visits=True) as job:
                best, judging = (await self._best(run))[1], await off_loop(job.with_metrics, [metric])
                evaluation = await judging.judges.judge_by(metric, best.id)
                itself = _judges_itself(job.run, best.round, [metric])
                short = metric_verdict(evaluation)
                return MetricReport(run=run, metric=metric, reason=evaluation.reason, offline_check=itself, **short)

        judge.__name__, judge.__doc__ = f"judge_{metric}", f"Judge the best draft by the metric {metric}."
        return judge

    async def revise(self, run: RunId, findings: FindingIds, instruction: Instruction = "") -> BaseModel:
        """Fix findings in a revision, which is accepted only if it improves the scores."""
        await self._best(run)
        async with self._turns[run], self._runner.at_work(run, visits=True) as job:
            state = await _revised(job, findings, instruction)
            itself = _judges_itself(job.run, state["round"], state["scores"])
        return RevisionReport(**state, offline_check=itself)

    async def finish(self, run: RunId, reason: Reason = "finished") -> BaseModel:
        """End the run with the best draft."""
        async with self._turns[run]:
            best = (await self._best(run))[1]
            stop_reason = await self._runner.finish(run, best.id, one_line(reason, 100) or "finished")
        return FinishReport(run=run, stop_reason=stop_reason, words=best.words)


async def _revised(job: Job, findings: Sequence[str], instruction: str) -> State:
    """Fix findings on the best draft in a round of its own, judge it, and accept it if it gains. The revision is judged
    by the run's metrics and by those behind the findings. A run that a graph is in the middle of is refused: the graph
    would go on from what it knows."""
    run = await off_loop(job.store.runs.get, job.run.id)
    if run.status != "done":
        raise RunError(
            f"run {run.id} is {run.status}, and can only be revised when it is done", hint="wait until it is done"
        )
    if run.draft is None or run.judging is None:
        raise RunError(f"run {run.id} has no judged draft", hint="start it with metrics or goals")
    evaluations = await job.judged(run.draft)
    metric_by_finding = {
        finding.id: finding.metric for evaluation in evaluations.values() for finding in evaluation.findings
    }
    if unknown := [key for key in findings if key not in metric_by_finding]:
        raise UsageError(f"there is no finding {unknown[0]!r} on the best draft", hint="list_findings has their ids")

    aims = list(dict.fromkeys(metric_by_finding[key] for key in findings))
    metrics = tuple(dict.fromkeys([*run.judging.metrics, *(aim for aim in aims if aim != REVIEW)]))
    job = await off_loop(job.with_metrics, metrics)
    rounds = await off_loop(job.store.rounds.of, run.id)
    if not rounds:
        rounds = [Round(0, run.draft, accepted=True, reason="the first draft")]
        await job.keep_round(rounds[0])
    best: Update = {"draft": run.draft, "best": run.draft, "scores": metric_scores(evaluations)}
    of_round: Update = {"run": run.id, "round": rounds[-1].number, "way": "correct", "why": ""}
    task: Update = {"aims": aims, "to_fix": list(findings), "instruction": instruction}
    state = cast("State", {**new_refinement(rounds[0].draft), **best, **of_round, **task})

    await confirm(state, job, state["best"], findings_in(evaluations, findings))
    state["to_fix"] = [finding.id for finding in findings_in(await job.judged(state["best"]), findings)]
    if not state["to_fix"]:
        raise UsageError(
            "a second look at the document overruled these findings: they are withdrawn",
            hint="list_findings has those that are left",
        )
    state = cast("State", {**state, **await revise(state, job)})
    await gather_all([metric({**state, "metric": evaluator.name}, job) for evaluator in job.judges.evaluators])
    if job.failures:
        raise next(iter(job.failures.values()))
    return cast("State", {**state, **await settle(state, job)})


def _judges_itself(run: StoredRun, round_: int, metrics: Iterable[str]) -> bool:
    """Return whether the built-in model alone judges its own draft by these metrics."""
    judging = (run.judging or JudgeConfig()).model_copy(update={"metrics": tuple(metrics)})
    refinement = run.refinement or (RefineConfig(goals={}) if round_ else None)
    return bool(offline_checks(run.settings, judging, refinement))
