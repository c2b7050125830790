"""Starts ranks as Flux's shell does: flux_shell.py RANKS PROGRAM [ARGUMENT...]

It answers the lines of PMI-1 with Flux's limits and Flux's form of the answers (RFC 13 of the Flux framework), and sets
Flux's variables. As under `flux run`, all ranks end when one dies. Flux itself is in no package registry."""

import os
import selectors
import signal
import socket
import sys

NAME_MAX, KEY_MAX, VALUE_MAX = 64, 64, 1024
SPACE = "f8xWcT7Rw"


class Shell:
    def __init__(self, ranks, command):
        self.ranks, self.command = ranks, command
        self.values, self.waiting, self.left = {}, set(), {}
        self.links, self.rest = {}, {}
        self.code = 0

    def start(self):
        for rank in range(self.ranks):
            ours, theirs = socket.socketpair()
            theirs.set_inheritable(True)
            child = os.fork()
            if child == 0:
                flux = {"FLUX_JOB_ID": SPACE, "FLUX_JOB_SIZE": self.ranks, "FLUX_JOB_NNODES": 1, "FLUX_TASK_RANK": rank,
                        "FLUX_TASK_LOCAL_ID": rank, "FLUX_URI": "local:///nowhere", "PMI_RANK": rank,
                        "PMI_SIZE": self.ranks, "PMI_FD": theirs.fileno()}
                os.execvpe(self.command[0], self.command, {**os.environ, **{k: str(v) for k, v in flux.items()}})
            theirs.close()
            self.left[child] = rank
            self.links[rank], self.rest[rank] = ours, b""

    def answer(self, rank, text):
        self.links[rank].sendall(text.encode() + b"\n")

    def heard(self, rank, line):
        fields = dict(word.split("=", 1) for word in line.split(" ") if "=" in word)
        match fields.get("cmd"):
            case "init":
                self.answer(rank, "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0")
            case "get_maxes":
                self.answer(rank, f"cmd=maxes rc=0 kvsname_max={NAME_MAX} keylen_max={KEY_MAX} vallen_max={VALUE_MAX}")
            case "get_appnum":
                self.answer(rank, "cmd=appnum rc=0 appnum=0")
            case "get_my_kvsname":
                self.answer(rank, f"cmd=my_kvsname rc=0 kvsname={SPACE}")
            case "put":
                fits = fields["kvsname"] == SPACE and len(fields["key"]) < KEY_MAX and len(fields["value"]) < VALUE_MAX
                if fits:
                    self.values[fields["key"]] = fields["value"]
                self.answer(rank, f"cmd=put_result rc={0 if fits else -1}")
            case "get":
                value = self.values.get(fields["key"])
                self.answer(rank, "cmd=get_result rc=-1" if value is None else f"cmd=get_result rc=0 value={value}")
            case "barrier_in":
                self.waiting.add(rank)
                if len(self.waiting) == self.ranks:
                    for one in self.waiting:
                        self.answer(one, "cmd=barrier_out rc=0")
                    self.waiting = set()
            case "finalize":
                self.answer(rank, "cmd=finalize_ack rc=0")
            case "abort":
                self.code = int(fields.get("exitcode", "1"))
                self.end_all()
            case other:
                print(f"flux_shell: unknown command {other}", file=sys.stderr)
                self.answer(rank, f"cmd={other}_result rc=-1")

    def end_all(self):
        for child in self.left:
            os.kill(child, signal.SIGTERM)
            os.kill(child, signal.SIGKILL)

    def run(self):
        self.start()
        known = selectors.DefaultSelector()
        for rank, link in self.links.items():
            known.register(link, selectors.EVENT_READ, rank)
        while self.left:
            for key, _ in known.select(0.05):
                data = b""
                try:
                    data = key.fileobj.recv(4096)
                except ConnectionResetError:
                    pass
                if not data:
                    known.unregister(key.fileobj)
                    continue
                *lines, self.rest[key.data] = (self.rest[key.data] + data).split(b"\n")
                for line in lines:
                    self.heard(key.data, line.decode())
            while self.left:
                child, status = os.waitpid(-1, os.WNOHANG)
                if child == 0:
                    break
                del self.left[child]
                code = os.waitstatus_to_exitcode(status)
                if code != 0 and self.code == 0:
                    self.code = code if code > 0 else 128 - code
                    self.end_all()
        return self.code


if __name__ == "__main__":
    sys.exit(Shell(int(sys.argv[1]), sys.argv[2:]).run())
