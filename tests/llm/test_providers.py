"""Chat models of every provider: by name, from other packages, and handed over; each is told only what it knows."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, ClassVar

import pytest
from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_openai import ChatOpenAI
from pydantic import Field, SecretStr

from redraft import Document, DraftConfig, Session
from redraft.errors import ModelError, UsageError
from redraft.llm.base import FunctionModel
from redraft.llm.budget import FREE, PriceTable
from redraft.llm.chat import ChatModel, as_model
from redraft.llm.providers import check_provider_key
from redraft.runs.models import open_model, price_of, resolve
from tests.chatserver import ChatServer, Fault
from tests.llm.support import KEY, RED, Desk, colour, story
from tests.plugged import installed, package

GOOD = '{"name": "red", "share": 0.5}'


class Strict(BaseChatModel):
    """Takes no call keyword but LangChain's own, and notes with which parameters it was asked."""

    said: ClassVar[list[dict[str, Any]]] = []
    model: str = "strict"

    @property
    def _llm_type(self) -> str:
        return "strict"

    def _generate(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: CallbackManagerForLLMRun | None = None
    ) -> ChatResult:
        raise AssertionError("redraft asks asynchronously")

    async def _agenerate(  # type: ignore[override]
        self, messages: list[BaseMessage], stop: Any = None, run_manager: AsyncCallbackManagerForLLMRun | None = None
    ) -> ChatResult:
        self.said.append(
            {
                "text": messages[-1].text,
                **self.model_dump(include=set(type(self).model_fields) - set(BaseChatModel.model_fields)),
            }
        )
        return ChatResult(generations=[ChatGeneration(message=AIMessage(self.reply()))])

    def reply(self) -> str:
        return GOOD


class Frugal(Strict):
    """Has neither a temperature nor a limit."""


class Local(Strict):
    """Names its parameters as Ollama's does."""

    temperature: float | None = None
    num_predict: int | None = None


class Cloudy(Strict):
    """Names its parameters as Google's does."""

    temperature: float | None = 0.7
    max_output_tokens: int | None = Field(default=None, alias="max_tokens")


class Wordy(Strict):
    """Has a limit only, an address, and a key."""

    max_tokens: int = 1024
    anthropic_api_url: str | None = Field(default="https://me:SECRET@api.example.com/", alias="base_url")
    api_key: SecretStr = SecretStr("plain-0123456789-SECRET")
    max_retries: int = 2


@pytest.fixture(autouse=True)
def nothing_said() -> None:
    Strict.said.clear()


@pytest.mark.parametrize(
    ("chat", "expected"),
    [
        (Frugal(), {}),
        (Local(), {"temperature": 0.0, "num_predict": 50}),
        (Cloudy(), {"temperature": 0.0, "max_output_tokens": 50}),
        (Wordy(), {"max_tokens": 50}),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Strict) else "",
)
async def test_only_declared_parameters_are_set(desk: Desk, chat: Strict, expected: dict[str, Any]) -> None:
    before = chat.model_dump()
    assert (await desk.recorded(ChatModel(chat)).ask(colour())).value == RED
    parameters = Strict.said[-1]
    assert {name: parameters.get(name) for name in expected} == expected
    assert chat.model_dump() == before, "the user's own object stays as it is"


def test_identity_has_no_credentials() -> None:
    assert ChatModel(Local(model="tiny")).identity == "local:tiny"
    assert ChatModel(Wordy()).identity == "wordy:strict@https://api.example.com"
    assert ChatModel(Wordy(), identity="mine").identity == "mine"
    local_chat = ChatOpenAI(model="m", base_url="http://localhost:8000/v1/", api_key=SecretStr(KEY))
    openai_chat = ChatOpenAI(model="m", api_key=SecretStr(KEY))
    assert ChatModel(local_chat).identity == "openai:m@http://localhost:8000/v1"
    assert ChatModel(openai_chat).identity == "openai:m@https://api.openai.com/v1"


async def test_openai_chat_model_works_like_a_name(desk: Desk) -> None:
    with ChatServer([GOOD, Fault("html"), Fault("no_choices"), GOOD], refuses=["max_completion_tokens"]) as server:
        chat = ChatOpenAI(
            model="gpt-5-mini",
            base_url=server.base_url,
            api_key=SecretStr(KEY),
            max_retries=0,
            max_completion_tokens=3,
            extra_body={"user": "me"},
        )
        model = desk.recorded(as_model(chat))
        assert (await model.ask(colour())).value == RED
        assert (await model.ask(colour("a lily"))).value == RED
    body = server.answered[-1].body
    assert (body["response_format"]["type"], body["user"]) == ("json_schema", "me")
    assert "temperature" not in body
    assert body["max_tokens"] > 4000
    assert "max_completion_tokens" not in body
    assert desk.outcomes() == ["unsupported", "ok", "transient", "transient", "ok"]


