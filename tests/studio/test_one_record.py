"""The same run has the same figures and names in the terminal, JSON, the API, events and its dossier."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from redraft.text.words import score
from tests.cli.local_command import LocalCommand
from tests.studio.served import Served, at_rest, begin

NUMBERS = ("calls", "prompt_tokens", "completion_tokens", "cost_usd")


@pytest.mark.slow
def test_every_door_gives_the_same_figures(client: httpx.Client, at: Served, tmp_path: Path) -> None:
    run = begin(client, kind="refine", words=60, goals={"coverage": 0.9, "consistency": 0.9}, rounds=1)
    status = at_rest(client, run)
    command = LocalCommand(tmp_path, REDRAFT_DB=str(at.told.database), COLUMNS="200")
    report = command.run("show", run, "--json").json
    traced = command.run("trace", run, "--json").json
    exported = command.run("export", run, "--format", "json").json
    (listed,) = [row for row in command.run("runs", "--json").json["runs"] if row["run"] == run]
    events = _events(client, run)

    # One record: what `show` prints is what the API, the trace and the dossier hold.
    assert client.get(f"/api/runs/{run}/result").json() == report == traced["result"]
    dossier = client.get(f"/api/runs/{run}/dossier").json()
    assert dossier == exported
    shared = {**report, "settings": {name: value for name, value in report["settings"].items() if name != "key_env"}}
    assert dossier["result"] == shared
    assert dossier["rounds"] == traced["rounds"]
    for row in (status, listed):
        same = ("run", "kind", "status", "strategy", "model", "judges", "words", "stop_reason", "scores")
        assert {name: row[name] for name in same} == {
            name: "" if (name, report[name]) == ("strategy", "given") else report[name] for name in same
        }

    # Events tell the same scores, findings and decisions, round by round.
    assert [turn["round"]["number"] for turn in traced["rounds"]] == [0, 1]
    for turn in traced["rounds"]:
        number = turn["round"]["number"]
        scores = [event for event in events if event["kind"] == "score" and event["round"] == number]
        assert {event["metric"]: event["score"] for event in scores if event["outcome"] == "scored"} == turn["scores"]
        found = [event["finding"] for event in events if event["kind"] == "finding" and event["round"] == number]
        findings = [finding for metric in turn["metrics"].values() for finding in metric["findings"]]
        without_places = [{name: part for name, part in finding.items() if name != "place"} for finding in findings]
        assert sorted(map(_text, found)) == sorted(map(_text, without_places))
    settled = {event["number"]: event for event in events if event["kind"] == "round"}
    for turn in traced["rounds"][1:]:
        decision = settled[turn["round"]["number"]]
        assert {name: decision[name] for name in ("accepted", "reason")} == {
            name: turn["round"][name] for name in ("accepted", "reason")
        }
    progress = [event for event in events if event["kind"] == "progress"][-1]
    assert (progress["calls"], progress["cost_usd"]) == (report["usage"]["calls"], report["usage"]["cost_usd"])
    assert {name: sum(call[name] for call in dossier["calls"]) for name in NUMBERS[1:]} == {
        name: report["usage"][name] for name in NUMBERS[1:]
    }

    # For people the figures have the same two digits.
    text, page = command.run("show", run).err, client.get(f"/runs/{run}").text
    for metric, value in report["scores"].items():
        assert f"-> {score(value)} (goal 0.9 " in text
        assert f"{metric} {score(value)} (goal 0.9 " in page.lower()
    assert f"run {run} · revised by the built-in model · judged by the same model" in text


def _events(client: httpx.Client, run: str) -> list[dict[str, Any]]:
    with client.stream("GET", f"/api/runs/{run}/events") as reply:
        lines = [line.removeprefix("data: ") for line in reply.iter_lines() if line.startswith("data: ")]
    return [json.loads(line) for line in lines]


def _text(finding: dict[str, Any]) -> str:
    return json.dumps(finding, sort_keys=True)
