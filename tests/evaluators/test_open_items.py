"""Items that a provider rejects have no verdict, which is shown, and are asked about again when the run is resumed.

Of a judge that has names of its own for them each is asked about alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.ledger import GIVES_VERDICTS
from redraft.errors import RejectedRequest
from tests.judges import Court, Keepers, Said, Sheet, island, told

SUMMARY = told(1, 2, 3, 4, 5, 6)


class Choosy(Keepers):
    """Cannot have anything to do with the questions about some keepers, for as long as that is so."""

    def __init__(self) -> None:
        self.rejected = ["keeper number 2 "]
        """What it will not hear of."""

    def __call__(self, sheet: Sheet) -> Said:
        if sheet.prompt == "answer_from_summary" and any(
            one in text for one in self.rejected for text in sheet.judged.values()
        ):
            return RejectedRequest("Request entity too large.")
        return super().__call__(sheet)


@pytest.fixture
def court(tmp_path: Path) -> Iterator[Court]:
    made = Court(tmp_path, document=island(12))
    yield made
    made.store.close()


@pytest.mark.slow
async def test_one_item_is_left_without_a_verdict_and_mended_by_resuming(court: Court) -> None:
    choosy = court.script = Choosy()
    judged = await court.evaluate(SUMMARY, metrics=("coverage",))
    coverage = judged.evaluations["coverage"]
    assert (coverage.unjudged, judged.status) == (1, "done")
    assert coverage.judged == 5
    assert "too large" in str(coverage.details["trouble"])
    # The whole batch, then ever smaller parts of it, and in the end the one item once more.
    asked = [sheet.judged.values() for sheet in court.asked("answer_from_summary")]
    sizes = [len(texts) for texts in asked if "keeper number 2 " in " ".join(texts)]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-2:] == [1, 1]

    in_vain = await court.resume(judged.run.id)
    assert in_vain.evaluations["coverage"].unjudged == 1
    choosy.rejected.clear()
    mended = await court.resume(judged.run.id)
    assert mended.evaluations["coverage"].unjudged == 0
    assert mended.evaluations["coverage"].judged == coverage.judged + 1


class Counting(Keepers):
    """Numbers its entries, the last one first, whatever the items are called."""

    def __call__(self, sheet: Sheet) -> Said:
        said = super().__call__(sheet)
        assert isinstance(said, dict)
        ((name, entries),) = said.items()
        if not any(isinstance(one, dict) and "id" in one for one in entries):
            return said
        return {name: [one | {"id": str(n)} for n, one in enumerate(entries[::-1], 1)]}


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["coverage", "consistency", "booookscore", "keyfact_recall", "faithfulness"])
async def test_a_judge_that_numbers_its_entries_gives_the_verdicts_of_one_that_does_not(
    court: Court, metric: str
) -> None:
    summary = told(1, 3, 4, 5, wrong={2: "Bob"})
    right = (await court.evaluate(summary, metrics=(metric,), settings={"sample": 1})).evaluations[metric]
    court.script = Counting()
    court.forget()
    found = (await court.evaluate(summary, metrics=(metric,), settings={"sample": 2})).evaluations[metric]

    assert (found.score, found.judged, found.unjudged) == (right.score, right.judged, right.unjudged)
    assert found.judged > 1
    sizes = [len(sheet.judged) for sheet in court.asked(GIVES_VERDICTS[metric])]
    assert sizes[0] > 1 == sizes[-1]
