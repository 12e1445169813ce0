"""What is read of the same document made by different programs, and of saved web pages.

    python -m benchmarks.producers

The document has five sections with titles, one of them "14 Z", 25 paragraphs, ten footnotes and, in some files, running
heads that alternate. A program that is not installed is left out: pandoc, LibreOffice (soffice), pdflatex, groff,
chromium, wkhtmltopdf, calibre (ebook-convert); fpdf2, reportlab, WeasyPrint, python-docx, ebooklib and odfpy.

Columns are shares: paragraphs that are read whole and as paragraphs, titles that are headings, notes of which the text
is read; and how many running heads are left in the text.
"""

from __future__ import annotations

import importlib
import os
import re
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from html import escape
from pathlib import Path
from typing import Any

from redraft.document import Document
from redraft.errors import DocumentError
from redraft.readers import html
from redraft.readers.documents import load
from tests.readers import makers
from tests.readers.webpages import PAGES, paragraphs, words

TITLE, HEADS = "The salt road of Sarn", ("Ada Quill and others", "The Salt Road")
TITLES = (
    "1 The Light",
    "2 The Storm",
    "3 What the clerk knew",
    "14 Z",
    "5 A title that does not fit on one line " + "at all " * 5,
)
NOTES = (
    "The causeway is two miles long and was built in 1820.",
    "See the minutes of March 1901, which nobody had read.",
)
WITH_NOTE = (1, 3)
WITHOUT_NOTES = (
    *("chromium.pdf", "wkhtmltopdf.pdf", "reportlab.pdf", "fpdf2.pdf"),
    *("python-docx.docx", "ebooklib.epub", "odfpy.odt", "chromium.html"),
)
CSS = """body{font:11pt "DejaVu Serif",serif;text-align:justify} h1{font-size:15pt;text-align:left}
@page{size:A5;margin:2cm} @page:left{@top-center{content:"LEFT";font-size:9pt}}
@page:right{@top-center{content:"RIGHT";font-size:9pt}} .note{float:footnote;font-size:8pt;text-align:left}"""
TEX = r"""\documentclass[11pt,twoside%s]{article}\usepackage[utf8]{inputenc}\usepackage[T1]{fontenc}\usepackage{lmodern}
\usepackage[a5paper,margin=2cm]{geometry}\usepackage{fancyhdr}\pagestyle{fancy}\fancyhf{}\fancyhead[CE]{%s}\fancyhead[CO]{%s}
\fancyfoot[C]{\thepage}\title{%s}\date{}\author{}\begin{document}\maketitle %s\end{document}"""


def sections() -> list[tuple[str, list[str]]]:
    said = [re.sub(r"[#$%&_{}~^\\|<>]", "", one) for one in paragraphs()[:25]]
    return [(title.strip(), said[5 * at : 5 * at + 5]) for at, title in enumerate(TITLES)]


def made(heading: Callable[[str], str], paragraph: Callable[[str, str, str], str]) -> str:
    """The document in a language of marks; a paragraph has its text before a note, the note and the text after it."""
    parts: list[str] = []
    for title, texts in sections():
        parts.append(heading(title))
        for at, text in enumerate(texts):
            split = text.split(" ")
            middle = len(split) // 2 if at in WITH_NOTE else len(split)
            note = NOTES[len(parts) % 2] if at in WITH_NOTE else ""
            parts.append(paragraph(" ".join(split[:middle]), note, " ".join(split[middle:])))
    return "\n\n".join(parts)


def tex(columns: str = "") -> str:
    def plain(text: str) -> str:
        return text.translate(str.maketrans({"“": "``", "”": "''", "’": "'", "‘": "`", "—": "---", "£": r"\pounds{}"}))

    body = made(
        lambda title: rf"\section*{{{title}}}",
        lambda a, note, b: plain(a) + (rf"\footnote{{{note}}} " if note else "") + plain(b),
    )
    return TEX % (columns, *HEADS, TITLE, body)


def markdown() -> str:
    body = made(lambda title: f"# {title}", lambda a, note, b: f"{a}^[{note}] {b}" if note else a)
    return f"---\ntitle: {TITLE}\n---\n\n{body}"


