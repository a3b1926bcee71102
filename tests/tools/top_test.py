#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""`pawl top`: which queues are in trouble and why, on a terminal and without one."""

import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import threading
import time
import unittest
import urllib.request

from dev_test import PAWL
from peek_test import KEYS, Verbs, documented  # noqa: F401

ENDING = "\x1b[?25h\x1b[?1049l"


class Screen:
    """`pawl top` on a terminal of its own."""

    def __init__(self, url, columns, lines, *words, stdin=None):
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        self.before = termios.tcgetattr(slave)
        self.process = subprocess.Popen([PAWL, "top", "--url", url, "--interval", "0.3", *words],
                                        stdin=stdin or slave, stdout=slave, stderr=slave)
        self.slave = slave
        self.text = ""

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self.master)
        os.close(self.slave)

    def type(self, keys):
        os.write(self.master, keys.encode())

    def read(self, seconds):
        end = time.monotonic() + seconds
        while select.select([self.master], [], [], max(0, end - time.monotonic()))[0]:
            self.text += os.read(self.master, 65536).decode()
        return self.text

    def wait_for(self, part, seconds=10):
        end = time.monotonic() + seconds
        while part not in self.text and time.monotonic() < end:
            self.read(0.1)
        return part in self.text

    def last(self):
        """The lines of the last whole picture."""
        pictures = [part for part in self.text.split("\x1b[H") if "\x1b[J" in part]
        return [line.replace("\x1b[K", "").rstrip("\r") for line in pictures[-1].split("\x1b[J")[0].split("\r\n")]

    def end(self):
        self.read(0.3)
        return self.process.wait(timeout=10)


