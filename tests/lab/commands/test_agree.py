"""`redraft agree` and `redraft agree table`: what they print and write, what a sweep asks, and what they refuse."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.chatserver import ChatRequest, ChatServer, Fault
from tests.cli.local_command import LocalCommand
from tests.judges import PerfectModel, ScriptedReply, island, read_sheet, summary_of
from tests.lab.agreement.test_formats import DATA
from tests.lab.experiments.world import sent
from tests.lab.papers.files import write_files
from tests.lab.sheets import Rows, fill, rows_of, tables

# Keepers that each summary names wrongly, of four that it names.
WRONG = ((), (), (1,), (1, 2), (1, 2, 3), (1, 2, 3, 4))
BASE = ("agree", "labels.jsonl", "--human", "right")
JUDGED = (*BASE, "--judge", "openai:fair")


def _entry(n: int, wrong: tuple[int, ...]) -> dict[str, Any]:
    # No two summaries share a sentence, so that nothing is asked of two of them at once.
    keepers = [4 * n + k for k in range(1, 5)]
    sentences = [summary_of(k, wrong={k: "Bob"} if k - 4 * n in wrong else None) for k in keepers]
    text = island(24 + n).text
    labels = [
        {"sentence": sentence, "label": k - 4 * n not in wrong} for k, sentence in zip(keepers, sentences, strict=True)
    ]
    figures = {"right": 1 - len(wrong) / 4, "fluent": n}
    return {"document_id": f"d{n}", "text": text, "sentences": labels, "human": figures, "system": f"s{n % 2}"}


@pytest.fixture
def inside(tmp_path: Path) -> Iterator[tuple[LocalCommand, ChatServer]]:
    def serve(request: ChatRequest) -> ScriptedReply:
        return (
            Fault("status", status=400, message="No.")
            if request.model == "broken"
            else PerfectModel()(read_sheet(request))
        )

    lines = [json.dumps(_entry(n, wrong)) for n, wrong in enumerate(WRONG)]
    (tmp_path / "labels.jsonl").write_text("\n".join(["{not json", *lines]) + "\n", "utf-8")
    with ChatServer(serve) as server:
        yield LocalCommand(tmp_path, server.base_url, COLUMNS="100"), server


@pytest.mark.nightly
def test_a_perfect_judge_agrees_in_all_measures(inside: tuple[LocalCommand, ChatServer]) -> None:
    command, _ = inside
    done = command.run(*JUDGED, "--judge", "extractive", "--json")
    actual = tables(done)
    fair, plain, bigrams = actual["agreement"]
    assert (fair["judge"], fair["summaries"], fair["of"], fair["tau-b"]) == ("openai:fair", 6, 6, pytest.approx(1))
    assert fair["95% from"] == fair["95% to"] == pytest.approx(1)
    assert fair["p"] < 0.05
    assert (plain["judge"], bigrams["judge"]) == ("extractive", "share of bigrams in the document")
    assert (actual["systems"][0]["systems"], actual["sentences"][0]["judged"]) == (2, 24)
    right = actual["sentences"][0]
    assert (right["balanced accuracy"], right["kappa"], right["AC1"], right["wrong"]) == (1, 1, pytest.approx(1), 10)
    assert actual["raters"][0]["one"] == "openai:fair"
    assert actual["counts"][1] == {
        **dict.fromkeys(("unjudged", "not applicable", "failed", "not made"), 0),
        "by": "openai:fair",
        "items": 6,
        "figures": 6,
        "items unjudged": 0,
    }
    assert [row["place"] for row in actual["troubles"]] == ["line 1"]
    item = done.json["items"][0]
    assert (item["judge"], item["score"], item["status"]) == ("openai:fair", 1, "done")


@pytest.mark.slow
def test_repetition_writes_equal_files_without_requests(
    inside: tuple[LocalCommand, ChatServer], tmp_path: Path
) -> None:
    command, server = inside
    first = command.run(*JUDGED, "-o", "out")
    request_count = len(server.answered)
    repeated = command.run(*JUDGED, "-o", "out")
    assert (first.code, repeated.code, repeated.out) == (0, 0, first.out)
    rows = csv.DictReader((tmp_path / "out" / "agreement.csv").read_text("utf-8").splitlines())
    (fair,) = [row for row in rows if row["judge"] == "openai:fair"]
    assert f"- openai:fair: tau-b {float(fair['tau-b']):.3f} [" in first.out, "stdout has the figure that matters"
    assert len(server.answered) == request_count
    assert {"agreement.csv", "report.md", "items.json"} <= {path.name for path in (tmp_path / "out").iterdir()}
    assert "openai:fair" in (tmp_path / "out" / "report.md").read_text("utf-8")


@pytest.mark.slow
def test_concurrent_summaries_share_their_documents_requests(
    inside: tuple[LocalCommand, ChatServer], tmp_path: Path
) -> None:
    command, server = inside
    shared = {"document_id": "d", "text": island(24).text}
    summaries = [summary_of(*range(n, n + 3)) for n in range(1, 7)]
    lines = [{**shared, "summary": text, "human": {"right": n % 2}} for n, text in enumerate(summaries)]
    (tmp_path / "labels.jsonl").write_text("\n".join(map(json.dumps, lines)) + "\n", "utf-8")
    costs = []
    for at_once in ("1", "8"):
        done = command.run(*JUDGED, "--json", "--concurrency", at_once, "--db", f"{at_once}.db")
        costs.append(tables(done)["cost"])
    assert costs[0] == costs[1]
    assert set(sent(server).values()) == {2}, "once in each database"


@pytest.mark.nightly
def test_a_higher_budget_continues_a_stopped_trial(inside: tuple[LocalCommand, ChatServer]) -> None:
    command, server = inside
    short = command.run(*JUDGED, "--max-calls", "5", "--json")
    assert len(server.answered) <= 5
    assert tables(short, 3)["counts"][1]["not made"] > 0
    unlimited = command.run(*JUDGED, "--json")
    assert unlimited.code == 0
    assert set(sent(server).values()) == {1}


@pytest.mark.nightly
def test_sweeps_over_readings_ask_nothing_new(inside: tuple[LocalCommand, ChatServer]) -> None:
    command, server = inside
    first = ("--set", "second_look=false")
    assert command.run(*JUDGED, *first, "--json").code == 0
    request_count = len(server.answered)
    swept = command.run(*JUDGED, "--json", "--sweep", "similarity=exact,rouge1", "--sweep", "threshold=0.2:0.6:0.4")
    assert len(server.answered) == request_count
    actual = tables(swept)
    settings = [(likeness, threshold) for likeness in ("exact", "rouge1") for threshold in ("0.2", "0.6")]
    names = [f"openai:fair, similarity {likeness}, threshold {threshold}" for likeness, threshold in settings]
    assert [(row["judge"], row["tau-b"]) for row in actual["agreement"][:4]] == [
        (name, pytest.approx(1)) for name in names
    ]
    assert [row["by"] for row in actual["cost"]] == ["openai:fair", ""], "the second is the total"
    for likeness, threshold in settings:
        options = ("--set", f"similarity={likeness}", "--set", f"threshold={threshold}")
        alone = command.run(*JUDGED, *first, *options, "--json").json
        setting = {"similarity": likeness, "threshold": threshold}
        scores = [item["score"] for item in swept.json["items"] if item["setting"] == setting]
        assert scores == [item["score"] for item in alone["items"]]


@pytest.mark.slow
def test_a_plan_estimates_requests_without_any(inside: tuple[LocalCommand, ChatServer]) -> None:
    command, server = inside
    done = command.run(*JUDGED, "--dry-run", "--json")
    [row] = done.json["rows"]
    assert (done.code, server.answered) == (0, [])
    assert command.run(*JUDGED).code == 0
    assert abs(len(server.answered) - row["calls"]) <= 0.1 * len(server.answered)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--format", "xml"), "no format 'xml'"),
        (("--metric", "coverage", "--sweep", "threshold=0.2,0.4"), "makes a difference to coverage"),
        (("--sweep", "temperature=1"), "cannot be swept"),
        (("--sweep", "threshold=0.7:0.2:0.1"), "has no end"),
        (("--sweep", "threshold=1.5"), "threshold=1.5 is not possible"),
        (("--sweep", "similarity=best"), "similarity=best is not possible"),
        (("--sweep", "questions=x"), "questions=x is not possible"),
        (("--sweep", "threshold=0.2", "--repeat", "2"), "first answers of one judging"),
        (("--human", "beauty"), "not asked about 'beauty'"),
        (("--metric", "nothing"), "no metric 'nothing'"),
    ],
)
def test_bad_options_are_refused_before_any_request(
    inside: tuple[LocalCommand, ChatServer], options: tuple[str, ...], message: str
) -> None:
    command, server = inside
    done = command.run(*JUDGED, *options, "--json")
    assert done.code == 2, done.out
    assert message in done.json["error"]["message"]
    assert server.answered == []


SHEETS = {"facts": "fact", "queries": "question", "alignment": "fact", "verification": "sentence", "claims": "answer"}


@pytest.mark.parametrize("what", SHEETS)
def test_a_sheet_is_written_and_read_back(inside: tuple[LocalCommand, ChatServer], tmp_path: Path, what: str) -> None:
    command, _ = inside
    (tmp_path / "book.md").write_text(island().text, "utf-8")
    (tmp_path / "poor.md").write_text(summary_of(1, 3, 4, wrong={2: "Bob"}), "utf-8")
    metrics = ("--metric", "keyfact_recall", "--metric", "faithfulness", "--metric", "consistency")
    run = command.run("evaluate", "book.md", "poor.md", "-m", "openai:fair", *metrics, "--json").json["run"]
    done = command.run("agree", "sheet", run, "--what", what, "--people", "1", "-o", "sheet.csv")
    assert done.code == 0, done.err
    # Somebody who answers yes to everything, but for the sentence and the answer that are wrong.
    rows = fill(tmp_path / "sheet.csv", lambda row: "Bob" not in row.get(SHEETS[what], ""))
    assert f"{len(rows)} of {len(rows)} rows" in done.err
    if what in ("verification", "claims"):
        passages = ""
        for row in rows:
            keeper = re.search(r"keeper number \d+ is called", row["sentence"])
            assert keeper, row
            assert row["passages"] != passages, "a passage is written once"
            passages = passages if row["passages"] == "(as above)" else row["passages"]
            assert keeper[0] in passages
            assert len(passages) < len(island().text)
    actual = tables(command.run("agree", "read", "sheet.csv", "--json"))
    assert actual["sample"][0]["margin"] == 0
    if what in ("facts", "queries"):
        mean_rows = [row for row in actual["validity"] if "mean" in row.values()]
        assert sum(row["rows"] for row in mean_rows) == len(rows)
        assert mean_rows[0]["right"] == 1
    else:
        [verdicts] = actual["verdicts"]
        assert verdicts["rows"] == len(rows)
    if what in ("verification", "claims"):
        assert [row["person 1"] for row in rows].count("no") == 1
        assert (verdicts["balanced accuracy"], verdicts["accuracy"]) == (1, 1)


def test_unjudged_runs_have_no_sheet(inside: tuple[LocalCommand, ChatServer], tmp_path: Path) -> None:
    command, _ = inside
    (tmp_path / "book.md").write_text(island().text, "utf-8")
    (tmp_path / "poor.md").write_text(summary_of(1), "utf-8")
    run = command.run("evaluate", "book.md", "poor.md", "--metric", "consistency", "--json").json["run"]
    for what, hint in (("facts", "keyfacts"), ("verification", "faithfulness")):
        done = command.run("agree", "sheet", run, "--what", what)
        assert done.code in (1, 2)
        assert hint in done.err


SETS = ("summeval=summeval/summaries.jsonl", "qags=qags/mturk_cnndm.jsonl")


@pytest.fixture
def command(tmp_path: Path) -> LocalCommand:
    """A SummEval and a QAGS in the released forms."""
    write_files(tmp_path)
    return LocalCommand(tmp_path)


@pytest.mark.nightly
def test_settings_a_metric_ignores_are_not_swept(command: LocalCommand) -> None:
    sweeps = ("--sweep", "questions=3-6,6-12", "--sweep", "claims=3-5,5-7")
    done = command.run("agree", "table", SETS[0], *sweeps, "--preset", "longsumeval", "--json")
    assert done.code == 0, done.err
    rows = done.json["tables"][0]["rows"]
    system_rows = [row for row in rows if row["method"] == "extractive" and row["per"] == "systems"]
    assert {(row["metric"], row["questions"], row["claims"]) for row in system_rows} == {
        ("consistency", None, "3-5"),
        ("consistency", None, "5-7"),
        ("coverage", "3-6", None),
        ("coverage", "6-12", None),
    }


def test_unreadable_or_incomparable_files_are_refused(command: LocalCommand) -> None:
    for words, message in (
        (["summaries.jsonl"], "has no format"),
        ([SETS[1], "--metric", "coverage"], "no file has people's figures on coverage"),
    ):
        refused = command.run("agree", "table", *words)
        assert refused.code == 2
        assert message in refused.err


def test_its_cost_is_estimated_by_set(command: LocalCommand) -> None:
    done = command.run("agree", "table", *SETS, "--dry-run", "--json")
    assert [(row["set"], row["metric"]) for row in done.json["rows"]] == [
        ("summeval", "consistency"),
        ("summeval", "coverage"),
        ("qags", "consistency"),
    ]


ONE = {"a": "Tom sleeps. Ann eats. Tom sleeps on.", "b": "=Bob reads.", "only": "He left."}
OTHER = {"a": "Tom is asleep.", "b": "Bob has a book."}
PEOPLE = {
    "a": {
        "summary": ONE["a"],
        "singles": [{"span": "Ann", "questions": "Who is Ann?", "labels": ["entity omission"]}],
        "relations": [
            {
                "span_a": "Tom sleeps.",
                "span_b": "sleeps on",
                "shared_questions": "Twice?",
                "shared_labels": ["duplication"],
            }
        ],
    }
}
MODEL = {"a": {"Ann eats.": {"questions": "What?", "types": ["event omission"]}}, "b": {}}
FILES = {"one": ONE, "other": OTHER, "people": PEOPLE, "model": MODEL}
BOTH = ("--annotations", "people.json", "--annotations", "model.json")
PAIR = ("--summaries", "one.json", "--summaries", "other.json")


@pytest.fixture
def sheets(tmp_path: Path) -> LocalCommand:
    for name, content in FILES.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(content), "utf-8")
    return LocalCommand(tmp_path)


def sheet(sheets: LocalCommand, *arguments: str) -> Rows:
    done = sheets.run("agree", "sheet", *arguments, "-o", "sheet.csv", "-q")
    assert done.code == 0, done.err
    return rows_of(sheets.folder / "sheet.csv")


def read(sheets: LocalCommand, *arguments: str, code: int = 0) -> dict[str, list[dict[str, Any]]]:
    return tables(sheets.run("agree", "read", "sheet.csv", *arguments, "--json"), code)


@pytest.mark.slow
def test_annotations_are_checked_without_showing_their_source(sheets: LocalCommand) -> None:
    rows = sheet(sheets, "--what", "annotations", "--summaries", "one.json", *BOTH, "--people", "2")
    assert [(row["span"], row["questions"]) for row in rows] == [
        ("Tom sleeps. […] sleeps on", "Twice?"),
        ("Ann", "Who is Ann?"),
        ("Ann eats.", "What?"),
    ]
    assert [row["summary"] for row in rows] == [ONE["a"], "(as above)", "(as above)"]
    assert not any(name in json.dumps(rows) for name in ("people.json", "model.json"))
    answers = {"Twice?": ("agree", "Disagree."), "Who is Ann?": ("partly", ""), "What?": ("disagree", "no")}
    fill(
        sheets.folder / "sheet.csv",
        lambda row: dict(zip(("person 1", "person 2"), answers[row["questions"]], strict=True)),
    )
    actual = read(sheets, *BOTH, code=3)
    names = ("annotations", "rows", "agree", "partly", "disagree", "precision")
    assert [tuple(row[name] for name in names) for row in actual["precision"]] == [
        ("people.json", 2, 1, 1, 1, pytest.approx(2 / 3)),
        ("model.json", 1, 0, 0, 1, 0.0),
    ]
    assert (actual["people"][0]["rows by several"], actual["people"][0]["equal"]) == (1, 0.0)
    assert [row["message"] for row in actual["troubles"]] == ["'no' is none of agree, partly, disagree"]


def test_an_experiments_annotations_are_checked(sheets: LocalCommand) -> None:
    options = ("--summaries", "one.json", "--annotations", "model.json", "-o", "out", "-q")
    assert sheets.run("experiment", "booookscore", *options).code == 0
    source = ("--annotations", "out/items.json")
    (row,) = sheet(sheets, "--what", "annotations", "--summaries", "one.json", *source, "--people", "1")
    assert (row["span"], row["questions"]) == ("Ann eats.", "What?")
    fill(sheets.folder / "sheet.csv", lambda _: {"person 1": "agree"})
    (actual,) = read(sheets, *source)["precision"]
    assert (actual["annotations"], actual["agree"], actual["precision"]) == ("model.json", 1, 1.0)
    (sheets.folder / "out" / "items.json").write_text('[{"system": "x"}]', "utf-8")
    refused = sheets.run("agree", "read", "sheet.csv", *source)
    assert (refused.code, "not the items.json of an experiment" in refused.err) == (2, True)


def test_released_answers_are_counted_by_source(sheets: LocalCommand) -> None:
    answers = [("human", "Agree"), ("human", "Partially agree"), ("human", "Don't agree"), ("model", "Don't agree")]
    annotations = [{"source": source, "agreement": answer} for source, answer in answers]
    (sheets.folder / "judged.json").write_text(json.dumps({"a": {"annotations": annotations}}))
    rows = tables(sheets.run("agree", "read", "judged.json", "--json"))["precision"]
    assert [(row["annotations"], row["precision"]) for row in rows] == [("human", pytest.approx(2 / 3)), ("model", 0.0)]
    (sheets.folder / "judged.json").write_text('{"a": 7}')
    refused = sheets.run("agree", "read", "judged.json")
    assert (refused.code, "no answers as BooookScore released them" in refused.err) == (2, True)


def test_released_preferences_count_for_the_chosen_system(sheets: LocalCommand) -> None:
    choices = {"preference": "Summary 2", "detail": "Draw", "structure": "Summary 1", "logic": "Summary 2"}
    result = [{"from_name": name, "value": {"choices": [choice]}} for name, choice in choices.items()]
    result.append({"from_name": "preference_comments", "value": {"text": ["Why."]}})
    data = {"book": "a", "summary_1": OTHER["a"], "summary_2": ONE["a"]}
    (sheets.folder / "person.json").write_text(json.dumps([{"data": data, "annotations": [{"result": result}]}]))
    done = sheets.run("agree", "read", "person.json", *PAIR, "--json")
    assert done.code == 0, done.err
    assert [list(row.values()) for row in done.json["tables"][0]["rows"]] == [
        ["overall", 1, 0, 0, 1],
        ["detail", 0, 0, 1, 1],
        ["structure", 0, 1, 0, 1],
        ["logic", 1, 0, 0, 1],
    ]


PEOPLE_OF_THE_PAPER = DATA / "booookscore" / "human"


@pytest.mark.skipif(not PEOPLE_OF_THE_PAPER.is_dir(), reason="needs $REDRAFT_DATA")
def test_the_released_answers_are_the_published_ones(sheets: LocalCommand) -> None:
    """Section 4: of people's annotations 79.7% are right, of GPT-4's 78.2%. Table 4, but for the pilot's 20 pairs."""
    done = sheets.run("agree", "read", str(PEOPLE_OF_THE_PAPER / "annotations-gpt4-4096-inc.json"), "--json")
    rows = [(row["agree"] + row["partly"], row["rows"]) for row in done.json["tables"][0]["rows"]]
    assert rows == [(612, 768), (523, 669)]
    persons = [str(PEOPLE_OF_THE_PAPER / "qualitative_comparison" / f"annotator{n}.json") for n in range(1, 5)]
    summaries = [str(DATA / "booookscore" / "summaries" / f"gpt4-4096-{name}-cleaned.json") for name in ("inc", "hier")]
    done = sheets.run("agree", "read", *persons, "--summaries", summaries[0], "--summaries", summaries[1], "--json")
    assert [list(row.values())[1:] for row in done.json["tables"][0]["rows"]] == [
        [32, 46, 2, 80],
        [65, 11, 4, 80],
        [25, 51, 4, 80],
        [28, 45, 7, 80],
    ]


