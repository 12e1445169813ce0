"""The fields of forms, generated from the settings, with label, help, default and bounds."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import cache, partial
from types import MappingProxyType, UnionType
from typing import Any, Literal, NamedTuple, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from redraft.fields import Section, option_of
from redraft.prompts.book import SETS
from redraft.report.pages.report import Results, ShownTable
from redraft.settings import DraftConfig, JudgeConfig, RefineConfig
from redraft.text.sanitizer import scrubbed
from redraft.text.words import dollars

SETTINGS: tuple[type[BaseModel], ...] = (DraftConfig, JudgeConfig, RefineConfig)
# A request never sets the address or key of a model; the language was detected when the document was read.
_NEVER = frozenset({"base_url", "key_env", "source_language"})
_APART = frozenset({"strategy", "model", "metrics", "judges", "goals", "words", "query", "rounds", "review"})
"""Fields that the studio's forms have outside the groups."""
_OF_MODELS = frozenset({"validator", "confirm", "decider"})
_GROUPS: Mapping[Section, tuple[str, str]] = {
    "summary": ("Summary", "summarize evaluate refine"),
    "model": ("Model", "summarize evaluate refine"),
    "judging": ("Judging", "evaluate refine"),
    "refining": ("Refining", "refine"),
}
"""The groups of a form: the title, and the kinds of runs it applies to."""
_ENDS = ("ge", "gt", "le", "lt")
# A field, with an entry of it; what looks like another is the name of a file, such as chapters.txt.
_FIELD = re.compile(r"(?:\w+Config: )?(\w+)(?:(?:(?<=goals)|(?<=rubrics)|(?=\.\d))\.(\w+))?: ")
# A setting with its value, as the command line and as Python name it.
_SETTING = re.compile(
    r"--(?P<option>(?:no-)?[a-z][a-z-]*)(?: (?:[a-z]+:[\w.-]+|[A-Z]+\b))?"
    r"|`(?:Limits\.|ModelSettings\.)?(?P<name>[a-z_]+)`"
    r"|(?:limits=Limits\()?\b(?P<field>[a-z_]+)=(?:\['[^']*'\]|'[^']*'|(?P<value>[\d.]*\d)|\.\.\.|True|False)\)?"
)
_COMMAND = re.compile(
    r"`redraft (?P<verb>[a-z]+(?: [a-z]+)?)[^`]*`(?: the run\b)?"
    r"|\bredraft (?P<bare>resume|show|trace) [0-9a-f]{8}\b|`await session\.(?P<call>resume)\([^`]*`"
)
_PAGES = {
    "batch list": "the page “Batches”",
    "batch results": "the list of its documents",
    "batch resume": "“Resume”",
    "batch status": "the page “Batches”",
    "experiment": "the experiment on the page “Experiments”",
    "evaluate": "“Judge a summary” in “New run”",
    "export": "“Download”",
    "forget": "“Delete” on its page",
    "models": "the page “Models”",
    "pack list": "the page “Packs”",
    "read": "“Read only some chapters”",
    "resume": "resume the run",
    "runs": "the page “Runs”",
    "show": "the page of the run",
    "trace": "the page of the run",
}
"""What the studio has instead of a command."""
_WINDOW = "its window where its address is set: the page “Models” shows how"
_SENTENCES: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], str]], ...] = (
    (re.compile(r"([Rr])epeat the command( that started the batch)?"), lambda found: f"{found[1]}esume it"),
    (re.compile(r", such as (?:--judge |judges=\[')\w+:[\w.-]+(?:'\])?"), lambda _: " (“Judge”)"),
    (re.compile(r"\((?:--judge |judges=\[')\w+:MODEL[^()]*\)"), lambda _: "(“Judge” in “New run” or “Refine”)"),
    (
        re.compile(r"(?:--max-cost |limits=Limits\(max_cost=)(\d[\d.]*\d|\d)\)?"),
        lambda found: f"the limit of {dollars(float(found[1]), exact=True)}",
    ),
    (re.compile(r"(?:the run )?with a higher (?:--max-cost|`Limits\.max_cost`)"), lambda _: "with a higher limit"),
    (re.compile(r"`redraft fork \w+` with --round (\d+)"), lambda found: f"“Fork” on its page, from round {found[1]}"),
    (re.compile(r"GET /api(/\w+) lists them"), lambda found: f"{found[1]} lists them"),
    (re.compile(r"GET /api/\S+ shows its status"), lambda _: "reload its page"),
    (re.compile(r" \(set TIKTOKEN_CACHE_DIR[^)]*\)"), lambda _: ""),
    (re.compile(r"(, or )?context_tokens in its own table \[models\.NAME\]"), lambda one: "" if one[1] else _WINDOW),
)
_TO_RESUME = re.compile(
    r"`redraft (?:batch )?resume[^`]*`(?: the run\b| it\b)?|\bredraft resume [0-9a-f]{8}\b"
    r"|`await session\.resume\([^`]*`|\b[Rr]esume (?:the run|it)\b|\b[Rr]epeat the command(?: that started the batch)?"
)
_SET_HIGHER = re.compile(r"with a higher (?:--|`Limits\.)max[-_](cost|calls)`?")
_CALLS_OF_API = {
    **dict.fromkeys(("show", "trace", "runs"), "GET /api/runs"),
    **{name: f"GET /api/{name}s" for name in ("batch", "experiment", "pack")},
    "models": "GET /api/models",
    "read": "POST /api/chapters",
}
"""What the API has instead of a command."""
V = TypeVar("V", bound=BaseModel)
_COST = "Stop before it costs more than"
_CALLS = "Limit of calls"
_NAMES = {
    "context_tokens": "window, in tokens",
    "until": "read until token",
    "judges": "judge",
    "words": "word limit",
    "query": "question to answer",
    "rounds": "maximum revisions",
    "review": "ask me before each revision",
}


