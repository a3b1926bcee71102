#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""`pawl topic`: against pawl, pawl with --strict-sqs, pawl with access keys, and the endpoint that PAWL_TEST_ENDPOINT names."""

import json
import os
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "clients"))
from dev_test import PAWL  # noqa: E402
from peek_test import Verbs  # noqa: E402
from queue_verbs_test import NamedEndpoint, Queues  # noqa: E402

KEY = {"AWS_ACCESS_KEY_ID": "OWNER", "AWS_SECRET_ACCESS_KEY": "hush", "AWS_REGION": "us-east-1"}


class AnyTopic(Queues):
    """The cases that hold at every endpoint with SQS and SNS. Names are new ones."""

    def create_topic(self, *words, end=""):
        name = self.name(end)
        arn = self.verb("topic", "create", name, *words).strip()
        self.assertRegex(arn, rf"^arn:[^:]+:sns:[^:]+:\d{{12}}:{name}$")
        self.addCleanup(self.run_pawl, "topic", "rm", name, "--yes", "--url", self.url)
        return name, arn

    def attributes(self, topic):
        return {row["attribute"]: row["value"] for row in json.loads(self.verb("topic", "info", topic, "-o", "json"))}

    def subscriptions(self, *topic):
        return json.loads(self.verb("topic", "subscriptions", *topic, "-o", "json"))

    def bodies(self, queue):
        return sorted(row["body"] for row in self.received(queue, "-n", "10", "--delete"))

    def test_a_topic_goes_through_its_life(self):
        topic, arn = self.create_topic("--set", "DisplayName=a & b <c>", "--tag", "team=blue")
        self.assertEqual(self.verb("topic", "create", topic).strip(), arn, "it is there already")
        for word in (topic, arn):
            attributes = self.attributes(word)
            self.assertEqual((attributes["TopicArn"], attributes["DisplayName"]), (arn, "a & b <c>"))
        rows = {row["topic"]: row for row in json.loads(self.verb("topic", "ls", "-o", "json"))}
        self.assertEqual(rows[topic], {"topic": topic, "subscriptions": 0, "arn": arn})
        self.assertIn(topic, self.verb("topic", "ls", "--names").splitlines())
        self.assertIn("Add --yes to do it", self.verb("topic", "rm", topic, code=2))
        self.assertEqual(self.verb("topic", "rm", topic, "--yes"), "")
        for words in (("info", topic), ("rm", topic, "--yes"), ("publish", topic, "x"), ("subscribe", topic, "q"), ("subscriptions", topic),
                      ("unsubscribe", topic, "q"), ("info", arn), ("rm", arn, "--yes"), ("subscriptions", arn), ("publish", arn, "x")):
            with self.subTest(words):
                self.assertIn("there is no topic", self.verb("topic", *words, code=3))

    def test_subscribed_queues_get_messages_that_their_filters_match(self):
        topic, arn = self.create_topic()
        every, red, big = self.create(), self.create(), self.create()
        colour, size = '{"colour":["red"]}', '{"size":[{"numeric":[">",5]}]}'
        subscription = self.verb("topic", "subscribe", topic, every).strip()
        self.verb("topic", "subscribe", arn, red, "--raw", "--filter", colour)
        url = next(row["value"] for row in json.loads(self.verb("queue", "info", big, "-o", "json")) if row["attribute"] == "QueueUrl")
        self.verb("topic", "subscribe", topic, url, "--raw", "--filter", size, "--filter-scope", "MessageBody")
        rows = {row["queue"]: row for row in self.subscriptions(topic)}
        self.assertEqual(sorted(rows), sorted([every, red, big]))
        self.assertEqual([rows[queue]["raw"] for queue in (every, red, big)], [False, True, True])
        self.assertEqual((rows[red]["filter"], rows[big]["scope"], rows[every]["arn"]), (colour, "MessageBody", subscription))
        self.assertLessEqual({row["arn"] for row in rows.values()}, {row["arn"] for row in self.subscriptions()})
        ids = [self.verb("topic", "publish", topic, body, *words).strip() for body, *words in (
            ('{"size":3}', "--attribute", "colour=red", "--subject", "s"), ('{"size":7}',), ("a=b&c +ü", "--attribute", "colour=blue"))]
        self.assertEqual(len(set(ids)), 3)
        envelopes = [json.loads(body) for body in self.bodies(every)]
        self.assertEqual({e["Message"] for e in envelopes}, {'{"size":3}', '{"size":7}', "a=b&c +ü"})
        self.assertEqual({e["MessageId"] for e in envelopes}, set(ids))
        self.assertEqual([e["Subject"] for e in envelopes if "Subject" in e], ["s"])
        self.assertEqual(self.bodies(red), ['{"size":3}'])
        self.assertEqual(self.bodies(big), ['{"size":7}'])
        self.assertIn("has 3 subscriptions", self.verb("topic", "rm", topic, code=2))
        self.assertEqual(self.verb("topic", "unsubscribe", topic, red), "")
        self.assertEqual(self.verb("topic", "unsubscribe", subscription), "")
        self.assertEqual([row["queue"] for row in self.subscriptions(topic)], [big])
        self.assertIn("is not subscribed to topic", self.verb("topic", "unsubscribe", topic, red, code=3))

    def test_fifo_topics_keep_groups_and_deduplicate(self):
        topic, _ = self.create_topic(end=".fifo")
        queue = self.create(end=".fifo")
        self.verb("topic", "subscribe", topic, queue, "--raw")
        for body, deduplication in (("1", "a"), ("2", "b"), ("2 again", "b")):
            self.verb("topic", "publish", topic, body, "--group", "g", "--deduplication", deduplication)
        rows = self.received(queue, "-n", "10")
        self.assertEqual([(row["body"], row["group"]) for row in rows], [("1", "g"), ("2", "g")])
        self.assertIn("error: ", self.verb("topic", "publish", topic, "no group", code=1))

    def test_a_message_may_be_a_file_or_the_standard_input(self):
        topic, _ = self.create_topic()
        queue = self.create()
        self.verb("topic", "subscribe", topic, queue, "--raw")
        path = pathlib.Path(self.place, "body")
        path.write_text("a\nb")
        self.verb("topic", "publish", topic, "--file", str(path))
        done = subprocess.run([PAWL, "topic", "publish", topic, "--file", "-", "--url", self.url], input="from stdin", text=True, timeout=30,
                              capture_output=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.bodies(queue), ["a\nb", "from stdin"])
        self.assertIn("cannot read /none", self.verb("topic", "publish", topic, "--file", "/none", code=1))

    def test_wrong_use_says_what_to_do(self):
        topic, _ = self.create_topic()
        queue = self.create()
        for words in (("publish", topic), ("publish", topic, "x", "--file", "f"), ("publish", topic, "x", "--attribute", "k"),
                      ("subscribe", topic, queue, "--filter", "[1]"), ("subscribe", topic, queue, "--filter-scope", "MessageBody"),
                      ("unsubscribe", topic)):
            with self.subTest(words):
                done = self.run_pawl("topic", *words, "--url", self.url)
                self.assertEqual((done.returncode, done.stderr.startswith("error: ")), (2, True), done.stderr)
        self.assertIn("InvalidParameter", self.verb("topic", "create", "no name", code=1))
        self.assertIn("error: ", self.verb("topic", "info", "arn:x", code=1))
        self.assertIn("error: ", self.verb("topic", "subscribe", topic, queue, "--filter", '{"a":{"b":["c"]}}', code=1))


