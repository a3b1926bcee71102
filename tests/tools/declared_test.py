#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Declared queues: [[queue]], [[topic]], [[subscription]], [[schedule]] and [[message]] in the file of `pawl serve --config`."""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.error
import urllib.parse
import urllib.request

PAWL = str(pathlib.Path(sys.argv.pop(1) if len(sys.argv) > 1 else "build/release/pawl").resolve())
ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLE = re.search(r"^```toml\n(.*?)^```$", (ROOT / "tools/DECLARED.md").read_text(), re.S | re.M)[1]
ACCOUNT = "000000000000"

QUEUE = '[[queue]]\nname = "q"\n'
FIFO = '[[queue]]\nname = "q.fifo"\n'
TOPIC = '[[topic]]\nname = "t"\n'
SCHEDULE = '[[schedule]]\nname = "s"\nexpression = "at(2199-01-31T23:00:00)"\n'
POLICY = '{ Version = "2012-10-17", Statement = [{ Effect = "Allow", Principal = "*", Action = "sqs:*", Resource = "*" }] }'
# Each attribute that a table may have.
EVERY_ATTRIBUTE = f"""
[[queue]]
name = "all"
DelaySeconds = "5s"
KmsMasterKeyId = "alias/aws/sqs"
KmsDataKeyReusePeriodSeconds = "5m"
MaximumMessageSize = 2048
MessageRetentionPeriod = "2d"
Policy = {POLICY}
ReceiveMessageWaitTimeSeconds = 20
RedriveAllowPolicy = {{ redrivePermission = "allowAll" }}
RedrivePolicy = {{ deadLetterTargetArn = "orders-dead", maxReceiveCount = "3" }}
VisibilityTimeout = "1h"
x-durability = "memory"
x-replay-retention = "7d"
tags = {{ a = "1", b = 2, c = true }}

[[queue]]
name = "all.fifo"
FifoQueue = true
ContentBasedDeduplication = true
DeduplicationScope = "messageGroup"
FifoThroughputLimit = "perMessageGroupId"

[[topic]]
name = "all"
DeliveryPolicy = {{ http = {{ defaultHealthyRetryPolicy = {{ minDelayTarget = 20, maxDelayTarget = 20, numRetries = 3 }} }} }}
DisplayName = "All"
KmsMasterKeyId = "alias/aws/sns"
Policy = {POLICY}
SignatureVersion = "2"
TracingConfig = "Active"
tags = {{ a = "1" }}

[[topic]]
name = "all.fifo"
ContentBasedDeduplication = "True"
FifoThroughputScope = "MessageGroup"
FifoTopic = true

[[subscription]]
topic = "all"
endpoint = "all"
protocol = "sqs"
DeliveryPolicy = {{ healthyRetryPolicy = {{ minDelayTarget = 1, maxDelayTarget = 2, numRetries = 3 }} }}
FilterPolicy = {{ price = [{{ numeric = [">", 5] }}], "a.b" = [{{ prefix = "x" }}, true] }}
FilterPolicyScope = "MessageBody"
RawMessageDelivery = "True"
RedrivePolicy = {{ deadLetterTargetArn = "orders-dead" }}

[[subscription]]
topic = "all.fifo"
endpoint = "all.fifo"

[[schedule]]
name = "all"
group = "g"
account = "000000000000"
expression = "cron(30 2 1 1 ? *)"
zone = "Europe/Berlin"
queue = "all.fifo"
input = {{ run = 1, of = "test" }}
message-group = "m"
start = 2198-01-01T00:00:00Z
end = "2199-12-31T00:00:00+01:00"
catch-up = "none"
overlap = "skip"
nonexistent = "skip"
enabled = false
delete-after-completion = true
dead-letter-queue = "orders-dead"
description = "every key"

[[schedule]]
name = "all"
expression = "rate(300 days)"
topic = "all"
start = 2198-01-01T00:00:00Z
"""
# Files that no server starts with: the line and column of the fault, and parts of its text.
BROKEN = [
    ('[[queue]]\nVisibilityTimeout = 5\n', "1:1", "has no name"),
    ('[[queue]]\nname = "a b"\n', "1:1", '"a b" is no name of a queue'),
    ('[[queue]]\nname = "' + "x" * 81 + '"\n', "1:1", "at most 80"),
    ('[[queue]]\nname = 7\n', "2:8", "must be a string"),
    ('[queue]\nname = "q"\n', "1:1", "write [[queue]]"),
    ('[[queues]]\nname = "q"\n', "1:3", "Did you mean \"queue\"?"),
    (QUEUE + 'VisibilityTimout = 5\n', "3:20", 'Did you mean "VisibilityTimeout"?'),
    (QUEUE + 'x-durabilty = "async"\n', "3:15", 'Did you mean "x-durability"?'),
    (QUEUE + 'VisibilityTimeout = 99999\n', "3:21", "VisibilityTimeout = 99999 of queue q", "Allowed: 0 to 43200"),
    (QUEUE + 'VisibilityTimeout = "250ms"\n', "3:21", "VisibilityTimeout = 250ms", "Allowed: 0 to 43200"),
    (QUEUE + 'x-durability = "fast"\n', "3:16", "Allowed: fsync, async, memory"),
    (QUEUE + 'DelaySeconds = 1.5\n', "3:16", "DelaySeconds must be"),
    (QUEUE + 'account = "12"\n', "3:11", "12 digits"),
    (QUEUE + 'tags = "red"\n', "3:8", "tags of a [[queue]] is a table"),
    (QUEUE + 'FifoQueue = true\n', "3:13", "end in .fifo"),
    (FIFO + 'FifoQueue = false\n', "3:13", "without .fifo"),
    (QUEUE + 'ContentBasedDeduplication = true\n', "3:29", "FIFO queues"),
    (FIFO + 'FifoThroughputLimit = "perMessageGroupId"\n', "3:23", "DeduplicationScope"),
    (QUEUE + 'RedrivePolicy = { deadLetterTargetArn = "dead", maxReceiveCount = 3 }\n', "3:17", "Declare the dead-letter queue"),
    (QUEUE + 'RedrivePolicy = "dead"\n', "3:17", "RedrivePolicy = dead"),
    (QUEUE + FIFO + 'RedrivePolicy = { deadLetterTargetArn = "q", maxReceiveCount = 3 }\n', "5:17", "RedrivePolicy"),
    (QUEUE + 'DelaySeconds = 1\n' + QUEUE + 'DelaySeconds = 2\n', "4:1", "DelaySeconds = 2", "Keep one"),
    (QUEUE + QUEUE + 'DelaySeconds = 2\n', "3:1", "declared at", ":1:1 too"),
    (QUEUE + 'tags = { a = "1" }\n' + QUEUE + 'tags = { a = "2" }\n', "4:1", "a = 2"),
    ('[[topic]]\nname = "t"\nDisplayNam = "x"\n', "3:14", 'Did you mean "DisplayName"?'),
    (TOPIC + 'FifoTopic = true\n', "3:13", "the name decides"),
    ('[[subscription]]\ntopic = "t"\nendpoint = "q"\n' + QUEUE, "1:1", "Declare it as [[topic]] too"),
    ('[[subscription]]\ntopic = "t"\nendpoint = "q"\n' + TOPIC, "1:1", "Declare it as [[queue]] too"),
    ('[[subscription]]\ntopic = "t"\n' + TOPIC, "1:1", "has no endpoint"),
    (TOPIC + QUEUE + '[[subscription]]\ntopic = "t"\nendpoint = "q"\nprotocol = "http"\n', "8:12", "Allowed: sqs"),
    (TOPIC + QUEUE + '[[subscription]]\ntopic = "t"\nendpoint = "q"\nFilterPolicy = { a = "red" }\n', "8:16", "FilterPolicy"),
]
# Below a [[queue]] of two lines.
BROKEN_SCHEDULES = [
    ('[[schedule]]\nname = "s"\nqueue = "q"\n', "3:1", "has no expression"),
    ('[[schedule]]\nexpression = "rate(1 day)"\nqueue = "q"\n', "3:1", "has no name"),
    (SCHEDULE, "3:1", "needs one target"),
    (SCHEDULE + 'queue = "q"\ntopic = "t"\n', "3:1", "not both"),
    (SCHEDULE + 'queue = "none"\n', "6:9", "Declare it as [[queue]] too"),
    (SCHEDULE + 'topic = "none"\n', "6:9", "Declare it as [[topic]] too"),
    (SCHEDULE + 'queue = "q"\ndead-letter-queue = "none"\n', "7:21", "Declare it as [[queue]] too"),
    (SCHEDULE + 'queue = "q"\nzone = "Europe/Berln"\n', "7:8", 'Did you mean "Europe/Berlin"?'),
    (SCHEDULE + 'queue = "q"\nzonne = "UTC"\n', "7:9", 'Did you mean "zone"?'),
    (SCHEDULE + 'queue = "q"\ncatch-up = "some"\n', "7:12", "catch-up = some of schedule s: Allowed: none, last, all."),
    (SCHEDULE + 'queue = "q"\noverlap = "no"\n', "7:11", "Allowed: allow, skip."),
    (SCHEDULE + 'queue = "q"\nnonexistent = "no"\n', "7:15", "Allowed: next, skip."),
    (SCHEDULE + 'queue = "q"\nenabled = "no"\n', "7:11", "neither true nor false"),
    (SCHEDULE + 'queue = "q"\nstart = 2027-01-01\n', "7:9", "start must be"),
    (SCHEDULE + 'queue = "q"\nend = "tomorrow"\n', "7:7", "2026-12-24T18:00:00Z"),
    (SCHEDULE + 'queue = "q"\ngroup = "a b"\n', "3:1", '"a b" is no name of a group of schedules'),
    (SCHEDULE.replace('"s"', '"a/b"') + 'queue = "q"\n', "3:1", '"a/b" is no name of a schedule'),
    ('[[schedule]]\nname = "s"\nqueue = "q"\nexpression = "rate(1 hours)"\n', "6:14", "expression = rate(1 hours) of schedule s"),
    (FIFO + SCHEDULE + 'queue = "q.fifo"\n', "5:1", "has no message-group"),
    (SCHEDULE + 'queue = "q"\n' + SCHEDULE + 'queue = "q"\ninput = "x"\n', "7:1", "input = x", "Keep one"),
]
# With --dev.
BROKEN_MESSAGES = [
    ('[[message]]\nqueue = "q"\nbody = "b"\n', "1:1", "no such [[queue]]"),
    (FIFO + '[[message]]\nqueue = "q.fifo"\nbody = "b"\n', "3:1", "has no group"),
    (QUEUE + '[[message]]\nqueue = "q"\nbody = "b"\ndelay = "16m"\n', "6:9", "0 to 900"),
    (QUEUE + '[[message]]\nqueue = "q"\nbody = "b"\ndedup-id = "d"\n', "3:1", "only messages of FIFO queues"),
    (QUEUE + '[[message]]\nqueue = "q"\n', "3:1", "has no body"),
]


