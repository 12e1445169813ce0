"""What a format is: how a file's entries become items, and what people were asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from redraft.domain import content_id
from redraft.errors import UsageError
from redraft.lab.agreement.entries import FileEntry, Library, UnreadableError, entries, library
from redraft.lab.agreement.people import Dataset, Field, FileProblem, HumanItem
from redraft.text.cleaning import one_line

Items = Callable[[FileEntry, Library], Sequence[HumanItem]]
"""The items of one entry; an `UnreadableError` says what is wrong with it."""
Parts = Callable[[FileEntry], Iterator[FileEntry]]
"""The smaller entries of one, where a whole file is one object."""


@dataclass(frozen=True, slots=True)
class Format:
    """A format by its name, with the title that figures on it are reported under."""

    name: str
    title: str
    fields: Mapping[str, Field]
    items: Items
    parts: Parts | None = None
    beside: tuple[str, ...] = ()
    """Under which names the documents stand in the same folder, `{stem}` being that of the file itself."""
    any_field: bool = False
    """Whether there may be other fields than are known."""
    needs_documents: bool = True

    def read(self, path: str, documents: str | None = None) -> Dataset:
        """All items of a file with their documents. What cannot be read is reported, and the rest goes on."""
        known = library(documents or self._beside(path))
        found: list[HumanItem] = []
        troubles: list[FileProblem] = []
        for entry in entries(path):
            if isinstance(entry, FileProblem):
                troubles.append(entry)
                continue
            for part in self._parts(entry, troubles):
                try:
                    found += (self._sourced(one, part, known) for one in self.items(part, known))
                except UnreadableError as error:
                    troubles.append(FileProblem(part.place, str(error)))
        if not found:
            said = f": {troubles[0].place}: {troubles[0].message}" if troubles else ""
            raise UsageError(
                f"nothing in it can be read as {self.name}{said}",
                place=path,
                hint="name its format with --format; `redraft help agree with` lists them",
            )
        fields = self.fields if not self.any_field else _fields(found, self.fields)
        return Dataset(
            f"{self.title} ({one_line(Path(path).name)})",
            fields,
            tuple(found),
            tuple(troubles),
        )

    def _parts(self, entry: FileEntry, troubles: list[FileProblem]) -> Iterator[FileEntry]:
        if self.parts is None:
            yield entry
            return
        try:
            yield from self.parts(entry)
        except UnreadableError as error:
            troubles.append(FileProblem(entry.place, str(error)))

    def _beside(self, path: str) -> str | None:
        place = Path(path).expanduser()
        names = (place.with_name(name.format(stem=place.name.partition(".")[0])) for name in self.beside)
        return next((str(one) for one in names if one != place and one.is_file()), None)

    def _sourced(self, item: HumanItem, entry: FileEntry, known: Library) -> HumanItem:
        source = item.source or known.get(item.document, "")
        if not source and self.needs_documents:
            raise UnreadableError(
                f"the document {one_line(item.document, 60)!r} is not there: name a file or a folder with --documents"
            )
        place = f"{entry.place} {item.id}".strip()
        return replace(item, id=place, source=source, document=item.document or content_id(source)[:12])


def _fields(items: Sequence[HumanItem], known: Mapping[str, Field]) -> Mapping[str, Field]:
    """The fields that there are; what only has 0 and 1 says of a summary whether it is right."""
    names = dict.fromkeys(name for item in items for name in item.people)
    found: dict[str, Field] = {}
    for name in names:
        values = {item.people[name] for item in items if name in item.people}
        found[name] = known.get(name) or Field(1.0 if values <= {0.0, 1.0} else None)
    return found
