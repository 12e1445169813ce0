"""Recognizes phrases by which a model says that a text holds no answer, in nine languages. Such a phrase consists only
of words for the text, for saying, for "not" and their connectives; one word more makes it an answer: "He did not
mention the letter". Whatever they miss is left to the checks of `redraft.agents.examiner`."""

from __future__ import annotations

import re
import tomllib
import unicodedata
from pathlib import Path

from redraft.lazy import pattern
from redraft.prompts.summarization import NOTHING

_LONGEST = 400
_MARKS = " \t\r\n.,:;!?\"'`*_#()[]{}<>«»„“”‘’‚‹›…-–—。．，、！？：；「」『』（）【】·"
_SIGN = pattern(r"\W*unanswerable\b|.*\bUNANSWERABLE\b")
_WORDS = {
    name: "".join(lines.splitlines())
    for name, lines in tomllib.loads(Path(__file__).with_name("silence.toml").read_text("utf-8")).items()
}
_ALONE, _UNSPACED = pattern(_WORDS["alone"]), pattern(_WORDS["unspaced"])
_TEXT, _NOT, _SAYS, _JOINS = (_WORDS[name] for name in ("text", "not", "says", "joins"))
_SAID_OF_TEXT = pattern(
    rf"(?:(?:{_JOINS}) ){{0,3}}?(?:{_TEXT})\b(?: \S+)?? (?:\S+ )??"
    rf"(?:(?:{_NOT}) (?:\S+ )??(?:{_SAYS})|(?:{_SAYS}) (?:{_NOT}))\b.{{0,160}}"
    rf"|(?:there is |there's )?nothing in (?:the|this) (?:{_TEXT})\b.{{0,80}}"
    rf"|(?:(?:{_JOINS}) ){{0,4}}?(?:{_NOT}) (?:\S+ )??(?:{_SAYS}|{_JOINS})\b.{{0,80}} (?:{_TEXT})"
)
_CLOSED = pattern(rf"(?:{_TEXT}|documents?|dokument\w*|documento|документ\w*|{_NOT}|{_SAYS}|{_JOINS})")
_NEGATED, _SAYING = pattern(rf"(?:^|.* )(?:{_NOT})(?: .*|$)"), pattern(rf"(?:^|.* )(?:{_TEXT}|{_SAYS})(?: .*|$)")
_REMAINS = pattern(
    r"(?:the|die|le|el|il|o) \w+ (?:stays|remains|bleibt|reste|queda|resta|rimane|fica)\b.{0,40}"
    r"|(?:要約は|摘要)(?:そのまま|保持不变).*"
)
_HEAD = pattern(r"(?:(?:sorry|unfortunately|apparently|leider|answer|antwort|the (?:word|answer) is)\b[\s,:*]*)+")
_GOES_ON = pattern(
    r"(?<=\S)(?:[.;!?。；！？]+(?=\s|$|[^\W\d_])|\s*[(（]|\s+[-–—]+\s+|\s*\n|,\s*(?=but|so|aber|mais)|，)"
)
_NOTHING = pattern(rf"(?:{NOTHING.casefold()}|nichts|rien|nada|nulla|niente|ничего|无|無|没有|なし|何もありません)")
NOTHING_AHEAD = pattern(rf"\A[\s*_`\"'“(\[]*{NOTHING}\b[\s*_`\"'”)\]]*(?:$|[-–—:.;,(\n]+\s*)")
"""The sign in capitals at the beginning of a reply, which says that there is nothing to say."""


def _plain(text: str) -> str:
    folded = unicodedata.normalize("NFKC", text[:_LONGEST]).casefold().replace("’", "'")
    return " ".join(folded.split()).strip(_MARKS)


def is_answer(text: str) -> bool:
    """Return whether a text is an answer, and does not say that there is none."""
    words = _plain(text)
    if not words or _SIGN.match(text) or _SIGN.match(words):
        return False
    if led := _HEAD.match(words):
        words = words[led.end() :].strip(_MARKS) or words
    return not any(map(_says_nothing, {words, _GOES_ON.split(words, maxsplit=1)[0].strip(_MARKS)}))


def _says_nothing(words: str) -> bool:
    spaced = re.sub(r"[^\w'/]+", " ", words).strip()
    if _ALONE.fullmatch(words) or _SAID_OF_TEXT.fullmatch(spaced) or _UNSPACED.fullmatch(words):
        return True
    return bool(
        _NEGATED.fullmatch(spaced) and _SAYING.fullmatch(spaced) and all(map(_CLOSED.fullmatch, spaced.split()))
    )


def is_sign(sentence: str) -> bool:
    """Return whether a sentence says that a part has nothing to say to a question."""
    words = _plain(sentence)
    words = words[led.end() :].strip(_MARKS) if (led := _HEAD.match(words)) else words
    return bool(_NOTHING.fullmatch(words) or _REMAINS.fullmatch(words))