class FormField(NamedTuple):
    """A field of a form."""

    name: str
    label: str
    help: str
    kind: Literal["number", "text", "choice"]
    default: str
    choices: tuple[str, ...] = ()
    least: float | None = None
    most: float | None = None
    whole: bool = True


class ControlGroup(NamedTuple):
    """Fields that belong together."""

    title: str
    kinds: str
    """The kinds of runs it applies to."""
    controls: tuple[FormField, ...]

    def changed(self, given: Mapping[str, object]) -> int:
        """Return the number of fields that are filled in."""
        return sum(given.get(field.name) not in (None, "") for field in self.controls)


def named_fields(model: type[BaseModel]) -> tuple[str, ...]:
    """Return the names of the fields that a request can set."""
    return tuple(name for name in model.model_fields if name not in _NEVER and option_of(model, name) is not None)


def optional_fields() -> dict[str, Any]:
    """Return all of these fields as optional fields of a request."""
    made: dict[str, Any] = {}
    for model in SETTINGS:
        for name in named_fields(model):
            field = copy(model.model_fields[name])
            field.default = None
            field._attributes_set = {**field._attributes_set, "default": None}  # pydantic copies a field by these
            made[name] = (model.model_fields[name].annotation | None, field)  # type: ignore[operator]
    return made


@cache
def groups(models: Sequence[str] = ()) -> tuple[ControlGroup, ...]:
    """Return the groups of fields; `models` are the choices for validator and decider."""
    found: dict[Section, list[FormField]] = {section: [] for section in _GROUPS}
    for model in SETTINGS:
        for name in named_fields(model):
            option = option_of(model, name)
            if name not in _APART and option is not None:
                found[option.section].append(_control(model, name, tuple(models)))
    return tuple(ControlGroup(*_GROUPS[section], tuple(fields)) for section, fields in found.items())


def _control(model: type[BaseModel], name: str, models: tuple[str, ...]) -> FormField:
    field, option = model.model_fields[name], option_of(model, name)
    assert option is not None
    label, text = _NAMES.get(name, name.replace("_", " ")), on_page(field.description or "")
    annotation: Any = field.annotation
    ends = get_args(annotation) if get_origin(annotation) in (Union, UnionType) else (annotation,)
    kind = next(one for one in ends if one is not type(None))
    default = _default(field) if kind is bool else on_page(option.default or _default(field))
    if get_origin(kind) is Literal:
        return FormField(name, label, text, "choice", default, tuple(map(str, get_args(kind))))
    if kind is bool:
        return FormField(name, label, text, "choice", default, ("true", "false"))
    if name == "prompts":
        return FormField(name, label, "The set of prompts; simple is for weak models.", "choice", default, SETS)
    if name in _OF_MODELS:
        return FormField(name, label, text, "choice", default, models)
    if kind in (int, float) and name not in ("questions", "claims"):
        bounds = {end: one for each in field.metadata for end in _ENDS if (one := getattr(each, end, None)) is not None}
        least, most = bounds.get("ge", bounds.get("gt")), bounds.get("le", bounds.get("lt"))
        return FormField(name, label, text, "number", default, (), least, most, kind is int)
    return FormField(name, label, text, "text", default)


def on_page(text: str, names: Mapping[str, str] = MappingProxyType({})) -> str:
    """Return a message with settings and next steps as the pages name them, whether it is in the words of the command
    line or, from the run of a program, in those of Python, and with models by their names for people."""
    labels, _ = _labels()
    if (match := _FIELD.match(text)) and match[1] in labels:
        entry = match[2] and (f"number {int(match[2]) + 1}" if match[2].isdecimal() else match[2])
        text = f"{labels[match[1]]}{f' ({entry})' if entry else ''}: {text[match.end() :]}"
    for pattern, said in _SENTENCES:
        text = pattern.sub(said, text)
    return _SETTING.sub(_label, _COMMAND.sub(_next_step, with_names(text, names)))


