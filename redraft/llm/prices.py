"""Prices of models: a built-in snapshot, and the user's own entries, which take precedence."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib import resources
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from redraft.errors import UsageError
from redraft.fields import in_words
from redraft.settings import Price
from redraft.sources import MOST_OF_SETTINGS, read_file

_DATE = re.compile(r"-\d{4}(\d{4}|-\d{2}-\d{2})?")


FREE = Price(prompt=0, completion=0)
_TABLE = TypeAdapter(dict[str, Price])


@dataclass(frozen=True, slots=True)
class PriceTable:
    """Prices by model name, as given after `openai:`; the user's own apply wherever the model is served."""

    builtin: dict[str, Price]
    own: dict[str, Price]
    in_jobs: bool = False
    """Whether requests are sent as batch jobs, for which OpenAI charges half the price; the user's own prices apply as
    written."""

    def for_jobs(self) -> PriceTable:
        """Return the same table for requests that are sent as jobs."""
        return replace(self, in_jobs=True)

    def price(self, name: str, *, at_openai: bool) -> Price | None:
        """Return the price of a model, or of the model that it is a dated version of; None if unknown."""
        builtin = {name: one.half() for name, one in self.builtin.items()} if self.in_jobs else self.builtin
        prices = {**builtin, **self.own} if at_openai else self.own
        if name in prices:
            return prices[name]
        dated = (known for known in prices if name.startswith(known) and _DATE.fullmatch(name, len(known)))
        return next((prices[known] for known in dated), None)


@lru_cache(maxsize=1)
def builtin_prices() -> PriceTable:
    """Return redraft's built-in table."""
    text = (resources.files("redraft.llm") / "prices.toml").read_text("utf-8")
    return PriceTable(_TABLE.validate_python(tomllib.loads(text)["prices"]), {})


def price_table(path: str | Path | None) -> PriceTable:
    """Return the built-in table, overridden by the entries of the TOML file at `path`."""
    builtin = builtin_prices()
    if path is None:
        return builtin
    try:
        own = _TABLE.validate_python(
            tomllib.loads(read_file(Path(path).expanduser(), MOST_OF_SETTINGS).decode())["prices"]
        )
    except OSError as error:
        raise UsageError(f"cannot read the prices: {error.strerror}", place=str(path)) from error
    except (KeyError, ValueError) as error:
        raise UsageError(
            f"not a price table: {_reason(error)}",
            place=str(path),
            hint='write [prices] and lines such as "my-model" = { prompt = 0.25, completion = 2.0 }',
        ) from error
    return PriceTable(builtin.builtin, own)


def _reason(error: KeyError | ValueError) -> str:
    if isinstance(error, KeyError):
        return "it has no [prices]"
    if isinstance(error, ValidationError):
        first = error.errors()[0]
        return f"{'.'.join(str(part) for part in first['loc'])}: {in_words(first)}"
    return str(error)
