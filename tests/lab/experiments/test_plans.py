"""The plan of each experiment says about as many calls and tokens as it takes with models that do as they are told."""

from __future__ import annotations

import asyncio
from collections import Counter as Counts
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any
from zlib import crc32

import pytest

from redraft import DraftConfig, JudgeConfig, Limits, Session, Store
from redraft.domain import Document
from redraft.lab.agreement.annotations import Summaries
from redraft.lab.experiments import booookscore, chunk_size, context, grid, hamlet, longsumeval, qa
from redraft.lab.experiments.booookscore import CoherenceDesign, measure_summaries
from redraft.lab.experiments.chunk_size import ChunkSizeDesign
from redraft.lab.experiments.context import ContextDesign
from redraft.lab.experiments.grid import GridDesign, contestants
from redraft.lab.experiments.hamlet import HamletDesign
from redraft.lab.experiments.longsumeval import LongSumEvalDesign
from redraft.lab.experiments.orders import NamedModel
from redraft.lab.experiments.qa import QaDesign
from redraft.lab.experiments.sources import ExistingSummaries
from redraft.llm import structured_output
from redraft.llm.base import FunctionModel, Line, Request
from redraft.llm.budget import PriceTable
from redraft.prompts.qa import ANSWER_FROM_DOCUMENT, ANSWER_QUESTIONS, ASK_TYPED, JUDGE_ANSWERS
from redraft.prompts.revision import REVISE
from redraft.runs.experiment_runner import ExperimentRunner
from redraft.runs.models import ModelPool, ModelRole
from redraft.runs.prepare import PreparedDocument
from redraft.runs.session import runner_of
from redraft.store.runs import Run
from redraft.text.words import count_words
from tests import valley
from tests.judges import (
    Script,
    ScriptedReply,
    Sheet,
    by_item,
    function_model,
    island,
    keepers_in,
    sentence_of,
    summary_of,
)
from tests.runs.test_dry_run import BOOK, TOKENIZER, WHY, Obedient, whole

WRITERS, JUDGES = ("openai:w0", "openai:w1"), ("openai:j0", "openai:j1")
STRICT = "openai:strict"
"""A judge who sees what is missing."""
PRICES = PriceTable({}, {})
VALLEY = (ANSWER_FROM_DOCUMENT, ANSWER_QUESTIONS, ASK_TYPED, JUDGE_ANSWERS)


class Annotator(Obedient):
    """Finds an answer to everything and nothing wrong with it, as a plan does, takes sentences apart, and is never
    confused."""

    def answer_from_summary(self, sheet: Sheet) -> ScriptedReply:
        first, *_ = sheet.items("sentences")
        answer = {"sentences": [first], "answered": True, "answer": "he is one of those by the cold sea"}
        return {"answers": [{"id": n, **answer} for n in sheet.items("questions")]}

    @by_item("comparisons", "pairs")
    def compare_answers(self, sheet: Sheet, pair: Mapping[str, str]) -> dict[str, Any]:
        return {"reason": WHY, "verdict": "full"}

    def split_facts(self, sheet: Sheet) -> ScriptedReply:
        sentences = {n: sentence_of(sentence).split() for n, sentence in sheet.items("sentences").items()}
        parts = {n: [" ".join(words[at:][:9]) for at in (0, 4, 7)] for n, words in sentences.items()}
        return {"sentences": [{"id": n, "facts": facts} for n, facts in parts.items()]}

    def align_facts(self, sheet: Sheet) -> ScriptedReply:
        first, *_ = sheet.items("sentences")
        return {"facts": [{"id": n, "stated": "yes", "sentences": [first]} for n in sheet.items("facts")]}

    def verify_sentences(self, sheet: Sheet) -> ScriptedReply:
        (keeper, *_) = keepers_in(sheet.shown)
        quote = whole(f"keeper number {keeper} is called", sheet.shown)
        return {"sentences": [{"id": n, "quote": quote, "reason": WHY, "category": "none"} for n in sheet.ids]}

    def find_confusion(self, sheet: Sheet) -> ScriptedReply:
        return {"sentences": [{"id": n, "questions": [], "types": ["no confusion"]} for n in sheet.ids]}

    def judge_chunk(self, sheet: Sheet) -> ScriptedReply:
        reply = super().judge_chunk(sheet)
        return reply | {"explanation": WHY}


