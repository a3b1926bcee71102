#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""SNS fan-out with boto3's SNS client and the AWS command line, unmodified; unsigned and signed.

tests/proto/sns/filter_policy_test.cc tests each filter operator. These tests follow one policy of each
scope to the queues, and check everything that boto3 parses from a response.
"""

import http.client
import itertools
import json
import os
import shutil
import subprocess
import unittest
import urllib.parse

import boto3
import botocore
from botocore.config import Config
from botocore.exceptions import ClientError

from pawl_server import Pawl, ServedTest, SignedPawl, main


def clients(pawl):
    session = boto3.Session(aws_access_key_id=pawl.key, aws_secret_access_key=pawl.secret, region_name="us-east-1")
    config = Config(retries={"max_attempts": 0})
    return [session.client(name, endpoint_url=pawl.url, config=config) for name in ("sns", "sqs")]


class Sns(ServedTest):
    names = itertools.count()

    def setUp(self):
        self.sns, self.sqs = clients(self.pawl)

    def tearDown(self):
        self.sns.close()
        self.sqs.close()

    def name(self):
        return f"n{next(self.names)}"

    def queue(self, fifo=False, **attributes):
        if fifo:
            attributes["FifoQueue"] = "true"
        url = self.sqs.create_queue(QueueName=self.name() + (".fifo" if fifo else ""), Attributes=attributes)["QueueUrl"]
        return url, self.pawl.arn(url)

    def topic(self, fifo=False, **attributes):
        if fifo:
            attributes["FifoTopic"] = "true"
        return self.sns.create_topic(Name=self.name() + (".fifo" if fifo else ""), Attributes=attributes)["TopicArn"]

    def subscribe(self, topic, arn, **attributes):
        return self.sns.subscribe(TopicArn=topic, Protocol="sqs", Endpoint=arn, Attributes=attributes,
                                  ReturnSubscriptionArn=True)["SubscriptionArn"]

    def receive(self, url):
        return self.sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10, MessageAttributeNames=["All"],
                                        AttributeNames=["All"]).get("Messages", [])

    def refused(self, code, call, **members):
        with self.assertRaises(ClientError) as caught:
            call(**members)
        self.assertEqual(caught.exception.response["Error"]["Code"], code)
        return caught.exception.response["Error"]["Message"]

    def test_raw_and_enveloped(self):
        topic = self.topic()
        raw, raw_arn = self.queue()
        enveloped, enveloped_arn = self.queue()
        self.subscribe(topic, raw_arn, RawMessageDelivery="true")
        subscription = self.subscribe(topic, enveloped_arn)
        attributes = {"text": {"DataType": "String", "StringValue": "é"},
                      "bytes": {"DataType": "Binary", "BinaryValue": b"\0\1"}}
        sent = self.sns.publish(TopicArn=topic, Message="hello \r\n", Subject="greeting", MessageAttributes=attributes)

        [message] = self.receive(raw)
        self.assertEqual(message["Body"], "hello \r\n")
        self.assertEqual(message["MessageAttributes"], attributes)
        [message] = self.receive(enveloped)
        body = json.loads(message["Body"])
        self.assertEqual(body["Message"], "hello \r\n")
        self.assertEqual((body["Type"], body["TopicArn"], body["Subject"]), ("Notification", topic, "greeting"))
        self.assertEqual(body["MessageId"], sent["MessageId"])
        self.assertEqual(body["MessageAttributes"], {"text": {"Type": "String", "Value": "é"},
                                                     "bytes": {"Type": "Binary", "Value": "AAE="}})
        self.assertNotIn("MessageAttributes", message)
        self.assertTrue(body["UnsubscribeURL"].endswith(subscription))

    def test_filter_policies(self):
        topic = self.topic()
        by_attribute, arn = self.queue()
        self.subscribe(topic, arn, FilterPolicy=json.dumps({"price": [{"numeric": [">", 10]}]}))
        by_body, arn = self.queue()
        self.subscribe(topic, arn, FilterPolicy=json.dumps({"order": {"colour": [{"prefix": "r"}]}}),
                       FilterPolicyScope="MessageBody", RawMessageDelivery="true")
        number = {"price": {"DataType": "Number", "StringValue": "10.5"}}
        self.sns.publish(TopicArn=topic, Message="dear", MessageAttributes=number)
        self.sns.publish(TopicArn=topic, Message=json.dumps({"order": {"colour": "red"}}))
        self.sns.publish(TopicArn=topic, Message=json.dumps({"order": {"colour": "blue"}}))
        self.assertEqual([json.loads(m["Body"])["Message"] for m in self.receive(by_attribute)], ["dear"])
        self.assertEqual([json.loads(m["Body"]) for m in self.receive(by_body)], [{"order": {"colour": "red"}}])
        message = self.refused("InvalidParameter", self.sns.subscribe, TopicArn=topic, Protocol="sqs",
                               Endpoint=self.queue()[1], Attributes={"FilterPolicy": '{"a": [{"like": "x"}]}'})
        self.assertEqual(message, "Invalid parameter: Attributes Reason: FilterPolicy: Unrecognized match type like")

    def test_fifo(self):
        topic = self.topic(fifo=True, ContentBasedDeduplication="true")
        fifo, arn = self.queue(fifo=True)
        self.subscribe(topic, arn, RawMessageDelivery="true")
        standard, arn = self.queue()
        self.subscribe(topic, arn)
        sent = [self.sns.publish(TopicArn=topic, Message=text, MessageGroupId="g") for text in ("a", "b", "a", "c")]
        numbers = [each["SequenceNumber"] for each in sent]
        self.assertEqual(numbers[2], numbers[0])
        self.assertEqual(sent[2]["MessageId"], sent[0]["MessageId"])
        self.assertEqual(sorted(set(numbers)), [numbers[0], numbers[1], numbers[3]])
        messages = self.receive(fifo)
        self.assertEqual([m["Body"] for m in messages], ["a", "b", "c"])
        self.assertEqual({m["Attributes"]["MessageGroupId"] for m in messages}, {"g"})
        bodies = [json.loads(m["Body"]) for m in self.receive(standard)]
        self.assertEqual([body["Message"] for body in bodies], ["a", "b", "c"])
        self.assertEqual([body["MessageId"] for body in bodies], [sent[n]["MessageId"] for n in (0, 1, 3)])
        self.refused("InvalidParameter", self.sns.publish, TopicArn=topic, Message="m")

    def test_batch(self):
        topic = self.topic()
        url, arn = self.queue()
        self.subscribe(topic, arn, RawMessageDelivery="true")
        entries = [{"Id": f"i{n}", "Message": f"m{n}", "MessageAttributes": {"n": {"DataType": "Number",
                    "StringValue": str(n)}}} for n in range(9)] + [{"Id": "bad", "Message": "m", "Subject": "a\nb"}]
        answer = self.sns.publish_batch(TopicArn=topic, PublishBatchRequestEntries=entries)
        self.assertEqual([each["Id"] for each in answer["Successful"]], [f"i{n}" for n in range(9)])
        [failed] = answer["Failed"]
        self.assertEqual((failed["Id"], failed["Code"], failed["SenderFault"]), ("bad", "InvalidParameter", True))
        self.assertEqual(sorted(m["Body"] for m in self.receive(url)), [f"m{n}" for n in range(9)])
        self.refused("BatchEntryIdsNotDistinct", self.sns.publish_batch, TopicArn=topic,
                     PublishBatchRequestEntries=[{"Id": "a", "Message": "m"}] * 2)

    def test_fan_out_to_many(self):
        topic = self.topic()
        queues = [self.queue() for _ in range(40)]
        for _, arn in queues:
            self.subscribe(topic, arn, RawMessageDelivery="true")
        self.sns.publish(TopicArn=topic, Message="to all")
        for url, _ in queues:
            self.assertEqual([m["Body"] for m in self.receive(url)], ["to all"])

    def test_topics_and_subscriptions_are_listed_and_changed(self):
        topic = self.topic(DisplayName="d")
        subscription = self.subscribe(topic, self.queue()[1])
        self.assertIn({"TopicArn": topic}, self.sns.list_topics()["Topics"])
        [one] = self.sns.list_subscriptions_by_topic(TopicArn=topic)["Subscriptions"]
        self.assertEqual((one["SubscriptionArn"], one["Protocol"], one["Owner"]),
                         (subscription, "sqs", self.pawl.account))
        pages = self.sns.get_paginator("list_subscriptions").paginate()
        self.assertIn(one, [each for page in pages for each in page["Subscriptions"]])
        self.sns.set_topic_attributes(TopicArn=topic, AttributeName="DisplayName", AttributeValue="e")
        attributes = self.sns.get_topic_attributes(TopicArn=topic)["Attributes"]
        self.assertEqual((attributes["DisplayName"], attributes["SubscriptionsConfirmed"]), ("e", "1"))
        self.sns.set_subscription_attributes(SubscriptionArn=subscription, AttributeName="RawMessageDelivery",
                                             AttributeValue="true")
        attributes = self.sns.get_subscription_attributes(SubscriptionArn=subscription)["Attributes"]
        self.assertEqual(attributes["RawMessageDelivery"], "true")
        self.sns.tag_resource(ResourceArn=topic, Tags=[{"Key": "k", "Value": "v"}])
        self.assertEqual(self.sns.list_tags_for_resource(ResourceArn=topic)["Tags"], [{"Key": "k", "Value": "v"}])
        self.sns.unsubscribe(SubscriptionArn=subscription)
        self.assertEqual(self.sns.list_subscriptions_by_topic(TopicArn=topic)["Subscriptions"], [])
        self.sns.delete_topic(TopicArn=topic)
        self.refused("NotFound", self.sns.publish, TopicArn=topic, Message="m")

    def test_what_a_queue_cannot_take_goes_to_the_dead_letter_queue(self):
        topic = self.topic()
        dead, dead_arn = self.queue()
        gone, gone_arn = self.queue()
        self.subscribe(topic, gone_arn, RedrivePolicy=json.dumps({"deadLetterTargetArn": dead_arn}))
        self.sqs.delete_queue(QueueUrl=gone)
        self.sns.publish(TopicArn=topic, Message="m")
        [message] = self.receive(dead)
        self.assertEqual(json.loads(message["Body"])["Message"], "m")

    def test_the_command_line(self):
        aws = shutil.which("aws")
        if aws is None:
            self.skipTest("awscli is not installed")
        environment = os.environ | self.pawl.environment() | {"AWS_PAGER": ""}

        def run(*words):
            done = subprocess.run([aws, "--endpoint-url", self.pawl.url, "--output", "json", "sns", *words],
                                  env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            return json.loads(done.stdout) if done.stdout.strip() else {}

        url, arn = self.queue()
        topic = run("create-topic", "--name", self.name())["TopicArn"]
        run("subscribe", "--topic-arn", topic, "--protocol", "sqs", "--notification-endpoint", arn)
        run("publish", "--topic-arn", topic, "--message", "from the shell")
        [message] = self.receive(url)
        self.assertEqual(json.loads(message["Body"])["Message"], "from the shell")


class Unsigned(Sns):
    server = Pawl

    def test_changes_of_one_topic_wait_for_each_other(self):
        topic, numbers = self.topic(), range(300)
        connections = [http.client.HTTPConnection(urllib.parse.urlsplit(self.pawl.url).netloc, timeout=60) for _ in numbers]
        for connection in connections:
            connection.connect()
        # All are sent before the first answer is read.
        for number, connection in enumerate(connections):
            connection.request("POST", "/", urllib.parse.urlencode({
                "Action": "TagResource", "Version": "2010-03-31", "ResourceArn": topic,
                "Tags.member.1.Key": f"k{number % 40}", "Tags.member.1.Value": str(number)}),
                {"Content-Type": "application/x-www-form-urlencoded"})
        answers = [connection.getresponse() for connection in connections]
        self.assertEqual({answer.status for answer in answers}, {200})
        for answer, connection in zip(answers, connections):
            answer.read()
            connection.close()
        self.assertEqual(len(self.sns.list_tags_for_resource(ResourceArn=topic)["Tags"]), 40)


class Signed(Sns):
    server = SignedPawl

    def test_topics_of_other_accounts_are_forbidden(self):
        self.refused("AuthorizationError", self.sns.publish, Message="m",
                     TopicArn="arn:aws:sns:us-east-1:999999999999:theirs")
        wrong = boto3.client("sns", endpoint_url=self.pawl.url, region_name="us-east-1", aws_access_key_id=self.pawl.key,
                             aws_secret_access_key="wrong", config=Config(retries={"max_attempts": 0}))
        self.refused("SignatureDoesNotMatch", wrong.list_topics)
        wrong.close()


class Restart(unittest.TestCase):
    """Topics and subscriptions are as durable as queues."""

    def test_a_fifo_topic_remembers_its_messages_over_a_kill(self):
        pawl = Pawl(ServedTest.binary).start()
        sns, sqs = clients(pawl)
        topic = sns.create_topic(Name="t.fifo", Attributes={"FifoTopic": "true"})["TopicArn"]
        for name in ("a", "b"):
            arn = pawl.arn(sqs.create_queue(QueueName=name)["QueueUrl"])
            sns.subscribe(TopicArn=topic, Protocol="sqs", Endpoint=arn)
        message = {"TopicArn": topic, "Message": "m", "MessageGroupId": "g", "MessageDeduplicationId": "d"}
        first = sns.publish(**message)
        pawl.kill()
        with Pawl(ServedTest.binary, data=pawl.data) as again:
            sns, sqs = clients(again)
            second = sns.publish(**message)
            self.assertEqual((second["MessageId"], second["SequenceNumber"]),
                             (first["MessageId"], first["SequenceNumber"]))
            next_one = sns.publish(**message | {"MessageDeduplicationId": "e"})
            self.assertGreater(next_one["SequenceNumber"], first["SequenceNumber"])
            for name in ("a", "b"):
                url = sqs.get_queue_url(QueueName=name)["QueueUrl"]
                received = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10)["Messages"]
                self.assertEqual([json.loads(each["Body"])["MessageId"] for each in received],
                                 [first["MessageId"], next_one["MessageId"]])

    def test_topics_survive_kill(self):
        pawl = Pawl(ServedTest.binary).start()
        sns, sqs = clients(pawl)
        topic = sns.create_topic(Name="t")["TopicArn"]
        arn = pawl.arn(sqs.create_queue(QueueName="q")["QueueUrl"])
        subscription = sns.subscribe(TopicArn=topic, Protocol="sqs", Endpoint=arn,
                                     Attributes={"FilterPolicy": '{"a":["x"]}'})["SubscriptionArn"]
        pawl.kill()
        with Pawl(ServedTest.binary, data=pawl.data) as again:
            sns, sqs = clients(again)
            [one] = sns.list_subscriptions()["Subscriptions"]
            self.assertEqual(one["SubscriptionArn"], subscription)
            sns.publish(TopicArn=topic, Message="no")
            sns.publish(TopicArn=topic, Message="yes",
                        MessageAttributes={"a": {"DataType": "String", "StringValue": "x"}})
            [message] = sqs.receive_message(QueueUrl=sqs.get_queue_url(QueueName="q")["QueueUrl"],
                                            MaxNumberOfMessages=10)["Messages"]
            self.assertEqual(json.loads(message["Body"])["Message"], "yes")


del Sns  # only its subclasses are tests

if __name__ == "__main__":
    print(f"botocore {botocore.__version__}")
    main()
