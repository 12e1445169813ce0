"""What a prompt shows of the document: all of it, or some places."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from redraft.agents.evidence import EvidenceDesk
from redraft.domain import Span


def shown(desk: EvidenceDesk, spans: Sequence[Span]) -> dict[str, Any]:
    """The fields of a prompt that is given these places: the whole document is one text, and so called."""
    texts = [desk.text(span) for span in spans]
    return {"document": texts[0]} if texts == [desk.document.text] else {"passages": texts}
