"""The pictures of experiments: which table is drawn how. A stored table is drawn as one that was made just now."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from redraft.experiments.agreeing import mistakes_by_coverage
from redraft.experiments.booookscore.pictures import scores_of_systems, types_of_confusion
from redraft.experiments.chunk_size.pictures import marks_by_size
from redraft.experiments.context.pictures import (
    accuracy_by_step,
    fact_differences,
    matching_by_step,
    position_curves,
    position_shares,
    shares_of_facts,
)
from redraft.experiments.grid.pictures import (
    difference_pictures,
    preference_pictures,
    score_pictures,
    summary_pictures,
)
from redraft.experiments.hamlet.pictures import (
    errors_by_kind,
    faithfulness_by_level,
    gaps_by_level,
    level_differences,
    recall_by_place,
    scores_against_cost,
)
from redraft.experiments.longsumeval.pictures import gain_pictures, round_pictures
from redraft.experiments.qa.pictures import between_models, by_place_and_length, by_third_and_length, by_type_and_third
from redraft.plots.picture import Plot
from redraft.reports.tables import Table

Draw = Callable[[Table], Mapping[str, Plot]]
"""Draws the pictures of a table, each under the name of its file. What it needs stands in the cells."""

DRAWN: Mapping[tuple[str, str], Draw] = {
    ("agree", "risk"): mistakes_by_coverage,
    ("booookscore", "scores"): scores_of_systems,
    ("booookscore", "types"): types_of_confusion,
    ("chunk-size", "chunk_sizes"): marks_by_size,
    ("hamlet", "errors"): errors_by_kind,
    ("hamlet", "faithfulness"): faithfulness_by_level,
    ("hamlet", "gaps"): gaps_by_level,
    ("grid", "scores"): score_pictures,
    ("grid", "differences"): difference_pictures,
    ("grid", "preferences"): preference_pictures,
    ("grid", "summaries"): summary_pictures,
    ("context", "fact_accuracy_steps"): accuracy_by_step,
    ("context", "fact_changes"): matching_by_step,
    ("context", "fact_differences"): fact_differences,
    ("context", "fact_shares"): shares_of_facts,
    ("context", "position_densities"): position_curves,
    ("context", "position_halves"): position_shares,
    ("hamlet", "recall"): recall_by_place,
    ("hamlet", "summaries"): scores_against_cost,
    ("hamlet", "differences"): level_differences,
    ("longsumeval", "gains"): gain_pictures,
    ("longsumeval", "rounds"): round_pictures,
    ("qa", "third_and_length"): by_third_and_length,
    ("qa", "place_and_length"): by_place_and_length,
    ("qa", "type_and_third"): by_type_and_third,
    ("qa", "differences"): between_models,
}
"""By the names of an experiment and of one of its tables."""


def drawn(experiment: str, tables: Iterable[Table]) -> dict[str, Plot]:
    """The pictures of the tables of an experiment, by the names of their files."""
    return {
        name: plot
        for table in tables
        if (draw := DRAWN.get((experiment, table.name))) is not None
        for name, plot in draw(table).items()
    }
