# SPDX-License-Identifier: Apache-2.0
"""4 producers, 4 consumers, 2 planners, a sender of messages that expire and a maker of schedules,
with a ledger of acknowledged requests, on a server that restarts. A planner sends delayed messages,
and cancels and reschedules them by their ids. Messages that expire must all come to their
dead-letter queue. A schedule fires once, some seconds after its creation.

At the end the queues are drained and the ledger is checked:

  lost      a send was acknowledged, no delete was tried, and the message is not there
  returned  a delete was acknowledged, and a receive that began later delivered the message
  foreign   a delivered body differs from every body that was sent
  early     a receive that began after the acknowledgement of a delay, or of a new delivery time,
            delivered the message before that time
  unasked   a dead letter does not say that it expired
  twice     a fire of a schedule has sent two messages
"""

import collections
import hashlib
import http.client
import json
import pathlib
import random
import signal
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "clients"))
from pawl_server import Arm64Pawl, Pawl  # noqa: E402, F401

PRODUCERS = CONSUMERS = 4
PLANNERS = 2
QUEUES = 6
DEAD_LETTERS = QUEUES  # the queue to which messages go from EXPIRING when they expire
EXPIRING = QUEUES + 1  # nobody receives from it
VISIBILITY_SECONDS = 2
BACKLOG_MAX = 20_000  # producers pause above it, so that the final drain takes seconds
DRAIN_SECONDS = 60
REQUEST_BYTES_MAX = 1_000_000


class Refused(Exception):
    """The server responded with an error."""

    def __init__(self, text, status):
        super().__init__(text)
        self.status = status


class Client:
    """One keep-alive connection, which is opened anew in each life of the server."""

    def __init__(self, load):
        self.load = load
        self.connection = None
        self.life = 0
        self.cancelled = None  # the header x-pawl-cancel of the last response

    def call(self, action, **request):
        """Returns the response. OSError or HTTPException if the server died: outcome unknown."""
        return self.post("/", request, {"Content-Type": "application/x-amz-json-1.0", "X-Amz-Target": "AmazonSQS." + action})

    def schedule(self, name, **request):
        return self.post("/schedules/" + name, request, {"Content-Type": "application/json"})

    def post(self, path, request, headers):
        life, address = self.load.address()
        if self.connection is None or life != self.life:
            self.close()
            host, port = address.rsplit(":", 1)
            self.connection = http.client.HTTPConnection(host, int(port), timeout=30)
            self.life = life
        try:
            self.connection.request("POST", path, json.dumps(request).encode(), headers)
            response = self.connection.getresponse()
            body = response.read()
            self.cancelled = response.getheader("x-pawl-cancel")
        except (OSError, http.client.HTTPException):
            self.close()
            raise
        if response.status != 200:
            raise Refused(f"{path} {headers}: {response.status} {body[:200]!r}", response.status)
        return json.loads(body) if body else {}

    def close(self):
        if self.connection is not None:
            self.connection.close()
        self.connection = None


class Ledger:
    """The attempted and the acknowledged requests. One lock: correctness before speed."""

    def __init__(self):
        self.lock = threading.Lock()
        self.sends_tried = set()
        self.sends_acked = {}  # body -> the server's life that acknowledged it
        self.deletes_tried = set()
        self.deletes_acked = {}  # body -> time of the acknowledgement
        self.seen = set()
        self.receives = collections.Counter()
        self.returned = []
        self.foreign = []
        self.not_before = {}  # body -> (time of the acknowledgement, earliest delivery)
        self.early = []
        self.unasked = []
        self.fires = {}  # body -> (time of the fire, id of its message)
        self.twice = []
        self.planned = collections.Counter()  # cancelled, gone, in flight, rescheduled

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
            acked_at, earliest = self.not_before.get(body, (asked_at, 0))
            if acked_at < asked_at and time.monotonic() < earliest:
                self.early.append(body)

    def fired(self, body, identity):
        with self.lock:
            at, known = self.fires[body]
            self.fires[body] = (at, identity)
            if known not in (None, identity):
                self.twice.append(body)
            if time.time() < at:
                self.early.append(body)

    def delivered_again(self):
        return sum(count - 1 for count in self.receives.values())


