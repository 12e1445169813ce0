"""What goes into every drafting graph, and what comes out."""

from __future__ import annotations

from typing_extensions import TypedDict


class DraftingInput(TypedDict):
    """The run to work on; everything else is in the store and in the runtime context."""

    run: str


class DraftingOutput(TypedDict):
    """The id of the draft that was made."""

    draft: str
