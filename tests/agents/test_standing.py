"""Another draft is read for what is new in it: answers stand while their sentences do, and nothing new is missed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.judges import Court, Keepers, Said, Sheet, asked_of, island, keepers_in, sentence_of, told

METRICS = ("coverage",)
NONE = "UNANSWERABLE"


@pytest.fixture
def court(tmp_path: Path) -> Iterator[Court]:
    made = Court(tmp_path, document=island(24))
    yield made
    made.store.close()


def put(court: Court) -> list[tuple[set[int], set[int]]]:
    """Of each request about a summary the keepers that its questions ask for, and those that its sentences tell of."""
    return [
        (
            {asked_of(one["text"]) for one in sheet.items("questions").values()},
            set(keepers_in(" ".join(sentence_of(one) for one in sheet.items("sentences").values()))),
        )
        for sheet in court.asked("answer_from_summary")
    ]


async def fresh(folder: Path, court: Court, draft: str) -> object:
    """What is said of a draft by who has seen no other."""
    other = Court(folder, court.script, document=court.document)
    found = (await other.evaluate(draft, metrics=METRICS)).evaluations["coverage"]
    other.store.close()
    return found.score, [(one.kind, one.question) for one in found.findings]


async def judged(court: Court, draft: str) -> object:
    found = (await court.evaluate(draft, metrics=METRICS)).evaluations["coverage"]
    return found.score, [(one.kind, one.question) for one in found.findings]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("draft", "asked"),
    [
        (told(1, 2, 3, 4, 5, 6, 7, 8), {9, 10, 11, 12, 8}),
        (told(1, 2, 3, 4, 5, 6), {7, 8, 9, 10, 11, 12}),
        (told(1, 2, 3, 4, 5, 6, wrong={7: "Bob"}), {7, 8, 9, 10, 11, 12}),
        (told(7, 6, 5, 4, 3, 2, 1), set()),
        (told(8, 9), {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}),
    ],
    ids=["one more", "one less", "one changed", "in another order", "all new"],
)
async def test_a_second_draft_is_judged_as_it_would_be_without_the_first(
    tmp_path: Path, court: Court, draft: str, asked: set[int]
) -> None:
    await judged(court, told(1, 2, 3, 4, 5, 6, 7))
    court.forget()

    assert await judged(court, draft) == await fresh(tmp_path / "fresh", court, draft)
    assert {number for numbers, _ in put(court) for number in numbers} <= asked


@pytest.mark.slow
async def test_questions_without_an_answer_are_put_to_the_new_sentences_alone(tmp_path: Path) -> None:
    court = Court(tmp_path, document=island(40))
    first = told(*range(7, 37))
    await judged(court, first)
    assert put(court) == [(set(range(1, 13)), set(range(7, 37)))]
    court.forget()
    found = await judged(court, f"{first} {told(5)}")

    ((numbers, sentences),) = put(court)
    assert numbers == {1, 2, 3, 4, 5, 6}
    assert 5 in sentences
    assert len(sentences) < 31 / 2
    assert found == await fresh(tmp_path / "fresh", court, f"{first} {told(5)}")
    court.store.close()


@pytest.mark.slow
async def test_an_answer_that_has_lost_its_sentence_is_looked_for_in_all_others(tmp_path: Path) -> None:
    """Nobody has said that they are silent: another of them may hold it too, far from what is new."""

    class Reserved(Keepers):
        """Names one sentence, the last one that holds the answer."""

        def answer_from_summary(self, sheet: Sheet) -> Said:
            there = {n: keepers_in(sentence_of(one)) for n, one in sheet.items("sentences").items()}
            answers = []
            for n, one in sheet.items("questions").items():
                places = [place for place, names in there.items() if asked_of(one["text"]) in names]
                answer = there[places[-1]][asked_of(one["text"])] if places else NONE
                answers.append({"id": n, "answer": answer, "sentences": places[-1:]})
            return {"answers": answers}

    court = Court(tmp_path, Reserved(), document=island(40))
    around = "Tom3 was there when the keeper number 3 is called Tom3 by the others."
    rest = told(*range(5, 25))
    await judged(court, f"{around} {rest} {told(3)}")
    court.forget()
    second = await judged(court, f"{around} {rest} {told(28)}")

    assert second == await fresh(tmp_path / "fresh", court, f"{around} {rest} {told(28)}")
    assert any(3 in numbers for numbers, _ in put(court))
    court.store.close()


@pytest.mark.slow
async def test_a_sentence_that_points_back_to_a_new_one_is_new(court: Court) -> None:
    rest = told(*range(13, 37))
    await judged(court, f"{rest} Ann came. She sat. She slept.")
    court.forget()
    await judged(court, f"{rest} Eve came. She sat. She slept.")

    (sheet,) = court.asked("answer_from_summary")
    shown = [sentence_of(one) for one in sheet.items("sentences").values()]
    assert shown[-3:] == ["Eve came.", "She sat.", "She slept."]
    assert len(shown) < 27


async def test_judges_remember_for_themselves_alone(court: Court) -> None:
    await court.evaluate(told(1, 2), metrics=METRICS)
    court.forget()
    await court.evaluate(told(1, 2), metrics=METRICS, repeat=2)

    assert len(court.asked("answer_from_summary")) == 1
