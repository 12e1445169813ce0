"""What checkpoints hold comes back as it was; what somebody else wrote is refused, and executes nothing."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.types import Interrupt, Send

from redraft.errors import CheckpointError, UsageError
from redraft.store.plain_serializer import PlainSerializer
from tests.leaks.payloads import LIVE, NAMES, payload

PLAIN = PlainSerializer("redraft.checkpoints.db")
VALUES = [
    None,
    {"run": "3fa2c1d0", "round": 2, "scores": {"coverage": 0.5, "consistency": None}, "accepted": True},
    {"текст": "Маяк \N{ELECTRIC LIGHT BULB}", "control": "\x00\n", "numbers": [1e300, -0.0, 10**30]},
    {"$": "path", "of": ["/etc/passwd"]},
    {1: "one", None: {"$": {"$": "send"}}},
    [Interrupt({"round": 1, "findings": [{"$": 1}]}, "3fa2c1d0", response_schema={"type": "object"})],
    [Send("metric", {"run": "3fa2c1d0", "metric": "coverage"})],
    [Path("book.md"), "book.md"],
]


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_a_value_comes_back_as_it_was(value: Any) -> None:
    assert PLAIN.loads_typed(PLAIN.dumps_typed(value)) == value


def test_errors_become_text_and_tuples_lists() -> None:
    stored = PLAIN.dumps_typed((CheckpointError("full"), "\ud800"))
    assert PLAIN.loads_typed(stored) == ["CheckpointError('full')", "?"]


@pytest.mark.parametrize(
    "value", [{1, 2}, b"bytes", [Send("metric", 1, timeout=2)], {"at": json}], ids=["set", "bytes", "timeout", "module"]
)
def test_objects_are_never_written(value: Any) -> None:
    with pytest.raises(UsageError, match="hold plain values") as refused:
        PLAIN.dumps_typed(value)
    assert "your own checkpointer" in refused.value.hint


@pytest.mark.parametrize("name", NAMES)
def test_foreign_rows_are_never_executed(tmp_path: Path, name: str) -> None:
    place = tmp_path / "executed"
    row = payload(name, place)
    with pytest.raises(CheckpointError, match="not written by this version of redraft") as refused:
        PLAIN.loads_typed(row)
    assert refused.value.place == "redraft.checkpoints.db"
    assert not place.exists()
    if name in LIVE:
        JsonPlusSerializer().loads_typed(row)
        assert place.exists(), "the row does what this test is about"


def signed(content: bytes) -> tuple[str, bytes]:
    return f"json-{crc32(content):08x}", content


@pytest.mark.parametrize(
    "content",
    [
        b'{"$":"call","of":["os","mkdir"]}',
        b'{"$":["path"],"of":["x"]}',
        b'{"$":"path"}',
        b'{"$":"path","of":[1]}',
        b'{"$":"send","of":[1,2]}',
        b'{"$":"interrupt","of":[1,2,3]}',
        b'{"$":"dict","of":[1]}',
        b'{"$":"dict","of":[[[],1]]}',
        b"{",
        b"\xff",
        b"[" * 100_000,
    ],
    ids=lambda content: repr(content[:30]),
)
def test_other_content_is_refused(content: bytes) -> None:
    with pytest.raises(CheckpointError, match="not what redraft writes"):
        PLAIN.loads_typed(signed(content))


def test_flipped_bits_and_cuts_are_noticed() -> None:
    form, content = PLAIN.dumps_typed({"run": "3fa2c1d0", "round": 2, "draft": "d" * 200})
    choose = random.Random(46)
    for _ in range(200):
        flipped = bytearray(content)
        flipped[choose.randrange(len(content))] ^= 1 << choose.randrange(8)
        with pytest.raises(CheckpointError, match="damaged"):
            PLAIN.loads_typed((form, bytes(flipped)))
        with pytest.raises(CheckpointError, match="damaged"):
            PLAIN.loads_typed((form, content[: choose.randrange(len(content))]))
