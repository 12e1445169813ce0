"""Packs and key facts that travel: what is exported comes back, and what was tampered with is refused whole."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from redraft import Store
from redraft.domain import Document, KeyFacts, Pack
from redraft.errors import PackError, RedraftError
from redraft.evaluators.reference.exchange import PackContents, choose, import_pack, pack_id, pack_json, read_pack_file
from redraft.readers.documents import parse
from redraft.report.history.results import built
from redraft.settings import JudgeConfig
from tests.cli.overeager_model import OvereagerModel
from tests.judges import Harness, island

Json = dict[str, Any]


@pytest.fixture
def elsewhere(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "elsewhere.db") as store:
        yield store


@pytest.fixture(scope="module")
def exporter(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Harness]:
    """Where the pack was built that is exported."""
    harness = Harness(tmp_path_factory.mktemp("exporter"))
    asyncio.run(build(harness))
    yield harness
    harness.store.close()


@pytest.fixture
def exported(exporter: Harness) -> Json:
    ((pack, _),) = exporter.store.packs.all()
    return json.loads(json.dumps(pack_json(exporter.document, pack, None)))


async def build(harness: Harness, questions: int = 40) -> Pack:
    async with harness.session() as session:
        settings = harness.settings({"context_tokens": 1200})
        result = await session.build(harness.document, settings=settings, judging=JudgeConfig(questions=questions))
    assert result.complete
    return built(harness.store, result)


def bring(store: Store, content: object, document: Document | None) -> PackContents:
    data = content if isinstance(content, bytes) else json.dumps(content).encode()
    return import_pack(store, data, document, "pack.json")


def test_exported_pack_is_used_elsewhere(exporter: Harness, elsewhere: Store, exported: Json) -> None:
    brought = bring(elsewhere, exported, exporter.document)
    pack = brought.questions

    assert pack is not None
    assert pack.imported
    assert elsewhere.packs.get(pack.id) == pack
    assert pack_json(*brought) == exported
    assert elsewhere.packs.imported(exporter.document.id) == pack
    assert bring(elsewhere, exported, None) == brought
    assert len(elsewhere.packs.all()) == 1


def test_missing_pack_names_the_next_step(harness: Harness) -> None:
    with pytest.raises(PackError) as error:
        choose(harness.store, harness.document)
    assert "await session.build(source)" in error.value.hint


def test_a_pack_of_another_document_is_refused(elsewhere: Store, exported: Json, exporter: Harness) -> None:
    with pytest.raises(PackError, match="not in this database"):
        bring(elsewhere, exported, None)
    changed = parse((exporter.document.text + " ").encode(), name="other.md")
    with pytest.raises(PackError, match="about another document, 'The Keepers'"):
        bring(elsewhere, exported, changed)
    exporter.store.documents.add(changed)
    with pytest.raises(PackError, match="about another document"):
        choose(exporter.store, changed, exported["id"])


def edit(path: str, value: object) -> Callable[[Json], Json]:
    """Put a value at a place such as `questions.0.rank`; None for a key takes it away."""

    def change(content: Json) -> Json:
        at: Any = content
        *way, last = path.split(".")
        for step in way:
            at = at[int(step) if step.isdigit() else step]
        at[int(last) if last.isdigit() else last] = value
        return content

    return change


SPOILED: dict[str, Callable[[Json], object]] = {
    "no object": lambda content: [content],
    "another format": edit("format", "something"),
    "a newer version": edit("version", 4),
    "another weight": edit("questions.0.weight", 3),
    "no questions": edit("questions", []),
    "too many questions": lambda content: {**content, "questions": content["questions"] * 400},
    "another id": edit("id", "0" * 16),
    "another answer": edit("questions.0.answer", "Bob"),
    "an empty question": edit("questions.0.question", "  "),
    "a question that is huge": edit("questions.0.question", "x" * 20_000),
    "half a surrogate": edit("questions.0.answer", "\ud800"),
    "a rank twice": edit("questions.1.rank", 1),
    "a span that ends first": edit("questions.0.evidence.span", [9, 3]),
    "a span beyond the end": edit("questions.0.evidence.span", [0, 10**9]),
    "a span elsewhere": edit("questions.0.evidence.span", [0, 5]),
    "words that are nowhere": edit("questions.0.evidence", {"text": "nowhere", "span": None}),
    "a position that is no number": edit("questions.0.position", float("nan")),
}


@pytest.mark.parametrize("what", SPOILED)
def test_spoiled_pack_is_refused_whole(exporter: Harness, elsewhere: Store, exported: Json, what: str) -> None:
    spoiled = json.dumps(SPOILED[what](exported)).encode()
    with pytest.raises(PackError) as error:
        bring(elsewhere, spoiled, exporter.document)

    assert error.value.hint
    assert len(str(error.value)) < 300
    assert elsewhere.packs.all() == []
    assert not elsewhere.documents.has(exporter.document.id)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"no json",
        b"\xff\xfe{}",
        b"{" * 100_000,
        b'{"format": "redraft-pack", "format": "redraft-pack"}',
        b"NaN",
        pytest.param(b"[" + b"0," * 2_000_000 + b"0]", id="too many parts"),
    ],
)
def test_what_is_no_json_is_refused(elsewhere: Store, exporter: Harness, data: bytes) -> None:
    with pytest.raises(PackError):
        bring(elsewhere, data, exporter.document)


def test_repeated_question_is_refused(exporter: Harness, elsewhere: Store, exported: Json) -> None:
    pack = exporter.store.packs.get(exported["id"])
    twice = (*pack.questions, pack.questions[0])
    exported["questions"].append({**exported["questions"][0], "rank": len(twice)})
    exported["id"] = pack_id(exporter.document.id, twice)

    with pytest.raises(PackError, match="twice"):
        bring(elsewhere, exported, exporter.document)


def test_impossible_files_are_not_read(tmp_path: Path) -> None:
    large = tmp_path / "large.json"
    with large.open("wb") as file:
        file.truncate(70_000_000)
    for path in (large, tmp_path, tmp_path / "missing.json"):
        with pytest.raises(RedraftError):
            read_pack_file(str(path))


def pack(document: str, **parts: Any) -> bytes:
    content = {"format": "redraft-pack", "version": 3, "id": None, "document": {"id": document, "title": "Light"}}
    return json.dumps({**content, "model": None, "prompt_hashes": {}, "questions": [], **parts}).encode()


def test_evidence_without_places_is_limited(tmp_path: Path) -> None:
    document = parse((b"a" * 40 + b" b") * 50_000, name="x.txt")
    length = len(document.text)

    def fact(number: int) -> dict[str, Any]:
        evidence = {"text": document.text[-20 - number % 20 :], "span": None}
        return {"id": number, "level": "root", "parent": None, "fact": "Light.", "evidence": evidence, "pruned": []}

    tree = {"perspective": "narrative", "query": "", "facts": [fact(number) for number in range(1, 1_001)]}
    trees = [{**tree, "chunk": at, "span": [at, at + 1], "position": (at + 0.5) / length} for at in range(5)]
    facts = {"id": "x", "builder": "b", "validator": "v", "prompt_hashes": {}, "trees": trees, "missing": []}
    with Store(tmp_path / "x.db") as store, pytest.raises(PackError, match="5,000 pieces of evidence without their"):
        import_pack(store, pack(document.id, keyfacts=facts), document, "pack.json")


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Harness, KeyFacts, str]]:
    """A database with questions and key facts of several chunks, and both of them as exported text."""
    harness = Harness(tmp_path_factory.mktemp("keyfacts"), OvereagerModel(), document=island(40))

    async def make() -> KeyFacts:
        await build(harness)
        return await harness.keyfacts(settings={"context_tokens": 1200}, keyfact_overlap=40)

    keyfacts = asyncio.run(make())
    assert len(keyfacts.trees) >= 4
    yield harness, keyfacts, json.dumps(pack_json(*choose(harness.store, harness.document)))
    harness.store.close()


@pytest.fixture
def exported_trees(world: tuple[Harness, KeyFacts, str]) -> Json:
    content: Json = json.loads(world[2])
    return content


@pytest.fixture
def document(world: tuple[Harness, KeyFacts, str]) -> Document:
    return world[0].document


def test_exported_key_facts_are_used_elsewhere(
    world: tuple[Harness, KeyFacts, str], document: Document, elsewhere: Store, exported_trees: Json
) -> None:
    _, keyfacts, _ = world
    brought = bring(elsewhere, exported_trees, document)

    assert brought.keyfacts == replace(keyfacts, imported=True)
    assert pack_json(*brought) == exported_trees
    assert elsewhere.keyfacts.imported(document.id) == brought.keyfacts
    assert bring(elsewhere, exported_trees, None) == brought
    assert len(elsewhere.keyfacts.all()) == 1
    assert pack_json(*choose(elsewhere, document)) == exported_trees


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


TAMPERED: dict[str, tuple[Callable[[Json], object], str]] = {
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


@pytest.mark.parametrize("what", TAMPERED)
def test_tampered_key_facts_are_refused_whole(
    document: Document, elsewhere: Store, exported_trees: Json, what: str
) -> None:
    change, complaint = TAMPERED[what]
    with pytest.raises(PackError) as error:
        bring(elsewhere, change(exported_trees), document)

    assert complaint in str(error.value)
    assert error.value.hint
    assert len(str(error.value)) < 300
    assert elsewhere.packs.all() == []
    assert elsewhere.keyfacts.all() == []
    assert not elsewhere.documents.has(document.id)
