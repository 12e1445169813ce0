"""Recorded replies: written once, and then replayed without the model, errors included."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import redraft
from redraft.domain import Usage
from redraft.errors import CutReply, UnreadableReply, UsageError
from redraft.llm.base import Request
from redraft.prompts.rubric import RubricVerdict
from redraft.runs.recording import Recording
from tests.chatserver import ChatServer, Seen

MINUTES = redraft.Document.from_text("The board met at seven. It was cold. " * 4, "Minutes")
TEXT = "The board met at seven. It was cold.\u2028And dark."
TONE = redraft.Rubric("tone", "Warm")


def judge(*said: Any, identity: str = "judge") -> redraft.FunctionModel:
    left = list(said)

    def answer(request: Request[Any, Any]) -> Any:
        one = left.pop(0)
        return one if isinstance(one, Exception) else RubricVerdict(faults=[], reason="“Cold.”\u2028", level=one)

    return redraft.FunctionModel(answer, identity)


def judged(model: Any, text: str = TEXT) -> redraft.Result:
    return redraft.evaluate(MINUTES, text, store=":memory:", judges=[model], metrics=[TONE])


def test_a_recording_answers_for_the_model(tmp_path: Path) -> None:
    path = tmp_path / "recordings" / "judge.jsonl"
    model = judge(4)
    first = judged(Recording(path, model, record=True))
    again = Recording(path)
    second = judged(again)

    assert first.scores["tone"] == second.scores["tone"] == 0.75
    assert (again.identity, again.replayed, len(model.asked)) == ("judge", 1, 1)
    assert (second.usage.cost_usd, second.usage.completion_tokens) == (0.0, 0)
    assert json.loads(path.read_text("utf-8"))["prompt"] == "tone"
    assert second.certificates["tone"].judges == ("judge",)


def test_a_request_that_was_not_recorded_ends_the_run(tmp_path: Path) -> None:
    path = tmp_path / "judge.jsonl"
    judged(Recording(path, judge(4), record=True))

    with pytest.raises(redraft.ModelError, match="has no reply of judge to this request") as caught:
        judged(Recording(path), "It was warm.")
    assert "--redraft-record" in caught.value.hint
    judged(Recording(path, judge(5), record=True), "It was warm.")
    assert judged(Recording(path), "It was warm.").scores["tone"] == 1.0
    assert judged(Recording(path)).scores["tone"] == 0.75


@pytest.mark.parametrize(
    "error",
    [UnreadableReply("no JSON", text="hm", usage=Usage(1, 1)), CutReply("cut off", text='{"rea', usage=Usage(1, 1))],
    ids=["unreadable", "cut"],
)
def test_replies_that_cannot_be_used_are_replayed_too(tmp_path: Path, error: redraft.ModelError) -> None:
    path = tmp_path / "judge.jsonl"
    first = judged(Recording(path, judge(error, 2), record=True))
    second = judged(Recording(path))

    assert first.scores["tone"] == second.scores["tone"] == 0.25
    assert [json.loads(line).get("error") for line in path.read_text("utf-8").split("\n") if line] == [error.code, None]


def test_one_file_holds_several_models(tmp_path: Path) -> None:
    path = tmp_path / "judge.jsonl"
    for number, name in ((1, "one"), (5, "two")):
        judged(Recording(path, judge(number, identity=name), record=True))

    with pytest.raises(UsageError, match="holds the replies of 2 models"):
        Recording(path)
    with pytest.raises(UsageError, match="holds the replies of no models"):
        Recording(tmp_path / "none.jsonl")
    both = [Recording(path, name) for name in ("one", "two")]
    result = redraft.evaluate(MINUTES, TEXT, store=":memory:", judges=both, metrics=[TONE])
    assert result.scores["tone"] == 0.5


@pytest.mark.parametrize("line", ["{", "[]", '{"key": 1}', '"x"'])
def test_a_damaged_file_is_told_with_its_line(tmp_path: Path, line: str) -> None:
    path = tmp_path / "judge.jsonl"
    judged(Recording(path, judge(4), record=True))
    path.write_text(path.read_text("utf-8") + line, "utf-8")

    with pytest.raises(UsageError, match="line 2 is not a recorded reply"):
        Recording(path)


def test_a_reply_that_no_longer_fits_is_told(tmp_path: Path) -> None:
    path = tmp_path / "judge.jsonl"
    judged(Recording(path, judge(4), record=True))
    entry = json.loads(path.read_text("utf-8")) | {"reply": '{"level": "high"}'}
    path.write_text(json.dumps(entry), "utf-8")

    found = judged(Recording(path)).evaluations["tone"]
    assert found.reason.endswith("a reply in the recording does not fit the prompt tone")


@pytest.mark.slow
def test_a_model_by_name_is_recorded_and_replayed_without_its_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def serve(seen: Seen) -> str:
        return json.dumps({"faults": [], "reason": "", "level": 3})

    path = tmp_path / "judge.jsonl"
    with ChatServer(serve) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-test-0123456789")
        assert judged(Recording(path, "openai:m", record=True)).scores["tone"] == 0.5
    monkeypatch.delenv("OPENAI_BASE_URL")
    monkeypatch.delenv("OPENAI_API_KEY")

    assert judged(Recording(path, "openai:m")).scores["tone"] == 0.5
    assert "sk-test" not in path.read_text("utf-8")
