#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""`pawl check queues` and `pawl check --nagios`: mistakes in the settings of queues, and the commands that mend them."""

import http.server
import json
import os
import pathlib
import subprocess
import sys
import threading
import time
import unittest

from dev_test import PAWL
from peek_test import Verbs

ARN = "arn:aws:sqs:us-east-1:000000000000:"
DAYS = 86400


def redrive(target, receives):
    return json.dumps({"deadLetterTargetArn": ARN + target, "maxReceiveCount": receives})


class CheckedQueues(Verbs):
    def make(self, name, **attributes):
        self.pawl.call("CreateQueue", QueueName=name, Attributes={key: str(value) for key, value in attributes.items()})

    def good(self, name, **attributes):
        """A queue without a mistake, with a dead-letter queue of its own."""
        self.make(name + "-letters", MessageRetentionPeriod=14 * DAYS)
        self.make(name, **{"RedrivePolicy": redrive(name + "-letters", 5), "ReceiveMessageWaitTimeSeconds": 20, **attributes})

    def findings(self, *words, code=4):
        done = self.run_pawl("check", "queues", "-o", "json", "--url", self.pawl.url, *words)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return json.loads(done.stdout)

    def run_command(self, command):
        path = f"{pathlib.Path(PAWL).parent}:{os.environ['PATH']}"
        done = subprocess.run(["sh", "-c", command], text=True, capture_output=True, timeout=30, stdin=subprocess.DEVNULL,
                              check=False, env={**os.environ, "PATH": path})
        self.assertEqual(done.returncode, 0, command + done.stderr)

    def mend(self, *wanted):
        """The queues have these mistakes, and none after their commands."""
        found = self.findings()
        self.assertEqual([(row["queue"], row["check"]) for row in found], list(wanted))
        for row in found:
            self.assertTrue(row["command"].startswith("pawl queue "), row)
            self.run_command(row["command"])
        self.assertEqual(self.findings(code=0), [])


