"""Runs to look at: of a document with letters that take two units, marks that combine, and words from right to left."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

from redraft import Document, Session
from redraft.readers.documents import parse
from redraft.settings import DraftConfig, JudgeConfig, RefineConfig

SAMPLE = Path(__file__).resolve().parents[2] / "examples" / "the-salt-ledger.md"
OPENING = "A note by the printer 🧂🧂: שלום לקורא, cafe\u0301 and nai\u0308ve are set with marks that combine."


def strange() -> Document:
    """The sample book with an emoji in every paragraph, so that characters and units are far apart at its end."""
    title, *rest = SAMPLE.read_text("utf-8").split("\n\n")
    paragraphs = [f"{one} 🌊" if not one.startswith("#") else one for one in rest]
    return parse("\n\n".join([title, OPENING, *paragraphs]).encode(), name="salt.md")


def refined(database: Path, document: Document | None = None, **goals: float) -> str:
    """A refinement by the built-in model; its id."""

    async def work() -> str:
        wanted = RefineConfig(goals=goals or {"coverage": 0.8, "keyfact_recall": 0.6}, rounds=2)
        judging = JudgeConfig(metrics=tuple(wanted.goals))
        async with Session(database, settings=DraftConfig(words=300, model="extractive")) as session:
            result = await session.summarize(document or strange(), refinement=wanted, judging=judging)
            return result.run.id

    return asyncio.run(work())


def changed(value: Any, change: Callable[[str], str], keep: frozenset[str] = frozenset()) -> Any:
    """A value with every text in it changed, but for what stands under the names to keep."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {name: one if name in keep else changed(one, change, keep) for name, one in value.items()}
    return [changed(one, change, keep) for one in value] if isinstance(value, list | tuple) else value
