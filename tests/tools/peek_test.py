#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""`pawl peek`, `pawl explain` and the actions of pawl's own API that they call."""

import json
import os
import pathlib
import re
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.error
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/clients"))
from dev_test import PAWL, DevPawl  # noqa: E402

KEYS = "".join(f"[[key]]\nid = '{name}'\nsecret = 'hush'\naccount = '{account}'\n"
               for name, account in (("OWNER", "1" * 12), ("OTHER", "2" * 12)))
MOVED = json.dumps({"deadLetterTargetArn": "arn:aws:sqs:us-east-1:000000000000:dead", "maxReceiveCount": 1})


def documented(page):
    """The commands of a page in tools/."""
    blocks = re.findall(r"^```sh\n(.*?)^```$", (ROOT / "tools" / page).read_text(), re.S | re.M)
    return [line for block in blocks for line in block.splitlines()]


class Verbs(unittest.TestCase):
    """A development server, and the verbs that ask it."""

    words = ()  # of the server

    def setUp(self):
        self.place = tempfile.mkdtemp(prefix="peek-test-")
        self.addCleanup(shutil.rmtree, self.place, ignore_errors=True)
        keys = pathlib.Path(self.place, "keys.toml")
        keys.touch(0o600)
        keys.write_text(KEYS)
        server = DevPawl(self.place, *(word.format(keys=keys) for word in self.words))
        self.pawl = server.__enter__()
        self.addCleanup(server.__exit__, None, None, None)

    def run_pawl(self, *words, **environment):
        return subprocess.run([PAWL, *words], capture_output=True, text=True, timeout=30, stdin=subprocess.DEVNULL,
                              env={**os.environ, **environment}, check=False)

    def verb(self, *words, code=0, **environment):
        done = self.run_pawl(*words, "--url", self.pawl.url, **environment)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def run_documented(self, page, least):
        commands = documented(page)
        self.assertGreaterEqual(len(commands), least)
        path = f"{pathlib.Path(PAWL).parent}:{os.environ['PATH']}"
        for command in commands:
            with self.subTest(command):
                done = subprocess.run(["sh", "-c", command], text=True, capture_output=True, timeout=30, cwd=self.place,
                                      stdin=subprocess.DEVNULL, check=False,
                                      env={**os.environ, "PATH": path, "AWS_ENDPOINT_URL": self.pawl.url})
                self.assertEqual(done.returncode, 0, done.stderr)

    def rows(self, *words, **environment):
        return [json.loads(line) for line in self.verb("peek", *words, "-o", "jsonl", **environment).splitlines()]

    def action(self, target, **body):
        """The status and the body of a call."""
        request = urllib.request.Request(self.pawl.url, json.dumps(body).encode(),
                                         {"Content-Type": "application/x-amz-json-1.0", "X-Amz-Target": target})
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:
                return answer.status, json.loads(answer.read())
        except urllib.error.HTTPError as refused:
            with refused:
                return refused.code, json.loads(refused.read())

    def send(self, queue, *bodies, **more):
        return [self.pawl.call("SendMessage", QueueUrl=queue, MessageBody=body, **more)["MessageId"] for body in bodies]


