"""The graphs that applications embed: `redraft.graphs.summarizer("hierarchical")`. Names are loaded when first used,
because LangGraph takes a second to import."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from redraft.graphs.assembly import draft, judge, refine, summarizer
    from redraft.graphs.job import Job
    from redraft.graphs.nodes import SessionProtocol, node
    from redraft.graphs.plan import Plan, Planner
    from redraft.graphs.state import Drafting, GraphOutput, MetricVerdict, Options, State, Task, Update
    from redraft.graphs.strategies import Strategy

_HOMES = {
    "Drafting": "state",
    "Job": "job",
    "Options": "state",
    "GraphOutput": "state",
    "Plan": "plan",
    "Planner": "plan",
    "SessionProtocol": "nodes",
    "State": "state",
    "Strategy": "strategies",
    "Task": "state",
    "Update": "state",
    "MetricVerdict": "state",
    "draft": "assembly",
    "judge": "assembly",
    "node": "nodes",
    "refine": "assembly",
    "summarizer": "assembly",
}

__all__ = [
    "Drafting",
    "GraphOutput",
    "Job",
    "MetricVerdict",
    "Options",
    "Plan",
    "Planner",
    "SessionProtocol",
    "State",
    "Strategy",
    "Task",
    "Update",
    "draft",
    "judge",
    "node",
    "refine",
    "summarizer",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'redraft.graphs' has no attribute {name!r}")
    return getattr(import_module(f"redraft.graphs.{_HOMES[name]}"), name)
