"""Rubrics: metrics that are stated in a sentence, by which judges place a summary on a scale."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, WithJsonSchema
from typing_extensions import override

from redraft.agents.judge import Attempt, Entries, EntryBudget, ItemResults, Judge, ask_all, gather_all
from redraft.domain import Evaluation, Finding, content_id
from redraft.evaluators.base import Case, Evaluator, PanelVotes, mean_evaluation, votes_of
from redraft.evaluators.metric_info import ABSTAINED, MetricAim
from redraft.fields import validated
from redraft.prompts.contract import (
    OMITTABLE,
    SKIP_INVALID,
    UNSURE,
    AliasNames,
    Aside,
    Fence,
    MaxItems,
    Prompt,
    PromptInput,
    ReplyModel,
    SummaryText,
)
from redraft.prompts.qa import LABELS, Quote, Reason, Statement
from redraft.settings import RubricSettings
from redraft.text.quotes import locate
from redraft.text.sanitizer import one_line

NO_LEVEL = 0
"""The level of a summary that cannot be judged by the requirement."""
_MAX_FAULTS = 8
_NUMBER = re.compile(r"\W*(?:level\W*)?([0-9]{1,2})(?![0-9]|[.,][0-9])", re.IGNORECASE)

# The usual levels, by their number. With other numbers, only the two ends are described.
_WORST, _BEST = "not met", "fully met"
_USUAL = {
    2: (_WORST, "met"),
    3: (_WORST, "partly met", _BEST),
    4: (_WORST, "partly met", "mostly met", _BEST),
    5: (_WORST, "met to a small extent", "partly met", "met, with small exceptions", _BEST),
}


def _level(value: object) -> object:
    """Return the number at the start of a text such as "4 of 5" or "Level 4"; a judge that cannot tell gives none."""
    if value is None or value == UNSURE:
        return NO_LEVEL
    match = _NUMBER.match(value) if isinstance(value, str) else None
    if isinstance(value, bool) or (isinstance(value, str) and match is None):
        raise ValueError("the level is not a whole number")
    return int(match[1]) if match else value


class RubricInput(PromptInput):
    """A summary, and the question that it answers, if any."""

    summary: SummaryText
    question: Annotated[str | None, Fence("question")] = None


class Fault(ReplyModel):
    """A passage of the summary that falls short."""

    quote: Quote
    problem: Annotated[Aside, AliasNames("fault", "issue", "description", "what is wrong")]


class RubricVerdict(ReplyModel):
    """A judge's verdict."""

    faults: Annotated[
        list[Fault], BeforeValidator(lambda value: value or []), OMITTABLE, SKIP_INVALID, MaxItems(_MAX_FAULTS)
    ]
    reason: Reason
    level: Annotated[
        int,
        BeforeValidator(_level),
        WithJsonSchema({"type": "integer"}),
        AliasNames("score", "rating", "grade", *LABELS),
    ]


def rubric_prompt(name: str, requirement: str, levels: int | Sequence[str]) -> Prompt[RubricInput, RubricVerdict]:
    """Return the prompt that judges by a requirement. The requirement is part of the template, so another requirement
    is another prompt, with another hash."""
    # From 1; empty where a level between the ends has no description.
    described: Sequence[str] = levels if not isinstance(levels, int) else _USUAL.get(levels, ())
    if isinstance(levels, int) and not described:
        described = (_WORST, *[""] * (levels - 2), _BEST)
    listed = [f"{number}: {description}\n" for number, description in enumerate(described, 1) if description]
    if len(listed) < len(described):
        listed.append("The levels between them are evenly spaced.\n")
    texts = {"REQUIREMENT": requirement, "LEVELS": "".join(listed), "MOST": str(_MAX_FAULTS)}
    # In the template their braces have no meaning.
    parts = {name: text.strip().replace("{", "{{ '{' }}") for name, text in texts.items()}
    written = (Path(__file__).parents[1] / "prompts" / "templates" / "rubric.md").read_text("utf-8")
    template = re.sub("|".join(parts), lambda match: parts[match[0]], written)
    return Prompt(name, RubricInput, RubricVerdict, f"{name}: how far a summary meets a requirement", template=template)


_REPLY = EntryBudget(frame=120, words=180, sentences=8)
_LONGEST_REASON = 400
SHORT = "falls short"
"""The kind of the findings."""


