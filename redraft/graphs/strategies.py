"""How a summary can be drafted: the strategies of redraft, and those of other packages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from langgraph.graph import StateGraph

from redraft import plugins
from redraft.errors import UsageError
from redraft.graphs.direct import direct_graph
from redraft.graphs.hierarchical import hierarchical_graph
from redraft.graphs.incremental import incremental_graph
from redraft.graphs.plan import Plan, Planner
from redraft.graphs.working import Shop
from redraft.prompts import drafting
from redraft.prompts.contract import Prompt


@dataclass(frozen=True, slots=True)
class Strategy:
    """A way of drafting.

    `graph` builds a graph whose nodes, made with `redraft.graphs.node`, work on a run that has begun; the last of them
    writes the id that `job.keep` returns into `draft`. `plan` says what it will ask at most, or raises a `PlanError`
    where the document does not fit. `prompts` are those that its summaries depend on.
    """

    name: str
    graph: Callable[[Shop | None], StateGraph[Any, Any, Any, Any]]
    plan: Callable[[Planner], Plan]
    prompts: tuple[Prompt[Any, Any], ...]


_OWN = (
    Strategy(
        "hierarchical",
        hierarchical_graph,
        Planner.hierarchical,
        (drafting.SUMMARIZE_CHUNK, drafting.MERGE, drafting.MERGE_ONWARD),
    ),
    Strategy(
        "incremental",
        incremental_graph,
        Planner.incremental,
        (drafting.BEGIN, drafting.UPDATE, drafting.COMPRESS, drafting.TIDY),
    ),
    Strategy("direct", direct_graph, Planner.direct, (drafting.SUMMARIZE_WHOLE,)),
)
STRATEGIES: dict[str, Strategy] = {one.name: one for one in _OWN}
"""The strategies of redraft by name."""


def strategy_named(name: str) -> Strategy:
    """The strategy of this name, of redraft or of an installed package."""
    if name in STRATEGIES:
        return STRATEGIES[name]
    if name not in plugins.names("strategies"):
        there = ", ".join([*STRATEGIES, *plugins.names("strategies")])
        raise UsageError(f"there is no strategy {name!r}; there are: {there}", hint="see `redraft summarize --help`")
    strategy = plugins.load("strategies", name)
    if not isinstance(strategy, Strategy):
        raise UsageError(f"the strategy {name} of another package is no redraft.graphs.Strategy")
    return strategy
