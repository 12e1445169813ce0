"""Whether everything can be seen on any paper and without colour; and names that are hostile stay names."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from itertools import pairwise

import pytest

from redraft.report.plots.curves import Curve, CurvePoint, Densities, Trend, Trends
from redraft.report.plots.figure import Grid, Grids, figure
from redraft.report.plots.picture import (
    COLOURS,
    FILE_STYLES,
    NARROW,
    SERIES,
    STYLES,
    WIDE,
    Picture,
    PictureStyle,
    Plot,
    composed,
    corners,
    data,
    fit_names,
    fit_text,
    isolated,
    plain,
    series,
    width,
    wrap_text,
)
from redraft.report.plots.scores import CostPoint, Differences, Metric, PlottedDifference, RoundScores, ScoreAgainstCost
from redraft.report.plots.shares import DocumentPart, Parts, ShareBar, Shares
from redraft.report.plots.waterfall import Waterfall, WaterfallCall
from redraft.report.tables import Table
from tests.plots.reading import SVG, Read
from tests.plots.samples import SAMPLES

SCHEMES = ("light", "dark")
scheme = pytest.mark.parametrize("scheme", SCHEMES)


def luminance(rgb: tuple[float, float, float]) -> float:
    """As the WCAG computes it."""
    parts = [part / 255 for part in rgb]
    red, green, blue = (part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: tuple[float, float, float], other: tuple[float, float, float]) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def colour(name: str, scheme: str) -> tuple[float, float, float]:
    """A colour as the stylesheet has it."""
    found = re.search(rf"--p-{name}:var\(--plot-{name},light-dark\((#\w+),(#\w+)\)\)", STYLES)
    assert found is not None
    value = found[1 + SCHEMES.index(scheme)]
    return int(value[1:3], 16), int(value[3:5], 16), int(value[5:7], 16)


def test_contrast_is_computed_as_it_should_be() -> None:
    assert contrast((0, 0, 0), (255, 255, 255)) == pytest.approx(21)
    assert contrast((0x76, 0x76, 0x76), (255, 255, 255)) == pytest.approx(4.54, abs=0.01)


@scheme
def test_words_can_be_read(scheme: str) -> None:
    for name in ("ink", "muted"):
        assert contrast(colour(name, scheme), colour("paper", scheme)) >= 4.5


@scheme
def test_marks_can_be_seen(scheme: str) -> None:
    for name in ("axis", *map(str, range(1, SERIES + 1))):
        assert contrast(colour(name, scheme), colour("paper", scheme)) >= 3


@scheme
def test_a_number_can_be_read_on_every_shade_of_a_cell(scheme: str) -> None:
    cells = Read(SAMPLES["grids"].picture()).of("rect", "plot-f1")
    shades = {float(mark.attributes["fill-opacity"]) for mark in cells}
    assert max(shades) == 0.5
    ink, paper, fill = (colour(name, scheme) for name in ("ink", "paper", "1"))
    for shade in shades:
        mixed = tuple(shade * one + (1 - shade) * other for one, other in zip(fill, paper, strict=True))
        assert contrast(ink, mixed) >= 4.5  # type: ignore[arg-type]


def test_no_two_series_are_alike_without_colour() -> None:
    looks = [series(at) for at in range(30)]
    assert len({(look.dash, look.marker) for look in looks}) == 30
    assert len({(look.colour, look.hatch) for look in looks}) == 30
    assert all(one.dash != other.dash and one.hatch != other.hatch for one, other in pairwise(looks))
    assert len({look.hatch for look in looks[:SERIES]}) == SERIES
    assert corners("square", 0, 0, 4)[0] == pytest.approx((3.54, -3.54), abs=0.01)


@pytest.mark.slow
@pytest.mark.parametrize("kind", SAMPLES)
def test_a_page_may_forbid_style_attributes(kind: str) -> None:
    picture = SAMPLES[kind].picture()
    assert "style" not in picture.svg
    classes = {name for element in Read(picture).root.iter() for name in element.get("class", "").split()}
    kinds = {f"plot-{name}" for name in ("wide", "narrow", *SAMPLES)}
    styled = set(re.findall(r"\.(plot-[\w-]+)", STYLES))
    assert classes <= styled | kinds


@pytest.mark.parametrize("kind", SAMPLES)
def test_a_reader_without_eyes_is_told(kind: str) -> None:
    picture = SAMPLES[kind].picture()
    root = Read(picture).root
    assert root.get("role") == "img"
    by_id = {element.get("id"): element.text for element in root.iter() if element.get("id")}
    assert by_id[root.get("aria-labelledby")] == picture.title
    assert by_id[root.get("aria-describedby")] == picture.alt
    assert picture.data.rows


@pytest.mark.slow
@pytest.mark.parametrize("kind", SAMPLES)
def test_ids_are_of_the_picture_alone(kind: str) -> None:
    plot = SAMPLES[kind]

    def ids(picture: Picture) -> set[str]:
        found = re.findall(r'\bid="([^"]+)"', picture.svg)
        assert len(found) == len(set(found))
        used = set(re.findall(r"url\(#([^)]+)\)", picture.svg))
        assert used <= set(found)
        return set(found)

    assert not ids(plot.picture(WIDE)) & ids(plot.picture(NARROW))
    assert all(name.startswith("here-") for name in ids(plot.picture(PictureStyle(640, "here"))))
    others = [SAMPLES[other].picture() for other in SAMPLES if other != kind]
    assert not ids(plot.picture()) & {name for other in others for name in ids(other)}


@pytest.mark.parametrize("kind", SAMPLES)
def test_a_file_stands_alone(kind: str) -> None:
    picture = SAMPLES[kind].picture()
    file = picture.file()
    read = Read(file.split("\n", 1)[1].encode().decode())
    assert file.startswith('<?xml version="1.0" encoding="UTF-8"?>\n<svg xmlns="http://www.w3.org/2000/svg"')
    assert f"<style>{FILE_STYLES}</style>" in file
    assert "prefers-color-scheme:dark" in FILE_STYLES
    paper = read.marks[0]
    assert (paper.look, paper.right, paper.bottom) == ("plot-paper", read.width, read.height)


def test_a_page_has_every_colour_for_itself() -> None:
    for name in COLOURS:
        assert STYLES.count(f"var(--plot-{name},") == 3
    assert not set("<&") & set(FILE_STYLES), "it stands in XML as it is"


@pytest.mark.parametrize("prefix", ["1a", "a b", 'a"', "a)", "-a", "a" * 65])
def test_a_prefix_that_is_no_id_is_refused(prefix: str) -> None:
    with pytest.raises(ValueError, match="cannot begin an id"):
        PictureStyle(640, prefix)


@pytest.mark.parametrize("width", [0, -1, 59, 4001])
def test_a_width_for_which_nothing_can_be_drawn_is_refused(width: int) -> None:
    with pytest.raises(ValueError, match="the width is"):
        PictureStyle(width)


def test_a_table_has_holes_for_what_is_no_number() -> None:
    made = data(["a\n"], [[float("nan")], [float("inf")], [2], ["x\x00y"], [None]])
    assert made == (("a",), ((None,), (None,), (2,), ("x y",), (None,)))


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
    assert list(fit_names(alike, 99, 12).values()) == ["…100 words", "…200 words"]
    assert fit_names(["a, b", "c, b"], 99, 12) == {"a, b": "a, b", "c, b": "c, b"}
    assert fit_names(["the same", "the same"], 99, 12) == {"the same": "the same"}
    assert fit_names(["a", "a b"], 99, 12) == {"a": "a", "a b": "a b"}, "nothing is left of no name"
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
    assert fit_text("short", 100, 12) == "short"
    cut = fit_text("a rather long label", 60, 12)
    assert cut.endswith("…")
    assert width(cut, 12) <= 60
    lines = wrap_text("one two three four five six seven", 90, 12, 2)
    assert len(lines) == 2
    assert lines[1].endswith("…")
    assert all(width(line, 12) <= 90 for line in lines)
    assert wrap_text("one", 90, 12, 2) == ["one"]
