"""All prompts by name, and a set of templates, checked against the prompts' fields, that renders requests."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable
from functools import cache, lru_cache, partial
from importlib import import_module, resources
from pathlib import Path
from pkgutil import iter_modules
from typing import Any, TypeVar

from jinja2 import StrictUndefined, Template, TemplateError, TemplateSyntaxError, meta
from jinja2.exceptions import SecurityError
from jinja2.sandbox import ImmutableSandboxedEnvironment
from pydantic import BaseModel
from typing_extensions import override

from redraft.errors import PromptError, RunCommand, UsageError
from redraft.prompts.contract import GAP, Fence, ItemTags, Prompt, PromptInput
from redraft.prompts.tags import TaggedItem, Tags, disarmed
from redraft.sources import MAX_SETTINGS_BYTES, read_file

# Modules without prompts; the first of them imports the catalog.
_WITHOUT = {"book", "catalog", "contract"}


_MODULES = [module_info.name for module_info in iter_modules([str(Path(__file__).parent)])]
_DEFINED = [vars(import_module(f"redraft.prompts.{name}")) for name in _MODULES if name not in _WITHOUT]
PROMPTS: dict[str, Prompt[Any, Any]] = {
    prompt.name: prompt for names in _DEFINED for prompt in names.values() if isinstance(prompt, Prompt)
}
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
        overrides = {} if choice in SETS else _read_directory(Path(choice).expanduser())
        base = resources.files("redraft.prompts") / "templates" / (choice if choice in SETS else "standard")
        builtin = {name: (base / f"{name}{SUFFIX}").read_text("utf-8") for name in PROMPTS if name not in overrides}
        self._sources = {name: overrides[name] if name in overrides else builtin[name] for name in PROMPTS}
        self.overridden = tuple(sorted(overrides))
        self._hashes: dict[Prompt[Any, Any], str] = {}
        # Built-in templates are compiled when first rendered; a user's own are checked at once.
        for name in overrides:
            _compile(PROMPTS[name], overrides[name], self._place(name))

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
        if prompt not in self._hashes:
            inputs = prompt.given.model_json_schema()
            inputs.pop("description", None)  # the docstring, which no model ever sees
            reply = [prompt.returns.model_json_schema()] if issubclass(prompt.returns, BaseModel) else []
            material = json.dumps([prompt.name, self.template(prompt), [inputs, *reply]], sort_keys=True)
            self._hashes[prompt] = hashlib.sha256(material.encode()).hexdigest()[:16]
        return self._hashes[prompt]

    def hashes(self, prompts: Iterable[Prompt[Any, Any]] = PROMPTS.values()) -> dict[str, str]:
        """Return the hashes of some prompts by name, or of all."""
        return {prompt.name: self.hash(prompt) for prompt in prompts}

    def render(self, prompt: Prompt[Any, Any], inputs: BaseModel, *, is_bare: bool = False) -> str:
        """Return the text to send: texts from outside in fences, or `is_bare` with a line break in place of each."""
        kind, tags = type(inputs), Tags(inputs)
        values: dict[str, object] = {name: getattr(inputs, name) for name in kind.model_fields}
        all_tags = _OURS | {mark.tag for _, mark in _marks(kind, Fence)}
        for name, mark in _marks(kind, Fence):
            value: Any = values[name]
            if value is None or (value in ("", []) and not kind.model_fields[name].is_required()):
                values[name] = None
            elif is_bare:
                values[name] = "" if value == [] else "\n"
            else:
                values[name] = _in_fence(mark, value, all_tags, partial(tags.tag, name))
        for name, item_tags in _marks(kind, ItemTags):
            values[name] = ", ".join(tags.tag(item_tags.field, number) for number in getattr(inputs, name))
        place = self._place(prompt.name)
        template = _compile(prompt, self.template(prompt), place)
        parts: list[str] = []
        room = _LONGEST_TEXT
        try:
            for part in template.generate(values):
                parts.append(part)
                room -= len(part)
                if room < 0:
                    raise SecurityError(f"it makes a text of more than {_LONGEST_TEXT:,} characters")
        except _FAILURES as error:
            raise PromptError(f"the template cannot be filled in: {error}", place=place) from error
        return "".join(parts).strip()

    def _place(self, name: str) -> str:
        """Return where a template stands: its name, or a user's file."""
        return str(Path(self.choice).expanduser() / f"{name}{SUFFIX}") if name in self.overridden else name


