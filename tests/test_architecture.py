"""The house rules: who may import whom, and how large anything may grow. Each rule is shown to fire, too."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = "redraft"
MODULE_LINES, FUNCTION_LINES = 600, 60

# From the top down. A module imports from its own unit, or from one further down.
RANKS: tuple[frozenset[str], ...] = (
    frozenset({"lab"}),
    frozenset({"studio"}),
    frozenset({"cli", "pytest_plugin"}),
    frozenset({""}),  # the public names: the package itself
    frozenset({"batches", "integrations", "testing"}),
    frozenset({"runs"}),
    frozenset({"report", "graphs"}),
    frozenset({"evaluators"}),
    frozenset({"agents"}),
    frozenset({"builtin"}),
    frozenset({"llm", "readers"}),
    frozenset({"prompts", "text"}),
    frozenset({"store"}),
    frozenset({"document", "domain", "errors", "events", "fields", "lazy", "order"})
    | frozenset({"plugins", "presets", "settings", "sources"}),
)
# Packages that register their commands by entry points. All the others work without them.
GUESTS = frozenset({"lab", "studio"})
# Imports within functions, which hide what a module needs. This list may only become shorter.
LATE_IMPORTS = {
    ("evaluators/consistency.py", "rouge_score"),  # brings NLTK
    ("builtin/facade.py", "redraft.builtin"),  # is not needed where every answer is known
    ("runs/models.py", "redraft.llm"),  # the clients of providers bring LangChain, which only their own models need
    ("runs/session.py", "redraft.runs.dry_run"),  # only `plan` needs it
    ("runs/open_runs.py", "redraft.store.postgres"),  # an extra, which may not be there
    ("store/store.py", "redraft.store.postgres"),  # the same
    ("store/sqlite.py", "sqlite_utils"),  # brings NumPy, and a database is seldom new
    ("lazy.py", "importlib.metadata"),  # takes longer than all the rest of `import redraft`
    ("cli/views/outcome.py", "redraft.report.history.citations"),  # brings NumPy
    ("text/vectors.py", "sentence_transformers"),  # an extra, which may not be there, and takes seconds
    ("text/retrieval.py", "bm25s"),  # only a document that is searched needs it, and it brings SciPy where that is
    ("text/tokens.py", "tiktoken"),
    ("text/words.py", "snowballstemmer"),  # brings the rules of thirty languages
}


@dataclass(frozen=True)
class Import:
    """One imported module, where it stands, and whether that is within a function."""

    target: str
    line: int
    late: bool


@dataclass(frozen=True)
class Module:
    """A source file of the package: its path below it, and its text."""

    path: str
    source: str

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.source)

    @property
    def name(self) -> str:
        parts = [PACKAGE, *Path(self.path).with_suffix("").parts]
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

    @cached_property
    def imports(self) -> list[Import]:
        return list(_imports(self.tree, late=False))


def _imports(node: ast.AST, *, late: bool) -> Iterator[Import]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import):
            yield from (Import(alias.name, child.lineno, late) for alias in child.names)
        elif isinstance(child, ast.ImportFrom):
            assert child.level == 0, "relative imports are refused by the linter"
            base = child.module or ""
            yield Import(base, child.lineno, late)
            yield from (Import(f"{base}.{alias.name}", child.lineno, late) for alias in child.names)
        within = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        yield from _imports(child, late=late or within)


Modules = dict[str, Module]


def own_imports(module: Module, modules: Modules) -> Iterator[tuple[Import, str]]:
    """The modules of the package that `module` imports: of `from a.b import c`, `a.b.c` if that is a module."""
    internal = [imported for imported in module.imports if imported.target in modules]
    for imported in internal:
        deeper = any(
            further.line == imported.line and further.target.startswith(f"{imported.target}.") for further in internal
        )
        if imported.target != module.name and not deeper:
            yield imported, imported.target


def unit(name: str) -> str:
    first = name.removeprefix(PACKAGE).lstrip(".").partition(".")[0]
    if first == "__main__":
        return "cli"
    return first if any(first in rank for rank in RANKS) else ""


def rank(name: str) -> int:
    return next(at for at, units in enumerate(RANKS) if unit(name) in units)


def direction(module: Module, modules: Modules) -> Iterator[str]:
    for imported, target in own_imports(module, modules):
        if rank(target) < rank(module.name):
            yield f"line {imported.line}: imports {target}, which is above it"
        elif rank(target) == rank(module.name) < len(RANKS) - 1 and unit(target) != unit(module.name):
            yield f"line {imported.line}: imports {target}, which is beside it"


def guests_are_not_named(module: Module, modules: Modules) -> Iterator[str]:
    """The core neither imports a guest nor loads one by its name."""
    if unit(module.name) in GUESTS:
        return
    names = [(imported.target, imported.line) for imported in module.imports]
    names += [
        (node.value, node.lineno)
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    for text, line in names:
        if guest := next((name for name in GUESTS if is_within(text.partition(":")[0], f"{PACKAGE}.{name}")), None):
            yield f"line {line}: names the guest {guest}"


def views_know_no_commands(module: Module, modules: Modules) -> Iterator[str]:
    for imported, target in own_imports(module, modules):
        if module.path.startswith("cli/views/") and target.startswith(f"{PACKAGE}.cli.commands"):
            yield f"line {imported.line}: a view imports the command {target}"


def defining_modules(module: Module, modules: Modules) -> Iterator[str]:
    for imported, target in own_imports(module, modules):
        if modules[target].path.endswith("__init__.py") and rank(target) == rank(module.name):
            yield f"line {imported.line}: imports from the package {target}, not from the module that defines the name"


def late_imports(module: Module, modules: Modules) -> Iterator[str]:
    # A command brings in what it needs when it is called, so that the help and the commands that only read are quick.
    if module.path.startswith(("cli/", "lab/commands", "studio/commands")) and not module.path.startswith("cli/views/"):
        return
    for imported in module.imports:
        allowed = any(is_within(imported.target, name) for name in allowed_late(module.path))
        if imported.late and not allowed:
            yield f"line {imported.line}: imports {imported.target} within a function"


def is_within(target: str, name: str) -> bool:
    return target == name or target.startswith(f"{name}.")


def allowed_late(path: str) -> set[str]:
    return {name for where, name in LATE_IMPORTS if where == path}


def sizes(module: Module, modules: Modules) -> Iterator[str]:
    if (lines := len(module.source.splitlines())) > MODULE_LINES:
        yield f"has {lines} lines"
    for node in ast.walk(module.tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or 0) - node.lineno + 1
            if lines > FUNCTION_LINES:
                yield f"line {node.lineno}: {node.name} has {lines} lines"


def docstrings(module: Module, modules: Modules) -> Iterator[str]:
    if module.source.strip() and not ast.get_docstring(module.tree):
        yield "has no docstring"
    for node in module.tree.body:
        is_public = isinstance(
            node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
        ) and not node.name.startswith("_")
        if is_public and not ast.get_docstring(node) and not _is_titled(node):
            yield f"line {node.lineno}: {node.name} has no docstring"


def _is_titled(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> bool:
    """Whether a decorator declares a table, whose title becomes the docstring."""
    calls = [decorator.func for decorator in node.decorator_list if isinstance(decorator, ast.Call)]
    return any(isinstance(call, ast.Name) and call.id == "table" for call in calls)


def bare_ignores(module: Module, modules: Modules) -> Iterator[str]:
    for number, line in enumerate(module.source.splitlines(), 1):
        if re.search(r"#\s*type:\s*ignore(?!\[)|#\s*noqa(?!:)", line):
            yield f"line {number}: silences a checker without saying what about"


_DOORS = ("facade", "stand_in")
"""The model, and the stand-in of dry runs."""


def one_door(module: Module, modules: Modules) -> Iterator[str]:
    """The built-in model is a house of its own: whoever is outside goes through its door."""
    if module.path.startswith("builtin/"):
        return
    for imported, target in own_imports(module, modules):
        if is_within(target, f"{PACKAGE}.builtin") and target.rpartition(".")[2] not in _DOORS:
            yield f"line {imported.line}: imports {target}, and not from the built-in model's door"


Rule = Callable[[Module, Modules], Iterator[str]]
RULES: dict[str, Rule] = {
    rule.__name__: rule
    for rule in (
        direction,
        guests_are_not_named,
        views_know_no_commands,
        defining_modules,
        late_imports,
        sizes,
        docstrings,
        bare_ignores,
        one_door,
    )
}


def cycle(modules: Modules) -> list[str]:
    """A circle of modules that know of each other, if there is one: also one that only a late import keeps working."""
    graph = {name: {target for _, target in own_imports(module, modules)} for name, module in modules.items()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def package() -> Modules:
    paths = sorted((ROOT / PACKAGE).rglob("*.py"))
    modules = [Module(path.relative_to(ROOT / PACKAGE).as_posix(), path.read_text("utf-8")) for path in paths]
    return {module.name: module for module in modules}


def made_up(**sources: str) -> Modules:
    """A package of made-up modules: `agents__writer` is `agents/writer.py`."""
    paths = {name: name.replace("__", "/", 1) if not name.startswith("__") else name for name in sources}
    modules = [Module(f"{paths[name]}.py", source) for name, source in sources.items()]
    return {module.name: module for module in modules}


@pytest.mark.slow
def test_the_package_keeps_to_every_rule() -> None:
    modules = package()
    assert len(modules) > 30
    assert [f"{m.path}: {what}" for m in modules.values() for rule in RULES.values() for what in rule(m, modules)] == []
    assert cycle(modules) == [], "no module needs itself"
    used_names = {
        name
        for module in modules.values()
        for imported in module.imports
        for name in allowed_late(module.path)
        if imported.late and is_within(imported.target, name)
    }
    assert {name for _, name in LATE_IMPORTS} == used_names, (
        "an entry that nothing needs any more is taken off the list"
    )
    assert len(LATE_IMPORTS) <= 13


def class_names_used_twice(modules: Modules) -> dict[str, list[str]]:
    places: dict[str, list[str]] = {}
    for module in modules.values():
        for node in ast.walk(module.tree):
            if isinstance(node, ast.ClassDef):
                places.setdefault(node.name, []).append(module.path)
    return {name: paths for name, paths in places.items() if len(paths) > 1}


@pytest.mark.slow
def test_no_two_classes_have_the_same_name() -> None:
    assert class_names_used_twice(package()) == {}
    assert class_names_used_twice(made_up(domain="class A: ...", text__words="class A: ...")) == {
        "A": ["domain.py", "text/words.py"]
    }


def test_every_module_has_its_place() -> None:
    ranked = {name for units in RANKS for name in units if name}
    folders = {path.name for path in (ROOT / PACKAGE).iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert folders <= ranked, "a new folder needs a rank"


DOC = '"""Something."""\n'
LOW = {"domain": DOC, "text__words": DOC, "prompts__book": DOC, "agents__writer": DOC, "runs__session": DOC}
FIRES: list[tuple[str, dict[str, str], str]] = [
    ("direction", {"text__words": "from redraft.agents.writer import Writer"}, "above"),
    ("direction", {"text__words": "from redraft.agents import writer"}, "above"),
    ("direction", {"agents__writer": "from redraft.runs.session import Session"}, "above"),
    ("direction", {"text__words": "from redraft.prompts.book import PromptBook"}, "beside"),
    ("direction", {"cli__main": "def f():\n    from redraft.lab.grid import Grid", "lab__grid": DOC}, "above"),
    ("guests_are_not_named", {"runs__session": "import redraft.studio.app"}, "the guest studio"),
    ("guests_are_not_named", {"runs__session": "resolve_name('redraft.lab.grid:Grid')"}, "the guest lab"),
    (
        "defining_modules",
        {"agents____init__": "", "agents__writer": "from redraft.agents import Judge"},
        "from the package redraft.agents",
    ),
    (
        "views_know_no_commands",
        {"cli__views/render": "from redraft.cli.commands.runs import runs", "cli__commands/runs": DOC},
        "a view imports the command",
    ),
    ("late_imports", {"cli__views/render": "def f():\n    import json"}, "within a function"),
    ("one_door", {"agents__writer": "import redraft.builtin.prose", "builtin__prose": DOC}, "door"),
    ("late_imports", {"text__words": "def f():\n    import json"}, "within a function"),
    ("late_imports", {"text__words": "class A:\n    async def f(self):\n        from json import loads"}, "within"),
    ("late_imports", {"text__words": "def f():\n    import tiktoken"}, "tiktoken"),
    ("sizes", {"text__words": DOC + "x = 1\n" * 600}, "has 601 lines"),
    ("sizes", {"text__words": "def f():\n" + "    x = 1\n" * 60}, "f has 61 lines"),
    ("docstrings", {"text__words": "x = 1"}, "has no docstring"),
    ("docstrings", {"text__words": DOC + "def f(): ..."}, "f has no docstring"),
    ("docstrings", {"text__words": DOC + "@cache()\ndef f(): ..."}, "f has no docstring"),
    ("bare_ignores", {"text__words": "x = 1  # type: " + "ignore"}, "silences"),
    ("bare_ignores", {"text__words": "x = 1  # " + "noqa"}, "silences"),
]


@pytest.mark.parametrize(("rule", "changed", "message"), FIRES)
def test_the_rule_fires(rule: str, changed: dict[str, str], message: str) -> None:
    modules = made_up(**(LOW | changed))
    complaints = [what for module in modules.values() for what in RULES[rule](module, modules)]
    assert any(message in what for what in complaints), complaints


def test_a_circle_is_found() -> None:
    statement = "from redraft.text.chunks import chunk"
    back = "from redraft.text.words import count_words"
    assert set(cycle(made_up(text__words=statement, text__chunks=back))) == {
        "redraft.text.words",
        "redraft.text.chunks",
    }
    typed = f"from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    {back}"
    assert cycle(made_up(text__words=statement, text__chunks=typed)) != []
    assert cycle(made_up(text__words=statement, text__chunks=f"def chunk():\n    {back}")) != []
    assert cycle(made_up(text__words=statement, text__chunks="")) == []