class Peek(Verbs):
    def setUp(self):
        super().setUp()
        self.pawl.call("CreateQueue", QueueName="dead")
        self.pawl.call("CreateQueue", QueueName="q", Attributes={"RedrivePolicy": MOVED})

    def test_shows_every_state_and_changes_nothing(self):
        attribute = {"k": {"DataType": "String", "StringValue": "v"}}
        taken, seen = self.send("q", "taken", "seen", MessageAttributes=attribute)
        (later,) = self.send("q", "later", DelaySeconds=60)
        self.assertEqual(len(self.pawl.call("ReceiveMessage", QueueUrl="q")["Messages"]), 1)
        for _ in range(3):
            rows = self.rows("q")
            self.assertEqual([(r["id"], r["number"], r["state"], r["receives"], r["body"]) for r in rows], [
                (taken, 1, "in_flight", 1, "taken"), (seen, 2, "visible", 0, "seen"), (later, 3, "delayed", 0, "later")])
        self.assertEqual([r["body"] for r in self.rows("q", "--state", "in-flight")], ["taken"])
        self.assertEqual([r["body"] for r in self.rows("q", "--attribute", "k=v")], ["taken", "seen"])
        self.assertEqual(self.rows("q", "--attribute", "k=w"), [])
        self.assertEqual([r["body"] for r in self.rows("q", "-n", "2")], ["taken", "seen"])
        url = self.pawl.call("GetQueueUrl", QueueName="q")["QueueUrl"]
        self.assertEqual(len(self.rows(url)), 3)
        counts = self.pawl.call("GetQueueAttributes", QueueUrl="q", AttributeNames=["All"])["Attributes"]
        names = ("", "NotVisible", "Delayed")
        self.assertEqual([counts["ApproximateNumberOfMessages" + name] for name in names], ["1", "1", "1"])
        self.assertEqual(self.pawl.call("ReceiveMessage", QueueUrl="q")["Messages"][0]["Body"], "seen")

    def test_a_table_has_a_header_and_cannot_steer_a_terminal(self):
        self.send("q", "tab\there\nline", "x" * 200 + "ü")
        lines = self.verb("peek", "q").splitlines()
        self.assertEqual(len(lines), 3)
        self.assertTrue(lines[0].startswith("NUMBER  ID "))
        self.assertIn("tab here line", lines[1])
        self.assertIn("x" * 60 + "...", lines[2])
        self.assertNotIn("x" * 61, lines[2])

    def test_shows_more_than_one_call_does(self):
        for _ in range(3):
            self.send("q", "x" * (700 << 10))
        self.assertEqual([len(row["body"]) for row in self.rows("q")], [700 << 10] * 3)
        for _ in range(12):
            self.pawl.call("SendMessageBatch", QueueUrl="dead",
                           Entries=[{"Id": str(i), "MessageBody": str(i)} for i in range(10)])
        self.assertEqual([row["number"] for row in self.rows("dead", "-n", "1000")], list(range(1, 121)))
        self.assertEqual([row["number"] for row in self.rows("dead", "-n", "70")], list(range(1, 71)))

    def test_explains_each_state(self):
        spent, waits = self.send("q", "spent", "waits", DelaySeconds=0)
        (later,) = self.send("q", "later", DelaySeconds=60)
        self.pawl.call("ReceiveMessage", QueueUrl="q")
        self.assertRegex(self.verb("explain", "q", spent), r"^A consumer at 127\.0\.0\.1 has received it\. It is visible again in 29\.\d s, "
                         r"unless .* 1 of at most 1 times\. The next receive after that moves it to the dead-letter queue dead\."
                         r" It expires in 4 days\.\n$")
        self.assertRegex(self.verb("explain", "q", waits), r"^It is visible: the next receives return it\. It expires in 4 days")
        self.assertRegex(self.verb("explain", "q", later.upper()), r"^It is delayed: receives return it in 59\.\d s\.")
        self.assertRegex(self.verb("explain", "q", "3"), r"^It is delayed")
        (row,) = json.loads(self.verb("explain", "q", "1", "-o", "json"))
        self.assertEqual((row["id"], row["number"], row["state"], row["receives"]), (spent, 1, "in_flight", 1))
        self.assertEqual((row["queue"], row["consumer"]), ("q", "127.0.0.1"))
        self.assertEqual([r.get("consumer") for r in self.rows("q")], ["127.0.0.1", "", ""])
        self.assertRegex(self.verb("explain", "q", "9", code=3), "^The queue has no such message yet: the last one sent has number 3")
        handle = self.pawl.call("ReceiveMessage", QueueUrl="q")["Messages"][0]["ReceiptHandle"]
        self.pawl.call("DeleteMessage", QueueUrl="q", ReceiptHandle=handle)
        self.assertRegex(self.verb("explain", "q", "2", code=3), "^It has left the queue: it was deleted or moved to another queue, or its time to live ended. It was neither")
        self.pawl.call("PurgeQueue", QueueUrl="q")
        self.assertRegex(self.verb("explain", "q", "3", code=3), "^It has left the queue: all messages below number 4 have, by the purge ")
        self.assertRegex(self.verb("explain", "q", "a" * 36, code=3), "^The queue has no such message: ")

    def test_explains_what_holds_a_group(self):
        self.pawl.call("CreateQueue", QueueName="q.fifo", Attributes={"FifoQueue": "true", "ContentBasedDeduplication": "true"})
        first, second, _ = self.send("q.fifo", "1", "2", "3", MessageGroupId="g")
        self.send("q.fifo", "4", MessageGroupId="h")
        self.assertRegex(self.verb("explain", "q.fifo", first), "no message of its group holds it")
        self.pawl.call("ReceiveMessage", QueueUrl="q.fifo")
        self.assertRegex(self.verb("explain", "q.fifo", second),
                         r"^It waits for message 1 before it in its group, which is in flight for another 29\.\d s")
        self.assertEqual([(r["number"], r["behind"]) for r in self.rows("q.fifo", "--group", "g")], [(1, 0), (2, 1), (3, 1)])

    def test_tells_until_when_a_message_deduplicates_others(self):
        self.pawl.call("CreateQueue", QueueName="d.fifo", Attributes={"FifoQueue": "true", "ContentBasedDeduplication": "true"})
        first, again = self.send("d.fifo", "1", "1", MessageGroupId="g")
        self.assertEqual(first, again)
        words = r" For another 4 min, a send with its MessageDeduplicationId adds no message and returns its id\."
        self.assertRegex(self.verb("explain", "d.fifo", first), "the next receives return it\\." + words)
        handle = self.pawl.call("ReceiveMessage", QueueUrl="d.fifo")["Messages"][0]["ReceiptHandle"]
        self.pawl.call("DeleteMessage", QueueUrl="d.fifo", ReceiptHandle=handle)
        self.assertRegex(self.verb("explain", "d.fifo", "1", code=3), "^It has left the queue: .*" + words)

    def test_tells_that_a_noisy_tenant_waits(self):
        self.send("q", "other", MessageGroupId="B")
        for i in range(31):
            self.send("q", str(i), MessageGroupId="A")
        taken = [self.pawl.call("ReceiveMessage", QueueUrl="q") for _ in range(31)]
        self.assertEqual(len(taken), 31)
        self.assertRegex(self.verb("explain", "q", "32"), "^It is visible, but its tenant, its MessageGroupId, has 30 messages in "
                         "flight, over a tenth of all: receives return the visible messages of other tenants first")

    def test_a_moved_message_keeps_its_id(self):
        (moved,) = self.send("q", "moved")
        self.pawl.call("ReceiveMessage", QueueUrl="q", VisibilityTimeout=0)
        self.pawl.call("ReceiveMessage", QueueUrl="q", WaitTimeSeconds=1)
        self.assertEqual([row["id"] for row in self.rows("dead")], [moved])
        self.assertRegex(self.verb("explain", "dead", moved), r"^It is visible.* It is a dead letter of the queue q, which moved it here \d+\.\d s ago, "
                         "after 1 receive\\.")
        self.assertRegex(self.verb("explain", "q", moved), "^It has moved to the dead-letter queue dead, where its number is 1. It is visible")
        self.assertRegex(self.verb("explain", "q", "1", code=3), "moved to another queue")

    def test_wrong_use_says_what_is_allowed(self):
        self.assertIn('there is no queue "none"', self.verb("peek", "none", code=3))
        self.assertIn("The states are not-durable, delayed, visible", self.verb("peek", "q", "--state", "gone", code=2))
        self.assertIn("is not of the form NAME=VALUE", self.verb("peek", "q", "--attribute", "k", code=2))
        self.assertIn("is not a whole number from 1 to 1000000", self.verb("peek", "q", "-n", "0", code=2))
        self.assertIn("--queue", self.verb("peek", code=2))
        self.assertIn("--message", self.verb("explain", "q", code=2))
        gone = self.run_pawl("peek", "q", "--url", "http://127.0.0.1:1")
        self.assertEqual((gone.returncode, gone.stderr.startswith("error: ")), (1, True), gone.stderr)
        admin = self.run_pawl("peek", "q", "--url", "http://" + self.pawl.ready["admin"])
        self.assertEqual(admin.returncode, 1, admin.stderr)
        with open("/dev/full", "w", encoding="ascii") as full:
            self.send("q", "x")
            done = subprocess.run([PAWL, "peek", "q", "--url", self.pawl.url], stdout=full, stderr=subprocess.PIPE, text=True,
                                  timeout=30, check=False)
        self.assertEqual(done.returncode, 1, done.stderr)

    def test_the_documented_commands_work(self):
        self.pawl.call("CreateQueue", QueueName="orders")
        self.send("orders", "hello", MessageAttributes={"colour": {"DataType": "String", "StringValue": "red"}})
        self.run_documented("LOOKING.md", 4)


