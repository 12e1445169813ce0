"""What a user gets wrong at first: the error names what was likely meant."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from redraft.domain import Document
from redraft.errors import UsageError
from redraft.runs.prepare import LONGEST_SUMMARY, check_length
from redraft.store.store import Store
from tests.chatserver import ChatRequest, ChatServer, Raw
from tests.cli.local_command import LocalCommand
from tests.command import Command
from tests.support import SAMPLE, story

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
        (("summarize", "book.md", "--prompts", "nowhere"), 2, "neither a prompt set"),
        (("summarize", "missing.txt"), 1, "no such file"),
        (("summarize", "book.md", "--strategy", "answer"), 2, "the strategy `answer` makes no draft"),
        (("summarize", "book.md", "--words", "100000"), 1, "no more than the 100000 asked for"),
        (("summarize", "long.md", "--strategy", "direct", "--context-tokens", "300"), 1, "the whole document"),
        (("summarize", "book.md", "--max-cost", "nan"), 2, "max_cost: must be"),
        (("evaluate", "book.md"), 2, "SUMMARY is missing: redraft evaluate SOURCE... SUMMARY"),
        (("compare", "book.md"), 2, "A is missing: redraft compare SOURCE... A B"),
        (("evaluate", "55bc"), 2, "SUMMARY; to judge a stored summary: redraft evaluate SOURCE RUN"),
        (("evaluate", "book.md", "ffff"), 1, "ffff: no such file, and no run begins with 'ffff'\n  check the path, or"),
        (
            ("evaluate", "ffff", "good.md"),
            2,
            "there is no file 'ffff', and no run begins with 'ffff'\n  `redraft runs`",
        ),
        (("refine", "book.md", "good.md", "-g", "coverage=80"), 2, "did you mean coverage=0.8?"),
        (("evaluate", "book.md", "empty.md"), 2, "empty.md: the summary has no words\n  give a summary"),
        (("evaluate", "short.md", "long.md"), 2, "name the document before the summary: they seem to be swapped"),
        (("summarize", "book.md", "--db", "nowhere/x.db"), 2, "nowhere/x.db: its directory does not exist"),
        (("summarize", "book.md", "-m", "gpt-5"), 2, "did you mean openai:gpt-5?"),
        (("batch", "books", "--format", "csv"), 2, "'--format'. `redraft batch results` has it."),
        (("summarize", "books"), 1, "books: it is a directory\n  to summarize each file in it: redraft batch books\n"),
        (("summarize", "book.md", "--template", "books"), 1, "books: it is a directory\n  give a file, or use - for"),
        (("summarize", "book.md", "-o", "x.pdf"), 2, "x.pdf: PDF files cannot be written\n  name a .docx, .html, .md"),
        (("summarize", ""), 2, "the file name is empty"),
        (("evaluate", "book.md", "good.md", "-g", "coverage=1"), 2, "`redraft refine` has it, and `redraft summarize"),
        (("evaluate", "book.md", "good.md", "--top-k", "3"), 2, "Write --set top_k=VALUE."),
        (("summarize", "book.md", "--config", "my.toml"), 2, "Write it before the command: redraft --config FILE"),
        (("trace", "last"), 1, "there is no run yet\n  make one: redraft summarize FILE"),
        (("export", "ab12", "-o", "s.pdf"), 2, "s.pdf: PDF files cannot be written\n  name a .html, .md or .json file"),
        (("summarize", "book.md", "--set", "max_source=0"), 2, "'0' is not a size"),
        (("summarize", "book.md", "--rounds", "2"), 2, "--rounds only applies when"),
        (("summarize", "-", "--refine", "--review"), 2, "answers from stdin"),
        (("evaluate", "-", "-"), 2, "cannot both be stdin"),
        (("evaluate", "book.md", "book.md", "--set", "pack=ffff"), 1, "no pack begins with"),
        (("refine", "book.md", "book.md", "--goal", "beauty=1"), 2, f"{THERE}, spread"),
        (("refine", "book.md", "book.md", "--goal", "statistics=1"), 2, "statistics give no score"),
        (("refine", "book.md", "book.md", "--goal", "coverage=1", "--goal", "coverage=0"), 2, "two goals"),
        (("trace", "ffff"), 1, "no run begins with"),
        (("fork", "ffff", "--round", "0"), 1, "no run begins with"),
        (("pack", "import"), 2, "give SOURCE and PACK"),
        (("keyfacts", "book.md", "--set", "perspective=lyrical"), 2, "perspective: must be 'both'"),
        (("evaluate", "book.md", "book.md", *BY_FACTS, "--set", "validator=gpt-5"), 2, "there is no model 'gpt-5'"),
        (("evaluate", "book.md", "book.md", *BY_FACTS, "--set", "keyfacts=ffff"), 1, "no key facts have an id that"),
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
    fork = command.run("fork", "last", "-g", "coverage=0", "--json").json
    assert fork["parent"] == newest
    assert f"reading run {fork['run']}" in command.run("fork", "-g", "coverage=0").err, "the newest run without a name"
    command.run("ask", "book.md", "Who rang the bell?", "-q")
    followed = command.run("ask", "--follow", "last", "And why?", "--json").json["run"]
    assert command.run("runs", "-n", "1", "--json").json["runs"][0]["run"] == followed


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


def test_names_and_options_are_guessed(command: LocalCommand) -> None:
    run = command.run("summarize", "book.md", "-w", "60", "--json").json["run"]
    fork = command.run("fork", run, "-g", "coverage=0", "--json", code=0)
    assert fork.json["strategy"] == "given"
    refined = command.run("refine", "book.md", "good.md", "-g", "coverage=1", "--rounds", "1", "--json").json["run"]
    several = command.run("fork", refined, "-g", "coverage=0", code=2)
    assert "has 2 drafts\n  name the round, one of 0, 1, as --round 1: `redraft trace " in several.err
    wrong = command.run("evaluate", "book.md", "good.md", "-o", "x", "--json").json["error"]
    assert wrong["hint"] == "see `redraft evaluate --help`"
    done = command.run("summarize", "book.md", "--word", "80", code=2)
    # Older versions of click print no quotation marks.
    assert "Did you mean --words?" in done.err.replace("'", "")
    assert "Did you mean --max-cost?" in command.run("summarize", "book.md", "--max-costs", "1").err.replace("'", "")
    command.run("pack", "build", "book.md", "-q")
    run = command.run("runs", "--json").json["runs"][0]["run"]
    for words in ("diff", "diff 0 1", "lineage", "fork --round 0", "show --round 0"):
        verb, *more = words.split()
        done = command.run(verb, run, *more, code=1, err="made no summary: it builds questions")
        assert "resume" not in done.err
    answer = command.run("ask", "book.md", "Who keeps the lamp?", "--json").json["run"]
    command.run("fork", answer, code=1, err=f"run {answer} answered a question, and has no summary to refine")
    assert "fork" not in command.run("trace", answer).err
    command.run("batch", "run", "book.md", "-w", "40", "--name", "mine", "-q", code=0)
    command.run("show", "mine", code=1, err="it is a batch: `redraft batch results mine` names its runs")


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


def test_decider_is_planned_where_it_decides(command: LocalCommand) -> None:
    command.environment["OPENAI_API_KEY"] = "sk-0123456789abcdef"
    refine = ("refine", "book.md", "good.md", "-g", "coverage=1", "-m", "openai:m", "--dry-run")
    agent = ("--policy", "agent")
    assert "openai:lead" in command.run(*refine, *agent, "--set", "decider=openai:lead", code=0, out="decider ").out
    assert "decider" not in command.run(*refine, *agent, code=0).out
    refused = command.run(*refine, "--set", "decider=extractive", code=2, err="add --policy agent")
    assert "decider: the policy editor has no use for it" in refused.err


VOCABULARY = "keeper river salt ledger captain Ines Orla wrote the town grain boat letter and of in to had with"
WORDS = VOCABULARY.split()
DRAW = random.Random(1)


def drawn(count: int) -> list[str]:
    return [DRAW.choice(WORDS) for _ in range(count)]


# Each of 100,000 words or signs.
FORMS = {
    "one sentence": f"{' '.join(drawn(100_000))}.",
    "one word": "word" * 100_000,
    "sentences of one word": " ".join(f"{word.capitalize()}." for word in drawn(100_000)),
    "commas": f"The keeper {',' * 100_000} wrote.",
    "quotes": f"The keeper {'“' * 100_000} wrote {'”' * 100_000}.",
    "numbers": f"He counted {' '.join(str(DRAW.randrange(10**6)) for _ in range(100_000))}.",
    "names": f"{' '.join(f'N{DRAW.randrange(10**6)}' for _ in range(100_000))}.",
    "clauses": f"{', and '.join(drawn(100_000))}.",
}


def test_summary_may_exceed_a_short_document() -> None:
    document = Document("d", "t", "It rained. " * 10)
    check_length("x" * LONGEST_SUMMARY, document)
    with pytest.raises(UsageError, match="the summary has 60,001 characters, and its document 110"):
        check_length("x" * (LONGEST_SUMMARY + 1), document)
    check_length("x" * 100_000, Document("d", "t", "It rained. " * 10_000))


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [("evaluate",), ("evaluate", "--dry-run"), ("refine", "-g", "coverage=1"), ("compare", "--judge", "openai:m")],
)
def test_summary_longer_than_its_document_is_refused(tmp_path: Path, words: tuple[str, ...]) -> None:
    command = LocalCommand(tmp_path, "http://127.0.0.1:9/v1")
    (tmp_path / "short.md").write_text("Nora drank a cup of tea.")
    texts = ["short.md", "book.md"] if words[0] == "compare" else ["book.md"]
    (tmp_path / "book.md").write_text(SAMPLE.read_text("utf-8"))
    done = command.run(*words, "short.md", *texts, code=2)
    assert "name the document before the summary; a summary may have 60,000 characters here" in done.err


@pytest.mark.nightly
@pytest.mark.parametrize("form", FORMS)
def test_summary_of_any_form_is_judged_quickly(tmp_path: Path, form: str) -> None:
    """As long as its document, which is the most that is taken. A command that takes two minutes is ended."""
    document = SAMPLE.read_text("utf-8")
    (tmp_path / "summary.md").write_text(FORMS[form][: len(document) - 1_000])
    command = Command(tmp_path)
    for words in (("evaluate",), ("refine", "-g", "coverage=0.9")):
        done = command.run(*words, str(SAMPLE), "summary.md", "--json", code=(0, 3))
        assert done.json["usage"]["calls"] < 2_000
