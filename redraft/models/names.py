"""What the name of a model says: who serves it, where it is, and what it is called there."""

from __future__ import annotations

import re

OPENAI = "openai"
_ADDRESS = re.compile(r"@(?=https?://)")


def provider_of(model: str) -> str:
    """Who serves a model of this name; nothing for the built-in one, and for a name that says nothing of it."""
    return model.partition(":")[0] if ":" in model else ""


def address_in(model: str) -> str | None:
    """The address in the identity of a model that was handed over: `provider:name@address`."""
    parts = _ADDRESS.split(model, maxsplit=1)
    return parts[1] if len(parts) > 1 else None


def name_of(model: str) -> str:
    """The model's name without its provider, and without the address that an identity has."""
    return _ADDRESS.split(model, maxsplit=1)[0].partition(":")[2]
