#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Messages delivered at a later time: x-max-delay, x-not-before, x-fifo-delay, x-max-visibility and x-attributes."""

import datetime
import json
import pathlib
import re
import sys
import time
import unittest

import boto3
import botocore.config
import botocore.exceptions

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from peek_test import PAWL, ROOT, Verbs  # noqa: E402
from pawl_server import Pawl  # noqa: E402

DAY = 86400
LATE_MS_MAX = 100
TRIES = 5  # a busy machine may be late once


def in_utc(seconds, zone=datetime.timezone.utc):
    """The wall clock in so many seconds, in ISO 8601."""
    return datetime.datetime.fromtimestamp(time.time() + seconds, zone).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def client_of(url):
    return boto3.client("sqs", endpoint_url=url, region_name="us-east-1", aws_access_key_id="x", aws_secret_access_key="x",
                        config=botocore.config.Config(retries={"max_attempts": 0}))


def killed_and_restarted(test, server):
    """Returns a client of the server's next life, which ends with the test."""
    server.kill()
    server = Pawl(PAWL, data=server.data, extra=["--shards", "1"]).start()
    test.addCleanup(server.stop)
    sqs = client_of(server.url)
    test.addCleanup(sqs.close)
    return sqs


def not_before(value, kind="String"):
    return {"x-not-before": {"DataType": kind, "StringValue": str(value)}}


class BotoVerbs(Verbs):
    """A development server that boto3 asks."""

    def setUp(self):
        super().setUp()
        self.sqs = client_of(self.pawl.url)
        self.addCleanup(self.sqs.close)

    def queue(self, name="q", **attributes):
        given = {key.replace("_", "-"): value for key, value in attributes.items()}
        return self.sqs.create_queue(QueueName=name, Attributes=given)["QueueUrl"]

    def post(self, url, body="m", **members):
        return self.sqs.send_message(QueueUrl=url, MessageBody=body, **members)

    def bodies(self, url, **members):
        return [m["Body"] for m in self.sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10, **members).get("Messages", [])]

    def take(self, url):
        """The bodies of all messages that can be received, which are deleted."""
        taken = []
        while messages := self.sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages"):
            taken += [message["Body"] for message in messages]
            for message in messages:
                self.sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
        return taken

    def counts(self, url):
        got = self.sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]
        return tuple(int(got["ApproximateNumberOfMessages" + state]) for state in ("", "NotVisible", "Delayed"))

    def advance(self, seconds):
        status, text = self.pawl.page("POST", "/_pawl/clock", body=json.dumps({"advance": f"{seconds}s"}))
        self.assertEqual(status, 200, text)

    def refusal(self, call, *words, code="InvalidParameterValue", **members):
        with self.assertRaises(botocore.exceptions.ClientError) as refused:
            call(**members)
        self.assertEqual(refused.exception.response["Error"]["Code"], code)
        for word in words:
            self.assertIn(word, refused.exception.response["Error"]["Message"])

    def run_examples(self, page, least, **names):
        """Runs the Python code of a page in tools/."""
        examples = re.findall(r"^```python\n(.*?)^```$", (ROOT / "tools" / page).read_text(), re.S | re.M)
        self.assertGreaterEqual(len(examples), least)
        names["sqs"] = self.sqs
        for example in examples:
            exec(example, names)  # pylint: disable=exec-used


