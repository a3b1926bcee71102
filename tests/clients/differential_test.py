#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The same random calls in every protocol, each at its own server, must get the same responses.

usage: differential_test.py PAWL
PAWL_DIFFERENTIAL_SEED and PAWL_DIFFERENTIAL_CALLS choose another script.

The script is generated before the first call; it refers to queues by name and to handles by number.
Ids, handles and sequence numbers are compared by the order of their first appearance; times are not
compared. Each protocol is a Voice (wire.py) in VOICES. The HTTP protocols must agree in every word.
The binary protocol must agree in every member that it has; MEANS maps SQS's errors to its statuses.
"""

import collections
import os
import random
import time

import client
from binary import Binary
from pawl_server import ACCOUNT, Pawl, ServedTest, main
from wire import Json, Query, Refused

VOICES = (Json, Query, Binary)
SEED = int(os.environ.get("PAWL_DIFFERENTIAL_SEED", "1"))
CALLS = int(os.environ.get("PAWL_DIFFERENTIAL_CALLS", "500"))

STANDARD = [f"standard-{i}" for i in range(4)] + ["dead"]
FIFO = [f"ordered-{i}.fifo" for i in range(3)] + ["dead.fifo"]
TIMES = ("CreatedTimestamp", "LastModifiedTimestamp", "SentTimestamp", "ApproximateFirstReceiveTimestamp", "StartedTimestamp")
NAMED_BY_ORDER = ("MessageId", "ReceiptHandle", "SequenceNumber", "TaskHandle", "NextToken")
PLACED = {"TASK": "TaskHandle", "TOKEN": "NextToken"}  # a script's words for values from responses
# The one text that AWS words differently in its two protocols.
SAME_TEXT = {"The specified queue does not exist for this wsdl version.": "The specified queue does not exist."}
# Members that the binary protocol does not have.
NOT_BINARY = ("QueueUrl", "QueueArn", "MD5OfBody", "MD5OfMessageBody", "MD5OfMessageAttributes",
              "MD5OfMessageSystemAttributes", "SenderId", "SenderFault", "status")
# SQS error code, part of its text, and statuses of the binary protocol; the first row that matches
# applies.
MEANS = (
    ("AWS.SimpleQueueService.NonExistentQueue", "", ("no_such_queue",)),
    ("QueueAlreadyExists", "", ("queue_exists",)),
    ("AWS.SimpleQueueService.PurgeQueueInProgress", "", ("purge_in_progress",)),
    ("AWS.SimpleQueueService.QueueDeletedRecently", "", ("queue_deleted_recently",)),
    ("ReceiptHandleIsInvalid", "", ("receipt_invalid",)),
    ("InvalidMessageContents", "", ("bad_text",)),
    ("InvalidAttributeName", "", ("bad_attributes",)),
    ("InvalidAttributeValue", "", ("bad_attributes",)),
    ("AWS.SimpleQueueService.EmptyBatchRequest", "", ("invalid",)),
    ("ResourceNotFoundException", "", ("no_such_queue",)),
    ("InvalidAction", "", ("unknown_op",)),
    ("MissingParameter", "", ("invalid",)),
    ("InvalidParameterValue", "Message does not exist or is not available", ("message_gone",)),
    ("InvalidParameterValue", "handle has expired", ("receipt_expired",)),
    ("InvalidParameterValue", "not retryable", ("attempt_not_retryable",)),
    ("InvalidParameterValue", "task is not running", ("task_ended",)),
    ("InvalidParameterValue", "Message must be shorter", ("too_large",)),
    ("InvalidParameterValue", "RedrivePolicy", ("bad_attributes",)),
    ("InvalidParameterValue", "RedriveAllowPolicy", ("bad_attributes",)),
    # A message may have several faults; each protocol may find a different one first.
    ("InvalidParameterValue", " attribute", ("bad_attributes", "invalid")),
    ("InvalidParameterValue", "", ("invalid",)),
)
MISSED_CALLS = 12
NEWEST = 6     # calls choose among this many handles of a queue: most are still valid
SHOWN_MAX = 5  # differences printed
PATIENCE_SECONDS = 20
LANDING_SECONDS = 0.2


def arn(name):
    return f"arn:aws:sqs:us-east-1:{ACCOUNT}:{name}"


class Script:
    """Generates the calls: (op, members). Every delay or timeout is 0 or outlasts the test."""

    def __init__(self, seed, count):
        self.random = random.Random(seed)
        self.calls = [self.create(name) for name in STANDARD + FIFO]
        makers, weights = zip(
            (self.send, 20), (self.send_batch, 12), (self.receive, 26), (self.delete, 8), (self.delete_batch, 6),
            (self.change, 6), (self.change_batch, 4), (self.set_attributes, 6), (self.get_attributes, 6), (self.create_again, 3),
            (self.delete_queue, 1), (self.purge, 1), (self.tags, 4), (self.permissions, 3), (self.lists, 4), (self.redrive, 4),
            (self.move, 4))
        again = {}  # deleted queues by the number of the call that creates them again
        while len(self.calls) < count:
            name = again.pop(len(self.calls), None)
            maker, = self.random.choices(makers, weights)
            op, members = self.create(name) if name else maker()
            if op == "DeleteQueue":
                again[len(self.calls) + MISSED_CALLS] = members["QueueUrl"].rsplit("/", 1)[1]
            self.calls.append((op, members))

    def some_queue(self):
        name = "missing" if self.random.random() < 0.02 else self.random.choice(STANDARD + FIFO)
        return f"URL/{ACCOUNT}/{name}", name.endswith(".fifo")

    def create(self, name):
        attributes = {"FifoQueue": "true"} if name.endswith(".fifo") else {}
        if name == FIFO[1]:
            attributes["ContentBasedDeduplication"] = "true"
        if name == FIFO[2]:
            attributes |= {"DeduplicationScope": "messageGroup", "FifoThroughputLimit": "perMessageGroupId"}
        return "CreateQueue", {"QueueName": name, "Attributes": attributes}

    def create_again(self):
        if self.random.random() < 0.3:
            return "CreateQueue", {"QueueName": self.random.choice(["new", "no name!", "x" * 80, "x" * 81, "y.fifo", ""])}
        name = self.random.choice(STANDARD + FIFO)
        op, members = self.create(name)
        members["Attributes"] |= self.random.choice([{}, {"VisibilityTimeout": "30"}, {"DelaySeconds": "900"}, {"Nonsense": "1"}])
        return op, members | ({"tags": {"made": "again"}} if self.random.random() < 0.3 else {})

    def delete_queue(self):
        return "DeleteQueue", {"QueueUrl": self.some_queue()[0]}

    def purge(self):
        return "PurgeQueue", {"QueueUrl": self.some_queue()[0]}

    def attributes(self):
        kinds = {"colour": {"DataType": "String", "StringValue": "grün & <red>\r\n"},
                 "count": {"DataType": "Number.int", "StringValue": "12"},
                 "raw": {"DataType": "Binary", "BinaryValue": bytes(range(0, 256, 5))},
                 "AWS.reserved": {"DataType": "String", "StringValue": "a"}, "none": {"DataType": "String", "StringValue": ""},
                 "odd": {"DataType": "Colour", "StringValue": "a"}, "word": {"DataType": "Number", "StringValue": "twelve"}}
        names = self.random.sample(list(kinds), self.random.choice([0, 1, 2, 3]))
        if self.random.random() < 0.8:
            names = [n for n in names if n in ("colour", "count", "raw")]
        return {"MessageAttributes": {n: kinds[n] for n in names}} if names else {}

    def message(self, fifo, odd):
        """A random message; `odd` is the probability of each irregularity."""
        rare = lambda: self.random.random() < odd  # noqa: E731
        body = self.random.choice(["", "bell \x07", "x" * 5000]) if rare() else self.random.choice(
            ["a", "ünï\U0001f980", "line\r\n\t", "<&>\"\\", str(self.random.randrange(8))])
        got = {"MessageBody": body} | self.attributes()
        if fifo != rare():
            got["MessageGroupId"] = self.random.choice(["g", "h", "i", "bad group" if rare() else "j"])
        if fifo != rare() and self.random.random() < 0.7:
            got["MessageDeduplicationId"] = "d" + str(self.random.randrange(100))
        if rare() or not fifo and self.random.random() < 0.1:
            got["DelaySeconds"] = self.random.choice([0, 900, 901, -1] if rare() else [0, 900])
        if self.random.random() < 0.1:
            got["MessageSystemAttributes"] = {"AWSTraceHeader": {"DataType": "String", "StringValue": "Root=1-5759e988"}}
        return got

    def send(self):
        url, fifo = self.some_queue()
        return "SendMessage", {"QueueUrl": url} | self.message(fifo, 0.08)

    def entries(self, make):
        """Entries of a batch; one batch in ten has too many, none, or unusual ids."""
        count = self.random.choice([1, 2, 3, 5, 10])
        ids = [f"e{i}" for i in range(count)]
        if self.random.random() < 0.1:
            ids = self.random.choice([[], [f"e{i}" for i in range(11)], ["same", "same"], ["not ok"], ["x" * 81], ["x" * 80]])
        return [{"Id": i} | make() for i in ids]

    def send_batch(self):
        url, fifo = self.some_queue()
        return "SendMessageBatch", {"QueueUrl": url, "Entries": self.entries(lambda: self.message(fifo, 0.02))}

    def receive(self):
        url, fifo = self.some_queue()
        members = {"QueueUrl": url, "MaxNumberOfMessages": self.random.choice([1, 2, 5, 10] * 6 + [11, 0])}
        if self.random.random() < 0.5:
            members["VisibilityTimeout"] = self.random.choice([0, 0, 600, 43200] * 5 + [43201])
        for name, choices in (("AttributeNames", (["All"], ["ApproximateReceiveCount", "MessageGroupId"]) * 8 + (["Nonsense"], [])),
                              ("MessageAttributeNames", (["All"], ["col*", "raw"], ["count", "absent"], ["c.*"], []))):
            if self.random.random() < 0.6:
                members[name] = self.random.choice(choices)
        if fifo and self.random.random() < 0.2:
            members["ReceiveRequestAttemptId"] = "attempt-" + str(self.random.randrange(4))
        return "ReceiveMessage", members

    def handle(self):
        # A handle of this queue, a handle of any queue, or text that is no handle.
        kind = self.random.choices(["HANDLE", "OTHER", "nonsense"], [18, 1, 1])[0]
        return f"{kind} {self.random.randrange(1 << 30)}"

    def delete(self):
        return "DeleteMessage", {"QueueUrl": self.some_queue()[0], "ReceiptHandle": self.handle()}

    def delete_batch(self):
        return "DeleteMessageBatch", {"QueueUrl": self.some_queue()[0], "Entries": self.entries(lambda: {"ReceiptHandle": self.handle()})}

    def timeout(self):
        return {"ReceiptHandle": self.handle(), "VisibilityTimeout": self.random.choice([0, 0, 600, 3600, 43201, -1])}

    def change(self):
        return "ChangeMessageVisibility", {"QueueUrl": self.some_queue()[0]} | self.timeout()

    def change_batch(self):
        return "ChangeMessageVisibilityBatch", {"QueueUrl": self.some_queue()[0], "Entries": self.entries(self.timeout)}

    def set_attributes(self):
        choices = ({"VisibilityTimeout": "600"}, {"VisibilityTimeout": "43201"}, {"MaximumMessageSize": "4096"},
                   {"MaximumMessageSize": "1048576"}, {"MessageRetentionPeriod": "59"}, {"MessageRetentionPeriod": "86400"},
                   {"ReceiveMessageWaitTimeSeconds": "0"}, {"ReceiveMessageWaitTimeSeconds": "21"}, {"FifoQueue": "false"},
                   {"ContentBasedDeduplication": "true"}, {"ContentBasedDeduplication": "false"}, {"Nonsense": "1"}, {},
                   {"KmsMasterKeyId": "alias/x", "KmsDataKeyReusePeriodSeconds": "600"}, {"SqsManagedSseEnabled": "true"},
                   {"RedriveAllowPolicy": '{"redrivePermission":"allowAll"}'}, {"RedriveAllowPolicy": "{"}, {"Policy": "no policy"},
                   {"DelaySeconds": "0"}, {"QueueArn": "x"}, {"DeduplicationScope": "queue", "FifoThroughputLimit": "perMessageGroupId"})
        return "SetQueueAttributes", {"QueueUrl": self.some_queue()[0], "Attributes": self.random.choice(choices)}

    def redrive(self):
        url, fifo = self.some_queue()
        target = self.random.choice(["dead.fifo" if fifo else "dead", "dead", "missing"])
        policy = self.random.choice([f'{{"deadLetterTargetArn":"{arn(target)}","maxReceiveCount":"1"}}'] * 4
                                    + ["", "{", f'{{"deadLetterTargetArn":"{arn(target)}","maxReceiveCount":1001}}', '{"maxReceiveCount":1}'])
        return "SetQueueAttributes", {"QueueUrl": url, "Attributes": {"RedrivePolicy": policy}}

    def get_attributes(self):
        names = self.random.choice([["All"]] * 6 + [["VisibilityTimeout", "QueueArn"], ["RedrivePolicy"], ["Nonsense"], [], ["FifoQueue"]])
        return "GetQueueAttributes", {"QueueUrl": self.some_queue()[0], "AttributeNames": names}

    def tags(self):
        url = {"QueueUrl": self.some_queue()[0]}
        return self.random.choice([
            ("ListQueueTags", url), ("TagQueue", url | {"Tags": {"team": "a", "stage": ""}}), ("TagQueue", url | {"Tags": {}}),
            ("TagQueue", url | {"Tags": {"aws:x": "1"}}), ("TagQueue", url | {"Tags": {"k" * 129: "1"}}),
            ("TagQueue", url | {"Tags": {"é" * 128: "ü" * 256}}),
            ("TagQueue", url | {"Tags": {"team": "ünï", "more": "<&>"}}), ("UntagQueue", url | {"TagKeys": ["team", "absent"]})])

    def permissions(self):
        url = {"QueueUrl": self.some_queue()[0], "Label": self.random.choice(["l", "m", "not ok"])}
        grant = {"AWSAccountIds": ["222222222222"], "Actions": self.random.choice([["SendMessage"], ["*"], ["Nonsense"], ["CreateQueue"]])}
        return self.random.choice([("AddPermission", url | grant), ("AddPermission", url | grant), ("RemovePermission", url)])

    def lists(self):
        return self.random.choice([
            ("ListQueues", {}), ("ListQueues", {"QueueNamePrefix": "ordered"}), ("ListQueues", {"MaxResults": 3}),
            ("ListQueues", {"MaxResults": 1001}), ("ListQueues", {"MaxResults": 2, "NextToken": "nonsense"}),
            ("ListQueues", {"MaxResults": 3, "NextToken": "TOKEN 0"}),
            ("ListQueues", {"QueueNamePrefix": ""}), ("GetQueueUrl", {"QueueName": self.random.choice(STANDARD + ["missing"])}),
            ("ListDeadLetterSourceQueues", {"QueueUrl": f"URL/{ACCOUNT}/dead"}), ("SendPostcard", {}),
            ("ListDeadLetterSourceQueues", {"QueueUrl": f"URL/{ACCOUNT}/dead.fifo", "MaxResults": 1})])

    def move(self):
        source = self.random.choice(["dead", "dead", "dead", "dead.fifo", "dead.fifo", STANDARD[0], "missing"])
        more = self.random.choice([{}, {}, {"DestinationArn": arn(STANDARD[3])}, {"MaxNumberOfMessagesPerSecond": 501}])
        return self.random.choice([("StartMessageMoveTask", {"SourceArn": arn(source)} | more)] * 4 + [
            ("StartMessageMoveTask", {"SourceArn": "no arn"}), ("CancelMessageMoveTask", {"TaskHandle": "nonsense"}),
            ("CancelMessageMoveTask", {"TaskHandle": f"TASK {self.random.randrange(1 << 30)}"}),
            ("ListMessageMoveTasks", {"SourceArn": arn(source), "MaxResults": 10})])


class Speaker:
    """Runs the script with one voice at its own server; makes the responses comparable."""

    def __init__(self, voice, binary):
        self.voice, self.binary = voice, binary
        self.handles, self.names = [], {}  # (queue URL, handle); raw -> comparable
        self.seen = collections.defaultdict(list)  # raw values by member name

    def run(self, calls):
        with Pawl(self.binary) as self.pawl:
            self.sqs = self.voice(self.pawl)
            results = [self.one(op, members) for op, members in calls]
            self.sqs.close()
        return results

    def one(self, op, members):
        got = self.ask(op, members)
        if op == "StartMessageMoveTask" and "refused" not in got:
            listing = {"SourceArn": members["SourceArn"]}
            self.await_end(listing)
            got |= self.ask("ListMessageMoveTasks", listing)
        return got

    def await_end(self, listing):
        """Waits for the end of a move task, which would otherwise run beside the next calls.

        Transfers begun before a task failed still finish and are counted: the count settles later.
        """
        deadline = time.monotonic() + PATIENCE_SECONDS
        before, since = None, 0
        while True:
            now, task = time.monotonic(), self.sqs.call("ListMessageMoveTasks", **listing)["Results"][0]
            assert now < deadline, f"the move task of {listing} does not end"
            if task != before:
                before, since = task, now
            if task["Status"] != "RUNNING" and (task["Status"] != "FAILED" or now - since > LANDING_SECONDS):
                return
            time.sleep(0.001)

    def ask(self, op, members):
        try:
            self.url = members.get("QueueUrl")
            return self.comparable(self.sqs.call(op, **self.filled(members)))
        except Refused as refused:
            return {"refused": {"Code": refused.code, "status": refused.status, "Message": self.text(refused.message)}}

    def filled(self, value):
        if isinstance(value, dict):
            return {k: self.filled(v) for k, v in value.items()}
        if isinstance(value, list):
            return [self.filled(v) for v in value]
        if not isinstance(value, str):
            return value
        kind, _, number = value.partition(" ")
        if kind in ("HANDLE", "OTHER"):
            given = [handle for url, handle in self.handles if kind == "OTHER" or url == self.url][-NEWEST:]
            return given[int(number) % len(given)] if given else "none yet"
        if kind in PLACED:
            given = self.seen[PLACED[kind]][-NEWEST:]
            return given[int(number) % len(given)] if given else "nonsense"
        return value.replace(f"URL/{ACCOUNT}", f"{self.pawl.url}/{ACCOUNT}")

    def text(self, text):
        text = SAME_TEXT.get(text, text).replace(self.pawl.url, "URL")
        for raw in sorted(self.names, key=len, reverse=True):
            text = text.replace(raw, self.names[raw])
        return text

    def comparable(self, value, name=None):
        if isinstance(value, dict):
            return {k: self.comparable(v, k) for k, v in value.items() if k not in TIMES}
        if isinstance(value, list):
            return [self.comparable(v) for v in value]
        if not isinstance(value, str):
            return value
        if name in NAMED_BY_ORDER and value not in self.names:
            self.names[value] = f"{name} {len(self.seen[name])}"
            self.seen[name].append(value)
            if name == "ReceiptHandle":
                self.handles.append((self.url, value))
        return self.text(value) if name == "Message" else self.names.get(value, value).replace(self.pawl.url, "URL")


def agrees(sqs, binary):
    """True if a binary response agrees with SQS's in the members that both protocols have."""
    if isinstance(sqs, dict) and isinstance(binary, dict):
        sqs, binary = ({k: v for k, v in each.items() if k not in NOT_BINARY} for each in (sqs, binary))
        if "Code" in sqs and "Code" in binary and sqs["Code"] != binary["Code"]:
            return sqs.get("Id") == binary.get("Id") and meant(sqs, binary["Code"]) and sqs["Message"].endswith(binary["Message"])
        return sqs.keys() == binary.keys() and all(agrees(sqs[k], binary[k]) for k in sqs)
    if isinstance(sqs, list) and isinstance(binary, list):
        return len(sqs) == len(binary) and all(map(agrees, sqs, binary))
    return sqs == binary


