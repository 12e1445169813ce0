"""Styles, scripts and templates of the pages, inlined in standalone pages."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Sequence
from functools import cache
from importlib.resources import files

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined, Template

from redraft.report.pages.formatting import FILTERS
from redraft.text.sentences import is_heading

PAGES = "redraft.report.pages"
"""The package with these templates and static files."""
# A bundled script has no imports and exports: the imported modules precede it.
_IMPORT = re.compile(r'^import \{[^}]*\} from "\./([\w-]+\.js)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?function|class|const)", re.MULTILINE)


def allowed(text: str) -> str:
    """Return the expression by which a content security policy allows an inline style or script."""
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


@cache
def static(name: str, package: str = PAGES) -> str:
    """Return the text of a static file."""
    return (files(package) / "static" / name).read_text("utf-8")


@cache
def script(entry: str) -> str:
    """Return a module bundled with its imports: dependencies first, each once."""
    order: list[str] = []

    def add(name: str) -> None:
        if name not in order:
            for needed in _IMPORT.findall(static(name)):
                add(needed)
            order.append(name)

    add(entry)
    return "\n".join(_EXPORT.sub("", _IMPORT.sub("", static(name))) for name in order)


def assets(sheets: Sequence[str], entry: str) -> dict[str, str]:
    """Return the `policy`, `styles` and `script` of a standalone page. The policy allows only these two, and images in
    `data:` addresses."""
    css, js = "\n".join(static(name) for name in sheets), script(entry)
    sources = f"script-src {allowed(js)}; style-src {allowed(css)}; img-src data:"
    policy = f"default-src 'none'; {sources}; base-uri 'none'; form-action 'none'"
    return {"policy": policy, "styles": css, "script": js}


def template(name: str) -> Template:
    """Return a template by name."""
    return environment().get_template(name)


@cache
def environment(*packages: str) -> Environment:
    """Return the templates of these pages, and of packages that add to them."""
    pages = Environment(
        loader=ChoiceLoader([PackageLoader(package, "templates") for package in (*packages, PAGES)]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    pages.filters.update(FILTERS)
    pages.tests.update(heading=is_heading)
    return pages