class Started:
    """A server with a configuration file. `code` is its exit code if it did not start."""

    def __init__(self, config, *words, stdin=subprocess.DEVNULL):
        self.process = subprocess.Popen(
            [PAWL, "serve", "--config", config, "--http", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--binary", "127.0.0.1:0",
             *words], stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env={"PAWL_SERVER_LOG_FORMAT": "text", **os.environ})
        line = self.process.stdout.readline()
        if line:
            self.ready = json.loads(line)
            self.url = "http://" + self.ready["http"]
        else:
            self.errors = self.process.communicate(timeout=60)[1]
        self.code = self.process.returncode

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.errors = self.process.communicate(timeout=60)[1]
        return self.process.returncode

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.stop()

    def post(self, path, body, headers):
        request = urllib.request.Request(self.url + path, body, headers, method="POST")
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return answer.read().decode()
        except urllib.error.HTTPError as refused:
            with refused:
                raise AssertionError(refused.read().decode()) from None

    def sqs(self, action, account=ACCOUNT, **body):
        return json.loads(self.post("/", json.dumps(body).encode(), {
            "Content-Type": "application/x-amz-json-1.0", "X-Amz-Target": "AmazonSQS." + action,
            "Authorization": f"AWS4-HMAC-SHA256 Credential={account}/20261128/us-east-1/sqs/aws4_request, "
                             f"SignedHeaders=host, Signature={'0' * 64}"}) or "{}")

    def sns(self, action, **parameters):
        form = urllib.parse.urlencode({"Action": action, "Version": "2010-03-31", **parameters})
        return self.post("/", form.encode(), {"Content-Type": "application/x-www-form-urlencoded"})

    def schedule(self, name, group="default"):
        with urllib.request.urlopen(f"{self.url}/schedules/{name}?groupName={group}", timeout=10) as answer:
            return json.loads(answer.read())

    def attributes(self, queue):
        return self.sqs("GetQueueAttributes", QueueUrl=queue, AttributeNames=["All"])["Attributes"]

    def names(self):
        return [url.rsplit("/", 1)[1] for url in self.sqs("ListQueues").get("QueueUrls", [])]


