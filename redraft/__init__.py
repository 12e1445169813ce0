"""redraft: summaries of book-length documents that you can trust.

What an application imports is here; `redraft.graphs` has the state machines themselves. Names are loaded when they are
first used, because LangGraph alone takes a second to import.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from redraft.domain import Document, Totals
    from redraft.drafting import prepare, resume, summarize
    from redraft.errors import RedraftError
    from redraft.results import Result, read_result
    from redraft.settings import Limits, Settings
    from redraft.store.store import Store
    from redraft.text.documents import load

_HOMES = {
    "Document": "redraft.domain",
    "Limits": "redraft.settings",
    "RedraftError": "redraft.errors",
    "Result": "redraft.results",
    "Settings": "redraft.settings",
    "Store": "redraft.store.store",
    "Totals": "redraft.domain",
    "load": "redraft.text.documents",
    "prepare": "redraft.drafting",
    "read_result": "redraft.results",
    "resume": "redraft.drafting",
    "summarize": "redraft.drafting",
}

__all__ = [
    "Document",
    "Limits",
    "RedraftError",
    "Result",
    "Settings",
    "Store",
    "Totals",
    "load",
    "prepare",
    "read_result",
    "resume",
    "summarize",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'redraft' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
