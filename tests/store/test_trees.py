"""Key facts go into the store and come out of it, with all that was pruned and why; packs are found as they are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redraft.domain import Dimension, Evidence, KeyFact, KeyFacts, Level, Objection, Perspective, Span, Tree
from redraft.errors import StoreError
from redraft.store.store import Store
from tests.store.support import as_stored, document, dump, fact, keyfacts, pack, tree
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
    objections = tuple(replace(each, reason=as_stored(each.reason)) for each in one.objections)
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
    st.lists(st.builds(Objection, dimension=st.sampled_from(get_args(Dimension)), reason=_texts), max_size=2).map(
        tuple
    ),
)
_trees = st.builds(
    Tree,
    _numbers,
    st.sampled_from(get_args(Perspective)),
    st.builds(Span, _numbers, _numbers),
    _shares,
    st.lists(_facts, min_size=1, max_size=3, unique_by=lambda one: one.id).map(
        lambda some: tuple(sorted(some, key=lambda f: f.id))
    ),
    _texts,
)
_keyfacts = st.builds(
    lambda trees, missing, imported: keyfacts(unused(), trees=trees, missing=missing, imported=imported),
    st.lists(_trees, min_size=1, max_size=3).map(tuple),
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


def test_the_last_imported_win_and_then_the_last_built(store: Store) -> None:
    other = document("Another book.")
    store.documents.add(other)
    store.keyfacts.add(keyfacts("other", other.text), "key")
    store.keyfacts.prefer("other")
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


def test_key_facts_of_no_document_are_refused(store: Store) -> None:
    with pytest.raises(StoreError):
        store.keyfacts.add(keyfacts(text="Another book."), "key")
    assert dump(store.address)["artifacts"] == []


@dataclass(frozen=True)
class Reference:
    """Where packs or key facts are kept, how one is made, and how it is said that there is none."""

    kept: Any
    make: Callable[..., Any]
    none: str


@pytest.fixture(params=["packs", "keyfacts"])
def reference(request: pytest.FixtureRequest, store: Store) -> Reference:
    if request.param == "packs":
        return Reference(store.packs, pack, "no pack")
    return Reference(store.keyfacts, keyfacts, "no key facts")


def test_what_is_there_stays_as_it_is(store: Store, reference: Reference) -> None:
    one = reference.make("one")
    reference.kept.add(one, "key")
    before = dump(store.address)["artifacts"]
    reference.kept.add(reference.make("one", missing=("all of it",)), "another")
    assert reference.kept.get("one") == one
    assert reference.kept.find(BOOK, "another") is None
    assert dump(store.address)["artifacts"] == before != []


def test_a_set_that_is_more_complete_takes_the_place_of_one_with_gaps(reference: Reference) -> None:
    for missing in (("a part", "another"), ("a part",), ("a part", "another")):
        reference.kept.add(reference.make("one", missing=missing), "key")
    assert reference.kept.get("one").missing == ("a part",)


def test_a_reference_is_found_under_its_document_and_what_it_was_made_from(store: Store, reference: Reference) -> None:
    other = document("Another book.")
    store.documents.add(other)
    ours, theirs = reference.make("one"), reference.make("two", other.text)
    for one in (ours, theirs):
        reference.kept.add(one, "key")
    assert reference.kept.find(BOOK, "key") == ours
    assert reference.kept.find(other.id, "key") == theirs
    assert reference.kept.find(BOOK, "ke_") is None
    # An import is the choice for its own document alone.
    reference.kept.prefer("two")
    assert reference.kept.imported(BOOK) is None
    assert reference.kept.find(BOOK, "key") == ours


@pytest.mark.parametrize("key", ["abc123", "abc", "x_", "x%", "50%", "a\\b", "Ünï"])
def test_a_reference_is_found_by_the_beginning_of_its_name(reference: Reference, key: str) -> None:
    for name in ("abc123", "abd123", "x_y", "x%y", "50%", "a\\b", "Ünïcode"):
        reference.kept.add(reference.make(name), "key")
    assert reference.kept.get(key).id.startswith(key)


@pytest.mark.parametrize("key", ["a_c", "%", "_", "ABC", "abc1234", "abc\x00", "\\", "abc\udce9"])
def test_no_reference_is_found_where_none_begins_so(reference: Reference, key: str) -> None:
    expect_none(reference, key, reference.none, "abc123", "abd123")


@pytest.mark.parametrize("key", ["ab", ""])
def test_no_reference_is_found_where_several_begin_so(reference: Reference, key: str) -> None:
    expect_none(reference, key, "more than one", "abc123", "abd123")


def test_without_any_name_the_only_reference_is_not_meant(reference: Reference) -> None:
    expect_none(reference, "", r"\w", "abc123")


def expect_none(reference: Reference, key: str, complaint: str, *names: str) -> None:
    for name in names:
        reference.kept.add(reference.make(name), "key")
    with pytest.raises(StoreError, match=complaint) as caught:
        reference.kept.get(key)
    assert "session.store.packs.all()" in caught.value.hint
