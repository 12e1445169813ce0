"""Room for reasoning tokens, which are billed with the reply and count against its limit. It starts by the model's
name, follows earlier replies, and is doubled if reasoning was cut."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from redraft.domain import Usage
from redraft.errors import Set, TruncatedReasoning
from redraft.llm.base import Request
from redraft.llm.responses import THOUGHTS
from redraft.text.reply_cleanup import strip_reasoning

if TYPE_CHECKING:
    from langchain_core.messages import AIMessage

START = 8_192
"""The first room for a model that is known to reason."""
MAX_ROOM = 32_768
"""The most room that is given without being requested."""
_FIRST = 1_024
# Reasoning may be half as long again as the longest before it.
_SLACK = 1.5
# If a window has no room for that much, a quarter is tried; less than this is of no use.
_SHARE, _MIN_ROOM = 4, 512
_CHARACTERS_A_TOKEN = 4
_BLOCKS = ("thinking", "reasoning", "reasoning_content")

_BEFORE, _AFTER = r"(?<![a-z0-9])", r"(?![a-z0-9])"
_THINKS = re.compile(
    rf"{_BEFORE}(?:o[134]{_AFTER}|gpt-5|gpt-oss|deepseek-r\d|deepseek-reasoner|r1-distill|r1{_AFTER}|qwq|qvq"
    r"|qwen-?3|gemini-(?:2\.5|[3-9])|magistral|glm-(?:4\.[5-9]|[5-9]|z1)|kimi-k2\.[5-9]|minimax-m\d|grok-(?:3-mini|[4-9])"
    rf"|exaone-deep|hunyuan-(?:a13b|t1)|seed-oss|smollm3|(?:thinking|think|reasoner|reasoning){_AFTER})"
)
# Some families include models that answer at once.
_ANSWERS = re.compile(
    rf"gpt-5[\d.]*-chat|{_BEFORE}(?:instruct|coder|non-?(?:thinking|reasoning)|no-?think(?:ing)?){_AFTER}"
)
_OPENAI = re.compile(rf"(?:o[134]{_AFTER}|gpt-5(?![\d.]*-chat))")


def usual_room(name: str) -> int:
    """Return the first room for a model of this name; 0 for one not known to reason by default."""
    last_part = name.casefold().rpartition("/")[2]
    return START if _THINKS.search(last_part) and not _ANSWERS.search(last_part) else 0


def refuses_sampling(name: str) -> bool:
    """Return whether it is an OpenAI reasoning model, which accepts neither a temperature nor `top_p`."""
    return bool(_OPENAI.match(name.casefold().rpartition("/")[2]))


@dataclass(eq=False)
class ReasoningBudget:
    """The room for one model's reasoning in each call; it is `fixed`, or else begins at `start` and grows with the
    need."""

    start: int
    fixed: int | None
    thought: int = 0
    """The longest known reasoning, in tokens."""
    _ceiling: int | None = None

    @property
    def tokens(self) -> int:
        """Return the room of a call."""
        if self.fixed is not None:
            return self.fixed
        room = _FIRST if self.thought else 0
        while room < self.thought * _SLACK and room < MAX_ROOM:
            room *= 2
        room = max(self.start, room)
        return room if self._ceiling is None else min(room, self._ceiling)

    def learn(self, thought: int) -> None:
        """Record the length of a reply's reasoning in tokens."""
        self.thought = max(self.thought, thought)

    def room_for(self, request: Request[Any, Any]) -> int:
        """Return the room of one request: no more than is reserved."""
        limit = request.sampling.max_tokens
        if limit is None or request.most_tokens is None:
            return self.tokens
        return max(0, min(self.tokens, request.most_tokens - limit))

    def refused(self, room: int) -> bool:
        """Record that a window had no room for a request with this much; return whether to try less. The request itself
        is too long if it had none."""
        self._ceiling = (room // _SHARE if room // _SHARE >= _MIN_ROOM else 0) if room else None
        return bool(room)

    def truncation_message(self, request: Request[Any, Any], room: int, text: str, usage: Usage) -> TruncatedReasoning:
        """Return the message for a reply whose reasoning was cut after this much room."""
        error = TruncatedReasoning(
            f"the reply ended during the reasoning, for which {room:,} tokens were not enough",
            text=text,
            usage=usage,
            place=request.label,
            fix=("allow more with ", Set("reasoning_tokens", max(_FIRST, 2 * room)), ", or turn its reasoning off"),
        )
        error.retryable = self.tokens > room
        return error


def reasoning_tokens(message: AIMessage, text: str, usage: Usage) -> int:
    """Return the reasoning tokens of a reply: as reported, or in proportion to the words."""
    if usage.reasoning_tokens:
        return usage.reasoning_tokens
    # Some servers return it apart from the reply.
    content = message.content if isinstance(message.content, list) else []
    blocks = [block for block in content if isinstance(block, dict) and block.get("type") in _BLOCKS]
    thoughts = [message.additional_kwargs.get(name) for name in THOUGHTS]
    thoughts += [block.get(block["type"]) for block in blocks]
    apart = max((len(part) for part in thoughts if isinstance(part, str)), default=0)
    visible = len(strip_reasoning(text))
    thought = apart + len(text.strip()) - visible
    if thought <= 0:
        return 0
    total = usage.completion_tokens if usage.reported else (visible + thought) // _CHARACTERS_A_TOKEN
    return max(1, round(total * thought / (visible + thought)))
