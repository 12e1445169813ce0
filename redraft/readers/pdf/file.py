"""Reads PDF: running text in reading order, printed page numbers, the outline, and damaged streams."""

from __future__ import annotations

import ctypes
import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby

import pypdfium2 as pdfium
import pypdfium2.raw as raw

from redraft.errors import DocumentError
from redraft.readers.builder import TITLE_WIDTH, Anchor, ReadCoverage, ReadText, Run, TextBuilder
from redraft.readers.formats import MAX_ENTRIES
from redraft.readers.markup import size
from redraft.readers.parts import names_document
from redraft.readers.pdf.layout import Paragraph, PdfLine, RunningHeads, in_order, paragraphs
from redraft.readers.pdf.lines import PageText
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
    if b"/Encrypt" in data:
        return 0, 0
    damaged = found = 0
    left = _MAX
    for match in _STREAM.finditer(data):
        head = data[max(0, match.start() - _LONGEST_HEAD) : match.start()].rpartition(b" obj")[2]
        if _OTHER.search(head) or not _FLATE.search(head):
            continue
        found += 1
        end = data.find(b"endstream", match.end())
        is_whole, size = _unpacked(data[match.end() : end if end >= 0 else len(data)], left)
        damaged += not is_whole
        left -= size
        if left <= 0:
            break
    return damaged, found


