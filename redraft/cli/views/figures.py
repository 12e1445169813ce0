"""Views of evaluations: scores and their parts, findings and their evidence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from redraft.cli.terminal import width, wrapped
from redraft.cli.views import render
from redraft.cli.views.render import aligned, count, score, spaced
from redraft.domain import Document, Evaluation, Finding
from redraft.evaluators.metric_info import NONE, OFFLINE_CHECK, UNSUPPORTED, got_no_reply, stops_in_words, withdrawn
from redraft.evaluators.reference.keyfacts import ALL, LEVELS
from redraft.llm.claim_judge import claim_in
from redraft.prompts.qa import sentence_in
from redraft.settings import FIGURES, NEWCOMER
from redraft.text.places import place_of
from redraft.text.sanitizer import one_line

_INDENT = "  "


def breakdown(one: Evaluation) -> Iterator[str]:
    """Yield the parts of a score; nothing for a metric without parts."""
    details: Mapping[str, Any] = one.details
    if one.outcome == "scored" and one.metric == "keyfact_recall":
        yield from _recall(details)
    elif one.outcome == "scored" and one.metric == "faithfulness":
        yield from _faithfulness(details)
    elif one.outcome == "scored" and one.metric == "booookscore":
        yield from _counted("types", details["types"])
    yield from _levels(details)
    needs = "have a key sentence" if _is_about_key_sentences(one) else _NEEDS.get(one.metric, "")
    yield from _concise(needs, details.get("conciseness"))
    for trouble in one.missing:
        yield from wrapped(f"missing: {one_line(trouble, 300)}", _INDENT, 2 * _INDENT)


_MAX_NAMED = 12
_NEEDS = {"coverage": "answer a question", "keyfact_recall": "state a key fact"}


def _concise(needs: str, found: Mapping[str, Any] | None) -> Iterator[str]:
    """Yield which sentences no item rests on."""
    if found and found["unneeded"]:
        which = ", ".join(map(str, found["unneeded"][:_MAX_NAMED]))
        more = ", ..." if len(found["unneeded"]) > _MAX_NAMED else ""
        yield f"  {render.score(found['share'])} of the sentences {needs}; without: {which}{more}"


def _levels(details: Mapping[str, Any]) -> Iterator[str]:
    """Yield the level that each judge gave by a rubric, with its reason."""
    match details:
        case {"levels": int(highest), "verdicts": [*verdicts]}:
            for verdict in verdicts:
                match verdict:
                    case {"level": int(level), "reason": str(reason)}:
                        given = f"level {level} of {highest}" if level else "no level"
                        said = f"{given}: {one_line(reason, 300)}" if reason else given
                        yield from wrapped(said, _INDENT, 2 * _INDENT)


def _recall(details: Mapping[str, Any]) -> Iterator[str]:
    levels = (ALL, *LEVELS)
    rows = [("", *levels), ("recall", *_cells(details["by_level"], levels, "recall", "stated"))]
    for groups in (details["by_perspective"], details["by_position"]):
        if len(groups) > 1:
            rows += [(name, *_cells(groups[name], levels, "recall", "stated")) for name in groups]
    if len(details["by_position"]) > 1:
        rows.append(("gap", *(render.score(details["gap"][level]) for level in levels)))
    yield from _table(rows)


def _faithfulness(details: Mapping[str, Any]) -> Iterator[str]:
    if details["by_level"]:
        levels = (ALL, *LEVELS, NONE)
        yield from _table(
            [("", *levels), ("faithful", *_cells(details["by_level"], levels, "faithfulness", "faithful"))]
        )
    yield from _counted("errors", details["errors"])


def _counted(what: str, numbers: Mapping[str, int]) -> Iterator[str]:
    """Yield the number of each kind, most frequent first, if there are any."""
    found = sorted(((kind, number) for kind, number in numbers.items() if number), key=lambda item: -item[1])
    if found:
        yield f"{_INDENT}{what}: {', '.join(f'{number} {render.spaced(kind)}' for kind, number in found)}"


def _cells(shares: Mapping[str, Any], levels: Sequence[str], share: str, part: str) -> list[str]:
    """Return each level's share with its numerator and denominator."""
    return [
        f"{render.score(shares[level][share])} {_number(shares[level][part])}/{shares[level]['judged']}"
        if shares[level]["judged"]
        else "-"
        for level in levels
    ]


def _number(part: float) -> str:
    """Return a number of items, with one decimal if judges differ."""
    return f"{part:.1f}" if part != int(part) else str(int(part))


