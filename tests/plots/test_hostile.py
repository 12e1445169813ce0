"""Names come from documents and models: nothing of them is markup, moves what stands beside it, or takes all room."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest

from redraft.report.plots.curves import Curve, CurvePoint, Densities, Trend, Trends
from redraft.report.plots.figure import Grid, Grids, figure
from redraft.report.plots.picture import NARROW, WIDE, Plot, apart, composed, fitted, isolated, plain, width, wrapped
from redraft.report.plots.scores import CostPoint, Differences, Metric, PlottedDifference, RoundScores, ScoreAgainstCost
from redraft.report.plots.shares import DocumentPart, Parts, ShareBar, Shares
from redraft.report.plots.waterfall import Waterfall, WaterfallCall
from redraft.report.tables import Table
from tests.plots.reading import SVG, Read

SCRIPT = "<script>alert(1)</script>"
NAMES = {
    "script": SCRIPT,
    "end of title": f"</title></svg>{SCRIPT}<svg><title>",
    "attribute": "\" onload='alert(1)' x=\"",
    "entity": "&lt;script&gt; &#x3c; &bogus;",
    "cdata": f"]]>{SCRIPT}<![CDATA[",
    "comment": f"<!-- {SCRIPT} --> --!>",
    "control": "a\x00b\x08c\x1b[31md\x7fe\x9ff",
    "bidi": "\u202eevil\u2066deep\u2068er\u202c\u2069\u2069",
    "invalid in XML": "a\ufffeb\uffffc\ud800d\ufeffe",
    "lines": "one\r\ntwo\u2028three\tfour",
    "long": "very long " * 2000,
    "one word": "x" * 5000,
    "marks": "e" + "\u0301" * 3000,
    "wide": "漢字" * 300,
    "formula": "=cmd|' /C calc'!A0",
    "braces": "{{ 7*7 }} {% raw %} ${x}",
}


def plots(name: str) -> dict[str, Plot]:
    """Each kind, with the name wherever a name may stand."""
    readings = [CurvePoint(1, 0.5), CurvePoint(2, 0.6)]
    return {
        "rounds": RoundScores([Metric(name, [0.1, 0.2], 0.5)], [True, False], name),
        "densities": Densities([Curve(name, [1, 2])], Curve(name, [1, 1]), name),
        "shares": Shares([ShareBar(name, [1, 2])], [name, name], name),
        "parts": Parts([DocumentPart(name, 0.5, 2, 1, 0.1, 0.7)], name, name),
        "costs": ScoreAgainstCost([CostPoint(name, 1, 0.5), CostPoint(name, None, 1)], name, name, name),
        "differences": Differences([PlottedDifference(name, 0.1, 0.0, 0.2)], name, name, name, name),
        "trends": Trends([Trend(name, readings)], name, name, name),
        "grids": Grids([Grid(name, [[0.5]])], [name], [name], name, name, name, name),
        "waterfall": Waterfall([WaterfallCall(name, 0, 1), WaterfallCall(f"{name}!", 1, 2, failed=True)], name),
    }


class Page(HTMLParser):
    """What a browser finds in the HTML: elements, and attributes."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes.update(name for name, _ in attrs)


KNOWN_TAGS = re.findall(
    r"\w+",
    """figure svg title desc defs pattern g rect line path circle text
    figcaption details summary div table thead tbody tr th td""",
)
KNOWN_ATTRIBUTES = re.findall(
    r"[\w-]+",
    """class d cx cy r x y x1 x2 y1 y2 rx width height viewbox role fill stroke id xmlns scope stroke-width font-size
    stroke-dasharray stroke-linejoin text-anchor font-weight fill-opacity aria-labelledby aria-describedby
    patternunits""",
)


@pytest.mark.slow
@pytest.mark.parametrize("case", NAMES)
def test_nothing_of_a_name_is_markup(case: str) -> None:
    for kind, plot in plots(NAMES[case]).items():
        for look in (WIDE, NARROW):
            read = Read(plot.picture(look))
            found = {element.tag.removeprefix(SVG) for element in read.root.iter()}
            assert found <= set(KNOWN_TAGS), kind
            assert read.outside() == [], kind
        page = Page(figure(plot))
        assert page.tags <= set(KNOWN_TAGS), kind
        assert page.attributes <= set(KNOWN_ATTRIBUTES), kind