class CheckQueues(CheckedQueues):
    def test_a_good_queue_has_no_finding(self):
        self.assertEqual(self.verb("check", "queues"), "no findings in 0 queues\n")
        self.good("q")
        self.assertEqual(self.verb("check", "queues"), "no findings in 2 queues\n")

    def test_no_dead_letter_queue_and_short_polls(self):
        self.make("q")
        self.make("f.fifo", FifoQueue="true")
        self.mend(("f.fifo", "no-dead-letter-queue"), ("f.fifo", "short-polls"), ("q", "no-dead-letter-queue"), ("q", "short-polls"))
        self.assertEqual(self.verb("queue", "ls", "--names").split(), ["QUEUE", "f-dead.fifo", "f.fifo", "q", "q-dead"])

    def test_few_receives(self):
        self.good("once", RedrivePolicy=redrive("once-letters", 1))
        self.good("twice", RedrivePolicy=redrive("twice-letters", 2))
        self.good("thrice", RedrivePolicy=redrive("thrice-letters", 3))
        self.assertIn("after 1 receive:", self.findings()[0]["finding"])
        self.mend(("once", "few-receives"), ("twice", "few-receives"))

    def test_short_retention_of_the_dead_letters(self):
        self.make("letters", MessageRetentionPeriod=4 * DAYS)
        self.make("same", RedrivePolicy=redrive("letters", 5), ReceiveMessageWaitTimeSeconds=1, MessageRetentionPeriod=4 * DAYS)
        self.mend(("same", "short-dead-letter-retention"))
        self.make("long", RedrivePolicy=redrive("letters", 5), ReceiveMessageWaitTimeSeconds=1, MessageRetentionPeriod=14 * DAYS)
        self.mend(("long", "short-dead-letter-retention"))

    def test_dead_letters_of_dead_letters(self):
        self.make("last", MessageRetentionPeriod=14 * DAYS)
        self.make("middle", MessageRetentionPeriod=13 * DAYS, RedrivePolicy=redrive("last", 5))
        self.make("q", RedrivePolicy=redrive("middle", 5), ReceiveMessageWaitTimeSeconds=1)
        found = self.findings()
        self.assertEqual([(row["queue"], row["check"]) for row in found], [("middle", "chained-dead-letters")])
        self.run_command(found[0]["command"])
        self.assertNotIn("chained-dead-letters", [row["check"] for row in self.findings()])

    def test_a_visibility_timeout_below_the_handling(self):
        self.good("q", VisibilityTimeout=1)
        self.send("q", "slow")
        (message,) = self.pawl.call("ReceiveMessage", QueueUrl="q", VisibilityTimeout=30)["Messages"]
        self.assertEqual(self.findings(code=0), [])
        time.sleep(1.8)
        self.pawl.call("DeleteMessage", QueueUrl="q", ReceiptHandle=message["ReceiptHandle"])
        self.assertRegex(self.findings()[0]["finding"], r"^consumers hold messages for \d\.\d s \(p99\), but they are visible again after 1 s$")
        self.mend(("q", "short-visibility"))

    def test_deletes_behind_the_visibility_timeout(self):
        self.good("q", VisibilityTimeout=1)
        self.send("q", "late")
        (message,) = self.pawl.call("ReceiveMessage", QueueUrl="q")["Messages"]
        time.sleep(1.3)
        self.pawl.call("DeleteMessage", QueueUrl="q", ReceiptHandle=message["ReceiptHandle"])
        (row,) = self.findings()
        self.assertEqual(row["finding"], "1 of 1 deletes came after the visibility timeout of 1 s")
        self.run_command(row["command"])
        self.send("q", "in time")
        (message,) = self.pawl.call("ReceiveMessage", QueueUrl="q")["Messages"]
        self.pawl.call("DeleteMessage", QueueUrl="q", ReceiptHandle=message["ReceiptHandle"])
        self.assertEqual(self.findings(code=0), [])

    def test_names_the_url_in_the_commands_and_filters(self):
        self.make("orders")
        self.make("other")
        found = self.findings("--filter", "ord")
        self.assertEqual({row["queue"] for row in found}, {"orders"})
        self.assertTrue(all(row["command"].endswith(" --url " + self.pawl.url) for row in found), found)
        table = self.verb("check", "queues", code=4)
        self.assertRegex(table, r"^QUEUE +CHECK +FINDING\norders +no-dead-letter-queue +no dead-letter queue: .*\n  pawl queue create ")
        bare = self.run_pawl("check", "queues", AWS_ENDPOINT_URL=self.pawl.url)
        self.assertEqual((bare.returncode, "--url" in bare.stdout), (4, False), bare.stdout)

    def test_nagios_gets_one_line_and_its_codes(self):
        self.good("q")
        self.assertEqual(self.verb("check", "queues", "--nagios"), "PAWL OK - no findings in 2 queues | findings=0 queues=2\n")
        self.make("orders")
        self.assertEqual(self.verb("check", "queues", "--nagios", code=1),
                         "PAWL WARNING - 2 findings in 3 queues: orders no-dead-letter-queue, orders short-polls | findings=2 queues=3\n")
        admin = self.pawl.ready["admin"]
        healthy = self.run_pawl("check", "--nagios", "--admin", admin)
        self.assertIn((healthy.returncode, healthy.stdout.split(" - ")[0]), ((0, "PAWL OK"), (1, "PAWL WARNING")), healthy.stderr)
        plain = self.run_pawl("check", "--admin", admin)
        self.assertEqual(plain.returncode, 4 if healthy.returncode else 0, plain.stderr)
        self.assertRegex(plain.stdout, r"^CHECK +SHARD +LEVEL ")
        rows = json.loads(self.run_pawl("check", "--admin", admin, "-o", "json").stdout)
        self.assertLessEqual({"disk", "log", "memory", "flush", "clock"}, {row["check"] for row in rows})
        gone = self.run_pawl("check", "--nagios", "--admin", "127.0.0.1:1")
        self.assertEqual((gone.returncode, gone.stdout.startswith("PAWL CRITICAL - ")), (2, True), gone.stdout)
        self.assertEqual(self.run_pawl("check", "--admin", "127.0.0.1:1").returncode, 1)
        foreign = self.run_pawl("check", "--nagios", "--admin", self.pawl.ready["http"])
        self.assertEqual((foreign.returncode, foreign.stdout.startswith("PAWL UNKNOWN - ")), (3, True), foreign.stdout)
        lost = self.run_pawl("check", "queues", "--nagios", "--url", "http://127.0.0.1:1")
        self.assertEqual((lost.returncode, lost.stdout.count("\n")), (2, 1), lost.stdout)
        self.assertEqual(self.run_pawl("check", "queues", "--url", "http://127.0.0.1:1").returncode, 1)

    def test_nagios_gets_faults_and_warnings_of_the_server(self):
        class Health(http.server.BaseHTTPRequestHandler):
            answer = (200, "")

            def do_GET(self):
                status, text = self.answer
                self.send_response(status)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text.encode())

            def log_message(self, *_):
                pass

        def row(level, text):
            return json.dumps({"check": "clock", "shard": 0, "level": level, "text": text, "code": "code"}) + "\n"

        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Health) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            admin = f"127.0.0.1:{server.server_port}"
            for answer, nagios, plain, line in (
                    ((200, row("ok", "fine")), 0, 0, "OK - 1 checks"),
                    ((200, row("ok", "fine") + row("warning", "wait | see")), 1, 4, "WARNING - clock 0: wait / see (code)"),
                    ((503, row("warning", "a") + row("error", "b\t")), 2, 4, "CRITICAL - clock 0: b  (code)"),
                    ((200, "<html>\n"), 3, 1, f"UNKNOWN - {admin} responds to /healthz?verbose with status 200 and 0 checks"),
                    ((404, "no\n"), 3, 1, f"UNKNOWN - {admin} responds to /healthz?verbose with status 404 and 0 checks")):
                Health.answer = answer
                done = self.run_pawl("check", "--nagios", "--admin", admin)
                self.assertEqual((done.returncode, done.stdout), (nagios, f"PAWL {line}\n"), done.stderr)
                self.assertEqual(self.run_pawl("check", "--admin", admin).returncode, plain)
            server.shutdown()

    def test_the_documented_commands_work(self):
        os.environ["PAWL_ADMIN"] = self.pawl.ready["admin"]
        self.good("orders")
        self.run_documented("CHECKING.md", 4)


