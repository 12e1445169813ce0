"""Templates of the markup output formats."""

from __future__ import annotations

import re
from functools import cache
from html import escape
from importlib.resources import files
from xml.sax import saxutils

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from redraft.report.outputs.paper import is_rtl
from redraft.text.sanitizer import clean

# XML cannot contain these, escaped or not.
_UNWRITABLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def fill(name: str, **values: object) -> str:
    """Return a template filled in with values."""
    return _environment().get_template(name).render(**values)


@cache
def _environment() -> Environment:
    made = Environment(
        loader=FunctionLoader(_source),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        auto_reload=False,
    )
    made.filters.update(html=_html, xml=_xml)
    made.tests.update(rtl=is_rtl)
    return made


def _source(name: str) -> str:
    """Return the text of a template, without white space between XML elements, which readers would show."""
    text = (files("redraft.report.outputs") / "templates" / name).read_text("utf-8")
    return "".join(map(str.strip, text.splitlines())) if name.endswith(".xml") else text


def _html(text: str) -> Markup:
    return Markup(escape(clean(text)))  # noqa: S704 - it is escaped


def _xml(text: str) -> Markup:
    return Markup(saxutils.escape(_UNWRITABLE.sub(" ", clean(text)), {'"': "&quot;"}))  # noqa: S704 - it is escaped