def page(with_notes: bool) -> str:
    body = made(
        lambda title: f"<h1>{title}</h1>",
        lambda a, note, b: (
            f"<p>{escape(a)}{f'<span class=note>{note}</span>' if note and with_notes else ''} {escape(b)}</p>"
        ),
    )
    style = CSS.replace("LEFT", HEADS[0]).replace("RIGHT", HEADS[1])
    head = f"<meta charset=utf-8><title>{TITLE}</title><style>{style}</style>"
    return f"<!doctype html><html lang=en><head>{head}</head><body><p>{TITLE}</p>{body}</body></html>"


def groff() -> str:
    signs = {"“": r"\(lq", "”": r"\(rq", "’": r"\(cq", "‘": r"\(oq", "—": r"\(em", "£": r"\(Po"}
    body = made(
        lambda title: f".SH\n{title}",
        lambda a, note, b: f".LP\n{a}\\**\n.FS\n{note}\n.FE\n{b}" if note else f".LP\n{a}",
    ).translate(str.maketrans(signs))
    heads = f".ds CH\n.OH \"''{HEADS[1]}''\"\n.EH \"''{HEADS[0]}''\"\n"
    return f".nr PS 11\n.nr LL 11c\n{heads}.TL\n{TITLE}\n{body}\n"


def run(folder: Path, *command: str, seconds: int = 120) -> None:
    # Calibre has its own Python, and does not start its browser as root without the flag.
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    env |= {"QTWEBENGINE_CHROMIUM_FLAGS": "--no-sandbox", "QT_QPA_PLATFORM": "offscreen"}
    subprocess.run(command, cwd=folder, env=env, capture_output=True, timeout=seconds, check=False)


def by_programs(folder: Path) -> None:
    """Make a file with each program that is installed."""
    for name, text in (("article.tex", tex()), ("columns.tex", tex(",twocolumn")), ("source.md", markdown()),
                       ("browser.html", page(False)), ("print.html", page(True)), ("groff.ms", groff())):  # fmt: skip
        (folder / name).write_text(text, "utf-8")
    for name in ("article", "columns"):
        run(folder, *_found("pdflatex", "-interaction=nonstopmode", f"{name}.tex"))
    for form in ("docx", "odt", "epub", "html", "rtf", "txt"):
        run(
            folder,
            *_found("pandoc", "-s", "source.md", "-t", "plain" if form == "txt" else form, "-o", f"pandoc.{form}"),
        )
    run(folder, *_found("pandoc", "source.md", "-o", "pandoc.pdf"))
    for form in ("pdf", "docx", "odt", "rtf", "epub", "html", "txt:Text"):
        run(folder, *_found("soffice", "--headless", "--convert-to", form, "--outdir", "office", "pandoc.docx"))
    for form in ("docx", "epub", "rtf", "txt", "pdf"):
        run(folder, *_found("ebook-convert", "pandoc.html", f"calibre.{form}"), seconds=300)
    run(folder, *_found("chromium", "--headless", "--no-sandbox", "--print-to-pdf=chromium.pdf", "browser.html"))
    if shutil.which("chromium"):
        run(folder, "sh", "-c", "chromium --headless --no-sandbox --dump-dom browser.html > chromium.html")
    run(folder, *_found("wkhtmltopdf", "-q", "browser.html", "wkhtmltopdf.pdf"))
    run(folder, "sh", "-c", "groff -K utf8 -ms -Tpdf groff.ms > groff.pdf")
    (folder / "fpdf2.pdf").write_bytes(makers.pdf(TITLE, sections(), head=HEADS[0]))
    _weasyprint(folder)
    _reportlab(folder)
    _python_docx(folder)
    _ebooklib(folder)
    _odfpy(folder)


def _found(program: str, *words: str) -> Sequence[str]:
    return (program, *words) if shutil.which(program) else ("true",)


