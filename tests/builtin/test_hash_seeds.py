"""The built-in model says the same whichever order Python keeps its sets in, which differs from process to process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.studio.served import chapter

# What it does with a document: key facts, questions, a draft, claims about that, judgments, revisions.
_WORK = """
import asyncio, redraft, sys
from redraft import JudgeConfig, Session, Store

GOALS = {"goals": {"coverage": 0.5, "consistency": 0.9}, "allow_self_check": True}

async def main():
    with Store(":memory:") as store:
        async with Session(store) as session:
            facts = await session.build(sys.argv[1], "keyfacts")
            draft = await session.summarize(sys.argv[1], words=100, **GOALS)
        print(store.keyfacts.get(facts.run.judging.keyfacts))
        print(draft.summary, draft.scores, [one.findings for one in draft.evaluations.values()])

asyncio.run(main())
"""


@pytest.mark.nightly
def test_the_built_in_model_says_the_same_under_any_hash_seed(tmp_path: Path) -> None:
    document = tmp_path / "chapter.md"
    document.write_text(chapter(), "utf-8")
    said = set()
    for seed in ("1", "9", "77"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        done = subprocess.run(
            [sys.executable, "-c", _WORK, str(document)], env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        said.add(done.stdout)
    assert len(said) == 1
