"""What the tests of the store share: records of every kind, and other processes."""

from __future__ import annotations

import re
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

from redraft.batches.queue import Batch, Batches, BatchItemRow
from redraft.domain import (
    Chunk,
    Document,
    DocumentSection,
    DraftComparison,
    Evaluation,
    Evidence,
    Finding,
    Gap,
    KeyFact,
    KeyFacts,
    Objection,
    Pack,
    PackQuestion,
    Parent,
    Piece,
    PointAnswer,
    Round,
    Ruling,
    Span,
    Tree,
    Usage,
    content_id,
)
from redraft.order import Refine, Summarize
from redraft.settings import DraftConfig, JudgeConfig, Limits, RefineConfig
from redraft.store.calls import Call, Message, Reservation, ReservationTerms, take_turn
from redraft.store.connection import is_server
from redraft.store.documents import ChapterRun
from redraft.store.runs import HumanOpinion, Run
from redraft.store.store import Store
from redraft.store.table import now
from tests import postgres

# An SQL dump cuts a text at a NUL.
PRINTABLE = "Ünïcode \U0001f600.\nThe end of the book."
TEXT = "Ünïcode \U0001f600 and a NUL \x00 in the middle.\r\nThe end."


_numbers = count()
MESSAGES = (Message("user", f"<text>\n{PRINTABLE}\n</text>\nSum \ud800 it up."), Message("schema", '{"type":"object"}'))
ASKED = {"settings": {"words": 100}, "name": "ünïcode 😀"}
TROUBLE = {"code": "document", "message": "It is empty. 😀", "hint": "mend it"}


def as_stored(text: str) -> str:
    """The text as the store gives it back: half a surrogate pair is no Unicode."""
    return re.sub("[\ud800-\udfff]", "?", text)


def document(text: str = TEXT, title: str = "A title") -> Document:
    sections = (DocumentSection("I. Ü", 1, Span(0, 10)), DocumentSection("II", 2, Span(10, len(text))))
    return Document(content_id(text), title, text, sections, "book.txt", "utf-16")


def run(name: str = "abc123", text: str = TEXT, **changes: Any) -> Run:
    default = Run(
        id=name,
        identity="identity",
        document=content_id(text),
        order=Summarize(settings=DraftConfig(query="What? \U0001f600", words=50), limits=Limits(max_calls=3)),
        prompt_hashes={"merge": "1"},
        tokenizer="estimate",
        version="0.1",
    )
    return replace(default, **changes)


def call(key: str = "key", outcome: str = "ok", **changes: Any) -> Call:
    values: dict[str, Any] = {
        "run": None, "key": key, "model": "m", "prompt": "merge", "prompt_hash": "h", "label": "chunk 1", "sample": 0,
        "temperature": 0.5, "max_tokens": 10, "attempt": 1, "outcome": outcome, "started": "2025", "seconds": 0.5,
        "reply": f"reply to {key}", "usage": Usage(5, 4, 3, 2), "cost_usd": 0.25, "finish_reason": "stop",
        "messages": MESSAGES,
    }  # fmt: skip
    return Call(**{**values, **changes})


def add_call(store: Store, ended: Call) -> None:
    """Put a call into the ledger that has come to its end."""
    reservation = Reservation()
    # Under a key of its own, as if it had been sent before the same was answered.
    store.calls.book(reservation, replace(ended, key=f"{ended.key} {next(_numbers)}"), ReservationTerms("budget"))
    with store.connection.writing() as raw:
        raw.execute("UPDATE calls SET key = ? WHERE id = ?", (ended.key, reservation.call))
    store.calls.settle(reservation, ended)


def piece(index: int = 0, text: str = "piece", **changes: Any) -> Piece:
    values: dict[str, Any] = {
        "level": 0,
        "first_chunk": index,
        "last_chunk": index,
        "words": 1,
        "tokens": 2,
        "limit": 9,
    }
    return Piece(index=index, text=text, **{**values, **changes})


JUDGING = JudgeConfig(
    metrics=("coverage",), judges=("j1", "j2 \U0001f600"), repeat=2, similarity="rouge1", threshold=0.1, pack="pack-1"
)
REFINEMENT = RefineConfig(goals={"coverage": 0.8, "consistency": 1 / 3}, policy="paper", rounds=7, review=True)
MODEL = "openai:ünïcode@http://127.0.0.1/v1"
VERDICTS = {"verdict-1": "agrees", "verdict-2": "Ünïcode \U0001f600"}


