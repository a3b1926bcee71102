#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The metrics of queues at the admin port, as tools/METRICS.md describes them."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.error
import urllib.request

from dev_test import PAWL, DevPawl
from peek_test import ROOT, documented

PAGE = (ROOT / "tools/METRICS.md").read_text()
OTHER = "__other__"


class Served(unittest.TestCase):
    """A development server, once a test has started it."""

    def start(self, *words):
        place = tempfile.mkdtemp(prefix="metrics-test-")
        self.addCleanup(shutil.rmtree, place, ignore_errors=True)
        server = DevPawl(place, *words)
        self.pawl = server.__enter__()
        self.addCleanup(server.__exit__, None, None, None)


class Metrics(Served):
    def make(self, name, **attributes):
        return self.pawl.call("CreateQueue", QueueName=name, Attributes=attributes)["QueueUrl"]

    def send(self, url, count=1):
        for number in range(count):
            self.pawl.call("SendMessage", QueueUrl=url, MessageBody=str(number))

    def receive(self, url, **more):
        return self.pawl.call("ReceiveMessage", QueueUrl=url, MaxNumberOfMessages=10, **more).get("Messages", [])

    def delete(self, url, message):
        self.pawl.call("DeleteMessage", QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])

    def text(self):
        with urllib.request.urlopen(f"http://{self.pawl.ready['admin']}/metrics", timeout=10) as answer:
            self.assertEqual(answer.headers["Content-Type"], "text/plain; version=0.0.4; charset=utf-8")
            return answer.read().decode()

    def samples(self):
        """Values by family, queue and the other label."""
        found = {}
        for name, labels, value in re.findall(r"^(\w+)(?:\{(.*)\})? (\S+)$", self.text(), re.M):
            label = dict(re.findall(r'(\w+)="([^"]*)"', labels))
            key = (name, label.get("queue"), label.get("state") or label.get("quantile") or label.get("le") or label.get("shard"))
            found[key] = float(value)
        return found

    def test_follow_messages_on_their_way(self):
        self.start()
        dead = self.make("dead")
        policy = json.dumps({"deadLetterTargetArn": "arn:aws:sqs:us-east-1:000000000000:dead", "maxReceiveCount": 1})
        url = self.make("orders", RedrivePolicy=policy, **{"x-lag-target": "1"})
        self.send(url, 3)
        time.sleep(1.2)
        first, second, third = self.receive(url)
        self.delete(url, first)
        for message in (second, third):
            self.pawl.call("ChangeMessageVisibility", QueueUrl=url, ReceiptHandle=message["ReceiptHandle"], VisibilityTimeout=0)
        self.assertEqual(self.receive(url), [], "both are dead letters")
        found = self.samples()
        for name, wanted in (("sent", 3), ("received", 3), ("delivered", 3), ("delivered_late", 3), ("deleted", 1),
                             ("returned", 2), ("dead_lettered", 2)):
            self.assertEqual(found[f"pawl_messages_{name}_total", "orders", None], wanted, name)
            self.assertEqual(found[f"pawl_global_messages_{name}_total", None, None], wanted, name)
        self.assertEqual(found["pawl_queue_messages", "orders", "visible"], 0)
        self.assertEqual(found["pawl_queue_messages", "dead", "visible"], 2)
        self.assertEqual(found["pawl_messages_sent_total", "dead", None], 0)
        self.assertGreater(found["pawl_queue_oldest_message_age_seconds", "dead", None], 1, "a dead letter keeps its age")
        self.assertEqual(found["pawl_lease_seconds_count", "orders", None], 1)
        self.assertGreater(found["pawl_message_seconds_total", "orders", None], 3.6)
        self.assertEqual(found["pawl_delivery_seconds_count", None, None], 3)
        self.assertEqual(len(self.receive(dead)), 2)
        self.assertEqual(self.samples()["pawl_queue_messages", "dead", "in_flight"], 2)

    def test_keep_labels_for_the_life_of_a_queue(self):
        self.start("--metrics-queues", "2", "--shards", "2")
        urls = [self.make(f"q{number}") for number in range(6)]
        before = 0
        counted = {}
        for round_ in range(3):
            for url in urls:
                self.send(url, 2)
            found = self.samples()
            labelled = {queue for name, queue, _ in found if name == "pawl_messages_sent_total"}
            self.assertEqual(len(labelled), 3, labelled)
            self.assertIn(OTHER, labelled)
            for queue in labelled & counted.keys():
                self.assertGreaterEqual(found["pawl_messages_sent_total", queue, None], counted[queue], queue)
            counted = {queue: found["pawl_messages_sent_total", queue, None] for queue in labelled}
            total = found["pawl_global_messages_sent_total", None, None]
            self.assertEqual(total - before, 2 * len(urls))
            before = total
            self.pawl.call("DeleteQueue", QueueUrl=urls.pop(0))
            urls.append(self.make(f"later{round_}"))

    def test_know_the_age_in_each_slice_of_the_list(self):
        self.start("--shards", "1")
        queues = 600  # more than a slice
        for number in range(queues):
            self.send(self.make(f"q{number}"))
        time.sleep(0.1)
        found = self.samples()
        for number in range(queues):
            self.assertGreater(found["pawl_queue_oldest_message_age_seconds", f"q{number}", None], 0, number)

    def test_count_requests_by_operation_protocol_and_code(self):
        self.start()
        url = self.make("orders")
        self.send(url, 2)
        form = b"Action=GetQueueUrl&QueueName=missing"
        with self.assertRaises(urllib.error.HTTPError):
            urllib.request.urlopen(f"http://{self.pawl.ready['http']}/", form, timeout=10)
        time.sleep(1.2)  # the numbers are a second old
        text = self.text()
        for line in ('pawl_requests_total{op="SendMessage",protocol="json",code="ok"} 2',
                     'pawl_request_seconds_count{op="SendMessage",protocol="json"} 2',
                     'pawl_requests_total{op="GetQueueUrl",protocol="query",code="QueueDoesNotExist"} 1',
                     'pawl_requests_total{op="GetQueueUrl",protocol="query",code="ok"} 0'):
            self.assertIn(f"\n{line}\n", text)
        found = self.samples()
        self.assertGreater(found["process_resident_memory_bytes", None, None], 1 << 20)
        self.assertGreater(found["pawl_disk_size_bytes", None, None], found["pawl_disk_free_bytes", None, None])
        self.assertGreater(found["pawl_flush_seconds_count", None, "0"], 0)

    def test_tell_when_the_certificate_ends(self):
        place = tempfile.mkdtemp(prefix="metrics-test-")
        self.addCleanup(shutil.rmtree, place, ignore_errors=True)
        key, certificate = os.path.join(place, "k.pem"), os.path.join(place, "c.pem")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ed25519", "-nodes", "-keyout", key, "-out", certificate,
                        "-days", "10", "-subj", "/CN=localhost"], check=True, capture_output=True, timeout=30)
        self.start("--tls-cert", certificate, "--tls-key", key)
        left = self.samples()["pawl_certificate_expiry_timestamp_seconds", None, None] - time.time()
        self.assertAlmostEqual(left, 10 * 86400, delta=600)

    def test_are_those_that_the_page_names(self):
        self.start()
        self.make("orders")
        text = self.text()
        there = {name for name in re.findall(r"^# TYPE (\w+)", text, re.M)}
        named = set(re.findall(r"`(pawl_\w+?)(?:\{[\w,]+\})?`", PAGE))
        self.assertGreaterEqual(len(named), 24)
        self.assertEqual(named - there, {"pawl_certificate_expiry_timestamp_seconds"}, "absent without TLS")
        of_queues = {name for name in re.findall(r'^(\w+)\{queue="orders"', text, re.M)} & there
        self.assertEqual(of_queues - named, set())
        for command in documented("METRICS.md"):
            done = subprocess.run(["sh", "-c", command], text=True, capture_output=True, timeout=30, check=False,
                                  env={**os.environ, "PAWL_ADMIN": self.pawl.ready["admin"],
                                       "PATH": f"{os.path.dirname(PAWL)}:{os.environ['PATH']}"})
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("NumberOfMessagesSent" if "cloudwatch" in command else "pawl_queue_messages", done.stdout, command)

    def listed(self, *words):
        done = subprocess.run([PAWL, "metrics", "ls", "-o", "json", *words], text=True, capture_output=True, timeout=30, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return {row["name"]: row for row in json.loads(done.stdout)}

    def test_are_listed_with_their_series(self):
        self.start("--metrics-queues", "2")
        for name in ("orders", "more", "others"):
            self.make(name)
        text = self.text()
        found = self.listed("--admin", self.pawl.ready["admin"], "--metrics-queues", "2")
        self.assertEqual({name: row["type"] for name, row in found.items()}, dict(re.findall(r"^# TYPE (\w+) (\w+)", text, re.M)))
        lines = [line for line in text.splitlines() if not line.startswith("#")]
        self.assertEqual(sum(row["series"] for row in found.values()), len(lines))
        self.assertEqual(found["pawl_queue_messages"], {
            "name": "pawl_queue_messages", "type": "gauge", "labels": "queue, account, state", "series": 9, "series_max": 9,
            "help": "Messages by state."})
        for name, row in found.items():
            self.assertTrue(row["series_max"] == 0 or row["series"] <= row["series_max"], row)
            self.assertTrue(row["help"], name)
        of_queues = self.listed()
        self.assertEqual(set(of_queues), {name for name, row in found.items() if row["labels"].startswith("queue")})
        self.assertEqual({row["series"] for row in of_queues.values()}, {0}, "no server was asked")
        self.assertLessEqual(sum(row["series_max"] for row in of_queues.values()), 25 * 1001)
        table = subprocess.run([PAWL, "metrics", "ls", "--filter", "drain_rate"], text=True, capture_output=True, timeout=30, check=False)
        self.assertRegex(table.stdout, r"^NAME +TYPE +LABELS +SERIES MAX\npawl_queue_drain_rate +gauge +queue, account +1001\n$")

    @unittest.skipUnless(shutil.which("promtool"), "promtool is not installed")
    def test_please_promtool(self):
        self.start()
        self.send(self.make("orders"))
        done = subprocess.run(["promtool", "check", "metrics"], input=self.text(), text=True, capture_output=True, timeout=30, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(done.stderr, "")


if __name__ == "__main__":
    result = unittest.main(exit=False).result
    bad = len(result.failures) + len(result.errors)
    print(f"{max(result.testsRun - bad, 0)} passed, {bad} failed")
    sys.exit(1 if bad else 0)
