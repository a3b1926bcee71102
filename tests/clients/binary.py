# SPDX-License-Identifier: Apache-2.0
"""A client of the binary protocol (proto/PROTOCOL.md): a Voice (wire.py) that takes SQS's actions.

Responses lack the members that the protocol does not have: digests, the sender, URLs. An error is a
Refused: its code is the name of the status, its message the differing attribute if the detail names
one. A call that the protocol cannot express goes to the server's HTTP port as JSON, so that every
server gets every call; `borrowed` counts these calls.
"""

import base64
import binascii
import hashlib
import itertools
import socket
import struct
import uuid

from wire import CALL_SECONDS, Json, Refused, Voice

(HELLO, OPEN_QUEUE, CREATE_QUEUE, DELETE_QUEUE, SET_ATTRIBUTES, GET_ATTRIBUTES, LIST_QUEUES, PURGE, GET_TAGS, SET_TAGS,
 LIST_SOURCES, SEND, RECEIVE, DELETE_MESSAGE, CHANGE, START_MOVE, CANCEL_MOVE, LIST_MOVES) = (
     1, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 16, 17, 18, 19, 20, 21, 22)
NO_OPERATION = 99
STATUSES = {
    1000: "bad_frame", 1001: "unknown_op", 1002: "bad_handle", 1003: "bad_text", 1004: "bad_attributes", 1005: "bad_checksum",
    1006: "out_of_order", 1100: "no_such_queue", 1101: "queue_exists", 1102: "receipt_invalid", 1103: "message_gone",
    1104: "visibility_beyond_max", 1105: "too_large", 1106: "not_supported", 1107: "invalid", 1108: "receipt_expired",
    1109: "attempt_not_retryable", 1110: "task_running", 1111: "no_such_task", 1112: "task_ended", 1113: "source_unknown",
    1114: "not_kept", 1115: "queue_ids_used_up", 1116: "directory_full", 1117: "message_numbers_used_up",
    2000: "overloaded", 2001: "no_memory", 2002: "no_space", 2003: "not_ready",
    2004: "over_in_flight", 2005: "purge_in_progress", 2006: "changed_meanwhile", 2007: "queue_deleted_recently",
    3000: "io", 3001: "corrupt", 3002: "version", 3003: "unauthorized",
    3004: "protocol_version"}
ATTRIBUTES = ("DelaySeconds", "MaximumMessageSize", "MessageRetentionPeriod", "ReceiveMessageWaitTimeSeconds",
              "VisibilityTimeout", "KmsDataKeyReusePeriodSeconds", "SqsManagedSseEnabled", "FifoQueue",
              "ContentBasedDeduplication", "DeduplicationScope", "FifoThroughputLimit")
MOVE_STATES = ("RUNNING", "COMPLETED", "CANCELLED", "FAILED")
MOVE_FAILURES = {"source_unknown": "CouldNotDetermineMessageSource", "no_such_queue": "AWS.SimpleQueueService.NonExistentQueue",
                 "message_numbers_used_up": "MessageNumbersUsedUp"}
SYSTEM_NAMES = ("All", "SenderId", "SentTimestamp", "ApproximateReceiveCount", "ApproximateFirstReceiveTimestamp",
                "AWSTraceHeader", "MessageGroupId", "MessageDeduplicationId", "SequenceNumber", "DeadLetterQueueSourceArn")
FEATURE_GROUPS = 2
ANSWER = 0x80
QUEUE_DEFAULT = 0xFFFFFFFF
RECEIPT_BYTES = 24
LIST_MAX = 1000  # SQS's page size without MaxResults
HAS_ATTRIBUTES, HAS_SYSTEM, HAS_DELAY, HAS_NAMES = 1 << 24, 1 << 25, 1 << 26, 1 << 27


# --- bytes ---

class Reader:
    """Decodes a payload. Call `finish` at the end: it refuses left-over bytes."""

    def __init__(self, payload):
        self.rest = payload

    def bytes(self, count):
        if count > len(self.rest):
            raise ValueError(f"{count} bytes are due, {len(self.rest)} are there")
        taken, self.rest = self.rest[:count], self.rest[count:]
        return taken

    def numbers(self, codes):
        return struct.unpack("<" + codes, self.bytes(struct.calcsize("<" + codes)))

    def number(self, code):
        return self.numbers(code)[0]

    def text(self, code="H"):
        return self.bytes(self.number(code)).decode()

    def finish(self, got):
        if self.rest:
            raise ValueError(f"{len(self.rest)} bytes are left over")
        return got


