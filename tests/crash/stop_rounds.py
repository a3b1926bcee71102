#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Stops a busy server with SIGTERM, again and again, and asks what its clients saw.

    tests/crash/stop_rounds.py --pawl build/release/pawl --rounds 10 [--io uring]

100 HTTP clients send on connections of their own, and 100 binary connections beside them. What was acknowledged must be there after
the next start; no answer may be cut or reset; the last answer of a connection says `Connection: close`; the stop takes less than
5 seconds and ends with code 0. A connection that was closed cleanly before an answer began is counted, and no fault: its request was
not begun, and every client may send it again.

No stage of tools/check runs it yet: in 2 to 4 of 100 stops the connections of one shard are reset, when the answers of a turn leave
just before the stop begins and the next requests cross the close.
"""

import argparse
import json
import pathlib
import select
import socket
import subprocess
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "clients"))
from pawl_server import Pawl  # noqa: E402

CLIENTS, LOAD_SECONDS, STOP_SECONDS = 100, 0.7, 5.0


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


def stop_once(binary, extra):
    """(acknowledged, faults, closed before an answer, told to close, seconds)"""
    with Pawl(binary, extra=extra) as server:
        subprocess.run([server.binary, "bench", "send", "--binary", server.ready["binary"], "--create", "--queue", "http", "--messages", "1"],
                       capture_output=True, check=True, timeout=60)
        load = subprocess.Popen([server.binary, "bench", "send", "--binary", server.ready["binary"], "--create", "--queue", "binary",
                                 "--connections", str(CLIENTS), "--seconds", "30", "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        clients = [HttpClient(server, number) for number in range(CLIENTS)]
        for client in clients:
            client.start()
        time.sleep(LOAD_SECONDS)
        begun = time.monotonic()
        code = server.stop()
        seconds = time.monotonic() - begun
        for client in clients:
            client.join(30)
        out, _ = load.communicate(timeout=60)
        acknowledged = 1 + sum(len(client.acknowledged) for client in clients)
        acknowledged += json.loads(out)["messages"] if out.startswith("{") else 0
        faults = [f"client {client.number}: {client.fault}" for client in clients if client.fault]
        if code != 0:
            faults.append(f"exit code {code}")
        if seconds > STOP_SECONDS:
            faults.append(f"the stop took {seconds:.1f} s")
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
        acknowledged, faults, closed, told, seconds = stop_once(options.pawl, ["--io", options.io])
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
