"""Prompts: what one is, those of redraft, and what prompts of your own are made of."""

from redraft.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
