#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Floods of connections: resident memory during each and behind it, beside --memory and the server's own account."""

import http.client
import json
import pathlib
import re
import socket
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "clients"))
from pawl_server import Pawl, main  # noqa: E402
import pawl_server  # noqa: E402
from wal_fixture import call  # noqa: E402

MEMORY = 256 << 20
LIMIT = MEMORY * 12 // 10 + (64 << 20)
CLIENTS = 200
BODY = 100 << 10


def connect(pawl):
    host, port = pawl.ready["http"].rsplit(":", 1)
    return socket.create_connection((host, int(port)), timeout=30)


def request(action, document, length=None):
    body = json.dumps(document).encode()
    head = (f"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Amz-Target: AmazonSQS.{action}\r\n"
            f"Content-Type: application/x-amz-json-1.0\r\nContent-Length: {length or len(body)}\r\n\r\n")
    return head.encode() + body


def answer(connection):
    """(status, body), or None when the connection ends before the answer does."""
    response = http.client.HTTPResponse(connection)
    try:
        response.begin()
        return response.status, response.read()
    except (http.client.HTTPException, OSError):
        return None


class Floods(pawl_server.ServedTest):
    @classmethod
    def setUpClass(cls):
        cls.pawl = Pawl(cls.binary, extra=["--shards", "1", "--memory", "256MiB"]).start()
        cls.url = call(cls.pawl, "CreateQueue", QueueName="flood")["QueueUrl"]

    def setUp(self):
        self.connections = []
        self.addCleanup(lambda: [connection.close() for connection in self.connections])

    def resident(self):
        status = pathlib.Path(f"/proc/{self.pawl.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", status).group(1)) << 10

    def account(self):
        connection = http.client.HTTPConnection(self.pawl.ready["admin"])
        connection.request("GET", "/metrics")
        text = connection.getresponse().read().decode()
        connection.close()
        return sum(float(value) for value in re.findall(r"(?m)^pawl_memory_bytes\{[^}]*\} (\S+)$", text))

    def open_all(self, count=CLIENTS):
        self.connections += [connect(self.pawl) for _ in range(count)]

    def judge(self, flood, peak):
        """Five seconds later what nobody needs has been freed."""
        time.sleep(5)
        behind = self.resident()
        print(f"flood {flood}: peak {peak >> 20} MiB, 5 s later {behind >> 20} MiB, account {int(self.account()) >> 20} MiB, "
              f"limit {LIMIT >> 20} MiB")
        self.assertLessEqual(max(peak, behind), LIMIT)

    def idle_alive(self):
        """Connections that the server has not closed."""
        alive = 0
        for connection in self.connections:
            connection.setblocking(False)
            try:
                alive += connection.recv(1) != b""
            except BlockingIOError:
                alive += 1
            connection.setblocking(True)
        return alive

    def test_many_idle_connections(self):
        self.open_all(1000)
        for connection in self.connections:
            connection.sendall(request("ListQueues", {}))
        self.assertEqual({answer(connection)[0] for connection in self.connections}, {200})
        self.judge("of idle connections", self.resident())
        self.assertEqual(self.idle_alive(), 1000)

    def test_many_that_received_a_large_answer_once(self):
        """None is closed, and no answer is cut off."""
        entries = [{"Id": str(i), "MessageBody": "x" * BODY} for i in range(10)]
        for _ in range(CLIENTS // 10):  # visibility 0: the same messages for everybody
            for entry in entries:
                call(self.pawl, "SendMessage", QueueUrl=self.url, MessageBody=entry["MessageBody"])
        self.open_all()
        peak, cut, received = 0, 0, 0
        for connection in self.connections:
            connection.sendall(request("ReceiveMessage", {"QueueUrl": self.url, "MaxNumberOfMessages": 10, "VisibilityTimeout": 0}))
            got = answer(connection)
            cut += got is None
            received += len(json.loads(got[1]).get("Messages", [])) if got else 0
            peak = max(peak, self.resident())
        self.assertEqual(cut, 0)
        self.assertGreaterEqual(received, CLIENTS)
        self.judge("of large answers", peak)
        self.assertEqual(self.idle_alive(), CLIENTS)
        call(self.pawl, "PurgeQueue", QueueUrl=self.url)

    def test_many_half_sent_bodies(self):
        self.open_all()
        peak = 0
        for connection in self.connections:
            half = request("SendMessage", {"QueueUrl": self.url, "MessageBody": "x" * (960 << 10)}, length=1 << 20)
            try:
                connection.sendall(half)
            except OSError:
                pass  # one that holds most is closed when all together hold too much
            peak = max(peak, self.resident())
        self.judge("of half-sent bodies", peak)

    def test_many_refused_large_requests(self):
        self.open_all(300)
        peak = 0
        large = request("SendMessage", {"QueueUrl": self.url, "MessageBody": "x" * 8_200_000})
        for connection in self.connections:
            try:
                connection.sendall(large)
            except OSError:
                pass  # refused by its head
            peak = max(peak, self.resident())
        self.judge("of refused large requests", peak)


if __name__ == "__main__":
    main()
