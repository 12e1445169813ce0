"""Functions as metrics: python examples/embed/function_metric.py

A function takes the case and returns a score from 0 to 1, or whether the summary passes. Its docstring says what a
summary has to be: where it is not, that is the finding that a revision fixes.
"""

from __future__ import annotations

import re

import redraft

MINUTES = redraft.Document.from_text(
    "The harbour board met on 3 March 1924. Edith Marlow was in the chair. The dues of visiting yachts rise by a tenth."
    " The new crane will be delivered on 9 May 1924.",
    "Minutes",
)
_DATE = re.compile(r"\d{1,2} [A-Z][a-z]+ \d{4}")


def short(case: redraft.Case) -> bool:
    """The summary has at most 15 words."""
    return len(case.text.split()) <= 15


def true_dates(case: redraft.Case) -> float | None:
    """Every date of the summary is in the document."""
    named = _DATE.findall(case.text)
    return sum(date in case.document.text for date in named) / len(named) if named else None


def main() -> None:
    summary = "The board met on 3 March 1924, and the crane will come on 8 May 1924."
    result = redraft.evaluate(MINUTES, summary, store=":memory:", metrics=[short, true_dates])
    for name in ("short", "true_dates"):
        print(name, result.scores[name], *(finding.explanation for finding in result.evaluations[name].findings))


if __name__ == "__main__":
    main()
