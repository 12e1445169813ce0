"""Whether the calls of the summary tree should be LangGraph tasks: how fast, what is stored, what a kill repeats.

    python -m benchmarks.tasks [--kills 10]        (eleven minutes)

The latencies of `benchmarks.schedule` without a server, others after a resume; 16 calls at once; AsyncSqliteSaver on a
file, durability "sync". The schedule is that of 70 chunks and merges of 28, as there; the kills (SIGKILL after a random
number of answers) are in merges of 8, ten times as fast. A ledger keeps replies by their prompts, as redraft's does.

    scheduler           a scheduler inside one node, whose result is all that LangGraph stores: redraft's tree
    task, one name      the same, and every call is a `@task`, all of one name
    task, own names     ... every task has the name of its place in the tree
    task, fixed order   ... and all are called when the node starts, in one order, and wait inside for their texts
    Send                a `Send` for every chunk, a barrier, and a superstep for every merge

Tasks hold the schedule. But LangGraph knows a task by its name and by how many were called before it, and in a tree
latencies decide on that: with one name a resumed run takes one place's summary for another's, with own names it asks
again for what it has. Called in a fixed order tasks resume right, but that takes knowing every merge in advance, and
the tree finds its merges on the way. A ledger repeats nothing that was answered, whichever way; so redraft keeps both.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import multiprocessing
import operator
import os
import random
import sqlite3
import tempfile
import time
from collections.abc import Awaitable
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Annotated, Any

from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.func import task
from langgraph.graph import END, START, StateGraph
from langgraph.types import Send
from typing_extensions import TypedDict

from benchmarks.common import table
from redraft.graphs.hierarchical import MergeScheduler

CONCURRENCY, PACE = 16, 0.1
WAYS = ("scheduler", "task, one name", "task, own names", "task, fixed order", "Send")
# Characters of a chunk with its prompt, and of a summary by level, as `benchmarks.schedule` has them; 4 are a token.
CHUNK, REPLIES = 9_270, (1_570, 2_450, 3_760)

Place = tuple[int, int]  # level, index


@dataclass(frozen=True)
class Shape:
    """How many chunks there are, and how many summaries make a merge, which is given the one before it as well."""

    chunks: int
    fan: int

    def places(self) -> list[Place]:
        sizes = [self.chunks]
        while sizes[-1] > 1:
            sizes.append(-(-sizes[-1] // self.fan))
        return [(level, index) for level, size in enumerate(sizes) for index in range(size)]

    def below(self, place: Place) -> list[Place]:
        level, index = place
        under = [(level - 1, index * self.fan + number) for number in range(self.fan)]
        return [one for one in self.places() if level and one in (*under, (level, index - 1))]

    def prompt(self, place: Place, texts: dict[Place, str]) -> str:
        return " ".join(texts[one] for one in self.below(place)) or f"chunk {place[1]} ".ljust(CHUNK, "-")


class Model:
    """Answers after a while, with a text that depends on the prompt alone, and logs what it was asked."""

    def __init__(self, folder: Path, seed: str, pace: float, ledger: bool) -> None:
        self._seed, self._pace, self._free = seed, pace, asyncio.Semaphore(CONCURRENCY)
        self._log = os.open(folder / "calls.log", os.O_CREAT | os.O_APPEND | os.O_WRONLY)
        self._ledger = sqlite3.connect(folder / "ledger.db" if ledger else ":memory:", isolation_level=None)
        self._ledger.execute("PRAGMA journal_mode = WAL")
        self._ledger.execute("CREATE TABLE IF NOT EXISTS replies (key TEXT PRIMARY KEY, text TEXT)")

    def answer(self, place: Place, prompt: str) -> tuple[str, float]:
        size = REPLIES[min(place[0], len(REPLIES) - 1)]
        seconds = 0.25 + 0.00006 * len(prompt) / 4 + 0.0045 * size / 4
        text = (hashlib.sha256(prompt.encode()).hexdigest() * (size // 64 + 1))[:size]
        return text, seconds * random.Random(f"{self._seed} {prompt}").uniform(0.8, 1.2)

    async def ask(self, place: Place, prompt: str) -> str:
        text, seconds = self.answer(place, prompt)
        if not self._ledger.execute("SELECT text FROM replies WHERE key = ?", (text[:64],)).fetchone():
            async with self._free:
                os.write(self._log, f"asked {text[:64]}\n".encode())
                await asyncio.sleep(seconds * self._pace)
                self._ledger.execute("INSERT OR IGNORE INTO replies VALUES (?, ?)", (text[:64], text))
                os.write(self._log, f"answered {text[:64]}\n".encode())
        return text


class Tree:
    """Every call as soon as the summaries that it needs are there, merges before chunks: redraft's own schedule."""

    def __init__(self, shape: Shape, way: str, model: Model) -> None:
        self._shape, self._way, self._model, self._gate = shape, way, model, MergeScheduler(CONCURRENCY)

    async def build(self) -> str:
        self._gate.expect_merge(self._shape.fan)
        places = self._shape.places()
        self._prompts = {place: asyncio.get_running_loop().create_future() for place in places}
        self._called = {place: self._task(place) for place in places if self._way == "task, fixed order"}
        self._texts = {place: asyncio.create_task(self._text(place)) for place in places}
        return await self._texts[places[-1]]

    async def _text(self, place: Place) -> str:
        below = {one: await self._texts[one] for one in self._shape.below(place)}
        if not place[0]:
            await self._gate.enter()
            text = await self._call(place, below)
            self._gate.leave()
            return text
        with self._gate.merging():
            text = await self._call(place, below)
        if place[0] == 1:
            self._gate.expect_merge(min((place[1] + 2) * self._shape.fan, self._shape.chunks))
        return text

    async def _call(self, place: Place, below: dict[Place, str]) -> str:
        self._prompts[place].set_result(self._shape.prompt(place, below))
        return await (self._called.get(place) or self._task(place))

    def _task(self, place: Place) -> Awaitable[str]:
        async def call() -> str:
            return await self._model.ask(place, await self._prompts[place])

        if self._way == "scheduler":
            return call()
        return task(call, name="call" if self._way == "task, one name" else f"{place}")()


