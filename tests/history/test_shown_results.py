"""A result in a program: its short form and its JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from redraft import Store, read_result
from tests.cli.local_command import judging_folder
from tests.judges import Harness, summary_of

POOR = summary_of(1, wrong={2: "Bob"})


async def test_the_short_form_fits_a_few_lines(harness: Harness) -> None:
    evaluated = await harness.evaluate(POOR, metrics=("coverage", "consistency"))
    assert repr(evaluated).startswith(
        f"Result(run='{evaluated.run.id}', kind='evaluate', status='done', title='The Keepers'"
    )
    rounded = {name: round(score or 0, 3) for name, score in evaluated.scores.items()}
    assert rounded != evaluated.scores
    assert f"scores={rounded}, findings={len(evaluated.findings)}, cost_usd=" in repr(evaluated)
    assert len(repr(evaluated)) < 300
    async with harness.session() as session:
        assert "words=None" in repr(await session.build(harness.document))


@pytest.mark.slow
def test_json_is_what_the_command_prints(tmp_path: Path) -> None:
    with judging_folder(tmp_path) as command:
        evaluated = command.run("evaluate", "book.md", "poor.md", "--metric", "consistency", "--json").json
        refined = command.run("refine", "book.md", "poor.md", "--goal", "consistency=0.9", "--json").json
        with Store(command.database) as store:
            for printed in (evaluated, refined):
                assert json.loads(json.dumps(read_result(store, printed["run"]).model_dump(mode="json"))) == printed


async def test_a_frame_has_tokens_and_scores(harness: Harness) -> None:
    pytest.importorskip("pandas")
    judged = await harness.evaluate(POOR, metrics=("coverage", "consistency"))
    (row,) = judged.to_frame().to_dict("records")
    assert (row["run"], row["title"], row["words"]) == (judged.run.id, "The Keepers", judged.draft.words)
    assert row["completion_tokens"] == judged.usage.completion_tokens > 0
    assert {name: row[name] for name in judged.scores} == judged.scores
