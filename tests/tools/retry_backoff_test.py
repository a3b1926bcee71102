#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Messages that come back: x-retry-backoff and x-dead-letter-at."""

import json
import pathlib
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from dev_test import page  # noqa: E402
from peek_test import MOVED, Verbs  # noqa: E402

HOURS = json.dumps({"steps": ["1h", "5h"], "jitter": "none"}, separators=(",", ":"))


class RetryBackoff(Verbs):
    def receive(self, **more):
        (message,) = self.pawl.call("ReceiveMessage", QueueUrl="q", **more)["Messages"]
        return message["ReceiptHandle"]

    def returned(self):
        self.pawl.call("ChangeMessageVisibility", QueueUrl="q", ReceiptHandle=self.receive(), VisibilityTimeout=0)

    def test_page_can_be_followed(self):
        self.run_documented("RETRYING.md", 5)

    def test_a_returned_message_waits(self):
        self.pawl.call("CreateQueue", QueueName="q", Attributes={"x-retry-backoff": HOURS})
        self.pawl.call("SendMessage", QueueUrl="q", MessageBody="m")
        self.returned()
        self.assertRegex(self.verb("explain", "q", "1"), r"^It was received 1 time and came back: by x-retry-backoff or a time set for it, receives return it in "
                         r"(59|60) min\.")
        self.assertNotIn("Messages", self.pawl.call("ReceiveMessage", QueueUrl="q"))
        counts = self.pawl.call("GetQueueAttributes", QueueUrl="q", AttributeNames=["All"])["Attributes"]
        self.assertEqual((counts["ApproximateNumberOfMessagesDelayed"], counts["ApproximateNumberOfMessagesNotVisible"]), ("1", "0"))
        self.assertEqual(counts["x-retry-backoff"], HOURS)
        status, text = page("http://" + self.pawl.ready["admin"], "GET", "/metrics")
        self.assertEqual(status, 200)
        self.assertRegex(text, r"\npawl_global_messages_backed_off_total 1\n")

    def test_the_consumer_may_say_when(self):
        self.pawl.call("CreateQueue", QueueName="q", Attributes={"x-retry-backoff": HOURS})
        self.pawl.call("SendMessage", QueueUrl="q", MessageBody="m")
        handle = self.receive()
        self.pawl.call("ChangeMessageVisibility", QueueUrl="q", ReceiptHandle=handle, VisibilityTimeout=1)
        self.assertEqual(len(self.pawl.call("ReceiveMessage", QueueUrl="q", WaitTimeSeconds=20)["Messages"]), 1)

    def test_an_empty_value_removes_the_policy(self):
        self.pawl.call("CreateQueue", QueueName="q", Attributes={"x-retry-backoff": HOURS})
        self.verb("queue", "set", "q", "--set", "x-retry-backoff=")
        self.pawl.call("SendMessage", QueueUrl="q", MessageBody="m")
        self.returned()
        self.receive()

    def test_a_wrong_policy_is_named(self):
        self.pawl.call("CreateQueue", QueueName="q")
        for name, value, words in (("x-retry-backoff", '{"base":"soon"}', "base is soon; write a duration of 1ms to 30d, as 250ms"),
                                   ("x-retry-backoff", '{"bass":"1s"}', "Unknown member bass"),
                                   ("x-dead-letter-at", "later", "It is later; write one of receive, lease-end")):
            with self.subTest(value):
                self.assertIn(words, self.verb("queue", "set", "q", "--set", f"{name}={value}", code=1))

    def test_spent_messages_move_without_a_receive(self):
        self.pawl.call("CreateQueue", QueueName="dead")
        self.pawl.call("CreateQueue", QueueName="q", Attributes={"RedrivePolicy": MOVED, "x-dead-letter-at": "lease-end"})
        self.pawl.call("SendMessage", QueueUrl="q", MessageBody="m")
        self.receive(VisibilityTimeout=1)
        self.assertRegex(self.verb("explain", "q", "1"), r"That moves it to the dead-letter queue dead\.")
        end = time.monotonic() + 30
        while self.rows("q") and time.monotonic() < end:
            time.sleep(0.1)
        self.assertEqual([row["body"] for row in self.rows("dead")], ["m"])


if __name__ == "__main__":
    result = unittest.main(exit=False).result
    bad = len(result.failures) + len(result.errors)
    print(f"{max(result.testsRun - bad, 0)} passed, {bad} failed")
    sys.exit(1 if bad else 0)
