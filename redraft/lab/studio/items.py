"""From a score of an experiment to the items that it was counted from, with the run and the prompt of each."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from redraft.errors import RunCommand
from redraft.report.tables import Cell, Table
from redraft.sources import MAX_BYTES, read_file
from redraft.studio.doors import NotFound

ITEMS = "items.jsonl"
_MAX_ITEMS = 500
_NOT_SCORES = re.compile(
    r"95%|sd\b|USD|tokens|words|expected|lower|upper|% |place|density|(cost|failures)$|.* (from|to|1st|2nd|3rd)$"
)
"""The beginnings of columns with numbers that are no scores."""
_HIDDEN = frozenset({"document", "title", "runs", "failure", "status", "scores", "taken", "lengths", "gaps", "chunk"})
"""The fields of an item with a place of their own on the page, or with nothing for a reader."""
Item = Mapping[str, Any]


def score_addresses(name: str, table: Table) -> dict[tuple[int, int], str]:
    """Return where the scores of an experiment's table lead to, by row and column: to the run in the row, or to the
    items behind the score."""
    addresses = {}
    for at, column in enumerate(table.columns):
        if _NOT_SCORES.match(column) or not any(isinstance(row[at], float) for row in table.rows):
            continue
        for number, record in enumerate(table.records):
            if not isinstance(record[column], int | float):
                continue
            if run := record.get("run"):
                addresses[number, at] = f"/runs/{quote(str(run), safe='')}#score-{column}"
            else:
                query = urlencode({"table": table.name, "row": number, "column": column})
                addresses[number, at] = f"/experiments/{quote(name, safe='')}/items?{query}"
    return addresses


def items_behind(file: Path, name: str, tables: Sequence[Table], place: Mapping[str, str]) -> dict[str, Any]:
    """Return the score at a place (the name of a table, the number of a row, and a column), with the items behind it as
    their page shows them."""
    table = next((table for table in tables if table.name == place.get("table")), None)
    number, column = place.get("row", ""), place.get("column", "")
    if table is None or column not in table.columns or not number.isdecimal() or int(number) >= len(table.rows):
        fix = ("see ", RunCommand("experiment", name), ": its tables may have changed")
        raise NotFound("there is no such score", fix=fix)
    row = table.records[int(number)]
    # The columns before the first figure say what a row is about.
    figures = [at for at in range(len(table.columns)) if any(isinstance(cells[at], float) for cells in table.rows)]
    keys = {key: row[key] for key in table.columns[: min(figures, default=len(table.columns))]}
    metric = str(row.get("metric") or column)
    chosen = items_of_row(stored_items(file), keys, metric)
    lines = [_line(item, metric) for item in chosen[:_MAX_ITEMS]]
    score = {"title": table.title, "column": column, "score": row[column], "keys": keys}
    return {**score, "items": lines, "total": len(chosen)}


def stored_items(file: Path) -> tuple[dict[str, Any], ...]:
    """Return the items in a file of results; none if it has something else, or does not exist."""
    return _items_at(file, file.stat().st_mtime_ns) if file.is_file() else ()


@lru_cache(maxsize=64)
def _items_at(file: Path, changed: int) -> tuple[dict[str, Any], ...]:  # noqa: ARG001  (a changed file is read again)
    try:
        items = [json.loads(line) for line in read_file(file, MAX_BYTES).splitlines()]
    except (OSError, ValueError):
        return ()
    return tuple(item for item in items if isinstance(item, dict))


def items_of_row(items: Sequence[Item], keys: Mapping[str, Cell], metric: str) -> list[Item]:
    """Return the items that have what a row is about. A text that no item has, such as the name of a measure, and a
    number that would leave none choose nothing."""
    chosen = [item for item in items if _score(item, metric) is not None] or list(items)
    pair = {str(keys[name]) for name in ("first", "second") if name in keys}
    for name, key in keys.items():
        fields = [dict(_flat(item)) for item in chosen]
        if isinstance(key, str):
            texts = [{value for value in values.values() if isinstance(value, str)} for values in fields]
            # A system may be named by its model and its strategy.
            parts = {key} if any(key in text for text in texts) else {*key.split(", ")}
            parts &= set().union(*texts)
            matches = [not pair.isdisjoint(text) if key in pair else parts <= text for text in texts]
        else:
            matches = [any(value == key and name in path.split(".") for path, value in of.items()) for of in fields]
        chosen = [item for item, is_match in zip(chosen, matches, strict=True) if is_match] or chosen
    return chosen


def _flat(value: Item, before: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the plain values of an item by their paths."""
    for name, part in value.items():
        if isinstance(part, Mapping):
            yield from _flat(part, f"{before}{name}.")
        elif isinstance(part, str | int | float):
            yield f"{before}{name}", part


def _score(item: Item, metric: str) -> float | None:
    """Return the score of an item in a metric; None if it has none."""
    rounds = item.get("rounds")
    last = rounds[-1] if isinstance(rounds, list) and rounds else {}
    right = {"accuracy": (item.get("verdict") or {}).get("right")}
    for part in (item.get("scores"), item.get("marks"), last.get("scores"), right, item):
        score = part.get(metric.replace(" ", "_")) if isinstance(part, Mapping) else None
        score = score.get("score") if isinstance(score, Mapping) else score
        if isinstance(score, int | float):
            return float(score)
    return None


def _line(item: Item, metric: str) -> dict[str, Any]:
    """Return an item as the page shows it: with its score, the addresses of its runs by stage, and that of its prompt
    and reply."""
    runs = {stage: str(run) for stage, run in (item.get("runs") or {}).items()}
    judging = [run for stage, run in runs.items() if stage != "drafting"] or [*runs.values()]
    question = item.get("question")
    words = question.get("question") if isinstance(question, Mapping) else item.get("query")
    if not words and "size" in item:
        words = f"chunk {int(item.get('chunk') or 0) + 1}/"
    prompt = f"/runs/{quote(judging[-1], safe='')}#calls-of-{metric}" if judging else ""
    fields = {name: value for name, value in _flat(item) if name.partition(".")[0] not in _HIDDEN}
    prompt = f"{prompt}&{quote(str(words), safe='')}" if prompt and words else prompt
    shown = {"title": str(item.get("title") or "Untitled"), "status": str(item.get("status", "")), "runs": runs}
    return {**shown, "fields": fields, "score": _score(item, metric), "prompt": prompt}