class Replays(Verbs):
    def test_replays_by_actions(self):
        for name, kept in (("kept", "3600"), ("gone", "0")):
            self.pawl.call("CreateQueue", QueueName=name, Attributes={"x-replay-retention": kept})
        self.send("kept", "1", "2", "3")
        for message in self.pawl.call("ReceiveMessage", QueueUrl="kept", MaxNumberOfMessages=10)["Messages"]:
            self.pawl.call("DeleteMessage", QueueUrl="kept", ReceiptHandle=message["ReceiptHandle"])
        self.assertEqual(self.action("Pawl.StartReplay", QueueUrl="kept"), (200, {"Number": 1}))
        for _ in range(100):
            status, listed = self.action("Pawl.ListReplays", QueueUrl="kept")
            if listed["Replays"][0]["Status"] == "COMPLETED":
                break
            time.sleep(0.05)
        (replay,) = listed["Replays"]
        self.assertEqual((status, replay["Number"], replay["NumberOfMessagesSent"], replay["DestinationQueue"]), (200, 1, 3, "kept"))
        self.assertEqual(sorted(row["body"] for row in self.rows("kept")), ["1", "2", "3"])
        for body, words in (({"QueueUrl": "gone"}, "x-replay-retention is 0"), ({"QueueUrl": "kept", "To": 1, "From": 1}, "not before")):
            status, refused = self.action("Pawl.StartReplay", **body)
            self.assertEqual(status, 400)
            self.assertIn(words, refused["message"])
        status, refused = self.action("Pawl.CancelReplay", QueueUrl="kept", Number=7)
        self.assertEqual((status, refused["__type"]), (400, "com.amazonaws.sqs#ResourceNotFoundException"))


