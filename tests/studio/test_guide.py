"""The page on the studio: its requests are made as they stand, and say what the page says."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

import redraft
from redraft import Document, Session
from tests.studio.served import TOKEN, Served, at_rest, begin
from tests.support import SAMPLE, chapter

pytestmark = pytest.mark.slow

GUIDE = SAMPLE.parent.parent / "docs" / "studio.md"
_BLOCK = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_REQUEST = re.compile(r"^curl .*?(?=^curl |\Z)", re.MULTILINE | re.DOTALL)


def requests() -> list[str]:
    return [match.strip() for block in _BLOCK.findall(GUIDE.read_text("utf-8")) for match in _REQUEST.findall(block)]


@pytest.mark.skipif(shutil.which("curl") is None, reason="the requests are made by curl: install it")
@pytest.mark.nightly
def test_the_requests_of_the_page_are_answered(at: Served, tmp_path: Path) -> None:
    (tmp_path / "book.md").write_text(chapter(), "utf-8")
    with at.client() as client:
        review = begin(client, kind="refine", words=60, goals={"coverage": 1.0}, review=True, rounds=1)
        assert at_rest(client, review)["status"] == "waiting"
        asyncio.run(_batch(Path(str(at.told.database))))
        environment = {"STUDIO": at.url, "TOKEN": TOKEN, "WAITING": review, "RUN": "", "PATH": "/usr/bin:/bin"}
        environment["BATCH"] = "mine"
        printed: dict[str, Any] = {}
        for request in requests():
            done = subprocess.run(
                ["bash", "-c", request],
                env=environment,
                cwd=tmp_path,
                capture_output=True,
                text=True,
                check=False,
                timeout=60,
            )
            assert done.returncode == 0, done.stderr
            printed[request] = done.stdout
            if "file=@" in request:
                environment["RUN"] = json.loads(done.stdout)["run"]
                assert json.loads(done.stdout)["events"] == f"/api/runs/{environment['RUN']}/events"
    replies = {request: json.loads(text) for request, text in printed.items() if not text.startswith("data:")}
    failed = [request for request, reply in replies.items() if isinstance(reply, dict) and reply.keys() == {"error"}]
    assert ["ffffffff" in request for request in failed] == [True], "that one is to fail"
    assert f"    {json.dumps(replies[failed[0]])}\n" in GUIDE.read_text("utf-8")
    assert len(printed) == 16
    followed = [text for text in printed.values() if text.startswith("data:")]
    assert ['"kind": "done"' in text.splitlines()[-2] for text in followed] == [True, True]


async def _batch(database: Path) -> None:
    async with Session(database) as session:
        await redraft.batch(session, [Document.from_text(chapter(), "One")], name="mine", words=40)
