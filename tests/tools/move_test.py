#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""`pawl move`: between two servers, killed at the worst moments, refused by the target."""

import collections
import http.server
import json
import os
import pathlib
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.error
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "clients"))
from dev_test import PAWL, DevPawl  # noqa: E402
from peek_test import documented  # noqa: E402

BATCH = 10


class Proxy(http.server.ThreadingHTTPServer):
    """Passes calls on to a server. Before and after each one it calls the test, and drops those where `before` is true."""

    daemon_threads = True

    def __init__(self, url):
        self.target = url
        self.before = self.after = lambda action: None
        super().__init__(("127.0.0.1", 0), Passing)
        self.url = "http://127.0.0.1:%d" % self.server_address[1]
        self.thread = threading.Thread(target=self.serve_forever, daemon=True)
        self.thread.start()


class Passing(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        action = self.headers["X-Amz-Target"].split(".")[1]
        if self.server.before(action):
            self.close_connection = True
            return
        request = urllib.request.Request(self.server.target, body, {name: self.headers[name] for name in ("X-Amz-Target", "Content-Type")})
        try:
            with urllib.request.urlopen(request, timeout=20) as answer:
                status, text = answer.status, answer.read()
        except urllib.error.HTTPError as refused:
            with refused:
                status, text = refused.code, refused.read()
        self.server.after(action)
        try:
            self.send_response(status)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)
        except OSError:
            self.close_connection = True


