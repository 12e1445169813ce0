"""What a caller hands over as a document: a text, or a text where a path was expected."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from redraft import Document, Session, Store, UsageError, graphs
from redraft.domain import content_id
from redraft.errors import DocumentError
from redraft.runs.inputs import document_of
from redraft.text.sanitizer import clean
from tests.support import story

SECRET = "Nobody but the two of them knew of it"
TEXTS = (
    f"{SECRET}.\nIt was long ago.",
    f"{SECRET}, and so it stayed for all the years to come. And then.",
    SECRET * 40,
)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "redraft.db") as made:
        yield made


def test_a_text_gets_sections_and_a_clean_title_when_it_is_used(store: Store) -> None:
    text = "# One\r\n\r\nIt \x1b[31mbegan\x1b[0m.\x07\n\n## Two\n\nIt ended."
    document = document_of(store, Document.from_text(text, title="Minutes\n of \x1b]0;x\x07 May"))
    assert document.text == "# One\n\nIt began. \n\n## Two\n\nIt ended."
    assert document.id == content_id(document.text)
    assert (document.title, document.source) == ("Minutes of May", "")
    assert [(section.title, section.level) for section in document.sections] == [("One", 1), ("Two", 2)]


@pytest.mark.parametrize(("text", "title"), [("# One\n\nIt began.", "One"), ("It began. It ended.", "text")])
def test_a_text_without_a_title_is_called_by_its_heading(store: Store, text: str, title: str) -> None:
    assert document_of(store, Document.from_text(text)).title == title


@pytest.mark.parametrize(
    ("text", "message"),
    [("A\0B", "the text holds NUL characters"), ("", "the document is empty"), (" \x07\n", "the document is empty")],
)
def test_a_text_that_is_none_is_refused(store: Store, text: str, message: str) -> None:
    with pytest.raises(DocumentError, match=message) as caught:
        document_of(store, Document.from_text(text, title="Minutes"))
    assert caught.value.place == "Minutes"


def test_a_surrogate_can_be_stored(store: Store) -> None:
    assert document_of(store, Document.from_text("It began \ud800 and ended.")).text == "It began ? and ended."


@pytest.mark.parametrize("text", [*TEXTS, "A\0B"])
async def test_a_text_in_place_of_a_path_is_not_quoted(store: Store, text: str) -> None:
    async with Session(store) as session:
        with pytest.raises(UsageError) as caught:
            await session.summarize(text)
    assert str(caught.value) == f"a text of {len(text)} characters was given where a path was expected".replace(
        f"{len(text)}", f"{len(text):,}"
    )
    assert "redraft.Document.from_text(text, title=...)" in caught.value.hint


@pytest.mark.parametrize("text", [*TEXTS, "A\0B"])
async def test_the_summary_in_the_input_of_a_graph_may_be_its_text(store: Store, tmp_path: Path, text: str) -> None:
    (tmp_path / "book.md").write_text(story(30).text, "utf-8")
    task: graphs.Task = {"source": str(tmp_path / "book.md"), "summary": text, "metrics": ["statistics"]}
    async with Session(store) as session:
        left = await graphs.judge().compile().ainvoke(task, context=session)
    assert left["summary"] == clean(text).strip()


def test_a_path_of_many_words_is_a_path(store: Store, tmp_path: Path) -> None:
    path = tmp_path / f"{'a word ' * 16}.md"
    path.write_text("It began. It ended.", "utf-8")
    assert document_of(store, path).text == "It began. It ended."
