"""The graphs that applications embed: `redraft.graphs.summarizer("hierarchical")`. Names are loaded when first used,
because LangGraph takes a second to import."""

from redraft.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
