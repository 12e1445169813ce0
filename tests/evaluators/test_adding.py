"""What it takes to add a metric with a prompt to redraft itself: files of its own, and one list."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.chatserver import ChatServer
from tests.command import Command
from tests.support import SAMPLE

OWN = {
    "prompts/mood.py": """
from typing import Annotated
from redraft.prompts.contract import Fence, GivenModel, Prompt, ReplyModel

class MoodGiven(GivenModel):
    summary: Annotated[str, Fence("summary")]

class Mood(ReplyModel):
    cheerful: bool

MOOD = Prompt("mood", MoodGiven, Mood, "mood: is it cheerful?", 0.0)
""",
    "prompts/templates/standard/mood.md": "{{ summary }}\n\nIs this cheerful?\n",
    "prompts/templates/simple/mood.md": "{{ summary }}\n\nCheerful?\n",
    "evaluators/mood.py": """
from redraft.evaluators.base import Evaluator
from redraft.evaluators.forecast import Stage
from redraft.prompts.mood import MOOD, MoodGiven

class Mood(Evaluator):
    name = "mood"
    aim = "form"
    prompts = (MOOD,)

    def forecast(self, ahead):
        yield Stage(self.name, ahead.judgings, ahead.overhead(MOOD), 10)

    async def evaluate(self, case):
        said = await case.panel[0].ask(MOOD, MoodGiven(summary=case.text), 10, self.name)
        return self.scored(said.value.cheerful)
""",
}
LAST = '    "statistics": Known("statistics:Statistics", None),\n'


@pytest.mark.slow
def test_a_metric_with_a_prompt_is_its_files_and_one_entry(tmp_path: Path) -> None:
    house = tmp_path / "redraft"
    shutil.copytree(SAMPLE.parent.parent / "redraft", house, ignore=shutil.ignore_patterns("__pycache__"))
    for path, text in OWN.items():
        (house / path).write_text(text, "utf-8")
    known = (house / "evaluators/known.py").read_text("utf-8")
    assert LAST in known
    known = known.replace(LAST, f'{LAST}    "mood": Known("mood:Mood", "form", ("mood",)),\n')
    (house / "evaluators/known.py").write_text(known, "utf-8")
    (tmp_path / "summary.md").write_text("All was well. Everybody was glad of it.", "utf-8")

    with ChatServer(lambda seen: '{"cheerful": true}') as server:
        command = Command(tmp_path, server.base_url, PYTHONPATH=str(tmp_path))
        prompts = command.run("prompts", "list", "--json").json["prompts"]
        asked = ("evaluate", str(SAMPLE), "summary.md", "--metric", "mood", "--judge", "openai:m", "--json")
        planned, done = command.run(*asked, "--dry-run").json, command.run(*asked).json

    assert "mood" in {prompt["name"] for prompt in prompts}
    assert [(stage["name"], stage["calls"]) for stage in planned["stages"]] == [("mood", 1)]
    assert done["metrics"]["mood"]["score"] == 1.0
