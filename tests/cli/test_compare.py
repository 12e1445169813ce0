"""`redraft compare` from the command line: what is printed, where, and with which exit code."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from redraft.prompts.coherence import ASPECTS
from tests.chatserver import ChatServer
from tests.cli.local_command import MODEL, LocalCommand, facts, judging_folder
from tests.command import Completed
from tests.judges import PerfectModel, ScriptedReply, Sheet, summary_of
from tests.support import SAMPLE

GOOD = summary_of(1, 2, 3, 4, 5)
COMPARE = ("compare", "book.md", "poor.md", "good.md")


class Courteous(PerfectModel):
    """Knows which summary is right, and prefers the structure of whatever comes first."""

    def prefer_summary(self, sheet: Sheet) -> ScriptedReply:
        return super().prefer_summary(sheet) | {"structure": "first"}


@pytest.fixture(scope="module")
def command(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCommand]:
    with judging_folder(tmp_path_factory.mktemp("comparing"), Courteous()) as command:
        (command.folder / "good.md").write_text(GOOD, "utf-8")
        yield command


@pytest.fixture(scope="module")
def done(command: LocalCommand) -> Completed:
    return command.run(*COMPARE, "--repeat", "2", code=0)


def with_new_database(command: LocalCommand, folder: Path) -> LocalCommand:
    return LocalCommand(command.folder, **{**command.environment, "REDRAFT_DB": str(folder / "new.db")})


def test_a_comparison_shows_winners_and_bias(done: Completed) -> None:
    assert facts(done.out).startswith(
        "aspect better A B tie no verdict ties"
        " overall B 0 2 0 0 detail B 0 2 0 0 structure tie 0 0 2 0 2 by the order logic B 0 2 0 0"
        " A B words 28 35 sentences 4 5 "
    )
    assert "\n- warning: in 2 judgings the order decides structure in 2. " in done.out
    first = f"openai:m@{done.out.partition('openai:m@')[2].split(',')[0]}, A is the first: "
    assert f"\n- {first}overall B, detail B, structure A, logic B\n  They tell of 3 and 5 keepers.\n" in done.out
    assert ", B is the first: overall B, detail B, structure B, logic B\n  They tell of 5 and 3 keepers.\n" in done.out
    assert "has read the document" not in done.out
    assert "\njudged by: openai:m; prompts standard\n" in done.out
    assert " · 4 calls · " in done.err


def test_other_commands_show_a_comparison(command: LocalCommand, done: Completed) -> None:
    output = command.run(*COMPARE, "--repeat", "2", "--json", "-q")
    assert output.err == ""
    content = output.json
    assert set(content) >= {"run", "kind", "source", "model", "judges", "metrics", "comparison", "usage"}
    assert set(content["source"]) == {"id", "title", "language", "tokens", "chunks", "notes"}
    assert set(content["comparison"]) == {"a", "b", "winner"}
    assert (content["comparison"]["a"]["words"], content["comparison"]["b"]["sentences"]) == (28, 5)
    preference = content["metrics"]["preference"]
    details = preference["details"]
    assert set(details["aspects"]) == set(ASPECTS)
    assert content["comparison"]["winner"] == details["aspects"]["overall"]["winner"]
    assert details["aspects"]["structure"] == {
        "winner": "tie", "a": 0, "b": 0, "tie": 2, "leaning_a": 0, "leaning_b": 0, "order_decides": 2, "unjudged": 0,
    }  # fmt: skip
    assert (preference["judged"], preference["unjudged"]) == (2, 0)
    assert (details["document_read"], details["agreement"]) == (True, 1.0)
    assert len(details["judgings"]) == 2
    assert set(details["judgings"][0]) == {"judge", "document_read", "verdicts", "a_first", "b_first", "trouble"}
    assert details["judgings"][0]["a_first"]["reason"] == "They tell of 3 and 5 keepers."
    assert content["judged_by"] == {"preference": "openai:m; prompts standard"}
    assert command.run("resume", content["run"], "--json").json == content
    run = command.run(*COMPARE, "--repeat", "2", "--json").json["run"]
    assert command.run("show", run).out == done.out
    assert command.run("show", run, "--json").json == command.run("resume", run, "--json").json
    listed = {entry["run"]: entry for entry in command.run("runs", "--json").json["runs"]}[run]
    assert (listed["kind"], listed["preferred"], listed["scores"]) == ("compare", "b", {})
    assert "compare B preferred The Keepers openai:m" in facts(command.run("runs").out)
    assert f"this run compared two summaries: see `redraft show {run}`" in command.run("trace", run).out
    command.run("diff", run, code=1, err="made no summary: it asked which of two summaries is better")


def test_comparison_out_of_budget_resumes(command: LocalCommand, tmp_path: Path) -> None:
    fresh = with_new_database(command, tmp_path)
    stopped = fresh.run(*COMPARE, "--max-calls", "1", code=3)
    assert stopped.out == ""
    run = fresh.run("runs", "--json").json["runs"][0]
    assert (run["status"], run["preferred"]) == ("stopped", None)
    assert f"redraft resume {run['run']}" in stopped.err
    output = fresh.run("show", run["run"])
    assert (output.out, "no verdict yet\n" in output.err) == ("", True)
    assert output.err.count(f"redraft resume {run['run']}") == 1

    done = fresh.run("resume", run["run"], "--max-calls", "9", code=0, err=" · 2 calls · ")
    assert "overall B 0 1 0 0" in facts(done.out)


def test_no_verdict_is_no_success(command: LocalCommand) -> None:
    with ChatServer(lambda request: "\x1b[31mI would rather not.") as server:
        done = LocalCommand(command.folder, server.base_url).run(*COMPARE, "--model", MODEL, code=3)

    listed = command.run("runs", "--status", "incomplete", "--json").json["runs"]
    [status] = {run["status"] for run in listed if run["kind"] == "compare"}
    assert status == command.run("show", listed[0]["run"], "--json").json["status"] == "incomplete"
    assert done.out.startswith("no verdict: preference, "), "the reason comes first, without a table of zeros"
    assert "overall" not in done.out
    assert "A B words 28 35 " in facts(done.out)
    assert "\x1b" not in done.out
    run = command.run("runs", "--json").json["runs"][0]["run"]
    shown, trace = (command.run(verb, run) for verb in ("show", "trace"))
    assert "no judge gave a verdict in both orders" in trace.out
    again = f"Try again: redraft resume {run}\n"
    assert again in shown.err
    assert again in trace.err
    assert "redraft show" not in trace.out
    assert "redraft trace" not in shown.err


def test_equal_summaries_tie_without_a_call(command: LocalCommand) -> None:
    compare = ("compare", "book.md", "good.md", "good.md", "--model", MODEL)
    with ChatServer(lambda _: "I prefer the first.") as server:
        here = LocalCommand(command.folder, server.base_url)
        done, planned = here.run(*compare), here.run(*compare, "--dry-run")
    assert done.code == 0, done.err
    assert server.seen == []
    assert "overall tie 0 0 0 0 detail tie" in facts(done.out)
    assert "A and B are the same text; no model was asked\n" in done.out
    assert facts(planned.out).endswith("calls none, since A and B are the same text"), planned.err


@pytest.mark.slow
def test_a_dry_run_counts_the_calls(command: LocalCommand, tmp_path: Path) -> None:
    fresh = with_new_database(command, tmp_path)
    arguments = (*COMPARE, "--judge", MODEL, "--judge", "openai:n", "--repeat", "2", "--json")
    planned = fresh.run(*arguments, "--dry-run").json
    usage = fresh.run(*arguments).json["usage"]
    assert planned["calls"] == usage["calls"] == 8
    assert 0 < usage["prompt_tokens"] <= planned["prompt_tokens"]
    assert fresh.run(*arguments, "--dry-run").json["calls"] == 0, "stored replies are free"
    long = ("compare", str(SAMPLE), "poor.md", "good.md", "--dry-run", "--json", "--judge", MODEL, "--context-tokens")
    read, left_out, none = (fresh.run(*long, window).json for window in ("90000", "8000", "64"))
    document = 2 * read["source"]["tokens"]
    assert document < read["prompt_tokens"] - left_out["prompt_tokens"] < 1.1 * document
    assert none["calls"] == 0


def test_hostile_reasons_are_shortened_and_sanitized(tmp_path: Path) -> None:
    class Evil(PerfectModel):
        def prefer_summary(self, sheet: Sheet) -> ScriptedReply:
            reason = "It is \x1b[31mred\x07\n\nwarning: nothing\u202e " + "so " * 9999
            return super().prefer_summary(sheet) | {"reason": reason}

    with judging_folder(tmp_path, Evil()) as command:
        (tmp_path / "good.md").write_text(GOOD, "utf-8")
        done, content = command.run(*COMPARE), command.run(*COMPARE, "--json").json
    reason = content["metrics"]["preference"]["details"]["judgings"][0]["a_first"]["reason"]
    assert done.code == 0, done.err
    assert reason.startswith("It is red warning: nothing so so")
    assert len(reason) <= 1000
    assert "  It is red warning: nothing so so" in done.out
    assert not {"\x1b", "\x07", "\u202e"} & set(done.out)
    assert len(done.out) < 3000


@pytest.mark.slow
def test_the_built_in_model_cannot_tell(tmp_path: Path) -> None:
    command = LocalCommand(tmp_path)
    good = command.run("summarize", str(SAMPLE), "--words", "200", "-q").out
    (tmp_path / "good.md").write_text(good, "utf-8")
    (tmp_path / "poor.md").write_text(good.partition(". ")[0] + ".", "utf-8")
    run = command.run("evaluate", str(SAMPLE), "good.md", "--json").json["run"]
    assert command.run("evaluate", run[:6], "poor.md", "--json").json["source"]["title"] == "The Salt Ledger"
    command.run("refine", run, "last", "-g", "consistency=0.1")
    done = command.run("compare", str(SAMPLE), run, "poor.md", code=2, err="does not compare summaries")
    assert f"or redraft evaluate {SAMPLE} {run}; redraft evaluate {SAMPLE} poor.md" in done.err
    assert [entry["kind"] for entry in command.run("runs", "-n", "1", "--json").json["runs"]] == ["refine"]


def test_mistakes_are_refused_before_storing(command: LocalCommand, tmp_path: Path) -> None:
    fresh = with_new_database(command, tmp_path)
    (command.folder / "empty.md").write_text("\n...\n", "utf-8")
    for arguments, code, message in (
        ("- poor.md -", 2, "only one of SOURCE, A and B can be stdin"),
        ("book.md - -", 2, "only one of SOURCE, A and B can be stdin"),
        ("book.md empty.md poor.md", 2, "summary A: it has no words"),
        ("book.md poor.md empty.md --dry-run", 2, "summary B: it has no words"),
        ("book.md poor.md missing.md", 1, "no such file"),
        ("empty.md poor.md good.md", 1, "the document has no words"),
        ("book.md poor.md good.md --judge gpt-5", 2, "there is no model"),
    ):
        done = fresh.run("compare", *arguments.split(), "--json", code=code)
        assert message in done.json["error"]["message"]
    assert not (tmp_path / "new.db").exists() or fresh.run("runs", "--json").json["runs"] == []