def test_only_models_are_accepted() -> None:
    model = FunctionModel(lambda request: "x")
    assert as_model(model) is model
    for wrong in (Frugal().bind(stop=["x"]), "openai:m"):
        with pytest.raises(UsageError, match="neither"):
            as_model(wrong)  # type: ignore[arg-type]


class Buggy(Frugal):
    """Fails as programs do."""

    error: Any = None

    def reply(self) -> str:
        raise self.error


@pytest.mark.parametrize(
    "error",
    [
        TypeError("unsupported operand"),
        KeyError("colour"),
        AttributeError("no such thing"),
        IndexError("out of range"),
        ValueError("not so"),
        FileNotFoundError(2, "No such file or directory", "weights.bin"),
    ],
    ids=lambda error: type(error).__name__,
)
async def test_programming_error_is_not_retried(desk: Desk, error: Exception) -> None:
    with pytest.raises(ModelError, match=rf"{type(error).__name__}: .*test_providers.py, line") as caught:
        await desk.recorded(ChatModel(Buggy(error=error))).ask(story())
    assert (caught.value.code, caught.value.retryable) == ("model", False)
    assert desk.outcomes() == ["model"]
    assert not desk.pauses


Install = Callable[..., None]
PROVIDED = """
from tests.llm.test_providers import Wordy

class ChatMistralAI(Wordy):
    pass
"""


@pytest.fixture
def install(tmp_path: Path) -> Iterator[Install]:
    """Puts modules and their entry points of `redraft.models` where a package would have them."""
    from langchain.chat_models.base import _get_chat_model_creator

    with ExitStack() as stack:

        def make(modules: dict[str, str], *names: str) -> None:
            offered = {"redraft.models": {name: f"paint:{name}" for name in names}}
            stack.enter_context(installed(package(tmp_path / "site", offered, "paint", modules)))
            _get_chat_model_creator.cache_clear()

        yield make
    _get_chat_model_creator.cache_clear()


async def test_provider_is_opened_by_langchain(desk: Desk, install: Install) -> None:
    install({"langchain_mistralai": PROVIDED})
    settings = resolve(DraftConfig(model="mistralai:tiny"))
    assert settings.base_url is None
    async with open_model(settings, seconds=5) as model:
        assert model.identity == "mistralai:tiny@https://api.example.com"
        assert (await desk.recorded(model).ask(colour())).value == RED
    assert (Strict.said[-1]["max_tokens"], Strict.said[-1]["max_retries"]) == (50, 0)


async def test_provider_without_base_url_refuses_one(install: Install) -> None:
    install(
        {"langchain_mistralai": "from tests.llm.test_providers import Local\nclass ChatMistralAI(Local):\n    pass"}
    )
    settings = resolve(DraftConfig(model="mistralai:tiny", base_url="http://localhost:9/v1"))
    with pytest.raises(UsageError, match="takes no base URL"):
        async with open_model(settings, seconds=5):
            pass


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (
            "class ChatMistralAI:\n    def __init__(self, **given):\n        raise ValueError('no key; sk-SECRET99')",
            "ValueError: no key",
        ),
        ("import no_such_module", "No module named 'no_such_module'"),
    ],
)
async def test_provider_error_shows_no_key(install: Install, source: str, words: str) -> None:
    install({"langchain_mistralai": source})
    with pytest.raises(UsageError, match=f"mistralai:tiny cannot be opened: .*{words}") as caught:
        async with open_model(resolve(DraftConfig(model="mistralai:tiny")), seconds=5):
            pass
    assert "SECRET" not in str(caught.value)


MISTRAL = """
from pydantic import SecretStr
from tests.llm.test_providers import Local

class ChatMistralAI(Local):
    mistral_api_key: SecretStr = SecretStr("")
    base_url: str | None = None

    @property
    def lc_secrets(self):
        return {"mistral_api_key": "MISTRAL_API_KEY", "more": "MISTRAL_MORE"}
"""


