"""Formatting of values for pages, tables that aggregate them, and data for the scripts."""

from __future__ import annotations

import base64
import gzip
import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import quote

from markupsafe import Markup, escape

from redraft.domain import Finding, KeyFact
from redraft.evaluators.metric_info import withdrawn
from redraft.report.dossier.contents import CallEntry, Dossier, KeyFactTree
from redraft.report.history.lineage import DRIFTS, Origin, TracedSentence, origin_note
from redraft.text.places import on_pages
from redraft.text.sanitizer import clean, one_line, scrubbed
from redraft.text.words import count, dollars, lasting, score, spaced

_QUOTE, _OPENING = 320, 110
_FILE = re.compile(r"(?:[^:\n]{0,120}?\.\w{1,9}:|\S+\.\w{1,9}\s)")
_HALF = 0.5
_WHOLE = 10
# A smaller number would be shown as zero at two decimals.
_SEEN = 0.005


def shortened(text: str) -> str:
    """Return a passage as one line, shortened if it is long."""
    return one_line(text, _QUOTE)


def opening(text: str) -> str:
    """Return the first words of a sentence."""
    return one_line(text, _OPENING)


def capitalized(text: str) -> str:
    """Capitalize a sentence, unless it begins with a file name."""
    return text if _FILE.match(text) else text[:1].upper() + text[1:]


def address(name: str) -> str:
    """Encode a name as a path segment of an address."""
    return quote(name, safe="")


def pace(a_minute: float) -> str:
    """Format the number finished per minute."""
    return f"{a_minute:,.0f}" if a_minute >= _WHOLE else f"{a_minute:.2g}"


def cell(value: object) -> str:
    """Format a table cell."""
    if value is None:
        return "–"
    if isinstance(value, float):
        if value != value:
            return "–"
        return f"{value:,.2f}".rstrip("0").rstrip(".") if abs(value) >= _SEEN or not value else f"{value:.1g}"
    return f"{value:,}" if isinstance(value, int) else clean(str(value))


def setting(value: Any) -> str:
    """Format the value of a setting."""
    if value is None or value == [] or value == {}:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, list):
        return ", ".join(map(setting, value))
    if isinstance(value, dict):
        return "; ".join(f"{spaced(str(name))} {setting(one)}" for name, one in value.items())
    return clean(str(value))


_STAGES = {
    "Drafting": (
        "begin",
        "compress",
        "merge",
        "merge_onward",
        "outline",
        "summarize_chunk",
        "summarize_whole",
        "tidy",
        "update",
    ),
    "Questions and key facts": (
        "ask_document",
        "ask_typed",
        "rank_questions",
        "facts_faithful",
        "facts_objective",
        "facts_significant",
        "keyfacts_analytical",
        "keyfacts_narrative",
        "query_analytical",
        "query_narrative",
    ),
    "Refining": ("decide", "edit", "criticize", "revise", "rule_on_findings", "choose_draft"),
}
_STAGE_OF = {prompt: name for name, prompts in _STAGES.items() for prompt in prompts}


def stage(prompt: str) -> str:
    """Return the stage of a run that a prompt belongs to."""
    return _STAGE_OF.get(prompt, "Judging")


def kind(finding: Finding) -> str:
    """Return `lost` for something missing in the summary, `wrong` for an error in it."""
    return "wrong" if finding.sentence else "lost"


def sign(finding: Finding) -> str:
    """Return a sign for the kind of a finding, in addition to its colour."""
    return "✗" if kind(finding) == "wrong" else "◐" if finding.missing else "○"


def standing(fact: KeyFact, tree: KeyFactTree) -> str:
    """Return the standing of a key fact: pruned, unjudged, stated or missing."""
    if not fact.kept:
        return "pruned"
    value = tree.verdicts[fact.id].value if fact.id in tree.verdicts else None
    return "unjudged" if value is None else "stated" if value >= _HALF else "missing"


def fact_sign(standing: str) -> str:
    """Return a sign for the standing of a key fact."""
    return {"pruned": "·", "unjudged": "–", "stated": "✓", "missing": "✗"}[standing]


def certainty(origin: Origin, sentence: TracedSentence) -> str:
    """Describe how a source was found: quoted by the judge, or matched by wording."""
    return "quoted by the judge" if sentence.judged else f"matched by wording ({score(origin.weight)})"


def drift(sentence: TracedSentence) -> str:
    """Return in words how intermediate texts differ from the document; empty if they do not."""
    return DRIFTS[sentence.drift] if sentence.drift else ""


def neat(text: str) -> str:
    """Return a text on one line, without paths of this machine."""
    return scrubbed(one_line(text))


