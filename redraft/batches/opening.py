"""Opening a batch: a new one, or one that is to go on, with its documents put into it."""

from __future__ import annotations

from collections.abc import Sequence

from redraft.batches.asked import Asked
from redraft.batches.sources import put_in
from redraft.evaluators.goals import refuse_self_check
from redraft.settings import Limits
from redraft.store.batches import Batch, NewItem
from redraft.store.store import Store


def open_batch(
    store: Store, sources: Sequence[str | NewItem], asked: Asked, limits: Limits, *, folder: str, name: str | None
) -> Batch:
    """Open a batch of these documents, or open it again: what failed or was set aside is tried anew."""
    refuse_self_check(asked.settings, asked.judging, asked.refinement)
    called = name or asked.name([_called(one) for one in sources], folder)
    store.batches.open(Batch(called, asked.to_json(), limits.model_dump(mode="json"), folder))
    store.batches.try_again(called)
    put_in(store, called, sources)
    return store.batches.get(called)


def open_again(store: Store, name: str, limits: Limits | None = None) -> Batch:
    """Open a batch that there is, for what is left of it; what failed or was set aside is tried anew.

    It keeps what is asked of it, and its folder. Other limits replace its own.
    """
    known = store.batches.get(name)
    bounds = known.limits if limits is None else limits.model_dump(mode="json")
    store.batches.open(Batch(name, known.asked, bounds, known.folder))
    store.batches.try_again(name)
    return store.batches.get(name)


def of_use(wanted: int | None, usual: int, limits: Limits, left: int) -> int:
    """As many workers as are wanted and have something to do; without a wish as many as is usual, or as are left.

    One without a document, or without a request of its own, has nothing to do.
    """
    return max(1, min(wanted or usual, limits.concurrency, left))


def _called(source: str | NewItem) -> str:
    return source if isinstance(source, str) else source.document or source.source
