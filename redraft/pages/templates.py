"""The templates of the pages. Whatever is filled in is text: nothing of a document or a reply is ever markup."""

from __future__ import annotations

from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined, Template

from redraft.pages.wording import FILTERS


def template(name: str) -> Template:
    """One of the templates."""
    return _environment().get_template(name)


@cache
def _environment() -> Environment:
    made = Environment(
        loader=PackageLoader("redraft.pages", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    made.filters.update(FILTERS)
    return made
