#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The delay from each event that wakes a long poll to the poll's response, over HTTP.

The milliseconds are printed; the test asserts only that the event itself wakes the poll, within a
second, and not a later check of the clock.
"""

import concurrent.futures
import time
import uuid

from pawl_server import ServedTest, main
from wire import Json

LATE_SECONDS = 5  # a poll that nobody wakes ends after 20
SETTLE_SECONDS = 0.2  # time for the long poll to begin waiting


class WakeUp(ServedTest):
    figures = []

    @classmethod
    def tearDownClass(cls):
        super().tearDownClass()
        print("", *cls.figures, sep="\n")

    def setUp(self):
        self.sqs, self.poller = Json(self.pawl), Json(self.pawl)
        self.pool = concurrent.futures.ThreadPoolExecutor(1)
        for done in (self.pool.shutdown, self.sqs.close, self.poller.close):
            self.addCleanup(done)

    def queue(self, suffix="", **attributes):
        return self.sqs.call("CreateQueue", QueueName="wake-" + uuid.uuid4().hex + suffix, Attributes=attributes)["QueueUrl"]

    def receive(self, url, **members):
        return self.sqs.call("ReceiveMessage", QueueUrl=url, **members).get("Messages", [])

    def poll(self, url):
        def wait():
            got = self.poller.call("ReceiveMessage", QueueUrl=url, WaitTimeSeconds=20)["Messages"]
            return time.monotonic(), got[0]["Body"]

        waiting = self.pool.submit(wait)
        time.sleep(SETTLE_SECONDS)
        return waiting

    def measure(self, event, times, once):
        """Measures the time between the two results of `once`: the event's time, and the poll."""
        late = []
        for _ in range(times):
            due, waiting = once()
            woken, body = waiting.result()
            self.assertEqual(body, "x")
            late.append((woken - due) * 1000)
        late.sort()
        self.figures.append(f"wake-up {event:19} {late[len(late) // 2]:7.2f} ms median, {late[-1]:7.2f} ms slowest of {times}")
        self.assertGreaterEqual(late[0], 0, "no time ends early")
        self.assertLess(late[-1], LATE_SECONDS * 1000)

    def clock(self, op, **members):
        """Calls an action; returns its start time and its response."""
        began = time.monotonic()
        return began, self.sqs.call(op, **members)

    def test_a_send_wakes(self):
        url = self.queue()

        def once():
            waiting = self.poll(url)
            return self.clock("SendMessage", QueueUrl=url, MessageBody="x")[0], waiting

        self.measure("send", 10, once)

    def test_the_end_of_a_delay_wakes(self):
        url = self.queue()

        def once():
            began, _ = self.clock("SendMessage", QueueUrl=url, MessageBody="x", DelaySeconds=1)
            return began + 1, self.poll(url)

        self.measure("delay end", 3, once)

    def test_the_end_of_a_visibility_timeout_wakes(self):
        def once():
            url = self.queue()
            self.sqs.call("SendMessage", QueueUrl=url, MessageBody="x")
            began, got = self.clock("ReceiveMessage", QueueUrl=url, VisibilityTimeout=1)
            self.assertEqual(len(got["Messages"]), 1)
            return began + 1, self.poll(url)

        self.measure("visibility end", 3, once)

    def test_a_visibility_of_0_wakes(self):
        def once():
            url = self.queue()
            self.sqs.call("SendMessage", QueueUrl=url, MessageBody="x")
            (message,) = self.receive(url)
            waiting = self.poll(url)
            return self.clock("ChangeMessageVisibility", QueueUrl=url, ReceiptHandle=message["ReceiptHandle"],
                              VisibilityTimeout=0)[0], waiting

        self.measure("visibility 0", 10, once)

    def dying(self):
        """A queue whose message the next receive moves to the dead-letter queue, and that queue."""
        target = self.queue()
        arn = self.pawl.arn(target)
        url = self.queue(RedrivePolicy=f'{{"deadLetterTargetArn":"{arn}","maxReceiveCount":1}}')
        self.sqs.call("SendMessage", QueueUrl=url, MessageBody="x")
        self.assertEqual(len(self.receive(url, VisibilityTimeout=0)), 1)
        return url, target

    def test_the_arrival_of_a_dead_letter_wakes(self):
        def once():
            url, target = self.dying()
            waiting = self.poll(target)
            began, got = self.clock("ReceiveMessage", QueueUrl=url)
            self.assertNotIn("Messages", got)
            return began, waiting

        self.measure("dead letter arrival", 10, once)

    def test_the_arrival_of_a_redriven_message_wakes(self):
        def once():
            url, target = self.dying()
            self.assertEqual(self.receive(url), [])
            waiting = self.poll(url)
            return self.clock("StartMessageMoveTask", SourceArn=self.pawl.arn(target))[0], waiting

        self.measure("redrive arrival", 10, once)

    def test_the_release_of_a_group_wakes(self):
        def once():
            url = self.queue(".fifo", FifoQueue="true")
            for body in ("first", "x"):
                self.sqs.call("SendMessage", QueueUrl=url, MessageBody=body, MessageGroupId="g", MessageDeduplicationId=body)
            (first,) = self.receive(url)
            waiting = self.poll(url)
            return self.clock("DeleteMessage", QueueUrl=url, ReceiptHandle=first["ReceiptHandle"])[0], waiting

        self.measure("FIFO group release", 10, once)


if __name__ == "__main__":
    main()
