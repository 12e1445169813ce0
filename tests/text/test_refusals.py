"""What is no part of a summary: refusals, remains of loops, control characters, and words around it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redraft.text.reply_cleanup import is_no_summary, prose_in, strip_loops, turn_at_end
from redraft.text.sanitizer import clean, clean_with_notes, one_line
from redraft.text.words import count_words
from tests.agents.translations import SUMMARY, TRANSLATIONS
from tests.support import SAMPLE
from tests.text.hostile import raw_texts
from tests.torture.refusals import ANY, LANGUAGES, refusals

TOLD = SAMPLE.read_text("utf-8")
CHUNK = TOLD[: len(TOLD) // 6]
TEXTS = Path(__file__).parent.parent / "languages"


def test_refusals_in_many_languages_are_no_summaries() -> None:
    replies = list(refusals(300, seed=5))
    assert len(LANGUAGES) >= 15
    assert {language for _, language in replies} == {*LANGUAGES, ANY}
    accepted = [text for text, _ in replies if not is_no_summary(text, CHUNK, 120)]
    assert accepted == []


@pytest.mark.parametrize("language", TRANSLATIONS)
@pytest.mark.parametrize("is_requested", [True, False])
def test_a_translated_summary_is_one(language: str, is_requested: bool) -> None:
    text = TRANSLATIONS[language]
    target = language if is_requested else None
    assert not is_no_summary(text, TOLD, int(1.2 * count_words(text)), target)
    assert not is_no_summary(SUMMARY, text, 80, "English" if is_requested else None)


@pytest.mark.parametrize(("source", "text"), [
    (SUMMARY, "베인은 아버지의 장부를 찾으러 섬으로 가고, 등대지기는 폭풍 뒤에 그것을 건넨다."),
    (SUMMARY, "A woman looks for the ledger of her father, which the keeper gives her after the storm."),
    ("Rain fell all night on the town, and by morning the river had taken the bridge.", "Rain took the bridge."),
])  # fmt: skip
def test_text_about_the_source_is_a_summary(source: str, text: str) -> None:
    assert not is_no_summary(text, source, 24, "Korean" if "섬" in text else None)


def test_short_sentence_of_the_source_counts() -> None:
    assert not is_no_summary("I was alone.", "It was dark. I was alone. " + TOLD, 400)
    assert is_no_summary("I was asked.", "It was dark. I was alone. " + TOLD, 400)


ENTRY = {"question": "Who keeps the lamp?", "kind": "who", "answer": "Hester", "quote": "Hester keeps the lamp."}


LOOPS = [
    '{"roots": [{"fact": "The Long Bank is a bank, ' + "and is owned by the Sarn Saltworks, " * 9 + "and is own",
    '{"question": "What is the most recent ' + "version of the [insert name of the most recent " * 6 + "ver",
    '{"questions": ["' + "The sentence is in the form of a request to revise your response to fit it. " * 5,
    '{"questions": ["' + "The sentence is in the form of a request to revise your response to fit it. " * 5 + "The",
    '{"questions": [' + f"{json.dumps(ENTRY)}, " * 5 + '{"question": "Who',
    "The father's " + "father's " * 9,
    "これは同じことです。" * 9 + "これは",
]
NO_LOOPS = [
    "",
    "The father's father's father's father",
    json.dumps({"questions": [ENTRY | {"question": f"Who keeps lamp {n}?"} for n in range(20)]})[:-9],
    json.dumps({"comparisons": [{"id": f"b{n}cd", "reason": "The same.", "verdict": "full"} for n in range(20)]}),
    '{"marks": [' + "0, " * 40,
    "| - | - |\n" * 20,
    "and so on " * 12 + "until the lamp goes out",
]


def test_repetition_to_the_end_is_a_loop() -> None:
    assert [text for text in LOOPS if not turn_at_end(text)] == []
    assert [text for text in NO_LOOPS if turn_at_end(text)] == []


@given(raw_texts)
def test_clean_text_is_harmless(text: str) -> None:
    clean_text = clean(text)
    assert clean_text.encode("utf-8").decode("utf-8") == clean_text
    assert all(character in "\n\t" or character.isprintable() or ord(character) > 0x9F for character in clean_text)
    assert not set(clean_text) & set("\x1b\r\x00\x85\u2028\u2029\u202e\u2066\ufeff")


@given(raw_texts, st.integers(1, 40))
def test_line_stays_one_line(text: str, width: int) -> None:
    line = one_line(text, width)
    assert len(line) <= width
    assert "\n" not in line
    assert one_line(line, width) == line
    assert one_line(one_line(text)) == one_line(text)


SAILED = " He sailed to the sea and back again."


@pytest.mark.parametrize(
    ("change", "text", "expected"),
    [
        (strip_loops, f"To the sea and back.{SAILED * 3} End.", f"To the sea and back.{SAILED} End."),
        (strip_loops, "She kept the lamp" + " of the house" * 9, "She kept the lamp of the house"),
        (strip_loops, *("It was very, very, very cold.",) * 2),
        (strip_loops, *("The years 0 0 0 0 0 0 0 are zeros.",) * 2),
        (clean, "a\r\nb\rc\x85d\u2028e\u2029f\vg\fh", "a\nb\nc\nd\ne\nf\ng\nh"),
        (clean, "\x1b[1;31mred\x1b[0m", "red"),
        (clean, "\x1b]8;;http://evil\x1b\\link\x1b]8;;\x07", "link"),
        (clean, "a\x00b\x08c", "a b c"),
        (clean, "a\ud800b", "a?b"),
        (clean, "“naïve” 👩‍👩‍👧 雨", "“naïve” 👩‍👩‍👧 雨"),
    ],
)
def test_what_becomes_of_it(change: Callable[[str], str], text: str, expected: str) -> None:
    assert change(text) == expected


@pytest.mark.parametrize("introducer", "PX^_]")
@pytest.mark.parametrize(
    "end", ["", "\nThe end.\x07", "\nThe end.\x1b\\", "\x1b", "\x85\x07", "." * 2_001 + "\x1b\\"], ids=ascii
)
def test_endless_escape_takes_nothing_along(introducer: str, end: str) -> None:
    story = "Ines kept the light. " * 3
    clean_text = clean(f"Before. \x1b{introducer}{story}{end}")
    assert f"Before.  {introducer}{story}" in clean_text
    assert ("The end." in clean_text) == ("The end." in end)
    assert clean_with_notes(f"\x1b{introducer}{story}").notes == ("1 control character became a space",)


def test_escapes_are_counted_in_linear_time() -> None:
    assert clean_with_notes("\x1b[1;31mred\x1b[0m\x1b]0;title\x07 and\x00 \u202eblue\x9b").notes == (
        "3 terminal escapes were removed from the text, 21 characters in all",
        "3 control characters became spaces",
    )
    assert clean_with_notes("a\r\nb\x85c\fd").notes == ()
    assert "".join(clean("\x1b]" * 200_000).split()) == "]" * 200_000
    assert clean("\x1b]" + "a" * 500_000) == " ]" + "a" * 500_000
    assert "".join(clean("\x1b[" * 200_000).split()) == "[" * 200_000


TEXT = "Hester keeps the lamp at the harbour. In 1924 the bank fails, and the keepers leave."
JAPANESE = "ヘスターは港で灯台を守っている。1924年に銀行が破綻し、灯台守たちは島を去った。"
TAGGED = [
    "<summary>{}</summary>",
    "<SUMMARY>{}",
    "<revision>\n{}\n</revision>",
    "<summary>...</summary>\n<summary>{}</summary>",
]
TAGGED += [
    "<summary>\n{}\n</summary>\n\nLet me know if you would like it shorter.",
    "Sure! Here's the revised summary: <summary>{}</summary> (17 words)",
    "<summary>Hester leaves.</summary>\nShorter:\n<summary>{}</summary>",
]
UNTAGGED = ["{}", "```\n{}\n```", "```markdown\n{}", "**Summary:**\n{}", "## Summary\n\n{}", "**Résumé**\n\n{}"]
UNTAGGED += [
    "Here is a summary of the excerpt in at most 50 words:\n\n{}",
    "Of course! Here is the merged summary:\n\n---\n\n{}",
    "Hier ist die Zusammenfassung des Textes:\n\n{}",
    "以下はこの部分の要約です：\n\n{}",
]


@pytest.mark.parametrize("text", [TEXT, JAPANESE, f"{TEXT}\n\n{TEXT}"])
@pytest.mark.parametrize("reply", [*TAGGED, *UNTAGGED])
def test_text_is_within_tags_or_unfenced(reply: str, text: str) -> None:
    assert prose_in(reply.replace("{}", text)) == text


@pytest.mark.parametrize(
    "text",
    [
        "The telegram that reached the keepers was a short one: 7 words",
        "The text is about Hester, who keeps the lamp: nobody else does.\n\nAnn leaves.",
        "Hester leaves the lamp to Ann.\n\nShe asks her: let me know if it fails.",
        "The keeper wrote <b>no</b> summary of the three nights.",
        "",
        "Here is a summary:\n\nNo.",
        "<summary></summary>",
    ],
)
def test_text_of_a_summary_is_left_alone(text: str) -> None:
    assert prose_in(text) == text
