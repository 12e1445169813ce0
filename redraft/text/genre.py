"""What kind of text a document is, by its form alone: before anybody has read it, and at no cost.

Three signs: how many of its paragraphs hold speech, whether it is divided into chapters, and whether it has the
headings of a paper or a report. Paragraphs that hold speech are 0.30 to 0.85 of the sample book and of the 25 stories
of SQuALITY's development set, and 0.00 to 0.10 of five research papers, of meetings, news and letters; the
bounds lie between these.
"""

from __future__ import annotations

import re

from redraft.domain import TextKind

_PARAGRAPH = re.compile(r"\S[^\n]*(?:\n[ \t]*\S[^\n]*)*")
# Speech ends with a mark within its quotation marks, and what is only named does not; or it begins with a dash.
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
_FEWEST_HEADINGS, _FEWEST_CHAPTERS = 2, 2
_FEWEST_PARAGRAPHS = 4


def kind_by_form(text: str) -> TextKind:
    """`narrative` or `report` where the form tells, and `other` where it does not."""
    if len({found[1].casefold() for found in _OF_REPORTS.finditer(text)}) >= _FEWEST_HEADINGS:
        return "report"
    paragraphs = [found[0] for found in _PARAGRAPH.finditer(text)]
    if len(paragraphs) < _FEWEST_PARAGRAPHS:
        return "other"
    spoken = sum(1 for one in paragraphs if SPEECH.search(one)) / len(paragraphs)
    in_chapters = len({found[0].strip() for found in _CHAPTER.finditer(text)}) >= _FEWEST_CHAPTERS
    return "narrative" if spoken >= (_SPOKEN_IN_CHAPTERS if in_chapters else _SPOKEN) else "other"