def _imported(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def _weasyprint(folder: Path) -> None:
    if weasyprint := _imported("weasyprint"):
        weasyprint.HTML(str(folder / "print.html")).write_pdf(str(folder / "weasyprint.pdf"))


def _reportlab(folder: Path) -> None:
    if not (platypus := _imported("reportlab.platypus")):
        return
    style = importlib.import_module("reportlab.lib.styles").ParagraphStyle
    body, heading = style("b", fontSize=10, leading=13, alignment=4, spaceAfter=6), style("h", fontSize=14, leading=18)

    def head(canvas: Any, document: Any) -> None:
        canvas.drawCentredString(210, 565, HEADS[document.page % 2])

    styled = (
        (text, how) for title, texts in sections() for text, how in ((title, heading), *((t, body) for t in texts))
    )
    parts = [platypus.Paragraph(escape(text), how) for text, how in styled]
    document = platypus.SimpleDocTemplate(str(folder / "reportlab.pdf"), pagesize=(420, 595))
    document.build(parts, onFirstPage=head, onLaterPages=head)


def _python_docx(folder: Path) -> None:
    if not (docx := _imported("docx")):
        return
    document = docx.Document()
    document.add_heading(TITLE, 0)
    for title, texts in sections():
        document.add_heading(title, 1)
        for text in texts:
            document.add_paragraph(text)
    document.save(str(folder / "python-docx.docx"))


def _ebooklib(folder: Path) -> None:
    if not (epub := _imported("ebooklib.epub")):
        return
    book = epub.EpubBook()
    book.set_title(TITLE)
    for at, (title, texts) in enumerate(sections()):
        chapter = epub.EpubHtml(title=title, file_name=f"{at}.xhtml")
        chapter.content = f"<h1>{title}</h1>" + "".join(f"<p>{escape(text)}</p>" for text in texts)
        book.add_item(chapter)
        book.toc, book.spine = [*book.toc, chapter], [*book.spine, chapter]
    book.add_item(epub.EpubNcx())
    book.add_item(epub.EpubNav())
    epub.write_epub(str(folder / "ebooklib.epub"), book)


def _odfpy(folder: Path) -> None:
    if not (opendocument := _imported("odf.opendocument")):
        return
    text = importlib.import_module("odf.text")
    document = opendocument.OpenDocumentText()
    for title, texts in sections():
        document.text.addElement(text.H(outlinelevel=1, text=title))
        for one in texts:
            document.text.addElement(text.P(text=one))
    document.save(str(folder / "odfpy.odt"))


def row(path: Path, name: str) -> str:
    try:
        found = load(path)
    except DocumentError as error:
        return f"| {name} | refused: {error.message} | | | |"
    return f"| {name} | {' | '.join(shares(found, path))} |"


def shares(found: Document, path: Path) -> Iterator[str]:
    said = [_letters(one) for one in found.text.split("\n\n")]
    whole = "".join(said)
    texts = [_letters(text) for _, each in sections() for text in each]
    titles = {_letters(one.title) for one in found.sections}
    yield f"{sum(one in said for one in texts)} of {len(texts)}"
    yield f"{sum(_letters(title)[:90] in {one[:90] for one in titles} for title, _ in sections())} of {len(TITLES)}"
    has_notes = path.name not in WITHOUT_NOTES
    notes = len(WITH_NOTE) * len(TITLES)
    yield f"{sum(whole.count(_letters(note)) for note in NOTES)} of {notes}" if has_notes else "–"
    yield str(sum(found.text.count(head) for head in HEADS))


def _letters(text: str) -> str:
    return re.sub(r"[\W\d_]+", "", text.casefold())


def pages() -> Iterator[str]:
    """A row for each web page: which share of what is read is wanted, and of what is wanted is read."""
    for name, make in PAGES.items():
        it = make()
        got, wanted = (Counter(words(text)) for text in (html.read(it.html.encode(), name).text, " ".join(it.wanted)))
        both = (got & wanted).total()
        yield f"| {name} | {both / got.total():.3f} | {both / wanted.total():.3f} |"


def main() -> None:
    with tempfile.TemporaryDirectory() as made_in:
        folder = Path(made_in)
        by_programs(folder)
        print("| file | paragraphs | headings | notes | running heads left |\n|---|---|---|---|---|")
        for path in sorted(folder.rglob("*"), key=lambda one: (one.suffix, one.name)):
            if path.suffix in (".pdf", ".docx", ".odt", ".epub", ".rtf", ".txt") or path.name in (
                "pandoc.html",
                "chromium.html",
            ):
                office = "LibreOffice" if path.parent.name == "office" else ""
                print(row(path, f"{path.suffix[1:]} of {office or path.stem}"), flush=True)
    print("\n| web page | precision | recall |\n|---|---|---|")
    print("\n".join(pages()))


if __name__ == "__main__":
    main()
