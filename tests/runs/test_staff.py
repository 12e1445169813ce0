"""Who is hired for a run: at which address, under which identity, and in which role."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage

from redraft import DraftConfig, Limits, Session, Store
from redraft.errors import ModelError, UsageError
from redraft.events import ignore_event
from redraft.llm.base import FunctionModel, Model, Request
from redraft.llm.budget import price_table
from redraft.llm.chat import ChatModel
from redraft.order import order_of_draft
from redraft.prompts.book import PromptBook
from redraft.readers.documents import parse
from redraft.runs.models import (
    ModelPool,
    assign_models,
    by_identity,
    model_roles,
    open_models,
    settings_by_role,
    with_addresses,
)
from redraft.runs.prepare import RunSpec, prepare, record
from redraft.settings import JudgeConfig, RefineConfig

LOCAL = "http://localhost:8000/v1"
ELSEWHERE = "http://judges.example/v1"
PUBLIC = "https://api.openai.com/v1"
TEXT = b"The keeper lights the lamp. The ship comes home. " * 20


def silent(identity: str) -> FunctionModel:
    return FunctionModel(lambda request: ModelError("nobody asks"), identity=identity)


def addresses(
    judging: JudgeConfig,
    settings: DraftConfig,
    refinement: RefineConfig | None = None,
    objects: Mapping[str, Model] | None = None,
) -> dict[str, str | None]:
    """Where each of those who are opened is, after the judging has been on record."""
    objects = objects or {}
    judging = with_addresses(judging, settings, refinement, objects)
    assigned = assign_models(settings, judging, Limits(), None, refinement=refinement, objects=objects)
    return {one.role: one.settings.base_url for one in assigned if one.model is None}


@pytest.mark.parametrize("writer", ["openai:writer", None])
def test_judges_do_not_write(writer: str | None) -> None:
    there = model_roles(writer, ["openai:first", "openai:second"], None, None)
    assert (there.model, there.judges) == (writer, ("openai:first", "openai:second"))
    written = "openai:settings" if writer is None else writer
    assert there.settings(DraftConfig(model="openai:settings")).model == written


def test_a_validator_is_where_the_writer_is_whoever_judges() -> None:
    settings = DraftConfig(model="openai:m", base_url=LOCAL)
    judging = JudgeConfig(judges=("mine",), validator="openai:x")
    assert addresses(judging, settings, objects={"mine": silent("mine")}) == {"writer": LOCAL, "validator": LOCAL}


def test_with_judges_handed_over_a_run_asks_its_validator_where_the_writer_is() -> None:
    settings = DraftConfig(model="openai:m", base_url=LOCAL)
    there = model_roles(None, [silent("mine")], None, None)
    judging = there.judging(JudgeConfig(validator="openai:x"), settings)
    assert (judging.judges, judging.base_url) == (("mine",), LOCAL)


@pytest.mark.parametrize(
    ("settings", "judges", "address"),
    [
        (DraftConfig(model="openai:m", base_url=LOCAL), None, LOCAL),
        (DraftConfig(model="openai:m", base_url=LOCAL), ELSEWHERE, ELSEWHERE),
        (DraftConfig(base_url=LOCAL), None, LOCAL),  # the built-in writer is nowhere
        (DraftConfig(), ELSEWHERE, ELSEWHERE),
        (DraftConfig(), None, PUBLIC),
        (DraftConfig(model=f"openai:m@{LOCAL}"), None, LOCAL),  # handed over
        (DraftConfig(model="mine", base_url=LOCAL), None, LOCAL),
    ],
)
def test_everybody_who_is_named_is_at_one_address(settings: DraftConfig, judges: str | None, address: str) -> None:
    judging = JudgeConfig(judges=("openai:a", "extractive"), validator="openai:b", base_url=judges)
    refinement = RefineConfig(goals={"coverage": 1}, decider="openai:c")
    objects = {settings.model: silent(settings.model)} if settings.model not in ("openai:m", "extractive") else {}
    found = addresses(judging, settings, refinement, objects)
    assert (found["validator"], found["decider"]) == (address, address)
    filled = with_addresses(judging, settings, refinement, objects)
    assert filled.base_url == address
    assigned = assign_models(settings, filled, Limits(), None, refinement=refinement, objects=objects)
    assert [one.settings.base_url for one in assigned if one.role == "judge"] == [address, None]


async def test_the_writers_temperature_is_nobody_elses(tmp_path: Path) -> None:
    settings = DraftConfig(model="openai:m", base_url=LOCAL, temperature=0.9, top_p=0.5)
    for judging in (JudgeConfig(), JudgeConfig(judges=("openai:m",), validator="openai:x")):
        roles = settings_by_role(assign_models(settings, with_addresses(judging, settings), Limits(), None))
        assert (roles["writer"].temperature, roles["writer"].top_p) == (0.9, 0.5)
        assert {(one.temperature, one.top_p) for role, one in roles.items() if role != "writer"} == {(None, None)}

    drawn: list[tuple[float, float | None]] = []

    def reply(request: Request[Any, Any]) -> ModelError:
        drawn.append((request.sampling.temperature, request.sampling.top_p))
        return ModelError("nobody answers")

    async with Session(tmp_path / "redraft.db", model=FunctionModel(reply, identity="mine")) as session:
        with suppress(ModelError):
            await session.evaluate(parse(TEXT, name="t.txt"), "The keeper lights it.", temperature=0.9, top_p=0.5)
    assert set(drawn) == {(0.0, None)}


def test_a_writers_address_is_none_for_models_of_another_provider() -> None:
    settings = DraftConfig(model="openai:m", base_url=LOCAL)
    judging = JudgeConfig(judges=("openai:a",), validator="azure_openai:x")
    assert with_addresses(judging, settings).base_url is None
    assert addresses(judging, settings) == {"writer": LOCAL, "judge": LOCAL, "validator": None}


def test_two_models_of_one_identity_are_refused() -> None:
    one, two = silent("twin"), silent("twin")
    assert by_identity([one, one]) == {"twin": one}
    with pytest.raises(UsageError, match="two models have the identity twin") as caught:
        by_identity([one, two])
    assert "identity=" in caught.value.hint


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (("writer", "twin", "twin'"), "two models have the identity twin"),
        (("twin", "twin'"), "two models have the identity twin"),
        (("writer", "twin", "twin"), "the judge twin is named twice"),
    ],
)
async def test_a_panel_of_twins_is_refused_before_anybody_is_asked(
    tmp_path: Path, names: tuple[str, ...], words: str
) -> None:
    models: dict[str, Model] = {name: silent(name.rstrip("'")) for name in names}
    writer, *judges = (models[name] for name in names)
    with Store(tmp_path / "redraft.db") as store:
        with pytest.raises(UsageError, match=words):
            async with Session(store, model=writer, judges=judges) as session:
                await session.evaluate(parse(TEXT, name="a"), "A lamp is lit.")
        assert store.runs.latest(10) == []


@asynccontextmanager
async def team(
    folder: Path,
    settings: DraftConfig,
    judging: JudgeConfig,
    refinement: RefineConfig | None = None,
    objects: Mapping[str, Model] | None = None,
) -> AsyncIterator[ModelPool]:
    """A run's models at work."""
    with Store(folder / "redraft.db") as store:
        prepared = prepare(parse(TEXT, name="a"), DraftConfig())
        run = record(prepared, RunSpec(order_of_draft(judging, refinement)), Limits(), store)
        assigned = assign_models(settings, judging, Limits(), None, refinement=refinement, objects=objects or {})
        async with open_models(assigned, run, prepared.document, prepared.book, store, ignore_event) as pool:
            yield pool


