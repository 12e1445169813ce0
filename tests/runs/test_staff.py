"""The models of a run: at which address, under which identity, and in which role."""

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
    model_roles,
    open_models,
    with_addresses,
)
from redraft.runs.prepare import prepare, record
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
    return {role.role: role.settings.base_url for role in assigned if role.model is None}


@pytest.mark.parametrize("writer", ["openai:writer", None])
def test_judges_do_not_write(writer: str | None) -> None:
    roles = model_roles(writer, ["openai:first", "openai:second"], None, None)
    assert (roles.model, roles.judges) == (writer, ("openai:first", "openai:second"))
    assert roles.settings(DraftConfig(model="openai:settings")).model == (writer or "openai:settings")


def test_object_judges_leave_the_validators_address() -> None:
    settings = DraftConfig(model="openai:m", base_url=LOCAL)
    roles = model_roles(None, [silent("mine")], None, None)
    judging = roles.judging(JudgeConfig(validator="openai:x"))
    judging = with_addresses(judging, settings, objects=roles.objects)
    assert (judging.judges, judging.base_url) == (("mine",), LOCAL)
    assert addresses(judging, settings, objects=roles.objects) == {"writer": LOCAL, "validator": LOCAL}


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
def test_named_models_share_one_address(settings: DraftConfig, judges: str | None, address: str) -> None:
    judging = JudgeConfig(judges=("openai:a", "extractive"), validator="openai:b", base_url=judges)
    refinement = RefineConfig(goals={"coverage": 1}, decider="openai:c")
    objects = {settings.model: silent(settings.model)} if settings.model not in ("openai:m", "extractive") else {}
    by_role = addresses(judging, settings, refinement, objects)
    assert (by_role["validator"], by_role["decider"]) == (address, address)
    complete = with_addresses(judging, settings, refinement, objects)
    assert complete.base_url == address
    assigned = assign_models(settings, complete, Limits(), None, refinement=refinement, objects=objects)
    assert [role.settings.base_url for role in assigned if role.role == "judge"] == [address, None]


async def test_only_the_writer_has_its_temperature(tmp_path: Path) -> None:
    settings = DraftConfig(model="openai:m", base_url=LOCAL, temperature=0.9, top_p=0.5)
    for judging in (JudgeConfig(), JudgeConfig(judges=("openai:m",), validator="openai:x")):
        writer, *others = assign_models(settings, with_addresses(judging, settings), Limits(), None)
        assert (writer.settings.temperature, writer.settings.top_p) == (0.9, 0.5)
        assert {(role.settings.temperature, role.settings.top_p) for role in others} <= {(None, None)}

    drawn: list[tuple[float, float | None]] = []

    def reply(request: Request[Any, Any]) -> ModelError:
        drawn.append((request.sampling.temperature, request.sampling.top_p))
        return ModelError("nobody answers")

    async with Session(tmp_path / "redraft.db", model=FunctionModel(reply, identity="mine")) as session:
        with suppress(ModelError):
            await session.evaluate(parse(TEXT, name="t.txt"), "The keeper lights it.", temperature=0.9, top_p=0.5)
    assert set(drawn) == {(0.0, None)}


def test_another_provider_ignores_the_writers_address() -> None:
    settings = DraftConfig(model="openai:m", base_url=LOCAL)
    judging = JudgeConfig(judges=("openai:a",), validator="azure_openai:x")
    assert with_addresses(judging, settings).base_url is None
    assert addresses(judging, settings) == {"writer": LOCAL, "judge": LOCAL, "validator": None}


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (("writer", "twin", "twin'"), "two models have the identity twin"),
        (("twin", "twin'"), "two models have the identity twin"),
        (("writer", "twin", "twin"), "the judge twin is named twice"),
    ],
)
async def test_a_panel_of_twins_is_refused(tmp_path: Path, names: tuple[str, ...], words: str) -> None:
    models: dict[str, Model] = {name: silent(name.rstrip("'")) for name in names}
    writer, *judges = (models[name] for name in names)
    with Store(tmp_path / "redraft.db") as store:
        with pytest.raises(UsageError, match=words) as caught:
            async with Session(store, model=writer, judges=judges) as session:
                await session.evaluate(parse(TEXT, name="a"), "A lamp is lit.")
        assert store.runs.latest(10) == []
    assert "identity=" in caught.value.hint or "`repeat`" in caught.value.hint


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
        run = record(prepared, order_of_draft(judging, refinement), store)
        assigned = assign_models(settings, judging, Limits(), None, refinement=refinement, objects=objects or {})
        async with open_models(assigned, run, prepared.document, prepared.book, store, ignore_event) as pool:
            yield pool


async def test_named_twin_of_an_object_is_refused(tmp_path: Path) -> None:
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
        validator, decider = pool.validator.model.identity, pool.decider.model.identity
        assert (pool.writer.model.identity, judges, validator, decider) == expected


def test_a_cost_limit_needs_every_price(tmp_path: Path) -> None:
    table = tmp_path / "prices.toml"
    table.write_text('[prices]\n"m" = { prompt = 1, completion = 1 }\n', "utf-8")
    settings, refinement = DraftConfig(model="openai:m"), RefineConfig(goals={"coverage": 1}, decider="openai:dear")
    with pytest.raises(UsageError, match="the price of openai:dear is unknown"):
        assign_models(settings, JudgeConfig(), Limits(max_cost=1), price_table(str(table)), refinement=refinement)


def test_an_object_costs_what_its_name_costs() -> None:
    names = (f"openai:gpt-4o@{PUBLIC}", f"openai:gpt-4o@{LOCAL}")
    public, local = (
        assign_models(DraftConfig(model=name), None, Limits(), None, objects={name: silent(name)})[0] for name in names
    )
    by_name = assign_models(DraftConfig(model="openai:gpt-4o", base_url=PUBLIC), None, Limits(), None)[0]
    assert public.price == by_name.price
    assert public.price is not None
    assert local.price is None


async def test_the_prompt_sent_is_the_prompt_hashed(tmp_path: Path) -> None:
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
