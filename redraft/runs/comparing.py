"""Comparing two summaries of a document: which of them the judges prefer."""

from __future__ import annotations

from collections.abc import Sequence

from redraft.domain import Document
from redraft.errors import UsageError
from redraft.events import Observer, unobserved
from redraft.history.results import Result
from redraft.models.base import Model
from redraft.models.prices import PriceTable
from redraft.runs.drafting import Means
from redraft.runs.preparing import Order
from redraft.settings import Compare, Judging, Limits, Settings
from redraft.store.store import Store
from redraft.text.words import count_words


async def compare(
    source: str | Document,
    first: str,
    second: str,
    settings: Settings | None = None,
    *,
    store: Store,
    judging: Judging | None = None,
    limits: Limits | None = None,
    prices: PriceTable | None = None,
    model: Model | None = None,
    judges: Sequence[Model] = (),
    observer: Observer = unobserved,
) -> Result:
    """Ask which of two summaries of a document is better, in both orders; `compared` reads the answer."""
    check_summaries(first, second)
    means = Means(store, limits, prices, model, judges, None, observer)
    settings = settings or Settings()
    judging = means.seated((judging or Judging()).model_copy(update={"metrics": ()}), settings)
    order = Order(Compare(judging=judging), given=first, other=second)
    return await means.begin(source, settings, order)


def check_summaries(first: str, second: str) -> None:
    """Refuse a summary that says nothing: there is no preference for silence."""
    for name, text in (("A", first), ("B", second)):
        if not count_words(text):
            raise UsageError("there is not one word in it", place=f"summary {name}")
