"""RTF: text, headings and footnotes. `striprtf` extracts the text; private characters mark what it does not report."""

from __future__ import annotations

import re

from striprtf.striprtf import rtf_to_text

from redraft.errors import DocumentError
from redraft.readers.builder import ReadText, TextBuilder

_SIGN = re.compile(r"\{(?:\\\*)?(\\footnote\b)?|\}|\\[\\{}]|\\(s|outlinelevel)(\d{1,5})\b")
_STYLE = re.compile(r"\{[^{}]{0,20}?\\s(\d{1,5})\b[^{}]{0,1000}?(?i:heading) ?([1-9]);\}")
_OPEN, _CLOSE, _HEADING = "\ue000\ue001\ue002"
_NOTE = re.compile(f"{_OPEN}([^{_OPEN}{_CLOSE}]*){_CLOSE}")
_LEFT_OUT = {"annotation": "comments", "header[lrf]?": "headers", "footer[lrf]?": "footers"}
_LEFT_OUT |= {"(?:shptxt|dptxbxtext)": "text boxes", "objdata": "embedded objects"}


def read(data: bytes, name: str) -> ReadText:
    """Return the text of a document with its headings and footnotes, without its pages."""
    if not data.lstrip().startswith(b"{\\rtf"):
        raise DocumentError("this is not an RTF document", place=name, hint="save it again as .rtf, or as .docx")
    source, builder = data.decode("latin-1"), TextBuilder()
    if not source.rstrip("\x00\r\n ").endswith("}"):
        builder.oddities.append("it is cut off: text at its end may be missing")
    for word, kind in _LEFT_OUT.items():
        if count := len(re.findall(rf"\{{(?:\\\*)?\\{word}\b", source)):
            builder.leave_out(kind, count)
    text = rtf_to_text(_marked(source), encoding="cp1252", errors="replace")
    for line in _NOTE.sub(lambda match: match[0].replace("\n", " "), text).split("\n"):
        levels = re.findall(f"{_HEADING}([1-9])", line)
        notes, plain = _NOTE.findall(line), re.sub(f"{_HEADING}[1-9] ?|[{_OPEN}{_CLOSE}]", "", _NOTE.sub("", line))
        if levels:
            builder.heading(int(max(levels)), [plain])
        else:
            builder.add([plain.replace("|", " | ") if plain.rstrip().endswith("|") else plain])
        for note in notes:
            builder.mark("note", builder.add([note]))
    return builder.reading()


def _marked(source: str) -> str:
    """Return the source with marks around notes and at headings, and with all its groups closed."""
    styles, closings = dict(_STYLE.findall(source)), list[str]()

    def marked(sign: re.Match[str]) -> str:
        """Return a sign of the source with the mark of a note that begins or ends there, or of a heading's level."""
        if sign[0][0] == "{":
            closings.append(_CLOSE if sign[1] else "")
            return f"{{{_OPEN}" if sign[1] else sign[0]
        if sign[0] == "}":
            # The outermost group is closed at the end, so that what follows it is read.
            return f"{closings.pop()}}}" if len(closings) > 1 else ""
        level = styles.get(sign[3], "") if sign[2] == "s" else str(int(sign[3] or 9) + 1)
        return f"{sign[0]} {_HEADING}{level}" if sign[2] and len(level) == 1 else sign[0]

    return _SIGN.sub(marked, source) + "}" * len(closings)
