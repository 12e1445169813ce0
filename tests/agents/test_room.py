"""The room for a reply follows the document's language, and what a second draft is judged by."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.languages import LANGUAGES
from benchmarks.reply_rooms import FORMS, sizes, tracing_budget
from redraft.domain import Usage
from redraft.errors import JudgingError, Set, TruncatedReasoning, TruncatedReply
from redraft.report.history.results import built
from redraft.settings import JudgeConfig
from redraft.text.tokens import tokenizer_named
from tests.chatserver import Answer
from tests.judges import (
    KEY,
    QUESTION_LIMIT,
    Harness,
    PerfectModel,
    ScriptedReply,
    Sheet,
    island,
    keeper_in,
    keepers_in,
    name_question,
    sentence_of,
    summary_of,
)

O200K = tokenizer_named("o200k_base")


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("form", FORMS)
def test_twelve_questions_fit_their_room(language: str, form: str) -> None:
    samples = LANGUAGES[language]
    tokens = sizes(samples, O200K, FORMS[form], 20, longer=False) + sizes(samples, O200K, FORMS[form], 20, longer=True)
    assert max(tokens) <= tracing_budget(samples, O200K)


def test_room_follows_the_language() -> None:
    rooms = {language: tracing_budget(samples, O200K) for language, samples in LANGUAGES.items()}
    assert rooms["English"] < rooms["German"] < rooms["Russian"] < rooms["Japanese"] < 2 * rooms["English"]


class Wordy(PerfectModel):
    """Is cut off whenever it is asked for more than so many questions at once."""

    def __init__(self, limit: int, error: type[TruncatedReply] = TruncatedReply) -> None:
        self.most, self.error = limit, error
        self.counts: list[int] = []

    def ask_document(self, sheet: Sheet) -> ScriptedReply:
        self.counts.append(sheet.limit(QUESTION_LIMIT))
        if self.counts[-1] > self.most:
            return self.error("cut off", text="{", usage=Usage(), fix=Set("reasoning_tokens", 2048))
        return super().ask_document(sheet)


IN_STRETCHES = JudgeConfig(questions=(9, 9))
"""The document is asked about as in LongSumEval, not at once."""


@pytest.mark.parametrize("deaf", [False, True], ids=["halves", "halves in vain"])
async def test_cut_questions_are_asked_in_halves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, deaf: bool) -> None:
    class Breathless(Wordy):
        def ask_document(self, sheet: Sheet) -> ScriptedReply:
            reply = json.dumps(PerfectModel.ask_document(self, sheet))
            self.counts.append(sheet.limit(QUESTION_LIMIT))
            if deaf and len(self.counts) > 1:
                return Answer(refusal="Not again.")
            return Answer(reply[: len(reply) // 2], "length") if self.counts[-1] > self.most else reply

    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    script = Breathless(3)
    harness = Harness(tmp_path, script, document=island(24))
    with harness.served():
        async with harness.session() as session:
            pack = built(
                harness.store, await session.build(harness.document, settings=harness.settings(), judging=IN_STRETCHES)
            )

    total = script.counts[0]
    assert sorted(script.counts[1:3]) == [total // 2, (total + 1) // 2]
    if deaf:
        assert 1 < len(pack.questions) < total
        assert len(pack.missing) == 2
        assert pack.questions[0].text == name_question(1)
    else:
        assert len(pack.questions) == total
        assert pack.missing == ()


async def test_cut_replies_are_named_as_cause(tmp_path: Path) -> None:
    harness = Harness(tmp_path, Wordy(0))
    with pytest.raises(JudgingError, match="the one reply was cut off: cut off") as caught:
        async with harness.session() as session:
            await session.build(harness.document, settings=harness.settings())
    assert "simple" not in caught.value.hint
    assert "`context_tokens`" in caught.value.hint


async def test_endless_reasoning_names_the_next_step(tmp_path: Path) -> None:
    harness = Harness(tmp_path, script := Wordy(0, TruncatedReasoning))
    with pytest.raises(JudgingError, match="the one reply was cut off") as caught:
        async with harness.session() as session:
            await session.build(harness.document, settings=harness.settings())
    assert caught.value.hint == "reasoning_tokens=2048"
    # It is not the questions that are too many.
    assert len(script.counts) == 1


METRICS = ("coverage",)


@pytest.fixture
def harness(tmp_path: Path) -> Harness:
    return Harness(tmp_path, document=island(24))


def put(harness: Harness) -> list[tuple[set[int], set[int]]]:
    """Of each request about a summary the keepers that its questions ask for, and those that its sentences tell of."""
    return [
        (
            {keeper_in(question["text"]) for question in sheet.items("questions").values()},
            set(keepers_in(" ".join(sentence_of(question) for question in sheet.items("sentences").values()))),
        )
        for sheet in harness.asked("answer_from_summary")
    ]


async def fresh(folder: Path, harness: Harness, draft: str) -> object:
    """What is said of a draft by who has seen no other."""
    unused = Harness(folder, harness.script, document=harness.document)
    evaluation = (await unused.evaluate(draft, metrics=METRICS)).evaluations["coverage"]
    unused.store.close()
    return evaluation.score, [(finding.kind, finding.question) for finding in evaluation.findings]


async def judged(harness: Harness, draft: str) -> object:
    evaluation = (await harness.evaluate(draft, metrics=METRICS)).evaluations["coverage"]
    return evaluation.score, [(finding.kind, finding.question) for finding in evaluation.findings]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("draft", "expected"),
    [
        (summary_of(1, 2, 3, 4, 5, 6, 7, 8), {9, 10, 11, 12, 8}),
        (summary_of(1, 2, 3, 4, 5, 6), {7, 8, 9, 10, 11, 12}),
        (summary_of(1, 2, 3, 4, 5, 6, wrong={7: "Bob"}), {7, 8, 9, 10, 11, 12}),
        (summary_of(7, 6, 5, 4, 3, 2, 1), set()),
        (summary_of(8, 9), {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}),
    ],
    ids=["one more", "one less", "one changed", "in another order", "all new"],
)
async def test_second_draft_is_judged_like_a_first(
    tmp_path: Path, harness: Harness, draft: str, expected: set[int]
) -> None:
    await judged(harness, summary_of(1, 2, 3, 4, 5, 6, 7))
    harness.clear_sheets()

    assert await judged(harness, draft) == await fresh(tmp_path / "fresh", harness, draft)
    assert {number for numbers, _ in put(harness) for number in numbers} <= expected
