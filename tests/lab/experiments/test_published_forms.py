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
from tests.cli.inside import Inside

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
    def extract(self, path: Path, mark: str, first: str, title: str = "") -> Path:
        head = f"[{mark}]TITLE[{mark}]\n{title}\n\n" if title else ""
        body = f"[{mark}]{first}[{mark}]\n{TOLD}\n\n[{mark}]RESTBODY[{mark}]\nThe first line.\nThe second line.\n"
        path.write_text(f"[{mark}]URL[{mark}]\nhttp://web.archive.org/x\n\n{head}{body}", "utf-8")
        return path

    def test_both_kinds_of_extracts_are_read(self, tmp_path: Path) -> None:
        scripts = only(self.extract(tmp_path / "29604402.data", "XSUM", "INTRODUCTION"))
        released = only(self.extract(tmp_path / "33627800.summary", "SN", "FIRST-SENTENCE", "The bridge"))
        assert (scripts.id, scripts.title) == ("29604402", "29604402")
        assert (released.id, released.title) == ("33627800", "The bridge")
        for extract in (scripts, released):
            assert (extract.text, extract.summaries[0].text) == ("The first line.\nThe second line.", TOLD)

    def test_articles_without_text_are_not_joined(self, tmp_path: Path) -> None:
        """Some articles of the set are empty; they shall not keep the other two hundred thousand from being used."""
        entries = [{"document": CHAPTER if n != 1 else "", "summary": TOLD, "id": str(n)} for n in range(4)]
        lines(tmp_path / "train.jsonl", *entries)
        inside = Inside(tmp_path)
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


class TestGovReport:
    within: ClassVar[dict[str, Any]] = {
        "section_title": "Costs",
        "paragraphs": ["It costs\n  ten\tpounds.", "It cost nine."],
        "subsections": [],
    }
    gao: ClassVar[dict[str, Any]] = {
        "id": "GAO-20-1",
        "url": "https://www.gao.gov/",
        "title": "Bridges: More Keepers Are Needed",
        "highlight": [
            {"section_title": "Why GAO Did This Study", "paragraphs": ["Bridges are lost."], "subsections": []},
            {"section_title": "What GAO Found", "paragraphs": ["Keepers are few.", "And tired."], "subsections": []},
            {"section_title": "What GAO Recommends", "paragraphs": ["GAO recommends keepers."], "subsections": []},
        ],
        "report": [
            {"section_title": "Letter", "paragraphs": [], "subsections": [within]},
            {"section_title": "Appendix I", "paragraphs": ["Scope."], "subsections": []},
        ],
    }
    crs: ClassVar[dict[str, Any]] = {
        "id": "R40001",
        "title": "Bridges",
        "summary": ["Bridges are lost.", "Why is not known."],
        "reports": {"section_title": "", "paragraphs": [], "subsections": [within]},
    }
    costs = "Costs\n\nIt costs ten pounds.\n\nIt cost nine."

    @pytest.mark.parametrize("suffix", [".jsonl", ".json"])
    def test_gao_reports_keep_no_headings_or_recommendations(self, tmp_path: Path, suffix: str) -> None:
        """As the set has it in the setting of its paper. In the archive each report is a file, else it is a line."""
        report = only(lines(tmp_path / f"gao_test{suffix}", self.gao))
        assert report.title == "Bridges: More Keepers Are Needed"
        assert report.text == f"{self.costs}\n\nAppendix I\n\nScope.", "the heading of the letter is left out"
        assert report.summaries[0].text == "Bridges are lost.\n\nKeepers are few.\n\nAnd tired."

    def test_a_folder_of_an_archive_is_read(self, tmp_path: Path) -> None:
        for number in (1, 2):
            entry = {**self.crs, "title": f"Bridges {number}", "reports": {**self.within, "section_title": str(number)}}
            lines(tmp_path / f"R{number}.json", entry)
        assert [document.title for document in corpus([str(tmp_path)]).documents] == ["Bridges 1", "Bridges 2"]

    def test_the_structure_pairs_titles_and_paragraphs(self, tmp_path: Path) -> None:
        entry = {
            "id": "GAO_123456",
            "document_sections": {
                "title": ["Costs", "More costs"],
                "paragraphs": ["It costs ten pounds.\nIt cost nine.", "It will cost twelve."],
                "depth": [1, 2],
            },
            "summary_sections": {"title": ["What GAO Found"], "paragraphs": ["Keepers are few.\nAnd tired."]},
        }
        report = only(lines(tmp_path / "test.jsonl", entry))
        assert report.text == f"{self.costs}\n\nMore costs\n\nIt will cost twelve."
        assert report.summaries[0].text == "Keepers are few.\n\nAnd tired."
        entry["summary_sections"] = {"title": [], "paragraphs": ["Keepers are few."]}
        (trouble,) = read_contents(lines(tmp_path / "odd.jsonl", entry)).troubles
        assert "different numbers of titles and paragraphs" in trouble.message


class TestQMSum:
    meeting: ClassVar[dict[str, Any]] = {
        "topic_list": [{"topic": "The bridge", "relevant_text_span": [["0", "1"], ["2", "2"]]}],
        "general_query_list": [{"query": "Summarize the whole meeting.", "answer": TOLD}],
        "specific_query_list": [
            {"query": "What did Ann say?", "answer": "That it is gone.", "relevant_text_span": [["0", "0"]]}
        ],
        "meeting_transcripts": [
            {"speaker": "The Chair (Hon. Ann (North, Lib.))", "content": "The bridge is gone {vocalsound} ."},
            {"speaker": "Project Manager", "content": ""},
            {"speaker": "Bob", "content": "Who kept it?"},
        ],
    }

    def test_each_meetings_file_bears_its_name(self, tmp_path: Path) -> None:
        (tmp_path / "covid_2.json").write_text(json.dumps(self.meeting, indent=4), "utf-8")
        assert only(tmp_path / "covid_2.json").title == "meeting, covid_2"
        assert [document.title for document in corpus([str(tmp_path)]).documents] == ["meeting, covid_2"]


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
