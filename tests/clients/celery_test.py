#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Debian's Celery with kombu's SQS transport: Query in two dialects, one on the queue's path."""

import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

from client import first_here
from pawl_server import HERE, ServedTest, SignedPawl, main, scratch
from wire import Json

FORWARDS_DELAYS = "import inspect, sys, kombu.transport.SQS as sqs; sys.exit('DelaySeconds' not in inspect.getsource(sqs))"
DAY = 86400
TASKS = 30
PATIENCE_SECONDS = 30


class Unsigned(ServedTest):
    @classmethod
    def setUpClass(cls):
        if not first_here([("/usr/bin/python3", "-c", "import celery, pycurl, boto3, kombu.transport.SQS")]):
            raise unittest.SkipTest("Debian's celery, python3-pycurl and python3-boto3 are not all installed")
        super().setUpClass()
        cls.results = pathlib.Path(tempfile.mkdtemp(prefix="celery-", dir=scratch()))
        cls.environment = os.environ | cls.pawl.environment() | {"PAWL_CELERY_RESULTS": str(cls.results), "PYTHONPATH": str(HERE)}
        cls.log = open(cls.results / "worker.log", "w+")
        cls.worker = subprocess.Popen(
            ["/usr/bin/python3", "-m", "celery", "-A", "celery_app", "worker", "--concurrency", "2", "--pool", "threads",
             "--without-gossip", "--without-mingle", "--without-heartbeat", "--loglevel", "INFO"],
            env=cls.environment, cwd=cls.results, stdin=subprocess.DEVNULL, stdout=cls.log, stderr=subprocess.STDOUT)

    @classmethod
    def tearDownClass(cls):
        cls.worker.send_signal(signal.SIGTERM)
        try:
            cls.worker.wait(PATIENCE_SECONDS)
        finally:
            if cls.worker.poll() is None:
                cls.worker.kill()
                cls.worker.wait()
        cls.log.close()
        super().tearDownClass()
        shutil.rmtree(cls.results)

    def said(self):
        return pathlib.Path(self.log.name).read_text()[-4000:]

    def caller(self, code):
        """Runs `code` in a program that has imported the application; returns its output."""
        done = subprocess.run(["/usr/bin/python3", "-c", "from celery_app import *\n" + code], env=self.environment,
                              cwd=self.results, capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 0, done.stderr + self.said())
        return done.stdout.strip()

    def test_tasks_are_done_and_their_messages_gone(self):
        wanted = [i * 3 for i in range(TASKS)]
        got = self.caller(f"print([r.get(timeout=30) for r in [add.delay(i, 2 * i) for i in range({TASKS})]])")
        self.assertEqual(got, str(wanted))
        self.wait_empty()

    def test_a_task_is_retried_until_it_succeeds(self):
        self.assertEqual(self.caller("print(third_time_lucky.delay().get(timeout=30))"), "2")

    def test_a_task_that_fails_reports_its_exception_and_is_not_run_again(self):
        self.assertEqual(self.caller("print(repr(fails.delay().get(timeout=30, propagate=False)))"),
                         "ValueError('as the test wants it')")
        self.wait_empty()

    def test_a_task_waits_for_a_day_in_the_queue(self):
        if not first_here([("/usr/bin/python3", "-c", FORWARDS_DELAYS)]):
            self.skipTest("this kombu does not forward DelaySeconds")
        sqs, url = self.queue()
        sqs.call("SetQueueAttributes", QueueUrl=url, Attributes={"x-max-delay": "2d"})
        self.caller(f"add.apply_async((1, 2), DelaySeconds={DAY})")
        got = sqs.call("GetQueueAttributes", QueueUrl=url, AttributeNames=["ApproximateNumberOfMessagesDelayed"])
        self.assertEqual(got["Attributes"], {"ApproximateNumberOfMessagesDelayed": "1"})
        sqs.call("PurgeQueue", QueueUrl=url)

    def queue(self):
        sqs = Json(self.pawl)
        self.addCleanup(sqs.close)
        return sqs, sqs.call("GetQueueUrl", QueueName="celery")["QueueUrl"]

    def wait_empty(self):
        sqs, url = self.queue()
        kinds = ["ApproximateNumberOfMessages" + kind for kind in ("", "NotVisible", "Delayed")]
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            depths = sqs.call("GetQueueAttributes", QueueUrl=url, AttributeNames=kinds)["Attributes"]
            if set(depths.values()) == {"0"}:
                return
            self.assertLess(time.monotonic(), deadline, f"{depths} {self.said()}")
            time.sleep(0.1)


class Signed(Unsigned):
    server = SignedPawl


if __name__ == "__main__":
    main()
