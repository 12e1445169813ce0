"""Values as pages show them, tables with files of all rows, data for scripts, and templates with their styles; and the
page of a dossier."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from importlib.resources import files
from types import MappingProxyType
from typing import Any
from urllib.parse import quote

from jinja2 import Environment
from markupsafe import Markup, escape

from redraft.domain import Document, Evaluation, record_json, why_stopped
from redraft.evaluators.metric_info import stops_in_words, withdrawn
from redraft.evaluators.statistics import interval_of_share, mean
from redraft.llm.nli import claim_in
from redraft.prompts.book import PROMPTS
from redraft.report.dossier.contents import CallDetails, CallEntry, Dossier, JudgedItem, TracedPiece, chunks_left_out
from redraft.report.history.judges import judged_by, query_in_words
from redraft.report.history.lineage import DRIFTS, TracedSentence, origin_note
from redraft.report.history.results import RequestOutcome, count_unmet
from redraft.report.markdown.evaluation import glance, items_judged
from redraft.report.markdown.records import stage
from redraft.report.markdown.trace import revisions, usage
from redraft.report.outputs.formats import templates
from redraft.report.tables import Table, figure
from redraft.settings import COMPUTED, NEWCOMER
from redraft.store.calls import parts_of
from redraft.text import origins
from redraft.text.languages import primary
from redraft.text.places import on_pages, part_read, percent_of, place_in
from redraft.text.sanitizer import bare_quote, clean, one_line, scrubbed
from redraft.text.sentences import is_heading
from redraft.text.words import count, count_words, dollars, duration, lasting, score, spaced

_QUOTE = 320
_VERBATIM = re.compile(r"(?:[^:\n]{0,120}?\.\w{1,9}:|\S+\.\w{1,9}\s|\w+://)")
# A smaller number would be shown as zero at two decimals.
_SEEN = 0.005


def shortened(text: str) -> str:
    """Return a passage as one line, shortened if it is long."""
    return one_line(bare_quote(text), _QUOTE)


def capitalized(text: str) -> str:
    """Capitalize a sentence, unless it begins with a file name or an address."""
    return text if _VERBATIM.match(text) else text[:1].upper() + text[1:]


def cell(value: object) -> str:
    """Format a table cell."""
    if value is None:
        return "–"
    if isinstance(value, float):
        if value != value:
            return "–"
        return f"{value:,.2f}".rstrip("0").rstrip(".") if abs(value) >= _SEEN or not value else f"{value:.1g}"
    return f"{value:,}" if isinstance(value, int) else clean(str(value))


def setting(value: Any, names: Mapping[str, str] = MappingProxyType({})) -> str:
    """Format the value of a setting; `names` are the names of models for people."""
    if value in (None, [], {}):
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, list):
        return ", ".join(setting(entry, names) for entry in value)
    if isinstance(value, dict):
        return "; ".join(f"{spaced(str(name))} {setting(entry, names)}" for name, entry in value.items())
    return clean(names.get(str(value), str(value)))


def prompts_of(metric: str) -> str:
    """Return the names of a metric's own prompts, separated by spaces."""
    return " ".join(name for name, prompt in PROMPTS.items() if metric in prompt.purpose.partition(":")[0].split())


def by_name(models: str | Sequence[str], names: Mapping[str, str]) -> str:
    """Return models by their names for people."""
    return ", ".join(names.get(model, model) for model in ((models,) if isinstance(models, str) else models))


def in_language(document: Document) -> Markup:
    """Return the `lang` attribute for quotations from a document, so that they are set and read aloud correctly; empty
    if its language is unknown."""
    language = primary(document.language)
    return Markup(' lang="{}"').format(language) if language else Markup()


def coded(text: str) -> Markup:
    """Return a sentence in which commands in backquotes are code."""
    parts = text.split("`")
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if at % 2 else escape(part) for at, part in enumerate(parts)
    )


_FUNCTIONS: tuple[Callable[..., object], ...] = (
    *(prompts_of, by_name, spaced),
    *(bare_quote, one_line, shortened, capitalized, clean, scrubbed, coded, on_pages),
    *(score, cell, setting, dollars, duration, lasting),
    *(claim_in, items_judged, withdrawn, origin_note, in_language, chunks_left_out, query_in_words),
)
FILTERS = {function.__name__: function for function in _FUNCTIONS}
FILTERS |= {"many": count, "place": place_in, "percent": percent_of, "address": partial(quote, safe="")}


