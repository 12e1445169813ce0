"""What a score is based on: which agreement figures apply to a judge, and what comes with the package."""

from __future__ import annotations

from dataclasses import replace

import pytest

from redraft.builtin.facade import IDENTITY
from redraft.domain import Evaluation, record_json
from redraft.evaluators.catalog import BUILT_IN
from redraft.order import Evaluate
from redraft.report.history import certificates as module
from redraft.report.history.certificates import certificate, in_words, judge_setup_of, packaged, packaged_words
from redraft.settings import DraftConfig, JudgeConfig, ModelSettings
from redraft.store.judgments import Agreement
from redraft.store.runs import Run
from redraft.store.store import Store
from tests.store.support import run

HERE = "http://here/v1"


def judging_run(judging: JudgeConfig, settings: DraftConfig | None = None) -> Run:
    hashes = {"ask_summary": "1", "answer_from_document": "2", "compare_answers": "3", "merge": "4"}
    return run(order=Evaluate(settings=settings or DraftConfig(), judging=judging), prompt_hashes=hashes)


def scored(**changes: object) -> Evaluation:
    return replace(Evaluation("consistency", 3, "scored", 0.75, 9, 1), **changes)  # type: ignore[arg-type]


def judged_by(*judges: str, **settings: object) -> Run:
    return judging_run(JudgeConfig.model_validate({"judges": judges, "base_url": HERE, **settings}))


RUN = judged_by("openai:a")
BUILT_IN_RUN = judging_run(JudgeConfig(judges=("extractive",)))


@pytest.mark.parametrize(
    ("changed", "same"),
    [
        (judged_by("openai:a", questions=7, batch=1, pack="p"), True),
        (replace(RUN, prompt_hashes={**RUN.prompt_hashes, "merge": "5"}), True),
        (RUN.with_order(settings=DraftConfig(model="openai:writer")), True),
        (judged_by("openai:a", base_url="http://there/v1"), False),
        (judged_by("openai:b"), False),
        (judged_by("openai:a", "openai:b"), False),
        (judged_by("openai:a", threshold=0.4), False),
        (judged_by("openai:a", repeat=3), False),
        (replace(RUN, prompt_hashes={**RUN.prompt_hashes, "ask_summary": "9"}), False),
    ],
)
def test_a_setup_has_all_that_matters(changed: Run, same: bool) -> None:
    setup = judge_setup_of(RUN, "consistency", 3)
    assert (setup.judge, setup.terms) == (f"openai:a@{HERE}", "")
    assert (judge_setup_of(changed, "consistency", 3) == setup) is same
    assert judge_setup_of(RUN, "consistency", 4) != setup != judge_setup_of(RUN, "coverage", 3)


@pytest.mark.parametrize(
    "run",
    [
        judged_by("near", base_url=None, models={"near": ModelSettings(model="openai:a", base_url=HERE)}),
        judging_run(JudgeConfig(), settings=DraftConfig(model="openai:a", base_url=HERE)),
    ],
    ids=["of a table", "the writer"],
)
def test_a_judge_goes_by_model_and_address(run: Run) -> None:
    assert judge_setup_of(run, "consistency", 3).judge == f"openai:a@{HERE}"


def test_the_built_in_judge_says_its_limits(store: Store) -> None:
    setup = judge_setup_of(BUILT_IN_RUN, "consistency", 3)
    assert (setup.judge, setup.prompts) == (IDENTITY, "")
    assert judge_setup_of(replace(BUILT_IN_RUN, prompt_hashes={}), "consistency", 3) == setup
    certified = certificate(store, BUILT_IN_RUN, scored())
    assert certified.line().startswith("extractive, an offline check that compares names")
    assert "cannot tell whether a reworded statement is true" in certified.line()
    assert record_json(certified)["misses"] == packaged_words()["consistency"]["misses"]
    panel = judging_run(JudgeConfig(judges=("extractive", "openai:a")))
    assert "cannot tell" not in certificate(store, panel, scored()).line()


def test_a_certificate_is_one_line(store: Store) -> None:
    run = judged_by("openai:a", repeat=3)
    spread = {"n": 3, "mean": 0.7, "sd": 0.031, "lowest": 0.6, "highest": 0.8}
    setup = judge_setup_of(run, "consistency", 3)
    assert certificate(store, run, scored(details={"spread": spread})).line() == (
        f"openai:a; prompts standard {setup.prompts}; 3 judgings, sd 0.03; 10% without a verdict;"
        " not checked against people"
    )
    figure = Agreement(setup, "QAGS CNN/DM", "consistency", "summaries", "tau-b", 108, 0.468, 0.4, 0.54, "2026-11-22")
    store.agreements.keep(figure)
    store.agreements.keep(replace(figure, dataset="A few", n=10))
    store.agreements.keep(replace(figure, level="sentences", measure="balanced accuracy", n=900))
    certified = certificate(store, run, scored())
    assert certified.line().endswith("agrees with people 0.47 (0.40 to 0.54) on QAGS CNN/DM, 108 summaries")
    assert len(certified.agreements) == 3
    assert in_words(replace(figure, measure="balanced accuracy", low=None)) == (
        "agrees with people 0.47 in balanced accuracy on QAGS CNN/DM, 108 summaries"
    )


def test_packaged_figures_belong_to_one_judge(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    setups = {(figure.standing.judge, figure.standing.metric, figure.standing.version) for figure in packaged()}
    metrics = {metric for _, metric, _ in setups}
    assert setups == {(IDENTITY, metric, BUILT_IN[metric].version) for metric in metrics}
    assert {"consistency", "coverage"} <= metrics <= set(packaged_words())

    [figure, *_] = packaged()
    evaluation = scored(metric=figure.standing.metric, version=figure.standing.version)
    assert figure in certificate(store, BUILT_IN_RUN, evaluation).agreements
    monkeypatch.setattr(module, "IDENTITY", "extractive:0")
    assert certificate(store, BUILT_IN_RUN, evaluation).agreements == ()