async def test_missing_key_is_refused_before_anything_is_stored(
    install: Install, monkeypatch: pytest.MonkeyPatch
) -> None:
    install({"langchain_mistralai": MISTRAL})
    async with Session(":memory:", model="mistralai:tiny") as session:
        with pytest.raises(UsageError, match="mistralai:tiny needs an API key") as refused:
            await session.summarize(Document.from_text("Aluna rang the bell of the lighthouse at dawn. " * 9))
        assert "set MISTRAL_API_KEY" in refused.value.hint
        assert session.store.runs.latest(1) == []
    check_provider_key(DraftConfig(model="mistralai:tiny", base_url="http://localhost:8000"))
    monkeypatch.setenv("MISTRAL_API_KEY", "k")
    check_provider_key(DraftConfig(model="mistralai:tiny"))


@pytest.mark.parametrize(
    ("model", "package"), [("fireworks:x", "langchain-fireworks"), ("google_vertexai:x", "langchain-google-vertexai")]
)
def test_missing_package_is_named(model: str, package: str) -> None:
    with pytest.raises(UsageError, match=f"{model} needs the package {package}") as caught:
        resolve(DraftConfig(model=model))
    assert caught.value.hint == f"pip install {package}"


PLUGIN = """
from tests.llm.test_providers import Local
from redraft.llm.base import FunctionModel
from redraft.errors import UsageError

def brush(rest, settings):
    return FunctionModel(lambda request: f"{rest} {settings.context_tokens}", identity=f"brush {rest}")

def roller(rest, settings):
    return Local(model=rest)

def nothing(rest, settings):
    return rest

def broken(rest, settings):
    raise KeyError(rest)

def picky(rest, settings):
    raise UsageError("only blue")
"""
NAMES = ("brush", "roller", "nothing", "broken", "picky", "gone")


async def test_packages_bring_their_models(desk: Desk, install: Install) -> None:
    install({"paint": PLUGIN}, *NAMES)
    settings = resolve(DraftConfig(model="brush:fine:one"))
    async with open_model(settings, seconds=5) as model:
        assert model.identity == "brush fine:one"
        assert (await desk.recorded(model).ask(story())).value == "fine:one 8192"
    async with open_model(resolve(DraftConfig(model="roller:wide")), seconds=5) as model:
        assert model.identity == "roller:wide"
        await desk.recorded(model).ask(story())
    assert Strict.said[-1]["num_predict"] == 50
    assert price_of(settings, PriceTable({}, {"fine:one": FREE})) == FREE


@pytest.mark.parametrize(
    ("model", "words"),
    [
        ("nothing:x", "type str is neither"),
        ("broken:x", "broken:x cannot be opened: KeyError"),
        ("picky:x", "only blue"),
        ("gone:x", "gone, of the package paint, cannot be loaded"),
    ],
)
async def test_failing_factory_is_named(install: Install, model: str, words: str) -> None:
    install({"paint": PLUGIN}, *NAMES)
    with pytest.raises(UsageError, match=words):
        async with open_model(resolve(DraftConfig(model=model)), seconds=5):
            pass


@pytest.mark.parametrize(
    ("model", "meant"),
    [
        ("gpt-5", "openai:gpt-5"),
        ("GPT-5-mini", "openai:gpt-5-mini"),
        ("claude-sonnet-4-5", "anthropic:claude-sonnet-4-5"),
        ("gemini-3", "google_genai:gemini-3"),
        ("opanai:gpt-5", "openai:gpt-5"),
        ("antropic:claude", "anthropic:claude"),
        ("brus:x", "brush:x"),
    ],
)
def test_misspelt_model_gets_a_suggestion(install: Install, model: str, meant: str) -> None:
    install({"paint": PLUGIN}, "brush")
    with pytest.raises(UsageError, match=f"there is no model '{model}'") as caught:
        resolve(DraftConfig(model=model))
    assert caught.value.hint == f"did you mean {meant}?"


@pytest.mark.parametrize("model", ["llama", "openai:", "nobody:x", "anthropic:", "brush"])
def test_unknown_model_lists_choices(install: Install, model: str) -> None:
    install({"paint": PLUGIN}, "brush")
    with pytest.raises(UsageError, match=f"there is no model '{model}'") as caught:
        resolve(DraftConfig(model=model))
    for name in ("extractive", "openai:NAME", "brush:NAME", "anthropic", "google_genai", "ollama", "mistralai"):
        assert name in caught.value.hint


def test_object_model_is_not_reopened() -> None:
    with pytest.raises(UsageError, match="passed as an object"):
        resolve(DraftConfig(model="openai:m@http://localhost:8000/v1"))


@pytest.mark.slow
def test_langchain_is_imported_lazily() -> None:
    code = (
        "import sys, redraft.runs.models as o; from redraft.settings import DraftConfig;"
        " o.resolve(DraftConfig(model='openai:m')); o.resolve(DraftConfig());"
        " print([name for name in ('langchain', 'langchain_openai', 'openai') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
