"""What tests of whole runs share: documents, writers that keep to limits or do not, and reading prompts back."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import redraft
import redraft.errors
import redraft.evaluators
import redraft.events
import redraft.graphs
import redraft.prompts
import redraft.records
import redraft.testing
from redraft import DraftConfig, Limits, Result, Session, Store
from redraft.domain import Document
from redraft.llm.base import FunctionModel, Line, Request
from redraft.prompts.summarization import Outline
from redraft.readers.documents import parse

SAMPLE = Path(__file__).parent.parent / "examples" / "the-salt-ledger.md"


def chapter() -> str:
    """A document that is short enough for whole runs."""
    return SAMPLE.read_text("utf-8").split("## Chapter 2")[0]


def story(sentences: int, words: int = 12) -> Document:
    """A document of numbered sentences, so that every excerpt can be told from every other."""
    lines = [
        f"Sentence number {number} tells of the keeper {'and the lamp ' * ((words - 8) // 3)}at station {number}."
        for number in range(sentences)
    ]
    paragraphs = [" ".join(lines[at : at + 5]) for at in range(0, len(lines), 5)]
    return parse("\n\n".join(["# The Keeper", *paragraphs]).encode(), name="keeper.md")


TOLD = "keeper"
"""What `prose` is made of: a summary has words of its source."""


def prose(words: int, mark: str = "") -> str:
    """Exactly so many words in sentences of at most ten, the first being `mark` where it is given."""
    names = [mark, *[TOLD] * (words - 1)] if mark else [TOLD] * words
    sentences = [" ".join(names[at : at + 10]).capitalize() + "." for at in range(0, len(names), 10)]
    return " ".join(sentences)


def mark_of(text: str) -> str:
    """The first number in a text: tells which chunk it is, or which summary."""
    match = re.search(r"\d+", text)
    return match.group() if match else ""


def obedient(request: Request[Any, Any]) -> Line:
    """A writer that always uses nine tenths of its limit, and whose replies tell from what they were made."""
    inputs = request.given
    if request.prompt.name == "tidy":
        return str(inputs.summary)
    if request.prompt.name == "outline":
        return Outline(kind="narrative", line="The keeper tends the lamp.", turning_points=[], cast=[])
    source = getattr(inputs, "excerpt", None) or getattr(inputs, "document", None) or getattr(inputs, "summary", None)
    mark = mark_of(source if source else inputs.summaries[0])
    return prose(max(3, int(inputs.words * 0.9)), f"m{mark}")


def betraying(request: Request[Any, Any]) -> Line:
    """An obedient writer whose summaries say that they are of an excerpt, so that there is something to tidy."""
    reply = obedient(request)
    if request.prompt.name == "tidy":
        return reply
    mark, _, _, *rest = str(reply).split(" ")
    return " ".join([mark, "this", "excerpt", *rest])


class Desk:
    """A store in a directory, and runs on it with a model made of a function."""

    def __init__(self, folder: Path, answer: Callable[[Request[Any, Any]], Line] = obedient) -> None:
        self.store = Store(folder / "redraft.db")
        self.model = FunctionModel(answer)

    @property
    def asked(self) -> list[Request[Any, Any]]:
        """All requests that reached the model, in order."""
        return self.model.asked

    def asked_for(self, prompt: str) -> list[Request[Any, Any]]:
        """The requests of one prompt."""
        return [request for request in self.asked if request.prompt.name == prompt]

    def session(self, **models: Any) -> Session:
        """A workshop on the store, whose model writes and judges."""
        return Session(self.store, **{"model": self.model, **models})

    async def summarize(self, document: Document, limits: Limits | None = None, **settings: Any) -> Result:
        """A run with small chunks and a small window, unless the settings say otherwise."""
        chosen = DraftConfig(
            **{"strategy": "hierarchical", "chunk_tokens": 128, "context_tokens": 1024, "words": 100, **settings}
        )
        async with self.session(limits=limits) as session:
            return await session.summarize(document, settings=chosen)

    async def resume(self, run: str, limits: Limits | None = None) -> Result:
        """Go on with a run."""
        async with self.session() as session:
            return await session.resume(run, limits=limits)


def public_names() -> dict[str, set[str]]:
    """Return the public names of redraft by module: those of packages, errors, events, and test models."""
    packages = (redraft, redraft.evaluators, redraft.graphs, redraft.prompts, redraft.records)
    names = {package.__name__: {*package.__all__} for package in packages}
    names["redraft.errors"] = {
        name
        for name, value in vars(redraft.errors).items()
        if inspect.isclass(value) and issubclass(value, redraft.RedraftError)
    }
    events = {name for name, value in vars(redraft.events).items() if value in get_args(redraft.Event)}
    names["redraft.events"] = {*events, "Observer", "event_json"}
    names["redraft.testing"] = {"FunctionModel", "Recording", "ScriptError", "ScriptedModel", "assert_summary"}
    return names
