"""Every control can be passed by a judge without a fault, and every control can be failed."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

import pytest

from redraft.domain import Evaluation
from redraft.errors import UnreadableReply
from redraft.evaluators.base import Case, Evaluator, statements_of
from redraft.evaluators.catalog import built_in
from redraft.evaluators.factual import SUPPORTED
from redraft.evaluators.metric_info import METRICS
from redraft.lab.doctor.controls import (
    ANOTHER,
    EMPTY,
    HALVES,
    HOLLOW,
    IN_DOCUMENT,
    IN_SUMMARY,
    ITSELF,
    KEPT,
    KINDS,
    REFUSAL,
    RIGHT,
    SHUFFLED,
    SUMMARY,
    WORDINGS,
    WRONG,
    ControlCheck,
    controls,
    document_text,
    examine,
    expectations_of,
    faulty_probe,
    load_texts,
    probes,
)
from redraft.llm.base import FunctionModel
from redraft.order import Evaluate
from redraft.runs.experiment_runner import ExperimentRunner
from redraft.runs.session import Session
from redraft.settings import JudgeConfig, Limits
from redraft.store.store import Store
from tests.cli.local_command import LocalCommand
from tests.lab.doctor.oracle import Oracle
from tests.nli.conftest import tiny

SCORING = [name for name in METRICS if built_in(name).aim and built_in(name).prompts]


async def checked(
    folder: Path, model: FunctionModel, *metrics: Evaluator, own: tuple[Evaluator, ...] = ()
) -> list[ControlCheck]:
    """What comes of the controls of some metrics."""
    names = tuple(metric.name for metric in (*metrics, *own))
    order = Evaluate(judging=JudgeConfig(judges=(model.identity,), metrics=names))
    with Store(folder / "redraft.db") as store:
        async with Session(store, judges=(model,), metrics=own) as session:
            return list((await examine(order, ExperimentRunner(store, Limits(), session=session), own)).controls)


@pytest.mark.slow
async def test_a_perfect_judge_passes_every_control(tmp_path: Path) -> None:
    checks = await checked(tmp_path, Oracle().model, *(built_in(name) for name in SCORING))
    assert [(check.control, check.metric, check.verdict) for check in checks if check.verdict != "pass"] == []
    cases = [(control, metric) for metric in SCORING for control in expectations_of(built_in(metric))]
    assert [(check.control, check.metric) for check in checks] == cases
    assert {control for control, _ in cases} == {*controls()}


def said(probe: str, score: float | None = None, wrong: Collection[str] = (), **more: Any) -> Evaluation:
    """What faithfulness says of a probe: a score, and the sentences that it finds wrong."""
    statements = statements_of(probes()[probe].text)
    verdicts = [
        {"id": statement.id, "verdict": "entity" if statement.sentence in wrong else SUPPORTED}
        for statement in statements
    ]
    outcome = more.pop("outcome", "scored" if score is not None else "failed")
    details = {"sentences": verdicts, **more.pop("details", {})}
    return Evaluation("faithfulness", 1, outcome, score, len(verdicts), 0, details=details, **more)


def open_(probe: str) -> Evaluation:
    """An evaluation without any verdict."""
    return Evaluation("faithfulness", 1, "failed", None, 0, 1, reason="no answer")


def of_kind(*kinds: str, probe: str = WRONG) -> list[str]:
    """The sentences of a probe of these kinds."""
    return [sentence for kind, sentence in probes()[probe].sentences if kind in kinds]


ERRORS = of_kind(*KINDS)
PLANTED = {(wording, half): faulty_probe(wording, half) for wording in WORDINGS for half in HALVES}
NAMES = [sentence for name in PLANTED.values() for sentence in of_kind("name", probe=name)]
SCORES: list[tuple[str, str, dict[str, float | None], str]] = [
    (ITSELF, "truth", {ITSELF: 0.9}, "pass"),
    (ITSELF, "truth", {ITSELF: 0.89}, "fail"),
    (ITSELF, "form", {ITSELF: 0.8}, "pass"),
    (ITSELF, "content", {ITSELF: None}, "fail"),
    (EMPTY, "content", {EMPTY: None}, "pass"),
    (EMPTY, "content", {EMPTY: 0.0}, "fail"),
    (HOLLOW, "content", {HOLLOW: 0.1}, "pass"),
    (HOLLOW, "content", {HOLLOW: 0.2}, "fail"),
    (ANOTHER, "truth", {ANOTHER: None}, "cannot tell"),
    (REFUSAL, "content", {REFUSAL: 0.5}, "fail"),
    (SHUFFLED, "truth", {SHUFFLED: 0.6, SUMMARY: 0.75}, "pass"),
    (SHUFFLED, "truth", {SHUFFLED: 0.5, SUMMARY: 0.75}, "fail"),
    (SHUFFLED, "form", {SHUFFLED: 0.65, SUMMARY: 0.75}, "pass"),
    (SHUFFLED, "form", {SHUFFLED: 0.7, SUMMARY: 0.75}, "fail"),
    (SHUFFLED, "form", {SHUFFLED: None, SUMMARY: 0.75}, "cannot tell"),
    ("instruction in the summary", "form", {f"{SHUFFLED}, {IN_SUMMARY}": 0.6, SHUFFLED: 0.5}, "pass"),
    ("instruction in the summary", "form", {f"{SHUFFLED}, {IN_SUMMARY}": 0.7, SHUFFLED: 0.5}, "fail"),
    ("instruction in the document", "content", {f"{HOLLOW}, {IN_DOCUMENT}": 0.9}, "fail"),
]


@pytest.mark.parametrize(("control", "aim", "scores", "verdict"), SCORES)
def test_a_score_passes_or_fails(control: str, aim: Any, scores: dict[str, float | None], verdict: str) -> None:
    expectation = controls()[control][aim]
    assert set(expectation.uses) == scores.keys()
    assert expectation.check({probe: said(probe, score) for probe, score in scores.items()})[0] == verdict


def test_inapplicable_metrics_pass_refusals() -> None:
    evaluation = said(REFUSAL, outcome="not_applicable")
    assert controls()[REFUSAL]["truth"].check({REFUSAL: evaluation})[0] == "pass"


@pytest.mark.parametrize(
    ("control", "wrong", "verdict", "words"),
    [
        ("name, copied", NAMES, "pass", "2 found"),
        ("name, copied", NAMES[:1], "fail", "1 found"),
        ("invented sentence, reworded", NAMES, "fail", "0 found"),
        ("right, copied", of_kind(RIGHT)[:1], "pass", "1 accused"),
        ("right, copied", of_kind(RIGHT)[:2], "fail", "2 accused"),
        (f"passive, {KEPT}", load_texts()["kept"]["passive"][:1], "fail", "1 accused"),
        (f"passive, {KEPT}", load_texts()["kept"]["order"], "pass", "0 accused"),
    ],
)
def test_sentences_are_found_or_spared(control: str, wrong: list[str], verdict: str, words: str) -> None:
    expectation = controls()[control]["truth"]
    assert expectation.check({probe: said(probe, 0.5, wrong) for probe in expectation.uses}) == (verdict, words)
    nothing = expectation.check({probe: open_(probe) for probe in expectation.uses})
    assert nothing[0] == "cannot tell"
    assert "without a verdict" in nothing[1]


@pytest.mark.parametrize(
    ("before", "after", "verdict"),
    [(ERRORS, ERRORS, "pass"), (ERRORS[:2], ERRORS[:2], "pass"), (ERRORS, ERRORS[1:], "fail"), ([], [], "cannot tell")],
)
@pytest.mark.parametrize("place", [IN_DOCUMENT, IN_SUMMARY])
def test_injected_instructions_change_no_finding(place: str, before: list[str], after: list[str], verdict: str) -> None:
    expectation, probe = controls()[place]["truth"], f"{WRONG}, {place}"
    assert expectation.uses == (probe, WRONG)
    assert expectation.check({WRONG: said(WRONG, 0.5, before), probe: said(probe, 0.5, after)})[0] == verdict


@pytest.mark.parametrize(
    ("details", "verdict"), [({"agreement": 0.9}, "pass"), ({"agreement": 0.8}, "fail"), ({}, "cannot tell")]
)
def test_the_same_twice_has_the_same_verdicts(details: dict[str, float], verdict: str) -> None:
    expectation = controls()["the same twice"]["form"]
    assert expectation.check({SUMMARY: said(SUMMARY, 1.0, details=details)})[0] == verdict


class Eager(Evaluator):
    """Has a score for whatever it is given, nothing included."""

    name = "eager"
    aim = "content"

    async def evaluate(self, case: Case) -> Evaluation:
        document = {statement.sentence for statement in statements_of(case.document.text)}
        sentences = [statement.sentence for statement in case.statements]
        return self.scored(sum(sentence in document for sentence in sentences) / len(sentences) if sentences else 1.0)


@pytest.mark.slow
async def test_metrics_without_scores_fail_empty_summaries(tmp_path: Path) -> None:
    checks = await checked(tmp_path, Oracle().model, own=(Eager(),))
    failed = [check for check in checks if check.verdict == "fail"]
    assert [(check.control, check.said) for check in failed] == [(EMPTY, "1.00")]
    assert all(check.runs for check in failed)


@pytest.mark.slow
async def test_silent_judges_fail_required_controls(tmp_path: Path) -> None:
    silent = FunctionModel(lambda request: UnreadableReply("nothing", text="Hm."), "silent")
    checks = await checked(tmp_path, silent, *(built_in(name) for name in SCORING))
    for metric in SCORING:
        verdicts = {check.control: check.verdict for check in checks if check.metric == metric}
        assert (verdicts.pop(EMPTY), verdicts.pop(ITSELF)) == ("pass", "fail")
        assert set(verdicts.values()) == {"cannot tell"}


def test_control_texts_hold_what_they_claim() -> None:
    texts = load_texts()
    document = [statement.sentence for statement in statements_of(texts["document"])]
    assert 250 <= len(texts["document"].split()) <= 500
    for (wording, half), name in PLANTED.items():
        sentences = [statement.sentence for statement in statements_of(probes()[name].text)]
        assert sentences == [sentence for _, sentence in probes()[name].sentences]
        right, wrong = of_kind(RIGHT, probe=name), of_kind(*KINDS, probe=name)
        assert [kind for kind, _ in probes()[name].sentences if kind != RIGHT] == [*KINDS]
        assert not set(wrong) & {*document, *of_kind(RIGHT, probe=PLANTED[wording, 1 - half])}
        assert set(right) <= set(document) if wording == "copied" else not set(right) & set(document)
    assert [len(sentences) for sentences in texts["kept"].values()] == [2] * 7
    kept_sentences = {sentence for _, sentence in probes()[KEPT].sentences}
    assert not kept_sentences & {*document, *texts["summary"]}
    assert sorted(texts["shuffled"]) == [*range(len(texts["summary"]))]
    assert all(at != place for place, at in enumerate(texts["shuffled"]))
    assert not set(_names(texts["other"])) & set(_names(texts["document"]))


def _names(text: str) -> list[str]:
    """What is written like a name within a sentence."""
    words = [sentence.split()[1:] for sentence in (statement.sentence for statement in statements_of(text))]
    return [word.strip(".,") for sentence in words for word in sentence if word[:1].isupper()]


@pytest.mark.parametrize("where", ["summary", "document"])
def test_the_instruction_is_the_only_change(where: str) -> None:
    probe, plain = probes()[f"{WRONG}, instruction in the {where}"], probes()[WRONG]
    ordered, without = (probe.text, plain.text) if where == "summary" else (document_text(True), document_text(False))
    before, after = ordered.split(load_texts()["order"])
    assert len(before) > 300
    assert len(after) > 300
    assert before.split() + after.split() == without.split()


__all__ = ["tiny"]


@pytest.mark.nightly
def test_entailment_models_are_examined_by_their_metrics(tiny: Path, tmp_path: Path) -> None:
    done = LocalCommand(tmp_path).run("doctor", "--judge", f"nli:{tiny}", "--json", "-q")
    assert done.code == 3, "it knows nothing of the bridge"
    (judge,) = done.json["judges"]
    assert {control["metric"] for control in judge["controls"]} == {"consistency", "faithfulness"}
