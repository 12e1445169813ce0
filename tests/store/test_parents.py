"""What texts were made from is kept with them, and goes with them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from redraft.domain import Parent, Span, content_id
from redraft.errors import StoreError
from redraft.store.store import Store
from tests.store.support import PARENTS, PRINTABLE, dump, fill, intact, piece, plain

RUN = "abc123"
OTHER = (Parent("excerpt", content_id(PRINTABLE), Span(1, 3)),)


@pytest.fixture
def store(place: Path | str) -> Iterator[Store]:
    with Store(place) as made:
        fill(made)
        yield made


def known(store: Store) -> dict[str, tuple[Parent, ...]]:
    return store.ancestry.of(RUN)


def test_a_piece_that_is_written_anew_takes_what_was_made_of_it_with_it(store: Store) -> None:
    store.runs.add_piece(RUN, piece(text="shortened", step=1), OTHER)
    assert [one.name for one in store.runs.pieces(RUN)] == ["0/0/0", "0/0/1"]
    assert known(store)["0/0/1"] == OTHER

    store.runs.add_piece(RUN, piece(text="shortened anew", step=1), PARENTS)
    assert known(store)["0/0/1"] == PARENTS
    store.runs.add_piece(RUN, piece(text="anew"), OTHER)
    assert store.runs.pieces(RUN) == [piece(text="anew")]
    assert {name: of for name, of in known(store).items() if "/" in name} == {"0/0/0": OTHER}


def test_merges_that_are_made_again_lose_their_parents_until_then(store: Store) -> None:
    for level, index in ((1, 0), (1, 10), (11, 0)):
        store.runs.add_piece(RUN, piece(index, f"{level} {index}", level=level), OTHER)
    store.runs.drop_merges(RUN)
    assert {name for name in known(store) if "/" in name} == {"0/0/0"}


def test_a_draft_that_is_kept_again_has_the_parents_of_the_last_time(store: Store) -> None:
    first = store.runs.keep_draft(RUN, "A draft.", 2, "merge", parents=PARENTS)
    assert store.runs.keep_draft(RUN, "A draft.", 2, "merge", parents=OTHER) == first
    assert known(store)[first] == OTHER


def test_of_several_pieces_with_a_text_the_last_is_meant(store: Store) -> None:
    for level, index, step in ((0, 1, 0), (0, 2, 0), (0, 2, 1)):
        store.runs.add_piece(RUN, piece(index, "the same", level=level, step=step))
    found = store.runs.piece_of(RUN, content_id("the same"))
    assert found is not None
    assert found.name == "0/2/1"
    assert store.runs.piece_of(RUN, content_id("another")) is None


def test_a_piece_whose_parents_cannot_be_kept_is_not_kept_either(store: Store) -> None:
    unknown = Parent("piece", content_id("nobody has written this"), Span(0, 3))
    before = dump(store.address)
    with pytest.raises(StoreError):
        store.runs.add_piece(RUN, piece(3), [unknown])
    with pytest.raises(StoreError):
        store.runs.keep_draft(RUN, "A draft.", 2, "merge", parents=[unknown])
    assert dump(store.address) == before


def test_what_was_worked_out_of_a_text_is_forgotten_with_it(store: Store) -> None:
    store.ancestry.keep_links("links-2", "The first draft.", "[]")
    store.forget([RUN])
    with plain(store.address) as database:
        assert [row[0] for row in database.execute("SELECT key FROM cache WHERE kind = 'links'")] == ["links-2"]
        assert database.execute("SELECT count(*) FROM records WHERE run = ?", (RUN,)).fetchone() == (0,)
    intact(store.address)


def test_a_text_that_something_was_made_from_stays_as_long_as_that(store: Store) -> None:
    shown = store.documents.add_text("shown to somebody")
    store.runs.keep_draft("fork-of-abc123", "Made.", 1, "x", parents=[Parent("base", shown, Span(0, 5))])
    store.forget([RUN])
    assert store.documents.text(shown) == "shown to somebody"
    store.forget(["fork-of-abc123"])
    with pytest.raises(StoreError):
        store.documents.text(shown)