async def test_a_model_that_is_opened_is_no_twin_of_one_that_is_handed_over(tmp_path: Path) -> None:
    settings, twin = DraftConfig(model="openai:m", base_url=LOCAL), silent(f"openai:m@{LOCAL}")
    with pytest.raises(UsageError, match="two models have the identity openai:m@http"):
        async with team(tmp_path, settings, JudgeConfig(judges=(twin.identity,)), objects={twin.identity: twin}):
            pass


@pytest.mark.parametrize(
    ("judging", "decider", "expected"),
    [
        (JudgeConfig(), None, ("w", ("w",), "w", "w")),
        (JudgeConfig(judges=("a", "w")), None, ("w", ("a", "w"), "a", "w")),
        (JudgeConfig(judges=("a",), validator="w"), "a", ("w", ("a",), "w", "a")),
        (JudgeConfig(validator="a"), "d", ("w", ("w",), "a", "d")),
    ],
)
async def test_one_object_may_have_several_roles(
    tmp_path: Path, judging: JudgeConfig, decider: str | None, expected: tuple[Any, ...]
) -> None:
    objects = {name: silent(name) for name in "wad"}
    refinement = RefineConfig(goals={"coverage": 1}, decider=decider)
    async with team(tmp_path, DraftConfig(model="w"), judging, refinement, objects) as pool:
        judges = tuple(judge.model.identity for judge in pool.judges)
        others = (pool.validator.model.identity, pool.decider.model.identity)
        assert (pool.writer.model.identity, judges, *others) == expected


