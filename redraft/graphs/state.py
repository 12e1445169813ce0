"""The input, state and output of the graphs. An order goes in, a result comes out, and between them the state holds ids
and small values: texts are in the store. The next step empties the channel of the order and of the result, so that only
one checkpoint has the texts of each."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Protocol, cast

from langgraph.channels import EphemeralValue
from langgraph.graph import StateGraph
from langgraph.runtime import Runtime
from langgraph.types import Command
from pydantic import GetPydanticSchema
from pydantic.json_schema import SkipJsonSchema
from pydantic_core.core_schema import any_schema
from typing_extensions import TypedDict

from redraft.domain import RoundState
from redraft.errors import UsageError
from redraft.events import bound, stream_to
from redraft.fields import option_of
from redraft.graphs.job import Job
from redraft.graphs.plan import Plan, Planner
from redraft.prompts.contract import Prompt
from redraft.settings import DraftConfig, JudgeConfig, RefineConfig, StrategyName

Update = dict[str, Any]
"""The changes that a node makes to the state."""
Scope = Literal["summarize", "evaluate", "refine"]
"""What a graph does with a draft: return it, judge it, or judge and refine it."""


class MetricVerdict(TypedDict):
    """What one metric says of a draft, in short; the findings are counted by kind."""

    outcome: str
    score: float | None
    judged: int
    unjudged: int
    findings: dict[str, int]


def merged(verdicts: Mapping[str, MetricVerdict] | None, new: Mapping[str, MetricVerdict]) -> dict[str, MetricVerdict]:
    """Merge the verdicts of concurrent metrics; an empty update clears them for the next draft."""
    return {**(verdicts or {}), **new} if new else {}


@dataclass(frozen=True, slots=True)
class Strategy:
    """A way of drafting.

    `graph` builds a graph whose nodes, made with `redraft.graphs.node`, work on a run that has begun; the last of them
    writes the id that `job.keep` returns into `draft`. `plan` returns the maximum number of calls, or raises a
    `PlanError` if the document does not fit. `prompts` are those that its summaries depend on; redraft's own are in
    `redraft.prompts.PROMPTS`.
    """

    name: str
    graph: Callable[[SessionProtocol | None], StateGraph[Any, Any, Any, Any]]
    plan: Callable[[Planner], Plan]
    prompts: tuple[Prompt[Any, Any], ...]


if TYPE_CHECKING:
    from redraft.graphs.options import Options as Options
else:
    # What a session is made with, and one of its runs cannot have otherwise.
    _of_a_session = {"model", "base_url", "key_env", "source_language", "replies", "metrics"}
    _of_a_session |= {"judges", "validator", "confirm", "decider"}
    _types = {
        name: field.annotation
        for part in (DraftConfig, JudgeConfig, RefineConfig)
        for name, field in part.model_fields.items()
        if (option_of(part, name) or name == "max_tokens") and name not in _of_a_session
    }
    # These may be passed as objects.
    _strategy = Annotated[Strategy, GetPydanticSchema(lambda _type, _handler: any_schema()), SkipJsonSchema()]
    _types |= {"strategy": StrategyName | _strategy, "prompts": str | Path, "embeddings": str | Path | None}
    Options = TypedDict("Options", _types, total=False)
    Options.__doc__ = """What one run may override of its session: fields of `DraftConfig`, `JudgeConfig` and
    `RefineConfig` by name. Models, addresses and keys are not among these: they are usually in the session's settings,
    but are accepted, with `judge_base_url` for `JudgeConfig.base_url`. A strategy of an installed package is named in
    `DraftConfig(strategy=...)`, or passed as an object. Type checkers read the stub file options.pyi, which
    `python docs/write_options.py` writes."""


class Task(Options, total=False):
    """The order that a graph carries out: a document, or a recorded run, with the options that differ from those of the
    session."""

    text: str
    """The text of a document."""
    source: str | Path | list[str | Path]
    """In place of the text: the path of a document, or the id of a stored one; or several, which are read as one."""
    summary: str | Path
    """The summary to judge or refine: its text, its path, or the id of its stored text."""
    recorded: str
    """The id of a recorded run, in place of a document."""
    metrics: list[str]


class GraphResult(TypedDict):
    """What a graph has made. Everything else about the run, such as its rounds, is in the store:
    `Session.result(run)`."""

    run: str
    status: str
    summary: str
    """The text of the summary."""
    scores: dict[str, float | None]
    """The scores of the summary by metric."""
    findings: list[dict[str, Any]]
    """What the metrics found in the summary, as JSON."""
    stop: str
    """Why the run has ended, such as `goals_met`."""


class GraphInput(TypedDict):
    """The input of a graph, and the only key that it reads from the state of a graph around it."""

    order: Annotated[Task, EphemeralValue]
    """Each order is for one start: the next one on the same thread begins a run of its own."""


class GraphOutput(TypedDict, total=False):
    """The output of a graph, and the only key that it writes to the state of a graph around it."""

    result: Annotated[GraphResult, EphemeralValue]


class GraphContext(TypedDict, total=False):
    """The context of a graph: a session, or anything with a session as its attribute or key `session`."""

    session: Annotated[Any, "a redraft.Session"]


class DraftOutput(TypedDict, total=False):
    """The output of a drafting strategy."""

    draft: str
    """The draft that was made last."""
    pieces: dict[str, int]
    """How many partial summaries there are, by level."""


class DraftState(DraftOutput, total=False):
    """The state of a drafting strategy; small, because it is in every checkpoint."""

    run: str


class State(RoundState, GraphOutput, DraftState, total=False):
    """The state of a run inside its graph, for resuming and for whoever streams it: ids and small values."""

    order: Annotated[Task, EphemeralValue]
    best: str
    first: str
    due: list[str]
    """The metrics that have yet to judge the latest draft."""
    metric: str
    """The metric that judges it in one of the steps that run concurrently."""
    judged: Annotated[dict[str, MetricVerdict], merged]
    """The verdicts on the latest draft."""
    standings: dict[str, str]
    """The status of each goal for the best draft: met, missed, or unsure if too few items have a verdict."""
    aims: list[str]
    to_fix: list[str]
    """The ids of the findings that the next revision is to fix, or that the last one was to fix."""
    accepted: bool
    reason: str
    """Why the latest draft was accepted or not."""
    next: str
    """The next node, once that has been decided."""
    stop: str
    """Why the run has ended; empty while it continues."""
    way: Literal["edit", "correct"]
    """How the round revises: `edit` writes the whole text anew, `correct` corrects single sentences."""
    mending: list[str]
    """The errors of the text that was just written, which are corrected before it is compared."""
    tried: list[str]
    """The findings on the best draft that rejected corrections were to fix."""
    dropped: list[str]
    """The findings that a person does not want fixed."""
    refused: int
    """How many revisions in a row were rejected."""
    by_hand: bool
    """Whether a person has written the latest draft."""


def new_refinement(first: str) -> Update:
    """Return the state in which the refinement of a first draft begins."""
    untried: Update = {"tried": [], "dropped": [], "mending": [], "refused": 0, "by_hand": False}
    return {**untried, "first": first, "instruction": "", "way": "edit"}


class GraphSession(Protocol):
    """What a graph needs of a session: to begin a run, to work on it, and to finish it."""

    async def begin(self, task: Task, scope: Scope) -> str:
        """Record a new run for the input of a graph; return its id."""
        ...

    def at_work(self, run: str) -> AbstractAsyncContextManager[Job]:
        """Work on a run; an interruption is recorded with it."""
        ...

    async def finish(self, run: str, draft: str, reason: str, why: str = "") -> str:
        """Finish the run with this draft; return the stop reason. `why` explains a stop that a model decided on."""
        ...


class SessionProtocol(Protocol):
    """A session as graphs take it: a `redraft.Session`."""

    @property
    def _runner(self) -> GraphSession: ...


_watched: ContextVar[bool] = ContextVar("redraft_watched", default=False)
Node = Callable[..., Awaitable[Update | Command[str]]]
Work = Callable[[Any, Job], Awaitable[Update | Command[str]]]
"""The work of a node: returns the changes of the state, or a command."""


def session_of(runtime: Runtime[Any], session: SessionProtocol | None) -> GraphSession:
    """Return the session that the graph was built with, or is run with."""
    context: Any = session or runtime.context
    if context is None:
        raise UsageError(
            "the graph was run without a session",
            hint="pass context=session, from `async with redraft.Session(...) as session`, also to resume",
        )
    # The context may be a session, a mapping or an object with one, or what a session hands to the graph of one run.
    within: Any = context.get("session") if isinstance(context, Mapping) else getattr(context, "session", context)
    runner: Any = getattr(within, "_runner", getattr(getattr(within, "session", None), "_runner", within))
    if hasattr(runner, "at_work"):
        return cast("GraphSession", runner)
    raise UsageError(
        f"the graph was run with a context of the type {type(context).__name__}, which is not a session",
        hint="pass a session, a context with one as its attribute `session`, or build the graph with session=",
    )


@contextmanager
def streaming(runtime: Runtime[Any]) -> Iterator[None]:
    """Stream events to the graph, and to the outer graph if this one is a subgraph of ours."""
    if _watched.get():
        yield
        return
    with bound(_watched, True), stream_to(runtime.stream_writer):
        yield


def refuse_new_order(state: Any) -> None:
    """Raise `UsageError` where an order was written into the state of a run that has begun: it would change nothing."""
    if state.get("order") is not None:
        raise UsageError(
            f"run {state['run']} has begun, and keeps the order that it began with",
            hint=f"leave `order` out; with other settings, `await session.fork({state['run']!r}, round, ...)`",
        )


def node(work: Work, session: SessionProtocol | None = None) -> Node:
    """Return a graph node that does `work` on a run."""

    async def at_work(state: Any, runtime: Runtime[Any]) -> Update | Command[str]:
        refuse_new_order(state)
        with streaming(runtime):
            async with session_of(runtime, session).at_work(state["run"]) as job:
                return await work(state, job)

    at_work.__name__ = work.__name__
    at_work.__doc__ = work.__doc__
    return at_work