class Declared(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.mkdtemp(prefix="declared-test-")
        self.addCleanup(shutil.rmtree, self.place, ignore_errors=True)
        self.data = os.path.join(self.place, "data")

    def config(self, text):
        path = os.path.join(self.place, "pawl.toml")
        pathlib.Path(path).write_text(text)
        return path

    def start(self, text, *words):
        return Started(self.config(text), "--data", self.data, *words)

    def refused(self, text, line, *parts, words=()):
        with self.start(text, *words) as pawl:
            self.assertEqual(pawl.code, 2, text)
        self.assertRegex(pawl.errors, rf"{re.escape(self.place)}/pawl\.toml:{line}: ", text)
        for part in parts:
            self.assertIn(part, pawl.errors, text)

    def test_the_example_of_the_page_is_what_the_server_has(self):
        with self.start(EXAMPLE, "--dev") as pawl:
            self.assertEqual(pawl.names(), ["events.fifo", "orders", "orders-dead"])
            orders = pawl.attributes("orders")
            self.assertEqual((orders["VisibilityTimeout"], orders["x-durability"]), ("120", "async"))
            self.assertEqual(json.loads(orders["RedrivePolicy"]),
                             {"deadLetterTargetArn": f"arn:aws:sqs:us-east-1:{ACCOUNT}:orders-dead", "maxReceiveCount": 3})
            self.assertEqual(pawl.sqs("ListQueueTags", QueueUrl="orders")["Tags"], {"team": "shop"})
            self.assertEqual(pawl.attributes("events.fifo")["ContentBasedDeduplication"], "true")
            self.assertEqual(pawl.sqs("ReceiveMessage", QueueUrl="orders")["Messages"][0]["Body"], "order 1")
            pawl.sns("Publish", TopicArn=f"arn:aws:sns:us-east-1:{ACCOUNT}:news", Message="red", **{
                "MessageAttributes.entry.1.Name": "colour", "MessageAttributes.entry.1.Value.DataType": "String",
                "MessageAttributes.entry.1.Value.StringValue": "red"})
            self.assertEqual(pawl.sqs("ReceiveMessage", QueueUrl="orders")["Messages"][0]["Body"], "red", "raw")

    def test_a_second_start_changes_nothing(self):
        with self.start(EXAMPLE, "--dev") as pawl:
            before = {name: pawl.attributes(name) for name in pawl.names()}
            subscriptions = pawl.sns("ListSubscriptions")
            self.assertEqual(pawl.stop(), 0)
        time.sleep(1.1)  # LastModifiedTimestamp is in seconds
        with self.start(EXAMPLE, "--dev") as pawl:
            self.assertEqual({name: pawl.attributes(name) for name in pawl.names()}, before)
            subscribed = r"<SubscriptionArn>.*?</SubscriptionArn>"
            self.assertEqual(re.findall(subscribed, pawl.sns("ListSubscriptions")), re.findall(subscribed, subscriptions))

    def test_a_second_start_writes_as_much_as_one_without_declared_queues(self):
        def frames(pawl):
            time.sleep(1.5)  # the numbers are collected each second
            with urllib.request.urlopen(f"http://{pawl.ready['admin']}/metrics", timeout=10) as page:
                return sum(float(line.split()[-1]) for line in page.read().decode().splitlines()
                           if line.startswith("pawl_wal_frames_total"))
        everything = EXAMPLE + EVERY_ATTRIBUTE
        with self.start(everything, "--dev") as pawl:
            self.assertEqual(pawl.code, None, getattr(pawl, "errors", ""))
            self.assertGreater(frames(pawl), 0)
        with self.start("", "--dev") as pawl:
            without = frames(pawl)
        with self.start(everything, "--dev") as pawl:
            self.assertEqual(frames(pawl), without)
            pawl.stop()
            self.assertIn("made: 0, changes: 0, messages sent: 0\n", pawl.errors)

    def test_the_start_reports_its_changes(self):
        with self.start(EXAMPLE, "--dev", "--log-format", "json") as pawl:
            pawl.stop()
        (event,) = [event for event in map(json.loads, pawl.errors.splitlines()) if event["code"] == "declared"]
        self.assertEqual(event["text"], "declared queues: 3, topics: 1, subscriptions: 1, schedules: 1; made: 6, changes: 3, messages sent: 2")

    def test_the_file_may_be_a_pipe(self):
        read, write = os.pipe()
        os.write(write, QUEUE.encode())
        os.close(write)
        with open(read, "rb") as pipe, Started("/dev/stdin", "--data", self.data, stdin=pipe) as pawl:
            self.assertEqual(pawl.names(), ["q"])

    def test_queues_of_several_shards_and_accounts(self):
        other = "222222222222"
        text = "".join(f'[[queue]]\nname = "q{i}"\naccount = "{account}"\n'
                       f'RedrivePolicy = {{ deadLetterTargetArn = "q{(i + 1) % 20}", maxReceiveCount = 2 }}\n'
                       f'[[topic]]\nname = "t{i}"\naccount = "{account}"\n'
                       f'[[subscription]]\ntopic = "t{i}"\nendpoint = "q{i}"\naccount = "{account}"\n'
                       f'[[message]]\nqueue = "q{i}"\nbody = "m{i}"\naccount = "{account}"\n'
                       for i in range(20) for account in (ACCOUNT, other))
        for _ in range(2):
            with self.start(text, "--dev", "--shards", "3") as pawl:
                for account in (ACCOUNT, other):
                    names = {url.rsplit("/", 1)[1] for url in pawl.sqs("ListQueues", account=account)["QueueUrls"]}
                    self.assertEqual(names, {f"q{i}" for i in range(20)})
                    for i in range(20):
                        attributes = pawl.sqs("GetQueueAttributes", account=account, QueueUrl=f"q{i}",
                                              AttributeNames=["All"])["Attributes"]
                        self.assertIn(f":{account}:q{(i + 1) % 20}", attributes["RedrivePolicy"])
                        self.assertEqual(attributes["ApproximateNumberOfMessages"], "1")

    def test_messages_of_a_fifo_queue_keep_their_order(self):
        text = FIFO + "".join(f'[[message]]\nqueue = "q.fifo"\ngroup = "g"\nbody = "{i}"\ndedup-id = "{i}"\n' for i in range(150))
        with self.start(text, "--dev") as pawl:
            bodies = []
            while len(bodies) < 150:
                messages = pawl.sqs("ReceiveMessage", QueueUrl="q.fifo", MaxNumberOfMessages=10)["Messages"]
                bodies += [message["Body"] for message in messages]
                pawl.sqs("DeleteMessageBatch", QueueUrl="q.fifo", Entries=[
                    {"Id": str(i), "ReceiptHandle": m["ReceiptHandle"]} for i, m in enumerate(messages)])
            self.assertEqual(bodies, [str(i) for i in range(150)])

    def test_a_start_after_a_kill_makes_the_rest(self):
        count = 300
        text = '[[topic]]\nname = "t"\n' + "".join(
            f'[[queue]]\nname = "q{i}"\nRedrivePolicy = {{ deadLetterTargetArn = "q{(i + 1) % count}", maxReceiveCount = 2 }}\n'
            f'[[message]]\nqueue = "q{i}"\nbody = "m{i}"\n' for i in range(count)) + "".join(
            f'[[subscription]]\ntopic = "t"\nendpoint = "q{i}"\n' for i in range(20))
        config, cut = self.config(text), 0
        for wait_ms in range(4, 400, 9):
            process = subprocess.Popen(
                [PAWL, "serve", "--config", config, "--data", self.data, "--dev", "--http", "127.0.0.1:0", "--admin", "127.0.0.1:0",
                 "--binary", "127.0.0.1:0"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            time.sleep(wait_ms / 1000)
            os.set_blocking(process.stdout.fileno(), False)
            ready = process.stdout.read()
            process.kill()
            process.communicate()
            if ready:
                break
            cut += 1
        with self.start(text, "--dev") as pawl:
            pawl.stop()
            print(f"killed {cut} starts; the next one: {pawl.errors.strip().splitlines()[0]}", flush=True)
        self.assertGreater(cut, 2)
        with self.start(text, "--dev") as pawl:
            for i in range(count):
                attributes = pawl.attributes(f"q{i}")
                self.assertIn(f'q{(i + 1) % count}"', attributes["RedrivePolicy"])
                self.assertEqual(attributes["ApproximateNumberOfMessages"], "1", i)
                self.assertEqual(pawl.sqs("ListQueueTags", QueueUrl=f"q{i}").get("Tags", {}), {})
            self.assertEqual(pawl.sns("ListSubscriptions").count("<member>"), 20)

    def test_a_signal_during_the_start_stops_the_server_after_it(self):
        text = "".join(f'[[queue]]\nname = "q{i}"\n' for i in range(300))
        stopped = 0
        for wait_ms in range(4, 104, 10):
            shutil.rmtree(self.data, ignore_errors=True)
            process = subprocess.Popen(
                [PAWL, "serve", "--config", self.config(text), "--data", self.data, "--dev", "--http", "127.0.0.1:0", "--admin", "127.0.0.1:0",
                 "--binary", "127.0.0.1:0"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(wait_ms / 1000)
            process.send_signal(signal.SIGTERM)
            code = process.wait(timeout=60)
            self.assertIn(code, (0, 128 + signal.SIGTERM, -signal.SIGTERM))
            stopped += code == 0
        print(f"{stopped} of 10 starts went on until they had ended", flush=True)
        with self.start(text) as pawl:
            self.assertEqual(pawl.code, None)

    def test_a_changed_file_changes_what_differs_and_deletes_nothing(self):
        with self.start(QUEUE + "DelaySeconds = 5\nVisibilityTimeout = 60\n"):
            pass
        with self.start('[[queue]]\nname = "other"\n' + QUEUE + "DelaySeconds = 6\n") as pawl:
            self.assertEqual(pawl.names(), ["other", "q"])
            attributes = pawl.attributes("q")
            self.assertEqual((attributes["DelaySeconds"], attributes["VisibilityTimeout"]), ("6", "60"))

    def test_a_reset_makes_everything_anew(self):
        with self.start(EXAMPLE, "--dev") as pawl:
            pawl.sqs("CreateQueue", QueueName="undeclared")
            pawl.sqs("PurgeQueue", QueueUrl="orders")
            times = []
            for _ in range(5):
                begun = time.monotonic()
                self.assertEqual(pawl.post("/_pawl/reset", b"", {}), "{}\n")
                times.append((time.monotonic() - begun) * 1000)
            print(f"reset with 3 queues, a topic and 2 messages: {min(times):.1f} ms at best of {len(times)}", flush=True)
            self.assertEqual(pawl.names(), ["events.fifo", "orders", "orders-dead"])
            self.assertEqual(pawl.attributes("orders")["VisibilityTimeout"], "120")
            self.assertEqual([m["Body"] for m in pawl.sqs("ReceiveMessage", QueueUrl="orders", MaxNumberOfMessages=10)["Messages"]],
                             ["order 1"])
            self.assertEqual(pawl.sns("ListSubscriptions").count("<member>"), 1)
            self.assertEqual(pawl.schedule("stocktaking")["Target"]["Input"], "count all")

    def test_a_reset_of_one_account_leaves_the_others(self):
        other = "111111111111"
        text = QUEUE + f'[[queue]]\nname = "p"\naccount = "{other}"\n'
        with self.start(text, "--dev") as pawl:
            pawl.sqs("SendMessage", QueueUrl="q", MessageBody="kept")
            pawl.sqs("SendMessage", account=other, QueueUrl="p", MessageBody="gone")
            pawl.post(f"/_pawl/reset?account={other}", b"", {})
            self.assertEqual(pawl.attributes("q")["ApproximateNumberOfMessages"], "1")
            self.assertEqual([url.rsplit("/", 2)[1:] for url in pawl.sqs("ListQueues", account=other)["QueueUrls"]], [[other, "p"]])
            self.assertNotIn("Messages", pawl.sqs("ReceiveMessage", account=other, QueueUrl="p"))

    def test_broken_files_end_the_start_with_their_line(self):
        for text, line, *parts in BROKEN:
            with self.subTest(text):
                self.refused(text, line, *parts)
        for text, line, *parts in BROKEN_MESSAGES:
            with self.subTest(text):
                self.refused(text, line, *parts, words=["--dev"])
        for text, line, *parts in BROKEN_SCHEDULES:
            with self.subTest(text):
                self.refused(QUEUE + text, line, *parts)
                checked = subprocess.run([PAWL, "config", "check", self.config(QUEUE + text)], capture_output=True, text=True, timeout=30, check=False)
                self.assertEqual(checked.returncode, 4, text)
                self.assertRegex(checked.stdout + checked.stderr, rf"pawl\.toml:{line}: ", text)

    def test_schedules_are_made_and_changed_if_they_differ(self):
        text = QUEUE + SCHEDULE + 'queue = "q"\ngroup = "g"\n'
        with self.start(text) as pawl:
            made = pawl.schedule("s", "g")
            self.assertEqual((made["Target"]["Arn"], made["State"], made["x-nonexistent"]), (f"arn:aws:sqs:us-east-1:{ACCOUNT}:q", "ENABLED", "next"))
            self.assertNotIn("x-catch-up", made)
            self.assertNotIn("x-overlap", made)
        time.sleep(0.01)  # dates have milliseconds
        with self.start(text) as pawl:
            self.assertEqual(pawl.schedule("s", "g"), made, "an unchanged one is not touched")
        with self.start(text + 'overlap = "skip"\n') as pawl:
            changed = pawl.schedule("s", "g")
            self.assertEqual((changed["x-overlap"], changed["CreationDate"]), ("skip", made["CreationDate"]))
            self.assertGreater(changed["LastModificationDate"], made["LastModificationDate"])
        with self.start(QUEUE) as pawl:
            self.assertEqual(pawl.schedule("s", "g"), changed, "nothing is deleted")

    def test_a_declared_schedule_fires_and_further_starts_do_not_repeat_it(self):
        text = QUEUE + '[[schedule]]\nname = "s"\nexpression = "rate(1 hour)"\nqueue = "q"\ninput = "hello"\n'
        with self.start(text) as pawl:
            message = pawl.sqs("ReceiveMessage", QueueUrl="q", WaitTimeSeconds=10)["Messages"][0]
            self.assertEqual(message["Body"], "hello")
            pawl.sqs("DeleteMessage", QueueUrl="q", ReceiptHandle=message["ReceiptHandle"])
        for more in ("", 'zone = "Europe/Berlin"\n'):
            with self.start(text + more) as pawl:
                self.assertNotIn("Messages", pawl.sqs("ReceiveMessage", QueueUrl="q", WaitTimeSeconds=1), more)

    def test_a_pause_of_a_declared_schedule_lasts(self):
        text = QUEUE + SCHEDULE + 'queue = "q"\n'
        with self.start(text) as pawl:
            subprocess.run([PAWL, "schedule", "pause", "s", "--url", pawl.url], check=True, timeout=30)
        with self.start(text) as pawl:
            self.assertEqual(pawl.schedule("s")["State"], "DISABLED")
        with self.start(text + "enabled = true\n") as pawl:
            self.assertEqual(pawl.schedule("s")["State"], "ENABLED")

    def test_every_key_of_a_schedule_is_stored(self):
        with self.start(EXAMPLE + EVERY_ATTRIBUTE, "--dev") as pawl:
            made = pawl.schedule("all", "g")
            made = {key: value for key, value in made.items() if not key.endswith("Date") or key in ("StartDate", "EndDate")}
            self.assertEqual(made, {
                "Arn": f"arn:aws:scheduler:us-east-1:{ACCOUNT}:schedule/g/all", "GroupName": "g", "Name": "all", "Description": "every key",
                "ScheduleExpression": "cron(30 2 1 1 ? *)", "ScheduleExpressionTimezone": "Europe/Berlin", "FlexibleTimeWindow": {"Mode": "OFF"},
                "StartDate": 7195046400, "EndDate": 7258028400, "State": "DISABLED", "ActionAfterCompletion": "DELETE", "x-catch-up": "none",
                "x-overlap": "skip", "Target": {
                    "Arn": f"arn:aws:sqs:us-east-1:{ACCOUNT}:all.fifo", "Input": '{"of":"test","run":1}', "SqsParameters": {"MessageGroupId": "m"},
                    "DeadLetterConfig": {"Arn": f"arn:aws:sqs:us-east-1:{ACCOUNT}:orders-dead"}, "RoleArn": "arn:aws:iam::000000000000:role/pawl",
                    "RetryPolicy": {"MaximumEventAgeInSeconds": 86400, "MaximumRetryAttempts": 185}}})
            self.assertEqual(pawl.schedule("all")["Target"]["Arn"], f"arn:aws:sns:us-east-1:{ACCOUNT}:all")

    def test_schedules_may_have_dates_that_have_passed(self):
        with self.start(QUEUE + SCHEDULE + 'queue = "q"\nstart = 2020-01-01T00:00:00Z\nend = 2021-01-01T00:00:00Z\n') as pawl:
            self.assertEqual(pawl.schedule("s")["EndDate"], 1609459200)
            with urllib.request.urlopen(pawl.url + "/schedules", timeout=10) as listed:
                self.assertEqual(len(json.loads(listed.read())["Schedules"]), 1)

    def test_a_check_accepts_schedules(self):
        for expression in ("rate(1 day)", "cron(0 9 ? * 2 *)", "at(2020-01-01T00:00:00)"):
            text = QUEUE + SCHEDULE.replace("at(2199-01-31T23:00:00)", expression) + 'queue = "q"\ngroup = "g"\n'
            checked = subprocess.run([PAWL, "config", "check", self.config(text)], capture_output=True, text=True, timeout=30, check=False)
            self.assertEqual((checked.returncode, checked.stderr), (0, ""))

    def test_schedules_need_their_api(self):
        self.refused(QUEUE + SCHEDULE + 'queue = "q"\n', "3:1", "--strict-sqs", words=["--strict-sqs"])

    def test_messages_need_dev(self):
        self.refused(QUEUE + '[[message]]\nqueue = "q"\nbody = "b"\n', "3:1", "Start with --dev")

    def test_a_shorter_retention_does_not_delete_messages(self):
        with self.start(QUEUE) as pawl:
            pawl.sqs("SendMessage", QueueUrl="q", MessageBody="kept")
        self.refused(QUEUE + 'MessageRetentionPeriod = "1h"\n', "3:26", "MessageRetentionPeriod = 3600", "345600 or more")
        with self.start(QUEUE + 'MessageRetentionPeriod = "5d"\n') as pawl:
            message = pawl.sqs("ReceiveMessage", QueueUrl="q")["Messages"][0]
            self.assertEqual(message["Body"], "kept")
            pawl.sqs("DeleteMessage", QueueUrl="q", ReceiptHandle=message["ReceiptHandle"])
        with self.start(QUEUE + 'MessageRetentionPeriod = "1h"\n') as pawl:
            self.assertEqual(pawl.attributes("q")["MessageRetentionPeriod"], "3600", "an empty queue loses nothing")

    def test_a_refused_file_changes_no_queue(self):
        with self.start(QUEUE):
            pass
        self.refused('[[queue]]\nname = "new"\n' + QUEUE + "DelaySeconds = 901\n", "5:16", "0 to 900")
        with self.start("") as pawl:
            self.assertEqual(pawl.names(), ["q"])

    def test_it_needs_no_signature_and_no_certificate(self):
        keys, key, certificate = (os.path.join(self.place, name) for name in ("keys.toml", "k.pem", "c.pem"))
        pathlib.Path(keys).write_text(f'[[key]]\nid = "AKIDORDERS"\nsecret = "{"s" * 40}"\naccount = "111122223333"\n')
        os.chmod(keys, 0o600)
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ed25519", "-nodes", "-keyout", key, "-out", certificate,
                        "-subj", "/CN=localhost"], check=True, capture_output=True)
        os.chmod(key, 0o600)
        text = '[[queue]]\nname = "signed"\naccount = "111122223333"\n'
        with self.start(text, "--auth", "sigv4", "--keys", keys, "--tls-cert", certificate, "--tls-key", key) as pawl:
            self.assertIsNone(pawl.code)
            with urllib.request.urlopen(f"http://{pawl.ready['admin']}/queues", timeout=10) as queues:
                self.assertIn('"account":"111122223333","name":"signed"', queues.read().decode())
            self.assertEqual(pawl.stop(), 0)


if __name__ == "__main__":
    unittest.main(verbosity=2)
