"""`redraft agree sheet` and `read` on coherence: annotations to be checked, marks, and preferences."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.local_command import LocalCommand
from tests.lab.agreement.test_formats import DATA
from tests.lab.sheets import Rows, fill, rows_of, tables

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
def inside(tmp_path: Path) -> LocalCommand:
    for name, content in FILES.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(content), "utf-8")
    return LocalCommand(tmp_path)


def sheet(inside: LocalCommand, *arguments: str) -> Rows:
    done = inside.run("agree", "sheet", *arguments, "-o", "sheet.csv", "-q")
    assert done.code == 0, done.err
    return rows_of(inside.folder / "sheet.csv")


def read(inside: LocalCommand, *arguments: str, code: int = 0) -> dict[str, list[dict[str, Any]]]:
    return tables(inside.run("agree", "read", "sheet.csv", *arguments, "--json"), code)


@pytest.mark.slow
def test_annotations_are_checked_without_showing_their_source(inside: LocalCommand) -> None:
    rows = sheet(inside, "--what", "annotations", "--summaries", "one.json", *BOTH, "--people", "2")
    assert [(row["span"], row["questions"]) for row in rows] == [
        ("Tom sleeps. […] sleeps on", "Twice?"),
        ("Ann", "Who is Ann?"),
        ("Ann eats.", "What?"),
    ]
    assert [row["summary"] for row in rows] == [ONE["a"], "(as above)", "(as above)"]
    assert not any(name in json.dumps(rows) for name in ("people.json", "model.json"))
    answers = {"Twice?": ("agree", "Disagree."), "Who is Ann?": ("partly", ""), "What?": ("disagree", "no")}
    fill(
        inside.folder / "sheet.csv",
        lambda row: dict(zip(("person 1", "person 2"), answers[row["questions"]], strict=True)),
    )
    actual = read(inside, *BOTH, code=3)
    names = ("annotations", "rows", "agree", "partly", "disagree", "precision")
    assert [tuple(row[name] for name in names) for row in actual["precision"]] == [
        ("people.json", 2, 1, 1, 1, pytest.approx(2 / 3)),
        ("model.json", 1, 0, 0, 1, 0.0),
    ]
    assert (actual["people"][0]["rows by several"], actual["people"][0]["equal"]) == (1, 0.0)
    assert [row["message"] for row in actual["troubles"]] == ["'no' is none of agree, partly, disagree"]


def test_an_experiments_annotations_are_checked(inside: LocalCommand) -> None:
    options = ("--summaries", "one.json", "--annotations", "model.json", "-o", "out", "-q")
    assert inside.run("experiment", "booookscore", *options).code == 0
    source = ("--annotations", "out/items.json")
    (row,) = sheet(inside, "--what", "annotations", "--summaries", "one.json", *source, "--people", "1")
    assert (row["span"], row["questions"]) == ("Ann eats.", "What?")
    fill(inside.folder / "sheet.csv", lambda _: {"person 1": "agree"})
    (actual,) = read(inside, *source)["precision"]
    assert (actual["annotations"], actual["agree"], actual["precision"]) == ("model.json", 1, 1.0)
    (inside.folder / "out" / "items.json").write_text('[{"system": "x"}]', "utf-8")
    refused = inside.run("agree", "read", "sheet.csv", *source)
    assert (refused.code, "not the items.json of an experiment" in refused.err) == (2, True)


def test_released_answers_are_counted_by_source(inside: LocalCommand) -> None:
    answers = [("human", "Agree"), ("human", "Partially agree"), ("human", "Don't agree"), ("model", "Don't agree")]
    annotations = [{"source": source, "agreement": answer} for source, answer in answers]
    (inside.folder / "judged.json").write_text(json.dumps({"a": {"annotations": annotations}}))
    rows = tables(inside.run("agree", "read", "judged.json", "--json"))["precision"]
    assert [(row["annotations"], row["precision"]) for row in rows] == [("human", pytest.approx(2 / 3)), ("model", 0.0)]
    (inside.folder / "judged.json").write_text('{"a": 7}')
    refused = inside.run("agree", "read", "judged.json")
    assert (refused.code, "no answers as BooookScore released them" in refused.err) == (2, True)


def test_released_preferences_count_for_the_chosen_system(inside: LocalCommand) -> None:
    choices = {"preference": "Summary 2", "detail": "Draw", "structure": "Summary 1", "logic": "Summary 2"}
    result = [{"from_name": name, "value": {"choices": [choice]}} for name, choice in choices.items()]
    result.append({"from_name": "preference_comments", "value": {"text": ["Why."]}})
    data = {"book": "a", "summary_1": OTHER["a"], "summary_2": ONE["a"]}
    (inside.folder / "person.json").write_text(json.dumps([{"data": data, "annotations": [{"result": result}]}]))
    done = inside.run("agree", "read", "person.json", *PAIR, "--json")
    assert done.code == 0, done.err
    assert [list(row.values()) for row in done.json["tables"][0]["rows"]] == [
        ["overall", 1, 0, 0, 1],
        ["detail", 0, 0, 1, 1],
        ["structure", 0, 1, 0, 1],
        ["logic", 1, 0, 0, 1],
    ]


PEOPLE_OF_THE_PAPER = DATA / "booookscore" / "human"


@pytest.mark.skipif(not PEOPLE_OF_THE_PAPER.is_dir(), reason="needs $REDRAFT_DATA")
def test_the_released_answers_are_the_published_ones(inside: LocalCommand) -> None:
    """Section 4: of people's annotations 79.7% are right, of GPT-4's 78.2%. Table 4, but for the pilot's 20 pairs."""
    done = inside.run("agree", "read", str(PEOPLE_OF_THE_PAPER / "annotations-gpt4-4096-inc.json"), "--json")
    rows = [(row["agree"] + row["partly"], row["rows"]) for row in done.json["tables"][0]["rows"]]
    assert rows == [(612, 768), (523, 669)]
    persons = [str(PEOPLE_OF_THE_PAPER / "qualitative_comparison" / f"annotator{n}.json") for n in range(1, 5)]
    summaries = [str(DATA / "booookscore" / "summaries" / f"gpt4-4096-{name}-cleaned.json") for name in ("inc", "hier")]
    done = inside.run("agree", "read", *persons, "--summaries", summaries[0], "--summaries", summaries[1], "--json")
    assert [list(row.values())[1:] for row in done.json["tables"][0]["rows"]] == [
        [32, 46, 2, 80],
        [65, 11, 4, 80],
        [25, 51, 4, 80],
        [28, 45, 7, 80],
    ]


