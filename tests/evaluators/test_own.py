"""Metrics that are none of redraft's: handed over, or installed, and at no disadvantage. Whatever they do, the run
goes on."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, get_args

import pytest

from redraft import plugins
from redraft.agents.evidence import EvidenceReader
from redraft.agents.judge import Judge
from redraft.domain import Evaluation, Finding
from redraft.errors import BudgetError, ProviderError, StoreError, TransientError, UsageError
from redraft.evaluators.base import Case, Evaluator
from redraft.evaluators.catalog import RESERVED_NAMES, evaluators, names
from redraft.evaluators.metric_info import METRICS, MetricAim, metric_named
from redraft.evaluators.panel import Panel
from redraft.events import Event, Notice
from redraft.graphs.policy import REVIEW
from redraft.llm.base import FunctionModel
from redraft.order import Order, order_of_draft
from redraft.prompts.book import PromptBook
from redraft.prompts.contract import Fence, Prompt, PromptInput, ReplyModel
from redraft.report.history.trace import read_trace
from redraft.runs.prepare import prepare, record, restore
from redraft.settings import JudgeConfig, PolicyName, RefineConfig
from redraft.store.runs import Run
from redraft.text.retrieval import Passages
from redraft.text.tokens import Tokenizer
from tests.judges import Harness, function_model, summary_of
from tests.plugged import installed, package

SUMMARY = summary_of(1, 2)
SENTENCE = "The keeper number 2 is called Tom2."


class SaysTom(Evaluator):
    name = "says_tom"

    async def evaluate(self, case: Case) -> Evaluation:
        return self.scored(case.text.count("Tom") / max(1, len(case.statements)))


class PosedGiven(PromptInput):
    text: Annotated[str, Fence("story")]


class Posed(ReplyModel):
    likes: int


LIKING = Prompt("liking", PosedGiven, Posed, "How much a reader likes it.", template="Do you like it?\n\n{{ text }}\n")


@dataclass(frozen=True)
class Liked(Evaluator):
    """Asks every judge with a prompt of its own."""

    name = "liked"
    version = 3
    prompts = (LIKING,)
    aim = "form"

    async def evaluate(self, case: Case) -> Evaluation:
        replies = [await judge.ask(LIKING, PosedGiven(text=case.text), 20, "liking") for judge in case.panel]
        return self.scored(sum(reply.value.likes for reply in replies) / 10 / len(replies), judged=len(replies))


class Mentions(Evaluator):
    """Wants every keeper's name: installed by the tests that refine for it."""

    name = "mentions"
    aim: MetricAim | None = "content"

    async def evaluate(self, case: Case) -> Evaluation:
        missing = [n for n in (1, 2, 3) if f"number {n} " not in case.text]
        findings = [
            Finding(
                self.name, "missing", "add", "Name the keeper.", expected=f"The keeper number {n} is called Tom{n}."
            )
            for n in missing
        ]
        return self.scored(1 - len(missing) / 3, judged=3, findings=findings, held=[case.statements[0].sentence])


def raising(error: BaseException) -> Evaluator:
    class Raising(Evaluator):
        name = "raising"
        aim = "form"

        async def evaluate(self, case: Case) -> Evaluation:
            raise error

    return Raising()


def giving(result: Any) -> Evaluator:
    class Giving(Evaluator):
        name = "giving"

        async def evaluate(self, case: Case) -> Evaluation:
            evaluation: Evaluation = result(self) if callable(result) else result
            return evaluation

    return Giving()


@pytest.fixture
def install(tmp_path: Path) -> Iterator[Any]:
    """Installs a package with one metric, under the name of its entry point."""
    with ExitStack() as stack:
        yield lambda name, target: stack.enter_context(
            installed(package(tmp_path / "site", {"redraft.metrics": {name: target}}))
        )


def panel(harness: Harness, *metrics: Evaluator, model: Any = None, events: list[Event] | None = None) -> Panel:
    """A jury that judges by these metrics, and by nothing else."""
    tokenizer, document = Tokenizer(), harness.document
    passages, tokens = Passages(document, tokenizer), tokenizer.count(document.text)
    reader = EvidenceReader(document, passages, tokenizer, 8192, tokens)
    judge = Judge(model or function_model(harness.reply_to), PromptBook(), harness.store.verdicts)
    judging = JudgeConfig(metrics=tuple(metric.name for metric in metrics))
    observer = events.append if events is not None else lambda event: None
    own = evaluators(judging, None, metrics)[:-1]
    return Panel(harness.store, reader, (judge,), judge, judging, observer, evaluators=own)


def begun(harness: Harness, *own: Evaluator, metrics: tuple[str, ...] = (), **refinement: Any) -> tuple[Run, Order]:
    """A run that is on record, and what it is to do."""
    judging = JudgeConfig(metrics=(*(metric.name for metric in own), *metrics))
    goals = RefineConfig(**refinement) if refinement else None
    order = order_of_draft(judging, goals, given=SUMMARY)
    prepared = prepare(harness.document, harness.settings({"strategy": "given"}), harness.model, SUMMARY)
    return record(prepared, order, harness.store, own), order


