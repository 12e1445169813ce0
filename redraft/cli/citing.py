"""What sentences cite, looked up where somebody wants it: most summaries are printed without a note."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from redraft.history.citing import Citations
    from redraft.store.store import Store
    from redraft.text.embeddings import Encoder


def citing(store: Store, encoder: Encoder | None = None) -> Callable[[str], Citations]:
    """What finds the citations of the run that it is called with."""

    def citations(run: str) -> Citations:
        from redraft.history.citing import citations_of

        return citations_of(store, run, encoder=encoder)

    return citations
