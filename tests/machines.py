"""Several machines on one: each with a network address, a host name, processes and folders for temporary files of its
own, all behind one switch. What is installed they share, as machines do that are set up alike.

They are namespaces of the kernel, which only root may make, and they are gone with the process that has made them,
however that ends.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from shutil import which
from subprocess import DEVNULL, PIPE, STDOUT, Popen
from types import TracebackType
from typing import Any, Self

Process = Popen[bytes]
_NEEDED = ("unshare", "nsenter", "ip")
_PRIVATE = ("/tmp", "/dev/shm", "/run")
# What is installed is the same everywhere, also where it lies among what is not.
_COMMON = [
    str(path)
    for path in (Path(sys.prefix), Path(__file__).resolve().parent.parent)
    if any(path.is_relative_to(folder) for folder in _PRIVATE)
]
# Ends when its input does, and all that is at work on the machine with it.
_FIRST_PROCESS = """
import json, os, signal, socket, subprocess, sys
name, private, common = sys.argv[1], *map(json.loads, sys.argv[2:])
socket.sethostname(name)
kept = {path: os.open(path, os.O_RDONLY) for path in common}
for folder in private:
    subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=1777", "tmpfs", folder], check=True)
for path, file in kept.items():
    os.makedirs(path, exist_ok=True)
    subprocess.run(["mount", "-c", "--bind", f"/proc/self/fd/{file}", path], pass_fds=[file], check=True)
    os.close(file)
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
print(flush=True)
sys.stdin.read()
"""


def missing() -> str:
    """What there cannot be any machines for; empty where there can."""
    if sys.platform != "linux" or os.geteuid() != 0:
        return "machines of their own are namespaces, which only root can make, and only on Linux"
    absent = [name for name in _NEEDED if which(name) is None]
    if absent:
        return f"{', '.join(absent)} is not installed, by which machines of their own are made"
    tried = subprocess.run(
        ["unshare", "--net", "--pid", "--fork", "--mount", "ip", "link", "add", "x", "type", "bridge"],
        capture_output=True,
        text=True,
        check=False,
    )
    return f"machines of their own cannot be made here: {tried.stderr.strip()}" if tried.returncode else ""


class Machine:
    """One machine, as long as the network lasts or until it is switched off."""

    def __init__(self, network: Network, name: str, number: int) -> None:
        self.name = name
        self.address = f"10.77.0.{number}"
        self._network, self._cable = network, f"cable{number}"
        namespaces = ("--uts", "--ipc", "--mount", "--pid", "--mount-proc")
        self._holder = network.known(_unshared(*namespaces, first=(name, json.dumps(_PRIVATE), json.dumps(_COMMON))))
        self.pid = _child_of(self._holder.pid)
        network.plug(self, self._cable)

    def start(self, *command: str, **options: Any) -> Process:
        """Start a command on it, in its folder for temporary files; the options are those of `Popen`."""
        entering = ("nsenter", "-t", str(self.pid), "-n", "-u", "-i", "-m", "-p", "env", "-C", "/tmp")
        return self._network.known(Popen([*entering, *command], **options))

    def run(self, *command: str, **options: Any) -> str:
        """Run a command on it to its end; returns what it prints."""
        with self.start(*command, stdout=PIPE, stderr=STDOUT, stdin=DEVNULL, **options) as process:
            output = process.communicate()[0].decode("utf-8", "replace")
        if process.returncode:
            raise RuntimeError(f"{' '.join(command)} on {self.name}: {output}")
        return output

    def write(self, path: str, content: bytes) -> None:
        """Write a file that only this machine has."""
        with self.start("sh", "-c", f"mkdir -p {Path(path).parent} && cat > {path}", stdin=PIPE) as process:
            process.communicate(content)

    def read(self, path: str) -> bytes:
        """A file of this machine; empty where there is none."""
        with self.start("cat", path, stdout=PIPE, stderr=DEVNULL) as process:
            return process.communicate()[0]

    def unplug(self) -> None:
        """Pull its cable: it goes on working, and nobody hears of it any more."""
        self._network.switch("ip", "link", "set", self._cable, "down")

    def kill_all(self) -> None:
        """Kill all that is at work on it at once. The machine itself says so to whoever talks to it."""
        self.start("sh", "-c", "kill -9 -1").wait()

    def switch_off(self) -> None:
        """Have it gone, and nobody told."""
        self.unplug()
        self._holder.kill()
        self._holder.wait()


class Network:
    """A switch, and the machines behind it."""

    def __init__(self) -> None:
        self._machines: list[Machine] = []
        self._processes: list[Process] = []

    def __enter__(self) -> Self:
        self._holder = self.known(_unshared("--pid", first=("switch", "[]", "[]")))
        self.switch("ip", "link", "add", "middle", "type", "bridge")
        self.switch("ip", "link", "set", "middle", "up")
        return self

    def machine(self, name: str) -> Machine:
        """Another machine."""
        machine_ = Machine(self, name, len(self._machines) + 1)
        self._machines.append(machine_)
        return machine_

    def plug(self, machine: Machine, cable: str) -> None:
        """Lay a cable to a machine."""
        self.switch(*("ip", "link", "add", cable, "type", "veth", "peer", "name", "eth0", "netns", str(machine.pid)))
        self.switch("ip", "link", "set", cable, "master", "middle", "up")
        for options in (
            ("addr", "add", f"{machine.address}/24", "dev", "eth0"),
            ("link", "set", "eth0", "up"),
            ("link", "set", "lo", "up"),
        ):
            machine.start("ip", *options).wait()

    def known(self, process: Process) -> Process:
        """Have a process ended with the network."""
        self._processes.append(process)
        return process

    def switch(self, *command: str) -> None:
        """Say something to the switch."""
        subprocess.run(["nsenter", "-t", str(_child_of(self._holder.pid)), "-n", *command], check=True)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for process in self._processes:
            process.kill()
        for process in self._processes:
            process.wait()
            for pipe in (process.stdin, process.stdout, process.stderr):
                if pipe is not None:
                    pipe.close()


def _unshared(*namespaces: str, first: Sequence[str]) -> Process:
    """The first process of a machine, in namespaces of its own, when it has made itself at home there."""
    process = Popen(
        ["unshare", "--net", "--fork", "--kill-child", *namespaces, sys.executable, "-c", _FIRST_PROCESS, *first],
        stdin=PIPE,
        stdout=PIPE,
    )
    assert process.stdout is not None
    if not process.stdout.readline():
        raise RuntimeError(f"no machine {first[0]} could be made")
    return process


def _child_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/task/{pid}/children").read_text("utf-8").split()[0])
