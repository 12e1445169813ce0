"""A paper as a document of a word processor, with real footnotes.

The parts are written here, a few kilobytes of Office Open XML: libraries that write .docx files are larger than that,
and have no footnotes.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping, Sequence
from xml.sax.saxutils import escape
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from redraft.report.outputs.paper import Block, Note, Paper, Words, is_rtl
from redraft.text.sanitizer import clean, one_line

_MAIN = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_WORD = "application/vnd.openxmlformats-officedocument.wordprocessingml"
_DECLARED = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
# XML has no way to write these, escaped or not.
_UNWRITABLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
# The same paper makes the same file, whenever it is written.
_WHEN = (1980, 1, 1, 0, 0, 0)
_BULLET, _NUMBER = 1, 2
_PARTS = ("styles", "numbering", "footnotes", "settings")


def docx(paper: Paper) -> bytes:
    """The file."""
    blocks = paper.blocks
    notes = [one for block in blocks for one in block.pieces if isinstance(one, Note)]
    lists = _lists(blocks)
    parts = {
        "[Content_Types].xml": _types(),
        "_rels/.rels": _relations({"officeDocument": "word/document.xml"}, core="docProps/core.xml"),
        "docProps/core.xml": _properties(paper),
        "word/document.xml": _document(paper, blocks, lists),
        "word/_rels/document.xml.rels": _relations({part: f"{part}.xml" for part in _PARTS}),
        "word/styles.xml": _styles(paper),
        "word/numbering.xml": _numbering(max(lists, default=0)),
        "word/footnotes.xml": _footnotes(notes),
        "word/settings.xml": _settings(),
    }
    file = io.BytesIO()
    with ZipFile(file, "w", ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            info = ZipInfo(name, _WHEN)
            info.compress_type = ZIP_DEFLATED
            archive.writestr(info, _DECLARED + content)
    return file.getvalue()


def _types() -> str:
    kinds = {"document": "document.main", **{part: part for part in _PARTS}}
    overrides = "".join(
        f'<Override PartName="/word/{part}.xml" ContentType="{_WORD}.{kind}+xml"/>' for part, kind in kinds.items()
    )
    core = "application/vnd.openxmlformats-package.core-properties+xml"
    return (
        f'<Types xmlns="{_PACKAGE}/content-types">'
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Default Extension="xml" ContentType="application/xml"/>{overrides}'
        f'<Override PartName="/docProps/core.xml" ContentType="{core}"/></Types>'
    )


def _relations(targets: Mapping[str, str], core: str = "") -> str:
    kinds = [(f"{_OFFICE}/{kind}", target) for kind, target in targets.items()]
    if core:
        kinds.append((f"{_PACKAGE}/relationships/metadata/core-properties", core))
    rows = (f'<Relationship Id="r{at}" Type="{kind}" Target="{to}"/>' for at, (kind, to) in enumerate(kinds, 1))
    return f'<Relationships xmlns="{_PACKAGE}/relationships">{"".join(rows)}</Relationships>'


def _properties(paper: Paper) -> str:
    language = f"<dc:language>{_text(paper.language)}</dc:language>" if paper.language else ""
    return (
        f'<cp:coreProperties xmlns:cp="{_PACKAGE}/metadata/core-properties" xmlns:dc="http://purl.org/dc/elements/1.1/">'
        f"<dc:title>{_text(one_line(paper.title))}</dc:title><dc:creator>redraft</dc:creator>{language}"
        "</cp:coreProperties>"
    )


def _document(paper: Paper, blocks: Sequence[Block], lists: Sequence[int]) -> str:
    body = [_paragraph("Title", _run(one_line(paper.title)), rtl=is_rtl(paper.title))]
    body += [_block(block, number) for block, number in zip(blocks, lists, strict=True)]
    body += [_paragraph("About", _run(one)) for one in paper.about]
    page = '<w:sectPr><w:pgSz w:w="11906" w:h="16838"/><w:pgMar w:top="1418" w:right="1418" w:bottom="1418"'
    page += ' w:left="1418" w:header="709" w:footer="709" w:gutter="0"/></w:sectPr>'
    return f'<w:document xmlns:w="{_MAIN}"><w:body>{"".join(body)}{page}</w:body></w:document>'


def _lists(blocks: Sequence[Block]) -> list[int]:
    """The list that each block is an item of: bullets are of one, and numbers begin anew in each; 0 for none."""
    found: list[int] = []
    latest = _BULLET
    for at, block in enumerate(blocks):
        if block.kind != "item":
            found.append(0)
        elif not block.number:
            found.append(_BULLET)
        else:
            goes_on = at > 0 and bool(blocks[at - 1].number)
            latest = latest if goes_on else latest + 1
            found.append(latest)
    return found


def _block(block: Block, in_list: int) -> str:
    runs = "".join(_piece(one) for one in block.pieces)
    style = f"Heading{min(6, max(1, block.level - 1))}" if block.kind == "heading" else ""
    style = "ListParagraph" if in_list else style
    return _paragraph(style, runs, in_list=in_list, rtl=is_rtl(block.text))


def _paragraph(style: str, runs: str, *, in_list: int = 0, rtl: bool = False) -> str:
    said = f'<w:pStyle w:val="{style}"/>' if style else ""
    if in_list:
        said += f'<w:numPr><w:ilvl w:val="0"/><w:numId w:val="{in_list}"/></w:numPr>'
    said += "<w:bidi/>" if rtl else ""
    return f"<w:p>{f'<w:pPr>{said}</w:pPr>' if said else ''}{runs}</w:p>"


def _piece(one: Words | Note) -> str:
    if isinstance(one, Words):
        return _run(one.text, strong=one.strong)
    mark = f'<w:footnoteReference w:id="{one.number}"/>'
    return f'<w:r><w:rPr><w:rStyle w:val="FootnoteReference"/></w:rPr>{mark}</w:r>'


def _run(said: str, *, strong: bool = False) -> str:
    if not said:
        return ""
    how = ("<w:b/><w:bCs/>" if strong else "") + ("<w:rtl/>" if is_rtl(said) else "")
    return f'<w:r>{f"<w:rPr>{how}</w:rPr>" if how else ""}<w:t xml:space="preserve">{_text(said)}</w:t></w:r>'


def _footnotes(notes: Sequence[Note]) -> str:
    lines = "".join(
        f'<w:footnote w:type="{kind}" w:id="{at}"><w:p><w:r><w:{kind}/></w:r></w:p></w:footnote>'
        for at, kind in ((-1, "separator"), (0, "continuationSeparator"))
    )
    made = "".join(f'<w:footnote w:id="{one.number}">{"".join(_places(one))}</w:footnote>' for one in notes)
    return f'<w:footnotes xmlns:w="{_MAIN}">{lines}{made}</w:footnotes>'


def _places(note: Note) -> Iterator[str]:
    """A paragraph for each place of a note, the first behind the number of the note."""
    for at, one in enumerate(note.places):
        mark = '<w:r><w:rPr><w:rStyle w:val="FootnoteReference"/></w:rPr><w:footnoteRef/></w:r>' + _run(" ")
        # Each name is a run, for it has a direction of its own.
        where = _run(", ").join(map(_run, one.whereabouts))
        said = where + _run(": ") + _run(f"“{one.quote}”")
        yield _paragraph("FootnoteText", ("" if at else mark) + said)


def _styles(paper: Paper) -> str:
    language = "".join(f' w:{kind}="{_text(paper.language)}"' for kind in ("val", "eastAsia", "bidi"))
    language = f"<w:lang{language}/>" if paper.language else ""
    fonts = '<w:rFonts w:ascii="Cambria" w:hAnsi="Cambria" w:cs="Times New Roman"/>'
    sizes = (36, 30, 26, 24, 22, 22)
    headings = "".join(
        _style(
            f"Heading{rank}",
            f"heading {rank}",
            before=320 if rank < 3 else 240,
            after=80,
            more=f'<w:keepNext/>|<w:outlineLvl w:val="{rank - 1}"/>',
            run=f'<w:b/><w:bCs/><w:sz w:val="{size}"/><w:szCs w:val="{size}"/>',
        )
        for rank, size in enumerate(sizes, 1)
    )
    quiet = '<w:color w:val="5B6470"/><w:sz w:val="18"/><w:szCs w:val="18"/>'
    return (
        f'<w:styles xmlns:w="{_MAIN}"><w:docDefaults><w:rPrDefault><w:rPr>{fonts}<w:sz w:val="22"/>'
        f'<w:szCs w:val="22"/>{language}</w:rPr></w:rPrDefault><w:pPrDefault><w:pPr><w:spacing w:after="140"'
        ' w:line="288" w:lineRule="auto"/></w:pPr></w:pPrDefault></w:docDefaults>'
        '<w:style w:type="paragraph" w:default="1" w:styleId="Normal"><w:name w:val="Normal"/><w:qFormat/></w:style>'
        + _style("Title", "Title", after=280, run='<w:b/><w:bCs/><w:sz w:val="44"/><w:szCs w:val="44"/>')
        + headings
        + _style("ListParagraph", "List Paragraph", after=80)
        + _style("About", "About", before=200, after=0, run=f'{quiet}<w:lang w:val="en"/>')
        + _style("FootnoteText", "footnote text", after=40, run='<w:sz w:val="18"/><w:szCs w:val="18"/>')
        + '<w:style w:type="character" w:styleId="FootnoteReference"><w:name w:val="footnote reference"/><w:rPr>'
        '<w:vertAlign w:val="superscript"/></w:rPr></w:style></w:styles>'
    )


def _style(key: str, name: str, *, before: int = 0, after: int = 140, more: str = "|", run: str = "") -> str:
    """A style of paragraphs. `more` stands before and behind the spacing, as the schema has its order."""
    first, last = more.split("|")
    spacing = f'<w:spacing w:before="{before}" w:after="{after}"/>'
    return (
        f'<w:style w:type="paragraph" w:styleId="{key}"><w:name w:val="{name}"/><w:basedOn w:val="Normal"/><w:qFormat/>'
        f"<w:pPr>{first}{spacing}{last}</w:pPr><w:rPr>{run}</w:rPr></w:style>"
    )


def _numbering(lists: int) -> str:
    """Bullets, and as many lists with numbers as there are."""

    def level(form: str, said: str) -> str:
        return (
            f'<w:lvl w:ilvl="0"><w:start w:val="1"/><w:numFmt w:val="{form}"/><w:lvlText w:val="{said}"/>'
            '<w:lvlJc w:val="left"/><w:pPr><w:ind w:left="567" w:hanging="283"/></w:pPr></w:lvl>'
        )

    abstract = "".join(
        f'<w:abstractNum w:abstractNumId="{at}"><w:multiLevelType w:val="singleLevel"/>{one}</w:abstractNum>'
        for at, one in ((_BULLET, level("bullet", "•")), (_NUMBER, level("decimal", "%1.")))
    )
    kinds = [_BULLET, *[_NUMBER] * (max(lists, _NUMBER) - 1)]
    restart = '<w:lvlOverride w:ilvl="0"><w:startOverride w:val="1"/></w:lvlOverride>'
    nums = "".join(
        f'<w:num w:numId="{at}"><w:abstractNumId w:val="{kind}"/>{restart if kind == _NUMBER else ""}</w:num>'
        for at, kind in enumerate(kinds, 1)
    )
    return f'<w:numbering xmlns:w="{_MAIN}">{abstract}{nums}</w:numbering>'


def _settings() -> str:
    separators = '<w:footnotePr><w:footnote w:id="-1"/><w:footnote w:id="0"/></w:footnotePr>'
    compat = '<w:compatSetting w:name="compatibilityMode" w:uri="http://schemas.microsoft.com/office/word" w:val="15"/>'
    return f'<w:settings xmlns:w="{_MAIN}">{separators}<w:compat>{compat}</w:compat></w:settings>'


def _text(said: str) -> str:
    return escape(_UNWRITABLE.sub(" ", clean(said)), {'"': "&quot;"})