def with_names(value: Any, names: Mapping[str, str]) -> Any:
    """Return a text, or the texts in a structure, with models by their names for people."""
    if isinstance(value, dict):
        return {key: with_names(one, names) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(with_names(one, names) for one in value)
    others = sorted((name for name, shown in names.items() if name != shown), key=len, reverse=True)
    if not others or not isinstance(value, str):
        return value
    # In one pass: a name for people may have another model's name in it.
    any_of_them = rf"(?<![\w:.-])(?:{'|'.join(map(re.escape, others))})(?![\w/-]|[:.]\w)"
    return re.sub(any_of_them, lambda found: names[found[0]], value)


_MESSAGES = frozenset({"message", "which says"})


def error_on_page(error: Mapping[str, str] | None, address: str = "") -> dict[str, str] | None:
    """Return a stored error as the pages show it, or as the API tells it of what has an `address` there. What a bug
    raised is for developers, who find it with `redraft show`."""
    if error and error.get("code") == "bug":
        return {**error, "message": "something unexpected happened", "hint": "see `redraft show`, and please report it"}
    worded = partial(in_api, address=address) if address else on_page
    return {name: worded(scrubbed(str(value))) for name, value in error.items()} if error else None


def in_api(text: str, address: str) -> str:
    """Return a message about what has this address with the fields and the calls of the API."""
    text = re.sub(r"\bredraft (?:show|trace) ([0-9a-f]{8})\b", r"GET /api/runs/\1", text)
    text = _TO_RESUME.sub(f"POST {address}/resume", _SET_HIGHER.sub(r"with a higher `max_\1`", text))
    text = _COMMAND.sub(lambda found: _CALLS_OF_API.get((found["verb"] or "").split(" ")[0], found[0]), text)
    return _SETTING.sub(_field, text)


def _field(found: re.Match[str]) -> str:
    name = (found["option"] or found["name"] or found["field"]).replace("-", "_")
    return f"`{name}`" + (f" {found['value']}" if found["value"] else "")


def results_on_page(found: Results, names: Mapping[str, str]) -> Results:
    """Return the results of an experiment with tables that speak as the pages do, and models by their names for
    people."""
    said = {name: with_names(getattr(found, name), names) for name in ("about", "headline", "settings", "verdict")}
    return replace(found, tables=tuple(map(table_on_page, found.tables)), **said)


def table_on_page(shown: ShownTable) -> ShownTable:
    """Return a table with its caption and messages in the words of the pages."""
    table = shown.table
    rows = tuple(
        tuple(
            on_page(cell) if name in _MESSAGES and isinstance(cell, str) else cell
            for name, cell in zip(table.columns, row, strict=True)
        )
        for row in table.rows
    )
    said = replace(table, caption=on_page(table.caption), basis=on_page(table.basis), rows=rows)
    return replace(shown, table=said)


def _label(found: re.Match[str]) -> str:
    labels, options = _labels()
    label = options.get(found["option"] or "") or labels.get(found["name"] or found["field"] or "")
    value = f" {found['value']}" if found["value"] else ""
    return f"“{label}”{value}" if label else found[0]


def _next_step(found: re.Match[str]) -> str:
    verb = found["verb"] or found["bare"] or found["call"]
    return _PAGES.get(verb) or _PAGES.get(verb.split()[0], found[0])


@cache
def _labels() -> tuple[Mapping[str, str], Mapping[str, str]]:
    """Return the labels by field, and by option."""
    labels, options = (
        {
            "chapters": "Chapters",
            "chunk_sizes": "Chunk sizes",
            "name": "Name",
            "rubrics": "Your own requirements",
            "word_limits": "Word limits",
            "max_cost": _COST,
            "max_calls": _CALLS,
        },
        {
            "chapters": "Chapters",
            "places": "Places",
            "reference": "Existing summaries",
            "max-cost": _COST,
            "max-calls": _CALLS,
        },
    )
    for model in SETTINGS:
        for name in named_fields(model):
            label, option = _NAMES.get(name, name.replace("_", " ")), option_of(model, name)
            labels[name] = f"{label[:1].upper()}{label[1:]}"
            for one in option.names if option else ():
                options |= dict.fromkeys((part.removeprefix("--") for part in one.split("/")), labels[name])
    return labels, options


def _default(field: FieldInfo) -> str:
    value = field.default
    if value in (None, (), PydanticUndefined):
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else str(value)
