"""The records that results are made of, and functions that read them."""

from redraft.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
