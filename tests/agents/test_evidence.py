"""A document that fits is read whole; of a longer one windows at first, and all of it before it says nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from redraft.agents.evidence import (
    CitedPlace,
    EvidenceBatch,
    EvidenceQuery,
    EvidenceReader,
    EvidenceSearch,
    Scope,
)
from redraft.agents.judge import Attempt, Entries, ItemResults
from redraft.domain import Document, Evidence, Span, Usage
from redraft.llm.base import Reply
from redraft.prompts.coherence import FIND_STOPS
from redraft.prompts.factual import RULE_ON_FINDINGS
from redraft.prompts.qa import JUDGING
from redraft.prompts.revision import CHOOSE_DRAFT, EDIT, REVISE
from redraft.text.retrieval import Passages
from redraft.text.tokens import Tokenizer, tokenizer_named
from tests.judges import Harness, Sheet, island, summary_of

pytestmark = pytest.mark.usefixtures("api_key")

EVERY_PROMPT = {prompt.name for prompt in (*JUDGING, FIND_STOPS, EDIT, CHOOSE_DRAFT, REVISE, RULE_ON_FINDINGS)}


def passages(sheet: Sheet) -> list[str]:
    document = sheet.within("document")
    return [document] if document else [item["text"] for item in sheet.items("passages").values()]


@pytest.mark.slow
async def test_no_request_is_larger_than_the_window(tmp_path: Path) -> None:
    harness, window = Harness(tmp_path, document=island(800)), 4096
    with harness.served():
        result = await harness.refine(
            summary_of(*range(1, 60), wrong=dict.fromkeys((1, *range(60, 1000, 40)), "Bob")),
            rounds=1,
            settings={"context_tokens": window, "words": 600},
        )

    count = tokenizer_named(result.run.tokenizer).count
    sizes = [(sheet.prompt, count(sheet.text) + sheet.wanted) for sheet in harness.sheets]
    assert {prompt for prompt, _ in sizes} == EVERY_PROMPT
    assert [(prompt, size) for prompt, size in sizes if size > window] == []


async def test_quotes_of_judges_are_located(tmp_path: Path) -> None:
    harness = Harness(tmp_path, document=island(40))
    consistency = (await harness.evaluate(summary_of(wrong={7: "Bob"}), metrics=("consistency",))).evaluations[
        "consistency"
    ]

    evidence: Any = consistency.findings[0].evidence
    # With the sentence that it is from.
    assert evidence.text == "The keeper number 7 is called Tom7 and lives at station 49 by the cold sea for 10 years."
    assert harness.document.text[slice(*evidence.span)] == evidence.text


def test_evidence_is_widened_to_the_whole_answer() -> None:
    text = (
        "It rained all day. Syme needed a spaceman's card. With it he could ship out on a freighter. "
        "The patrol would never find him there. The glowing card could not be forged. He waited. Nobody came."
    )
    document, tokenizer = Document.from_text(text), Tokenizer()
    reader = EvidenceReader(document, Passages(document, tokenizer), tokenizer, 8192, tokenizer.count(text))
    quoted = reader.quoted("The glowing card could not be forged.", [])
    assert quoted is not None

    wider = reader.widened(quoted, "To ship out on a freighter with a card that could not be forged")
    assert wider.text == (
        "With it he could ship out on a freighter. The patrol would never find him there. "
        "The glowing card could not be forged."
    )
    assert wider.span is not None
    assert text[wider.span.start : wider.span.end] == wider.text
    assert reader.widened(quoted, "The card could not be forged") == quoted


TEXT = " ".join(f"The keeper of lamp {n} sailed to the harbour of Port{n} in the grey morning." for n in range(600))
TOKENIZER = Tokenizer()
TOKENS = TOKENIZER.count(TEXT)
NOTHING, UNSURE = "nothing", "unsure"


class ScriptedReply(CitedPlace):
    """What a judge says of an item."""

    word: str


def reader(window: int = 8192) -> EvidenceReader:
    document = Document("id", "title", TEXT)
    return EvidenceReader(document, Passages(document, TOKENIZER), TOKENIZER, window, TOKENS)


class Judged:
    """A judge whose word on each item goes by what it is shown."""

    def __init__(self, says: Callable[[int, str], str | None], at: EvidenceReader) -> None:
        self.says, self.reader = says, at
        self.readings: list[EvidenceBatch] = []

    async def ask(self, reading: EvidenceBatch, attempt: Attempt) -> Entries[ScriptedReply]:
        self.readings.append(reading)
        text = "\n".join(self.reader.text(span) for span in reading.spans)
        entries: list[tuple[int, ScriptedReply | None]] = []
        for n in reading.numbers:
            word = self.says(n, text)
            at = TEXT.find(f"Port{word}") if word else -1
            evidence = Evidence("Port", Span(at, at + 4)) if at >= 0 else None
            entries.append((n, ScriptedReply(word=word, evidence=evidence) if word else None))
        return Reply("", "", Usage(), repaired=True), entries

    async def verdicts(
        self, items: list[EvidenceQuery], new: Sequence[int] | None = None
    ) -> ItemResults[ScriptedReply]:
        return await self.search(items).verdicts(range(len(items)) if new is None else new)

    def search(self, items: list[EvidenceQuery]) -> EvidenceSearch[ScriptedReply]:
        return EvidenceSearch(
            *(self.reader, items, 100, 8, 16, self.ask),
            silent=lambda verdict: verdict.word in (NOTHING, UNSURE),
            unsure=lambda verdict: verdict.word == UNSURE,
        )


ITEMS = [EvidenceQuery(f"Where did the keeper of lamp {n} sail?") for n in (40, 300, 560)]


async def test_whole_document_is_read_once_for_all() -> None:
    judge = Judged(lambda *_: NOTHING, reader(64_000))
    results = await judge.verdicts(ITEMS)

    assert [(list(reading.numbers), list(reading.spans)) for reading in judge.readings] == [
        ([0, 1, 2], [Span(0, len(TEXT))])
    ]
    assert [reading.word for reading in results.verdicts.values()] == [NOTHING] * 3
    assert {reading.scope and reading.scope.description for reading in results.verdicts.values()} == {
        f"the whole document ({TOKENS:,} tokens)"
    }


@pytest.mark.parametrize("settled", [True, False])
async def test_few_new_items_are_looked_up_first(*, settled: bool) -> None:
    judge = Judged(lambda n, _: "found" if n == 0 or settled else NOTHING, reader(64_000))
    results = await judge.verdicts([*ITEMS, EvidenceQuery("Whale?")], [0, 1])

    near = [reading for reading in judge.readings if not reading.wide]
    assert sorted(n for reading in near for n in reading.numbers) == [0, 1]
    assert sum(span.end - span.start for reading in near for span in reading.spans) < len(TEXT) / 2
    readings = [(list(reading.numbers), list(reading.spans)) for reading in judge.readings if reading.wide]
    assert readings == ([] if settled else [([0, 1], [Span(0, len(TEXT))])])
    assert {n: reading.word for n, reading in results.verdicts.items()} == {
        0: "found",
        1: "found" if settled else NOTHING,
    }
    assert [not reading.is_from_whole for reading in results.verdicts.values()] == [settled, settled]


async def test_second_look_reads_the_whole_document() -> None:
    judge = Judged(lambda *_: "found", reader(64_000))
    items = [replace(ITEMS[0], glanced=True), ITEMS[1]]
    await judge.search(items).second_look([0, 1])

    entire, closer = judge.readings
    assert (list(entire.numbers), list(entire.spans)) == ([0], [Span(0, len(TEXT))])
    assert list(closer.numbers) == [1]
    assert sum(span.end - span.start for span in closer.spans) < len(TEXT) / 2


async def test_open_items_are_asked_of_every_part() -> None:
    judge = Judged(lambda n, text: "found" if n == 0 and "Port40 " in text else NOTHING, reader())
    results = await judge.verdicts(ITEMS)

    near = [reading for reading in judge.readings if not reading.wide]
    parts = [reading for reading in judge.readings if reading.wide]
    assert sorted(n for reading in near for n in reading.numbers) == [0, 1, 2]
    assert {tuple(reading.numbers) for reading in parts} == {(1, 2)}
    spans = sorted(reading.spans[0] for reading in parts)
    assert spans[0].start == 0
    assert spans[-1].end == len(TEXT)
    assert all(following.start < reading.end for reading, following in pairwise(spans))
    assert {n: reading.word for n, reading in results.verdicts.items()} == {0: "found", 1: NOTHING, 2: NOTHING}
    assert results.verdicts[0].scope is not None
    assert results.verdicts[0].scope.description.endswith(" passages")
    assert results.verdicts[1].scope == Scope(tokens=TOKENS)


async def test_statement_of_a_part_outweighs_silence() -> None:
    judge = Judged(lambda _, text: "found" if "Port590 " in text and "Port580 " in text else NOTHING, reader())
    results = await judge.verdicts([EvidenceQuery("Whale?")])
    assert [verdict.word for verdict in results.verdicts.values()] == ["found"]


@pytest.mark.parametrize("settled", [True, False])
async def test_disagreeing_parts_are_read_together(*, settled: bool) -> None:
    def says(_: int, text: str) -> str:
        first, second = "Port3 " in text, "Port590 " in text
        both = first and second
        return ("590" if settled else NOTHING) if both else "3" if first else "590" if second else NOTHING

    judge = Judged(says, reader())
    results = await judge.verdicts([EvidenceQuery("Whale?")])

    last = "\n".join(judge.reader.text(span) for span in judge.readings[-1].spans)
    assert "Port3 " in last
    assert "Port590 " in last
    assert [verdict.word for verdict in results.verdicts.values()] == (["590"] if settled else [])


async def test_item_without_a_parts_verdict_is_open() -> None:
    judge = Judged(lambda _, text: None if "Port300 " in text and "Port310 " in text else NOTHING, reader())
    results = await judge.verdicts([EvidenceQuery("Whale?")])
    assert results.verdicts == {}
    assert results.trouble


async def test_retrieved_passages_leave_silent_items_open() -> None:
    judge = Judged(lambda n, _: "found" if n == 0 else NOTHING, replace(reader(64_000), reading="retrieved"))
    results = await judge.verdicts(ITEMS)

    assert {n: verdict.word for n, verdict in results.verdicts.items()} == {0: "found"}
    assert "do not settle it" in results.trouble
    assert [sorted(verdict.numbers) for verdict in judge.readings if verdict.wide] == [[1, 2]]
