"""The packages that experiments, agreement and their charts need."""

from __future__ import annotations

from redraft.plugins import require


def require_lab(what: str) -> None:
    """Raise if a package of the extra is not installed, saying how to install it."""
    require(what, "lab", "matplotlib", "pandas", "scipy", "sklearn")
