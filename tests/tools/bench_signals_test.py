#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Signals to `pawl bench`: the first one ends the measurement and prints it, the second one ends the program."""

import contextlib
import json
import pathlib
import re
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "clients"))
from pawl_server import Pawl  # noqa: E402
from wal_fixture import call  # noqa: E402

PAWL = str(pathlib.Path(sys.argv.pop(1) if len(sys.argv) > 1 else "build/release/pawl").resolve())
PATIENCE = 60  # seconds, until a test fails


def heed_signals():
    """Background jobs of a shell ignore SIGINT, and so would the program."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)


class BenchSignals(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Pawl(PAWL)
        cls.server.start()

    @classmethod
    def tearDownClass(cls):
        cls.server.kill()
        cls.server.remove_data()

    def url(self, queue):
        return f"{self.server.url}/000000000000/{queue}"

    def messages(self, queue):
        """The number of messages; None: there is no such queue."""
        answer = call(self.server, "GetQueueAttributes", QueueUrl=self.url(queue), AttributeNames=["ApproximateNumberOfMessages"])
        return int(answer["Attributes"]["ApproximateNumberOfMessages"]) if "Attributes" in answer else None

    @contextlib.contextmanager
    def stopped_server(self, process):
        """The server sends nothing more, and the load waits for responses: a second passed without any."""
        self.server.process.send_signal(signal.SIGSTOP)
        try:
            for line in process.stderr:
                if re.match(r" +[0-9]+ +0 msg/s", line):
                    break
            yield
        finally:
            self.server.process.send_signal(signal.SIGCONT)

    @contextlib.contextmanager
    def bench(self, *words):
        """A load that lasts until a signal."""
        with subprocess.Popen([PAWL, "bench", *words, "--create", "--seconds", "3600", "--json"], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=heed_signals) as process:
            try:
                yield process
            finally:
                process.kill()

    def test_the_first_signal_prints_the_figures_and_cleans_up(self):
        endpoints = {"http": ("send", "--url", self.url("http")), "binary": ("e2e", "--binary", self.server.ready["binary"], "--queue", "binary")}
        for queue, number in (("http", signal.SIGINT), ("binary", signal.SIGTERM)):
            with self.subTest(queue), self.bench(*endpoints[queue], "--cleanup") as process:
                self.assertRegex(process.stderr.readline(), r"^ +1 .* msg/s")
                process.send_signal(number)
                out, err = process.communicate(timeout=PATIENCE)
                self.assertEqual(process.returncode, 130, err)
                result = json.loads(out)
                self.assertIs(result["interrupted"], True)
                self.assertEqual((result["rounds"], result["errors"]), ([], 0))
                self.assertGreater(result["messages"], 0)
                self.assertGreaterEqual(len(result["seconds"]), 1)
                self.assertRegex(err, r"\ntotal .*\ninterrupted: the total ends at the signal; complete rounds: 0\n")
                self.assertIsNone(self.messages(queue), "--cleanup deletes the queue")

    def test_a_signal_during_the_warm_up_leaves_nothing_to_print(self):
        with self.bench("send", "--url", self.url("warm"), "--warm-up", "3600", "--cleanup") as process:
            give_up = time.monotonic() + PATIENCE
            while not self.messages("warm"):
                self.assertLess(time.monotonic(), give_up)
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=PATIENCE)
        self.assertEqual((process.returncode, out), (130, ""), err)
        self.assertIn("nothing was measured", err)
        self.assertIsNone(self.messages("warm"), "--cleanup deletes the queue")

    def test_the_second_signal_ends_it_at_once(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(number), self.bench("send", "--url", self.url("stuck")) as process:
                self.assertRegex(process.stderr.readline(), r"^ +1 .* msg/s")
                with self.stopped_server(process):
                    give_up = time.monotonic() + PATIENCE
                    while process.poll() is None and time.monotonic() < give_up:
                        process.send_signal(number)
                        time.sleep(0.05)
                    out, err = process.communicate(timeout=PATIENCE)
                self.assertEqual((process.returncode, out), (-number, ""))
                self.assertIn("a second signal ends it at once\n", err)


if __name__ == "__main__":
    result = unittest.main(exit=False).result
    bad = len(result.failures) + len(result.errors)
    print(f"{max(result.testsRun - bad, 0)} passed, {bad} failed")
    sys.exit(1 if bad else 0)