class Load:
    """The server, its lives (one per start), and the workers that use it."""

    SIZES = (0, 0, 100, 2000, 20_000)  # of bodies, without their labels

    def __init__(self, pawl, seed):
        self.pawl = pawl
        self.random = random.Random(seed)
        self.ledger = Ledger()
        self.state = threading.Condition()
        self.life = 0
        self.up = None  # address of the server while it is believed to be up
        self.ending = threading.Event()
        self.refused = []
        self.threads = []
        self.recovery_ms = []
        self.stopped = 0  # bitwise OR of the exit codes after SIGTERM

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

    def unreachable(self):
        with self.state:
            self.up = None

    def go_down(self):
        self.unreachable()
        self.pawl.kill()

    def restart(self):
        self.stopped |= self.pawl.stop()
        self.come_up()

    def abandon(self):
        """Cleans up after a run that ended early: kills the server and deletes its data."""
        if self.pawl.process is not None:
            self.pawl.kill()
        self.pawl.remove_data()

    def run_or_abandon(self, *arguments):
        """Returns the result of run(). SIGTERM and Ctrl-C end the server too."""
        signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended early"))
        try:
            return self.run(*arguments)
        except (SystemExit, KeyboardInterrupt):
            self.abandon()
            raise

    # --- the workers ---

    def create_queues(self, client):
        for number in range(QUEUES):
            client.call("CreateQueue", QueueName=f"crash-{number}",
                        Attributes={"VisibilityTimeout": str(VISIBILITY_SECONDS)})
        client.call("CreateQueue", QueueName=f"crash-{DEAD_LETTERS}",
                    Attributes={"VisibilityTimeout": str(VISIBILITY_SECONDS), "x-retention-from": "move"})
        target = f"arn:aws:sqs:us-east-1:000000000000:crash-{DEAD_LETTERS}"
        client.call("CreateQueue", QueueName=f"crash-{EXPIRING}", Attributes={
            "x-dlq-on-expiry": "true", "x-message-ttl": "2",
            "RedrivePolicy": json.dumps({"deadLetterTargetArn": target, "maxReceiveCount": 9})})

    def start_workers(self):
        client = Client(self)
        self.create_queues(client)
        client.close()
        workers = []
        for i in range(PRODUCERS):
            workers.append((self.produce(f"p{i}"), self.random.random()))
        for i in range(CONSUMERS):
            workers.append((self.consume(f"c{i}"), self.random.random()))
        for i in range(PLANNERS):
            workers.append((self.plan(f"d{i}"), self.random.random()))
        workers.append((self.let_expire, self.random.random()))
        workers.append((self.make_schedules, self.random.random()))
        self.threads = [threading.Thread(target=self.work, args=worker, daemon=True) for worker in workers]
        for thread in self.threads:
            thread.start()

    def stop_workers(self):
        self.ending.set()
        for thread in self.threads:
            thread.join()

    def work(self, step, seed):
        client = Client(self)
        luck = random.Random(seed)
        number = 0
        while not self.ending.is_set():
            number += 1
            try:
                step(client, luck, number)
            except Refused as refusal:
                self.refused.append(refusal)
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
            size = luck.choice(self.SIZES)
            count = luck.choice((1, 1, 10)) if size * 10 < REQUEST_BYTES_MAX else 1
            labels = [f"{name}-{number}-{i}-q{queue}-" for i in range(count)]
            self.send(client, queue, [body_of(label, size) for label in labels])
        return step

    def consume(self, _name):
        def step(client, luck, _number):
            queue = luck.randrange(QUEUES + 1)
            messages = self.receive(client, queue, wait=luck.choice((0, 0, 1)))
            keep = luck.random() < 0.1  # some messages time out and are delivered again
            if messages and not keep:
                self.delete(client, queue, messages, single=luck.random() < 0.3)
        return step

    def plan(self, name):
        pending = []  # (queue, id, body)

        def step(client, luck, number):
            if self.ledger.backlog() > BACKLOG_MAX:
                time.sleep(0.01)
                return
            if len(pending) < 50:
                queue = luck.randrange(QUEUES)
                bodies = [body_of(f"{name}-{number}-{i}-q{queue}-", 0) for i in range(10)]
                pending.extend(self.send_later(client, queue, bodies, luck.randint(1, 3)))
                return
            queue, identity, body = pending.pop(luck.randrange(len(pending)))
            if luck.random() < 0.5:
                self.cancel(client, queue, identity, body)
            else:
                self.reschedule(client, queue, identity, body, luck.choice((0, 1, 2)))
        return step

    def let_expire(self, client, luck, number):
        bodies = [body_of(f"e-{number}-{i}-q{EXPIRING}-", 100) for i in range(10)]
        self.send(client, EXPIRING, bodies, life=luck.choice(("50ms", "500ms", "1s", "1m")))
        time.sleep(0.02)

    def make_schedules(self, client, luck, number):
        queue = luck.randrange(QUEUES)
        body = body_of(f"s-{number}-q{queue}-", 100)
        at = int(time.time()) + luck.randint(1, 3)
        with self.ledger.lock:
            self.ledger.sends_tried.add(body)
            self.ledger.fires[body] = (at, None)
        client.schedule(f"s-{number}", ScheduleExpression=time.strftime("at(%Y-%m-%dT%H:%M:%S)", time.gmtime(at)),
                        FlexibleTimeWindow={"Mode": "OFF"}, ActionAfterCompletion=luck.choice(("NONE", "DELETE")),
                        Target={"Arn": f"arn:aws:sqs:us-east-1:000000000000:crash-{queue}", "Input": body,
                                "RoleArn": "arn:aws:iam::000000000000:role/any"})
        # Created too late, it never fires.
        if time.time() < at - 0.1:
            with self.ledger.lock:
                self.ledger.sends_acked[body] = client.life
                self.ledger.planned["schedules"] += 1
        time.sleep(0.02)

    # --- requests that the ledger records ---

    def queue_url(self, number):
        return f"http://localhost/000000000000/crash-{number}"

    def send(self, client, queue, bodies, life=None):
        with self.ledger.lock:
            self.ledger.sends_tried.update(bodies)
        if len(bodies) == 1:
            client.call("SendMessage", QueueUrl=self.queue_url(queue), MessageBody=bodies[0])
            acked = bodies
        else:
            entries = [{"Id": str(i), "MessageBody": body} for i, body in enumerate(bodies)]
            for entry in entries if life else []:
                entry["MessageSystemAttributes"] = {"x-ttl": {"DataType": "String", "StringValue": life}}
            answer = client.call("SendMessageBatch", QueueUrl=self.queue_url(queue), Entries=entries)
            acked = [bodies[int(entry["Id"])] for entry in answer["Successful"]]
        with self.ledger.lock:
            self.ledger.sends_acked.update(dict.fromkeys(acked, client.life))

    def send_later(self, client, queue, bodies, delay):
        """Returns (queue, id, body) of the delayed messages that were acknowledged."""
        with self.ledger.lock:
            self.ledger.sends_tried.update(bodies)
        earliest = time.monotonic() + delay
        entries = [{"Id": str(i), "MessageBody": body, "DelaySeconds": delay} for i, body in enumerate(bodies)]
        answer = client.call("SendMessageBatch", QueueUrl=self.queue_url(queue), Entries=entries)
        sent = [(queue, entry["MessageId"], bodies[int(entry["Id"])]) for entry in answer["Successful"]]
        with self.ledger.lock:
            for _, _, body in sent:
                self.ledger.sends_acked[body] = client.life
                self.ledger.not_before[body] = (time.monotonic(), earliest)
        return sent

    def cancel(self, client, queue, identity, body):
        with self.ledger.lock:
            self.ledger.deletes_tried.add(body)
        try:
            client.call("DeleteMessage", QueueUrl=self.queue_url(queue), ReceiptHandle="x-id:" + identity)
        except Refused as refusal:
            if "PawlMessageInFlight" not in str(refusal):
                raise
            self.ledger.planned["in flight"] += 1
            return
        self.ledger.planned[client.cancelled] += 1
        if client.cancelled == "cancelled":
            with self.ledger.lock:
                self.ledger.deletes_acked.setdefault(body, time.monotonic())

    def reschedule(self, client, queue, identity, body, seconds):
        with self.ledger.lock:
            self.ledger.not_before.pop(body, None)  # the outcome may stay unknown
        earliest = time.monotonic() + seconds
        try:
            client.call("ChangeMessageVisibility", QueueUrl=self.queue_url(queue),
                        ReceiptHandle="x-id:" + identity, VisibilityTimeout=seconds)
        except Refused as refusal:
            if not any(word in str(refusal) for word in ("PawlMessageInFlight", "does not exist")):
                raise
            return
        self.ledger.planned["rescheduled"] += 1
        with self.ledger.lock:
            self.ledger.not_before[body] = (time.monotonic(), earliest)

    def receive(self, client, queue, wait):
        asked_at = time.monotonic()
        answer = client.call("ReceiveMessage", QueueUrl=self.queue_url(queue), MaxNumberOfMessages=10,
                             WaitTimeSeconds=wait, MessageSystemAttributeNames=["x-dead-letter-reason"])
        messages = answer.get("Messages", [])
        if queue == DEAD_LETTERS:
            self.ledger.planned["expired"] += len(messages)
            self.ledger.unasked += [message["Body"] for message in messages
                                    if message.get("Attributes", {}).get("x-dead-letter-reason") != "expired"]
        for message in messages:
            self.ledger.delivered(message["Body"], asked_at)
            if message["Body"] in self.ledger.fires:
                self.ledger.fired(message["Body"], message["MessageId"])
        return messages

    def delete(self, client, queue, messages, single):
        bodies = [message["Body"] for message in messages]
        with self.ledger.lock:
            self.ledger.deletes_tried.update(bodies[:1] if single else bodies)
        if single:
            client.call("DeleteMessage", QueueUrl=self.queue_url(queue), ReceiptHandle=messages[0]["ReceiptHandle"])
            acked = bodies[:1]
        else:
            entries = [{"Id": str(i), "ReceiptHandle": m["ReceiptHandle"]} for i, m in enumerate(messages)]
            answer = client.call("DeleteMessageBatch", QueueUrl=self.queue_url(queue), Entries=entries)
            acked = [bodies[int(entry["Id"])] for entry in answer.get("Successful", [])]
        now = time.monotonic()
        with self.ledger.lock:
            for body in acked:
                self.ledger.deletes_acked.setdefault(body, now)

    # --- the end ---

    def drain(self, client):
        """Receives and deletes until the queues are empty for longer than a visibility timeout.

        Returns the lost bodies.
        """
        left = set(self.ledger.sends_acked) - self.ledger.deletes_tried
        seen_before = set(self.ledger.seen)
        self.ledger.seen.clear()
        deadline = time.monotonic() + DRAIN_SECONDS
        quiet_since = time.monotonic()
        while time.monotonic() < deadline and time.monotonic() - quiet_since < VISIBILITY_SECONDS + 2:
            for queue in range(QUEUES + 1):
                try:
                    while messages := self.receive(client, queue, wait=0):
                        quiet_since = time.monotonic()
                        self.delete(client, queue, messages, single=False)
                except Refused as refusal:  # its messages count as lost
                    self.refused.append(refusal)
            time.sleep(0.05)
        lost = left - self.ledger.seen
        self.ledger.seen |= seen_before
        return lost

    def drain_and_check(self):
        """Restarts, drains and restarts. Returns the lost bodies, and counts that must all be 0."""
        self.restart()
        client = Client(self)
        lost = self.drain(client)
        self.restart()
        after_restart = 0 if lost else sum(len(self.receive(client, queue, wait=0)) for queue in range(QUEUES + 1))
        self.unreachable()
        self.stopped |= self.pawl.stop()
        client.close()
        return lost, {
            "acknowledged sends lost": len(lost),
            "acknowledged deletes seen again": len(self.ledger.returned),
            "foreign bodies": len(self.ledger.foreign),
            "deliveries before their time": len(self.ledger.early),
            "dead letters without their reason": len(self.ledger.unasked),
            "fires that came twice": len(self.ledger.twice),
            "messages after the drain": after_restart,
            "exit code after SIGTERM": self.stopped,
        }

    def report(self, lost, checks, acked_min):
        """Prints a line for each check, and examples. Returns the counts of good and bad checks."""
        ledger = self.ledger
        few = len(ledger.sends_acked) <= 10 * acked_min or len(ledger.deletes_acked) <= acked_min
        for name, count in checks.items():
            print(f"{'ok' if count == 0 else 'FAILED':7} {name}: {count}")
        examples = {"lost, with the life that acknowledged it": [f"{ledger.sends_acked[body]} {body}" for body in sorted(lost)],
                    "returned": ledger.returned, "foreign": ledger.foreign, "early": ledger.early, "unasked": ledger.unasked, "twice": ledger.twice, "refused": self.refused}
        for name, found in examples.items():
            for example in found[:5]:
                print(f"  {name}: {str(example)[:200]}")
        print(f"{'FAILED' if few else 'ok':7} enough was acknowledged for this to mean something")
        bad = sum(1 for count in checks.values() if count != 0) + few
        return len(checks) + 1 - bad, bad

    def figures(self, lost):
        """Figures for the summary line of a run."""
        ledger = self.ledger
        return (f"{len(ledger.sends_acked)} sends acked, {len(lost)} lost, {len(ledger.deletes_acked)} deletes acked, "
                f"{len(ledger.returned)} seen again, {ledger.planned['cancelled']} cancelled, "
                f"{ledger.planned['rescheduled']} rescheduled, {len(ledger.early)} early, "
                f"{ledger.planned['expired']} dead letters that expired, "
                f"{ledger.planned['schedules']} schedules, {len(ledger.twice)} fired twice")


def body_of(label, size):
    """The label, and `size` more bytes derived from it."""
    return label + (hashlib.md5(label.encode()).hexdigest() * (size // 32 + 1))[:size]
