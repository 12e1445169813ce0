"""Tables that add up what a dossier holds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from redraft.dossier.contents import CallEntry, Fact, FactTree
from redraft.pages.wording import standing

_OK = "ok"


class Rows(NamedTuple):
    """A table: its head and its rows."""

    head: tuple[str, ...]
    rows: tuple[tuple[str | int | float | None, ...], ...]


def facts_by_level(trees: Sequence[FactTree]) -> Rows:
    """How many of the key facts the summary states, by perspective and level."""
    found: dict[tuple[str, str], list[Fact]] = {}
    for tree in trees:
        for fact in tree.facts:
            found.setdefault((tree.perspective, fact.level), []).append(fact)
    rows = tuple((*key, *_counted(facts)) for key, facts in sorted(found.items()))
    return Rows(("perspective", "level", "facts", "stated", "missing", "no verdict", "share stated"), rows)


def _counted(facts: Iterable[Fact]) -> tuple[int | float | None, ...]:
    kept = [standing(fact) for fact in facts if not fact.pruned]
    stated, missing = kept.count("stated"), kept.count("missing")
    judged = stated + missing
    return len(kept), stated, missing, len(kept) - judged, stated / judged if judged else None


def calls_by_prompt(calls: Sequence[CallEntry]) -> Rows:
    """What each prompt took."""
    found: dict[str, list[CallEntry]] = {}
    for call in calls:
        found.setdefault(call.prompt, []).append(call)
    return Rows(
        ("prompt", "calls", "from earlier runs", "in vain", "tokens in", "tokens out", "USD", "seconds"),
        tuple((prompt.replace("_", " "), *_added(of_one)) for prompt, of_one in found.items()),
    )


def _added(calls: Sequence[CallEntry]) -> tuple[int | float | None, ...]:
    own = [call for call in calls if not call.borrowed]
    costs = [call.cost_usd for call in own]
    return (
        len(own),
        len(calls) - len(own),
        sum(1 for call in own if call.outcome != _OK),
        sum(call.prompt_tokens for call in own),
        sum(call.completion_tokens for call in own),
        None if None in costs else sum(cost for cost in costs if cost),
        sum(call.seconds for call in own),
    )