def meant(refusal, status):
    return status in next((means for code, words, means in MEANS if code == refusal["Code"] and words in refusal["Message"]), ())


class Differential(ServedTest):
    @classmethod
    def setUpClass(cls):
        pass  # each voice starts its own server

    @classmethod
    def tearDownClass(cls):
        pass

    def test_the_same_calls_have_the_same_answers_in_every_protocol(self):
        calls = Script(SEED, CALLS).calls
        speakers = [Speaker(voice, self.binary) for voice in VOICES]
        runs = {speaker.voice.name: speaker.run(calls) for speaker in speakers}
        same = [agrees if voice is Binary else lambda a, b: a == b for voice in VOICES]
        differences = []
        for i, (call, *answers) in enumerate(zip(calls, *runs.values())):
            if not all(equal(answers[0], answer) for equal, answer in zip(same, answers)):
                told = [f"  {name}: {answer}" for name, answer in zip(runs, answers)]
                differences.append("\n".join([f"call {i}: {call[0]} {client.encoded(call[1])}", *told]))
        refused = sum("refused" in answer for answer in next(iter(runs.values())))
        received = sum(len(answer.get("Messages", ())) for answer in next(iter(runs.values())))
        borrowed = speakers[-1].sqs.borrowed
        print(f"\ndifferential: {len(calls)} calls ({refused} refused, {received} messages received, {borrowed} without a binary "
              f"form) in {', '.join(runs)}, {len(differences)} differences, seed {SEED}")
        self.assertFalse(differences, "\n".join(differences[:SHOWN_MAX]))


if __name__ == "__main__":
    main()
