"""Several documents that are read as one: what stands in which of them, and on which page."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redraft.domain import Document, Span
from redraft.errors import UsageError
from redraft.readers.documents import combine, load, load_all, parse
from redraft.readers.parts import read_selection, split_document
from redraft.text.chunks import chunk
from redraft.text.places import document_of, percent_of
from redraft.text.tokens import Tokenizer
from tests.readers import makers

TREES = ("alder", "birch", "cedar")
KEEPERS = ("Hester Vane", "Tobias Wren", "Ruth Crane", "Jem Lamb", "Edgar Harrow", "Alban Frere")


def trees(tree: str, chapters: int = 2) -> makers.Chapters:
    """Chapters with paragraphs that tell which document they are of, which chapter, and which paragraph."""
    return [
        (
            f"Chapter {at}: The {tree}",
            [" ".join(_seen(at, tree, number, by) for by in range(len(KEEPERS))) for number in range(7)],
        )
        for at in range(1, chapters + 1)
    ]


def _seen(chapter: int, tree: str, number: int, by: int) -> str:
    year = 1700 + 100 * TREES.index(tree) + 50 * chapter + 7 * number + by
    return f"In chapter {chapter} the {tree} number {number} was seen by {KEEPERS[by]} in {year}."


def three(folder: Path) -> list[str]:
    """A document of a word processor, a page and a printed one, each about a tree of its own."""
    makes = (makers.docx, makers.html, makers.pdf)
    paths = [folder / f"{tree}.{make.__name__}" for tree, make in zip(TREES, makes, strict=True)]
    for path, tree, make in zip(paths, TREES, makes, strict=True):
        path.write_bytes(make(f"All about the {tree}", trees(tree)))
    return [str(path) for path in paths]


@pytest.fixture(scope="module")
def paths(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    return three(tmp_path_factory.mktemp("trees"))


def at(document: Document, words: str) -> Span:
    start = document.text.index(words)
    return Span(start, start + len(words))


def test_documents_of_a_corpus_stay_apart(tmp_path: Path) -> None:
    first, second = (parse(f"# {tree}\n\nA word on the {tree}.".encode(), name=f"{tree}.md") for tree in TREES[:2])
    both = combine([first, second])
    assert both.id not in {first.id, second.id, combine([second, first]).id}
    assert parse(both.text.encode(), name="both.md").id != both.id
    assert both.id == combine([first, second]).id
    assert combine([first]) is first or combine([first]) == first
    for name in ("one.md", "two.md", "other.md"):
        (tmp_path / name).write_text("Another one." if name == "other.md" else "The lamp went out.", "utf-8")
    names = [str(tmp_path / name) for name in ("one.md", "two.md", "other.md")]
    corpus = load_all(names)
    assert corpus.text.count("lamp") == 1
    assert corpus.notes == ("two.md has the same text as one.md, so it is read once",)
    alone = load_all(names[:2])
    assert alone.id == load(names[0]).id
    assert alone.notes == corpus.notes
    for number in (1, 2):
        (tmp_path / str(number)).mkdir()
        (tmp_path / str(number) / "notes.md").write_text(f"The lamp number {number} went out.", "utf-8")
    corpus = load_all([str(tmp_path / str(number) / "notes.md") for number in (1, 2)])
    assert document_of(corpus, at(corpus, "number 2")) == "notes.md (2)"


@pytest.mark.nightly
def test_impossible_combination_is_refused(paths: list[str]) -> None:
    for selection, option in ((read_selection(pages="3"), "pages"), (read_selection(chapters="1"), "chapters")):
        with pytest.raises(UsageError, match=f"{option} are selected from one document, but 2 were given"):
            load_all(paths[:2], selection=selection)
    with pytest.raises(UsageError, match="stdin can be read for one document only"):
        load_all(["-", "-"])
    with pytest.raises(UsageError, match="given as one document"):
        combine([load_all(paths[:2]), load(paths[2])])
    with pytest.raises(UsageError, match="no document was given"):
        load_all([])


texts = st.lists(
    st.text(st.sampled_from("ab. \n#é。"), min_size=1, max_size=200).filter(lambda text: bool(text.strip())),
    min_size=1,
    max_size=5,
)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(texts=texts, budget=st.sampled_from([16, 20, 64, 1000]))
def test_chunks_and_parts_keep_documents_apart(texts: list[str], budget: int) -> None:
    corpus = combine([parse(text.encode(), name=f"{number}.md") for number, text in enumerate(texts)])
    tokenizer = Tokenizer()
    chunks = chunk(corpus, tokenizer, budget)
    assert "".join(corpus.text[slice(*piece.span)] for piece in chunks) == corpus.text
    marks = [mark for mark in corpus.marks if mark.kind == "document"]
    assert len(marks) in (0, len(set(texts)), *range(2, len(texts) + 1))
    for piece in chunks:
        met = {mark.label for mark in marks if mark.start < piece.span.end and piece.span.start < mark.end}
        assert len(met) <= 1
        assert piece.tokens == tokenizer.count(corpus.text[slice(*piece.span)])


chapters = st.lists(
    st.tuples(st.integers(1, 3), st.integers(0, 90)),  # the rank of a heading, and how many words stand below it
    min_size=1,
    max_size=12,
)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(chapters=chapters, before=st.integers(0, 60))
def test_the_parts_of_a_document_cover_it(chapters: list[tuple[int, int]], before: int) -> None:
    titled = (f"{'#' * rank} Title {at}\n\n{'word ' * words}" for at, (rank, words) in enumerate(chapters))
    document = parse("\n\n".join(["word " * before, *titled]).encode(), name="book.md")
    try:
        parts = split_document(document)
    except UsageError:
        return
    assert len(parts) > 1
    assert "".join(document.text[slice(*part.span)] for part in parts) == document.text
    assert all(document.text[slice(*part.span)].split().count("word") > 30 for part in parts)
    assert all(percent_of(document, part.span.start) < 100 for part in parts)


def test_parts_are_chapters_and_surroundings() -> None:
    text = "word " * 50
    book = (
        f"# The Book\n\nBy nobody.\n\n## Preface\n\n{text}\n\n## Chapter 1: Salt\n\n{text}\n\n### Within\n\n{text}\n\n"
    )
    book += f"\n\n## Chapter 2: Sea\n\n{text}\n\n## Chapter 3: Nothing\n\nHere.\n\n## Afterword\n\n{text}"
    parts = split_document(parse(book.encode(), name="book.md"))
    # The title page belongs to the preface, and a chapter of one word to what follows it.
    assert [part.title for part in parts] == ["Preface", "Chapter 1: Salt", "Chapter 2: Sea", "Afterword"]
    assert parts[0].span.start == 0
    with pytest.raises(UsageError, match="no chapters are found"):
        split_document(parse(("word " * 200).encode(), name="plain.txt"))
