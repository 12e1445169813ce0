"""How a summary is handed over: to a file, to stdout, in the format that is wanted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from redraft.cli.output_files import Target
from redraft.cli.terminal import json_text, prose
from redraft.cli.views import render
from redraft.files import write
from redraft.report.history.results import Result
from redraft.report.outputs.formats import WITH_NOTES, Format, written
from redraft.report.outputs.paper import Paper, paper_of
from redraft.store.store import Store

if TYPE_CHECKING:
    from redraft.report.history.citations import Citations
    from redraft.store.store import Store
    from redraft.text.embeddings import Encoder

_STORED = "it is stored with the run: see `redraft runs` and `redraft show`"


def hand_over(
    store: Store,
    result: Result,
    target: Target,
    *,
    encoder: Encoder | None = None,
    more: Mapping[str, object] | None = None,
) -> None:
    """Write and print what came of a run, if there is a summary; `more` is what the JSON has besides."""

    content = result.to_json() | dict(more or {})
    drafted = [result.summary, *(one.result.summary for one in result.chapters if one.result)]
    if target.printed == "json" or any(text is not None for text in drafted):
        deliver(lambda notes: paper_of(result, citing(store, encoder) if notes else None), content, target, _STORED)


def deliver(paper: Callable[[bool], Paper], content: object, target: Target, hint: str) -> None:
    """Write and print a paper, which is asked for with notes or without; or its content for programs."""

    def made(form: Format) -> str | bytes:
        return json_text(content) + "\n" if form == "json" else written(paper(form in WITH_NOTES), form)

    if target.output:
        write(Path(target.output).expanduser(), made(target.form), hint)
    if target.printed == "json":
        render.echo_json(content)
    elif target.printed:
        said = made(target.printed)
        assert isinstance(said, str), "a file of a word processor is not printed"
        click.echo(prose(said), nl=False)


def citing(store: Store, encoder: Encoder | None = None) -> Callable[[str], Citations]:
    """What finds the citations of the run that it is called with."""

    def citations(run: str) -> Citations:
        from redraft.report.history.citations import citations_of

        return citations_of(store, run, encoder=encoder)

    return citations
