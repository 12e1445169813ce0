"""What a store's ledger tells of a model's replies, prompt by prompt, and whether the scores stand on what they say."""

from __future__ import annotations

import json
import re
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from redraft import Evaluation
from redraft.llm.base import TRUNCATED

GIVES_VERDICTS = {
    "coverage": "answer_from_summary",
    "consistency": "answer_from_document",
    "booookscore": "find_confusion",
    "keyfact_recall": "align_facts",
    "faithfulness": "verify_sentences",
}
"""By metric the prompt whose replies hold its verdicts, one an item."""
# An attempt that ended so was given up together with its run, and says nothing of the model.
_GIVEN_UP = ("sent", "lost", "cancelled")
# What an item is told from another by, where it is shown.
_WORDS = ("fact", "question", "sentence")
_CUT = ("length", TRUNCATED)
_ITEMS = re.compile(r"(.*?) (\d+)(?: to (\d+))?(?: try \d+)?")


@dataclass(frozen=True, slots=True)
class Asked:
    """One request of a run: where it stood, and its attempts in their order."""

    prompt: str
    label: str
    outcomes: tuple[str, ...]
    finishes: tuple[str, ...]
    seconds: float
    tokens: int
    """Of the replies."""
    temperature: float = 0.0
    run: str = ""

    @property
    def read(self) -> bool:
        """Whether there was a reply in the end that could be read."""
        return self.outcomes[-1] == "ok"

    @property
    def whole(self) -> bool:
        """Whether it came to its end, or as much as was asked for."""
        return self.read and self.finishes[-1] != TRUNCATED

    @property
    def items(self) -> tuple[str, int, int] | None:
        """What was asked about, from and to which number, where the label tells."""
        found = _ITEMS.fullmatch(self.label)
        return (found[1], int(found[2]), int(found[3] or found[2])) if found else None


COUNTS = ("requests", "read at once", "after repair", "in part", "asked again", "lost", "cut", "tokens", "s")
"""What became of the requests of a prompt: `in part` are replies that were cut, of which the whole entries were read;
`asked again` those that were not read, and asked for in parts or drawn once more with some temperature; `cut` all
attempts whose replies were cut off at their limit."""


def asked(database: Path) -> list[Asked]:
    """Every request that a model has answered, or failed to, in the order of the first attempts."""
    found: dict[tuple[str, str], list[sqlite3.Row]] = defaultdict(list)
    with closing(sqlite3.connect(database)) as ledger:
        ledger.row_factory = sqlite3.Row
        for row in ledger.execute("SELECT * FROM calls WHERE outcome NOT IN (?, ?, ?) ORDER BY id", _GIVEN_UP):
            found[row["run"], row["key"]].append(row)
    return [
        Asked(
            rows[0]["prompt"],
            rows[0]["label"],
            tuple(row["outcome"] for row in rows),
            tuple(row["finish_reason"] for row in rows),
            sum(row["seconds"] for row in rows),
            sum(row["completion_tokens"] for row in rows),
            json.loads(rows[0]["body"])["temperature"],
            rows[0]["run"],
        )
        for rows in found.values()
    ]


def tallies(requests: Sequence[Asked]) -> dict[str, Counter[str]]:
    """What became of the requests by prompt, in the order in which the prompts were first used."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for at, request in enumerate(requests):
        if request.whole:
            outcome = "read at once" if len(request.outcomes) == 1 else "after repair"
        elif request.read:
            outcome = "in part"
        else:
            outcome = "asked again" if _is_asked_again(request, requests[at + 1 :]) else "lost"
        cut = sum(finish in _CUT for finish in request.finishes)
        counts[request.prompt].update({"requests": 1, outcome: 1, "cut": cut, "tokens": request.tokens})
        counts[request.prompt]["s"] += round(request.seconds)
    return dict(counts)


def _is_asked_again(one: Asked, later: Iterable[Asked]) -> bool:
    """Whether a request that could not be read was followed by one for a part of it, or by another draw of the same."""
    return any((other.run, other.prompt) == (one.run, one.prompt) and _is_part(other, one) for other in later)


def _is_part(other: Asked, one: Asked) -> bool:
    if other.label == one.label:
        return other.temperature != one.temperature
    mine, theirs = one.items, other.items
    if mine and theirs and theirs[:2] == mine[:2] and theirs[2] < mine[2]:
        return True
    return other.label.startswith(f"{one.label}, part ")


def entries(database: Path) -> dict[str, int]:
    """By prompt how many entries the readable replies hold: no score can stand on more verdicts than that."""
    found: dict[str, int] = defaultdict(int)
    with closing(sqlite3.connect(database)) as ledger:
        rows = ledger.execute(
            "SELECT c.prompt, t.text FROM calls c JOIN texts t ON t.id = c.reply WHERE c.outcome = 'ok'"
        )
        for prompt, text in rows:
            if prompt in GIVES_VERDICTS.values():
                found[prompt] += sum(len(one) for one in json.loads(text).values() if isinstance(one, list))
    return dict(found)


def unsound(evaluations: Iterable[Evaluation], said: Mapping[str, int]) -> Iterator[str]:
    """What does not add up in evaluations of one document, in sentences; `said` are the `entries` of its ledger."""
    for one in evaluations:
        prompt = GIVES_VERDICTS.get(one.metric)
        if prompt is None:
            continue
        if (one.score is not None) != (one.outcome == "scored"):
            yield f"{one.metric} is {one.outcome} and has the score {one.score}"
        if one.outcome != "scored":
            continue
        shown = [item for group in one.details.values() for item in _judged_items(group)]
        if one.judged == 0 or one.judged != len(shown):
            yield f"{one.metric} says that {one.judged} items were judged, and shows {len(shown)} verdicts"
        # What has the same words, a fact of two trees or a sentence that is repeated, is asked about once.
        asked_about = len({next((item[key] for key in _WORDS if key in item), at) for at, item in enumerate(shown)})
        if asked_about > said.get(prompt, 0):
            yield f"{one.metric} has verdicts on {asked_about} items, and the replies hold {said.get(prompt, 0)}"


def _judged_items(group: Any) -> list[Mapping[str, Any]]:
    if not isinstance(group, list | tuple):
        return []
    return [one for one in group if isinstance(one, Mapping) and one.get("verdict", "unjudged") != "unjudged"]
