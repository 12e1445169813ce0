"""A dry run says about as many calls and tokens as a run takes whose model does as it is told."""

from __future__ import annotations

import asyncio
import socket
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, cast

import pytest

from benchmarks.common import SAMPLE
from benchmarks.judging_cost import Reader, drafts
from redraft import Case, Evaluation, Evaluator, Fence, Prompt, PromptInput, ReplyModel, Session, Store
from redraft.domain import Document
from redraft.llm import structured_output
from redraft.llm.base import FunctionModel, Line, Request
from redraft.llm.budget import builtin_prices
from redraft.order import BuildKeyfacts, BuildQuestions, Compare, Evaluate, Order, order_of_draft
from redraft.prompts.book import PromptBook
from redraft.prompts.revision import EDIT, REVISE
from redraft.readers.documents import parse
from redraft.runs.dry_run import SampledDryRuns, dry_run, plan_run
from redraft.runs.plans import RunPlan
from redraft.runs.prepare import RunSpec, prepare
from redraft.runs.session import runner_of
from redraft.settings import USUAL_METRICS, DraftConfig, JudgeConfig, RefineConfig
from redraft.text.tokens import EstimatingTokenizer
from redraft.text.words import count_words
from tests.judges import (
    WANTED,
    Keepers,
    Said,
    Sheet,
    asked_of,
    fact_of,
    function_model,
    island,
    keepers_in,
    looked_up,
    sentence_of,
    told,
    tree_of,
)

