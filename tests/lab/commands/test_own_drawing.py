"""A judge that the settings file has draws its replies as its table says, in experiments as anywhere else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from redraft.lab.agreement.annotations import Summaries
from redraft.lab.experiments.booookscore import CoherenceDesign
from redraft.lab.experiments.orders import NamedModel, Seats
from redraft.order import Evaluate
from redraft.runs.models import assign_models
from redraft.settings import NO_KEY, DraftConfig, JudgeConfig
from tests.chatserver import ChatRequest, ChatServer
from tests.cli.local_command import LocalCommand
from tests.judges import PerfectModel, ScriptedReply, island, read_sheet, summary_of

_WRITERS, _JUDGE = ("w", "v"), "j"
KEEPERS = 12


def replied(request: ChatRequest) -> ScriptedReply:
    """Whoever is asked knows all about keepers."""
    sheet = read_sheet(request)
    if request.model in _WRITERS:
        return summary_of(*range(1, KEEPERS + 1))
    return PerfectModel()(sheet)


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        ("grid", "-m", "calm", "-m", "warm", "--metric", "coverage", "--metric", "keyfact_recall", "--prefer"),
        ("longsumeval", "-m", "calm", "--thresholds", "coverage=0.9", "--rounds", "1", "--order", "paper"),
        ("hamlet", "-m", "calm", "--queries", "1"),
    ],
    ids=lambda words: words[0],
)
def test_judges_sample_as_their_tables_say(tmp_path: Path, words: tuple[str, ...]) -> None:
    (tmp_path / "book.md").write_text(island(KEEPERS).text, "utf-8")
    with ChatServer(replied) as server:
        model_tables = (("calm", "w", 0.1, 0.8), ("warm", "v", 0.9, 0.7), ("strict", _JUDGE, 0.3, 0.6))
        tables = "".join(
            f'[models.{name}]\nmodel = "openai:{model}"\nbase_url = "{server.base_url}"\ncontext_tokens = 8000\n'
            f"temperature = {temperature}\ntop_p = {top_p}\n"
            for name, model, temperature, top_p in model_tables
        )
        (tmp_path / "redraft.toml").write_text(tables, "utf-8")
        command = LocalCommand(tmp_path, server.base_url, REDRAFT_CONFIG="redraft.toml")
        name, *rest = words
        run = ("experiment", name, "book.md", *rest, "--judge", "strict", "--words", "60", "--json", "-q")
        run = (*run, "--max-tokens", "300")
        first = command.run(*run)
        assert first.code in (0, 3), first.err + first.out[-3000:]
        drawn = {(request.model, request.body["temperature"], request.body["top_p"]) for request in server.answered}
        request_count = len(server.answered)
        command.run(*run)
        assert len(server.answered) == request_count or first.code == 3, "what is done is found again"
        command.run(*run, "--temperature", "1.5")
        limits = {request.model == _JUDGE: request.body["max_completion_tokens"] for request in server.answered}
        judge_temperatures = {request.body["temperature"] for request in server.answered if request.model == _JUDGE}
    assert (_JUDGE, 0.3, 0.6) in drawn
    assert {sampling for sampling in drawn if sampling[0] == _JUDGE} == {(_JUDGE, 0.3, 0.6)}
    assert {sampling for sampling in drawn if sampling[0] == "w"} <= {("w", 0.1, 0.8)}
    assert judge_temperatures == {0.3}, "a --temperature is said of those who write"
    assert limits[False] <= 300 < limits[True], "and so is the limit of replies"


@pytest.mark.parametrize(
    "words",
    [("chunk-size", "book.md", "--sizes", "128"), ("booookscore", "--summaries", "summaries.json")],
    ids=lambda words: words[0],
)
def test_judges_alone_have_tables_too(tmp_path: Path, words: tuple[str, ...]) -> None:
    (tmp_path / "book.md").write_text(island(KEEPERS).text, "utf-8")
    (tmp_path / "summaries.json").write_text(json.dumps({"a": summary_of(1, 2, 3)}), "utf-8")
    with ChatServer(replied) as server:
        table = f'[models.strict]\nmodel = "openai:j"\nbase_url = "{server.base_url}"\ntemperature = 0.3\ntop_p = 0.6\n'
        (tmp_path / "redraft.toml").write_text(table, "utf-8")
        command = LocalCommand(tmp_path, server.base_url, REDRAFT_CONFIG="redraft.toml")
        run = ("experiment", *words, "--judge", "strict", "--judge", "openai:plain", "--temperature", "0.9", "--json")
        planned = command.run(*run, "--dry-run").json["rows"]
        done = command.run(*run, "-q")
        assert done.code == 0, done.err
        drawn = {(request.model, request.body["temperature"], request.body.get("top_p")) for request in server.answered}
        request_count = len(server.answered)
        assert command.run(*run, "-q").out == done.out
    assert drawn == {("j", 0.3, 0.6), ("plain", 0.9, None)}
    assert len(server.answered) == request_count == planned[-1]["calls"]
    assert "strict" in done.out, "in tables it has the name that it was given"


def test_coherence_judges_keep_their_tables_window(tmp_path: Path) -> None:
    models = {"strict": {"context_tokens": 7000, "temperature": 0.3}, "openai:j": {"temperature": 0.9}}
    judges = tuple(NamedModel(name, DraftConfig(model="openai:j", **own)) for name, own in models.items())
    design = CoherenceDesign.measured(Summaries("s.json", {"a": summary_of(1, 2, 3)}), judges=judges)
    actual = [design.reading_settings(judge) for judge in judges]
    assert [(settings.context_tokens, settings.temperature) for settings in actual] == [(7000, 0.3), (8192, 0.9)]


def test_judges_with_tables_get_no_foreign_key() -> None:
    seat = DraftConfig(model="openai:j", base_url="http://127.0.0.1:9/v1", temperature=0.3, key_env=NO_KEY)
    strict, fair = NamedModel("strict", seat), NamedModel("strict", seat.model_copy(update={"temperature": None}))
    judging = JudgeConfig.model_validate_json(Seats().judging_by(JudgeConfig(), strict).model_dump_json())
    assert judging.models["strict"].temperature == 0.3
    writer, judge = assign_models(Evaluate(settings=seat, judging=judging))
    assert (judge.settings.model, judge.settings.temperature) == ("openai:j", 0.3)
    assert (writer.usual_key, judge.usual_key) == (False, False)
    assert Seats().judging_by(JudgeConfig(), fair) == JudgeConfig(), "what was judged before is found again"
