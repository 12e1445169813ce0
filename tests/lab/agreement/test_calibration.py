"""Probabilities of judges: how well they hold, what is fitted to them, and what becomes of the fit."""

from __future__ import annotations

import json
import math
import random
import re
from pathlib import Path

import numpy as np
import pytest

import redraft
from redraft.agents.accounts import HIGH, LOW, calibrated, fit_deviation, raw_threshold, verdict
from redraft.evaluators.consensus import interval_of_mean
from redraft.evaluators.faithfulness import Faithfulness
from redraft.lab.agreement.report import LabelledProbability, cross_fit, fit_calibration, fit_quality
from redraft.settings import Calibration
from redraft.store.store import Store
from tests.command import Command
from tests.decisionserver import Json, decision_server

SLOPE, INTERCEPT = 0.5, -1.0
"""A judge that exaggerates: its log odds are twice what holds, and 2 too high."""


def exaggerated(true: float) -> float:
    return 1 / (1 + math.exp(-(math.log(true / (1 - true)) - INTERCEPT) / SLOPE))


def drawn(count: int, seed: int = 1) -> list[LabelledProbability]:
    draw = random.Random(seed)
    pairs = []
    for n in range(count):
        true = draw.uniform(0.02, 0.98)
        pairs.append(LabelledProbability(exaggerated(true), draw.random() < true, f"d{n % 40}"))
    return pairs


def test_the_fit_recovers_how_a_judge_exaggerates() -> None:
    found = fit_calibration(drawn(20_000))
    assert found is not None
    assert found.slope == pytest.approx(SLOPE, abs=0.03)
    assert found.intercept == pytest.approx(INTERCEPT, abs=0.06)
    assert raw_threshold(HIGH, found) == pytest.approx(exaggerated(HIGH), abs=0.02)
    assert raw_threshold(LOW, found) == pytest.approx(exaggerated(LOW), abs=0.05)


def test_a_calibrated_probability_decides_and_not_what_the_judge_says() -> None:
    fit = Calibration(slope=SLOPE, intercept=INTERCEPT)
    odds = {"fine": 0.9, "wrong": 0.1}
    assert verdict(odds, "fine", "fine", fit) == "unsure"
    assert verdict(odds, "fine", "fine", None) == "fine"
    assert calibrated(exaggerated(0.7), fit) == pytest.approx(0.7)
    assert calibrated(1.0, fit) < 1
    assert calibrated(0.0, fit) > 0


def test_calibrated_probabilities_hold_on_other_documents() -> None:
    pairs = drawn(4_000)
    across = cross_fit(pairs)
    assert across is not None
    before, after = fit_quality(pairs), fit_quality(across)
    assert before is not None
    assert after is not None
    assert before.error > 0.1
    assert after.error < 0.03
    assert after.brier < before.brier


@pytest.mark.parametrize(
    "pairs",
    [
        [],
        drawn(12),
        [LabelledProbability(0.5, True, "a")] * 50,
        [LabelledProbability(n / 100, n < 50, "a") for n in range(100)],
    ],
    ids=["none", "few", "one kind", "falling"],
)
def test_nothing_is_fitted_to_labels_that_fix_nothing(pairs: list[LabelledProbability]) -> None:
    assert fit_calibration(pairs) is None


def test_labels_that_can_be_told_apart_have_a_finite_fit() -> None:
    found = fit_calibration([LabelledProbability(0.9 if n % 2 else 0.1, bool(n % 2), f"d{n}") for n in range(100)])
    assert found is not None
    assert 1 < found.slope < 10


def test_the_interval_of_a_score_covers_the_truth() -> None:
    """Of 1,000 summaries with a hundred sentences each, whose probabilities hold."""
    draw = np.random.default_rng(7)
    covered = 0
    for _ in range(1_000):
        likely = draw.uniform(0.02, 0.98, 100)
        truth = (draw.random(100) < likely).mean()
        low, high = interval_of_mean(likely.tolist())
        covered += low <= truth <= high
    assert 0.93 <= covered / 1_000 <= 0.97


