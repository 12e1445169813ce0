"""Whether everything can be seen: by contrast on light and dark paper, without colour, and under a strict policy."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest

from redraft.report.plots.picture import (
    COLOURS,
    FILE_STYLES,
    NARROW,
    SERIES,
    STYLES,
    WIDE,
    Picture,
    PictureStyle,
    corners,
    data,
    series,
)
from tests.plots.reading import Read
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
