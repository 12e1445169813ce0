"""What a developer writes with five libraries: counts the lines of each program here, and runs it.

python -m benchmarks.doors --fresh     # all of them, each in a new environment, which takes some minutes
python -m benchmarks.doors             # those of this environment

They ask a local server: redraft's own prompts are judged by rules, all others get the most favorable small reply that
fits their schema.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

from benchmarks.common import ROOT, markdown, use_vocabulary
from redraft.prompts.book import PROMPTS
from tests.chatserver import ChatRequest, ChatServer, text_of
from tests.judges import PerfectModel, island, read_sheet, summary_of

HERE = Path(__file__).parent
LIBRARIES = {
    "deepeval": "deepeval",
    "ragas": "ragas",
    "pydantic_evals": "pydantic-evals",
    "inspect_ai": "inspect-ai",
    "redraft": "redraft",
}
"""The distributions, by the name of the folder, which is that of the package."""
BESIDE = ("openai", "pandas", "pytest")
"""What the programs import besides."""
WITH = {
    "inspect_ai": ["inspect-ai", "pyarrow"],
    "ragas": ["ragas", "langchain-community<0.4"],  # 0.4.3 imports what langchain-community has given up
    "redraft": [f"{ROOT}[studio]"],
}
TASKS = {
    "assert_in_test": "a test fails if a summary is not supported",
    "own_metric": "a metric in Python",
    "batch": "two documents at once",
    "data_frame": "scores as a pandas DataFrame",
    "recorded_tests": "a second run without a model",
}
SECONDS = 240
SHAPES = {prompt.returns.__name__ for prompt in PROMPTS.values()}
"""The names of the schemas that redraft's prompts are replied to in."""


def lines(path: Path) -> int:
    """How many lines of code a program has."""
    code = (line.strip() for line in path.read_text("utf-8").splitlines())
    return sum(bool(line) and not line.startswith("#") for line in code)


def judge(seen: ChatRequest) -> str:
    """Reply to a request as a lenient judge."""
    form = (seen.body.get("response_format") or {}).get("json_schema") or {}
    tool = (seen.body.get("tools") or [{}])[0].get("function") or {}
    schema = form.get("schema") or tool.get("parameters")
    if (form.get("name") or tool.get("name")) in SHAPES:
        reply = PerfectModel()(read_sheet(seen))
        return reply if isinstance(reply, str) else json.dumps(reply)
    if not schema and seen.body.get("response_format"):
        schema = schema_in("\n".join(text_of(message) for message in seen.messages))
    return json.dumps(least(schema, schema)) if schema else '{"score": 8, "reason": "It is."}\nGRADE: C'


def schema_in(prompt: str) -> dict[str, Any]:
    """Return the last JSON Schema in a prompt."""
    schema: dict[str, Any] = {}
    for at in re.finditer(r"\{(?=\s*\")", prompt):
        with suppress(ValueError):
            value, _ = json.JSONDecoder().raw_decode(prompt, at.start())
            if isinstance(value, dict) and value.get("type") == "object" and "title" in value:
                schema = value
    return schema


def least(schema: dict[str, Any], root: dict[str, Any]) -> Any:
    """Return the most favorable small value that fits a schema."""
    if "$ref" in schema:
        return least(root["$defs"][schema["$ref"].rpartition("/")[2]], root)
    if choices := schema.get("anyOf") or schema.get("allOf"):
        return least(choices[0], root)
    if "enum" in schema or "const" in schema:
        return schema.get("const", schema.get("enum", [None])[0])
    match schema.get("type"):
        case "object":
            return {name: least(part, root) for name, part in schema.get("properties", {}).items()}
        case "array":
            return [least(schema.get("items", {"type": "string"}), root)]
        case "integer" | "number":
            return schema.get("maximum", 1)
        case "boolean":
            return True
    return "yes"


def cell(program: Path, python: str, address: str) -> str:
    """The lines of a program, marked if it fails."""
    with tempfile.TemporaryDirectory() as folder:
        for name in ("document.txt", "other.txt"):
            (Path(folder) / name).write_text(island().text + f"\n\nThis is {name}.", "utf-8")
        (Path(folder) / "summary.txt").write_text(summary_of(1, 2, 3), "utf-8")
        environment = os.environ | {
            "OPENAI_API_KEY": "sk-test",
            "OPENAI_BASE_URL": address,
            "DEEPEVAL_TELEMETRY_OPT_OUT": "1",
            "RAGAS_DO_NOT_TRACK": "true",
            "REDRAFT_DB": f"{folder}/redraft.db",
            "HOME": folder,
            "PYTHONPATH": str(ROOT),
        }
        is_test = "def test_" in program.read_text("utf-8")
        runner = ["-m", "pytest", "-q", "-c", os.devnull, "--rootdir", folder] if is_test else []
        with suppress(subprocess.TimeoutExpired):
            done = subprocess.run([python, *runner, str(program)], cwd=folder, env=environment, capture_output=True,
                                  timeout=SECONDS, check=False)  # fmt: skip
            if done.returncode == 0:
                return str(lines(program))
            print((done.stdout + done.stderr).decode()[-1500:], file=sys.stderr)
    return f"{lines(program)} (failed)"


def is_installed(library: str) -> bool:
    """Whether this interpreter has a library beside this checkout."""
    code = f"import importlib.util as u; assert u.find_spec('{library}')"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, cwd=ROOT, check=False).returncode == 0


def fresh(library: str, folder: Path) -> str:
    """Install a library in a new environment, with uv if there is one, and return its interpreter."""
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    python, uv = str(folder / "bin" / "python"), shutil.which("uv")
    install = [uv, "pip", "install", "--python", python] if uv else [python, "-m", "pip", "install"]
    packages = WITH.get(library, [LIBRARIES[library]])
    print(f"installing {LIBRARIES[library]}", file=sys.stderr, flush=True)
    subprocess.run([*install, "--quiet", *packages, *BESIDE], check=True, stderr=subprocess.DEVNULL)
    return python


def version(library: str, python: str) -> str:
    """The name and version of a library."""
    code = f"from importlib.metadata import version; print(version('{LIBRARIES[library]}'))"
    printed = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout
    return f"{LIBRARIES[library]} {printed.strip()}"


def main() -> None:
    """Print the table."""
    use_vocabulary()
    with ChatServer(judge) as server, tempfile.TemporaryDirectory() as folder:
        if "--fresh" in sys.argv[1:]:
            pythons = {name: fresh(name, Path(folder) / name) for name in LIBRARIES}
        else:
            pythons = {name: sys.executable for name in LIBRARIES if is_installed(name)}
        rows: list[list[object]] = [["", *(LIBRARIES[name] for name in pythons)]]
        for task, wanted in TASKS.items():
            programs = {path: python for name, python in pythons.items() if (path := HERE / name / f"{task}.py")}
            cells = (cell(path, python, server.base_url) if path.exists() else "—" for path, python in programs.items())
            rows.append([wanted, *cells])
        print(", ".join(version(name, python) for name, python in pythons.items()), end="\n\n")
    print(markdown(rows))


if __name__ == "__main__":
    main()