class State(TypedDict):
    texts: Annotated[dict[str, str], operator.or_]


def graph_of(shape: Shape, way: str, model: Model) -> StateGraph[Any]:
    graph, places = StateGraph[Any](State), shape.places()

    async def tree(_: State) -> dict[str, Any]:
        return {"texts": {f"{places[-1]}": await Tree(shape, way, model).build()}}

    async def chunk(index: int) -> dict[str, Any]:
        place = (0, index)
        return {"texts": {f"{place}": await model.ask(place, shape.prompt(place, {}))}}

    async def merge(state: State) -> dict[str, Any]:
        place = next(one for one in places if f"{one}" not in state["texts"])
        texts = {one: state["texts"][f"{one}"] for one in shape.below(place)}
        return {"texts": {f"{place}": await model.ask(place, shape.prompt(place, texts))}}

    if way != "Send":
        return graph.add_node(tree).add_edge(START, "tree")
    graph.add_node(chunk).add_node(merge).add_edge("chunk", "merge")
    graph.add_conditional_edges(START, lambda _: [Send("chunk", index) for index in range(shape.chunks)])
    graph.add_conditional_edges("merge", lambda state: END if len(state["texts"]) == len(places) else "merge")
    return graph


async def run(shape: Shape, way: str, folder: Path, seed: str, pace: float, ledger: bool) -> None:
    """Begin in this folder or go on there; leave what came of it in a file."""
    async with AsyncSqliteSaver.from_conn_string(str(folder / "checkpoints.db")) as saver:
        graph = graph_of(shape, way, Model(folder, seed, pace, ledger)).compile(checkpointer=saver)
        config: Any = {"configurable": {"thread_id": "tree"}, "recursion_limit": 1_000}
        given = None if (await graph.aget_state(config)).created_at else {"texts": {}}
        began, busy, seen = time.monotonic(), time.process_time(), 0
        async for event in graph.astream(given, config, stream_mode="tasks", durability="sync"):
            seen += "result" in event
        done = {"seen": seen, "seconds": time.monotonic() - began, "busy": time.process_time() - busy}
        done["top"] = (await graph.aget_state(config)).values["texts"][f"{shape.places()[-1]}"]
    (folder / "done.json").write_text(json.dumps(done))


