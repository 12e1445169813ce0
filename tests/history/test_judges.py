"""Who judged a score, and when scores of two runs are comparable."""

from __future__ import annotations

from dataclasses import replace

import pytest

from redraft.domain import Evaluation
from redraft.order import Evaluate
from redraft.report.history.judges import judged_by, judging_terms
from redraft.settings import DraftConfig, JudgeConfig, ModelSettings
from redraft.store.runs import Run
from tests.store.support import run

HERE = "http://here/v1"
HASHES = {"ask_summary": "1", "answer_from_document": "2", "compare_answers": "3", "merge": "4"}
EVALUATIONS = {
    "consistency": Evaluation("consistency", 3, "scored", 0.75, 9, 1),
    "statistics": Evaluation("statistics", 1, "measured"),
}


def run_judged_by(*judges: str, **settings: object) -> Run:
    judging = JudgeConfig.model_validate({"judges": judges, "base_url": HERE, **settings})
    return run(order=Evaluate(judging=judging), prompt_hashes=HASHES)


RUN = run_judged_by("openai:a")
NEAR = {"near": ModelSettings(model="openai:a", base_url=HERE)}


@pytest.mark.parametrize(
    ("changed", "different"),
    [
        (run_judged_by("openai:a", questions=7, batch=1, pack="p"), []),
        (run_judged_by("near", base_url=None, models=NEAR), []),
        (replace(RUN, prompt_hashes={**HASHES, "merge": "5"}), []),
        (RUN.with_order(settings=DraftConfig(model="openai:writer")), []),
        (run_judged_by("openai:a", base_url="http://there/v1"), ["the judges differ"]),
        (run_judged_by("openai:a", "openai:b"), ["the judges differ"]),
        (run_judged_by("openai:a", threshold=0.4), ["the ways of judging differ"]),
        (run_judged_by("openai:a", repeat=3), ["the ways of judging differ"]),
        (replace(RUN, prompt_hashes={**HASHES, "ask_summary": "9"}), ["the prompts differ"]),
        (run_judged_by("extractive"), ["the judges differ", "the prompts differ"]),
    ],
)
def test_terms_name_what_makes_scores_incomparable(changed: Run, different: list[str]) -> None:
    terms, changed_terms = (judging_terms(each_run, "consistency", 3) for each_run in (RUN, changed))
    assert [what for what in terms if terms[what] != changed_terms[what]] == different
    assert terms != judging_terms(RUN, "consistency", 4)


@pytest.mark.parametrize(
    ("judges", "shown", "says"),
    [
        (("openai:a",), {}, "openai:a; prompts standard"),
        (("openai:a",), {"openai:a": "a (port 8000)"}, "a (port 8000); prompts standard"),
        (("extractive", "openai:a"), {}, "extractive and openai:a; prompts standard"),
        (("extractive",), {}, "extractive, an offline check that compares names, numbers, dates, opposites and word"),
    ],
)
def test_one_line_says_who_judged(judges: tuple[str, ...], shown: dict[str, str], says: str) -> None:
    lines = judged_by(run_judged_by(*judges), EVALUATIONS, shown)
    assert set(lines) == {"consistency"}, "no judge gives statistics"
    assert lines["consistency"].startswith(says)
    assert lines["consistency"].endswith("whether a reworded statement is true") == (judges == ("extractive",))
