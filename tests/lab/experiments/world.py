"""An experiment on the island of keepers over HTTP: models that know all or half of what is asked, and a fair judge."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from redraft import DraftConfig, Limits, Store
from redraft.domain import Document
from redraft.events import Observer, ignore_event
from redraft.lab.experiments.experiment import Outcome
from redraft.lab.experiments.hamlet import HamletDesign
from redraft.lab.experiments.orders import NamedModel
from redraft.lab.experiments.published import result_files
from redraft.llm.budget import PriceTable
from redraft.runs.experiment_runner import ExperimentRunner
from tests.chatserver import Answer, ChatRequest, ChatServer, Fault, asked, text_of
from tests.judges import KEY, PerfectModel, ScriptedReply, island, read_sheet, summary_of

ALL_KNOWING, HALF_KNOWING = "openai:whole", "openai:half"
KEEPERS = 90


def asked_about(text: str) -> list[int]:
    """The keepers in the query of a prompt."""
    actual = re.findall(r"(?:are the keepers|of the keepers) ([\d, ]+\d)", text)
    return [int(number) for number in actual[0].split(", ")] if actual else []


def answer(request: ChatRequest) -> str | Answer | Fault:
    """What the models and the judge reply."""
    sheet = read_sheet(request)
    if sheet.prompt != "revise":
        reply: ScriptedReply = PerfectModel()(sheet)
        assert isinstance(reply, dict)
        return json.dumps(reply)
    numbers = asked_about(text_of(request.messages[0]))
    if request.model == "half":
        numbers = numbers[::2]
        return summary_of(*numbers[1:], wrong={numbers[0]: "Bob"})
    return summary_of(*numbers)


async def run_in(
    folder: Path,
    documents: Sequence[Document],
    design: Any,
    limits: Limits | None = None,
    prices: PriceTable | None = None,
    observer: Observer = ignore_event,
) -> Any:
    """An experiment on the database of a folder, from where it is."""
    with Store(folder / "redraft.db") as store:
        runner = ExperimentRunner(store, limits or Limits(), prices, observer)
        return await design.run(documents, runner)


class Lab:
    """A store in a directory, and the experiment on it, by models behind a server."""

    def __init__(self, folder: Path, url: str, document: Document | None = None) -> None:
        self.folder = folder
        self.documents = [document or island(KEEPERS)]
        self.url = url
        self.design = HamletDesign(
            writers=self.seats(ALL_KNOWING, HALF_KNOWING), judges=self.seats("openai:judge"), queries=2
        )

    def seats(self, *models: str, window: int = 4000) -> tuple[NamedModel, ...]:
        """Those of these names."""
        shared = {"base_url": self.url, "strategy": "direct", "words": 450, "context_tokens": window}
        return tuple(NamedModel(model, DraftConfig.model_validate({"model": model, **shared})) for model in models)

    async def run(
        self, limits: Limits | None = None, prices: PriceTable | None = None, **changes: Any
    ) -> Outcome[Any, Any]:
        """The experiment, from where it is."""
        observer = changes.pop("observer", ignore_event)
        design = self.design.model_copy(update=changes)
        outcome: Outcome[Any, Any] = await run_in(self.folder, self.documents, design, limits, prices, observer)
        return outcome


def files(outcome: Outcome[Any, Any]) -> dict[str, str]:
    """The files of an experiment."""
    report = outcome.report()
    return result_files(report)


def sent(server: ChatServer) -> Counter[str]:
    """How often each request was answered."""
    return Counter(map(asked, server.answered))


@contextmanager
def serving(script: Callable[[ChatRequest], str | Answer | Fault] = answer, **options: Any) -> Iterator[ChatServer]:
    """The models behind a server, and a key for it."""
    with pytest.MonkeyPatch.context() as patch, ChatServer(script, **options) as server:
        patch.setenv("OPENAI_API_KEY", KEY)
        yield server
