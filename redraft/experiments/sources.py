"""What experiments are about: files, folders of them, what a pattern fits, and files that hold many documents."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from glob import glob
from pathlib import Path

from redraft.domain import Document
from redraft.errors import DocumentError
from redraft.experiments.data.reading import LINES, SUFFIXES, examples_of, form_suffix
from redraft.readers.documents import finished, is_readable, load
from redraft.readers.formats import how_to_read, installed_for
from redraft.sources import STDIN, is_no_path

_PATTERN = frozenset("*?[")


def documents_of(sources: Iterable[str]) -> list[Document]:
    """The documents of some sources in their order, each document once.

    A source is a file, `-` for standard input, a folder of files, a pattern such as `books/*.txt`, or a file of a set
    in a form that is known, such as one with `id`, `title` and `text` on each line.
    """
    found: dict[str, Document] = {}
    for source in sources:
        for document in _documents(source):
            found.setdefault(document.id, document)
    return list(found.values())


def _documents(source: str) -> Iterator[Document]:
    if source == STDIN or is_no_path(source):
        yield load(source)
        return
    path = Path(source).expanduser()
    if path.is_dir():
        yield from _folder(path)
    elif path.exists() or not _PATTERN & {*source}:
        yield from _file(path)
    else:
        fitting = sorted(Path(one) for one in glob(str(path), recursive=True))
        if not fitting:
            raise DocumentError("no file fits the pattern", place=source, hint="check the path")
        for one in fitting:
            yield from _folder(one) if one.is_dir() else _file(one)


def _folder(folder: Path) -> Iterator[Document]:
    """The files in a folder that can be read, but for hidden ones; not those of folders within it.

    A set that has a file for each document is a folder too: what else a set may be written in counts where nothing else
    is there, for beside documents it is about them.
    """
    files = [one for one in sorted(folder.iterdir()) if one.is_file() and not one.name.startswith(".")]
    readable = [one for one in files if form_suffix(one) == LINES or is_readable(one)]
    readable = readable or [one for one in files if form_suffix(one) in SUFFIXES]
    if not readable:
        raise DocumentError("no file in it can be read", place=str(folder), hint=how_to_read())
    for one in readable:
        yield from _file(one)


def _file(path: Path) -> Iterator[Document]:
    if form_suffix(path) not in SUFFIXES or installed_for(path):
        yield load(path)
        return
    for one in examples_of(path):
        yield replace(finished(Document.from_text(one.text, one.title), one.title), source=path.name)