def text(value, code="H"):
    raw = value.encode()
    return struct.pack("<" + code, len(raw)) + raw


def pairs(given, code="H"):
    return struct.pack("<H", len(given)) + b"".join(text(k) + text(v, code) for k, v in given.items())


def milliseconds(seconds):
    return seconds * 1000 & 0xFFFFFFFF  # -1 becomes a number beyond every limit


def message_attributes(given):
    out = b""
    for name, attribute in sorted(given.items(), key=lambda item: item[0].encode()):
        binary = "BinaryValue" in attribute
        value = attribute["BinaryValue"] if binary else attribute["StringValue"].encode()
        out += text(name) + text(attribute["DataType"], "B") + struct.pack("<BI", 2 if binary else 1, len(value)) + value
    return out


def message_attributes_in(encoded):
    reader, got = Reader(encoded), {}
    while reader.rest:
        name, kind_of = reader.text(), reader.text("B")
        kind, size = reader.numbers("BI")
        value = reader.bytes(size)
        got[name] = {"DataType": kind_of} | ({"BinaryValue": value} if kind == 2 else {"StringValue": value.decode()})
    return got


def message(given):
    body = given["MessageBody"].encode()
    attributes, system = (message_attributes(given.get(k, {})) for k in ("MessageAttributes", "MessageSystemAttributes"))
    group, dedup_id = (given.get(k, "").encode() for k in ("MessageGroupId", "MessageDeduplicationId"))
    head, words = len(body), b""
    for bit, there, word in ((HAS_ATTRIBUTES, attributes, len(attributes)), (HAS_SYSTEM, system, len(system)),
                             (HAS_DELAY, "DelaySeconds" in given, milliseconds(given.get("DelaySeconds", 0))),
                             (HAS_NAMES, group or dedup_id, len(group) | len(dedup_id) << 8)):
        if there:
            head |= bit
            words += struct.pack("<I", word)
    return struct.pack("<I", head) + words + body + attributes + system + group + dedup_id


def receipt(handle):
    """The bytes of a base64 handle as in HTTP; a malformed one becomes an invalid receipt."""
    try:
        raw = base64.b64decode(handle, validate=True)
    except binascii.Error:
        raw = b""
    return raw if len(raw) == RECEIPT_BYTES else hashlib.sha256(handle.encode()).digest()[:RECEIPT_BYTES]


def wanted(name, names):
    """SQS's rule for MessageAttributeNames."""
    return any(n in ("All", ".*", "*", name) or n.endswith(".*") and name.startswith(n[:-2]) for n in names)


def name_of(url):
    return url.rsplit("/", 1)[1]


# --- the voice ---