def test_marks_become_annotations_in_the_released_form(sheets: LocalCommand) -> None:
    rows = sheet(sheets, "--what", "marks", "--summaries", "one.json")
    assert [row["sentence"] for row in rows] == [
        "Tom sleeps.",
        "Ann eats.",
        "Tom sleeps on.",
        "'=Bob reads.",
        "He left.",
    ]
    answers = {
        "Ann eats.": {"span": "Ann", "question": "Who is Ann?", "types": "entity omission, language"},
        "Tom sleeps.": {"span": "Tom sleeps.", "second span": "sleeps on", "types": "duplication"},
        "'=Bob reads.": {"span": "'=Bob", "question": "Why?"},
    }
    fill(sheets.folder / "sheet.csv", lambda row: answers.get(row["sentence"], {}))
    done = sheets.run("agree", "read", "sheet.csv", "--summaries", "one.json", "-o", "out")
    assert done.code == 0, done.err
    repeated = ("--summaries", "out/sheet.json", "--annotations", "out/sheet.json", "--json")
    written = sheets.run("experiment", "booookscore", *repeated).json
    assert [(item["document"], item["confused"], item["score"]) for item in written["items"]] == [
        ("a", 2, pytest.approx(1 / 3)),
        ("b", 1, 0.0),
        ("only", 0, 1.0),
    ]
    assert read(sheets, "--summaries", "one.json")["scores"][0]["confused"] == 3


