"""What a user gets wrong at first: the error names what was likely meant."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from redraft.cli import parse_options
from redraft.errors import UsageError
from redraft.store.store import Store
from tests.chatserver import ChatRequest, ChatServer, Raw
from tests.cli.local_command import LocalCommand
from tests.support import story

BY_FACTS = ("--metric", "keyfact_recall", "--metric", "faithfulness")
THERE = "choose from: coverage, consistency, keyfact_recall, faithfulness, booookscore"


@pytest.fixture
def command(tmp_path: Path) -> LocalCommand:
    (tmp_path / "book.md").write_text(story(12).text, "utf-8")
    (tmp_path / "good.md").write_text("The keeper lit the lamp.", "utf-8")
    (tmp_path / "empty.md").write_text(" \n", "utf-8")
    for name, length in (("short.md", 40), ("long.md", 400)):
        (tmp_path / name).write_text(" ".join(f"word{number}" for number in range(length)), "utf-8")
    (tmp_path / "books").mkdir()
    return LocalCommand(tmp_path, COLUMNS="100")


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("summarize",), 2, "Missing argument"),
        (("summarize", "book.md", "--words", "none"), 2, "words: must be a whole number"),
        (("summarize", "book.md", "--prompts", "nowhere"), 2, "neither a prompt set"),
        (("summarize", "book.md", "--model", "openai:x", "--base-url", "ftp://x", "--dry-run"), 2, "http"),
        (("summarize", "missing.txt"), 1, "no such file"),
        (("summarize", "book.md", "--strategy", "answer"), 2, "the strategy `answer` makes no draft"),
        (("summarize", "book.md", "--strategy", "hasty"), 2, "choose from hierarchical, incremental and direct"),
        (("summarize", "book.md", "-m", "openai:gpt-5-mini"), 2, "needs an API key"),
        (("summarize", "book.md", "--words", "100000"), 1, "no more than the 100000 asked for"),
        (("summarize", "long.md", "--strategy", "direct", "--context-tokens", "300"), 1, "the whole document"),
        (("show", "ffff"), 1, "no run begins with"),
        (("resume", "ffff"), 1, "no run begins with"),
        (("nonsense",), 2, "No such command"),
        (("summarize", "book.md", "--set", "timeout=inf"), 2, "timeout: must be"),
        (("summarize", "book.md", "--max-cost", "nan"), 2, "max_cost: must be"),
        (("summarize", "book.md", "--temperature", "nan"), 2, "temperature: must be"),
        (("evaluate", "book.md"), 2, "SUMMARY is missing: redraft evaluate SOURCE... SUMMARY"),
        (("refine", "book.md"), 2, "SUMMARY is missing: redraft refine SOURCE... SUMMARY"),
        (("compare", "book.md"), 2, "A is missing: redraft compare SOURCE... A B"),
        (("compare", "book.md", "good.md"), 2, "B is missing: redraft compare SOURCE... A B"),
        (("compare", "55bce691", "last"), 2, "SOURCE... A B; stored runs: redraft compare-runs RUN RUN"),
        (("evaluate", "55bc"), 2, "SUMMARY; to judge a stored summary: redraft evaluate SOURCE RUN"),
        (("evaluate", "book.md", "ffff"), 1, "ffff: no such file, and no run begins with 'ffff'\n  check the path, or"),
        (
            ("evaluate", "ffff", "good.md"),
            2,
            "there is no file 'ffff', and no run begins with 'ffff'\n  `redraft runs`",
        ),
        (("evaluate",), 2, "Missing argument 'SOURCE...'"),
        (("refine", "book.md", "good.md", "-g", "coverage=80"), 2, "did you mean coverage=0.8?"),
        (("refine", "book.md", "good.md", "-g", "coverage=1.5"), 2, "must be at most 1\n  such as coverage=0.8\n"),
        (("refine", "book.md", "good.md", "-g", "coverage=-1"), 2, "goals.coverage: must be at least 0"),
        (("evaluate", "book.md", "empty.md"), 2, "empty.md: the summary has no words\n  give a summary"),
        (("refine", "book.md", "empty.md"), 2, "empty.md: the summary has no words\n  give a summary"),
        (("evaluate", "short.md", "long.md"), 2, "name the document before the summary: they seem to be swapped"),
        (("summarize", "book.md", "--db", "nowhere/x.db"), 2, "nowhere/x.db: its directory does not exist"),
        (("summarize", "book.md", "-m", "gpt-5"), 2, "did you mean openai:gpt-5?"),
        (("batch", "books", "--format", "csv"), 2, "'--format'. `redraft batch results` has it."),
        (("summarize", "books"), 1, "books: it is a directory\n  to summarize each file in it: redraft batch books\n"),
        (("summarize", "book.md", "--template", "books"), 1, "books: it is a directory\n  give a file, or use - for"),
        (("evaluate", "book.md", "books"), 1, "books: it is a directory\n  give a file, or use - for stdin\n"),
        (("summarize", "book.md", "-o", "x.pdf"), 2, "x.pdf: PDF files cannot be written\n  name a .docx, .html, .md"),
        (("summarize", ""), 2, "the file name is empty"),
        (("evaluate", "book.md", "good.md", "-g", "coverage=1"), 2, "`redraft refine` has it, and `redraft summarize"),
        (("evaluate", "book.md", "good.md", "--top-k", "3"), 2, "Write --set top_k=VALUE."),
        (("runs", "--db", ""), 2, "the name is empty"),
        (("summarize", "book.md", "--config", "my.toml"), 2, "Write it before the command: redraft --config FILE"),
        (("trace", "last"), 1, "there is no run yet\n  make one: redraft summarize FILE"),
        (("export", "ab12", "-o", "s.pdf"), 2, "s.pdf: PDF files cannot be written\n  name a .html, .md or .json file"),
        (("summarize", "book.md", "-w", "1.5"), 2, "words: must be a whole number"),
        (("summarize", "book.md", "--set", "max_source=0"), 2, "'0' is not a size"),
        (("evaluate", "book.md", "good.md", "--set", "keyfact_chunks=x"), 2, "must be a number of tokens, 256 or more"),
        (("summarize", "book.md", "--rounds", "2"), 2, "--rounds only applies when"),
        (("summarize", "-", "--refine", "--review"), 2, "answers from stdin"),
        (("evaluate", "-", "-"), 2, "cannot both be stdin"),
        (("evaluate", "book.md", "book.md", "--metric", "beauty"), 2, f"{THERE}, newcomer, spread, position, statist"),
        (("evaluate", "book.md", "book.md", "--set", "similarity=cosine"), 2, "needs an embedding model"),
        (("evaluate", "book.md", "book.md", "--set", "pack=ffff"), 1, "no pack begins with"),
        (("refine", "book.md", "book.md", "--goal", "coverage"), 2, "is not a goal"),
        (("refine", "book.md", "book.md", "--goal", "coverage=nan"), 2, "goals.coverage: must be"),
        (("refine", "book.md", "book.md", "--goal", "beauty=1"), 2, f"{THERE}, spread"),
        (("refine", "book.md", "book.md", "--goal", "statistics=1"), 2, "statistics give no score"),
        (("refine", "book.md", "book.md", "--goal", "coverage=1", "--goal", "coverage=0"), 2, "two goals"),
        (("refine", "book.md", "book.md", "--judge", "gpt-5"), 2, "there is no model"),
        (("refine", "book.md", "-", "--review"), 2, "answers from stdin"),
        (("trace", "ffff"), 1, "no run begins with"),
        (("diff", "ffff"), 1, "no run begins with"),
        (("fork", "ffff", "--round", "0"), 1, "no run begins with"),
        (("pack", "import"), 2, "give SOURCE and PACK"),
        (("pack", "import", "-", "-"), 2, "cannot both be stdin"),
        (("pack", "import", "missing.json"), 1, "cannot be read"),
        (("keyfacts", "book.md", "--set", "perspective=lyrical"), 2, "perspective: must be 'both'"),
        (("keyfacts", "book.md", "--set", "validator=gpt-5"), 2, "there is no model 'gpt-5'"),
        (("keyfacts", "missing.md"), 1, "no such file"),
        (("evaluate", "book.md", "book.md", *BY_FACTS, "--set", "validator=gpt-5"), 2, "there is no model 'gpt-5'"),
        (
            ("evaluate", "book.md", "book.md", *BY_FACTS, "--set", "keyfacts=ffff"),
            1,
            "no key facts have an id that begins",
        ),
        (("summarize", "book.md", "--set", "perspective=both"), 2, "--set perspective only applies when"),
        (("refine", "book.md", "good.md", "--findings", "-"), 2, "redraft: stdin: there are no findings in it"),
    ],
)
def test_what_was_likely_meant_is_named(
    command: LocalCommand, arguments: tuple[str, ...], code: int, said: str
) -> None:
    done = command.run(*arguments)
    assert said in done.err
    assert (done.code, done.out) == (code, "")
    assert not any(phrase in done.err for phrase in ("Input should", "Traceback"))
    as_json = command.run(*arguments, "--json")
    assert (as_json.code, set(as_json.json["error"])) == (code, {"code", "message", "hint"})
    assert not (command.folder / "nowhere").exists()
    assert not command.database.exists() or command.run("runs", "--json").json["runs"] == []


def test_last_is_the_newest_run(command: LocalCommand) -> None:
    first, newest = (command.run("summarize", "book.md", "-w", words, "--json").json["run"] for words in ("50", "60"))
    assert newest != first
    assert f"# run {newest} " in command.run("trace", "last").out
    assert command.run("show", "last", "--json").json["run"] == newest
    assert newest in command.run("export", "last", "--format", "json").out
    assert f"reading run {newest}" in command.run("resume", "latest").err
    assert command.run("show", "--json").json["run"] == command.run("show", "-", "--json").json["run"] == newest
    with Store(command.database) as store, store.connection.writing() as raw:
        raw.execute("UPDATE runs SET status = 'interrupted' WHERE id = ?", (first,))
    assert [run["run"] for run in command.run("runs", "--status", "stopped", "--json").json["runs"]] == [first]
    assert f"reading run {first}" in command.run("resume").err, "the newest run that can go on"
    assert "no run has stopped before its end\n  `redraft runs` lists all runs" in command.run("resume", code=1).err
    assert command.run("fork", "last", "-g", "coverage=0", "--json").json["parent"] == newest
    command.run("ask", "book.md", "Who rang the bell?", "-q")
    followed = command.run("ask", "--follow", "last", "And why?", "--json").json["run"]
    assert command.run("runs", "-n", "1", "--json").json["runs"][0]["run"] == followed


def test_rows_of_a_plan_are_equally_wide(command: LocalCommand) -> None:
    (command.folder / "odd.md").write_text(story(12).text.replace("The Keeper", "The *odd* keeper_of_it"), "utf-8")
    plan = command.run("summarize", "odd.md", "--dry-run").out.splitlines()
    assert "keeper_of_it" in plan[2]
    assert len({len(row) for row in plan if row.startswith("|")}) == 1


@pytest.mark.parametrize(
    ("body", "reason"), [(b'{"error": {"message": "Unknown key"}}', ": Unknown key"), (b"", "")], ids=["reason", "bare"]
)
def test_a_refused_key_is_named(command: LocalCommand, body: bytes, reason: str) -> None:
    def refuse(_: ChatRequest) -> Raw:
        return Raw(body, 401, {"Content-Type": "application/json"})

    with ChatServer(refuse) as server:
        done = command.run("summarize", "book.md", "-m", "openai:m", "--base-url", server.base_url, "-w", "60", code=1)
    assert f"redraft: {server.base_url} refused the API key (HTTP 401){reason}\n" in done.err
    assert "put a valid key into OPENAI_API_KEY, which has the key of openai:m (writer)\n" in done.err
    assert "Resume: redraft resume " in done.err


def test_a_fork_begins_with_the_only_draft(command: LocalCommand) -> None:
    run = command.run("summarize", "book.md", "-w", "60", "--json").json["run"]
    fork = command.run("fork", run, "-g", "coverage=0", "--json", code=0)
    assert fork.json["strategy"] == "given"
    refined = command.run("refine", "book.md", "good.md", "-g", "coverage=1", "--rounds", "1", "--json").json["run"]
    several = command.run("fork", refined, "-g", "coverage=0", code=2)
    assert "has 2 drafts\n  name the round, one of 0, 1, as --round 1: `redraft trace " in several.err


def test_unknown_option_names_its_completion(command: LocalCommand) -> None:
    wrong = command.run("evaluate", "book.md", "good.md", "-o", "x", "--json").json["error"]
    assert wrong["hint"] == "see `redraft evaluate --help`"
    done = command.run("summarize", "book.md", "--word", "80", code=2)
    # Older versions of click print no quotation marks.
    assert "Did you mean --words?" in done.err.replace("'", "")
    assert "Did you mean --max-cost?" in command.run("summarize", "book.md", "--max-costs", "1").err.replace("'", "")


def test_a_file_named_dash_is_stdout(command: LocalCommand) -> None:
    assert command.run("summarize", "book.md", "-w", "40", "-q", "-o", "-").out.startswith("Sentence")
    assert not (command.folder / "-").exists()


@pytest.mark.parametrize("words", ["diff", "diff 0 1", "lineage", "fork --round 0", "show --round 0"])
def test_run_without_a_summary_says_so(command: LocalCommand, words: str) -> None:
    command.run("pack", "build", "book.md", "-q")
    verb, *more = words.split()
    done = command.run(verb, command.run("runs", "--json").json["runs"][0]["run"], *more, code=1)
    assert "made no summary: it builds questions" in done.err
    assert "resume" not in done.err


@pytest.mark.parametrize("status", [200, 404, 405])
def test_web_page_at_base_url_is_named(command: LocalCommand, status: int) -> None:
    page = Raw(b"<!doctype html><html><body>It works!</body></html>", status, {"Content-Type": "text/html"})

    def serve(request: ChatRequest) -> Raw:
        return page

    with ChatServer(serve) as server:
        root = server.base_url.removesuffix("/v1")
        done = command.run("summarize", "book.md", "-m", "openai:m", "--base-url", root, "-w", "60", code=1)
    assert f"did you mean {root}/v1?" in done.err
    assert len(server.seen) <= 1


@pytest.mark.nightly
def test_server_that_is_down_is_retried_briefly(command: LocalCommand) -> None:
    with ChatServer() as server:
        away = server.base_url
    began = time.monotonic()
    done = command.run("summarize", "book.md", "-m", "openai:m", "--base-url", away, "-w", "60", code=1)
    assert time.monotonic() - began < 8
    assert f"nothing answers at {away}: connection refused" in done.err


@pytest.mark.slow
def test_runs_without_scores_are_compared(command: LocalCommand) -> None:
    for words in ("40", "80"):
        assert command.run("summarize", "book.md", "-w", words, "-q").code == 0
    runs = [run["run"] for run in command.run("runs", "--json").json["runs"]]
    command.run("compare-runs", *runs, "-o", "beside.html", code=0)
    page = (command.folder / "beside.html").read_text("utf-8")
    assert "No metric has scored two of these runs" in page
    assert "compare those runs: redraft evaluate SOURCE RUN" in page
    assert 'id="scores"' not in page


@pytest.mark.slow
def test_fork_with_another_writer_and_length(command: LocalCommand) -> None:
    arguments = ("refine", "book.md", "good.md", "-g", "consistency=0.5", "-q")
    assert command.run(*arguments).code in (0, 3)
    before = command.run("runs", "--json").json["runs"][0]["run"]
    with ChatServer() as server:
        made = ("-m", "openai:m", "--base-url", server.base_url, "-w", "70", "-g", "coverage=0.1", "--rounds", "1")
        fork = command.run("fork", before, "--round", "0", *made, "--json", code=(0, 3))
    settings = fork.json["settings"]
    assert (settings["model"], settings["words"], settings["base_url"]) == ("openai:m", 70, server.base_url)
    assert all(who.startswith("extractive, an offline check") for who in fork.json["judged_by"].values())
    assert set(fork.json["goals"]) == {"consistency", "coverage"}


@pytest.mark.slow
def test_batch_in_place_of_a_run(command: LocalCommand) -> None:
    assert command.run("batch", "run", "book.md", "-w", "40", "--name", "mine", "-q").code == 0
    command.run("show", "mine", code=1, err="it is a batch: `redraft batch results mine` names its runs")


@pytest.mark.slow
def test_failed_document_is_named_once(command: LocalCommand) -> None:
    (command.folder / "empty.txt").write_bytes(b"")
    done = command.run("batch", "run", "empty.txt", "nowhere.txt", "book.md", "-w", "40", "-q")
    assert "failed: empty.txt: the document is empty; give a file that contains text" in done.out
    assert "failed: nowhere.txt: no such file; check the path" in done.out


def test_fork_of_an_answer_is_refused(tmp_path: Path) -> None:
    (tmp_path / "book.md").write_text(story(40).text, "utf-8")
    command = LocalCommand(tmp_path)
    run = command.run("ask", "book.md", "Who keeps the lamp?", "--json").json["run"]
    command.run("fork", run, code=1, err=f"run {run} answered a question, and has no summary to refine")
    assert "fork" not in command.run("trace", run).err


def test_new_errors_exit_like_their_kind(command: LocalCommand, monkeypatch: pytest.MonkeyPatch) -> None:
    class MissingColumn(UsageError):
        code = "missing_column"

    def refuse(_: str | None) -> None:
        raise MissingColumn("the column is missing")

    monkeypatch.setattr(parse_options, "store_to_read", refuse)
    done = command.run("runs")
    assert (done.code, done.err) == (2, "redraft: the column is missing\n")
