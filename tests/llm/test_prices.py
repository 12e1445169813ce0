"""What models cost: the built-in table, the user's own, and models that nobody knows."""

from __future__ import annotations

from pathlib import Path

import pytest

from redraft.domain import Usage
from redraft.errors import UsageError
from redraft.llm.budget import FREE, builtin_prices, price_table
from redraft.runs.models import price_of, resolve
from redraft.settings import DraftConfig, Price


def test_a_call_costs_what_its_tokens_cost() -> None:
    price = Price(prompt=2, completion=8, cached_prompt=0.5)
    assert price.of(Usage(1_000_000, 0)) == 2
    assert price.of(Usage(1_000_000, 500_000, cached_prompt_tokens=600_000)) == pytest.approx(0.8 + 0.3 + 4)
    assert Price(prompt=2, completion=8).of(Usage(1000, 0, cached_prompt_tokens=1000)) == pytest.approx(0.002)
    # A provider's figures need not make sense.
    assert price.of(Usage(10, 0, cached_prompt_tokens=1000)) == pytest.approx(5e-6)
    assert FREE.of(Usage(10**9, 10**9)) == 0


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("gpt-4o", "gpt-4o"),
        ("gpt-4o-2024-08-06", "gpt-4o"),
        ("gpt-4o-mini-2024-07-18", "gpt-4o-mini"),
        ("gpt-5-20250807", "gpt-5"),
        ("gpt-4.1-nano-0414", "gpt-4.1-nano"),
        ("gpt-4o-audio-preview", None),
        ("gpt-4o-7b", None),
        ("gpt-4o-2024-finetuned", None),
        ("gpt-4", None),
        ("nobody-knows", None),
    ],
)
def test_a_dated_version_costs_what_its_model_costs(name: str, known: str | None) -> None:
    table = builtin_prices()
    assert table.price(name, at_openai=True) == (table.builtin[known] if known else None)


def test_the_users_own_prices_go_first_and_hold_everywhere(tmp_path: Path) -> None:
    file = tmp_path / "prices.toml"
    file.write_text('[prices]\n"gpt-4o" = { prompt = 1, completion = 2 }\n"llama" = { prompt = 0, completion = 0 }\n')
    table = price_table(str(file))
    own = Price(prompt=1, completion=2)
    assert table.price("gpt-4o", at_openai=True) == own
    assert table.price("gpt-4o-2024-08-06", at_openai=False) == own
    assert table.price("llama", at_openai=False) == FREE
    assert table.price("gpt-4o-mini", at_openai=True) == builtin_prices().builtin["gpt-4o-mini"]
    assert table.price("gpt-4o-mini", at_openai=False) is None


@pytest.mark.parametrize(
    ("url", "sold"),
    [
        (None, True),
        ("https://api.openai.com/v1/", True),
        ("https://API.openai.com/v1", True),
        ("https://me:key@api.openai.com/v1", True),
        ("http://localhost:8000/v1", False),
        ("https://api.openai.com.example.org/v1", False),
    ],
)
def test_openais_prices_hold_at_openai(url: str | None, sold: bool) -> None:
    settings = resolve(DraftConfig(model="openai:gpt-4o", base_url=url))
    assert (price_of(settings, builtin_prices()) is not None) == sold


def test_the_built_in_model_costs_nothing() -> None:
    assert price_of(resolve(DraftConfig()), builtin_prices()) == FREE


@pytest.mark.parametrize(
    "content",
    [
        b"[prices",
        b'"gpt-4o" = { prompt = 1, completion = 2 }',
        b"prices = 3",
        b"[prices]\nx = 1",
        b"[prices]\nx = { prompt = 1 }",
        b"[prices]\nx = { prompt = -1, completion = 1 }",
        b"[prices]\nx = { prompt = nan, completion = 1 }",
        b"[prices]\nx = { prompt = inf, completion = 1 }",
        b"[prices]\nx = { prompt = 1, completion = 1, output = 1 }",
        b"\xff\xfe",
    ],
)
def test_a_bad_table_is_an_error_that_says_how_to_write_one(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "prices.toml"
    file.write_bytes(content)
    with pytest.raises(UsageError) as caught:
        price_table(str(file))
    assert caught.value.place == str(file)
    assert "[prices]" in caught.value.hint
    assert "\n" not in caught.value.message


def test_a_table_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    for path in (tmp_path / "none.toml", tmp_path):
        with pytest.raises(UsageError, match="cannot read the prices"):
            price_table(str(path))
