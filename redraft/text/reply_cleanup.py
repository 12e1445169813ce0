"""Takes the text out of a model's reply, without loops and echoes, and finds traces of how a summary was made."""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache
from itertools import combinations, groupby
from pathlib import Path
from typing import Any

from redraft.document import Span
from redraft.lazy import pattern
from redraft.text.languages import language_of
from redraft.text.quotes import shares_names
from redraft.text.sentences import ends_sentence, sentences
from redraft.text.units import ngrams, words
from redraft.text.vectors import telling_terms
from redraft.text.words import count_words, has_words, is_unspaced

_TAGGED = pattern(r"<(?P<tag>summary|revision)>(?P<text>.*?)(?:</(?P=tag)>|(?:</?\w*)?\Z)", re.IGNORECASE | re.DOTALL)
CLOSED = pattern(r"</(?:summary|revision)>|</\w*\Z", re.IGNORECASE)
"""A reply goes on at least to the last tag of its text, in which it may be cut."""
_FENCED = pattern(r"\A\s*```\w*\n(?P<text>.*?)(?:\n\s*```\s*)?\Z", re.DOTALL)
# A line that names the text below it: "## Summary", "**Résumé**", "Hier ist die Zusammenfassung:".
_HEADING_LINE = pattern(
    r"\A\s*(?:(?:#+ [^\n]*|\*\*[^*\n]{1,60}\*\*:?[ \t]*|[^\n]{1,160}[:：][*_ \t]*)\n\s*(?:[-*_=]{3,}[ \t]*\n)?"
    r"|[*_]*(?:summary|revision)[*_]*:)",
    re.IGNORECASE,
)
_MIN_WORDS_LEFT = 5


def prose_in(reply: str) -> str:
    """Return the text of a reply: between its tags, or all of it without a fence and a heading line."""
    tagged = [match["text"] for match in _TAGGED.finditer(reply) if has_words(match["text"])]
    if tagged:
        return tagged[-1].strip()
    fenced = _FENCED.match(reply)
    text = (fenced["text"] if fenced else reply).strip()
    rest = _HEADING_LINE.sub("", text, count=1).strip()
    return rest if count_words(rest) >= _MIN_WORDS_LEFT else text


# How often a sentence is repeated in a loop, and how many words of it differ: shorter ones may well be repeated ("And
# so it was."), and occur in any text ("Write plain prose.").
_OFTEN, _MIN_KEY_WORDS = 3, 4
# The number of consecutive repetitions of a short one that make a loop.
_IN_A_ROW = 5
# How often a cycle of letters or words is repeated at the very end in a loop.
_TURNS, _TURNS_OF_LONGER = 8, 4
_LONG_TURN, _LONGEST_TURN = 25, 200


def strip_loops(text: str) -> str:
    """Return the text with only one of each sentence or line that occurs at least three times, and one turn of a loop
    of a few words or letters at its end."""
    if length := 0 if ends_sentence(text) else turn_at_end(text):
        start = len(text) - length
        while start and text[start - 1] == text[start - 1 + length]:
            start -= 1
        text = text[: start + length].rstrip()
    # Whatever loops has a run of four words three times.
    if max(Counter(ngrams(words(text), 4)).values(), default=0) < _OFTEN:
        return text
    parts = list(_parts(text))
    keys = [tuple(words(text[slice(*part)])) for part in parts]
    loops = {key for key, times in Counter(keys).items() if times >= _OFTEN and len(set(key)) >= _MIN_KEY_WORDS}
    loops |= {key for key, row in groupby(keys) if len(set(key)) > 1 and len(list(row)) >= _IN_A_ROW}
    remaining: list[Span] = []
    first: set[tuple[str, ...]] = set()
    for part, key in zip(parts, keys, strict=True):
        # A partial last turn is removed with the others.
        is_begun = part is parts[-1] and any(" ".join(loop).startswith(" ".join(key)) for loop in loops & first)
        if not is_begun and (key not in loops or key not in first):
            remaining.append(part)
            first.add(key)
    return _joined(text, remaining, parts)