class Move(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory(prefix="move-test-")
        self.addCleanup(place.cleanup)
        self.place = place.name
        self.servers = []
        for _ in range(2):
            server = DevPawl(self.place)
            server.__enter__()
            self.addCleanup(server.__exit__, None, None, None)
            self.servers.append(server)
        self.old, self.new = self.servers
        self.state = os.path.join(self.place, "state")

    def proxy(self, server):
        proxy = Proxy(server.url)
        self.addCleanup(proxy.server_close)
        self.addCleanup(proxy.shutdown)
        return proxy

    def create(self, name="q", **attributes):
        for server in self.servers:
            server.call("CreateQueue", QueueName=name, Attributes=attributes)

    def fill(self, count, queue="q"):
        bodies = [f"message {n}" for n in range(count)]
        for begin in range(0, count, BATCH):
            self.old.call("SendMessageBatch", QueueUrl=queue, Entries=[
                {"Id": str(i), "MessageBody": body} for i, body in enumerate(bodies[begin:begin + BATCH])])
        return bodies

    def start(self, *words, queue="q", source=None, target=None):
        return subprocess.Popen([PAWL, "move", queue, "--from", (source or self.old).url, "--to", (target or self.new).url, *words],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL)

    def move(self, *words, code=0, **sides):
        process = self.start(*words, **sides)
        out, errors = process.communicate(timeout=60)
        self.assertEqual(process.returncode, code, out + errors)
        return out + errors

    def arrived(self, queue="q"):
        """How often each body is at the target."""
        bodies = collections.Counter()
        while messages := self.new.call("ReceiveMessage", QueueUrl=queue, MaxNumberOfMessages=10, VisibilityTimeout=600).get("Messages"):
            bodies.update(message["Body"] for message in messages)
        return bodies

    def test_moves_all_and_says_how_many(self):
        self.create()
        bodies = self.fill(123)
        self.assertEqual(self.move(), "moved 123, left 0\n")
        self.assertEqual(self.arrived(), collections.Counter(bodies))
        self.assertEqual(self.move(), "moved 0, left 0\n")

    def test_a_message_keeps_body_attributes_and_trace(self):
        self.create()
        attributes = {"s": {"DataType": "String", "StringValue": "a\"\\\nü"}, "n": {"DataType": "Number.int", "StringValue": "7"},
                      "b": {"DataType": "Binary.png", "BinaryValue": "AAECAw=="}}
        trace = {"AWSTraceHeader": {"DataType": "String", "StringValue": "Root=1-5759e988-bd862e3fe1be46a994272793"}}
        body = "\"quotes\" \\ \t\r\n ü 😀 " + "x" * 300_000
        for text in (body, "y" * 300_000, "small"):
            self.old.call("SendMessage", QueueUrl="q", MessageBody=text, MessageAttributes=attributes, MessageSystemAttributes=trace,
                          MessageGroupId="tenant")
        self.assertEqual(self.move(), "moved 3, left 0\n")
        received = []
        while len(received) < 3:
            received += self.new.call("ReceiveMessage", QueueUrl="q", AttributeNames=["All"], MessageAttributeNames=["All"],
                                      MaxNumberOfMessages=10)["Messages"]
        self.assertEqual({message["Body"] for message in received}, {body, "y" * 300_000, "small"})
        for message in received:
            self.assertEqual(message["MessageAttributes"], attributes)
            self.assertEqual((message["Attributes"]["AWSTraceHeader"], message["Attributes"]["MessageGroupId"]),
                             (trace["AWSTraceHeader"]["StringValue"], "tenant"))

    def test_a_fifo_queue_keeps_groups_their_order_and_deduplication_ids(self):
        self.create("q.fifo", FifoQueue="true")
        for n in range(60):
            self.old.call("SendMessage", QueueUrl="q.fifo", MessageBody=str(n), MessageGroupId=f"g{n % 3}", MessageDeduplicationId=f"d{n}")
        self.assertEqual(self.move(queue="q.fifo"), "moved 60, left 0\n")
        by_group, seen = collections.defaultdict(list), set()
        while messages := self.new.call("ReceiveMessage", QueueUrl="q.fifo", MaxNumberOfMessages=10, AttributeNames=["All"]).get("Messages"):
            for message in messages:
                by_group[message["Attributes"]["MessageGroupId"]].append(int(message["Body"]))
                seen.add((message["Body"], message["Attributes"]["MessageDeduplicationId"]))
                self.new.call("DeleteMessage", QueueUrl="q.fifo", ReceiptHandle=message["ReceiptHandle"])
        self.assertEqual(by_group, {f"g{g}": list(range(g, 60, 3)) for g in range(3)})
        self.assertEqual(seen, {(str(n), f"d{n}") for n in range(60)})

    def test_killed_at_any_time_it_loses_none_and_repeats_those_under_way(self):
        self.create()
        bodies = self.fill(1500)
        kills = 0
        for limit in (200, 400, 600, 800, 1000):
            process = self.start("--state", self.state, "--visibility", "1", "--wait", "20")
            while process.poll() is None and self.lines() < limit:
                time.sleep(0.001)
            kills += process.poll() is None
            process.send_signal(signal.SIGKILL)
            process.communicate(timeout=20)
        self.assertGreaterEqual(kills, 3, "the move must be killed before its end")
        last = self.move("--state", self.state, "--visibility", "1", "--wait", "30")
        self.assertRegex(last, r"^moved \d+, left 0; 1500 moved by all runs\n$")
        arrived = self.arrived()
        self.assertEqual(set(arrived), set(bodies), "none is lost")
        twice = sum(arrived.values()) - len(bodies)
        self.assertLessEqual(twice, kills * BATCH)
        print(f"{kills} kills: 1500 bodies, 0 lost, {twice} twice")

    def lines(self):
        try:
            return pathlib.Path(self.state).read_text().count("\n") - 1
        except FileNotFoundError:
            return 0

    def count(self):
        """The messages at the source, in all states."""
        attributes = self.old.call("GetQueueAttributes", QueueUrl="q", AttributeNames=["All"])["Attributes"]
        return sum(int(attributes["ApproximateNumberOfMessages" + state]) for state in ("", "NotVisible", "Delayed"))

    def killed_by(self, proxy, moment, action, number, **sides):
        """Kills the move before or after the given call of the proxy."""
        calls = []
        process = None

        def hook(called):
            if called != action:
                return False
            calls.append(called)
            if len(calls) < number:
                return False
            process.kill()
            process.wait(20)
            return True

        process = self.start("--state", self.state, "--visibility", "1", "--wait", "20", **sides)
        setattr(proxy, moment, hook)
        process.communicate(timeout=60)
        setattr(proxy, moment, lambda called: None)
        self.assertEqual(process.returncode, -signal.SIGKILL)
        self.assertEqual(len(calls), number)

    def test_messages_that_were_sent_and_noted_are_not_sent_again(self):
        self.create()
        bodies = self.fill(50)
        old = self.proxy(self.old)
        self.killed_by(old, "before", "DeleteMessageBatch", 2, source=old)
        self.assertEqual(self.lines(), 20)
        self.assertEqual(self.count(), 40, "the delete did not arrive")
        self.assertEqual(self.move("--state", self.state, "--wait", "20", source=old), "moved 30, left 0; 50 moved by all runs\n")
        self.assertEqual(self.arrived(), collections.Counter(bodies))

    def test_messages_whose_send_was_under_way_are_sent_again_and_no_others(self):
        self.create()
        bodies = self.fill(50)
        new = self.proxy(self.new)
        self.killed_by(new, "after", "SendMessageBatch", 3, target=new)
        self.assertEqual(self.lines(), 20)
        self.move("--state", self.state, "--wait", "20", target=new)
        arrived = self.arrived()
        self.assertEqual((set(arrived), sum(arrived.values())), (set(bodies), 60))

    def test_a_half_written_line_is_cut_off(self):
        self.create()
        self.fill(20)
        self.move("--state", self.state)
        with open(self.state, "a", encoding="ascii") as file:
            file.write("0f4c6d5e-half")
        self.fill(5)
        self.assertEqual(self.move("--state", self.state), "moved 5, left 0; 25 moved by all runs\n")
        self.assertNotIn("half", pathlib.Path(self.state).read_text())

    def test_a_state_file_belongs_to_one_move(self):
        self.create()
        self.create("other")
        self.move("--state", self.state)
        self.assertIn("is not one of this move", self.move("--state", self.state, queue="other", code=1))
        self.assertIn("cannot open the state file", self.move("--state", "/none/state", code=1))
        new = self.proxy(self.new)
        reached, go_on = threading.Event(), threading.Event()

        def hold(_):
            reached.set()
            go_on.wait(20)

        self.fill(1)
        new.before = lambda action: action == "SendMessageBatch" and hold(action)
        path = os.path.join(self.place, "held")
        first = self.start("--state", path, target=new)
        self.assertTrue(reached.wait(20))
        self.assertIn("is in use by another", self.move("--state", path, target=new, code=1))
        go_on.set()
        self.assertEqual(first.communicate(timeout=20)[0], "moved 1, left 0\n")

    def test_what_cannot_be_moved_stays_and_is_counted(self):
        self.old.call("CreateQueue", QueueName="q")
        self.new.call("CreateQueue", QueueName="q", Attributes={"MaximumMessageSize": "1024"})
        self.old.call("SendMessage", QueueUrl="q", MessageBody="x" * 2000)
        self.old.call("SendMessage", QueueUrl="q", MessageBody="later", DelaySeconds=600)
        out = self.move(code=1)
        self.assertIn('queue "q" refuses 1 of 1 messages', out)
        self.assertIn("moved 0, left 2 (1 visible, 0 in flight, 1 delayed)", out, "it was returned")
        self.new.call("SetQueueAttributes", QueueUrl="q", Attributes={"MaximumMessageSize": "4096"})
        self.assertEqual(self.move(code=4), "moved 1, left 1 (0 visible, 0 in flight, 1 delayed)\n")

    def test_it_waits_for_messages_in_flight_if_it_is_told_to(self):
        self.create(VisibilityTimeout="1")
        self.fill(1)
        self.old.call("ReceiveMessage", QueueUrl="q")
        self.assertEqual(self.move("--wait", "20"), "moved 1, left 0\n")

    def test_wrong_use_says_what_to_do(self):
        self.create()
        self.create("q.fifo", FifoQueue="true")
        self.assertIn('there is no queue "none"', self.move(queue="none", code=3))
        self.assertIn('there is no queue "none"', self.move("--to-queue", "none", code=3))
        self.assertIn("is both the source and the target", self.move(target=self.old, code=2))
        self.assertIn("Name a queue of the same kind", self.move("--to-queue", "q.fifo", code=2))
        self.new.stop()
        self.assertIn("error: ", self.move(code=1))

    def test_the_documented_commands_work(self):
        self.create("orders")
        self.new.call("CreateQueue", QueueName="orders-eu")
        self.fill(15, "orders")
        commands = documented("MOVING.md")
        self.assertEqual(len(commands), 2)
        for command in commands:
            words = shlex.split(command.replace("http://old:9324", self.old.url).replace("http://new:9324", self.new.url))
            done = subprocess.run([PAWL, *words[1:]], capture_output=True, text=True, timeout=60, cwd=self.place, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(sum(self.arrived("orders").values()), 15)


if __name__ == "__main__":
    result = unittest.main(exit=False).result
    bad = len(result.failures) + len(result.errors)
    print(f"{max(result.testsRun - bad, 0)} passed, {bad} failed")
    sys.exit(1 if bad else 0)
