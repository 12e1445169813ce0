"""The arbiter: what it is shown, and which of its verdicts overrule a finding."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from redraft.agents.arbiter import Arbiter, RulingRequest
from redraft.agents.evidence import EvidenceReader
from redraft.agents.judge import Judge
from redraft.builtin.model import ExtractiveModel
from redraft.domain import Document, Finding, Ruling
from redraft.llm.base import Model
from redraft.prompts.book import PromptBook
from redraft.store.store import Store
from redraft.text.retrieval import Passages
from redraft.text.tokens import EstimatingTokenizer
from tests.judges import Json, Keepers, Said, Script, Sheet, fact_of, function_model, island, named


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "redraft.db") as opened:
        yield opened


def accusation(number: int, name: str = "", **changes: object) -> Finding:
    """A finding that says that the document does not call a keeper so."""
    name = name or f"Tom{number}"
    made = Finding(
        "consistency",
        "unsupported",
        "remove",
        "The document does not say this.",
        sentence=fact_of(number, name),
        question=named(number),
        found=name,
    )
    return replace(made, **changes)


class Sheets:
    """A judge that goes by a script, and all that it was asked."""

    def __init__(self, script: Script) -> None:
        self.seen: list[Sheet] = []
        self._script = script

    def __call__(self, sheet: Sheet) -> Said:
        self.seen.append(sheet)
        return self._script(sheet)


async def ruled(
    store: Store,
    script: Script | ExtractiveModel,
    *requests: RulingRequest,
    document: Document | None = None,
    window: int = 8000,
) -> list[Ruling]:
    document, tokenizer = document or island(), EstimatingTokenizer()
    model: Model = ExtractiveModel() if isinstance(script, ExtractiveModel) else function_model(script)
    tokens = tokenizer.count(document.text)
    reader = EvidenceReader(document, Passages(document, tokenizer), tokenizer, window, tokens)
    return await Arbiter(Judge(model, PromptBook(), store.judgments), reader).rule(requests, "second look")


def says(verdict: str, quote: str = "") -> Sheets:
    """A judge that says the same of every point."""

    def script(sheet: Sheet) -> Json:
        said = {"reason": "So it is.", "quote": quote, "verdict": verdict}
        return {"points": [{"id": tag, **said} for tag in sheet.items("points")]}

    return Sheets(script)


async def test_it_reads_the_whole_document_first_where_that_fits(store: Store) -> None:
    judge = Sheets(Keepers())
    await ruled(store, judge, RulingRequest(accusation(3)), RulingRequest(accusation(4)))

    (sheet,) = judge.seen
    assert sheet.text.startswith(f"<document>\n{island().text.strip()}\n</document>"), (
        "as the first judge's prompts begin"
    )
    assert len(sheet.items("points")) == 2


async def test_where_it_does_not_fit_the_places_that_matter_are_read(store: Store) -> None:
    document = island(300)
    judge = Sheets(Keepers())
    quote = "keeper number 250 is called Tom250 and lives at station 1750"
    (ruling,) = await ruled(store, judge, RulingRequest(accusation(3), quote), document=document, window=2500)

    (sheet,) = judge.seen
    assert "keeper number 250" in sheet.within("passages")
    assert "keeper number 3 " in sheet.within("passages")
    assert len(sheet.text) < len(document.text) / 2
    assert ruling.overruled
    assert ruling.contested == quote


async def test_what_the_document_says_overrules_and_is_quoted_with_its_place(store: Store) -> None:
    right, wrong = accusation(3), accusation(4, "Bob")
    first, second = await ruled(store, Keepers(), RulingRequest(right), RulingRequest(wrong))

    assert (first.finding, first.verdict, first.overruled) == (right.id, "supported", True)
    assert first.start is not None
    assert island().text[first.start : first.end] == first.quote == fact_of(3)[:-1]
    assert (second.finding, second.verdict, second.overruled) == (wrong.id, "contradicted", False)


@pytest.mark.parametrize(
    "judge",
    [
        says("supported", "words that no document has"),
        says("supported"),
        says("supported", "the"),
        says("contradicted", fact_of(3)[:-1]),
        says("absent"),
        says("unclear", fact_of(3)[:-1]),
    ],
    ids=["invented quote", "no quote", "one word", "contradicted", "absent", "unclear"],
)
async def test_nothing_else_overrules(store: Store, judge: Sheets) -> None:
    (ruling,) = await ruled(store, judge, RulingRequest(accusation(3)))
    assert not ruling.overruled


async def test_that_passages_are_silent_is_no_verdict(store: Store) -> None:
    (whole,) = await ruled(store, says("absent"), RulingRequest(accusation(3)))
    (part,) = await ruled(store, says("absent"), RulingRequest(accusation(3)), document=island(300), window=2500)
    assert (whole.verdict, part.verdict) == ("absent", "unclear")


async def test_many_findings_are_ruled_on_a_dozen_at_a_time(store: Store) -> None:
    judge = Sheets(Keepers())
    rulings = await ruled(
        store, judge, *(RulingRequest(accusation(n)) for n in range(1, 31)), document=island(40), window=20_000
    )

    assert len(rulings) == 30
    assert [len(sheet.items("points")) for sheet in judge.seen] == [10, 10, 10]


async def test_a_reply_that_cannot_be_read_leaves_everything_as_it_is(store: Store) -> None:
    assert await ruled(store, Sheets(lambda _: "I would rather not."), RulingRequest(accusation(3))) == []


async def test_the_built_in_model_abstains(store: Store) -> None:
    (ruling,) = await ruled(store, ExtractiveModel(), RulingRequest(accusation(3)))
    assert (ruling.verdict, ruling.overruled) == ("unclear", False)
