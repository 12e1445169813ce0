"""What scores are made of: those by key facts level by level and along the document, those of coherence by type."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from redraft.cli.terminal import width, wrapped
from redraft.cli.views import render
from redraft.domain import Evaluation
from redraft.evaluators.metric_info import NONE
from redraft.evaluators.reference.keyfacts import ALL, LEVELS
from redraft.text.cleaning import one_line

_INDENT = "  "


def breakdown(one: Evaluation) -> Iterator[str]:
    """What a score is made of, in lines; nothing for a metric without such parts."""
    details: Mapping[str, Any] = one.details
    if one.outcome == "scored" and one.metric == "keyfact_recall":
        yield from _recall(details)
    elif one.outcome == "scored" and one.metric == "faithfulness":
        yield from _faithfulness(details)
    elif one.outcome == "scored" and one.metric == "booookscore":
        yield from _counted("types", details["types"])
    for trouble in one.missing:
        yield from wrapped(f"missing: {one_line(trouble, 300)}", _INDENT, 2 * _INDENT)


def _recall(details: Mapping[str, Any]) -> Iterator[str]:
    levels = (ALL, *LEVELS)
    rows = [("", *levels), ("recall", *_cells(details["by_level"], levels, "recall", "stated"))]
    for groups in (details["by_perspective"], details["by_position"]):
        if len(groups) > 1:
            rows += [(name, *_cells(groups[name], levels, "recall", "stated")) for name in groups]
    if len(details["by_position"]) > 1:
        rows.append(("gap", *(render.score(details["gap"][level]) for level in levels)))
    yield from _table(rows)


def _faithfulness(details: Mapping[str, Any]) -> Iterator[str]:
    if details["by_level"]:
        levels = (ALL, *LEVELS, NONE)
        yield from _table(
            [("", *levels), ("faithful", *_cells(details["by_level"], levels, "faithfulness", "faithful"))]
        )
    yield from _counted("errors", details["errors"])


def _counted(what: str, numbers: Mapping[str, int]) -> Iterator[str]:
    """How many there are of each kind, the most frequent first, where there are any."""
    found = sorted(((kind, number) for kind, number in numbers.items() if number), key=lambda item: -item[1])
    if found:
        yield f"{_INDENT}{what}: {', '.join(f'{number} {render.spaced(kind)}' for kind, number in found)}"


def _cells(shares: Mapping[str, Any], levels: Sequence[str], share: str, part: str) -> list[str]:
    """Each level's share, and what it is a share of."""
    return [
        f"{render.score(shares[level][share])} {_number(shares[level][part])}/{shares[level]['judged']}"
        if shares[level]["judged"]
        else "-"
        for level in levels
    ]


def _number(part: float) -> str:
    """How many items; where judges differ, with the part of one."""
    return f"{part:.1f}" if part != int(part) else str(int(part))


def _table(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """A table; where it is too wide for the terminal, without what the shares are of."""
    lines = render.aligned(rows)
    if max(map(len, lines)) + len(_INDENT) > width():
        lines = render.aligned([[cell.partition(" ")[0] for cell in row] for row in rows])
    return (f"{_INDENT}{line}" for line in lines)
