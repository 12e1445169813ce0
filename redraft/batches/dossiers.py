"""The dossiers of a batch: a page for each finished document, in a folder of their own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from redraft.errors import RedraftError
from redraft.report.dossier.build import read_dossier
from redraft.report.pages.dossier import MARK, dossier_page, mark_of
from redraft.sources import write
from redraft.store.runs import Run
from redraft.store.store import Store

FOLDER = "dossiers"
"""Its name within the folder of a batch."""
OnWritten = Callable[[int], object]
"""Called with the number of dossiers written so far."""
_HEAD_BYTES = 1024
"""A page identifies itself within this many bytes."""
_ELSEWHERE = "name another folder for the dossiers"


def ignore_count(_: int) -> None:
    """Ignore the number."""


def dossiers_folder(folder: str | Path) -> Path | None:
    """Return the dossiers folder of a batch, or None. Its existence means that dossiers are wanted, so that whoever
    resumes the batch writes them too."""
    place = Path(folder) / FOLDER
    return place if folder and place.is_dir() else None


def dossier_path(folder: Path, name: str) -> Path:
    """Return the path of a document's dossier from the name of its summary without suffix."""
    return folder / f"{name}.html"


def is_current(page: Path, run: Run) -> bool:
    """Return whether a file is the dossier of a run in its current state."""
    return mark_of(run.id, run.updated) in _head(page)


def write_page(store: Store, key: str, page: Path) -> bool | None:
    """Write the dossier of a run unless it is there already; whether it was written. None where there is nothing to
    write, as the run was forgotten."""
    try:
        if is_current(page, store.runs.get(key)):
            return False
        text = dossier_page(read_dossier(store, key))
    except RedraftError:
        return None
    if page.exists() and MARK not in _head(page):
        raise RedraftError("a file with this name is not a dossier, and was kept", place=str(page), hint=_ELSEWHERE)
    write(page, text, _ELSEWHERE)
    return True


def write_pages(store: Store, name: str, folder: Path, on_written: OnWritten = ignore_count) -> None:
    """Write the dossiers of a batch into their place in a folder, if there is one: of all that is done, what is not
    there or not true any more."""
    if (place := dossiers_folder(folder)) is None:
        return
    written = 0
    for item in store.batches.items(name):
        if item.state == "done" and item.run and write_page(store, item.run, dossier_path(place, item.file)):
            written += 1
            on_written(written)


def _head(page: Path) -> str:
    try:
        with page.open("rb") as file:
            return file.read(_HEAD_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""
