"""What it takes to add a metric with a prompt to redraft itself: one file, and one entry in a list."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.chatserver import ChatServer
from tests.command import Command
from tests.support import SAMPLE

MOOD = """
from typing import Annotated
from redraft.evaluators.base import Evaluator
from redraft.prompts.contract import Fence, Prompt, PromptInput, ReplyModel

class MoodInput(PromptInput):
    summary: Annotated[str, Fence("summary")]

class MoodReply(ReplyModel):
    cheerful: bool

MOOD = Prompt("mood", MoodInput, MoodReply, "mood: is it cheerful?", 0.0, template="{{ summary }}\\nIs it cheerful?\\n")

class Mood(Evaluator):
    name = "mood"
    aim = "form"
    prompts = (MOOD,)

    async def evaluate(self, case):
        reply = await case.panel[0].ask(MOOD, MoodInput(summary=case.text), 10, self.name)
        return self.scored(reply.value.cheerful)
"""
LAST_ENTRY = '    "statistics": MetricInfo('
# All commands in one process, whose answers follow each other.
PROGRAM = """
import json, sys
from redraft.cli.main import main
for words in json.loads(sys.argv[1]):
    try:
        main(words)
    except SystemExit as end:
        assert not end.code, words
"""


@pytest.mark.slow
def test_one_file_and_entry_add_a_metric(tmp_path: Path) -> None:
    package = tmp_path / "redraft"
    shutil.copytree(SAMPLE.parent.parent / "redraft", package, ignore=shutil.ignore_patterns("__pycache__"))
    (package / "evaluators" / "mood.py").write_text(MOOD, "utf-8")
    listing = package / "evaluators" / "metric_info.py"
    before, entry, after = listing.read_text("utf-8").partition(LAST_ENTRY)
    listing.write_text(f'{before}    "mood": MetricInfo("mood:Mood", "form", ("mood",)),\n{entry}{after}', "utf-8")
    (tmp_path / "summary.md").write_text("All was well. Everybody was glad of it.", "utf-8")

    with ChatServer(lambda request: '{"cheerful": true}') as server:
        environment = Command(tmp_path, server.base_url, PYTHONPATH=str(tmp_path)).environment
        evaluate = ["evaluate", str(SAMPLE), "summary.md", "--metric", "mood", "--judge", "openai:m", "--json"]
        run = [sys.executable, "-c", PROGRAM, json.dumps([[*evaluate, "--dry-run"], evaluate])]
        out = subprocess.run(run, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, text=True, check=True).stdout
    plan, end = json.JSONDecoder().raw_decode(out.strip())
    result = json.loads(out.strip()[end:])

    assert [(stage["name"], stage["calls"]) for stage in plan["stages"]] == [("mood", 1)]
    assert result["metrics"]["mood"]["score"] == 1.0
