"""Markdown of a judgment: at a glance, by metric with its figures, what speaks against a sentence; and its parts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

from redraft.domain import REVIEW, Document, Evaluation, Finding
from redraft.evaluators.metric_info import (
    NONE,
    OFFLINE_CHECK,
    UNSUPPORTED,
    WITHOUT_JUDGE,
    got_no_reply,
    metric_named,
    stops_in_words,
    withdrawn,
)
from redraft.evaluators.reference.keyfacts import ALL, LEVELS
from redraft.llm.nli import claim_in
from redraft.prompts.qa import sentence_in
from redraft.report.tables import aligned_rows, line, without_marks
from redraft.settings import FIGURES, NEWCOMER
from redraft.text.places import place_of
from redraft.text.sanitizer import bare_quote, one_line
from redraft.text.words import count, enumeration, score, spaced

QUOTE = 240
_FENCED = re.compile(r"^((?:`{3,})\n.*?\n`{3,}\n)", re.MULTILINE | re.DOTALL)


def quoted(text: str, width: int = QUOTE) -> str:
    """Return untrusted text in quotation marks, on one line."""
    return f"“{line(bare_quote(text), width)}”"


def shortened(text: str, width: int) -> str:
    """Return a text shortened to `width` characters in one line, at a space; if there is none nearby, as in Chinese,
    within a word."""
    text = one_line(text)
    space = text.rfind(" ", width // 2, width)
    return one_line(text, width) if len(text) <= width or space < 0 else f"{text[:space]}…"


def item(head: str, below: Iterable[str] = (), mark: str = "-") -> Iterator[str]:
    """Yield a list item with the lines below it, which may be items themselves."""
    yield f"{mark} {head}"
    indent = " " * (len(mark.partition(" ")[0]) + 1)
    yield from (indent + part for part in below)


def section(title: str, lines: Iterable[str], level: int = 2) -> str:
    """Return lines under a heading; empty without lines."""
    body = "\n".join(lines)
    return f"{'#' * level} {title}\n\n{body}" if body else ""


def table(rows: Sequence[Sequence[str]], *, right: bool = False) -> str:
    """Return rows under the first of them as a table whose columns also align as plain text; empty without rows. With
    `right`, all but the first column are aligned to the right."""
    if len(rows) < 2:
        return ""
    numeric = [right and at > 0 for at in range(len(rows[0]))]
    return aligned_rows(rows, numeric)


def joined(blocks: Iterable[str]) -> str:
    """Return the blocks that are not empty, with an empty line between them."""
    return "\n\n".join(block for block in blocks if block) + "\n"


def plain(markdown: str) -> str:
    """Return Markdown for readers of its source: without the escapes, which hide words from a search. What is in a
    fence stays as it is."""
    parts = _FENCED.split(markdown)
    return "".join(part if part.startswith("```") else without_marks(part) for part in parts if part)


_TITLE, _MAX_SECTIONS, _MAX_NAMED = 40, 20, 12
_POSITION = "position"
_UNITS = ("words", "sentences", "tokens")
_THIRDS = ("first third", "second third", "last third")
_KINDS = {"faithfulness": "errors", "booookscore": "types"}
"""The detail of a metric with the number of errors of each kind."""
_NEEDS = {"coverage": "answer no question", "keyfact_recall": "state no key fact"}


def details(evaluation: Evaluation) -> Iterator[str]:
    """Yield the parts of a score, or all figures of a metric without one, in blocks."""
    parts: Mapping[str, Any] = evaluation.details
    yield from _tables(evaluation)
    kinds = _KINDS.get(evaluation.metric, "") if evaluation.outcome == "scored" else ""
    if kinds and (numbers_by_kind := (+Counter(parts[kinds])).most_common()):
        yield f"- {kinds}: {', '.join(f'{number} {spaced(kind)}' for kind, number in numbers_by_kind)}"
    match parts:
        case {"levels": int(highest), "verdicts": [*verdicts]}:
            # The level that each judge gave by a rubric.
            lines = []
            for verdict in verdicts:
                match verdict:
                    case {"level": int(level), "reason": str(reason)}:
                        text = f"level {level} of {highest}" if level else "no level"
                        lines.append(f"- {text}: {line(reason, 300)}" if reason else f"- {text}")
            yield "\n".join(lines)
    if numbers := (parts.get("conciseness") or {}).get("unneeded"):
        needs = _NEEDS.get(evaluation.metric, "")
        more = ", ..." if len(numbers) > _MAX_NAMED else ""
        which = f"{', '.join(map(str, numbers[:_MAX_NAMED]))}{more}"
        yield f"- {count(len(numbers), 'sentence')} of the summary {needs}: {which}"
    yield "\n".join(f"- missing: {line(trouble, 300)}" for trouble in evaluation.missing)


def _tables(evaluation: Evaluation) -> Iterator[str]:
    """Yield the tables of a metric."""
    parts: Mapping[str, Any] = evaluation.details
    match evaluation.outcome, evaluation.metric:
        case "scored", "keyfact_recall":
            # By level, and by perspective and position as far as there are several.
            levels = (ALL, *LEVELS)
            rows = [["", *levels], ["recall", *_cells(parts["by_level"], levels, "recall", "stated")]]
            for groups in (parts["by_perspective"], parts["by_position"]):
                if len(groups) > 1:
                    rows += [[name, *_cells(groups[name], levels, "recall", "stated")] for name in groups]
            if len(parts["by_position"]) > 1:
                rows.append(["gap", *(score(parts["gap"][level]) for level in levels)])
            yield table(rows)
        case "scored", "faithfulness":
            levels = (ALL, *LEVELS, NONE)
            if shares := parts["by_level"]:
                yield table([["", *levels], ["faithful", *_cells(shares, levels, "faithfulness", "faithful")]])
        case "measured", "statistics":
            compression, copied = parts["compression"], parts["extractive"]
            lengths = ", ".join(count(parts["source"][unit], unit.removesuffix("s")) for unit in _UNITS)
            by_tokens, by_sentences = decimal(compression["tokens"], 1), decimal(compression["sentences"], 1)
            rows = [["", "statistics"], ["source", lengths]]
            rows.append(["compression", f"{by_tokens} by tokens, {by_sentences} by sentences"])
            rows.append(["copied", f"{percent(copied['coverage'])} of the words, density {decimal(copied['density'])}"])
            for name, key in (("new n-grams", "novel_ngrams"), ("repeated", "repeated_ngrams")):
                rows.append([name, "  ".join(f"{size}: {percent(part)}" for size, part in parts[key].items())])
            rows.append(["redundancy", f"{decimal(parts['redundancy'])}, uniformity {decimal(parts['uniformity'])}"])
            yield table(rows)
        case "measured", "position":
            yield from _position(parts)


def _position(parts: Mapping[str, Any]) -> Iterator[str]:
    """Yield from where in the document a summary draws, and a reference beside it."""
    reference: Mapping[str, Any] = parts.get("reference") or {}
    of_both = [("summary", parts), *([("reference", reference)] if reference else [])]
    rows = [["", *(name for name, _ in of_both), "even"]]
    for n, name in enumerate(_THIRDS):
        rows.append([name, *(percent(part["thirds"][n]) for _, part in of_both), percent(1 / len(_THIRDS))])
    for n, place in enumerate(parts["sections"][:_MAX_SECTIONS]):
        shares = [percent(part["sections"][n]["share"]) for _, part in of_both]
        rows.append([line(place["title"], _TITLE), *shares, percent(place["expected"])])
    yield table(rows, right=True)
    more = len(parts["sections"]) - _MAX_SECTIONS
    lines = [f"- ... and {more} more sections (--json shows them)"] if more > 0 else []
    for name, part in of_both:
        placed = f"{count(part['traced'], 'sentence')} traced to the document"
        placed += f", {part['untraced']:,} not found in the document" if part["untraced"] else ""
        lines.append(f"- {name}: {placed}, spread {decimal(part['spread'])}")
    yield "\n".join([*lines, f"- spread by chance {decimal(parts['spread_by_chance'])}"])


def panel(evaluation: Evaluation) -> Iterator[str]:
    """Yield the spread of several judgings, how far they agree, and what was not judged."""
    spread, agreement = evaluation.details.get("spread"), evaluation.details.get("agreement")
    if isinstance(spread, dict):
        agreed = f"; they agree on {100 * agreement:.0f}% of the verdicts" if isinstance(agreement, float) else ""
        yield (
            f"- {spread['n']} judgings: mean {score(spread['mean'])}, sd {decimal(spread['sd'])}, from"
            f" {score(spread['lowest'])} to {score(spread['highest'])}{agreed}"
        )
    judges = evaluation.details.get("judges")
    for judge in judges if isinstance(judges, list) else []:
        yield f"- {line(str(judge['judge']), 50)} {score(judge['score'])}, {judge['judged']} judged"
    if isinstance(trouble := evaluation.details.get("trouble"), str):
        yield f"- not everything was judged: {line(trouble, 300)}"


def _cells(shares: Mapping[str, Any], levels: Sequence[str], share: str, part: str) -> list[str]:
    """Return each level's share with its numerator and denominator; the numerator has a decimal if judges differ."""
    return [
        f"{score(shares[level][share])} {shares[level][part]:.{int(shares[level][part] % 1 > 0)}f}"
        f"/{shares[level]['judged']}"
        if shares[level]["judged"]
        else "–"
        for level in levels
    ]


