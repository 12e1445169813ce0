"""An agent that improves a summary with redraft's tools: python examples/embed/agent.py

The agent is LangChain's own. Its model follows a script here, so that the example needs no key; any chat model that
calls tools can stand in its place.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from langchain.agents import create_agent
from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult

import redraft

SAMPLE = Path(__file__).parent.parent / "the-salt-ledger.md"
TASK = "Improve the summary of run {run}: look at what is wrong with it, mend what you can bear out, and finish."


class Scripted(BaseChatModel):
    """A chat model that looks, reads, mends and finishes, going by what the tools have said so far."""

    run: str

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        told = {one.name: json.loads(str(one.content)) for one in messages if isinstance(one, ToolMessage)}
        return ChatResult(generations=[ChatGeneration(message=self._next(told))])

    def _next(self, told: dict[str | None, Any]) -> AIMessage:
        if "list_findings" not in told:
            return self._calling("list_findings", metric="consistency")
        wrong = told["list_findings"]["findings"]
        if "find_passages" not in told:
            return self._calling("find_passages", query=wrong[0]["sentence"], count=2)
        if "revise" not in told:
            place = told["find_passages"]["passages"][0]["place"]
            return self._calling("revise", findings=[one["id"] for one in wrong], instruction=f"Go by {place}.")
        if "finish" not in told:
            return self._calling("finish", reason="mended")
        return AIMessage(f"Done: {told['revise']['reason']}.")

    def _calling(self, name: str, **arguments: Any) -> AIMessage:
        return AIMessage("", tool_calls=[{"name": name, "args": {"run": self.run, **arguments}, "id": f"call {name}"}])


async def main(source: str) -> None:
    poor = "Hester Vane came to the island of Sarn on Monday, 3 March 1931. She carried a letter from London."
    with tempfile.TemporaryDirectory() as folder:
        async with redraft.Session(Path(folder) / "redraft.db") as session:
            run = (await session.evaluate(source, poor, metrics=["consistency"])).run.id
            agent = create_agent(Scripted(run=run), redraft.tools(session))
            said = await agent.ainvoke({"messages": [HumanMessage(TASK.format(run=run))]})
            result = await session.result(run)
    for message in said["messages"]:
        for call in getattr(message, "tool_calls", []):
            print(f"{call['name']} {call['args']}", file=sys.stderr)
    print(said["messages"][-1].content, file=sys.stderr)
    print(result.summary)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else str(SAMPLE)))
