"""What is read for which items, and how verdicts of several parts of a document come together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import pytest

from redraft.agents.accounts import Account, Entries
from redraft.agents.evidence import CitedPlace, EvidenceQuery, EvidenceReader, Scope
from redraft.agents.retrieval import EvidenceReading, EvidenceSearch, ReadingPlan
from redraft.domain import Document, Span
from redraft.text.retrieval import Passages
from redraft.text.tokens import EstimatingTokenizer

TEXT = " ".join(f"The keeper of lamp {n} sailed to the harbour of Port{n} in the grey morning." for n in range(600))
TOKENIZER = EstimatingTokenizer()
TOKENS = TOKENIZER.count(TEXT)
NOTHING, UNSURE = "nothing", "unsure"
NUMBERS = range(3)


class Said(CitedPlace):
    """What a judge says of an item."""

    word: str


def reader(window: int = 8192) -> EvidenceReader:
    document = Document("id", "title", TEXT)
    return EvidenceReader(document, Passages(document, TOKENIZER), TOKENIZER, window, TOKENS)


class Judged:
    """A judge whose word on each item goes by what it is shown."""

    def __init__(self, says: Callable[[int, str], str | None], at: EvidenceReader) -> None:
        self.says, self.reader = says, at
        self.readings: list[EvidenceReading] = []

    async def ask(self, reading: EvidenceReading) -> Entries[Said]:
        self.readings.append(reading)
        shown = "\n".join(self.reader.text(span) for span in reading.spans)
        found: list[tuple[int, Said | None]] = []
        for n in reading.numbers:
            word = self.says(n, shown)
            at = TEXT.find(f"Port{word}") if word else -1
            placed = {"start": at, "end": at + 4} if at >= 0 else {}
            found.append((n, Said(word=word, **placed) if word else None))
        return Entries(found, repaired=True)

    async def verdicts(self, items: list[EvidenceQuery]) -> Account[Said]:
        looks = ReadingPlan(self.reader, items, 100, 8, 16)
        search = EvidenceSearch(
            looks, self.ask, lambda one: one.word in (NOTHING, UNSURE), unsure=lambda one: one.word == UNSURE
        )
        return await search.verdicts(range(len(items)))


ITEMS = [EvidenceQuery(f"Where did the keeper of lamp {n} sail?") for n in (40, 300, 560)]


async def test_what_fits_is_read_once_for_all_items_and_its_silence_is_final() -> None:
    judged = Judged(lambda *_: NOTHING, reader(64_000))
    found = await judged.verdicts(ITEMS)

    assert [(list(one.numbers), list(one.spans)) for one in judged.readings] == [([0, 1, 2], [Span(0, len(TEXT))])]
    assert [one.word for one in found.verdicts.values()] == [NOTHING] * 3
    assert {one.scope and one.scope.said for one in found.verdicts.values()} == {
        f"the whole document ({TOKENS:,} tokens)"
    }


async def test_what_windows_do_not_settle_is_held_against_every_part() -> None:
    judged = Judged(lambda n, shown: "found" if n == 0 and "Port40 " in shown else NOTHING, reader())
    found = await judged.verdicts(ITEMS)

    near = [one for one in judged.readings if not one.wide]
    parts = [one for one in judged.readings if one.wide]
    assert sorted(n for one in near for n in one.numbers) == [0, 1, 2]
    assert {tuple(one.numbers) for one in parts} == {(1, 2)}
    spans = sorted(one.spans[0] for one in parts)
    assert spans[0].start == 0
    assert spans[-1].end == len(TEXT)
    assert all(other.start < one.end for one, other in pairwise(spans))
    assert {n: one.word for n, one in found.verdicts.items()} == {0: "found", 1: NOTHING, 2: NOTHING}
    assert found.verdicts[0].scope is not None
    assert found.verdicts[0].scope.said.endswith(" passages")
    assert found.verdicts[1].scope == Scope(tokens=TOKENS)


async def test_what_one_part_says_counts_more_than_the_silence_of_the_others() -> None:
    judged = Judged(lambda _, shown: "found" if "Port590 " in shown and "Port580 " in shown else NOTHING, reader())
    found = await judged.verdicts([EvidenceQuery("Whale?")])
    assert [one.word for one in found.verdicts.values()] == ["found"]


@pytest.mark.parametrize("settled", [True, False])
async def test_where_parts_differ_their_places_are_read_together(*, settled: bool) -> None:
    def says(_: int, shown: str) -> str:
        first, second = "Port3 " in shown, "Port590 " in shown
        both = first and second
        return ("590" if settled else NOTHING) if both else "3" if first else "590" if second else NOTHING

    judged = Judged(says, reader())
    found = await judged.verdicts([EvidenceQuery("Whale?")])

    last = "\n".join(judged.reader.text(span) for span in judged.readings[-1].spans)
    assert "Port3 " in last
    assert "Port590 " in last
    assert [one.word for one in found.verdicts.values()] == (["590"] if settled else [])


async def test_an_item_that_a_part_has_no_verdict_on_is_left_open() -> None:
    judged = Judged(lambda _, shown: None if "Port300 " in shown and "Port310 " in shown else NOTHING, reader())
    found = await judged.verdicts([EvidenceQuery("Whale?")])
    assert found.verdicts == {}
    assert found.trouble


async def test_silence_is_none_where_the_judge_cannot_tell_of_a_part() -> None:
    judged = Judged(lambda _, shown: UNSURE if "Port300 " in shown else NOTHING, reader())
    found = await judged.verdicts([EvidenceQuery("Whale?")])
    assert [one.word for one in found.verdicts.values()] == [UNSURE]


async def test_retrieved_passages_leave_open_what_they_are_silent_about() -> None:
    judged = Judged(lambda n, _: "found" if n == 0 else NOTHING, replace(reader(64_000), reading="retrieved"))
    found = await judged.verdicts(ITEMS)

    assert {n: one.word for n, one in found.verdicts.items()} == {0: "found"}
    assert "do not settle it" in found.trouble
    assert [sorted(one.numbers) for one in judged.readings if one.wide] == [[1, 2]]


def test_places_that_the_pack_cites_are_read_in_any_case() -> None:
    place = Span(TEXT.index("lamp 555 "), TEXT.index("lamp 555 ") + 8)
    at = reader()
    assert not any(span.start <= place.start < span.end for span in at.wanted(EvidenceQuery("Port40"), 4))
    assert any(span.start <= place.start < span.end for span in at.wanted(EvidenceQuery("Port40", cited=(place,)), 4))


def test_how_an_item_is_searched_for_is_no_matter_where_all_is_read() -> None:
    plain, more = EvidenceQuery("Who?"), EvidenceQuery("Who?", ("Ann",))
    assert reader(64_000).key(plain) == reader(64_000).key(more)
    assert reader().key(plain) != reader().key(more)
    assert reader(64_000).key(plain) != replace(reader(64_000), reading="whole").key(plain)


def test_batches_are_as_equal_as_may_be() -> None:
    looks = ReadingPlan(reader(64_000), [EvidenceQuery("Who?")] * 40, 100, 8, 16)
    assert [len(look.numbers) for look in looks.whole(range(40))] == [13, 13, 14]
