"""Views of evaluations: a metric with its score, its findings and their evidence."""

from __future__ import annotations

from collections.abc import Iterator

from redraft.cli.terminal import wrapped
from redraft.cli.views import figures
from redraft.cli.views.figures import breakdown
from redraft.cli.views.render import count, score, spaced
from redraft.domain import Document, Evaluation, Finding
from redraft.evaluators.metric_info import SELF_CHECK, UNSUPPORTED, is_unheard, withdrawn
from redraft.text.places import place_of
from redraft.text.sanitizer import one_line

SHOWN = 10
_LABEL = 14
_QUOTE = 240
_ITEMS = {
    "coverage": "question",
    "consistency": "claim",
    "keyfact_recall": "fact",
    "faithfulness": "sentence",
    "booookscore": "sentence",
}


def evaluation(
    one: Evaluation,
    document: Document,
    *,
    self_checked: bool = False,
    shown: int | None = SHOWN,
    rest: str = "",
) -> Iterator[str]:
    """Yield a metric's score, its parts and its findings; `rest` is the command that shows omitted ones."""
    if one.outcome == "measured":
        yield from figures.lines(one)
        return
    what = _ITEMS.get(one.metric, "item")
    judged = f"{count(one.judged, what)} judged"
    if one.unjudged:
        judged += f", {one.unjudged:,} without a verdict"
    if one.outcome == "scored":
        itself = f" ({SELF_CHECK})" if self_checked else ""
        found = count(len(one.findings), "finding")
        yield f"{one.metric} {score(one.score)}{_between(one)}{itself}: {judged}, {found}"
    else:
        says = "has no score" if one.outcome == "failed" and not is_unheard(one) else spaced(one.outcome)
        yield from wrapped(f"{one.metric} {says}: {one_line(one.reason, 300)}", "", "  ")
    yield from breakdown(one)
    yield from _panel(one)
    for number, finding in enumerate(one.findings[:shown], 1):
        yield from numbered(number, finding, document)
    for gone in withdrawn(one):
        about = one_line(str(gone.get("question") or gone.get("sentence")), _QUOTE)
        said = f"{about} · the document says so: “{one_line(str(gone.get('quote')), _QUOTE)}”"
        yield from wrapped(said, "  withdrawn: ", "    ")
    if shown is not None and len(one.findings) > shown:
        yield f"  ... and {len(one.findings) - shown:,} more ({rest})"


def _between(one: Evaluation) -> str:
    """Return the 95 % interval of a score that rests on probabilities."""
    ends = one.details.get("interval")
    return f" ({score(ends[0])} to {score(ends[1])})" if isinstance(ends, list) else ""


def _panel(one: Evaluation) -> Iterator[str]:
    """Yield the spread of several judgings and how far they agree."""
    spread, agreement = one.details.get("spread"), one.details.get("agreement")
    if isinstance(spread, dict):
        agreed = f"; they agree on {100 * agreement:.0f}% of the verdicts" if isinstance(agreement, float) else ""
        yield (
            f"  {spread['n']} judgings: mean {spread['mean']:.3f}, sd {spread['sd']:.3f}, from {spread['lowest']:.3f}"
            f" to {spread['highest']:.3f}{agreed}"
        )
    judges = one.details.get("judges")
    for each in judges if isinstance(judges, list) else []:
        yield f"    {one_line(str(each['judge']), 50)} {score(each['score'])}, {each['judged']} judged"
    if isinstance(trouble := one.details.get("trouble"), str):
        yield from wrapped(f"not everything was judged: {one_line(trouble, 300)}", "  ", "    ")


def numbered(number: int, finding: Finding, document: Document) -> Iterator[str]:
    """Yield a numbered finding."""
    about = one_line(_about(finding), _QUOTE)
    yield from wrapped(f"{_kind(finding)}: {about}", f"{number:>4}  ")
    # Where the whole sentence is wrong, it is what the summary says.
    apart = finding.sentence and finding.sentence != finding.found
    quoted = f"“{one_line(finding.sentence, _QUOTE)}”" if apart else ""
    rows = [
        ("sentence", quoted),
        ("summary says", one_line(finding.found, _QUOTE)),
        ("document says" if finding.question else "reason", _expected(finding)),
        ("evidence", _evidence(finding, document)),
    ]
    for label, text in rows:
        if text:
            yield from wrapped(text, f"      {label:<{_LABEL}}")


def brief(finding: Finding) -> str:
    """Return a finding in one line."""
    quoted = f"“{finding.sentence}”" if finding.sentence and not finding.question else ""
    about = f"{_kind(finding)}: {_short(quoted or _about(finding), 120)}"
    return about if _is_missing(finding) or not finding.expected else f"{about} -> {_short(finding.expected, 80)}"


def _kind(finding: Finding) -> str:
    """Return the kind of a finding; if judges differ, with the number of judges that report it."""
    says, of = finding.said_by or (0, 0)
    return f"{spaced(finding.kind)} ({says} of {of} judges)" if says < of else spaced(finding.kind)


def _about(finding: Finding) -> str:
    """Return the subject of a finding: its question, what is missing, or else the explanation."""
    return finding.expected if _is_missing(finding) else finding.question or finding.explanation


def _is_missing(finding: Finding) -> bool:
    """Return whether `expected` is itself what the summary lacks, rather than the answer to a question."""
    return finding.task == "add" and not finding.question and bool(finding.expected)


def _short(text: str, width: int) -> str:
    """Shorten a text to `width` characters in one line, at a space; if there is none nearby, as in Chinese, within a
    word."""
    line = one_line(text)
    space = line.rfind(" ", width // 2, width)
    return one_line(line, width) if len(line) <= width or space < 0 else f"{line[:space]}…"


def _expected(finding: Finding) -> str:
    if finding.expected:
        return "" if _is_missing(finding) else one_line(finding.expected, _QUOTE)
    return "nothing about it" if finding.kind == UNSUPPORTED else ""


def _evidence(finding: Finding, document: Document) -> str:
    evidence = finding.evidence
    if evidence is None or not evidence.text:
        return ""
    place = f" ({place_of(document, evidence.span)})" if evidence.span else ""
    return f"“{one_line(evidence.text, _QUOTE)}”{place}"
