"""Preparing a run, and loading its provider's client side by side with that where somebody is sure to be asked.

The client takes half a second to import. Who finds every answer in the cache never needs it, so a model is opened at
its first call; but of a document that the store does not know there is no answer, and to wait for that call would only
be to load the client while all requests wait for it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from redraft.domain import Document
from redraft.models.base import Model
from redraft.models.names import OPENAI, provider_of
from redraft.runs.opening import load_openai
from redraft.runs.preparing import Order, Prepared, prepare
from redraft.runs.roles import judging_under
from redraft.settings import GIVEN_STRATEGY, Settings
from redraft.store.store import Store
from redraft.store.threads import off_loop


async def prepare_and_load(
    store: Store,
    document: Document,
    settings: Settings,
    order: Order,
    writer: Model | None,
    objects: Mapping[str, Model],
) -> Prepared:
    """The preparation of a run that is about to be recorded; a `writer` and other `objects` were handed over."""
    preparing = off_loop(prepare, document, settings, writer, order.given)
    if not _is_sure_to_ask(settings, order, objects) or await off_loop(store.documents.has, document.id):
        return await preparing
    prepared, _ = await asyncio.gather(preparing, off_loop(load_openai))
    return prepared


def _is_sure_to_ask(settings: Settings, order: Order, objects: Mapping[str, Model]) -> bool:
    """Whether the client of OpenAI's protocol is needed where nothing is known: by the writer, or else by a judge."""
    drafted = settings.strategy != GIVEN_STRATEGY
    asked = [settings] if drafted else judging_under(settings, order.judging)
    return OPENAI in {provider_of(one.model) for one in asked if one.model not in objects}
