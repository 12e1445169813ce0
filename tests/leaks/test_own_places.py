"""A database that somebody else wrote: servers, keys and files that it names are used only if they are the user's."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from redraft import DraftConfig, Limits, Session, resume_batch
from redraft.errors import UsageError
from redraft.runs.session import runner_of
from tests.chatserver import ChatServer
from tests.cli.local_command import LocalCommand

USUAL, OTHER = "sk-usual-0123456789", "sk-other-0123456789"
SENTENCE = "The keeper kept the light."


@dataclass(frozen=True)
class Scene:
    """A folder with a run that has stopped, the user's own server, and another one."""

    command: LocalCommand
    server: ChatServer
    stranger: ChatServer
    run: str

    def edit(self, name: str, changes: Mapping[str, Any], table: str = "runs") -> None:
        """Change what the database says, as a stranger could; STRANGER stands for the other server's address."""
        values = {"order": {name: changes}} if table == "runs" else {name: changes}
        text = json.dumps(values).replace("STRANGER", self.stranger.base_url)
        with closing(sqlite3.connect(self.command.database)) as database:
            database.execute(f"UPDATE {table} SET body = json_patch(body, ?)", (text,))
            database.commit()

    def change(self, statement: str, value: str) -> None:
        with closing(sqlite3.connect(self.command.database)) as database:
            database.execute(statement, (value,))
            database.commit()

    def refused(self, *arguments: str) -> str:
        """Run a command that has to be refused, and return its message."""
        self.forget()
        done = self.command.run(*(arguments or ("resume", self.run, "--max-calls", "100")))
        assert done.code == 2, done.err
        assert "which only its database names" in done.err, done.err
        assert (self.stranger.seen, self.stranger.looked) == ([], [])
        assert self.server.seen == []
        return done.err

    def resumed(self, *arguments: str) -> None:
        self.forget()
        done = self.command.run("resume", self.run, "--max-calls", "100", *arguments)
        assert done.code == 0, done.err

    def forget(self) -> None:
        for server in (self.server, self.stranger):
            server.seen.clear()
            server.looked.clear()


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    sentences = [f"In the year {year} the keeper kept the light through the storm." for year in range(1800, 1960)]
    (tmp_path / "book.md").write_text(" ".join(sentences), "utf-8")
    (tmp_path / "summary.md").write_text(SENTENCE, "utf-8")
    with ChatServer(lambda _: SENTENCE) as server, ChatServer(lambda _: SENTENCE) as stranger:
        config = str(tmp_path / "home" / "config")
        command = LocalCommand(tmp_path, server.base_url, XDG_CONFIG_HOME=config, OTHER_SECRET_KEY=OTHER)
        command.environment["OPENAI_API_KEY"] = USUAL
        draft = ("summarize", "book.md", "-m", "openai:m", "-w", "60", "--chunk-tokens", "400")
        done = command.run(*draft, "--strategy", "hierarchical", "--max-calls", "1")
        assert done.code == 3, done.err
        run = command.run("runs", "--json").json["runs"][0]["run"]
        yield Scene(command, server, stranger, run)


@pytest.mark.slow
def test_stored_addresses_must_be_given_again(scene: Scene) -> None:
    scene.edit("settings", {"base_url": "STRANGER"})
    refusal = scene.refused()
    assert f"openai:m at {scene.stranger.base_url}" in refusal
    assert f"--base-url {scene.stranger.base_url}" in refusal
    assert scene.command.run("show", scene.run, "--json").json["status"] == "stopped", "the run is as it was"
    scene.resumed("--base-url", f"{scene.stranger.base_url}/")
    assert {request.authorization for request in scene.stranger.seen} == {f"Bearer {USUAL}"}


@pytest.mark.slow
@pytest.mark.parametrize("way", ["OPENAI_BASE_URL", "REDRAFT_BASE_URL", "configuration"])
def test_configured_addresses_are_trusted(scene: Scene, way: str) -> None:
    scene.edit("settings", {"base_url": "STRANGER"})
    if way == "configuration":
        configuration = Path(scene.command.environment["XDG_CONFIG_HOME"], "redraft", "redraft.toml")
        configuration.parent.mkdir(parents=True)
        configuration.write_text(f'base-url = "{scene.stranger.base_url}"\n', "utf-8")
    else:
        scene.command.environment[way] = scene.stranger.base_url
    scene.resumed()
    assert scene.stranger.seen


@pytest.mark.slow
def test_found_files_trust_no_address(scene: Scene) -> None:
    scene.edit("settings", {"base_url": "STRANGER"})
    (scene.command.folder / "redraft.toml").write_text(f'base-url = "{scene.stranger.base_url}"\n', "utf-8")
    done = scene.command.run("resume", scene.run)
    assert (done.code, scene.stranger.seen) == (2, [])


@pytest.mark.slow
def test_stored_variables_must_be_named_again(scene: Scene) -> None:
    """Even the user's own server does not get a secret that the database has chosen."""
    scene.edit("settings", {"key_env": "OTHER_SECRET_KEY"})
    assert "--set key_env=OTHER_SECRET_KEY" in scene.refused()
    scene.resumed("--set", "key_env=OTHER_SECRET_KEY")
    assert {request.authorization for request in scene.server.seen} == {f"Bearer {OTHER}"}


@pytest.mark.slow
def test_tables_trust_their_address_and_key(scene: Scene) -> None:
    table = (
        f'[models.other]\nmodel = "openai:m"\nbase_url = "{scene.stranger.base_url}"\nkey_env = "OTHER_SECRET_KEY"\n'
    )
    (scene.command.folder / "own.toml").write_text(table, "utf-8")
    resume = ("--config", "own.toml", "resume", scene.run, "--max-calls", "100")
    scene.edit("settings", {"base_url": "STRANGER"})
    scene.refused(*resume)
    scene.edit("settings", {"key_env": "OTHER_SECRET_KEY"})
    assert scene.command.run(*resume).code == 0
    assert {request.authorization for request in scene.stranger.seen} == {f"Bearer {OTHER}"}


