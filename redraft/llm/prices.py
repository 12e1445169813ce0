"""What models cost. The built-in table is a snapshot; a user's own entries go first."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib import resources
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from redraft.errors import UsageError
from redraft.settings import Price
from redraft.sources import MOST_OF_SETTINGS, read_file

_DATE = re.compile(r"-\d{4}(\d{4}|-\d{2}-\d{2})?")


FREE = Price(prompt=0, completion=0)
_TABLE = TypeAdapter(dict[str, Price])


@dataclass(frozen=True, slots=True)
class PriceTable:
    """Prices by model name, as given after `openai:`. The user's own hold wherever the model is served."""

    builtin: dict[str, Price]
    own: dict[str, Price]
    in_jobs: bool = False
    """Whether requests go out as jobs, which OpenAI does for half the price. The user's own prices hold as written."""

    def for_jobs(self) -> PriceTable:
        """The same table for requests that go out as jobs."""
        return replace(self, in_jobs=True)

    def price(self, name: str, *, at_openai: bool) -> Price | None:
        """The price of a model, or of the model whose dated version it is; None when it is not known."""
        builtin = {name: one.half() for name, one in self.builtin.items()} if self.in_jobs else self.builtin
        prices = {**builtin, **self.own} if at_openai else self.own
        if name in prices:
            return prices[name]
        dated = (known for known in prices if name.startswith(known) and _DATE.fullmatch(name, len(known)))
        return next((prices[known] for known in dated), None)


@lru_cache(maxsize=1)
def builtin_prices() -> PriceTable:
    """The table that comes with redraft."""
    text = (resources.files("redraft.llm") / "prices.toml").read_text("utf-8")
    return PriceTable(_TABLE.validate_python(tomllib.loads(text)["prices"]), {})


def price_table(path: str | Path | None) -> PriceTable:
    """The built-in table, with the entries of the TOML file at `path` before it."""
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
        return f"{'.'.join(str(part) for part in first['loc'])}: {first['msg']}"
    return str(error)
