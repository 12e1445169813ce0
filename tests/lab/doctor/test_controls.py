"""Every control can be passed, and every control can be failed: by a judge who fails in it and in no other."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest

from redraft.domain import Evaluation
from redraft.errors import UnreadableReply, UsageError
from redraft.evaluators.base import Case, Evaluator, statements_of
from redraft.evaluators.catalog import BUILT_IN
from redraft.evaluators.metric_info import MetricAim
from redraft.lab.doctor.checkup import ControlCheck, JudgeUnderTest, check_metrics, examine
from redraft.lab.doctor.controls import (
    EMPTY,
    HOLLOW,
    INVENTED,
    ITSELF,
    KINDS,
    WORDINGS,
    WRONG,
    controls,
    expectations_of,
    load_texts,
    probes,
)
from redraft.llm.base import FunctionModel
from redraft.runs.experiment_runner import ExperimentRunner
from redraft.settings import Limits
from redraft.store.store import Store
from tests.lab.doctor.oracle import ANY_ERROR, Oracle

SCORING = {name: one.aim for name, one in BUILT_IN.items() if one.aim and one.prompts}
CASES = [(control, metric) for metric in SCORING for control in expectations_of(BUILT_IN[metric])]
ERRORS = {f"{kind}, {wording}" for kind in (*KINDS, INVENTED) for wording in WORDINGS}
"""The controls with planted errors, which differ in their sentences alone: two of them stand for all below."""
FAULTS = [
    (name, aim)
    for name, expects in controls().items()
    for aim in get_args(MetricAim)
    if aim in expects and name not in {EMPTY, *ERRORS} - {"name, copied", f"{INVENTED}, reworded"}
]


async def checked(
    folder: Path, model: FunctionModel, *metrics: Evaluator, own: tuple[Evaluator, ...] = ()
) -> list[ControlCheck]:
    """What comes of the controls of some metrics."""
    with Store(folder / "redraft.db") as store:
        subject = JudgeUnderTest(model.identity, (*metrics, *own), objects={model.identity: model}, own=own)
        return list((await examine(subject, ExperimentRunner(store, Limits()))).controls)


def by_aim(aim: MetricAim) -> list[Evaluator]:
    return [BUILT_IN[name] for name, its in SCORING.items() if its == aim]


class Eager(Evaluator):
    """Has a score for whatever it is given, nothing included."""

    name = "eager"
    aim = "content"

    async def evaluate(self, case: Case) -> Evaluation:
        known = {one.sentence for one in statements_of(case.document.text)}
        said = [one.sentence for one in case.statements]
        return self.scored(sum(one in known for one in said) / len(said) if said else 1.0)


@pytest.mark.slow
async def test_a_judge_without_a_fault_passes_every_control(tmp_path: Path) -> None:
    checks = await checked(tmp_path, Oracle().model, *(BUILT_IN[name] for name in SCORING))
    assert [(one.control, one.metric, one.verdict) for one in checks if one.verdict != "pass"] == []
    assert [(one.control, one.metric) for one in checks] == CASES
    assert {control for control, _ in CASES} == {*controls()}


# A sentence that is believed to answer a question is believed in every summary that has it.
_TOGETHER = {(HOLLOW, "content"): {("instruction in the summary", "coverage")}}


@pytest.mark.nightly
@pytest.mark.parametrize(("control", "aim"), FAULTS)
async def test_a_judge_with_one_fault_fails_in_one_control(control: str, aim: MetricAim, tmp_path: Path) -> None:
    checks = await checked(tmp_path, Oracle(control).model, *by_aim(aim))
    failed = {(one.control, one.metric) for one in checks if one.verdict == "fail"}
    assert failed - _TOGETHER.get((control, aim), set()) == {(control, one.name) for one in by_aim(aim)}
    others = [one for one in checks if one.verdict != "pass" and (one.control, one.metric) not in failed]
    assert not [one for one in others if one.control != control]


@pytest.mark.nightly
async def test_a_judge_who_believes_every_error_fails_in_the_controls_of_all_kinds(tmp_path: Path) -> None:
    checks = await checked(tmp_path, Oracle(ANY_ERROR).model, *by_aim("truth"))
    failed = {(one.control, one.metric) for one in checks if one.verdict == "fail"}
    assert failed >= {(control, one.name) for control in ERRORS for one in by_aim("truth")}
    assert not failed & {(f"right, {wording}", one.name) for wording in WORDINGS for one in by_aim("truth")}


@pytest.mark.slow
async def test_a_metric_that_scores_nothing_at_all_fails_in_the_empty_summary(tmp_path: Path) -> None:
    checks = await checked(tmp_path, Oracle().model, own=(Eager(),))
    failed = [one for one in checks if one.verdict == "fail"]
    assert [(one.control, one.said) for one in failed] == [(EMPTY, "1.00")]
    assert all(one.runs for one in failed)


@pytest.mark.slow
@pytest.mark.parametrize("metric", SCORING)
async def test_a_judge_that_never_answers_passes_for_none_and_fails_where_it_has_to(
    metric: str, tmp_path: Path
) -> None:
    silent = FunctionModel(lambda request: UnreadableReply("nothing", text="Hm."), "silent")
    checks = await checked(tmp_path, silent, BUILT_IN[metric])
    verdicts = {one.control: one.verdict for one in checks}
    assert verdicts.pop(EMPTY) == "pass"
    assert verdicts.pop(ITSELF) == "fail"
    assert set(verdicts.values()) == {"cannot tell"}


def test_a_metric_without_a_score_has_no_controls() -> None:
    with pytest.raises(UsageError, match="no controls for statistics"):
        check_metrics([BUILT_IN["statistics"]])


def test_the_sentences_are_what_they_are_said_to_be() -> None:
    its = load_texts()
    document = [one.sentence for one in statements_of(its.document)]
    assert 250 <= len(its.document.split()) <= 500
    for (wording, half), planted in its.planted.items():
        sentences = [one.sentence for one in statements_of(planted.text)]
        wrong = [sentence for _, sentence in planted.wrong]
        assert sorted(sentences) == sorted([*planted.right, *wrong])
        assert [kind for kind, _ in planted.wrong] == [
            "name",
            "number",
            "date",
            "negation",
            "relation",
            "invented sentence",
        ]
        assert not set(wrong) & {*document, *its.planted[wording, 1 - half].right}
        assert set(planted.right) <= set(document) if wording == "copied" else not set(planted.right) & set(document)
    kept = [sentence for sentences in its.kept.values() for sentence in sentences]
    assert [len(sentences) for sentences in its.kept.values()] == [2] * 7
    assert not {*kept} & {*document, *its.summary}
    assert sorted(its.shuffled) == sorted(its.summary)
    assert all(its.shuffled[at] != one for at, one in enumerate(its.summary))
    assert not set(_names(its.other)) & set(_names(its.document))


def _names(text: str) -> list[str]:
    """What is written like a name within a sentence."""
    words = [sentence.split()[1:] for sentence in (one.sentence for one in statements_of(text))]
    return [word.strip(".,") for sentence in words for word in sentence if word[:1].isupper()]


@pytest.mark.parametrize("where", ["summary", "document"])
def test_the_order_stands_in_the_middle_and_nothing_else_is_changed(where: str) -> None:
    its = load_texts()
    probe, plain = probes()[f"{WRONG}, instruction in the {where}"], probes()[WRONG]
    ordered, without = (
        (probe.text, plain.text) if where == "summary" else (its.document_text(True), its.document_text(False))
    )
    before, after = ordered.split(its.order)
    assert len(before) > 300
    assert len(after) > 300
    assert before.split() + after.split() == without.split()