def packed(value: object) -> str:
    """Return a value as compressed JSON in base64, which is safe in HTML."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    # A timestamp would make packed values differ.
    return base64.b64encode(gzip.compress(text.encode(), 6, mtime=0)).decode()


def page_data(dossier: Dossier, word: Callable[[str], str] = str) -> dict[str, Any]:
    """Return the data for the script of a dossier; `word` words messages for the reader. Offsets are in characters."""
    evidence = [(item, item.evidence.span) for item in dossier.items if item.evidence and item.evidence.span]
    content = {
        "text": dossier.document.text if dossier.has_source else None,
        "summary": dossier.result.summary,
        "sections": [
            [section.span.start, section.level, one_line(section.title)] for section in dossier.document.sections
        ],
        "sentences": {entry.number: [[*origin.span] for origin in entry.places] for entry in dossier.sentences},
        "items": [[*span, item.value] for item, span in evidence if item.metric != "consistency"],
        "drafts": [[turn.round.number, clean(turn.draft.text)] for turn in dossier.rounds],
        "calls": call_rows(dossier.calls, word),
    }
    # A message is a list of the numbers of its parts, which calls share.
    details, parts = {}, dict[str, int]()
    for call in dossier.calls:
        if isinstance(call, CallDetails):
            messages = [
                {"role": message.role, "text": [parts.setdefault(part, len(parts)) for part in parts_of(message.text)]}
                for message in call.messages
            ]
            details[call.number] = record_json(call) | {"messages": messages}
    return content | ({"details": details, "parts": list(map(scrubbed, parts))} if details else {})


def call_rows(calls: Iterable[CallEntry], word: Callable[[str], str] = str) -> list[list[Any]]:
    """Return the calls for the script that lists them; `word` words messages and models for the reader."""
    numbers = ("began", "seconds", "prompt_tokens", "completion_tokens")
    return [
        [
            *(call.number, call.label, call.prompt, word(call.model), call.outcome),
            *(getattr(call, name) for name in numbers),
            *(dollars(call.cost_usd), word(call.error), call.borrowed, stage(call.prompt)),
        ]
        for call in calls
    ]


_FILE_NAME = re.compile(r"[^a-z0-9-]+")
_MAX_ROWS, _FILE, _DIGITS = 300, 60, 2


@dataclass(frozen=True, slots=True)
class ShownTable:
    """A table of one set of results as a page shows it, with the pictures drawn from it, or the reason why expected
    ones are missing."""

    table: Table
    pictures: tuple[Markup, ...] = ()
    undrawn: str = ""
    addresses: Mapping[tuple[int, int], str] = field(default_factory=dict)
    """Where cells lead to, by row and column."""
    experiment: str = ""
    letter: str = ""
    """What names its set of results on the page."""
    row: str = ""
    """The anchor of its row on the page: tables of the same name from all sets of results are side by side."""

    @property
    def rows(self) -> list[list[str]]:
        """The rows on the page, with numbers rounded."""
        rows = self.table.rows[:_MAX_ROWS]
        return [[cell if isinstance(cell, str) else figure(cell, _DIGITS) for cell in row] for row in rows]

    @property
    def numeric(self) -> list[bool]:
        """Whether each column has only numbers."""
        columns = zip(*self.table.rows[:_MAX_ROWS], strict=True)
        return [not any(isinstance(cell, str) for cell in column) for column in columns]

    @property
    def file(self) -> str:
        """The name of the file with all rows."""
        names = (_FILE_NAME.sub("-", name.lower()).strip("-") for name in (self.experiment, self.table.name))
        return f"{'-'.join(name[:_FILE] or 'table' for name in names)}.csv"

    @property
    def data(self) -> str:
        """That file as an address."""
        return f"data:text/csv;charset=utf-8;base64,{base64.b64encode(self.table.to_csv().encode()).decode()}"


PAGES = "redraft.report.pages"
"""The package with these templates and static files."""
# A bundled script has no imports and exports: the imported modules precede it.
_IMPORT = re.compile(r'^import \{[^}]*\} from "\./([\w-]+\.js)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?function|class|const)", re.MULTILINE)


def allowed(text: str) -> str:
    """Return the expression by which a content security policy allows an inline style or script."""
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


@cache
def static(name: str, *packages: str) -> str:
    """Return the text of a static file of these pages, or of packages that add to them."""
    paths = (files(package) / "static" / name for package in (*packages, PAGES))
    return next(path for path in paths if path.is_file()).read_text("utf-8")


@cache
def script(entry: str, *packages: str) -> str:
    """Return a module bundled with its imports: dependencies first, each once."""
    order: list[str] = []

    def add(name: str) -> None:
        if name not in order:
            for needed in _IMPORT.findall(static(name, *packages)):
                add(needed)
            order.append(name)

    add(entry)
    return "\n".join(_EXPORT.sub("", _IMPORT.sub("", static(name, *packages))) for name in order)


def assets(sheets: Sequence[str], entry: str, *packages: str) -> dict[str, str]:
    """Return the `policy`, `styles` and `script` of a standalone page. The policy allows only these two, and images in
    `data:` addresses."""
    css, js = "\n".join(static(name, *packages) for name in sheets), script(entry, *packages)
    sources = f"script-src {allowed(js)}; style-src {allowed(css)}; img-src data:"
    policy = f"default-src 'none'; {sources}; base-uri 'none'; form-action 'none'"
    return {"policy": policy, "styles": css, "script": js}


@cache
def environment(*packages: str) -> Environment:
    """Return the templates of these pages, and of packages that add to them."""
    pages = templates(*packages, PAGES)
    pages.filters.update(FILTERS)
    pages.tests.update(heading=is_heading)
    return pages


_LONGEST = 160
_MEASURED = {
    "coverage": ("Questions answered, by part of the document", "share of questions answered"),
    "keyfact_recall": ("Key facts stated, by part of the document", "share of key facts stated"),
}
FIFTHS = tuple(f"{start} to {start + 20}%" for start in range(0, 100, 20))
"""The names of the fifths of a document."""
_GOAL_STATES = {None: ("unsure", "?", "undecided"), True: ("met", "✓", "met"), False: ("missed", "✗", "missed")}
_STATES = {
    "waiting": "Waiting for your review.",
    "running": "Running.",
    "failed": "Failed.",
    "stopped": "Stopped at a limit.",
    "interrupted": "Interrupted.",
    "killed": "Crashed.",
}


def dossier_page(dossier: Dossier) -> str:
    """Return the page as a standalone file, with its styles and its script."""
    variables = view(dossier)
    parts = assets(variables["sheets"], "dossier.js")
    return environment().get_template("dossier.html").render(variables, data=packed(page_data(dossier)), assets=parts)


def view(dossier: Dossier, word: Callable[[str], str] = str, names: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Return the variables for the templates of a dossier. `word` words messages for the reader, and `names` are the
    names of models for people."""
    result = dossier.result
    reason = why_stopped(result.status, result.run.stop_reason or "")
    why = f" “{clean(result.run.why)}”" if result.run.why else ""
    course = revisions([bool(turn.round.accepted) for turn in dossier.rounds[1:]])

    # Each partial summary is below the first that was made from it, and the others are roots.
    pieces, above = {entry.piece.name: entry for entry in dossier.pieces}, dict[str, str]()
    for name, entry in pieces.items():
        for parent in entry.parents:
            if parent.kind == "piece" and parent.node in pieces and parent.node != name:
                above.setdefault(parent.node, name)
    children: dict[str, list[TracedPiece]] = {name: [] for name in pieces}
    for child, parent_name in above.items():
        children[parent_name].append(pieces[child])

    def say(text: str) -> str:
        return word(scrubbed(text))

    return {
        "sheets": ("plots.css", "base.css", "dossier.css"),
        "d": dossier,
        "say": say,
        "names": names or {},
        "verdict": verdict(result.status, result.evaluations, result.goals, result.requests, say),
        "glance": glance(result.evaluations, result.offline_checked),
        "offline_check": bool(result.offline_checked & result.judged_by.keys()),
        "judged": {name: evaluation for name, evaluation in result.evaluations.items() if name not in COMPUTED},
        "judged_by": judged_by(result.run, result.evaluations, names or {}),
        "reason_of": reason_of,
        "verdicts": {item.key: item for item in dossier.items},
        "stopped": f"{course}. {reason[:1].upper()}{reason[1:]}.{why}",
        "fifths": FIFTHS,
        "shares": source_shares(dossier.sentences, len(dossier.document.text)),
        "measured": {
            words: items_by_fifth(items, len(dossier.document.text))
            for metric, words in _MEASURED.items()
            if (items := [item for item in dossier.items if item.metric == metric and item.place])
        },
        "usage": usage(result.usage),
        "children": children | {"": [entry for name, entry in reversed(pieces.items()) if name not in above]},
        "drifts": DRIFTS,
        "part": part_read(result.outline.notes),
        "words": count_words(dossier.document.text),
    }


