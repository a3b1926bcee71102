#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The order of FIFO groups under kill -9, with dead letters and redrives.

Producers send to one FIFO queue whose messages become dead letters after two receives. Consumers delete most messages, return
others at once, and let some become dead letters; another one receives dead letters, deletes some and redrives the rest. The server
is killed meanwhile, by preference right after a dead letter was received.

What is first of its group in a response has nothing before it: no receive that begins later may return a message of the group with
a lower SequenceNumber (overtaken). A redriven message has a new number. At the end no acknowledged message may be missing (lost).

Prints one line with the figures and the seed.
"""

import argparse
import random
import sys
import threading
import time

from load import Client, Load, Pawl

GROUPS = 40
SOURCE, DEAD = "orders.fifo", "dead.fifo"


class Order(Load):
    def __init__(self, options):
        super().__init__(Pawl(options.pawl, extra=["--shards", str(options.shards)]), options.seed)
        self.options = options
        self.floors = {}  # group -> (time at which it was known, lowest number that may still come)
        self.overtaken = []
        self.counts = {"receives": 0, "dead-letter receives": 0, "redriven": 0}
        self.dead_letter_seen = threading.Event()

    # --- queues and workers ---

    def create_queues(self, client):
        client.call("CreateQueue", QueueName=DEAD, Attributes={"FifoQueue": "true", "VisibilityTimeout": "2"})
        policy = f'{{"deadLetterTargetArn":"{self.arn(DEAD)}","maxReceiveCount":2}}'
        client.call("CreateQueue", QueueName=SOURCE,
                    Attributes={"FifoQueue": "true", "VisibilityTimeout": "2", "RedrivePolicy": policy})

    @staticmethod
    def arn(name):
        return f"arn:aws:sqs:us-east-1:000000000000:{name}"

    def start_workers(self):
        self.create_queues(Client(self))
        steps = [self.produce_orders, self.produce_orders, self.consume_orders, self.consume_orders, self.consume_dead]
        for number, step in enumerate(steps):
            thread = threading.Thread(target=self.work, args=(step(f"w{number}"), self.random.randrange(1 << 32)), daemon=True)
            thread.start()
            self.threads.append(thread)

    def produce_orders(self, name):
        def step(client, luck, number):
            if self.ledger.backlog() > 500:
                time.sleep(0.01)
                return
            body = f"{name}-{number}"
            with self.ledger.lock:
                self.ledger.sends_tried.add(body)
            client.call("SendMessage", QueueUrl=SOURCE, MessageBody=body, MessageGroupId=f"g{luck.randrange(GROUPS)}",
                        MessageDeduplicationId=body)
            with self.ledger.lock:
                self.ledger.sends_acked[body] = True
        return step

    def consume_orders(self, _name):
        def step(client, luck, _number):
            returned = set()  # groups whose later messages are returned too
            for message in self.receive_orders(client):
                group = message["Attributes"]["MessageGroupId"]
                if group in returned or luck.random() < 0.45:
                    returned.add(group)
                    client.call("ChangeMessageVisibility", QueueUrl=SOURCE, ReceiptHandle=message["ReceiptHandle"], VisibilityTimeout=0)
                elif luck.random() < 0.98:
                    self.delete_one(client, SOURCE, message)
                else:
                    returned.add(group)  # its visibility timeout ends
        return step

    def consume_dead(self, _name):
        def step(client, luck, number):
            messages = client.call("ReceiveMessage", QueueUrl=DEAD, MaxNumberOfMessages=10, WaitTimeSeconds=1).get("Messages", [])
            self.count("dead-letter receives", len(messages))
            if messages:
                self.dead_letter_seen.set()
            for message in messages:
                if luck.random() < 0.7:
                    self.delete_one(client, DEAD, message)
            if number % 10 == 9:
                client.call("StartMessageMoveTask", SourceArn=self.arn(DEAD), DestinationArn=self.arn(SOURCE))
                self.count("redriven", 1)
        return step

    def count(self, what, more):
        with self.ledger.lock:
            self.counts[what] += more

    def delete_one(self, client, queue, message):
        with self.ledger.lock:
            self.ledger.deletes_tried.add(message["Body"])
        client.call("DeleteMessage", QueueUrl=queue, ReceiptHandle=message["ReceiptHandle"])
        with self.ledger.lock:
            self.ledger.deletes_acked[message["Body"]] = time.monotonic()

    # --- the order ---

    def receive_orders(self, client, wait=1):
        began = time.monotonic()
        messages = client.call("ReceiveMessage", QueueUrl=SOURCE, MaxNumberOfMessages=10, WaitTimeSeconds=wait,
                               AttributeNames=["MessageGroupId", "SequenceNumber"]).get("Messages", [])
        self.count("receives", len(messages))
        with self.ledger.lock:
            self.check_order(messages, began)
        return messages

    def check_order(self, messages, began):
        by_group = {}
        for message in messages:
            by_group.setdefault(message["Attributes"]["MessageGroupId"], []).append(int(message["Attributes"]["SequenceNumber"]))
        for group, numbers in by_group.items():
            known, floor = self.floors.get(group, (began, 0))
            if numbers != sorted(numbers) or (began > known and numbers[0] < floor):
                self.overtaken.append((group, floor, numbers))
            if numbers[0] > floor:
                self.floors[group] = (time.monotonic(), numbers[0])

    # --- the rounds ---

    def run(self):
        self.come_up()
        self.start_workers()
        for _ in range(self.options.rounds):
            self.dead_letter_seen.clear()
            if self.random.random() < 0.5:
                self.dead_letter_seen.wait(0.5)
            else:
                time.sleep(self.random.uniform(0.05, 0.3))
            self.go_down()
            self.come_up()
        self.stop_workers()
        lost = self.drain_orders()
        figures = ", ".join(f"{count} {what}" for what, count in self.counts.items())
        print(f"kill -9: order of groups, {self.options.shards} shards, {self.options.rounds} rounds, {len(self.ledger.sends_acked)} sends, "
              f"{figures} tasks, {len(self.overtaken)} overtaken, {len(lost)} lost, seed {self.options.seed}")
        bad = len(self.overtaken) + len(lost) + (0 if self.counts["dead-letter receives"] and self.counts["receives"] else 1)
        for group, floor, numbers in self.overtaken[:5]:
            print(f"  {group}: {numbers} after {floor}")
        print(f"{0 if bad else 1} passed, {1 if bad else 0} failed")
        self.go_down()
        if not bad:
            self.pawl.remove_data()
        return 1 if bad else 0

    def drain_orders(self):
        """Deletes all messages of both queues; returns the acknowledged bodies that were not there and not deleted before."""
        client, end, quiet = Client(self), time.monotonic() + 60, 0
        while quiet < 4 and time.monotonic() < end:
            messages = self.receive_orders(client)
            dead = client.call("ReceiveMessage", QueueUrl=DEAD, MaxNumberOfMessages=10).get("Messages", [])
            for queue, found in ((SOURCE, messages), (DEAD, dead)):
                for message in found:
                    self.delete_one(client, queue, message)
            quiet = 0 if messages or dead else quiet + 1
        return set(self.ledger.sends_acked) - self.ledger.deletes_tried


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pawl", default="build/release/pawl", help="the program")
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--shards", type=int, default=2)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    return Order(parser.parse_args()).run_or_abandon()


if __name__ == "__main__":
    sys.exit(main())
