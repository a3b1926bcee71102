#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Publishes to many queues under kill -9.

Publishers send numbered messages to a topic; half of its queues get them raw, half in envelopes. Consumers delete what they
receive from some of the queues. The server is killed meanwhile, by preference while a publish is under way. At the end every
queue must have every message whose publish was acknowledged (lost), with the text that was published (foreign).

Prints one line with the figures and the seed.
"""

import argparse
import collections
import http.client
import json
import random
import sys
import threading
import time
import urllib.parse

from load import Client, Load, Pawl, Refused

QUEUES = 40
SIZES = (20, 2_000, 60_000)
BACKLOG_MAX = 400  # publishes, so that the final drain takes seconds


class FanOut(Load):
    how = "kill -9"
    shards = 2

    def __init__(self, pawl, rounds, seed):
        super().__init__(pawl, seed)
        self.rounds, self.seed = rounds, seed
        self.topic = None
        self.begun = threading.Event()
        self.received = collections.defaultdict(set)  # number -> its queues
        self.deleted = set()  # (queue, number), tried
        self.acked = set()
        self.lock = threading.Lock()
        self.foreign = []

    # --- publishing ---

    def sns(self, client, action, **parameters):
        life, address = self.address()
        if client.connection is None or life != client.life:
            client.close()
            host, port = address.rsplit(":", 1)
            client.connection, client.life = http.client.HTTPConnection(host, int(port), timeout=30), life
        try:
            client.connection.request("POST", "/", urllib.parse.urlencode({"Action": action, "Version": "2010-03-31", **parameters}),
                                      {"Content-Type": "application/x-www-form-urlencoded"})
            answer = client.connection.getresponse()
            body = answer.read().decode()
        except (OSError, http.client.HTTPException):
            client.close()
            raise
        if answer.status != 200:
            raise Refused(f"{action}: {answer.status} {body[:200]}", answer.status)
        return body

    def create(self, client):
        self.topic = self.sns(client, "CreateTopic", Name="topic").partition("<TopicArn>")[2].partition("<")[0]
        for i in range(QUEUES):
            client.call("CreateQueue", QueueName=f"q{i}", Attributes={"VisibilityTimeout": "1"})
            raw = {"Attributes.entry.1.key": "RawMessageDelivery", "Attributes.entry.1.value": "true"} if i % 2 else {}
            self.sns(client, "Subscribe", TopicArn=self.topic, Protocol="sqs", Endpoint=f"arn:aws:sqs:us-east-1:000000000000:q{i}", **raw)

    @staticmethod
    def text(number):
        return f"{number}:" + "x" * SIZES[number % len(SIZES)]

    def publish(self, first):
        def step(client, _luck, number):
            number = first + 2 * number
            with self.lock:
                behind = len(self.acked) - sum(len(queues) == QUEUES for queues in self.received.values())
            if behind > BACKLOG_MAX:
                time.sleep(0.02)
            self.begun.set()
            self.sns(client, "Publish", TopicArn=self.topic, Message=self.text(number))
            with self.lock:
                self.acked.add(number)
        return step

    # --- receiving ---

    def receive(self, client, queue):
        """Returns the messages as (number, receipt handle)."""
        found = []
        for message in client.call("ReceiveMessage", QueueUrl=f"q{queue}", MaxNumberOfMessages=10).get("Messages", []):
            body = message["Body"] if queue % 2 else json.loads(message["Body"])["Message"]
            number = int(body.partition(":")[0])
            if body != self.text(number):
                self.foreign.append((queue, body[:60]))
            found.append((number, message["ReceiptHandle"]))
            with self.lock:
                self.received[number].add(queue)
        return found

    def delete(self, client, queue, found):
        with self.lock:
            self.deleted.update((queue, number) for number, _ in found)
        if found:
            client.call("DeleteMessageBatch", QueueUrl=f"q{queue}",
                        Entries=[{"Id": str(i), "ReceiptHandle": handle} for i, (_, handle) in enumerate(found)])

    def consume(self, client, luck, _number):
        queue = luck.randrange(QUEUES // 2)
        self.delete(client, queue, self.receive(client, queue))

    # --- the rounds ---

    def run(self):
        self.come_up()
        self.create(Client(self))
        for step in (self.publish(0), self.publish(1), self.consume, self.consume):
            thread = threading.Thread(target=self.work, args=(step, self.random.randrange(1 << 32)), daemon=True)
            thread.start()
            self.threads.append(thread)
        for _ in range(self.rounds):
            time.sleep(self.random.uniform(0.05, 0.3))
            self.begun.clear()
            self.begun.wait(0.5)
            time.sleep(self.random.uniform(0, 0.004))
            self.break_off()
            self.come_up()
        self.stop_workers()
        self.drain()
        lost = [(number, queue) for number in self.acked for queue in range(QUEUES) if queue not in self.received[number]]
        partly = sum(0 < len(queues) < QUEUES for number, queues in self.received.items() if number not in self.acked)
        bad = len(lost) + len(self.foreign) + (0 if self.acked else 1)
        print(f"{self.how}: fan-out to {QUEUES} queues, {self.shards} shards, {self.rounds} rounds, {len(self.acked)} publishes "
              f"acked, {sum(len(queues) for queues in self.received.values())} messages received, {partly} unacked in some queues only, "
              f"{len(lost)} lost, {len(self.foreign)} foreign, seed {self.seed}", flush=True)
        for what in (lost + self.foreign)[:5]:
            print(f"  {what}")
        self.go_down()
        self.clean_up(keep=bad)
        return (0, 1) if bad else (1, 0)

    def break_off(self):
        self.go_down()

    def clean_up(self, keep):
        if not keep:
            self.pawl.remove_data()

    def drain(self):
        client, end = Client(self), time.monotonic() + 120
        time.sleep(1.1)  # messages in flight come back
        for queue in range(QUEUES):
            empty = 0
            while empty < 2 and time.monotonic() < end:
                found = self.receive(client, queue)
                self.delete(client, queue, found)
                empty = 0 if found else empty + 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pawl", default="build/release/pawl", help="the program")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--shards", type=int, default=2)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    options = parser.parse_args()
    FanOut.shards = options.shards
    pawl = Pawl(options.pawl, extra=["--shards", str(options.shards)])
    good, bad = FanOut(pawl, options.rounds, options.seed).run_or_abandon()
    print(f"{good} passed, {bad} failed")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
