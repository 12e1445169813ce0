"""Key facts that travel in a pack: what is exported comes back, and what was tampered with is refused whole."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from redraft import Store
from redraft.domain import Document, KeyFacts
from redraft.errors import PackError
from redraft.evaluators.reference.exchange import choose, pack_json
from tests.cli.overeager_model import OvereagerModel
from tests.judges import Harness, island
from tests.packs.test_exchange import Json, bring, build, edit
from tests.packs.test_exchange import elsewhere as elsewhere


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Harness, KeyFacts, str]]:
    """A database with questions and key facts of several chunks, and both of them as exported text."""
    harness = Harness(tmp_path_factory.mktemp("keyfacts"), OvereagerModel(), document=island(40))

    async def make() -> KeyFacts:
        await build(harness)
        return await harness.keyfacts(settings={"context_tokens": 1200})

    keyfacts = asyncio.run(make())
    assert len(keyfacts.trees) >= 4
    yield harness, keyfacts, json.dumps(pack_json(*choose(harness.store, harness.document)))
    harness.store.close()


@pytest.fixture
def exported(world: tuple[Harness, KeyFacts, str]) -> Json:
    content: Json = json.loads(world[2])
    return content


@pytest.fixture
def document(world: tuple[Harness, KeyFacts, str]) -> Document:
    return world[0].document


def test_exported_key_facts_are_used_elsewhere(
    world: tuple[Harness, KeyFacts, str], document: Document, elsewhere: Store, exported: Json
) -> None:
    _, keyfacts, _ = world
    brought = bring(elsewhere, exported, document)

    assert brought.keyfacts == replace(keyfacts, imported=True)
    assert pack_json(*brought) == exported
    assert elsewhere.keyfacts.imported(document.id) == brought.keyfacts
    assert bring(elsewhere, exported, None) == brought
    assert len(elsewhere.keyfacts.all()) == 1
    assert pack_json(*choose(elsewhere, document)) == exported


def in_tree(path: str, value: object, tree: int = 0) -> Callable[[Json], object]:
    return edit(f"keyfacts.trees.{tree}.{path}", value)


def keep_all_below(content: Json) -> Json:
    """A fact under one that was pruned is kept."""
    for tree in content["keyfacts"]["trees"]:
        for fact in tree["facts"]:
            fact["pruned"] = [objection for objection in fact["pruned"] if objection["dimension"] != "orphaned"]
    return content


def prune_everything(content: Json) -> Json:
    for tree in content["keyfacts"]["trees"]:
        tree["query"] = ""
        for fact in tree["facts"]:
            fact["pruned"] = [{"dimension": "significance", "reason": "no"}]
    return content


def trees_of(change: Callable[[list[Any]], list[Any]]) -> Callable[[Json], Json]:
    def changed(content: Json) -> Json:
        content["keyfacts"]["trees"] = change(content["keyfacts"]["trees"])
        return content

    return changed


SPOILED: dict[str, tuple[Callable[[Json], object], str]] = {
    "an id without questions": (edit("questions", []), "there are no questions in pack"),
    "another id": (edit("keyfacts.id", "0" * 16), "the file was changed"),
    "other words": (in_tree("facts.0.fact", "Other words."), "the file was changed"),
    "no trees": (edit("keyfacts.trees", []), "keyfacts.trees"),
    "a huge fact": (in_tree("facts.0.fact", "x" * 20_000), "facts.0.fact"),
    "too many facts": (in_tree("facts", [{}] * 6000), "facts"),
    "a fact without words": (in_tree("facts.1.fact", " - "), "fact 2 of tree 1 has no words"),
    "another number": (in_tree("facts.1.id", 7), "has the number 7"),
    "a root under a fact": (in_tree("facts.0.parent", 2), "fact 1 of tree 1 is not under a tree"),
    "a branch under itself": (in_tree("facts.1.parent", 2), "fact 2 of tree 1 is not under a root"),
    "a leaf under a root": (in_tree("facts.2.parent", 1), "fact 3 of tree 1 is not under a branch"),
    "an orphan that is kept": (keep_all_below, "was kept, and the branch above it was not"),
    "all of it pruned": (prune_everything, "all of its key facts were pruned"),
    "a place beyond the end": (in_tree("span", [0, 10**9]), "a place that is not in the document"),
    "another position": (in_tree("position", 0.99), "not at the position"),
    "an endless position": (in_tree("position", float("inf")), "not JSON"),
    "a tree twice": (trees_of(lambda trees: [trees[0], *trees]), "two trees of the same chunk"),
    "trees the wrong way round": (trees_of(lambda trees: trees[::-1]), "is not in its place"),
    "words that are nowhere": (in_tree("facts.0.evidence", {"text": "nowhere", "span": None}), "not at that place"),
    "half a surrogate": (in_tree("query", "why \ud800"), "not a pack"),
    "endless trouble": (edit("keyfacts.missing", ["x"] * 30_000), "missing"),
}


@pytest.mark.parametrize("what", SPOILED)
def test_tampered_key_facts_are_refused_whole(document: Document, elsewhere: Store, exported: Json, what: str) -> None:
    change, complaint = SPOILED[what]
    with pytest.raises(PackError) as error:
        bring(elsewhere, change(exported), document)

    assert complaint in str(error.value)
    assert error.value.hint
    assert len(str(error.value)) < 300
    assert elsewhere.packs.all() == []
    assert elsewhere.keyfacts.all() == []
    assert not elsewhere.documents.has(document.id)
