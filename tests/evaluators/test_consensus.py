"""Several judges, or one several times; and which of two summaries is better: from replies to a winner."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redraft import JudgeConfig, Session, SummaryComparison
from redraft.domain import Evaluation
from redraft.evaluators import coherence
from redraft.evaluators.base import DISPUTED, agreement
from redraft.evaluators.coherence import PreferenceVerdict, Winner, count_votes, settled
from redraft.prompts.coherence import ASPECTS, PREFER_SUMMARY
from redraft.records import compared
from redraft.runs.prepare import prepare
from redraft.settings import Limits
from tests.chatserver import ChatRequest, ChatServer, Fault
from tests.judges import (
    KEY,
    UNANSWERABLE,
    Harness,
    PerfectModel,
    ScriptedReply,
    Sheet,
    function_model,
    island,
    keeper_in,
    read_sheet,
    summary_of,
)


def test_agreement_is_the_share_of_equal_verdicts() -> None:
    assert agreement([{0: "a", 1: "b"}, {0: "a", 1: "a", 2: "c"}, {1: "a"}]) == 2 / 4
    assert agreement([{0: "a"}]) is None
    assert agreement([{0: "a"}, {1: "a"}]) is None


class Blind(PerfectModel):
    """Sees only some keepers in a summary."""

    def __init__(self, *request: int) -> None:
        self.seen = request

    def answer_from_summary(self, sheet: Sheet) -> ScriptedReply:
        reply = super().answer_from_summary(sheet)
        for answer in reply["answers"]:
            if keeper_in(sheet.judged[answer["id"]]) not in self.seen:
                answer["answer"] = UNANSWERABLE
        return reply


async def panel(folder: Path, *scripts: PerfectModel) -> tuple[Evaluation, list[list[str]]]:
    """What judges say of the coverage of six keepers, and which prompts each was asked."""
    harnesses = [Harness(folder / str(n), script) for n, script in enumerate(scripts)]
    judges = [function_model(harness.reply_to, f"judge {n}") for n, harness in enumerate(harnesses)]
    async with Session(folder / "redraft.db", model=function_model(PerfectModel()), judges=judges) as session:
        result = await session.evaluate(
            island(), summary_of(1, 2, 3, 4, 5, 6), judging=JudgeConfig(metrics=("coverage",))
        )
    return result.evaluations["coverage"], [sorted({sheet.prompt for sheet in harness.sheets}) for harness in harnesses]


async def test_majority_decides_items_and_mean_the_score(tmp_path: Path) -> None:
    coverage, _ = await panel(tmp_path, Blind(1, 2, 3), Blind(1, 2), Blind(1, 4))

    assert coverage.score == pytest.approx((3 / 6 + 2 / 6 + 2 / 6) / 3)
    details: Any = coverage.details
    verdicts = [question["verdict"] for question in details["questions"]]
    assert verdicts == ["answered", "answered", *["unanswered"] * 4]
    assert [judge["score"] for judge in details["judges"]] == pytest.approx([3 / 6, 2 / 6, 2 / 6])
    # Of three pairs and six items: they differ on 3 in two pairs, on 4 in two, on 2 in two.
    assert details["agreement"] == pytest.approx(12 / 18)
    assert details["spread"]["highest"] == 3 / 6


async def test_split_judges_give_a_disputed_finding(tmp_path: Path) -> None:
    coverage, _ = await panel(tmp_path, Blind(1, 2), Blind(1, 3))

    details: Any = coverage.details
    assert [question["verdict"] for question in details["questions"]] == [
        "answered",
        DISPUTED,
        DISPUTED,
        *["unanswered"] * 3,
    ]
    assert [question["value"] for question in details["questions"]] == [1.0, 0.5, 0.5, 0.0, 0.0, 0.0]
    assert (coverage.score, details["by_kind"]["who"]["score"]) == (2 / 6, 2 / 6)
    # What both say comes before what one of them says.
    assert [(keeper_in(question.question), question.said_by) for question in coverage.findings] == [
        (4, (2, 2)),
        (5, (2, 2)),
        (6, (2, 2)),
        (2, (1, 2)),
        (3, (1, 2)),
    ]
    assert (coverage.judged, coverage.unjudged) == (6, 0)


@pytest.mark.slow
async def test_repeated_judge_samples_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)

    class Fickle(PerfectModel):
        """Overlooks as many keepers as it has been asked before."""

        def __init__(self) -> None:
            self.turn = 0

        def answer_from_summary(self, sheet: Sheet) -> ScriptedReply:
            self.turn += 1
            return Blind(*range(self.turn, 7)).answer_from_summary(sheet)

    harness = Harness(tmp_path, Fickle())
    with harness.served():
        result = await harness.evaluate(summary_of(1, 2, 3, 4, 5, 6), metrics=("coverage",), repeat=3)

    requests = Counter(sheet.prompt for sheet in harness.sheets if sheet.prompt != "compare_answers")
    assert requests == {"ask_document": 1, "answer_from_summary": 3}
    details: Any = result.evaluations["coverage"].details
    assert sorted(judge["score"] for judge in details["judges"]) == pytest.approx([4 / 6, 5 / 6, 1.0])
    assert details["spread"] == {
        "n": 3,
        "mean": pytest.approx(5 / 6),
        "sd": pytest.approx(1 / 6),
        "lowest": 4 / 6,
        "highest": 1.0,
    }
    assert len({judge["judge"] for judge in details["judges"]}) == 3


class Mute(PerfectModel):
    """Never says what a summary says."""

    def answer_from_summary(self, sheet: Sheet) -> ScriptedReply:
        return "I would rather not."


async def test_failing_judge_leaves_the_others_to_decide(tmp_path: Path) -> None:
    coverage, _ = await panel(tmp_path, Blind(1, 2, 3), Mute())

    assert (coverage.score, coverage.judged, coverage.unjudged) == (3 / 6, 6, 0)
    assert "no JSON object" in str(coverage.details["trouble"])


A, B = summary_of(1, 2, 3), summary_of(1, wrong={2: "Bob"})
Replier = Callable[[Sheet, ChatRequest], "dict[str, str] | str | Fault"]


@given(st.tuples(*[st.sampled_from(["a", "b", "tie"])] * 2))
def test_verdict_needs_both_orders(winners: tuple[Winner, Winner]) -> None:
    verdict = settled(*winners)
    assert (verdict.winner != "tie") == (winners in {("a", "a"), ("b", "b")})
    assert verdict.order_decides == ({*winners} == {"a", "b"})
    assert verdict.leaning == (
        None if "tie" not in winners else next((winner for winner in winners if winner != "tie"), None)
    )


@pytest.mark.parametrize(
    "votes", ["=None", "a=a", "aab=a", "bbt=b", "at=tie", "ab=tie", "abt=tie", "aabt=tie", "aaabt=a", "tta=tie"]
)
def test_more_than_half_of_the_judgings_decide(votes: str) -> None:
    votes, winner = votes.split("=")
    verdicts = [PreferenceVerdict("tie" if vote == "t" else vote) for vote in votes]  # type: ignore[arg-type]
    assert str(count_votes("overall", [{"overall": verdict} for verdict in verdicts])["winner"]) == winner


def says(*, overall: str, aspects: str = "") -> dict[str, str]:
    """A reply that says the same in every respect but one."""
    return {"reason": "So it is.", **dict.fromkeys(ASPECTS, aspects or overall), "overall": overall}


def the_longer(sheet: Sheet, _request: ChatRequest) -> dict[str, str]:
    """A judge who goes by the length, whichever stands first."""
    first, second = (len(sheet.within(place)) for place in ("first", "second"))
    return says(overall="tie" if first == second else "first" if first > second else "second", aspects="tie")


class Bench:
    """Comparisons on a store, by judges behind a server; `seen` is what they were asked."""

    def __init__(self, folder: Path) -> None:
        self.harness = Harness(folder)
        self.seen: list[ChatRequest] = []
        self.replier: Replier = the_longer
        self.url = ""

    @property
    def sheets(self) -> list[Sheet]:
        return [read_sheet(request) for request in self.seen]

    def serve(self, request: ChatRequest) -> ScriptedReply:
        self.seen.append(request)
        return self.replier(read_sheet(request), request)

    async def compare(
        self, a: str = A, b: str = B, *, limits: Limits | None = None, window: int = 8192, **judging: Any
    ) -> SummaryComparison:
        place = {"model": "openai:m", "base_url": self.url, "context_tokens": window}
        async with self.harness.session(model=None, limits=limits) as session:
            options = {"settings": self.harness.settings(place), "judging": JudgeConfig(**judging)}
            result = await session.compare(self.harness.document, a, b, **options)
        return compared(self.harness.store, result)


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    bench = Bench(tmp_path)
    with ChatServer(bench.serve) as server:
        bench.url = server.base_url
        yield bench


async def test_judges_are_asked_in_both_orders(bench: Bench) -> None:
    comparison = await bench.compare(judges=("openai:x", "openai:y"), repeat=2)
    requests = [
        (request.model, sheet.within("first"), sheet.within("second"))
        for request, sheet in zip(bench.seen, bench.sheets, strict=True)
    ]
    orders = [(A, B), (B, A)]
    assert sorted(requests) == sorted((judge, *order) for judge in ("x", "y") for order in orders for _ in range(2))
    assert all(sheet.within("document") == bench.harness.document.text.strip() for sheet in bench.sheets)
    assert comparison.document_read
    overall, logic = comparison.aspects["overall"], comparison.aspects["logic"]
    assert (overall["winner"], overall["a"], overall["b"], overall["tie"], overall["unjudged"]) == ("a", 4, 0, 0, 0)
    assert (comparison.preference.judged, comparison.preference.unjudged, comparison.preference.score) == (4, 0, None)
    assert (logic["winner"], logic["tie"]) == ("tie", 4)
    bench.replier = lambda sheet, _: says(overall="second" if sheet.within("first") == A else "tie")
    comparison = await bench.compare()
    assert comparison.winner == "tie"
    assert (comparison.aspects["overall"]["leaning_a"], comparison.aspects["overall"]["leaning_b"]) == (0, 1)
    assert comparison.judgings[0]["verdicts"]["overall"] == {"winner": "tie", "leaning": "b", "order_decides": False}
    assert (comparison.judgings[0]["a_first"]["overall"], comparison.judgings[0]["b_first"]["overall"]) == ("b", "tie")


@pytest.mark.parametrize("wrong", ["I would rather not say.", Fault("status", status=400)])
async def test_judging_with_one_order_is_unjudged(bench: Bench, wrong: str | Fault) -> None:
    def replier(sheet: Sheet, request: ChatRequest) -> dict[str, str] | str | Fault:
        return wrong if request.model == "x" and sheet.within("first") == B else the_longer(sheet, request)

    bench.replier = replier
    comparison = await bench.compare(judges=("openai:x", "openai:y"))
    assert (comparison.preference.outcome, comparison.preference.judged, comparison.preference.unjudged) == (
        "measured",
        1,
        1,
    )
    overall = comparison.aspects["overall"]
    assert (overall["winner"], overall["a"], overall["tie"], overall["unjudged"]) == ("a", 1, 0, 1)
    assert comparison.judgings[0]["verdicts"] == {}
    assert comparison.judgings[0]["a_first"]["overall"] == "a"
    assert comparison.judgings[0]["trouble"]

    alone = await bench.compare(judges=("openai:x",))
    assert alone.preference.outcome == "failed"
    assert alone.preference.reason
    assert alone.winner is None
    assert not alone.result.complete


async def test_document_is_left_out_without_room(bench: Bench) -> None:
    settings = bench.harness.settings({"model": "openai:m", "base_url": bench.url, "strategy": "given"})
    prepared = prepare(bench.harness.document, settings, given=A)
    prompt = coherence.prompt_tokens(prepared.book, prepared.tokenizer, PREFER_SUMMARY, A, B)
    around = prompt + coherence.PREFERENCE_TOKENS
    everything = around + prepared.plan.document_tokens
    assert (await bench.compare(window=everything)).document_read
    assert all(sheet.within("document") for sheet in bench.sheets)
    bench.seen.clear()
    comparison = await bench.compare(window=everything - 1)

    assert [sheet.within("document") for sheet in bench.sheets] == ["", ""]
    assert not comparison.document_read
    assert comparison.winner == "a"
    bench.seen.clear()
    nowhere = await bench.compare(window=around - 1)
    assert bench.seen == []
    assert nowhere.preference.outcome == "failed"
    assert "and the window has" in nowhere.preference.reason
