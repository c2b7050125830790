"""Hosts of network namespaces on one machine, joined by a bridge, at a chosen rate. Needs root, `ip` and `tc`.

`ftmpiexec` reaches them by a command that stands for ssh. The first host has the launcher; then come those of ranks and those of servers."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

# Hosts for ranks, and for servers, beside the launcher's.
HOSTS, SERVERS = 4, 4
SUBNETS = {"": "10.77.34", "100mbit": "10.77.33"}


def checked(*words: str) -> None:
    subprocess.run(words, check=True, capture_output=True, text=True)


class Network:
    """The hosts. `rate`: of each link in each direction, such as `100mbit`; empty: no limit."""

    def __init__(self, folder: Path, rate: str):
        self.folder, self.rate, self.count = folder, rate, 1 + HOSTS + SERVERS
        self.tag = f"fig{os.getpid()}{'s' if rate else 'f'}"
        if os.geteuid() != 0:
            raise OSError("not root")
        for tool in ("ip", "tc"):
            if not shutil.which(tool):
                raise OSError(f"no {tool} (package iproute2)")
        folder.mkdir(parents=True, exist_ok=True)
        try:
            self.make()
        except BaseException:
            self.remove()
            raise

    def space(self, number: int | str) -> str:
        return f"{self.tag}-{number}"

    def address(self, number: int) -> str:
        return f"{SUBNETS[self.rate]}.{number + 1}"

    def inside(self, number: int) -> list[str]:
        return ["ip", "netns", "exec", self.space(number)]

    def make(self) -> None:
        bridge = self.space("bridge")
        checked("ip", "netns", "add", bridge)
        checked("ip", "-n", bridge, "link", "add", "br0", "type", "bridge")
        checked("ip", "-n", bridge, "link", "set", "br0", "up")
        lines = ["#!/bin/sh", "# HOST COMMAND...: runs a command on a host, as ssh does.", "host=$1", "shift",
                 "case $host in"]
        for number in range(self.count):
            space, port = self.space(number), f"port{number}"
            checked("ip", "netns", "add", space)
            checked("ip", "-n", space, "link", "add", "eth0", "type", "veth", "peer", "name", port, "netns", bridge)
            checked("ip", "-n", bridge, "link", "set", port, "master", "br0", "up")
            checked("ip", "-n", space, "addr", "add", f"{self.address(number)}/24", "dev", "eth0")
            checked("ip", "-n", space, "link", "set", "eth0", "up")
            checked("ip", "-n", space, "link", "set", "lo", "up")
            if self.rate:
                for where, device in ((space, "eth0"), (bridge, port)):
                    checked("tc", "-n", where, "qdisc", "add", "dev", device, "root", "tbf", "rate", self.rate,
                            "burst", "16kb", "latency", "200ms")
            lines.append(f"{self.address(number)}) space={space} ;;")
        lines += ["*) echo \"no host $host\" >&2; exit 255 ;;", "esac", "exec ip netns exec \"$space\" sh -c \"$*\""]
        self.rsh = self.folder / "rsh"
        self.rsh.write_text("\n".join(lines) + "\n")
        self.rsh.chmod(0o755)

    def options(self, ranks: int, servers: int, folder: Path) -> list[str]:
        """The options of a job whose ranks are spread over the hosts, with so many checkpoint servers, each on a host of
        its own. The event logger is on the host of the first."""
        hosts = min(ranks, HOSTS)
        slots = -(-ranks // hosts)
        lines = [f"{self.address(1 + number)}:{slots}" for number in range(hosts)]
        for number in range(servers):
            own = ",".join(str(rank) for rank in range(ranks) if rank % servers == number)
            lines.append(f"{self.address(1 + HOSTS + number)}:0 checkpoint-server={own}{'' if number else ' event-logger'}")
        (folder / "hosts").write_text("\n".join(lines) + "\n")
        return ["-f", "hosts", "--launcher", "ssh", "--rsh", str(self.rsh)]

    def remove(self) -> None:
        for name in [*range(self.count), "bridge"]:
            subprocess.run(["ip", "netns", "del", self.space(name)], capture_output=True)
