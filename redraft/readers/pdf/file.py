"""Reads PDF: running text in reading order, printed page numbers, the outline, and damaged streams."""

from __future__ import annotations

import ctypes
import re
import zlib
from collections.abc import Callable, Sequence
from itertools import groupby, islice

import pypdfium2 as pdfium
import pypdfium2.raw as raw

from redraft.errors import DocumentError
from redraft.readers.builder import TITLE_WIDTH, Anchor, ReadCoverage, ReadText, Run, TextBuilder
from redraft.readers.formats import MAX_ENTRIES
from redraft.readers.markup import size
from redraft.readers.parts import names_document
from redraft.readers.pdf.layout import Layout, Paragraph, RunningHeads
from redraft.readers.pdf.lines import PageText, PdfLine, in_order
from redraft.text.sanitizer import one_line

_STREAM = re.compile(rb">>\s*stream\r?\n")
_LONGEST_HEAD = 2_000
# Streams without page text: images, fonts, and the file's own tables.
_OTHER = re.compile(
    rb"/Subtype\s*/Image|/Length[123]\b|/FunctionType|/Type\s*/(?:XRef|Metadata|EmbeddedFile)|/ICCBased|/N\s+\d"
)
_FLATE = re.compile(rb"/Filter\s*(?:\[\s*)?/(?:FlateDecode|Fl)\b")
_BLOCK, _MAX = 100_000, 400_000_000


def damaged_streams(data: bytes) -> tuple[int, int]:
    """Return how many streams that may hold text cannot be fully unpacked, and the number of such streams."""
    damaged = count = 0
    rest = _MAX
    for match in _STREAM.finditer(data) if b"/Encrypt" not in data else ():
        head = data[max(0, match.start() - _LONGEST_HEAD) : match.start()].rpartition(b" obj")[2]
        if rest <= 0 or _OTHER.search(head) or not _FLATE.search(head):
            continue
        count += 1
        end = data.find(b"endstream", match.end())
        packed, unpacking = data[match.end() : end if end >= 0 else len(data)], zlib.decompressobj()
        try:
            while packed and not unpacking.eof and rest > 0:
                rest -= len(unpacking.decompress(packed, _BLOCK))
                packed = unpacking.unconsumed_tail
            damaged += not unpacking.eof and rest > 0
        except zlib.error:
            damaged += 1
    return damaged, count


_ERRORS = {
    raw.FPDF_ERR_PASSWORD: ("it needs a password", "save it without a password first"),
    raw.FPDF_ERR_SECURITY: ("it is protected in a way that cannot be read", "save it without protection first"),
}
_BROKEN = ("it is not a PDF file, or it is broken", "open it in a viewer and print it to PDF again")
_MAX_PAGES = 20_000
_MIN_CHARACTERS = 5
_ODD = re.compile("[\ufffd\ue000-\uf8ff]")
_NOISE = re.compile(
    r"(?i)\b(?:microsoft word|untitled|powerpoint|unknown|anonymous)\b|\.(?:docx?|tex|dvi|indd|pdf|qxd|odt)\b"
)
_CHAPTER = re.compile(
    r"(?i)(?:chapter|part|book|appendix|kapitel|teil|chapitre|capítulo|capitolo|глава)\s+[\divxlc]+\b"
)
_RANKS, _LONGEST_NUMBER = 3, 12
_LONGEST_LANGUAGE = 40
_ANNOTATIONS = {raw.FPDF_ANNOT_WIDGET: "form fields", raw.FPDF_ANNOT_LINK: "", raw.FPDF_ANNOT_POPUP: ""}
_TEXT_FIELDS = (raw.FPDF_FORMFIELD_TEXTFIELD, raw.FPDF_FORMFIELD_COMBOBOX, raw.FPDF_FORMFIELD_LISTBOX)
_OCR = "run OCR first, for example with `ocrmypdf IN.pdf OUT.pdf`"


def read(data: bytes, name: str) -> ReadText:
    """Return the content of a PDF file."""
    try:
        file = pdfium.PdfDocument(data)
    except pdfium.PdfiumError as error:
        code = getattr(error, "err_code", None)
        what, hint = _ERRORS.get(code, _BROKEN) if code is not None else _BROKEN
        raise DocumentError(what, place=name, hint=hint) from error
    if not 0 < len(file) <= _MAX_PAGES:
        raise DocumentError(
            f"it has {len(file):,} pages" if len(file) else "it has no pages",
            place=name,
            hint=f"a PDF file may have up to {_MAX_PAGES:,} pages; give a part of it" if len(file) else _BROKEN[1],
        )
    return _PdfReader(file, data, name).read()


