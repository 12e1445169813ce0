"""Builds these pages as a site, without network: python -m sphinx -W -b html docs build/docs"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.pycode import ModuleAnalyzer

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "docs"))

from draw_graphs import pictures  # noqa: E402

_PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
_SOURCE = _PROJECT["urls"]["Source"]

project = "redraft"
author = "The redraft authors"
release = version = _PROJECT["version"]
extensions = ["myst_parser", "sphinx.ext.autodoc"]
exclude_patterns = ["pictures", "drawings"]
smartquotes = False

myst_heading_anchors = 3
autodoc_default_options = {"members": True, "undoc-members": True, "exclude-members": "model_config, model_post_init"}
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 90
add_module_names = False

html_theme = "furo"
html_title = f"redraft {release}"
html_static_path = ["site.css"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = html_show_copyright = False
html_theme_options = {
    "source_repository": f"{_SOURCE}/",
    "source_branch": "main",
    "source_directory": "docs/",
    "light_css_variables": {"color-brand-primary": "#1f5f8b", "color-brand-content": "#1f5f8b"},
    "dark_css_variables": {"color-brand-primary": "#8cc4ea", "color-brand-content": "#8cc4ea"},
}

_SECTION = re.compile(r"^\*\*(.+)\*\*$", re.MULTILINE)
_PAGE = re.compile(r"\]\(([\w-]+)\.md\)")


def contents(index: str) -> str:
    """Return the tables of contents for the sidebar: the sections of the index, with the pages that they link to."""
    _, *parts = _SECTION.split(index)
    sections = {
        caption: list(dict.fromkeys(_PAGE.findall(text))) for caption, text in zip(parts[::2], parts[1::2], strict=True)
    }
    sections["Reference"].insert(0, "api/index")
    sections["Project"] = [f"project/{path.stem}" for path in sorted((ROOT / "docs" / "project").glob("*.md"))]
    trees = [f":caption: {caption}\n\n" + "\n".join(pages) for caption, pages in sections.items()]
    return "\n\n".join(f"```{{toctree}}\n:hidden:\n{tree}\n```" for tree in trees)


def _read(app: Sphinx, name: str, source: list[str]) -> None:
    """Complete a page of the repository for the site."""
    folder, _, page = name.rpartition("/")
    if folder == "project":
        text = (ROOT / f"{page.upper()}.md").read_text("utf-8")
        text = re.sub(r"\]\(docs/([^)]+)\)", r"](../\1)", text)
        source[0] = re.sub(r"\]\(([A-Z]+)\.md\)", lambda found: f"]({found[1].lower()}.md)", text)
    elif not folder:
        # The name of a file as the text of a link becomes the title of the page or section.
        source[0] = re.sub(r"\[[\w-]+\.md\]\(([\w-]+\.md(?:#[\w-]+)?)\)", r"[](\1)", source[0])
        # Files outside this folder are read in the repository.
        source[0] = re.sub(r"\]\(\.\./([^)]+)\)", rf"]({_SOURCE}/blob/main/\1)", source[0])
        for drawn, (_, picture) in pictures(source[0]).items():
            shown = f"```{{raw}} html\n{picture.read_text('utf-8')}```"
            source[0] = source[0].replace(f"```mermaid\n{drawn}```", shown)
    if name == "index":
        source[0] += "\n" + contents(source[0])


def _describe(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Find docstrings that autodoc does not see, and turn Markdown's `code` into that of reStructuredText."""
    owner, _, last = name.rpartition(".")
    if what == "data":
        lines[:] = _of_alias(owner, last).splitlines()
    elif what == "attribute" and not any(lines) and (field := _fields.get(owner, {}).get(last)):
        lines[:] = [field.description or ""]
    lines[:] = [re.sub(r"(?<![`:\w])`([^`]+)`(?![`_])(\w?)", _code, line).replace(" *", r" \*") for line in lines]


def _code(found: re.Match[str]) -> str:
    return f"``{found[1]}``" + (rf"\ {found[2]}" if found[2] else "")


def _of_alias(package: str, name: str) -> str:
    """Return the docstring below the assignment of a name in the module that the package has it from."""
    stub = Path(sys.modules[package].__file__ or "").with_suffix(".pyi")
    names = stub.read_text("utf-8") if stub.exists() else ""
    home = re.search(rf"^from (\S+) import {name} as", names, re.MULTILINE)
    return "\n".join(ModuleAnalyzer.for_module(home[1] if home else package).find_attr_docs().get(("", name), []))


def _remember(app: Sphinx, what: str, name: str, obj: Any, options: Any, signature: str, returns: str) -> None:
    _fields[name] = getattr(obj, "model_fields", {})


_fields: dict[str, dict[str, Any]] = {}


def _keep_together(app: Sphinx, doctree: nodes.document) -> None:
    """Mark short code, such as an option, so that no line ends within it."""
    for code in doctree.findall(nodes.literal):
        if len(code.astext()) <= 24:
            code["classes"].append("short")


def setup(app: Sphinx) -> None:
    app.connect("doctree-read", _keep_together)
    app.connect("source-read", _read)
    app.connect("autodoc-process-docstring", _describe)
    app.connect("autodoc-process-signature", _remember)
