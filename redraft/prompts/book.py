"""All prompts by name, and a set of templates, checked against the prompts' fields, that renders requests."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from functools import cache, lru_cache, partial
from importlib import import_module, resources
from pathlib import Path
from pkgutil import iter_modules
from typing import Any, Literal, TypeVar, get_args, get_origin

from jinja2 import StrictUndefined, Template, TemplateError, TemplateSyntaxError, meta
from jinja2.exceptions import SecurityError
from jinja2.sandbox import ImmutableSandboxedEnvironment
from pydantic import BaseModel
from pydantic.fields import FieldInfo
from typing_extensions import override

from redraft.errors import PromptError, RunCommand, UsageError
from redraft.prompts.contract import GAP, Fence, FencedLines, FencedTexts, ItemTags, Prompt, PromptInput
from redraft.prompts.tags import TaggedItem, Tags, disarmed
from redraft.sources import MAX_SETTINGS_BYTES, read_file

# Modules without prompts; the first of them imports the catalog.
_WITHOUT = {"book", "catalog", "contract"}


def _defined() -> Iterator[Prompt[Any, Any]]:
    for found in iter_modules([str(Path(__file__).parent)]):
        if found.name not in _WITHOUT:
            module = import_module(f"redraft.prompts.{found.name}")
            yield from (prompt for prompt in vars(module).values() if isinstance(prompt, Prompt))


PROMPTS: dict[str, Prompt[Any, Any]] = {prompt.name: prompt for prompt in _defined()}
"""Every prompt by its name."""


_Mark = TypeVar("_Mark")
SETS = ("standard", "simple")
SUFFIX = ".md"

_LONGEST_SOURCE, _LONGEST_TEXT = 200_000, 64_000_000
"""The most characters of a template, and of what it makes."""


class _Sandbox(ImmutableSandboxedEnvironment):
    """Jinja's sandbox, in which short texts and numbers do not become long ones."""

    intercepted_binops = frozenset({"*", "**"})

    @override
    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        if operator == "**" or not isinstance(left, int | float) or not isinstance(right, int | float):
            raise SecurityError(f"a template may only multiply numbers, not use {operator} otherwise")
        return super().call_binop(context, operator, left, right)


