#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""`pawl queue`, `send`, `receive`, `delete` and `extend`: against pawl, pawl with --strict-sqs, and the endpoint that
PAWL_TEST_ENDPOINT names."""

import json
import os
import pathlib
import pty
import subprocess
import sys
import time
import unittest
import uuid

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "clients"))
from dev_test import PAWL  # noqa: E402
from peek_test import Verbs  # noqa: E402


class Queues:
    """Queues with new names, at the endpoint self.url."""

    def name(self, end=""):
        return f"verbs-{uuid.uuid4().hex[:12]}{end}"

    def create(self, *words, end=""):
        name = self.name(end)
        url = self.verb("queue", "create", name, *words).strip()
        self.assertTrue(url.endswith("/" + name), url)
        self.addCleanup(self.run_pawl, "queue", "rm", name, "--yes", "--url", self.url)
        return name

    def received(self, queue, *words):
        return [json.loads(line) for line in self.verb("receive", queue, "--wait", "2", *words, "-o", "jsonl").splitlines()]

    def info(self, queue):
        return {row["attribute"]: row["value"] for row in json.loads(self.verb("queue", "info", queue, "-o", "json"))}


class AnyEndpoint(Queues):
    """The cases that hold at every SQS endpoint."""

    def test_a_message_goes_through_its_life(self):
        queue = self.create("--set", "VisibilityTimeout=60", "--tag", "team=blue")
        message = self.verb("send", queue, "hello", "--attribute", "k=v=w").strip()
        (row,) = self.received(queue, "-n", "1")
        self.assertEqual((row["id"], row["body"], row["receives"]), (message, "hello", 1))
        self.assertEqual(self.verb("extend", queue, row["receipt"], "0"), "")
        (again,) = self.received(queue, "-n", "1")
        self.assertEqual((again["id"], again["receives"]), (message, 2))
        self.assertEqual(self.verb("delete", queue, again["receipt"]), "")
        self.assertEqual(self.received(queue, "-n", "1"), [])

    def test_receive_deletes_what_it_has_shown(self):
        queue = self.create()
        for body in ("a", "b", "c"):
            self.verb("send", queue, body)
        table = self.verb("receive", queue, "--wait", "2", "--delete")
        self.assertTrue(table.startswith("ID "), table)
        self.assertEqual(sorted(line.split()[-1] for line in table.splitlines()[1:]), ["a", "b", "c"])
        info = self.info(queue)
        self.assertEqual([info["ApproximateNumberOfMessages" + state] for state in ("", "NotVisible")], ["0", "0"])

    def test_receive_deletes_nothing_that_could_not_be_shown(self):
        queue = self.create("--set", "VisibilityTimeout=60")
        self.verb("send", queue, "x")
        for form in ("table", "json", "jsonl"):
            with open("/dev/full", "w", encoding="ascii") as full:
                done = subprocess.run([PAWL, "receive", queue, "--delete", "--visibility", "0", "-n", "1", "-o", form, "--url", self.url],
                                      stdout=full, stderr=subprocess.PIPE, text=True, timeout=30, check=False)
            self.assertEqual((done.returncode, "No space left" in done.stderr), (1, True), form + done.stderr)
        self.assertEqual([row["body"] for row in self.received(queue)], ["x"])

    def test_lines_are_messages(self):
        queue = self.create(end=".fifo")
        lines = [json.dumps({"MessageBody": str(n), "MessageGroupId": "g", "MessageDeduplicationId": str(n)}) for n in range(23)]
        path = pathlib.Path(self.place, "lines.jsonl")
        path.write_text("\n".join([*lines[:12], "", *lines[12:]]) + "\n")
        self.assertEqual(self.verb("send", queue, "--jsonl", str(path)), "23 messages sent\n")
        rows = self.received(queue, "-n", "23", "--delete")
        self.assertEqual([row["body"] for row in rows], [str(n) for n in range(23)])
        self.assertEqual({row["group"] for row in rows}, {"g"})
        path.write_text('"just text"\n{"MessageBody":""}\n')
        plain = self.create()
        self.assertIn("lines.jsonl:2: the line is neither", self.verb("send", plain, "--jsonl", str(path), code=1))
        self.assertEqual([row["body"] for row in self.received(plain)], ["just text"])

    def test_a_body_may_be_a_file_or_the_standard_input(self):
        queue = self.create()
        path = pathlib.Path(self.place, "body")
        path.write_text("a\nb\n")
        self.verb("send", queue, "--file", str(path))
        done = subprocess.run([PAWL, "send", queue, "--file", "-", "--url", self.url], input="from stdin", text=True, timeout=30,
                              capture_output=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(sorted(row["body"] for row in self.received(queue)), ["a\nb\n", "from stdin"])

    def test_settings_and_dead_letters(self):
        dead = self.create()
        queue = self.create("--dead-letters", dead, "--max-receives", "3", "--set", "DelaySeconds=1", "--set", "VisibilityTimeout=7")
        info = self.info(queue)
        self.assertEqual((info["DelaySeconds"], info["VisibilityTimeout"]), ("1", "7"))
        policy = json.loads(info["RedrivePolicy"])
        self.assertEqual((policy["deadLetterTargetArn"].rsplit(":", 1)[1], str(policy["maxReceiveCount"])), (dead, "3"))
        self.verb("queue", "set", queue, "--set", "DelaySeconds=0")
        self.assertEqual(self.info(queue)["DelaySeconds"], "0")
        self.assertIn("nothing to set", self.verb("queue", "set", queue, code=2))
        self.assertIn("DelaySeconds", self.verb("queue", "set", queue, "--set", "DelaySeconds=x", code=1))

    def test_dead_letters_return(self):
        dead = self.create()
        queue = self.create("--dead-letters", dead, "--max-receives", "1", "--set", "VisibilityTimeout=0")
        self.verb("send", queue, "dead")
        self.received(queue, "-n", "1")
        self.assertEqual(self.received(queue, "-n", "1"), [])
        rows = {row["queue"]: row for row in json.loads(self.verb("dlq", "ls", "-o", "json"))}
        self.assertEqual(rows[dead], {"queue": dead, "messages": 1, "sources": queue})
        self.assertIn("return at 10/s", self.verb("dlq", "redrive", dead))
        for _ in range(100):
            (task,) = json.loads(self.verb("dlq", "tasks", dead, "-o", "json"))
            if task["status"] != "RUNNING":
                break
            time.sleep(0.1)
        self.assertEqual((task["status"], task["moved"], task["rate"], task["failure"]), ("COMPLETED", 1, 10, ""))
        self.assertEqual([row["body"] for row in self.received(queue, "-n", "1")], ["dead"])
        self.assertIn("no task moves messages", self.verb("dlq", "cancel", dead, code=3))
        for rate in ("0", "501", "all"):
            self.assertIn("from 1 to 500", self.verb("dlq", "redrive", dead, "--rate", rate, code=2))
        self.assertIn("there is no queue", self.verb("dlq", "redrive", self.name(), code=3))
        self.assertIn("error: ", self.verb("dlq", "redrive", queue, code=1))

    def test_a_slow_redrive_is_cancelled(self):
        dead = self.create()
        queue = self.create("--dead-letters", dead)
        path = pathlib.Path(self.place, "lines.jsonl")
        path.write_text("".join(f'"{n}"\n' for n in range(30)))
        self.verb("send", dead, "--jsonl", str(path))
        self.verb("dlq", "redrive", dead, "--to", queue, "--rate", "1")
        self.assertRegex(self.verb("dlq", "cancel", dead), r"^\d+ messages were moved before the stop\.\n$")
        self.assertRegex(self.verb("dlq", "tasks", dead), r"(?m)^CANCELL(ED|ING) ")

    def test_queues_are_listed_with_their_counts(self):
        queue = self.create()
        self.verb("send", queue, "x")
        (row,) = json.loads(self.verb("queue", "ls", "--prefix", queue, "-o", "json"))
        self.assertEqual(row, {"queue": queue, "visible": 1, "in_flight": 0, "delayed": 0})
        self.assertEqual(self.verb("queue", "ls", "--prefix", queue, "--names"), f"QUEUE\n{queue}\n")
        self.assertEqual(json.loads(self.verb("queue", "ls", "--prefix", self.name(), "-o", "json")), [])

    def test_what_destroys_asks_first(self):
        queue = self.create()
        self.verb("send", queue, "x")
        for verb in ("purge", "rm"):
            self.assertIn("Add --yes to do it", self.verb("queue", verb, queue, code=2))
        self.assertEqual(self.info(queue)["ApproximateNumberOfMessages"], "1")
        self.assertEqual(self.typed("2\n", "queue", "purge", queue), 2)
        self.assertEqual(self.info(queue)["ApproximateNumberOfMessages"], "1")
        self.assertEqual(self.typed("1\n", "queue", "purge", queue), 0)
        self.assertEqual(self.info(queue)["ApproximateNumberOfMessages"], "0")
        self.verb("queue", "rm", queue, "--yes")
        self.assertIn("there is no queue", self.verb("queue", "info", queue, code=3))

    def typed(self, text, *words):
        """The exit code of a verb on a terminal where somebody types."""
        ours, theirs = pty.openpty()
        try:
            process = subprocess.Popen([PAWL, *words, "--url", self.url], stdin=theirs, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            os.write(ours, text.encode())
            return process.wait(30)
        finally:
            os.close(ours)
            os.close(theirs)

    def test_wrong_use_says_what_to_do(self):
        missing = self.name()
        for words in (("send", missing, "x"), ("receive", missing), ("delete", missing, "r"), ("extend", missing, "r", "1"),
                      ("queue", "info", missing), ("queue", "set", missing, "--set", "a=b"), ("queue", "rm", missing, "--yes"),
                      ("queue", "purge", missing, "--yes")):
            with self.subTest(words):
                self.assertIn(f'there is no queue "{missing}"', self.verb(*words, code=3))
        queue = self.create()
        for words in (("send", queue), ("send", queue, "x", "--file", "f"), ("send", queue, "x", "--delay", "63244801"),
                      ("send", queue, "x", "--attribute", "k"), ("receive", queue, "-n", "0"), ("receive", queue, "--wait", "21"),
                      ("receive", queue, "--follow", "-o", "json"), ("extend", queue, "r", "x"), ("queue",), ("queue", "create"),
                      ("queue", "create", "q", "--set", "=1")):
            with self.subTest(words):
                done = self.run_pawl(*words)
                self.assertEqual((done.returncode, done.stderr.startswith("error: ")), (2, True), done.stderr)
        self.assertIn("cannot read /none", self.verb("send", queue, "--file", "/none", code=1))
        self.assertIn("error: ", self.verb("delete", queue, "no receipt", code=1))
        gone = self.run_pawl("queue", "ls", "--url", "http://127.0.0.1:1")
        self.assertEqual((gone.returncode, gone.stderr.startswith("error: ")), (1, True), gone.stderr)


class OnPawl(AnyEndpoint, Verbs):
    def setUp(self):
        super().setUp()
        self.url = self.pawl.url

    def test_follow_shows_messages_as_they_come(self):
        queue = self.create()
        process = subprocess.Popen([PAWL, "receive", queue, "--follow", "--delete", "--url", self.url], stdout=subprocess.PIPE, text=True)
        try:
            for body in ("1", "2"):
                self.verb("send", queue, body)
                self.assertEqual(json.loads(process.stdout.readline())["body"], body)
            for _ in range(100):  # the delete follows the line
                info = self.info(queue)
                if info["ApproximateNumberOfMessagesNotVisible"] == "0":
                    break
                time.sleep(0.05)
        finally:
            process.terminate()
            process.wait()
            process.stdout.close()
        self.assertEqual([info["ApproximateNumberOfMessages" + state] for state in ("", "NotVisible")], ["0", "0"])

    def test_dead_letters_are_shown_with_time_source_and_reason(self):
        dead = self.create("--set", "VisibilityTimeout=60")
        queue = self.create("--dead-letters", dead, "--max-receives", "2", "--set", "VisibilityTimeout=0")
        (moved,) = self.send(queue, "tab\tred\u009b31m line\x7f\n" + "x" * 60)
        before = time.time() * 1000
        for _ in range(3):
            self.received(queue, "-n", "1")
        sent_here = self.verb("send", dead, "sent").strip()
        self.assertEqual(len(self.received(dead, "-n", "1")), 1, "it adds to the count")
        for _ in range(2):
            rows = [json.loads(line) for line in self.verb("dlq", "show", dead, "-o", "jsonl").splitlines()]
            self.assertEqual([(r["id"], r["source"], r["reason"], r["receives"], r["state"]) for r in rows],
                             [(moved, queue, "2 receives without a delete", 3, "in_flight"), (sent_here, "", "sent to this queue", 0, "visible")])
        self.assertLessEqual(rows[0]["sent"], before)
        self.assertTrue(before <= rows[0]["moved"] <= time.time() * 1000, rows[0])
        self.assertEqual(rows[1]["moved"], 0)
        table = self.verb("dlq", "show", dead, "-n", "1")
        self.assertIn(r"tab\tred\x9b31m line\x7f\nxxx", table)
        self.assertIn("xxx...", table)
        self.assertNotRegex(table, "[\x7f-\x9f]")
        self.assertEqual(len(table.splitlines()), 2)
        self.assertIn("there is no queue", self.verb("dlq", "show", self.name(), code=3))

    def test_a_message_of_a_move_task_has_no_source(self):
        dead, queue = self.create(), self.create()
        self.verb("queue", "set", queue, "--dead-letters", dead)
        self.send(dead, "x")
        self.verb("dlq", "redrive", dead, "--to", queue, "--rate", "unlimited")
        for _ in range(100):
            rows = json.loads(self.verb("dlq", "show", queue, "-o", "json"))
            if rows:
                break
            time.sleep(0.05)
        self.assertEqual([(row["source"], row["reason"]) for row in rows], [("", "moved by a move task")])

    def test_more_queues_than_a_page_has(self):
        for n in range(1005):
            self.pawl.call("CreateQueue", QueueName=f"many-{n}")
        self.assertEqual(len(self.verb("queue", "ls", "--prefix", "many-", "--names").splitlines()), 1006)

    def test_the_documented_commands_work(self):
        self.run_documented("VERBS.md", 25)


class AnyOtherEndpoint(AnyEndpoint):
    """The cases that hold where nothing shows messages without receiving them."""

    def test_it_says_how_to_see_messages_without_peek(self):
        queue = self.create()
        if self.run_pawl("peek", queue, "--url", self.url).returncode == 0:
            self.skipTest(f"{self.url} is a pawl without --strict-sqs")
        for words in (("dlq", "show", queue), ("peek", queue)):
            self.assertIn(f"without --strict-sqs, shows messages without receiving them. Elsewhere receive them, and let them return at "
                          f"once: `pawl receive {queue} --visibility 0`", self.verb(*words, code=1))
        self.verb("send", queue, "x")
        self.assertEqual([row["body"] for row in self.received(queue, "-n", "1", "--visibility", "0")], ["x"])


class OnStrictPawl(AnyOtherEndpoint, Verbs):
    words = ("--strict-sqs",)

    def setUp(self):
        super().setUp()
        self.url = self.pawl.url


class NamedEndpoint(Verbs):
    """The endpoint in PAWL_TEST_ENDPOINT; without it the tests are skipped."""

    def setUp(self):
        if "PAWL_TEST_ENDPOINT" not in os.environ:
            self.skipTest("PAWL_TEST_ENDPOINT names no endpoint")
        super().setUp()
        self.url = self.pawl.url = os.environ["PAWL_TEST_ENDPOINT"]


class OnTheNamedEndpoint(AnyOtherEndpoint, NamedEndpoint):
    pass


if __name__ == "__main__":
    result = unittest.main(exit=False).result
    bad = len(result.failures) + len(result.errors)
    for case, reason in result.skipped[:1]:
        print(f"SKIPPED {len(result.skipped)}: {reason}")
    print(f"{max(result.testsRun - bad - len(result.skipped), 0)} passed, {bad} failed")
    sys.exit(1 if bad else 0)
