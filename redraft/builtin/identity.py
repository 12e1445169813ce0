"""Who the built-in model is, and in which version."""

VERSION = 12
"""Part of what identifies a stored answer: raise it with every change after which an answer may differ."""

IDENTITY = f"extractive:{VERSION}"
"""The built-in model's name and version, as part of the key of whatever its answers are stored under."""
