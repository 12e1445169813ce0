"""Files that are read ahead, for workers who cannot see them."""

from __future__ import annotations

from pathlib import Path

import pytest

from redraft.batches.sources import put_in
from redraft.batches.worker import count_files, keep_texts, text_of
from redraft.readers.documents import load
from redraft.readers.parts import Choice
from redraft.store.store import Store
from tests.batches.test_work import documents, opened, states, worked
from tests.batches.test_work import folder as folder
from tests.batches.test_work import store as store
from tests.chatserver import ChatServer


@pytest.mark.slow
def test_what_was_read_ahead_needs_no_file_any_more(store: Store, folder: Path) -> None:
    documents(folder, 3)
    (folder / "in" / "001.md").write_bytes(b"")
    with ChatServer() as server:
        limits = opened(store, folder, server.base_url)
        assert count_files(store, "b") == 3
        keep_texts(store, "b", Choice())
        for file in (folder / "in").iterdir():
            file.unlink()
        worked(store, limits)
    broken, done = sorted(store.batches.items("b"), key=lambda item: item.state == "done")[:2]
    assert states(store) == {"done": 2, "failed": 1}
    assert broken.error is not None
    assert broken.error["message"].endswith("001.md: the document is empty")
    assert done.document is not None


def test_it_is_read_as_its_worker_would_have_read_it_and_only_once(store: Store, folder: Path) -> None:
    (folder / "in" / "book.md").write_text("# Chapter 1\n\nThe first.\n\n# Chapter 2\n\nThe second.\n", "utf-8")
    reading = Choice(chapters="2", language="de")
    opened(store, folder)
    (item,) = store.batches.items("b")
    keep_texts(store, "b", reading)
    (kept,) = store.batches.items("b")
    wanted = load(item.source, wanted=reading)
    found = text_of(store, kept, reading)
    assert (found.text, found.title, found.sections) == (wanted.text, wanted.title, wanted.sections)
    assert "first" not in found.text
    assert count_files(store, "b") == 0
    assert put_in(store, "b", [item.source]) == 0
    assert (kept.idx, kept.file, kept.state) == (item.idx, item.file, "waiting")