def start(*arguments: Any) -> Any:
    process = multiprocessing.get_context("fork").Process(target=lambda: asyncio.run(run(*arguments)))
    process.start()
    return process


def undisturbed(shape: Shape, folder: Path) -> tuple[str, float]:
    """The text at the top, and the shortest time there could be: all calls side by side, or the longest chain."""
    model, total, texts, ends = Model(folder, "1", 1, False), 0.0, dict[Place, str](), dict[Place, float]()
    for place in shape.places():
        texts[place], seconds = model.answer(place, shape.prompt(place, texts))
        ends[place] = max((ends[one] for one in shape.below(place)), default=0.0) + seconds
        total += seconds
    return texts[shape.places()[-1]], max(total / CONCURRENCY, *ends.values())


def schedule(way: str, shape: Shape, folder: Path) -> tuple[object, ...]:
    start(shape, way, folder, "1", 1, True).join()
    done, (top, bound) = json.loads((folder / "done.json").read_text()), undisturbed(shape, folder)
    assert done["top"] == top
    with sqlite3.connect(folder / "checkpoints.db") as saved:
        steps, writes = "length(checkpoint) + length(metadata) FROM checkpoints", "length(value) FROM writes"
        stored = [size for (size,) in saved.execute(f"SELECT {steps} UNION ALL SELECT {writes}")]
    return way, done["seconds"], done["seconds"] / bound, done["busy"], done["seen"], len(stored), sum(stored) // 1000


def killed(way: str, shape: Shape, folder: Path, at: int, ledger: bool) -> tuple[bool, int, int]:
    """Whether the text after a resume is right, the calls made twice, and those of them answered before the kill."""
    log, done = folder / "calls.log", folder / "done.json"
    process = start(shape, way, folder, "1", PACE, ledger)
    while process.is_alive() and not (log.exists() and log.read_text().count("answered") >= at):
        time.sleep(0.001)
    process.kill()
    process.join()
    before = [line.split() for line in log.read_text().splitlines()]
    start(shape, way, folder, "2", PACE, ledger).join()
    after = [line.split() for line in log.read_text().splitlines()[len(before) :]]
    again = {key for kind, key in after if kind == "asked"} & {key for _, key in before}
    right = done.exists() and json.loads(done.read_text())["top"] == undisturbed(shape, folder)[0]
    return right, len(again), len(again & {key for kind, key in before if kind == "answered"})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--kills", type=int, default=10)
    kills, deep = parser.parse_args().kills, Shape(70, 8)
    moments = random.Random(1).choices(range(1, len(deep.places())), k=kills)
    runs: list[tuple[object, ...]] = [("", "seconds", "of the bound", "processor s", "steps seen", "rows", "KB")]
    ends: list[tuple[object, ...]] = [("", "ledger", "right", "asked twice", "at most", "had an answer", "at most")]
    with tempfile.TemporaryDirectory() as name:
        for way in WAYS:
            runs.append(schedule(way, Shape(70, 28), Path(tempfile.mkdtemp(dir=name))))
            for ledger in (False, True):
                found = [killed(way, deep, Path(tempfile.mkdtemp(dir=name)), at, ledger) for at in moments]
                right, twice, paid = zip(*found, strict=True)
                counts = f"{mean(twice):.1f}", max(twice), f"{mean(paid):.1f}", max(paid)
                ends.append((way, "yes" if ledger else "no", f"{sum(right)} of {kills}", *counts))
    table(runs)
    print()
    table(ends)


if __name__ == "__main__":
    main()