def brief_figures(evaluation: Evaluation) -> str:
    """Return the figures that matter when drafts are compared."""
    parts: Mapping[str, Any] = evaluation.details
    if evaluation.metric == NEWCOMER:
        text = stops_in_words(evaluation)
    elif evaluation.metric == _POSITION:
        thirds = ", ".join(map(percent, parts["thirds"]))
        traced = f"{count(parts['traced'], 'sentence')} traced to the document"
        text = f"thirds {thirds}, spread {decimal(parts['spread'])}, {traced}"
    elif evaluation.metric in FIGURES:
        lengths = ", ".join(count(parts["summary"][unit], unit.removesuffix("s")) for unit in _UNITS)
        text = (
            f"{lengths}, compression {decimal(parts['compression']['tokens'], 1)},"
            f" density {decimal(parts['extractive']['density'])},"
            f" new trigrams {percent(parts['novel_ngrams']['3'])},"
            f" repeated trigrams {percent(parts['repeated_ngrams']['3'])}"
        )
    else:
        # The numbers and texts that a custom metric reports.
        values = {name: value for name, value in parts.items() if isinstance(value, str | int | float)}
        text = ", ".join(f"{spaced(name)} {line(str(value), _TITLE)}" for name, value in values.items()) or "measured"
    return f"{spaced(evaluation.metric)}: {text}"


