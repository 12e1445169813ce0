"""The verdict on systems that were compared: which is better by what, by how much, and whether that can be trusted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from redraft.evaluators.statistics import MIN_VALUES
from redraft.report.tables import Cell, Table, figure, number
from redraft.text.sanitizer import one_line
from redraft.text.words import count

_MAX, _NAME = 3, 80
# A smaller difference is none at two digits.
_VISIBLE = 0.005
# Of summaries whose mean lengths differ by more, the longer ones cover more for that alone.
_SIMILAR_LENGTH = 1.25
# From this number of 95% intervals on, one that excludes 0 by chance must be expected.
_MANY = 10
_COLUMNS = {"metric", "first", "second", "judge", "difference", "documents"}
"""What the table `differences` of a grid has, besides the interval."""


class _Gap(NamedTuple):
    """A paired difference, from the system with the higher mean to the other."""

    measure: str
    better: str
    worse: str
    by: float | None
    low: float | None
    high: float | None
    over: str
    """The number of pairs, in words."""
    judges: frozenset[Cell]
    """The models that judged; empty if none did."""

    def __str__(self) -> str:
        sentence = f"{self.better} scores {figure(self.by, 2)} higher in {self.measure} than {self.worse}"
        between = f" (95% interval {figure(self.low, 2)} to {figure(self.high, 2)})"
        return sentence if self.low is None else sentence + between


def verdict(experiment: str, tables: Sequence[Table]) -> str:
    """Return in a sentence or two which systems in the tables of a grid are better, and which are not compared since a
    model judged its own summaries or their lengths differ; empty if it compares none, or is another experiment."""
    if experiment != "grid":
        return ""
    records = [record for table in tables if table.name == "configurations" for record in table.records]
    systems = {_name(record["system"]): record for record in records}
    comparable: list[_Gap] = []
    reasons: dict[str, None] = {}
    for gap in (gap for table in tables for gap in _gaps(table)):
        pair = {name: systems.get(name, {}) for name in (gap.better, gap.worse)}
        partial = [name for name, record in pair.items() if gap.judges == {record.get("model")}]
        words = {name: number(record.get("words")) or 0.0 for name, record in pair.items()}
        if len(partial) == 1:
            reasons[f"the summaries of {partial[0]} were judged by the model that wrote them"] = None
        elif min(words.values()) and max(words.values()) > _SIMILAR_LENGTH * min(words.values()):
            lengths = (f"{mean:.0f} words of {name}" for name, mean in sorted(words.items(), key=lambda item: -item[1]))
            reasons[f"their lengths differ ({' and '.join(lengths)})"] = None
        else:
            comparable.append(gap)
    more = f"; and {count(len(reasons) - _MAX, 'more reason')}" if len(reasons) > _MAX else ""
    refused = f"{'Not compared' if comparable else 'No system is called better'}: {'; '.join([*reasons][:_MAX])}{more}."
    return " ".join(filter(None, (_ranking(comparable), refused if reasons else "")))


def _ranking(gaps: Sequence[_Gap]) -> str:
    """Return one sentence on systems that can be compared; empty without any."""
    if not gaps:
        return ""
    measured = sorted((gap for gap in gaps if gap.by is not None), key=lambda gap: -(gap.by or 0))
    if not measured:
        return "Nothing can be compared: no two systems have scores on the same items."
    names = list(dict.fromkeys(name for gap in gaps for name in sorted((gap.better, gap.worse))))
    systems = " and ".join(names) if len(names) == 2 else f"any two of the {len(names)} systems"
    clear, limit, caution = [gap for gap in measured if gap.low is not None and gap.low > 0], _MAX, ""
    if clear:
        rest = len(measured) - len(clear)
        caution = f"; the other {count(rest, 'difference') if rest > 1 else 'difference'} may be chance" if rest else ""
        if len(measured) >= _MANY:
            caution += f"; of {len(measured)} such intervals, one in twenty excludes 0 by chance"
    elif any(gap.low is not None for gap in measured):
        return f"No metric tells {systems} apart: no 95% interval excludes 0."
    else:
        caution = f"; with {measured[0].over} there is no interval (it takes {MIN_VALUES})"
        clear = [gap for gap in measured if (gap.by or 0) >= _VISIBLE]
        if not clear:
            return f"No metric tells {systems} apart{caution}."
        caution += ", so this may be chance"
        # Of several systems, what may be chance is only worth its largest difference.
        limit = _MAX if len(names) == 2 else 1
    more = len(clear) - limit
    *sentences, last = [*map(str, clear[:limit]), *([count(more, "more difference")] if more > 0 else [])]
    return f"{', '.join(sentences)}{', and ' if sentences else ''}{last}{caution}."


def _gaps(table: Table) -> Iterator[_Gap]:
    """Yield the differences in a table of them, by the last judge, which is the mean of all if there are several."""
    if table.name != "differences" or not {*table.columns} >= _COLUMNS:
        return
    records = table.records
    judge = records[-1]["judge"] if records else None
    judges = frozenset(record["judge"] for record in records)
    judges = judges if len(judges) < 2 else judges - {judge}
    for record in [record for record in records if record["judge"] == judge]:
        by, low, high = (number(record.get(name)) for name in ("difference", "95% from", "95% to"))
        better, worse = (_name(record[side]) for side in ("first", "second"))
        if by is not None and by < 0:
            better, worse, by = worse, better, -by
            low, high = (None if end is None else -end for end in (high, low))
        over, measure = count(int(number(record["documents"]) or 0), "document"), one_line(str(record["metric"]), _NAME)
        has_ends = not {by, low, high} & {None}
        yield _Gap(measure, better, worse, by, low if has_ends else None, high if has_ends else None, over, judges)


def _name(cell: Cell) -> str:
    """Return the name of a system, in quotes if it has a comma."""
    name = one_line(str(cell), _NAME, middle=True)
    return f"“{name}”" if "," in name else name
