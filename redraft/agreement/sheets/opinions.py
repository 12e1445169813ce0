"""What people have said of findings already, as answers on a sheet: who agrees that something is wrong says no."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from redraft.agreement.sheets.questions import Question, What
from redraft.domain import Finding
from redraft.evaluators.consistency import Consistency
from redraft.evaluators.faithfulness import Faithfulness
from redraft.evaluators.keyfact_recall import KeyfactRecall
from redraft.history.results import read_result
from redraft.store.store import Store


class _Same(NamedTuple):
    """How a finding of a metric and a row of a sheet are known to be about the same."""

    metric: str
    shown: tuple[str, ...]
    found: Callable[[Finding], tuple[str, ...]]


ABOUT: Mapping[What, _Same] = {
    "claims": _Same(
        Consistency.name, ("sentence", "question", "answer"), lambda one: (one.sentence, one.question, one.found)
    ),
    "verification": _Same(Faithfulness.name, ("sentence",), lambda one: (one.sentence,)),
    "alignment": _Same(KeyfactRecall.name, ("fact",), lambda one: (one.expected,)),
}
"""The kinds of sheets that findings are about: by the metric that has found them."""


def answers(store: Store, runs: Sequence[str], what: What, questions: Sequence[Question]) -> dict[str, str]:
    """By row of a sheet what a person has said of the finding behind it, where somebody has."""
    if what not in ABOUT:
        return {}
    same, said = ABOUT[what], dict[tuple[str, tuple[str, ...]], str]()
    for key in runs:
        result = read_result(store, key)
        opinions = store.opinions.of(result.run.id)
        judged = result.evaluations.get(same.metric)
        for one in judged.findings if judged and opinions else ():
            if one.id in opinions:
                said[result.run.id, same.found(one)] = "no" if opinions[one.id].agrees else "yes"
    rows = ((one.id, (one.id.partition("/")[0], tuple(one.shown[name] for name in same.shown))) for one in questions)
    return {row: said[about] for row, about in rows if about in said}
