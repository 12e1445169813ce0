"""A real language model, the smallest that can be had: its replies are read, and no run dies of them.

`python -m benchmarks.real_model` has all strategies, all metrics and three texts, and `redraft doctor` all controls;
here is the smallest case of both.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from benchmarks.ledger import asked, entries, tallies, unsound
from benchmarks.real_model import SOURCES, shortened
from redraft import DraftConfig, JudgeConfig, Limits, Session
from redraft.evaluators.catalog import BUILT_IN
from redraft.lab.doctor.checkup import Patient, examine
from redraft.lab.doctor.controls import controls, expected
from redraft.lab.doctor.probes import EMPTY, REFUSAL
from redraft.runs.experiment_runner import ExperimentRunner
from redraft.store.store import Store
from redraft.text.words import count_words
from tests.realserver import NAME, missing, real_model

FATAL = {"bug", "refused_request", "provider"}


@pytest.fixture
def url(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Where the model is served; gone for certain when the test is over."""
    if lacking := missing():
        if os.environ.get("CI") == "true" and find_spec("xllamacpp") is not None:
            pytest.fail(f"CI has half of it: {lacking}")
        pytest.skip(lacking)
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    with real_model(parallel=1) as address:
        yield address
    place = urlsplit(address)
    with socket.socket() as knock:
        assert knock.connect_ex((str(place.hostname), place.port or 0)) != 0, "the server is still there"


@pytest.mark.slow
async def test_a_real_model_drafts_and_judges_and_is_examined(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = shortened(SOURCES["report"], 250)
    assert 250 <= count_words(document.text) < 350
    # Most of the time would go into replies that say the same up to their limit.
    settings = DraftConfig(
        model=NAME, base_url=url, prompts="simple", temperature=0.3, words=40, context_tokens=4096, max_tokens=160
    )
    judging = JudgeConfig(metrics=("coverage",), questions=2)
    database = tmp_path / "redraft.db"
    limits = Limits(concurrency=1, timeout=900)
    async with Session(database, settings=settings, judging=judging, limits=limits) as session:
        result = await session.summarize(document, judging=judging)

    assert result.status == "done"
    assert result.draft is not None
    assert result.draft.words > 0
    (coverage,) = (one for one in result.evaluations.values() if one.metric == "coverage")
    assert coverage.outcome == "scored" or coverage.reason, "what cannot be judged says why"
    assert list(unsound([coverage], entries(database))) == []
    requests = asked(database)
    assert {"summarize_whole", "ask_document"} <= tallies(requests).keys()
    assert not [one for one in requests if FATAL & set(one.outcomes)], "the server refuses nothing that is asked of it"

    few = [one for one in controls() if one.name in (EMPTY, REFUSAL)]
    monkeypatch.setattr("redraft.lab.doctor.controls.controls", lambda: few)
    metric = BUILT_IN["coverage"]
    with Store(database) as store:
        found = await examine(Patient(NAME, (metric,), settings, url), ExperimentRunner(store, limits))
    verdicts = {one.control: one.heard.verdict for one in found.checks}
    assert verdicts.keys() == expected(metric).keys() == {EMPTY, REFUSAL}
    assert verdicts[EMPTY] == "pass"
    assert verdicts[REFUSAL] in {"pass", "fail", "cannot tell"}
    assert found.usage.calls > 0
