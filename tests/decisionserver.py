"""A local server that speaks the protocols of decision models: `/v1/systemone`, and OpenAI's `/v1/decisions`."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Json = dict[str, Any]
Script = Callable[[str, Json], dict[str, float] | Json | None]
"""From a text and a question, as `/v1/systemone` has it, to the probability of each answer, to an answer as it is, or
to None, which is a refusal."""


@dataclass
class DecisionServer:
    """The address, what was asked, and what is answered."""

    script: Script
    address: str = ""
    bodies: list[Json] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    faults: list[tuple[int, str]] = field(default_factory=list)
    """Statuses and bodies of the next responses."""

    @property
    def asked(self) -> int:
        """How many requests there were."""
        return len(self.bodies)

    def respond(self, path: str, body: Json) -> tuple[int, str]:
        if self.faults:
            return self.faults.pop(0)
        if path == "/v1/systemone":
            answers = {name: self._systemone(body["state"], one) for name, one in body["questions"].items()}
            usage = {"input_tokens": 100, "output_tokens": len(answers)}
            return 200, json.dumps({"model": body["model"], "answers": answers, "usage": usage})
        if path == "/v1/decisions":
            listed = [self._decision(body["input"], one) for one in body["questions"]]
            usage = {"input_tokens": 200, "output_tokens": len(listed)}
            return 200, json.dumps({"model": body["model"], "answers": listed, "usage": usage})
        return 404, "{}"

    def _systemone(self, state: str, question: Json) -> Json:
        odds = self.script(state, question)
        if odds is None or "type" in odds:
            return odds or {"type": "noul", "noul": 7}
        if question["type"] == "noul":
            return {"type": "noul", "noul": odds["yes"]}
        best = max(odds, key=lambda name: odds[name])
        return {"type": "choice", "choice": best, "probabilities": odds, "confidence": 0.5}

    def _decision(self, state: str, question: Json) -> Json:
        told = {**question, "type": "noul" if question["type"] == "predicate" else "choice"}
        odds = self.script(state, told)
        name = question["name"]
        if odds is None:
            return {"type": "refusal", "name": name}
        if question["type"] == "predicate":
            return {"type": "predicate", "name": name, "probability": odds["yes"]}
        listed = [{"value": value, "probability": one} for value, one in odds.items()]
        best = max(odds, key=lambda value: odds[value])
        return {"type": "choice", "name": name, "choice": best, "probabilities": listed, "confidence": 0.5}


@contextlib.contextmanager
def decision_server(script: Script) -> Iterator[DecisionServer]:
    """Serve until the context ends."""
    served = DecisionServer(script)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            served.bodies.append(body)
            served.keys.append(self.headers.get("authorization", ""))
            status, text = served.respond(self.path, body)
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(text.encode())))
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    served.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield served
    finally:
        server.shutdown()
        server.server_close()
