"""The identity and version of the built-in model, and what it says that it cannot do."""

VERSION = 17
"""Part of a stored answer's identity: raise it with every change that may change an answer."""

IDENTITY = f"extractive:{VERSION}"
"""The built-in model's name and version, part of the key of its stored answers. It judges English only."""

NOT_UNDERSTOOD = "the built-in model cannot follow requests in words"
