"""A pack with holes: what it lacks is on record, told with every score that rests on it, and tried again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from redraft import Store
from redraft.domain import Evaluation, Pack, Usage
from redraft.errors import RefusedReply
from redraft.evaluators.base import Case, Evaluator
from redraft.evaluators.reference.exchange import import_pack, pack_json
from redraft.events import Event, Notice
from redraft.report.history.results import Result, built
from tests.judges import Harness, PerfectModel, ScriptedReply, Sheet, island, keeper_in, summary_of

LAST = 60
# So little that the document is asked about in three stretches.
SMALL = {"context_tokens": 1500}
POOR = summary_of(1, 2, wrong={3: "Bob"})
HOLE = "no questions on stretch 3 of 3: Not that."


class Squeamish(PerfectModel):
    """Says nothing of what it thinks indecent, for as long as it does."""

    def __init__(self, *indecent: str) -> None:
        self.indecent = indecent

    def __call__(self, sheet: Sheet) -> ScriptedReply:
        if sheet.prompt in self.indecent and f"keeper number {LAST} " in sheet.text:
            return RefusedReply("Not that.", text="", usage=Usage())
        return super().__call__(sheet)


@pytest.fixture
def harness(tmp_path: Path) -> Harness:
    return Harness(tmp_path, Squeamish("ask_document"), document=island(LAST))


async def build(harness: Harness) -> tuple[Pack, Result]:
    async with harness.session() as session:
        result = await session.build(harness.document, settings=harness.settings(SMALL))
    return built(harness.store, result), result


def stations(pack: Pack) -> set[int]:
    return {keeper_in(question.text) for question in pack.questions}


def heal(harness: Harness) -> None:
    harness.script = PerfectModel()
    harness.clear_sheets()


class Asker(Evaluator):
    """A metric of one's own that rests on the questions."""

    name = "asker"
    needs = "questions"

    async def evaluate(self, case: Case) -> Evaluation:
        return self.scored(0.5)


@pytest.mark.slow
async def test_missing_parts_are_on_record(harness: Harness) -> None:
    events: list[Event] = []
    first = await harness.evaluate(POOR, settings=SMALL, metrics=("coverage", "consistency"), observer=events.append)
    (pack, _), *rest = harness.store.packs.all()
    async with harness.session() as session:
        asked_result = await session.evaluate(
            harness.document, POOR, settings=harness.settings(SMALL), metrics=[Asker()]
        )

    assert rest == []
    assert pack.missing == (HOLE,)
    assert Notice(HOLE) in events
    assert first.missing == {"coverage": [HOLE]}
    assert first.evaluations["coverage"].details["missing"] == [HOLE]
    assert first.evaluations["consistency"].missing == ()
    assert (asked_result.evaluations["asker"].details["pack"], asked_result.missing) == (pack.id, {"asker": [HOLE]})
    assert first.record().missing == first.missing
    # It is as frozen as any other: nobody was asked for it again.
    assert len(harness.asked("ask_document")) == 3


@pytest.mark.slow
async def test_rebuilding_asks_only_for_gaps(harness: Harness) -> None:
    holed, _ = await build(harness)
    rebuilt, _ = await build(harness)
    heal(harness)
    complete, _ = await build(harness)
    result = await harness.evaluate(POOR, settings=SMALL, metrics=("coverage",))

    assert rebuilt == holed
    assert max(stations(holed)) < LAST * 2 // 3 < max(stations(complete))
    assert (complete.missing, result.missing) == ((), {})
    (sheet,) = harness.asked("ask_document")
    assert f"keeper number {LAST} " in sheet.text
    assert result.evaluations["coverage"].details["pack"] == complete.id


@pytest.mark.slow
async def test_resuming_retries_the_missing_parts(harness: Harness) -> None:
    holed, building = await build(harness)
    first = await harness.evaluate(POOR, settings=SMALL, metrics=("coverage", "consistency"))
    in_vain = await harness.resume(first.run.id)
    assert (in_vain.evaluations, in_vain.status) == (first.evaluations, "done")
    heal(harness)
    mended = await harness.resume(first.run.id)

    assert mended.status == "done"
    assert mended.missing == {}
    assert mended.evaluations["coverage"].judged > first.evaluations["coverage"].judged - 2
    assert mended.evaluations["coverage"].details["pack"] != holed.id
    assert mended.evaluations["consistency"] == first.evaluations["consistency"]
    assert len(harness.asked("ask_document")) == 1
    assert harness.asked("ask_summary", "answer_from_document") == []
    harness.clear_sheets()
    rebuilt = await harness.resume(building.run.id)
    assert built(harness.store, rebuilt).missing == ()
    assert built(harness.store, rebuilt).id == mended.evaluations["coverage"].details["pack"]
    assert harness.sheets == []


@pytest.mark.slow
async def test_file_carries_what_is_missing(harness: Harness, tmp_path: Path) -> None:
    holed, _ = await build(harness)
    exported = json.loads(json.dumps(pack_json(harness.document, holed, None)))
    assert exported["missing"] == [HOLE]
    for name, content in {"now": exported, "before": {k: v for k, v in exported.items() if k != "missing"}}.items():
        with Store(tmp_path / f"{name}.db") as elsewhere:
            imported = import_pack(elsewhere, json.dumps(content).encode(), harness.document, "pack.json").questions
            assert imported is not None
            assert elsewhere.packs.get(holed.id) == imported
            assert imported.missing == ((HOLE,) if name == "now" else ())
    # Whoever imports it has chosen it: it is not tried again.
    with Store(tmp_path / "now.db") as elsewhere:
        harness.store.close()
        harness.store = elsewhere
        heal(harness)
        result = await harness.evaluate(POOR, settings=SMALL, metrics=("coverage",))
        assert result.missing == {"coverage": [HOLE]}
        assert (await harness.resume(result.run.id)).missing == result.missing
        assert harness.asked("ask_document") == []
