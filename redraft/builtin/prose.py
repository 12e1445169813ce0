"""The sentences of a text without markdown, and how suitable each is for a summary."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Literal, NamedTuple

from redraft.text.languages import ENGLISH, is_foreign
from redraft.text.sentences import ends_sentence, is_heading, paragraphs, sentences, speaker_at
from redraft.text.word_keys import DAYS, MONTHS, NEGATIONS, Word, carries, is_number, listed
from redraft.text.words import count_words, word_ends

LAST_RESORT, NO_SENTENCE = 1e-4, 1e-5
"""The scores of sentences that need their context, and of what is not a sentence of the main text, such as a heading, a
footnote or a licence. Each is used only if nothing better is left."""

FIRST_PERSON = re.compile(r"\b(?:I|[Mm]e|[Mm]y|[Mm]ine|[Mm]yself|[Ww]e|[Uu]s|[Oo]urs?|[Oo]urselves)\b")
_SECOND_PERSON = re.compile(r"\b(?:you|yours?|yourself|thou|thee|thy)\b", re.IGNORECASE)

# Direct speech within a paragraph. Its length is bounded, so that one missing quotation mark does not turn the rest
# into speech; single quotes count only after punctuation.
_SPEECH = re.compile(
    r"(?<![\w.,!?])\"(?=\S)[^\"]{0,1500}\"?|“[^”]{0,1500}”?|«[^»]{0,1500}»?|「[^」]{0,1500}」?"
    r"|(?<!\w)['‘](?=\w)[^\n]{0,600}?[.,!?…—]['’](?!\w)"
)
_SPEECH_MARK = re.compile(r"[\"“”«»]")

# What credits the makers of a file may stand in a sentence of the text, where no blank line follows it.
_NOTICE = re.compile(r"©|\bcopyright|\bgutenberg\b|\be-?text\b|\bproofread(?:ing|ers?)\b", re.IGNORECASE)
_SAYING = (
    r"(?:said|says|asked|answered|replied|cried|shouted|whispered|muttered|murmured|exclaimed|called|added|demanded)"
)
_SPEAKER = r"(?:[A-Z][\w.’'-]*(?: [A-Z][\w’'-]*)*|[Hh]e|[Ss]he|[Tt]hey|I|[Tt]he [\w’'-]+)"
# A dialogue tag without speech: "Andy asked.", "said the mate quietly."
_TAG = re.compile(
    rf"\W*(?:{_SPEAKER} {_SAYING}|{_SAYING} {_SPEAKER})(?: \w+ly| (?:to|with|in)(?: \w+){{1,4}})?[.,:;!?…]*\W*"
)
# Only a date or time: "10:45 P.M.", "Day 3.", "4 June 1962", "Chapter IV."
_STAMP = re.compile(
    rf"(?:\W|\b(?:\d+(?:st|nd|rd|th)?|[ap]\.?m|hours?|o['’]clock|noon|midnight|GMT|UTC|day|week|year|date|time|log|entry"
    rf"|chapter|part|book|act|scene|[IVXLC]+|one|two|three|four|five|six|seven|eight|nine|ten"
    rf"|{'|'.join(sorted(MONTHS | DAYS))})\b)+",
    re.IGNORECASE,
)

# A text without full stops is split into runs of words.
_HEADING_WORDS, _RUNAWAY_WORDS, _LONGEST_WORDS, _RUN_WORDS = 12, 80, 400, 30

_MARKS_AT_START = re.compile(r"^(?:#{1,6}\s+|>\s*|[-+•]\s+|\d{1,3}[.)]\s+(?=\D))+")
_TIME_AT_START = re.compile(r"^[\[(](?:\d{1,3}:)?\d{1,2}:\d\d(?:[.,]\d{1,3})?[\])]\s*")
# Notes in brackets, of an editor, or at the foot of a page. A paragraph with [1] is one where the text refers to it.
_NOTE = re.compile(
    r"\[.*\]$|(?:foot)?note\s+[\d*]|\[\^[^\]]{1,20}\]:|[†‡§¹²³⁴-⁹]|(?P<number>\[(?:\d{1,3}|\*{1,3})\])\s"
    r"|.*[\[(—–-]\s?(?:the )?(?:eds?|trans|editor|translator|transcriber)\b(?:['’]?s?['’]?(?: notes?)?)\.?[\])]?\W*$",
    re.IGNORECASE,
)
_NUMBER_OF_NOTE = re.compile(r"(?<=[\w.,;:!?”’\"')])\[(?:\d{1,3}|[*†‡]{1,3})\]")
_EMPHASIS = re.compile(r"\*+|`+|(?<!\w)_+(?=\w)|(?<=[\w.,!?;:'\"”’])_+(?!\w)|(?<!\w)_+(?!\w)")
_LINK = re.compile(r"!?\[([^\[\]]*)\]\([^()\s]*\)")
_SPACES = re.compile(r"\s+")
_CLAUSE = re.compile(r"(?<=[,;:—–、，；：\n])\s*")
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]")
_DANGLING_MARKS = " \t\n,;:—–、，；：-([“‘"
_DANGLING = re.compile(
    rf"(?:[{re.escape(_DANGLING_MARKS)}]|(?<!\w)(?:and|or|but|the|an?|of|to|in|on|at|by|for|with|from|as|that|which|who)"
    r"(?!\w))+$",
    re.IGNORECASE,
)
_LONGEST_DANGLING = 40
_NAME = re.compile(r"\b[A-Z][\w’'-]*[a-z]\b")
_NAME_WITHIN = re.compile(r"(?<=[a-z,;’'] )[A-Z][\w’'-]*[a-z]\b")
_FIGURE = re.compile(r"\b\d[\d.,]*\b")
# The score of a sentence by its number of words.
_WORTH_BY_LENGTH = ((4, 0.15), (7, 0.3), (11, 0.6), (15, 0.85), (40, 1.0))


@dataclass(frozen=True, slots=True)
class ProseSentence:
    """A sentence without markdown, and its suitability for a summary from nearly 0 to about 1."""

    text: str
    words: int
    part: int
    suitability: float
    spoken: bool
    """Whether it is dialogue."""


def read(parts: Sequence[str], language: str) -> list[ProseSentence]:
    """Return all sentences in order, scored together, without repetitions; dialogue and references are last resorts."""
    unique: dict[str, ProseSentence] = {}
    for number, part in enumerate(parts):
        for sentence in _sentences_of(part, number, language):
            unique.setdefault(sentence.text.casefold(), sentence)
    narrated = [sentence.text for sentence in unique.values() if not sentence.spoken]
    foreign = is_foreign(language)
    # In a first-person text, "I" and "you" are no drawback.
    of_others = not foreign and sum(bool(FIRST_PERSON.search(text)) for text in narrated) <= 0.2 * len(narrated)
    names = Counter(name for text in narrated for name in set(_NAME_WITHIN.findall(text)))
    prose: list[ProseSentence] = []
    for sentence in unique.values():
        suitability = sentence.suitability
        if suitability > NO_SENTENCE:
            depends = sentence.spoken or (not foreign and has_outside_reference(sentence.text))
            suitability = LAST_RESORT if depends else _suitability(sentence, names, of_others, foreign)
        prose.append(replace(sentence, suitability=suitability))
    return prose


def plain(text: str) -> str:
    """Return `text` on one line without markdown."""
    text = _NUMBER_OF_NOTE.sub("", _TIME_AT_START.sub("", text.strip()))
    line = _SPACES.sub(" ", _MARKS_AT_START.sub("", _LINK.sub(r"\1", text.strip()))).strip()
    return _EMPHASIS.sub("", line).lstrip("# ").strip()


def as_sentence(text: str, language: str = ENGLISH) -> str:
    """Make `text` end as a sentence ends, dropping what would dangle before the full stop: marks, and small words of
    English."""
    if not text or ends_sentence(text):
        return text
    end = text[-_LONGEST_DANGLING:]
    core = text.removesuffix(end) + (end.rstrip(_DANGLING_MARKS) if is_foreign(language) else _DANGLING.sub("", end))
    core = core or text
    return core + ("。" if _CJK.match(core[-1]) else ".")


def cut(text: str, limit: int, language: str) -> str:
    """Return the beginning of `text` in at most `limit` words as a sentence, cut at a clause if possible."""
    return as_sentence(next(_runs(text, limit), ""), language)


def _runs(text: str, limit: int) -> Iterator[str]:
    """Return `text` in runs of at most `limit` words, each cut at a clause if possible."""
    at, ends = 0, word_ends(text)
    while at < len(text):
        first = bisect_right(ends, at)
        end = ends[first + limit - 1] if first + limit < len(ends) else len(text)
        if end < len(text):
            clauses = [match.end() for match in _CLAUSE.finditer(text, (at + end) // 2, end)]
            end = clauses[-1] if clauses else end
        yield text[at:end].strip()
        at = end


def _sentences_of(text: str, part: int, language: str) -> Iterator[ProseSentence]:
    """Return the sentences of a part; headings and the like get the lowest score."""
    for paragraph in paragraphs(text):
        body = text[paragraph.start : paragraph.end]
        line_text = plain(body)
        heading = body.lstrip().startswith("#") or (
            not ends_sentence(line_text) and count_words(line_text) <= _HEADING_WORDS
        )
        note = _NOTE.match(line_text)
        aside = heading or (note is not None and text.find(note["number"] or "", 0, paragraph.start) >= 0)
        speeches = [match.span() for match in _SPEECH.finditer(body)]
        for span in sentences(body):
            spoken = any(start < span.end and span.start < end for start, end in speeches)
            sentence = plain(body[span.start : span.end])
            longest = _LONGEST_WORDS if ends_sentence(sentence) else _RUNAWAY_WORDS
            for piece in [sentence] if count_words(sentence) <= longest else _runs(sentence, _RUN_WORDS):
                line = as_sentence(piece, language)
                if count := count_words(line):
                    suitability = NO_SENTENCE if aside or _NOTICE.search(line) or _says_nothing(piece) else 1.0
                    yield ProseSentence(line, count, part, suitability, spoken or bool(_SPEECH_MARK.search(line)))


def _says_nothing(line: str) -> bool:
    """Return whether a line is a heading, a date, or a speaker without speech."""
    label = speaker_at(line, 0, len(line))
    return bool(label and not line[label.end :].strip(" .")) or bool(
        is_heading(line) or _TAG.fullmatch(line) or _STAMP.fullmatch(line)
    )


def _suitability(sentence: ProseSentence, names: Counter[str], of_others: bool, foreign: bool) -> float:
    """Return how much a sentence reads like a summary: narrative, complete, of medium length, not in first or second
    person, about named people, places and numbers."""
    text, words = sentence.text, sentence.words
    drawbacks = [
        (text.rstrip("\"'”’»)").endswith(("?", "!")), 0.3),
        ("..." in text or "…" in text, 0.5),
        (text[0].islower() or (not text[0].isalnum() and text[0] not in "\"'“‘«「("), 0.3),
        (of_others and bool(FIRST_PERSON.search(text)), 0.4),
        (not foreign and bool(_SECOND_PERSON.search(text)), 0.4),
    ]
    length = next((worth for longest, worth in _WORTH_BY_LENGTH if words <= longest), max(0.3, 1 - (words - 40) / 60))
    known_names = {name for name in _NAME.findall(text) if names[name]}
    substance = 0.7 + 0.15 * min(len(known_names), 2) + (0.05 if _FIGURE.search(text) else 0.0)
    return length * prod(factor for applies, factor in drawbacks if applies) * substance


DetailKind = Literal["name", "number"]

# Between the words of one name ("Mr. Philip Dunne", "Lomax & Dunne"), and of one date or number ("3 March, 1924").
_WITHIN_NAME = re.compile(r"\.? |-| & |\.(?=\w)|['’]s? |['’]")
_WITHIN_NUMBER = re.compile(r"[.,:/-]? ?| - ")
_TITLE = re.compile(r"(?:Mr|Mrs|Ms|Dr|St|Prof|Rev|Capt|Col|Gen|Lt|Sgt|Jr|Sr|[A-Z])\. ?$")
_OPENS = re.compile(r"(?:^|[.!?:;…]['\"”’)]*\s+|[\"“‘«(\[*_#-]\s*)$")
_COMMON_ENDING = re.compile(r"(?:ly|ing|ed|tion|ness|ment|ity|[^s]s|thing|body|one|where|ever)$", re.IGNORECASE)
_POSSESSIVE = re.compile(r"(?<=\w)['’]s?$")
TITLES = listed("mr mrs ms miss dr sir lady lord king queen captain professor father mother sister brother")
# Too vague to ask for: "one of them", "at first", "a second later".
_LOOSE = listed("one first second half quarter once twice dozen")
_LONGEST_OPENING, _LONGEST_NUMBER = 12, 12
_MAGNITUDES = {"hundred": 100, "thousand": 1_000, "million": 1_000_000, "billion": 1_000_000_000}


class Detail(NamedTuple):
    """A name or number: its kind, its place, and the words of the sentence that it spans."""

    kind: DetailKind
    start: int
    end: int
    first: int
    last: int
    sure: bool
    """False for a single word that may be capitalized only because it starts the sentence."""

    @property
    def words(self) -> slice:
        """Where its words stand among those of the sentence."""
        return slice(self.first, self.last + 1)


def details(text: str, of: Sequence[Word]) -> list[Detail]:
    """Return the names and numbers among the words `of` the sentence `text`, in order. Dates count as numbers."""
    kinds = _kinds(text, of)
    spans: list[Detail] = []
    at = 0
    while at < len(of):
        kind, last = kinds[at], at
        while kind and last + 1 < len(of) and kinds[last + 1] == kind and _joined(text, kind, of[last], of[last + 1]):
            last += 1
        if kind and (last > at or of[at].key not in TITLES):
            # A single word may be capitalized only because it starts the sentence.
            before = text[max(0, of[at].start - _LONGEST_OPENING) : of[at].start]
            opens = _OPENS.search(before) and not _TITLE.search(before)
            is_common = opens and _COMMON_ENDING.search(text[of[at].start : of[at].end])
            sure = kind == "number" or last > at or not is_common
            possessive = _POSSESSIVE.search(text, of[last].start, of[last].end)
            end = possessive.start() if possessive else of[last].end
            spans.append(Detail(kind, of[at].start, end, at, last, sure))
        at = last + 1
    return spans


def amounts(keys: Iterable[str]) -> frozenset[str]:
    """Return the values of adjacent number words: 22 of "twenty-two", 1500 of "one thousand five hundred"."""
    values: set[str] = set()
    number = 0
    for key in (*keys, ""):
        figure = int(key) if key.isdecimal() and len(key) < _LONGEST_NUMBER else 0
        if number and key in _MAGNITUDES:
            counted = number % 1_000 if key == "hundred" else number
            number += counted * (_MAGNITUDES[key] - 1)
        elif figure and number and number % 10 ** len(key) == 0:
            number += figure
        elif figure and 0 < number < 1_000_000 and len(key) == 3:
            number = number * 1_000 + figure
        else:
            values |= {str(number)} if number else set()
            values |= {key} if key and not figure else set()
            number = figure
    return frozenset(values)


def _kinds(text: str, of: Sequence[Word]) -> list[DetailKind | None]:
    """Return what each word may be part of."""
    kinds: list[DetailKind | None] = []
    for at, word in enumerate(of):
        surface = text[word.start : word.end]
        capital = surface[0].isupper()
        beside_figure = any(near.key[0].isdigit() for near in of[max(0, at - 1) : at + 2])
        no_name = surface in ("I", "O", "Vol") or word.key in NEGATIONS or is_number(word.key)
        is_name = capital and (carries(word.key) or word.key in TITLES) and not no_name
        dated = surface.lower() in MONTHS | DAYS and (capital or beside_figure)
        counted = is_number(word.key) and surface.lower() not in _LOOSE
        kinds.append("number" if dated or counted else "name" if is_name else None)
    return kinds


def _joined(text: str, kind: DetailKind, word: Word, following: Word) -> bool:
    between = text[word.end : following.start]
    ends = kind == "name" and between.startswith(".") and not _TITLE.search(text[word.start : following.start])
    within = _WITHIN_NUMBER if kind == "number" else _WITHIN_NAME
    return following.start <= word.start or (not ends and within.fullmatch(between) is not None)


# What points to the text before it: an opening such as "But" or "This", someone unnamed, or a time seen from there.
_BACK = re.compile(
    r"^(?:but|and|or|so|nor|yet|thus|hence|therefore|however|moreover|instead|otherwise|besides|for|also|too|perhaps"
    r"|maybe|indeed|well|yes|no|only|because|which|who|here|there,|this|that|these|those|such|both|neither|one|some|all"
    r"|none|others|everybody|later|suddenly|finally|soon|again|still)\b|\b(?:this|these|those)\b(?! (?:who|of)\b)"
    r"|\b(?:of|to|by|for|with|like) that\b|,? too[,.!]|\b(?:such|another|of them)\b|\bthe (?:other|latter|former)s?\b"
    r"|\b(?:the|this|that) (?:[a-z-]+ )?(?:man|boy|woman|girl|person|child|stranger|voice|couple)s?\b"
    r"(?! (?:who|whose|of|with|in|from|named|called)\b)"
    r"|\b(?:that|the (?:next|following|previous|same)) (?:moment|hour|day|night|morning|evening|week|month|year)\b"
    r"|\b(?:then|afterwards?|meanwhile|now|ago|yesterday|tomorrow|today|tonight)\b|\b\w+ (?:later|earlier)\b",
    re.IGNORECASE,
)
_PRONOUN = re.compile(
    r"\b(?:(?P<thing>they|theirs?|themselves|its?|itself)|(?P<object>him|them|her(?=[.,:;!?]|$| (?:to|and|in|on|at)\b))"
    r"|(?:s?he|his|hers?|himself|herself))\b",
    re.IGNORECASE,
)
_NAMED = re.compile(r"\b[A-Z][\w’'-]*[a-z](?<![’']s)(?:\.? [A-Z][\w’'-]*[a-z](?<![’']s))*|\b[Aa]n? [a-z-]{3,}")
_THING = re.compile(
    r"\b(?:an?|every|each|the|his|her|their|my|our|no|any|some|[A-Z]\w+[’']s) [\w-]{3,}|\b[A-Z]\w+ and "
)


def has_outside_reference(text: str) -> bool:
    """Return whether a sentence refers to someone, something or a time known only from the text before it, such as by a
    pronoun without an antecedent. An object needs two, as the subject of its clause is none."""
    if _BACK.search(text):
        return True
    for pronoun in _PRONOUN.finditer(text):
        antecedents = _NAMED.findall(text, 0, pronoun.start())
        if antecedents and text.startswith(antecedents[0]) and not carries(antecedents[0].lower()):
            del antecedents[0]
        if pronoun.lastgroup == "thing" and _THING.search(text, 0, pronoun.start()):
            continue
        if len(antecedents) < 1 + (pronoun.lastgroup == "object"):
            return True
    return False
