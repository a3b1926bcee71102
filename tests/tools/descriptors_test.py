#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A log with more segments than the process may have descriptors: it is written, read, emptied, and read at a startup."""

import contextlib
import json
import os
import pathlib
import random
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "clients"))
from pawl_server import Pawl, main  # noqa: E402
import pawl_server  # noqa: E402
from wal_fixture import call, new_data  # noqa: E402

DESCRIPTORS = 100
LOGS = 8  # descriptors for segments and manifests
SEGMENT = 4 << 20
SEGMENTS = 60
BODY = 250_000
KEPT = 0.1  # of the messages, the newest


class LimitedPawl(Pawl):
    def command(self):
        return ["bash", "-c", f'ulimit -n {DESCRIPTORS}; exec "$0" "$@"', *super().command()]


class Descriptors(pawl_server.ServedTest):
    @classmethod
    def setUpClass(cls):
        pass

    @classmethod
    def tearDownClass(cls):
        pass

    def setUp(self):
        self.data = new_data(SEGMENT, 1)
        self.start()
        self.addCleanup(lambda: self.pawl.remove_data())
        self.url = call(self.pawl, "CreateQueue", QueueName="q", Attributes={"VisibilityTimeout": "600"})["QueueUrl"]
        self.count = SEGMENTS * SEGMENT // BODY

    def start(self):
        self.pawl = LimitedPawl(self.binary, data=self.data, extra=["--memory", "64MiB"]).start()
        self.addCleanup(lambda pawl=self.pawl: pawl.process.poll() is None and pawl.kill())

    def segments(self):
        return len(list(pathlib.Path(self.data, "s00").glob("*.seg")))

    def open_logs(self):
        links = []
        for link in pathlib.Path(f"/proc/{self.pawl.process.pid}/fd").iterdir():
            with contextlib.suppress(FileNotFoundError):  # closed meanwhile
                links.append(os.readlink(link))
        return sum("/s00/" in link for link in links)

    def look(self):
        self.assertLessEqual(self.open_logs(), LOGS)
        self.assertNotRegex(self.pawl.errors(), "(?i)damaged|unreadable|cannot")

    def body(self, number):
        return f"{number} ".ljust(BODY, "x")

    def fill(self):
        for number in range(self.count):
            sent = call(self.pawl, "SendMessage", QueueUrl=self.url, MessageBody=self.body(number))
            self.assertIn("MessageId", sent)
        self.assertGreaterEqual(self.segments(), SEGMENTS)
        self.look()

    def receive_all(self, numbers):
        """Each once, whole; the handles by number."""
        handles = {}
        while len(handles) < len(numbers):
            messages = call(self.pawl, "ReceiveMessage", QueueUrl=self.url, MaxNumberOfMessages=10).get("Messages")
            self.assertTrue(messages, f"{len(handles)} of {len(numbers)} came")
            for message in messages:
                number = int(message["Body"].split()[0])
                self.assertEqual(message["Body"], self.body(number))
                handles[number] = message["ReceiptHandle"]
        self.assertEqual(set(handles), set(numbers))
        self.look()
        return handles

    def release(self, handles):
        for handle in handles.values():
            self.assertEqual(call(self.pawl, "ChangeMessageVisibility", QueueUrl=self.url, ReceiptHandle=handle,
                                  VisibilityTimeout=0), {})
        time.sleep(1)  # it is not on the disk when it is answered

    def delete(self, handles):
        for handle in handles:
            self.assertEqual(call(self.pawl, "DeleteMessage", QueueUrl=self.url, ReceiptHandle=handle), {})

    def test_a_backlog_outlives_starts_and_drains(self):
        self.fill()
        self.assertEqual(self.pawl.stop(), 0)
        self.start()
        handles = self.receive_all(range(self.count))
        self.release(handles)
        self.pawl.kill()
        self.start()
        handles = self.receive_all(range(self.count))
        # Segments in which nothing is left are used again under new names.
        least = int(self.count * (1 - KEPT))
        kept = {number: handle for number, handle in handles.items() if number >= least}
        gone = [handle for number, handle in handles.items() if number < least]
        random.Random(1).shuffle(gone)
        self.delete(gone)
        self.release(kept)
        before = self.segments()
        for number in range(self.count, self.count + self.count // 2):
            call(self.pawl, "SendMessage", QueueUrl=self.url, MessageBody=self.body(number))
        self.assertLess(self.segments(), before + SEGMENTS // 2, "none was used again")
        self.pawl.kill()
        self.start()
        left = [*kept, *range(self.count, self.count + self.count // 2)]
        self.delete(self.receive_all(left).values())
        counts = call(self.pawl, "GetQueueAttributes", QueueUrl=self.url, AttributeNames=["All"])["Attributes"]
        self.assertEqual([value for name, value in counts.items() if name.startswith("ApproximateNumber")], ["0"] * 3,
                         json.dumps(counts))
        self.look()
        self.assertEqual(self.pawl.stop(), 0)


if __name__ == "__main__":
    main()
