#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Stops a busy server, again and again, and asks what its clients saw.

    tests/crash/stop_rounds.py --pawl build/release/pawl --rounds 10 [--io uring]

100 HTTP clients send on connections of their own, and 100 binary connections beside them, on TCP and on a Unix socket by turns.
The signal is SIGTERM, and SIGUSR2 in every third round. What was acknowledged must be there after the next start; no answer may be
cut or reset; the last answer of an HTTP connection says `Connection: close`; the stop takes less than 5 seconds and ends with code 0.
A connection that was closed cleanly before an answer began is counted, and no fault: its request was not begun, and every client may
send it again.
"""

import argparse
import json
import pathlib
import re
import select
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "clients"))
from pawl_server import Pawl  # noqa: E402

CLIENTS, LOAD_SECONDS, STOP_SECONDS = 100, 0.2, 5.0


def was_closed(connection):
    """As the pools of HTTP clients look before they use a connection again."""
    return bool(select.select([connection], [], [], 0)[0])


class HttpClient(threading.Thread):
    """Sends one message after the other until its connection ends."""

    def __init__(self, server, number):
        super().__init__(daemon=True)
        self.server, self.number = server, number
        self.acknowledged, self.fault, self.closed_before_answer, self.told = [], None, 0, False

    def request(self, body):
        form = f"Action=SendMessage&QueueUrl={self.server.url}/{self.server.account}/http&MessageBody={body}".encode()
        host = self.server.ready["http"]
        return (f"POST / HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/x-www-form-urlencoded\r\n"
                f"Content-Length: {len(form)}\r\n\r\n").encode() + form

    def answer(self, connection):
        """The head of a whole answer; "": closed cleanly before it began."""
        data = b""
        while b"\r\n\r\n" not in data:
            piece = connection.recv(65536)
            if not piece:
                if data:
                    raise ValueError(f"cut after {len(data)} bytes of the head")
                return ""
            data += piece
        head, _, body = data.partition(b"\r\n\r\n")
        length = next(int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:"))
        while len(body) < length:
            piece = connection.recv(65536)
            if not piece:
                raise ValueError(f"cut after {len(body)} of {length} bytes")
            body += piece
        return head.decode().lower()

    def run(self):
        host, port = self.server.ready["http"].rsplit(":", 1)
        try:
            with socket.create_connection((host, int(port)), timeout=30) as connection:
                for i in range(1_000_000):
                    body = f"{self.number}-{i}"
                    if was_closed(connection):
                        self.closed_before_answer = 1
                        return
                    connection.sendall(self.request(body))
                    head = self.answer(connection)
                    if not head:
                        self.closed_before_answer = 1
                        return
                    if " 200 " in head.split("\r\n")[0]:
                        self.acknowledged.append(body)
                    if "connection: close" in head:
                        self.told = True
                        return
        except (OSError, ValueError) as error:
            self.fault = f"{type(error).__name__}: {error}"


def await_clients(server):
    """Until all connections are open, also on a busy machine; pawl counts them once a second."""
    for _ in range(300):
        with urllib.request.urlopen(f"http://{server.ready['admin']}/metrics", timeout=10) as answer:
            counts = re.findall(r'^pawl_connections\{shard="\d+"\} (\d+)$', answer.read().decode(), re.MULTILINE)
        if sum(map(int, counts)) >= 2 * CLIENTS:
            return
        time.sleep(0.1)
    raise RuntimeError("the clients did not connect")


def stop_once(binary, extra, number):
    """(acknowledged, faults, closed before an answer, told to close, seconds)"""
    path = f"/tmp/pawl-stop-{number}-{time.monotonic_ns()}.sock"
    with Pawl(binary, extra=[*extra, "--unix", path]) as server:
        address = path if number % 2 else server.ready["binary"]
        subprocess.run([server.binary, "bench", "send", "--binary", address, "--create", "--queue", "http", "--messages", "1"],
                       capture_output=True, check=True, timeout=60)
        load = subprocess.Popen([server.binary, "bench", "send", "--binary", address, "--create", "--queue", "binary",
                                 "--connections", str(CLIENTS), "--seconds", "30", "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        clients = [HttpClient(server, number) for number in range(CLIENTS)]
        for client in clients:
            client.start()
        await_clients(server)
        time.sleep(LOAD_SECONDS)
        begun = time.monotonic()
        server.process.send_signal(signal.SIGUSR2 if number % 3 == 2 else signal.SIGTERM)
        code = server.process.wait(30)
        seconds = time.monotonic() - begun
        for client in clients:
            client.join(30)
        out, errors = load.communicate(timeout=60)
        acknowledged = 1 + sum(len(client.acknowledged) for client in clients)
        acknowledged += json.loads(out)["messages"] if out.startswith("{") else 0
        faults = [f"client {client.number}: {client.fault}" for client in clients if client.fault]
        if "the server closed a connection" not in errors:
            faults.append(f"binary clients: {errors[-300:]}")
        if code != 0:
            faults.append(f"exit code {code}")
        if seconds > STOP_SECONDS:
            faults.append(f"the stop took {seconds:.1f} s")
        if pathlib.Path(path).exists():
            faults.append(f"{path} is left")
        with Pawl(binary, data=server.data) as again:
            if again.ready["recovered_messages"] < acknowledged:
                faults.append(f"{acknowledged} acknowledged, {again.ready['recovered_messages']} recovered")
        closed = sum(client.closed_before_answer for client in clients)
        return acknowledged, faults, closed, sum(client.told for client in clients), seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pawl", default="build/release/pawl")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--io", default="auto")
    options = parser.parse_args()
    total = closed_before = told_to_close = 0
    slowest, wrong = 0.0, []
    for i in range(options.rounds):
        acknowledged, faults, closed, told, seconds = stop_once(options.pawl, ["--io", options.io], i)
        total, closed_before, told_to_close, slowest = total + acknowledged, closed_before + closed, told_to_close + told, max(slowest, seconds)
        wrong += [f"round {i}: {fault}" for fault in faults]
    for fault in wrong:
        print(f"FAILED  {fault}")
    print(f"stops under load: {options.rounds} rounds, {total} acknowledged, {len(wrong)} faults, {told_to_close} connections told to close, "
          f"{closed_before} closed before an answer, longest stop {slowest:.2f} s")
    print(f"{options.rounds - len({fault.split(':')[0] for fault in wrong})} passed, {len({fault.split(':')[0] for fault in wrong})} failed")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
