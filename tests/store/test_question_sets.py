"""Packs, key facts and typed questions: what is stored comes back, and one of them is the default."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from redraft.errors import StoreError
from redraft.store.store import Store
from tests.store.support import document, dump, fact, keyfacts, pack, tree

BOOK = document().id


@pytest.fixture
def store(place: Path | str) -> Iterator[Store]:
    with Store(place) as opened:
        opened.documents.add(document())
        yield opened


def test_trees_and_facts_keep_their_order(store: Store) -> None:
    trees = tuple(tree(*(fact(n) for n in range(1, 12)), chunk=12 - n) for n in range(12))
    store.keyfacts.add(keyfacts(trees=trees), "key")
    assert store.keyfacts.get("keyfacts-1").trees == trees


@dataclass(frozen=True)
class Kind:
    """Where question sets of a kind are stored, how one is made, and how an error begins."""

    sets: Any
    make: Callable[..., Any]
    none: str


@pytest.fixture(params=["packs", "keyfacts"])
def kind(request: pytest.FixtureRequest, store: Store) -> Kind:
    if request.param == "packs":
        return Kind(store.packs, pack, "no pack")
    return Kind(store.keyfacts, keyfacts, "no key facts")


def test_last_import_wins_then_last_built(store: Store, kind: Kind) -> None:
    store.documents.add(another := document("Another book."))
    kind.sets.add(kind.make("other", another.text), "key")
    kind.sets.prefer("other")
    assert kind.sets.latest(BOOK) is None
    for name in ("a", "b", "c"):
        kind.sets.add(kind.make(name), name)
    assert kind.sets.imported(BOOK) is None
    assert kind.sets.latest(BOOK) == kind.make("c")
    # So fast that several share a moment, and back and forth.
    for name in ("c", "b", "a", "b", "c", "a") * 3:
        kind.sets.prefer(name)
        assert kind.sets.imported(BOOK) == kind.sets.latest(BOOK) == kind.make(name, imported=True)
    assert kind.sets.find(BOOK, "c") == kind.make("c", imported=True), (
        "by what it was built from it is found all the same"
    )


def test_stored_set_stays_unless_more_complete(store: Store, kind: Kind) -> None:
    kind.sets.add(kind.make("one", missing=("a part",)), "key")
    before = dump(store.address)["artifacts"]
    kind.sets.add(kind.make("one", missing=("a part", "another")), "another")
    assert kind.sets.find(BOOK, "another") is None
    assert dump(store.address)["artifacts"] == before != []
    kind.sets.add(kind.make("one", missing=()), "another")
    assert kind.sets.find(BOOK, "key") == kind.make("one", missing=())


def test_sets_are_found_by_document_and_key(store: Store, kind: Kind) -> None:
    store.documents.add(another := document("Another book."))
    for question_set in (kind.make("one"), kind.make("two", another.text)):
        kind.sets.add(question_set, "key")
    assert kind.sets.find(BOOK, "key") == kind.make("one")
    assert kind.sets.find(another.id, "key") == kind.make("two", another.text)
    assert kind.sets.find(BOOK, "ke_") is None
    # An import is the choice for its own document alone.
    kind.sets.prefer("two")
    assert kind.sets.imported(BOOK) is None


def test_two_builds_of_a_pack_share_one(store: Store) -> None:
    """Their questions differ, and so do their names, for they are made of the questions."""
    with Store(store.address) as second:
        second.packs.add(pack("b"), "key")
        time.sleep(0.01)
        store.packs.add(pack("a"), "key")
        assert store.packs.find(BOOK, "key") == second.packs.find(BOOK, "key") == pack("b")


@pytest.mark.parametrize("key", ["abc123", "abc", "x_", "x%", "50%", "a\\b", "Ünï"])
def test_sets_are_found_by_an_id_prefix(kind: Kind, key: str) -> None:
    for name in ("abc123", "abd123", "x_y", "x%y", "50%", "a\\b", "Ünïcode"):
        kind.sets.add(kind.make(name), "key")
    assert kind.sets.get(key).id.startswith(key)


@pytest.mark.parametrize(
    ("key", "error"),
    [
        *((key, "") for key in ("a_c", "%", "_", "ABC", "abc1234", "abc\x00", "\\", "abc\udce9")),
        ("ab", "more than one"),
        ("", "more than one"),
    ],
)
def test_ambiguous_or_unknown_prefixes_are_refused(kind: Kind, key: str, error: str) -> None:
    for name in ("abc123", "abd123"):
        kind.sets.add(kind.make(name), "key")
    with pytest.raises(StoreError, match=error or kind.none) as caught:
        kind.sets.get(key)
    assert "session.store.packs.all()" in caught.value.hint
