"""Tracing with a model: it is asked where words alone do not tell, about the likeliest places, within a budget."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from redraft import DraftConfig, Limits
from redraft.agents import tracer
from redraft.errors import BudgetError, RunError, UsageError
from redraft.llm.base import FunctionModel, Line, Request
from redraft.prompts.qa import AllSources, Sources
from redraft.report.history.lineage import Lineage, read_lineage
from redraft.runs import lineage
from redraft.runs.lineage import planned_requests
from redraft.runs.prepare import prepare
from tests.history.test_lineage import INVENTED, KEEPERS, WEATHER, chronicle, faithful
from tests.support import Desk

LOST_AT_SEA = "Conrad perished somewhere near a cliff after losing control of his dinghy."
SETTINGS: dict[str, Any] = {"words": 70, "chunk_tokens": 128, "context_tokens": 660}


def reworded(request: Request[Any, Any]) -> Line:
    """A writer who tells of one keeper in other words from the first level on, and makes something up in the second."""
    said = str(faithful(request)).replace(KEEPERS[2], f"{LOST_AT_SEA} {WEATHER}")
    shown = str(request.given)
    if LOST_AT_SEA in shown and LOST_AT_SEA not in said:
        said = f"{said} {LOST_AT_SEA}"
    return f"{said} {INVENTED}" if request.label.startswith("level 2") else said


class Reader:
    """Knows what is said in other words: names the places of the sentences that mean the same."""

    def __init__(self, *, silent: bool = False) -> None:
        self.asked: list[Request[Any, Any]] = []
        self.silent = silent

    def __call__(self, request: Request[Any, Any]) -> Line:
        self.asked.append(request)
        given = request.given
        if self.silent:
            return AllSources(sentences=[])
        return AllSources(
            sentences=[
                Sources(id=one.id, places=[place.id for place in given.places if _same(place.passage, one.sentence)])
                for one in given.sentences
            ]
        )

    @property
    def sentences(self) -> list[str]:
        """All sentences that were asked about."""
        return [one.sentence for request in self.asked for one in request.given.sentences]


def _same(one: str, other: str) -> bool:
    means = {LOST_AT_SEA: KEEPERS[2]}
    return means.get(one, one).strip(".") == means.get(other, other).strip(".")


async def drafted(folder: Path) -> tuple[Desk, str]:
    desk = Desk(folder, reworded)
    result = await desk.summarize(chronicle(), **SETTINGS)
    return desk, result.run.id


async def traced(desk: Desk, run: str, reader: Reader, **model_roles: Any) -> Lineage:
    async with desk.session(model=FunctionModel(reader, "reader"), **model_roles) as session:
        return await session.lineage(run, ask=True)


def by_text(found: Lineage) -> dict[str, Any]:
    return {one.text: one for one in found.sentences}


@pytest.fixture
def plenty(monkeypatch: pytest.MonkeyPatch) -> None:
    """The replies of these writers are too short to leave room for much."""
    monkeypatch.setattr(lineage, "SHARE", 10.0)


@pytest.mark.slow
@pytest.mark.usefixtures("plenty")
async def test_what_is_said_in_other_words_is_traced_by_a_model(tmp_path: Path) -> None:
    desk, run = await drafted(tmp_path)
    without = by_text(read_lineage(desk.store, run))
    assert not without[LOST_AT_SEA].places

    reader = Reader()
    found = by_text(await traced(desk, run, reader))

    (origin,) = found[LOST_AT_SEA].origins
    assert origin.chapter == "Finch"
    assert "model" in {stop.method for stop in origin.way}
    assert not found[LOST_AT_SEA].drift
    assert not found[INVENTED].places
    assert found[INVENTED].invented_in.startswith("2/")
    # Of a sentence that stands there as it is nobody need be asked.
    assert not {*reader.sentences} & {*KEEPERS}
    assert all(len(request.given.places) <= 6 * len(request.given.sentences) for request in reader.asked)


@pytest.mark.slow
@pytest.mark.usefixtures("plenty")
async def test_what_a_reader_has_not_found_among_the_nearest_places_is_not_called_invented(tmp_path: Path) -> None:
    desk = Desk(tmp_path, reworded)
    async with desk.session() as session:
        judged = await session.evaluate(chronicle(), f"{KEEPERS[0]} {LOST_AT_SEA} {INVENTED}", metrics=["statistics"])
    run = judged.run.id
    assert [one.text for one in read_lineage(desk.store, run).doubtful] == [LOST_AT_SEA, INVENTED]
    found = await traced(desk, run, Reader())
    assert by_text(found)[LOST_AT_SEA].places
    assert [one.text for one in found.doubtful] == [INVENTED]
    assert not found.invented, "nobody has read the whole document for it"


@pytest.mark.slow
@pytest.mark.usefixtures("plenty")
async def test_what_was_said_is_not_asked_again(tmp_path: Path) -> None:
    desk, run = await drafted(tmp_path)
    reader = Reader()
    first = await traced(desk, run, reader)
    asked = len(reader.asked)
    assert asked
    again = await traced(desk, run, reader)

    assert len(reader.asked) == asked
    assert again.sentences == first.sentences
    kinds = [one.kind for one in desk.store.runs.latest(9)]
    assert kinds == ["lineage", "lineage", "summarize"]
    assert {one.status for one in desk.store.runs.latest(9)} == {"done"}


@pytest.mark.slow
async def test_it_takes_no_more_than_its_share_of_the_drafting(tmp_path: Path) -> None:
    desk, run = await drafted(tmp_path)
    spent = desk.store.calls.totals(run)
    # What this model writes is all that is counted of it.
    assert lineage.tracing_budget(desk.store, run, 10**6) == int(0.12 * (spent.prompt_tokens + spent.completion_tokens))
    reader, notes = Reader(), list[str]()
    async with desk.session(
        model=FunctionModel(reader, "reader"), observer=lambda event: notes.append(str(event))
    ) as session:
        found = await session.lineage(run, ask=True)
    assert not reader.asked
    assert any("sentences were not asked about: 12% of the tokens of drafting are used" in note for note in notes)
    assert found.sentences == read_lineage(desk.store, run).sentences


@pytest.mark.slow
async def test_of_a_run_that_has_drafted_nothing_the_document_is_the_measure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = Desk(tmp_path, reworded)
    async with desk.session() as session:
        given = await session.evaluate(chronicle(), LOST_AT_SEA, metrics=["statistics"])
    assert lineage.tracing_budget(desk.store, given.run.id, 5000) == 600
    monkeypatch.setattr(lineage, "SHARE", 10.0)
    reader = Reader()
    async with desk.session(model=FunctionModel(reader, "reader")) as session:
        found = await session.lineage(given.run.id, ask=True)
    assert [one.origins[0].chapter for one in found.sentences] == ["Finch"]


@pytest.mark.slow
@pytest.mark.usefixtures("plenty")
async def test_whoever_says_nothing_changes_nothing(tmp_path: Path) -> None:
    desk, run = await drafted(tmp_path)
    notes = list[str]()
    found = await traced(desk, run, Reader(silent=True), observer=lambda event: notes.append(str(event)))
    assert found.sentences == read_lineage(desk.store, run).sentences
    assert any("not all sentences could be asked about" in note for note in notes)


@pytest.mark.slow
@pytest.mark.usefixtures("plenty")
async def test_a_plan_asks_nobody_and_is_kept_to(tmp_path: Path) -> None:
    desk, run = await drafted(tmp_path)
    prepared = prepare(chronicle(), DraftConfig(**SETTINGS, strategy="given"))
    plan = planned_requests(desk.store, run, prepared)
    assert (plan.calls, plan.sentences > 0) == (1, True)
    assert 0 < plan.tokens <= plan.most
    reader = Reader()
    await traced(desk, run, reader)
    assert len(reader.asked[0].given.sentences) == plan.sentences


@pytest.mark.slow
@pytest.mark.usefixtures("plenty")
async def test_a_limit_of_calls_holds_and_the_run_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tracer, "_AT_ONCE", 1)
    desk, reader = Desk(tmp_path, reworded), Reader()
    async with desk.session() as session:
        summary = f"{LOST_AT_SEA} Dora instructed all youngsters thereabouts."
        run = (await session.evaluate(chronicle(), summary, metrics=["statistics"])).run.id
    with pytest.raises(BudgetError):
        await traced(desk, run, reader, limits=Limits(max_calls=1, concurrency=1))
    assert len(reader.asked) == 1
    (stopped,) = [one for one in desk.store.runs.latest(9) if one.kind == "lineage"]
    assert stopped.status == "stopped"
    async with desk.session(model=FunctionModel(reader, "reader")) as session:
        await session.resume(stopped.id, limits=Limits())
    assert desk.store.runs.get(stopped.id).status == "done"
    assert len(reader.asked) == len(set(reader.sentences)) == 2


async def test_what_cannot_be_asked_is_refused(tmp_path: Path) -> None:
    desk, run = await drafted(tmp_path)
    async with desk.session(model="extractive") as session:
        with pytest.raises(UsageError, match="compares words"):
            await session.lineage(run, ask=True)
    async with desk.session() as session:
        with pytest.raises(RunError, match="no run"):
            await session.lineage("ffff", ask=True)
