"""Labels of speakers in transcripts, which are no sentences."""

from __future__ import annotations

import pytest

from redraft.text.sentences import paragraphs, sentences, speaker_at


@pytest.mark.parametrize(
    ("line", "name", "time"),
    [
        ("[00:24:00] MS. DOYLE: I saw it.", "MS. DOYLE", "00:24:00"),
        ("[24:00] Ann Doyle: I saw it.", "Ann Doyle", "00:24:00"),
        ("00:24:00 Ann Doyle: I saw it.", "Ann Doyle", "00:24:00"),
        ("(1:24:00.5) - I saw it.", "", "01:24:00"),
        ("MR. O’NEIL (by phone): I saw it.", "MR. O’NEIL (by phone)", ""),
        ("SPEAKER 1: I saw it.", "SPEAKER 1", ""),
        (">> THE CHAIRMAN: I saw it.", "THE CHAIRMAN", ""),
        (">> I saw it.", "", ""),
        ("Q. I saw it.", "", ""),
        ("Ann Doyle  0:24:00\nI saw it.", "Ann Doyle", "00:24:00"),
    ],
)
def test_a_label_is_no_sentence(line: str, name: str, time: str) -> None:
    label = speaker_at(line, 0, len(line))
    assert label is not None
    assert (label.name, label.time, line[label.end :].strip()) == (name, time, "I saw it.")
    said = f"{line} It was open."
    assert [said[slice(*one)] for one in sentences(said, language="en")] == [line, "It was open."]


@pytest.mark.parametrize(
    "prose", ["3:16 For God so loved the world.", "10:45 P.M.", "The result: it fell.", "He said: no.", "I was there."]
)
def test_prose_has_no_label(prose: str) -> None:
    assert speaker_at(prose, 0, len(prose)) is None


def test_each_speaker_begins_a_paragraph() -> None:
    text = "[00:23:10] MR. CRANE: Did you?\n[00:24:00] MS. DOYLE: I did.\nTHE CHAIRMAN: Thank you."
    assert [text[slice(*one)].split(": ")[1].strip() for one in paragraphs(text)] == [
        "Did you?",
        "I did.",
        "Thank you.",
    ]