def _joined(text: str, remaining: Sequence[Span], parts: Sequence[Span]) -> str:
    """Return the text of the parts that remain, with what stands before each; as it is, if none is left out."""
    if len(remaining) == len(parts):
        return text
    before = {part: last.end for last, part in zip([Span(0, 0), *parts[:-1]], parts, strict=True)}
    return "".join(text[before[part] : part.end] for part in remaining).strip()


def turn_at_end(text: str) -> int:
    """Return the length of the cycle of letters that a text ends in, in a loop; 0 if there is none."""
    for length in range(2, _LONGEST_TURN + 1):
        cycle, times = text[-length:], _TURNS if length <= _LONG_TURN else _TURNS_OF_LONGER
        if any(map(str.isalpha, cycle)) and text.endswith(cycle * times):
            return length
    return 0


def without_unfinished(text: str) -> str:
    """Return the text without an unfinished last sentence, if at least half of the words precede it."""
    spans = sentences(text)
    if ends_sentence(text) or len(spans) < 2:
        return text
    complete = text[: spans[-1].start].rstrip()
    return complete if ends_sentence(complete) and 2 * count_words(complete) >= count_words(text) else text


def without_copies(text: str, instructions: str, material: Collection[str]) -> str:
    """Return the text without sentences of the `instructions`, unless they are also in `material`."""
    reply = f" {' '.join(words(text))} "
    copies = {sentence for sentence in _instructed(instructions, language_of(instructions)) if sentence in reply}
    if not copies:
        return text
    sources = [f" {' '.join(words(source))} " for source in material]
    copies = {sentence for sentence in copies if not any(sentence in source for source in sources)}
    parts = list(_parts(text))
    remaining = [part for part in parts if f" {' '.join(words(text[part.start : part.end]))} " not in copies]
    return _joined(text, remaining, parts)


@lru_cache(maxsize=64)
def _instructed(instructions: str, language: str) -> frozenset[str]:
    """Return the words of each sentence of a prompt without its material, which is the same for many replies. Short
    ones occur in any text."""
    del language
    keys = (words(instructions[slice(*part)]) for part in _parts(instructions))
    return frozenset(f" {' '.join(key)} " for key in keys if len(key) >= _MIN_KEY_WORDS)


def _parts(text: str) -> Iterator[Span]:
    """Yield the sentences, and each line of one that has several."""
    for span in sentences(text):
        at = span.start
        for line in text[span.start : span.end].split("\n"):
            if line.strip():
                yield Span(at, at + len(line))
            at += len(line) + 1


# By language: names of parts, names of a summary, and headings over one.
_PARTS = (
    r"\b(?:this|our|next|previous|following|current|given|above) (?:chunk|excerpt|extract|segment|portion|passage"
    r"|part of the (?:text|document|story)|section of the (?:text|document|story)|text|document)\b|\bthe excerpt\b"
    r"|\b(?:this|updated|merged|combined|revised|running|previous) summar(?:y|ies)\b"
    r"|\b(?:dieser|der|diesem|dem|dieses|des) (?:Auszugs?|Textauszugs?|Ausschnitts?|Abschnitts?)\b|\bZusammenfassung\b"
    r"|\b(?:cet|l['’]) ?extrait\b|\bce (?:passage|résumé)\b|\b(?:este|el) (?:extracto|fragmento|pasaje|resumen)\b"
    r"|\b(?:questo|il) (?:brano|estratto|riassunto)\b|\b(?:este|o) (?:trecho|excerto|resumo)\b"
    r"|\b(?:этом|этот|данном) (?:отрыв|фрагмент)\w*|本文|摘要|节选|節選|抜粋|要約"
)
_HEADING = r"^[ \t]*(?:#{1,6}[ \t]|\*\*[^*\n]{1,60}\*\*:?[ \t]*$|(?:summary|part \d+|chapter \d+)[ \t]*[:.]?[ \t]*$)"
_SHOWS = re.compile(f"{_PARTS}|{_HEADING}", re.IGNORECASE | re.MULTILINE)
_INTRODUCED = re.compile(
    r"\b((?:[A-Z][\w'’-]+ ){0,2}[A-Z][\w'’-]+), (?:an?|the|der|die|das|ein|eine|le|la|un|une|el|una?|il|o|os)"
    r" [^,.;\n]{3,80}[,.;]"
)
_MIN_WORDS = 6
_ALIKE = 0.8


