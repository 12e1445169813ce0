"""The whole document in one prompt."""

from __future__ import annotations

from pathlib import Path

import pytest

from redraft.errors import IncompleteError, PlanError
from tests.support import Desk, story


async def test_one_call_with_the_whole_document(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    result = await desk.summarize(story(30), strategy="direct", context_tokens=4096, query="Who?")

    assert [request.given.document for request in desk.asked] == [story(30).text]
    assert desk.asked[0].given.query == "Who?"
    assert result.complete
    assert result.chunks == 1


async def test_a_document_that_does_not_fit_is_refused_before_anything_is_stored(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    with pytest.raises(PlanError, match="the whole document"):
        await desk.summarize(story(300), strategy="direct")

    assert desk.store.runs.latest(5) == []


async def test_empty_replies_fail_the_run(tmp_path: Path) -> None:
    with pytest.raises(IncompleteError):
        await Desk(tmp_path, lambda request: "").summarize(story(30), strategy="direct", context_tokens=4096)