class Binary(Voice):
    name = "binary"

    def __init__(self, pawl):  # does not open the Voice's HTTP connection
        self.pawl = pawl
        self.json = Json(pawl)
        self.borrowed = 0  # calls sent as JSON
        self.handles = {}  # queue handles by name
        self.correlations = itertools.count(1)
        host, _, port = pawl.ready["binary"].rpartition(":")
        self.socket = socket.create_connection((host, int(port)), CALL_SECONDS)
        self.stream = self.socket.makefile("rb")
        answer = self.ask(HELLO, b"PAWL" + struct.pack("<HHIB", 1, 1, FEATURE_GROUPS, 0) + text("differential"))[0]
        major, _, features = answer.numbers("HHI")
        assert (major, features) == (1, FEATURE_GROUPS), (major, features)

    def close(self):
        self.json.close()
        self.stream.close()
        self.socket.close()

    def call(self, op, **members):
        form = getattr(self, op, None)
        if op == "SendPostcard":  # an action that no protocol has
            return self.ask(NO_OPERATION)
        if form is not None and self.has_form(op, members):
            return form(**members)
        self.borrowed += 1
        return self.json.call(op, **members)

    def has_form(self, op, members):
        """True if the binary protocol can express the call: it lacks names, entry ids, tokens."""
        entries = members.get("Entries", [])
        ids = [entry["Id"] for entry in entries]
        if len(ids) > 10 or len(set(ids)) < len(ids) or not all(len(i) <= 80 and i.isascii() and " " not in i for i in ids):
            return False
        if op == "SendMessageBatch" and members["QueueUrl"].endswith(".fifo"):
            return self.entries_stand_alone(members["QueueUrl"], entries)
        if op == "ReceiveMessage":
            return members["MaxNumberOfMessages"] <= 10 and all(n in SYSTEM_NAMES for n in members.get("AttributeNames", ()))
        return {"GetQueueAttributes": lambda: "Nonsense" not in members["AttributeNames"],
                "TagQueue": lambda: members["Tags"] != {},
                "ListQueues": lambda: members.get("NextToken") != "nonsense",
                "StartMessageMoveTask": lambda: members["SourceArn"].startswith("arn:"),
                "CancelMessageMoveTask": lambda: "/" in members["TaskHandle"]}.get(op, lambda: True)()

    def entries_stand_alone(self, url, entries):
        """True if no entry lacks an id: SQS then refuses the batch, this protocol the entry."""
        if all("MessageGroupId" in entry and "MessageDeduplicationId" in entry for entry in entries):
            return True
        if not all("MessageGroupId" in entry for entry in entries):
            return False
        try:
            attributes = self.GetQueueAttributes(url, ["All"])["Attributes"]
        except Refused:
            return True
        return attributes["ContentBasedDeduplication"] == "true"

    def ask(self, op, payload=b"", queue=0):
        """Sends a request; returns a Reader of the response's payload, and the header's handle."""
        correlation = next(self.correlations)
        self.socket.sendall(struct.pack("<IBBHII", 16 + len(payload), op, 0, 0, correlation, queue) + payload)
        length, answered, flags, status, correlated, handle = Reader(self.stream.read(16)).numbers("IBBHII")
        reader = Reader(self.stream.read(length - 16))
        assert (answered, flags, correlated) == (op, ANSWER, correlation), (op, answered, flags, correlation, correlated)
        if status == 0:
            return reader, handle
        _, detail = reader.finish(reader.numbers("II"))
        differing = ATTRIBUTES[detail] if status == 1101 and detail < len(ATTRIBUTES) else ""
        raise Refused(STATUSES[status], differing, status, None)

    def open(self, op, payload):
        reader, handle = self.ask(op, payload)
        reader.finish(reader.numbers("7I"))
        return handle

    def on(self, name, op, payload=b""):
        """Sends a request with the queue's first handle, which must fail after its deletion."""
        if name not in self.handles:
            self.handles[name] = self.open_again(name)
        try:
            return self.ask(op, payload, self.handles[name])[0]
        except Refused:
            if not self.replaced(name):
                raise
            return self.ask(op, payload, self.handles[name])[0]

    def replaced(self, name):
        """True if another queue has the name; raises no_such_queue, SQS's first check, if none."""
        before, self.handles[name] = self.handles[name], self.open_again(name)
        return self.handles[name] != before

    def open_again(self, name):
        return self.open(OPEN_QUEUE, text(self.pawl.account) + text(name))

    def nothing(self, name, op, payload=b""):
        return self.on(name, op, payload).finish({})

    # --- queues ---

    def CreateQueue(self, QueueName, Attributes=None, tags=None):
        self.handles[QueueName] = self.open(CREATE_QUEUE, text(QueueName) + pairs(Attributes or {}, "I") + pairs(tags or {}))
        return {}

    def GetQueueUrl(self, QueueName):
        self.open(OPEN_QUEUE, text("") + text(QueueName))
        return {}

    def DeleteQueue(self, QueueUrl):
        return self.nothing(name_of(QueueUrl), DELETE_QUEUE)

    def PurgeQueue(self, QueueUrl):
        return self.nothing(name_of(QueueUrl), PURGE)

    def SetQueueAttributes(self, QueueUrl, Attributes):
        return self.nothing(name_of(QueueUrl), SET_ATTRIBUTES, pairs(Attributes, "I"))

    def GetQueueAttributes(self, QueueUrl, AttributeNames):
        reader = self.on(name_of(QueueUrl), GET_ATTRIBUTES)
        visible, in_flight, delayed, _, _ = reader.numbers("3Q2q")
        got = {"ApproximateNumberOfMessages": str(visible), "ApproximateNumberOfMessagesNotVisible": str(in_flight),
               "ApproximateNumberOfMessagesDelayed": str(delayed)}
        for _ in range(reader.number("H")):
            attribute = reader.text()
            got[attribute] = reader.text("I")
        selected = {k: v for k, v in got.items() if k in AttributeNames or "All" in AttributeNames}
        return reader.finish({"Attributes": selected} if selected else {})

    def ListQueueTags(self, QueueUrl):
        reader = self.on(name_of(QueueUrl), GET_TAGS)
        tags = {}
        for _ in range(reader.number("H")):
            key = reader.text()
            tags[key] = reader.text()
        return reader.finish({"Tags": tags} if tags else {})

    def TagQueue(self, QueueUrl, Tags):
        return self.nothing(name_of(QueueUrl), SET_TAGS, pairs(Tags) + struct.pack("<H", 0))

    def UntagQueue(self, QueueUrl, TagKeys):
        keys = struct.pack("<H", len(TagKeys)) + b"".join(text(k) for k in TagKeys)
        return self.nothing(name_of(QueueUrl), SET_TAGS, pairs({}) + keys)

    def ListQueues(self, QueueNamePrefix="", NextToken="", MaxResults=LIST_MAX):
        page = text(QueueNamePrefix) + text(base64.b64decode(NextToken).decode()) + struct.pack("<H", MaxResults)
        return self.names("QueueUrls", self.ask(LIST_QUEUES, page)[0], {})

    def ListDeadLetterSourceQueues(self, QueueUrl, NextToken="", MaxResults=LIST_MAX):
        page = text(base64.b64decode(NextToken).decode()) + struct.pack("<H", MaxResults)
        return self.names("queueUrls", self.on(name_of(QueueUrl), LIST_SOURCES, page), {"queueUrls": []})

    def names(self, member, reader, got):
        more, count = reader.numbers("BH")
        names = [reader.text() for _ in range(count)]
        if names:
            got = {member: [f"{self.pawl.url}/{self.pawl.account}/{name}" for name in names]}
        return reader.finish(got | ({"NextToken": base64.b64encode(names[-1].encode()).decode()} if more else {}))

    # --- messages ---

    def each(self, op, url, items, more=lambda reader: {}):
        """Sends the items; returns (status, SQS members) of each."""
        payload = struct.pack("<I", len(items)) + b"".join(items)
        while True:
            reader = self.on(name_of(url), op, payload)
            results = []
            for _ in range(reader.number("I")):
                status = reader.number("H")
                results.append((status, more(reader)))
            reader.finish(results)
            # If every item failed, the handle may be that of a deleted queue: try the new one.
            if any(status == 0 for status, _ in results) or not self.replaced(name_of(url)):
                return results

    def send(self, url, entries):
        def sent(reader):
            sequence, = reader.numbers("Q")
            got = {"MessageId": str(uuid.UUID(bytes=reader.bytes(16)))}
            return got | ({"SequenceNumber": f"{sequence:020}"} if url.endswith(".fifo") else {})
        return self.each(SEND, url, [message(e) for e in entries], sent)

    def SendMessage(self, QueueUrl, **members):
        return single(self.send(QueueUrl, [members]))

    def SendMessageBatch(self, QueueUrl, Entries):
        return batch(Entries, self.send(QueueUrl, Entries))

    def DeleteMessage(self, QueueUrl, ReceiptHandle):
        return single(self.each(DELETE_MESSAGE, QueueUrl, [receipt(ReceiptHandle)]))

    def DeleteMessageBatch(self, QueueUrl, Entries):
        return batch(Entries, self.each(DELETE_MESSAGE, QueueUrl, [receipt(e["ReceiptHandle"]) for e in Entries]))

    def ChangeMessageVisibility(self, QueueUrl, **members):
        return single(self.each(CHANGE, QueueUrl, [changed(members)]))

    def ChangeMessageVisibilityBatch(self, QueueUrl, Entries):
        return batch(Entries, self.each(CHANGE, QueueUrl, [changed(e) for e in Entries]))

    def ReceiveMessage(self, QueueUrl, MaxNumberOfMessages, VisibilityTimeout=None, AttributeNames=(),
                       MessageAttributeNames=(), ReceiveRequestAttemptId=""):
        visibility = QUEUE_DEFAULT if VisibilityTimeout is None else milliseconds(VisibilityTimeout)
        reader = self.on(name_of(QueueUrl), RECEIVE, struct.pack("<4I", MaxNumberOfMessages, QUEUE_DEFAULT, visibility, 0)
                         + text(ReceiveRequestAttemptId))
        got = [delivery(reader, QueueUrl.endswith(".fifo")) for _ in range(reader.number("I"))]
        for each in got:
            for member, wants in (("Attributes", lambda n: "All" in AttributeNames or n in AttributeNames),
                                  ("MessageAttributes", lambda n: wanted(n, MessageAttributeNames))):
                each[member] = {k: v for k, v in each[member].items() if wants(k)}
                if not each[member]:
                    del each[member]
        return reader.finish({"Messages": got} if got else {})

    # --- moves ---

    def StartMessageMoveTask(self, SourceArn, DestinationArn="", MaxNumberOfMessagesPerSecond=0):
        source = SourceArn.rsplit(":", 1)[1]
        reader = self.on(source, START_MOVE, text(DestinationArn.rpartition(":")[2]) + struct.pack("<I", MaxNumberOfMessagesPerSecond))
        return reader.finish({"TaskHandle": f"{self.handles[source]}/{reader.number('I')}"})

    def CancelMessageMoveTask(self, TaskHandle):
        handle, number = map(int, TaskHandle.split("/"))
        reader = self.ask(CANCEL_MOVE, struct.pack("<I", number), handle)[0]
        return reader.finish({"ApproximateNumberOfMessagesMoved": reader.number("Q")})

    def ListMessageMoveTasks(self, SourceArn, MaxResults=1):
        prefix, _, source = SourceArn.rpartition(":")
        reader = self.on(source, LIST_MOVES)
        moves = []
        for _ in range(reader.number("H")):
            number, state, failure, rate, moved, to_move, _ = reader.numbers("IBHIQQq")
            destination = reader.text()
            move = {"Status": MOVE_STATES[state], "SourceArn": SourceArn, "ApproximateNumberOfMessagesMoved": moved,
                    "ApproximateNumberOfMessagesToMove": to_move}
            if destination:
                move["DestinationArn"] = f"{prefix}:{destination}"
            if rate:
                move["MaxNumberOfMessagesPerSecond"] = rate
            if move["Status"] == "RUNNING":
                move["TaskHandle"] = f"{self.handles[source]}/{number}"
            if move["Status"] == "FAILED":
                move["FailureReason"] = MOVE_FAILURES[STATUSES[failure]]
            moves.append(move)
        return reader.finish({"Results": moves[:MaxResults]} if moves else {})


