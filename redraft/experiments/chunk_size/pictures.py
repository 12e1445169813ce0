"""The pictures of the experiment on the size of chunks, drawn from its table."""

from __future__ import annotations

from redraft.experiments.cells import by_columns, named
from redraft.plots.grids import Grids
from redraft.plots.picture import Plot
from redraft.reports.tables import Table

DIMENSIONS = ("validity", "coherence", "cross_content", "major_facts", "connections")
MARKS = tuple(name.replace("_", " ") for name in DIMENSIONS)
"""What chunks are marked in, as the columns of their table are named. The last two are counted."""
_MARKED = 3


def marks_by_size(table: Table) -> dict[str, Plot]:
    """The marks of chunks of each size, by judge, and what was counted in them."""
    sizes = named(table, table.columns.index("size"))
    marks, counts = MARKS[:_MARKED], MARKS[_MARKED:]
    said = ("tokens of a chunk", "mark", "a mean mark from 1 to 5", "Marks by size")
    counted = ("tokens of a chunk", "what is counted", "a mean number in a chunk", "Facts and connections by size")
    return {
        "marks_by_size": Grids(by_columns(table, "judge", "size", marks), sizes, list(marks), *said),
        "counts_by_size": Grids(by_columns(table, "judge", "size", counts), sizes, list(counts), *counted),
    }
