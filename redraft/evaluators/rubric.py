"""Rubrics: metrics that are stated in a sentence, by which judges place a summary on a scale."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, WithJsonSchema
from typing_extensions import override

from redraft.agents.judge import Attempt, Entries, EntryBudget, Judge, ask_all
from redraft.domain import Evaluation, Finding, content_id
from redraft.evaluators.base import Case, Evaluator, Votes, mean_evaluation, panel_votes, votes_of
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
    if isinstance(levels, int):
        levels = _USUAL.get(levels, (_WORST, *[""] * (levels - 2), _BEST))
    listed = [f"{number}: {description}\n" for number, description in enumerate(levels, 1) if description]
    between = "" if all(levels) else "The levels between them are evenly spaced.\n"
    texts = {"REQUIREMENT": requirement, "LEVELS": "".join(listed) + between, "MOST": str(_MAX_FAULTS)}
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
        for name, value in self.settings:
            object.__setattr__(self, name, value)
        object.__setattr__(self, "prompts", (rubric_prompt(self.name, self.requirement, self.levels),))

    @property
    def settings(self) -> RubricSettings:
        """Return the rubric without its name, as it is stored with a run. Raises `UsageError` if it is invalid."""
        return validated(RubricSettings, {"requirement": self.requirement, "levels": self.levels, "aim": self.aim})

    @override
    async def evaluate(self, case: Case) -> Evaluation:
        """Score the summary, with a finding for each sentence that falls short."""
        if not case.statements:
            return self.not_applicable("the summary has no sentence")
        prompt, count = self.prompts[0], case.reader.tokenizer.count
        size = count(case.text) + count(prompt.template) + _REPLY.tokens(case.panel[0].wording)
        if size > case.reader.window:
            reason = f"the summary and the prompt have {size:,} tokens, more than the judge's {case.reader.window:,}"
            return self.failed(reason, unjudged=1)
        highest = self.levels if isinstance(self.levels, int) else len(self.levels)

        async def votes(judge: Judge, texts: Sequence[str]) -> Votes[RubricVerdict]:
            async def ask(numbers: Sequence[int], attempt: Attempt) -> Entries[RubricVerdict]:
                rubric_input = RubricInput(summary=texts[0], question=case.query)
                reply = await judge.ask_items(prompt, rubric_input, numbers, _REPLY, self.name, attempt)
                return reply, [(0, reply.value if NO_LEVEL <= reply.value.level <= highest else None)]

            items = [[content_id(texts[0]), case.query]]
            results = await judge.verdicts(prompt, RubricVerdict, items, lambda due: ask_all([[n] for n in due], ask))
            decided = results.decided(lambda verdict: verdict.level != NO_LEVEL)
            return votes_of(decided, lambda verdict: (str(verdict.level), (verdict.level - 1) / (highest - 1)))

        # Every judge has a say, whether or not another confirms what metrics of single items find.
        panel = await panel_votes(replace(case, confirmer=None), [case.text], str(highest), votes)
        replies = [
            (judge, vote.answer)
            for judge, results in panel.judges
            for vote in (*results.verdicts.values(), *results.undecided.values())
            if vote.answer
        ]
        verdicts = [verdict for _, verdict in replies if verdict.level != NO_LEVEL]
        value = panel.items[0].value if panel.items else 1.0
        return mean_evaluation(
            self,
            panel,
            findings=self._findings(verdicts, highest, case.statements, value) if value < 1 else (),
            details={
                ABSTAINED: not panel.items and bool(replies),
                "levels": highest,
                "verdicts": [
                    {"judge": judge, "level": verdict.level, "reason": one_line(verdict.reason, _LONGEST_REASON)}
                    for judge, verdict in replies
                ],
            },
        )

    def _findings(
        self, verdicts: Sequence[RubricVerdict], highest: int, statements: Sequence[Statement], value: float
    ) -> list[Finding]:
        """Return a finding for each sentence that a judge quotes: those that most judges quote first. Where none can
        be found in the summary, there is one about all of it."""
        short = [verdict for verdict in verdicts if verdict.level < highest]
        # What is wrong with a sentence, by its index and the judge's.
        problems: dict[int, dict[int, str]] = {}
        for number, verdict in enumerate(short):
            for fault in verdict.faults:
                # The first sentence that has the words of the quote, or is quoted whole.
                for at, statement in enumerate(statements):
                    if locate(statement.sentence, fault.quote) or locate(fault.quote, statement.sentence):
                        problems.setdefault(at, {}).setdefault(number, fault.problem)
                        break
        order = sorted(problems, key=lambda at: (-len(problems[at]), at))
        change = "this sentence so that the summary meets" if order else "the summary so that it meets"
        about = [(statements[at].sentence, [*problems[at].values()]) for at in order]
        about = about or [("", [verdict.reason for verdict in short])]
        return [
            Finding(
                self.name,
                SHORT,
                "change",
                f"Change {change} this requirement: {self.requirement}",
                sentence=sentence,
                expected=" ".join(filter(None, dict.fromkeys(one_line(reason, _LONGEST_REASON) for reason in reasons))),
                said_by=(len(reasons), len(verdicts)) if order and len(verdicts) > 1 else None,
                value=1 - (1 - value) / len(order) if order else value,
            )
            for sentence, reasons in about
        ]