def test_preferences_ignore_which_was_shown_first(sheets: LocalCommand) -> None:
    rows = sheet(sheets, "--what", "preferences", *PAIR, "--people", "1")
    assert len(rows) == 8, "four questions about each pair; one summary has no other"
    assert {row["summary 1"] for row in rows} & {"(as above)"}

    def answer(row: dict[str, str]) -> dict[str, str]:
        first = {"a": ONE["a"], "b": "'=Bob reads."}[row["of"]]
        first_summary = next(candidate for candidate in rows if candidate["of"] == row["of"])["summary 1"]
        liked = "1" if first_summary == first else "2"
        return {"person 1": "tie" if "detail" in row["asked"] else liked}

    fill(sheets.folder / "sheet.csv", answer)
    assert [list(row.values()) for row in read(sheets, *PAIR)["preferences"]] == [
        ["overall", 2, 0, 0, 2],
        ["detail", 0, 0, 2, 2],
        ["structure", 2, 0, 0, 2],
        ["logic", 2, 0, 0, 2],
    ]


def test_wrong_files_for_a_sheet_are_refused(sheets: LocalCommand) -> None:
    for arguments, message in (
        (("--what", "annotations", "--summaries", "one.json"), "needs --summaries (1 of them) and --annotations"),
        (("--what", "preferences", "--summaries", "one.json"), "needs --summaries (2 of them)"),
        (("run", "--what", "marks", "--summaries", "one.json"), "is made of files, not of runs"),
        (("--what", "facts"), "name a RUN"),
        (("--what", "annotations", "--summaries", "other.json", *BOTH[2:], "-q"), ""),
    ):
        done = sheets.run("agree", "sheet", *arguments)
        assert (done.code, message in " ".join(done.err.split())) == (2 if message else done.code, True), done.err