def test_a_cost_limit_needs_the_price_of_the_decider_too(tmp_path: Path) -> None:
    table = tmp_path / "prices.toml"
    table.write_text('[prices]\n"m" = { prompt = 1, completion = 1 }\n', "utf-8")
    settings, refinement = DraftConfig(model="openai:m"), RefineConfig(goals={"coverage": 1}, decider="openai:dear")
    with pytest.raises(UsageError, match="the price of openai:dear is unknown"):
        assign_models(settings, JudgeConfig(), Limits(max_cost=1), price_table(str(table)), refinement=refinement)


def test_a_model_handed_over_costs_what_it_costs_by_name() -> None:
    names = (f"openai:gpt-4o@{PUBLIC}", f"openai:gpt-4o@{LOCAL}")
    here, there = (
        assign_models(DraftConfig(model=name), None, Limits(), None, objects={name: silent(name)})[0] for name in names
    )
    assert (
        here.price == assign_models(DraftConfig(model="openai:gpt-4o", base_url=PUBLIC), None, Limits(), None)[0].price
    )
    assert here.price is not None
    assert there.price is None


async def test_what_is_sent_is_what_was_hashed(tmp_path: Path) -> None:
    folder = tmp_path / "prompts"
    folder.mkdir()
    standard = PromptBook().source("summarize_whole")
    (folder / "summarize_whole.md").write_text(f"Ahoy! {standard}", "utf-8")
    sent: list[str] = []

    class Noting(GenericFakeChatModel):
        def _generate(self, messages: Any, *args: Any, **kwargs: Any) -> Any:
            sent.append(messages[-1].text)
            return super()._generate(messages, *args, **kwargs)

    model = ChatModel(Noting(messages=iter([AIMessage("A lamp is lit, and a ship comes home.")])), identity="fake")
    settings = DraftConfig(strategy="direct", prompts=str(folder), words=20)
    with Store(tmp_path / "redraft.db") as store:
        async with Session(store, model=model) as session:
            await session.summarize(parse(TEXT, name="a"), settings=settings)
        with sqlite3.connect(store.path) as database:
            hashes = database.execute("SELECT prompt, json_extract(body, '$.prompt_hash') FROM calls").fetchall()
        database.close()
    assert [text[:6] for text in sent] == ["Ahoy! "]
    assert hashes == [("summarize_whole", PromptBook(str(folder)).hashes()["summarize_whole"])]