def delivery(reader, fifo):
    handle, message_id = reader.bytes(RECEIPT_BYTES), reader.bytes(16)
    sequence, _, _, count, head = reader.numbers("QqqII")
    attributes, system = (reader.number("I") if head & bit else 0 for bit in (HAS_ATTRIBUTES, HAS_SYSTEM))
    names = reader.numbers("4B") if head & HAS_NAMES else (0, 0, 0, 0)
    body = reader.bytes(head & 0xFFFFFF).decode()
    attributes, system = (message_attributes_in(reader.bytes(size)) for size in (attributes, system))
    group, dedup_id, origin = (reader.bytes(size).decode() for size in names[:3])
    shown = {"ApproximateReceiveCount": str(count), "MessageGroupId": group, "MessageDeduplicationId": dedup_id,
             "SequenceNumber": f"{sequence:020}" if fifo else "",
             "DeadLetterQueueSourceArn": origin and "arn:aws:sqs:us-east-1:" + origin.replace("/", ":")}
    shown = {name: value for name, value in shown.items() if value} | {n: a["StringValue"] for n, a in system.items()}
    return {"MessageId": str(uuid.UUID(bytes=message_id)), "ReceiptHandle": base64.b64encode(handle).decode(), "Body": body,
            "Attributes": shown, "MessageAttributes": attributes}


def changed(entry):
    return receipt(entry["ReceiptHandle"]) + struct.pack("<I", milliseconds(entry["VisibilityTimeout"]))


def single(results):
    (status, got), = results
    if status:
        raise Refused(STATUSES[status], "", status, None)
    return got


def batch(entries, results):
    assert len(entries) == len(results), (len(entries), len(results))
    done = [{"Id": e["Id"]} | got for e, (status, got) in zip(entries, results) if status == 0]
    failed = [{"Id": e["Id"], "Code": STATUSES[status], "Message": ""} for e, (status, _) in zip(entries, results) if status]
    return ({"Successful": done} if done else {}) | ({"Failed": failed} if failed else {})
