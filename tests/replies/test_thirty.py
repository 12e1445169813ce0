"""However a judge says that a text has no answer, in any of thirty languages, nothing is scored that is not there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, cycle, zip_longest
from pathlib import Path

import pytest

from redraft.domain import Evaluation
from tests.judges import Court, Json, Keepers, Said, Sheet, island, named, told
from tests.replies.refusals import SILENT

NOT_STATED: dict[str, tuple[str, ...]] = {
    "Arabic": ("غير مذكور", "لا يذكر النص ذلك"),
    "Bulgarian": ("Не е споменато", "Текстът не казва"),
    "Catalan": ("No s'esmenta", "El text no ho diu"),
    "Chinese": ("文中未提及", "原文没有说"),
    "Croatian": ("Nije navedeno", "Tekst to ne spominje"),
    "Czech": ("Neuvedeno", "Text to nezmiňuje"),
    "Danish": ("Ikke nævnt", "Teksten siger det ikke"),
    "Dutch": ("Niet vermeld", "De tekst zegt dat niet"),
    "English": ("Not stated", "There is no evidence in the text for that."),
    "Estonian": ("Ei ole mainitud", "Tekstis seda ei öelda"),
    "Finnish": ("Ei mainittu", "Teksti ei kerro sitä"),
    "French": ("Non mentionné", "Le texte n'en dit rien"),
    "German": ("Nicht angegeben", "Der Text gibt darüber keine Auskunft"),
    "Greek": ("Δεν αναφέρεται", "Το κείμενο δεν το λέει"),
    "Hebrew": ("לא צוין", "הטקסט אינו אומר זאת"),
    "Hindi": ("उल्लेख नहीं है", "पाठ में यह नहीं बताया गया"),
    "Hungarian": ("Nincs említve", "A szöveg nem mondja"),
    "Indonesian": ("Tidak disebutkan", "Teks tidak mengatakannya"),
    "Italian": ("Non menzionato", "Il testo non lo dice"),
    "Japanese": ("記載されていません", "本文では述べられていない"),
    "Korean": ("언급되지 않음", "본문에 나와 있지 않습니다"),
    "Norwegian": ("Ikke oppgitt", "Teksten nevner det ikke"),
    "Polish": ("Nie podano", "Tekst o tym nie mówi"),
    "Portuguese": ("Não consta", "O texto não o refere"),
    "Romanian": ("Nu este menționat", "Textul nu spune"),
    "Russian": ("Не упомянуто", "В тексте этого не сказано"),
    "Spanish": ("No consta", "El texto no lo indica"),
    "Swedish": ("Ej angivet", "Texten säger inte det"),
    "Turkish": ("Belirtilmemiş", "Metinde bundan söz edilmiyor"),
    "Ukrainian": ("Не вказано", "Текст про це не згадує"),
    "Vietnamese": ("Không được đề cập", "Văn bản không nói đến"),
}
FOREIGN = " ".join(
    f"{who} sold the {what} at the fair."
    for who, what in zip(("Anna", "Boris", "Clara"), ("cow", "cart", "pig"), strict=True)
)


class Foreign(Keepers):
    """Says so of every question, finds that nothing contradicts anything, and asks about the fair."""

    def __init__(self, words: Iterator[str], field: bool | None) -> None:
        self.words, self.field = words, field

    def _said(self, sheet: Sheet, beside: Json) -> Said:
        field = {} if self.field is None else {"answered": self.field}
        return {"answers": [{"id": n, "answer": next(self.words), **beside, **field} for n in sheet.ids]}

    def answer_from_summary(self, sheet: Sheet) -> Said:
        return self._said(sheet, {"sentences": []})

    def answer_from_document(self, sheet: Sheet) -> Said:
        return self._said(sheet, {"quote": ""})

    def compare_answers(self, sheet: Sheet) -> Said:
        return {"comparisons": [{"id": n, "reason": "No contradiction.", "verdict": "full"} for n in sheet.ids]}

    def ask_summary(self, sheet: Sheet) -> Said:
        return {
            "sentences": [
                {
                    "id": n,
                    "questions": [
                        {"question": f"{asked} {n}?", "answer": answer, "search": "fair", "importance": 3}
                        for asked, answer in (("Who sold it", "Anna"), ("What was sold", "a cow"))
                    ],
                }
                for n in sheet.ids
            ]
        }


async def judged(folder: Path, phrases: Sequence[str], field: bool | None, summary: str) -> dict[str, Evaluation]:
    """The scores of a foreign summary by judges who say these phrases in turn, each metric by a judge of its own."""
    found: dict[str, Evaluation] = {}
    for metric in ("coverage", "consistency"):
        court = Court(folder / metric, Foreign(cycle(phrases), field), document=island(12))
        found |= (await court.evaluate(summary, metrics=(metric,))).evaluations
        court.store.close()
    return found


@pytest.mark.slow
@pytest.mark.parametrize("field", [True, None])
@pytest.mark.parametrize("at_once", [1, 2], ids=["one phrase", "two phrases"])
@pytest.mark.parametrize("language", ["English", "Finnish", "Japanese"])
async def test_a_foreign_summary_is_not_scored_well(
    tmp_path: Path, language: str, at_once: int, field: bool | None
) -> None:
    """One of a language that is known, one of a language that is not, and one without blanks between words."""
    found = await judged(tmp_path, NOT_STATED[language][:at_once], field, FOREIGN)
    assert {one.score for one in found.values()} <= {0.0, None}
    assert not [one for one in found["consistency"].findings if one.kind == "inconsistent"]


@pytest.mark.slow
@pytest.mark.parametrize("field", [True, None])
@pytest.mark.parametrize("which", [0, 1])
async def test_no_phrase_of_any_language_passes_for_an_answer(tmp_path: Path, which: int, field: bool | None) -> None:
    """Each of them is the answer to one question about a summary, and some of them to one about the document."""
    summary = " ".join(f"{who}{n} sold the {n} cows at the fair." for n, who in enumerate(["Anna"] * 16, 1))
    phrases = [said[which] for said in NOT_STATED.values()]
    found = await judged(tmp_path, phrases, field, summary)
    assert {one.score for one in found.values()} <= {0.0, None}
    assert not [one for one in found["consistency"].findings if one.kind == "inconsistent"]


async def test_whoever_says_in_the_field_that_there_is_none_is_believed(tmp_path: Path) -> None:
    words = cycle([""])
    court = Court(tmp_path, Foreign(words, field=False), document=island(12))
    result = await court.evaluate(FOREIGN)
    assert result.scores == {"coverage": 0.0, "consistency": 0.0}
    assert {one.read.partition(" (")[0] for one in result.evaluations["consistency"].findings} == {"the whole document"}


class Once(Keepers):
    """Gives one true answer without a place and in other words, and finds it when it is asked for the place."""

    def __init__(self, finds: bool) -> None:
        self.finds = finds
        self.asked = 0

    def ask_summary(self, sheet: Sheet) -> Said:
        question = {"question": named(1), "answer": "Thomas", "search": "", "importance": 3}
        return {"sentences": [{"id": n, "questions": [question]} for n in sheet.ids]}

    def answer_from_document(self, sheet: Sheet) -> Said:
        self.asked += 1
        quote = "keeper number 1 is called" if self.asked > 1 and self.finds else ""
        return {"answers": [{"id": n, "quote": quote, "answered": True, "answer": "Thomas"} for n in sheet.ids]}


@pytest.mark.parametrize(("finds", "score"), [(True, 1.0), (False, 0.0)])
async def test_an_answer_that_rests_on_nothing_is_asked_for_its_place(
    tmp_path: Path, finds: bool, score: float
) -> None:
    court = Court(tmp_path, script := Once(finds), document=island(12))
    found = (await court.evaluate(told(1), metrics=("consistency",))).evaluations["consistency"]
    assert (found.score, script.asked) == (score, 2)
    assert "only what you can quote" in court.asked("answer_from_document")[1].text


@pytest.mark.slow
async def test_a_name_may_answer_many_questions(tmp_path: Path) -> None:
    class Same(Keepers):
        def ask_summary(self, sheet: Sheet) -> Said:
            asked = [
                {"question": f"{what}?", "answer": "Tom1", "search": "", "importance": 3}
                for what in ("Who is keeper number 1", "Who lives at station 7", "Who stayed for 4 years")
            ]
            return {"sentences": [{"id": n, "questions": asked} for n in sheet.ids]}

        def answer_from_document(self, sheet: Sheet) -> Said:
            return {"answers": [{"id": n, "quote": "", "answered": True, "answer": "Tom1"} for n in sheet.ids]}

    court = Court(tmp_path, Same(), document=island(12))
    found = (await court.evaluate(told(1), metrics=("consistency",))).evaluations["consistency"]
    assert (found.score, found.judged) == (1.0, 3)


class Wordy(Keepers):
    """Says in its own words that there is no answer, finds that nothing contradicts anything, and quotes correctly."""

    def __init__(self, words: Iterator[str]) -> None:
        self.words = words

    def answer_from_summary(self, sheet: Sheet) -> Said:
        return self._worded(super().answer_from_summary(sheet))

    def answer_from_document(self, sheet: Sheet) -> Said:
        return self._worded(super().answer_from_document(sheet))

    def compare_answers(self, sheet: Sheet) -> Said:
        return {"comparisons": [{"id": n, "reason": "No contradiction.", "verdict": "full"} for n in sheet.ids]}

    def _worded(self, said: Said) -> Json:
        assert isinstance(said, dict)
        plain = [{key: value for key, value in one.items() if key != "answered"} for one in said["answers"]]
        return {"answers": [one if one["answer"] else one | {"answer": next(self.words)} for one in plain]}


# A phrase of each language, and then another of each.
PHRASES = [said for said in chain.from_iterable(zip_longest(*SILENT.values())) if said]


async def judged_by(folder: Path, summary: str, metric: str) -> Evaluation:
    court = Court(folder, Wordy(cycle(PHRASES)), document=island(24))
    result = await court.evaluate(summary, metrics=(metric,))
    court.store.close()
    return result.evaluations[metric]


async def test_an_irrelevant_summary_answers_nothing(tmp_path: Path) -> None:
    irrelevant = "A recipe for soup needs onions, salt and an hour of patience. Stir it now and then."
    found = await judged_by(tmp_path, irrelevant, "coverage")
    assert found.score is not None
    assert found.score <= 0.05
    assert found.judged >= 9


@pytest.mark.parametrize("empty", ["", " \n", "***"])
async def test_an_empty_summary_has_no_score_and_nothing_is_asked_for_it(tmp_path: Path, empty: str) -> None:
    metrics = ("coverage", "consistency", "keyfact_recall", "faithfulness", "booookscore")
    court = Court(tmp_path, Wordy(cycle(PHRASES)), document=island(24))
    found = (await court.evaluate(empty, metrics=metrics)).evaluations
    court.store.close()
    said = {(one.outcome, one.score, one.judged, one.findings, one.reason) for one in map(found.__getitem__, metrics)}
    assert said == {("not_applicable", None, 0, (), "the summary has no sentence")}
    assert court.sheets == []


async def test_a_summary_of_half_has_half(tmp_path: Path) -> None:
    found = await judged_by(tmp_path, told(*range(1, 25, 2)), "coverage")
    assert found.score == pytest.approx(0.5, abs=0.1)


async def test_the_document_itself_is_consistent(tmp_path: Path) -> None:
    found = await judged_by(tmp_path, told(*range(1, 25)), "consistency")
    assert found.score is not None
    assert found.score >= 0.95
    assert found.judged >= 24


async def test_what_is_not_in_the_document_is_unsupported(tmp_path: Path) -> None:
    found = await judged_by(tmp_path, told(*range(1, 11), *range(40, 50)), "consistency")
    assert found.score == 0.5
    assert [finding.kind for finding in found.findings] == ["unsupported"] * 10
