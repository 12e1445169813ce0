"""The models of a settings file: what one may say, and what is said of one that says something else."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.chatserver import ChatServer
from tests.cli.inside import Inside
from tests.support import SAMPLE

FULL = """
[models.strong]
model = "openai:w"
base_url = "URL"
key_env = "STRONG_KEY"
context_tokens = 4096
temperature = 0.7
top_p = 0.9
max_tokens = 300
reasoning_tokens = 50
prompts = "simple"
replies = "plain"
price = { prompt = 1.0, completion = 2 }
"""


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ('[models.a]\nmodel = "openai:w"\ntemprature = 1', r"redraft.toml \[models.a\]: unknown field temprature"),
        ('[models.a]\nmodel = "openai:w"\ntemperature = 3', r"\[models.a\]: temperature: must be at most 2"),
        ('[models.a]\nmodel = "openai:w"\ntop_p = 0', r"\[models.a\]: top_p: must be more than 0"),
        (
            '[models.a]\nmodel = "openai:w"\ncontext_tokens = "8k"',
            r"\[models.a\]: context_tokens: must be a whole number",
        ),
        ('[models.a]\nmodel = "openai:w"\nreplies = "yaml"', r"\[models.a\]: replies: must be 'schema'"),
        ('[models.a]\nmodel = "openai:w"\nprice = { prompt = 1 }', r"\[models.a\]: price.completion: is missing"),
        ('[models.a]\nmodel = "openai:w"\nprice = { prompt = nan, completion = 1 }', r"\[models.a\]: price.prompt: "),
        ('[models.a]\nmodel = "openai:w"\nkey_env = ""', r"\[models.a\]: key_env is empty"),
        ("[models.a]\ntemperature = 1", r"\[models.a\]: model is missing"),
        ('[models.a]\nmodel = "extractive"', r"\[models.a\]: model: the built-in model has no settings"),
        ('[models."openai:x"]\nmodel = "openai:w"', "a model cannot be named 'openai:x'"),
        ('[models.extractive]\nmodel = "openai:w"', "a model cannot be named 'extractive'"),
        ('models = "openai:w"', "`models` is not a table"),
        ('[models]\nmodel = "openai:w"', "`model` under `models` is not a table"),
    ],
)
def test_what_makes_no_sense_is_said_with_its_place(tmp_path: Path, lines: str, words: str) -> None:
    (tmp_path / "redraft.toml").write_text(lines, "utf-8")
    done = Inside(tmp_path).run("runs", "--json")
    assert done.code == 2
    error = done.json["error"]
    assert re.search(words, error["message"]), error


def test_a_price_that_makes_no_sense_is_answered_with_a_whole_one(tmp_path: Path) -> None:
    (tmp_path / "redraft.toml").write_text('[models.a]\nmodel = "openai:w"\nprice = 3', "utf-8")
    hint = Inside(tmp_path).run("runs", "--json").json["error"]["hint"]
    assert hint.startswith("write price = { prompt = 0.25, completion = 2.0 }")


@pytest.mark.slow
def test_all_of_a_table_is_used_and_an_option_goes_before_it(tmp_path: Path) -> None:
    (tmp_path / "book.md").write_text("The keeper kept the light. " * 40, "utf-8")
    with ChatServer(lambda _: "The keeper kept the light.") as server:
        (tmp_path / "redraft.toml").write_text(FULL.replace("URL", server.base_url), "utf-8")
        command = Inside(tmp_path, STRONG_KEY="sk-strong-0123", REDRAFT_CONFIG="redraft.toml", REDRAFT_TEMPERATURE="")
        run = ("summarize", "book.md", "--writer", "strong", "-w", "60", "--json")
        done = command.run(*run)
        assert done.code == 0, done.err
        body = server.seen[0].body
        assert (body["model"], body["temperature"], body["top_p"]) == ("w", 0.7, 0.9)
        assert body["max_completion_tokens"] <= 350
        settings = command.run("show", done.json["run"], "--json").json["settings"]
        assert (settings["context_tokens"], settings["prompts"], settings["replies"]) == (4096, "simple", "plain")
        assert done.json["usage"]["cost_usd"] > 0
        command.run(*run, "--temperature", "0.2", "--max-cost", "1")
        assert server.seen[-1].body["temperature"] == 0.2
        planned = command.run(*run, "--dry-run").json
        assert planned["reasoning_tokens"] == 50 * planned["calls"]


@pytest.mark.slow
def test_judges_have_their_own_temperature_and_prompts(tmp_path: Path) -> None:
    (tmp_path / "book.md").write_text("The keeper kept the light. " * 40, "utf-8")
    (tmp_path / "summary.md").write_text("The keeper kept the light.", "utf-8")
    with ChatServer(lambda _: "nothing to say") as server:
        lines = ["[models.near]", 'model = "openai:j"', f'base_url = "{server.base_url}"', 'prompts = "simple"']
        (tmp_path / "redraft.toml").write_text("\n".join(lines), "utf-8")
        command = Inside(tmp_path, server.base_url, REDRAFT_CONFIG="redraft.toml", REDRAFT_MODEL="openai:w")
        run = ("evaluate", "book.md", "summary.md", "--metric", "coverage", "--temperature", "1.5")
        command.run(*run)
        assert {seen.body["temperature"] for seen in server.seen} == {0.0}
        standard = server.seen[0].messages[0]["content"]
        server.seen.clear()
        done = command.run(*run, "--judge", "near")
        assert {seen.body["temperature"] for seen in server.seen} == {0.0}
        assert server.seen[0].messages[0]["content"] != standard
        assert "judged by near (openai:j)" in done.err or done.code == 1


def test_the_example_of_the_documentation_means_what_it_says(tmp_path: Path) -> None:
    page = (SAMPLE.parent.parent / "docs" / "models.md").read_text("utf-8")
    found = re.search(r"^```toml\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert found
    (tmp_path / "redraft.toml").write_text(found[1], "utf-8")
    done = Inside(tmp_path, REDRAFT_CONFIG="redraft.toml").run("summarize", str(SAMPLE), "--refine", "--dry-run")
    assert done.code == 0, done.err
    assert re.search(r"^model +openai:gpt-5, window 272,000 tokens", done.out, re.MULTILINE)
    assert re.search(r"^judges +near \(openai:qwen3\), window [\d,]+ tokens$", done.out, re.MULTILINE)
    assert "is not known" not in done.err
