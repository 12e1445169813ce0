"""What entailment models are asked: no more than they can say, which is known before anything is paid for."""

from __future__ import annotations

from collections.abc import Sequence

from redraft.errors import UsageError
from redraft.evaluators.base import Evaluator
from redraft.models.nli.model import SERVES
from redraft.runs.roles import judging_under, named_in, under_name
from redraft.settings import GIVEN_STRATEGY, Judging, Refinement, Settings, is_entailment

_WHAT = "only says whether one text follows from another"
_HINT = f"name it as --judge, for --metric {SERVES[0]} or --metric {SERVES[1]}"


def check_writer(settings: Settings, refinement: Refinement | None) -> None:
    """Refuse an entailment model as one that writes."""
    if is_entailment(settings.model) and (settings.strategy != GIVEN_STRATEGY or refinement):
        raise UsageError(f"{settings.model} cannot write: it {_WHAT}", hint=_HINT)


def check_judges(
    settings: Settings, judging: Judging, refinement: Refinement | None, known: Sequence[Evaluator], has_facts: bool
) -> None:
    """Refuse what the entailment models among the judges do not serve. `has_facts` says whether there are key facts."""
    judges = judging_under(settings, judging)
    entailing = next((judge.model for judge in judges if is_entailment(judge.model)), None)
    if other := _in_another_role(settings, judging, refinement):
        raise UsageError(f"{other} can be nothing but a judge: it {_WHAT}", hint=_HINT)
    if entailing is None:
        return
    asked = [one.name for one in known if one.prompts]
    if not asked:
        raise UsageError(f"{entailing} has no part in this: it {_WHAT}", hint=_HINT)
    if strange := [name for name in asked if name not in SERVES]:
        raise UsageError(
            f"the judge {entailing} does not serve {' and '.join(strange)}: it {_WHAT}",
            hint=f"it serves {', '.join(SERVES[:-1])} and {SERVES[-1]}; name another judge for the rest",
        )
    finder = is_entailment(judges[0].model)
    if SERVES[-1] in asked and finder and not has_facts:
        raise UsageError(
            f"the judge {entailing} finds no key facts: it {_WHAT}",
            hint="import some with `redraft pack import`, or name a judge that finds them before it",
        )


def _in_another_role(settings: Settings, judging: Judging, refinement: Refinement | None) -> str:
    """The entailment model that is to validate or to decide, if there is one."""
    named = named_in(judging, refinement)
    others = (under_name(name, settings, judging).model for role, name in named if role != "judge")
    return next((model for model in others if is_entailment(model)), "")