def needs_tidying(summary: str) -> bool:
    """Return whether a summary may need tidying; a model decides in case of doubt."""
    introduced = [match[1].split()[-1] for match in _INTRODUCED.finditer(summary)]
    if _SHOWS.search(summary) or len(introduced) > len(set(introduced)):
        return True
    bags = [frozenset(words(summary[span.start : span.end])) for span in sentences(summary)]
    pairs = combinations((bag for bag in bags if len(bag) >= _MIN_WORDS), 2)
    return any(len(first & second) >= _ALIKE * min(len(first), len(second)) for first, second in pairs)


_SHORT = 60
"""The most words of a reply that only declines."""
_PATTERNS: Any = tomllib.loads(Path(__file__).with_name("refusals.toml").read_text("utf-8"))
_ASKING = (
    rf"(?=(?:{start})(?!\w))(?=.{{0,160}}\b{thing}\b)(?=.{{0,250}}?\b{giving}\b)"
    for start, thing, giving in _PATTERNS["requests"]
)
_KNOWN = "|".join((*_PATTERNS["declining"], *_ASKING, *_PATTERNS["asking"]))
_REFUSAL = pattern(rf"[\s\"'“‘*_¿]*(?:{_KNOWN})", re.IGNORECASE | re.DOTALL)


def declines(text: str) -> bool:
    """Return whether a text only declines to write, or asks for material."""
    return len(text.split()) <= _SHORT and bool(_REFUSAL.match(text))


# The least share of telling words in common with the source, by whether the text is far shorter than requested, and
# whether it refers to itself.
_MIN_SHARED = {(False, False): 0.2, (False, True): 0.4, (True, False): 0.4, (True, True): 0.75}
# A text is far shorter than requested below this share of the requested words, and below this many words.
_FAR_SHORTER, _LONGEST_REFUSAL = 1 / 3, 60
# The fewest telling words for a decision, if the text is far too short, or all of them are in its source.
_MIN_TELLING = 3
# Up to this many words in another script are seldom an unrequested translation.
_FEW = 20
_LETTERS_A_WORD = 2.5
_LETTERS = 1_000
# With this many long words, and this share of them in the source, nothing else is checked, which takes longer.
_LONG, _MANY, _PLAINLY = 6, 8, 0.6
_LONG_WORD = pattern(rf"[^\W\d_]{{{_LONG},}}")
_FIRST_PERSON = pattern(
    r"\b(?:i|i['’](?:m|d|ll|ve)|we|my|our|ich|mir|wir|je|j['’]\w+|nous|yo|nosotros|io|eu|ik|wij|jeg|jag|saya|tôi|"
    r"я|мне|мы|мені|ми|εγώ|אני|איני|मैं|मुझे)\b|我|私|저는"
)
_EAST_ASIAN = frozenset(("HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA"))


def is_no_summary(text: str, source: str, words: int, language: str | None = None) -> bool:
    """Return whether a text is not a summary of its source, for which up to this many words were requested, in
    `language` or the source's own."""
    if count_words(text) >= _MIN_TELLING and text in source:
        return False
    unlike = is_unspaced(text) and not is_unspaced(source) and not language
    length = count_words(text) / (_LETTERS_A_WORD if unlike else 1)
    is_brief = length < min(_FAR_SHORTER * words, _LONGEST_REFUSAL)
    speaks_as_i = bool(_FIRST_PERSON.search(text.casefold()))
    long_words = frozenset[str]() if is_brief else _long_words(text)
    if len(long_words) >= _MANY and len(long_words & _long_words(source)) >= _PLAINLY * len(long_words):
        return False
    text_language, source_language = language_of(text), language_of(source)
    terms = telling_terms(text, text_language)
    share = len(terms & telling_terms(source, source_language)) / len(terms) if terms else 0.0
    if is_brief and len(terms) < _MIN_TELLING:
        return speaks_as_i or share < 1
    if share >= _MIN_SHARED[is_brief, speaks_as_i]:
        return False
    has_its_script = not language and _script(text) == _script(source)
    if has_its_script and not (text_language and source_language and text_language != source_language):
        return is_brief or speaks_as_i or not shares_names(source, text)
    # It may be a translation, requested or not.
    if shares_names(source, text):
        return is_brief and (speaks_as_i or not language)
    is_short_speech = speaks_as_i and length <= _LONGEST_REFUSAL
    return is_brief or is_short_speech or has_its_script or (not language and length <= _FEW)


