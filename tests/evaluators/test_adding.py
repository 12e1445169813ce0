"""What it takes to add a metric with a prompt to redraft itself: files of its own, and one list."""

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

OWN = {
    "prompts/mood.py": """
from typing import Annotated
from redraft.prompts.contract import Fence, PromptInput, Prompt, ReplyModel

class MoodGiven(PromptInput):
    summary: Annotated[str, Fence("summary")]

class Mood(ReplyModel):
    cheerful: bool

MOOD = Prompt("mood", MoodGiven, Mood, "mood: is it cheerful?", 0.0)
""",
    "prompts/templates/standard/mood.md": "{{ summary }}\n\nIs this cheerful?\n",
    "prompts/templates/simple/mood.md": "{{ summary }}\n\nCheerful?\n",
    "evaluators/mood.py": """
from redraft.evaluators.base import Evaluator
from redraft.prompts.mood import MOOD, MoodGiven

class Mood(Evaluator):
    name = "mood"
    aim = "form"
    prompts = (MOOD,)

    async def evaluate(self, case):
        said = await case.panel[0].ask(MOOD, MoodGiven(summary=case.text), 10, self.name)
        return self.scored(said.value.cheerful)
""",
}
LISTED = Path("evaluators", "metric_info.py")
LAST = '    "statistics": MetricInfo("statistics:Statistics", None),\n'
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
def test_a_metric_with_a_prompt_is_its_files_and_one_entry(tmp_path: Path) -> None:
    house = tmp_path / "redraft"
    shutil.copytree(SAMPLE.parent.parent / "redraft", house, ignore=shutil.ignore_patterns("__pycache__"))
    for path, text in OWN.items():
        (house / path).write_text(text, "utf-8")
    listed = (house / LISTED).read_text("utf-8")
    assert LAST in listed
    listed = listed.replace(LAST, f'{LAST}    "mood": MetricInfo("mood:Mood", "form", ("mood",)),\n')
    (house / LISTED).write_text(listed, "utf-8")
    (tmp_path / "summary.md").write_text("All was well. Everybody was glad of it.", "utf-8")

    with ChatServer(lambda seen: '{"cheerful": true}') as server:
        environment = Command(tmp_path, server.base_url, PYTHONPATH=str(tmp_path)).environment
        asked = ["evaluate", str(SAMPLE), "summary.md", "--metric", "mood", "--judge", "openai:m", "--json"]
        commands = json.dumps([["prompts", "list", "--json"], [*asked, "--dry-run"], asked])
        run = [sys.executable, "-c", PROGRAM, commands]
        out = subprocess.run(run, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, text=True, check=True).stdout
    answers = []
    while out := out.strip():
        answer, end = json.JSONDecoder().raw_decode(out)
        answers.append(answer)
        out = out[end:]
    prompts, planned, done = answers

    assert "mood" in {prompt["name"] for prompt in prompts["prompts"]}
    assert [(stage["name"], stage["calls"]) for stage in planned["stages"]] == [("mood", 1)]
    assert done["metrics"]["mood"]["score"] == 1.0