_LIVES = (
    "and lives {3} at station {1} by the cold sea for {2} years",
    "for {2} years, {3}, and his station is {1}",
    ", lives at station {1} by the cold sea, {3}",
)


def written(values: Any, number: int = 0) -> str:
    """As many whole sentences as there may be, in words that no other draft has."""
    if not hasattr(values, "words"):
        return str(values.summary)
    names = ("document", "excerpt", "summary", "summaries")
    texts = [text for name in names if (text := getattr(values, name, ""))]
    text = "\n".join(part for passage in texts for part in ([passage] if isinstance(passage, str) else passage))
    salt = f"q{crc32(str(values).encode()) % 1000}"
    sentences = [
        f"The keeper number {n} is called {name} {_LIVES[n % 3].format(n, 7 * n, n + 3, f'{salt}n{n}')}."
        for n, name in keepers_in(text).items()
    ] or [f"{passage.strip('. ')} {salt}." for passage in text.replace("\n", " ").split(". ") if passage.strip()]
    count = values.words // min(map(count_words, sentences))
    chosen: list[str] = []
    while not chosen or count_words(" ".join(chosen)) > values.words:
        chosen = [sentences[(at * len(sentences) // count + number) % len(sentences)] for at in range(count)]
        count -= 1
    return " ".join(dict.fromkeys(chosen))


@dataclass
class Staff:
    """Models that do as they are told, and what they were sent."""

    sent: Counts[str] = field(default_factory=Counts)
    tokens: int = 0

    def model(self, identity: str, script: Script, number: int = 0) -> FunctionModel:
        judging = function_model(script)

        def answer(request: Request[Any, Any]) -> Line:
            reply: Line
            if request.prompt.returns is str and request.prompt != REVISE:
                reply = written(request.given, number)
            elif request.prompt in VALLEY and "miller" in str(request.given):
                reply = valley.replies(request)
            else:
                reply = judging._function(request)
            text = reply if isinstance(reply, str) else reply.model_dump_json()  # type: ignore[union-attr]
            lengths = (BOOK.render(request.prompt, request.given), structured_output.prompt_schema(request), text)
            self.sent[identity] += 1
            self.tokens += sum(map(TOKENIZER.count, lengths))
            return reply

        return FunctionModel(answer, identity)


@dataclass(slots=True)
class ScriptedRunner(ExperimentRunner):
    """Has objects in place of models that are opened by their names."""

    def open_models(
        self, assigned: Sequence[ModelRole], run: Run, prepared: PreparedDocument, step: str
    ) -> AbstractAsyncContextManager[ModelPool]:
        objects = [replace(role, model=self._objects[role.settings.model]) for role in assigned]
        return super(ScriptedRunner, self).open_models(objects, run, prepared, step)


def check(experiment: Any, documents: Sequence[Document], design: Any, minimum: int = 1) -> None:
    """A tenth more or less in the plan than in the run; of a few calls, one."""
    staff = Staff()
    human = [staff.model(name, Annotator(), number) for names in (WRITERS, JUDGES) for number, name in enumerate(names)]
    human.append(staff.model(STRICT, Obedient()))

    async def run() -> Any:
        with Store(":memory:") as store:
            async with Session(store, judges=human) as session:
                # Everybody is at hand by name, and has no role beforehand.
                manager = runner_of(session)
                manager.model_roles = replace(manager.model_roles, judges=())
                runner = ScriptedRunner(store, Limits(), PRICES, session=session)
                work: Coroutine[Any, Any, Any] = experiment.run(documents, design, runner)
                return await work

    outcome = asyncio.run(run())
    assert outcome.complete, experiment.report(outcome).tables[-1].to_markdown()
    plan = experiment.plan(documents, design, PRICES)
    assert "left out" not in plan.basis
    planned = Counts[str]()
    for row in plan.rows[:-1]:
        planned[str(row[2])] += row[4]  # type: ignore[assignment,operator]
    for name in staff.sent | planned:
        assert abs(planned[name] - staff.sent[name]) <= max(minimum, 0.1 * staff.sent[name]), (
            staff,
            plan.to_markdown(),
        )
    calls, prompt, reply = plan.rows[-1][4:7]
    assert calls == planned.total()
    assert abs(prompt + reply - staff.tokens) <= 0.1 * staff.tokens, (staff, plan.to_markdown())  # type: ignore[operator]


def settings(model: str, **more: Any) -> DraftConfig:
    criteria = {"strategy": "direct", "words": 300, "context_tokens": 16_000, "prompts": "standard"}
    return DraftConfig.model_validate({"model": model, **criteria, **more})


def named(*models: str, **more: Any) -> tuple[NamedModel, ...]:
    return tuple(NamedModel(model, settings(model, **more)) for model in models)


def panel(**more: Any) -> tuple[NamedModel, ...]:
    return named(*JUDGES, strategy="given", words=None, **more)


def grid_case() -> tuple[Any, ...]:
    systems = contestants(named(*WRITERS), ("direct", "hierarchical"), (600,), (300,))
    judging = JudgeConfig(metrics=("coverage", "faithfulness"))
    return grid, [island(60)], GridDesign(contestants=systems, judges=panel(), judging=judging, prefer=True)


def longsumeval_case() -> tuple[Any, ...]:
    document, (judge,) = island(100), named(STRICT, strategy="given", words=None)
    ready = ExistingSummaries({"people": {document.id: (summary_of(*range(1, 41)),)}})
    ways: dict[str, Any] = {"thresholds": ({"coverage": 1.0},), "orders": ("paper",), "rounds": 2}
    people = {"writers": named(STRICT, words=500), "judge": judge, "judging": JudgeConfig(judges=(STRICT,))}
    return longsumeval, [document], LongSumEvalDesign(**people, **ways, ready=ready)


def hamlet_case() -> tuple[Any, ...]:
    design = HamletDesign(models=named(*WRITERS, words=250), judge=named(JUDGES[0])[0], queries=2)
    return hamlet, [island(120)], design


def context_case() -> tuple[Any, ...]:
    reading: dict[str, Any] = {"strategies": ("direct", "hierarchical"), "steps": (2000, 4000), "words": 300}
    design = ContextDesign(models=named(WRITERS[0]), judge=named(JUDGES[0])[0], **reading)
    return context, [island(200)], design


def qa_case(*strategies: str) -> tuple[Any, ...]:
    models = {"models": named(WRITERS[0]), "judge": named(JUDGES[0])[0]}
    return qa, [valley.book(24)], QaDesign(**models, strategies=strategies, steps=(780, 1200, 5000))


def chunk_size_case() -> tuple[Any, ...]:
    design = ChunkSizeDesign(judges=JUDGES, chunk_sizes=(512, 1024), sample_size=4)
    return chunk_size, [island(60), island(40)], design, 0


def booookscore_case() -> tuple[Any, ...]:
    texts = {f"s{n}": summary_of(*range(n, n + 25)) for n in range(1, 5)}
    design = measure_summaries(Summaries("s.json", texts), (), CoherenceDesign(judges=JUDGES))
    return booookscore, [], design, 0


@pytest.mark.parametrize(
    "case",
    [
        *(pytest.param(case, marks=pytest.mark.slow) for case in (chunk_size_case, booookscore_case)),
        *(
            pytest.param(case, marks=pytest.mark.nightly)
            for case in (grid_case, longsumeval_case, hamlet_case, context_case)
        ),
        pytest.param(partial(qa_case, "direct"), marks=pytest.mark.nightly),
        pytest.param(partial(qa_case, "direct", "hierarchical"), marks=pytest.mark.nightly),
    ],
)
def test_an_experiment_costs_about_its_plan(case: Callable[[], tuple[Any, ...]]) -> None:
    module, *about = case()
    check(module.EXPERIMENT, *about)
