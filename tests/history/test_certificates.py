"""What stands behind a score: for whom a figure holds, which one is named, and what comes with the package."""

from __future__ import annotations

from dataclasses import replace

import pytest

from redraft.builtin.facade import IDENTITY
from redraft.domain import Evaluation, record_json
from redraft.evaluators.catalog import BUILT_IN
from redraft.report.history import certificates as module
from redraft.report.history.certificates import certificate, in_words, judge_setup_of, packaged, packaged_words
from redraft.settings import DraftConfig, Evaluate, JudgeConfig, ModelSettings
from redraft.store.judgments import Agreement
from redraft.store.runs import Run
from redraft.store.store import Store
from tests.store.support import run

NOTHING = "not checked against people"


def judging_run(judging: JudgeConfig, **changes: object) -> Run:
    hashes = {"ask_summary": "1", "answer_from_document": "2", "compare_answers": "3", "merge": "4"}
    return run(purpose=Evaluate(judging=judging), prompt_hashes=hashes, **changes)


def scored(**changes: object) -> Evaluation:
    return replace(Evaluation("consistency", 3, "scored", 0.75, 9, 1), **changes)  # type: ignore[arg-type]


def test_a_figure_holds_for_the_judge_its_address_its_prompts_and_what_matters_to_the_metric() -> None:
    one = judging_run(JudgeConfig(judges=("openai:a",), base_url="http://here/v1"))
    standing = judge_setup_of(one, "consistency", 3)
    assert (standing.judge, standing.terms) == ("openai:a@http://here/v1", "")

    def of(changed: Run, metric: str = "consistency", version: int = 3) -> object:
        return judge_setup_of(changed, metric, version)

    same = (
        judging_run(JudgeConfig(judges=("openai:a",), base_url="http://here/v1", questions=7, batch=1, pack="p")),
        replace(one, prompt_hashes={**one.prompt_hashes, "merge": "5"}),
        replace(one, settings=DraftConfig(model="openai:writer")),
    )
    others = (
        judging_run(JudgeConfig(judges=("openai:a",), base_url="http://there/v1")),
        judging_run(JudgeConfig(judges=("openai:b",), base_url="http://here/v1")),
        judging_run(JudgeConfig(judges=("openai:a", "openai:b"), base_url="http://here/v1")),
        judging_run(JudgeConfig(judges=("openai:a",), base_url="http://here/v1", threshold=0.4)),
        judging_run(JudgeConfig(judges=("openai:a",), base_url="http://here/v1", repeat=3)),
        replace(one, prompt_hashes={**one.prompt_hashes, "ask_summary": "9"}),
    )
    assert [of(each) == standing for each in same] == [True] * 3
    assert [of(each) == standing for each in others] == [False] * 6
    assert of(one, version=4) != standing != of(one, "coverage")


def test_a_judge_of_a_table_is_known_by_its_model_and_the_writer_by_its_address() -> None:
    table = JudgeConfig(judges=("near",), models={"near": ModelSettings(model="openai:a", base_url="http://here/v1")})
    assert judge_setup_of(judging_run(table), "consistency", 3).judge == "openai:a@http://here/v1"
    writer = judging_run(JudgeConfig(), settings=DraftConfig(model="openai:a", base_url="http://here/v1"))
    assert judge_setup_of(writer, "consistency", 3).judge == "openai:a@http://here/v1"


def test_the_built_in_judge_goes_by_no_prompts_and_says_what_it_does_not_see(store: Store) -> None:
    one = judging_run(JudgeConfig(judges=("extractive",)))
    standing = judge_setup_of(one, "consistency", 3)
    assert (standing.judge, standing.prompts) == (IDENTITY, "")
    assert judge_setup_of(replace(one, prompt_hashes={}), "consistency", 3) == standing
    behind = certificate(store, one, scored())
    assert behind.line().startswith("extractive, an offline check that compares names")
    assert "cannot tell whether a reworded statement is true" in behind.line()
    assert record_json(behind)["misses"] == packaged_words()["consistency"]["misses"]
    beside = judging_run(JudgeConfig(judges=("extractive", "openai:a")))
    assert "no language model" not in certificate(store, beside, scored()).line()


def test_a_certificate_is_one_line_and_says_what_there_is(store: Store) -> None:
    one = judging_run(JudgeConfig(judges=("openai:a",), base_url="http://here/v1", repeat=3))
    spread = {"n": 3, "mean": 0.7, "sd": 0.031, "lowest": 0.6, "highest": 0.8}
    behind = certificate(store, one, scored(details={"spread": spread}))
    standing = judge_setup_of(one, "consistency", 3)
    assert behind.line() == (
        f"openai:a; prompts standard {standing.prompts}; 3 judgings, sd 0.03; 10% without a verdict; {NOTHING}"
    )
    figure = Agreement(
        standing, "QAGS CNN/DM", "consistency", "summaries", "tau-b", 108, 0.468, 0.4, 0.54, "2026-11-22"
    )
    store.agreements.keep(figure)
    store.agreements.keep(replace(figure, dataset="A few", n=10))
    store.agreements.keep(replace(figure, level="sentences", measure="balanced accuracy", n=900))
    behind = certificate(store, one, scored())
    assert behind.line().endswith("agrees with people 0.47 (0.40 to 0.54) on QAGS CNN/DM, 108 summaries")
    assert len(behind.agreements) == 3
    assert in_words(replace(figure, measure="balanced accuracy", low=None)) == (
        "agrees with people 0.47 in balanced accuracy on QAGS CNN/DM, 108 summaries"
    )


def test_a_packaged_figure_of_an_earlier_judge_stands_behind_nothing(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    [figure, *_] = packaged()
    one = judging_run(JudgeConfig(judges=("extractive",)))
    evaluation = scored(metric=figure.standing.metric, version=figure.standing.version)
    monkeypatch.setattr(module, "IDENTITY", figure.standing.judge)
    assert figure in certificate(store, one, evaluation).agreements
    monkeypatch.setattr(module, "IDENTITY", "extractive:0")
    assert certificate(store, one, evaluation).line().endswith(NOTHING)
    assert set(packaged_words()) >= {one.standing.metric for one in packaged()}


def test_the_packaged_figures_are_those_of_the_packaged_judge() -> None:
    known = {(one.standing.judge, one.standing.metric, one.standing.version) for one in packaged()}
    metrics = {metric for _, metric, _ in known}
    assert known == {(IDENTITY, metric, BUILT_IN[metric].version) for metric in metrics}
    assert {"consistency", "coverage"} <= metrics
