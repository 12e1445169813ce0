"""What the command and the exported pages say of the places where a newcomer stops."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.chatserver import ChatRequest, ChatServer
from tests.cli.local_command import MODEL, LocalCommand
from tests.judges import Json, island, summary_of

STOP: Json = {"words": "keeper number 1", "question": "What does Tom1 keep?", "type": "entity omission"}
OTHER: Json = {"words": "Tom3", "question": "Why is Tom3 brought up?", "type": "salience"}


@pytest.fixture
def stops() -> list[Json]:
    """Where the newcomer stops."""
    return [STOP]


@pytest.fixture
def inside(tmp_path: Path, stops: list[Json]) -> Iterator[LocalCommand]:
    (tmp_path / "book.md").write_text(island().text, "utf-8")
    (tmp_path / "summary.md").write_text(summary_of(1, 3), "utf-8")

    def reply(_: ChatRequest) -> Json:
        return {"stops": stops}

    with ChatServer(reply) as server:
        yield LocalCommand(tmp_path, server.base_url, REDRAFT_MODEL=MODEL, COLUMNS="100")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("stops", "count"), [([], "nothing stops a newcomer"), ([STOP], "1 stop"), ([STOP, OTHER], "2 stops")]
)
def test_stops_are_shown_with_question_and_words(inside: LocalCommand, stops: list[Json], count: str) -> None:
    shown = inside.run("evaluate", "book.md", "summary.md", "--metric", "newcomer", code=0).out
    assert f"- newcomer: {count}\n" in shown
    for stop in stops:
        assert f"newcomer, {stop['type']}: {stop['question']}\n     - summary says: {stop['words']}\n" in shown
    assert f"newcomer: {count}\n" in inside.run("trace", "last").out
    text = inside.run("export", "last", "--format", "markdown").out
    assert f"newcomer: {count}\n" in text
    page = inside.run("export", "last", "--format", "html").out
    assert f"Newcomer: {count}" in page
    assert f'<p class="figure">{len(stops)} <small>{"stop" if len(stops) == 1 else "stops"}</small></p>' in page
    assert "was not judged" not in page
    assert all(stop["question"] in text and stop["question"] in page and stop["words"] in page for stop in stops)


def test_built_in_model_declines_and_run_completes(inside: LocalCommand) -> None:
    done = inside.run("evaluate", "book.md", "summary.md", "--metric", "newcomer", "-m", "extractive", code=0)
    assert done.out.startswith("- newcomer not applicable: the built-in judge cannot tell where a newcomer stops")
