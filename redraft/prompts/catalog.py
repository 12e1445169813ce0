"""Every prompt of redraft by name, collected from the modules of this package."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

from redraft.prompts.contract import Prompt

# Modules without prompts; the first of them imports the catalog.
_WITHOUT = {"book", "catalog", "contract"}


def _defined() -> Iterator[Prompt[Any, Any]]:
    for found in iter_modules([str(Path(__file__).parent)]):
        if found.name not in _WITHOUT:
            module = import_module(f"redraft.prompts.{found.name}")
            yield from (one for one in vars(module).values() if isinstance(one, Prompt))


PROMPTS: dict[str, Prompt[Any, Any]] = {prompt.name: prompt for prompt in _defined()}
"""Every prompt by its name."""