@lru_cache(maxsize=64)
def _long_words(text: str) -> frozenset[str]:
    return frozenset(word[:_LONG] for word in _LONG_WORD.findall(text.casefold()))


@lru_cache(maxsize=64)
def _script(text: str) -> str:
    """Return the script of most letters of a text's beginning."""
    letters = filter(str.isalpha, text[:_LETTERS])
    names = Counter(unicodedata.name(letter, "").partition(" ")[0] for letter in letters)
    name = max(names, key=names.__getitem__, default="")
    return "CJK" if name in _EAST_ASIAN else name


_NAMES = "think(?:ing)?|thoughts?|reason(?:ing)?|reflection|analysis|scratchpad|seed:think"
_MARKS = (
    (rf"<(?:{_NAMES})>", rf"</(?:{_NAMES})>"),
    (r"\[think(?:ing)?\]", r"\[/think(?:ing)?\]"),
    (r"<\|begin_of_thought\|>", r"<\|end_of_thought\|>"),
    (r"<\|START_THINKING\|>", r"<\|END_THINKING\|>"),
    (r"◁think▷", r"◁/think▷"),
    (r"<unused94>", r"<unused95>"),
)
_OPENINGS, _CLOSINGS = ("|".join(marks) for marks in zip(*_MARKS, strict=True))
OPENING = pattern(_OPENINGS, re.IGNORECASE)
"""The start of reasoning."""
CLOSING = pattern(_CLOSINGS, re.IGNORECASE)
"""The end of reasoning."""
_LINE_OPENING = pattern(rf"^[ \t]*(?:{_OPENINGS})", re.IGNORECASE | re.MULTILINE)

# gpt-oss writes channels, one of which is the reply; a server may have removed the marks and left the names.
_CHANNEL = pattern(r"<\|channel\|>([^<]{0,200})(?:<\|constrain\|>[^<]{0,50})?<\|message\|>")
_END_OF_CHANNEL = pattern(r"<\|(?:end|return|call|start|channel)\|>")
_BARE_CHANNELS = pattern(r"\s*analysis(?=[A-Z\s\"'{\[]).*assistant\s*final", re.DOTALL)


def final_channel(text: str) -> str:
    """Return the text of the final channel, if a text has channels; empty if none of them is final."""
    channels = list(_CHANNEL.finditer(text))
    if not channels:
        bare = _BARE_CHANNELS.match(text)
        return text[bare.end() :] if bare else text
    final = [match for match in channels if match[1].strip().startswith("final") or "to=functions" in match[1]]
    if not final:
        return ""
    end = _END_OF_CHANNEL.search(text, final[-1].end())
    return text[final[-1].end() : end.start() if end else len(text)]


def strip_reasoning(text: str) -> str:
    """Return the prose of a reply without its reasoning; unfinished reasoning leaves no reply."""
    text = final_channel(text).strip()
    while OPENING.match(text):
        closing = CLOSING.search(text)
        if closing is None:
            return ""
        text = text[closing.end() :].strip()
    # Some servers remove the opening mark.
    alone = None if text.startswith(("{", "[")) or OPENING.search(text) else CLOSING.search(text)
    if alone:
        return text[alone.end() :].strip()
    # Within a line a mark is part of the text.
    while opening := _LINE_OPENING.search(text):
        closing = CLOSING.search(text, opening.end())
        if closing is None:
            return ""
        text = text[: opening.start()] + text[closing.end() :]
    return text.strip()