@dataclass(frozen=True, slots=True)
class Rubric(Evaluator):
    """A metric with a prompt, in one line: `Rubric("plain_tone", "Written for a reader without legal training")`.

    Each judge places the summary on a scale and quotes the passages that fall short, which are the findings. `levels`
    is the number of levels, from 2 to 10, or their descriptions from the worst to the best. The lowest level scores 0
    and the highest 1; several judges, or samples of one with `repeat`, are averaged. A judge may abstain. Judges see
    the summary and not the document, so a rubric cannot replace `consistency` or `coverage`.
    """

    name: str
    requirement: str
    levels: int | Sequence[str] = 5
    aim: MetricAim = "form"
    prompts: Sequence[Prompt[Any, Any]] = field(init=False, repr=False, compare=False)

    version = 1
    heeds_query = True

    def __post_init__(self) -> None:
        settings = self.settings
        levels = settings.levels if isinstance(settings.levels, int) else tuple(settings.levels)
        object.__setattr__(self, "requirement", settings.requirement)
        object.__setattr__(self, "levels", levels)
        object.__setattr__(self, "prompts", (rubric_prompt(self.name, settings.requirement, levels),))

    @property
    def settings(self) -> RubricSettings:
        """Return the rubric without its name, as it is stored with a run. Raises `UsageError` if it is invalid."""
        return validated(RubricSettings, {"requirement": self.requirement, "levels": self.levels, "aim": self.aim})

    @property
    def highest(self) -> int:
        """Return the number of the highest level."""
        return self.levels if isinstance(self.levels, int) else len(self.levels)

    @override
    async def evaluate(self, case: Case) -> Evaluation:
        """Score the summary, with a finding for each sentence that falls short."""
        if not case.statements:
            return self.not_applicable("the summary has no sentence")
        count, source = case.reader.tokenizer.count, self.prompts[0].template
        size = count(case.text) + count(source) + _REPLY.tokens(case.panel[0].wording)
        if size > case.reader.window:
            reason = f"the summary and the prompt have {size:,} tokens, more than the judge's {case.reader.window:,}"
            return self.failed(reason, unjudged=1)
        names = [judge.name for judge in case.panel]
        replies = await gather_all(self._asked(judge, case) for judge in case.panel)
        steps = self.highest - 1
        votes = [votes_of(results, lambda reply: (str(reply.level), (reply.level - 1) / steps)) for results in replies]
        panel = PanelVotes.of(zip(names, votes, strict=True), 1, str(self.highest))
        verdicts = [results.verdicts[0] for results in replies if results.verdicts]
        value = panel.items[0].value if panel.items else 0.0
        return mean_evaluation(
            self,
            panel,
            findings=self._findings(verdicts, case.statements, value) if value < 1 else (),
            details={
                ABSTAINED: not panel.items and any(results.undecided for results in replies),
                "levels": self.highest,
                "verdicts": [
                    {"judge": name, "level": verdict.level, "reason": one_line(verdict.reason, _LONGEST_REASON)}
                    for name, results in zip(names, replies, strict=True)
                    for verdict in (results.verdicts | results.undecided).values()
                ],
            },
        )

    async def _asked(self, judge: Judge, case: Case) -> ItemResults[RubricVerdict]:
        """Return a judge's verdict; a level that there is not is none."""
        prompt, rubric_input = self.prompts[0], RubricInput(summary=case.text, question=case.query)

        async def ask(numbers: Sequence[int], attempt: Attempt) -> Entries[RubricVerdict]:
            reply = await judge.ask_items(prompt, rubric_input, numbers, _REPLY, self.name, attempt)
            valid = NO_LEVEL <= reply.value.level <= self.highest
            return reply, [(0, reply.value if valid else None)]

        items = [[content_id(case.text), case.query]]
        results = await judge.verdicts(
            prompt, RubricVerdict, items, lambda numbers: ask_all([numbers] if numbers else [], ask)
        )
        return results.decided(lambda verdict: verdict.level != NO_LEVEL)

    def _findings(
        self, verdicts: Sequence[RubricVerdict], statements: Sequence[Statement], value: float
    ) -> list[Finding]:
        """Return a finding for each sentence that a judge quotes: those that most judges quote first. Where none can
        be found in the summary, there is one about all of it."""
        problems: dict[int, dict[int, str]] = {}
        short = [verdict for verdict in verdicts if verdict.level < self.highest]
        for number, verdict in enumerate(short):
            for fault in verdict.faults:
                # The first sentence that has the words of the quote, or is quoted whole.
                places = (
                    at
                    for at, statement in enumerate(statements)
                    if locate(statement.sentence, fault.quote) or locate(fault.quote, statement.sentence)
                )
                if (at := next(places, None)) is not None:
                    problems.setdefault(at, {}).setdefault(number, one_line(fault.problem, _LONGEST_REASON))
        order = sorted(problems, key=lambda at: (-len(problems[at]), at))
        if not order:
            instruction = f"Change the summary so that it meets this requirement: {self.requirement}"
            expected = " ".join(dict.fromkeys(one_line(verdict.reason, _LONGEST_REASON) for verdict in short))
            return [Finding(self.name, SHORT, "change", instruction, expected=expected, value=value)]
        instruction = f"Change this sentence so that the summary meets this requirement: {self.requirement}"
        return [
            Finding(
                self.name,
                SHORT,
                "change",
                instruction,
                sentence=statements[at].sentence,
                expected=" ".join(dict.fromkeys(filter(None, problems[at].values()))),
                said_by=(len(problems[at]), len(verdicts)) if len(verdicts) > 1 else None,
                value=1 - (1 - value) / len(order),
            )
            for at in order
        ]