METRICS = ("coverage", "consistency", "keyfact_recall", "faithfulness", "booookscore")
NAMES = {
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
BOOK, TOKENIZER = PromptBook(), EstimatingTokenizer()
SUMMARY = told(*range(1, 61))
# More are wrong than two revisions mend, as there are several findings on each.
POOR = told(*range(1, 41), wrong={n: f"Bob{n}" for n in range(1, 41, 5)})
COMPLETE = told(*range(1, 41))


class SummaryGiven(PromptInput):
    """A summary to be marked."""

    summary: Annotated[str, Fence("summary")]


class Obedient(Keepers):
    """Answers in words of its own, quotes whole sentences, and asks several questions about a sentence."""

    def ask_document(self, sheet: Sheet) -> Said:
        lines = [line for line in sheet.shown.splitlines() if keepers_in(line)]
        wanted = sheet.limit(WANTED)
        asked = [
            {
                "question": f"What is keeper number {number} called, by the book that tells of all of them?",
                "kind": "who",
                "answer": f"he goes by the name of {name}",
                "quote": line,
            }
            for line in lines[:: max(1, len(lines) // wanted)]
            for number, name in keepers_in(line).items()
        ]
        return {"questions": asked[:wanted]}

    def answer_from_summary(self, sheet: Sheet) -> Said:
        said = super().answer_from_summary(sheet)
        for one in said["answers"]:
            one["answer"] = one["answer"] and f"he is known there as {one['answer']}"
        return said

    def answer_from_document(self, sheet: Sheet) -> Said:
        said = super().answer_from_document(sheet)
        for one in said["answers"]:
            one["answer"] = one["answer"] and f"there he is called {one['answer']}"
            one["quote"] = whole(one["quote"], sheet.shown)
        return said

    def compare_answers(self, sheet: Sheet) -> Said:
        pairs = sheet.items("pairs").items()
        same = {n: one["document"].split()[-1] == one["summary"].split()[-1] for n, one in pairs}
        return {
            "comparisons": [
                {"id": n, "reason": WHY, "verdict": "full" if agrees else "contradicts"} for n, agrees in same.items()
            ]
        }

    def ask_summary(self, sheet: Sheet) -> Said:
        asked = (
            "What is keeper number {} called at the station where he lives, {}?",
            "By which name goes keeper number {} there by the sea, {}?",
            "Who is keeper number {} of those who live by the sea, {}?",
        )
        return {
            "sentences": [
                {
                    "id": n,
                    "questions": [
                        {
                            "question": text.format(number, name[::-1]),
                            "answer": f"he is {name}",
                            "search": f"keeper number {number} called",
                            "importance": 3,
                        }
                        for number, name in keepers_in(sentence_of(item)).items()
                        for text in asked
                    ],
                }
                for n, item in sheet.items("sentences").items()
                if n in sheet.ids
            ]
        }

    def keyfacts_analytical(self, sheet: Sheet) -> Said:
        keepers = list(keepers_in(sheet.within("excerpt")).items())
        return tree_of(keepers[: max(FACTS, len(keepers) // 5)])

    def keyfacts_narrative(self, sheet: Sheet) -> Said:
        keepers = list(keepers_in(sheet.within("excerpt")).items())
        return tree_of(keepers[-max(FACTS, len(keepers) // 5) :])

    def facts_faithful(self, sheet: Sheet) -> Said:
        said = _explained(super().facts_faithful(sheet), "facts")
        assert isinstance(said, dict)
        for one in said["facts"]:
            one["quote"] = whole(one["quote"], sheet.within("excerpt"))
        return said

    def facts_objective(self, sheet: Sheet) -> Said:
        return _explained(super().facts_objective(sheet), "facts")

    def facts_significant(self, sheet: Sheet) -> Said:
        return _explained(super().facts_significant(sheet), "facts")

    def verify_sentences(self, sheet: Sheet) -> Said:
        said = _explained(super().verify_sentences(sheet), "sentences")
        assert isinstance(said, dict)
        for one in said["sentences"]:
            (number,) = keepers_in(sheet.judged[one["id"]])
            one["quote"] = whole(f"keeper number {number} is called", sheet.shown)
        return said

    def rule_on_findings(self, sheet: Sheet) -> Said:
        return _explained(super().rule_on_findings(sheet), "points")

    def prefer_summary(self, sheet: Sheet) -> Said:
        return {"reason": f"{WHY} {WHY}", **dict.fromkeys(("detail", "structure", "logic", "overall"), "tie")}

    def outline(self, sheet: Sheet) -> Said:
        point = "A keeper comes to the island and lives there by the sea."
        names = [{"name": f"Tom{n}", "phrase": "a keeper who lives by the sea"} for n in range(10)]
        return {"kind": "other", "line": point, "turning_points": [point] * 8, "cast": names}

    def revise(self, sheet: Sheet) -> Said:
        points = sheet.items("points")
        text = sheet.within("summary")
        for point in list(points.values())[:MENDED]:
            text = self.mended(text, looked_up(point, text, sheet.shown))
        lines = "\n".join(f"{n}: mended" for n in points)
        return f"<points>\n{lines}\n</points>\n<revision>\n{text}\n</revision>"

    def edit(self, sheet: Sheet) -> Said:
        text = sheet.within("summary")
        for point in sheet.items("points").values():
            text = self.mended(text, looked_up(point, text, sheet.shown))
        missing = [item for item in sheet.items("must_know").values() if item.get("draft") == "not at all"]
        facts = [fact_of(asked_of(item["question"]), item["answer"].split()[-1]) for item in missing[:MENDED]]
        lines = "\n".join(f"{n}: fixed" for n in sheet.items("points"))
        return f"<points>\n{lines}\n</points>\n<revision>\n{' '.join([text, *facts])}\n</revision>"

    def choose_draft(self, sheet: Sheet) -> Said:
        """Prefers the first text that an editor writes, and no later one."""
        given = [sheet.within(field) in (POOR, COMPLETE) for field in ("first", "second")]
        choice = {(True, False): "second", (False, True): "first"}.get((given[0], given[1]), "tie")
        return {"reason": f"{WHY} {WHY}", **dict.fromkeys(("clear", "content", "overall"), choice)}

    def mended(self, text: str, point: dict[str, str]) -> str:
        name = {"answer": point["answer"].split()[-1]} if "answer" in point else {}
        return super().mended(text, point | name)

    def decide(self, sheet: Sheet) -> Said:
        if "you will be asked again" in sheet.text:
            return {"why": WHY, "look_up": [f"keeper number {n}" for n in (1, 2, 3)]}
        return {"why": WHY, "mend": list(sheet.items("findings"))[:6], "instruction": "Be brief."}


def whole(quote: str, text: str) -> str:
    """The sentence that a quote is from."""
    return next((line for line in text.splitlines() if quote and f"{quote} " in line), quote)


def _explained(said: Said, field: str) -> Said:
    assert isinstance(said, dict)
    return {field: [{**one, "reason": WHY} for one in said[field]]}


# Of sentences that have nearly the same words a draft is tidied.
_LIVES = (
    ", alone at station w{0} or x{0} since y{0}",
    " after z{0} of p{0} who left q{0} behind",
    ", for r{0} was s{0} when t{0} came",
)


def drafted(given: Any, sample: int = 0) -> str:
    """As many sentences on keepers as there may be words."""
    names = ("document", "excerpt", "summary", "summaries")
    texts = [text for name in names if (text := getattr(given, name, ""))]
    known = keepers_in("\n".join(text if isinstance(text, str) else "\n".join(text) for text in texts))
    sentences = [
        f"The keeper number {n} is called {name}{_LIVES[n % len(_LIVES)].format(n)}." for n, name in known.items()
    ]
    most = max(1, given.words // count_words(sentences[0]))
    return " ".join(sentences[sample :: -(-len(sentences) // most)][:most])


@dataclass
class Counter:
    """A model that does as it is told, and counts what it is asked."""

    identity: str = "openai:m"
    calls: list[str] = field(default_factory=list)
    tokens: int = 0

    def model(self) -> FunctionModel:
        judging = function_model(Obedient())

        def answer(request: Request[Any, Any]) -> Line:
            draws = request.prompt.returns is str and request.prompt not in (EDIT, REVISE)
            said = drafted(request.given, request.sampling.sample) if draws else judging._function(request)
            text = said if isinstance(said, str) else said.model_dump_json()  # type: ignore[union-attr]
            sent = (BOOK.render(request.prompt, request.given), structured_output.prompt_schema(request), text)
            self.calls.append(request.prompt.name)
            self.tokens += sum(map(TOKENIZER.count, sent))
            return said

        return FunctionModel(answer, self.identity)


def chapters(count: int = 4, keepers: int = 40) -> Document:
    """A document of several chapters."""
    texts = [island(keepers).text.split("\n\n", 1)[1] for _ in range(count)]
    parts = [f"## Chapter {n}\n\n{text.replace('Tom', f'Tom{n}')}" for n, text in enumerate(texts, 1)]
    return parse("\n\n".join(["# The Keepers", *parts]).encode(), name="keepers.md")


def said_of(document: Document, order: Order | None, given: str | None, settings: dict[str, Any]) -> RunPlan:
    """What a dry run says."""
    spec = RunSpec(order, given=given) if order else RunSpec(given=given)
    return plan_run(document, DraftConfig(model="openai:m", **settings), spec, builtin_prices())


def sent_of(
    document: Document, order: Order | None, given: str | None, settings: dict[str, Any], judges: int = 0
) -> Counter:
    """What a run sends."""
    writer = Counter()
    spec = RunSpec(order, given=given) if order else RunSpec(given=given)

    async def run() -> None:
        models = []
        for n in range(judges):
            judge = Counter(f"openai:judge{n}", writer.calls)
            models.append((judge, judge.model()))
        with Store(":memory:") as store:
            async with Session(store, model=writer.model(), judges=[model for _, model in models]) as session:
                # An object has no window of its own, so that is set.
                drafting = DraftConfig(model="openai:m", **settings)
                done = await runner_of(session).begin_order(document, spec.with_settings(drafting))
        assert done.run.status == "done", done.run.error
        writer.tokens += sum(judge.tokens for judge, _ in models)

    asyncio.run(run())
    return writer


def check(said: RunPlan, sent: Counter, least: int = 1, share: float = 0.1) -> None:
    """A share more or less; of a few calls, one."""
    tokens = said.prompt_tokens + said.completion_tokens
    assert abs(said.calls - len(sent.calls)) <= max(least, share * len(sent.calls)), (said.stages, sent.calls)
    assert abs(tokens - sent.tokens) <= share * sent.tokens, (said.stages, tokens, sent.tokens)


WIDE: dict[str, Any] = {"context_tokens": 16_000, "words": 300, "prompts": "standard"}
DRAFTS: dict[str, dict[str, Any]] = {
    "hierarchical": {"strategy": "hierarchical", "chunk_tokens": 600},
    "outlined": {"strategy": "hierarchical", "chunk_tokens": 600, "merge": "source"},
    "incremental": {"strategy": "incremental", "chunk_tokens": 1000},
    "direct": {"strategy": "direct"},
    "by chapter": {"by_chapter": True, "chunk_tokens": 600},
}


@pytest.mark.parametrize("name", DRAFTS)
def test_drafting_takes_about_what_was_said(name: str) -> None:
    settings, document = {**WIDE, **DRAFTS[name]}, chapters()
    check(said_of(document, None, None, settings), sent_of(document, None, None, settings), least=0)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("window", [3_000, 16_000])
def test_each_metric_takes_about_what_was_said(metric: str, window: int) -> None:
    if metric == "booookscore" and window < 5_000:
        window = 5_000
    order, settings = order_of_draft(JudgeConfig(metrics=(metric,))), {**WIDE, "context_tokens": window}
    document = island(60)
    check(said_of(document, order, SUMMARY, settings), sent_of(document, order, SUMMARY, settings))


@pytest.mark.slow
async def test_an_evaluation_of_a_story_takes_what_was_said_within_a_third() -> None:
    """The judge words things as `benchmarks.judging_cost` has it, and knows nothing of what a dry run expects."""
    document = parse(SAMPLE.read_bytes(), name="ledger.md")
    summary, _ = drafts(document, 250)
    settings, order = DraftConfig(model="openai:m", **WIDE), order_of_draft(JudgeConfig(metrics=USUAL_METRICS))
    said = plan_run(document, settings, RunSpec(order, given=summary), builtin_prices())
    with Store(":memory:") as store:
        async with Session(store, model=cast(Any, Reader("standard"))) as session:
            usage = (await session.evaluate(document, summary, settings=settings)).usage
    sent = usage.prompt_tokens + usage.completion_tokens
    assert abs(said.prompt_tokens + said.completion_tokens - sent) <= sent / 3


@pytest.mark.slow
def test_a_panel_of_two_judges_takes_about_what_was_said_stage_by_stage() -> None:
    judges = {"judges": ("openai:judge0", "openai:judge1")}
    order = Evaluate(judging=JudgeConfig(metrics=METRICS, repeat=2, **judges))
    said = said_of(island(60), order, SUMMARY, WIDE)
    sent = sent_of(island(60), order, SUMMARY, WIDE, judges=2)
    check(said, sent)
    stages = {stage.name: stage for stage in said.stages}
    assert list(stages) == [*list(NAMES)[:2], "consistency", *list(NAMES)[2:]]
    for name, prompts in NAMES.items():
        calls = sum(one in prompts for one in sent.calls)
        comparing = 4 * (name == "coverage")
        assert abs(stages[name].calls - comparing - calls) <= max(1, 0.1 * calls), name


BUILDS: dict[str, Order] = {
    "questions": BuildQuestions(judging=JudgeConfig()),
    "keyfacts": BuildKeyfacts(judging=JudgeConfig()),
}


@pytest.mark.parametrize("what", BUILDS)
def test_what_is_built_takes_about_what_was_said(what: str) -> None:
    said = said_of(island(200), BUILDS[what], None, WIDE)
    check(said, sent_of(island(200), BUILDS[what], None, WIDE))
    if what == "keyfacts":
        assert [stage.by for stage in said.stages] == ["judge", "validator", "judge"]


def test_a_comparison_takes_about_what_was_said() -> None:
    order = RunSpec(Compare(judging=JudgeConfig(repeat=2)), given=SUMMARY, other=POOR)
    said = plan_run(island(60), DraftConfig(model="openai:m", **WIDE), order, builtin_prices())
    assert [(stage.name, stage.calls) for stage in said.stages] == [("preference", 4)]
    document = TOKENIZER.count(island(60).text)
    assert 4 * document < said.prompt_tokens < 4 * (document + 3_000)


REFINED: dict[str, dict[str, Any]] = {
    "coverage": {"goals": {"coverage": 1.0}},
    "both": {"goals": {"coverage": 1.0, "consistency": 1.0}},
    "agent": {"goals": {"coverage": 1.0, "consistency": 1.0}, "policy": "agent"},
    "paper": {"goals": {"coverage": 1.0}, "policy": "paper"},
}


@pytest.mark.slow
@pytest.mark.parametrize("name", REFINED)
def test_refining_takes_about_what_was_said_where_every_round_is_gone_through(name: str) -> None:
    refinement = RefineConfig(**{"rounds": 2, **REFINED[name]})
    order, settings = (
        order_of_draft(JudgeConfig(metrics=tuple(refinement.goals)), refinement),
        {**WIDE, "words": 500},
    )
    given = POOR if "consistency" in refinement.goals else COMPLETE
    said = said_of(island(100), order, given, settings)
    sent = sent_of(island(100), order, given, settings)
    assert [sent.calls.count(name) for name in ("edit", "revise")] == ([0, 2] if name == "paper" else [2, 0])
    # How much an editor changes, and so what is judged anew, is not known beforehand.
    check(said, sent, share=0.1 if name == "paper" else 1 / 3)


def test_a_tenth_is_less_than_what_another_document_makes_of_a_difference() -> None:
    settings = {**WIDE, **DRAFTS["hierarchical"]}
    with pytest.raises(AssertionError):
        check(said_of(chapters(2), None, None, settings), sent_of(chapters(4), None, None, settings), least=0)


def test_documents_of_about_one_size_are_counted_by_one_dry_run() -> None:
    sampled, settings = SampledDryRuns(), DraftConfig(model="openai:m", **WIDE)
    some = [prepare(chapters(4, keepers), settings) for keepers in (40, 41, 80)]
    (one, share), (other, more), (third, _) = (sampled.of(prepared, RunSpec()) for prepared in some)
    assert one is other
    assert one is not third
    assert (share, round(more, 1)) == (1, 1.0)
    assert more > 1


def test_a_prompt_that_is_not_known_is_counted_and_answered_by_its_schema() -> None:
    class Mark(ReplyModel):
        likes: int
        why: str
        kinds: list[str]
        tone: Literal["warm", "cold"] | None = None

    prompt = Prompt("marked", SummaryGiven, Mark, "how it is liked", template="{{ summary }}\n\nDo you like it?")

    class Marked(Evaluator):
        name = "marked"
        prompts = (prompt,)

        async def evaluate(self, case: Case) -> Evaluation:
            said = await case.panel[0].ask(prompt, SummaryGiven(summary=case.text), 50, "marked")
            return self.scored(said.value.likes / 10)

    order = Evaluate(judging=JudgeConfig(metrics=("marked",)))
    prepared = prepare(island(20), DraftConfig(model="openai:m", strategy="given"), given=SUMMARY)
    said = dry_run(prepared, RunSpec(order, given=SUMMARY, own=(Marked(),)))
    assert [(stage.name, stage.calls, stage.by) for stage in said.stages] == [("marked", 1, "judge")]
    assert said.prompt_tokens > TOKENIZER.count(SUMMARY)


def test_nothing_is_written_and_no_address_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("REDRAFT_DB", str(tmp_path / "own.db"))
    monkeypatch.setattr(socket.socket, "connect", lambda *_: pytest.fail("somebody is asked"))
    said = said_of(island(20), order_of_draft(JudgeConfig(metrics=METRICS)), None, {**WIDE, "words": 60})
    assert said.calls > 10
    assert list(tmp_path.iterdir()) == []


async def test_a_dry_run_works_within_a_running_loop() -> None:
    said = said_of(island(20), None, None, {"strategy": "direct", "words": 100})
    assert said.calls == 1
