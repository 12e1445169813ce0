"""A judge says in any of thirty languages that a text has no answer: nothing is scored that is not there."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, cycle, zip_longest
from pathlib import Path

import pytest

from redraft.domain import Evaluation
from tests.judges import Harness, Json, PerfectModel, ScriptedReply, Sheet, island, name_question, summary_of
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


def comparisons(sheet: Sheet) -> Json:
    return {"comparisons": [{"id": n, "reason": "No contradiction.", "verdict": "full"} for n in sheet.ids]}


class Foreign(PerfectModel):
    """A judge that answers every question by a phrase, and asks about a fair."""

    def __init__(self, phrases: Iterator[str], answered: bool | None) -> None:
        self.phrases, self.answered = phrases, answered

    def _answers(self, sheet: Sheet, field: Json) -> Json:
        answered = {} if self.answered is None else {"answered": self.answered}
        return {"answers": [{"id": n, "answer": next(self.phrases), **field, **answered} for n in sheet.ids]}

    def answer_from_summary(self, sheet: Sheet) -> ScriptedReply:
        return self._answers(sheet, {"sentences": []})

    def answer_from_document(self, sheet: Sheet) -> ScriptedReply:
        return self._answers(sheet, {"quote": ""})

    def compare_answers(self, sheet: Sheet) -> ScriptedReply:
        return comparisons(sheet)

    def ask_summary(self, sheet: Sheet) -> ScriptedReply:
        questions = [
            {"question": question, "answer": answer, "search": "fair", "importance": 3}
            for question, answer in (("Who sold it?", "Anna"), ("What was sold?", "a cow"))
        ]
        return {"sentences": [{"id": n, "questions": questions} for n in sheet.ids]}


async def evaluated(folder: Path, judge: PerfectModel, metric: str, summary: str, keepers: int = 12) -> Evaluation:
    harness = Harness(folder / metric, judge, document=island(keepers))
    result = await harness.evaluate(summary, metrics=(metric,))
    harness.store.close()
    return result.evaluations[metric]


@pytest.mark.slow
@pytest.mark.parametrize("answered", [True, None])
@pytest.mark.parametrize("which", [0, 1])
async def test_no_phrase_passes_for_an_answer(tmp_path: Path, which: int, answered: bool | None) -> None:
    """Each phrase is the answer to a question about the summary, and some to one about the document."""
    summary = " ".join(f"Anna{n} sold the {n} cows at the fair." for n in range(1, 17))
    for metric in ("coverage", "consistency"):
        judge = Foreign(cycle(phrases[which] for phrases in NOT_STATED.values()), answered)
        evaluation = await evaluated(tmp_path, judge, metric, summary)
        assert evaluation.score in (0.0, None)
        assert not [finding for finding in evaluation.findings if finding.kind == "inconsistent"]


async def test_answered_field_is_believed(tmp_path: Path) -> None:
    harness = Harness(tmp_path, Foreign(cycle([""]), answered=False), document=island(12))
    result = await harness.evaluate("Anna sold the cow at the fair. Boris sold the cart at the fair.")
    assert result.scores == {"coverage": 0.0, "consistency": 0.0}
    places = {finding.read.partition(" (")[0] for finding in result.evaluations["consistency"].findings}
    assert places == {"the whole document"}


class Once(PerfectModel):
    """Gives a true answer in other words without a quote; asked again, it may find the quote."""

    def __init__(self, finds: bool) -> None:
        self.finds = finds
        self.requests = 0

    def ask_summary(self, sheet: Sheet) -> ScriptedReply:
        question = {"question": name_question(1), "answer": "Thomas", "search": "", "importance": 3}
        return {"sentences": [{"id": n, "questions": [question]} for n in sheet.ids]}

    def answer_from_document(self, sheet: Sheet) -> ScriptedReply:
        self.requests += 1
        quote = "keeper number 1 is called" if self.requests > 1 and self.finds else ""
        return {"answers": [{"id": n, "quote": quote, "answered": True, "answer": "Thomas"} for n in sheet.ids]}


@pytest.mark.parametrize(("finds", "score"), [(True, 1.0), (False, 0.0)])
async def test_answer_without_quote_is_asked_again(tmp_path: Path, finds: bool, score: float) -> None:
    harness = Harness(tmp_path, judge := Once(finds), document=island(12))
    evaluation = (await harness.evaluate(summary_of(1), metrics=("consistency",))).evaluations["consistency"]
    assert (evaluation.score, judge.requests) == (score, 2)
    assert "only what you can quote" in harness.asked("answer_from_document")[1].text


@pytest.mark.slow
async def test_one_name_may_answer_several_questions(tmp_path: Path) -> None:
    class Same(PerfectModel):
        def ask_summary(self, sheet: Sheet) -> ScriptedReply:
            questions = ("Who is keeper number 1?", "Who lives at station 7?", "Who stayed for 4 years?")
            entries = [{"question": text, "answer": "Tom1", "search": "", "importance": 3} for text in questions]
            return {"sentences": [{"id": n, "questions": entries} for n in sheet.ids]}

        def answer_from_document(self, sheet: Sheet) -> ScriptedReply:
            return {"answers": [{"id": n, "quote": "", "answered": True, "answer": "Tom1"} for n in sheet.ids]}

    evaluation = await evaluated(tmp_path, Same(), "consistency", summary_of(1))
    assert (evaluation.score, evaluation.judged) == (1.0, 3)


class Wordy(PerfectModel):
    """A right judge that says in its own words that there is no answer."""

    def __init__(self) -> None:
        self.phrases = cycle(filter(None, chain.from_iterable(zip_longest(*SILENT.values()))))

    def answer_from_summary(self, sheet: Sheet) -> ScriptedReply:
        return self._in_words(super().answer_from_summary(sheet))

    def answer_from_document(self, sheet: Sheet) -> ScriptedReply:
        return self._in_words(super().answer_from_document(sheet))

    def compare_answers(self, sheet: Sheet) -> ScriptedReply:
        return comparisons(sheet)

    def _in_words(self, reply: ScriptedReply) -> Json:
        entries = [{key: value for key, value in entry.items() if key != "answered"} for entry in reply["answers"]]
        return {"answers": [entry if entry["answer"] else entry | {"answer": next(self.phrases)} for entry in entries]}


@pytest.mark.parametrize(
    ("metric", "summary", "score", "judged"),
    [
        ("coverage", "A recipe for soup needs onions, salt and an hour of patience. Stir it now and then.", 0.0, 9),
        ("coverage", summary_of(*range(1, 25, 2)), 0.5, 9),
        ("consistency", summary_of(*range(1, 25)), 1.0, 24),
        ("consistency", summary_of(*range(1, 11), *range(40, 50)), 0.5, 20),
    ],
    ids=["irrelevant", "half", "the document", "half invented"],
)
async def test_worded_silence_leaves_scores_right(
    tmp_path: Path, metric: str, summary: str, score: float, judged: int
) -> None:
    evaluation = await evaluated(tmp_path, Wordy(), metric, summary, keepers=24)
    assert evaluation.score == pytest.approx(score, abs=0.1)
    assert evaluation.judged >= judged
    if metric == "consistency":
        assert {finding.kind for finding in evaluation.findings} <= {"unsupported"}


@pytest.mark.parametrize("empty", ["", " \n", "***"])
async def test_empty_summary_asks_nothing(tmp_path: Path, empty: str) -> None:
    metrics = ("coverage", "consistency", "keyfact_recall", "faithfulness", "booookscore")
    harness = Harness(tmp_path, Wordy(), document=island(24))
    evaluations = (await harness.evaluate(empty, metrics=metrics)).evaluations
    harness.store.close()
    for evaluation in map(evaluations.__getitem__, metrics):
        assert (evaluation.outcome, evaluation.score, evaluation.judged) == ("not_applicable", None, 0)
        assert (evaluation.findings, evaluation.reason) == ((), "the summary has no sentence")
    assert harness.sheets == []