def percent(share: float | None) -> str:
    """Return a share in per cent with one decimal, or a dash for None."""
    return "–" if share is None else f"{share:.1%}"


def decimal(value: float | None, decimals: int = 2) -> str:
    """Return a number with these decimals, or a dash for None."""
    return "–" if value is None else f"{value:,.{decimals}f}"


SHOWN = 10
"""The number of sentences or points listed before the rest is left to `--all`."""
KEY_SENTENCE = "key sentence"
Group = Literal["wrong", "missing", "unclear"]
Groups = dict[Group, dict[str, list[Finding]]]
"""The findings on a draft: what is wrong or unclear, each by sentence, and what is missing, by point."""


def grouped_findings(evaluations: Mapping[str, Evaluation]) -> Groups:
    """Return the findings of all metrics by what they are about."""
    groups: Groups = {"wrong": {}, "missing": {}, "unclear": {}}
    for name, evaluation in evaluations.items():
        for finding in evaluation.findings if name != REVIEW else ():
            if finding.task == "add":
                groups["missing"].setdefault(_about(finding), []).append(finding)
            else:
                group: Group = "wrong" if finding.task in ("correct", "remove") else "unclear"
                about = finding.sentence or finding.question or finding.expected or finding.explanation
                groups[group].setdefault(about, []).append(finding)
    return groups


