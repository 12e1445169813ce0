"""Splits text into paragraphs and sentences at exact offsets, by `sentencex` (Wikimedia's splitter) and the text's
language. `benchmarks/sentences.py` compares it with others."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from heapq import merge
from itertools import accumulate, chain, pairwise
from textwrap import wrap
from typing import NamedTuple

from sentencex import segment

from redraft.document import Mark, Span
from redraft.text.languages import ENGLISH, LanguageSpan, is_foreign, language_spans_in
from redraft.text.sanitizer import one_line
from redraft.text.words import UNSPACED, count_words, has_words

_CLOCK = r"(?:\d{1,3}:)?\d{1,2}:\d{2}(?:[.,]\d{1,3})?"
_STAMP = re.compile(
    rf"[ \t]*(?:>>+[ \t]*)?(?:[\[(](?P<marked>{_CLOCK})[\])]|(?P<bare>{_CLOCK})(?=[ \t]))[ \t]*(?:[-–—]\s)?"
)
_NAMED = re.compile(r"[ \t]*(?:>>+[ \t]*)?(?P<name>[^\W_][^:\n\[\]]{0,60}):(?=\s|\Z)")
_NAMED_BEFORE = re.compile(
    rf"[ \t]*(?P<name>[^\W\d_][^:\n\d\[\]]{{0,50}}?)[ \t]+[\[(]?(?P<time>{_CLOCK})[\])]?[ \t]*(?=\n|\Z)"
)
_UNNAMED = re.compile(r"[ \t]*(?:>>+[ \t]*|[QA][.:][ \t]+(?=[^\W\d_a-z]))")
_ASIDE = re.compile(r"\([^()]*\)")
_MAX_WORDS = 6
_MIN = 3
LINE = r"[^\S\n]*(?:\[(?:\d{1,3}:)?\d{1,2}:\d\d[^\]\n]{0,9}\]|>>|[A-Z][A-Z0-9 .'’&-]{1,40}:\s)"
"""A pattern of the beginning of a line with another speaker."""


class SpeakerLabel(NamedTuple):
    """A speaker label: the offset of the speech after it, the name, and the time as hours, minutes and seconds."""

    end: int
    name: str
    time: str


def speaker_at(text: str, start: int, end: int) -> SpeakerLabel | None:
    """Return the label that a paragraph begins with; None if there is none.

    A name is in capitals, or next to a time with all its words capitalized.
    """
    if (before := _NAMED_BEFORE.match(text, start, end)) and _is_name(before["name"]):
        return SpeakerLabel(before.end(), before["name"], clock(before["time"]))
    stamp = _STAMP.match(text, start, end)
    at = stamp.end() if stamp else start
    match = _NAMED.match(text, at, end)
    plain = _ASIDE.sub("", match["name"]) if match else ""
    letters = [sign for sign in plain if sign.isalpha()]
    # A name in capitals, such as THE CHAIRMAN and SPEAKER 1, ignoring brackets.
    is_loud = len(letters) > 1 and all(letter.isupper() for letter in letters) and len(plain.split()) <= _MAX_WORDS
    if match and (is_loud or (stamp and _is_name(match["name"]))):
        return SpeakerLabel(match.end(), match["name"], clock(stamp["marked"] or stamp["bare"]) if stamp else "")
    if stamp and (stamp["marked"] or stamp["bare"].count(":") > 1):
        return SpeakerLabel(at, "", clock(stamp["marked"] or stamp["bare"]))
    unnamed = _UNNAMED.match(text, start, end)
    return SpeakerLabel(unnamed.end(), "", "") if unnamed else None


def clock(time: str) -> str:
    """Return a time as hours, minutes and seconds, such as 00:12:40."""
    parts = [int(number) for number in re.split(r"[.,]", time)[0].split(":")]
    hours, minutes, seconds = [0, *parts][-3:]
    return f"{hours:02}:{minutes:02}:{seconds:02}"


def times_in(text: str) -> list[Mark]:
    """Return time marks on what is said after each time, if several paragraphs or lines of a text begin with one."""
    labels: list[tuple[int, str]] = []
    for line in re.finditer(r"^[^\n]*\d:\d\d[^\n]*", text, re.MULTILINE):
        label = speaker_at(text, line.start(), line.end())
        if label and label.time:
            labels.append((line.start(), label.time))
    rising = sum(a[1] <= b[1] for a, b in pairwise(labels))
    if len(labels) < _MIN or rising < 0.9 * (len(labels) - 1):
        return []
    ends = [at for at, _ in labels[1:]] + [len(text)]
    spans = (Span(at, at + len(text[at:end].rstrip())) for (at, _), end in zip(labels, ends, strict=True))
    return [Mark(*span, "time", time) for span, (_, time) in zip(spans, labels, strict=True)]


def _is_name(name: str) -> bool:
    words = _ASIDE.sub("", name).split()
    return 0 < len(words) <= _MAX_WORDS and all(not word[0].islower() for word in words)


# A blank line, a list item, a heading and another speaker end a paragraph.
_BREAK = re.compile(rf"\n(?:[^\S\n]*\n\s*|(?=[^\S\n]*(?:[-*+•]|\d{{1,3}}[.)]|\#{{1,6}})[^\S\n])|(?={LINE}))")
_HEADING_END = re.compile(r"##{0,5}[^\S\n][^\n]*\n\s*")  # a pattern that begins with a fixed character is found fast

_HEADING = re.compile(r"#{1,6}[^\S\n]+\S")
# No line breaks after its first word, so this is a title or a heading, and not part of the next sentence.
_LONE_WORD = re.compile(
    rf"[^\S\n]*(?:[^\W\d_{UNSPACED}][^\W_{UNSPACED}'’-]{{0,23}}|[{UNSPACED}]{{1,8}})[^\S\n]*\n"
    r"(?=[^\S\n]*[\"“”„‘«»‹「『¿¡(]?(?P<first>[^\W\d_]))"
)

# The splitter is quadratic in a paragraph's quotation marks, so a long paragraph is split in blocks.
_BLOCK = 4_000

# The splitter fails on multi-byte spaces before a full stop, and on lone surrogates; plain spaces replace them.
_UNFIT = re.compile(r"[^\S\n\t ]|[\ud800-\udfff]")

# It does not treat an ellipsis character as an end, and takes some English words for abbreviations. Before a capital
# both end a sentence, except in "300 a. C." and "Frankfurt a. M.".
_BEFORE_CAPITAL = r"(?=[\"'”’)\]]*\s+[\"'“‘(\[]*[A-ZÀ-ÞΑ-ΩА-Я](?!\.))"
_MISSED_END = re.compile(rf"(?:…|(?<=[\w,;] )(?:a|me|no|may|ore|art|ill|miss|fed)\.){_BEFORE_CAPITAL}")
_MISSED_ELLIPSIS = re.compile(f"…{_BEFORE_CAPITAL}")
# It treats the number of a list item as a sentence.
_ITEM_NUMBER = re.compile(r"\s*\d{1,3}[.)]\s*")

# Abbreviations that a number may follow.
_NUMBERED = re.compile(r"(?<!\w)(?:[Vv]ols?|[Cc]h|[Cc]hap|[Bb]k|[Pp]t|Nos?|pp?|[Ff]igs?|Eqs?|[Ss]ecs?|Arts?)\.\s*\Z")
_LONGEST_NUMBERED = 12
# How far back to search for the last sentences.
_LOOKED_BACK = 2_000
# Such abbreviations in other languages: page, figure, table, volume, chapter, number, article, paragraph.
_NUMBERED_ABROAD = re.compile(
    r"(?<!\w)(?:pp?|págs?|pagg?|s|str?|стр|с|σελ|σ|figg?|rys|obr|abb|рис|илл?|εικ|tabb?|tav|lám|pl|табл|πίν|voll?|bde?|dl|sv|t"
    r"|том|т|τόμ|capp?|kap|chap|rozdz|разд|гл|κεφ|n[nros]?|núms?|č|αρ|artt?|čl|ст|αρθρ|par|abs|ust|odst|пп?|ч)\.\s*\Z",
    re.IGNORECASE,
)

# In English a number or an unknown abbreviation with a full stop ends a sentence. Other languages have dates and
# ordinals ("am 3. März", "im 19. Jahrhundert", "3. března"), and "1926 г. на мыс".
_ORDINAL = re.compile(
    r"(?<!\w)(?:am|vom|zum|zur|beim|im|ab|seit|bis|auf|den|der|dem|des|das|die|jeden|jedem)\s+\d{1,2}\.\s*\Z",
    re.IGNORECASE,
)
# Shillings and pence, as in "£1,804 16s. and ninepence" and "3s. 6d. a week".
_MONEY = re.compile(r"(?<!\w)\d{1,4}[sd]\.\s*\Z")
_ONE_LETTER = re.compile(r"(?<![\w.])(?:[^\W\d_]|\d{1,2})\.\s*\Z")
_LONGEST_ORDINAL = 16

# In other languages it splits after initials, as in "M. Dupont" and "А. С. Пушкин", and before speech tags.
_INITIAL = re.compile(r"(?<![\w.])[^\W\d_a-zа-яα-ω]\.\s*\Z")
_SAID = re.compile(r"[」』]\Z")
_GOES_ON = re.compile("[\u3041-\u3096]")

# In German “ is the closing mark, and so is « in some books.
_ENDS = re.compile(r"[.!?…。！？।؟۔][\"'”’“‘»«›‹」』）】》〉)\]*_]*$")


def paragraph_seams(text: str) -> Iterator[int]:
    """Return the offsets at which new paragraphs begin, in order."""
    breaks = (match.start() + match.group().rfind("\n") + 1 for match in _BREAK.finditer(text))
    headings = (
        match.start() + match.group().rfind("\n") + 1
        for match in (_HEADING_END.finditer(text) if "#" in text else ())
        if not text[text.rfind("\n", 0, match.start()) + 1 : match.start()].strip()
    )
    last = 0
    for seam in merge(breaks, headings):
        if seam > last:
            yield seam
            last = seam


def paragraphs(text: str) -> Iterator[Span]:
    """Return the paragraphs of `text`, which cover it exactly."""
    start = 0
    for seam in paragraph_seams(text):
        yield Span(start, seam)
        start = seam
    if start < len(text):
        yield Span(start, len(text))


def sentences(text: str, within: Span | None = None, language: str | None = None) -> list[Span]:
    """Return the sentences of `text` (or of the part `within`) without surrounding whitespace, by the rules of
    `language`, or of the text's own."""
    first, last = within or Span(0, len(text))
    spans: list[Span] = []
    whole = [LanguageSpan(Span(0, len(text)), language or "")]
    for (start, end), spoken in language_spans_in(text) if language is None else whole:
        start, end = max(start, first), min(end, last)
        body = text[start:end]
        for paragraph in paragraphs(body):
            spans.extend(_split(body, paragraph, start, spoken))
    return spans


