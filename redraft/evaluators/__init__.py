"""Metrics: how much of a document a summary covers, and how much of what it says is true. The public names are those
that a metric of your own works with; they are loaded when first used."""

from redraft.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
