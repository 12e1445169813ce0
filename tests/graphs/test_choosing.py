"""Which strategy is chosen for a document where nobody has named one."""

from __future__ import annotations

from pathlib import Path

import pytest

from redraft import DraftConfig, graphs
from redraft.domain import Document
from redraft.llm.base import FunctionModel
from redraft.runs.prepare import prepare
from redraft.text.document_form import kind_by_form
from tests.support import SAMPLE, Desk, obedient, story

STORY = Document.from_text(SAMPLE.read_text("utf-8"), "The Salt Ledger")


@pytest.mark.parametrize(
    ("document", "window", "strategy", "why"),
    [
        (story(60), 8192, "direct", "direct draft: the document fits the model's window ("),
        (story(200), 1024, "hierarchical", "does not fit the model's window (1,024)"),
        (STORY, 128_000, "hierarchical", "draft in parts: it is a long story ("),
    ],
)
async def test_what_fits_and_is_no_long_story_is_drafted_directly(
    tmp_path: Path, document: Document, window: int, strategy: str, why: str
) -> None:
    prepared = prepare(
        document, DraftConfig(context_tokens=window, chunk_tokens=256, words=60), FunctionModel(obedient)
    )

    assert prepared.settings.strategy == prepared.plan.strategy == strategy
    assert why in prepared.settings.chosen
    assert prepared.settings.chosen in prepared.warnings, "and it is said"


def test_the_built_in_model_merges_and_says_nothing_of_it() -> None:
    prepared = prepare(story(60), DraftConfig())
    assert prepared.settings.strategy == "hierarchical"
    assert prepared.settings.chosen == ""
    assert not prepared.warnings


@pytest.mark.slow
async def test_what_was_chosen_is_on_record_and_a_graph_that_was_built_before_follows_it(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    async with desk.session(settings=DraftConfig(words=60)) as session:
        graph = graphs.draft().compile()
        for sentences, window, asked in ((60, 8192, "summarize_whole"), (200, 1024, "summarize_chunk")):
            source = tmp_path / f"{sentences}.md"
            source.write_text(story(sentences).text, "utf-8")
            task = {"source": str(source), "context_tokens": window, "chunk_tokens": 128}
            left = await graph.ainvoke(task, context=session)
            run = desk.store.runs.get(left["run"])
            assert run.settings.strategy == ("direct" if asked == "summarize_whole" else "hierarchical")
            assert run.settings.chosen
            assert desk.asked_for(asked)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("# Abstract\n\nWe ask.\n\n# References\n\nA. B.\n", "report"),
        ('"Come," he said.\n\nShe came.\n\n"Go!" he said.\n\nShe went.\n', "narrative"),
        ("— Venga —dijo.\n\nElla vino.\n\n— ¡Vete!\n\nSe fue.\n", "narrative"),
        ('The "term" is new.\n\nIt is "so" named.\n\nA third.\n\nA fourth.\n', "other"),
        ("One line.", "other"),
    ],
)
def test_the_kind_of_a_text_shows_in_its_form(text: str, kind: str) -> None:
    assert kind_by_form(text) == kind
