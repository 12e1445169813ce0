"""`redraft pack` and `redraft keyfacts`: build, show, export and import what summaries of a document are judged by."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from redraft.cli import options, parse_options
from redraft.cli.output_files import check_output, write_text
from redraft.cli.overview import CommandGroup
from redraft.cli.sections import Command, command
from redraft.cli.terminal import echo_json, json_text, say, show_record
from redraft.domain import KeyFacts, Pack
from redraft.errors import UsageError
from redraft.order import Build
from redraft.text.sanitizer import one_line
from redraft.text.words import count

if TYPE_CHECKING:
    from redraft.evaluators.reference.exchange import PackContents


@click.group(cls=CommandGroup)
def pack() -> None:
    """Questions about a document and its key facts, by which its summaries are judged.

    They are built once, when first needed. Share them so that others judge by the same questions.
    """


@pack.command("build", cls=Command, short_help="Build the questions about a document.")
@options.sources
@options.judge_options
@options.questions
@options.preset_option
@options.asking_options
@options.store_options
def build_pack(sources: tuple[str, ...], **values: Any) -> int:
    """Build the questions about SOURCE, unless they are stored already, and show them.

    Missing ones are tried again. evaluate and refine use these questions under the same options. `redraft keyfacts`
    builds the key facts.
    """
    from redraft.cli.runner import carry_out

    settings, judging = parse_options.settings(values), parse_options.judging_without_draft(values)
    order = Build(kind="pack", settings=settings, judging=judging)
    return carry_out(sources, order, values)


@pack.command("export", cls=Command, short_help="Print the questions and key facts of a document as JSON.")
@options.sources
@options.typed_option(
    "--pack", "pack_id", section="judging", metavar="ID", help="Which questions, if there are several: see `pack list`."
)
@options.typed_option(
    "--keyfacts", "keyfacts_id", section="judging", metavar="ID", help="Which key facts, if there are several."
)
@options.output_to("Write the pack to a file instead of stdout.")
@options.max_source
@options.db
@options.quiet
def export_pack(
    sources: tuple[str, ...], pack_id: str | None, keyfacts_id: str | None, output: str | None, **values: Any
) -> None:
    """Print the questions and the key facts of SOURCE as JSON.

    The file has everything needed to use them elsewhere. By default they are those imported last, or else built last.
    """
    from redraft.evaluators.reference.exchange import choose, pack_json

    check_output(output)
    document = parse_options.read_document(sources, quiet=values["quiet"])
    with parse_options.store_to_read(values["db"]) as store:
        contents = choose(store, document, pack_id, keyfacts_id)
    write_text(json_text(pack_json(*contents)) + "\n", output, "name another place with -o")
    if not values["quiet"]:
        _say_contents(contents)
        if output:
            say(f"written to {output}")


@pack.command("import", cls=Command, short_help="Import a pack, and judge by it from now on.")
@click.argument("files", nargs=-1, metavar="[SOURCE...] PACK")
@options.max_source
@options.store_options
def import_pack(files: tuple[str, ...], db: str | None, as_json: bool, quiet: bool) -> None:
    """Import PACK, and judge summaries of its document by it from now on.

    SOURCE is the document it is about; leave it out if the document is in the database.
    """
    from redraft.evaluators.reference.exchange import import_pack as store_pack
    from redraft.evaluators.reference.exchange import pack_json, read_pack_file
    from redraft.store.store import Store

    if not files:
        raise UsageError("give SOURCE and PACK, or PACK alone", hint="see `redraft pack import --help`")
    if files.count("-") > 1:
        raise UsageError("SOURCE and PACK cannot both be stdin", hint="give one of them as a file")
    document = parse_options.read_document(files[:-1], quiet=quiet) if files[:-1] else None
    data = read_pack_file(files[-1])
    with Store(db) as store:
        imported = store_pack(store, data, document, files[-1])
    if as_json:
        echo_json(pack_json(*imported))
    if not quiet:
        _say_contents(imported)
        say(f"summaries of {one_line(imported.document.title, 60)} are judged by it from now on")


def _say_contents(contents: PackContents) -> None:
    """Say what is in a pack, where it comes from, and how much of it is missing."""
    from redraft.report.markdown.records import yardstick_line

    for part in (contents.questions, contents.keyfacts):
        if part:
            say(yardstick_line(part) + (f", with {count(len(part.missing), 'gap')}" if part.missing else ""))


@pack.command("list", cls=Command, short_help="List all questions and key facts.")
@options.db
@options.as_json
def list_packs(db: str | None, as_json: bool) -> None:
    """List all questions and key facts, newest first."""
    from redraft.report.markdown.records import packs_markdown

    # The contract of `pack list --json`.
    listed: list[dict[str, Any]] = []
    with parse_options.store_to_read(db) as store:
        parts: list[tuple[Pack | KeyFacts, str]] = [*store.packs.all(), *store.keyfacts.all()]
        for part, created in sorted(parts, key=lambda entry: entry[1], reverse=True):
            about: dict[str, Any] = {"pack": part.id, "created": created, "document": part.document}
            about |= {"title": store.documents.title(part.document), "imported": part.imported}
            if isinstance(part, Pack):
                about |= {"kind": "questions", "model": part.model, "questions": part.items}
            else:
                numbers = {"keyfacts": part.items, "trees": len(part.trees)}
                about |= {"kind": "keyfacts", "model": part.model, "validator": part.validator, **numbers}
            listed.append({**about, "missing": part.missing})
    none = "No packs yet. Make one: redraft pack build FILE"
    show_record({"packs": listed}, packs_markdown(listed, datetime.now(UTC)), as_json=as_json, empty=none)


@command()
@options.sources
@options.keyfact_options
@options.typed_option("--pruned", is_flag=True, help="Also show pruned facts, and why.")
@options.judge_options
@options.preset_option
@options.asking_options
@options.store_options
def keyfacts(sources: tuple[str, ...], **values: Any) -> int:
    """Find the key facts of SOURCE, unless they are stored already, and show them as trees.

    Each chunk has main facts (roots), supporting facts (branches) and details (leaves). A validator prunes facts that
    the text does not support, opinions and trivia. Key facts are built once and then kept.
    """
    from redraft.cli.runner import carry_out

    settings, judging = parse_options.settings(values), parse_options.judging_without_draft(values)
    order = Build(kind="keyfacts", settings=settings, judging=judging)
    return carry_out(sources, order, values)
