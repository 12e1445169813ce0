"""The models of a run: at which address, under which identity, and at which price."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from redraft import DraftConfig, Session, Store
from redraft.errors import ModelError, UsageError
from redraft.llm.base import FunctionModel, Model, Request
from redraft.order import OrderParts, Summarize
from redraft.readers.documents import parse
from redraft.runs.model_settings import NO_ITEM
from redraft.runs.models import assign_models, with_addresses
from redraft.settings import JudgeConfig, RefineConfig

LOCAL = "http://localhost:8000/v1"
ELSEWHERE = "http://judges.example/v1"
PUBLIC = "https://api.openai.com/v1"
TEXT = b"The keeper lights the lamp. The ship comes home. " * 20


def silent(identity: str) -> FunctionModel:
    return FunctionModel(lambda request: ModelError("nobody asks"), identity=identity)


def addressed(judging: JudgeConfig, objects: Mapping[str, Model] = NO_ITEM, **parts: Any) -> OrderParts:
    """The parts of an order, after the judging has been on record."""
    return with_addresses(OrderParts(judging=judging, **parts), objects)


def addresses(order: OrderParts, objects: Mapping[str, Model] = NO_ITEM) -> dict[str, str | None]:
    """Where each of those who are opened is."""
    return {role.role: role.settings.base_url for role in assign_models(order, objects=objects) if role.model is None}


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
    complete = addressed(judging, objects, settings=settings, refinement=refinement)
    by_role = addresses(complete, objects)
    assert (by_role["validator"], by_role["decider"]) == (address, address)
    assert complete.judging.base_url == address
    assigned = assign_models(complete, objects=objects)
    assert [role.settings.base_url for role in assigned if role.role == "judge"] == [address, None]


async def test_only_the_writer_has_its_temperature(tmp_path: Path) -> None:
    settings = DraftConfig(model="openai:m", base_url=LOCAL, temperature=0.9, top_p=0.5)
    for judging in (JudgeConfig(), JudgeConfig(judges=("openai:m",), validator="openai:x")):
        writer, *others = assign_models(addressed(judging, settings=settings))
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
    order = addressed(judging, settings=settings)
    assert order.judging.base_url is None
    assert addresses(order) == {"writer": LOCAL, "judge": LOCAL, "validator": None}


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


def test_an_object_costs_what_its_name_costs() -> None:
    names = (f"openai:gpt-4o@{PUBLIC}", f"openai:gpt-4o@{LOCAL}")
    public, local = (
        assign_models(Summarize(settings=DraftConfig(model=name)), objects={name: silent(name)})[0] for name in names
    )
    by_name = assign_models(Summarize(settings=DraftConfig(model="openai:gpt-4o", base_url=PUBLIC)))[0]
    assert public.price == by_name.price
    assert public.price is not None
    assert local.price is None
