"""Key facts that travel in a pack: what is exported comes back, and what was tampered with is refused whole."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
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


def test_pack_may_hold_key_facts_alone(document: Document, elsewhere: Store, exported: Json) -> None:
    alone = {**exported, "id": None, "model": None, "prompt_hashes": {}, "questions": []}
    brought = bring(elsewhere, alone, document)

    assert brought.questions is None
    assert pack_json(*brought) == alone
    assert pack_json(*choose(elsewhere, document)) == alone
    assert elsewhere.packs.all() == []


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


# What is said against each, so that none is refused for something else.
SPOILED: dict[str, tuple[Callable[[Json], object], str]] = {
    "an id without questions": (edit("questions", []), "there are no questions in pack"),
    "another id": (edit("keyfacts.id", "0" * 16), "the file was changed"),
    "no trees": (edit("keyfacts.trees", []), "keyfacts.trees"),
    "no facts": (in_tree("facts", []), "facts"),
    "a huge fact": (in_tree("facts.0.fact", "x" * 20_000), "facts.0.fact"),
    "too many facts": (in_tree("facts", [{}] * 6000), "facts"),
    "a fact without words": (in_tree("facts.1.fact", " - "), "fact 2 of tree 1 has no words"),
    "another number": (in_tree("facts.1.id", 7), "has the number 7"),
    "a root under a fact": (in_tree("facts.0.parent", 2), "fact 1 of tree 1 is not under a tree"),
    "a branch under nothing": (in_tree("facts.1.parent", None), "fact 2 of tree 1 is not under a root"),
    "a branch under itself": (in_tree("facts.1.parent", 2), "fact 2 of tree 1 is not under a root"),
    "a leaf under a root": (in_tree("facts.2.parent", 1), "fact 3 of tree 1 is not under a branch"),
    "a branch that comes first": (in_tree("facts.0.level", "branch"), "fact 1 of tree 1 is not under a root"),
    "a leaf that follows a root": (in_tree("facts.1.level", "leaf"), "fact 2 of tree 1 is not under a branch"),
    "an orphan that is kept": (keep_all_below, "was kept, and the branch above it was not"),
    "all of it pruned": (prune_everything, "all of its key facts were pruned"),
    "an unknown perspective": (in_tree("perspective", "lyrical"), "perspective"),
    "a place beyond the end": (in_tree("span", [0, 10**9]), "a place that is not in the document"),
    "a place that ends first": (in_tree("span", [9, 3]), "a place that is not in the document"),
    "another position": (in_tree("position", 0.99), "not at the position"),
    "an endless position": (in_tree("position", float("inf")), "not JSON"),
    "a tree twice": (trees_of(lambda trees: [trees[0], *trees]), "two trees of the same chunk"),
    "trees the wrong way round": (trees_of(lambda trees: trees[::-1]), "is not in its place"),
    "a chunk of two places": (in_tree("chunk", 0, 2), "two trees of the same chunk"),
    "chunks that count backwards": (in_tree("chunk", 9, 0), "is not in its place"),
    "words that are nowhere": (in_tree("facts.0.evidence", {"text": "nowhere", "span": None}), "not at that place"),
    "words elsewhere": (in_tree("facts.0.evidence.span", [0, 5]), "not at that place"),
    "a query without words": (in_tree("query", "?"), "the query of tree 1 has no words"),
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


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("facts.0.fact", "Other words."),
        ("query", "Other words?"),
        ("facts.2.pruned.0.reason", "Another reason."),
        ("facts.2.pruned.0.dimension", "objectivity"),
        ("facts.0.evidence", {"text": "keeper number 5", "span": None}),
    ],
)
def test_whatever_is_changed_changes_the_id(
    document: Document, elsewhere: Store, exported: Json, path: str, value: object
) -> None:
    with pytest.raises(PackError, match="the file was changed"):
        bring(elsewhere, in_tree(path, value)(exported), document)


async def test_last_import_counts(tmp_path: Path) -> None:
    harness = Harness(tmp_path, OvereagerModel())
    try:
        built = [await harness.keyfacts(perspective=perspective) for perspective in ("narrative", "analytical")]
        assert choose(harness.store, harness.document).keyfacts == built[1]
        assert choose(harness.store, harness.document, keyfacts=built[0].id[:8]).keyfacts == built[0]
        for keyfacts in (built[0], built[1], built[0]):
            bring(harness.store, pack_json(harness.document, None, keyfacts), harness.document)
            imported = harness.store.keyfacts.imported(harness.document.id)
            assert imported is not None
            assert imported.id == keyfacts.id
            assert choose(harness.store, harness.document).keyfacts == imported
        with pytest.raises(PackError, match="about another document"):
            choose(harness.store, island(3), keyfacts=built[0].id)
    finally:
        harness.store.close()
