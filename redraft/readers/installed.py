"""Which files can be read: those of text, and those that an installed package has a reader for."""

from __future__ import annotations

from pathlib import Path

from redraft import plugins
from redraft.document import Document
from redraft.errors import DocumentError, RedraftError
from redraft.readers.formats import BY_SUFFIX

SUFFIXES = frozenset({".txt", ".text", ".md", ".markdown", ".mkd", ""})
"""Those of files of text. Others may be read by an installed package, also where redraft has a reader of its own."""

_KIND: plugins.Kind = "readers"


def installed_for(path: Path) -> str:
    """The name of the installed reader for such a file, which is its suffix without the dot; empty if there is none."""
    suffix = path.suffix.lower()
    name = suffix.removeprefix(".")
    return name if suffix not in SUFFIXES and name in plugins.names(_KIND) else ""


def how_to_read() -> str:
    """What to do with a file of another kind."""
    plain = "convert it to .txt or .md first"
    own = f"redraft reads .txt, .md, {', '.join(sorted(BY_SUFFIX))}"
    others = [f".{name}" for name in plugins.names(_KIND) if f".{name}" not in SUFFIXES]
    return f"{plain}; {own}; installed packages read {', '.join(others)}" if others else f"{plain}; {own}"


def read_installed(name: str, data: bytes, file: str) -> Document:
    """What the installed reader of this name makes of a file. What is wrong with it is its package's fault."""
    reader, package = plugins.load(_KIND, name), plugins.package_of(_KIND, name)
    try:
        made = reader(data, file)
    except RedraftError:
        raise
    except Exception as error:
        raise DocumentError(
            f"the reader for .{name} files, of the package {package}, failed: {type(error).__name__}: {error}",
            place=file,
            hint=f"check the file; if it is sound, update {package}",
        ) from error
    if not isinstance(made, Document) or not isinstance(made.text, str) or not isinstance(made.title, str):
        raise DocumentError(
            f"the reader for .{name} files, of the package {package}, gave no document, but {type(made).__name__}",
            place=file,
            hint="a reader returns redraft.Document.from_text(text, title)",
        )
    return made
