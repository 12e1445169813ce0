"""Draft, evaluate and refine over HTTP, on LangGraph's server:

pip install redraft "langgraph-cli[inmem]"
langgraph dev --no-browser          # in the folder of langgraph.json
python client.py [FILE] [URL]       # in another terminal
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient

TEXT = """\
The harbour board met on Tuesday at the Customs House. Edith Marlow was in the chair. The dredging of the north channel
will begin on 4 May and cost 12,000 pounds. The fishermen asked for a week's delay, because the herring run ends on
10 May. The board refused by five votes to four. Samuel Orr, the harbour master, resigned in protest."""


async def draft(client: LangGraphClient, text: str) -> str:
    """Draft a summary, and print each event; the text goes in, and the summary comes out."""
    thread = (await client.threads.create())["thread_id"]
    order: dict[str, Any] = {"text": text, "words": 30}
    async for part in client.runs.stream(thread, "draft", input={"order": order}, stream_mode=["custom", "values"]):
        if part.event == "custom":
            print("  event:", part.data["kind"])
    # The thread keeps the output, for a client that comes back later.
    state: Any = await client.threads.get_state(thread)
    return str(state["values"]["result"]["summary"])


async def evaluate(client: LangGraphClient, text: str, summary: str) -> Any:
    """Judge a summary, without a thread."""
    order: dict[str, Any] = {"text": text, "summary": summary, "metrics": ["coverage", "consistency"]}
    state: Any = await client.runs.wait(None, "judge", input={"order": order})
    return state["result"]


async def refine(client: LangGraphClient, text: str, summary: str) -> Any:
    """Refine a summary. The run stops before each revision, and the thread keeps its question until it is answered."""
    thread = (await client.threads.create())["thread_id"]
    order: dict[str, Any] = {"text": text, "summary": summary, "words": 40, "goals": {"coverage": 0.9}, "rounds": 1}
    # The server was started without a model, so the built-in one judges its own text.
    order |= {"review": True}
    state: Any = await client.runs.wait(thread, "refine", input={"order": order})
    while "__interrupt__" in state:
        question = state["__interrupt__"][0]["value"]
        for number, finding in enumerate(question["findings"], 1):
            print(f"  finding {number}:", finding["question"] or finding["explanation"])
        answer = {"drop": [question["findings"][-1]["id"]]}
        state = await client.runs.wait(thread, "refine", command={"resume": answer})
    return state["result"]


async def main(text: str, url: str) -> None:
    client = get_client(url=url)
    print("Draft")
    summary = await draft(client, text)
    print(" ", summary)
    print("Evaluate")
    result = await evaluate(client, text, summary)
    print(" ", result["scores"], len(result["findings"]), "findings")
    print("Refine")
    result = await refine(client, text, summary)
    print(" ", result["summary"], result["scores"], result["stop"])
    print("A mistake")
    async for part in client.runs.stream(None, "draft", input={"order": {"source": "nowhere.txt"}}):
        if part.event == "error":
            print(" ", part.data["message"])


if __name__ == "__main__":
    chosen = Path(sys.argv[1]).read_text("utf-8") if len(sys.argv) > 1 else TEXT
    asyncio.run(main(chosen, sys.argv[2] if len(sys.argv) > 2 else "http://127.0.0.1:2024"))