class Binary(Verbs):
    """The same actions by CALL of the binary protocol (proto/PROTOCOL.md)."""

    words = ("--shards", "2")

    def exchange(self, op, payload):
        frame = struct.pack("<IBBHII", 16 + len(payload), op, 0, 0, 1, 0) + payload
        self.socket.sendall(frame)
        head = self.read(16)
        length, _, _, status, _, _ = struct.unpack("<IBBHII", head)
        return status, self.read(length - 16)

    def read(self, count):
        got = b""
        while len(got) < count:
            piece = self.socket.recv(count - len(got))
            self.assertTrue(piece, "the server has closed the connection")
            got += piece
        return got

    def call_action(self, action, **members):
        name, body = action.encode(), json.dumps(members).encode()
        status, payload = self.exchange(31, struct.pack("<H", len(name)) + name + struct.pack("<I", len(body)) + body)
        self.assertEqual(status, 0, payload)
        http, length = struct.unpack_from("<HI", payload)
        self.assertEqual(length, len(payload) - 6)
        return http, json.loads(payload[6:])

    def test_has_the_actions_of_the_http_port(self):
        host, port = self.pawl.ready["binary"].rsplit(":", 1)
        self.socket = socket.create_connection((host, int(port)), timeout=10)
        self.addCleanup(self.socket.close)
        self.assertEqual(self.exchange(1, struct.pack("<IHHIBH", 0x4C574150, 1, 6, 16, 0, 1) + b"t")[0], 0)
        for name in ("a", "b", "c", "d"):
            self.pawl.call("CreateQueue", QueueName=name)
            self.send(name, *(name * 3))
        for name in ("a", "b", "c", "d"):
            for action, members in (("PeekMessages", {"QueueUrl": name}), ("ExplainMessage", {"QueueUrl": name, "Number": 2})):
                self.assertEqual(self.call_action(action, **members), self.action("Pawl." + action, **members))
        status, listed = self.call_action("ListQueueStatistics")
        self.assertEqual((status, [queue["QueueName"] for queue in listed["Queues"]]), (200, ["a", "b", "c", "d"]))
        self.assertEqual({queue["Attributes"]["ApproximateNumberOfMessages"] for queue in listed["Queues"]}, {"3"})
        status, refused = self.call_action("PeekMessages", QueueUrl="none")
        self.assertEqual((status, refused["__type"]), (400, "com.amazonaws.sqs#QueueDoesNotExist"))