_ENVIRONMENT = _Sandbox(undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
del _ENVIRONMENT.globals["lipsum"]
# Errors of a user's template when it is rendered.
_FAILURES = (TemplateError, TypeError, ValueError, ArithmeticError, LookupError, AttributeError, RecursionError)


def prompt_choice(choice: str) -> str:
    """Return a choice of prompts with an absolute path, so that a run can be resumed from any directory."""
    return choice if choice in SETS else str(Path(choice).expanduser().resolve())


class PromptBook:
    """The templates of one set, with the user's own in place of those that are overridden."""

    def __init__(self, choice: str = "standard") -> None:
        """`choice` is the name of a built-in set, or a directory whose files override those of the standard set."""
        self.choice = choice
        own = {} if choice in SETS else _read_directory(Path(choice).expanduser())
        base = resources.files("redraft.prompts") / "templates" / (choice if choice in SETS else "standard")
        builtin = {name: (base / f"{name}{SUFFIX}").read_text("utf-8") for name in PROMPTS if name not in own}
        self._sources = {name: own[name] if name in own else builtin[name] for name in PROMPTS}
        self.overridden = tuple(sorted(own))
        # Built-in templates are compiled when first rendered; a user's own are checked at once.
        for name in own:
            _check(PROMPTS[name], own[name], self._place(name))

    def source(self, name: str) -> str:
        """Return the template text of a prompt."""
        if name not in self._sources:
            raise UsageError(f"there is no prompt named {name!r}", hint=f"the prompts are: {', '.join(PROMPTS)}")
        return self._sources[name]

    def template(self, prompt: Prompt[Any, Any]) -> str:
        """Return the template text of a prompt of redraft's own, or of one that brings its template along."""
        return prompt.template or self.source(prompt.name)

    def hash(self, prompt: Prompt[Any, Any]) -> str:
        """Return a hash of the template, and of the schemas of its input and reply."""
        material = json.dumps([prompt.name, self.template(prompt), _shape(prompt)], sort_keys=True)
        return hashlib.sha256(material.encode()).hexdigest()[:16]

    def hashes(self) -> dict[str, str]:
        """Return the hash of every prompt of the book."""
        return {name: self.hash(prompt) for name, prompt in PROMPTS.items()}

    def render(self, prompt: Prompt[Any, Any], given: BaseModel) -> str:
        """Return the text to send."""
        return self._filled(prompt, _fenced(given))

    def instructions(self, prompt: Prompt[Any, Any], given: BaseModel) -> str:
        """Return the text to send without fenced content."""
        fences = _fences(type(given))
        return self._filled(prompt, {n: "\n" if v and n in fences else v for n, v in _fenced(given).items()})

    def _filled(self, prompt: Prompt[Any, Any], values: dict[str, object]) -> str:
        place = self._place(prompt.name)
        template = _compile(prompt, self.template(prompt), place)
        try:
            return _text_of(template, values).strip()
        except _FAILURES as error:
            raise PromptError(f"the template cannot be filled in: {error}", place=place) from error

    def _place(self, name: str) -> str:
        """Return where a template stands: its name, or a user's file."""
        return str(Path(self.choice).expanduser() / f"{name}{SUFFIX}") if name in self.overridden else name


@cache
def _shape(prompt: Prompt[Any, Any]) -> list[dict[str, Any]]:
    """Return the schemas of the input and of a structured reply; cached, as every request needs them."""
    given = prompt.given.model_json_schema()
    given.pop("description", None)  # the docstring, which no model ever sees
    return [given, *([prompt.returns.model_json_schema()] if issubclass(prompt.returns, BaseModel) else ())]


@lru_cache(maxsize=256)
def _compile(prompt: Prompt[Any, Any], source: str, place: str) -> Template:
    """Compile a template that stands at `place`. Raises `PromptError` for unused and for unknown variables."""
    if len(source) > _LONGEST_SOURCE:
        raise PromptError(f"the template has more than {_LONGEST_SOURCE:,} characters", place=place)
    try:
        used = meta.find_undeclared_variables(_ENVIRONMENT.parse(source))
        template = _ENVIRONMENT.from_string(source)
    except TemplateSyntaxError as error:
        raise PromptError(f"line {error.lineno}: {error.message}", place=place) from error
    except (*_FAILURES, SyntaxError, MemoryError) as error:
        raise PromptError(f"the template cannot be read: {error}", place=place) from error
    known = set(prompt.given.model_fields)
    if used != known:
        missing, unknown = sorted(known - used), sorted(used - known)
        parts = [f"does not use {', '.join(missing)}"] * bool(missing)
        parts += [f"uses unknown {', '.join(unknown)}"] * bool(unknown)
        lost = [f"{{{{ {name} }}}} carries {what}" for name, what in _carried(prompt.given).items() if name in missing]
        raise PromptError(
            "; ".join([f"the template {' and '.join(parts)}", *lost]),
            place=place,
            fix=(
                f"its variables are {', '.join(sorted(known))}; see ",
                RunCommand("prompts show", more=(prompt.name,)),
            ),
        )
    return template


def _text_of(template: Template, values: dict[str, object]) -> str:
    """Return the text of a template. Raises `SecurityError` for one that is too long."""
    parts: list[str] = []
    left = _LONGEST_TEXT
    for part in template.generate(values):
        parts.append(part)
        left -= len(part)
        if left < 0:
            raise SecurityError(f"it makes a text of more than {_LONGEST_TEXT:,} characters")
    return "".join(parts)


@lru_cache(maxsize=256)
def _check(prompt: Prompt[Any, Any], source: str, place: str) -> None:
    """Compile a user's template, and try whether it leaves out a text that its task needs. Raises `PromptError`."""
    template, carried = _compile(prompt, source, place), _carried(prompt.given)
    optional = {name for name in carried if not prompt.given.model_fields[name].is_required()}
    for values in _samples(prompt.given):
        try:
            text = _text_of(template, values)
        except SecurityError:
            return  # what is wrong is said when a request is rendered
        except _FAILURES:
            continue
        given = {name for name in carried if values[name]}
        # Of the document and its passages only one is given.
        due = given if len(given & optional) < 2 else given - optional
        if left_out := next((name for name in sorted(due) if _sample(prompt.given, name) not in text), None):
            raise PromptError(
                f"the template leaves out {{{{ {left_out} }}}}, or may leave it out: it carries "
                f"{carried[left_out]}, which a model needs",
                place=place,
                fix=("do not put it under another condition; see ", RunCommand("prompts show", more=(prompt.name,))),
            )


def _carried(given: type[BaseModel]) -> dict[str, str]:
    """Return what the fields hold that no template may leave out."""
    return {name: mark.carries for name, mark in _marks(given, Fence) if mark.carries}


def _sample(given: type[BaseModel], name: str) -> str:
    """Return a text that no filter for words or letters changes."""
    return str(700_001 + [*given.model_fields].index(name))


def _samples(given: type[BaseModel]) -> Iterator[dict[str, object]]:
    """Return inputs of a template: with all that may be given and with nothing more than must be, each field varied."""
    fenced = _fences(given)
    kinds: dict[str, list[object]] = {}
    for name, info in given.model_fields.items():
        if name in fenced:
            kinds[name] = [f"<{fenced[name]}>\n{_sample(given, name)}\n</{fenced[name]}>"]
            kinds[name] += [] if info.is_required() else [None]
        else:
            kinds[name] = _sample_values(info)
    for at in (0, -1):
        base = {name: values[at] for name, values in kinds.items()}
        yield from ({**base, name: value} for name, values in kinds.items() for value in values)


def _sample_values(info: FieldInfo) -> list[object]:
    """Return values of a field without a fence, that of an unset one at the end."""
    kind = info.annotation
    if get_origin(kind) is Literal:
        return [*get_args(kind)]
    if get_origin(kind) is list:
        return [[*get_args(get_args(kind)[0])] or "1", []]
    known: dict[object, list[object]] = {bool: [True, False], int: [100], str: ["German"], type(None): [None]}
    values = [value for arg in get_args(kind) or [kind] for value in known[arg]]
    return values if info.is_required() else [*values, info.default]


def _read_directory(directory: Path) -> dict[str, str]:
    if not directory.is_dir():
        raise UsageError(
            f"{str(directory)!r} is neither a prompt set ({', '.join(SETS)}) nor a directory",
            fix=(RunCommand("prompts export", more=("DIR",)), " writes a directory to start from"),
        )
    found = {path.stem: _read(path) for path in sorted(directory.glob(f"*{SUFFIX}"))}
    unknown = [name for name in found if name not in PROMPTS and name.lower() != "readme"]
    if unknown or not found:
        what = f"no prompt is named {', '.join(unknown)}" if unknown else f"there are no {SUFFIX} files in it"
        raise PromptError(what, place=str(directory), hint=f"the prompts are: {', '.join(PROMPTS)}")
    return {name: source for name, source in found.items() if name in PROMPTS}


def _read(path: Path) -> str:
    try:
        return read_file(path, MAX_SETTINGS_BYTES).decode("utf-8-sig")
    except OSError as error:
        raise PromptError(error.strerror or str(error), place=str(path), hint="check the file") from error
    except UnicodeDecodeError as error:
        raise PromptError("the template is not UTF-8", place=str(path), hint="save it as UTF-8 text") from error


def _tags() -> frozenset[str]:
    """Return all fence tags in use."""
    return frozenset(tag for prompt in PROMPTS.values() for tag in _fences(prompt.given).values())


def _fences(model: type[BaseModel]) -> dict[str, str]:
    """Return the fence tags by field name."""
    return {name: mark.tag for name, mark in _marks(model, Fence)}


def _marks(model: type[BaseModel], kind: type[_Mark]) -> list[tuple[str, _Mark]]:
    """Return the fields with a mark of this kind."""
    fields = model.model_fields.items()
    return [(name, mark) for name, info in fields for mark in info.metadata if isinstance(mark, kind)]


_OURS = _tags()


def neutralize(text: str, own: frozenset[str] = frozenset()) -> str:
    """Disarm what looks like a fence or a chat token in `text`; `own` are the tags of another package's prompt."""
    return disarmed(text, _OURS | own)


def _fenced(given: BaseModel) -> dict[str, object]:
    values: dict[str, object] = {name: getattr(given, name) for name in type(given).model_fields}
    fences = _fences(type(given))
    own = frozenset(fences.values()) - _OURS
    tags = Tags(given)
    for name, mark in _marks(type(given), Fence):
        value = values[name]
        empty = value in ("", []) and not type(given).model_fields[name].is_required()
        values[name] = None if empty else _fence(value, mark, own, partial(tags.tag, name))
    for name, item_tags in _marks(type(given), ItemTags):
        values[name] = ", ".join(tags.tag(item_tags.field, number) for number in getattr(given, name))
    return values


def _fence(value: object, mark: Fence, own: frozenset[str], tagged: Callable[[int], str]) -> object:
    if value is None:
        return None
    tag = mark.tag
    if isinstance(value, str):
        return f"<{tag}>\n{neutralize(value.strip(), own)}\n</{tag}>"
    assert isinstance(value, list)
    if isinstance(mark, FencedLines):
        lines = "\n".join(_line(item, own, tagged) for item in value)
        return f"<{tag}>\n{lines}\n</{tag}>"
    if isinstance(mark, FencedTexts):
        texts = f"\n{GAP}\n".join(neutralize(str(one).strip(), own) for one in value)
        return f"<{tag}>\n{texts}\n</{tag}>"
    return "\n".join(_fenced_item(item, number, mark, own, tagged) for number, item in enumerate(value, 1))


def _line(item: object, own: frozenset[str], tagged: Callable[[int], str]) -> str:
    """Return a text on one line, that of an item after its tag."""
    if not isinstance(item, TaggedItem):
        return neutralize(" ".join(str(item).split()), own)
    shown = (name for name, info in type(item).model_fields.items() if name != "id" and not info.exclude)
    (text,) = (str(getattr(item, name)) for name in shown)
    return f"{tagged(item.id)}: {neutralize(' '.join(text.split()), own)}"


def _fenced_item(item: object, number: int, mark: Fence, own: frozenset[str], tagged: Callable[[int], str]) -> str:
    """Return a text, or the named texts of an item, in a fence: `tagged` where a reply has to name it,
    else numbered."""
    if isinstance(item, PromptInput):
        # Each on a line of its own, so that no text can imitate another field.
        fields = {
            name: " ".join(str(getattr(item, name)).split())
            for name, info in type(item).model_fields.items()
            if not info.exclude
        }
        number = int(fields.pop("id", number))
        only = len(fields) == 1
        body = "\n".join(neutralize(text if only else f"{name}: {text}", own) for name, text in fields.items() if text)
    else:
        body = neutralize(str(item).strip(), own)
    named = f' id="{tagged(number)}"' if isinstance(item, TaggedItem) else f' n="{number}"'
    return f"<{mark.tag}{named}>\n{body}\n</{mark.tag}>"
