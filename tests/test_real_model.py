"""A real language model, the smallest that can be had: its replies are read, and nothing dies of them.

`python -m benchmarks.real_model` has all strategies, all metrics and three texts; here is its smallest case.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from benchmarks.ledger import asked, entries, tallies, unsound
from benchmarks.real_model import SOURCES, shortened
from redraft import Document, DraftConfig, JudgeConfig, Limits, Result, Session
from redraft.errors import RefusedReply
from redraft.text.words import count_words
from tests.realserver import NAME, missing, real_model

FATAL = {"bug", "refused_request", "provider"}


@pytest.fixture
def url() -> Iterator[str]:
    """Where the model is served; gone for certain when the test is over."""
    if lacking := missing():
        if os.environ.get("CI") == "true" and find_spec("xllamacpp") is not None:
            pytest.fail(f"CI has half of it: {lacking}")
        pytest.skip(lacking)
    with real_model(parallel=1) as address:
        yield address
    place = urlsplit(address)
    with socket.socket() as knock:
        assert knock.connect_ex((str(place.hostname), place.port or 0)) != 0, "the server is still there"


async def drafted(session: Session, document: Document, judging: JudgeConfig) -> Result:
    """A model as small as this one writes something else than a summary now and then: then the run goes on."""
    try:
        return await session.summarize(document, judging=judging)
    except RefusedReply:
        (run,) = session.store.runs.latest(1)
        for _ in range(3):
            with suppress(RefusedReply):
                return await session.resume(run.id)
        raise


@pytest.mark.nightly
async def test_text_is_drafted_and_judged_for_coverage(url: str, tmp_path: Path) -> None:
    document = shortened(SOURCES["report"], 600)
    assert 600 <= count_words(document.text) < 700
    # Most of the time would go into replies that say the same up to their limit.
    sizes = {"words": 50, "chunk_tokens": 1200, "context_tokens": 4096, "max_tokens": 300}
    settings = DraftConfig(model=NAME, base_url=url, prompts="simple", temperature=0.3, **sizes)
    judging = JudgeConfig(metrics=("coverage",), questions=2)
    database = tmp_path / "redraft.db"
    limits = Limits(concurrency=1, timeout=900)
    async with Session(database, settings=settings, judging=judging, limits=limits) as session:
        result = await drafted(session, document, judging)

    assert result.status == "done"
    assert result.draft is not None
    assert result.draft.words > 0
    (coverage,) = (evaluation for evaluation in result.evaluations.values() if evaluation.metric == "coverage")
    assert coverage.outcome == "scored" or coverage.reason, "what cannot be judged says why"
    assert list(unsound([coverage], entries(database))) == []
    requests = asked(database)
    assert {"summarize_whole", "ask_document"} <= tallies(requests).keys()
    assert not [request for request in requests if FATAL & set(request.outcomes)], (
        "the server refuses nothing that is asked of it"
    )