class CheckForeignQueues(CheckedQueues):
    words = ("--strict-sqs",)

    def test_checks_with_actions_of_sqs_and_names_the_others(self):
        self.make("q")
        done = self.run_pawl("check", "queues", "-o", "json", "--url", self.pawl.url)
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertEqual(done.stderr, "note: not checked, because only a pawl server counts it: short-visibility, near-expiry.\n")
        self.mend(("q", "no-dead-letter-queue"), ("q", "short-polls"))


class CheckManyQueues(CheckedQueues):
    words = ("--metrics-queues", "1")

    def test_names_the_checks_of_queues_without_figures(self):
        self.good("q")
        done = self.run_pawl("check", "queues", "--url", self.pawl.url)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("note: not checked for 1 queue without figures", done.stderr)


class CheckOldMessages(CheckedQueues):
    def test_messages_near_their_retention(self):
        self.good("q", MessageRetentionPeriod=60)
        self.send("q", "old")
        self.assertEqual(self.findings(code=0), [])
        time.sleep(30.5)  # 60 s is the shortest retention
        self.assertRegex(self.findings()[0]["finding"], r"^its oldest message is 3\d s old, and deleted at 60 s$")
        self.mend(("q", "near-expiry"))


if __name__ == "__main__":
    result = unittest.main(exit=False).result
    bad = len(result.failures) + len(result.errors)
    print(f"{max(result.testsRun - bad, 0)} passed, {bad} failed")
    sys.exit(1 if bad else 0)
