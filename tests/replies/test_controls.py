"""What must hold however a judge says that a text has no answer: nothing is scored that is not there."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, cycle, zip_longest
from pathlib import Path

import pytest

from redraft.domain import Evaluation
from tests.judges import Court, Json, Keepers, Said, Sheet, island, told
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
        plain = [{key: value for key, value in one.items() if key != "answered"} for one in said["answers"]]
        return {"answers": [one if one["answer"] else one | {"answer": next(self.words)} for one in plain]}


# A phrase of each language, and then another of each.
PHRASES = [said for said in chain.from_iterable(zip_longest(*SILENT.values())) if said]


async def judged(folder: Path, summary: str, metric: str) -> Evaluation:
    court = Court(folder, Wordy(cycle(PHRASES)), document=island(24))
    result = await court.evaluate(summary, metrics=(metric,))
    court.store.close()
    return result.evaluations[metric]


async def test_an_irrelevant_summary_answers_nothing(tmp_path: Path) -> None:
    irrelevant = "A recipe for soup needs onions, salt and an hour of patience. Stir it now and then."
    found = await judged(tmp_path, irrelevant, "coverage")
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
    found = await judged(tmp_path, told(*range(1, 25, 2)), "coverage")
    assert found.score == pytest.approx(0.5, abs=0.1)


async def test_the_document_itself_is_consistent(tmp_path: Path) -> None:
    found = await judged(tmp_path, told(*range(1, 25)), "consistency")
    assert found.score is not None
    assert found.score >= 0.95
    assert found.judged >= 24


async def test_what_is_not_in_the_document_is_unsupported(tmp_path: Path) -> None:
    found = await judged(tmp_path, told(*range(1, 11), *range(40, 50)), "consistency")
    assert found.score == 0.5
    assert [finding.kind for finding in found.findings] == ["unsupported"] * 10