def sentence_label(sentence: TracedSentence, findings: Sequence[int]) -> str:
    """Return the label of a sentence's button."""
    parts = [count(len(sentence.places), "source")]
    if findings:
        parts.append(count(len(findings), "finding"))
    if sentence.invented:
        parts.append("no matching wording")
    return f"Sentence {sentence.number}: {', '.join(parts)}"


def by_name(models: str | Sequence[str], names: Mapping[str, str]) -> str:
    """Return models by their names for people."""
    return ", ".join(names.get(one, one) for one in ((models,) if isinstance(models, str) else models))


def coded(text: str) -> Markup:
    """Return a sentence in which commands in backquotes are code."""
    parts = text.split("`")
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if at % 2 else escape(part) for at, part in enumerate(parts)
    )


FILTERS: dict[str, Callable[..., object]] = {"many": count} | {
    one.__name__: one
    for one in (
        score,
        spaced,
        one_line,
        shortened,
        opening,
        capitalized,
        address,
        pace,
        lasting,
        by_name,
        cell,
        setting,
        kind,
        sign,
        standing,
        fact_sign,
        certainty,
        drift,
        neat,
        clean,
        withdrawn,
        sentence_label,
        origin_note,
        on_pages,
        coded,
        dollars,
    )
}


_OK = "ok"


class HtmlTable(NamedTuple):
    """A table: its head and its rows."""

    head: tuple[str, ...]
    rows: tuple[tuple[str | int | float | None, ...], ...]


def facts_by_level(trees: Sequence[KeyFactTree]) -> HtmlTable:
    """Count the key facts that the summary states, by perspective and level."""
    standings: dict[tuple[str, str], list[str]] = {}
    for tree in trees:
        for fact in tree.tree.facts:
            standings.setdefault((tree.tree.perspective, fact.level), []).append(standing(fact, tree))
    rows = []
    for key, facts in sorted(standings.items()):
        stated, missing, unjudged = (facts.count(name) for name in ("stated", "missing", "unjudged"))
        share = stated / (stated + missing) if stated + missing else None
        rows.append((*key, stated + missing + unjudged, stated, missing, unjudged, share))
    return HtmlTable(("perspective", "level", "facts", "stated", "missing", "no verdict", "share stated"), tuple(rows))


def calls_by_prompt(calls: Sequence[CallEntry]) -> HtmlTable:
    """Return what the calls of each prompt used."""
    found: dict[str, list[CallEntry]] = {}
    for call in calls:
        found.setdefault(call.prompt, []).append(call)
    return HtmlTable(
        ("prompt", "calls", "cached", "failed", "tokens in", "tokens out", "cost", "seconds"),
        tuple((prompt.replace("_", " "), *_added(of_one)) for prompt, of_one in found.items()),
    )


def _added(calls: Sequence[CallEntry]) -> tuple[str | int | float, ...]:
    entries = [call for call in calls if not call.borrowed]
    costs = [call.cost_usd for call in entries]
    return (
        len(entries),
        len(calls) - len(entries),
        sum(1 for call in entries if call.outcome != _OK),
        sum(call.prompt_tokens for call in entries),
        sum(call.completion_tokens for call in entries),
        dollars(None if None in costs else sum(cost for cost in costs if cost)),
        round(sum(call.seconds for call in entries), 1),
    )


# A timestamp would make packed values differ.
_NO_TIME = 0


def packed(value: object) -> str:
    """Return a value as compressed JSON in base64, which is safe in HTML."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return base64.b64encode(gzip.compress(text.encode(), 6, mtime=_NO_TIME)).decode()


def page_data(dossier: Dossier) -> dict[str, Any]:
    """Return the data for the script of a dossier. Offsets are in characters."""
    return {
        "text": dossier.document.text,
        "summary": dossier.summary,
        "sections": [[section["start"], section["level"], section["title"]] for section in dossier.document.sections],
        "sentences": {entry.number: [[*origin.span] for origin in entry.places] for entry in dossier.sentences},
        "items": [
            [item.place.start, item.place.end, item.value]
            for item in dossier.items
            if item.place is not None and item.metric != "consistency"
        ],
        "drafts": [[turn.round.number, clean(turn.draft.text)] for turn in dossier.rounds],
        "calls": [
            [
                entry.number,
                entry.label,
                entry.prompt,
                entry.model,
                entry.outcome,
                entry.began,
                entry.seconds,
                entry.prompt_tokens,
                entry.completion_tokens,
                dollars(entry.cost_usd),
                entry.error,
                entry.borrowed,
                stage(entry.prompt),
            ]
            for entry in dossier.calls
        ],
    }
