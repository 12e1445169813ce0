"""Second looks in a refinement: what is overruled is withdrawn and not revised, and what is contested is heard."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from redraft import Limits
from redraft.errors import ModelError, ProviderError
from redraft.evaluators.metric_info import withdrawn
from redraft.report.history.trace import read_trace
from tests.judges import Json, Keepers, Said, Sheet, asked_of, fact_of, island, told
from tests.runs.courts import Open

GOALS = {"consistency": 1.0}
TOLD = told(1, 2, 3, 4)
LISTED = "No document has these words in a row."


class Blind(Keepers):
    """Sees nothing of some keepers when it judges, and reads well when it takes a second look.

    Whoever revises answers what is set down here by keeper, and mends all else.
    """

    def __init__(
        self, *unseen: int, again: bool = False, answers: Mapping[int, str] | None = None, looks: bool = True
    ) -> None:
        self.unseen, self.again, self.answers, self.looks = set(unseen), again, dict(answers or {}), looks
        self.ruled: list[Sheet] = []

    def answer_from_document(self, sheet: Sheet) -> Said:
        said = super().answer_from_document(sheet)
        assert isinstance(said, dict)
        asked = {tag: asked_of(one["text"]) for tag, one in sheet.items("questions").items()}
        for one in said["answers"]:
            if asked[one["id"]] in self.unseen:
                one |= {"answer": "UNANSWERABLE", "quote": ""}
        return said

    def rule_on_findings(self, sheet: Sheet) -> Said:
        self.ruled.append(sheet)
        said = super().rule_on_findings(sheet)
        assert isinstance(said, dict)
        contested = any("against" in one for one in sheet.items("points").values())
        if not self.looks and not contested:
            return {"points": [one | {"verdict": "absent", "quote": ""} for one in said["points"]]}
        return said

    def revise(self, sheet: Sheet) -> Said:
        text, lines = sheet.within("summary"), []
        for tag, point in sheet.items("points").items():
            answer = self.answers.get(asked_of(point["question"])) if "question" in point else None
            text = text if answer else self.mended(text, point)
            lines.append(f"{tag}: {answer or 'mended'}")
        return "<points>\n" + "\n".join(lines) + f"\n</points>\n<revision>\n{text}\n</revision>"


async def test_a_finding_that_is_overruled_is_withdrawn_and_the_score_corrected(any_court: Open) -> None:
    opened = any_court(Blind(3))
    result = await opened.refine(TOLD, goals=GOALS)

    assert result.initial_scores == {"consistency": 1.0}
    assert (result.run.stop_reason, result.summary) == ("goals_met", TOLD)
    assert not opened.asked("revise")
    (gone,) = withdrawn(result.evaluations["consistency"])
    assert gone["sentence"] == fact_of(3)
    assert gone["quote"] == fact_of(3)[:-1]
    assert result.to_json()["withdrawn"] == {"consistency": [gone]}


async def test_only_what_is_not_overruled_is_revised(court: Open) -> None:
    opened = court(Blind(3))
    result = await opened.refine(told(1, 2, 3, wrong={4: "Bob"}), goals=GOALS)

    (sheet,) = opened.asked("revise")
    assert [one["sentence"] for one in sheet.items("points").values()] == [fact_of(4, "Bob")]
    assert (result.summary, result.scores) == (TOLD, {"consistency": 1.0})
    # Of the new draft the same is not found again.
    assert not result.evaluations["consistency"].findings


async def test_the_reviser_reads_what_the_second_look_quotes(court: Open) -> None:
    class Closer(Blind):
        """Quotes another place of the document when it looks again."""

        def rule_on_findings(self, sheet: Sheet) -> Said:
            said = super().rule_on_findings(sheet)
            assert isinstance(said, dict)
            return {"points": [one | {"quote": fact_of(5)[:-1]} for one in said["points"]]}

    opened = court(Closer())
    await opened.refine(told(1, 2, 3, wrong={4: "Bob"}), goals=GOALS)

    (sheet,) = opened.asked("revise")
    (evidence,) = [one["evidence"] for one in sheet.items("points").values()]
    assert fact_of(5)[:-1] in evidence
    assert evidence.endswith("."), "the whole sentence"


@pytest.mark.slow
async def test_what_was_ruled_on_is_never_asked_again(court: Open) -> None:
    script = Blind(3)
    opened = court(script)
    await opened.refine(told(1, 2, 3, wrong={4: "Bob"}), goals=GOALS)
    await opened.refine(told(2, 3, wrong={4: "Bob"}), goals=GOALS)
    judged = await opened.evaluate(told(3), metrics=("consistency",))

    assert [len(sheet.items("points")) for sheet in script.ruled] == [2]
    assert judged.scores == {"consistency": 1.0}


async def test_the_paper_takes_every_finding_as_it_is(court: Open) -> None:
    script = Blind(3)
    await court(script).refine(TOLD, goals=GOALS, policy="paper", rounds=1)
    assert not script.ruled


KEPT = f'kept: "{fact_of(3)[:-1]}"'


async def test_a_finding_that_is_contested_with_words_of_the_document_is_heard(any_court: Open) -> None:
    script = Blind(3, answers={3: KEPT}, looks=False)
    opened = any_court(script)
    result = await opened.refine(TOLD, goals=GOALS)

    assert [len(sheet.items("points")) for sheet in script.ruled] == [1, 1]
    assert fact_of(3)[:-1] in next(iter(script.ruled[-1].items("points").values()))["against"]
    assert result.initial_scores == result.scores == {"consistency": 1.0}
    assert (result.run.stop_reason, result.summary) == ("goals_met", TOLD)
    (answer,) = result.rounds[1].answers
    assert (answer.became, answer.said) == ("kept", fact_of(3)[:-1])
    (shown,) = read_trace(opened.store, result.run.id).to_json()["rounds"][1]["answers"]  # type: ignore[index]
    assert shown == {"finding": answer.finding, "became": "kept", "said": fact_of(3)[:-1]}


@pytest.mark.parametrize("quote", [f'kept: "{LISTED}"', "kept", "left: I do not know"])
async def test_a_finding_that_is_contested_with_other_words_stands(court: Open, quote: str) -> None:
    script = Blind(3, answers={3: quote}, looks=False)
    result = await court(script).refine(TOLD, goals=GOALS, rounds=1)

    assert len(script.ruled) == 1
    assert result.scores == {"consistency": 0.75}
    assert [one.became for one in result.rounds[1].answers] == ["left"]
    assert not withdrawn(result.evaluations["consistency"])


class Leading(Blind):
    """Leads the revision, and contests what it is shown of a keeper."""

    def decide(self, sheet: Sheet) -> Said:
        found = sheet.items("findings")
        kept = [
            {"finding": tag, "quote": fact_of(3)[:-1]} for tag, one in found.items() if asked_of(one["question"]) == 3
        ]
        return {"why": "The document says so.", "mend": [], "kept": kept, "stop": not kept}


async def test_whoever_leads_may_contest_a_finding_too(court: Open) -> None:
    script = Leading(3, looks=False)
    result = await court(script).refine(TOLD, goals=GOALS, policy="agent")

    assert len(script.ruled) == 1
    assert (result.run.stop_reason, result.scores) == ("goals_met", {"consistency": 1.0})


async def test_when_it_breaks_off_between_ruling_and_revising_nothing_is_asked_twice(court: Open) -> None:
    script = Blind(3)
    opened = court(script)
    broken: list[ModelError] = [ProviderError("the line is dead")]

    def breaking(sheet: Sheet) -> Said:
        if sheet.prompt == "revise" and broken:
            return broken.pop()
        return script(sheet)

    opened.script = breaking
    summary = told(1, 2, 3, wrong={4: "Bob"})
    with pytest.raises(ProviderError):
        await opened.refine(summary, goals=GOALS)
    run = opened.store.runs.latest(1)[0].id
    before = len(opened.sheets)
    assert len(script.ruled) == 1

    done = await opened.resume(run, Limits())
    assert (done.summary, done.run.stop_reason) == (TOLD, "goals_met")
    assert len(script.ruled) == 1
    assert not [sheet for sheet in opened.sheets[before:] if sheet.prompt == "rule_on_findings"]


def _scripted(choice: Callable[[Sheet], str]) -> Keepers:
    class Referee(Keepers):
        def prefer_summary(self, sheet: Sheet) -> Said:
            said = choice(sheet)
            return {"reason": "It reads better.", "detail": said, "structure": said, "logic": said, "overall": said}

    return Referee()


POOR, GOOD = told(1, wrong={2: "Bob"}), told(1, 2, 3, 4, 5, 6)


def _first_draft(sheet: Sheet) -> str:
    return "first" if sheet.within("first") == POOR else "second"


def _best_draft(sheet: Sheet) -> str:
    return "second" if sheet.within("first") == POOR else "first"


@pytest.mark.slow
async def test_where_the_first_draft_reads_better_it_is_returned(any_court: Open) -> None:
    opened = any_court(_scripted(_first_draft))
    result = await opened.refine(POOR)

    assert (result.run.stop_reason, result.summary) == ("first_draft_preferred", POOR)
    assert not result.complete
    assert [sheet.within("document")[:13] for sheet in opened.asked("prefer_summary")] == ["# The Keepers"] * 2
    assert result.compared is not None
    assert (result.compared.first_won, result.compared.votes) == (True, (1, 0, 0))
    shown = result.to_json()["final_comparison"]
    assert isinstance(shown, dict)
    assert (shown["preferred"], shown["reason"]) == (result.draft.id if result.draft else "", "It reads better.")


@pytest.mark.parametrize("choice", [_best_draft, lambda _: "tie", lambda _: "first"], ids=["best", "tie", "place"])
async def test_otherwise_the_best_draft_is(court: Open, choice: Callable[[Sheet], str]) -> None:
    result = await court(_scripted(choice)).refine(POOR)

    assert (result.run.stop_reason, result.complete) == ("goals_met", True)
    assert result.summary != POOR
    assert result.compared is not None


@pytest.mark.parametrize(("first", "compared"), [(POOR, False), (told(1), True)], ids=["has an error", "is short"])
async def test_a_judge_that_cannot_read_the_document_does_not_bring_back_an_error(
    court: Open, first: str, compared: bool
) -> None:
    opened = court(_scripted(lambda sheet: "first" if sheet.within("first") == first else "second"))
    opened.document = island(400)
    result = await opened.refine(first, rounds=2, settings={"context_tokens": 4096})

    assert (result.compared is not None, result.summary == first) == (compared, compared)
    assert bool(opened.asked("prefer_summary")) == compared


@pytest.mark.parametrize("options", [{"final_comparison": False}, {"policy": "paper"}])
async def test_nobody_is_asked_where_that_is_not_wanted(court: Open, options: Json) -> None:
    opened = court(_scripted(_first_draft))
    result = await opened.refine(POOR, **options)

    assert (result.run.stop_reason, result.compared) == ("goals_met", None)
    assert not opened.asked("prefer_summary")


async def test_what_a_person_has_asked_for_is_not_undone(court: Open) -> None:
    async def reviewer(question: object) -> Json:
        return {"add": ["The sea is cold."]}

    opened = court(_scripted(_first_draft))
    result = await opened.refine(POOR, review=True, reviewer=reviewer, rounds=1)

    assert "The sea is cold." in (result.summary or "")
    assert not opened.asked("prefer_summary")


async def test_a_draft_that_was_not_changed_is_compared_with_nothing(court: Open) -> None:
    opened = court(_scripted(_first_draft))
    await opened.refine(GOOD)
    assert not opened.asked("prefer_summary")
