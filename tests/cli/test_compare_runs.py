"""`redraft compare-runs`, as it is typed, on what the built-in model drafts and judges."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tests.cli.inside import Inside
from tests.pages.support import SAMPLE

pytestmark = pytest.mark.slow
_DOCUMENTS = 5


class _Links(HTMLParser):
    """The ids of a page, and what its links lead to."""

    def __init__(self) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.targets: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = dict(attrs)
        if known.get("id"):
            self.ids.append(str(known["id"]))
        if tag == "a" and str(known.get("href", "")).startswith("#"):
            self.targets.add(str(known["href"])[1:])


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> tuple[Inside, list[str]]:
    """Two summaries of the sample book, of different lengths, drafted and judged by the built-in model."""
    command = Inside(tmp_path_factory.mktemp("two"), COLUMNS="100")
    runs = []
    for words in ("100", "300"):
        done = command.run(
            "summarize",
            str(SAMPLE),
            "-w",
            words,
            "--refine",
            "-g",
            "coverage=0.9",
            "--rounds",
            "1",
            "--json",
            "-q",
        )
        assert done.code == 3, done.err
        runs.append(done.json["run"])
    return command, runs


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> tuple[Inside, list[str]]:
    """Of five short documents a long and a short summary each."""
    command = Inside(tmp_path_factory.mktemp("many"), COLUMNS="100")
    chapters = [one for one in SAMPLE.read_text("utf-8").split("\n## ") if len(one) > 4000][:_DOCUMENTS]
    assert len(chapters) == _DOCUMENTS
    named = []
    for number, chapter in enumerate(chapters):
        text = f"# Part {number}\n\n{chapter[:3500]}"
        (command.folder / "part.md").write_text(text, "utf-8")
        sentences = re.split(r"(?<=[.!?]) ", " ".join(text.split("\n\n")[2:]))
        for name, summary in (("long", sentences[:14]), ("short", sentences[:2])):
            (command.folder / "summary.md").write_text(" ".join(summary), "utf-8")
            done = command.run("evaluate", "part.md", "summary.md", "--metric", "coverage", "--json", "-q")
            assert done.code == 0, done.err
            named.append(f"{name}={done.json['run']}")
    return command, named


def test_two_runs_of_a_document_come_to_a_page_that_stands_alone(two: tuple[Inside, list[str]]) -> None:
    command, runs = two
    done = command.run("compare-runs", *runs, "-o", "compare.html")
    assert (done.code, done.out) == (0, ""), done.err
    assert "written to compare.html" in done.err
    page = (command.folder / "compare.html").read_text("utf-8")
    links = _Links()
    links.feed(page)
    assert len(links.ids) == len(set(links.ids))
    assert links.targets <= set(links.ids)
    assert "default-src &#39;none&#39;" in page
    assert not re.search(r"""(?:src|href)=["'](?!#|data:image)""", page), "nothing is fetched"
    assert "100 words" in page
    assert "300 words" in page


def test_the_forms_say_the_same(two: tuple[Inside, list[str]]) -> None:
    command, runs = two
    read = command.run("compare-runs", *runs, "--format", "json").json
    assert [run["result"]["run"] for run in read["runs"]] == runs
    assert [one["label"] for one in read["contestants"]] == [
        "extractive, hierarchical, 100 words",
        "extractive, hierarchical, 300 words",
    ]
    assert read["settings"] == {"words": [[100], [300]]}
    shown = command.run("show", runs[1], "--json").json
    coverage = read["contestants"][1]["scores"]["coverage"]
    assert coverage["mean"] == read["runs"][1]["result"]["scores"]["coverage"] == shown["scores"]["coverage"]
    assert coverage["interval"]["low"] <= coverage["mean"] <= coverage["interval"]["high"]
    flips = [one for one in read["documents"][0]["items"] if one["standing"] == "flipped"]
    assert flips
    difference, *_ = read["differences"]
    values = [[verdict["value"] for verdict in item["verdicts"].values()] for item in read["documents"][0]["items"]]
    both = [(a, b) for a, b in values if a is not None and b is not None]
    assert difference["pairs"] == len(both)
    assert difference["difference"] == pytest.approx(sum(a - b for a, b in both) / len(both))
    assert command.run("compare-runs", *runs, "-o", "c.json", "-q").err == ""
    assert (command.folder / "c.json").read_text("utf-8").startswith('{\n  "format": 2')


def test_several_documents_are_paired(many: tuple[Inside, list[str]]) -> None:
    command, named = many
    read = command.run("compare-runs", *named, "--format", "json").json
    assert [(one["label"], len(one["runs"])) for one in read["contestants"]] == [("long", 5), ("short", 5)]
    (difference,) = read["differences"]
    scores = {run["name"]: run["result"]["scores"]["coverage"] for run in read["runs"]}
    expected = [scores[f"A{n}"] - scores[f"B{n}"] for n in range(1, _DOCUMENTS + 1)]
    assert (difference["pairs"], difference["left_out"]) == (_DOCUMENTS, 0)
    assert difference["difference"] == pytest.approx(sum(expected) / _DOCUMENTS)
    assert difference["difference"] > 0
    assert difference["interval"]["low"] >= min(expected) - 1e-6
    assert difference["interval"]["high"] <= max(expected) + 1e-6
    done = command.run("compare-runs", *named, "-o", "many.html")
    assert done.code == 0, done.err
    assert "Scores by document" in (command.folder / "many.html").read_text("utf-8")


def test_what_cannot_be_compared_is_refused_in_a_sentence(
    two: tuple[Inside, list[str]], many: tuple[Inside, list[str]]
) -> None:
    command, runs = two
    for words, said in (
        ([runs[0]], "you gave only one run"),
        ([runs[0], runs[0]], "is given twice"),
        ([*runs, "--format", "pdf"], "'pdf' is not one of"),
        ([*runs, "-o", "compare.md"], "a page or JSON, not Markdown"),
        ([*runs, "-o", "nowhere/compare.html"], "its directory does not exist"),
    ):
        done = command.run("compare-runs", *words)
        assert done.code == 2, words
        assert said in done.err
    assert command.run("compare-runs", runs[0], "ffffffff").code == 1
    other, named = many
    ids = [one.partition("=")[2] for one in named]
    done = other.run("compare-runs", ids[0], ids[2])
    assert (done.code, "no two of these runs are of the same document" in " ".join(done.err.split())) == (2, True)


def test_nothing_of_this_machine_is_in_it(two: tuple[Inside, list[str]]) -> None:
    command, runs = two
    for form in ("html", "json"):
        text = command.run("compare-runs", *runs, "--format", form).out
        assert str(command.folder) not in text
        assert str(Path.home()) not in text
