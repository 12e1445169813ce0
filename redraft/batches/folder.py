"""The folder of a batch: its summaries and a report."""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path, PurePath
from urllib.parse import quote

from redraft.batches.dossiers import FOLDER, OnWritten, ignore_count, write_pages
from redraft.batches.sources import SUMMARY, BatchItem, items_of, result_of
from redraft.batches.status import BatchStanding, standing_of
from redraft.batches.tables import report_on
from redraft.batches.worker import deliver
from redraft.errors import UsageError
from redraft.evaluators.metric_info import SELF_CHECK
from redraft.report.tables import Report, figure, plain, unmarked
from redraft.sources import write
from redraft.store.store import Store

_LISTED = 1000
_ELSEWHERE = "name another folder with -o, and repeat the command"
_HOW = (
    "`redraft export RUN -o FILE.html` writes the dossier of a run: its summary beside the document, with where each"
    " sentence comes from and what was found wrong; `redraft batch results NAME --dossiers` those of all that are done."
    " `redraft studio` shows the same."
)


def folder_named(given: str | Path | None, *, dossiers: bool = False) -> str:
    """Return the absolute path of the folder for summaries, created before anything is spent; with a subfolder if
    `dossiers` are wanted."""
    if given is None:
        if dossiers:
            raise UsageError("dossiers need a folder", hint="name one with -o")
        return ""
    folder = Path(given).expanduser().absolute()
    try:
        (folder / FOLDER if dossiers else folder).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"the directory cannot be created: {error.strerror}", place=str(given)) from error
    return str(folder)


def write_folder(store: Store, standing: BatchStanding, report: Report, told: OnWritten = ignore_count) -> None:
    """Put what came of a batch into its folder, if it has one: the summaries, the tables, and a line for each item."""
    if not standing.batch.folder:
        return
    folder, name = Path(standing.batch.folder), standing.batch.name
    fill_folder(store, name, folder, told)
    write(folder / "report.md", f"{report.to_markdown()}\n{listed(store, standing)}", _ELSEWHERE)
    write(folder / "items.jsonl", "".join(map(_line, items_of(store, name))), _ELSEWHERE)


def fill_folder(store: Store, name: str, folder: Path, told: OnWritten = ignore_count) -> None:
    """Write what is done and not there, or not true any more: after the folder was changed, or a file of it removed."""
    for item in store.batches.items(name):
        if item.state == "done" and not (folder / f"{item.file}{SUMMARY}").exists():
            found = result_of(store, item)
            if found is not None and found.summary is not None:
                deliver(folder, item, found.summary)
    write_pages(store, name, folder, told)


def add_dossiers(store: Store, name: str, beside: Path | None, told: OnWritten = ignore_count) -> str:
    """Write the dossiers of a batch that has none: into its folder, with links to them there; if it has no folder,
    beside another file. Returns the folder that they are in."""
    standing = standing_of(store, name)
    folder = folder_named(standing.batch.folder or (beside and beside.parent), dossiers=True)
    if standing.batch.folder:
        write_folder(store, standing, report_on(store, standing), told)
    else:
        write_pages(store, name, Path(folder), told)
    return folder


def listed(store: Store, standing: BatchStanding) -> str:
    """Return the documents as a Markdown list with links to summaries and dossiers."""
    shown = [_entry(item) for item in islice(items_of(store, standing.batch.name), _LISTED)]
    more = standing.counts.all - len(shown)
    rest = f"\n{more:,} more are in items.jsonl.\n" if more > 0 else ""
    return f"## Documents\n\n{_HOW}\n\n" + "\n".join(shown) + f"\n{rest}"


def _entry(item: BatchItem) -> str:
    name = plain(PurePath(item.source).name or item.source)
    shown = f"[{name}]({quote(item.file)})" if item.file and item.state == "done" else name
    parts = [f"- {shown}: {item.state}"]
    parts += [f"[dossier]({quote(item.dossier)})"] if item.dossier else []
    parts += [*(f"{plain(metric)} {figure(of)}" for metric, of in item.scores.items())]
    parts += [SELF_CHECK] if item.scores and item.self_check else []
    parts += [f"run `{item.run}`"] if item.run else []
    parts += [unmarked(f"{item.error['message']}; {item.error['hint']}")] if item.error else []
    return ", ".join(parts)


def _line(item: BatchItem) -> str:
    """Return an item as JSON; its summary has a file of its own."""
    content = {name: value for name, value in item.to_json().items() if name != "summary"}
    return json.dumps(content, ensure_ascii=False) + "\n"
