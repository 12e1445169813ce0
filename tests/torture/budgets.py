"""Budgets, while replies are lost on their way and processes are killed. The server's own count is what is billed."""

from __future__ import annotations

import base64
import itertools
import random
import re
import time
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

from tests.chatserver import ChatRequest, Fault, Reply
from tests.torture.runner import Attack, Try, Violation
from tests.torture.world import KINDS, World, right, undisturbed, world

_DOLLARS = 100.0
"""The price of a million tokens, of a prompt and of a reply."""
_PRICES = f'[prices]\n"m" = {{ prompt = {_DOLLARS}, cached_prompt = {_DOLLARS}, completion = {_DOLLARS} }}\n'
_ROUNDING = 1e-9
_RESUMPTIONS = 6
_KINDS = ("hierarchical", "incremental", "evaluate", "refine", "keyfacts", "redraft")
_WORD = re.compile(r"[A-Za-z]{1,12}(?![A-Za-z0-9+/=])|\S+")
# Of what is no word, tokenizers make a token of little more than a byte.
_BYTES_OF_A_TOKEN = 1.3


def tokens(text: str) -> int:
    """The tokens of a text as a server counts them: words by their letters, and all else nearly by its bytes."""
    count = 0.0
    for word in _WORD.findall(text):
        dense = not word.isalpha() or not word.isascii()
        count += len(word.encode("utf-8", "replace")) / _BYTES_OF_A_TOKEN if dense else (len(word) + 5) // 6
    return int(count) + 1


def budgets(seed: int) -> Iterator[Try]:
    """Calls and costs in turn, each with lost bodies, kills, both, and text that has more tokens than one thinks."""
    for number in itertools.count(1):
        chance = random.Random(f"{seed} budgets {number}")
        kind = _KINDS[number % len(_KINDS)]
        total = sum(undisturbed(kind).requests.values())
        calls = chance.randint(1, total + 3)
        cost = round(chance.uniform(0.02, 0.12) * total, 4)
        for what, limit in (("calls", str(calls)), ("cost", f"{cost}")):
            for trouble in ("lost bodies", "kills", "lost bodies and kills", "dense text"):
                name = f"budgets/{kind}, --max-{what} {limit}, {trouble} #{number}"
                yield Try(name, partial(_limited, kind, what, limit, trouble, f"{seed} {name}"))


def _limited(kind: str, what: str, limit: str, trouble: str, seed: str, folder: Path) -> Iterator[Violation]:
    chance = random.Random(seed)

    def script(request: ChatRequest) -> Reply:
        answer = replace(right(request), usage="auto", latency=0.01)
        lost = "lost" in trouble and chance.random() < 0.6
        return Fault("drop_midway", text=answer.text) if lost else answer

    with world(folder, script, REDRAFT_PRICES=str(folder / "prices.toml"), REDRAFT_CONCURRENCY="4") as workspace:
        (folder / "prices.toml").write_text(_PRICES, "utf-8")
        workspace.server.count = tokens
        if trouble == "dense text":
            (folder / "book.md").write_text(_dense(chance), "utf-8")
        option = (f"--max-{what}", limit)
        for attempt in range(_RESUMPTIONS):
            runs = workspace.runs()
            running = workspace.start(*(("resume", runs[0]) if runs else (*KINDS[kind], *option)))
            if "kills" in trouble and attempt < _RESUMPTIONS - 1:
                time.sleep(chance.uniform(0.3, 1.0) * undisturbed(kind).seconds)
                running.kill()
            done = workspace.end(running)
            if done.trouble:
                yield Violation("crashed", done.trouble)
                return
            if done.code == 0:
                break
        yield from _spent(workspace, what, float(limit))


def _spent(workspace: World, what: str, limit: float) -> Iterator[Violation]:
    requests = workspace.server.seen
    cost = sum(call.prompt_tokens + call.completion_tokens for call in requests) * _DOLLARS / 1e6
    if what == "calls" and len(requests) > limit:
        over = len(requests) - int(limit)
        yield Violation("over", f"{len(requests)} requests were made of {limit:g} allowed", over)
    if what == "cost" and cost > limit + _ROUNDING:
        yield Violation("over", f"${cost:.4f} would be billed, of ${limit:.4f} allowed, for {len(requests)} requests")


def _dense(chance: random.Random) -> str:
    """A document in base64, whose tokens are shorter than those of prose."""
    lines = (base64.b64encode(chance.randbytes(60)).decode() + "." for _ in range(40))
    return "# Keepers\n\n" + "\n\n".join(lines) + "\n"


ATTACKS = (
    Attack("budgets", budgets, 4, small=("budgets/incremental, --max-calls", "budgets/incremental, --max-cost")),
)
