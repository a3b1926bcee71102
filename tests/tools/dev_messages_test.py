#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The pages of `pawl serve --dev` that show messages: pawl's own, and LocalStack's with the cases of its users."""

import json
import shutil
import sys
import tempfile
import unittest
import urllib.parse
import xml.etree.ElementTree

import boto3
import botocore.config
import botocore.exceptions
from dev_test import DevPawl

LOCALSTACK = "/_aws/sqs/messages"
JSON = {"Accept": "application/json"}


class DevMessages(unittest.TestCase):
    def setUp(self):
        place = tempfile.mkdtemp(prefix="dev-messages-")
        self.addCleanup(shutil.rmtree, place, ignore_errors=True)
        self.pawl = self.enterContext(DevPawl(place, "--shards", "2"))
        self.sqs = self.client()
        self.queue = self.sqs.create_queue(QueueName="q")["QueueUrl"]

    def enterContext(self, context):  # unittest has it from Python 3.11 on
        value = context.__enter__()
        self.addCleanup(context.__exit__, None, None, None)
        return value

    def client(self, path="", service="sqs"):
        client = boto3.client(service, endpoint_url=self.pawl.url + path, region_name="us-east-1", aws_access_key_id="x",
                              aws_secret_access_key="x", config=botocore.config.Config(retries={"max_attempts": 0}))
        self.addCleanup(client.close)
        return client

    def send(self, *bodies, queue=None, **words):
        for body in bodies:
            self.sqs.send_message(QueueUrl=queue or self.queue, MessageBody=body, **words)

    def shown(self, query="queue=q"):
        status, text = self.pawl.page("GET", f"/_pawl/messages?{query}")
        self.assertEqual(status, 200, text)
        return json.loads(text)

    def localstack(self, path="", headers=None, **parameters):
        query = urllib.parse.urlencode(parameters)
        return self.pawl.page("GET", f"{LOCALSTACK}{path}?{query}", JSON if headers is None else headers)

    def listed(self, **parameters):
        status, text = self.localstack(QueueUrl=self.queue, **parameters)
        self.assertEqual(status, 200, text)
        return json.loads(text)["ReceiveMessageResponse"]["ReceiveMessageResult"].get("Message", [])

    def code(self, path="", **parameters):
        status, text = self.localstack(path, **parameters)
        return status, json.loads(text)["ErrorResponse"]["Error"]["Code"]

    @staticmethod
    def attributes(message):
        return {one["Name"]: one["Value"] for one in message["Attribute"]}

    # --- pawl's page ---

    def test_it_shows_every_state_and_receives_nothing(self):
        self.send("taken", "waiting")
        self.send("later", DelaySeconds=60)
        (taken,) = self.sqs.receive_message(QueueUrl=self.queue, VisibilityTimeout=30)["Messages"]
        for _ in range(3):
            first, second, third = self.shown()["messages"]
        self.assertEqual([one["Body"] for one in (first, second, third)], ["taken", "waiting", "later"])
        self.assertEqual([one["State"] for one in (first, second, third)], ["in_flight", "visible", "delayed"])
        self.assertEqual([one["Number"] for one in (first, second, third)], [1, 2, 3])
        self.assertEqual((first["MessageId"], first["MD5OfBody"]), (taken["MessageId"], taken["MD5OfBody"]))
        self.assertEqual(first["Attributes"]["ApproximateReceiveCount"], "1")
        self.assertEqual(second["Attributes"]["ApproximateReceiveCount"], "0")
        left = first["VisibleAt"] - int(first["Attributes"]["ApproximateFirstReceiveTimestamp"])
        self.assertEqual(left, 30_000)
        self.assertEqual(third["VisibleAt"] - int(third["Attributes"]["SentTimestamp"]), 60_000)
        self.assertNotIn("VisibleAt", second)
        for state, bodies in (("visible", ["waiting"]), ("in_flight", ["taken"]), ("moving", [])):
            self.assertEqual([one["Body"] for one in self.shown(f"queue=q&state={state}")["messages"]], bodies)
        counts = self.sqs.get_queue_attributes(QueueUrl=self.queue, AttributeNames=["All"])["Attributes"]
        self.assertEqual([counts["ApproximateNumberOfMessages" + name] for name in ("", "NotVisible", "Delayed")], ["1"] * 3)
        (next_one,) = self.sqs.receive_message(QueueUrl=self.queue, AttributeNames=["All"])["Messages"]
        self.assertEqual((next_one["Body"], next_one["Attributes"]["ApproximateReceiveCount"]), ("waiting", "1"))

    def test_a_group_names_what_it_waits_for_and_a_topic_shows_its_envelope(self):
        fifo = self.sqs.create_queue(QueueName="f.fifo", Attributes={"FifoQueue": "true"})["QueueUrl"]
        for body in ("a", "b"):
            self.send(body, queue=fifo, MessageGroupId="g", MessageDeduplicationId=body,
                      MessageAttributes={"n": {"DataType": "Binary", "BinaryValue": b"\0\1"}})
        self.sqs.receive_message(QueueUrl=fifo)
        first, second = self.shown("queue=f.fifo")["messages"]
        self.assertEqual((first["State"], second["State"], second["Behind"]), ("in_flight", "visible", first["Number"]))
        self.assertEqual(second["Attributes"]["MessageGroupId"], "g")
        self.assertEqual(second["MessageAttributes"], {"n": {"BinaryValue": "AAE=", "DataType": "Binary"}})
        sns = self.client(service="sns")
        topic = sns.create_topic(Name="t")["TopicArn"]
        sns.subscribe(TopicArn=topic, Protocol="sqs", Endpoint="arn:aws:sqs:us-east-1:000000000000:q")
        sns.publish(TopicArn=topic, Message="to all")
        (note,) = self.shown()["messages"]
        self.assertEqual(json.loads(note["Body"])["Message"], "to all")

    def test_pages_follow_each_other(self):
        self.send(*(f"{number} " + "x" * 200_000 for number in range(25)))
        found, query = [], "queue=q&limit=10"
        while query:
            answer = self.shown(query)
            self.assertLessEqual(len(answer["messages"]), 10)
            found += [int(one["Body"].split()[0]) for one in answer["messages"]]
            query = f"queue=q&limit=10&from={answer['next']}" if "next" in answer else None
        self.assertEqual(found, list(range(25)))

    def test_wrong_values_name_what_is_allowed(self):
        for query, status, words in (("", 400, "needs queue=NAME"), ("queue=none", 404, "Create it first"),
                                     ("queue=q&state=gone", 400, "state=gone is not valid"),
                                     ("queue=q&limit=10001", 400, "limit=1 to 10000"),
                                     ("queue=q&account=7", 400, "account=7"), ("queue=q&queue=q", 400, "each name"),
                                     ("queue=q&account=111122223333", 404, "of account 111122223333")):
            answered, text = self.pawl.page("GET", f"/_pawl/messages?{query}")
            self.assertEqual((answered, words in text), (status, True), text)
        self.assertEqual(self.pawl.page("POST", "/_pawl/messages?queue=q")[0], 405)

    # --- LocalStack's page ---

    def test_localstacks_xml_shows_messages_without_a_receive(self):
        self.send("message-1", "message-2")
        for count in ("0", "1"):
            status, text = self.localstack(headers={}, QueueUrl=self.queue)
            self.assertEqual(status, 200)
            found = [{one.find("{*}Name").text: one.find("{*}Value").text for one in message.findall("{*}Attribute")}
                     for message in xml.etree.ElementTree.fromstring(text).findall(".//{*}Message")]
            self.assertEqual([one["ApproximateReceiveCount"] for one in found], [count, "0"])
            self.sqs.receive_message(QueueUrl=self.queue, VisibilityTimeout=0, MaxNumberOfMessages=1)

    def test_localstacks_json_has_attributes_and_one_message_as_an_object(self):
        self.send("message-1")
        one = self.listed()
        self.assertEqual(one["Body"], "message-1")
        self.assertEqual(one["MD5OfBody"], "3d6b824fd8c1520e9a047d21fee6fb1f")
        self.send("message-2")
        first, _ = self.listed()
        attributes = self.attributes(first)
        self.assertEqual(attributes["SenderId"], "000000000000")
        self.assertLessEqual({"ApproximateFirstReceiveTimestamp", "SentTimestamp"}, set(attributes))

    def test_localstack_shows_hidden_messages_when_asked(self):
        self.assertEqual(self.listed(), [])
        self.send("message-1", "message-2", "message-3")
        self.sqs.receive_message(QueueUrl=self.queue, MaxNumberOfMessages=1)
        self.send("message-4", DelaySeconds=10)
        self.assertEqual([one["Body"] for one in self.listed(ShowInvisible=False)], ["message-2", "message-3"])
        found = self.listed(ShowInvisible=True, ShowDelayed=True)
        self.assertEqual([one["Body"] for one in found], [f"message-{number}" for number in (1, 2, 3, 4)])
        self.assertEqual([self.attributes(one)["IsVisible"] for one in found], ["false", "true", "true", "false"])
        self.assertEqual([self.attributes(one)["IsDelayed"] for one in found], ["false", "false", "false", "true"])

    def test_localstack_hides_the_rest_of_a_group_in_flight(self):
        queue = self.queue = self.sqs.create_queue(QueueName="f.fifo", Attributes={
            "FifoQueue": "true", "ContentBasedDeduplication": "true"})["QueueUrl"]
        for number, group in ((1, "1"), (2, "1"), (3, "2"), (4, "2")):
            self.send(f"message-{number}", queue=queue, MessageGroupId=group)
        self.sqs.receive_message(QueueUrl=queue, MaxNumberOfMessages=1)
        self.assertEqual([one["Body"] for one in self.listed()], ["message-3", "message-4"])
        found = self.listed(ShowInvisible=True)
        self.assertEqual([self.attributes(one)["IsVisible"] for one in found], ["false", "true", "true", "true"])

    def test_localstacks_page_is_an_endpoint_for_sdks(self):
        self.send("message-1", "message-2")
        direct = self.client(LOCALSTACK)
        found = direct.receive_message(QueueUrl=self.queue, MaxNumberOfMessages=1)["Messages"]
        self.assertEqual([one["Body"] for one in found], ["message-1", "message-2"])
        self.assertEqual(found[0]["Attributes"]["ApproximateReceiveCount"], "0")
        with self.assertRaises(botocore.exceptions.ClientError) as refused:
            direct.send_message(QueueUrl=self.queue, MessageBody="x")
        error = refused.exception.response["Error"]
        self.assertEqual((error["Code"], error["Message"]),
                         ("InvalidRequest", "This endpoint only accepts ReceiveMessage calls"))
        for kind, body, wanted in (("application/x-amz-json-1.0", json.dumps({"QueueUrl": self.queue}), '"Messages":['),
                                   ("application/x-www-form-urlencoded", "Action=ReceiveMessage&QueueUrl=" + self.queue,
                                    "<Message>")):
            target = {"X-Amz-Target": "AmazonSQS.ReceiveMessage"} if "json" in kind else {}
            status, text = self.pawl.page("POST", LOCALSTACK, {"Content-Type": kind, **target}, body)
            self.assertEqual((status, wanted in text), (200, True), text)

    def test_localstacks_errors(self):
        missing = "AWS.SimpleQueueService.NonExistentQueue"
        self.send("message-1", "message-2")
        self.assertEqual(self.code(), (400, missing))
        self.assertEqual(self.code(QueueUrl=self.pawl.url + "/nonsense"), (404, "InvalidAddress"))
        self.assertEqual(self.code(QueueUrl=self.pawl.url + "/000000000000/none"), (400, missing))
        self.assertEqual(self.code("/us-east-1/000000000000/none"), (400, missing))
        self.assertEqual(self.code("/us-east-2/000000000000/q"), (400, missing))
        self.assertEqual(self.code("/us-east-1"), (400, missing))
        self.assertEqual(self.localstack("/us-east-1/000000000000/q")[0], 200)

    def test_localstacks_page_names_its_limit(self):
        body = "x" * 1_000_000
        for _ in range(18):
            self.send(body)
        status, text = self.localstack(QueueUrl=self.queue)
        self.assertEqual(status, 400)
        self.assertIn("GET /_pawl/messages?queue=q&account=000000000000", text)


if __name__ == "__main__":
    result = unittest.main(exit=False).result
    bad = len(result.failures) + len(result.errors)
    print(f"{max(result.testsRun - bad, 0)} passed, {bad} failed")
    sys.exit(1 if bad else 0)
