"""redraft: trustworthy summaries of book-length documents.

This module has what an application imports; `redraft.graphs` has the state machines. Names are loaded on first use,
since LangGraph alone takes a second to import.
"""

from redraft.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
