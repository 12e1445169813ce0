"""The parts of scores, and the figures of metrics without a score, as Markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from redraft.domain import Evaluation
from redraft.evaluators.metric_info import NONE, stops_in_words
from redraft.evaluators.reference.keyfacts import ALL, LEVELS
from redraft.report.markdown.layout import line, table
from redraft.settings import FIGURES, NEWCOMER
from redraft.text.words import count, score, spaced

_TITLE, _MAX_SECTIONS, _MAX_NAMED = 40, 20, 12
_POSITION = "position"
_THIRDS = ("first third", "second third", "last third")
_BARS = " ▁▂▃▄▅▆▇█"
_KINDS = {"faithfulness": "errors", "booookscore": "types"}
"""The detail of a metric with the number of errors of each kind."""
_NEEDS = {"coverage": "answer no question", "keyfact_recall": "state no key fact"}


def details(evaluation: Evaluation, key_sentences: bool = False) -> Iterator[str]:
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
        needs = "are like no key sentence" if key_sentences else _NEEDS.get(evaluation.metric, "")
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
            yield _statistics(parts)
        case "measured", "position":
            yield from _position(parts)


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
        text = f"thirds {thirds}, spread {decimal(parts['spread'])}, {_traced(parts)}"
    elif evaluation.metric in FIGURES:
        text = (
            f"{_lengths(parts['summary'])}, compression {decimal(parts['compression']['tokens'], 1)},"
            f" density {decimal(parts['extractive']['density'])},"
            f" new trigrams {percent(parts['novel_ngrams']['3'])},"
            f" repeated trigrams {percent(parts['repeated_ngrams']['3'])}"
        )
    else:
        # The numbers and texts that a custom metric reports.
        values = {name: value for name, value in parts.items() if isinstance(value, str | int | float)}
        text = ", ".join(f"{spaced(name)} {line(str(value), _TITLE)}" for name, value in values.items()) or "measured"
    return f"{spaced(evaluation.metric)}: {text}"


def _statistics(parts: Mapping[str, Any]) -> str:
    compression, copied = parts["compression"], parts["extractive"]
    rows = [
        ("", "statistics"),
        ("source", _lengths(parts["source"])),
        (
            "compression",
            f"{decimal(compression['tokens'], 1)} by tokens, {decimal(compression['sentences'], 1)} by sentences",
        ),
        ("copied", f"{percent(copied['coverage'])} of the words, density {decimal(copied['density'])}"),
    ]
    for name, key in (("new n-grams", "novel_ngrams"), ("repeated", "repeated_ngrams")):
        rows.append((name, "  ".join(f"{size}: {percent(share)}" for size, share in parts[key].items())))
    rows.append(("redundancy", f"{decimal(parts['redundancy'])}, uniformity {decimal(parts['uniformity'])}"))
    return table(rows)


def _position(parts: Mapping[str, Any]) -> Iterator[str]:
    reference: Mapping[str, Any] = parts.get("reference") or {}
    rows = [["", "summary", *(["reference"] if reference else []), "even"]]
    for n, name in enumerate(_THIRDS):
        of_reference = [percent(reference["thirds"][n])] if reference else []
        rows.append([name, percent(parts["thirds"][n]), *of_reference, percent(1 / len(_THIRDS))])
    for n, place in enumerate(parts["sections"][:_MAX_SECTIONS]):
        of_reference = [percent(reference["sections"][n]["share"])] if reference else []
        rows.append([line(place["title"], _TITLE), percent(place["share"]), *of_reference, percent(place["expected"])])
    yield table(rows, right=True)
    more = len(parts["sections"]) - _MAX_SECTIONS
    lines = [f"- ... and {more} more sections (--json shows them)"] if more > 0 else []
    lines.append(f"- tenths {' '.join(f'{share:.0%}' for share in parts['bins'])}")
    spread = f"{decimal(parts['spread'])}, by chance {decimal(parts['spread_by_chance'])}"
    for figures, suffix in ((parts, ""), *([(reference, " (reference)")] if reference else [])):
        # A bar of middle height means an even distribution.
        heights = (min(len(_BARS) - 1, round(height * len(_BARS) / 2)) for height in figures["density"])
        lines.append(f"- curve {''.join(_BARS[height] for height in heights)}{suffix}")
    if reference:
        lines.append(f"- reference: {_traced(reference)}")
        spread += f", of the reference {decimal(reference['spread'])}"
    yield "\n".join([*lines, f"- spread {spread}"])


def _traced(parts: Mapping[str, Any]) -> str:
    nowhere = f", {parts['untraced']:,} not found in the document" if parts["untraced"] else ""
    return f"{count(parts['traced'], 'sentence')} traced to the document{nowhere}"


def _lengths(lengths: Mapping[str, int]) -> str:
    return ", ".join(count(lengths[unit], unit.removesuffix("s")) for unit in ("words", "sentences", "tokens"))


def percent(share: float | None) -> str:
    """Return a share in per cent with one decimal, or a dash for None."""
    return "–" if share is None else f"{share:.1%}"


def decimal(value: float | None, decimals: int = 2) -> str:
    """Return a number with these decimals, or a dash for None."""
    return "–" if value is None else f"{value:,.{decimals}f}"
