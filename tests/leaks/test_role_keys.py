"""Each role's key goes to its own server and to no other, whoever else works on the run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from redraft import DraftConfig, ModelSettings, Session, Store
from tests.chatserver import ChatServer
from tests.cli.inside import Inside
from tests.command import Done

USUAL, STRONG, LOCAL = "sk-usual-0123456789", "sk-strong-0123456789", "sk-local-0123456789"
SAID = "The keeper kept the light."
TEXT = f"{SAID} " * 40


@dataclass(frozen=True)
class Two:
    """A writer's server and a judge's, and a directory to call them from."""

    command: Inside
    writer: ChatServer
    judge: ChatServer

    def run(self, *arguments: str) -> Done:
        return self.command.run("evaluate", "book.md", "summary.md", "--metric", "coverage", *arguments)

    def says(self, *lines: str) -> None:
        content = "\n".join(lines).replace("WRITER", self.writer.base_url).replace("JUDGE", self.judge.base_url)
        (self.command.folder / "redraft.toml").write_text(content, "utf-8")
        self.command.environment["REDRAFT_CONFIG"] = "redraft.toml"


def keys_at(server: ChatServer) -> set[str]:
    """The keys that a server has been shown, in requests of any kind."""
    shown = [*(seen.authorization for seen in server.seen), *(key for _, key in server.looked)]
    return {key.removeprefix("Bearer ") for key in shown}


@pytest.fixture
def two(tmp_path: Path) -> Iterator[Two]:
    (tmp_path / "book.md").write_text(TEXT, "utf-8")
    (tmp_path / "summary.md").write_text("The keeper kept the light.", "utf-8")
    keys = {"OPENAI_API_KEY": USUAL, "STRONG_KEY": STRONG, "LOCAL_KEY": LOCAL}
    with ChatServer(lambda _: SAID) as writer, ChatServer(lambda _: "nothing to say") as judge:
        yield Two(Inside(tmp_path, **keys), writer, judge)


def test_the_writers_key_does_not_go_to_the_judges_server(two: Two) -> None:
    two.command.run("summarize", "book.md", "-m", "openai:w", "-w", "60", "--base-url", two.writer.base_url)
    there = ("--base-url", two.writer.base_url, "--judge-base-url", two.judge.base_url)
    two.run("-m", "openai:w", "--judge", "openai:j", *there)
    assert two.judge.seen
    assert keys_at(two.writer) == {USUAL}
    assert keys_at(two.judge) == {"none"}


@pytest.mark.slow
def test_each_table_has_a_key_of_its_own(two: Two) -> None:
    two.says(
        "[models.strong]",
        'model = "openai:w"',
        'base_url = "WRITER"',
        'key_env = "STRONG_KEY"',
        "[models.near]",
        'model = "openai:j"',
        'base_url = "JUDGE"',
        'key_env = "LOCAL_KEY"',
    )
    assert two.command.run("summarize", "book.md", "--writer", "strong", "-w", "60").code in (0, 3)
    two.run("-m", "strong", "--judge", "near")
    assert two.judge.seen
    assert keys_at(two.writer) == {STRONG}
    assert keys_at(two.judge) == {LOCAL}
    # An address that is typed takes the place of the table's, and the table's key stays where it was.
    with ChatServer(lambda _: SAID) as other:
        two.command.run("summarize", "book.md", "-m", "strong", "-w", "60", "--base-url", other.base_url)
        assert other.seen
        assert keys_at(other) == {USUAL}


async def test_so_it_is_from_python(two: Two, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STRONG_KEY", STRONG)
    monkeypatch.setenv("LOCAL_KEY", LOCAL)
    writer = ModelSettings(model="openai:w", base_url=two.writer.base_url, key_env="STRONG_KEY", temperature=0.9)
    judge = ModelSettings(model="openai:j", base_url=two.judge.base_url, key_env="LOCAL_KEY", top_p=0.5)
    (tmp_path / "long.md").write_text(TEXT, "utf-8")
    async with Session(Store(tmp_path / "own.db"), model=writer, judges=[judge]) as session:
        await session.summarize(tmp_path / "long.md", settings=DraftConfig(words=60), metrics=("coverage",))
        session.store.close()
    assert (keys_at(two.writer), keys_at(two.judge)) == ({STRONG}, {LOCAL})
    assert {seen.body["temperature"] for seen in two.writer.seen} == {0.9}
    assert {(seen.body["temperature"], seen.body["top_p"]) for seen in two.judge.seen} == {(0.0, 0.5)}
    assert all("top_p" not in seen.body for seen in two.writer.seen)


def test_where_several_could_have_it_it_goes_where_it_is_known_to_belong(two: Two) -> None:
    two.command.environment["OPENAI_BASE_URL"] = two.judge.base_url
    places = ("--base-url", two.writer.base_url, "--judge", "openai:j", "--judge-base-url", two.judge.base_url)
    two.command.run("summarize", "book.md", "-m", "openai:w", "-w", "60", "--refine", *places)
    assert two.writer.seen
    assert keys_at(two.judge) == {USUAL}
    assert keys_at(two.writer) == {"none"}


@pytest.mark.parametrize("role", ["--judge", "-m", "--validator", "--decider"])
def test_the_tables_of_a_found_file_need_the_users_word(two: Two, tmp_path: Path, role: str) -> None:
    home = {"HOME": str(tmp_path / "home"), "XDG_CONFIG_HOME": str(tmp_path / "home" / "config")}
    two.command.environment |= home
    two.says("[models.kind]", 'model = "openai:j"', 'base_url = "JUDGE"')
    del two.command.environment["REDRAFT_CONFIG"]
    run = ("summarize", "book.md", "-w", "60", "--refine", role, "kind", "--policy", "agent")
    run = run if role == "-m" else (*run, "-m", "extractive")
    done = two.command.run(*run)
    assert (done.code, "is not trusted yet" in done.err) == (2, True), done.err
    assert "[models.kind] base_url" in done.err
    assert (two.judge.seen, two.judge.looked) == ([], [])
    # A key that the user has set for just that is the word; the usual one does not go there.
    two.says("[models.kind]", 'model = "openai:j"', 'base_url = "JUDGE"', 'key_env = "REDRAFT_KEY_KIND"')
    del two.command.environment["REDRAFT_CONFIG"]
    assert two.command.run(*run).code == 2
    two.command.environment["REDRAFT_KEY_KIND"] = LOCAL
    assert "is not trusted yet" not in two.command.run(*run).err
    assert keys_at(two.judge) <= {LOCAL}


def test_a_table_without_its_key_is_refused_before_anything_is_sent(two: Two) -> None:
    two.says("[models.strong]", 'model = "openai:w"', 'base_url = "WRITER"', 'key_env = "NOT_SET_KEY"')
    done = two.command.run("summarize", "book.md", "-m", "strong", "-w", "60")
    assert done.code == 2
    assert "set NOT_SET_KEY" in done.err
    assert two.writer.seen == []


def test_an_experiment_keeps_the_key_of_those_who_write_from_the_judges_server(two: Two) -> None:
    places = ("--base-url", two.writer.base_url, "--judge-base-url", two.judge.base_url)
    run = ("experiment", "hamlet", "book.md", "-m", "openai:w", "--judge", "openai:j", "--max-calls", "3", "-o", "out")
    two.command.run(*run, *places)
    assert two.judge.seen
    assert keys_at(two.judge) == {"none"}
