"""What a run has built that summaries are judged by."""

from __future__ import annotations

from dataclasses import replace

from redraft.domain import KeyFacts, Pack
from redraft.errors import RunError
from redraft.history.results import Result
from redraft.store.store import Store


def built(store: Store, result: Result) -> Pack:
    """The questions that a run of `build_pack` has built."""
    return store.packs.get(_built(result, result.run.judging.pack if result.run.judging else None))


def built_keyfacts(store: Store, result: Result) -> KeyFacts:
    """The key facts that a run of `build_pack` has built, from the perspectives that it was asked for."""
    judging = result.run.judging
    found = store.keyfacts.get(_built(result, judging.keyfacts if judging else None))
    chosen = judging.perspective if judging else "both"
    # Those that were there already may be from both.
    return replace(found, trees=tuple(tree for tree in found.trees if chosen in ("both", tree.perspective)))


def _built(result: Result, key: str | None) -> str:
    if key is None:
        raise RunError(f"run {result.run.id} has built no pack", hint=f"redraft resume {result.run.id}")
    return key
