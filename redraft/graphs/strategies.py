"""The drafting strategies: direct, hierarchical, incremental, and those of other packages."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from typing import Any

from langgraph.config import get_config
from langgraph.graph import START, StateGraph
from langgraph.runtime import Runtime
from langgraph.types import Command

from redraft import plugins
from redraft.domain import NOT_FOUND, NOT_SAID, UNANSWERED, Evaluation, Parent
from redraft.errors import IncompleteError, RunCommand, RunError, Set, UsageError
from redraft.events import StageStarted
from redraft.graphs.hierarchical import hierarchical_graph
from redraft.graphs.job import Job
from redraft.graphs.plan import OVERFLOW, Plan, Planner, running_target
from redraft.graphs.state import DraftOutput, DraftState, SessionProtocol, Strategy, Update, Work, node, session_of
from redraft.prompts import summarization
from redraft.prompts.qa import WRITE_ANSWER
from redraft.prompts.summarization import OUTLINE
from redraft.settings import ANSWER, AUTO, EXTRACTIVE, GIVEN_STRATEGY, DraftConfig
from redraft.store.connection import off_loop
from redraft.store.runs import Run
from redraft.text.words import has_words


async def summarize(state: DraftState, job: Job) -> Update:
    """Ask once for a summary of everything."""
    text, words = job.document.text[slice(*job.read)], job.plan.words
    completion = await job.writer.summarize_whole(text, words, "document", cap=job.run.settings.token_cap(words))
    if not completion.text:
        fix = ("try another ", Set("model"), ", or another ", Set("strategy"))
        raise IncompleteError("every reply was empty", fix=fix)
    if job.writer.says_nothing(completion.text):
        raise await job.nothing_written()
    chunks = (0, len(job.chunks) - 1)
    piece = await job.piece(completion, 0, 0, chunks, job.plan.words, [job.whole()])
    draft = await job.keep(completion.text, "direct", (completion.flaw,) if completion.flaw else (), [piece])
    return {"draft": draft, "pieces": {"0": 1}}


def _graph_of_one(work: Work, session: SessionProtocol | None) -> StateGraph[DraftState, Any, DraftState, DraftOutput]:
    graph = StateGraph(DraftState, output_schema=DraftOutput)
    graph.add_node(work.__name__, node(work, session))
    graph.add_edge(START, work.__name__)
    return graph


class RunningState(DraftState, total=False):
    """The state of incremental drafting."""

    read: int
    """The number of chunks read."""
    running: str
    """The id of the text of the running summary."""


async def start(state: RunningState, job: Job) -> Update:
    """Begin with nothing read."""
    return {"read": 0, "running": ""}


async def read_chunk(state: RunningState, job: Job) -> Command[str]:
    """Update the running summary with the next chunk; a chunk that the model declines is left out and recorded."""
    index, count = state["read"], len(job.chunks)
    excerpt = job.excerpt(job.chunks[index])
    passed: Update = {"read": index + 1}
    onward = "read_chunk" if index + 1 < count else "tidy"
    if not has_words(excerpt):
        return Command(update=passed, goto=onward)
    target = running_target(job.plan.words, index, count)
    room = int(job.plan.words * OVERFLOW)
    place, where = f"chunk {index + 1}/{count}", job.place(job.chunks[index])
    if state["running"]:
        summary = await job.text(state["running"])
        writing = job.writer.update(excerpt, summary, target, room, place, place=where)
    else:
        writing = job.writer.begin(excerpt, target, room, place, place=where)
    completion = await job.completion(index, writing, place)
    if completion is None or job.writer.says_nothing(completion.text):
        return Command(update=passed, goto=onward)
    running = [await job.as_parent(state["running"], "running")] if state["running"] else []
    parents = [*running, job.part(job.chunks[index])]
    piece = await job.piece(completion, 0, index, (0, index), target, parents)
    update = {**passed, "running": await job.keep_text(piece.text), "pieces": {"0": index + 1}}
    return Command(update=update, goto="compress" if job.is_too_long(piece) else onward)


async def compress(state: RunningState, job: Job) -> Command[str]:
    """Compress a running summary that has outgrown the limit back to its target."""
    index, count = state["read"] - 1, len(job.chunks)
    target = running_target(job.plan.words, index, count)
    place = f"compress after chunk {index + 1}/{count}"
    text, limit = await job.text(state["running"]), job.plan.words
    completion = await job.writer.compress(text, target, limit, place, cap=job.run.settings.token_cap(limit))
    running = await job.as_parent(state["running"], "running")
    piece = await job.piece(completion, 0, index, (0, index), target, [running], step=1)
    onward = "read_chunk" if state["read"] < count else "tidy"
    return Command(update={"running": await job.keep_text(piece.text)}, goto=onward)


async def tidy(state: RunningState, job: Job) -> Update:
    """Remove the traces of the process, and keep the result as the run's draft."""
    if not state["running"]:
        raise await job.nothing_written()
    return {"draft": await job.keep_tidied(state["running"], "incremental", "running")}


