"""A metric that asks nobody: is every date of the summary one of the document's?"""

from __future__ import annotations

import re

from redraft import Case, Evaluation, Evaluator, Finding

_MONTH = "January|February|March|April|May|June|July|August|September|October|November|December"
_DATE = re.compile(
    rf"\b(?:(?P<day>\d{{1,2}}) (?P<month>{_MONTH})|(?P<of>{_MONTH}) (?P<on>\d{{1,2}})\b)|\b1\d{{3}}\b|\b20\d\d\b"
)


def dates(text: str) -> set[str]:
    """The days and the years that are named: `3 March`, `1924`."""
    return {_read(found) for found in _DATE.finditer(text)}


def _read(found: re.Match[str]) -> str:
    day, month = found["day"] or found["on"], found["month"] or found["of"]
    return f"{int(day)} {month}" if day else found.group()


class Dates(Evaluator):
    """The share of the summary's dates that the document has."""

    name = "dates"
    aim = "truth"

    async def evaluate(self, case: Case) -> Evaluation:
        """Look every date up, and find each one that is not there."""
        known = dates(case.document.text)
        named = [(one.sentence, date) for one in case.statements for date in sorted(dates(one.sentence))]
        if not named:
            return self.not_applicable("the summary has no date")
        wrong = [
            Finding(
                self.name,
                "unknown date",
                "correct",
                "The document does not have this date. Give the document's, or leave it out.",
                sentence=sentence,
                found=date,
            )
            for sentence, date in named
            if date not in known
        ]
        held = [sentence for sentence, date in named if date in known]
        return self.scored(1 - len(wrong) / len(named), judged=len(named), findings=wrong, held=held)
