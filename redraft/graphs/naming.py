"""What the nodes of drafts are called on record, so that it can be read without the graphs."""

from __future__ import annotations

REVISION_OF = "revision of "
"""How the node of a draft begins that the reviser has written; the id of what it revises follows."""
NO_REVISION_OF = "no revision of "
"""How that of a draft begins where nothing came back: the text is that of the draft that was to be revised."""
