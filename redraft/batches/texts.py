"""The texts of items: in the database, or read from a file; and files read ahead, for workers who cannot see them."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path

from redraft.domain import Document
from redraft.errors import DocumentError
from redraft.readers.choosing import Choice
from redraft.readers.documents import load
from redraft.runs.failures import described
from redraft.store.batches import Item, NewItem
from redraft.store.store import Store

_AT_ONCE = 50
"""So many texts are held in memory, and go into the database in one transaction."""
_LOST_TEXT = "its text is not in the database any more"


def text_of(store: Store, item: Item, reading: Choice) -> Document:
    """The document of an item."""
    return store.documents.get(item.document) if item.document is not None else _read(item, reading)


def count_files(store: Store, batch: str) -> int:
    """How many items of a batch wait that are files, and not in the database yet."""
    return sum(1 for _ in _files(store, batch))


def keep_texts(store: Store, batch: str, reading: Choice) -> None:
    """Put into the database what are files of this machine, side by side. One that cannot be read has failed."""
    files = _files(store, batch)
    with ThreadPoolExecutor() as readers:
        while some := list(islice(files, _AT_ONCE)):
            read = list(readers.map(partial(_attempt, reading=reading), some))
            with store.at_once():
                store.batches.add(batch, [_kept(store, *one) for one in zip(some, read, strict=True)])


def _files(store: Store, batch: str) -> Iterator[Item]:
    return (one for one in store.batches.items(batch) if one.state == "waiting" and one.document is None)


def _attempt(item: Item, reading: Choice) -> Document | dict[str, str]:
    """The document of an item, or what is amiss with it."""
    try:
        return _read(item, reading)
    except Exception as error:  # noqa: BLE001 - whatever it is, the others go on
        return described(error)


def _kept(store: Store, item: Item, read: Document | dict[str, str]) -> NewItem:
    known = NewItem(item.source, item.file, item.priority)
    if isinstance(read, dict):
        return replace(known, error=read)
    store.documents.add(read)
    return replace(known, document=read.id)


def _read(item: Item, reading: Choice) -> Document:
    if "#" in item.source and not Path(item.source).exists():
        raise DocumentError(_LOST_TEXT, hint="repeat what the batch was begun with")
    return load(item.source, wanted=reading)