class WithKeys(Verbs):
    words = ("--auth", "sigv4", "--keys", "{keys}")

    @staticmethod
    def key(name, secret="hush"):
        return {"AWS_ACCESS_KEY_ID": name, "AWS_SECRET_ACCESS_KEY": secret, "AWS_REGION": "us-east-1"}

    def test_peek_needs_the_permission_for_receive_message(self):
        import boto3
        owner = boto3.client("sqs", endpoint_url=self.pawl.url, region_name="us-east-1", aws_access_key_id="OWNER",
                             aws_secret_access_key="hush")
        self.addCleanup(owner.close)
        url = owner.create_queue(QueueName="q")["QueueUrl"]
        owner.send_message(QueueUrl=url, MessageBody="x")
        self.assertEqual(len(self.rows("q", **self.key("OWNER"))), 1)
        for environment in (self.key("OTHER"), self.key("OWNER", "wrong"), self.key("NOBODY"), self.key("", "")):
            self.assertIn("error: ", self.verb("peek", url, code=1, **environment))
        owner.add_permission(QueueUrl=url, Label="send", AWSAccountIds=["2" * 12], Actions=["SendMessage"])
        self.verb("peek", url, code=1, **self.key("OTHER"))
        self.verb("explain", url, "1", code=1, **self.key("OTHER"))
        owner.add_permission(QueueUrl=url, Label="receive", AWSAccountIds=["2" * 12], Actions=["ReceiveMessage"])
        self.assertEqual(len(self.rows(url, **self.key("OTHER"))), 1)
        self.assertIn("It is visible", self.verb("explain", url, "1", **self.key("OTHER")))