def _unpacked(packed: bytes, most: int) -> tuple[bool, int]:
    """Return whether a stream can be fully unpacked, and the number of bytes unpacked."""
    unpacking, size = zlib.decompressobj(), 0
    try:
        while packed and not unpacking.eof and size < most:
            size += len(unpacking.decompress(packed, _BLOCK))
            packed = unpacking.unconsumed_tail
    except zlib.error:
        return False, size
    return unpacking.eof or size >= most, size


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
_RANKS = 3
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
        self._file = file
        self._data = data
        self._name = name
        self._builder = TextBuilder()
        self._scanned: list[int] = []
        self._unread: list[int] = []

    def read(self) -> ReadText:
        self._file.init_forms()
        pages = [self._lines(at) for at in range(len(self._file))]
        self._refuse_pictures(pages)
        edges = RunningHeads(pages)
        cleaned = [edges.without(at) for at in range(len(pages))]
        labels = self._labels(edges)
        found = list(paragraphs(cleaned))
        headings = _Headings(self._outline(), found)
        for paragraph in found:
            self._add(paragraph, headings.level(paragraph), labels)
        self._say(edges)
        reading = self._builder.reading(self._title(found), self._language())
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
        if len("".join(page_text.text.split())) < _MIN_CHARACTERS and _has_picture(page):
            self._scanned.append(at)
        self._leave_out_annotations(page)
        text.close()
        page.close()
        return lines

    def _leave_out_annotations(self, page: pdfium.PdfPage) -> None:
        forms = self._file.formenv.raw if self._file.formenv else None
        for at in range(raw.FPDFPage_GetAnnotCount(page.raw)):
            annotation = raw.FPDFPage_GetAnnot(page.raw, at)
            what = _ANNOTATIONS.get(raw.FPDFAnnot_GetSubtype(annotation), "comments")
            text = ""
            if what == "comments":
                text = _string(raw.FPDFAnnot_GetStringValue, annotation, b"Contents")
            elif forms and what and raw.FPDFAnnot_GetFormFieldType(forms, annotation) in _TEXT_FIELDS:
                text = _string(raw.FPDFAnnot_GetFormFieldValue, forms, annotation)
            if text:
                self._builder.leave_out(what, text=text)
            raw.FPDFPage_CloseAnnot(annotation)

    def _refuse_pictures(self, pages: Sequence[Sequence[PdfLine]]) -> None:
        if self._scanned and not any(lines for at, lines in enumerate(pages) if at not in self._scanned):
            what = "its page is a picture" if len(pages) == 1 else f"its pages are pictures ({_listed(self._scanned)})"
            raise DocumentError(f"{what}, as in a scanned book, and contain no text", place=self._name, hint=_OCR)
        text = "".join(line.text for lines in pages for line in lines)
        if (odd := len(_ODD.findall(text))) > 0.3 * max(1, len(text)):
            raise DocumentError("its characters cannot be identified", place=self._name, hint=_OCR)
        if odd > 0.01 * len(text):
            self._builder.oddities.append(f"{odd:,} of its characters cannot be identified")

    def _labels(self, edges: RunningHeads) -> list[str]:
        """Return the page labels: those of the file, else the printed page numbers, else the page positions."""
        said = [self._file.get_page_label(at) for at in range(len(self._file))]
        if any(said):
            return [one_line(one, 20) or str(at + 1) for at, one in enumerate(said)]
        return [edges.printed(at) or str(at + 1) for at in range(len(said))]

    def _outline(self) -> list[tuple[int, str, int]]:
        """Return the entries of the outline: level, title and page."""
        found = []
        try:
            for count, item in enumerate(self._file.get_toc(max_depth=6)):
                if count >= MAX_ENTRIES:
                    raise DocumentError(
                        f"its outline has more than {MAX_ENTRIES:,} entries",
                        place=self._name,
                        hint="print it to PDF again, or convert it to .txt",
                    )
                target = item.get_dest()
                page = target.get_index() if target is not None else None
                title = one_line(item.get_title() or "", TITLE_WIDTH)
                if page is not None and title and 0 <= page < len(self._file):
                    found.append((item.level + 1, title, page))
        except DocumentError:
            raise
        except (pdfium.PdfiumError, ValueError, RuntimeError):
            self._builder.oddities.append("its outline is broken")
        return found

    def _add(self, one: Paragraph, level: int, labels: Sequence[str]) -> None:
        runs: list[Run] = []
        for page, text in one.parts:
            if page != self._at_page:
                self._at_page = page
                runs.append(Anchor(labels[page], f"#page={page + 1}"))
            runs.append(text)
        if level:
            self._builder.heading(level, runs)
        elif one.kind == "table":
            self._table(runs)
        elif one.kind == "note":
            self._builder.mark("note", self._builder.add(runs), one.label)
        else:
            between = "\n" if one.kind == "item" and self._last_kind == "item" else "\n\n"
            added = self._builder.add(runs, between=between)
            if one.kind == "caption":
                self._builder.mark("caption", added, one.text)
        self._last_kind = one.kind

    _at_page = -1
    _last_kind = ""

    def _table(self, runs: Sequence[Run]) -> None:
        from_here = self._builder.length
        first = True
        for run in runs:
            if isinstance(run, Anchor):
                self._builder.begin_page(run)
                continue
            for row in run.split("\n"):
                self._builder.add([row], between="\n\n" if first else "\n")
                first = False
        self._builder.mark("table", self._builder.span_since(from_here))

    def _say(self, edges: RunningHeads) -> None:
        for what, count in (("running headers and footers", edges.heads), ("page numbers", edges.numbers)):
            if count:
                self._builder.leave_out(what, count)
        if attached := raw.FPDFDoc_GetAttachmentCount(self._file.raw):
            self._builder.leave_out("attached files", attached)
        if self._scanned:
            self._builder.oddities.append(
                f"{_counted(self._scanned)} without text, probably scanned, left out; `ocrmypdf` can read them"
            )
        damaged, of_all = damaged_streams(self._data)
        if damaged:
            self._builder.oddities.append(f"{damaged:,} of its {of_all:,} streams are damaged: text may be missing")
        if damaged or self._unread:
            # The length of an unreadable page or stream is unknown: it counts as an average one.
            lost = 1 - (1 - damaged / max(1, of_all)) * (1 - len(self._unread) / len(self._file))
            read = sum(size(part) for part in self._builder.parts)
            self._builder.extents.append(ReadCoverage(self._name, round(read / max(0.01, 1 - lost)), read))
        if self._unread:
            self._builder.oddities.append(f"{_listed(self._unread)} cannot be read, and were left out")

    def _title(self, found: Sequence[Paragraph]) -> str:
        """Return the title in the metadata, unless it is a file's name, else the largest heading on the first page,
        unless it is a chapter's."""
        said = one_line(self._file.get_metadata_value("Title") or "", TITLE_WIDTH)
        if said and not _NOISE.search(said):
            return said
        first = [paragraph for paragraph in found if paragraph.parts[0][0] == 0 and paragraph.kind == "heading"]
        largest = max(first, key=lambda one: round(one.size, 1), default=None)
        beside = (
            sum(paragraph.kind == "heading" and abs(paragraph.size - largest.size) < 0.1 for paragraph in found)
            if largest
            else 0
        )
        return one_line(largest.text, TITLE_WIDTH) if largest and names_document(largest.text, beside - 1) else ""

    def _language(self) -> str:
        """Return the language that the file declares; empty if there is none."""
        language = _string(raw.FPDFCatalog_GetLanguage, self._file.raw)
        return language if len(language) < _LONGEST_LANGUAGE else ""