def test_the_interval_of_a_score_allows_for_a_fit_on_few_labels() -> None:
    covered = alone = 0
    for seed in range(1_000):
        by = fit_calibration(drawn(120, seed))
        assert by is not None
        draw = np.random.default_rng(seed)
        true = draw.uniform(0.02, 0.98, 100)
        truth = (draw.random(100) < true).mean()
        likely = [calibrated(exaggerated(one), by) for one in true.tolist()]
        low, high = interval_of_mean(likely, fit_deviation(likely, by))
        covered += low <= truth <= high
        low, high = interval_of_mean(likely)
        alone += low <= truth <= high
    assert 0.93 <= covered / 1_000 <= 0.97
    assert alone / 1_000 < 0.9


TRUE, FALSE = "The ferry of {} sank in March.", "The ferry of {} sank in May."
_QUOTED = re.compile(r"“(.*?)”")


def judge(_: str, question: Json) -> dict[str, float]:
    """Right about three of four sentences, and always nearly sure."""
    sentence = _QUOTED.findall(str(question["instructions"]))[0]
    number = int(re.findall(r"\d+", sentence)[0])
    seems = ("March" in sentence) != (number % 8 in (0, 6))
    likely = 0.95 if seems else 0.05
    return {"supported": likely, "contradicted": (1 - likely) * 0.6, "absent": (1 - likely) * 0.4}


def annotated(folder: Path) -> Path:
    path = folder / "labels.jsonl"
    lines = []
    for n in range(40):
        places = [f"Town {4 * n + at}" for at in range(4)]
        said = [(TRUE if at < 2 else FALSE).format(place) for at, place in enumerate(places)]
        marks = [{"sentence": one, "label": "March" in one} for one in said]
        lines.append({"text": " ".join(TRUE.format(place) for place in places), "sentences": marks})
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    return path


@pytest.mark.slow
async def test_a_fit_is_stored_and_applied_to_later_scores(tmp_path: Path) -> None:
    command, labels = Command(tmp_path), str(annotated(tmp_path))
    db = command.database
    with decision_server(judge) as server:
        named = ("--judge", "systemone:small", "--judge-base-url", server.address)
        options = ("--metric", "faithfulness", *named)
        made = command.run("agree", labels, *options, "--fit", "--save", "--json", "--quiet", "--title", "Towns")
        assert made.code == 0, made.err
        (table,) = [one for one in made.json["tables"] if one["name"] == "calibration"]
        as_given, after = table["rows"]
        # It is sure of all 160 sentences, and wrong about a quarter of them.
        assert (as_given["decided"], as_given["error"]) == (1.0, 0.25)
        assert as_given["calibration error"] == pytest.approx(0.2)
        assert after["decided"] == 0.0
        assert after["calibration error"] < 0.05
        assert after["Brier"] == pytest.approx(0.1875, abs=0.005)
        (places,) = [one["rows"] for one in made.json["tables"] if one["name"] == "places"]
        counted = [[row[name] for name in ("wrong", "found", "missed", "open", "accused")] for row in places]
        assert counted == [[0, 0, 0, 0, 20], [40, 20, 20, 0, 0], [40, 40, 0, 0, 0]]
        with Store(db) as store:
            found = store.agreements.calibration(
                f"systemone:small@{server.address}", "faithfulness", Faithfulness.version
            )
        assert found is not None

        settings = redraft.ModelSettings(model="systemone:small", base_url=server.address)
        document = redraft.Document.from_text("The ferry of Town 1 sank in March. " * 3, title="Ferry")
        async with redraft.Session(db, judges=[settings]) as session:
            result = await session.evaluate(document, "The ferry of Town 1 sank in March.", metrics=["faithfulness"])
    (sentence,) = result.evaluations["faithfulness"].details["sentences"]
    assert sentence["verdict"] == "unjudged"
    assert sentence["probability"] == pytest.approx(0.75, abs=0.02)


def test_a_fit_that_is_not_stored_is_refused(tmp_path: Path) -> None:
    made = Command(tmp_path).run("agree", str(annotated(tmp_path)), "--metric", "faithfulness", "--fit")
    assert made.code == 2
    assert "--fit stores a calibration" in made.err
