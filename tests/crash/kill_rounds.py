#!/usr/bin/python3
"""kill -9 under load, against the real program and a real disk.

4 producers and 4 consumers keep a ledger of what was acknowledged while the server is killed again and
again, sometimes in the middle of its recovery, and restarted on the same data directory. At the end the
queues are drained and the ledger is checked:

  lost      a send was acknowledged, no delete was tried, and the message is not there
  returned  a delete was acknowledged, and a receive that began later delivered the message
  foreign   a delivered body is not one that was sent, byte for byte

Prints one line with the figures, and the seed: with it the same times and choices come again, as far as
threads allow.
"""

import argparse
import collections
import hashlib
import http.client
import json
import pathlib
import random
import statistics
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "clients"))
from pawl_server import Pawl  # noqa: E402

PRODUCERS = CONSUMERS = 4
QUEUES = 6
VISIBILITY_SECONDS = 2
BACKLOG_MAX = 20_000  # producers pause above it, so that the end can be drained in seconds
DRAIN_SECONDS = 60


class Refused(Exception):
    """The server answered, and not with success."""


class Client:
    """One keep-alive connection that follows the server from one life to the next."""

    def __init__(self, rounds):
        self.rounds = rounds
        self.connection = None
        self.life = 0

    def call(self, action, **request):
        """The answer; OSError or HTTPException when the server died meanwhile: then nobody knows."""
        life, address = self.rounds.address()
        if self.connection is None or life != self.life:
            self.close()
            host, port = address.rsplit(":", 1)
            self.connection = http.client.HTTPConnection(host, int(port), timeout=30)
            self.life = life
        try:
            self.connection.request("POST", "/", json.dumps(request).encode(), {
                "Content-Type": "application/x-amz-json-1.0", "X-Amz-Target": "AmazonSQS." + action})
            response = self.connection.getresponse()
            body = response.read()
        except (OSError, http.client.HTTPException):
            self.close()
            raise
        if response.status != 200:
            raise Refused(f"{action}: {response.status} {body[:200]!r}")
        return json.loads(body) if body else {}

    def close(self):
        if self.connection is not None:
            self.connection.close()
        self.connection = None


class Ledger:
    """What was tried and what was acknowledged. One lock: correctness before speed."""

    def __init__(self):
        self.lock = threading.Lock()
        self.sends_tried = set()
        self.sends_acked = set()
        self.deletes_tried = set()
        self.deletes_acked = {}  # body -> when the acknowledgement came
        self.seen = set()
        self.receives = collections.Counter()
        self.returned = []
        self.foreign = []

    def backlog(self):
        return len(self.sends_acked) - len(self.deletes_acked)

    def delivered(self, body, asked_at):
        with self.lock:
            self.receives[body] += 1
            self.seen.add(body)
            if body not in self.sends_tried:
                self.foreign.append(body)
            if self.deletes_acked.get(body, asked_at) < asked_at:
                self.returned.append(body)


