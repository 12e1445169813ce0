"""redraft: summaries of book-length documents that you can trust.

What an application imports is here; `redraft.graphs` has the state machines themselves. Names are loaded when they are
first used, because LangGraph alone takes a second to import.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from redraft.domain import Document, KeyFact, KeyFacts, Totals, Tree
    from redraft.errors import RedraftError
    from redraft.history.comparison import Comparison, compared
    from redraft.history.results import Result, read_result
    from redraft.runs.comparing import compare
    from redraft.runs.drafting import resume, summarize
    from redraft.runs.preparing import prepare
    from redraft.runs.refining import build_pack, evaluate, fork, refine
    from redraft.settings import Judging, Limits, Refinement, Settings
    from redraft.store.store import Store
    from redraft.text.documents import load

_HOMES = {
    "Comparison": "redraft.history.comparison",
    "Document": "redraft.domain",
    "Judging": "redraft.settings",
    "KeyFact": "redraft.domain",
    "KeyFacts": "redraft.domain",
    "Limits": "redraft.settings",
    "RedraftError": "redraft.errors",
    "Refinement": "redraft.settings",
    "Result": "redraft.history.results",
    "Settings": "redraft.settings",
    "Store": "redraft.store.store",
    "Totals": "redraft.domain",
    "Tree": "redraft.domain",
    "build_pack": "redraft.runs.refining",
    "compare": "redraft.runs.comparing",
    "compared": "redraft.history.comparison",
    "evaluate": "redraft.runs.refining",
    "fork": "redraft.runs.refining",
    "load": "redraft.text.documents",
    "prepare": "redraft.runs.preparing",
    "read_result": "redraft.history.results",
    "refine": "redraft.runs.refining",
    "resume": "redraft.runs.drafting",
    "summarize": "redraft.runs.drafting",
}

__all__ = [
    "Comparison",
    "Document",
    "Judging",
    "KeyFact",
    "KeyFacts",
    "Limits",
    "RedraftError",
    "Refinement",
    "Result",
    "Settings",
    "Store",
    "Totals",
    "Tree",
    "build_pack",
    "compare",
    "compared",
    "evaluate",
    "fork",
    "load",
    "prepare",
    "read_result",
    "refine",
    "resume",
    "summarize",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'redraft' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
