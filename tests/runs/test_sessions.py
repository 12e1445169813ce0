"""Sessions that are not used as context managers, and in more than one event loop."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

import redraft
from tests.support import SAMPLE

_FORGOTTEN = f"""
import asyncio, redraft

session = redraft.Session("book.db")
result = asyncio.run(session.summarize({str(SAMPLE)!r}, words=60, until=4000))
print(len(result.summary.split()) > 20)
"""


@pytest.mark.slow
def test_a_session_that_was_never_closed_warns_once_and_lets_the_process_end(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(_FORGOTTEN)
    line = [sys.executable, "-W", "always::ResourceWarning", str(script)]
    done = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout) == (0, "True\n"), done.stderr
    assert done.stderr.count("ResourceWarning") == 1
    assert f"{script}:4: ResourceWarning: a redraft.Session was never closed" in done.stderr


def test_a_session_in_a_second_loop_is_an_error_that_says_what_to_do(tmp_path: Path) -> None:
    session = redraft.Session(tmp_path / "book.db")
    asyncio.run(session.checkpointer())
    try:
        with pytest.raises(redraft.UsageError, match="another event loop") as caught:
            asyncio.run(session.checkpointer())
        assert "async with" in caught.value.hint
    finally:
        asyncio.run(session.aclose())


def test_a_session_that_is_closed_may_be_used_in_another_loop(tmp_path: Path) -> None:
    async def used() -> None:
        async with session:
            await session.checkpointer()

    with redraft.Store(tmp_path / "book.db") as store:
        session = redraft.Session(store)
        asyncio.run(used())
        asyncio.run(used())