def glance(evaluations: Mapping[str, Evaluation], offline_checked: Collection[str]) -> str:
    """Return in one line how many sentences are wrong or unclear, and how many points are missing; empty if nothing was
    judged. What only an offline check judged may be wrong all the same."""
    numbers = {name: len(findings) for name, findings in grouped_findings(evaluations).items()}
    parts = [f"{count(numbers['wrong'], 'sentence')} wrong"] if numbers["wrong"] else []
    parts += [f"{count(numbers['missing'], 'point')} missing"] if numbers["missing"] else []
    parts += [f"{numbers['unclear']:,} unclear"] if numbers["unclear"] else []
    if not parts and any(evaluation.judged for evaluation in evaluations.values()):
        parts = ["nothing found wrong, missing or unclear"]
        if {"consistency", "faithfulness"} & {*offline_checked}:
            parts = ["the offline check found nothing wrong, but cannot tell whether reworded sentences are true"]
    return ", ".join(parts)


def judgment_markdown(
    evaluations: Mapping[str, Evaluation],
    document: Document | None,
    *,
    offline_checked: Collection[str] = (),
    show_all: bool = False,
    rest: str = "see --all",
    level: int = 2,
) -> str:
    """Return a judgment: what is wrong at a glance, a line for each metric, and the findings. `show_all` adds the parts
    of each score and all findings; `rest` says where else they are. Without a document no places are named."""
    groups = grouped_findings(evaluations)
    lines = [
        part
        for name, evaluation in evaluations.items()
        for part in item(metric_line(evaluation, offline_checked=name in offline_checked), panel(evaluation))
    ]
    summary = glance(evaluations, offline_checked)
    blocks = [f"{summary[:1].upper()}{summary[1:]}", "\n".join(lines)]
    for name, evaluation in evaluations.items() if show_all else ():
        parts = [part for part in details(evaluation) if part]
        blocks += [f"{'#' * level} {spaced(name)}", *parts] if parts else []
    for group, findings in groups.items():
        items: list[str] = []
        for number, (about, same) in enumerate([*findings.items()][: None if show_all else SHOWN], 1):
            if group == "missing" or not same[0].sentence:
                # The other findings on a missing point say the same.
                items += finding_item(same[0], document, f"{number}.")
            else:
                below = [part for finding in same for part in finding_item(finding, document, standalone=False)]
                items += item(quoted(about), below, f"{number}.")
        if not show_all and len(findings) > SHOWN:
            items.append(f"- ... and {len(findings) - SHOWN:,} more ({rest})")
        blocks.append(section(group.capitalize(), items, level))
    gone = [
        f"- {spaced(name)}: {line(overruled.finding.question or overruled.finding.sentence, QUOTE)}"
        f" · the document says so: {quoted(overruled.ruling.quote)}"
        for name, evaluation in evaluations.items()
        for overruled in withdrawn(evaluation)
    ]
    blocks.append(
        section("Withdrawn", gone, level) if show_all else f"{count(len(gone), 'finding')} withdrawn" * bool(gone)
    )
    return joined(blocks)


def metric_line(evaluation: Evaluation, *, offline_checked: bool = False) -> str:
    """Return a metric's score, or why it has none, or its figures, in one line."""
    if evaluation.outcome == "measured":
        return brief_figures(evaluation)
    if evaluation.outcome != "scored":
        failed = evaluation.outcome == "failed" and not got_no_reply(evaluation)
        state = "has no score" if failed else spaced(evaluation.outcome)
        return f"{spaced(evaluation.metric)} {state}: {line(evaluation.reason, 300)}"
    counts = [*items_judged(evaluation), count(len(evaluation.findings), "finding")]
    note = f" ({OFFLINE_CHECK})" if offline_checked else ""
    return f"{spaced(evaluation.metric)} {score(evaluation.score)}{note}: {', '.join(counts)}"


