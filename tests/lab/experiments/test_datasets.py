"""Public sets in their published forms, with their fields, splits and oddities, in words of our own; what is wrong with
them, and what is measured of them."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from redraft.errors import RedraftError, UsageError
from redraft.lab.agreement.people import read_entries
from redraft.lab.experiments.sources import (
    Example,
    as_line,
    corpus,
    description,
    join_examples,
    read_contents,
    read_examples,
)
from redraft.text.tokens import Tokenizer

STORY = (
    "The keeper lit the lamp. The storm came from the west. Nobody saw the ship before it was on the rocks that night."
)
SUMMARY = "A keeper lights a lamp."
ENTRIES: dict[str, Any] = {
    "squality": {
        "metadata": {"passage_id": "51"},
        "document": STORY,
        "questions": [{"question_text": "What happens?", "responses": [{"response_text": SUMMARY}] * 2}],
    },
    "infinitebench": {"id": 3, "context": STORY, "input": "", "answer": [SUMMARY], "options": []},
    "booksum": {"bid": "7", "book_id": "Lamp", "summary_id": "chapter 1", "chapter": STORY, "summary_text": SUMMARY},
    "report and summary": {"report": STORY, "summary": SUMMARY},
    "document and summary": {"id": "29", "document": STORY, "summary": SUMMARY},
    "documents": {"id": "a", "title": "Lamp", "text": STORY, "summary": [{"source": "x", "text": SUMMARY}]},
}


def lines(path: Path, *entries: object) -> Path:
    path.write_text("".join(f"{json.dumps(entry)}\n" for entry in entries), "utf-8")
    return path


@pytest.mark.parametrize("form", ENTRIES)
def test_each_published_form_is_known_and_read(tmp_path: Path, form: str) -> None:
    file = lines(tmp_path / "set.jsonl", ENTRIES[form])
    actual = read_contents(file)
    assert (actual.form, actual.troubles) == (form, ())
    (example,) = actual.examples
    assert STORY in example.text
    assert SUMMARY in example.summaries[0][0]
    (document,) = corpus([str(file)]).documents
    assert STORY in document.text, "whatever can be read is a source of experiments"


def test_a_table_is_read_as_lines_are(tmp_path: Path) -> None:
    with (tmp_path / "test.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(ENTRIES["booksum"]))
        writer.writeheader()
        writer.writerow({**ENTRIES["booksum"], "chapter": f'{STORY}\n"So," he said, "x" * {"long " * 40_000}'})
    actual = read_contents(tmp_path / "test.csv")
    assert (actual.form, actual.troubles, actual.examples[0].title) == ("booksum", (), "Lamp chapter 1")
    assert len(actual.examples[0].text) > 200_000


def test_unreadable_entries_are_named_by_line(tmp_path: Path) -> None:
    entry = ENTRIES["document and summary"]
    file = lines(
        tmp_path / "x.jsonl",
        entry,
        {**entry, "document": 7},
        {**entry, "document": STORY + " More.", "summary": STORY * 2},
        ["a", "list"],
        {**entry, "id": "30"},
    )
    with file.open("a") as more:
        more.write('{"id": \n')
    actual = read_contents(file)
    assert [(place, message.split(":")[0]) for place, message in actual.troubles] == [
        ("line 2", "there is no `document` or `report` with a text"),
        ("line 4", "an object was expected"),
        ("line 6", "this is not JSON"),
    ]
    (statistics, unreadable) = description([actual], None).tables
    assert [row[1] for row in unreadable.rows] == ["line 2", "line 4", "line 6"]
    assert statistics.rows[0][2:4] == (3, 3)
    with pytest.raises(UsageError, match="no `document` or `report` with a text"):
        read_examples(file)


def test_table_4_1_equals_hand_computed_figures(tmp_path: Path) -> None:
    """A document of four sentences of four words each, and a summary that copies the second, word for word.

    Words: 16 beside 4. Sentences: 4 beside 1, CRS 4. Everything is copied, EC 1, in one piece. With its full stop the
    sentence is five units long, so that ED, the mean over units of the length of their piece, is 25 / 5 = 5.
    """
    text = "Ann saw seven ships. Bob found nine coins. Cid lost three keys. Dan wrote two songs."
    file = lines(tmp_path / "x.jsonl", {"id": "1", "text": text, "summary": "Bob found nine coins."})
    (table, _) = description([read_contents(file)], None).tables
    row = dict(zip(table.columns, table.rows[0], strict=True))
    assert (row["documents"], row["summaries"]) == (1, 1)
    assert (row["words of a document"], row["words of a summary"]) == (16, 4)
    assert row["CRS"] == 4
    assert row["EC"] == 1
    assert row["ED"] == 5
    # One tenth of the places has the words of the summary, or two: far from an even spread over ten.
    assert 0 <= float(row["uniformity"] or 0) < 0.7


def test_short_articles_are_joined_until_long_enough(tmp_path: Path) -> None:
    file = lines(tmp_path / "x.jsonl", *({"id": f"a{n}", "document": STORY, "summary": f"Lamp {n}."} for n in range(7)))
    tokenizer = Tokenizer()
    minimum = 2 * tokenizer.count(STORY) + 1
    joined = list(join_examples(read_examples(file), minimum, tokenizer))
    assert [example.id for example in joined] == ["a0 to a2", "a3 to a5"], (
        "three of them are long enough, and one is left"
    )
    assert joined[0].text == "\n\n".join([STORY] * 3)
    assert joined[0].summaries[0][0] == "Lamp 0. Lamp 1. Lamp 2."
    repeated = tmp_path / "joined.jsonl"
    repeated.write_text("".join(map(as_line, joined)), "utf-8")
    assert [
        (read_example.id, read_example.text, read_example.summaries) for read_example in read_examples(repeated)
    ] == [(example.id, example.text, example.summaries) for example in joined]


CHAPTER = (
    "The prince asked who kept the bridge. Nobody knew. By the evening the bridge was gone, and so was the keeper."
)
TOLD = "A bridge is lost with its keeper."


def only(path: Path) -> Example:
    (example,) = read_contents(path).examples
    return example


def test_answers_keep_questions_and_choices_are_refused(tmp_path: Path) -> None:
    question = {"id": 1, "context": CHAPTER, "input": "What is lost?", "answer": ["a bridge"], "options": []}
    assert only(lines(tmp_path / "longbook_qa_eng.jsonl", question)).summaries == (("a bridge", "What is lost?"),)
    choice = lines(tmp_path / "longbook_choice_eng.jsonl", {**question, "options": ["a bridge", "a boat"]})
    assert "use longbook_sum_eng.jsonl" in read_contents(choice).troubles[0][1]


def test_stories_have_questions_and_may_lack_answers(tmp_path: Path) -> None:
    answered = {"question_text": "What is the plot?", "responses": [{"worker_id": "6", "response_text": TOLD}] * 2}
    questions = [answered, {"question_text": "Who is the keeper?", "responses": []}]
    entry = {"metadata": {"passage_id": "63521"}, "document": f"Raiders\n \n\n {CHAPTER}", "questions": questions}
    story = only(lines(tmp_path / "test.jsonl", entry))
    assert (story.id, story.title) == ("63521", "Raiders")
    assert story.summaries == ((TOLD, "What is the plot?"),) * 2
    page = {**entry, "document": f'<!DOCTYPE html PUBLIC "-//W3C//DTD">\n<html>\n <p>{CHAPTER}</p>'}
    ((_, message),) = read_contents(lines(tmp_path / "dev.jsonl", page)).troubles
    assert "use the file of the same name under txt" in message


def test_packed_files_are_refused_with_advice(tmp_path: Path) -> None:
    (tmp_path / "set.gz").write_bytes(b"\x1f\x8b\x08")
    (tmp_path / "set.jsonl").write_bytes(b"PAR1\x15\x04\x15\x80PAR1")
    for read in (read_contents, read_entries, lambda file: corpus([file])):
        for name, hint in (("set.gz", "gunzip"), ("set.jsonl", "lines=True")):
            with pytest.raises(RedraftError, match="cannot be read") as refused:
                read(str(tmp_path / name))
            assert hint in refused.value.hint
