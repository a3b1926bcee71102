#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""sqs-producer and sqs-consumer: they send empty lists at every poll and use message ids as batch entry ids."""

import json
import os
import subprocess
import unittest
import uuid

import javascript
from client import CALL_SECONDS, NotHere
from pawl_server import ServedTest, SignedPawl, main
from wire import Json

COUNT = 25


class Unsigned(ServedTest):
    @classmethod
    def setUpClass(cls):
        try:
            javascript.install()
        except NotHere as reason:
            raise unittest.SkipTest(str(reason)) from None
        super().setUpClass()

    def consume(self, suffix="", **attributes):
        sqs = Json(self.pawl)
        self.addCleanup(sqs.close)
        url = sqs.call("CreateQueue", QueueName="consumer-" + uuid.uuid4().hex + suffix, Attributes=attributes)["QueueUrl"]
        done = subprocess.run(["node", javascript.PLACE / "consumer.mjs", url, str(COUNT)], env=os.environ | self.pawl.environment(),
                              capture_output=True, text=True, timeout=CALL_SECONDS, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        got = json.loads(done.stdout)
        self.assertEqual((got["sent"], got["failures"], got["left"]), (COUNT, 1, 0))
        self.assertEqual([e for e in got["errors"] if "as the test wants it" not in e], [])
        wanted = [("fails once" if i == 3 else f"body {i}", f"k{i}") for i in range(COUNT)]
        handled = [(m["body"], m["kind"]) for m in got["handled"]]
        self.assertEqual(sorted(handled), sorted(wanted))
        return wanted, handled

    def test_every_message_is_handled_once_and_one_that_fails_comes_again(self):
        self.consume(VisibilityTimeout="20")

    def test_messages_of_a_fifo_queue_are_handled_too(self):
        self.consume(".fifo", FifoQueue="true", VisibilityTimeout="20")


class Signed(Unsigned):
    server = SignedPawl


if __name__ == "__main__":
    main()