def _string(function: Callable[..., int], *arguments: object) -> str:
    """Return the text that a function of pdfium writes as UTF-16 into a buffer, of which it tells the size first."""
    size = function(*arguments, None, 0)
    buffer = ctypes.create_string_buffer(max(2, size))
    function(*arguments, ctypes.cast(buffer, ctypes.POINTER(raw.FPDF_WCHAR)), size)
    return str(buffer.raw[:-2], "utf-16-le", "replace")


class _Headings:
    """The levels of headings, by the outline, else by the size of their letters."""

    def __init__(self, outline: Sequence[tuple[int, str, int]], found: Sequence[Paragraph]) -> None:
        self._levels: dict[int, int] = {}
        if outline:
            self._by_outline(outline, found)
        if len(self._levels) < max(1, len(outline) // 2):
            sizes = sorted({round(paragraph.size) for paragraph in found if paragraph.kind == "heading"}, reverse=True)[
                :_RANKS
            ]
            for one in found:
                if one.kind == "heading" and round(one.size) in sizes:
                    self._levels.setdefault(id(one), 1 + sizes.index(round(one.size)))
                elif one.kind == "text" and _CHAPTER.match(one.text) and len(one.text) < TITLE_WIDTH:
                    self._levels.setdefault(id(one), min(2, len(sizes) + 1))

    def level(self, one: Paragraph) -> int:
        """Return the heading level of a paragraph; 0 if it is not a heading."""
        return self._levels.get(id(one), 0)

    def _by_outline(self, outline: Sequence[tuple[int, str, int]], found: Sequence[Paragraph]) -> None:
        by_page = {page: list(lot) for page, lot in groupby(found, key=lambda one: one.parts[0][0])}
        for level, title, page in outline:
            wanted = _plain(title)
            # Some outlines give the page before a heading that no longer fitted there.
            for one in (*by_page.get(page, ()), *by_page.get(page + 1, ())):
                said = _plain(one.text)
                if (
                    id(one) not in self._levels
                    and wanted
                    and (said == wanted or (said.endswith(wanted) and _close(said, wanted)))
                ):
                    self._levels[id(one)] = level
                    break


def _plain(text: str) -> str:
    return re.sub(r"\W+", "", text.casefold())


def _close(said: str, wanted: str) -> bool:
    return len(said) - len(wanted) <= 12


def _has_picture(page: pdfium.PdfPage) -> bool:
    return any(True for _ in page.get_objects(filter=[raw.FPDF_PAGEOBJ_IMAGE], max_depth=3))


def _ranges(pages: Sequence[int]) -> Iterator[str]:
    for _, lot in groupby(enumerate(pages), key=lambda pair: pair[1] - pair[0]):
        run = [page + 1 for _, page in lot]
        yield str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}"


def _listed(pages: Sequence[int]) -> str:
    found = list(_ranges(pages))
    more = f" and {len(found) - 10:,} more" if len(found) > 10 else ""
    return f"{'page' if len(pages) == 1 else 'pages'} {', '.join(found[:10])}{more}"


def _counted(pages: Sequence[int]) -> str:
    return f"{_listed(pages)} {'is a picture' if len(pages) == 1 else 'are pictures'}"
