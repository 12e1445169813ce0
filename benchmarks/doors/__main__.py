"""What a developer writes with five libraries: counts the lines of each program here, and runs it.

python -m benchmarks.doors --fresh     # all of them, each in a new environment, which takes some minutes
python -m benchmarks.doors             # those of this environment
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.common import use_vocabulary
from benchmarks.doors.server import judge
from tests.chatserver import ChatServer, Fault, Reply, Seen
from tests.judges import island, told

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
LIBRARIES = {
    "deepeval": "deepeval",
    "ragas": "ragas",
    "pydantic_evals": "pydantic-evals",
    "inspect_ai": "inspect-ai",
    "redraft": "redraft",
}
"""The distributions, by the name of the folder, which is that of the package."""
BESIDE = ("langgraph", "mcp>=2.3", "openai", "opentelemetry-sdk", "pandas", "pytest")
"""What the programs import besides."""
WITH = {
    "inspect_ai": ["inspect-ai", "pyarrow"],
    "ragas": ["ragas", "langchain-community<0.4"],  # 0.4.3 imports what langchain-community has given up
    "redraft": [f"{ROOT}[mcp,studio,telemetry]"],
}
WANTED = {
    "assert_in_test": "a test fails if a summary is not supported",
    "own_metric": "a metric in Python",
    "rubric": "a metric in one sentence",
    "sync_call": "judge once, without `await`",
    "graph_node": "judge as a node of a LangGraph graph",
    "review": "a person reviews over HTTP",
    "mcp_server": "an agent uses it over MCP",
    "batch": "two documents at once",
    "tracing": "spans for OpenTelemetry",
    "data_frame": "scores as a pandas DataFrame",
    "typed_errors": "a rejected key is told from other errors",
    "recorded_tests": "a second run without a model",
}


def lines(path: Path) -> int:
    """How many lines of code a program has."""
    code = (line.strip() for line in path.read_text("utf-8").splitlines())
    return sum(bool(line) and not line.startswith("#") for line in code)


def answer(seen: Seen) -> Reply:
    """Reply as a lenient judge; a model of this name rejects the key."""
    if seen.body["model"].endswith("no-such-key"):
        return Fault("status", status=401, message="Incorrect API key provided.")
    return judge(seen)


def cells(library: str, python: str, address: str) -> dict[str, str]:
    """A library's cells of the table: lines of code, marked if the program failed."""
    programs = [path for name in WANTED if (path := HERE / library / f"{name}.py").exists()]
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for name in ("document.txt", "other.txt"):
            (Path(folder) / name).write_text(island().text + f"\n\nThis is {name}.", "utf-8")
        (Path(folder) / "summary.txt").write_text(told(1, 2, 3), "utf-8")
        given = os.environ | {
            "OPENAI_API_KEY": "sk-test",
            "OPENAI_BASE_URL": address,
            "DEEPEVAL_TELEMETRY_OPT_OUT": "1",
            "RAGAS_DO_NOT_TRACK": "true",
            "PATH": f"{Path(python).parent}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT),
        }
        command = [python, str(HERE / "runner.py"), folder, *map(str, programs)]
        with subprocess.Popen(command, env=given, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as work:
            assert work.stdout is not None
            for line in work.stdout:
                told_of = json.loads(line)
                name, failed = told_of["program"], " (failed)" if told_of["code"] else ""
                found[name] = f"{lines(HERE / library / f'{name}.py')}{failed}"
                print(f"{library} {name}: {found[name]}\n{told_of['printed']}", file=sys.stderr, flush=True)
    return found


def is_installed(library: str, python: str) -> bool:
    """Whether an interpreter has a library."""
    return subprocess.run([python, "-c", f"import importlib.util as u; assert u.find_spec('{library}')"],
                          capture_output=True, env=os.environ | {"PYTHONPATH": str(ROOT)}).returncode == 0  # fmt: skip


def fresh(library: str, folder: Path) -> str:
    """Install a library in a new environment, with uv if there is one, and return its interpreter."""
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    python, uv = str(folder / "bin" / "python"), shutil.which("uv")
    install = [uv, "pip", "install", "--python", python] if uv else [python, "-m", "pip", "install"]
    wanted = WITH.get(library, [LIBRARIES[library]])
    print(f"installing {LIBRARIES[library]}", file=sys.stderr, flush=True)
    subprocess.run([*install, "--quiet", *wanted, *BESIDE], check=True, stderr=subprocess.DEVNULL)
    return python


def version(library: str, python: str) -> str:
    """The name and version of a library."""
    asked = f"from importlib.metadata import version; print(version('{LIBRARIES[library]}'))"
    said = subprocess.run([python, "-c", asked], capture_output=True, text=True, check=True)
    return f"{LIBRARIES[library]} {said.stdout.strip()}"


def main() -> None:
    """Print the table."""
    use_vocabulary()
    with ChatServer(answer) as server, tempfile.TemporaryDirectory() as folder:
        if "--fresh" in sys.argv[1:]:
            there = {name: fresh(name, Path(folder) / name) for name in LIBRARIES}
        else:
            there = {name: sys.executable for name in LIBRARIES if is_installed(name, sys.executable)}
        columns = {name: cells(name, python, server.base_url) for name, python in there.items()}
        print(", ".join(version(name, python) for name, python in there.items()), end="\n\n")
    print("| |", " | ".join(LIBRARIES[name] for name in columns), "|")
    print("|---|" + "---|" * len(columns))
    for name, wanted in WANTED.items():
        print(f"| {wanted} |", " | ".join(column.get(name, "—") for column in columns.values()), "|")


if __name__ == "__main__":
    main()
