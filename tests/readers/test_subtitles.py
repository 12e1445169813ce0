"""Subtitles become a transcript: who speaks, in paragraphs, and at which time each stretch is said."""

from __future__ import annotations

import pytest

from redraft.domain import Document, Span
from redraft.errors import DocumentError
from redraft.readers import subtitles
from redraft.readers.documents import parse
from redraft.readers.matter import recognised
from redraft.text.places import pages_of, place_of

SRT = """1
00:12:38,000 --> 00:12:40,200
<i>MS. DOYLE: I saw the ledger</i>

2
00:12:40,600 --> 00:12:44,000
on the desk at noon. It was open
at the page for 1901.

3
00:12:44,400 --> 00:12:45,000
[door slams]

4
00:12:46,400 --> 00:12:50,000
- And at night?
- {\\an8}At night it was gone.
5
00:12:54,500 --> 00:12:58,000
MR. CRANE: Dr. Vane wrote to the Board.
"""
VTT = """WEBVTT - The Missing Ledger

NOTE made by hand

STYLE
::cue { color: red }

1
12:38.000 --> 12:40.200 align:start
<v Ann Doyle>I saw the ledger

12:40.600 --> 12:44.000
<v Ann Doyle>on the desk &amp; it was open.</v>

01:12:44.600 --> 01:12:48.000
<v.loud Bob Crane>He kept the books.</v>
"""


def read(text: str, name: str = "a.srt") -> Document:
    return subtitles.read(text.encode(), name).as_document(name)


def times(document: Document, words: str) -> str:
    start = document.text.index(words)
    return pages_of(document, Span(start, start + len(words)))


def test_speaker_begins_a_timed_paragraph() -> None:
    document = read(SRT)
    assert document.text == (
        "MS. DOYLE: I saw the ledger on the desk at noon. It was open at the page for 1901.\n\n"
        "And at night?\n\nAt night it was gone.\n\nMR. CRANE: Dr. Vane wrote to the Board."
    )
    assert times(document, "on the desk") == "00:12:40"
    assert times(document, "I saw the ledger on the desk") == "00:12:38-00:12:40"
    at = document.text.index("MR. CRANE")
    assert place_of(document, Span(at, at + 9)).startswith("00:12:54, at ")
    assert document.notes == ("left out: 1 descriptions of sounds (2 words)",)


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_voices_of_webvtt_are_speakers(ends: str) -> None:
    document = read(VTT.replace("\n", ends), "a.vtt")
    assert document.text == "Ann Doyle: I saw the ledger on the desk & it was open.\n\nBob Crane: He kept the books."
    assert (document.title, times(document, "He kept")) == ("The Missing Ledger", "01:12:44")


def test_music_and_credits_are_left_out() -> None:
    lines = (
        "Subtitles by oldsalt77",
        "♪ The lamp is lit ♪",
        "I translated it by hand, and it was long.",
        "♪♪",
        "Nobody came.",
        "# And the sea is wide #",
        "He sang.",
        "Downloaded from www.opensubtitles.org",
    )
    text = "".join(f"{at}\n00:00:0{at},000 --> 00:00:0{at},900\n{line}\n\n" for at, line in enumerate(lines, 1))
    document = read(text)
    assert document.text == "I translated it by hand, and it was long. Nobody came. He sang."
    assert document.notes == ("left out: 2 credits (6 words), 3 descriptions of sounds (14 words)",)


def test_cues_become_lines_once() -> None:
    rolling = "\n\n".join(f"00:00:0{at}.000 --> 00:00:0{at + 1}.000\nline {at}\nline {at + 1}" for at in range(4))
    assert read(f"WEBVTT\n\n{rolling}\n").text == "line 0 line 1 line 2 line 3 line 4"
    assert read(f"1\n00:00:01,000 --> 00:00:02,000\nOne.{' ' * 100_000}x\n").text.startswith("One.")
    with pytest.raises(DocumentError, match="it has no subtitles"):
        read("Only words.")
    text = "".join(f"[00:2{at}:00] MS. DOYLE: I saw number {at}. It was open.\n\n" for at in range(4))
    document = load_plain(text)
    assert times(document, "number 2") == "00:22:00"
    assert not [mark for mark in load_plain("At [00:10:00] he left.\n\nNobody saw.").marks if mark.kind == "time"]


def load_plain(text: str) -> Document:
    return recognised(parse(text.encode(), name="a.txt", markdown=False))