def test_marks_become_annotations_in_the_released_form(inside: LocalCommand) -> None:
    rows = sheet(inside, "--what", "marks", "--summaries", "one.json")
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
    fill(inside.folder / "sheet.csv", lambda row: answers.get(row["sentence"], {}))
    done = inside.run("agree", "read", "sheet.csv", "--summaries", "one.json", "-o", "out")
    assert done.code == 0, done.err
    repeated = ("--summaries", "out/sheet.json", "--annotations", "out/sheet.json", "--json")
    written = inside.run("experiment", "booookscore", *repeated).json
    assert [(item["document"], item["confused"], item["score"]) for item in written["items"]] == [
        ("a", 2, pytest.approx(1 / 3)),
        ("b", 1, 0.0),
        ("only", 0, 1.0),
    ]
    assert read(inside, "--summaries", "one.json")["scores"][0]["confused"] == 3


def test_preferences_ignore_which_was_shown_first(inside: LocalCommand) -> None:
    rows = sheet(inside, "--what", "preferences", *PAIR, "--people", "1")
    assert len(rows) == 8, "four questions about each pair; one summary has no other"
    assert {row["summary 1"] for row in rows} & {"(as above)"}

    def answer(row: dict[str, str]) -> dict[str, str]:
        first = {"a": ONE["a"], "b": "'=Bob reads."}[row["of"]]
        first_summary = next(candidate for candidate in rows if candidate["of"] == row["of"])["summary 1"]
        liked = "1" if first_summary == first else "2"
        return {"person 1": "tie" if "detail" in row["asked"] else liked}

    fill(inside.folder / "sheet.csv", answer)
    assert [list(row.values()) for row in read(inside, *PAIR)["preferences"]] == [
        ["overall", 2, 0, 0, 2],
        ["detail", 0, 0, 2, 2],
        ["structure", 2, 0, 0, 2],
        ["logic", 2, 0, 0, 2],
    ]


def test_wrong_files_for_a_sheet_are_refused(inside: LocalCommand) -> None:
    for arguments, message in (
        (("--what", "annotations", "--summaries", "one.json"), "needs --summaries (1 of them) and --annotations"),
        (("--what", "preferences", "--summaries", "one.json"), "needs --summaries (2 of them)"),
        (("run", "--what", "marks", "--summaries", "one.json"), "is made of files, not of runs"),
        (("--what", "facts"), "name a RUN"),
        (("--what", "annotations", "--summaries", "other.json", *BOTH[2:], "-q"), ""),
    ):
        done = inside.run("agree", "sheet", *arguments)
        assert (done.code, message in " ".join(done.err.split())) == (2 if message else done.code, True), done.err