def incremental_graph(session: SessionProtocol | None = None) -> StateGraph[RunningState]:
    """Return the uncompiled graph; its nodes work on a run that has begun."""
    graph = StateGraph(RunningState)
    graph.add_node("start", node(start, session))
    graph.add_node("read_chunk", node(read_chunk, session), destinations=("read_chunk", "compress", "tidy"))
    graph.add_node("compress", node(compress, session), destinations=("read_chunk", "tidy"))
    graph.add_node("tidy", node(tidy, session))
    graph.add_edge(START, "start")
    graph.add_edge("start", "read_chunk")
    return graph


async def answer(state: DraftState, job: Job) -> Update:
    """Answer the run's question; keep the answer as its draft, and store its citations."""
    job.observe(StageStarted("answering", 1))
    answer = await job.answerer.answer(job.run.settings.query or "", job.plan.words)
    cited = [Parent("excerpt", job.document.id, place) for place in answer.places]
    silent = NOT_FOUND if job.run.settings.model == EXTRACTIVE else NOT_SAID
    text, made_by = (answer.text, ANSWER) if answer.answered else (silent, UNANSWERED)
    draft = await job.keep(text, made_by, answer.notes, cited)
    evaluation = Evaluation(ANSWER, 1, "measured", details=answer.model_dump(mode="json"))
    await off_loop(job.store.judgments.keep, draft, evaluation)
    return {"draft": draft}


_ANOTHER = "another"
_NAME = re.compile(r"[^\W\d][\w-]*")
# Separates the version of redraft from the package of a strategy.
_WITH = " with "
_OWN = (
    Strategy(
        "hierarchical",
        hierarchical_graph,
        Planner.hierarchical,
        (summarization.SUMMARIZE_CHUNK, summarization.MERGE, summarization.MERGE_ONWARD, OUTLINE, summarization.TIDY),
    ),
    Strategy(
        "incremental",
        incremental_graph,
        Planner.incremental,
        (summarization.BEGIN, summarization.UPDATE, summarization.COMPRESS, summarization.TIDY),
    ),
    Strategy("direct", partial(_graph_of_one, summarize), Planner.direct, (summarization.SUMMARIZE_WHOLE,)),
)
_ANSWERING = Strategy(ANSWER, partial(_graph_of_one, answer), Planner.empty_plan, (WRITE_ANSWER,))
STRATEGIES: dict[str, Strategy] = {strategy.name: strategy for strategy in _OWN}
"""The strategies of redraft by name."""

_KIND: plugins.Kind = "strategies"
_TAKEN = frozenset({*STRATEGIES, AUTO, GIVEN_STRATEGY, ANSWER})
_objects: dict[str, Strategy] = {}
"""The strategies that were passed as objects, by name; of several with one name, the last."""