PARENTS = (Parent("context", content_id(PRINTABLE), Span(0, 4)), Parent("excerpt", content_id(PRINTABLE), Span(0, 10)))
"""What the piece of `fill` was made from."""


CHUNKS = (Chunk(0, Span(0, 10), 4), Chunk(1, Span(10, 20), 5))


def question(number: int = 1, text: str = "Who drowned?", **changes: Any) -> PackQuestion:
    return replace(
        PackQuestion(number, text, "who", "Hester", Evidence("Hester drowned.", Span(3, 18)), 0.25), **changes
    )


def pack(name: str = "pack-1", text: str = TEXT, **changes: Any) -> Pack:
    questions = (question(1), question(2, "Why? \U0001f600", evidence=Evidence("somewhere"), position=1.0, weight=3))
    missing = ("stretch 2: nö question",)
    return replace(Pack(name, content_id(text), "m", {"ask_document": "1"}, questions, missing), **changes)


def fact(number: int = 1, text: str = "Hester drowned.", **changes: Any) -> KeyFact:
    return replace(KeyFact(number, "root", None, text, Evidence("Hester drowned.", Span(3, 18))), **changes)


def tree(*facts: KeyFact, **changes: Any) -> Tree:
    pruned = (Objection("objectivity", "An öpinion."), Objection("unjudged", "😀"))
    facts_of_a_tree = (
        fact(1),
        fact(2, "She could swim. 😀", level="branch", parent=1, evidence=Evidence("somewhere")),
        fact(3, "It was cold.", level="leaf", parent=2, objections=pruned),
    )
    return replace(Tree(0, "narrative", Span(0, 18), 0.25, facts or facts_of_a_tree, "Who drowned? 😀"), **changes)


def keyfacts(name: str = "keyfacts-1", text: str = TEXT, **changes: Any) -> KeyFacts:
    trees = (
        tree(),
        tree(fact(1, "Water is deep.", evidence=Evidence("")), chunk=1, perspective="analytical", query=""),
    )
    default = KeyFacts(name, content_id(text), "m", "v", {"query_narrative": "1"}, trees, ("chunk 2: nö tree",))
    return replace(default, **changes)


def finding(text: str = "Say who drowned.", **changes: Any) -> Finding:
    return replace(Finding("coverage", "unanswered", "add", text, question="Who drowned?"), **changes)


def evaluation(metric: str = "coverage", **changes: Any) -> Evaluation:
    findings = (
        finding(metric=metric, expected="Hester", evidence=Evidence("Hester drowned.", Span(3, 18))),
        finding("Correct it.", metric=metric, task="correct", sentence="Ünïcode.", found="Ann", evidence=Evidence("x")),
        finding("Say it.", metric=metric),
    )
    default = Evaluation(metric, 1, "scored", 1 / 3, 3, 2, findings, ("A kept sentence.",), {"kinds": {"who": [1, 2]}})
    return replace(default, **changes)


FAILED = Evaluation("consistency", 2, "failed", unjudged=4, reason="Nothing was judged: ünïcode \U0001f600.")


RULING = Ruling(
    content_id(PRINTABLE), finding().id, "supported", "drowned 😀", 2, 9, "It says söme.", "m#1", "drowned", "abc", 1
)


BESIDE = DraftComparison(0, 1, 1, ("It is möre.",))


def rounds(first: str, second: str) -> list[Round]:
    """Rounds on two drafts: the first draft, a revision that was accepted, one that waits to be judged, and one that a
    model has led and the reviser has answered point by point.
    """
    answers = (PointAnswer(finding().id), PointAnswer("f2", "kept", "Ünïcode."), PointAnswer("f3", "left", "why"))
    reasons = {"why": 'It says "no". \U0001f600', "instruction": "Näme her."}
    details: dict[str, Any] = {**reasons, "answers": answers}
    return [
        Round(0, first),
        Round(1, second, first, ("coverage",), (finding().id,), accepted=True, reason="coverage rose"),
        Round(2, first, second, ("consistency", "coverage")),
        Round(3, second, first, ("coverage",), accepted=False, reason="no gain", **details, comparison=BESIDE),
    ]


