"""What must hold however a judge says that a text has no answer: nothing is scored that is not there."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import cycle
from pathlib import Path

import pytest

from redraft.domain import Evaluation
from tests.judges import UNANSWERABLE, Court, Json, Keepers, Said, Sheet, island, told
from tests.replies.refusals import SILENT


class Wordy(Keepers):
    """Says in its own words that there is no answer, finds that nothing contradicts anything, and quotes correctly."""

    def __init__(self, words: Iterator[str]) -> None:
        self.words = words

    def answer_from_summary(self, sheet: Sheet) -> Said:
        return self._worded(super().answer_from_summary(sheet))

    def answer_from_document(self, sheet: Sheet) -> Said:
        return self._worded(super().answer_from_document(sheet))

    def compare_answers(self, sheet: Sheet) -> Said:
        return {"comparisons": [{"id": n, "reason": "No contradiction.", "verdict": "agrees"} for n in sheet.ids]}

    def _worded(self, said: Said) -> Json:
        assert isinstance(said, dict)
        return {
            "answers": [
                one | ({"answer": next(self.words)} if one["answer"] == UNANSWERABLE else {}) for one in said["answers"]
            ]
        }


LANGUAGES = pytest.mark.parametrize("language", SILENT)


async def judged(folder: Path, language: str, summary: str, *metrics: str) -> dict[str, Evaluation]:
    court = Court(folder, Wordy(cycle(SILENT[language])), document=island(24))
    result = await court.evaluate(summary, metrics=metrics)
    court.store.close()
    return dict(result.evaluations)


@LANGUAGES
async def test_an_irrelevant_summary_answers_nothing(tmp_path: Path, language: str) -> None:
    irrelevant = "A recipe for soup needs onions, salt and an hour of patience. Stir it now and then."
    found = (await judged(tmp_path, language, irrelevant, "coverage"))["coverage"]
    assert found.score is not None
    assert found.score <= 0.05
    assert found.judged >= 9


@pytest.mark.parametrize("empty", ["", " \n", "***"])
async def test_an_empty_summary_has_no_score_and_nothing_is_asked_for_it(tmp_path: Path, empty: str) -> None:
    metrics = ("coverage", "consistency", "keyfact_recall", "faithfulness", "booookscore")
    court = Court(tmp_path, Wordy(cycle(SILENT["English"])), document=island(24))
    found = (await court.evaluate(empty, metrics=metrics)).evaluations
    court.store.close()
    assert {(found[name].outcome, found[name].score) for name in metrics} == {("not_applicable", None)}
    assert court.sheets == []


@LANGUAGES
async def test_a_summary_of_half_has_half(tmp_path: Path, language: str) -> None:
    found = (await judged(tmp_path, language, told(*range(1, 25, 2)), "coverage"))["coverage"]
    assert found.score == pytest.approx(0.5, abs=0.1)


@LANGUAGES
async def test_the_document_itself_is_consistent(tmp_path: Path, language: str) -> None:
    found = (await judged(tmp_path, language, told(*range(1, 25)), "consistency"))["consistency"]
    assert found.score is not None
    assert found.score >= 0.95
    assert found.judged >= 24


@LANGUAGES
async def test_what_is_not_in_the_document_is_unsupported(tmp_path: Path, language: str) -> None:
    found = (await judged(tmp_path, language, told(1, 40), "consistency"))["consistency"]
    assert found.score == 0.5
    assert [finding.kind for finding in found.findings] == ["unsupported"]
