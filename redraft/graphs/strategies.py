"""How a summary can be drafted: the strategies of redraft, and those of other packages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from langgraph.graph import StateGraph

from redraft import plugins
from redraft.errors import RunError, UsageError
from redraft.graphs.direct import direct_graph
from redraft.graphs.hierarchical import hierarchical_graph
from redraft.graphs.incremental import incremental_graph
from redraft.graphs.plan import Plan, Planner
from redraft.graphs.working import Shop
from redraft.prompts import drafting
from redraft.prompts.contract import Prompt
from redraft.prompts.outlining import OUTLINE
from redraft.settings import AUTO, GIVEN_STRATEGY
from redraft.store.runs import Run


@dataclass(frozen=True, slots=True)
class Strategy:
    """A way of drafting.

    `graph` builds a graph whose nodes, made with `redraft.graphs.node`, work on a run that has begun; the last of them
    writes the id that `job.keep` returns into `draft`. `plan` says what it will ask at most, or raises a `PlanError`
    where the document does not fit. `prompts` are those that its summaries depend on; redraft's own are in
    `redraft.PROMPTS`.
    """

    name: str
    graph: Callable[[Shop | None], StateGraph[Any, Any, Any, Any]]
    plan: Callable[[Planner], Plan]
    prompts: tuple[Prompt[Any, Any], ...]


# Between the version of redraft that a run has on record and the package that its strategy came with.
_WITH = " with "
_OWN = (
    Strategy(
        "hierarchical",
        hierarchical_graph,
        Planner.hierarchical,
        (drafting.SUMMARIZE_CHUNK, drafting.MERGE, drafting.MERGE_ONWARD, OUTLINE, drafting.TIDY),
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

_KIND: plugins.Kind = "strategies"


def strategy_named(name: str) -> Strategy:
    """The strategy of this name, of redraft or of an installed package."""
    if not isinstance(name, str):
        raise UsageError(
            "a strategy is given by its name, under which another process finds it again",
            hint="make yours an entry point of redraft.strategies, as docs/embedding.md has it",
        )
    plugins.refuse_taken(_KIND, {*STRATEGIES, AUTO, GIVEN_STRATEGY})
    if name in STRATEGIES:
        return STRATEGIES[name]
    installed = plugins.names(_KIND)
    if name not in installed:
        *others, last = [*STRATEGIES, *installed]
        raise UsageError(
            f"there is no strategy {name!r}; there are {', '.join(others)} and {last}",
            hint="one of another package is there when that is installed beside redraft",
        )
    strategy = plugins.load(_KIND, name)
    if not isinstance(strategy, Strategy) or strategy.name != name:
        what = f"calls itself {strategy.name}" if isinstance(strategy, Strategy) else f"is none, but {strategy!r:.80}"
        package = plugins.package_of(_KIND, name)
        raise UsageError(
            f"the strategy {name} of the package {package} {what}",
            hint="an entry point of redraft.strategies bears the name of its redraft.graphs.Strategy",
        )
    return strategy


def check_there(run: Run) -> None:
    """Refuse to go on with a run whose strategy came with a package that is not installed any more."""
    strategy, package = run.settings.strategy, run.version.partition(_WITH)[2]
    if package and strategy not in plugins.names(_KIND):
        raise RunError(
            f"run {run.id} is drafted by the strategy {strategy}, of a package that is not installed",
            hint=f"pip install {package}, then `redraft resume {run.id}`",
        )


def version_with(strategy: str) -> str:
    """The version of redraft, and the package of the strategy where that is not redraft's own."""
    own = version("redraft")
    return f"{own}{_WITH}{plugins.package_of(_KIND, strategy)}" if strategy in plugins.names(_KIND) else own
