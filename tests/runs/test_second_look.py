"""Second looks, and refining by key facts: what is overruled is withdrawn, and what is contested is heard."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from redraft.domain import record_json
from redraft.evaluators.metric_info import withdrawn
from redraft.report.history.trace import read_trace
from redraft.settings import JudgeConfig
from tests.judges import PerfectModel, ScriptedReply, Sheet, fact_of, keeper_in, summary_of
from tests.runs.harnesses import OpenHarness
from tests.runs.test_refining import stories

GOALS = {"consistency": 1.0}
# The pack asks about the first six keepers, and what it knows of them is not asked again.
TOLD = summary_of(1, 2, 9, 10)
LISTED = "No document has these words in a row."


class Blind(PerfectModel):
    """Sees nothing of some keepers when it judges, and reads well when it takes a second look.

    Whoever revises answers what is set down here by keeper, mends all else, and adds nothing.
    """

    def __init__(
        self, *unseen: int, again: bool = False, answers: Mapping[int, str] | None = None, looks: bool = True
    ) -> None:
        self.unseen, self.again, self.answers, self.looks = set(unseen), again, dict(answers or {}), looks
        self.ruled: list[Sheet] = []

    def answer_from_document(self, sheet: Sheet) -> ScriptedReply:
        said = super().answer_from_document(sheet)
        asked = {tag: keeper_in(answer["text"]) for tag, answer in sheet.items("questions").items()}
        for answer in said["answers"]:
            if asked[answer["id"]] in self.unseen:
                answer |= {"answer": "UNANSWERABLE", "quote": ""}
        return said

    def rule_on_findings(self, sheet: Sheet) -> ScriptedReply:
        self.ruled.append(sheet)
        said = super().rule_on_findings(sheet)
        contested = any("against" in one for one in sheet.items("points").values())
        if not self.looks and not contested:
            return {"points": [point | {"verdict": "absent", "quote": ""} for point in said["points"]]}
        return said

    def revise(self, sheet: Sheet) -> ScriptedReply:
        text, lines = sheet.within("summary"), []
        for tag, point in sheet.items("points").items():
            answer = self.answers.get(keeper_in(point["question"])) if "question" in point else None
            text = text if answer else self.mended(text, point)
            lines.append(f"{tag}: {answer or 'mended'}")
        return "<points>\n" + "\n".join(lines) + f"\n</points>\n<revision>\n{text}\n</revision>"

    edit = revise


async def test_overruled_finding_is_withdrawn_score_corrected(any_harness: OpenHarness) -> None:
    opened = any_harness(Blind(9))
    result = await opened.refine(TOLD, goals=GOALS)

    assert result.initial_scores["consistency"] == 1.0
    assert (result.run.stop_reason, result.summary) == ("goals_met", TOLD)
    assert not opened.asked("revise")
    (gone,) = withdrawn(result.evaluations["consistency"])
    assert gone.finding.sentence == fact_of(9)
    assert gone.ruling.quote == fact_of(9)[:-1]
    assert result.model_dump()["withdrawn"] == {"consistency": [record_json(gone)]}


async def test_only_what_is_not_overruled_is_revised(harness: OpenHarness) -> None:
    opened = harness(Blind(9))
    result = await opened.refine(summary_of(1, 2, 9, wrong={10: "Bob"}), goals=GOALS)

    (sheet,) = opened.asked("revise")
    assert [one["sentence"] for one in sheet.items("points").values()] == [fact_of(10, "Bob")]
    assert (result.summary, result.scores["consistency"]) == (TOLD, 1.0)
    # Of the new draft the same is not found again.
    assert not result.evaluations["consistency"].findings


async def test_reviser_reads_what_the_second_look_quotes(harness: OpenHarness) -> None:
    class Closer(Blind):
        """Quotes another place of the document when it looks again."""

        def rule_on_findings(self, sheet: Sheet) -> ScriptedReply:
            said = super().rule_on_findings(sheet)
            return {"points": [point | {"quote": fact_of(11)[:-1]} for point in said["points"]]}

    opened = harness(Closer())
    # What the metric has not looked at twice, the second look before the revision decides.
    judging = JudgeConfig(second_look=False)
    await opened.refine(summary_of(1, 2, 9, wrong={10: "Bob"}), goals=GOALS, judging=judging)

    sheet, *_ = opened.asked("revise")
    (evidence,) = [one["evidence"] for one in sheet.items("points").values()]
    assert fact_of(11)[:-1] in evidence
    assert evidence.endswith("."), "the whole sentence"


@pytest.mark.slow
async def test_ruling_is_never_asked_again(harness: OpenHarness) -> None:
    script = Blind(9)
    opened = harness(script)
    await opened.refine(summary_of(1, 2, 9, wrong={10: "Bob"}), goals=GOALS)
    await opened.refine(summary_of(2, 9, wrong={10: "Bob"}), goals=GOALS)
    result = await opened.evaluate(summary_of(9), metrics=("consistency",))

    assert [len(sheet.items("points")) for sheet in script.ruled] == [1]
    assert result.scores == {"consistency": 1.0}


async def test_paper_policy_takes_every_finding(harness: OpenHarness) -> None:
    script = Blind(9)
    await harness(script).refine(TOLD, goals=GOALS, policy="paper", rounds=1)
    assert not script.ruled


KEPT = f'kept: "{fact_of(9)[:-1]}"'


async def test_finding_contested_with_a_quote_is_reconsidered(any_harness: OpenHarness) -> None:
    script = Blind(9, answers={9: KEPT}, looks=False)
    opened = any_harness(script)
    result = await opened.refine(TOLD, goals=GOALS)

    assert [len(sheet.items("points")) for sheet in script.ruled] == [1, 1]
    assert fact_of(9)[:-1] in next(iter(script.ruled[-1].items("points").values()))["against"]
    assert result.initial_scores["consistency"] == result.scores["consistency"] == 1.0
    assert (result.run.stop_reason, result.summary) == ("goals_met", TOLD)
    (answer,) = result.rounds[1].answers
    assert (answer.became, answer.said) == ("kept", fact_of(9)[:-1])
    (shown,) = record_json(read_trace(opened.store, result.run.id))["rounds"][1]["round"]["answers"]
    assert shown == {"finding": answer.finding, "became": "kept", "said": fact_of(9)[:-1]}


@pytest.mark.parametrize("quote", [f'kept: "{LISTED}"', "kept", "left: I do not know"])
async def test_finding_contested_without_a_quote_stands(harness: OpenHarness, quote: str) -> None:
    script = Blind(9, answers={9: quote}, looks=False)
    result = await harness(script).refine(TOLD, goals=GOALS, rounds=1)

    assert len(script.ruled) == 1
    assert result.scores["consistency"] == 0.75
    assert [answer.became for answer in result.rounds[1].answers] == ["left"]
    assert not withdrawn(result.evaluations["consistency"])


# Of twelve keepers one is told rightly, one wrongly, and one is made up.
POOR_IN_FACTS = summary_of(1, wrong={2: "Bob", 77: "Jim"})
RECALL: dict[str, float] = {"keyfact_recall": 1.0}


@pytest.mark.slow
async def test_missing_facts_are_what_readers_must_know(any_harness: OpenHarness) -> None:
    opened = any_harness()
    result = await opened.refine(POOR_IN_FACTS, goals=RECALL)

    assert (result.run.status, result.run.stop_reason) == ("done", "goals_met")
    assert (result.initial_scores["keyfact_recall"], result.scores["keyfact_recall"]) == (2 / 24, 1.0)
    assert stories(result) == [(0, (), True), (1, ("consistency", "keyfact_recall"), True)]
    # The five roots that are missing come first.
    (sheet,) = opened.asked("edit")
    items = list(sheet.items("must_know").values())
    assert [item["answer"] for item in items][:6] == [fact_of(n) for n in (5, 9, 12, 8, 4, 2)]
    assert {(item["weight"], item["draft"], item.get("question", "")) for item in items} == {("2", "not at all", "")}
    # The trees are the same for every draft.
    assert len(opened.asked("keyfacts_analytical")) == 1
    assert len(opened.asked("align_facts")) == 2
    assert not opened.asked("ask_document"), "the key facts are yardstick enough"
