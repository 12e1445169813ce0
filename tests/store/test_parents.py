"""What texts were made from is kept with them, and goes with them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from redraft.domain import Parent, Span, content_id
from redraft.errors import StoreError
from redraft.store.store import Store
from tests.store.support import PARENTS, PRINTABLE, dump, fill, piece

RUN = "abc123"
OTHER = (Parent("excerpt", content_id(PRINTABLE), Span(1, 3)),)


@pytest.fixture
def store(place: Path | str) -> Iterator[Store]:
    with Store(place) as store:
        fill(store)
        yield store


def parents_of(store: Store) -> dict[str, tuple[Parent, ...]]:
    return store.runs.parents(RUN)


def test_a_new_piece_replaces_later_steps(store: Store) -> None:
    store.runs.add_piece(RUN, piece(text="shortened", step=1), OTHER)
    assert [piece.name for piece in store.runs.pieces(RUN)] == ["0/0/0", "0/0/1"]
    assert parents_of(store)["0/0/1"] == OTHER

    store.runs.add_piece(RUN, piece(text="shortened anew", step=1), PARENTS)
    assert parents_of(store)["0/0/1"] == PARENTS
    store.runs.add_piece(RUN, piece(text="anew"), OTHER)
    assert store.runs.pieces(RUN) == [piece(text="anew")]
    assert {name: of for name, of in parents_of(store).items() if "/" in name} == {"0/0/0": OTHER}


def test_pieces_need_known_parents(store: Store) -> None:
    unknown = Parent("piece", content_id("nobody has written this"), Span(0, 3))
    before = dump(store.address)
    with pytest.raises(StoreError):
        store.runs.add_piece(RUN, piece(3), [unknown])
    with pytest.raises(StoreError):
        store.runs.keep_draft(RUN, "A draft.", 2, "merge", parents=[unknown])
    assert dump(store.address) == before


def test_parents_stay_with_their_children(store: Store) -> None:
    text = store.documents.add_text("shown to somebody")
    store.runs.keep_draft("fork-of-abc123", "Made.", 1, "x", parents=[Parent("base", text, Span(0, 5))])
    store.forget([RUN])
    assert store.documents.text(text) == "shown to somebody"
    store.forget(["fork-of-abc123"])
    with pytest.raises(StoreError):
        store.documents.text(text)