class Delays(BotoVerbs):
    def test_page_can_be_followed(self):
        self.run_documented("DELAYING.md", 6)
        self.run_examples("DELAYING.md", 5, new_year=in_utc(9 * DAY))
        self.assertEqual(self.counts(self.sqs.get_queue_url(QueueName="trials")["QueueUrl"]), (0, 0, 2))
        self.assertEqual(self.counts(self.sqs.get_queue_url(QueueName="mails")["QueueUrl"]), (0, 0, 1))
        self.assertEqual(self.counts(self.sqs.get_queue_url(QueueName="steps.fifo")["QueueUrl"]), (0, 1, 1))

    def test_a_message_waits_for_days(self):
        url = self.queue()
        self.verb("queue", "set", "q", "--set", "x-max-delay=30d")
        self.post(url, DelaySeconds=10 * DAY)  # longer than the retention of 4 days
        self.assertEqual(self.counts(url), (0, 0, 1))
        self.assertRegex(self.verb("explain", "q", "1"), r"^It is delayed: receives return it in (9|10) days\..* It expires in (13|14) days")
        self.advance(10 * DAY - 30)
        self.assertEqual((self.bodies(url), self.counts(url)), ([], (0, 0, 1)))
        self.advance(30)
        self.assertEqual(self.bodies(url), ["m"])
        self.assertRegex(self.verb("queue", "info", "q"), r"x-max-delay +2592000")

    def test_a_message_that_expired_behind_a_delayed_one_is_explained(self):
        url = self.queue(**{"x-max-delay": "30d", "MessageRetentionPeriod": "60"})
        self.post(url, DelaySeconds=DAY)
        self.post(url)
        self.advance(100)
        self.assertEqual(self.counts(url), (0, 0, 1))
        self.assertRegex(self.verb("explain", "q", "2", code=3), "^It has left the queue: it was deleted or moved to another queue, or it expired")
        self.assertRegex(self.verb("explain", "q", "1"), r"^It is delayed")

    def test_the_queue_delays_for_hours(self):
        url = self.queue(x_max_delay="12h", DelaySeconds="5000")
        self.post(url, "by the queue")
        self.post(url, "by itself", DelaySeconds=40000)
        self.advance(5000)
        self.assertEqual(self.bodies(url), ["by the queue"])
        self.advance(35000)
        self.assertIn("by itself", self.bodies(url))

    def test_limits_depend_on_each_other(self):
        url = self.queue(x_max_delay="12h", DelaySeconds="5000", x_max_visibility="2d", VisibilityTimeout="90000")
        self.assertEqual(self.verb("queue", "set", "q", "--set", "x-max-delay=1h", code=1).count("Lower DelaySeconds too."), 1)
        for attributes, words in (
                ({"x-max-delay": "0"}, "It is 0, which allows a DelaySeconds of at most 900 s; that of the queue is 5000 s."),
                ({"DelaySeconds": "43201"}, "It is 43201; it must be 0 to 43200, the x-max-delay of the queue."),
                ({"VisibilityTimeout": "172801"}, "It is 172801; it must be 0 to 172800, the x-max-visibility of the queue."),
                ({"x-max-visibility": "1d"}, "which allows a VisibilityTimeout of at most 86400 s; that of the queue is 90000 s."),
                ({"x-max-visibility": "11h"}, "It is 11h; write whole seconds from 43200 to 2592000"),
                ({"x-max-delay": "3y"}, "It is 3y; write whole seconds from 1 to 63244800, as 90, 15m or 3d, or 0 for none."),
                ({"x-max-delya": "3d"}, 'Did you mean "x-max-delay"?'),
                ({"x-attributes": "all"}, "It is all; write one of system, message.")):
            with self.subTest(attributes):
                code = "InvalidAttributeName" if "x-max-delya" in attributes else "InvalidAttributeValue"
                self.refusal(self.sqs.set_queue_attributes, words, code=code, QueueUrl=url, Attributes=attributes)
        self.sqs.set_queue_attributes(QueueUrl=url, Attributes={"x-max-delay": "0", "DelaySeconds": "0"})
        self.assertNotIn("x-max-delay", self.sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"])

    def test_without_the_attributes_sqs_rules_hold(self):
        url, fifo = self.queue(), self.queue("q.fifo", FifoQueue="true", ContentBasedDeduplication="true")
        self.refusal(self.post, "DelaySeconds must be >= 0 and <= 900.", url=url, DelaySeconds=901)
        self.refusal(self.post, "not valid for this queue type", url=fifo, MessageGroupId="g", DelaySeconds=1)
        self.refusal(self.post, "'x-priority' is invalid. There are AWSTraceHeader, x-not-before, x-ttl.", url=url,
                     MessageSystemAttributes={"x-priority": {"DataType": "String", "StringValue": "1"}})
        self.refusal(self.bodies, "Must be >= 0 and <= 43200, if provided.", url=url, VisibilityTimeout=43201)
        self.refusal(self.post, "only where x-max-delay is set", url=fifo, MessageGroupId="g",
                     MessageSystemAttributes=not_before(in_utc(60)))
        self.post(fifo, MessageGroupId="g", MessageSystemAttributes=not_before(in_utc(-60)))
        self.assertEqual(self.bodies(fifo), ["m"])

    def test_a_message_is_delivered_at_its_time(self):
        late_ms = []
        for attempt in range(TRIES):
            url = self.queue(f"q{attempt}", x_attributes="message" if attempt % 2 else "system")
            due = int(time.time() * 1000) + 700
            value = in_utc(due / 1000 - time.time(), datetime.timezone(datetime.timedelta(hours=2))) if attempt % 4 < 2 else due
            channel = "MessageAttributes" if attempt % 2 else "MessageSystemAttributes"
            self.post(url, **{channel: not_before(value)})
            self.assertEqual(self.counts(url), (0, 0, 1))
            messages = self.sqs.receive_message(QueueUrl=url, WaitTimeSeconds=20, MessageAttributeNames=["All"],
                                                AttributeNames=["x-not-before"])["Messages"]
            late_ms.append(time.time() * 1000 - due)
            self.assertGreaterEqual(late_ms[-1], -1, "early: the text is cut to milliseconds")
            got = messages[0].get("MessageAttributes", {}).get("x-not-before", {}).get("StringValue")
            self.assertEqual((got, messages[0].get("Attributes", {}).get("x-not-before")),
                             (str(value), None) if attempt % 2 else (None, str(value)))
        self.assertLess(min(late_ms), LATE_MS_MAX, late_ms)

    def test_a_time_has_one_meaning(self):
        url = self.queue(x_attributes="message", DelaySeconds="60")
        beyond = in_utc(2 * DAY)
        for members, *words in (
                ({"MessageSystemAttributes": not_before("2026-12-24")}, "Value 2026-12-24 for the attribute x-not-before is invalid.",
                 "It must be a time with an offset, as 2026-12-24T18:00:00Z, or milliseconds since 1970."),
                ({"MessageSystemAttributes": not_before(int(time.time()))}, "A number counts milliseconds since 1970, not seconds."),
                ({"MessageSystemAttributes": not_before(beyond)}, f"Value {beyond} ", "a message of this queue waits at most 900 s",
                 "set the queue's x-max-delay, at most 63244800 s."),
                ({"MessageAttributes": not_before(beyond)}, "a message of this queue waits at most 900 s"),
                ({"MessageSystemAttributes": not_before(0), "DelaySeconds": 5}, "for the attribute x-not-before",
                 "The message has DelaySeconds too, with value 5."),
                ({"MessageSystemAttributes": not_before(0), "MessageAttributes": not_before(0)}, "has this attribute already"),
                ({"MessageSystemAttributes": {"x-not-befor": {"DataType": "String", "StringValue": "1"}}},
                 'Did you mean "x-not-before"?')):
            with self.subTest(words):
                self.refusal(self.post, *words, url=url, **members)
        self.post(url, "now", MessageSystemAttributes=not_before(0), DelaySeconds=0)
        self.assertEqual(self.bodies(url), ["now"])
        self.post(url, "as ever", MessageAttributes={name: {"DataType": "String", "StringValue": "1"} for name in ("X-Request-Id", "x-priority")})
        self.assertEqual(self.counts(url), (0, 1, 1), "the queue delays it")
        self.sqs.set_queue_attributes(QueueUrl=url, Attributes={"x-max-delay": "1d"})
        self.refusal(self.post, "waits at most 86400 s, its x-max-delay.", "or raise x-max-delay", url=url,
                     MessageSystemAttributes=not_before(beyond))

    def test_each_entry_of_a_batch_has_its_time(self):
        url = self.queue(x_max_delay="1d")
        members = ({"DelaySeconds": DAY}, {"DelaySeconds": DAY + 1}, {"MessageSystemAttributes": not_before(in_utc(DAY - 60))},
                   {"MessageSystemAttributes": not_before(in_utc(DAY + 60))}, {})
        done = self.sqs.send_message_batch(QueueUrl=url, Entries=[
            {"Id": str(i), "MessageBody": str(i)} | each for i, each in enumerate(members)])
        self.assertEqual([entry["Id"] for entry in done["Successful"]], ["0", "2", "4"])
        self.assertEqual([(entry["Id"], entry["Code"]) for entry in done["Failed"]],
                         [("1", "InvalidParameterValue"), ("3", "InvalidParameterValue")])
        self.assertIn("must be >= 0 and <= 86400, the queue's x-max-delay.", done["Failed"][0]["Message"])
        self.assertIn("waits at most 86400 s", done["Failed"][1]["Message"])
        self.assertEqual(self.counts(url), (1, 0, 2))

    def test_a_fifo_message_has_its_own_delay(self):
        url = self.queue("q.fifo", FifoQueue="true", ContentBasedDeduplication="true", x_max_delay="2d", DelaySeconds="100")
        self.post(url, "own", MessageGroupId="g", DelaySeconds=DAY)
        self.post(url, "behind", MessageGroupId="g", DelaySeconds=0)
        self.post(url, "other", MessageGroupId="h", DelaySeconds=0)
        self.post(url, "by the queue", MessageGroupId="i")
        self.post(url, "at a time", MessageGroupId="j", MessageSystemAttributes=not_before(in_utc(600)))
        self.assertEqual(self.take(url), ["other"])
        self.advance(100)
        self.assertEqual(self.take(url), ["by the queue"])
        self.advance(501)
        self.assertEqual(self.take(url), ["at a time"])
        self.assertEqual(self.counts(url), (1, 0, 1), "the second is visible, but its group is held")
        self.advance(DAY - 600)
        self.assertEqual(self.take(url), ["own", "behind"])

    def test_a_consumer_works_for_days(self):
        url = self.queue(x_max_visibility="3d")
        self.post(url)
        (message,) = self.sqs.receive_message(QueueUrl=url, VisibilityTimeout=2 * DAY)["Messages"]
        self.advance(DAY)
        self.assertEqual((self.bodies(url), self.counts(url)), ([], (0, 1, 0)))
        change = {"QueueUrl": url, "ReceiptHandle": message["ReceiptHandle"]}
        self.refusal(self.sqs.change_message_visibility, "between 0 and 259200, the queue's x-max-visibility.", **change,
                     VisibilityTimeout=3 * DAY + 1)
        self.refusal(self.sqs.change_message_visibility, "beyond the limit [259200 seconds]", **change, VisibilityTimeout=3 * DAY)
        self.sqs.change_message_visibility(**change, VisibilityTimeout=2 * DAY - 60)
        self.advance(DAY + 60)
        self.assertEqual(self.bodies(url), [])
        self.advance(DAY)
        self.assertEqual(self.bodies(url), ["m"])

    def test_they_can_be_declared(self):
        file = pathlib.Path(self.place, "queues.toml")
        file.write_text('[[queue]]\nname = "q"\nDelaySeconds = 5000\nx-max-delay = "2d"\nx-attributes = "message"\nx-lag-target = "1m"\n')
        self.assertIn("q", self.verb("queue", "apply", str(file)))
        got = self.sqs.get_queue_attributes(QueueUrl=self.sqs.get_queue_url(QueueName="q")["QueueUrl"], AttributeNames=["All"])["Attributes"]
        self.assertEqual([got[name] for name in ("DelaySeconds", "x-max-delay", "x-attributes", "x-lag-target")],
                         ["5000", "172800", "message", "60"])
        self.assertNotIn("x-max-delay:", self.verb("queue", "apply", str(file)), "nothing differs")
        file.write_text('[[queue]]\nname = "q"\nDelaySeconds = 5000\nx-max-delay = "2d"\nx-lag-target = "soon"\n')
        checked = self.run_pawl("config", "check", str(file))
        refused = checked.stdout + checked.stderr
        self.assertEqual(checked.returncode, 4, refused)
        self.assertIn("x-lag-target = soon of queue q", refused)
        self.assertNotIn("DelaySeconds = 5000", refused, "it is right beside x-max-delay")

    def test_messages_pass_a_delayed_one_of_their_group(self):
        url = self.queue("q.fifo", FifoQueue="true", ContentBasedDeduplication="true", x_max_delay="30d")
        for body, delay in (("remind", 1000), ("paid", 0), ("sent", 0)):
            self.post(url, body, MessageGroupId="order-1", DelaySeconds=delay)
        self.assertEqual(self.bodies(url), [])
        self.assertRegex(self.verb("explain", "q.fifo", "2"), "^It waits for message 1 before it in its group, which is delayed")
        self.verb("queue", "set", "q.fifo", "--set", "x-fifo-delay=pass")
        self.assertRegex(self.verb("queue", "info", "q.fifo"), r"x-fifo-delay +pass\n")
        self.assertRegex(self.verb("explain", "q.fifo", "1"), "^It is delayed: receives return it in ")
        self.assertRegex(self.verb("explain", "q.fifo", "2"), "^It is visible")
        self.assertEqual(self.bodies(url, VisibilityTimeout=2000), ["paid", "sent"])
        self.post(url, "thank", MessageGroupId="order-1", DelaySeconds=500)
        self.assertEqual(self.bodies(url), [], "the group waits for messages in flight")
        self.advance(1000)
        self.assertRegex(self.verb("explain", "q.fifo", "1"), "^It waits for message 2 before it in its group, which is in flight")
        self.advance(1000)
        self.assertEqual(self.take(url), ["paid", "sent", "thank", "remind"])

    def test_a_fifo_delay_is_for_fifo_queues(self):
        url, fifo = self.queue(), self.queue("q.fifo", FifoQueue="true", x_fifo_delay="pass")
        self.refusal(self.sqs.set_queue_attributes, "You can specify the x-fifo-delay only when FifoQueue is set to true.",
                     code="InvalidAttributeName", QueueUrl=url, Attributes={"x-fifo-delay": "pass"})
        self.refusal(self.sqs.set_queue_attributes, "; write one of block, pass.", code="InvalidAttributeValue", QueueUrl=fifo,
                     Attributes={"x-fifo-delay": "Pass"})
        self.sqs.set_queue_attributes(QueueUrl=fifo, Attributes={"x-fifo-delay": "block"})
        self.assertNotIn("x-fifo-delay", self.sqs.get_queue_attributes(QueueUrl=fifo, AttributeNames=["All"])["Attributes"])

    def times(self, url):
        message, = self.sqs.receive_message(QueueUrl=url, AttributeNames=["x-times", "SentTimestamp"])["Messages"]
        times = json.loads(message["Attributes"]["x-times"])
        self.assertEqual(times["accepted"], int(message["Attributes"]["SentTimestamp"]))
        return times

    def test_a_receive_tells_the_times_of_a_message(self):
        url = self.queue()
        self.post(url)
        first = self.times(url)
        self.assertEqual(sorted(first), ["accepted", "delivered"])  # nobody had asked before
        self.post(url)
        second = self.times(url)
        self.assertEqual(sorted(second), ["accepted", "delivered", "durable"])
        self.assertLessEqual(second["accepted"], second["durable"])
        self.assertLessEqual(second["durable"], second["delivered"])
        self.post(url)
        received = self.sqs.receive_message(QueueUrl=url, AttributeNames=["All"])["Messages"][0]
        self.assertNotIn("x-times", received["Attributes"])


class AfterAKill(unittest.TestCase):
    def test_delays_survive(self):
        server = Pawl(PAWL, extra=["--shards", "1"]).start()
        self.addCleanup(server.remove_data)
        sqs = client_of(server.url)
        url = sqs.create_queue(QueueName="q", Attributes={"x-max-delay": "30d", "x-attributes": "message"})["QueueUrl"]
        for i in range(3):
            sqs.send_message(QueueUrl=url, MessageBody=f"late {i}", DelaySeconds=(i + 5) * DAY)
        fifo = sqs.create_queue(QueueName="q.fifo", Attributes={"FifoQueue": "true", "ContentBasedDeduplication": "true",
                                                                "x-max-delay": "30d", "x-fifo-delay": "pass"})["QueueUrl"]
        for body, delay in (("second", 1), ("never", DAY), ("first", 0)):
            sqs.send_message(QueueUrl=fifo, MessageBody=body, MessageGroupId="g", DelaySeconds=delay)
        soon = int(time.time() * 1000) + 3000
        sqs.send_message(QueueUrl=url, MessageBody="soon", MessageSystemAttributes=not_before(soon, "Number"))
        sqs.close()
        sqs = killed_and_restarted(self, server)
        url = sqs.get_queue_url(QueueName="q")["QueueUrl"]
        got = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]
        self.assertEqual((got["x-max-delay"], got["x-attributes"]), ("2592000", "message"))
        messages = sqs.receive_message(QueueUrl=url, WaitTimeSeconds=20, AttributeNames=["All", "x-not-before"])["Messages"]
        self.assertGreaterEqual(time.time() * 1000, soon - 1)
        self.assertEqual([(m["Body"], m["Attributes"]["x-not-before"]) for m in messages], [("soon", str(soon))])
        got = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["ApproximateNumberOfMessagesDelayed"])["Attributes"]
        self.assertEqual(got["ApproximateNumberOfMessagesDelayed"], "3")
        fifo = sqs.get_queue_url(QueueName="q.fifo")["QueueUrl"]
        for body in ("first", "second"):  # by their times, not by their numbers
            message, = sqs.receive_message(QueueUrl=fifo, MaxNumberOfMessages=10, WaitTimeSeconds=20)["Messages"]
            self.assertEqual(message["Body"], body)
            sqs.delete_message(QueueUrl=fifo, ReceiptHandle=message["ReceiptHandle"])


if __name__ == "__main__":
    result = unittest.main(exit=False).result
    bad = len(result.failures) + len(result.errors)
    print(f"{max(result.testsRun - bad, 0)} passed, {bad} failed")
    sys.exit(1 if bad else 0)