@pytest.mark.parametrize("case", NAMES)
def test_nothing_unseen_is_left_of_a_name(case: str) -> None:
    for kind, plot in plots(NAMES[case]).items():
        picture = plot.picture()
        cells = [cell for row in picture.data.rows for cell in row if isinstance(cell, str)]
        everything = [picture.svg, picture.caption, picture.alt, picture.title, *picture.data.columns, *cells]
        for text in everything:
            assert not {c for c in text if ord(c) < 32 or 127 <= ord(c) < 160}, kind
            assert not set(text) & set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\ufeff\ufffe\uffff\ud800"), kind
            assert text.count("\u2068") >= text.count("\u2069"), kind
        assert len(picture.svg) < 60_000, kind


def test_a_long_name_is_cut_and_told_in_full_where_one_points_at_it() -> None:
    name = "The part in which the ledger is lost, found, copied out by night and finally lost for good"
    read = Read(Parts([DocumentPart(name, 0.5, 2)]).picture(NARROW))
    assert name not in read.words
    shortened = next(word for word in read.words if word.startswith("The part") and "…" in word)
    assert any(mark.tag == "text" and mark.tip == name for mark in read.marks)
    assert width(shortened, 13) <= 340


def test_a_name_is_isolated_from_the_words_around_it() -> None:
    assert isolated("שם") == "\u2068שם\u2069"
    assert isolated("a\u2069\u202e b") == "\u2068a b\u2069", "a name cannot end its isolation"
    assert composed(f"{isolated('a')}: 0.5 <\x00") == "\u2068a\u2069: 0.5 <"
    assert plain("a\u2068b\nc\ufffe") == "a b c"


def test_names_that_begin_alike_are_told_apart_where_there_is_no_room() -> None:
    alike = [f"openai:a-model-with-a-long-name, {words} words" for words in (100, 200)]
    assert list(apart(alike, 99, 12).values()) == ["…100 words", "…200 words"]
    assert apart(["a, b", "c, b"], 99, 12) == {"a, b": "a, b", "c, b": "c, b"}
    assert apart(["the same", "the same"], 99, 12) == {"the same": "the same"}
    assert apart(["a", "a b"], 99, 12) == {"a": "a", "a b": "a b"}, "nothing is left of no name"
    read = Read(
        Grids([Grid("", [[0.1], [0.2]])], alike, ["coverage"], "contestant", "metric", "score", "Scores").picture(
            NARROW
        )
    )
    assert {"…100 words", "…200 words"} <= set(read.words)
    assert any(mark.tip == alike[0] for mark in read.marks)


@pytest.mark.parametrize(
    "alike",
    [
        ["openai:SmolLM2-135M-Instruct-of-the-long-name-2048", "openai:SmolLM2-135M-Instruct-of-the-long-name-4096"],
        ["openai:gpt-4o-mini-of-the-long-name-2048", "qwen:qwen2.5-72b-2048", "openai:gpt-4o-mini-of-the-long-name-96"],
        [
            "openai:SmolLM2-of-the-long-name-2048",
            "openai:gpt-4o-of-the-long-name-2048",
            "openai:o1-of-the-long-name-96",
        ],
        [f"extractive, chunks of {n}, {w} words{r}" for n in (512, 1024) for w in (60, 120) for r in ("", ", refined")],
        ["qwen2.5-72b-instruct-1024, refined", "qwen2.5-72b-instruct-1024, refined twice", "openai:o-1-preview-1024"],
    ],
)
def test_long_names_are_cut_so_that_they_stay_apart(alike: list[str]) -> None:
    grids = [Grid(name, [[0.1] * len(alike)] * len(alike)) for name in alike]
    read = Read(Grids(grids, alike, alike, "system", "system", "score", "Scores").picture(NARROW))
    cut = {(title.text, title.tail) for title in read.root.iter(f"{SVG}title") if title.text in alike}
    assert {name for name, _ in cut} == {*alike}, "a name that fits is no test"
    assert len({(name, short) for name, short in cut}) == len({short for _, short in cut})
    table = Table("t", "T", "", "", ("system",), tuple((name + "x" * 80 + name[-5:],) for name in alike))
    assert len({line for line in table.to_markdown().splitlines() if "…" in line}) == len(alike)


def test_words_are_fitted_and_wrapped() -> None:
    assert fitted("short", 100, 12) == "short"
    cut = fitted("a rather long label", 60, 12)
    assert cut.endswith("…")
    assert width(cut, 12) <= 60
    lines = wrapped("one two three four five six seven", 90, 12, 2)
    assert len(lines) == 2
    assert lines[1].endswith("…")
    assert all(width(line, 12) <= 90 for line in lines)
    assert wrapped("one", 90, 12, 2) == ["one"]
