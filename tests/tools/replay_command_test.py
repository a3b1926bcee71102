#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""`pawl replay` against a server: what was sent, received and deleted comes again, and what it says when it cannot."""

import datetime
import json
import os
import pathlib
import re
import socket
import subprocess
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "clients"))
from pawl_server import Pawl, ServedTest, SignedPawl, main  # noqa: E402
from wal_fixture import call  # noqa: E402

KEPT = {"x-replay-retention": "3600"}
RED = '{"colour": ["red"]}'
WAIT_SECONDS = 20
TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"


def asked(binary, *words, environment=None):
    return subprocess.run([binary, "replay", *words], capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL,
                          env=environment, check=False)


def now():
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


class Replay(ServedTest):
    def replay(self, action, queue, *words):
        return asked(self.binary, action, queue, "--url", f"http://{self.pawl.ready['http']}", *words)

    def started(self, queue, *words):
        done = self.replay("start", queue, *words)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done)
        self.assertRegex(done.stdout, r"^\d+\n$")
        return int(done.stdout)

    def listed(self, queue):
        done = self.replay("list", queue, "--json")
        self.assertEqual((done.returncode, done.stderr), (0, ""), done)
        return json.loads(done.stdout)

    def ended(self, queue, number):
        """The task, when it does not run any more."""
        deadline = time.monotonic() + WAIT_SECONDS
        while time.monotonic() < deadline:
            task, = (task for task in self.listed(queue) if task["number"] == number)
            if task["status"] != "running":
                return task
            time.sleep(0.05)
        self.fail(f"replay {number} of {queue} still runs")

    def refused(self, done, code, *parts):
        self.assertEqual((done.returncode, done.stdout), (code, ""), done)
        self.assertTrue(done.stderr.startswith("error: "), done.stderr)
        for part in parts:
            self.assertIn(part, done.stderr)

    def queue(self, name, attributes=None):
        return call(self.pawl, "CreateQueue", QueueName=name, Attributes=KEPT if attributes is None else attributes)["QueueUrl"]

    def send(self, url, first, count):
        """Messages with bodies of rising numbers, the even ones red and the odd ones blue."""
        group = {"MessageGroupId": "g"} if url.endswith(".fifo") else {}
        for begin in range(first, first + count, 10):
            entries = [{"Id": str(i), "MessageBody": f"message {i}",
                        "MessageAttributes": {"colour": {"DataType": "String", "StringValue": "blue" if i % 2 else "red"}}} | group
                       for i in range(begin, min(begin + 10, first + count))]
            answer = call(self.pawl, "SendMessageBatch", QueueUrl=url, Entries=entries)
            self.assertEqual(len(answer.get("Successful", [])), len(entries), answer)

    def drain(self, url, count):
        """Receives and deletes so many messages; there are no more."""
        got = []
        deadline = time.monotonic() + WAIT_SECONDS
        while len(got) < count and time.monotonic() < deadline:
            got += self.receive(url, 1)
        got += self.receive(url, 0)
        self.assertEqual(len(got), count)
        return got

    def receive(self, url, wait):
        messages = call(self.pawl, "ReceiveMessage", QueueUrl=url, MaxNumberOfMessages=10, WaitTimeSeconds=wait,
                        MessageAttributeNames=["All"]).get("Messages", [])
        for message in messages:
            call(self.pawl, "DeleteMessage", QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
        return messages

    def sent_and_deleted(self, name, count=20):
        url = self.queue(name)
        self.send(url, 0, count)
        return url, self.drain(url, count)

    def bodies(self, messages):
        return sorted(message["Body"] for message in messages)

    def test_what_was_deleted_comes_again_as_new_messages(self):
        url, before = self.sent_and_deleted("again")
        task = self.ended("again", self.started("again"))
        self.assertEqual((task["status"], task["sent"], task["into"], task["failure"]), ("completed", 20, "again", ""))
        after = self.drain(url, 20)
        self.assertEqual(self.bodies(after), self.bodies(before))
        colours = {message["Body"]: message["MessageAttributes"]["colour"]["StringValue"] for message in after}
        self.assertEqual((colours["message 4"], colours["message 5"]), ("red", "blue"))
        ids = {message["MessageId"] for message in before + after}
        self.assertEqual(len(ids), 40)

    def test_a_second_replay_leaves_out_what_the_first_has_sent(self):
        """The README's two commands twice: there were 40 messages after the second, and 80 after the third."""
        url, _ = self.sent_and_deleted("twice")
        for words, count in ((), 20), ((), 20), (("--copies",), 60):
            task = self.ended("twice", self.started("twice", *words))
            self.assertEqual((task["status"], task["sent"]), ("completed", count))
            self.drain(url, count)

    def test_a_filter_takes_those_whose_attributes_match(self):
        url, _ = self.sent_and_deleted("filtered")
        task = self.ended("filtered", self.started("filtered", "--filter", RED))
        self.assertEqual((task["status"], task["sent"], task["filter"]), ("completed", 10, RED))
        self.assertEqual(self.bodies(self.drain(url, 10)), sorted(f"message {i}" for i in range(0, 20, 2)))

    def test_they_may_go_into_another_queue(self):
        source, _ = self.sent_and_deleted("source")
        target = self.queue("target", {})
        task = self.ended("source", self.started("source", "--into", "target", "--rate", "1000"))
        self.assertEqual((task["status"], task["sent"], task["into"], task["rate"]), ("completed", 20, "target", 1000))
        self.assertEqual(self.bodies(self.drain(target, 20)), sorted(f"message {i}" for i in range(20)))
        self.drain(source, 0)

    def test_a_fifo_queue_goes_into_one_of_its_kind_in_order(self):
        fifo = {"FifoQueue": "true", "ContentBasedDeduplication": "true"}
        source, target = self.queue("source.fifo", fifo | KEPT), self.queue("target.fifo", fifo)
        self.send(source, 0, 10)
        self.drain(source, 10)
        self.ended("source.fifo", self.started("source.fifo", "--into", "target.fifo"))
        self.assertEqual([message["Body"] for message in self.drain(target, 10)], [f"message {i}" for i in range(10)])
        self.refused(self.replay("start", "source.fifo", "--into", self.queue("standard").rsplit("/", 1)[1]), 1,
                     '"source.fifo" into "standard"', "FIFO")
        self.refused(self.replay("start", "source.fifo", "--into", target), 2, f'"{target}" is a URL', '"target.fifo"')

    def test_a_range_takes_what_was_sent_in_it(self):
        url, _ = self.sent_and_deleted("ranged", 5)
        time.sleep(0.2)
        middle = now()
        time.sleep(0.2)
        self.send(url, 5, 5)
        self.drain(url, 5)
        number = self.started("ranged", "--from", middle)
        self.assertEqual(self.ended("ranged", number)["sent"], 5)
        self.assertEqual(self.bodies(self.drain(url, 5)), [f"message {i}" for i in range(5, 10)])
        task = self.ended("ranged", self.started("ranged", "--from", "10m", "--to", middle))
        self.assertEqual((task["sent"], task["to"]), (5, middle[:-4] + "Z"))
        self.assertEqual(self.bodies(self.drain(url, 5)), [f"message {i}" for i in range(5)])
        self.assertEqual(self.ended("ranged", self.started("ranged", "--from", "2h", "--to", "30m"))["sent"], 0)
        self.drain(url, 0)

    def test_the_list_has_a_line_for_each_the_newest_first(self):
        self.sent_and_deleted("listed", 4)
        self.assertEqual((self.replay("list", "listed").stdout, self.listed("listed")), ("", []))
        self.ended("listed", self.started("listed", "--rate", "500", "--filter", RED.replace(" ", "\n")))
        self.ended("listed", self.started("listed", "--to", "30m"))
        lines = self.replay("list", "listed").stdout.splitlines()
        self.assertEqual(len(lines), 3)
        self.assertEqual(lines[0].split(), ["NUMBER", "STATUS", "SENT", "FROM", "TO", "INTO", "RATE", "FILTER"])
        self.assertRegex(lines[1], rf"^ +2  completed +0  {TIME}  {TIME}  listed +no limit$")
        self.assertRegex(lines[2], rf"^ +1  completed +2  {TIME}  {TIME}  listed +500/s +{re.escape(RED)}$")
        objects = [json.loads(line) for line in self.replay("list", "listed", "-o", "jsonl").stdout.splitlines()]
        self.assertEqual(objects, self.listed("listed"))
        for task in self.listed("listed"):
            self.assertEqual(sorted(task), sorted(("number", "status", "sent", "from", "to", "started", "into", "rate", "filter",
                                                   "failure", "unreadable")))
            self.assertRegex(task["started"], f"^{TIME}$")

    def test_one_at_a_time_runs_and_can_be_cancelled(self):
        self.sent_and_deleted("slow")
        number = self.started("slow", "--rate", "1")
        # While it runs, the shard starts no other task.
        self.addCleanup(self.replay, "cancel", "slow", "--task", str(number))
        self.refused(self.replay("start", "slow"), 1, "already running", "pawl replay cancel slow --task")
        self.refused(self.replay("cancel", "slow", "--task", str(number + 1)), 3, f"has no replay {number + 1}",
                     "pawl replay list slow")
        done = self.replay("cancel", "slow", "--task", str(number))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertLess(int(done.stdout), 20)
        self.assertEqual(self.ended("slow", number)["status"], "cancelled")
        self.refused(self.replay("cancel", "slow", "--task", str(number)), 1, f"replay {number} of queue \"slow\"",
                     "has already ended")

    def test_what_is_not_there_is_not_found(self):
        self.queue("here")
        for action, words in (("start", ()), ("list", ()), ("cancel", ("--task", "1"))):
            self.refused(self.replay(action, "nowhere", *words), 3, 'there is no queue "nowhere"', "pawl queue ls")
        self.refused(self.replay("start", "here", "--into", "nowhere"), 3, 'there is no queue "nowhere"')
        self.refused(self.replay("cancel", "here", "--task", "1"), 3, "has no replay 1")

    def test_a_queue_that_keeps_nothing_says_how_to_change_that(self):
        self.queue("forgetful", {})
        self.refused(self.replay("start", "forgetful"), 1, '"forgetful"', "x-replay-retention is 0", "pawl queue set forgetful")

    def test_the_queue_is_a_name_or_a_url_by_position_or_by_flag(self):
        url, _ = self.sent_and_deleted("named", 1)
        for queue in "named", url:
            self.ended(queue, self.started(queue))
        local = {**os.environ, "AWS_ENDPOINT_URL": f"http://{self.pawl.ready['http']}"}
        for words in ("named",), (url,), ("--queue", "named"), ("--queue", url):
            done = asked(self.binary, "list", *words, "--json", environment=local)
            self.assertEqual([task["number"] for task in json.loads(done.stdout)], [2, 1], done)

    def test_a_port_that_is_not_the_http_one_is_named(self):
        for port, words in (("admin", "needs a pawl server of this version"),
                            ("binary", f"This is the binary port of pawl. SQS is served at http://{self.pawl.ready['http']}\n")):
            done = asked(self.binary, "list", "q", "--url", f"http://{self.pawl.ready[port]}")
            self.refused(done, 1, self.pawl.ready[port], words)
            self.assertEqual("--strict-sqs" in done.stderr, port == "admin", done.stderr)


class StrictPawl(Pawl):
    def __init__(self, binary):
        super().__init__(binary, extra=("--strict-sqs",))


class OtherEndpoints(ServedTest):
    """Endpoints that have no replays, and one that is lost during the call."""

    server = StrictPawl

    def answered(self, response):
        """The end of each verb at an endpoint that answers one request with these bytes."""
        for action, words in (("start", ()), ("list", ()), ("cancel", ("--task", "1"))):
            with socket.create_server(("127.0.0.1", 0)) as listener:
                listener.settimeout(WAIT_SECONDS)
                answering = threading.Thread(target=self.answer_one, args=(listener, response))
                answering.start()
                try:
                    yield action, asked(self.binary, action, "q", *words, "--url", "http://127.0.0.1:%d" % listener.getsockname()[1])
                finally:
                    answering.join()

    @staticmethod
    def answer_one(listener, response):
        client, _ = listener.accept()
        with client:
            client.settimeout(WAIT_SECONDS)
            asked_for = b""
            while not asked_for.endswith(b"}"):
                got = client.recv(65536)
                if not got:
                    return
                asked_for += got
            client.sendall(response)

    def refused(self, done, *parts):
        self.assertEqual((done.returncode, done.stdout), (1, ""), done)
        for part in ("error: ", *parts):
            self.assertIn(part, done.stderr)

    def test_a_server_without_the_actions_is_named_as_such(self):
        done = asked(self.binary, "list", "q", "--url", f"http://{self.pawl.ready['http']}")
        self.refused(done, "needs a pawl server of this version, without --strict-sqs")
        body = b'{"__type":"com.amazonaws.sqs#InvalidAction","message":"no such action"}'
        for head, text in ((b"400 Bad Request", body), (b"404 Not Found", b"<html>nothing here</html>")):
            response = b"HTTP/1.1 %s\r\nContent-Length: %d\r\n\r\n%s" % (head, len(text), text)
            for _, done in self.answered(response):
                self.refused(done, "127.0.0.1", "needs a pawl server of this version, without --strict-sqs")

    def test_a_response_without_the_result_is_refused(self):
        for text in b"{}", b'{"Replays":7,"Number":"x"}', b"nothing":
            for action, done in self.answered(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(text), text)):
                name = {"start": "Number", "list": "Replays", "cancel": "NumberOfMessagesSent"}[action]
                self.refused(done, f'the response has no "{name}"', "--url")

    def test_a_lost_connection_leaves_open_what_was_done(self):
        for action, done in self.answered(b""):
            self.refused(done, "closed the connection")
            self.assertEqual("`pawl replay list q` shows it" in done.stderr, action != "list", done.stderr)


class Keyed(ServedTest):
    server = SignedPawl

    def test_a_server_that_asks_for_keys_is_named_as_such(self):
        done = asked(self.binary, "list", "q", "--url", f"http://{self.pawl.ready['http']}",
                     environment={name: value for name, value in os.environ.items() if not name.startswith("AWS_")})
        self.assertEqual((done.returncode, done.stdout), (1, ""), done)
        self.assertIn("The call was not signed: set AWS_ACCESS_KEY_ID", done.stderr)


if __name__ == "__main__":
    main()
