"""What is passed in from Python is used or refused in a sentence, and what a run is asked for is on record."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph

from redraft import Case, DraftConfig, Evaluation, Evaluator, JudgeConfig, Limits, RunError, Session, UsageError, graphs
from redraft import graphs as public
from redraft.graphs import strategies
from redraft.graphs.assembly import draft, judge, summarizer
from redraft.order import Compare, Evaluate, ExperimentPart, Order, Refine, Summarize
from redraft.runs.prepare import RunSpec
from redraft.runs.session import runner_of
from redraft.settings import RefineConfig
from tests.judges import Court, island, told


class Bare(Evaluator):
    async def evaluate(self, case: Case) -> Evaluation:
        return self.scored(1.0 / len(case.text) / 0)


class Breaking(Bare):
    name = "breaking"


class Strange(Breaking):
    aim: Any = "beauty"


@pytest.fixture
def court(tmp_path: Path) -> Iterator[Court]:
    made = Court(tmp_path)
    yield made
    made.store.close()


BOOK = island(3)
TOLD = told(1)
CALLS: list[tuple[str, tuple[Any, ...], dict[str, Any], str]] = [
    ("summarize", (None,), {}, "a document cannot be of the type NoneType"),
    ("summarize", ("",), {}, "the path of the document is empty"),
    ("summarize", (BOOK,), {"metrics": [Bare()]}, "the metric Bare has no name"),
    ("summarize", (BOOK,), {"metrics": [Strange()]}, "the metric breaking has the aim 'beauty'"),
    ("summarize", (BOOK,), {"metrics": [3]}, "3 is not a metric"),
    ("summarize", (BOOK,), {"limits": Limits()}, "there is no setting 'limits' of a call"),
    ("summarize", (BOOK,), {"max_calls": 3}, "there is no setting 'max_calls' of a call"),
    ("summarize", (BOOK,), {"word": 3}, "there is no setting 'word'"),
    ("summarize", (BOOK,), {"until": "10%"}, "until: must be a whole number"),
    ("summarize", (BOOK,), {"settings": 3}, "settings is of the type int"),
    ("summarize", (BOOK,), {"settings": {"words": 1}}, "settings: words: must be at least 10"),
    ("summarize", (BOOK,), {"questions": 3}, "questions makes no difference to `summarize`"),
    ("evaluate", (BOOK, None), {}, "summary is of the type NoneType"),
    ("evaluate", (BOOK, TOLD), {"goals": {"coverage": 1}}, "goals makes no difference to `evaluate`"),
    ("build", (BOOK,), {"words": 30}, "words makes no difference to `build`"),
    ("refine", (BOOK, TOLD), {"findings": ["nonsense"]}, "finding 1 is 'nonsense', which is not a redraft.Finding"),
    ("refine", (BOOK, TOLD), {"strategy": "direct"}, "strategy makes no difference to `refine`"),
    ("compare", (BOOK, None, TOLD), {}, "first is of the type NoneType"),
    ("build", (BOOK, "nonsense"), {}, "'nonsense' cannot be built"),
    ("add", (None,), {}, "text is of the type NoneType"),
    ("add", (__file__,), {}, "the path of a file, and not the text of a summary"),
    ("evaluate", (BOOK, "missing.txt"), {}, "the path of a file, and not the text of a summary"),
    ("summarize", (BOOK,), {"goals": ["coverage"]}, "goals: must map names to values"),
    ("ask", (BOOK, None), {}, "the question is of the type NoneType"),
    ("resume", ("x",), {"limits": 3}, "limits is of the type int"),
]


@pytest.mark.parametrize(("method", "arguments", "options", "message"), CALLS)
async def test_a_call_that_cannot_be_meant_is_refused_in_a_sentence(
    court: Court, method: str, arguments: tuple[Any, ...], options: dict[str, Any], message: str
) -> None:
    async with court.session() as session:
        with pytest.raises(UsageError) as caught:
            await getattr(session, method)(*arguments, **options)
    assert message in str(caught.value)
    assert not court.store.runs.stamps(), "nothing was begun"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"limits": 3}, "limits is of the type int"),
        ({"limits": {"max_call": 3}}, "limits: max_call: is not known here"),
        ({"judging": {"repeat": 0}}, "judging: repeat: must be at least 1"),
        ({"metrics": ["nonsense"]}, "there is no metric 'nonsense'"),
        ({"observer": 3}, "observer is of the type int"),
        ({"prices": {}}, "prices is of the type dict"),
        ({"store": 3}, "store is of the type int"),
        ({"strategies": [3]}, "3 is not a strategy"),
    ],
)
def test_a_session_that_cannot_be_meant_is_refused_in_a_sentence(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message.replace("[", r"\[")):
        Session(**{"store": ":memory:", **arguments})


def test_settings_are_refused_in_our_words() -> None:
    with pytest.raises(UsageError, match=r"^until: must be a whole number$"):
        DraftConfig(until="10%")  # type: ignore[arg-type]
    assert JudgeConfig.model_validate({"models": {"a": {"model": "openai:m"}}}).models["a"].model == "openai:m"


async def test_limits_may_be_a_dict(court: Court) -> None:
    async with court.session(limits={"max_calls": 3}) as session:
        assert runner_of(session).manager.limits == Limits(max_calls=3)


async def test_a_path_is_read_and_the_text_of_a_path_is_refused(court: Court, tmp_path: Path) -> None:
    (tmp_path / "poor.md").write_text(TOLD, "utf-8")
    async with court.session() as session:
        read = await session.evaluate(BOOK, tmp_path / "poor.md", metrics=["consistency"])
        assert read.summary == TOLD
        with pytest.raises(UsageError, match="the path of a file, and not the text of a summary") as caught:
            await session.evaluate(BOOK, str(tmp_path / "poor.md"))
        assert "pathlib.Path(" in caught.value.hint


async def test_an_exception_in_a_metric_names_its_line_and_is_logged(
    court: Court, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_API_KEY", "division by zero")
    async with court.session() as session:
        result = await session.evaluate(BOOK, TOLD, metrics=[Breaking(), "consistency"])
    line = inspect.getsourcelines(Bare)[1] + 1
    assert result.unscored["breaking"].endswith(f"division by zero (test_given.py, line {line + 1})")
    assert result.scores["consistency"] is not None
    (logged,) = [one for one in caplog.records if one.name == "redraft.metrics"]
    assert logged.levelno == logging.ERROR
    assert "the metric breaking failed" in logged.getMessage()
    assert "in evaluate" in logged.getMessage()
    assert "division by zero" not in logged.getMessage(), "keys are redacted"


class Opening:
    """A strategy that takes the beginning of the document."""

    prompts: ClassVar[Sequence[Any]] = ()

    @staticmethod
    async def opening(state: public.DraftState, job: public.Job) -> public.Update:
        words = job.document.text.split()[: job.plan.words]
        return {"draft": await job.keep(" ".join(words), "opening")}

    @classmethod
    def graph(cls, session: public.SessionProtocol | None) -> StateGraph[Any, Any, Any, Any]:
        made = StateGraph(public.DraftState)
        made.add_node("opening", public.node(cls.opening, session))
        made.add_edge(START, "opening")
        return made


@pytest.fixture
def opening(monkeypatch: pytest.MonkeyPatch) -> graphs.Strategy:
    monkeypatch.setattr(strategies, "_objects", {})
    return graphs.Strategy("opening", Opening.graph, graphs.Planner.empty_plan, ())


async def test_a_strategy_may_be_an_object(court: Court, opening: graphs.Strategy) -> None:
    async with court.session() as session:
        made = await session.summarize(BOOK, strategy=opening, words=20)
        assert made.summary == " ".join(BOOK.text.split()[:20])
        assert made.settings.strategy == "opening"
        again = await session.summarize(BOOK, settings=DraftConfig(strategy="opening", words=20))
        assert again.summary == made.summary
        source = await session.add(BOOK)
        order = {"source": source, "words": 20}
        state = await draft(opening).compile().ainvoke({"order": order}, context=session)
        assert (await session.result(state["result"]["run"])).summary == made.summary


async def test_a_run_with_such_a_strategy_is_resumed_where_it_is_passed_again(
    court: Court, opening: graphs.Strategy, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with court.session() as session:
        made = await session.summarize(BOOK, strategy=opening, words=20)
    monkeypatch.setattr(strategies, "_objects", {})  # as in another process
    async with court.session() as session:
        with pytest.raises(RunError, match="the strategy opening, an object of the program that began it"):
            await session.resume(made.run.id)
    async with court.session(strategies=[opening]) as session:
        assert (await session.resume(made.run.id)).summary == made.summary


async def test_a_strategy_in_the_input_of_a_graph_has_an_effect_or_is_refused(court: Court) -> None:
    async with Session(court.store) as session:
        task = {"source": await session.add(BOOK), "words": 20, "strategy": "direct"}
        with pytest.raises(UsageError, match="the graph drafts by hierarchical, so the strategy 'direct'"):
            await draft("hierarchical").compile().ainvoke({"order": task}, context=session)
        with pytest.raises(UsageError, match="the graph judges a summary that it is given"):
            await judge().compile().ainvoke({"order": task}, context=session)
        for graph in (draft(), draft("direct")):
            state = (await graph.compile().ainvoke({"order": task}, context=session))["result"]
            assert (await session.result(state["run"])).settings.strategy == "direct"


async def test_order_written_amid_a_run_is_refused(court: Court) -> None:
    graph = summarizer("hierarchical").compile(checkpointer=InMemorySaver(), interrupt_before=["judge"])
    thread: Any = {"configurable": {"thread_id": "1"}}
    async with Session(court.store) as session:
        order = {"source": await session.add(island()), "words": 60, "goals": {"coverage": 0.9}, "rounds": 1}
        await graph.ainvoke({"order": order}, thread, context=session)
        state = await graph.aget_state(thread)
        changed = await graph.aupdate_state(thread, {"order": {**order, "words": 30}}, as_node="draft")
        with pytest.raises(UsageError, match=f"run {state.values['run']} has begun, and keeps the order") as caught:
            await graph.ainvoke(None, changed, context=session)
        assert "session.fork(" in caught.value.hint
        # It waits once more before it judges a revision.
        output = await graph.ainvoke(None, state.config, context=session)
        assert (output or await graph.ainvoke(None, thread, context=session))["result"]["stop"]


JUDGING = JudgeConfig(metrics=("coverage",))
REFINEMENT = RefineConfig(goals={"coverage": 0.5})
DRAFTING: list[Order] = [Summarize(), Evaluate(judging=JUDGING), Refine(judging=JUDGING, refinement=REFINEMENT)]


@pytest.mark.parametrize("judging", [None, JUDGING])
@pytest.mark.parametrize("refinement", [None, REFINEMENT])
async def test_a_summary_that_nobody_makes_and_nobody_hands_over_is_refused(
    court: Court, judging: JudgeConfig | None, refinement: RefineConfig | None
) -> None:
    settings = court.settings({"strategy": "given"})
    with pytest.raises(UsageError, match="`given` makes no draft") as caught:
        async with court.session() as session:
            await session.summarize(court.document, settings=settings, judging=judging, refinement=refinement)
    assert "evaluate" in caught.value.hint
    assert court.store.runs.latest(9) == []
    assert court.sheets == []


@pytest.mark.parametrize("order", DRAFTING, ids=lambda one: one.kind)
def test_a_draft_is_given_where_one_is_handed_over(order: Order) -> None:
    assert RunSpec(order).settled(DraftConfig()).strategy == "auto"
    for settings in (DraftConfig(), DraftConfig(strategy="given")):
        assert RunSpec(order, given="A draft.").settled(settings).strategy == "given"


@pytest.mark.parametrize("order", [Compare(judging=JUDGING), ExperimentPart(kind="a trial", judging=JUDGING)])
def test_nothing_is_drafted_where_the_run_is_for_something_else(order: Order) -> None:
    assert RunSpec(order).settled(DraftConfig()).strategy == "given"
