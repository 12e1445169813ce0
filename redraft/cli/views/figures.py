"""How the statistics of a summary look."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from redraft.cli.views.render import count
from redraft.domain import Evaluation

_LABEL = 14


def lines(one: Evaluation) -> Iterator[str]:
    """The figures in lines, a dash where there is none."""
    details: Mapping[str, Any] = one.details
    copied = details["extractive"]
    by_tokens, by_sentences = (_number(details["compression"][unit], 1) for unit in ("tokens", "sentences"))
    yield f"{one.metric}: {_lengths(details['summary'])}"
    rows = [
        ("source", _lengths(details["source"])),
        ("compression", f"{by_tokens} by tokens, {by_sentences} by sentences"),
        ("copied", f"coverage {_number(copied['coverage'])}, density {_number(copied['density'])}"),
        ("new n-grams", _by_size(details["novel_ngrams"])),
        ("repeated", _by_size(details["repeated_ngrams"])),
        ("redundancy", f"{_number(details['redundancy'])}, uniformity {_number(details['uniformity'])}"),
    ]
    yield from (f"  {label:<{_LABEL}}{figures}" for label, figures in rows)


def brief(one: Evaluation) -> str:
    """What of the figures is worth a look from one draft to the next."""
    details: Mapping[str, Any] = one.details
    parts = [
        count(details["summary"]["sentences"], "sentence"),
        f"compression {_number(details['compression']['tokens'], 1)}",
        f"density {_number(details['extractive']['density'])}",
        f"new trigrams {_percent(details['novel_ngrams']['3'])}",
        f"repeated trigrams {_percent(details['repeated_ngrams']['3'])}",
    ]
    return f"{one.metric}: {', '.join(parts)}"


def _lengths(lengths: Mapping[str, int]) -> str:
    return ", ".join(count(lengths[unit], unit.removesuffix("s")) for unit in ("words", "sentences", "tokens"))


def _by_size(shares: Mapping[str, float | None]) -> str:
    return "  ".join(f"{size}: {_percent(share)}" for size, share in shares.items())


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{share:.1%}"


def _number(value: float | None, decimals: int = 2) -> str:
    return "-" if value is None else f"{value:,.{decimals}f}"