class Top(Verbs):
    def setUp(self):
        super().setUp()
        for name in ("busy", "stuck"):
            self.pawl.call("CreateQueue", QueueName=name)
        self.send("stuck", "1", "2", "3")

    def screen(self, columns, lines, *words, **more):
        screen = Screen(self.pawl.url, columns, lines, *words, **more)
        self.addCleanup(screen.close)
        return screen

    def rows(self, *words):
        return json.loads(self.verb("top", "-n", "1", "--interval", "0.3", "-o", "json", *words))

    def work(self, stop):
        while not stop.is_set():
            self.send("busy", "x")
            for message in self.pawl.call("ReceiveMessage", QueueUrl="busy").get("Messages", []):
                self.pawl.call("DeleteMessage", QueueUrl="busy", ReceiptHandle=message["ReceiptHandle"])

    def working(self):
        stop = threading.Event()
        worker = threading.Thread(target=self.work, args=(stop,))
        worker.start()
        self.addCleanup(worker.join)
        self.addCleanup(stop.set)

    def test_the_worst_queue_is_first_with_its_reason(self):
        self.working()
        stuck, busy = self.rows()
        self.assertEqual((stuck["queue"], stuck["state"], stuck["visible"]), ("stuck", "no consumer", 3))
        self.assertRegex(stuck["why"], r"^nothing received in 0\.\d s$")
        self.assertEqual((busy["queue"], stuck["delete_rate"]), ("busy", 0))
        self.assertGreater(busy["delete_rate"], 1)
        self.assertGreater(busy["receive_rate"], 1)
        self.assertEqual(self.rows("--sort", "queue")[0]["queue"], "busy")
        self.assertEqual([row["queue"] for row in self.rows("--filter", "tuc")], ["stuck"])

    def test_says_all_in_flight_groups_blocked_and_not_deleted(self):
        self.pawl.call("CreateQueue", QueueName="held")
        self.send("held", "1")
        self.pawl.call("ReceiveMessage", QueueUrl="held")
        self.pawl.call("CreateQueue", QueueName="g.fifo", Attributes={"FifoQueue": "true", "ContentBasedDeduplication": "true"})
        self.send("g.fifo", "1", "2", "3", MessageGroupId="g")
        self.pawl.call("ReceiveMessage", QueueUrl="g.fifo")
        found = {row["queue"]: row["state"] for row in self.rows()}
        self.assertEqual(found, {"held": "all in flight", "g.fifo": "groups blocked", "stuck": "no consumer", "busy": "empty"})
        self.send("g.fifo", "4", MessageGroupId="free")
        self.assertEqual({row["queue"]: row["state"] for row in self.rows()}["g.fifo"], "no receives")

    def test_equals_the_metrics_of_the_same_moment(self):
        self.pawl.call("ReceiveMessage", QueueUrl="stuck", VisibilityTimeout=100)
        (stuck, _) = self.rows()
        with urllib.request.urlopen(f"http://{self.pawl.ready['admin']}/metrics", timeout=10) as answer:
            text = answer.read().decode()
        metric = {key: float(value) for key, value in
                  re.findall(r'^(\w+)\{queue="stuck",account="0{12}"(?:,\w+="\w+")?\} (\S+)$', text, re.M)}
        states = dict(re.findall(r'^pawl_queue_messages\{queue="stuck".*state="(\w+)"\} (\d+)$', text, re.M))
        self.assertEqual({name: str(stuck[name]) for name in states}, states)
        for name in ("sent", "received", "deleted"):
            self.assertEqual(stuck[name], metric[f"pawl_messages_{name}_total"])
        self.assertAlmostEqual(stuck["oldest"], metric["pawl_queue_oldest_message_age_seconds"], delta=1)
        self.assertAlmostEqual(stuck["workers_wanted"], metric["pawl_queue_workers_wanted"], delta=0.01)

    def test_prints_plain_lines_without_a_terminal(self):
        text = self.verb("top", "-n", "2", "--interval", "0.2")
        self.assertNotIn("\x1b", text)
        tables = text.split("\n\n")
        self.assertEqual(len(tables), 2, text)
        self.assertRegex(tables[0], r"^QUEUE +STATE +VISIBLE")
        self.assertRegex(tables[0].splitlines()[1], r"^stuck +no consumer +3 ")
        lines = self.verb("top", "-n", "2", "--interval", "0.2", "-o", "jsonl").splitlines()
        self.assertEqual([json.loads(line)["queue"] for line in lines], ["stuck", "busy"] * 2)
        self.assertEqual(self.verb("top", "-n", "1", "--interval", "0.2", "--filter", "nobody"), "no queue\n")

    def test_shows_the_shards_of_the_admin_port(self):
        admin = self.pawl.ready["admin"]
        self.working()
        self.assertRegex(self.verb("top", "-n", "1", "--interval", "0.3", "--admin", admin),
                         r"(?m)^shard 0: busy \d+ %, flush \d+\.\d\d ms$")
        shards = [row for row in self.rows("--admin", admin) if "shard" in row]
        self.assertTrue(shards)
        self.assertTrue(all(0 <= row["busy"] <= 1 for row in shards), shards)
        self.assertIn("admin port", self.verb("top", "-n", "1", "--admin", "127.0.0.1:1", code=1))

    def test_a_closed_pipe_ends_it(self):
        with subprocess.Popen([PAWL, "top", "--url", self.pawl.url, "--interval", "0.1"], stdout=subprocess.PIPE) as process:
            process.stdout.readline()
            process.stdout.close()
            self.assertIn(process.wait(timeout=10), (1, -signal.SIGPIPE))

    def test_a_terminal_shows_and_leaves(self):
        screen = self.screen(100, 12)
        self.assertTrue(screen.wait_for("no consumer"), screen.text)
        self.assertIn("2 of 2 queues, 1 in trouble; sorted by state", screen.last()[0])
        self.assertRegex(screen.last()[4], r"^stuck +no consumer +3 ")
        screen.type("s")
        self.assertTrue(screen.wait_for("sorted by queue"), screen.text)
        self.assertTrue(screen.last()[4].startswith("busy"), screen.last())
        screen.type("/stu\r")
        self.assertTrue(screen.wait_for("1 of 2 queues"), screen.text)
        self.assertTrue(screen.wait_for("q quit  s sort  / filter: stu"), screen.text)
        screen.type("/\x1b")
        screen.text = ""
        self.assertTrue(screen.wait_for("2 of 2 queues"), screen.text)
        screen.type("q")
        self.assertEqual(screen.end(), 0)
        self.assertTrue(screen.text.endswith(ENDING), screen.text)
        self.assertEqual(termios.tcgetattr(screen.slave), screen.before)

    def test_a_small_terminal_is_enough(self):
        for number in range(20):
            self.pawl.call("CreateQueue", QueueName=f"{number:02}-" + "x" * 60)
        screen = self.screen(40, 10)
        self.assertTrue(screen.wait_for("no consumer"), screen.text)
        lines = screen.last()
        self.assertLessEqual(len(lines), 10)
        for line in lines:
            self.assertLessEqual(len(line), 40)
        self.assertRegex(lines[4], r"^stuck +no consumer +3$|^stuck +no consumer +3 ")

    def test_a_signal_and_a_lost_server_restore_the_terminal(self):
        screen = self.screen(80, 24)
        self.assertTrue(screen.wait_for("stuck"))
        screen.process.send_signal(signal.SIGINT)
        self.assertEqual(screen.end(), 130)
        self.assertTrue(screen.text.endswith(ENDING))
        screen = self.screen(80, 24)
        self.assertTrue(screen.wait_for("stuck"))
        self.pawl.stop()
        self.assertEqual(screen.end(), 1)
        self.assertIn("error: ", screen.text.split(ENDING)[-1])
        self.assertEqual(termios.tcgetattr(screen.slave), screen.before)

    def test_a_closed_input_ends_it(self):
        keys, slave = pty.openpty()
        screen = self.screen(80, 24, stdin=slave)
        os.close(slave)
        self.assertTrue(screen.wait_for("stuck"))
        os.write(keys, b"/")
        self.assertTrue(screen.wait_for("filter: _"), screen.text)
        os.close(keys)
        self.assertEqual(screen.end(), 130)
        self.assertTrue(screen.text.endswith(ENDING), screen.text)

    def test_wrong_use_says_what_is_allowed(self):
        self.assertIn("The columns are state, queue, visible", self.verb("top", "--sort", "size", code=2))
        self.assertIn("from 0.1 to 3600", self.verb("top", "--interval", "0", code=2))
        self.assertIn("whole number from 1", self.verb("top", "-n", "0", code=2))
        gone = self.run_pawl("top", "-n", "1", "--url", "http://127.0.0.1:1")
        self.assertEqual((gone.returncode, gone.stderr.startswith("error: ")), (1, True), gone.stderr)
        admin = self.run_pawl("top", "-n", "1", "--url", "http://" + self.pawl.ready["admin"])
        self.assertEqual((admin.returncode, admin.stderr.startswith("error: ")), (1, True), admin.stderr)


    def test_the_documented_commands_work(self):
        os.environ["PAWL_ADMIN"] = self.pawl.ready["admin"]
        self.run_documented("WATCHING.md", 3)


class TopOfAStrictServer(Verbs):
    words = ("--strict-sqs",)

    def test_says_what_it_needs(self):
        self.assertIn("without --strict-sqs", self.verb("top", "-n", "1", code=1))


class TopOfManyQueues(Verbs):
    words = ("--metrics-queues", "1")

    def test_shows_depths_of_queues_without_figures(self):
        for name in ("first", "second"):
            self.pawl.call("CreateQueue", QueueName=name)
            self.send(name, "x")
        rows = json.loads(self.verb("top", "-n", "1", "--interval", "0.2", "-o", "json"))
        self.assertEqual([(row["queue"], row["state"], row["has_figures"], row["visible"]) for row in rows],
                         [("first", "no consumer", True, 1), ("second", "no figures", False, 1)])


if __name__ == "__main__":
    result = unittest.main(exit=False).result
    bad = len(result.failures) + len(result.errors)
    print(f"{max(result.testsRun - bad, 0)} passed, {bad} failed")
    sys.exit(1 if bad else 0)
