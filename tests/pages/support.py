"""Runs to look at: of a document with letters that take two units, marks that combine, and words from right to left."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from redraft import Document, Session
from redraft.readers.documents import parse
from redraft.settings import DraftConfig, JudgeConfig, RefineConfig

SAMPLE = Path(__file__).resolve().parents[2] / "examples" / "the-salt-ledger.md"
OPENING = "A note by the printer 🧂🧂: שלום לקורא, cafe\u0301 and nai\u0308ve are set with marks that combine."


PAYLOAD = (
    "</script></style><script>window.harmed=1</script><img src=x onerror='window.harmed=1'>\"'`--><!-- \u202e{{ 7*7 }}"
)
# The fields that programs read. All others may come from a document, a reply or a user.
STRUCTURE = frozenset(
    {"state", "created", "updated", "level", "by", "method", "task", "drift", "outcome", "kind", "id", "draft"}
    | {"perspective", "dimension", "became", "verdict", "strategy"}
)


def opened(page: Any, path: Path, anchor: str = "") -> Any:
    """Open a file in a browser, and wait until its script has run."""
    page.goto(f"file://{path}{anchor}")
    page.wait_for_selector("html[data-ready]", state="attached")
    return page


def strange() -> Document:
    """The sample book with an emoji in every paragraph, so that characters and units are far apart at its end."""
    title, *rest = SAMPLE.read_text("utf-8").split("\n\n")
    paragraphs = [text if text.startswith("#") else f"{text} 🌊" for text in rest]
    return parse("\n\n".join([title, OPENING, *paragraphs]).encode(), name="salt.md")


def refined(database: Path, document: Document | None = None, **goals: float) -> str:
    """A refinement by the built-in model; its id."""

    async def work() -> str:
        refinement = RefineConfig(goals=goals or {"coverage": 0.8, "keyfact_recall": 0.6}, rounds=2)
        judging = JudgeConfig(metrics=tuple(refinement.goals))
        async with Session(database, settings=DraftConfig(words=300, model="extractive")) as session:
            result = await session.summarize(document or strange(), refinement=refinement, judging=judging)
            return result.run.id

    return asyncio.run(work())


def changed(value: Any, change: Callable[[str], str], keep: frozenset[str]) -> Any:
    """Return records with every text in them changed, but for the fields to keep."""

    def fields_of(names: Iterable[str]) -> dict[str, Any]:
        return {name: changed(getattr(value, name), change, keep) for name in names if name not in keep}

    if isinstance(value, str):
        return change(value)
    if isinstance(value, BaseModel):
        return value.model_copy(update=fields_of(type(value).model_fields))
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **fields_of(field.name for field in fields(value)))
    if isinstance(value, dict):
        return {name: entry if name in keep else changed(entry, change, keep) for name, entry in value.items()}
    if hasattr(value, "_fields"):
        return value
    return type(value)(changed(entry, change, keep) for entry in value) if isinstance(value, list | tuple) else value