Clause = tuple[str, str, str]
"""A clause of a verdict: its kind (met, missed, unsure or note), a sign so that colour is not the only cue, and its
words."""


def verdict(
    status: str,
    evaluations: Mapping[str, Evaluation],
    goals: Mapping[str, Mapping[str, Any]],
    requests: Sequence[RequestOutcome] = (),
    say: Callable[[str], str] = str,
) -> tuple[Clause, ...]:
    """Return the status unless the run is done, then every goal, or every score if there are no goals, and how many
    requests were not met."""
    relevant = {name: evaluation for name, evaluation in evaluations.items() if name not in COMPUTED}
    relevant = {name: evaluation for name, evaluation in relevant.items() if name in goals} or relevant
    parts: list[Clause] = []
    for name, evaluation in relevant.items():
        goal, title, reason = goals.get(name), spaced(name), say(reason_of(evaluation))
        aim = f"goal {goal['at_least']:g}" if goal else ""
        if name == NEWCOMER and evaluation.judged:
            parts.append(("note", "", f"{title}: {reason}"))
        elif evaluation.score is None:
            why = "; ".join(filter(None, (aim, one_line(reason, _LONGEST).rstrip("."))))
            unsure = ("unsure", "?") if goal else ("note", "")
            parts.append((*unsure, f"{title} not scored{f' ({why})' if why else ''}"))
        else:
            kind, sign, state = _GOAL_STATES[goal["met"]] if goal else ("note", "", "")
            parts.append((kind, sign, f"{title} {score(evaluation.score)}{f' ({aim} {state})' if goal else ''}"))
    if not parts and status == "done":
        parts = [("note", "", "not judged")]
    parts[:1] = [(kind, sign, says[:1].upper() + says[1:]) for kind, sign, says in parts[:1]]
    if unmet := count_unmet(requests):
        parts.append(("missed", "✗", unmet))
    return (*([("note", "", _STATES[status])] if status in _STATES else ()), *parts)


