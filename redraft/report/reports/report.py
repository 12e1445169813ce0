"""What an experiment leaves behind: its tables, its items, and a report that people can read."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from redraft.report.plots.picture import Plot
from redraft.report.reports.tables import Table, items_csv, items_jsonl

NO_PICTURES: Mapping[str, Plot] = {}


@dataclass(frozen=True, slots=True)
class Report:
    """The result of an experiment for people and for programs, the same to the byte whenever it is made again."""

    name: str
    title: str
    about: tuple[str, ...]
    """What was compared, and how far it came, a line each."""
    settings: Mapping[str, object]
    tables: tuple[Table, ...]
    items: Sequence[Mapping[str, object]]
    headline: tuple[str, ...] = ()
    """What matters, in ten lines at most: what is shown where the tables themselves go to files."""

    def to_json(self) -> dict[str, object]:
        """All of it."""
        return {
            "experiment": self.name,
            "settings": dict(self.settings),
            "tables": [table.to_json() for table in self.tables],
            "items": list(self.items),
        }

    def to_markdown(self) -> str:
        """The report, with its tables at three decimals."""
        head = "\n".join((f"# {self.title}\n", *(f"- {line}" for line in self.about)))
        return "\n".join((f"{head}\n", *(table.to_markdown() for table in self.tables)))

    def brief(self) -> str:
        """What matters: the title and the headline, or what it is about where there is none."""
        return "\n".join((f"# {self.title}\n", *(f"- {line}" for line in self.headline or self.about))) + "\n"

    def files(self, pictures: Mapping[str, Plot] = NO_PICTURES) -> dict[str, str]:
        """The files by name, with pictures that were drawn from the tables."""
        tables = [table.to_json() for table in self.tables]
        told = {"title": self.title, "about": list(self.about), "headline": list(self.headline)}
        content = {"experiment": self.name, **told, "settings": dict(self.settings), "tables": tables}
        return {
            **{f"{table.name}.csv": table.to_csv() for table in self.tables},
            **{f"{name}.svg": plot.picture().file() for name, plot in pictures.items()},
            "items.json": _json(list(self.items)),
            "items.jsonl": items_jsonl(self.items),
            "items.csv": items_csv(self.items),
            "tables.json": _json(content),
            "report.md": self.to_markdown(),
        }


def _json(content: object) -> str:
    return json.dumps(content, ensure_ascii=False, indent=2) + "\n"
