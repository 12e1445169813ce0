"""The commands as processes: what they print, where, and with which exit code."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from redraft.text.words import count_words
from tests.chatserver import ChatServer
from tests.cli.local_command import LocalCommand
from tests.command import Command, seconds_of
from tests.support import SAMPLE, story

RESULT_KEYS = {
    "run", "source", "strategy", "model", "summary", "words", "rounds", "stop_reason", "scores", "initial_scores",
    "goals", "offline_check", "unjudged", "missing", "withdrawn", "usage",
}  # fmt: skip
USAGE_KEYS = {
    "calls", "lost", "lost_tokens", "lost_usd", "over_usd", "cached", "prompt_tokens", "cached_prompt_tokens",
    "completion_tokens", "cost_usd", "seconds",
}  # fmt: skip


@pytest.fixture
def command(tmp_path: Path) -> Command:
    (tmp_path / "book.md").write_text(story(120).text, "utf-8")
    return LocalCommand(tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("strategy", ["hierarchical", "incremental", "direct"])
def test_sample_is_summarized_without_key_or_network(command: Command, strategy: str) -> None:
    # One in a process of its own, as anybody has it.
    own = Command(command.folder) if strategy == "hierarchical" else command
    done = own.run(
        "summarize", str(SAMPLE), "--strategy", strategy, "--context-tokens", "40000", "--words", "200", code=0
    )
    assert 120 <= count_words(done.out) <= 200
    assert "Hester" in done.out
    assert "\nNo language model was used. See `redraft models`.\n" in done.err


def test_json_of_a_summary_keeps_the_contract(command: Command) -> None:
    done = command.run("summarize", "book.md", "--words", "80", "--json")

    result = done.json
    assert set(result) >= RESULT_KEYS
    assert set(result["source"]) == {"id", "title", "language", "tokens", "chunks", "notes"}
    assert set(result["usage"]) == USAGE_KEYS
    assert result["model"] == "extractive"
    assert result["source"]["title"] == "The Keeper"
    shown = command.run("show", result["run"], "--json")
    assert shown.json == result
    assert command.run("resume", result["run"], "--json").json == result
    quiet = command.run("summarize", "book.md", "--words", "80", "--quiet")
    assert (quiet.out, quiet.err) == (f"{result['summary']}\n", "")
    assert command.run("show", result["run"]).out == quiet.out


def test_stdin_and_an_output_file(command: Command, tmp_path: Path) -> None:
    text = (tmp_path / "book.md").read_bytes()
    assert command.run("summarize", "-", "--words", "60", "-o", "out/summary.md", stdin=text).code == 2
    (tmp_path / "out").mkdir()
    assert command.run("summarize", "-", "--words", "60", "-o", "out", stdin=text).code == 2
    assert not command.database.exists()
    done = command.run("summarize", "-", "--words", "60", "-o", "out/summary.md", stdin=text, code=0)
    assert done.out == ""
    assert "Sentence number" in (tmp_path / "out" / "summary.md").read_text()
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["summary.md"]


@pytest.mark.parametrize(
    "content",
    [
        "wrods = 5",
        "[summarize]\nx = 1",
        "words = ",
        "words = [1]",
        "strategy = true",
        'goal = [["coverage=0.8"]]',
        "review = 1",
        "[pack]\nwrods = 1",
    ],
)
def test_mistake_in_the_settings_file(command: Command, tmp_path: Path, content: str) -> None:
    (tmp_path / "redraft.toml").write_text(content)
    done = command.run("summarize", "book.md", code=2)
    assert "Traceback" not in done.err
    assert ("did you mean `words`?" in done.err) == ("wrods" in content)


def test_the_users_own_file_comes_before_a_found_one(command: Command, tmp_path: Path) -> None:
    own = tmp_path / "config" / "redraft" / "redraft.toml"
    own.parent.mkdir(parents=True)
    own.write_text("words = 50\n")
    (tmp_path / "redraft.toml").write_text("words = 60\nchunk-tokens = 500\n")
    command.environment["XDG_CONFIG_HOME"] = str(own.parents[1])
    done = command.run("summarize", "book.md", "--dry-run")
    assert f"words: {own} comes before {tmp_path / 'redraft.toml'}" in done.err
    assert "sets chunk-tokens=500" in done.err
    (tmp_path / "summary.md").write_text("The keeper kept the light. " * 20)
    refined = command.run("refine", "book.md", "summary.md", "-g", "coverage=0.99")
    assert "shortening the draft to 50 words" not in refined.err, "a given summary keeps its length"


@pytest.mark.slow
def test_prompts_are_listed_shown_exported_and_overridden(command: Command, tmp_path: Path) -> None:
    listed = command.run("prompts", "list", "--json").json["prompts"]
    assert {"summarize_chunk", "merge", "merge_onward", "begin", "update", "compress", "tidy"} <= {
        prompt["name"] for prompt in listed
    }
    assert "{{ words }}" in command.run("prompts", "show", "merge").out
    assert (
        command.run("prompts", "show", "merge", "--prompts", "simple").out
        != command.run("prompts", "show", "merge").out
    )
    assert command.run("prompts", "export", "mine").code == 0
    assert command.run("prompts", "export", "mine").code == 2
    assert command.run("prompts", "export", "mine", "--force").code == 0

    merge = tmp_path / "mine" / "merge.md"
    merge.write_text(merge.read_text() + "\nPlease.")
    own = {p["name"]: p["hash"] for p in command.run("prompts", "list", "--prompts", "mine", "--json").json["prompts"]}
    standard = {p["name"]: p["hash"] for p in listed}
    assert {name for name in own if own[name] != standard[name]} == {"merge"}

    merge.write_text("{{ summaries }} {{ wrods }}")
    done = command.run("summarize", "book.md", "--prompts", "mine", code=1)
    assert str(merge) in done.err
    assert "does not use characters, kind, language, outline, query, words and uses unknown wrods" in done.err


@pytest.mark.slow
@pytest.mark.parametrize("stop", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.nightly)])
def test_stop_is_clean_and_names_the_resume(command: Command, stop: signal.Signals) -> None:
    with ChatServer(latency=lambda prompt, completion, index: 0.5 if index < 16 else 0.0) as server:
        served = LocalCommand(command.folder, server.base_url)
        process = served.start("summarize", "book.md", "--model", "openai:gpt-4o-mini", "--chunk-tokens", "100")
        while not server.seen:
            assert process.poll() is None
        process.send_signal(stop)
        out, err = process.communicate(timeout=20)
        run = served.run("runs", "--json").json["runs"][0]

        assert process.returncode == 130
        assert out == ""
        assert f"Resume: redraft resume {run['run']}" in err
        assert "Traceback" not in err
        assert run["status"] == "interrupted"
        assert served.run("resume", run["run"]).code == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "unused"),
    [
        (["--help"], "langgraph|openai|pydantic|sqlite_utils|tiktoken|numpy|rich|sklearn"),
        (["summarize", "book.txt", "-q"], r"redraft\.(lab|studio|report\.dossier|runs\.(dry_run|forms)).*"),
        (["runs"], r"psycopg|psycopg_pool|redraft\.store\.postgres|langgraph"),
    ],
    ids=["help", "summarize", "runs"],
)
def test_command_imports_nothing_unused(tmp_path: Path, words: list[str], unused: str) -> None:
    (tmp_path / "book.txt").write_text("The keeper lit the lamp at dusk. Storms came in March. " * 40, "utf-8")
    program = (
        "import re, sys\n"
        "from redraft.cli.main import main\n"
        f"try:\n    main({words!r})\nexcept SystemExit as end:\n    assert end.code == 0\n"
        f"unused = [name for name in sys.modules if re.fullmatch({unused!r}, name)]\n"
        "assert not unused, unused\n"
    )
    environment = {**os.environ, "REDRAFT_DB": str(tmp_path / "redraft.db")}
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("in_the_way", [b"this is no database" * 99, None])
def test_unusable_checkpoints_are_an_error(command: Command, in_the_way: bytes | None) -> None:
    path = command.folder / "redraft.checkpoints.db"
    if in_the_way is None:
        path.mkdir()
    else:
        path.write_bytes(in_the_way)
    done = command.run("summarize", "book.md", "--words", "60", "--json", code=1)
    assert done.json["error"]["code"] == "store"
    assert "redraft.checkpoints.db" in done.json["error"]["message"]
    assert "--db" in done.json["error"]["hint"]
    assert command.run("runs", "--json").json["runs"][0]["status"] == "failed"


@pytest.mark.parametrize(
    "text", ["The patient Mary Quill has a cancer", "Mary Quill is ill. Nobody knows it", "# Quill\n"]
)
def test_text_for_a_path_is_not_repeated(command: Command, text: str) -> None:
    done = command.run("summarize", text, code=2, err="give the path of a file, or - to read the text from stdin")
    assert done.err.startswith("reading a text\n")
    assert f"a text of {len(text)} characters was given where a path was expected" in done.err
    assert "Quill" not in done.err + done.out


# How much longer than importing the libraries that every command needs: 1.3 to 1.9 on a quiet machine.
MOST_OF_LIBRARIES = 2.2
LIBRARIES = "import click, jinja2, pydantic, sqlite_utils"
WORKERS = ("langgraph", "openai", "langchain_core", "langchain_openai", "sklearn", "scipy", "tiktoken")
PROGRAM = f"""
import sys
from redraft.cli.main import main
try:
    main(sys.argv[1:])
except SystemExit as end:
    assert end.code == 0, end.code
found = [name for name in {WORKERS!r} if name in sys.modules]
assert not found, found
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [
        "runs",
        "runs --json --kind refine",
        "show RUN",
        "show RUN --pieces --json",
        "trace RUN",
        "trace RUN --all",
        "diff RUN",
        "pack list",
        "pack export book.md",
        "prompts list",
        "prompts show merge",
    ],
)
def test_a_reading_command_takes_no_time(refined_run: tuple[LocalCommand, str], arguments: str) -> None:
    command, run = refined_run
    words = arguments.replace("RUN", run).split()

    # Side by side, so that a slow or a busy machine slows both down.
    assert any(
        seconds_of(command, PROGRAM, *words) < MOST_OF_LIBRARIES * seconds_of(command, LIBRARIES) for _ in range(3)
    )
