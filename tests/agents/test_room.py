"""The room for a reply, what a second draft is judged by, and that a verdict is given once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.languages import LANGUAGES
from benchmarks.reply_rooms import FORMS, sizes, tracing_budget
from redraft.domain import Usage
from redraft.errors import JudgingError, Set, TruncatedReasoning, TruncatedReply
from redraft.prompts.book import PromptBook
from redraft.report.history.results import built
from redraft.settings import JudgeConfig
from redraft.text.tokens import tokenizer_named
from tests.chatserver import Answer, ChatServer
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


SIXTY = summary_of(*range(1, 61))
CHANGED = summary_of(*(n for n in range(1, 61) if n not in (20, 40)), wrong={20: "Bob", 40: "Jim"})


@pytest.fixture
def long(tmp_path: Path) -> Harness:
    return Harness(tmp_path, document=island(61))


@pytest.mark.slow
async def test_only_changed_sentences_are_asked_about(long: Harness, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with long.served() as server:
        first = await long.evaluate(SIXTY, metrics=("consistency",))
        tokens = prompt_tokens(server)
        assert long.items("ask_summary") == 60
        long.clear_sheets()
        server.seen.clear()
        second = await long.evaluate(CHANGED, metrics=("consistency",))

    sentences = {sentence_of(item) for sheet in long.asked("ask_summary") for item in sheet.items("sentences").values()}
    assert sentences == {summary_of(wrong={20: "Bob"}), summary_of(wrong={40: "Jim"})}
    # Their questions are those that were asked about the sentences before, and the document's answers are known; that
    # these are others is confirmed.
    assert long.items("compare_answers") == long.items("answer_from_document") == 2
    assert (first.scores, second.scores) == ({"consistency": 1.0}, {"consistency": 58 / 60})
    # The summary is read once to ask about it; nothing grows with what was judged before.
    assert prompt_tokens(server) < 2_900 < 0.47 * tokens


def prompt_tokens(server: ChatServer) -> int:
    return sum(request.prompt_tokens for request in server.answered)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("before", "after", "asked_again"),
    [
        ("Hester came. She sat. She left.", "Ann came. She sat. She left.", 3),
        ("Hester came. Ann left. The lamp went out.", "Ann came. Ann left. The lamp went out.", 1),
    ],
    ids=["what points back to it", "and nothing else"],
)
async def test_changed_sentence_takes_references_along(
    long: Harness, before: str, after: str, asked_again: int
) -> None:
    await long.evaluate(before, metrics=("consistency",))
    long.clear_sheets()
    await long.evaluate(after, metrics=("consistency",))

    assert long.items("ask_summary") == asked_again


class Forgetful(PerfectModel):
    """Finds nothing at a second look."""

    def __init__(self) -> None:
        self.looks = 0

    def answer_from_document(self, sheet: Sheet) -> ScriptedReply:
        self.looks += 1
        reply = super().answer_from_document(sheet)
        if self.looks > 1:
            reply["answers"] = [{**answer, "answered": False, "answer": "", "quote": ""} for answer in reply["answers"]]
        return reply


@pytest.mark.parametrize("script", [PerfectModel, Forgetful])
async def test_contradiction_is_confirmed_by_a_quote(tmp_path: Path, script: type[PerfectModel]) -> None:
    long = Harness(tmp_path, script())
    for metric in ("consistency", "coverage"):
        result = await long.evaluate(summary_of(1, wrong={2: "Bob"}), metrics=(metric,))
        (finding,) = [correction for correction in result.evaluations[metric].findings if correction.task == "correct"]
        assert finding.is_confirmed == (script is PerfectModel)
        assert (", and again " in finding.read) == (script is PerfectModel)


@pytest.mark.slow
async def test_an_answer_is_compared_once(long: Harness) -> None:
    await long.evaluate(summary_of(1, wrong={2: "Bob", 3: "Jim"}))
    # Coverage shows the sentence, and consistency asked about it.
    assert long.items("compare_answers") == 4
    long.clear_sheets()
    await long.evaluate(summary_of(1, 5, wrong={2: "Bob", 3: "Joe"}))

    compared = [pair["summary"] for sheet in long.asked("compare_answers") for pair in sheet.items("pairs").values()]
    assert compared == ["Joe", "Joe"]


async def test_the_same_evaluation_asks_nothing(long: Harness) -> None:
    first = await long.evaluate(summary_of(1, 2))
    long.clear_sheets()
    second = await long.evaluate(summary_of(1, 2))

    assert not long.sheets
    assert second.evaluations == first.evaluations
    assert (second.usage.calls, second.run.identity) == (0, first.run.identity)


@pytest.mark.slow
async def test_another_template_means_new_verdicts(long: Harness, tmp_path: Path) -> None:
    summary = summary_of(1, wrong={2: "Bob"})
    await long.evaluate(summary)
    for prompt in ("ask_summary", "answer_from_document", "compare_answers"):
        long.clear_sheets()
        folder = tmp_path / prompt
        folder.mkdir()
        (folder / f"{prompt}.md").write_text(PromptBook().source(prompt) + "\nThink twice.", "utf-8")
        await long.evaluate(summary, settings={"prompts": str(folder)})

        # FunctionModel renders with the standard set: what counts here is what is asked at all.
        assert {sheet.prompt for sheet in long.sheets} == {prompt}
