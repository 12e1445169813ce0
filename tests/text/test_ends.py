"""Chunks that end where the text does, and what surrounds a text that is left out of them."""

from __future__ import annotations

import time

import pytest

from redraft.domain import Document, Span
from redraft.readers.documents import parse
from redraft.text.chunks import chunk
from redraft.text.document_form import body_of
from redraft.text.tokens import EstimatingTokenizer
from tests.support import SAMPLE

TALK = ['"Is it safe?" she asked.', '"Safe till seven," said the carrier.', '"And then?" she asked.']
PLAIN = "The tide went out over the bank, and nobody was there to see it but the keeper and his dog. "


def cut(text: str, budget: int, *, natural: bool = True) -> list[str]:
    document = parse(text.encode(), name="text.md")
    chunks = chunk(document, EstimatingTokenizer(), budget, natural=natural)
    assert "".join(document.text[slice(*one.span)] for one in chunks) == document.text
    assert all(one.tokens <= budget for one in chunks)
    return [document.text[slice(*one.span)] for one in chunks]


@pytest.mark.parametrize("mark", ["## Chapter 2: The Bank", "* * *", "Chapter Two"])
def test_a_chunk_ends_where_a_chapter_or_a_scene_does(mark: str) -> None:
    text = "\n\n".join([PLAIN * 3] * 3 + [mark] + [PLAIN * 3] * 3)
    first, second = cut(text, 320)[:2]

    assert first.endswith("* * *\n\n") if mark == "* * *" else second.startswith(mark)
    assert not cut(text, 320, natural=False)[1].startswith(mark), "or else it would be no news"


def test_a_chunk_ends_with_a_paragraph_and_never_amid_talk_where_it_need_not() -> None:
    text = "\n\n".join([PLAIN * 4] * 2 + TALK + [PLAIN * 8])

    assert cut(text, 230)[1].startswith(TALK[0])
    assert TALK[0] in cut(text, 230, natural=False)[0], "or else it would be no news"


def test_the_sample_book_is_cut_at_paragraphs_and_covers_all_but_the_authors_note() -> None:
    document = parse(SAMPLE.read_bytes(), name="book.md")
    body = body_of(document)
    chunks = chunk(document, EstimatingTokenizer(), 2048, body.span.end, start=body.span.start, natural=True)

    assert body.said == "not part of the main text, so left out: “Author's note”"
    assert "".join(document.text[slice(*one.span)] for one in chunks) == document.text[slice(*body.span)]
    for one in chunks:
        assert document.text[: one.span.end].endswith("\n\n")
        assert not document.text[: one.span.end].rstrip().split("\n")[-1].startswith("#"), "no heading is left behind"


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (f"# Acknowledgements\n\nI thank Ann.\n\n# Chapter 1\n\n{PLAIN * 9}", f"# Chapter 1\n\n{PLAIN * 9}"),
        (f"© 1924 by Ann Lee.\n\nAll rights reserved.\n\n{PLAIN * 20}", f"{PLAIN * 20}"),
        (f"# A Tale\n\n{PLAIN * 9}\n\n## About the Author\n\nAnn Lee lives.", f"# A Tale\n\n{PLAIN * 9}\n\n"),
        (f"# Why\n\n{PLAIN * 9}\n\n## References\n\nA. Lee. 1924.\n\nB. Lee. 1925.", f"# Why\n\n{PLAIN * 9}\n\n"),
        (f"# Why\n\n{PLAIN * 9}\n\n## References\n\nA. Lee.\n\n## Appendix A\n\nText.", None),
        (f"# Why\n\n{PLAIN * 2}\n\n## References\n\n{'A. Lee. 1924. ' * 90}", None),
        (f"References\n\n{PLAIN * 9}", None),
        (PLAIN * 9, None),
    ],
)
def test_what_surrounds_a_text_is_left_out_at_its_ends_alone(text: str, left: str | None) -> None:
    body = body_of(Document.from_text(text))

    assert text[slice(*body.span)] == (text if left is None else left)
    assert bool(body.said) is (left is not None)


def test_of_a_beginning_nothing_is_left_out_at_its_end() -> None:
    text = f"# Why\n\n{PLAIN * 9}\n\n## References\n\nA. Lee. 1924.\n\nB. Lee. 1925."
    end = text.index("B. Lee")
    assert body_of(Document.from_text(text), end).span == Span(0, end)


@pytest.mark.slow
def test_it_takes_time_in_proportion_to_the_text() -> None:
    def seconds(times: int) -> float:
        text = "\n\n".join([*TALK, "* * *", "# A Title", "References", PLAIN] * times)
        document, began = Document.from_text(text), time.perf_counter()
        chunk(document, EstimatingTokenizer(), 64, natural=True)
        body_of(document)
        return time.perf_counter() - began

    small = min(seconds(300) for _ in range(3))
    assert seconds(3_000) < 40 * small
