"""What one command has paid for, the next one uses: questions, answers and verdicts are the document's."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from redraft.text.tokens import Tokenizer
from tests.chatserver import ChatRequest, ChatServer
from tests.cli.local_command import MODEL, LocalCommand, plan
from tests.judges import PerfectModel, ScriptedReply, Sheet, island, read_sheet, scripted_replies, summary_of
from tests.runs.test_dry_run import Obedient

EVALUATE = ("evaluate", "book.md", "poor.md")
REFINE = ("refine", "book.md", "poor.md", "--rounds", "1")
DRAFT = ("summarize", "book.md", "--refine", "--rounds", "1", "-w", "100")
PACK = ("pack", "build", "book.md")
WRITES, JUDGES, OTHER = ("-m", MODEL), ("--judge", MODEL), ("-m", "openai:other", "--judge", MODEL)


class Vocabulary(Tokenizer):
    """A tokenizer that counts otherwise than the one of the built-in model."""

    name = "vocabulary"

    def __init__(self) -> None:
        super().__init__(margin=0.9)


class Writer(PerfectModel):
    """Writes, too."""

    def revise(self, sheet: Sheet) -> ScriptedReply:
        return super().revise(sheet) if sheet.within("summary") else summary_of(1, 2, 4, wrong={3: "Jim"})


@pytest.fixture(autouse=True)
def vocabulary(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only a language model has a vocabulary: who judges beside the built-in writer is not to count as that does."""
    counted = Vocabulary()
    monkeypatch.setattr("redraft.graphs.prepared.tokenizer_for", lambda _: (counted, ""))


def asked(request: ChatRequest) -> str:
    """What a request asks: all of it but the limit of the reply."""
    body = {name: value for name, value in request.body.items() if name != "max_completion_tokens"}
    return json.dumps(body, sort_keys=True)


def repeated(folder: Path, keepers: int, window: int, *commands: Sequence[str]) -> tuple[list[list[str]], int]:
    """The prompts that each of some commands sends, and how many requests of all are sent twice."""
    (folder / "book.md").write_text(island(keepers).text, "utf-8")
    (folder / "poor.md").write_text(summary_of(*range(1, 9), wrong={3: "Jim"}), "utf-8")
    sent: list[list[str]] = []
    with ChatServer(scripted_replies(Writer())) as server:
        command = LocalCommand(folder, server.base_url)
        for arguments in commands:
            before = len(server.seen)
            command.run(*arguments, "--context-tokens", str(window), code={0, 3})
            sent.append([read_sheet(request).prompt for request in server.seen[before:]])
        return sent, len(server.seen) - len(set(map(asked, server.seen)))


@pytest.mark.slow
@pytest.mark.parametrize(("keepers", "window"), [(12, 16_000), (300, 8_000)], ids=["short", "long"])
@pytest.mark.parametrize("judges", [WRITES, JUDGES, OTHER], ids=["writer", "judge", "beside a writer"])
def test_a_refinement_repeats_nothing_of_an_evaluation(
    tmp_path: Path, keepers: int, window: int, judges: tuple[str, ...]
) -> None:
    sent, twice = repeated(tmp_path, keepers, window, (*EVALUATE, *judges), (*REFINE, *WRITES))

    assert twice == 0
    assert "ask_document" in sent[0]
    # The draft that was judged is not judged again: what is asked is about its revision.
    assert "revise" in sent[1]
    assert "ask_document" not in sent[1]


@pytest.mark.slow
@pytest.mark.parametrize("judges", [WRITES, JUDGES], ids=["writer", "judge"])
def test_questions_belong_to_the_document(tmp_path: Path, judges: tuple[str, ...]) -> None:
    commands = [(*PACK, *judges), (*DRAFT, *WRITES), (*EVALUATE, *judges), (*EVALUATE, *OTHER)]
    sent, twice = repeated(tmp_path, 300, 8_000, *commands)

    assert twice == 0
    assert [prompts.count("ask_document") for prompts in sent[1:]] == [0, 0, 0]
    assert sent[-1] == []


def tokens(plan: Any) -> int:
    return int(plan["prompt_tokens"] + plan["completion_tokens"])


@pytest.mark.slow
def test_dry_run_counts_stored_answers_as_free(tmp_path: Path) -> None:
    (tmp_path / "book.md").write_text(island(300).text, "utf-8")
    (tmp_path / "poor.md").write_text(summary_of(*range(1, 9)), "utf-8")
    (tmp_path / "other.md").write_text(summary_of(*range(1, 7), 20, 21), "utf-8")
    arguments = ("evaluate", "book.md", "other.md", *WRITES)
    with ChatServer(scripted_replies(Obedient())) as server:
        command = LocalCommand(tmp_path, server.base_url)
        before = plan(command, *arguments)
        assert command.run(*EVALUATE, *WRITES).code == 0

        known, refined = plan(command, *EVALUATE, *WRITES), plan(command, *REFINE, *WRITES)
        after, sent = plan(command, *arguments), len(server.seen)
        run = command.run(*arguments, "--json").json

    assert (known["calls"], tokens(known)) == (0, 0)
    assert "asking about the document" not in {stage["name"] for stage in refined["stages"]}
    # Beside what this server counts, the schemas are sent.
    schemas = sum(server.count(json.dumps(request.body["response_format"])) for request in server.seen[sent:])
    used = run["usage"]["prompt_tokens"] + run["usage"]["completion_tokens"] + schemas
    assert abs(tokens(after) - used) <= used / 5
    assert tokens(after) < tokens(before) / 3