def _table(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Return the rows of a table; if it is too wide for the terminal, without the counts behind the shares."""
    lines = render.aligned(rows)
    if max(map(len, lines)) + len(_INDENT) > width():
        lines = render.aligned([[cell.partition(" ")[0] for cell in row] for row in rows])
    return (f"{_INDENT}{line}" for line in lines)


_LABEL, _TITLE = 14, 40
_POSITION, _SECTIONS = "position", 20
_THIRDS = ("first third", "second third", "last third")
_BARS = " ▁▂▃▄▅▆▇█"


def lines(one: Evaluation) -> Iterator[str]:
    """Yield the figures, with a dash for a missing one."""
    if one.metric == NEWCOMER:
        yield brief_line(one)
    elif one.metric in FIGURES:
        yield from _position(one) if one.metric == _POSITION else _statistics(one)
    else:
        yield f"{one.metric}: {_own(one)}"


def brief_line(one: Evaluation) -> str:
    """Return the figures that matter when drafts are compared."""
    if one.metric == NEWCOMER:
        return f"{one.metric}: {stops_in_words(one)}"
    if one.metric in FIGURES:
        return _brief_position(one) if one.metric == _POSITION else _brief_statistics(one)
    return f"{one.metric}: {_own(one)}"


def _own(one: Evaluation) -> str:
    """Return the numbers and texts that a custom metric reports, by name."""
    plain = {name: value for name, value in one.details.items() if isinstance(value, str | int | float)}
    return ", ".join(f"{spaced(name)} {one_line(str(value), _TITLE)}" for name, value in plain.items()) or "measured"


def _position(one: Evaluation) -> Iterator[str]:
    details: Mapping[str, Any] = one.details
    beside: Mapping[str, Any] | None = details.get("reference")
    yield f"{one.metric}: {_traced(details)}"
    if beside:
        yield f"  {'reference':<{_LABEL}}{_traced(beside)}"
    rows = [("", "summary", *(["reference"] if beside else []), "even")]
    for at, name in enumerate(_THIRDS):
        other = [_percent(beside["thirds"][at])] if beside else []
        rows.append((name, _percent(details["thirds"][at]), *other, _percent(1 / len(_THIRDS))))
    for at, section in enumerate(details["sections"][:_SECTIONS]):
        other = [_percent(beside["sections"][at]["share"])] if beside else []
        rows.append(
            (one_line(section["title"], _TITLE), _percent(section["share"]), *other, _percent(section["expected"]))
        )
    yield from (f"  {line}" for line in aligned(rows))
    if len(details["sections"]) > _SECTIONS:
        yield f"  ... and {len(details['sections']) - _SECTIONS} more sections (--json shows them)"
    yield f"  {'tenths':<{_LABEL}}{' '.join(f'{share:.0%}' for share in details['bins'])}"
    yield f"  {'curve':<{_LABEL}}{_curve(details['density'])}"
    if beside:
        yield f"  {'':<{_LABEL}}{_curve(beside['density'])} (reference)"
    by_chance = _decimal(details["spread_by_chance"])
    yield f"  {'spread':<{_LABEL}}{_decimal(details['spread'])}, by chance {by_chance}" + (
        f", of the reference {_decimal(beside['spread'])}" if beside else ""
    )


def _brief_position(one: Evaluation) -> str:
    details: Mapping[str, Any] = one.details
    thirds = ", ".join(_percent(share) for share in details["thirds"])
    return f"{one.metric}: thirds {thirds}, spread {_decimal(details['spread'])}, {_traced(details)}"


def _traced(details: Mapping[str, Any]) -> str:
    nowhere = f", {details['untraced']:,} not found in the document" if details["untraced"] else ""
    return f"{count(details['traced'], 'sentence')} traced to the document{nowhere}"


def _curve(heights: Sequence[float]) -> str:
    """Return a curve as a row of bars; a bar of middle height means an even distribution."""
    return "".join(_BARS[min(len(_BARS) - 1, round(height * len(_BARS) / 2))] for height in heights)


def _statistics(one: Evaluation) -> Iterator[str]:
    details: Mapping[str, Any] = one.details
    copied = details["extractive"]
    by_tokens, by_sentences = (_decimal(details["compression"][unit], 1) for unit in ("tokens", "sentences"))
    yield f"{one.metric}: {_lengths(details['summary'])}"
    rows = [
        ("source", _lengths(details["source"])),
        ("compression", f"{by_tokens} by tokens, {by_sentences} by sentences"),
        ("copied", f"coverage {_decimal(copied['coverage'])}, density {_decimal(copied['density'])}"),
        ("new n-grams", _by_size(details["novel_ngrams"])),
        ("repeated", _by_size(details["repeated_ngrams"])),
        ("redundancy", f"{_decimal(details['redundancy'])}, uniformity {_decimal(details['uniformity'])}"),
    ]
    yield from (f"  {label:<{_LABEL}}{figures}" for label, figures in rows)


def _brief_statistics(one: Evaluation) -> str:
    details: Mapping[str, Any] = one.details
    parts = [
        count(details["summary"]["sentences"], "sentence"),
        f"compression {_decimal(details['compression']['tokens'], 1)}",
        f"density {_decimal(details['extractive']['density'])}",
        f"new trigrams {_percent(details['novel_ngrams']['3'])}",
        f"repeated trigrams {_percent(details['repeated_ngrams']['3'])}",
    ]
    return f"{one.metric}: {', '.join(parts)}"


def _lengths(lengths: Mapping[str, int]) -> str:
    return ", ".join(count(lengths[unit], unit.removesuffix("s")) for unit in ("words", "sentences", "tokens"))


def _by_size(shares: Mapping[str, float | None]) -> str:
    return "  ".join(f"{size}: {_percent(share)}" for size, share in shares.items())


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{share:.1%}"


def _decimal(value: float | None, decimals: int = 2) -> str:
    return "-" if value is None else f"{value:,.{decimals}f}"


SHOWN = 10
_LABEL_WIDTH = 14
_QUOTE = 240
_ITEMS = {
    "coverage": "question",
    "consistency": "claim",
    "keyfact_recall": "fact",
    "faithfulness": "sentence",
    "booookscore": "sentence",
}


def evaluation(
    one: Evaluation, document: Document, *, offline_checked: bool = False, shown: int | None = SHOWN, rest: str = ""
) -> Iterator[str]:
    """Yield a metric's score or figures, its parts and its findings; `rest` is the command that shows omitted ones."""
    if one.outcome == "measured":
        yield from lines(one)
    else:
        yield from _scored(one, offline_checked=offline_checked)
    yield from _panel(one)
    for number, finding in enumerate(one.findings[:shown], 1):
        yield from numbered(number, finding, document)
    for gone in withdrawn(one):
        about = one_line(gone.finding.question or gone.finding.sentence, _QUOTE)
        said = f"{about} · the document says so: “{one_line(gone.ruling.quote, _QUOTE)}”"
        yield from wrapped(said, "  withdrawn: ", "    ")
    if shown is not None and len(one.findings) > shown:
        yield f"  ... and {len(one.findings) - shown:,} more ({rest})"


def _scored(one: Evaluation, *, offline_checked: bool) -> Iterator[str]:
    """Yield a metric's score, or why it has none, and the parts of the score."""
    what = "key sentence" if _is_about_key_sentences(one) else _ITEMS.get(one.metric, "item")
    judged = f"{count(one.judged, what)} judged"
    if one.unjudged:
        judged += f", {one.unjudged:,} without a verdict"
    if one.outcome == "scored":
        itself = f" ({OFFLINE_CHECK})" if offline_checked else ""
        found = count(len(one.findings), "finding")
        yield f"{one.metric} {score(one.score)}{itself}: {judged}, {found}"
    else:
        says = "has no score" if one.outcome == "failed" and not got_no_reply(one) else spaced(one.outcome)
        yield from wrapped(f"{one.metric} {says}: {one_line(one.reason, 300)}", "", "  ")
    yield from breakdown(one)


def _is_about_key_sentences(one: Evaluation) -> bool:
    """Return whether an evaluation looks for key sentences in place of answers."""
    questions = one.details.get("questions")
    return isinstance(questions, list) and bool(questions) and bool(sentence_in(str(questions[0].get("question"))))


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
        ("missing", one_line(finding.missing, _QUOTE)),
        ("evidence", _evidence(finding, document)),
    ]
    for label, text in rows:
        if text:
            yield from wrapped(text, f"      {label:<{_LABEL_WIDTH}}")


def brief_finding(finding: Finding) -> str:
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
    if _is_missing(finding):
        return finding.expected
    # The question whether a sentence is so would only repeat the sentence.
    return finding.explanation if claim_in(finding.question) else finding.question or finding.explanation


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
    if _is_missing(finding) and one_line(finding.expected) == one_line(evidence.text):
        return place.strip(" ()")
    return f"“{one_line(evidence.text, _QUOTE)}”{place}"
