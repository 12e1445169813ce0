"""A pack: its questions come from everywhere in the document, ranked, with their places, and stay what they are."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redraft.agents.evidence import EvidenceReader
from redraft.domain import Pack
from redraft.errors import JudgingError, UsageError
from redraft.evaluators.reference.questions import chosen_in, parts_of, stretches_of
from redraft.events import Event, Notice
from redraft.report.history.results import Result
from redraft.settings import JudgeConfig
from redraft.text.retrieval import Passages
from redraft.text.tokens import EstimatingTokenizer
from tests.chatserver import Answer
from tests.judges import KEY, Court, Keepers, Said, Sheet, asked_of, island, told


async def coverage(court: Court, **options: object) -> Result:
    return await court.evaluate(told(1), metrics=("coverage",), **options)  # type: ignore[arg-type]


async def built(court: Court, **options: object) -> Pack:
    """The pack by which the court judges its document."""
    await coverage(court, **options)
    return court.store.packs.all()[0][0]


def numbers(pack: Pack) -> list[int]:
    """The keepers that are asked about."""
    return [asked_of(question.text) for question in pack.questions]


@pytest.mark.slow
@pytest.mark.parametrize(("keepers", "questions"), [(6, 6), (20, 7), (30, 11), (80, 12)])
async def test_six_to_twelve_questions_for_a_document_that_fits(tmp_path: Path, keepers: int, questions: int) -> None:
    court = Court(tmp_path, document=island(keepers))
    pack = await built(court)

    assert len(pack.questions) == questions
    assert court.sheets[0].prompt == "ask_document"
    assert not court.asked("rank_questions")


@pytest.mark.parametrize("window", [4096, 5000, 6000, 7000])
def test_the_parts_of_a_stretch_for_a_small_window_are_of_similar_size(window: int) -> None:
    """Each is asked for as many questions."""
    document, tokenizer = island(200), EstimatingTokenizer()
    size = tokenizer.count(document.text)
    reader = EvidenceReader(document, Passages(document, tokenizer), tokenizer, window, size)
    (stretch,) = stretches_of(reader, 6144)
    parts = [tokenizer.count(reader.text(part)) for part in parts_of(reader, stretch, 10)]
    assert len(parts) > 1
    assert min(parts) > max(parts) / 2


@pytest.mark.nightly
async def test_the_pack_is_the_same_for_every_window(tmp_path: Path) -> None:
    """Whatever a judge can read at once, the same questions are asked about the same stretches."""
    packs, asked = [], []
    for window in (8192, 32_768, 128_000):
        court = Court(tmp_path / str(window), document=island(800))
        packs.append(await built(court, settings={"context_tokens": window}))
        asked.append(sorted(sheet.text for sheet in court.asked("ask_document", "rank_questions")))

    assert packs[0] == packs[1] == packs[2]
    assert asked[0] == asked[1] == asked[2]
    assert len(packs[0].questions) > 12


@pytest.mark.slow
async def test_a_pack_that_was_built_in_one_window_serves_another(tmp_path: Path) -> None:
    court = Court(tmp_path, document=island(600))
    await built(court, settings={"context_tokens": 8192})
    court.forget()
    await coverage(court, settings={"context_tokens": 128_000})

    assert not court.asked("ask_document")
    assert len(court.store.packs.all()) == 1


@pytest.mark.slow
async def test_a_small_window_reads_a_stretch_in_parts_and_has_as_many_questions(tmp_path: Path) -> None:
    large = await built(Court(tmp_path / "large", document=island(120)))
    small = await built(Court(tmp_path / "small", document=island(120)), settings={"context_tokens": 1500})

    assert len(small.questions) == len(large.questions) == 12
    assert {int(question.position * 5) for question in small.questions} == set(range(5))


@pytest.mark.slow
async def test_a_range_of_questions_holds_for_each_stretch_and_stretches_are_about_equal(tmp_path: Path) -> None:
    assert JudgeConfig(questions="9-15") == JudgeConfig(questions=(9, 15))  # type: ignore[arg-type]
    court = Court(tmp_path, document=island(400))
    pack = await built(court, questions="9-15", stretch_tokens=4000)

    sheets = court.asked("ask_document")
    assert len(sheets) > 1
    assert all("Write 9 to 15 questions" in sheet.text for sheet in sheets)
    assert len(pack.questions) == 15 * len(sheets)
    lengths = [len(sheet.within("excerpt")) for sheet in sheets]
    assert max(lengths) < 1.3 * min(lengths)


@pytest.mark.parametrize("wrong", [0, 1001, (5, 4), (0, 3), "nine", "9-1001"])
def test_what_is_no_number_of_questions_is_refused(wrong: Any) -> None:
    with pytest.raises(UsageError, match="questions"):
        JudgeConfig(questions=wrong)


@pytest.mark.nightly
async def test_the_number_grows_with_the_document_up_to_the_limit(tmp_path: Path) -> None:
    sizes = []
    for keepers in (300, 800, 3000):
        pack = await built(Court(tmp_path / str(keepers), document=island(keepers)))
        sizes.append(len(pack.questions))

    assert 12 < sizes[0] < sizes[1] < sizes[2] == 40


@pytest.mark.slow
@pytest.mark.parametrize("limit", [1, 25])
async def test_the_limit_is_the_users(tmp_path: Path, limit: int) -> None:
    pack = await built(Court(tmp_path, document=island(1200)), questions=limit)

    assert len(pack.questions) == limit


@pytest.mark.slow
async def test_every_part_of_a_long_document_is_asked_about(tmp_path: Path) -> None:
    pack = await built(Court(tmp_path, document=island(1200)))

    assert {int(question.position * 5) for question in pack.questions} == set(range(5))


@pytest.mark.slow
async def test_a_document_of_more_parts_than_can_be_ranked_is_asked_about_to_its_end(tmp_path: Path) -> None:
    pack = await built(Court(tmp_path, document=island(1200)), stretch_tokens=256)

    positions = sorted(question.position for question in pack.questions)
    assert positions[-1] > 0.95
    assert max(later - earlier for earlier, later in pairwise(positions)) < 0.1


@pytest.mark.slow
async def test_the_judge_says_which_come_first(tmp_path: Path) -> None:
    class Backwards(Keepers):
        def rank_questions(self, sheet: Sheet) -> Said:
            return {"order": sheet.ids[::-1]}

    pack = await built(Court(tmp_path, Backwards(), document=island(600)), stretch_tokens=4000)

    assert numbers(pack) == sorted(numbers(pack), reverse=True)
    assert [question.id for question in pack.questions] == list(range(1, len(pack.questions) + 1))


@pytest.mark.slow
@pytest.mark.parametrize("order", [[], [3, 3, 99, -1, 1]])
async def test_what_the_ranking_passes_over_follows_in_the_order_of_the_document(
    tmp_path: Path, order: list[int]
) -> None:
    class Brief(Keepers):
        def rank_questions(self, sheet: Sheet) -> Said:
            return {"order": [sheet.ids[n - 1] if 0 < n < 9 else n for n in order]}

    found = numbers(await built(Court(tmp_path, Brief(), document=island(600)), stretch_tokens=4000))

    named = [3, 1] if order else []
    assert found[: len(named)] == named
    assert found[len(named) :] == sorted(found[len(named) :])


@pytest.mark.slow
async def test_the_places_of_the_answers_hold_the_words_that_were_quoted(tmp_path: Path) -> None:
    court = Court(tmp_path, document=island(600))
    pack = await built(court)

    for question in pack.questions:
        assert question.evidence.span is not None
        assert court.document.text[slice(*question.evidence.span)] == question.evidence.text
        assert f"is called {question.answer} and lives" in question.evidence.text
        assert question.position == question.evidence.span.start / len(court.document.text)


@pytest.mark.slow
@pytest.mark.parametrize("keepers", [80, 600], ids=["a document that fits", "a longer one"])
async def test_where_the_quote_is_nowhere_the_place_is_the_nearest_to_question_and_answer(
    tmp_path: Path, keepers: int
) -> None:
    class Inventive(Keepers):
        def ask_document(self, sheet: Sheet) -> Said:
            said = super().ask_document(sheet)
            return {"questions": [one | {"quote": "Nothing of the kind."} for one in said["questions"]]}

    pack = await built(Court(tmp_path, Inventive(), document=island(keepers)))

    assert all(f"is called {question.answer} and" in question.evidence.text for question in pack.questions)


async def test_a_question_is_asked_once(tmp_path: Path) -> None:
    class Repetitive(Keepers):
        def ask_document(self, sheet: Sheet) -> Said:
            said = super().ask_document(sheet)
            first = said["questions"][0]
            return {"questions": [first, first | {"question": first["question"].upper()}, *said["questions"][1:]]}

    found = numbers(await built(Court(tmp_path, Repetitive())))

    assert len(found) == len(set(found)) == 5


@pytest.mark.parametrize("empty", [{"question": " "}, {"answer": "\n"}, {"answer": "UNANSWERABLE"}])
async def test_a_question_that_asks_nothing_or_has_no_answer_is_left_out(tmp_path: Path, empty: dict[str, str]) -> None:
    class Absent(Keepers):
        def ask_document(self, sheet: Sheet) -> Said:
            said = super().ask_document(sheet)
            return {"questions": [said["questions"][0] | empty, *said["questions"][1:]]}

    assert 1 not in numbers(await built(Court(tmp_path, Absent())))


@pytest.mark.slow
async def test_a_stretch_that_the_judge_declines_is_named_and_stops_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)

    class Squeamish(Keepers):
        def ask_document(self, sheet: Sheet) -> Said:
            refused = "keeper number 300 " in sheet.text
            return Answer(refusal="Not that.") if refused else super().ask_document(sheet)

    events: list[Event] = []
    court = Court(tmp_path, Squeamish(), document=island(600))
    with court.served():
        pack = await built(court, observer=events.append)

    notes = [event.message for event in events if isinstance(event, Notice)]
    assert [note for note in notes if "no questions on stretch" in note and "Not that." in note]
    positions = [question.position for question in pack.questions]
    assert positions[0] == min(positions) < 0.1
    assert max(positions) > 0.6


async def test_without_any_question_there_is_no_pack_and_no_score(tmp_path: Path) -> None:
    class Mute(Keepers):
        def ask_document(self, sheet: Sheet) -> Said:
            return {"questions": []}

    court = Court(tmp_path, Mute())
    found = (await coverage(court)).evaluations["coverage"]
    assert (found.outcome, found.score) == ("failed", None)
    assert found.reason == "The Keepers: the model returned no question about the document"
    async with court.session() as session:
        with pytest.raises(JudgingError, match="no question about"):
            await session.build(court.document)
    assert court.store.packs.all() == []


@pytest.mark.slow
async def test_a_pack_can_be_named_and_must_be_about_the_document(tmp_path: Path) -> None:
    court = Court(tmp_path)
    small = await built(court, questions=2)
    await built(court)
    result = await coverage(court, pack=small.id)

    assert result.evaluations["coverage"].details["pack"] == small.id
    with pytest.raises(UsageError, match="another document"):
        await coverage(court, document=island(20), pack=small.id)


PARTS = st.lists(st.integers(0, 9), min_size=1, max_size=40).map(sorted)


@pytest.mark.slow
@settings(max_examples=40)
@given(parts=PARTS, wanted=st.integers(1, 50), data=st.data())
def test_the_best_are_chosen_from_every_part(parts: list[int], wanted: int, data: st.DataObject) -> None:
    order = data.draw(st.permutations(range(len(parts))))
    chosen = chosen_in(order, parts, wanted)

    assert len(chosen) == len(set(chosen)) == min(wanted, len(parts))
    assert chosen == [n for n in order if n in chosen]
    if wanted > max(parts):
        assert {parts[n] for n in chosen} == set(parts)
    best: dict[int, int] = {}
    for n in order:
        best.setdefault(parts[n], n)
    # What is passed over for something worse makes room for another part.
    for n in set(order) - set(chosen):
        worse = [m for m in chosen if order.index(m) > order.index(n)]
        assert wanted <= max(parts) or all(best[parts[m]] == m for m in worse)


@given(count=st.integers(2, 60), wanted=st.integers(1, 20))
def test_where_there_are_more_parts_than_room_they_stand_for_each_other(count: int, wanted: int) -> None:
    chosen = sorted(chosen_in(range(count), range(count), wanted))

    gaps = [later - earlier for earlier, later in zip([-1, *chosen], [*chosen, count], strict=True)]
    assert max(gaps) <= 2 * (count // min(wanted, count) + 1)
