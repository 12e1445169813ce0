"""`redraft models` and the tables of models: who has which role, what is known of each, and who answers nearby."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from redraft.llm import addresses, budget
from redraft.llm.addresses import LocalServer
from redraft.store.store import Store
from tests.chatserver import Answer, ChatRequest, ChatServer, Fault, Reply
from tests.cli.local_command import LocalCommand

LIGHT = json.dumps({"who": "Mara", "hour": 7})


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@pytest.fixture(autouse=True)
def ports(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Nobody else's servers: those of the test are at the ports where servers are looked for."""

    def at(*usual: LocalServer) -> None:
        monkeypatch.setattr(addresses, "USUAL", usual)

    at(LocalServer("vLLM", free_port()))
    return at


def test_models_are_shown_with_their_capabilities(tmp_path: Path, ports: Callable[..., None]) -> None:
    pages = {"/v1/models": {"data": [{"id": "j", "max_model_len": 12_345}, {"id": "k"}]}}
    with ChatServer([], pages=pages) as server:
        ports(LocalServer("Ollama", server.port), LocalServer("vLLM", free_port()))
        (tmp_path / "redraft.toml").write_text(
            f'model = "openai:gpt-5-mini"\njudge = ["near", "extractive"]\n'
            f'[models.near]\nmodel = "openai:j"\nbase_url = "{server.base_url}"\n'
            "price = { prompt = 0, completion = 0 }\n"
            f'[models.spare]\nmodel = "openai:k"\nbase_url = "{server.base_url}"\ntemperature = 0.4\n',
            "utf-8",
        )
        with Store(tmp_path / "redraft.db") as store:
            store.capabilities.learn(f"openai:j@{server.base_url}", mode="tools")
            store.capabilities.learn(f"openai:j@{server.base_url}", reasoning_tokens=900)
        command = LocalCommand(tmp_path, REDRAFT_CONFIG="redraft.toml", OPENAI_API_KEY="sk-0123456789")
        done = command.run("models", code=0)
        models = {model["name"]: model for model in command.run("models", "--json").json["models"]}
    assert [(model["role"], name) for name, model in models.items()] == [
        ("writer", "openai:gpt-5-mini"),
        ("judge", "near"),
        ("judge", "extractive"),
        (None, "spare"),
    ]
    windows = [(model["context_tokens"], model["window"]) for model in models.values()]
    assert windows == [(272_000, "known"), (12_345, "known"), (None, "known"), (8192, "assumed")]
    assert (models["near"]["mode"], models["near"]["reasoning_tokens"]) == ("tools", 900)
    assert (models["openai:gpt-5-mini"]["price"]["prompt"], models["spare"]["price"]) == (0.25, None)
    for words in (
        f"judge: near (openai:j) at {server.base_url}",
        "structured replies by tools, up to 900 reasoning tokens",
        "assumed (set it with context_tokens in its table [models.spare])",
        "temperature 0.4",
        "no role: spare (openai:k)",
        f"127.0.0.1:{server.port}/v1 (Ollama): j, k",
        f"redraft summarize FILE -m openai:j --base-url http://127.0.0.1:{server.port}/v1",
        "no answer: vLLM",
    ):
        assert words in done.out, done.out


def test_redraft_alone_says_what_to_do_first(tmp_path: Path, ports: Callable[..., None]) -> None:
    bare = LocalCommand(tmp_path, OPENAI_API_KEY="").run(out=("no key and no model server", "redraft models  "))
    assert (bare.code, bare.err) == (0, "")
    # The line on the studio needs that guest.
    lines = 7 + ("redraft studio" in bare.out)
    assert len(bare.out.splitlines()) == lines
    ways = LocalCommand(tmp_path).run("models").out.partition("## A language model on this machine")[2]
    assert all(way in ways for way in ("ollama pull", "llama-server -hf", "llama_cpp.server --model"))

    with ChatServer([], pages={"/v1/models": {"data": [{"id": "j; rm x"}]}}) as server:
        ports(LocalServer("Ollama", server.port))
        local = LocalCommand(tmp_path, OPENAI_API_KEY="").run()
        keyed = LocalCommand(tmp_path, OPENAI_API_KEY="sk-0123456789").run().out
        assert "without a key" not in LocalCommand(tmp_path).run("models").out
    assert len(local.out.splitlines()) == lines
    assert "--refine" in local.out
    assert f"-m 'openai:j; rm x' --base-url http://127.0.0.1:{server.port}/v1" in local.out
    assert "a key in OPENAI_API_KEY" in keyed
    assert "-m openai:gpt-5-mini --dry-run" in keyed
    assert "sk-0123456789" not in keyed
    (tmp_path / "redraft.toml").write_text('model = "openai:mine"\n', "utf-8")
    assert "openai:mine, by your settings" in LocalCommand(tmp_path).run().out


