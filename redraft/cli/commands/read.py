"""`redraft read` and `redraft ask`: show how a document is read, and answer a question about it."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from redraft.cli import options, parse_options
from redraft.cli.hints import own_places
from redraft.cli.output_files import OutputTarget, check_output
from redraft.cli.sections import SourceArgument, command
from redraft.cli.terminal import prose, say, show_record
from redraft.errors import UsageError
from redraft.order import OrderParts
from redraft.text.sanitizer import one_line
from redraft.text.words import count_words

if TYPE_CHECKING:
    from redraft.domain import Document
    from redraft.report.outputs.formats import Format
    from redraft.settings import Exchange


@command()
@options.sources
@options.typed_option("--text", "as_text", is_flag=True, help="Print the text.")
@options.part_options
@options.max_source
@options.as_json
@options.quiet
def read(sources: tuple[str, ...], as_text: bool, as_json: bool, **values: Any) -> None:
    """Show how SOURCE is read: sections, pages, words, what is left out, and problems.

    Several sources are read as one document.
    """
    from redraft.readers.documents import load_all
    from redraft.readers.parts import chapters
    from redraft.report.markdown.records import document_markdown
    from redraft.text.places import pages_of

    document = load_all(sources, selection=parse_options.document_part(values))
    numbers = {} if document.members else {section: number for number, section in chapters(document)}
    # Fields may be added, never changed.
    content = {
        "id": document.id,
        "title": document.title,
        "file": document.source,
        "encoding": document.encoding,
        "language": document.language,
        "words": count_words(document.text),
        "characters": len(document.text),
        "sections": [
            {
                "title": section.title,
                "level": section.level,
                "chapter": numbers.get(section),
                "span": list(section.span),
                "words": count_words(document.text[slice(*section.span)]),
                "pages": pages_of(document, section.span),
            }
            for section in document.sections
        ],
        "marks": [
            {"kind": mark.kind, "label": mark.label, "href": mark.href, "span": [mark.start, mark.end]}
            | ({"language": mark.language} if mark.kind == "document" else {})
            for mark in document.marks
        ],
        "notes": list(document.notes),
        **({"text": document.text} if as_text else {}),
    }
    if as_text and not as_json:
        click.echo(prose(document.text))
    else:
        show_record(content, document_markdown(document, content), as_json=as_json)


_TEXTS = (".txt", ".md", ".markdown", ".json", "")


@command()
@click.argument("sources", metavar="SOURCE...", nargs=-1, cls=SourceArgument)
@click.argument("question")
@options.typed_option(
    "--follow",
    section="source",
    type=options.NameOrNewest(),
    metavar="RUN",
    help="Ask a question that follows that of RUN (`last`: the newest run), about its document.",
)
@options.settings("language")
@options.panel_options
@options.settings(
    "model",
    help="Model that answers: extractive (built in), openai:NAME, PROVIDER:NAME, or the NAME of a [models.NAME] in"
    " redraft.toml.",
)
@options.reading_options
@options.output_to("Write the answer to a .txt, .md or .json file.")
@options.show_all
@options.store_options
def ask(sources: tuple[str, ...], question: str, follow: str | None, output: str | None, **values: Any) -> int:
    """Answer QUESTION from one SOURCE or several, with citations."""
    from redraft.cli.runner import carry_out
    from redraft.report.history.results import document_read
    from redraft.runs.order import exchanges_until, order_of_question, settings_to_ask

    check_output(output)
    if output and Path(output).suffix.lower() not in _TEXTS:
        raise UsageError("an answer is written as text or JSON", place=output, hint="name a .txt, .md or .json file")
    if bool(sources) == bool(follow):
        problem = f"run {follow} has its document" if follow else "SOURCE or QUESTION is missing"
        words = ["redraft", "ask", "--follow", follow, question, *(["-o", output] if output else [])] if follow else []
        hint = f"leave out SOURCE: {shlex.join(words)}" if words else 'write redraft ask book.txt "Why?"'
        raise UsageError(problem, hint=hint)
    if not follow and os.path.isfile(question) and not any(map(os.path.exists, sources)):
        hint = f"write redraft ask {shlex.quote(question)} {shlex.quote(sources[0])}"
        raise UsageError("the question is a file: SOURCE and QUESTION seem to be swapped", hint=hint)
    form: Format = "json" if output and output.lower().endswith(".json") else "text"
    target = OutputTarget(output, form, values["as_json"])
    settings, judging = parse_options.settings(values), parse_options.judging_without_draft(values)
    document: Document | None = None
    earlier: tuple[Exchange, ...] = ()
    if follow:
        with parse_options.store_to_read(values["db"]) as store:
            run, named_now = store.runs.get(follow), parse_options.typed(values, ("model", "judges"))
            settings_before, judging_before = settings_to_ask(run)
            settings = settings if "model" in named_now else settings_before
            judging = judging if "judges" in named_now else judging_before
            own_places(values).check(run.id, OrderParts(settings=settings, judging=judging))
            document, earlier = document_read(store, run), exchanges_until(store, follow)
        if not values["quiet"]:
            say(f"following “{one_line(earlier[-1].question)}” (run {run.id})")
    order = order_of_question(settings, judging, question, earlier)
    return carry_out(document or sources, order, values, target=target)
