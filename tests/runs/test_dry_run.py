"""A dry run says about as many calls and tokens as a run takes."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from redraft import Limits, ModelSettings, Price, Session, Store, UsageError
from redraft.domain import Document
from redraft.llm import structured_output
from redraft.llm.base import FunctionModel, Line, Request
from redraft.order import Build, Compare, Evaluate, Order, Summarize, order_of_draft
from redraft.prompts.book import PromptBook
from redraft.prompts.revision import EDIT, REVISE
from redraft.readers.documents import parse
from redraft.runs.dry_run import RunPlan, plan_run
from redraft.runs.order import SessionOrder
from redraft.runs.session import runner_of
from redraft.settings import DraftConfig, JudgeConfig, RefineConfig
from redraft.text.tokens import Tokenizer
from redraft.text.words import count_words
from tests.judges import (
    QUESTION_LIMIT,
    Harness,
    PerfectModel,
    ScriptedReply,
    Sheet,
    by_item,
    complete_point,
    fact_of,
    function_model,
    island,
    keeper_in,
    keepers_in,
    sentence_of,
    summary_of,
    tree_of,
)

METRICS = ("coverage", "consistency", "keyfact_recall", "faithfulness", "booookscore")
PROMPTS_OF_STAGES = {
    "asking about the document": ("ask_document", "rank_questions"),
    "coverage": ("answer_from_summary",),
    "finding key facts": ("keyfacts_analytical", "keyfacts_narrative"),
    "validating key facts": ("facts_faithful", "facts_objective", "facts_significant"),
    "asking what the trees answer": ("query_analytical", "query_narrative"),
    "keyfact_recall": ("align_facts",),
    "faithfulness": ("verify_sentences",),
    "booookscore": ("find_confusion",),
}
WHY = "The text says so where it tells of this keeper, and nothing else in it speaks against that."
FACTS, MENDED = 14, 6
BOOK, TOKENIZER = PromptBook(), Tokenizer()
SUMMARY = summary_of(*range(1, 61))
# More are wrong than two revisions mend, as there are several findings on each.
POOR = summary_of(*range(1, 41), wrong={n: f"Bob{n}" for n in range(1, 41, 5)})
COMPLETE = summary_of(*range(1, 41))
_QUESTIONS = (
    "What is keeper number {} called at the station where he lives, {}?",
    "By which name goes keeper number {} there by the sea, {}?",
    "Who is keeper number {} of those who live by the sea, {}?",
)


class Obedient(PerfectModel):
    """Answers in words of its own, quotes whole sentences, and asks several questions about a sentence."""

    def ask_document(self, sheet: Sheet) -> ScriptedReply:
        lines, limit = [line for line in sheet.shown.splitlines() if keepers_in(line)], sheet.limit(QUESTION_LIMIT)
        questions = [
            {
                "question": f"What is keeper number {number} called, by the book that tells of all of them?",
                "kind": "who",
                "answer": f"he goes by the name of {name}",
                "quote": line,
            }
            for line in lines[:: max(1, len(lines) // limit)]
            for number, name in keepers_in(line).items()
        ]
        return {"questions": questions[:limit]}

    def answer_from_summary(self, sheet: Sheet) -> ScriptedReply:
        reply = super().answer_from_summary(sheet)
        for answer in reply["answers"]:
            answer["answer"] = answer["answer"] and f"he is known there as {answer['answer']}"
        return reply

    def answer_from_document(self, sheet: Sheet) -> ScriptedReply:
        reply = super().answer_from_document(sheet)
        for answer in reply["answers"]:
            answer["answer"] = answer["answer"] and f"there he is called {answer['answer']}"
            answer["quote"] = whole(answer["quote"], sheet.shown)
        return reply

    @by_item("comparisons", "pairs")
    def compare_answers(self, sheet: Sheet, pair: Mapping[str, str]) -> dict[str, Any]:
        agrees = pair["document"].split()[-1] == pair["summary"].split()[-1]
        return {"reason": WHY, "verdict": "full" if agrees else "contradicts"}

    def ask_summary(self, sheet: Sheet) -> ScriptedReply:
        def questions(sentence: Mapping[str, str]) -> list[dict[str, Any]]:
            return [
                {
                    "question": text.format(number, name[::-1]),
                    "answer": f"he is {name}",
                    "search": f"keeper number {number} called",
                    "importance": 3,
                }
                for number, name in keepers_in(sentence_of(sentence)).items()
                for text in _QUESTIONS
            ]

        sentences = {n: item for n, item in sheet.items("sentences").items() if n in sheet.ids}
        return {"sentences": [{"id": n, "questions": questions(item)} for n, item in sentences.items()]}

    def keyfacts_analytical(self, sheet: Sheet) -> ScriptedReply:
        keepers = list(keepers_in(sheet.within("excerpt")).items())
        return tree_of(keepers[: max(FACTS, len(keepers) // 5)])

    def keyfacts_narrative(self, sheet: Sheet) -> ScriptedReply:
        keepers = list(keepers_in(sheet.within("excerpt")).items())
        return tree_of(keepers[-max(FACTS, len(keepers) // 5) :])

    def facts_faithful(self, sheet: Sheet) -> ScriptedReply:
        reply = _explained(super().facts_faithful(sheet), "facts")
        for fact in reply["facts"]:
            fact["quote"] = whole(fact["quote"], sheet.within("excerpt"))
        return reply

    def facts_objective(self, sheet: Sheet) -> ScriptedReply:
        return _explained(super().facts_objective(sheet), "facts")

    def facts_significant(self, sheet: Sheet) -> ScriptedReply:
        return _explained(super().facts_significant(sheet), "facts")

    def verify_sentences(self, sheet: Sheet) -> ScriptedReply:
        reply = _explained(super().verify_sentences(sheet), "sentences")
        for sentence in reply["sentences"]:
            (number,) = keepers_in(sheet.judged[sentence["id"]])
            sentence["quote"] = whole(f"keeper number {number} is called", sheet.shown)
        return reply

    def rule_on_findings(self, sheet: Sheet) -> ScriptedReply:
        return _explained(super().rule_on_findings(sheet), "points")

    def prefer_summary(self, sheet: Sheet) -> ScriptedReply:
        return {"reason": f"{WHY} {WHY}", **dict.fromkeys(("detail", "structure", "logic", "overall"), "tie")}

    def outline(self, sheet: Sheet) -> ScriptedReply:
        point = "A keeper comes to the island and lives there by the sea."
        names = [{"name": f"Tom{n}", "phrase": "a keeper who lives by the sea"} for n in range(10)]
        return {"kind": "other", "line": point, "turning_points": [point] * 8, "cast": names}

    def revise(self, sheet: Sheet) -> ScriptedReply:
        return self._revision(sheet, list(sheet.items("points").values())[:MENDED], "mended")

    def edit(self, sheet: Sheet) -> ScriptedReply:
        missing = [item for item in sheet.items("must_know").values() if item.get("draft") == "not at all"]
        facts = [fact_of(keeper_in(item["question"]), item["answer"].split()[-1]) for item in missing[:MENDED]]
        return self._revision(sheet, list(sheet.items("points").values()), "fixed", *facts)

    def _revision(self, sheet: Sheet, points: Sequence[dict[str, str]], outcome: str, *facts: str) -> str:
        text = sheet.within("summary")
        for point in points:
            text = self.mended(text, complete_point(point, text, sheet.shown))
        lines = "\n".join(f"{n}: {outcome}" for n in sheet.items("points"))
        return f"<points>\n{lines}\n</points>\n<revision>\n{' '.join([text, *facts])}\n</revision>"

    def choose_draft(self, sheet: Sheet) -> ScriptedReply:
        """Prefers the first text that an editor writes, and no later one."""
        first, second = (sheet.within(field) in (POOR, COMPLETE) for field in ("first", "second"))
        choice = "tie" if first == second else "second" if first else "first"
        return {"reason": f"{WHY} {WHY}", **dict.fromkeys(("clear", "content", "overall"), choice)}

    def mended(self, text: str, point: dict[str, str]) -> str:
        name = {"answer": point["answer"].split()[-1]} if "answer" in point else {}
        return super().mended(text, point | name)

    def decide(self, sheet: Sheet) -> ScriptedReply:
        if "you will be asked again" in sheet.text:
            return {"why": WHY, "look_up": [f"keeper number {n}" for n in (1, 2, 3)]}
        return {"why": WHY, "mend": list(sheet.items("findings"))[:6], "instruction": "Be brief."}


def whole(quote: str, text: str) -> str:
    return next((line for line in text.splitlines() if quote and f"{quote} " in line), quote)


def _explained(reply: ScriptedReply, field: str) -> dict[str, Any]:
    return {field: [{**entry, "reason": WHY} for entry in reply[field]]}


# Of sentences that have nearly the same words a draft is tidied.
_LIVES = (
    ", alone at station w{0} or x{0} since y{0}",
    " after z{0} of p{0} who left q{0} behind",
    ", for r{0} was s{0} when t{0} came",
)


def _draft(inputs: Any, sample: int = 0) -> str:
    names = ("document", "excerpt", "summary", "summaries")
    texts = [text for name in names if (text := getattr(inputs, name, ""))]
    keepers = keepers_in("\n".join(text if isinstance(text, str) else "\n".join(text) for text in texts))
    sentences = [
        f"The keeper number {n} is called {name}{_LIVES[n % len(_LIVES)].format(n)}." for n, name in keepers.items()
    ]
    limit = max(1, inputs.words // count_words(sentences[0]))
    return " ".join(sentences[sample :: -(-len(sentences) // limit)][:limit])


@dataclass
class Counter:
    """A model that does as it is told, and counts what it is asked."""

    identity: str = "openai:m"
    calls: list[str] = field(default_factory=list)
    tokens: int = 0

    def model(self) -> FunctionModel:
        judging = function_model(Obedient())

        def answer(request: Request[Any, Any]) -> Line:
            drafts = request.prompt.returns is str and request.prompt not in (EDIT, REVISE)
            reply = _draft(request.given, request.sampling.sample) if drafts else judging._function(request)
            text = reply if isinstance(reply, str) else reply.model_dump_json()  # type: ignore[union-attr]
            parts = (BOOK.render(request.prompt, request.given), structured_output.prompt_schema(request), text)
            self.calls.append(request.prompt.name)
            self.tokens += sum(map(TOKENIZER.count, parts))
            return reply

        return FunctionModel(answer, self.identity)


def chapters(count: int = 4, keepers: int = 40) -> Document:
    texts = [island(keepers).text.split("\n\n", 1)[1] for _ in range(count)]
    parts = [f"## Chapter {n}\n\n{text.replace('Tom', f'Tom{n}')}" for n, text in enumerate(texts, 1)]
    return parse("\n\n".join(["# The Keepers", *parts]).encode(), name="keepers.md")


@dataclass
class Work:
    """A run, of which a dry run says about what it takes."""

    document: Document
    order: Order = field(default_factory=Summarize)
    settings: dict[str, Any] = field(default_factory=dict)
    judges: int = 0

    def planned(self) -> RunPlan:
        return plan_run(self.document, self.complete_order(), SessionOrder())

    def complete_order(self) -> Order:
        """The order with its settings. An object has no window of its own, so that is set."""
        settings = DraftConfig(**{"model": "openai:m", **WIDE, **self.settings})
        return self.order.model_copy(update={"settings": settings})

    def sent(self) -> Counter:
        writer = Counter()
        judges = [Counter(f"openai:judge{n}", writer.calls) for n in range(self.judges)]

        async def run() -> None:
            models = [judge.model() for judge in judges]
            with Store(":memory:") as store:
                async with Session(store, model=writer.model(), judges=models) as session:
                    result = await runner_of(session).begin_order(self.document, self.complete_order())
            assert result.run.status == "done", result.run.error

        asyncio.run(run())
        writer.tokens += sum(judge.tokens for judge in judges)
        return writer

    def check(self, least: int = 1, share: float = 0.1) -> tuple[RunPlan, Counter]:
        """Both differ by a share at most; a few calls by one."""
        plan, sent = self.planned(), self.sent()
        tokens = plan.prompt_tokens + plan.completion_tokens
        assert abs(plan.calls - len(sent.calls)) <= max(least, share * len(sent.calls)), (plan.stages, sent.calls)
        assert abs(tokens - sent.tokens) <= share * sent.tokens, (plan.stages, tokens, sent.tokens)
        return plan, sent


WIDE: dict[str, Any] = {"context_tokens": 16_000, "words": 300, "prompts": "standard"}
DRAFTS: dict[str, dict[str, Any]] = {
    "hierarchical": {"strategy": "hierarchical", "chunk_tokens": 600},
    "incremental": {"strategy": "incremental", "chunk_tokens": 1000},
    "direct": {"strategy": "direct"},
    "by chapter": {"by_chapter": True, "chunk_tokens": 600},
}


@pytest.mark.parametrize("name", DRAFTS)
def test_drafting_takes_what_was_planned(name: str) -> None:
    Work(chapters(), settings=DRAFTS[name]).check(least=0)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("window", [3_000, 16_000])
def test_each_metric_takes_what_was_planned(metric: str, window: int) -> None:
    window = max(window, 5_000) if metric == "booookscore" else window
    order = order_of_draft(JudgeConfig(metrics=(metric,)), given=SUMMARY)
    Work(island(60), order, {"context_tokens": window}).check()


@pytest.mark.slow
def test_two_judges_take_what_was_planned() -> None:
    names = {"judges": ("openai:judge0", "openai:judge1")}
    order = Evaluate(judging=JudgeConfig(metrics=METRICS, repeat=2, **names), given=SUMMARY)
    plan, sent = Work(island(60), order, judges=2).check()
    stages = {stage.name: stage for stage in plan.stages}
    assert list(stages) == [*list(PROMPTS_OF_STAGES)[:2], "consistency", *list(PROMPTS_OF_STAGES)[2:]]
    for name, prompts in PROMPTS_OF_STAGES.items():
        calls = sum(prompt in prompts for prompt in sent.calls)
        comparing = 4 * (name == "coverage")
        assert abs(stages[name].calls - comparing - calls) <= max(1, 0.1 * calls), name


def test_building_a_reference_takes_what_was_planned() -> None:
    Work(island(200), Build(kind="pack", judging=JudgeConfig())).check()
    plan, _ = Work(island(200), Build(kind="keyfacts", judging=JudgeConfig())).check()
    assert [stage.by for stage in plan.stages] == ["judge", "validator", "judge"]


def test_comparing_takes_each_pair_in_both_orders() -> None:
    plan = Work(island(60), Compare(judging=JudgeConfig(repeat=2), given=SUMMARY, other=POOR)).planned()
    assert [(stage.name, stage.calls) for stage in plan.stages] == [("preference", 4)]
    document = TOKENIZER.count(island(60).text)
    assert 4 * document < plan.prompt_tokens < 4 * (document + 3_000)


REFINED: dict[str, dict[str, Any]] = {
    "coverage": {"goals": {"coverage": 1.0}},
    "both": {"goals": {"coverage": 1.0, "consistency": 1.0}},
    "agent": {"goals": {"coverage": 1.0, "consistency": 1.0}, "policy": "agent"},
    "paper": {"goals": {"coverage": 1.0}, "policy": "paper"},
}


@pytest.mark.slow
@pytest.mark.parametrize("name", REFINED)
def test_refining_takes_what_was_planned(name: str) -> None:
    refinement = RefineConfig(**{"rounds": 2, **REFINED[name]})
    summary = POOR if "consistency" in refinement.goals else COMPLETE
    order = order_of_draft(JudgeConfig(metrics=tuple(refinement.goals)), refinement, given=summary)
    # How much an editor changes, and so what is judged anew, is not known beforehand.
    share = 0.1 if name == "paper" else 1 / 3
    _, sent = Work(island(100), order, {"words": 500}).check(share=share)
    assert [sent.calls.count(prompt) for prompt in ("edit", "revise")] == ([0, 2] if name == "paper" else [2, 0])


def test_nothing_is_written_or_sent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("REDRAFT_DB", str(tmp_path / "own.db"))
    monkeypatch.setattr(socket.socket, "connect", lambda *_: pytest.fail("an address is asked"))
    order = order_of_draft(JudgeConfig(metrics=METRICS))
    assert Work(island(20), order, {"words": 60}).planned().calls > 10
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("options", [{"metrics": ["coverage", "consistency"]}, {"goals": {"coverage": 0.9}}])
async def test_the_built_in_model_takes_just_what_was_planned(options: dict[str, Any]) -> None:
    text = " ".join(f"Keeper {n} lit the lamp at {n}, and carried {n} letters to the harbour." for n in range(1, 15))
    async with Session(":memory:") as session:
        document = Document.from_text(text, title="The lamp")
        plan = await session.plan(document, words=40, **options)
        result = await session.summarize(document, words=40, **options)
    assert plan.calls == result.usage.calls > 1


PRICED = ModelSettings(model="openai:nobody", price=Price(prompt=1.0, completion=2.0), context_tokens=4000)


@pytest.fixture
def harness(tmp_path: Path) -> Iterator[Harness]:
    harness = Harness(tmp_path)
    yield harness
    harness.store.close()


async def test_plan_has_calls_tokens_cost_asks_nobody(tmp_path: Path) -> None:
    async with Session(tmp_path / "x.db", model=PRICED) as session:
        plan = await session.plan(island(), words=60)
        assert isinstance(plan, RunPlan)
        assert plan.calls == sum(stage.calls for stage in (plan.drafting, *plan.stages)) > 0
        assert plan.cost_usd is not None
        assert plan.cost_usd == (plan.prompt_tokens + 2 * plan.completion_tokens) / 1_000_000
        assert plan.seconds is None, "the model has never answered"
        assert repr(plan).startswith(f"RunPlan(calls={plan.calls}, prompt_tokens={plan.prompt_tokens}")
        assert not session.store.runs.some()


async def test_run_with_the_maximum_as_limit_ends(harness: Harness) -> None:
    with harness.served() as server:
        model = PRICED.model_copy(update={"base_url": server.base_url})
        async with Session(":memory:", model=model) as session:
            plan = await session.plan(harness.document, summary_of(1), metrics=["consistency"])
        limits = Limits(max_cost=plan.max_cost_usd)
        async with Session(":memory:", model=model, limits=limits) as session:
            result = await session.evaluate(harness.document, summary_of(1), metrics=["consistency"])
    assert result.status == "done"
    assert result.usage.cost_usd is not None
    assert plan.max_cost_usd is not None
    assert result.usage.cost_usd <= plan.max_cost_usd


async def test_plan_with_a_summary_evaluates_or_refines(harness: Harness) -> None:
    async with harness.session(limits=Limits(max_calls=900)) as session:
        evaluated = await session.plan(harness.document, summary_of(1), metrics=["consistency"])
        refined = await session.plan(harness.document, summary_of(1), goals={"consistency": 0.9}, rounds=1)
        with pytest.raises(UsageError, match="until makes no difference to `evaluate`"):
            await session.plan(harness.document, summary_of(1), until=200)
        with pytest.raises(UsageError, match="there is no metric 'beauty'"):
            await session.plan(harness.document, metrics=["beauty"])
    assert [stage.name for stage in evaluated.stages] == ["consistency"]
    assert "revising" in [stage.name for stage in refined.stages]
    assert refined.calls > evaluated.calls
    assert not harness.sheets, "a model that is an object was not asked"
