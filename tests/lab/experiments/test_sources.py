"""What experiments are about: files, folders, patterns and lines; and which queries are asked of a document."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from redraft.domain import Evidence, KeyFact, KeyFacts, Perspective, Span, Tree
from redraft.errors import RedraftError
from redraft.lab.experiments.hamlet import sample_trees
from redraft.lab.experiments.sources import corpus


@pytest.fixture
def books(tmp_path: Path) -> Path:
    (tmp_path / "b.txt").write_text("The second book.", "utf-8")
    (tmp_path / "a.md").write_text("# First\n\nThe first book.", "utf-8")
    (tmp_path / ".hidden.txt").write_text("Nobody sees this.", "utf-8")
    (tmp_path / "picture.png").write_bytes(b"\x89PNG")
    lines = [{"id": 7, "title": "Third", "text": "The third\u2028book."}, {"id": "four", "text": "The fourth book."}]
    (tmp_path / "c.jsonl").write_text("\n\n".join(map(json.dumps, lines)) + "\n", "utf-8")
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "e.txt").write_text("The fifth book.", "utf-8")
    return tmp_path


def test_folders_give_files_and_lines_in_order(books: Path) -> None:
    actual = corpus([str(books)]).documents
    assert [document.title for document in actual] == ["First", "b", "Third", "four"]
    assert [document.source for document in actual] == ["a.md", "b.txt", "c.jsonl", "c.jsonl"]
    assert actual[2].text == "The third\nbook."


def test_patterns_match_files_without_repeats(books: Path) -> None:
    assert [document.title for document in corpus([str(books / "*.t?t"), str(books / "b.txt")]).documents] == ["b"]
    assert [document.title for document in corpus([str(books / "**" / "*.txt")]).documents] == ["b", "e"]
    (books / "what [really] happened.txt").write_text("It rained.", "utf-8")
    assert [document.text for document in corpus([str(books / "what [really] happened.txt")]).documents] == [
        "It rained."
    ]


@pytest.mark.parametrize(
    ("content", "message", "place"),
    [
        ('{"text": "x."}\n{"text": ', "this is not JSON", "line 2"),
        ('{"text": "x."}\n{"title": "y"}', "no `text` with a text", "line 2"),
        ('["x."]', "an object was expected", "entry 1"),
        ("\n \n", "the file is empty", "x.jsonl"),
    ],
)
def test_bad_documents_are_named_with_their_place(tmp_path: Path, content: str, message: str, place: str) -> None:
    (tmp_path / "x.jsonl").write_text(content, "utf-8")
    with pytest.raises(RedraftError) as error:
        corpus([str(tmp_path / "x.jsonl")])
    assert message in error.value.message
    assert error.value.place.endswith(place)


def test_what_is_not_there_is_said(books: Path) -> None:
    for source, message in (("*.doc", "no file fits"), ("none.txt", "no such file")):
        with pytest.raises(RedraftError, match=message):
            corpus([str(books / source)])
    (books / "empty").mkdir()
    with pytest.raises(RedraftError, match="no file in it can be read"):
        corpus([str(books / "empty")])


BOTH: tuple[Perspective, ...] = ("analytical", "narrative")


def keyfacts(chunks: int = 10, *, without: frozenset[tuple[int, Perspective]] = frozenset()) -> KeyFacts:
    """A tree of one fact for each chunk and perspective; some have no query."""
    trees = tuple(
        Tree(
            n,
            perspective,
            Span(n, n + 1),
            (n + 0.5) / chunks,
            (KeyFact(1, "root", None, "A fact.", Evidence("")),),
            "" if (n, perspective) in without else f"The {perspective} query of chunk {n}?",
        )
        for n in range(chunks)
        for perspective in BOTH
    )
    return KeyFacts("k", "d", "judge", "judge", {}, trees)


def places(actual: list[Tree]) -> list[tuple[int, str]]:
    return [(tree.chunk, tree.perspective[0]) for tree in actual]


def test_all_queries_are_asked_in_document_order() -> None:
    assert sample_trees(keyfacts(), BOTH) == list(keyfacts().trees)
    assert sample_trees(keyfacts(), BOTH, 20) == list(keyfacts().trees)
    assert sample_trees(keyfacts(), BOTH, 99) == list(keyfacts().trees)


@pytest.mark.parametrize(
    ("count", "expected"),
    [
        (1, [(4, "a")]),
        (2, [(2, "a"), (7, "n")]),
        (4, [(1, "a"), (3, "n"), (6, "a"), (8, "n")]),
        (5, [(0, "a"), (2, "n"), (4, "a"), (6, "n"), (8, "a")]),
    ],
)
def test_chosen_queries_spread_and_alternate_perspectives(count: int, expected: list[tuple[int, str]]) -> None:
    assert places(sample_trees(keyfacts(), BOTH, count)) == expected


@pytest.mark.parametrize("count", range(1, 21))
def test_perspectives_share_the_number_equally(count: int) -> None:
    actual = sample_trees(keyfacts(), BOTH, count)
    halves = Counter(tree.perspective for tree in actual)
    assert halves.total() == count
    assert abs(halves["analytical"] - halves["narrative"]) <= 1
    assert len({id(tree) for tree in actual}) == count


def test_other_perspectives_fill_missing_queries() -> None:
    actual = sample_trees(keyfacts(), ("narrative",), 5)
    assert places(actual) == [(0, "n"), (2, "n"), (4, "n"), (6, "n"), (8, "n")], "one alone has all of them"
    without = frozenset((n, BOTH[0]) for n in range(9))
    actual = sample_trees(keyfacts(without=without), BOTH, 6)
    assert Counter(tree.perspective for tree in actual) == {"analytical": 1, "narrative": 5}


def test_equal_queries_are_asked_once() -> None:
    trees = keyfacts(2).trees
    twice = tuple(Tree(t.chunk, t.perspective, t.span, t.position, t.facts, "The same?") for t in trees)
    assert sample_trees(KeyFacts("k", "d", "judge", "judge", {}, twice), BOTH) == [twice[0]]