class TopicsOfPawl(AnyTopic, Verbs):
    def setUp(self):
        super().setUp()
        self.url = self.pawl.url

    def test_a_queue_that_is_missing_is_noticed(self):
        topic, _ = self.create_topic()
        self.assertIn("does not exist", self.verb("topic", "subscribe", topic, self.name(), code=1))

    def test_more_topics_and_subscriptions_than_a_page_has(self):
        topic, _ = self.create_topic()
        for n in range(105):
            self.pawl.call("CreateQueue", QueueName=f"many-{n}")
            self.verb("topic", "subscribe", topic, f"many-{n}")
            self.verb("topic", "create", f"many-{n}")
        self.assertEqual(len(self.subscriptions(topic)), 105)
        self.assertEqual(len(json.loads(self.verb("topic", "ls", "--names", "-o", "json"))), 106)

    def test_an_endpoint_that_is_no_sns_is_told_so(self):
        admin = self.run_pawl("topic", "ls", "--url", "http://" + self.pawl.ready["admin"])
        self.assertEqual((admin.returncode, admin.stderr.startswith("error: ")), (1, True), admin.stderr)
        gone = self.run_pawl("topic", "ls", "--url", "http://127.0.0.1:1")
        self.assertEqual((gone.returncode, gone.stderr.startswith("error: ")), (1, True), gone.stderr)
        named = self.run_pawl("topic", "ls", AWS_ENDPOINT_URL_SNS=self.url, AWS_ENDPOINT_URL="http://127.0.0.1:1")
        self.assertEqual(named.returncode, 0, named.stderr)


class TopicsOfStrictPawl(AnyTopic, Verbs):
    words = ("--strict-sqs",)

    def setUp(self):
        super().setUp()
        self.url = self.pawl.url


class TopicsWithKeys(Verbs):
    words = ("--auth", "sigv4", "--keys", "{keys}")

    def test_calls_are_signed_for_sns(self):
        self.verb("queue", "create", "q", **KEY)
        self.verb("topic", "create", "t", **KEY)
        arn = self.verb("topic", "subscribe", "t", "q", "--raw", **KEY)
        self.assertIn(":sns:us-east-1:" + "1" * 12 + ":t:", arn)
        self.verb("topic", "publish", "t", "+ &ü", **KEY)
        (row,) = [json.loads(line) for line in self.verb("receive", "q", "--wait", "2", "-o", "jsonl", **KEY).splitlines()]
        self.assertEqual(row["body"], "+ &ü")
        self.assertIn("SignatureDoesNotMatch", self.verb("topic", "ls", code=1, **{**KEY, "AWS_SECRET_ACCESS_KEY": "wrong"}))
        unsigned = self.verb("topic", "ls", code=1, AWS_ACCESS_KEY_ID="", AWS_SECRET_ACCESS_KEY="")
        self.assertIn("set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY", unsigned)


class TopicsOfTheNamedEndpoint(AnyTopic, NamedEndpoint):
    pass


if __name__ == "__main__":
    result = unittest.main(exit=False).result
    bad = len(result.failures) + len(result.errors)
    for case, reason in result.skipped[:1]:
        print(f"SKIPPED {len(result.skipped)}: {reason}")
    print(f"{max(result.testsRun - bad - len(result.skipped), 0)} passed, {bad} failed")
    sys.exit(1 if bad else 0)
