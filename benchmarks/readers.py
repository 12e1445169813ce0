"""What readers take: time and memory for large files, for spoiled ones, and how many sentences are on the right page.

    python -m benchmarks.readers                 # large files, each read as `redraft read` does it
    python -m benchmarks.readers --spoiled 300   # so many spoiled and cut-off files of each format
    python -m benchmarks.readers --pages         # sentences whose page is known

Large files are made by `tests/readers/makers.py` out of the sample book, over and over. Times are in seconds: `wall` by
the clock, `processor` of the process that reads, and of ours. Memory, in MB, is at most what the
process had: it is born as large as ours.
"""

from __future__ import annotations

import multiprocessing
import resource
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from benchmarks.common import options_of
from redraft.domain import Span
from redraft.errors import DocumentError
from redraft.readers import formats
from redraft.readers.documents import load_bytes
from redraft.readers.formats import Format
from redraft.text.places import pages_of
from tests.readers import makers
from tests.readers.test_formats import book
from tests.readers.test_hostile_files import FORMS, spoiled

CHARACTERS = 5_000_000
PAGES = 1_000
TIMES = 3


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("--spoiled", type=int, metavar="N", help="read so many spoiled files of each format")
    parser.add_argument("--pages", action="store_true", help="count the sentences that are on the right page")
    options = parser.parse_args()
    if options.spoiled:
        read_spoiled(options.spoiled)
    elif options.pages:
        right, known = sentences_by_page(PAGES)
        print(f"{right} of {known} sentences on {PAGES} pages have their printed page: {right / known:.2%}")
    else:
        read_large()


def read_large() -> None:
    print("| file | its MB | MB of text | wall | processor | ours | memory |\n|---|---|---|---|---|---|---|")
    for name, form, make in large():
        data = make()
        with multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as pool:
            took = min((pool.apply(timed, (form, data)) for _ in range(TIMES)), key=lambda one: one.processor)
        size, text = len(data) / 1e6, took.characters / 1e6
        figures = f"{took.wall:.1f} | {took.processor:.1f} | {took.ours:.1f} | {took.memory:.0f}"
        print(f"| {name} | {size:.1f} | {text:.1f} | {figures} |", flush=True)


def large() -> Iterator[tuple[str, Format, Callable[[], bytes]]]:
    """The large files, by their names."""
    title, _ = book()
    yield f"PDF of {PAGES:,} pages", "pdf", a_thousand_pages
    yield "EPUB with 5 MB of text", "epub", lambda: makers.epub(title, chapters(CHARACTERS))
    yield "EPUB of 5 MB", "epub", lambda: makers.epub(title, chapters(2 * CHARACTERS))
    yield "HTML with 5 MB of text", "html", lambda: makers.html(title, chapters(CHARACTERS))
    yield "DOCX with 5 MB of text", "docx", lambda: makers.docx(title, chapters(CHARACTERS))
    yield "ODT with 5 MB of text", "odt", lambda: makers.odt(title, chapters(CHARACTERS))


def chapters(characters: int) -> makers.Chapters:
    """The chapters of the sample book over and over, until there are so many characters."""
    _, once = book()
    made, size = [], 0
    while size < characters:
        for _, texts in once:
            made.append((f"Chapter {len(made) + 1}", texts))
            size += sum(map(len, texts))
    return made


def a_thousand_pages() -> bytes:
    """A PDF file of so many pages, with running heads and page numbers."""
    made = makers.new_pdf("The Salt Ledger")
    made.add_page()
    texts = [text for _, once in chapters(3 * CHARACTERS) for text in once]
    for text in texts:
        made.multi_cell(0, 5.5, text, align="J", new_x="LMARGIN", new_y="NEXT")
        made.ln(4)
        if made.page_no() >= PAGES:
            break
    return bytes(made.output())


@dataclass(frozen=True)
class Took:
    """What reading a file took."""

    wall: float
    processor: float
    ours: float
    memory: float
    characters: int


def timed(form: Format, data: bytes) -> Took:
    """A file read as commands do it, from the start of the process that reads it to the document."""
    before, ours, wall = resource.getrusage(resource.RUSAGE_CHILDREN), time.process_time(), time.perf_counter()
    made = load_bytes(data, f"a.{form}")
    wall, ours = time.perf_counter() - wall, time.process_time() - ours
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Took(wall, processor, ours, after.ru_maxrss / 1e3, len(made.text))


def read_spoiled(number: int) -> None:
    print("| format | files | documents | sentences | by a parser's mistake | longest, s | memory, MB |")
    print("|---|---|---|---|---|---|---|")
    for form in FORMS:
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            print(pool.apply(_spoiled, (form, number)), flush=True)


def _spoiled(form: Format, number: int) -> str:
    """The row of a format, read in one process under the limits of a reader."""
    formats._limit(form)
    ended: Counter[str] = Counter()
    longest = 0.0
    for seed in range(number):
        data, began = spoiled(form, seed), time.perf_counter()
        try:
            formats.read(form, data, f"a.{form}")
            ended["document"] += 1
        except DocumentError:
            ended["sentence"] += 1
        except Exception:  # noqa: BLE001 - that is what is looked for
            traceback.print_exc()
        longest = max(longest, time.perf_counter() - began)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    mistakes = number - ended["document"] - ended["sentence"]
    return (
        f"| {form} | {number} | {ended['document']} | {ended['sentence']} | {mistakes} | {longest:.2f} | {memory:.0f} |"
    )


def sentences_by_page(pages: int) -> tuple[int, int]:
    """How many sentences of so many pages have the page that is printed on theirs, and how many there are."""
    new_book = makers.new_pdf("A head", first_number=5)
    new_book.add_page()
    sentences: list[tuple[str, int, int]] = []
    while new_book.page_no() <= pages:
        number = len(sentences)
        text = (
            f"Sentence number {number} tells of the salt that was made that year, and of {number + 7} more casks of it."
        )
        before = new_book.page_no()
        new_book.set_font_size(11)
        new_book.multi_cell(0, 5.5, text, new_x="LMARGIN", new_y="NEXT")
        new_book.ln(4)
        sentences.append((text, before, new_book.page_no()))
    document = load_bytes(bytes(new_book.output()), "book.pdf")
    assert "A head" not in document.text
    right = at = 0
    for text, first, last in sentences:
        at = document.text.index(text, at)
        labels = {str(page + 4) for page in (first, last)}
        right += set(pages_of(document, Span(at, at + len(text))).split("-")) <= labels
    return right, len(sentences)


if __name__ == "__main__":
    main()
