"""What words alone call lost is looked for by a model, in the draft and where it seems to have got lost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from redraft.llm.base import FunctionModel, Line, Request
from redraft.prompts.origins import AllSources, Sources
from redraft.report.history.lost import Losses, read_losses
from redraft.runs import lineage
from redraft.runs.lineage import foreseen
from redraft.runs.prepare import prepare
from redraft.settings import DraftConfig
from tests.history.test_lineage import KEEPERS, WEATHER, chronicle, faithful
from tests.history.test_lost import known
from tests.runs.test_lineages import SETTINGS, Reader
from tests.support import Desk

FACT = KEEPERS[2].replace(" the ", " a ")
# One word of it is left.
RETOLD = "Conrad perished somewhere near a cliff after losing control of his dinghy."


def retelling(request: Request[Any, Any]) -> Line:
    """A writer who says one fact in other words from the first."""
    given = str(request.given)
    said = str(faithful(request)).replace(KEEPERS[2], f"{RETOLD} {WEATHER}")
    return f"{said} {RETOLD}" if RETOLD in given and RETOLD not in said else said


class FactReader(Reader):
    """Knows that the two say the same."""

    def __call__(self, request: Request[Any, Any]) -> Line:
        self.asked.append(request)
        given = request.given
        same = [place.id for place in given.places if place.passage == RETOLD]
        return AllSources(
            sentences=[Sources(id=one.id, places=same if one.sentence == FACT else []) for one in given.sentences]
        )


async def drafted(folder: Path, writer: Any) -> tuple[Desk, str]:
    desk = Desk(folder, writer)
    result = await desk.summarize(chronicle(), **SETTINGS)
    known(desk.store)
    return desk, result.run.id


async def asked(desk: Desk, run: str, reader: Reader) -> Losses:
    async with desk.session(model=FunctionModel(reader, "reader")) as session:
        return await session.losses(run, ask=True)


@pytest.fixture
def plenty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lineage, "SHARE", 10.0)


@pytest.mark.slow
@pytest.mark.usefixtures("plenty")
async def test_a_fact_in_other_words_is_found_in_the_draft(tmp_path: Path) -> None:
    desk, run = await drafted(tmp_path, retelling)
    assert [loss.fact.text for loss in read_losses(desk.store, run).lost] == [FACT]
    reader = FactReader()
    found = await asked(desk, run, reader)

    assert found.lost == ()
    assert FACT in [fact.text for fact in found.kept]
    again = await asked(desk, run, again_reader := FactReader())
    assert again.lost == ()
    assert again_reader.asked == [], "what was said is remembered"
    assert [one.kind for one in desk.store.runs.latest(9)] == ["lineage", "lineage", "summarize"]


@pytest.mark.slow
@pytest.mark.usefixtures("plenty")
async def test_whoever_finds_nothing_leaves_it_lost(tmp_path: Path) -> None:
    desk, run = await drafted(tmp_path, retelling)
    before = read_losses(desk.store, run)
    reader = Reader(silent=True)
    found = await asked(desk, run, reader)
    assert found.lost == before.lost
    assert reader.asked


@pytest.mark.slow
async def test_it_takes_no_more_than_its_share(tmp_path: Path) -> None:
    desk, run = await drafted(tmp_path, retelling)
    reader = FactReader()
    found = await asked(desk, run, reader)
    assert reader.asked == []
    assert [loss.fact.text for loss in found.lost] == [FACT]


@pytest.mark.usefixtures("plenty")
async def test_a_plan_counts_the_facts_too(tmp_path: Path) -> None:
    desk, run = await drafted(tmp_path, retelling)
    prepared = prepare(chronicle(), DraftConfig(strategy="given", context_tokens=8192), given="x")
    without, planned = (foreseen(desk.store, run, prepared, lost=lost) for lost in (False, True))
    assert without.facts == 0
    assert planned.facts > 0
    assert planned.tokens > without.tokens
    assert planned.calls > without.calls