def last_sentences(text: str, within: Span, limit: int) -> str:
    """Return the last whole sentences of a span with at most this many words together."""
    begin = max(within.start, within.end - _LOOKED_BACK)
    spans = sentences(text, Span(begin, within.end))
    # The first of them may be cut at the start.
    start, whole_spans = within.end, spans if begin == within.start else spans[1:]
    for span in reversed(whole_spans):
        if count_words(text[span.start : within.end]) > limit:
            break
        start = span.start
    return text[start : within.end].strip()


def first_sentences(text: str, tokens: int, count: Callable[[str], int]) -> str:
    """Return the first whole sentences of a text with at most so many tokens together."""
    ends = [0, *(span.end for span in sentences(text))]
    return text[: ends[bisect_right(ends, max(0, tokens), key=lambda end: count(text[:end])) - 1]]


def halves(text: str, within: Span) -> tuple[Span, Span] | None:
    """Return two parts of whole sentences of about equal length; None for a single sentence."""
    spans = sentences(text, within)
    if len(spans) < 2:
        return None
    middle = min(spans[1:], key=lambda span: abs(span.start - (within.start + within.end) // 2)).start
    return Span(within.start, middle), Span(middle, within.end)


def ends_sentence(text: str) -> bool:
    """Return whether `text` ends with a complete sentence."""
    return bool(_ENDS.search(text.rstrip()))


def _split(body: str, paragraph: Span, offset: int, language: str) -> Iterator[Span]:
    """Yield the sentences of one paragraph, split in blocks: each begins before the last sentence of the one before,
    and an overlong sentence is joined from several."""
    at, first = paragraph.start, -1
    if _HEADING.match(body, at):
        # "## II. The Book" is one heading, and "The Book" is not a sentence.
        at, first = paragraph.end, paragraph.start
    elif label := speaker_at(body, at, paragraph.end):
        # "[00:24:00] MS. DOYLE:" belongs to her first sentence.
        first = at + len(body[at : label.end]) - len(body[at : label.end].lstrip())
        at = label.end
    while (lone := _LONE_WORD.match(body, at, paragraph.end)) and not lone["first"].islower():
        word = lone.group().strip()
        yield Span(offset + (begin := body.index(word, at)), offset + begin + len(word))
        at = lone.end()
    while at < paragraph.end:
        stop = paragraph.end
        if stop - at > _BLOCK:
            # At a space where possible.
            space = body.rfind(" ", at + 1, at + _BLOCK)
            stop = space if space > at + _BLOCK // 2 else at + _BLOCK
        parts = _segment(body[at:stop], language)
        is_last = stop == paragraph.end
        unfinished = not is_last and len(parts) == 1
        for part in parts if is_last or unfinished else parts[: _settled(parts)]:
            core = part.strip()
            begin = at + part.index(core)
            at += len(part)
            if core and unfinished:
                first = begin if first < 0 else first
            elif core:
                yield Span(offset + (begin if first < 0 else first), offset + begin + len(core))
                first = -1
    if first >= 0:
        yield Span(offset + first, offset + len(body[: paragraph.end].rstrip()))


def _segment(text: str, language: str) -> list[str]:
    """Return the splitter's sentences, which join to `text`; the whole text if the splitter fails."""
    foreign = is_foreign(language)
    pattern = _MISSED_ELLIPSIS if foreign else _MISSED_END
    try:
        parts: list[str] = segment(
            language if foreign else ENGLISH, pattern.sub(lambda match: f"{match.group()[:-1]}!", _UNFIT.sub(" ", text))
        )
    except BaseException as error:  # a panic of the splitter's Rust code is not an Exception
        if type(error).__name__ != "PanicException":
            raise
        return [text]
    ends = [0, *accumulate(len(part) for part in parts)]
    if ends[-1] != len(text):  # something was lost or added: no boundary can be trusted
        return [text]
    if len(parts) > 1 and _ITEM_NUMBER.fullmatch(parts[0]):
        del ends[1]
    ends = [end for end in ends if end in (0, len(text)) or not _continues(text, end, foreign)]
    return [text[start:end] for start, end in pairwise(ends) if end > start]


def _continues(text: str, at: int, foreign: bool) -> bool:
    """Return whether a full stop belongs to a number, an ordinal or an abbreviation; in other languages also whether it
    is before a small letter, within a word, after an initial, in a date, or before a page number or a speech tag."""
    follows, before = text[at:].lstrip()[:1], max(0, at - _LONGEST_ORDINAL)
    is_ordinal = _ORDINAL.search(text, before, at) is not None
    # A number that follows may belong to the abbreviation, as in "Vol. 17".
    numbered = _NUMBERED_ABROAD if foreign else _NUMBERED
    if follows.isdigit() and numbered.search(text, max(0, at - _LONGEST_NUMBERED), at):
        return True
    if foreign:
        is_stopped = text[before:at].rstrip()[-1:] == "."
        is_in_word = is_stopped and (follows.islower() or (text[at - 1] == "." and text[at].isascii()))
        is_speech = _SAID.search(text, at - 1, at) and _GOES_ON.match(text, at)
        return is_in_word or is_ordinal or bool(is_speech or _INITIAL.search(text, before, at))
    if (follows.islower() or follows.isdigit()) and _MONEY.search(text, before, at):
        return True
    if follows.islower():
        return bool(_ONE_LETTER.search(text, before, at))
    return follows.isupper() and is_ordinal


def _settled(parts: list[str]) -> int:
    """Return how many sentences of a block are final: up to the last boundary outside quotation marks and brackets."""
    settled = depth = straight = 0
    for index, part in enumerate(parts[:-1], 1):
        depth += part.count("“") - part.count("”") + part.count("(") - part.count(")")
        straight += part.count('"')
        if depth == 0 and straight % 2 == 0:
            settled = index
    return settled or len(parts) - 1


LONGEST_SENTENCE = 2_000
"""The most characters of a sentence that is judged as one."""


def sentences_in(text: str) -> list[str]:
    """Return the sentences of a text that have words, each on one line, and very long ones in pieces. Otherwise a
    sentence that is longer than a prompt would be asked about with every few words of the document."""
    lines = (one_line(text[span.start : span.end]) for span in sentences(text))
    cut = ([line] if len(line) <= LONGEST_SENTENCE else wrap(line, LONGEST_SENTENCE) for line in lines)
    return [line for line in chain.from_iterable(cut) if has_words(line)]


_MARKED = re.compile(r"#{1,6}\s|(\*\*|__)[^*_]+\1:?$")
_ITEM = re.compile(r"(?:[-*+•–—]|\d{1,3}[.)])\s")
# Words that are not capitalized within a title.
_SMALL = re.compile(r"(?:an?|and|as|at|but|by|for|from|in|into|nor|of|off|on|or|the|to|up|with)$")
_WORD = re.compile(r"[^\W\d_][\w'’-]*")
_LONGEST = 8


def is_heading(line: str) -> bool:
    """Return whether a line is a title: marked in Markdown, or short, without an end, and capitalized."""
    line = line.strip()
    if _MARKED.match(line):
        return True
    if _ITEM.match(line) or ends_sentence(line) or not 0 < count_words(line) <= _LONGEST:
        return False
    words = _WORD.findall(line)
    titled = [word for word in words if not _SMALL.match(word)]
    return bool(titled) and all(word[0].isupper() for word in titled)