async def judged(harness: Harness, *metrics: Evaluator, **options: Any) -> dict[str, Evaluation]:
    run, _ = begun(harness, *metrics)
    return await judged_by(panel(harness, *metrics, **options), run)


async def judged_by(judges: Panel, run: Run) -> dict[str, Evaluation]:
    """What all the metrics say of a run's draft, side by side."""
    draft = run.draft
    assert draft is not None
    evaluations = await asyncio.gather(*(judges.judge_by(evaluator.name, draft) for evaluator in judges.evaluators))
    stored = judges.store.judgments.of(draft)
    assert stored == {evaluation.metric: evaluation for evaluation in evaluations}
    return stored


async def test_prompts_of_metrics_are_asked_and_recorded(harness: Harness) -> None:
    model = FunctionModel(lambda request: Posed(likes=7))
    evaluation = (await judged(harness, Liked(), model=model))["liked"]
    (request,) = model.asked
    run, _ = begun(harness, Liked())

    assert (evaluation.score, evaluation.version) == (0.7, 3)
    assert PromptBook().render(request.prompt, request.given) == f"Do you like it?\n\n<story>\n{SUMMARY}\n</story>"
    assert run.prompt_hashes["liking"] == PromptBook().hash(LIKING)
    assert run.prompt_hashes["liking"] != PromptBook().hash(replace(LIKING, template="Like it?\n\n{{ text }}\n"))


def test_changed_prompt_refuses_a_resume(harness: Harness) -> None:
    run, _ = begun(harness, Liked())
    changed = replace(LIKING, template="Like it?\n\n{{ text }}\n")

    class Otherwise(Liked):
        prompts = (changed,)

    assert restore(harness.store, run, (Liked(),)).document == harness.document
    with pytest.raises(Exception, match="have changed since it began: liking"):
        restore(harness.store, run, (Otherwise(),))
    with pytest.raises(UsageError, match="there is no metric 'liked'"):
        restore(harness.store, run)


ERRORS = [KeyError("x"), AssertionError("no"), UsageError("never"), RuntimeError("<b>\nodd")]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
async def test_raising_metric_fails_alone(harness: Harness, error: Exception) -> None:
    events: list[Event] = []
    evaluation = await judged(harness, raising(error), SaysTom(), events=events)

    assert evaluation["says_tom"].score == 1.0
    assert (evaluation["raising"].outcome, evaluation["raising"].score) == ("failed", None)
    assert evaluation["raising"].reason == f"{type(error).__name__}: {error}"
    assert events == [Notice(f"raising failed: {evaluation['raising'].reason}")]


@pytest.mark.parametrize(
    "error",
    [
        BudgetError("x"),
        StoreError("x"),
        ProviderError("x"),
        TransientError("x"),
        asyncio.CancelledError(),
    ],
    ids=lambda error: type(error).__name__,
)
async def test_fatal_errors_end_the_run(harness: Harness, error: BaseException) -> None:
    run, _ = begun(harness, raising(error), SaysTom())
    judges = panel(harness, raising(error), SaysTom())
    with pytest.raises(type(error)):
        await judged_by(judges, run)
    assert run.draft is not None
    assert "raising" not in harness.store.judgments.of(run.draft)


FINDING = Finding("giving", "odd", "drop", "Leave it out.", sentence=SENTENCE)
UNSOUND: dict[str, Any] = {
    "1.7, which is not from 0 to 1": lambda metric: metric.scored(1.7),
    "nan, which is not from 0 to 1": lambda metric: metric.scored(float("nan")),
    "returned None instead of an Evaluation": None,
    "of the metric coverage": Evaluation("coverage", 1, "scored", 0.5),
    "the score None with the outcome scored": Evaluation("giving", 1, "scored"),
    "judged -1 items": lambda metric: metric.scored(0.5, judged=-1),
    "task: must be 'add', 'correct'": lambda metric: metric.scored(0.5, findings=[replace(FINDING, task="burn")]),
    "findings.0: must be an object": lambda metric: metric.scored(0.5, findings=["bad"]),
    "held.0: must be text": lambda metric: metric.scored(0.5, held=[3]),
    "details that are not JSON": lambda metric: metric.scored(0.5, details={"x": object()}),
}


@pytest.mark.parametrize("complaint", UNSOUND)
async def test_invalid_evaluation_is_refused(harness: Harness, complaint: str) -> None:
    evaluation = (await judged(harness, giving(UNSOUND[complaint]), SaysTom()))["giving"]

    assert evaluation.outcome == "failed"
    assert evaluation.reason.startswith("ValueError: the metric giving ")
    assert complaint in evaluation.reason


