"""Styles, scripts and templates of the pages, inlined where a page stands alone."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined, Template, select_autoescape

from redraft.report.pages.formatting import FILTERS
from redraft.report.plots.picture import STYLES

# Where each stands alone it is one text: what a module takes from others stands before it.
_IMPORT = re.compile(r'^import \{[^}]*\} from "\./([\w-]+\.js)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?function|class|const)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Inline:
    """A style or a script within a page, and the hash by which the page's policy lets it through."""

    text: str

    @property
    def allowed(self) -> str:
        """As a content security policy names it."""
        digest = hashlib.sha256(self.text.encode()).digest()
        return f"'sha256-{base64.b64encode(digest).decode()}'"


@cache
def static(name: str) -> str:
    """The text of a file among the static ones, or what pictures need."""
    return STYLES if name == "plots.css" else (files("redraft.report.pages") / "static" / name).read_text("utf-8")


@cache
def styles(*names: str) -> Inline:
    """Style sheets in their order, as one."""
    return Inline("\n".join(static(name) for name in names))


@cache
def script(entry: str) -> Inline:
    """A module with all that it imports, as one: what is imported comes first, each once."""
    order: list[str] = []

    def add(name: str) -> None:
        if name not in order:
            for needed in _IMPORT.findall(static(name)):
                add(needed)
            order.append(name)

    add(entry)
    return Inline("\n".join(_EXPORT.sub("", _IMPORT.sub("", static(name))) for name in order))


class Assets(NamedTuple):
    """The policy, styles and script that a page contains where no server gives them to it."""

    policy: str
    styles: str
    script: str


def assets(sheets: Sequence[str], entry: str) -> Assets:
    """The assets of a page that is a file of its own."""
    css, js = styles(*sheets), script(entry)
    return Assets(policy(styles=css, script=js), css.text, js.text)


def policy(*, styles: Inline, script: Inline) -> str:
    """What a page that stands alone may do: show itself, and nothing else."""
    parts = {
        "default-src": "'none'",
        "script-src": script.allowed,
        "style-src": styles.allowed,
        "img-src": "data:",
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    return "; ".join(f"{name} {value}" for name, value in parts.items())


def template(name: str) -> Template:
    """One of the templates."""
    return _environment().get_template(name)


@cache
def _environment() -> Environment:
    made = Environment(
        loader=PackageLoader("redraft.report.pages", "templates"),
        autoescape=select_autoescape(disabled_extensions=("md",), default=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    made.filters.update(FILTERS)
    return made
