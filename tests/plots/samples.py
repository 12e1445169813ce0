"""One plot of each kind, as a user would have it, with holes, long names and names in other scripts."""

from __future__ import annotations

import math
import random

from redraft.report.plots.curves import Curve, CurvePoint, Densities, Trend, Trends
from redraft.report.plots.figure import Grid, Grids
from redraft.report.plots.picture import Plot
from redraft.report.plots.scores import CostPoint, Differences, Metric, PlottedDifference, RoundScores, ScoreAgainstCost
from redraft.report.plots.shares import DocumentPart, Parts, ShareBar, Shares
from redraft.report.plots.waterfall import Waterfall, WaterfallCall

MODELS = (
    "openai:gpt-4o-mini",
    "qwen2.5-72b-instruct",
    "extractive",
    "command-r7b-12-2024-with-a-rather-long-name:latest",
    "نموذج",
)


def rounds() -> RoundScores:
    coverage = Metric("coverage", [0.42, 0.61, 0.58, 0.7, 0.82], goal=0.8)
    consistency = Metric("consistency", [0.9, 0.93, None, 0.88, 0.91], goal=0.8)
    recall = Metric("keyfact_recall", [0.31, 0.35, 0.52, 0.49, 0.55], goal=0.6)
    return RoundScores([coverage, consistency, recall], [True, True, False, True, True])


def densities(points: int = 50) -> Densities:
    def bump(middle: float, share: float) -> list[float]:
        places = [(at + 0.5) / points for at in range(points)]
        return [1 - share + share * 3 * math.exp(-(((place - middle) / 0.19) ** 2)) for place in places]

    curves = [Curve(name, bump(0.2 * at, 0.7 - 0.1 * at)) for at, name in enumerate(MODELS[:4])]
    return Densities(curves, Curve("reference summary", bump(0.5, 0.2)))


def shares() -> Shares:
    rows = [(0.5, 0.2, 0.3), (0.62, 0.37, 0.01), (1 / 3, 1 / 3, 1 / 3), (0.4, None, 0.2), (0, 0.25, 0.75)]
    return Shares([ShareBar(name, row) for name, row in zip(MODELS, rows, strict=True)])


def parts() -> Parts:
    return Parts(
        [
            DocumentPart("I. The salt road", 0.8, 20, 0, 0.61, 0.93),
            DocumentPart("II. Hester Vane", 0.55, 20, 5, 0.34, 0.74),
            DocumentPart("III. In which the ledger is lost, found, and lost again", 0.25, 8, 12, 0.07, 0.59),
            DocumentPart("IV. Winter", None, 0, 9),
            DocumentPart("V. The assize", 1.0, 6, 1, 0.61, 1.0),
            DocumentPart("VI. Coda", 0.0, 4, 0, 0.0, 0.49),
        ]
    )


def costs() -> ScoreAgainstCost:
    points = [
        CostPoint(MODELS[0], 0.021, 0.71, 0.66, 0.75),
        CostPoint(MODELS[1], 0.34, 0.78, 0.74, 0.82),
        CostPoint(MODELS[2], 0.004, 0.41, 0.35, 0.47),
        CostPoint(MODELS[3], 0.025, 0.69, 0.61, 0.74),
        CostPoint(MODELS[4], 1.9, 0.79, 0.75, 0.83),
        CostPoint("gpt-4o", 2.4, 0.8, 0.76, 0.84),
        CostPoint("without a price", None, 0.6),
    ]
    return ScoreAgainstCost(points, "coverage (share of questions answered)")


def differences() -> Differences:
    rows = [
        PlottedDifference("coverage", 0.084, 0.031, 0.139, 40),
        PlottedDifference("consistency", -0.012, -0.041, 0.017, 40),
        PlottedDifference("faithfulness", -0.061, -0.102, -0.02, 38),
        PlottedDifference("keyfact_recall, leaves, narrative perspective only", 0.02, -0.05, 0.09, 12),
        PlottedDifference("booookscore", None),
    ]
    return Differences(rows, "qwen2.5-72b", "gpt-4o-mini", "score", "Two models over 40 documents")


def trends() -> Trends:
    def line(level: float, slope: float) -> list[CurvePoint]:
        found = []
        for at in range(13):
            value = level + slope * at / 12 + 0.02 * math.sin(at)
            hole = slope < 0 and at == 6
            found.append(CurvePoint(10000 * (at + 1), None if hole else value, value - 0.05, value + 0.04))
        return found

    names = [("similarity of the answers", 0.7, -0.25), (MODELS[1], 0.5, 0.1), (MODELS[2], 0.32, 0.02)]
    lines = [Trend(name, line(level, slope)) for name, level, slope in names]
    return Trends(lines, "context read, in tokens", "accuracy (share of questions)", "Accuracy with growing context")


def grids() -> Grids:
    lengths = [f"{10 * at}k" for at in range(1, 8)]
    grids = [
        Grid(name, [[0.9 - 0.06 * at - (0.2 if third == 1 else 0) for third in range(3)] for at in range(7)])
        for name in MODELS[:2]
    ]
    holes = Grid("with holes", [[None, 0.5, float("nan")], [1.0, 0.0, 0.004]])
    thirds = ["beginning", "middle", "end"]
    return Grids(
        [*grids, holes], lengths, thirds, "length (tokens)", "third", "accuracy (share)", "Accuracy by third and length"
    )


def calls(number: int = 30_000, seed: int = 5) -> list[WaterfallCall]:
    """A run as it goes: one kind of call after the other, eight at once, some of them mixed."""
    chance, found, at = random.Random(seed), [], 0.0
    kinds = ["summarize_chunk", "merge", "ask_questions", "answer", "verify_claim", "revise", "find_facts", "validate"]
    kinds += ["decide", "find_confusion", "prefer"]
    for one in range(number):
        kind = kinds[min(len(kinds) - 1, (one * 9 // number) + (chance.random() < 0.2) + (chance.random() < 0.05))]
        seconds = chance.expovariate(0.4) + 0.2
        found.append(WaterfallCall(kind, at, at + seconds, failed=chance.random() < 0.01))
        at += seconds / 8
    return found


SAMPLES: dict[str, Plot] = {
    "rounds": rounds(),
    "densities": densities(),
    "shares": shares(),
    "parts": parts(),
    "costs": costs(),
    "differences": differences(),
    "trends": trends(),
    "grids": grids(),
    "calls": Waterfall(calls(26, 1), "Calls of a short run"),
    "waterfall": Waterfall(calls()),
}