JUDGES = {
    "address": {"base_url": "STRANGER", "judges": ["openai:j"]},
    "table": {"judges": ["j"], "models": {"j": {"model": "openai:j", "base_url": "STRANGER"}}},
    "key": {"judges": ["j"], "models": {"j": {"model": "openai:j", "key_env": "OTHER_SECRET_KEY"}}},
    "validator": {"validator": "j", "models": {"j": {"model": "openai:j", "base_url": "STRANGER"}}},
    "provider": {"judges": ["j"], "models": {"j": {"model": "ollama:j", "base_url": "STRANGER"}}},
    "entailment model": {"judges": ["nli:./theirs"]},
    "embeddings": {"embeddings": "./theirs"},
    "prompts": {"judges": ["j"], "models": {"j": {"model": "openai:j", "prompts": "/theirs"}}},
}


@pytest.fixture
def judged(scene: Scene) -> Scene:
    evaluate = ("evaluate", "book.md", "summary.md", "--metric", "coverage", "-m", "openai:m", "--max-calls", "1")
    scene.command.run(*evaluate)
    run = scene.command.run("runs", "--json").json["runs"][0]["run"]
    return Scene(scene.command, scene.server, scene.stranger, run)


@pytest.mark.slow
@pytest.mark.parametrize("name", list(JUDGES))
def test_stored_judges_obey_the_same_rule(judged: Scene, name: str) -> None:
    judged.edit("judging", JUDGES[name])
    judged.refused("resume", judged.run, "--max-calls", "100")


@pytest.mark.slow
def test_stored_prompt_folders_are_not_read(scene: Scene) -> None:
    theirs = scene.command.folder / "theirs"
    assert scene.command.run("prompts", "export", str(theirs)).code == 0
    scene.edit("settings", {"prompts": str(theirs)})
    assert f"--prompts {theirs}" in scene.refused()
    scene.resumed("--prompts", "theirs")


@pytest.mark.slow
def test_forks_and_batches_obey_the_rule(scene: Scene) -> None:
    scene.resumed()
    scene.edit("settings", {"base_url": "STRANGER"})
    fork = ("fork", scene.run, "--round", "0", "-g", "coverage=0.9", "--rounds", "1")
    scene.refused(*fork)
    scene.refused(*fork, "-w", "80")
    assert scene.command.run(*fork, "-m", "openai:m", "--judge", "extractive").code in (0, 3)
    assert scene.stranger.seen == []

    batch = ("batch", "run", "book.md", "-m", "openai:m", "-w", "60", "--name", "mine", "--workers", "1")
    scene.command.run(*batch, "--chunk-tokens", "300", "--max-calls", "1")
    scene.edit("asked", {"settings": {"base_url": "STRANGER"}}, "batches")
    assert "batch mine" in scene.refused("batch", "resume", "mine", "--max-calls", "100")


async def test_sessions_name_the_own_address(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY", "NO_PROXY"):
        monkeypatch.setenv(name, scene.command.environment[name])
    scene.command.run("batch", "run", "book.md", "-m", "openai:m", "-w", "60", "--name", "mine", "--max-calls", "1")
    scene.edit("asked", {"settings": {"base_url": "STRANGER"}}, "batches")
    scene.edit("settings", {"base_url": "STRANGER"})
    async with Session(scene.command.database) as session:
        with pytest.raises(UsageError, match="only its database names"):
            await resume_batch(session, "mine")
        with pytest.raises(UsageError, match="only its database names") as caught:
            await session.resume(scene.run)
        with pytest.raises(UsageError, match="only its database names"):
            async with runner_of(session).at_work(scene.run, visits=True):
                pass
    assert scene.stranger.seen == []
    settings = DraftConfig(base_url=scene.stranger.base_url)
    assert f"settings=DraftConfig(base_url={settings.base_url!r})" in caught.value.hint
    async with Session(scene.command.database, settings=settings) as session:
        await session.resume(scene.run, limits=Limits(max_calls=100))
    assert scene.stranger.seen


@pytest.mark.slow
def test_stored_output_files_are_not_written(scene: Scene) -> None:
    place = scene.command.folder / "theirs.md"
    scene.change("UPDATE runs SET body = json_set(body, '$.output', ?)", str(place))
    done = scene.command.run("resume", scene.run, "--max-calls", "100")
    assert done.code == 0, done.err
    assert SENTENCE in done.out
    assert not place.exists()
    assert scene.command.run("resume", scene.run, "-o", str(place)).code == 0
    assert place.exists()


def test_resume_hints_name_what_is_needed(scene: Scene) -> None:
    places = ("--base-url", scene.stranger.base_url, "--set", "key_env=OTHER_SECRET_KEY", "-o", "out.md")
    draft = ("summarize", "book.md", "-m", "openai:m", "-w", "70", "--chunk-tokens", "400", "--max-calls", "1")
    done = scene.command.run(*draft, "--strategy", "hierarchical", *places)
    hint = next(line for line in done.err.splitlines() if "redraft resume" in line)
    words = f"--output out.md --base-url {scene.stranger.base_url} --set key_env=OTHER_SECRET_KEY"
    assert words in hint
    command = hint[hint.index("redraft resume") :].split()[1:]
    assert scene.command.run(*command).code in (0, 3)
    assert (scene.command.folder / "out.md").exists()
