"""Reads subtitles (SRT and WebVTT) as a transcript: paragraphs by speaker, with times marked."""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from redraft.document import Span
from redraft.errors import DocumentError
from redraft.readers.builder import ReadText, TextBuilder, tidy
from redraft.readers.plain import decode
from redraft.text.sentences import clock, ends_sentence, speaker_at

_CLOCK = r"(?:\d{1,3}:)?\d{1,2}:\d{2}[.,]\d{1,3}"
_TIMES = re.compile(rf"(?<![ \t])[ \t]*+({_CLOCK})[ \t]*-->[ \t]*({_CLOCK})[^\n]*")
_VOICE = re.compile(r"<v(?:\.[\w.-]*)?[ \t]+([^>\n]{1,80})>")
_TAG = re.compile(r"</?[a-zA-Z\d][^<>\n]{0,200}>|\{\\[^{}\n]{0,200}\}")
_SOUND = re.compile(r"[\[(][^\[\]()\n]{1,60}[\])]|[♪♫#*]+[^\n]*[♪♫#*]+|[♪♫][^\n]*|[^\n]*[♪♫]|[#*\s]+")
_CREDIT = re.compile(
    r"(?i)(?:english )?(?:subtitles?|captions?|(?:re)?sync(?:hroni[sz]ed|ed)?|corrections?|transcript|ripped|encoded"
    r"|translat(?:ed|ion))(?: and [a-z]+)?(?: by\b|:).*|downloaded from\b.*"
    r"|.*\b(?:opensubtitles|addic7ed|podnapisi|yts)\b.*|(?:www\.|https?://)\S+|advertise your product or brand here.*"
)
"""Lines of the sites that subtitles come from."""
_DASH = re.compile(r"\A[-–—]\s*(?=\S)")
_NAME = re.compile(r"([^\W\d_][\w.'’-]*(?: [^\W\d_a-z][\w.'’-]*){0,3}):(?=\s|\Z)|\[([A-Z][\w ]{1,30})\]:?(?=\s)")
_HEAD = re.compile(r"\AWEBVTT[ \t]+(?:-[ \t]*)?([^\n]{1,120})")
_BLANK_LINES = re.compile(r"\n(?:[ \t]*\n)+")
_NOTE = re.compile(r"NOTE(?!\S)")
_NO_SPEECH = re.compile(r"(?:WEBVTT|NOTE|STYLE|REGION)(?!\S)")
_PAUSE = 3.0
_EDGE = 3
"""The number of subtitles at the beginning and end that may name their makers."""
_LONG, _LONGEST = 100, 220
"""The number of words after which a paragraph ends at the next sentence, and after which it ends anyway."""


class Cue(NamedTuple):
    """A subtitle with its times in seconds, one line per speaker."""

    start: float
    end: float
    time: str
    lines: tuple[str, ...]


def read(data: bytes, name: str) -> ReadText:
    """Return the transcript of a subtitle file."""
    decoded, _, notes = decode(data, name)
    text = decoded.replace("\r\n", "\n").replace("\r", "\n")
    builder = TextBuilder(oddities=[*notes])
    cues: list[Cue] = []
    previous: list[str] = []
    times = list(_TIMES.finditer(text))
    ends = [*(match.start() for match in times[1:]), len(text)]
    for match, end in zip(times, ends, strict=False):
        blocks = [block.strip("\n") for block in _BLANK_LINES.split(text[match.end() : end])]
        rest, _, last_line = blocks[-1].rpartition("\n")
        # Before another cue there may be its number or name.
        if match is not times[-1] and (len(blocks) > 1 if not rest else last_line.strip().isdigit()):
            blocks[-1] = rest
        for note in filter(_NOTE.match, blocks[1:]):
            builder.leave_out("notes", text=note.removeprefix("NOTE"))
        blocks[1:] = [block for block in blocks[1:] if not _NO_SPEECH.match(block)]
        cue_lines = "\n".join(blocks).split("\n")
        lines = [tidy(html.unescape(_TAG.sub("", _VOICE.sub(r"\1: ", line)))).strip() for line in cue_lines]
        speech: list[str] = []
        for line in filter(None, lines):
            if _SOUND.fullmatch(line):
                builder.leave_out("descriptions of sounds", text=line)
            elif _CREDIT.fullmatch(line) and ("." in line or match in (*times[:_EDGE], *times[-_EDGE:])):
                builder.leave_out("credits", text=line)
            else:
                speech.append(line)
        # Roll-up captions show the lines of the previous cue again.
        if new := tuple(line for line in speech if line not in previous):
            cues.append(Cue(_seconds(match[1]), _seconds(match[2]), clock(match[1]), new))
        previous = speech or previous
    if not cues:
        raise DocumentError(
            "it has no subtitles", place=name, hint="give a file with times such as 00:00:01,000 --> ..."
        )
    title = _HEAD.match(text)
    _add(cues, {voice.strip() for voice in _VOICE.findall(text)}, builder)
    return builder.reading(title[1].strip() if title else "")


def _add(cues: Sequence[Cue], voices: set[str], builder: TextBuilder) -> None:
    """Add the cues as paragraphs, each of one speaker, and mark their times."""
    spoken_names = [_name(line) for cue in cues for line in cue.lines]
    names = Counter(filter(None, spoken_names))
    speakers = {name for name, count in names.items() if count > 1 or name.isupper() or name in voices}
    words, ended, speaker = 0, -_PAUSE, ""
    for cue in cues:
        spans: list[Span] = []
        for line in cue.lines:
            name = _name(line)
            if goes_on := name in speakers and name == speaker:
                line = _NAME.sub("", line, count=1).lstrip()
            elif name in speakers:
                speaker = name
            speaks = not goes_on and (name in speakers or speaker_at(line, 0, len(line)) is not None)
            speech = _DASH.sub("", line, count=1)
            full = words >= _LONGEST or (words >= _LONG and ends_sentence(builder.parts[-1]))
            is_new = speaks or speech != line or full or (not spans and cue.start - ended >= _PAUSE)
            words = len(speech.split()) + (0 if is_new else words)
            spans.append(builder.add([speech], between="\n\n" if is_new else " "))
        builder.mark("time", Span(spans[0].start, spans[-1].end), cue.time)
        ended = cue.end


def _name(line: str) -> str:
    """Return the name that a line begins with, which may be a speaker's; empty if there is none."""
    match = _NAME.match(line)
    return next(filter(None, match.groups())) if match else ""


def _seconds(time: str) -> float:
    clock_part, _, rest = time.replace(",", ".").rpartition(".")
    hours, minutes, seconds = [0, *map(int, clock_part.split(":"))][-3:]
    return 3600 * hours + 60 * minutes + seconds + float(f"0.{rest}")