def reason_of(evaluation: Evaluation) -> str:
    """Return why a metric has no score; of a newcomer, how far it came."""
    is_newcomer = evaluation.metric == NEWCOMER and evaluation.judged
    return stops_in_words(evaluation) if is_newcomer else evaluation.reason


def items_by_fifth(items: Sequence[JudgedItem], characters: int) -> list[Mapping[str, Any]]:
    """Return for each fifth of the document how many items it has, how many were judged, and the share of these that a
    summary has, with its interval."""
    fifths: list[list[JudgedItem]] = [[] for _ in FIFTHS]
    for item in items:
        if item.evidence and item.evidence.span:
            fifths[min(item.evidence.span.start * len(FIFTHS) // max(1, characters), len(FIFTHS) - 1)].append(item)
    rows = list[Mapping[str, Any]]()
    for name, within in zip(FIFTHS, fifths, strict=True):
        values = [item.value for item in within if item.value is not None]
        share = mean(values)
        interval = None if share is None else interval_of_share(share, len(values))
        rows.append({"name": name, "total": len(within), "judged": len(values), "share": share, "interval": interval})
    return rows


def source_shares(sentences: Sequence[TracedSentence], characters: int) -> list[float]:
    """Return the share of a summary that comes from each fifth of its document; empty if no sentence is traced. Each
    traced sentence counts one, shared among its places by weight; headings come from nowhere."""
    masses = [
        origins.OriginMass(
            (place.span.start + place.span.end) / 2 / max(1, characters),
            place.weight / sum(origin.weight for origin in sentence.places),
        )
        for sentence in sentences
        for place in sentence.places
    ]
    shares = origins.shares(masses, len(FIFTHS)) if masses else []
    return [share / (sum(shares) or 1) for share in shares]
