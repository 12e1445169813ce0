"""Replies in envelopes that no protocol knows, whose text is read; and files that take too much when they are read."""

from __future__ import annotations

import asyncio
import itertools
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from redraft.errors import ModelError
from tests.chatserver import ChatServer, Raw
from tests.llm.support import Desk, story

Json = dict[str, Any]
TEXT = "The keeper kept the light for forty years."
COUNTS: list[Any] = [0, 7, 3.7, 2**31, 2**53, 2**63, 2**64, -1, -(2**63), float("nan"), float("inf"), 1e300]
COUNTS += ["12", "many", "", None, True, [], {}, [1], {"a": 1}]
JUNK: list[Any] = [None, "", 0, -1, 3.7, True, False, [], {}, "x", ["x"], {"x": None}, float("nan"), "\ud800", "a\0b"]
READABLE: list[Any] = [
    TEXT,
    [{"type": "text", "text": TEXT}],
    [{"type": "text", "text": TEXT[:10]}, {"type": "text", "text": TEXT[10:]}],
    [TEXT],
    {"type": "text", "text": TEXT},
]
counts, junk = st.sampled_from(COUNTS), st.sampled_from(JUNK)


def some(*names: str, **fields: st.SearchStrategy[Any]) -> st.SearchStrategy[Json]:
    """An object with some of these fields: named ones may be anything, others are as they are described or anything."""
    optional = dict.fromkeys(names, junk) | {name: field | junk for name, field in fields.items()}
    return st.fixed_dictionaries({}, optional=optional)


def joined(*parts: st.SearchStrategy[Json]) -> st.SearchStrategy[Json]:
    return st.tuples(*parts).map(lambda values: {name: value for part in values for name, value in part.items()})


usages = some(
    prompt_tokens=counts,
    completion_tokens=counts,
    total_tokens=counts,
    prompt_tokens_details=some(cached_tokens=counts),
    completion_tokens_details=some(reasoning_tokens=counts, audio_tokens=counts),
)
messages = joined(
    st.fixed_dictionaries({"content": st.sampled_from(READABLE) | st.sampled_from(READABLE) | junk}),
    some("refusal", "tool_calls", "function_call", "audio", "name", "annotations", "reasoning_content", "reasoning"),
    some(role=st.sampled_from(["assistant", "assistant", "user", "system", "developer", "tool", "function", "model"])),
)
choices = joined(st.fixed_dictionaries({"message": messages}), some("logprobs", "index", finish_reason=st.just("stop")))
envelopes = joined(
    st.fixed_dictionaries({"choices": choices.map(lambda choice: [choice])}),
    some("id", "object", "created", "system_fingerprint", "service_tier", usage=usages, model=st.just("m")),
)
"""Answers with one choice, in which anything but that may be anything."""


@pytest.mark.slow
def test_answer_in_any_envelope_is_read_and_stored(desk: Desk) -> None:
    """What can be read is paid for once; nothing that was answered stays in flight, or ends in a traceback."""
    things, answers = itertools.count(), [dict[str, Any]()]

    async def ask(thing: str) -> str:
        async with desk.at(server) as model:
            return str((await model.ask(story(thing))).value)

    @settings(max_examples=60, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(envelopes)
    def attack(answer: Json) -> None:
        thing, before, answers[0] = f"number {next(things)}", len(server.seen), answer
        message = answer["choices"][0]["message"]
        try:
            text = asyncio.run(ask(thing))
        except ModelError as error:
            text = error.code
        else:
            assert len(server.seen) == before + 1
        if message["content"] in READABLE and not (isinstance(message.get("refusal"), str) and message["refusal"]):
            assert text == TEXT, (text, answer)
        rows = [row for row in desk.ledger() if row["label"] == thing]
        assert rows
        for row in rows:
            assert row["outcome"] not in ("sent", "bug"), row["error"]
            for name in ("prompt_tokens", "completion_tokens", "cached_prompt_tokens"):
                assert isinstance(row[name], int)
                assert 0 <= row[name] <= 2**31

    with ChatServer(lambda request: Raw(json.dumps(answers[0]).encode(), readable=True)) as server:
        attack()
    assert desk.outcomes().count("ok") > 20


# In a process of its own: the most that any child of this one has taken says nothing about this one child.
_READ_IN_FRESH_PROCESS = """
import resource, sys
from pathlib import Path
from redraft.errors import DocumentError
from redraft.readers.documents import read_in_subprocess
try:
    read_in_subprocess("pdf", Path(sys.argv[1]).read_bytes(), "a.pdf")
except DocumentError:
    print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


def bomb(fan: int) -> bytes:
    """A PDF file with a form that holds itself, so many times."""
    form = b"BT /F 12 Tf 20 20 Td (word) Tj ET " + b"/X Do " * fan
    resources = b"/Resources<</Font<</F 5 0 R>>/XObject<</X 6 0 R>>>>"
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 300]/Contents 4 0 R" + resources + b">>",
        b"<</Length 5>>\nstream\n/X Do\nendstream",
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
        b"<</Type/XObject/Subtype/Form/BBox[0 0 300 300]%s/Length %d>>\nstream\n%s\nendstream"
        % (resources, len(form), form),
    ]
    data, places = bytearray(b"%PDF-1.7\n"), []
    for number, content in enumerate(objects, 1):
        places.append(len(data))
        data += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    table = b"".join(b"%010d 00000 n \n" % at for at in places)
    end = b"trailer\n<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF" % (len(objects) + 1, len(data))
    return bytes(data) + b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1) + table + end


@pytest.mark.nightly
def test_self_nested_forms_stay_under_a_gigabyte(tmp_path: Path) -> None:
    (tmp_path / "a.pdf").write_bytes(bomb(2))
    command = [sys.executable, "-c", _READ_IN_FRESH_PROCESS, str(tmp_path / "a.pdf")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert 0 < int(done.stdout) < 1_000_000
