"""A verdict is given once: another draft, another round, another evaluation ask only about what is new."""

from __future__ import annotations

from pathlib import Path

import pytest

from redraft.prompts.book import PromptBook
from tests.chatserver import ChatServer
from tests.judges import KEY, Harness, PerfectModel, ScriptedReply, Sheet, island, sentence_of, summary_of

SIXTY = summary_of(*range(1, 61))
CHANGED = summary_of(*(n for n in range(1, 61) if n not in (20, 40)), wrong={20: "Bob", 40: "Jim"})


@pytest.fixture
def harness(tmp_path: Path) -> Harness:
    return Harness(tmp_path, document=island(61))


@pytest.mark.slow
async def test_only_changed_sentences_are_asked_about(harness: Harness, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with harness.served() as server:
        first = await harness.evaluate(SIXTY, metrics=("consistency",))
        tokens = prompt_tokens(server)
        assert harness.items("ask_summary") == 60
        harness.clear_sheets()
        server.seen.clear()
        second = await harness.evaluate(CHANGED, metrics=("consistency",))

    sentences = {
        sentence_of(item) for sheet in harness.asked("ask_summary") for item in sheet.items("sentences").values()
    }
    assert sentences == {summary_of(wrong={20: "Bob"}), summary_of(wrong={40: "Jim"})}
    # Their questions are those that were asked about the sentences before, and the document's answers are known; that
    # these are others is confirmed.
    assert harness.items("compare_answers") == harness.items("answer_from_document") == 2
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
    harness: Harness, before: str, after: str, asked_again: int
) -> None:
    await harness.evaluate(before, metrics=("consistency",))
    harness.clear_sheets()
    await harness.evaluate(after, metrics=("consistency",))

    assert harness.items("ask_summary") == asked_again


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
    harness = Harness(tmp_path, script())
    for metric in ("consistency", "coverage"):
        result = await harness.evaluate(summary_of(1, wrong={2: "Bob"}), metrics=(metric,))
        (finding,) = [correction for correction in result.evaluations[metric].findings if correction.task == "correct"]
        assert finding.is_confirmed == (script is PerfectModel)
        assert (", and again " in finding.read) == (script is PerfectModel)


@pytest.mark.slow
async def test_an_answer_is_compared_once(harness: Harness) -> None:
    await harness.evaluate(summary_of(1, wrong={2: "Bob", 3: "Jim"}))
    # Coverage shows the sentence, and consistency asked about it.
    assert harness.items("compare_answers") == 4
    harness.clear_sheets()
    await harness.evaluate(summary_of(1, 5, wrong={2: "Bob", 3: "Joe"}))

    compared = [pair["summary"] for sheet in harness.asked("compare_answers") for pair in sheet.items("pairs").values()]
    assert compared == ["Joe", "Joe"]


async def test_the_same_evaluation_asks_nothing(harness: Harness) -> None:
    first = await harness.evaluate(summary_of(1, 2))
    harness.clear_sheets()
    second = await harness.evaluate(summary_of(1, 2))

    assert not harness.sheets
    assert second.evaluations == first.evaluations
    assert (second.usage.calls, second.run.identity) == (0, first.run.identity)


@pytest.mark.slow
async def test_another_template_means_new_verdicts(harness: Harness, tmp_path: Path) -> None:
    summary = summary_of(1, wrong={2: "Bob"})
    await harness.evaluate(summary)
    for prompt in ("ask_summary", "answer_from_document", "compare_answers"):
        harness.clear_sheets()
        folder = tmp_path / prompt
        folder.mkdir()
        (folder / f"{prompt}.md").write_text(PromptBook().source(prompt) + "\nThink twice.", "utf-8")
        await harness.evaluate(summary, settings={"prompts": str(folder)})

        # FunctionModel renders with the standard set: what counts here is what is asked at all.
        assert {sheet.prompt for sheet in harness.sheets} == {prompt}
