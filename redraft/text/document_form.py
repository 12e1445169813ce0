"""Determines a document's kind by its form, and finds its front and back matter: licences, thanks, contents."""

from __future__ import annotations

import re

from redraft.document import Document, Span
from redraft.domain import TextKind
from redraft.text.sentences import is_heading

_PARAGRAPH = re.compile(r"\S[^\n]*(?:\n[ \t]*\S[^\n]*)*")
# Speech ends with a punctuation mark within its quotation marks, or begins with a dash.
SPEECH = re.compile(
    r"[\"“„«「『‘][^\"“”„«»「」『』\n]{0,2000}[,.!?…—。！？，][*_]?[\"”“»」』’]|\A[\s>]*[—–―]\s?[^\W\d_]"
)
_CHAPTER = re.compile(
    r"^[ \t]*(?:#{1,6}[ \t]+)?(?:\*\*)?(?:chapter|kapitel|chapitre|cap[íi]tulo|capitolo|глава|book|part)[ \t]+"
    r"(?:\d{1,3}|[ivxlc]{1,7}|[a-z]{3,12})\b[^\n]{0,80}$|^[ \t]*第[一二三四五六七八九十百\d]{1,4}[章回]",
    re.IGNORECASE | re.MULTILINE,
)
_OF_REPORTS = re.compile(
    r"^[ \t]*(?:#{1,6}[ \t]+)?(?:\*\*)?(?:[\dIVX.]{1,6}[ \t]+)?(abstract|summary|executive summary|introduction"
    r"|background|related work|methods?|methodology|results|discussion|conclusions?|limitations|references|bibliography"
    r"|appendix|zusammenfassung|einleitung|methoden|ergebnisse|diskussion|schluss|literatur(?:verzeichnis)?"
    r"|résumé|résultats|conclusión|resultados|referencias|bibliografía|введение|заключение|список литературы)"
    r"(?:\*\*)?[ \t]*[.:]?[ \t]*$",
    re.IGNORECASE | re.MULTILINE,
)
_SPOKEN, _SPOKEN_IN_CHAPTERS = 0.2, 0.12
_MIN_HEADINGS, _MIN_CHAPTERS = 2, 2
_MIN_PARAGRAPHS = 4


def kind_by_form(text: str) -> TextKind:
    """Return `narrative` or `report` if the form shows it, else `other`."""
    if len({match[1].casefold() for match in _OF_REPORTS.finditer(text)}) >= _MIN_HEADINGS:
        return "report"
    paragraphs = [match[0] for match in _PARAGRAPH.finditer(text)]
    if len(paragraphs) < _MIN_PARAGRAPHS:
        return "other"
    spoken = sum(1 for paragraph in paragraphs if SPEECH.search(paragraph)) / len(paragraphs)
    in_chapters = len({match[0].strip() for match in _CHAPTER.finditer(text)}) >= _MIN_CHAPTERS
    return "narrative" if spoken >= (_SPOKEN_IN_CHAPTERS if in_chapters else _SPOKEN) else "other"