def form_only(*forms: str) -> Callable[[ChatRequest], Reply]:
    """A server that answers in words, and in some forms only."""

    def script(request: ChatRequest) -> Reply:
        asked = "schema" if "response_format" in request.body else "tools" if "tools" in request.body else "plain"
        if "as a number" not in str(request.messages[0]["content"]):
            return Answer("Mara", reasoning_tokens=40)
        if asked not in forms:
            return Fault("status", status=400, message="what is this?")
        call = {"id": "1", "type": "function", "function": {"name": "Light", "arguments": LIGHT}}
        return Answer("", tool_calls=[call]) if asked == "tools" else LIGHT

    return script


@pytest.mark.parametrize(
    ("forms", "form", "mode"),
    [(("schema", "plain"), "schema", "json_schema"), (("tools",), "tools", "tools"), (("plain",), "plain", "plain")],
)
def test_a_check_finds_the_form_that_works(tmp_path: Path, forms: tuple[str, ...], form: str, mode: str) -> None:
    with ChatServer(form_only(*forms)) as server:
        command = LocalCommand(tmp_path, server.base_url)
        done = command.run("models", "--check", "openai:m", "--json", code=0)
        assert (done.json["works"], done.json["form"], done.json["thinks"]) == (True, form, 40)
        assert len(server.seen) == 1 + ["schema", "tools", "plain"].index(form) + 1
        # The next to ask knows it.
        command.run("models", "-m", "openai:m", out=f"structured replies by {mode}, up to 40 reasoning tokens")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("reply", "texts"),
    [
        (None, ["it can write but not judge"]),
        (Fault("status", status=401, message="who are you?"), ["who are you?", "it does not answer"]),
        (Fault("hang"), ["within 0.5 s: it may be busy or still loading, and need a longer timeout"]),
        (Answer("<think>well", finish_reason="length", reasoning_tokens=999), ["it may need more reasoning first"]),
    ],
    ids=["words only", "refused", "slow", "thinking"],
)
def test_a_check_says_what_does_not_work(tmp_path: Path, reply: Reply | None, texts: list[str]) -> None:
    with ChatServer((lambda _: reply) if reply else form_only()) as server:
        command = LocalCommand(tmp_path, server.base_url)
        done = command.run("models", "--check", "openai:m", "--set", "timeout=0.5", code=1)
        assert all(text in " ".join(done.out.split()) for text in texts), done.out
    command.run("models", "--check", "extractive", code=0, out="always works")


def test_a_check_without_name_asks_every_role(tmp_path: Path) -> None:
    def script(request: ChatRequest) -> Reply:
        return Fault("status", status=401) if request.body["model"] == "j" else form_only("schema")(request)

    with ChatServer(script) as server:
        command = LocalCommand(tmp_path, server.base_url)
        arguments = ("models", "-m", "openai:m", "--judge", "openai:j", "--judge", "extractive", "--check")
        done = command.run(*arguments)
        said = command.run(*arguments, "--json")
        assert {request.body["model"] for request in server.seen} == {"m", "j"}
    assert done.code == said.code == 1, done.err
    heads = [line for line in done.out.splitlines() if line.startswith("- ")]
    assert heads == [
        f"- writer: openai:m at {server.base_url}",
        f"- judge: openai:j at {server.base_url}",
        "- judge: extractive",
    ]
    ends = [line.strip() for line in done.out.splitlines() if line.endswith((" works", " answer"))]
    assert ends == ["- it works", "- it does not answer", "- always works"]
    checked = [(one["role"], one["works"]) for one in said.json["checked"]]
    assert checked == [("writer", True), ("judge", False), ("judge", True)]


def test_a_table_is_checked_with_its_key(tmp_path: Path) -> None:
    with ChatServer(form_only("schema")) as server:
        (tmp_path / "redraft.toml").write_text(
            f'[models.near]\nmodel = "openai:j"\nbase_url = "{server.base_url}"\nkey_env = "NEAR_KEY"\ntop_p = 0.5\n',
            "utf-8",
        )
        command = LocalCommand(
            tmp_path, REDRAFT_CONFIG="redraft.toml", NEAR_KEY="sk-near-01234", OPENAI_API_KEY="sk-usual-0123"
        )
        assert command.run("models", "--check", "near").code == 0
        assert {request.authorization for request in server.seen} == {"Bearer sk-near-01234"}
        assert {request.body["top_p"] for request in server.seen} == {0.5}
        server.seen.clear()
        table = (tmp_path / "redraft.toml").read_text("utf-8").replace("NEAR_KEY", "")
        (tmp_path / "redraft.toml").write_text(table, "utf-8")
        assert command.run("models", "--check", "near").code == 0
        assert not any("sk-" in request.authorization for request in server.seen), "an empty key_env sends no key"
        # Somebody else's file sends nothing anywhere.
        server.seen.clear(), server.looked.clear()
        del command.environment["REDRAFT_CONFIG"]
        for more in ((), ("--check", "near")):
            assert "merely found" in command.run("models", *more).err
        assert (server.seen, server.looked) == ([], [])


