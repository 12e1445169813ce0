"""`redraft pack`: build, export, import and list the questions that documents are judged by."""

from __future__ import annotations

from typing import Any

import click

from redraft.cli import options
from redraft.errors import UsageError

_GROUP_EPILOG = """\b
Examples:
  redraft pack build book.txt --model openai:gpt-5-mini
  redraft pack export book.txt -o book.pack.json
  redraft pack import book.txt book.pack.json
"""


@click.group(epilog=_GROUP_EPILOG)
def pack() -> None:
    """Questions about a document, by which all summaries of it are judged.

    A pack is built once, when it is first needed. Share it, so that others measure by the same yardstick.
    """


_BUILD_EPILOG = """\b
Examples:
  redraft pack build book.txt
  redraft pack build book.txt --judge openai:gpt-5 --questions 60 --json
"""


@pack.command("build", epilog=_BUILD_EPILOG)
@click.argument("source")
@options.asking_options
@options.model_options
@options.limit_options
@options.prices
@options.db
@options.as_json
@options.quiet
def build_pack(source: str, db: str | None, prices: str | None, as_json: bool, quiet: bool, **given: Any) -> int:
    """Build the pack of SOURCE, unless it is there already, and show its questions.

    It is the one that evaluate and refine use under the same options.
    """
    from redraft.cli import given as asked
    from redraft.cli.outcome import finish
    from redraft.cli.running import work
    from redraft.models.prices import price_table
    from redraft.refining import build_pack as run
    from redraft.store.store import Store

    settings, limits, judging = asked.settings(given), asked.limits(given), asked.judging(given)
    table = price_table(prices)
    with Store(db) as store:
        result = work(
            lambda display: run(
                source,
                settings,
                store=store,
                judging=judging,
                limits=limits,
                prices=table,
                observer=display.observe,
            ),
            quiet=quiet,
        )
        return finish(store, result, as_json=as_json, quiet=quiet)


_EXPORT_EPILOG = """\b
Examples:
  redraft pack export book.txt -o book.pack.json
  redraft pack export book.txt --pack 1f2e
"""


@pack.command("export", epilog=_EXPORT_EPILOG)
@click.argument("source")
@click.option("--pack", "key", metavar="ID", help="Which pack, where there are several: see `redraft pack list`.")
@click.option("--output", "-o", metavar="FILE", help="Write the pack to a file instead of stdout.")
@options.db
@options.quiet
def export_pack(source: str, key: str | None, output: str | None, db: str | None, quiet: bool) -> int:
    """Print the pack of SOURCE as JSON that holds all that it takes to use it elsewhere.

    That is the pack that was imported last, or else the one that was built last.
    """
    from pathlib import Path

    from redraft.cli.render import count, json_text, origin, say
    from redraft.cli.running import check_output, write
    from redraft.packing import choose, pack_json
    from redraft.store.store import Store
    from redraft.text.documents import load

    check_output(output)
    document = load(source)
    with Store(db) as store:
        chosen = choose(store, document, key)
    text = json_text(pack_json(chosen, document))
    if output:
        write(Path(output).expanduser(), text + "\n", "name another place with -o")
    else:
        click.echo(text)
    if not quiet:
        where = f" written to {output}" if output else ""
        say(f"pack {chosen.id}{where}: {count(len(chosen.questions), 'question')}, {origin(chosen)}")
    return 0


_IMPORT_EPILOG = """\b
Examples:
  redraft pack import book.txt book.pack.json
  redraft pack import book.pack.json
"""


@pack.command("import", epilog=_IMPORT_EPILOG)
@click.argument("files", nargs=-1, metavar="[SOURCE] PACK")
@options.db
@options.as_json
@options.quiet
def import_pack(files: tuple[str, ...], db: str | None, as_json: bool, quiet: bool) -> int:
    """Store an exported PACK, and judge summaries of its document by it from now on.

    SOURCE is the document that it is about, and may be left out when that is in the database.
    """
    from redraft.cli.render import count, echo_json, origin, say
    from redraft.packing import import_pack as store_pack
    from redraft.packing import pack_json, read_pack_file
    from redraft.store.store import Store
    from redraft.text.documents import load

    if not 1 <= len(files) <= 2:
        raise UsageError("give SOURCE and PACK, or PACK alone", hint="see `redraft pack import --help`")
    if files.count("-") > 1:
        raise UsageError("SOURCE and PACK cannot both be stdin", hint="give one of them as a file")
    document = load(files[0]) if len(files) == 2 else None
    data = read_pack_file(files[-1])
    with Store(db) as store:
        imported = store_pack(store, data, document, files[-1])
        about = store.documents.get(imported.document)
    if as_json:
        echo_json(pack_json(imported, about))
    if not quiet:
        say(f"pack {imported.id}: {count(len(imported.questions), 'question')}, {origin(imported)}")
        say(f"summaries of {about.title} are judged by it from now on")
    return 0


@pack.command("list")
@options.db
@options.as_json
def list_packs(db: str | None, as_json: bool) -> int:
    """List all packs, newest first."""
    from redraft.cli.render import echo_json, say, table
    from redraft.store.store import Store
    from redraft.text.cleaning import one_line

    with Store(db) as store:
        listed = [(one, created, store.documents.title(one.document)) for one, created in store.packs.all()]
    if as_json:
        echo_json(
            [
                {
                    "pack": one.id,
                    "created": created,
                    "document": one.document,
                    "title": title,
                    "model": one.model,
                    "questions": len(one.questions),
                    "imported": one.imported,
                }
                for one, created, title in listed
            ]
        )
    elif not listed:
        say("No packs yet. Make one: redraft pack build FILE")
    else:
        rows = [
            (
                one.id,
                created[:16].replace("T", " "),
                str(len(one.questions)),
                one_line(one.model, 30),
                "imported" if one.imported else "built",
                one_line(title, 40),
            )
            for one, created, title in listed
        ]
        table([("PACK", "WHEN (UTC)", "QUESTIONS", "MODEL", "ORIGIN", "TITLE"), *rows])
    return 0
