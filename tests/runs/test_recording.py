"""Replies are kept: written once, and then used without the model, errors included."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import redraft
from redraft import Session
from redraft.domain import Usage
from redraft.errors import TruncatedReply, UnreadableReply, UsageError
from redraft.evaluators.rubric import RubricVerdict
from redraft.llm.base import Request
from redraft.testing import Recording
from tests.chatserver import ChatRequest, ChatServer

MINUTES = redraft.Document.from_text("The board met at seven. It was cold. " * 4, "Minutes")
TEXT = "The board met at seven. It was cold.\u2028And dark."
TONE = redraft.Rubric("tone", "Warm")


def judge(*replies: Any, identity: str = "judge") -> redraft.testing.FunctionModel:
    remaining = list(replies)

    def answer(request: Request[Any, Any]) -> Any:
        reply = remaining.pop(0)
        return reply if isinstance(reply, Exception) else RubricVerdict(faults=[], reason="“Cold.”\u2028", level=reply)

    return redraft.testing.FunctionModel(answer, identity)


def judged(model: Any, text: str = TEXT) -> redraft.Result:
    return redraft.evaluate(MINUTES, text, store=":memory:", judges=[model], metrics=[TONE])


def test_recording_answers_for_the_model(tmp_path: Path) -> None:
    path = tmp_path / "recordings" / "judge.jsonl"
    model = judge(4)
    first = judged(Recording(path, model, record=True))
    replay = Recording(path)
    second = judged(replay)

    assert first.scores["tone"] == second.scores["tone"] == 0.75
    assert (replay.identity, replay.replayed, len(model.asked)) == ("judge", 1, 1)
    assert (second.usage.cost_usd, second.usage.completion_tokens) == (0.0, 0)
    assert json.loads(path.read_text("utf-8"))["prompt"] == "tone"
    assert second.judged_by["tone"].startswith("judge; prompts ")


def test_unrecorded_request_ends_the_run(tmp_path: Path) -> None:
    path = tmp_path / "judge.jsonl"
    judged(Recording(path, judge(4), record=True))

    with pytest.raises(redraft.errors.ModelError, match="has no reply of judge to this request") as caught:
        judged(Recording(path), "It was warm.")
    assert "--redraft-record" in caught.value.hint
    judged(Recording(path, judge(5), record=True), "It was warm.")
    assert judged(Recording(path), "It was warm.").scores["tone"] == 1.0
    assert judged(Recording(path)).scores["tone"] == 0.75


@pytest.mark.parametrize(
    "error",
    [
        UnreadableReply("no JSON", text="hm", usage=Usage(1, 1)),
        TruncatedReply("cut off", text='{"rea', usage=Usage(1, 1)),
    ],
    ids=["unreadable", "cut"],
)
def test_unusable_replies_are_replayed(tmp_path: Path, error: redraft.errors.ModelError) -> None:
    path = tmp_path / "judge.jsonl"
    first = judged(Recording(path, judge(error, 2), record=True))
    second = judged(Recording(path))

    assert first.scores["tone"] == second.scores["tone"] == 0.25
    assert [json.loads(line).get("error") for line in path.read_text("utf-8").split("\n") if line] == [error.code, None]


def test_recording_holds_several_models(tmp_path: Path) -> None:
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
def test_damaged_recording_names_its_line(tmp_path: Path, line: str) -> None:
    path = tmp_path / "judge.jsonl"
    judged(Recording(path, judge(4), record=True))
    path.write_text(path.read_text("utf-8") + line, "utf-8")

    with pytest.raises(UsageError, match="line 2 is not a recorded reply"):
        Recording(path)


def test_outdated_reply_is_named(tmp_path: Path) -> None:
    path = tmp_path / "judge.jsonl"
    judged(Recording(path, judge(4), record=True))
    entry = json.loads(path.read_text("utf-8")) | {"reply": '{"level": "high"}'}
    path.write_text(json.dumps(entry), "utf-8")

    evaluation = judged(Recording(path)).evaluations["tone"]
    assert evaluation.reason.endswith("a reply in the recording does not fit the prompt tone")


@pytest.mark.slow
def test_named_model_is_replayed_without_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def serve(request: ChatRequest) -> str:
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


async def test_repeated_file_is_noted_in_its_run(tmp_path: Path) -> None:
    for name in ("one.md", "two.md"):
        (tmp_path / name).write_text("The keeper lit the lamp again before the boat came. " * 8, "utf-8")
    async with Session(tmp_path / "runs.db") as session:
        first = await session.summarize(tmp_path / "one.md", words=30)
        second = await session.summarize([tmp_path / "one.md", tmp_path / "two.md"], words=30)
        assert (await session.result(first.run.id)).outline.notes == ()
        assert "two.md has the same text" in (await session.result(second.run.id)).outline.notes[0]
