"""`redraft compare` from the command line: what is printed, where, and with which exit code."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from redraft.prompts.coherence import ASPECTS
from redraft.report.history.certificates import UNCHECKED
from tests.chatserver import ChatServer
from tests.cli.inside import MODEL, Inside, facts, keepers_court
from tests.command import Done
from tests.judges import Keepers, Said, Sheet, told
from tests.support import SAMPLE

GOOD = told(1, 2, 3, 4, 5)


class Courteous(Keepers):
    """Knows which summary is right, and prefers the structure of whatever comes first."""

    def prefer_summary(self, sheet: Sheet) -> Said:
        said = super().prefer_summary(sheet)
        return said | {"structure": "first"}


@pytest.fixture(scope="module")
def command(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Inside]:
    with keepers_court(tmp_path_factory.mktemp("comparing"), Courteous()) as made:
        (made.folder / "good.md").write_text(GOOD, "utf-8")
        yield made


@pytest.fixture(scope="module")
def done(command: Inside) -> Done:
    made = command.run("compare", "book.md", "poor.md", "good.md", "--repeat", "2")
    assert made.code == 0, made.err
    return made


def test_a_comparison_shows_who_wins_in_what_and_where_the_order_decides(done: Done) -> None:
    assert facts(done.out).startswith(
        "aspect better judgings"
        " overall B 2 judgings: A 0, B 2, tie 0"
        " detail B 2 judgings: A 0, B 2, tie 0"
        " structure tie 2 judgings: A 0, B 0, tie 2; of the ties 2 by the order"
        " logic B 2 judgings: A 0, B 2, tie 0"
        " A B words 28 35 sentences 4 5 "
    )
    assert "\n- warning: in 2 judgings the order decides structure in 2. " in done.out
    first = f"openai:m@{done.out.partition('openai:m@')[2].split(',')[0]}, A is the first: "
    assert f"\n- {first}overall B, detail B, structure A, logic B\n  They tell of 3 and 5 keepers.\n" in done.out
    assert ", B is the first: overall B, detail B, structure B, logic B\n  They tell of 5 and 3 keepers.\n" in done.out
    assert "has read the document" not in done.out
    behind = " ".join(done.out.partition("\njudged by: ")[2].split())
    assert re.match(r"openai:m; prompts standard \w{8}; not checked against people ", behind)
    assert " · 4 calls · " in done.err


def test_the_other_way_round_the_other_wins_and_nobody_is_asked_again(command: Inside, done: Done) -> None:
    back = command.run(
        "compare", "book.md", "good.md", "-", "--repeat", "2", stdin=b"\n" + told(1, 3, 4, wrong={2: "Bob"}).encode()
    )

    assert "overall A 2 judgings: A 2, B 0, tie 0" in facts(back.out)
    assert " · 0 calls · " in back.err


def test_the_json_keeps_the_contract(command: Inside, done: Done) -> None:
    made = command.run("compare", "book.md", "poor.md", "good.md", "--repeat", "2", "--json", "-q")

    assert made.err == ""
    said = made.json
    assert set(said) >= {"run", "kind", "source", "model", "judges", "metrics", "comparison", "usage"}
    assert set(said["source"]) == {"id", "title", "language", "tokens", "chunks", "notes"}
    assert set(said["comparison"]) == {"a", "b", "winner"}
    assert (said["comparison"]["a"]["words"], said["comparison"]["b"]["sentences"]) == (28, 5)
    preference = said["metrics"]["preference"]
    details = preference["details"]
    assert set(details["aspects"]) == set(ASPECTS)
    assert said["comparison"]["winner"] == details["aspects"]["overall"]["winner"]
    assert details["aspects"]["structure"] == {
        "winner": "tie", "a": 0, "b": 0, "tie": 2, "leaning_a": 0, "leaning_b": 0, "order_decides": 2, "unjudged": 0,
    }  # fmt: skip
    assert (preference["judged"], preference["unjudged"]) == (2, 0)
    assert (details["document_read"], details["agreement"]) == (True, 1.0)
    assert len(details["judgings"]) == 2
    assert set(details["judgings"][0]) == {"judge", "document_read", "verdicts", "a_first", "b_first", "trouble"}
    assert details["judgings"][0]["a_first"]["reason"] == "They tell of 3 and 5 keepers."
    behind = preference["certificate"]
    assert (behind["judges"], behind["metric"], behind["agrees"]) == (["openai:m"], "preference", UNCHECKED)
    assert command.run("resume", said["run"], "--json").json == said


def test_show_runs_and_trace_know_a_comparison(command: Inside, done: Done) -> None:
    run = command.run("compare", "book.md", "poor.md", "good.md", "--repeat", "2", "--json").json["run"]

    assert command.run("show", run).out == done.out
    assert command.run("show", run, "--json").json == command.run("resume", run, "--json").json
    listed = command.run("runs", "--json").json["runs"]
    assert [(one["kind"], one["preferred"], one["scores"]) for one in listed if one["run"] == run] == [
        ("compare", "b", {})
    ]
    assert "compare B preferred The Keepers openai:m" in facts(command.run("runs").out)
    assert f"this run compared two summaries: see `redraft show {run}`" in command.run("trace", run).out
    refused = command.run("diff", run)
    assert refused.code == 1
    assert "made no summary: it asked which of two summaries is better" in refused.err


def test_a_comparison_that_ran_out_of_calls_has_no_verdict_and_goes_on(command: Inside, tmp_path: Path) -> None:
    own = Inside(command.folder, **{**command.environment, "REDRAFT_DB": str(tmp_path / "own.db")})
    stopped = own.run("compare", "book.md", "poor.md", "good.md", "--max-calls", "1")
    assert (stopped.code, stopped.out) == (3, "")
    run = own.run("runs", "--json").json["runs"][0]
    assert (run["status"], run["preferred"]) == ("stopped", None)
    assert f"redraft resume {run['run']}" in stopped.err
    shown = own.run("show", run["run"])
    assert shown.out == ""
    assert f"no verdict yet: redraft resume {run['run']}" in shown.err

    done = own.run("resume", run["run"], "--max-calls", "9")
    assert done.code == 0, done.err
    assert "overall B 1 judging: A 0, B 1, tie 0" in facts(done.out)
    assert " · 2 calls · " in done.err


def test_a_comparison_without_a_verdict_is_told_and_is_no_success(command: Inside) -> None:
    with ChatServer(lambda seen: "\x1b[31mI would rather not.") as server:
        done = Inside(command.folder, server.base_url).run("compare", "book.md", "poor.md", "good.md", "--model", MODEL)

    assert done.code == 3, done.err
    assert "overall – detail – structure – logic –" in facts(done.out)
    assert "\n- no verdict: preference, " in done.out
    assert "\x1b" not in done.out


def test_one_text_twice_is_a_tie_for_which_no_key_is_needed(command: Inside) -> None:
    done = Inside(command.folder).run("compare", "book.md", "good.md", "good.md", "--model", MODEL)

    assert done.code == 0, done.err
    assert "overall tie detail tie" in facts(done.out)
    assert "A and B are the same text; no model was asked\n" in done.out
    planned = Inside(command.folder).run("compare", "book.md", "good.md", "good.md", "--model", MODEL, "--dry-run")
    assert facts(planned.out).endswith("calls none, since A and B are the same text"), planned.err


def test_what_a_judge_says_is_harmless_on_a_terminal(tmp_path: Path) -> None:
    class Evil(Keepers):
        def prefer_summary(self, sheet: Sheet) -> Said:
            said = super().prefer_summary(sheet)
            return said | {"reason": "It is \x1b[31mred\x07\n\nwarning: nothing\u202e " + "so " * 9999}

    with keepers_court(tmp_path, Evil()) as court:
        (tmp_path / "good.md").write_text(GOOD, "utf-8")
        done = court.run("compare", "book.md", "poor.md", "good.md")
        shown = court.run("compare", "book.md", "poor.md", "good.md", "--json").json
    reason = shown["metrics"]["preference"]["details"]["judgings"][0]["a_first"]["reason"]

    assert done.code == 0, done.err
    assert reason.startswith("It is red warning: nothing so so")
    assert len(reason) <= 1000
    assert "  It is red warning: nothing so so" in done.out
    assert not {"\x1b", "\x07", "\u202e"} & set(done.out)
    assert len(done.out) < 3000


@pytest.mark.slow
def test_the_built_in_model_says_that_it_cannot_tell(tmp_path: Path) -> None:
    command = Inside(tmp_path)
    good = command.run("summarize", str(SAMPLE), "--words", "200", "-q").out
    (tmp_path / "good.md").write_text(good, "utf-8")
    (tmp_path / "poor.md").write_text(good.partition(". ")[0] + ".", "utf-8")
    done = command.run("compare", str(SAMPLE), "good.md", "poor.md")
    assert "cannot tell" in done.out
    assert "preferred" not in done.out
    assert "Repeat the command with a language model as --judge" in done.err


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("-", "poor.md", "-"), 2, "only one of SOURCE, A and B can be stdin"),
        (("book.md", "-", "-"), 2, "only one of SOURCE, A and B can be stdin"),
        (("book.md", "empty.md", "poor.md"), 2, "summary A: it has no words"),
        (("book.md", "poor.md", "empty.md", "--dry-run"), 2, "summary B: it has no words"),
        (("book.md", "poor.md", "missing.md"), 1, "no such file"),
        (("empty.md", "poor.md", "good.md"), 1, "the document has no words"),
        (("book.md", "poor.md", "good.md", "--judge", "gpt-5"), 2, "there is no model"),
    ],
)
def test_mistakes_are_told_before_anything_is_stored(
    command: Inside, tmp_path: Path, arguments: tuple[str, ...], code: int, message: str
) -> None:
    own = Inside(command.folder, **{**command.environment, "REDRAFT_DB": str(tmp_path / "own.db")})
    (command.folder / "empty.md").write_text("\n...\n", "utf-8")
    done = own.run("compare", *arguments, "--json")

    assert done.code == code, done.err
    assert message in done.json["error"]["message"]
    assert not (tmp_path / "own.db").exists() or own.run("runs", "--json").json["runs"] == []
