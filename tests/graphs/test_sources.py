"""Merging with the source in view: the paragraphs that summaries rest on stand beside them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from redraft.domain import Document, Span
from redraft.graphs.hierarchical import SourceParagraphs
from redraft.graphs.plan import SOURCE_SHARE
from redraft.llm.base import Line, Request
from redraft.readers.documents import parse
from redraft.runs.prepare import prepare
from redraft.settings import DraftConfig
from redraft.text.tokens import EstimatingTokenizer
from tests.support import Desk, obedient, prose, story

ROOM = 4096


def quoting(request: Request[Any, Any]) -> Line:
    """An obedient writer who begins with a few words of what was read."""
    given = request.given
    if request.prompt.name in ("outline", "tidy"):
        return obedient(request)
    shown = getattr(given, "excerpt", None) or given.summaries[0]
    return f"{' '.join(shown.split()[3:9]).strip('.')}. {prose(max(3, int(given.words * 0.9) - 6))}"


def _island() -> Document:
    said = ["The lamp went out in March.", "Ann rowed to the mainland.", "The cook counted the barrels of herring."]
    return parse("\n\n".join(said).encode(), name="island.md")


def test_the_paragraphs_nearest_to_a_summary_are_found_in_their_order() -> None:
    document = _island()
    source = SourceParagraphs(document, EstimatingTokenizer())
    whole = Span(0, len(document.text))

    said = "The cook counts herring. The lamp goes out."
    (found,) = source.under([(said, whole)], 1_000)
    assert source.text(found) == "The lamp went out in March.\n\nThe cook counted the barrels of herring."
    (found,) = source.under([(said, whole)], 14)
    assert source.text(found) == "The cook counted the barrels of herring."
    assert source.under([(said, whole)], 3) == [[]]
    before = Span(0, document.text.index("The cook"))
    (found,) = source.under([("The cook counts herring.", before)], 1_000)
    assert "cook" not in source.text(found)
    both = source.under([("Ann rowed.", whole), ("The lamp goes out.", whole)], 26)
    assert [source.text(one) for one in both] == ["Ann rowed to the mainland.", "The lamp went out in March."]


def test_a_long_paragraph_is_shown_in_parts_that_end_with_a_sentence() -> None:
    document = parse(" ".join(f"The keeper {n} lit lamp {n}." for n in range(400)).encode(), name="long.txt")
    source = SourceParagraphs(document, EstimatingTokenizer())

    (found,) = source.under([("Keeper 77 lit the lamp.", Span(0, len(document.text)))], 320)
    assert source.text(found).endswith(".")
    assert "keeper 77 " in source.text(found)
    assert EstimatingTokenizer().count(source.text(found)) <= 320


@pytest.mark.slow
async def test_a_merge_has_what_its_summaries_rest_on_in_view_where_that_is_wanted(tmp_path: Path) -> None:
    document = story(200)
    for merge in ("summaries", "source"):
        desk = Desk(tmp_path / merge, quoting)
        result = await desk.summarize(document, context_tokens=ROOM, merge=merge)
        merges = [request for request in desk.asked if request.prompt.name.startswith("merge")]
        assert merges
        if merge == "summaries":
            assert not any(request.given.sources for request in merges)
            continue
        assert all(len(request.given.sources) == len(request.given.summaries) for request in merges)
        for request in merges:
            shown = [part for one in request.given.sources for part in one.split("\n\n")]
            assert all(part in document.text for part in shown)
            assert EstimatingTokenizer().count(request.text) + request.sampling.max_tokens <= ROOM
        kinds = {parent.kind for parents in desk.store.ancestry.of(result.run.id).values() for parent in parents}
        assert "evidence" in kinds


def test_the_plan_leaves_room_for_the_source_and_counts_it() -> None:
    document = story(200)
    usual = DraftConfig(
        model="openai:gpt-5-mini", strategy="hierarchical", words=100, chunk_tokens=128, context_tokens=ROOM
    )
    without = prepare(document, usual).plan
    plan = prepare(document, usual.model_copy(update={"merge": "source"})).plan

    top = plan.levels[-1]
    assert top.sources == pytest.approx((top.sources + top.room) * SOURCE_SHARE, abs=1)
    assert without.levels[-1].sources == 0
    assert plan.prompt_tokens > without.prompt_tokens


def test_runs_of_before_are_found_again() -> None:
    usual, hashes = DraftConfig(words=100), {"merge": "1"}
    same = usual.model_copy(update={"merge": "summaries", "drafts": 1})
    assert usual.identity("d", "t", hashes) == same.identity("d", "t", hashes)
    for other in ({"merge": "source"}, {"drafts": 2}, {"by_chapter": True}):
        assert usual.model_copy(update=other).identity("d", "t", hashes) != usual.identity("d", "t", hashes)