def test_a_check_without_a_key_names_options(tmp_path: Path) -> None:
    done = LocalCommand(tmp_path, OPENAI_API_KEY="").run("models", "--check", "openai:m", code=1)
    assert "set OPENAI_API_KEY, or use --model extractive, which needs none" in done.out


@pytest.mark.slow
def test_a_model_that_fails_hides_no_others(tmp_path: Path) -> None:
    text = f"http://127.0.0.1:{free_port()}/v1"
    (tmp_path / "redraft.toml").write_text(
        f'[models.pen]\nmodel = "openai:p"\nbase_url = "{text}"\ncontext_tokens = 16000\n'
        f'[models.spare]\nmodel = "cohere:q"\n[models.other]\nmodel = "openai:k"\nbase_url = "{text}"\n',
        "utf-8",
    )
    command = LocalCommand(tmp_path, REDRAFT_CONFIG="redraft.toml", OPENAI_API_KEY="sk-0123456789")
    command.run("models", "--writer", "pen", code=0, out="redraft models --check pen)")
    pen, spare, other = command.run("models", "--writer", "pen", "--json").json["models"]
    assert (pen["role"], pen["context_tokens"], pen["window"]) == ("writer", 16_000, "given")
    assert "needs the package langchain-cohere" in spare["trouble"]
    assert other["trouble"] == f"nothing answers at {text}"
    command.run("models", "--check", "nosuch", code=2, err="pen, spare, other")


def test_unreachable_run_names_the_address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budget, "FIRST_PAUSE", 0.001)
    (tmp_path / "book.md").write_text("The keeper kept the light. " * 40, "utf-8")
    text = f"http://127.0.0.1:{free_port()}/v1"
    done = LocalCommand(tmp_path, text).run("summarize", "book.md", "-m", "openai:m", "-w", "60", code=1)
    assert f"nothing answers at {text}" in done.err
    assert "`redraft models` shows what answers, and where" in done.err


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
    ("line", "words"),
    [
        ("temprature = 1", r"redraft.toml \[models.a\]: temprature: is not known here"),
        ("temperature = 3", r"\[models.a\]: temperature: must be at most 2"),
        ('context_tokens = "8k"', r"\[models.a\]: context_tokens: must be a whole number"),
        ('replies = "yaml"', r"\[models.a\]: replies: must be 'schema'"),
        ("price = { prompt = nan, completion = 1 }", r"\[models.a\]: price.prompt: "),
        ('[models.b]\nmodel = "extractive"', r"\[models.b\]: model: the built-in model has no settings"),
        ("[models.b]\ntemperature = 1", r"\[models.b\]: model: is missing"),
        ('[models."openai:x"]\nmodel = "openai:w"', "a model cannot be named 'openai:x'"),
        ('[models]\nmodel = "openai:w"', "`model` under `models` is not a table"),
    ],
)
def test_wrong_table_is_named_with_its_place(tmp_path: Path, line: str, words: str) -> None:
    table = '[models.a]\nmodel = "openai:w"\n' if line != '[models]\nmodel = "openai:w"' else ""
    (tmp_path / "redraft.toml").write_text(f"{table}{line}", "utf-8")
    error = LocalCommand(tmp_path, REDRAFT_CONFIG="redraft.toml").run("runs", "--json", code=2).json["error"]
    assert re.search(words, error["message"]), error


@pytest.mark.slow
def test_options_go_before_the_table(tmp_path: Path) -> None:
    (tmp_path / "book.md").write_text("The keeper kept the light. " * 40, "utf-8")
    with ChatServer(lambda _: "The keeper kept the light.") as server:
        (tmp_path / "redraft.toml").write_text(FULL.replace("URL", server.base_url), "utf-8")
        command = LocalCommand(
            tmp_path, STRONG_KEY="sk-strong-0123", REDRAFT_CONFIG="redraft.toml", REDRAFT_TEMPERATURE=""
        )
        run = ("summarize", "book.md", "--writer", "strong", "-w", "60", "--json")
        done = command.run(*run, code=0)
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
