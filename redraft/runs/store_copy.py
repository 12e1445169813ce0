"""Copies a store with its checkpoints, so that stopped runs can be resumed in the copy."""

from __future__ import annotations

from collections import defaultdict
from contextlib import AsyncExitStack
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, Checkpoint, CheckpointTuple

from redraft.errors import RunError, UsageError
from redraft.runs.driver import open_saver
from redraft.store.checkpoints import thread_of
from redraft.store.connection import off_loop
from redraft.store.copy import CopyReport, copy
from redraft.store.store import Store

Saver = BaseCheckpointSaver[Any]


async def copy_store(source: Store, target: Store) -> CopyReport:
    """Copy all that is not there yet. Of a run at work, a part would be copied: that is a `RunError`."""
    if source.address == target.address:
        raise UsageError("the two databases are the same one", hint="name another to copy it to")
    if at_work := [run for run, _, _ in source.runs.stamps() if source.is_claimed(run)]:
        raise RunError(f"run {at_work[0]} is in use", hint="wait for it, or stop it first")
    copied = await off_loop(copy, source.connection, target.connection)
    async with AsyncExitStack() as closing:
        here, there = [await open_saver(store.checkpoints, closing) for store in (source, target)]
        for run in copied.runs:
            await _copy_thread(here, there, thread_of(run))
    return copied


async def _copy_thread(source: Saver, target: Saver, thread: str) -> None:
    """Copy the latest checkpoint of each graph of a thread; earlier ones are not needed."""
    latest: dict[str, CheckpointTuple] = {}
    async for found in source.alist({"configurable": {"thread_id": thread}}):
        latest.setdefault(found.config["configurable"].get("checkpoint_ns", ""), found)
    for space, found in latest.items():
        await _put(target, thread, space, found)


async def _put(target: Saver, thread: str, space: str, found: CheckpointTuple) -> None:
    checkpoint = _versioned(found.checkpoint)
    parent = found.parent_config["configurable"].get("checkpoint_id") if found.parent_config else None
    place: RunnableConfig = {"configurable": {"thread_id": thread, "checkpoint_ns": space, "checkpoint_id": parent}}
    there = await target.aput(place, checkpoint, found.metadata, checkpoint["channel_versions"])
    writes: dict[str, list[tuple[str, Any]]] = defaultdict(list)
    for task, channel, value in found.pending_writes or ():
        writes[task].append((channel, value))
    for task, said in writes.items():
        await target.aput_writes(there, said, task)


def _versioned(checkpoint: Checkpoint) -> Checkpoint:
    """Return the checkpoint with text versions, which every saver can continue."""
    copied = checkpoint.copy()
    copied["channel_versions"] = {name: _text(version) for name, version in checkpoint["channel_versions"].items()}
    copied["versions_seen"] = {
        node: {name: _text(version) for name, version in seen.items()}
        for node, seen in checkpoint["versions_seen"].items()
    }
    return copied


def _text(version: str | int | float) -> str:
    return version if isinstance(version, str) else f"{int(version):032}.{0.0:016}"