def name_of(strategy: str | Strategy) -> str:
    """Return the name of a strategy. One that is passed as an object is found by its name from now on."""
    if isinstance(strategy, str):
        return strategy
    if not isinstance(strategy, Strategy):
        raise UsageError(f"{strategy!r:.80} is not a strategy", hint="name one, or pass a redraft.graphs.Strategy")
    name = strategy.name
    registered = plugins.load(_KIND, name) if name in plugins.names(_KIND) else STRATEGIES.get(name)
    if registered is strategy:
        return name
    if registered or name in _TAKEN or not _NAME.fullmatch(name):
        raise UsageError(
            f"your own strategy cannot be named {name!r}",
            hint="use letters, digits, hyphens and underscores, and no name of another strategy",
        )
    _objects[name] = strategy
    return name


def is_object(strategy: str) -> bool:
    """Return whether the strategy of this name was passed as an object, so that other processes do not know it."""
    return strategy in _objects


def strategy_named(strategy: str | Strategy) -> Strategy:
    """Return the strategy of this name: passed as an object, of redraft, or of an installed package."""
    name = name_of(strategy)
    plugins.refuse_taken(_KIND, _TAKEN)
    if own := {ANSWER: _ANSWERING, **STRATEGIES, **_objects}.get(name):
        return own
    installed = plugins.names(_KIND)
    if name not in installed:
        *first_names, last = [*STRATEGIES, *installed]
        raise UsageError(
            f"there is no strategy {name!r}; choose from {', '.join(first_names)} and {last}",
            hint="a strategy of another package is available once that package is installed",
        )
    strategy = plugins.load(_KIND, name)
    if not isinstance(strategy, Strategy) or strategy.name != name:
        problem = f"is not a strategy but {strategy!r:.80}"
        what = f"calls itself {strategy.name}" if isinstance(strategy, Strategy) else problem
        raise UsageError(
            f"the strategy {name} of the package {plugins.package_of(_KIND, name)} {what}",
            hint="an entry point of redraft.strategies must have the name of its redraft.graphs.Strategy",
        )
    return strategy


def chosen_graph(session: SessionProtocol | None = None) -> StateGraph[DraftState]:
    """Return the uncompiled graph that drafts by the strategy on record: redraft's own, each a node, or `another`."""

    async def choose(state: DraftState, runtime: Runtime[Any]) -> str:
        async with session_of(runtime, session).at_work(state["run"]) as job:
            return job.plan.strategy if job.plan.strategy in STRATEGIES else _ANOTHER

    async def another(state: DraftState, job: Job) -> Update:
        """Draft by the strategy of another package, or by one that was passed as an object."""
        graph = strategy_named(job.plan.strategy).graph(session).compile()
        return dict(await graph.ainvoke({"run": state["run"]}, get_config()))

    graph = StateGraph(DraftState)
    for name, strategy in STRATEGIES.items():
        graph.add_node(name, strategy.graph(session).compile())
    graph.add_node(_ANOTHER, node(another, session))
    graph.add_conditional_edges(START, choose, [*STRATEGIES, _ANOTHER])
    return graph


def planning_of(settings: DraftConfig) -> Callable[[Planner], Plan]:
    """Return how the strategy of the settings plans a draft; a given draft takes nothing."""
    if settings.draft_strategy == GIVEN_STRATEGY:
        return Planner.empty_plan
    return strategy_named(settings.draft_strategy).plan


def check_installed(run: Run) -> None:
    """Raise `RunError` for a run whose strategy is an object of another program, or came with a package that is not
    installed any more."""
    strategy, package = run.settings.strategy, run.version.partition(_WITH)[2]
    if package and strategy not in plugins.names(_KIND):
        raise RunError(
            f"run {run.id} is drafted by the strategy {strategy}, of a package that is not installed",
            fix=(f"pip install {package}, then ", RunCommand("resume", run.id)),
        )

    if not package and strategy not in _TAKEN and strategy not in _objects:
        raise RunError(
            f"run {run.id} is drafted by the strategy {strategy}, an object of the program that began it",
            hint="pass it: redraft.Session(..., strategies=[...])",
        )


def version_with(strategy: str) -> str:
    """Return the version of redraft, with the package of a strategy that is not redraft's own."""
    package = f"{_WITH}{plugins.package_of(_KIND, strategy)}" if strategy in plugins.names(_KIND) else ""
    return version("redraft") + package