class _PdfReader:
    def __init__(self, file: pdfium.PdfDocument, data: bytes, name: str) -> None:
        self._file, self._data, self._name = file, data, name
        self._builder = TextBuilder()
        self._scanned: list[int] = []
        self._unread: list[int] = []

    def read(self) -> ReadText:
        self._file.init_forms()
        pages = [self._lines(at) for at in range(len(self._file))]
        if self._scanned and not any(lines for at, lines in enumerate(pages) if at not in self._scanned):
            what = "its page is a picture" if len(pages) == 1 else f"its pages are pictures ({_listed(self._scanned)})"
            raise DocumentError(f"{what}, as in a scanned book, and contain no text", place=self._name, hint=_OCR)
        text = "".join(line.text for lines in pages for line in lines)
        if (odd := len(_ODD.findall(text))) > 0.3 * max(1, len(text)):
            raise DocumentError("its characters cannot be identified", place=self._name, hint=_OCR)
        if odd > 0.01 * len(text):
            self._builder.oddities.append(f"{odd:,} of its characters cannot be identified")

        heads = RunningHeads(pages)
        paragraphs = list(Layout([heads.without(at) for at in range(len(pages))]).paragraphs())
        _set_levels(self._outline(), paragraphs)
        # The labels of the file, else the printed page numbers, else the page positions.
        declared = [self._file.get_page_label(at) for at in range(len(pages))]
        labels = declared if any(declared) else map(heads.printed, range(len(pages)))
        self._add(paragraphs, [one_line(label, 20) or str(at) for at, label in enumerate(labels, 1)])
        self._record_gaps(heads)
        language = _string(raw.FPDFCatalog_GetLanguage, self._file.raw)
        language = language if len(language) < _LONGEST_LANGUAGE else ""
        reading = self._builder.reading(self._title(paragraphs), language)
        if not reading.text.strip():
            raise DocumentError("there is no text in it", place=self._name, hint=_OCR)
        return reading

    def _lines(self, at: int) -> list[PdfLine]:
        """Return the lines of a page; an unreadable page is recorded."""
        try:
            page = self._file[at]
            text = page.get_textpage()
        except pdfium.PdfiumError:
            self._unread.append(at)
            return []
        page_text = PageText(text.raw, page.get_rotation())
        lines = in_order(page_text.pieces())
        if page_text.turned:
            self._builder.leave_out("vertical words", page_text.turned)
        if len("".join(page_text.text.split())) < _MIN_CHARACTERS:
            pictures = page.get_objects(filter=[raw.FPDF_PAGEOBJ_IMAGE], max_depth=3)
            self._scanned += [at] * any(True for _ in pictures)
        forms = self._file.formenv.raw if self._file.formenv else None
        for number in range(raw.FPDFPage_GetAnnotCount(page.raw)):
            annotation = raw.FPDFPage_GetAnnot(page.raw, number)
            what = _ANNOTATIONS.get(raw.FPDFAnnot_GetSubtype(annotation), "comments")
            content = ""
            if what == "comments":
                content = _string(raw.FPDFAnnot_GetStringValue, annotation, b"Contents")
            elif forms and what and raw.FPDFAnnot_GetFormFieldType(forms, annotation) in _TEXT_FIELDS:
                content = _string(raw.FPDFAnnot_GetFormFieldValue, forms, annotation)
            if content:
                self._builder.leave_out(what, text=content)
            raw.FPDFPage_CloseAnnot(annotation)
        text.close()
        page.close()
        return lines

    def _outline(self) -> list[tuple[int, str, int]]:
        """Return the entries of the outline: level, title and page."""
        entries = []
        try:
            items = list(islice(self._file.get_toc(max_depth=6), MAX_ENTRIES + 1))
            for item in items:
                target, title = item.get_dest(), one_line(item.get_title() or "", TITLE_WIDTH)
                page = target.get_index() if target is not None else None
                if page is not None and title and 0 <= page < len(self._file):
                    entries.append((item.level + 1, title, page))
        except (pdfium.PdfiumError, ValueError, RuntimeError):
            self._builder.oddities.append("its outline is broken")
            return entries
        if len(items) > MAX_ENTRIES:
            raise DocumentError(
                f"its outline has more than {MAX_ENTRIES:,} entries",
                place=self._name,
                hint="print it to PDF again, or convert it to .txt",
            )
        return entries

    def _add(self, paragraphs: Sequence[Paragraph], labels: Sequence[str]) -> None:
        """Add paragraphs and marks of the pages on which they begin, with labels."""
        builder, at_page, last_kind = self._builder, -1, ""
        for paragraph in paragraphs:
            runs: list[Run] = []
            for page, text in paragraph.parts:
                if page != at_page:
                    runs.append(Anchor(labels[page], f"#page={page + 1}"))
                at_page = page
                runs.append(text)
            start, between = builder.length, "\n" if paragraph.kind == last_kind == "item" else "\n\n"
            if paragraph.level:
                builder.heading(paragraph.level, runs)
            elif paragraph.kind == "table":
                for run in runs:
                    for row in [run] if isinstance(run, Anchor) else run.split("\n"):
                        between = "\n" if builder.add([row], between=between).end > start else between
                builder.mark("table", builder.span_since(start))
            else:
                span = builder.add(runs, between=between)
                if paragraph.kind in ("note", "caption"):
                    builder.mark(paragraph.kind, span, paragraph.label if paragraph.kind == "note" else paragraph.text)
            last_kind = paragraph.kind

    def _record_gaps(self, heads: RunningHeads) -> None:
        """Record what of the file is not in its text."""
        for what, count in (("running headers and footers", heads.heads), ("page numbers", heads.numbers)):
            if count:
                self._builder.leave_out(what, count)
        if attached := raw.FPDFDoc_GetAttachmentCount(self._file.raw):
            self._builder.leave_out("attached files", attached)
        if self._scanned:
            are = "is a picture" if len(self._scanned) == 1 else "are pictures"
            self._builder.oddities.append(
                f"{_listed(self._scanned)} {are} without text, probably scanned, left out; `ocrmypdf` can read them"
            )
        damaged, streams = damaged_streams(self._data)
        if damaged:
            self._builder.oddities.append(f"{damaged:,} of its {streams:,} streams are damaged: text may be missing")
        if damaged or self._unread:
            # The length of an unreadable page or stream is unknown: it counts as an average one.
            lost = 1 - (1 - damaged / max(1, streams)) * (1 - len(self._unread) / len(self._file))
            read = sum(size(part) for part in self._builder.parts)
            self._builder.extents.append(ReadCoverage(self._name, round(read / max(0.01, 1 - lost)), read))
        if self._unread:
            self._builder.oddities.append(f"{_listed(self._unread)} cannot be read, and were left out")

    def _title(self, paragraphs: Sequence[Paragraph]) -> str:
        """Return the title in the metadata, unless it is a file's name, else the largest heading on the first page,
        unless it is a chapter's."""
        declared = one_line(self._file.get_metadata_value("Title") or "", TITLE_WIDTH)
        if declared and not _NOISE.search(declared):
            return declared
        headings = [paragraph for paragraph in paragraphs if paragraph.kind == "heading"]
        first = (paragraph for paragraph in headings if paragraph.parts[0][0] == 0)
        largest = max(first, key=lambda paragraph: round(paragraph.size, 1), default=None)
        if largest is None:
            return ""
        others = sum(abs(paragraph.size - largest.size) < 0.1 for paragraph in headings) - 1
        return one_line(largest.text, TITLE_WIDTH) if names_document(largest.text, others) else ""


