"""RTF: text, headings and footnotes. `striprtf` extracts the text; private characters mark what it does not report."""

from __future__ import annotations

import re

from striprtf.striprtf import destinations, rtf_to_text

from redraft.errors import DocumentError
from redraft.readers.builder import ReadCoverage, ReadText, TextBuilder
from redraft.readers.markup import size

_SIGN = re.compile(r"\{(\\\*)?(?:\\([a-z]+))?|\}|\\\\|\\[{}]|\\(s|outlinelevel)(\d{1,5})\b|\\bin(\d{1,10}) ?")
_STYLE = re.compile(r"\{[^{}]{0,20}?\\s(\d{1,5})\b[^{}]{0,1000}?(?i:heading) ?([1-9]);\}")
_TITLE = re.compile(rb"\{\\title ([^{}\\]{1,200})\}")
_OPEN, _CLOSE, _HEADING = "\ue000\ue001\ue002"
_NOTE = re.compile(f"{_OPEN}([^{_OPEN}{_CLOSE}]*){_CLOSE}")
_LEFT_OUT = {
    "annotation": "comments",
    "shptxt": "text boxes",
    "dptxbxtext": "text boxes",
    "objdata": "embedded objects",
}
_LEFT_OUT |= {f"{kind}{page}": f"{kind}s" for kind in ("header", "footer") for page in ("", "l", "r", "f")}
_DEEPEST = 1_000


def read(data: bytes, name: str) -> ReadText:
    """Return the text of a document with its headings and footnotes, without its pages."""
    if not data.lstrip().startswith(b"{\\rtf"):
        raise DocumentError("this is not an RTF document", place=name, hint="save it again as .rtf, or as .docx")
    builder = TextBuilder()
    source, lost = _marked(data.decode("latin-1"), name, builder)
    text = rtf_to_text(source, encoding="cp1252", errors="replace")
    for line in _NOTE.sub(lambda match: match[0].replace("\n", " "), text).split("\n"):
        levels = re.findall(f"{_HEADING}([1-9])", line)
        notes, plain = _NOTE.findall(line), re.sub(f"{_HEADING}[1-9] ?|[{_OPEN}{_CLOSE}]", "", _NOTE.sub("", line))
        if levels:
            builder.heading(int(max(levels)), [plain])
        else:
            builder.add([plain.replace("|", " | ") if plain.rstrip().endswith("|") else plain])
        for note in notes:
            builder.mark("note", builder.add([note]))
    length = size("".join(builder.parts))
    builder.extents.append(ReadCoverage(name, length + lost, length))
    title = _TITLE.search(data)
    return builder.reading(title[1].decode("cp1252", "replace") if title else "")


def _marked(source: str, name: str, builder: TextBuilder) -> tuple[str, int]:
    """Return the source without binary data, with marks around notes and at headings, and all its groups closed. Also
    the length of what a part without text hides because it is not closed."""
    styles, parts, at = dict(_STYLE.findall(source)), list[str](), 0
    groups: list[tuple[int, str]] = []
    hidden, is_ended = 0, False
    while sign := _SIGN.search(source, at):
        parts.append(source[at : sign.start()])
        text, at = sign[0], sign.end()
        if text[0] == "{":
            is_note, is_hidden = sign[2] == "footnote", bool(sign[1]) or sign[2] in destinations
            groups.append((at if is_hidden and not is_note else len(source), _CLOSE if is_note else ""))
            text = f"{{{_OPEN}" if is_note else text
            if sign[2] in _LEFT_OUT:
                builder.leave_out(_LEFT_OUT[sign[2]])
        elif text == "}":
            # The outermost group is closed at the end, so that what follows it is read.
            if len(groups) > 1:
                start, mark = groups.pop()
                hidden, text = max(0, at - start), f"{mark}}}"
            else:
                is_ended, text = True, ""
        elif sign[3]:
            level = styles.get(sign[4], "") if sign[3] == "s" else str(int(sign[4]) + 1)
            text += f" {_HEADING}{level}" if len(level) == 1 else ""
        elif sign[5]:
            # A length that does not lead to the end of the group is wrong.
            end, text = at + int(sign[5]), ""
            at = end if source[end : end + 4].lstrip().startswith("}") else at
        parts.append(text)
        if len(groups) > _DEEPEST:
            raise DocumentError(f"its groups are more than {_DEEPEST:,} deep", place=name, hint="save it again")
    lost = 0 if is_ended else max(hidden, 0, *(len(source) - start for start, _ in groups))
    return "".join([*parts, source[at:], "}" * len(groups)]), lost
