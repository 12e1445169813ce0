"""Key facts go into the store and come out of it, with all that was pruned and why."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redraft.domain import Evidence, KeyFact, KeyFacts, Level, Objection, Perspective, Span, Tree
from redraft.errors import StoreError
from redraft.store.store import Store
from tests.store.support import as_stored, document, dump, fact, keyfacts, tree
from tests.store.test_judged import _evidence, _numbers, _shares, _texts, hostile, stored_evidence, unused
from tests.text.hostile import EXTREMES

BOOK = document().id


@pytest.fixture
def store(place: Path | str) -> Iterator[Store]:
    with Store(place) as made:
        made.documents.add(document())
        yield made


def stored_fact(one: KeyFact) -> KeyFact:
    evidence = stored_evidence(one.evidence)
    assert evidence is not None
    objections = tuple(Objection(as_stored(each.dimension), as_stored(each.reason)) for each in one.objections)
    return replace(one, text=as_stored(one.text), evidence=evidence, objections=objections)


def stored_tree(one: Tree) -> Tree:
    return replace(one, query=as_stored(one.query), facts=tuple(map(stored_fact, one.facts)))


_facts = st.builds(
    KeyFact,
    _numbers,
    st.sampled_from(get_args(Level)),
    st.none() | _numbers,
    _texts,
    _evidence,
    st.lists(st.builds(Objection, _texts, _texts), max_size=2).map(tuple),
)
_trees = st.builds(
    Tree,
    _numbers,
    st.sampled_from(get_args(Perspective)),
    st.builds(Span, _numbers, _numbers),
    _shares,
    st.lists(_facts, max_size=3, unique_by=lambda one: one.id).map(
        lambda some: tuple(sorted(some, key=lambda f: f.id))
    ),
    _texts,
)
_keyfacts = st.builds(
    lambda trees, missing, imported: keyfacts(unused(), trees=trees, missing=missing, imported=imported),
    st.lists(_trees, max_size=3).map(tuple),
    st.lists(_texts, max_size=2).map(tuple),
    st.booleans(),
)


@pytest.mark.slow
@hostile
@given(_keyfacts)
def test_all_key_facts_come_back(store: Store, one: KeyFacts) -> None:
    store.keyfacts.add(one, one.id)
    missing = tuple(map(as_stored, one.missing))
    expected = replace(one, trees=tuple(map(stored_tree, one.trees)), missing=missing)
    assert store.keyfacts.get(one.id) == store.keyfacts.find(BOOK, one.id) == expected


@pytest.mark.slow
def test_a_megabyte_comes_back_as_a_fact(store: Store) -> None:
    facts = tuple(fact(n, text, evidence=Evidence(text)) for n, text in enumerate(EXTREMES.values()))
    one = keyfacts(trees=(tree(*facts),), missing=tuple(EXTREMES.values()))
    store.keyfacts.add(one, "key")
    assert store.keyfacts.get("keyfacts-1") == one


def test_trees_and_facts_keep_their_order(store: Store) -> None:
    trees = tuple(tree(*(fact(n) for n in range(1, 12)), chunk=12 - n) for n in range(12))
    store.keyfacts.add(keyfacts(trees=trees), "key")
    assert store.keyfacts.get("keyfacts-1").trees == trees


def test_those_that_are_there_stay_as_they_are(store: Store) -> None:
    store.keyfacts.add(keyfacts(), "key")
    store.keyfacts.add(keyfacts(trees=(tree(fact(1, "Nobody drowned.")),), builder="another"), "another")
    assert store.keyfacts.get("keyfacts-1") == keyfacts()
    assert store.keyfacts.find(BOOK, "another") is None
    assert len(dump(store.address)["facts"]) == 4


def test_they_are_found_under_their_document_and_what_they_were_made_from(store: Store) -> None:
    other = document("Another book.")
    store.documents.add(other)
    store.keyfacts.add(keyfacts(), "key")
    store.keyfacts.add(keyfacts("keyfacts-2", other.text), "key")
    assert store.keyfacts.find(BOOK, "key") == keyfacts()
    assert store.keyfacts.find(other.id, "key") == keyfacts("keyfacts-2", other.text)
    assert store.keyfacts.find(BOOK, "ke_") is None


@pytest.mark.parametrize("key", ["abd", "abcd", "abce"])
def test_they_are_found_by_the_beginning_of_their_id(store: Store, key: str) -> None:
    for name in ("abcdef", "abceef", "abdeef"):
        store.keyfacts.add(keyfacts(name), "key")
    assert store.keyfacts.get(key).id.startswith(key)


@pytest.mark.parametrize(
    ("key", "complaint"),
    [("abc", "more than one id begins"), ("", "more than one"), ("a_c", "no key facts"), ("%", "no key facts")],
)
def test_none_are_found_where_none_or_several_begin_so(store: Store, key: str, complaint: str) -> None:
    for name in ("abcdef", "abceef"):
        store.keyfacts.add(keyfacts(name), "key")
    with pytest.raises(StoreError, match=complaint) as caught:
        store.keyfacts.get(key)
    assert "session.store.packs.all()" in caught.value.hint


def test_without_any_id_the_only_ones_are_not_meant(store: Store) -> None:
    store.keyfacts.add(keyfacts(), "key")
    with pytest.raises(StoreError):
        store.keyfacts.get("")


def test_the_last_imported_win_and_then_the_last_built(store: Store) -> None:
    assert store.keyfacts.latest(BOOK) is None
    for name in ("a", "b", "c"):
        store.keyfacts.add(keyfacts(name), name)
    assert store.keyfacts.imported(BOOK) is None
    assert store.keyfacts.latest(BOOK) == keyfacts("c")
    for name in ("c", "a", "b", "a"):
        store.keyfacts.prefer(name)
        assert store.keyfacts.imported(BOOK) == store.keyfacts.latest(BOOK) == keyfacts(name, imported=True)
    # What was built is found all the same by who asks for it.
    assert store.keyfacts.find(BOOK, "c") == keyfacts("c", imported=True)


def test_those_that_were_imported_for_another_document_do_not_count(store: Store) -> None:
    other = document("Another book.")
    store.documents.add(other)
    store.keyfacts.add(keyfacts(), "key")
    store.keyfacts.add(keyfacts("keyfacts-2", other.text), "key")
    store.keyfacts.prefer("keyfacts-2")
    assert store.keyfacts.imported(BOOK) is None
    assert store.keyfacts.latest(BOOK) == keyfacts()


def test_half_of_the_trees_is_none_of_them(store: Store) -> None:
    twice = keyfacts(trees=(tree(), tree(fact(1), fact(1))))
    with pytest.raises(StoreError):
        store.keyfacts.add(twice, "key")
    assert store.keyfacts.find(BOOK, "key") is None
    assert dump(store.address)["trees"] == dump(store.address)["facts"] == []


def test_key_facts_of_no_document_are_refused(store: Store) -> None:
    with pytest.raises(StoreError):
        store.keyfacts.add(keyfacts(text="Another book."), "key")
    assert dump(store.address)["keyfacts"] == []