def items_judged(evaluation: Evaluation) -> Iterator[str]:
    """Yield how many items were judged, and how many have no verdict, such as `3 questions judged`."""
    questions: Any = evaluation.details.get("questions")
    # The built-in model looks for key sentences in place of answers.
    is_of_sentences = bool(questions) and bool(sentence_in(str(questions[0].get("question"))))
    metric = metric_named(evaluation.metric)
    what = KEY_SENTENCE if is_of_sentences else metric.item if metric else "item"
    if WITHOUT_JUDGE not in evaluation.details:
        yield f"{count(evaluation.judged, what)} judged"
    if evaluation.unjudged:
        yield f"{evaluation.unjudged:,} without a verdict"


def finding_item(
    finding: Finding, document: Document | None, mark: str = "-", *, standalone: bool = True
) -> Iterator[str]:
    """Yield a finding as a list item with what the summary and the document say, and its place if there is a document;
    a `standalone` one with the sentence that it is about."""
    # Where the whole sentence is wrong, it is what the summary says.
    is_whole = finding.found == finding.sentence
    expected = "nothing about it" if finding.kind == UNSUPPORTED else ""
    if finding.expected:
        expected = line(bare_quote(_contrast(finding)), QUOTE)
    parts = [
        ("sentence", quoted(finding.sentence) if standalone and finding.sentence and not is_whole else ""),
        ("summary says", "" if is_whole else line(finding.found, QUOTE)),
        ("document says" if finding.question else "reason", expected),
        ("missing", line(finding.missing, QUOTE)),
    ]
    if finding.evidence and finding.evidence.text:
        span = finding.evidence.span
        place = line(place_of(document, span)) if document and span else ""
        if _is_missing(finding) and one_line(finding.expected) == one_line(finding.evidence.text):
            parts.append(("place", place))
        else:
            parts.append(("evidence", f"{quoted(finding.evidence.text)}{f' ({place})' if place else ''}"))
    head = f"{spaced(finding.metric)}, {_kind(finding)}: {line(_about(finding), QUOTE)}"
    return item(head, (f"- {name}: {text}" for name, text in parts if text), mark)


def brief_finding(finding: Finding, *, standalone: bool = True) -> str:
    """Return a finding in one line; a `standalone` one with the sentence that it is about."""
    is_of_sentence = finding.sentence and (not finding.question or (standalone and claim_in(finding.question)))
    about = f"“{line(shortened(finding.sentence, 120))}”" if is_of_sentence else line(shortened(_about(finding), 120))
    contrast = _contrast(finding)
    return f"{_kind(finding)}: {about}{f' -> {line(shortened(contrast, 80))}' if contrast else ''}"


def _kind(finding: Finding) -> str:
    """Return the kind of a finding; if judges differ, with the number of judges that report it."""
    votes, judges = finding.said_by or (0, 0)
    return f"{spaced(finding.kind)} ({votes} of {judges} judges)" if votes < judges else spaced(finding.kind)


def _about(finding: Finding) -> str:
    """Return the subject of a finding: its question, what is missing, or else the explanation."""
    if _is_missing(finding):
        return bare_quote(finding.expected)
    # The question whether a sentence is so would only repeat the sentence.
    return finding.explanation if claim_in(finding.question) else finding.question or finding.explanation


def _contrast(finding: Finding) -> str:
    """Return what the document says instead; empty if that is only "No", or "Yes", to the question whether a claim is
    so, or if it is itself what the summary lacks."""
    is_bare = bool(claim_in(finding.question)) and finding.expected.strip(" .").casefold() in ("no", "yes")
    return "" if is_bare or _is_missing(finding) else finding.expected


def _is_missing(finding: Finding) -> bool:
    """Return whether `expected` is itself what the summary lacks, rather than the answer to a question."""
    return finding.task == "add" and not finding.question and bool(finding.expected)


def judge_items(judged_by: Mapping[str, str]) -> Iterator[str]:
    """Yield who judged, and by what; metrics with the same judges share an item."""
    metrics: dict[str, list[str]] = {}
    for metric, who in judged_by.items():
        metrics.setdefault(who, []).append(spaced(metric))
    return (f"- {enumeration(names)} judged by: {line(who)}" for who, names in metrics.items())
