#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Restarts a server whose listening sockets another process keeps, again and again, while clients connect.

    tests/crash/restart_rounds.py --pawl build/release/pawl --rounds 100 [--io uring]

This script stands for the service manager (sd_listen_fds(3)): it makes the sockets `http`, `binary` and `unix`, and hands them to
each server. 16 HTTP clients send each message on a connection of its own, and 4 more clients connect to the other two sockets. A
client that connects between two servers waits for the next one; none may be refused or reset, and what was acknowledged must be there.
"""

import argparse
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "clients"))
from pawl_server import scratch, start_handed  # noqa: E402

HTTP_CLIENTS, OTHER_CLIENTS, PATIENCE = 16, 4, 30


class Counts:
    def __init__(self):
        self.lock = threading.Lock()
        self.acknowledged, self.connected, self.faults = 0, 0, []

    def add(self, acknowledged=0, connected=0, fault=None):
        with self.lock:
            self.acknowledged += acknowledged
            self.connected += connected
            if fault is not None:
                self.faults.append(fault)


def http_client(address, stop, counts):
    form = b"Action=SendMessage&QueueUrl=http://localhost/000000000000/q&MessageBody=m"
    request = (b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\n"
               b"Connection: close\r\nContent-Length: %d\r\n\r\n%s" % (len(form), form))
    while not stop.is_set():
        try:
            with socket.create_connection(address, timeout=PATIENCE) as connection:
                connection.sendall(request)
                answer = b""
                while piece := connection.recv(65536):
                    answer += piece
            if not answer.startswith(b"HTTP/1.1 200 "):
                counts.add(fault=f"answer {answer[:80]!r}")
            else:
                counts.add(acknowledged=1, connected=1)
        except OSError as error:
            counts.add(fault=f"{type(error).__name__}: {error}")


def other_client(family, address, stop, counts):
    while not stop.is_set():
        try:
            with socket.socket(family, socket.SOCK_STREAM) as connection:
                connection.settimeout(PATIENCE)
                connection.connect(address)
            counts.add(connected=1)
        except BlockingIOError:
            pass  # the queue of the Unix socket is full: EAGAIN, not a refusal
        except OSError as error:
            counts.add(fault=f"{type(error).__name__}: {error}")
        time.sleep(0.002)


class Manager:
    """Keeps the sockets and starts servers with them."""

    def __init__(self, options, data):
        self.options, self.data = options, data
        self.path = f"/tmp/pawl-restart-{os.getpid()}.sock"  # paths of Unix sockets are short
        self.sockets = [socket.create_server(("127.0.0.1", 0), backlog=4096) for _ in range(2)]
        self.sockets[0].setblocking(False)  # as NonBlocking=yes
        local = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        local.bind(self.path)
        local.listen(4096)
        self.sockets.append(local)

    def start(self):
        self.process = start_handed([self.options.pawl, "serve", "--data", self.data, "--admin", "127.0.0.1:0", "--io", self.options.io],
                                    self.sockets, ("http", "binary", "unix"), stderr=subprocess.DEVNULL)
        return json.loads(self.process.stdout.readline())

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.stdout.close()
        return self.process.wait(PATIENCE)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pawl", default="build/release/pawl")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--io", default="auto")
    options = parser.parse_args()
    counts, stop = Counts(), threading.Event()
    with tempfile.TemporaryDirectory(prefix="pawl-restart-", dir=scratch()) as place:
        manager = Manager(options, os.path.join(place, "data"))
        ready = manager.start()
        address = ("127.0.0.1", manager.sockets[0].getsockname()[1])
        assert ready["http"].endswith(f":{address[1]}") and ready["unix"] == manager.path, ready
        subprocess.run([options.pawl, "bench", "send", "--binary", ready["binary"], "--create", "--queue", "q", "--messages", "1"],
                       capture_output=True, check=True, timeout=60)
        binary = manager.sockets[1].getsockname()
        clients = [threading.Thread(target=http_client, args=(address, stop, counts)) for _ in range(HTTP_CLIENTS)]
        clients += [threading.Thread(target=other_client, args=(family, at, stop, counts))
                    for family, at in ((socket.AF_INET, binary), (socket.AF_UNIX, manager.path)) for _ in range(OTHER_CLIENTS // 2)]
        for client in clients:
            client.start()
        for _ in range(options.rounds):
            time.sleep(0.1)
            if (code := manager.stop()) != 0:
                counts.add(fault=f"exit code {code}")
            manager.start()
        stop.set()
        for client in clients:
            client.join(PATIENCE)
        manager.stop()
        recovered = manager.start()["recovered_messages"]
        manager.stop()
        os.unlink(manager.path)
        if recovered < counts.acknowledged + 1:
            counts.add(fault=f"{counts.acknowledged + 1} acknowledged, {recovered} recovered")
    for fault in counts.faults[:20]:
        print(f"FAILED  {fault}")
    print(f"restarts with handed sockets: {options.rounds}, {counts.connected} connections, {counts.acknowledged} acknowledged, "
          f"{len(counts.faults)} faults")
    print("0 passed, 1 failed" if counts.faults else "1 passed, 0 failed")
    return 1 if counts.faults else 0


if __name__ == "__main__":
    sys.exit(main())
