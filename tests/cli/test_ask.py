"""`redraft ask` from the command line: what is printed, where, and with which exit code."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from redraft.domain import NOT_FOUND, NOT_SAID
from tests.cli.local_command import LocalCommand, facts, judging_folder
from tests.judges import PerfectModel, ScriptedReply, Sheet, name_question
from tests.support import SAMPLE

ANSWER = "The keeper number 5 is called Tom5."


class Boastful(PerfectModel):
    """Adds to some answers what the document does not have."""

    def write_answer(self, sheet: Sheet) -> ScriptedReply:
        said = super().write_answer(sheet)
        if "6" in sheet.within("question"):
            said["sentences"].append({"quote": "words of nobody", "sentence": "The keeper number 5 is called Bob."})
        return said


@pytest.fixture(scope="module")
def command(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCommand]:
    with judging_folder(tmp_path_factory.mktemp("asking"), Boastful()) as command:
        yield command


def test_answers_are_printed_with_citations(command: LocalCommand) -> None:
    done = command.run("ask", "book.md", name_question(5), code=0, err="\nanswer of 7 words from The Keepers\nrun ")
    quote = "The keeper number 5 is called Tom5 and lives at station 35 by the cold sea for 8 years."
    assert " ".join(done.out.split()) == f"{ANSWER} [1] [1] at 33% of the document: “{quote}”"
    assert " · answered by openai:m · 1 call · " in done.err
    assert "The answer was not judged: name a --judge." in done.err
    quiet = command.run("ask", "book.md", name_question(5), "-q")
    assert (quiet.out, quiet.err) == (done.out, "")
    done = command.run("ask", "book.md", name_question(99), "--judge", "openai:j")
    assert (done.code, done.out) == (0, f"{NOT_SAID}\n")
    before = len(command.run("runs", "--json").json["runs"])
    done = command.run("ask", "book.md", name_question(9), "--dry-run", "--judge", "openai:j", code=0)
    assert "| answering " in done.out
    assert "answering about 1 call, " in facts(done.out)
    assert "consistency about " in facts(done.out)
    report = command.run("ask", "book.md", name_question(9), "--dry-run", "--json").json
    assert (report["calls"], report["stages"][0]["name"]) == (1, "answering")
    assert len(command.run("runs", "--json").json["runs"]) == before


def test_unverified_sentence_is_left_out_and_named(command: LocalCommand) -> None:
    done = command.run("ask", "book.md", name_question(6), "--judge", "openai:j", code=0)
    assert done.out.startswith("The keeper number 6 is called Tom6. [1]\n")
    assert "Bob" not in done.out
    assert "consistency 1.00: 1 claim judged" in done.err
    assert "left out, not found in the document: “The keeper number 5 is called Bob.”" in done.err

    itself = command.run("ask", "book.md", name_question(5), "--judge", "openai:m")
    assert "answer of 7 words from The Keepers; consistency 1.00" in itself.err
    assert "The model judged its own answer" in itself.err


def test_json_and_file_agree(command: LocalCommand) -> None:
    done = command.run("ask", "book.md", name_question(5), "--judge", "openai:j", "--json", "-q", "-o", "answer.json")
    report = done.json
    assert (command.folder / "answer.json").read_text("utf-8") == done.out
    answer = report["answer"]
    assert (answer["answered"], report["summary"], answer["question"]) == (True, ANSWER, name_question(5))
    assert answer["sentences"] == [{"text": ANSWER, "citation": 1}]
    (cited,) = answer["citations"]
    assert set(cited) >= {"number", "quote", "span", "place", "chapter", "pages", "document"}
    assert report["metrics"]["consistency"]["score"] == 1.0
    assert report["judges"] == ["openai:j"]

    listed = command.run("runs", "--json").json["runs"][0]
    assert (listed["run"], listed["kind"], listed["scores"]) == (report["run"], "ask", {"consistency": 1.0})
    assert command.run("show", report["run"], "--json").json == report
    question = report["settings"]["query"]
    shown = command.run("show", report["run"], err=f"question: {question}")
    assert shown.out.startswith(f"{ANSWER} [1]\n\n[1] ")
    traced = command.run("trace", report["run"]).out
    assert "- consistency 1.00" in traced
    assert f"- question: {question}" in traced
    assert question[:30] in command.run("runs").out
    done_again = command.run("ask", report["run"], name_question(5), "-q", "-o", "answer.txt")
    assert (done_again.code, done_again.out) == (0, "")
    assert (command.folder / "answer.txt").read_text("utf-8") == shown.out
    (latest, *_) = command.run("runs", "--json", "--kind", "ask").json["runs"]
    assert command.run("resume", latest["run"], "--json").json["summary"] == ANSWER


def test_follow_up_has_document_and_model(command: LocalCommand) -> None:
    first = command.run("ask", "book.md", name_question(7), "-m", "openai:x", "--json").json
    following = f"following “{name_question(7)}” (run {first['run']})\n"
    command.run("ask", "--follow", first["run"], name_question(8), "-o", "next.txt", code=0, err=following)
    assert (command.folder / "next.txt").read_text().startswith("The keeper number 8 is called Tom8. [1]")
    latest = command.run("runs", "--json").json["runs"][0]
    assert latest["model"] == "openai:x"
    stored = command.run("show", latest["run"], "--json").json
    assert [exchange["question"] for exchange in stored["settings"]["earlier"]] == [name_question(7)]
    report = command.run("ask", "--follow", latest["run"], name_question(5), "--judge", "openai:j", "--json").json
    assert (report["judges"], len(report["settings"]["earlier"])) == (["openai:j"], 2)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("Who?",), "SOURCE or QUESTION is missing"),
        (
            ("book.md", "Who?", "--follow", "abcd"),
            "run abcd has its document\n  leave out SOURCE: redraft ask --follow abcd 'Who?'",
        ),
        (("book.md", "Who?", "-o", "a.pdf"), "an answer is written as text or JSON"),
        (("Who?", "book.md"), "seem to be swapped\n  write redraft ask book.md 'Who?'"),
        (("abcd", "Who?"), "there is no file 'abcd', and no run begins with 'abcd'"),
        (("book.md", "Who?", "-m", "nli:x"), "cannot write"),
    ],
)
def test_what_cannot_be_meant_is_refused(command: LocalCommand, arguments: tuple[str, ...], said: str) -> None:
    done = command.run("ask", *arguments)
    assert (done.code, done.out) == (2, "")
    assert said in done.err


@pytest.mark.slow
def test_built_in_model_quotes_or_abstains(tmp_path: Path) -> None:
    command = LocalCommand(tmp_path, COLUMNS="200")
    done = command.run("ask", str(SAMPLE), "Why did Crane ring the bell?", code=0)
    quotes = [line.partition("“")[2].rstrip("”") for line in done.out.splitlines() if line.startswith("[")]
    text = " ".join(SAMPLE.read_text("utf-8").split())
    assert quotes
    assert all(quote in text for quote in quotes)
    assert "question are quoted. See `redraft models`." in done.err

    longer = command.run("ask", str(SAMPLE), "Why did Matthias Crane ring the bell?", "-q")
    assert longer.out == done.out
    silent = command.run("ask", str(SAMPLE), "Which volcano erupted near the airport?")
    assert silent.out == f"{NOT_FOUND}\n"
    assert NOT_FOUND.startswith("No sentence of the document shares enough words with the question.")
    assert "\nnot answered by The Salt" in silent.err
