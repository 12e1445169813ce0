"""Public sets with the fields, the splits and the oddities that they are published with, in words of our own."""

from __future__ import annotations

import csv
import gzip
import json
from pathlib import Path
from typing import Any, ClassVar

import pytest

from redraft import sources
from redraft.errors import UsageError
from redraft.lab.experiments.data.read import Example, read_contents
from redraft.lab.experiments.sources import corpus
from tests.cli.local_command import LocalCommand

CHAPTER = (
    "The prince asked who kept the bridge. Nobody knew. By the evening the bridge was gone, and so was the keeper."
)
TOLD = "A bridge is lost with its keeper."


def lines(path: Path, *entries: object) -> Path:
    path.write_text("".join(f"{json.dumps(entry)}\n" for entry in entries), "utf-8")
    return path


def only(path: Path) -> Example:
    (example,) = read_contents(path).examples
    return example


class TestBookSum:
    """The table of chapters as it is on the hub: every column is a text, and each row is one site's summary."""

    columns = (
        *("bid", "is_aggregate", "source", "chapter_path", "summary_path", "book_id", "summary_id", "content"),
        *("summary", "chapter", "chapter_length", "summary_name", "summary_url", "summary_text", "summary_analysis"),
        *("summary_length", "analysis_length"),
    )

    def row(self, source: str, **more: str) -> dict[str, str]:
        fields = {
            "bid": "1232",
            "is_aggregate": "False",
            "source": source,
            "chapter_path": "all_chapterized_books/1232-chapters/10.txt",
            "summary_path": f"finished_summaries/{source}/The Prince/section_3_part_1.txt",
            "book_id": "The Prince.chapter x",
            "summary_id": "chapter x",
            "summary": json.dumps({"name": "Chapter X", "url": "", "summary": TOLD, "analysis": ""}),
            "chapter": f"\n{CHAPTER}\n",
            "chapter_length": "20.0",
            "summary_text": TOLD,
        }
        return {**dict.fromkeys(self.columns, ""), **fields, **more}

    def table(self, path: Path, *rows: dict[str, str]) -> Path:
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, self.columns)
            writer.writeheader()
            writer.writerows(rows)
        return path

    def test_two_sites_summarize_one_chapter(self, tmp_path: Path) -> None:
        actual = read_contents(self.table(tmp_path / "test.csv", self.row("gradesaver"), self.row("shmoop")))
        assert (actual.form, actual.troubles) == ("booksum", ())
        assert [example.id for example in actual.examples] == [
            f"The Prince.chapter x chapter x ({source})" for source in ("gradesaver", "shmoop")
        ]
        assert {example.text for example in actual.examples} == {CHAPTER}
        (document,) = corpus([str(tmp_path / "test.csv")]).documents
        assert document.title == "The Prince.chapter x chapter x"

    def test_the_cleaned_set_lists_its_summaries(self, tmp_path: Path) -> None:
        summaries = [{"source": "shmoop", "text": TOLD}, {"source": "x", "text": "Another."}]
        book = {"bid": 1232, "title": "The Prince", "author": "N. M.", "text": CHAPTER, "summary": summaries}
        assert [summary.text for summary in only(lines(tmp_path / "books.jsonl", book)).summaries] == [TOLD, "Another."]


class TestInfiniteBench:
    def test_answers_keep_questions_and_choices_are_refused(self, tmp_path: Path) -> None:
        question = {"id": 1, "context": CHAPTER, "input": "What is lost?", "answer": ["a bridge"], "options": []}
        assert only(lines(tmp_path / "longbook_qa_eng.jsonl", question)).summaries == (("a bridge", "What is lost?"),)
        choice = lines(tmp_path / "longbook_choice_eng.jsonl", {**question, "options": ["a bridge", "a boat"]})
        assert "use longbook_sum_eng.jsonl" in read_contents(choice).troubles[0].message


class TestXSum:
    def test_articles_without_text_are_not_joined(self, tmp_path: Path) -> None:
        """Some articles of the set are empty; they shall not keep the other two hundred thousand from being used."""
        entries = [{"document": CHAPTER if n != 1 else "", "summary": TOLD, "id": str(n)} for n in range(4)]
        lines(tmp_path / "train.jsonl", *entries)
        inside = LocalCommand(tmp_path)
        conversion = inside.run("data", "convert", "train.jsonl", "--join-tokens", "40", "-o", "long.jsonl")
        assert conversion.code == 3, "something is missing"
        assert "left out: 1 that cannot be read" in conversion.err
        assert only(tmp_path / "long.jsonl").id == "0 to 2"
        refused = inside.run("experiment", "grid", "train.jsonl", "-m", "extractive", "--metric", "spread")
        assert refused.code == 2
        assert "`redraft data convert` leaves out what cannot be read" in refused.err


class TestSquality:
    entry: ClassVar[dict[str, Any]] = {
        "metadata": {"passage_id": "63521", "uid": "fdc4", "license": "This eBook is for the use of anyone."},
        "document": f"Raiders\n \n\n By GENE\n \n {CHAPTER}",
        "questions": [
            {
                "question_text": "What is the plot of the story?",
                "question_number": 1,
                "responses": [{"worker_id": "6", "uid": "a", "response_text": TOLD}] * 2,
            },
            {"question_text": "Who is the keeper?", "question_number": 2, "responses": []},
        ],
    }

    def test_stories_have_questions_and_may_lack_answers(self, tmp_path: Path) -> None:
        story = only(lines(tmp_path / "test.jsonl", self.entry))
        assert (story.id, story.title) == ("63521", "Raiders")
        assert story.summaries == ((TOLD, "What is the plot of the story?"),) * 2

    def test_files_with_pages_name_the_right_one(self, tmp_path: Path) -> None:
        page = {**self.entry, "document": f'<!DOCTYPE html PUBLIC "-//W3C//DTD">\n<html>\n <p>{CHAPTER}</p>'}
        (trouble,) = read_contents(lines(tmp_path / "dev.jsonl", page)).troubles
        assert "use the file of the same name under txt" in trouble.message


def test_compressed_files_are_read(tmp_path: Path) -> None:
    entries = [{"document": f"{CHAPTER} {n}", "summary": TOLD, "id": str(n)} for n in range(40)]
    plain = lines(tmp_path / "test.jsonl", *entries)
    packed = tmp_path / "test.jsonl.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    from_plain, from_packed = read_contents(plain), read_contents(packed)
    assert (from_plain.form, from_plain.examples) == (from_packed.form, from_packed.examples)
    assert len(corpus([str(packed)]).documents) == 40
    (tmp_path / "x.csv.gz").write_bytes(gzip.compress(f'document,summary\n"{CHAPTER}",{TOLD}\n'.encode()))
    assert only(tmp_path / "x.csv.gz").text == CHAPTER
    (tmp_path / "cut.jsonl.gz").write_bytes(packed.read_bytes()[:-20])
    with pytest.raises(UsageError, match="it cannot be unpacked"):
        read_contents(tmp_path / "cut.jsonl.gz")
    token = sources._allowed.set(4000)
    try:
        assert packed.stat().st_size < 4000 < plain.stat().st_size
        with pytest.raises(UsageError, match=r"more than 4 kB when it is unpacked"):
            read_contents(packed)
    finally:
        sources._allowed.reset(token)
