#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""An old segment of the log is lost: the startup says so, health says so, and healthy messages are received at once."""

import http.client
import os
import pathlib
import re
import subprocess
import sys
import threading
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "clients"))
from pawl_server import Pawl  # noqa: E402
from wal_fixture import call  # noqa: E402

PAWL = str(pathlib.Path(sys.argv.pop(1) if len(sys.argv) > 1 else "build/release/pawl").resolve())
MESSAGES = 240
BODY = "m" * 1_000_000
FLAGS = ["--memory", "256MiB", "--log-format", "json"]
SEGMENT = "000000000001.seg"  # behind the checkpoint by then
LOOKS = 200


def probe(server, path):
    connection = http.client.HTTPConnection(server.ready["admin"], timeout=10)
    connection.request("GET", path)
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, text


class Unreadable(unittest.TestCase):
    def setUp(self):
        server = Pawl(PAWL, extra=["--shards", "1", *FLAGS]).start()
        self.addCleanup(server.remove_data)
        self.data = server.data
        self.queue = call(server, "CreateQueue", QueueName="q")["QueueUrl"]
        for number in range(MESSAGES):
            self.assertIn("MessageId", call(server, "SendMessage", QueueUrl=self.queue, MessageBody=f"{number} {BODY}"))
        self.assertEqual(server.stop(), 0)
        path = os.path.join(self.data, "s00", SEGMENT)
        size = os.path.getsize(path)
        with open(path, "r+b") as file:
            file.write(bytes(size))
        verified = subprocess.run([PAWL, "wal", "verify", self.data], capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(verified.returncode, 4, verified)
        self.lost = int(re.search(rf"{SEGMENT} is missing or damaged: (\d+) messages", verified.stderr)[1])

    def start(self):
        server = Pawl(PAWL, data=self.data, extra=FLAGS).start()
        self.addCleanup(lambda: server.process.poll() is None and server.kill())
        return server

    def wait_for(self, what, said=str):
        for _ in range(LOOKS):
            if what():
                return
            time.sleep(0.05)
        self.fail("in vain: " + said())

    def drain(self, server):
        """Receives and deletes without waiting until an answer is empty."""
        bodies = []
        receive = {"QueueUrl": self.queue, "MaxNumberOfMessages": 10, "VisibilityTimeout": 0}
        while messages := call(server, "ReceiveMessage", **receive).get("Messages"):
            for message in messages:
                bodies.append(message["Body"])
                call(server, "DeleteMessage", QueueUrl=self.queue, ReceiptHandle=message["ReceiptHandle"])
        return bodies

    def test_it_is_reported_passed_over_and_set_aside_by_repair(self):
        server = self.start()
        self.assertRegex(server.errors(), f'"code":"segment_header_damaged".*shard 0: the header of segment {SEGMENT} is damaged.*pawl wal repair')
        status, text = probe(server, "/healthz")
        self.assertEqual(status, 503, text)
        self.assertIn("pawl wal repair", text)
        self.assertEqual(probe(server, "/readyz")[0], 200)
        bodies = self.drain(server)
        self.assertEqual(len(set(bodies)), MESSAGES - self.lost, "one empty answer hides the messages behind")
        self.wait_for(lambda: re.search(r'"code":"message_unreadable".*sequence number \d+ of queue q', server.errors()))
        self.wait_for(lambda: f'pawl_shard_messages_set_aside_total{{shard="0"}} {self.lost}\n' in probe(server, "/metrics")[1])
        self.assertEqual(server.stop(), 0)

        # Only unreadable messages are left, and this startup tries them again: a long poll goes on
        # behind them.
        server = self.start()
        answer = {}

        def poll():
            answer.update(call(server, "ReceiveMessage", QueueUrl=self.queue, WaitTimeSeconds=20, MaxNumberOfMessages=10))

        poller = threading.Thread(target=poll)
        poller.start()
        self.wait_for(lambda: f'pawl_shard_messages_set_aside_total{{shard="0"}} {self.lost}\n' in probe(server, "/metrics")[1]
                      or not poller.is_alive(), lambda: server.errors() + probe(server, "/metrics")[1])
        call(server, "SendMessage", QueueUrl=self.queue, MessageBody="fresh")
        poller.join(30)
        self.assertEqual([message["Body"] for message in answer.get("Messages", [])], ["fresh"])
        self.assertEqual(server.stop(), 0)

        repaired = subprocess.run([PAWL, "wal", "repair", "--data", self.data, "--apply"], capture_output=True, text=True,
                                  timeout=60, check=False)
        self.assertEqual(repaired.returncode, 0, repaired)
        server = self.start()
        self.assertEqual(probe(server, "/healthz"), (200, "ok\n"))
        self.assertEqual(server.stop(), 0)


if __name__ == "__main__":
    result = unittest.main(exit=False).result
    bad = len(result.failures) + len(result.errors)
    print(f"{max(result.testsRun - bad, 0)} passed, {bad} failed")
    sys.exit(1 if bad else 0)
