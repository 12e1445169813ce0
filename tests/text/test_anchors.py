"""Numbers and names are found again in a translation, from one script to another."""

from __future__ import annotations

import pytest

from redraft.text.quotes import carries

ENGLISH = (
    "In March 1924 Hester Vane crosses to the island to look for the ledger of her father. The keeper, Elias Corran,"
    " has hidden it in the tower, and he wants 1,850 pounds for it."
)
IN_OTHER_LANGUAGES = {
    "German": "Im März 1924 setzt Hester Vane auf die Insel über, um das Buch ihres Vaters zu suchen.",
    "French": "En mars 1924, Hester Vane passe sur l'île pour chercher le registre de son père.",
    "Russian": "В марте Эстер Вейн приезжает на остров, чтобы найти книгу отца. Её спрятал Элиас Корран.",
    "Greek": "Τον Μάρτιο η Έστερ Βέιν περνά στο νησί για να βρει το βιβλίο του πατέρα της.",
    "Japanese": "三月、ヘスター・ヴェインは父の帳簿を探しに島へ渡る。灯台守のイライアス・コランが塔に隠していた。",
    "Japanese, by the year": "一九二四年三月、彼女は父の帳簿を探しに島へ渡る。",
    "Chinese": "1924年3月，海丝特·维恩渡海到岛上寻找父亲的账簿。",
    "Arabic": "في مارس ١٩٢٤ عبرت هستر فين إلى الجزيرة بحثًا عن دفتر أبيها.",
}
OF_SOMETHING_ELSE = {
    "English": "The committee met in 1987. Its chairman, Thomas Bell, opened the session in Geneva.",
    "German": "Der Ausschuss tagte 1987 in Genf. Sein Vorsitzender Thomas Bell eröffnete die Sitzung.",
    "Russian": "Комитет собрался в Женеве. Заседание открыл председатель Томас Белл.",
    "Japanese": "委員会は一九八七年にジュネーブで開かれ、トマス・ベルが開会を宣言した。",
    "Chinese": "委员会于1987年在日内瓦开会。",
}


@pytest.mark.parametrize("language", IN_OTHER_LANGUAGES)
def test_a_translation_carries_names_or_numbers_and_so_does_its_translation_back(language: str) -> None:
    assert carries(IN_OTHER_LANGUAGES[language], ENGLISH)
    assert carries(ENGLISH, IN_OTHER_LANGUAGES[language])


@pytest.mark.parametrize("language", OF_SOMETHING_ELSE)
def test_a_text_about_something_else_does_not(language: str) -> None:
    assert carries(OF_SOMETHING_ELSE[language], ENGLISH) is False


def test_where_there_is_nothing_to_look_for_nothing_is_said() -> None:
    assert carries("他在海边等了很久。", "He waits by the sea for a long time.") is None
    # Chinese writes names in letters of its own, so that only numbers could be found.
    assert carries("海丝特在海边等了很久。", "There Hester waits, and Elias Corran waits, too.") is None


def test_of_many_names_one_is_too_few() -> None:
    names = ("Adler", "Bonn", "Cordoba", "Dublin", "Essex", "Florence", "Graz", "Helsinki", "Iberia", "Jena", "Kiel")
    source = " ".join(f"Then it was the turn of the men and the women of {name}." for name in names)
    assert carries("Dann kamen die Leute aus Bonn und die aus Kiel an die Reihe.", source)
    assert not carries("Dann kamen die Leute aus Bonn und die aus Kassel an die Reihe.", source)


def test_nouns_with_capitals_are_no_names() -> None:
    german = "Am Abend sah die Frau das Licht im Turm. Der Sturm kam, und Hester lief über die Brücke zum Haus am See."
    assert carries("That night the woman saw a light. The storm came, and Hester ran.", german)
    assert carries("That night the woman saw a light. The storm came, and she ran.", german) is False