def fill(store: Store, name: str = "abc123") -> None:
    """One record of every kind: a run that has drafted, and a fork of it that was judged and refined."""
    book = document(PRINTABLE)
    store.documents.add(book)
    store.runs.add(run(name, PRINTABLE))
    store.excerpts.put(*CHUNKS, run=name)
    add_call(store, call(run=name))
    store.runs.add_piece(name, piece(), PARENTS)
    store.runs.gaps.put(Gap(1, "refused", "would not"), run=name)
    store.runs.keep_draft(name, "The draft.", 2, "merge", ("a note",), parents=[Parent.of_piece(piece())])
    store.links.put({"links-1": "[[0, 10, []]]"}, store.documents.add_text("The draft."))
    store.vectors.put({"cut": "AAE="}, book.id)
    store.capabilities.learn(MODEL, mode="tools")
    store.capabilities.learn(MODEL, reasoning_tokens=700)
    fill_judged(store, name)
    chapters = [ChapterRun(title, Chunk(at, Span(10 * at, 10 * at + 10), 5)) for at, title in enumerate(("Öne", "Two"))]
    store.chapters.put(*chapters, run=name)
    fill_batch(store, name)


def fill_batch(store: Store, run: str) -> None:
    """A batch of two items: one is done, one has failed."""
    text = document(PRINTABLE).id
    Batches(store).open(Batch(f"batch-of-{run}", ASKED, {"max_cost": 1.5}, "/out/ö"))
    Batches(store).add(
        f"batch-of-{run}", [BatchItemRow("/in/ä.txt", "ä"), BatchItemRow("c.jsonl#b", "b", priority=3, document=text)]
    )
    second, first = Batches(store).lease(f"batch-of-{run}", "w", 2)
    Batches(store).settle(first, "done", run=run, short=True)
    Batches(store).settle(second, "failed", error=TROUBLE)
    take_turn(store.connection, "gate", 7, requests_per_minute=2, tokens_per_minute=None)


def fill_judged(store: Store, parent: str) -> str:
    """A fork of the run that was judged and refined; returns its name."""
    fork = f"fork-of-{parent}"
    store.packs.add(pack(text=PRINTABLE), "made from this")
    store.keyfacts.add(keyfacts(text=PRINTABLE), "grown from this")
    store.runs.add(run(fork, PRINTABLE, order=Refine(judging=JUDGING, refinement=REFINEMENT), parent=parent))
    store.excerpts.put(*CHUNKS, run=fork)
    first = store.runs.keep_draft(fork, "The first draft.", 3, "given")
    second = store.runs.keep_draft(fork, "The second draft.", 3, "revise", ("another nöte",), round_=1, is_result=False)
    for judged_draft in (evaluation(), FAILED):
        store.judgments.keep(first, judged_draft)
    for round_ in rounds(first, second):
        store.rounds.put(round_, run=fork)
    store.verdicts.put(VERDICTS, content_id(PRINTABLE), keep=True)
    store.rulings.put(RULING, created=now())
    store.opinions.put(HumanOpinion(fork, finding().id, first, agrees=False, note="She did nöt. \U0001f600"))
    store.runs.change(fork, {}, draft=second)
    store.runs.set_status(fork, "done", stop_reason="decided", why="Nöthing is left.")
    return fork


def dump(place: Path | str) -> dict[str, list[tuple[Any, ...]]]:
    """All rows of all tables, as another program sees them."""
    if is_server(place):
        return postgres.dump(str(place))
    with plain(place) as database:
        names = [
            row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
        ]
        return {name: database.execute(f'SELECT * FROM "{name}"').fetchall() for name in names}


@contextmanager
def plain(place: Path | str, timeout: float = 30) -> Iterator[Any]:
    """The database in another program."""
    if is_server(place):
        with postgres.plain(str(place)) as database:
            yield database
        return
    database = sqlite3.connect(place, timeout=timeout, isolation_level=None)
    try:
        yield database
    finally:
        database.close()


def intact(place: Path | str) -> None:
    """Nothing points at what is gone; a server sees to that itself."""
    if not is_server(place):
        with plain(place) as database:
            assert database.execute("PRAGMA foreign_key_check").fetchall() == []
            assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def start(code: str, *arguments: object) -> subprocess.Popen[str]:
    """Another Python process."""
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parent.parent.parent,
    )


@contextmanager
def started(code: str, *arguments: object) -> Iterator[subprocess.Popen[str]]:
    """Another process, once it has said so; it is killed in the end."""
    process = start(code, *arguments)
    with process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            yield process
        finally:
            process.kill()


def wait_until_free(store: Store, run: str) -> None:
    """Wait until a database server has noticed that the process that held a run is gone."""
    until = time.monotonic() + 30
    while store.is_claimed(run):
        assert time.monotonic() < until, f"run {run} is still claimed"
        time.sleep(0.01)