@pytest.mark.slow
@pytest.mark.parametrize(
    ("policy", "aim"),
    [
        *((policy, "content") for policy in get_args(PolicyName)),
        ("editor", "truth"),
        ("editor", "form"),
    ],
)
async def test_installed_metric_is_a_goal(
    harness: Harness, install: Any, monkeypatch: pytest.MonkeyPatch, policy: str, aim: MetricAim
) -> None:
    install("mentions", f"{__name__}:Mentions")
    monkeypatch.setattr(Mentions, "aim", aim)
    result = await harness.refine(SUMMARY, goals={"mentions": 1.0, "consistency": 1.0}, policy=policy)

    assert result.initial_scores["mentions"] == pytest.approx(2 / 3)
    assert result.scores["mentions"] == 1.0
    assert result.run.stop_reason == "goals_met"
    assert result.summary is not None
    assert "keeper number 3 is called Tom3" in result.summary
    # What it says stays readable when it is not there any more.
    (Path(harness.store.path).parent / "site" / "wordy-1.0.dist-info" / "entry_points.txt").unlink()
    plugins.names.cache_clear()
    assert metric_named("mentions") is None
    assert [turn.evaluations["mentions"].score for turn in read_trace(harness.store, result.run.id).rounds][-1] == 1.0


def test_metrics_are_listed_with_the_installed(install: Any) -> None:
    with pytest.raises(UsageError) as caught:
        evaluators(JudgeConfig(metrics=("beauty",)), None, (SaysTom(),))
    choices = (
        "coverage, consistency, keyfact_recall, faithfulness, booookscore, newcomer, spread, position,"
        " statistics, says_tom"
    )
    assert caught.value.message == "there is no metric 'beauty'"
    assert caught.value.hint == f"choose from: {choices}"
    install("mentions", f"{__name__}:Mentions")
    assert names() == (*METRICS, "mentions")
    assert getattr(metric_named("mentions"), "aim", None) == "content"


NO_FACTORY = "cannot be made: TypeError"


@pytest.mark.parametrize(
    ("name", "target", "complaint"),
    [
        ("beauty", "Mentions", "the installed metric beauty calls itself mentions"),
        ("coverage", "Mentions", "an installed package has a metric named coverage"),
        ("beauty", "SENTENCE", f"the installed metric beauty {NO_FACTORY}"),
        ("beauty", "PosedGiven.model_construct", "the installed metric beauty is not an Evaluator"),
        ("beauty", "nothing", "beauty, of the package wordy, cannot be loaded: AttributeError"),
    ],
)
def test_faulty_installed_metric_is_named(install: Any, name: str, target: str, complaint: str) -> None:
    install(name, f"{__name__}:{target}")
    with pytest.raises(UsageError) as caught:
        evaluators(JudgeConfig(metrics=(name,)), None)
    assert caught.value.message.startswith(complaint)


def unnamed(name: Any) -> Evaluator:
    metric = SaysTom()
    metric.name = name
    return metric


@pytest.mark.parametrize(
    ("metrics", "complaint"),
    [
        ((SaysTom(), SaysTom()), "there are two metrics named says_tom"),
        ((unnamed("coverage"),), "there are two metrics named coverage"),
        ((unnamed("a=b"),), "'a=b' is not a valid name for a metric"),
        ((unnamed(None),), "the metric SaysTom has no name"),
        ((SaysTom,), "is not a metric"),
    ],
)
def test_metric_objects_need_valid_names(metrics: Any, complaint: str) -> None:
    with pytest.raises(UsageError) as caught:
        names(metrics)
    assert complaint in caught.value.message
    assert REVIEW in RESERVED_NAMES


@pytest.mark.parametrize(
    ("prompt", "complaint"),
    [
        (replace(LIKING, name="merge"), "has a prompt named merge, but another prompt has that name"),
        (replace(LIKING, template=""), "the prompt liking of the metric posing has no template"),
    ],
)
def test_prompts_of_metrics_need_names_and_templates(prompt: Any, complaint: str) -> None:
    class Posing(Liked):
        name = "posing"
        prompts = (prompt,)

    with pytest.raises(UsageError) as caught:
        evaluators(JudgeConfig(metrics=("posing",)), None, (Posing(),))
    assert complaint in caught.value.message


def names_a_date(case: Case) -> tuple[bool, str]:
    """The summary names a date."""
    return "1924" in case.text, "There is no date."


async def test_a_function_is_installed_as_a_metric(harness: Harness, install: Any) -> None:
    install("names_a_date", f"{__name__}:names_a_date")
    async with harness.session() as session:
        goals = {"names_a_date": 1.0}
        result = await session.refine(harness.document, SUMMARY, goals=goals, rounds=0)
        assert "names_a_date" in session.metrics()
    evaluation = result.evaluations["names_a_date"]
    assert (evaluation.score, evaluation.reason) == (0.0, "There is no date.")
    assert evaluation.findings[0].explanation.startswith("There is no date. Change the summary so that")
    metric = metric_named("names_a_date")
    assert metric is not None
    assert (metric.aim, metric.prompts) == ("form", ())
