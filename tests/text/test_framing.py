"""What a model says around a summary is taken off, and never a word of the summary."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redraft.text.reply_cleanup import unframed

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
    assert unframed(opening + text) == text


@pytest.mark.parametrize("closing", CLOSINGS)
@pytest.mark.parametrize("opening", ["", "Summary:\n"])
def test_a_closing_is_taken_off(opening: str, closing: str) -> None:
    assert unframed(opening + TEXT + closing) == TEXT


@pytest.mark.parametrize("text", [TEXT, JAPANESE])
@pytest.mark.parametrize("count", COUNTS)
def test_a_count_of_the_words_is_taken_off(count: str, text: str) -> None:
    assert unframed(text + count) == text
    assert unframed(f"Sure!\n\n**Summary:** {text}{count}") == text


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
    assert unframed(text) == text


@pytest.mark.parametrize(
    "text", ["", "Summary:", "Sure!", "Here is a summary:\n\nNo.", "Let me know if you need more."]
)
def test_nothing_is_taken_off_where_no_text_is_left(text: str) -> None:
    assert unframed(text) == text


@given(st.lists(st.sampled_from([*OPENINGS, *CLOSINGS, *COUNTS, TEXT, "\n", " word"]), max_size=6).map("".join))
def test_it_only_takes_off_at_the_ends_and_once(text: str) -> None:
    found = unframed(text)
    assert found in text
    assert unframed(found) == found