def _string(function: Callable[..., int], *arguments: object) -> str:
    """Return the text that a function of pdfium writes as UTF-16 into a buffer, of which it returns the size first."""
    size = function(*arguments, None, 0)
    buffer = ctypes.create_string_buffer(max(2, size))
    function(*arguments, ctypes.cast(buffer, ctypes.POINTER(raw.FPDF_WCHAR)), size)
    return str(buffer.raw[:-2], "utf-16-le", "replace")


def _set_levels(outline: Sequence[tuple[int, str, int]], paragraphs: Sequence[Paragraph]) -> None:
    """Set the levels of headings: those of the outline, and where most of its entries are not found, by the size of
    their letters."""
    by_page = {page: list(group) for page, group in groupby(paragraphs, key=lambda paragraph: paragraph.parts[0][0])}
    for level, title, page in outline:
        key = _plain(title)
        # Some outlines give the page before a heading that no longer fitted there.
        for paragraph in (*by_page.get(page, ()), *by_page.get(page + 1, ())) if key else ():
            heading = "" if paragraph.level else _plain(paragraph.text)
            # There may be a number before the title.
            if heading.endswith(key) and len(heading) - len(key) <= _LONGEST_NUMBER:
                paragraph.level = level
                break
    if sum(paragraph.level > 0 for paragraph in paragraphs) >= max(1, len(outline) // 2):
        return
    sizes = sorted({round(paragraph.size) for paragraph in paragraphs if paragraph.kind == "heading"}, reverse=True)
    ranks = {size: rank for rank, size in enumerate(sizes[:_RANKS], 1)}
    for paragraph in paragraphs:
        if paragraph.level:
            continue
        if paragraph.kind == "heading":
            paragraph.level = ranks.get(round(paragraph.size), 0)
        elif paragraph.kind == "text" and _CHAPTER.match(paragraph.text) and len(paragraph.text) < TITLE_WIDTH:
            paragraph.level = min(2, len(ranks) + 1)


def _plain(text: str) -> str:
    return re.sub(r"\W+", "", text.casefold())


def _listed(pages: Sequence[int]) -> str:
    """Return pages in words, counted from 1: "pages 1-3, 7"."""
    ranges: list[str] = []
    for _, group in groupby(enumerate(pages), key=lambda pair: pair[1] - pair[0]):
        run = [page + 1 for _, page in group]
        ranges.append(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}")
    more = f" and {len(ranges) - 10:,} more" if len(ranges) > 10 else ""
    return f"{'page' if len(pages) == 1 else 'pages'} {', '.join(ranges[:10])}{more}"