class Statistics(Verbs):
    words = ("--shards", "2", "--metrics-queues", "3")

    def statistics(self, **body):
        status, answer = self.action("Pawl.ListQueueStatistics", **body)
        self.assertEqual(status, 200, answer)
        return answer

    def test_lists_queues_of_all_shards_with_their_figures(self):
        for name in "abcde":
            self.pawl.call("CreateQueue", QueueName=name)
            self.send(name, "1", "2")
        message = self.pawl.call("ReceiveMessage", QueueUrl="a")["Messages"][0]
        self.pawl.call("DeleteMessage", QueueUrl="a", ReceiptHandle=message["ReceiptHandle"])
        self.pawl.call("ReceiveMessage", QueueUrl="d")
        queues = {queue["QueueName"]: queue for queue in self.statistics()["Queues"]}
        self.assertEqual(list(queues), list("abcde"))
        self.assertEqual([name for name in queues if "Statistics" in queues[name]], list("abc"), "three have a label")
        found = queues["a"]["Statistics"]
        self.assertEqual([found["NumberOf" + name] for name in ("MessagesSent", "MessagesReceived", "MessagesDeleted", "Leases")],
                         [2, 1, 1, 1])
        self.assertGreater(found["ApproximateAgeOfOldestMessage"], 0)
        self.assertEqual(queues["d"]["Attributes"]["ApproximateNumberOfMessagesNotVisible"], "1")
        self.assertEqual(queues["d"]["Attributes"]["VisibilityTimeout"], "30")
        page = self.statistics(MaxResults=3)
        self.assertEqual([queue["QueueName"] for queue in page["Queues"]], list("abc"))
        rest = self.statistics(NextToken=page["NextToken"])
        self.assertEqual([queue["QueueName"] for queue in rest["Queues"]], list("de"))
        self.assertNotIn("NextToken", rest)
        url = queues["b"]["QueueUrl"]
        self.assertEqual(self.pawl.call("GetQueueAttributes", QueueUrl=url, AttributeNames=["All"])["Attributes"]["QueueArn"],
                         queues["b"]["Attributes"]["QueueArn"])

    def test_lists_more_queues_than_a_batch(self):
        for number in range(150):
            self.pawl.call("CreateQueue", QueueName=f"q{number:03}")
        self.send("q149", "x")
        queues = self.statistics()["Queues"]
        self.assertEqual([queue["QueueName"] for queue in queues], [f"q{number:03}" for number in range(150)])
        self.assertEqual(queues[-1]["Attributes"]["ApproximateNumberOfMessages"], "1")


class StatisticsOfAccounts(Verbs):
    words = ("--auth", "sigv4", "--keys", "{keys}")

    def test_shows_an_account_its_own_queues_alone(self):
        import boto3
        from botocore.auth import SigV4Auth
        from botocore.awsrequest import AWSRequest
        from botocore.credentials import Credentials
        for key in ("OWNER", "OTHER"):
            client = boto3.client("sqs", endpoint_url=self.pawl.url, region_name="us-east-1", aws_access_key_id=key,
                                  aws_secret_access_key="hush")
            client.create_queue(QueueName=key.lower())
            client.close()
        for key in ("OWNER", "OTHER"):
            asked = AWSRequest("POST", self.pawl.url + "/", data=b"{}", headers={
                "Content-Type": "application/x-amz-json-1.0", "X-Amz-Target": "Pawl.ListQueueStatistics"})
            SigV4Auth(Credentials(key, "hush"), "sqs", "us-east-1").add_auth(asked)
            with urllib.request.urlopen(urllib.request.Request(asked.url, b"{}", dict(asked.headers)), timeout=10) as answer:
                self.assertEqual([queue["QueueName"] for queue in json.loads(answer.read())["Queues"]], [key.lower()])
        status, refused = self.action("Pawl.ListQueueStatistics")
        self.assertEqual((status, "Queues" in refused), (400, False), "it is not signed")


class Strict(Verbs):
    words = ("--strict-sqs",)

    def test_a_strict_server_has_no_action_of_pawl(self):
        self.pawl.call("CreateQueue", QueueName="q")
        status, body = self.action("Pawl.PeekMessages", QueueUrl="q")
        self.assertEqual((status, body["__type"]), (400, "com.amazon.coral.service#UnknownOperationException"))
        for words in (("peek", "q"), ("explain", "q", "1"), ("replay", "list", "q"), ("replay", "start", "q")):
            self.assertIn("without --strict-sqs", self.verb(*words, code=1))


if __name__ == "__main__":
    result = unittest.main(exit=False).result
    bad = len(result.failures) + len(result.errors)
    print(f"{max(result.testsRun - bad, 0)} passed, {bad} failed")
    sys.exit(1 if bad else 0)
