"""The experiment on a growing span, by simulated models: one reads evenly, one forgets the middle, one repeats the
start, one invents. The tables show just that."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from redraft import DraftConfig, Limits
from redraft.lab.experiments.context import ContextDesign
from redraft.lab.experiments.experiment import Outcome
from redraft.lab.experiments.orders import NamedModel
from tests.chatserver import Answer, ChatRequest, ChatServer, Fault, text_of
from tests.judges import PerfectModel, island, keepers_in, read_sheet, summary_of
from tests.lab.experiments.made import rows
from tests.lab.experiments.world import run_in, serving

TOLD = 12
STEPS = (800, 1600)
ISLAND = island(90)
ALL = ("even", "forgetful", "starter", "inventor")
FATES = ("matching", "lost", "new")


def chosen(model: str, keepers: list[int]) -> str:
    """What a model tells of the keepers that it reads of."""
    even = [keepers[int((n + 0.5) * len(keepers) / TOLD)] for n in range(TOLD)]
    if model == "forgetful":
        return summary_of(*keepers[: TOLD // 2], *keepers[-TOLD // 2 :])
    if model == "starter":
        return summary_of(*keepers[:TOLD])
    if model == "inventor":
        # Three keepers that nobody has heard of, others at every step.
        strangers = {1000 * len(keepers) + n: f"Zed{1000 * len(keepers) + n}" for n in range(3)}
        return summary_of(*even[: TOLD - 3], wrong=strangers)
    return summary_of(*even)


def answer(request: ChatRequest) -> str | Answer | Fault:
    if request.model == "judge":
        return json.dumps(PerfectModel()(read_sheet(request)))
    return chosen(request.model, sorted(keepers_in(text_of(request.messages[0]))))


def at(url: str, name: str) -> NamedModel:
    return NamedModel(name, DraftConfig(model=name, base_url=url, context_tokens=16_000))


def design_at(server: ChatServer, *models: str, **changes: object) -> ContextDesign:
    seats = [at(server.base_url, f"openai:{model}") for model in (*models, "judge")]
    return ContextDesign(
        writers=tuple(seats[:-1]), judges=tuple(seats[-1:]), strategies=("direct",), steps=STEPS, words=120, **changes
    )  # type: ignore[arg-type]


async def run(folder: Path, design: ContextDesign, limits: Limits | None = None) -> Outcome[Any, Any]:
    outcome: Outcome[Any, Any] = await run_in(folder, [ISLAND], design, limits)
    return outcome


@pytest.mark.slow
async def test_ways_to_read_show_in_the_tables(tmp_path: Path) -> None:
    with serving(answer) as server:
        design = design_at(server, *ALL, references={ISLAND.id: summary_of(*range(4, 90, 7))}, paragraph_facts=True)
        outcome = await run(tmp_path, design)
        report = outcome.report()
        request_count = len(server.answered)
        repeated = (await run(tmp_path, design)).report()
        assert len(server.answered) == request_count
    assert outcome.complete
    assert repeated.files() == report.files()
    tables = {table.name: table for table in report.tables}

    def cells(table: str, model: str, *names: str, **criteria: object) -> list[tuple[object, ...]]:
        return rows(tables[table], *names, system=f"openai:{model}, direct", **criteria)

    thirds = ("1st", "2nd", "3rd")
    assert _near(cells("position_halves", "even", *thirds), (1 / 3, 1 / 3, 1 / 3))
    assert _near(cells("position_halves", "forgetful", *thirds), (0.5, 0, 0.5))
    ((first, _, last),) = cells("position_halves", "starter", *thirds)
    assert first > 0.8
    assert last == 0
    assert cells("positions", "inventor", "sentences", "located", step=2) == [(TOLD, TOLD - 3)]

    for measure in ("alignment", "TF-IDF cosine"):
        at = {"measure": measure, "step": 2}
        # Whoever repeats the start loses nothing, and has nothing of what was added.
        assert cells("fact_changes", "starter", *FATES, section="anywhere", **at) == [(TOLD, 0, 0)]
        assert cells("fact_changes", "starter", *FATES, section="added", **at) == [(0, 0, 0)]
        # Whoever forgets the middle keeps the beginning, and exchanges one end for the other.
        assert cells("fact_changes", "forgetful", *FATES, section="beginning", **at) == [(6, 0, 0)]
        assert cells("fact_changes", "forgetful", *FATES, section="anywhere", **at) == [(6, 6, 6)]
        assert cells("fact_changes", "forgetful", *FATES, section="added", **at) == [(0, 0, 6)]
        assert cells("fact_changes", "inventor", *FATES, section="nowhere", **at) == [(0, 3, 3)]
        assert cells("fact_changes", "even", "new", "expected new", section="added", **at)[0][0] == TOLD / 2
    # What was invented has no place that could bear it out, and is in no reference; the rest is borne out.
    assert cells("fact_accuracy", "inventor", "supported", "unjudged", section="anywhere") == [(1.0, 6)]
    assert cells("fact_accuracy", "inventor", "in reference", section="nowhere") == [(0.0,)]
    assert cells("fact_accuracy", "even", "supported", "unjudged", section="anywhere") == [(1.0, 0)]
    # The paragraphs that facts were traced to state them in the same words.
    assert cells("fact_accuracy", "even", "in paragraph", section="anywhere") == [(1.0,)]
    assert cells("fact_accuracy", "inventor", "in paragraph", section="nowhere") == [(None,)]
    about = "\n".join(report.about)
    assert r"keyfact_recall is judged by openai:judge" in about
    assert "faithfulness is judged by openai:judge" in about
    assert len(report.headline) <= 10
    assert any(line.startswith("openai:even") and "33 / 33 / 33%" in line for line in report.headline)


def _near(actual: list[tuple[object, ...]], criteria: tuple[float, ...]) -> bool:
    ((*values,),) = actual
    return all(
        isinstance(value, float) and abs(value - want) < 0.05 for value, want in zip(values, criteria, strict=True)
    )