class Rounds:
    def __init__(self, options):
        self.options = options
        self.random = random.Random(options.seed)
        self.ledger = Ledger()
        self.pawl = Pawl(options.pawl)
        self.state = threading.Condition()
        self.life = 0
        self.up = None  # address of the server while it is believed to be up
        self.ending = threading.Event()
        self.refused = []
        self.recovery_ms = []
        self.killed_in_recovery = 0

    # --- the server's lives ---

    def address(self):
        with self.state:
            while self.up is None:
                self.state.wait(0.1)
            return self.life, self.up

    def come_up(self):
        self.pawl.start()
        self.recovery_ms.append(self.pawl.start_seconds * 1000)
        with self.state:
            self.life += 1
            self.up = self.pawl.ready["http"]
            self.state.notify_all()

    def go_down(self):
        with self.state:
            self.up = None
        self.pawl.kill()

    def queue_url(self, number):
        return f"http://localhost/000000000000/crash-{number}"

    # --- the workers ---

    def work(self, step, seed):
        client = Client(self)
        luck = random.Random(seed)
        number = 0
        while not self.ending.is_set():
            number += 1
            try:
                step(client, luck, number)
            except Refused as refusal:
                self.refused.append(str(refusal))
                time.sleep(0.01)
            except (OSError, http.client.HTTPException):
                time.sleep(0.001)
        client.close()

    def produce(self, name):
        def step(client, luck, number):
            if self.ledger.backlog() > BACKLOG_MAX:
                time.sleep(0.01)
                return
            queue = luck.randrange(QUEUES)
            size = luck.choice((0, 0, 100, 2000, 20_000))
            bodies = []
            for i in range(luck.choice((1, 1, 10))):
                label = f"{name}-{number}-{i}-q{queue}-"
                filler = (hashlib.md5(label.encode()).hexdigest() * (size // 32 + 1))[:size]
                bodies.append(label + filler)
            with self.ledger.lock:
                self.ledger.sends_tried.update(bodies)
            if len(bodies) == 1:
                client.call("SendMessage", QueueUrl=self.queue_url(queue), MessageBody=bodies[0])
                acked = bodies
            else:
                entries = [{"Id": str(i), "MessageBody": body} for i, body in enumerate(bodies)]
                answer = client.call("SendMessageBatch", QueueUrl=self.queue_url(queue), Entries=entries)
                acked = [bodies[int(entry["Id"])] for entry in answer["Successful"]]
            with self.ledger.lock:
                self.ledger.sends_acked.update(acked)
        return step

    def consume(self, _name):
        def step(client, luck, _number):
            queue = self.queue_url(luck.randrange(QUEUES))
            messages = self.receive(client, queue, wait=luck.choice((0, 0, 1)))
            keep = luck.random() < 0.1  # let some time out, to be delivered again
            if messages and not keep:
                self.delete(client, queue, messages, single=luck.random() < 0.3)
        return step

    def receive(self, client, queue, wait):
        asked_at = time.monotonic()
        answer = client.call("ReceiveMessage", QueueUrl=queue, MaxNumberOfMessages=10, WaitTimeSeconds=wait)
        messages = answer.get("Messages", [])
        for message in messages:
            self.ledger.delivered(message["Body"], asked_at)
        return messages

    def delete(self, client, queue, messages, single):
        bodies = [message["Body"] for message in messages]
        with self.ledger.lock:
            self.ledger.deletes_tried.update(bodies[:1] if single else bodies)
        if single:
            client.call("DeleteMessage", QueueUrl=queue, ReceiptHandle=messages[0]["ReceiptHandle"])
            acked = bodies[:1]
        else:
            entries = [{"Id": str(i), "ReceiptHandle": m["ReceiptHandle"]} for i, m in enumerate(messages)]
            answer = client.call("DeleteMessageBatch", QueueUrl=queue, Entries=entries)
            acked = [bodies[int(entry["Id"])] for entry in answer.get("Successful", [])]
        now = time.monotonic()
        with self.ledger.lock:
            for body in acked:
                self.ledger.deletes_acked.setdefault(body, now)

    # --- the run ---

    def run(self):
        self.come_up()
        client = Client(self)
        for number in range(QUEUES):
            client.call("CreateQueue", QueueName=f"crash-{number}",
                        Attributes={"VisibilityTimeout": str(VISIBILITY_SECONDS)})
        workers = []
        for i in range(PRODUCERS):
            workers.append((self.produce(f"p{i}"), self.random.random()))
        for i in range(CONSUMERS):
            workers.append((self.consume(f"c{i}"), self.random.random()))
        threads = [threading.Thread(target=self.work, args=worker, daemon=True) for worker in workers]
        for thread in threads:
            thread.start()
        for _ in range(self.options.rounds):
            time.sleep(self.random.uniform(0.05, 0.15))
            self.go_down()
            if self.random.random() < 0.2:  # and once more, in the middle of recovery
                self.pawl.launch()
                time.sleep(self.random.uniform(0, 0.03))
                self.pawl.kill()
                self.killed_in_recovery += 1
            self.come_up()
        time.sleep(0.2)
        self.ending.set()
        for thread in threads:
            thread.join()
        return self.check(client)

    def drain(self, client):
        """Receives and deletes until nothing comes any more for longer than a visibility timeout."""
        left = self.ledger.sends_acked - self.ledger.deletes_tried
        seen_before = set(self.ledger.seen)
        self.ledger.seen.clear()
        deadline = time.monotonic() + DRAIN_SECONDS
        quiet_since = time.monotonic()
        while time.monotonic() < deadline and time.monotonic() - quiet_since < VISIBILITY_SECONDS + 1:
            for number in range(QUEUES):
                while messages := self.receive(client, self.queue_url(number), wait=0):
                    quiet_since = time.monotonic()
                    self.delete(client, self.queue_url(number), messages, single=False)
            time.sleep(0.05)
        lost = left - self.ledger.seen
        self.ledger.seen |= seen_before
        return lost

    def check(self, client):
        stopped = self.pawl.stop()
        self.come_up()
        lost = self.drain(client)
        stopped = stopped or self.pawl.stop()
        self.come_up()
        after_restart = sum(len(self.receive(client, self.queue_url(n), wait=0)) for n in range(QUEUES))
        stopped = stopped or self.pawl.stop()
        client.close()
        ledger = self.ledger
        again = sum(count - 1 for count in ledger.receives.values())
        checks = {
            "acknowledged sends lost": len(lost),
            "acknowledged deletes seen again": len(ledger.returned),
            "foreign bodies": len(ledger.foreign),
            "messages after the drain": after_restart,
            "requests refused": len(self.refused),
            "exit code after SIGTERM": stopped,
        }
        for name, count in checks.items():
            print(f"{'ok' if count == 0 else 'FAILED':7} {name}: {count}")
        for name, examples in (("lost", sorted(lost)), ("returned", ledger.returned), ("foreign", ledger.foreign),
                               ("refused", self.refused)):
            for example in examples[:5]:
                print(f"  {name}: {example[:200]}")
        enough = len(ledger.sends_acked) > 10 * self.options.rounds and len(ledger.deletes_acked) > self.options.rounds
        print(f"{'ok' if enough else 'FAILED':7} enough was acknowledged for this to mean something")
        print(f"kill -9: {self.options.rounds} rounds + {self.killed_in_recovery} in recovery, "
              f"{len(ledger.sends_acked)} sends acked, {len(lost)} lost, {len(ledger.deletes_acked)} deletes acked, "
              f"{len(ledger.returned)} seen again, {again} delivered more than once, start to ready p50 "
              f"{statistics.median(self.recovery_ms):.0f} ms max {max(self.recovery_ms):.0f} ms, seed {self.options.seed}")
        bad = sum(1 for count in checks.values() if count != 0) + (not enough)
        print(f"{len(checks) + 1 - bad} passed, {bad} failed")
        if bad:
            print(f"the data directory is kept: {self.pawl.data}")
        else:
            self.pawl.remove_data()
        return 1 if bad else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pawl", default="build/release/pawl", help="the program")
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    return Rounds(parser.parse_args()).run()


if __name__ == "__main__":
    sys.exit(main())
