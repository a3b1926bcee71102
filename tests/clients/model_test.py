#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Compares pawl's responses with AWS's service model, in both HTTP protocols.

In one scenario every response member of the model appears at least once with its type, and no
other member appears. Every error that can be provoked has its shape, code and status. The model is
that of aws-sdk v2 (pinned in js/package-lock.json); Debian's botocore has the Query protocol's
codes and status numbers.
"""

import json
import time
import unittest
import uuid

import botocore.loaders

import client
import javascript
from pawl_server import ServedTest, main
from wire import Json, Query, Refused

API = javascript.PLACE / "node_modules" / "aws-sdk" / "apis" / "sqs-2012-11-05.min.json"
TYPES = {"string": str, "integer": int, "long": int, "boolean": bool, "blob": bytes}
# Members reserved by SQS: they can neither be sent nor received.
NEVER_ANSWERED = {f"ReceiveMessage.Messages[].MessageAttributes{{}}.{name}{of}" for name in client.NEVER_SET for of in ("", "[]")}
ATTRIBUTES = {"text": {"DataType": "String", "StringValue": "a"}, "raw": {"DataType": "Binary", "BinaryValue": b"\0\1\xff"}}
TRACE = {"AWSTraceHeader": {"DataType": "String", "StringValue": "Root=1-5759e988-bd862e3fe1be46a994272793"}}
PATIENCE_SECONDS = 20


class Model:
    """Checks responses against the model, and records their members."""

    def __init__(self):
        api = json.loads(API.read_text())
        self.operations, self.shapes = api["operations"], api.get("shapes", {})
        self.called, self.seen, self.wrong = set(), set(), []

    def resolved(self, shape):
        return self.shapes[shape["shape"]] if "shape" in shape else shape

    def check(self, op, out):
        self.called.add(op)
        self._check(out, self.operations[op].get("output", {"type": "structure", "members": {}}), op)

    def _check(self, value, shape, path):
        shape = self.resolved(shape)
        kind = shape.get("type", "string")
        self.seen.add(path)
        if kind == "structure":
            for name, inner in value.items():
                if name in shape["members"]:
                    self._check(inner, shape["members"][name], f"{path}.{name}")
                else:
                    self.wrong.append(f"{path}.{name} is not in the model")
        elif kind == "list":
            for inner in value:
                self._check(inner, shape["member"], path + "[]")
        elif kind == "map":
            for inner in value.values():
                self._check(inner, shape["value"], path + "{}")
        elif type(value) is not TYPES[kind]:  # isinstance takes a bool for an int
            self.wrong.append(f"{path} is {value!r} and not a {kind}")

    def paths(self):
        """Paths of every member of every response."""
        def walk(shape, path):
            shape = self.resolved(shape)
            yield path
            for name, inner in shape.get("members", {}).items():
                yield from walk(inner, f"{path}.{name}")
            if shape.get("type") == "list":
                yield from walk(shape["member"], path + "[]")
            if shape.get("type") == "map":
                yield from walk(shape["value"], path + "{}")

        for op, operation in self.operations.items():
            if "output" in operation:
                yield from walk(operation["output"], op)


class Scenario:
    """Calls all actions so that every member of their responses appears."""

    def __init__(self, pawl, sqs, model):
        self.pawl, self.sqs, self.model = pawl, sqs, model

    def __call__(self, op, **members):
        out = self.sqs.call(op, **members)
        self.model.check(op, out)
        return out

    def queue(self, suffix="", tags=None, **attributes):
        more = {"tags": tags} if tags else {}
        return self("CreateQueue", QueueName="model-" + uuid.uuid4().hex + suffix, Attributes=attributes, **more)["QueueUrl"]

    def run(self):
        self.about_queues()
        self.about_messages()
        self.about_batches()
        self.about_dead_letters()

    def about_queues(self):
        url = self.queue(tags={"a": "b"}, VisibilityTimeout="30")
        name = url.rsplit("/", 1)[1]
        self.queue()
        self("GetQueueUrl", QueueName=name)
        self("ListQueues", QueueNamePrefix="model-")
        first = self("ListQueues", QueueNamePrefix="model-", MaxResults=1)
        self("ListQueues", QueueNamePrefix="model-", MaxResults=1, NextToken=first["NextToken"])
        self("SetQueueAttributes", QueueUrl=url, Attributes={"DelaySeconds": "0"})
        self("GetQueueAttributes", QueueUrl=url, AttributeNames=["All"])
        self("TagQueue", QueueUrl=url, Tags={"c": "d"})
        self("ListQueueTags", QueueUrl=url)
        self("UntagQueue", QueueUrl=url, TagKeys=["a", "c"])
        self("AddPermission", QueueUrl=url, Label="l", AWSAccountIds=["222222222222"], Actions=["SendMessage"])
        self("RemovePermission", QueueUrl=url, Label="l")
        self("PurgeQueue", QueueUrl=url)
        self("DeleteQueue", QueueUrl=url)

    def about_messages(self):
        url = self.queue()
        self("SendMessage", QueueUrl=url, MessageBody="a", MessageAttributes=ATTRIBUTES, MessageSystemAttributes=TRACE)
        got = self("ReceiveMessage", QueueUrl=url, MessageSystemAttributeNames=["All"], MessageAttributeNames=["All"],
                   WaitTimeSeconds=5)["Messages"][0]
        self("ChangeMessageVisibility", QueueUrl=url, ReceiptHandle=got["ReceiptHandle"], VisibilityTimeout=5)
        self("DeleteMessage", QueueUrl=url, ReceiptHandle=got["ReceiptHandle"])
        fifo = self.queue(".fifo", FifoQueue="true")
        self("GetQueueAttributes", QueueUrl=fifo, AttributeNames=["All"])
        self("SendMessage", QueueUrl=fifo, MessageBody="a", MessageGroupId="g", MessageDeduplicationId="d")
        self("ReceiveMessage", QueueUrl=fifo, AttributeNames=["All"], WaitTimeSeconds=5)

    def about_batches(self):
        url = self.queue(".fifo", FifoQueue="true", MaximumMessageSize="1024")
        entry = {"MessageGroupId": "g", "MessageAttributes": ATTRIBUTES, "MessageSystemAttributes": TRACE}
        entries = [entry | {"Id": str(i), "MessageBody": body, "MessageDeduplicationId": f"d{i}"}
                   for i, body in enumerate(("one", "x" * 1025, "two"))]
        self("SendMessageBatch", QueueUrl=url, Entries=entries)
        got = self("ReceiveMessage", QueueUrl=url, MaxNumberOfMessages=10, WaitTimeSeconds=5)["Messages"]
        handles = [{"Id": "good", "ReceiptHandle": got[0]["ReceiptHandle"]}, {"Id": "bad", "ReceiptHandle": "nonsense"}]
        self("ChangeMessageVisibilityBatch", QueueUrl=url, Entries=[h | {"VisibilityTimeout": 30} for h in handles])
        self("DeleteMessageBatch", QueueUrl=url, Entries=handles)

    def about_dead_letters(self):
        target = self.queue()
        arn = self.pawl.arn(target)
        policy = f'{{"deadLetterTargetArn":"{arn}","maxReceiveCount":"1"}}'
        urls = [self.queue(RedrivePolicy=policy) for _ in range(2)]
        self("ListDeadLetterSourceQueues", QueueUrl=target)
        self("ListDeadLetterSourceQueues", QueueUrl=target, MaxResults=1)
        self("SendMessageBatch", QueueUrl=urls[0], Entries=[{"Id": str(i), "MessageBody": "x"} for i in range(10)])
        for _ in range(2):  # the second receive moves the messages to the dead-letter queue
            self("ReceiveMessage", QueueUrl=urls[0], MaxNumberOfMessages=10, VisibilityTimeout=0)
        self("ReceiveMessage", QueueUrl=target, AttributeNames=["All"], VisibilityTimeout=0, WaitTimeSeconds=5)
        # At one message a second the task runs long enough to be listed and cancelled.
        handle = self("StartMessageMoveTask", SourceArn=arn, DestinationArn=self.pawl.arn(urls[1]),
                      MaxNumberOfMessagesPerSecond=1)["TaskHandle"]
        self("ListMessageMoveTasks", SourceArn=arn)
        self("CancelMessageMoveTask", TaskHandle=handle)
        self.wait_ended(arn)
        # A message sent directly to a dead-letter queue has no source to return to.
        lost = self.queue()
        self.queue(RedrivePolicy=policy.replace(arn, self.pawl.arn(lost)))
        self("SendMessage", QueueUrl=lost, MessageBody="x")
        self("StartMessageMoveTask", SourceArn=self.pawl.arn(lost))
        self.wait_ended(self.pawl.arn(lost))

    def wait_ended(self, arn):
        deadline = time.monotonic() + PATIENCE_SECONDS
        while self("ListMessageMoveTasks", SourceArn=arn, MaxResults=10)["Results"][0]["Status"] in ("RUNNING", "CANCELLING"):
            if time.monotonic() > deadline:
                raise AssertionError("the move task does not end")
            time.sleep(0.1)


# Errors of the model that no request can provoke here.
UNPROVOKED = {
    "InvalidAddress": "a queue URL that leads nowhere is QueueDoesNotExist, as AWS answers",
    "InvalidIdFormat": "deprecated by AWS",
    "InvalidSecurity": "plain HTTP is served where it is asked for",
    "KmsAccessDenied": "there is no KMS", "KmsDisabled": "there is no KMS", "KmsInvalidKeyUsage": "there is no KMS",
    "KmsInvalidState": "there is no KMS", "KmsNotFound": "there is no KMS", "KmsOptInRequired": "there is no KMS",
    "KmsThrottled": "there is no KMS",
    "MessageNotInflight": "AWS was recorded answering 200 or InvalidParameterValue instead",
    "QueueDeletedRecently": "only a server with --strict-sqs says it (tests/tools/strict_sqs_test.py)",
    "RequestThrottled": "only an overloaded server says it",
    "UnsupportedOperation": "every action is done",
}


def provocations(pawl, sqs):
    """(shape, code, status, op, members) of each provokable error, in the model or not."""
    def queue(suffix="", **attributes):
        return sqs.call("CreateQueue", QueueName="error-" + uuid.uuid4().hex + suffix, Attributes=attributes)["QueueUrl"]

    url, fifo = queue(), queue(".fifo", FifoQueue="true")
    name, missing = url.rsplit("/", 1)[1], url + "-missing"
    sqs.call("PurgeQueue", QueueUrl=url)
    entry = {"Id": "a", "MessageBody": "x"}
    eight = ["SendMessage", "ReceiveMessage", "DeleteMessage", "ChangeMessageVisibility", "GetQueueAttributes", "GetQueueUrl",
             "ListDeadLetterSourceQueues", "PurgeQueue"]

    def row(shape, status, op, **members):
        return shape, client.QUERY_CODE.get(shape, shape), status, op, members

    def batch(shape, *entries):
        return row(shape, 400, "SendMessageBatch", QueueUrl=url, Entries=list(entries))

    return [
        batch("BatchEntryIdsNotDistinct", entry, entry),
        batch("BatchRequestTooLong", *({"Id": str(i), "MessageBody": "x" * 600_000} for i in range(2))),
        batch("EmptyBatchRequest"),
        batch("InvalidBatchEntryId", entry | {"Id": "a b"}),
        batch("TooManyEntriesInBatchRequest", *(entry | {"Id": str(i)} for i in range(11))),
        row("InvalidAttributeName", 400, "SetQueueAttributes", QueueUrl=url, Attributes={"Colour": "red"}),
        row("InvalidAttributeValue", 400, "SetQueueAttributes", QueueUrl=url, Attributes={"DelaySeconds": "901"}),
        row("InvalidMessageContents", 400, "SendMessage", QueueUrl=url, MessageBody="bell \x07"),
        row("OverLimit", 403, "AddPermission", QueueUrl=url, Label="l", AWSAccountIds=["222222222222"], Actions=eight),
        row("PurgeQueueInProgress", 403, "PurgeQueue", QueueUrl=url),
        row("QueueDoesNotExist", 400, "SendMessage", QueueUrl=missing, MessageBody="x"),
        row("QueueNameExists", 400, "CreateQueue", QueueName=name, Attributes={"DelaySeconds": "1"}),
        row("ReceiptHandleIsInvalid", 404, "DeleteMessage", QueueUrl=url, ReceiptHandle="nonsense"),
        row("ResourceNotFoundException", 404, "StartMessageMoveTask", SourceArn=pawl.arn(missing)),
        ("InvalidParameterValueException", "InvalidParameterValue", 400, "SendMessage",
         {"QueueUrl": url, "MessageBody": "x", "DelaySeconds": 901}),
        ("MissingRequiredParameterException", "MissingParameter", 400, "SendMessage",
         {"QueueUrl": fifo, "MessageBody": "x", "MessageDeduplicationId": "d"}),
        ("UnknownOperationException", "InvalidAction", 400, "SendPostcard", {}),
    ]


class ModelTest(ServedTest):
    @classmethod
    def setUpClass(cls):
        try:
            javascript.install()
        except client.NotHere as reason:
            raise unittest.SkipTest(f"the service model comes with aws-sdk: {reason}") from None
        super().setUpClass()

    def voices(self):
        for kind in (Json, Query):
            sqs = kind(self.pawl)
            self.addCleanup(sqs.close)
            yield sqs

    def test_every_member_of_every_answer_appears_with_its_type_and_nothing_else_does(self):
        for sqs in self.voices():
            with self.subTest(sqs.name):
                model = Model()
                Scenario(self.pawl, sqs, model).run()
                self.assertEqual(model.called, set(model.operations))
                self.assertEqual(model.wrong, [])
                self.assertEqual(set(model.paths()) - model.seen - NEVER_ANSWERED, set())

    def test_every_error_that_can_be_provoked_has_its_shape_code_and_status(self):
        for sqs in self.voices():
            for shape, code, status, op, members in provocations(self.pawl, sqs):
                with self.subTest(sqs.name, shape=shape), self.assertRaises(Refused) as raised:
                    sqs.call(op, **members)
                got = raised.exception
                with self.subTest(sqs.name, shape=shape):
                    self.assertEqual((got.code, got.status), (code, status))
                    self.assertTrue(got.message)
                    self.assertTrue(got.answer.headers["x-amzn-RequestId"])
                    if sqs.name == "json":
                        self.assertEqual(json.loads(got.answer.body)["__type"].rpartition("#")[2], shape)
                        self.assertEqual(got.answer.headers["x-amzn-query-error"], code + ";Sender")

    def test_json_without_query_mode_has_400_for_every_error_of_the_caller(self):
        sqs = next(self.voices())
        rows = provocations(self.pawl, sqs)
        sqs.query_mode = False
        for shape, code, _, op, members in rows:
            with self.subTest(shape), self.assertRaises(Refused) as raised:
                sqs.call(op, **members)
            with self.subTest(shape):
                self.assertEqual((raised.exception.code, raised.exception.status), (code, 400))

    def test_the_errors_provoked_are_those_of_the_model_with_its_codes_and_status_numbers(self):
        shapes = botocore.loaders.Loader().load_service_model("sqs", "service-2")["shapes"]
        provoked = {row[0]: row[1:3] for row in provocations(self.pawl, next(self.voices()))}
        for name, shape in shapes.items():
            if not shape.get("exception") or name in UNPROVOKED:
                continue
            with self.subTest(name):
                self.assertIn(name, provoked)
                if "error" in shape:
                    self.assertEqual(provoked[name], (shape["error"]["code"], shape["error"]["httpStatusCode"]))


if __name__ == "__main__":
    main()
