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

# Lines whose words weigh the same in any order, apart from rounding.
_PLACES = """
import random
from redraft.builtin.support import SourceTexts
draw = random.Random(1)
words = ["".join(draw.sample("bcdfghklmnprt", 7)) for _ in range(72)]
groups = [words[at : at + 6] for at in range(0, 72, 6)]
rest = [word for group in groups for times, word in zip((1, 2, 3, 5, 8, 13), group) for _ in range(times)]
source = SourceTexts([*map(" ".join, groups), *rest], whole=True)
print([source.places(draw.sample(words, 72)) for _ in range(20)])
"""


def _outputs(script: str, *arguments: str) -> set[str]:
    """Return the outputs of a script under three hash seeds."""
    said = set()
    for seed in ("1", "9", "77"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        done = subprocess.run(
            [sys.executable, "-c", script, *arguments], env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        said.add(done.stdout)
    return said


@pytest.mark.slow
def test_lines_that_are_equally_good_have_the_same_order_under_any_hash_seed() -> None:
    assert len(_outputs(_PLACES)) == 1


@pytest.mark.nightly
def test_the_built_in_model_says_the_same_under_any_hash_seed(tmp_path: Path) -> None:
    document = tmp_path / "chapter.md"
    document.write_text(chapter(), "utf-8")
    assert len(_outputs(_WORK, str(document))) == 1
