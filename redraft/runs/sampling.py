"""What a run that makes several drafts asks for each of the others: under which settings."""

from __future__ import annotations

from redraft.domain import Document
from redraft.errors import PlanError
from redraft.graphs.plan import DIRECT
from redraft.models.base import Model
from redraft.runs.preparing import Prepared, prepare
from redraft.settings import MERGING, Settings

# The candidate that is drafted another way than the first, where nobody has said how to draft.
_OTHERWISE = 2
_OTHER = {DIRECT: MERGING, MERGING: DIRECT}


def candidate(document: Document, settings: Settings, number: int, writer: Model | None = None) -> Prepared:
    """A candidate, prepared: another sample by the same strategy; of those whose strategy was found out for the
    document the second one by the other strategy, where that is another way for it."""
    one = settings.model_copy(update={"drafts": 1})
    if number == _OTHERWISE and settings.chosen and settings.strategy in _OTHER:
        try:
            other = prepare(document, one.model_copy(update={"strategy": _OTHER[settings.strategy]}), writer)
        except PlanError:
            pass
        else:
            if len(other.chunks) > 1 or other.settings.strategy == DIRECT:
                return other
    return prepare(document, one.model_copy(update={"sample": settings.sample + number - 1}), writer)
