"""The sets by which it is measured whether the built-in judge can be believed; each is skipped where it is absent."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from benchmarks.common import DATA, stories

DOMAINS = ("news", "podcast", "qmsumm", "samsum", "sales_email")


class Edited(NamedTuple):
    """A summary of SummEdits: most are another's with one small edit."""

    domain: str
    document: str
    summary: str
    consistent: bool
    edits: tuple[str, ...]


class Rated(NamedTuple):
    """A document of REALSumm: people's key facts, and by system a summary and how much people found in it."""

    document: str
    facts: list[str]
    summaries: list[tuple[str, str, float]]


def summedits() -> Iterator[Edited]:
    """All domains that are there."""
    for domain in DOMAINS:
        folder = DATA / "summedits"
        documents = {one["id"]: one["text"] for one in _lines(f"{folder}/{domain}.documents.jsonl")}
        for one in _lines(f"{folder}/{domain}.jsonl"):
            kinds = tuple(one["edit_types"]) or ("unnamed",)
            yield Edited(domain, documents[one["document"]], one["summary"], bool(one["consistent"]), kinds)


def references() -> Iterator[tuple[str, str]]:
    """The stories with each of people's summaries of the plot."""
    for story in stories():
        for response in story["questions"][0]["responses"]:
            yield story["document"], response["response_text"]


def realsumm() -> Iterator[Rated]:
    """Documents with facts and rated summaries."""
    for one in _lines(f"{DATA}/realsumm/documents.jsonl"):
        rated = [(each["system"], each["summary"], each["litepyramid_recall"]) for each in one["summaries"]]
        yield Rated(one["document"], one["key_facts"], rated)


def _lines(path: str) -> list[Any]:
    try:
        with open(path, encoding="utf-8") as file:
            return [json.loads(line) for line in file]
    except FileNotFoundError:
        return []
