"""How pictures look, for a page's stylesheet: colours for light and dark, and the classes that use them.

A picture has no style attributes, so that a page may forbid them. A page has `STYLES` in its stylesheet, and says by
`color-scheme` whether it is light, dark, or as the reader has it. It may set any colour itself: `--plot-ink`,
`--plot-muted`, `--plot-axis`, `--plot-grid`, `--plot-paper` (what it stands on) and `--plot-1` to `--plot-6`.
"""

from __future__ import annotations

from typing import Literal, NamedTuple


class Colour(NamedTuple):
    """One colour on light and on dark paper."""

    light: str
    dark: str


COLOURS: dict[str, Colour] = {
    "paper": Colour("#ffffff", "#15161a"),
    "ink": Colour("#1a1b1f", "#ececef"),
    "muted": Colour("#565960", "#b4b7bf"),
    "axis": Colour("#767982", "#8b8e97"),
    "grid": Colour("#e3e4e8", "#34373e"),
    # Blue, vermilion, green, purple, ochre and grey, after Okabe and Ito, each with three times the contrast it needs
    # to be seen. No two series differ by colour alone.
    "1": Colour("#0072b2", "#56b4e9"),
    "2": Colour("#c85200", "#ff8a3d"),
    "3": Colour("#00795a", "#2fc094"),
    "4": Colour("#a8407f", "#e08fbf"),
    "5": Colour("#876200", "#e6c229"),
    "6": Colour("#5a5d66", "#a9adb8"),
}
SERIES = 6
"""How many colours series have."""


def _colours(which: Literal["light", "dark", "both"]) -> str:
    """The colours by names of our own, each of them the page's where the page sets it."""
    return "".join(f"--p-{name}:var(--plot-{name},{_value(colour, which)});" for name, colour in COLOURS.items())


def _value(colour: Colour, which: Literal["light", "dark", "both"]) -> str:
    if which == "both":
        return f"light-dark({colour.light},{colour.dark})"
    return colour.light if which == "light" else colour.dark


_BY_READER = (
    f".plot-svg{{{_colours('light')}}}\n@media (prefers-color-scheme:dark){{.plot-svg{{{_colours('dark')}}}}}\n"
)
# Not every browser knows it; where it is known the colours follow the page, and not only the reader's system.
_BY_PAGE = f"@supports (color:light-dark(#000,#fff)){{.plot-svg{{{_colours('both')}}}}}\n"
_CLASSES = """\
.plot-svg{font-family:system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif}
.plot-ink{fill:var(--p-ink)}
.plot-muted{fill:var(--p-muted)}
.plot-paper{fill:var(--p-paper)}
.plot-halo{paint-order:stroke;stroke:var(--p-paper);stroke-width:3px;stroke-linejoin:round}
.plot-under{stroke:var(--p-paper)}
.plot-axis{stroke:var(--p-axis)}
.plot-grid{stroke:var(--p-grid)}
.plot-rule{stroke:var(--p-ink)}
""" + "".join(
    f".plot-f{at}{{fill:var(--p-{at})}}\n.plot-s{at}{{stroke:var(--p-{at})}}\n" for at in range(1, SERIES + 1)
)
_FIGURE = """\
.plot{container-type:inline-size;margin:0}
.plot svg{display:block;width:100%;height:auto;max-width:45rem}
.plot .plot-narrow{display:none}
@container (max-width:32rem){.plot .plot-wide{display:none}.plot .plot-narrow{display:block}}
.plot-numbers{overflow-x:auto}
.plot-numbers table{border-collapse:collapse;font-variant-numeric:tabular-nums}
.plot-numbers th,.plot-numbers td{padding:.2em .7em;text-align:start}
.plot-numbers .plot-number{text-align:end}
"""

STYLES = _BY_READER + _BY_PAGE + _CLASSES + _FIGURE
"""For the stylesheet of a page with pictures in it."""
FILE_STYLES = ":root{color-scheme:light dark}\n" + _BY_READER + _CLASSES
"""What a picture that is a file of its own has in it. A server with a strict policy allows it by its checksum."""
