"""What cannot be meant is refused at once, in a sentence that says what to pass instead; nothing is begun by then."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import redraft
from redraft import Case, Evaluation, Evaluator, JudgeConfig, Limits, RefineConfig, Session, SyncSession
from redraft.errors import UsageError
from redraft.runs.session import runner_of

TEXT = "The board met at seven. " * 3 + "It was cold, and nothing was agreed on."
MINUTES = redraft.Document.from_text(TEXT, "Minutes")
WRONG = "The board met at eight."
JUDGING = JudgeConfig(metrics=("coverage",))


class Nameless(Evaluator):
    async def evaluate(self, case: Case) -> Evaluation:
        return self.scored(1.0 / len(case.text) / 0)


class Breaking(Nameless):
    name = "breaking"


class Aimless(Breaking):
    aim: Any = "beauty"


CALLS: list[tuple[Callable[[Any], Any], str, str]] = [
    (lambda s: s.summarize(None), "a document cannot be of the type NoneType", "pass"),
    (lambda s: s.summarize(b"book.md"), "a document cannot be of the type bytes", "pass a path"),
    (lambda s: s.summarize(""), "the path of the document is empty", "pass the path"),
    (lambda s: s.summarize("a\ud800.md"), "a text of 5 characters was given", "from_text"),
    (lambda s: s.summarize(MINUTES, metrics=[Nameless()]), "the metric Nameless has no name", ""),
    (lambda s: s.summarize(MINUTES, metrics=[Aimless()]), "the metric breaking has the aim 'beauty'", ""),
    (lambda s: s.summarize(MINUTES, metrics=[3]), "3 is not a metric", ""),
    (lambda s: s.summarize(MINUTES, limits=Limits()), "there is no setting 'limits' of a call", "redraft.Limits("),
    (lambda s: s.summarize(MINUTES, max_calls=3), "there is no setting 'max_calls' of a call", "max_calls=..."),
    (lambda s: s.summarize(MINUTES, word=3), "there is no setting 'word'", "did you mean words"),
    (lambda s: s.summarize(MINUTES, until="10%"), "until: must be a whole number", ""),
    (lambda s: s.summarize(MINUTES, settings=3), "settings is of the type int", ""),
    (lambda s: s.summarize(MINUTES, settings={"words": 1}), "settings: words: must be at least 10", ""),
    (lambda s: s.summarize(MINUTES, questions=3), "questions makes no difference to `summarize`", "metrics"),
    (lambda s: s.summarize(MINUTES, goals=["coverage"]), "goals: must map names to values", ""),
    (lambda s: s.summarize(MINUTES, callbacks=["x"]), "callbacks", "[handler]"),
    (lambda s: s.summarize(MINUTES, tags=["a", None]), "tags.1 must be text", "tags=[text]"),
    (lambda s: s.summarize(MINUTES, metadata={1: 2}), "metadata.1 must be text", "metadata={name: value}"),
    (lambda s: s.summarize(MINUTES, strategy="given"), "`given` makes no draft", "evaluate"),
    (lambda s: s.summarize(MINUTES, strategy="given", goals={"coverage": 0.5}), "`given` makes no draft", "evaluate"),
    (lambda s: s.evaluate(MINUTES, None), "summary is of the type NoneType", "Path"),
    (lambda s: s.evaluate(MINUTES, "missing.txt"), "the path of a file, and not the text of a summary", "Path("),
    (lambda s: s.evaluate(MINUTES, WRONG, goals={"coverage": 1}), "goals makes no difference to `evaluate`", "leave"),
    (
        lambda s: s.evaluate(MINUTES, WRONG, refinement=RefineConfig(goals={})),
        "refinement makes no difference",
        "leave",
    ),
    (lambda s: s.evaluate(MINUTES, WRONG, metrics=5), "metrics is of the type int", "metrics=[...]"),
    (lambda s: s.refine(MINUTES, WRONG, strategy="direct"), "strategy makes no difference to `refine`", "leave"),
    (lambda s: s.refine(MINUTES, WRONG, findings=5), "findings is of the type int", "findings=[...]"),
    (lambda s: s.refine(MINUTES, WRONG, findings=["x"]), "finding 1 is 'x', which is not a redraft.Finding", "pass"),
    (lambda s: s.ask(MINUTES, None), "the question is of the type NoneType", "pass it as text"),
    (lambda s: s.ask(MINUTES, ""), "the question is empty", "write it in words"),
    (lambda s: s.ask(MINUTES, "Who?", until=100), "until makes no difference to `ask`", "leave it out"),
    (lambda s: s.compare(MINUTES, None, WRONG), "first is of the type NoneType", ""),
    (lambda s: s.build(MINUTES, words=30), "words makes no difference to `build`", "leave it out"),
    (lambda s: s.build(MINUTES, "chapters"), "'chapters' cannot be built", "keyfacts"),
    (lambda s: s.add(None), "text is of the type NoneType", ""),
    (lambda s: s.add(__file__), "the path of a file, and not the text of a summary", "Path("),
    (lambda s: s.result(None), "a run is named by its id, not by a NoneType", "result.run.id"),
    (lambda s: s.resume(5), "a run is named by its id, not by a int", "result.run.id"),
    (lambda s: s.resume("x", limits=3), "limits is of the type int", ""),
    (lambda s: s.resume("ffffffff", max_cost=5), "there is no argument 'max_cost' here", "help()"),
    (lambda s: redraft.batch(s, 5), "sources is of the type int", "sources=[...]"),
    (lambda s: redraft.batch(s, [5]), "a document cannot be of the type int", "pass a path"),
    (lambda s: redraft.batch(SyncSession(s), ["book.md"]), "session is of the type SyncSession", "session.session"),
    (lambda s: redraft.batch(s, [MINUTES], name=5), "the name of a batch is of the type int", "pass a str"),
    (lambda s: redraft.resume_batch(None, "x"), "session is of the type NoneType", "session.session"),
]


@pytest.mark.parametrize(("call", "message", "hint"), CALLS)
async def test_wrong_argument_is_refused(call: Callable[[Any], Any], message: str, hint: str) -> None:
    async with Session(":memory:") as session:
        with pytest.raises(UsageError) as refusal:
            await call(session)
        assert not session.store.runs.some()
    assert message in str(refusal.value)
    assert hint in refusal.value.hint


def in_session(call: Callable[[Any], object]) -> object:
    with SyncSession(":memory:") as session:
        return call(session)


async def watch(event: redraft.Event) -> None: ...


READERS = (
    *(redraft.read_result, redraft.read_trace, redraft.read_lineage, redraft.records.compared),
    *(
        redraft.read_dossier,
        redraft.read_batch,
        redraft.records.read_answer,
        redraft.records.built,
        redraft.citations_of,
    ),
)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Session(":memory:", judge="extractive"), "there is no argument 'judge' here"),
        (lambda: Session(":memory:", base_url="http://localhost:1"), "base_url is no argument of a session"),
        (lambda: Session(":memory:", judges=5), "judges is of the type int"),
        (lambda: Session(":memory:", limits=3), "limits is of the type int"),
        (lambda: Session(":memory:", limits={"max_call": 3}), "limits: max_call: is not known here"),
        (lambda: Session(":memory:", judging={"repeat": 0}), "judging: repeat: must be at least 1"),
        (lambda: Session(":memory:", metrics=["beauty"]), "there is no metric 'beauty'"),
        (lambda: Session(":memory:", observer=3), "observer is of the type int"),
        (lambda: Session(":memory:", observer=watch), "observer is an async function, which would never be awaited"),
        (lambda: Session(":memory:", prices={}), "prices is of the type dict"),
        (lambda: Session(":memory:", budget=5), "budget is of the type int"),
        (lambda: Session(":memory:", strategies=[3]), "3 is not a strategy"),
        (lambda: Session(":memory:", model=Breaking), "the class Breaking is neither a LangChain chat model nor"),
        (lambda: Session("sqlite:///book.db"), "sqlite:// is not an address of a database"),
        (lambda: Session(3), "store is of the type int"),
        (lambda: redraft.Store(5), "store is of the type int"),
        (lambda: redraft.load(b"book.md"), "a document cannot be of the type bytes"),
        (lambda: redraft.Document.from_text(b"The board met."), "the text of a document is of the type bytes"),
        (lambda: redraft.ChatModel("openai:gpt-5-mini"), "an object of the type str is neither"),
        (lambda: redraft.ReviewAnswer(drop="1"), "drop: must be a list"),
        (lambda: redraft.Rubric("plain", "Plain words", levels=1), "levels: must be at least 2"),
        (lambda: redraft.read_order("ask", {"goals": {"coverage": 1}}), "goals makes no difference to `ask`"),
        (lambda: redraft.assert_summary(MINUTES, WRONG, metrics="coverage"), "metrics is the text 'coverage'"),
        (lambda: redraft.assert_summary(MINUTES, WRONG, session=object()), "session is of the type object"),
        (lambda: in_session(redraft.tools), "session is of the type SyncSession"),
        (lambda: in_session(lambda session: session.wait(5)), "a int cannot be waited for"),
        *((lambda read=read: read("redraft.db", "3fa2c1d0"), "store is of the type str") for read in READERS),
    ],
)
def test_wrong_argument_without_await_is_refused(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(UsageError) as refusal:
        call()
    assert message in str(refusal.value)


@pytest.mark.slow
async def test_none_is_an_empty_list() -> None:
    async with Session(":memory:", judges=None, metrics=None, strategies=None, limits={"max_calls": 30}) as session:
        result = await session.evaluate(MINUTES, WRONG, metrics=None)
        await session.refine(MINUTES, WRONG, findings=None, goals={"consistency": 0.0})
        assert runner_of(session).limits == Limits(max_calls=30), "they may be a dictionary"
    assert sorted(result.scores) == ["consistency", "coverage"]


async def test_path_of_a_summary_is_read(tmp_path: Path) -> None:
    (tmp_path / "poor.md").write_text(WRONG, "utf-8")
    async with Session(":memory:") as session:
        assert (await session.evaluate(MINUTES, tmp_path / "poor.md", metrics=["consistency"])).summary == WRONG
        with pytest.raises(UsageError, match="the path of a file, and not the text of a summary"):
            await session.evaluate(MINUTES, str(tmp_path / "poor.md"))


async def test_failing_metric_is_logged(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "division by zero")
    async with Session(":memory:") as session:
        result = await session.evaluate(MINUTES, WRONG, metrics=[Breaking(), "consistency"])
    assert result.unscored["breaking"].endswith("division by zero")
    assert result.scores["consistency"] is not None
    (entry,) = [record for record in caplog.records if record.name == "redraft.metrics"]
    assert entry.levelno == logging.ERROR
    assert "the metric breaking failed" in entry.getMessage()
    assert "in evaluate" in entry.getMessage()
    assert "division by zero" not in entry.getMessage(), "keys are redacted"


class Echo:
    """A model that returns a text in place of a reply, without being async."""

    identity = "echo"

    def most_tokens(self, sampling: redraft.prompts.Sampling) -> int:
        return sampling.max_tokens or 0

    def ask(self, request: redraft.Request[Any, Any]) -> str:
        return request.text


class AtOnce(redraft.Evaluator):
    """A metric that returns a number in place of an evaluation, without being async."""

    name = "at_once"

    def evaluate(self, case: redraft.Case) -> float:  # type: ignore[override]
        return 0.5


async def test_wrong_return_values_are_named() -> None:
    async with Session(":memory:", model=Echo()) as session:
        with pytest.raises(UsageError, match="the model echo answered the prompt summarize_whole with '") as refusal:
            await session.summarize(MINUTES, strategy="direct", words=12)
        assert "a redraft.Reply whose value is of the type str" in refusal.value.hint
    async with Session(":memory:", metrics=[AtOnce()]) as session:
        result = await session.evaluate(MINUTES, WRONG)
    assert "the metric at_once returned 0.5 instead of an Evaluation" in result.unscored["at_once"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "options", [{"metrics": ["coverage"]}, {"judging": JUDGING}, {"judging": JudgeConfig(repeat=2)}, {}], ids=str
)
async def test_a_judged_draft_is_a_summary(options: dict[str, Any]) -> None:
    async with Session(":memory:") as session:
        result = await session.summarize(MINUTES, words=12, **options)
        assert (result.run.kind, result.model_dump(mode="json")["kind"]) == ("summarize", "summarize")
        assert ("coverage" in result.scores) == bool(options), "judged if metrics or judging settings are given"
        assert session.store.runs.get(result.run.id).order == result.run.order
    judged = redraft.read_order("summarize", {"words": 30, "metrics": ["coverage"], "repeat": 2})
    assert (judged.kind, judged.judging and judged.judging.metrics) == ("summarize", ("coverage",))
    with pytest.raises(UsageError, match="repeat makes no difference to `summarize`"):
        redraft.read_order("summarize", {"words": 30, "repeat": 2})
