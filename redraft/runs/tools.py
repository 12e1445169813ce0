"""What a workshop offers as LangChain tools, for any agent: read the document, look at the findings, judge, revise."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated, Any

from langchain_core.tools import BaseTool, StructuredTool, ToolException
from pydantic import BaseModel, ConfigDict, Field

from redraft.domain import Finding, Span
from redraft.errors import RedraftError, UsageError
from redraft.graphs.judging import in_short
from redraft.history.tracing import place_of
from redraft.runs import turns
from redraft.runs.workshop import Workshop
from redraft.text.cleaning import one_line

# A document is read in parts, whoever asks for more.
_LONGEST_READ = 4000
_MOST_PASSAGES = 10
_MOST_FINDINGS = 50
_LONGEST_TEXT = 400

Run = Annotated[str, Field(description="The id of the run, as every tool returns it.")]


class _Given(BaseModel):
    model_config = ConfigDict(extra="forbid")

    run: Run


class OfRun(_Given):
    """The run that is meant."""


class Search(_Given):
    """What to look for in the document."""

    query: str = Field(min_length=1, max_length=1000, description="What the passages should be about.")
    count: int = Field(default=3, ge=1, le=_MOST_PASSAGES, description="How many passages.")


class Place(_Given):
    """A place in the document."""

    start: int = Field(ge=0, description="The first character.")
    end: int = Field(gt=0, description=f"The character after the last; at most {_LONGEST_READ} are read.")


class Which(_Given):
    """Which findings are meant."""

    metric: str | None = Field(default=None, description="Only those of this metric.")


class Mending(_Given):
    """What a revision is to mend."""

    findings: list[str] = Field(min_length=1, max_length=_MOST_FINDINGS, description="The ids of the findings.")
    instruction: str = Field(default="", max_length=2000, description="What to tell the reviser besides.")


class Ending(_Given):
    """Why the run is at its end."""

    reason: str = Field(default="finished", max_length=100, description="Why, in a word or two.")


class Passage(BaseModel):
    """Words of the document, and where they stand."""

    start: int
    end: int
    place: str
    text: str


class Passages(BaseModel):
    """What was found, the nearest first."""

    run: str
    passages: list[Passage]


class FindingShown(BaseModel):
    """One thing wrong with the draft."""

    id: str
    metric: str
    kind: str
    task: str
    sentence: str
    question: str
    found: str
    expected: str
    evidence: str


class Findings(BaseModel):
    """What is wrong with the draft; `more` are not shown."""

    run: str
    findings: list[FindingShown]
    more: int = 0


class Judged(BaseModel):
    """What one metric says of the draft."""

    run: str
    metric: str
    outcome: str
    score: float | None
    judged: int
    unjudged: int
    findings: dict[str, int]
    reason: str


class DraftShown(BaseModel):
    """The best draft so far."""

    run: str
    round: int
    words: int
    text: str
    scores: dict[str, float | None]


class Revised(BaseModel):
    """What became of a revision: whether it was taken, why, and how the best draft stands now."""

    run: str
    round: int
    accepted: bool
    reason: str
    scores: dict[str, float | None]


class Finished(BaseModel):
    """The run is done."""

    run: str
    stop_reason: str
    words: int


def tools(shop: Workshop) -> list[BaseTool]:
    """The tools of a workshop, each on a run that `shop` has begun: an agent is told the run's id.

    Arguments and answers are pydantic models: the content of a tool's message is the answer as JSON, and its artifact
    is the answer itself. What goes wrong is told to the agent in a sentence. No tool hands out a document as a whole.
    """
    bench = _Bench(shop)
    made = [
        _tool("find_passages", "Find the passages of the document that are nearest to a query.", Search, bench.find),
        _tool("read_span", "Read the document from one character to another.", Place, bench.read),
        _tool("list_findings", "List what the metrics have found wrong with the best draft.", Which, bench.findings),
        _tool("current_draft", "Show the best draft of the summary so far, with its scores.", OfRun, bench.draft),
        _tool("revise", "Have findings mended in a revision, which is taken only if it gains.", Mending, bench.revise),
        _tool("finish", "Bring the run to its end with the best draft.", Ending, bench.finish),
    ]
    return made + [
        _tool(f"judge_{name}", f"Judge the best draft by the metric {name}.", OfRun, bench.judging(name))
        for name in shop.metrics()
    ]


def _tool(name: str, what: str, given: type[BaseModel], work: Callable[..., Awaitable[BaseModel]]) -> BaseTool:
    async def called(**arguments: Any) -> tuple[str, BaseModel]:
        try:
            answer = await work(given.model_validate(arguments))
        except RedraftError as error:
            raise ToolException(f"{error}{f' ({error.hint})' if error.hint else ''}") from error
        return answer.model_dump_json(), answer

    return StructuredTool.from_function(
        coroutine=called,
        name=name,
        description=what,
        args_schema=given,
        response_format="content_and_artifact",
        handle_tool_error=True,
        handle_validation_error=True,
    )


class _Bench:
    """What the tools do."""

    def __init__(self, shop: Workshop) -> None:
        self._shop = shop

    async def find(self, given: Search) -> Passages:
        async with self._shop.working(given.run) as foreman:
            desk = foreman.desk()
            found = [passage.span for passage in desk.passages.nearest(given.query, given.count)]
            document = foreman.prepared.document
            shown = [Passage(start=s.start, end=s.end, place=place_of(document, s), text=desk.text(s)) for s in found]
            return Passages(run=foreman.run.id, passages=shown)

    async def read(self, given: Place) -> Passage:
        async with self._shop.working(given.run) as foreman:
            document = foreman.prepared.document
            span = Span(given.start, min(given.end, given.start + _LONGEST_READ, len(document.text)))
            if span.start >= span.end:
                raise UsageError(f"the document has {len(document.text):,} characters, and none from there to there")
            text = document.text[span.start : span.end]
            return Passage(start=span.start, end=span.end, place=place_of(document, span), text=text)

    async def findings(self, given: Which) -> Findings:
        result = await self._shop.result(given.run)
        if given.metric is not None and given.metric not in result.evaluations:
            there = ", ".join(result.evaluations) or "nothing"
            raise UsageError(f"the draft has not been judged by {given.metric!r}, but by {there}")
        found = [
            _shown(finding)
            for metric, evaluation in result.evaluations.items()
            if given.metric in (None, metric)
            for finding in evaluation.findings
        ]
        more = max(0, len(found) - _MOST_FINDINGS)
        return Findings(run=result.run.id, findings=found[:_MOST_FINDINGS], more=more)

    async def draft(self, given: OfRun) -> DraftShown:
        result = await self._shop.result(given.run)
        if result.draft is None:
            raise UsageError(f"run {result.run.id} has no draft yet")
        shown = result.draft
        scores = result.scores
        return DraftShown(run=result.run.id, round=shown.round, words=shown.words, text=shown.text, scores=scores)

    def judging(self, metric: str) -> Callable[[OfRun], Awaitable[Judged]]:
        async def judge(given: OfRun) -> Judged:
            async with self._shop.working(given.run) as foreman:
                said = await turns.judge(foreman, metric)
                return Judged(run=foreman.run.id, metric=metric, reason=said.reason, **in_short(said))

        return judge

    async def revise(self, given: Mending) -> Revised:
        async with self._shop.working(given.run) as foreman:
            state = await turns.revise(foreman, given.findings, given.instruction)
            return Revised(
                run=foreman.run.id,
                round=state["round"],
                accepted=state["accepted"],
                reason=state["reason"],
                scores=state["scores"],
            )

    async def finish(self, given: Ending) -> Finished:
        result = await self._shop.result(given.run)
        if result.draft is None:
            raise UsageError(f"run {result.run.id} has no draft to finish with")
        reason = await self._shop.finish(result.run.id, result.draft.id, one_line(given.reason, 100) or "finished")
        return Finished(run=result.run.id, stop_reason=reason, words=result.draft.words)


def _shown(finding: Finding) -> FindingShown:
    return FindingShown(
        id=finding.id,
        metric=finding.metric,
        kind=finding.kind,
        task=finding.task,
        sentence=one_line(finding.sentence, _LONGEST_TEXT),
        question=one_line(finding.question, _LONGEST_TEXT),
        found=one_line(finding.found, _LONGEST_TEXT),
        expected=one_line(finding.expected, _LONGEST_TEXT),
        evidence=one_line(finding.evidence.text, _LONGEST_TEXT) if finding.evidence else "",
    )