@lru_cache(maxsize=256)
def _compile(prompt: Prompt[Any, Any], source: str, place: str) -> Template:
    """Compile a template that stands at `place`. Raises `PromptError` for unused and for unknown variables."""
    if len(source) > _LONGEST_SOURCE:
        raise PromptError(f"the template has more than {_LONGEST_SOURCE:,} characters", place=place)
    try:
        variables = meta.find_undeclared_variables(_ENVIRONMENT.parse(source))
        template = _ENVIRONMENT.from_string(source)
    except TemplateSyntaxError as error:
        raise PromptError(f"line {error.lineno}: {error.message}", place=place) from error
    except (*_FAILURES, SyntaxError, MemoryError) as error:
        raise PromptError(f"the template cannot be read: {error}", place=place) from error
    given: type[BaseModel] = prompt.given
    fields = set(given.model_fields)
    if variables != fields:
        missing, unknown = sorted(fields - variables), sorted(variables - fields)
        parts = [f"does not use {', '.join(missing)}"] * bool(missing)
        parts += [f"uses unknown {', '.join(unknown)}"] * bool(unknown)
        lost = [
            f"{{{{ {name} }}}} carries {mark.carries}"
            for name, mark in _marks(given, Fence)
            if mark.carries and name in missing
        ]
        raise PromptError(
            "; ".join([f"the template {' and '.join(parts)}", *lost]),
            place=place,
            fix=(
                f"its variables are {', '.join(sorted(fields))}; see ",
                RunCommand("prompts show", more=(prompt.name,)),
            ),
        )
    return template


def _read_directory(directory: Path) -> dict[str, str]:
    if not directory.is_dir():
        raise UsageError(
            f"{str(directory)!r} is neither a prompt set ({', '.join(SETS)}) nor a directory",
            fix=(RunCommand("prompts export", more=("DIR",)), " writes a directory to start from"),
        )
    sources: dict[str, str] = {}
    for path in sorted(directory.glob(f"*{SUFFIX}")):
        try:
            sources[path.stem] = read_file(path, MAX_SETTINGS_BYTES).decode("utf-8-sig")
        except OSError as error:
            raise PromptError(error.strerror or str(error), place=str(path), hint="check the file") from error
        except UnicodeDecodeError as error:
            raise PromptError("the template is not UTF-8", place=str(path), hint="save it as UTF-8 text") from error
    unknown = [name for name in sources if name not in PROMPTS and name.lower() != "readme"]
    if unknown or not sources:
        problem = f"no prompt is named {', '.join(unknown)}" if unknown else f"there are no {SUFFIX} files in it"
        raise PromptError(problem, place=str(directory), hint=f"the prompts are: {', '.join(PROMPTS)}")
    return {name: source for name, source in sources.items() if name in PROMPTS}


@cache
def _marks(model: type[BaseModel], kind: type[_Mark]) -> tuple[tuple[str, _Mark], ...]:
    """Return the fields with a mark of this kind."""
    fields = model.model_fields.items()
    return tuple((name, mark) for name, info in fields for mark in info.metadata if isinstance(mark, kind))


_INPUTS: list[type[BaseModel]] = [prompt.given for prompt in PROMPTS.values()]
_OURS = frozenset(mark.tag for given in _INPUTS for _, mark in _marks(given, Fence))


def neutralize(text: str) -> str:
    """Disarm what looks like a fence or a chat token in `text`."""
    return disarmed(text, _OURS)


def _in_fence(mark: Fence, value: str | list[Any], tags: frozenset[str], tag_of: Callable[[int], str]) -> str:
    """Return a text, or the entries of a list, in one fence or each in its own: an item with the tag by which a reply
    names it, or else numbered. No text can break out by one of the `tags`."""
    if isinstance(value, str):
        return f"<{mark.tag}>\n{disarmed(value.strip(), tags)}\n</{mark.tag}>"
    entries: list[str] = []
    for number, item in enumerate(value, 1):
        # The texts of an item, each on one line.
        fields = type(item).model_fields.items() if isinstance(item, PromptInput) else ()
        names = [name for name, info in fields if name != "id" and not info.exclude]
        texts = {name: " ".join(str(getattr(item, name)).split()) for name in names}
        if mark.shared == "lines":
            line = disarmed(" ".join([*texts.values()] or str(item).split()), tags)
            entries.append(f"{tag_of(item.id)}: {line}" if isinstance(item, TaggedItem) else line)
            continue
        body = disarmed(str(item).strip(), tags)
        if texts:
            # Each on a line of its own, so that no text can imitate another field.
            lines = [text if len(texts) == 1 else f"{name}: {text}" for name, text in texts.items() if text]
            body = "\n".join(disarmed(line, tags) for line in lines)
        name = f'id="{tag_of(item.id)}"' if isinstance(item, TaggedItem) else f'n="{getattr(item, "id", number)}"'
        entries.append(body if mark.shared else f"<{mark.tag} {name}>\n{body}\n</{mark.tag}>")
    if mark.shared is None:
        return "\n".join(entries)
    body = (f"\n{GAP}\n" if mark.shared == "texts" else "\n").join(entries)
    return f"<{mark.tag}>\n{body}\n</{mark.tag}>"
