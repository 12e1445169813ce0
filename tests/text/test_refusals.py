"""What is no part of a summary: refusals, remains of loops, control characters, and words around it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redraft.text.refusals import is_no_summary
from redraft.text.reply_cleanup import ends_in_loop, strip_framing, strip_loops
from redraft.text.sanitizer import clean, clean_with_notes, one_line
from redraft.text.words import count_words
from tests.agents.translations import SUMMARY, TRANSLATIONS
from tests.support import SAMPLE
from tests.text.hostile import raw_texts
from tests.torture.refusals import ANY, LANGUAGES, refusals

TOLD = SAMPLE.read_text("utf-8")
CHUNK = TOLD[: len(TOLD) // 6]
TEXTS = Path(__file__).parent.parent / "languages"
CODES = {"german": "German", "russian": "Russian", "japanese": "Japanese", "arabic": "Arabic", "chinese": "Chinese",
         "spanish": "Spanish"}  # fmt: skip


def test_refusals_in_thirty_languages_are_no_summaries() -> None:
    said = list(refusals(300, seed=5))
    assert len(LANGUAGES) >= 30
    assert {language for _, language in said} == {*LANGUAGES, ANY}
    taken = [text for text, _ in said if not is_no_summary(text, CHUNK, 120)]
    assert taken == []


@pytest.mark.slow
@pytest.mark.parametrize("language", CODES)
def test_refusals_in_the_language_of_the_document_are_no_summaries(language: str) -> None:
    source = (TEXTS / f"{language}.md").read_text("utf-8")
    said = [text for text, spoken in refusals(1200, seed=6) if spoken in (CODES[language], ANY, "English")]
    taken = [
        text for text in said if not is_no_summary(text, source, 250 if language in ("chinese", "japanese") else 100)
    ]
    assert len(taken) <= 0.02 * len(said), taken


@pytest.mark.parametrize("language", TRANSLATIONS)
@pytest.mark.parametrize("asked", [True, False])
def test_a_translated_summary_is_one(language: str, asked: bool) -> None:
    text = TRANSLATIONS[language]
    told = language if asked else None
    assert not is_no_summary(text, TOLD, int(1.2 * count_words(text)), told)
    assert not is_no_summary(SUMMARY, text, 80, "English" if asked else None)


@pytest.mark.parametrize(("source", "text"), [
    (SUMMARY, "베인은 아버지의 장부를 찾으러 섬으로 가고, 등대지기는 폭풍 뒤에 그것을 건넨다."),
    (SUMMARY, "A woman looks for the ledger of her father, which the keeper gives her after the storm."),
    ("Rain fell all night on the town, and by morning the river had taken the bridge.", "Rain took the bridge."),
])  # fmt: skip
def test_what_is_told_of_the_source_is_a_summary(source: str, text: str) -> None:
    assert not is_no_summary(text, source, 24, "Korean" if "섬" in text else None)


def test_a_sentence_of_the_source_is_one_however_short_it_is() -> None:
    assert not is_no_summary("I was alone.", "It was dark. I was alone. " + TOLD, 400)
    assert is_no_summary("I was asked.", "It was dark. I was alone. " + TOLD, 400)


def test_the_same_seed_makes_the_same_refusals() -> None:
    assert list(refusals(50, 3)) == list(refusals(50, 3)) != list(refusals(50, 4))
    assert all(text.strip() for text, _ in refusals(2000))


def test_what_speaks_of_itself_needs_more_of_its_source() -> None:
    text = "Keeper, ledger, storm: content, guidelines, policy, topic, request, summary."
    assert not is_no_summary(text, SUMMARY, 20)
    assert is_no_summary(f"I {text}", SUMMARY, 20)


ENTRY = {"question": "Who keeps the lamp?", "kind": "who", "answer": "Hester", "quote": "Hester keeps the lamp."}


@pytest.mark.parametrize(
    "text",
    [
        '{"roots": [{"fact": "The Long Bank is a bank, ' + "and is owned by the Sarn Saltworks, " * 9 + "and is own",
        '{"question": "What is the most recent ' + "version of the [insert name of the most recent " * 6 + "ver",
        '{"questions": ["' + "The sentence is in the form of a request to revise your response to fit it. " * 5,
        '{"questions": ["' + "The sentence is in the form of a request to revise your response to fit it. " * 5 + "The",
        '{"questions": [' + f"{json.dumps(ENTRY)}, " * 5 + '{"question": "Who',
        "The father's " + "father's " * 9,
        "これは同じことです。" * 9 + "これは",
    ],
)
def test_what_was_said_over_and_over_up_to_the_end_is_a_loop(text: str) -> None:
    assert ends_in_loop(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "The father's father's father's father",
        json.dumps({"questions": [ENTRY | {"question": f"Who keeps lamp {n}?"} for n in range(20)]})[:-9],
        json.dumps({"comparisons": [{"id": f"b{n}cd", "reason": "The same.", "verdict": "full"} for n in range(20)]}),
        '{"marks": [' + "0, " * 40,
        "| - | - |\n" * 20,
        "and so on " * 12 + "until the lamp goes out",
    ],
)
def test_what_goes_on_or_has_no_words_is_none(text: str) -> None:
    assert not ends_in_loop(text)


@pytest.mark.parametrize(
    ("text", "once"),
    [
        ("He saw the man, the man, the man, the man, and left. It rained.", "He saw the man, and left. It rained."),
        ("She is of the house of the house of the house of the house.", "She is of the house."),
        ("The lamp " * 12 + "was all.", "The lamp was all."),
        (f"To the sea and back{', to the sea and back' * 2}. End.", "To the sea and back. End."),
        ("It was very, very, very cold.",) * 2,
        ("The years 0 0 0 0 0 0 0 are zeros.",) * 2,
    ],
)
def test_a_loop_within_a_reply_is_cut_to_one_turn(text: str, once: str) -> None:
    assert strip_loops(text) == once


@pytest.mark.slow
@given(raw_texts)
def test_cleaning_twice_changes_nothing(text: str) -> None:
    assert clean(clean(text)) == clean(text)


@given(raw_texts)
def test_clean_text_is_harmless(text: str) -> None:
    found = clean(text)
    assert found.encode("utf-8").decode("utf-8") == found
    assert all(character in "\n\t" or character.isprintable() or ord(character) > 0x9F for character in found)
    assert not set(found) & set("\x1b\r\x00\x85\u2028\u2029\u202e\u2066\ufeff")


@given(raw_texts, st.integers(1, 40))
def test_one_line_is_one_line_and_stays_it(text: str, width: int) -> None:
    line = one_line(text, width)
    assert len(line) <= width
    assert "\n" not in line
    assert one_line(line, width) == line
    assert one_line(one_line(text)) == one_line(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\r\nb\rc\x85d\u2028e\u2029f\vg\fh", "a\nb\nc\nd\ne\nf\ng\nh"),
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("\x1b]8;;http://evil\x1b\\link\x1b]8;;\x07", "link"),
        ("\x1b[2J\x1b[Hgone", "gone"),
        ("a\x1b", "a "),
        ("a\x00b\x08c", "a b c"),
        ("a\ud800b", "a?b"),
        ("“naïve” 👩‍👩‍👧 雨", "“naïve” 👩‍👩‍👧 雨"),
    ],
)
def test_what_becomes_of_it(text: str, expected: str) -> None:
    assert clean(text) == expected


@pytest.mark.parametrize("introducer", "PX^_]")
@pytest.mark.parametrize(
    "end", ["", "\nThe end.\x07", "\nThe end.\x1b\\", "\x1b", "\x85\x07", "." * 2_001 + "\x1b\\"], ids=ascii
)
def test_an_escape_without_an_end_takes_nothing_with_it(introducer: str, end: str) -> None:
    story = "Ines kept the light. " * 3
    kept = clean(f"Before. \x1b{introducer}{story}{end}")
    assert f"Before.  {introducer}{story}" in kept
    assert ("The end." in kept) == ("The end." in end)
    assert clean_with_notes(f"\x1b{introducer}{story}").notes == ("1 control character became a space",)


@pytest.mark.parametrize("introducer", "PX^_")
def test_only_a_title_may_end_with_a_bell(introducer: str) -> None:
    assert clean(f"\x1b{introducer}the story\x07") == f" {introducer}the story "
    assert clean("\x1b]0;a title\x07the story") == "the story"


def test_what_was_taken_out_is_counted() -> None:
    assert clean_with_notes("\x1b[1;31mred\x1b[0m\x1b]0;title\x07 and\x00 \u202eblue\x9b").notes == (
        "3 terminal escapes were removed from the text, 21 characters in all",
        "3 control characters became spaces",
    )
    assert clean_with_notes("a\r\nb\x85c\fd").notes == ()


@pytest.mark.slow
def test_a_long_text_is_cleaned_as_a_short_one_is() -> None:
    found = clean_with_notes("ab\x00é\x1b[1m" * 700_000)
    assert found.text == "ab é" * 700_000
    assert found.notes[1] == "700,000 control characters became spaces"


def test_an_escape_without_an_end_takes_linear_time() -> None:
    assert "".join(clean("\x1b]" * 200_000).split()) == "]" * 200_000
    assert clean("\x1b]" + "a" * 500_000) == " ]" + "a" * 500_000
    assert "".join(clean("\x1b[" * 200_000).split()) == "[" * 200_000


def test_a_long_line_is_cut() -> None:
    assert one_line("one  two\nthree", 8) == "one two…"
    assert one_line("one two", 7) == "one two"


TEXT = "Hester keeps the lamp at the harbour. In 1924 the bank fails, and the keepers leave."
JAPANESE = "ヘスターは港で灯台を守っている。1924年に銀行が破綻し、灯台守たちは島を去った。"

OPENINGS = [
    "Here is a summary of the excerpt in at most 50 words:\n\n",
    "Sure! Here's the revised summary: ",
    "Certainly.\n\n",
    "Summary:",
    "**Summary:**\n",
    "## Summary\n\n",
    "Summary (48 words):\n",
    "Of course! Here is the merged summary.\n\n---\n\n",
    "Here is the answer to the question: ",
    "Gerne! Hier ist die Zusammenfassung des Textes:\n\n",
    "Zusammenfassung: ",
    "Bien sûr ! Voici un résumé de l’extrait :\n\n",
    "Résumé : ",
    "¡Claro! Aquí tienes un resumen del texto:\n\n",
    "Resumen:\n",
    "Certo! Ecco un riassunto del brano:\n\n",
    "Riassunto: ",
    "Claro! Aqui está o resumo do trecho:\n\n",
    "Resumo: ",
    "Конечно! Вот краткое изложение отрывка:\n\n",
    "Краткое изложение: ",
    "好的，以下是该段落的摘要：\n\n",
    "摘要：",
    "以下はこの部分の要約です：\n\n",
    "はい、以下が要約です。\n\n",
    "要約：",
    "The text is: ",
    "The text is:\n\n",
    "**The excerpt:**\n",
    "The merged summary is:\n\n",
    "The revised version is: ",
    "The excerpt is:\n\nThe text is:\n\n",
    "Der Text lautet: ",
    "Текст: ",
    "本文：",
]
CLOSINGS = [
    "\n\nLet me know if you would like it shorter.",
    "\n\nI hope this helps!",
    "\n\n---\n\nFeel free to ask for changes.",
    "\nIf you need more detail, just ask.",
    "\n\nLassen Sie mich wissen, ob ich etwas ändern soll.",
    "\n\nN’hésitez pas à me demander une version plus courte.",
    "\n\nAvísame si necesitas algo más.",
    "\n\nFammi sapere se vuoi modifiche.",
    "\n\nMe avise se precisar de ajustes.",
    "\n\nДайте знать, если нужно короче.",
    "\n\n如果您需要更短的版本，请告诉我。",
    "\n\nご不明な点があればお知らせください。",
]

COUNTS = [
    "\n\n(Word count: 17)",
    " (Word count: 17)",
    "\n\n[17 words]",
    " (17 words)",
    "\n\nWord count: 17",
    "\n\n**Word count:** 17",
    "\n\n*(Word count: 17 words)*",
    "\n\n---\n\nWord Count: 17/50.",
    "\n\nTotal words: 17",
    "\n(approximately 17 words)",
    "\n\n(17 words)\n\nLet me know if you would like it shorter.",
    "\n\n(17 Wörter)",
    "\n\nWortanzahl: 17",
    "\n\n(Anzahl der Wörter: 17)",
    "\n\n(17 mots)",
    "\n\nNombre de mots : 17",
    "\n\n(17 palabras)",
    "\n\nRecuento de palabras: 17",
    "\n\n(17 parole)",
    "\n\nConteggio parole: 17",
    "\n\n(17 palavras)",
    "\n\nContagem de palavras: 17",
    "\n\n(17 слов)",
    "\n\nКоличество слов: 17",
    "\n\n（共17字）",
    "\n\n字数：17",
    "（17文字）",
    "\n\n文字数：17文字",
]


@pytest.mark.parametrize("text", [TEXT, JAPANESE, f"{TEXT}\n\n{TEXT}"])
@pytest.mark.parametrize("opening", OPENINGS)
def test_an_opening_is_taken_off(opening: str, text: str) -> None:
    assert strip_framing(opening + text) == text


@pytest.mark.parametrize("closing", CLOSINGS)
@pytest.mark.parametrize("opening", ["", "Summary:\n"])
def test_a_closing_is_taken_off(opening: str, closing: str) -> None:
    assert strip_framing(opening + TEXT + closing) == TEXT


@pytest.mark.parametrize("text", [TEXT, JAPANESE])
@pytest.mark.parametrize("count", COUNTS)
def test_a_count_of_the_words_is_taken_off(count: str, text: str) -> None:
    assert strip_framing(text + count) == text
    assert strip_framing(f"Sure!\n\n**Summary:** {text}{count}") == text


@pytest.mark.parametrize(
    "text",
    [
        "The telegram that reached the keepers was short. Hester sent seven words.",
        "The telegram that reached the keepers was a short one (7 words).",
        "The telegram that reached the keepers was a short one: 7 words",
        "The keepers read the telegram.\n\nIt had only 7 words",
        "The keepers measured the mast of the ship. Its length was 17 m.",
        "Die Wärter lasen das Telegramm am Abend (7 Wörter lang war es).",
        "The report has four parts (in 1,200 words)",
        "The text is about Hester, who keeps the lamp: nobody else does.",
        "The excerpt shows the harbour: the lamp is out, and the keepers have left.",
        "Text and picture differ: the lamp is lit in one of them alone.",
        "Here is where the story begins: Hester keeps the lamp at the harbour.",
        "Here is how the summary court worked in 1924. It sat without a jury and heard two hundred cases.",
        "The summary of the report was wrong: it gave 1,850 for 1,580 pounds, which nobody noticed.",
        "Summary execution was common in the war. Three villages were burnt.",
        "Sure of herself, Hester leaves the island: she has nothing left there to keep.",
        "Certainly the bank failed. Nobody had expected it to.",
        "Hester leaves. Let me know if the lamp fails, she says to Ann before she goes.",
        "Hester leaves the lamp to Ann.\n\nShe asks her: let me know if it fails.",
        "Hester writes a letter to the keepers on the island.\n\nIf you open the valve, the pressure falls at once.",
        "Ниже по реке стоит мельница. Её хозяин продал землю в 1924 году.",
        "Certo è che la banca fallì: nessuno se lo aspettava in quel momento.",
        "Voici l’histoire de Hester : elle garde la lampe du port.",
        "Hier ist es still. Die Bank ist 1924 gescheitert: niemand hatte es erwartet.",
    ],
)
def test_the_text_of_a_summary_is_left_alone(text: str) -> None:
    assert strip_framing(text) == text


@pytest.mark.parametrize(
    "text", ["", "Summary:", "Sure!", "Here is a summary:\n\nNo.", "Let me know if you need more."]
)
def test_nothing_is_taken_off_where_no_text_is_left(text: str) -> None:
    assert strip_framing(text) == text


@given(st.lists(st.sampled_from([*OPENINGS, *CLOSINGS, *COUNTS, TEXT, "\n", " word"]), max_size=6).map("".join))
def test_it_only_takes_off_at_the_ends_and_once(text: str) -> None:
    found = strip_framing(text)
    assert found in text
    assert strip_framing(found) == found
