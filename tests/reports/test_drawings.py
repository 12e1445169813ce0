"""The drawings of a dossier: what they show and say, with nothing from outside read as markup."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from markupsafe import Markup

from redraft.domain import Draft, Evaluation, Evidence, Round, Span
from redraft.report.dossier.contents import JudgedItem
from redraft.report.history.trace import RoundTrace
from redraft.report.pages.dossier import items_by_fifth, rounds, sources


def alt(figure: Markup) -> str:
    """The numbers of a drawing in words; it is well-formed."""
    ElementTree.fromstring(figure)
    label = re.search(r'role="img" aria-label="([^"]*)"', figure)
    assert label is not None
    return label[1]


def turns(metric: str, scores: list[float | None], accepted: list[bool]) -> list[RoundTrace]:
    return [
        RoundTrace(
            Round(number, "d", accepted=was_accepted),
            Draft("d", "r", number, "n", "", 0),
            {metric: Evaluation(metric, 1, "failed" if score is None else "scored", score)},
            (),
        )
        for number, (score, was_accepted) in enumerate(zip(scores, accepted, strict=True))
    ]


def test_rounds_connect_accepted_drafts() -> None:
    figure = rounds(turns("coverage", [0.4, 0.3, None, 0.6], [True, False, True, True]), {"coverage": 0.5})
    assert "coverage: 0.40, 0.30, –, 0.60." in alt(figure)
    assert figure.count("plot-hollow") == 1
    # The draft and round 2 are neighbours, but round 2 has no score.
    assert figure.count("plot-curve") == 0
    assert "goal 0.5" in figure
    joined = rounds(turns("<b>", [0.4, 0.3, 0.6], [True, False, True]), {})
    assert joined.count("plot-curve") == 1
    assert "<b>:" not in joined


def test_sources_are_shares_of_fifths() -> None:
    figure = sources({"a": [0.4, 0.2, 0.2, 0, 0], "<b>": [0, 0, 0, 0, 0]})
    assert "a: 0 to 20% 50%, 20 to 40% 25%, 40 to 60% 25%, 60 to 80% 0%, 80 to 100% 0%." in figure
    assert "<b>:" not in figure
    alt(figure)


def test_fifths_have_counts_and_intervals() -> None:
    items = [
        JudgedItem.model_construct(value=value, evidence=Evidence("", Span(start, start)))
        for start, value in ((0, 1.0), (5, 0.0), (19, None), (20, None), (99, 1.0))
    ]
    figure = items_by_fifth("Coverage", "share", items, 100)
    assert "0 to 20%: 0.50, 2 of 3 items judged; 20 to 40%: –, 0 of 1 item judged" in alt(figure)
    assert "80 to 100%: 1.00, 1 of 1 item judged" in alt(figure)
    assert ">0.50, 2 items, 1 open</text>" in figure
    assert figure.count("plot-rule") == 2