_AROUND = (
    r"acknowledge?ments?|dedication|also by .{1,60}|(?:other )?(?:books|works) by .{1,60}|praise for .{1,80}"
    r"|about the (?:authors?|publisher|translator|editors?|book)|a note (?:on|about) the (?:author|type|translator)"
    r"|author['’]s note|note (?:by|from) the (?:author|translator|editor|publisher)|transcriber['’]s notes?"
    r"|copyright(?: (?:page|notice))?|license|licence|terms of use|colophon|(?:table of )?contents|imprint"
    r"|danksagung|über (?:den autor|die autorin)|impressum|remerciements|agradecimientos|ringraziamenti|благодарности"
)
_AFTER_ONLY = (
    r"references|bibliography|works cited|literature cited|literatur(?:verzeichnis)?|quellen(?:verzeichnis)?"
    r"|bibliographie|références|referencias|bibliografía|bibliografia|список литературы|参考文献|参考文献一覧"
    r"|(?:author )?contributions|funding|(?:conflicts? of|competing) interests?|data availability|ethics statement"
)
_TITLE = r"[ \t]*(?:\#{{1,6}}[ \t]+)?(?:\*\*|__)?(?:[\dIVX.]{{1,6}}[ \t]+)?(?:{})(?:\*\*|__)?[ \t]*[.:]?[ \t]*"
_BEFORE_TEXT = re.compile(_TITLE.format(_AROUND), re.IGNORECASE)
_BEHIND_TEXT = re.compile(_TITLE.format(f"{_AROUND}|{_AFTER_ONLY}"), re.IGNORECASE)
# Paragraphs that need no heading.
_LEGAL = re.compile(
    r"(?:©|\(c\) (?:19|20)\d\d|copyright (?:©|\(c\)|19|20|by )|all rights reserved|isbn[ :]|published by "
    r"|first published|this (?:e-?book|e-?text|work|article|text) is (?:for the use|licen[sc]ed|published|distributed"
    r"|in the public domain)"
    r"|licen[sc]ed under|printed in |no part of this (?:book|publication))",
    re.IGNORECASE,
)
_LARGEST_SHARE = 0.25
_LONGEST_LINE = 80


def body_of(document: Document, end: int | None = None) -> tuple[Span, str]:
    """Return the span of the text itself of a document, or of its beginning up to `end`, and a note on its front and
    back matter, which is left out; the note is empty if all of it is read."""
    text = document.text[:end]
    paragraphs = [Span(*match.span()) for match in _PARAGRAPH.finditer(text)]
    limit = _LARGEST_SHARE * len(text)
    front: list[str] = []
    begin = at = 0
    second = text[slice(*paragraphs[1])] if len(paragraphs) > 1 else ""
    is_second_front = bool(_BEFORE_TEXT.fullmatch(second.partition("\n")[0]) or _LEGAL.match(second))
    while at < len(paragraphs):
        paragraph = text[slice(*paragraphs[at])]
        if _BEFORE_TEXT.fullmatch(paragraph.partition("\n")[0]):
            after = next((n for n in range(at + 1, len(paragraphs)) if _is_title(text, paragraphs[n])), len(paragraphs))
        elif _LEGAL.match(paragraph):
            after = at + 1
        elif at == 0 and len(paragraph) <= _LONGEST_LINE and is_second_front:
            # The title of the whole document may precede them, and is kept.
            at += 1
            continue
        else:
            break
        if after == len(paragraphs) or paragraphs[after].start > limit:
            break
        front.append(_quoted(paragraph))
        at, begin = after, paragraphs[after].start

    stop, back = len(text), list[str]()
    # An appendix after the back matter is text. A beginning has no back matter.
    candidates = reversed(paragraphs if len(text) == len(document.text) else [])
    for span in (paragraph for paragraph in candidates if _is_title(text, paragraph)):
        line = text[slice(*span)].partition("\n")[0]
        if span.start <= begin or len(text) - span.start > limit - begin or not _BEHIND_TEXT.fullmatch(line):
            break
        back.insert(0, _quoted(line))
        stop = span.start
    titles = ", ".join(dict.fromkeys(front + back))
    return Span(begin, stop), f"not part of the main text, so left out: {titles}" if titles else ""


def _is_title(text: str, span: Span) -> bool:
    """Return whether a paragraph is a heading, or begins with a known one on a line of its own."""
    first, _, rest = text[slice(*span)].partition("\n")
    return bool(_BEHIND_TEXT.fullmatch(first)) or (len(first) <= _LONGEST_LINE and not rest and is_heading(first))


def _quoted(paragraph: str) -> str:
    first = " ".join(paragraph.partition("\n")[0].strip("#*_ \t.:").split())
    return f"“{first[:57]}…”" if len(first) > 58 else f"“{first}”"
