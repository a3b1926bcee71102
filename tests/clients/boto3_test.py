#!/usr/bin/python3
"""Debian's boto3, unmodified, against pawl: it speaks the Query protocol and XML."""

import threading
import time
import uuid

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError

from pawl_server import ServedTest, main
from sqs_digest import md5, md5_of_attributes

ATTRIBUTES = {
    "colour": {"DataType": "String", "StringValue": "grün & <red>"},
    "count": {"DataType": "Number", "StringValue": "12.50"},
    "price": {"DataType": "Number.money", "StringValue": "3"},
    "raw": {"DataType": "Binary", "BinaryValue": bytes(range(256))},
}


class Boto3(ServedTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.sqs = boto3.client("sqs", endpoint_url=cls.pawl.url, region_name="us-east-1", aws_access_key_id="x",
                               aws_secret_access_key="x", config=Config(retries={"max_attempts": 1}))

    def queue(self, **attributes):
        name = "q-" + uuid.uuid4().hex
        return self.sqs.create_queue(QueueName=name, Attributes=attributes)["QueueUrl"]

    def receive_all(self, url, expected):
        got = []
        deadline = time.monotonic() + 10
        while len(got) < expected and time.monotonic() < deadline:
            got += self.sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10, WaitTimeSeconds=1).get("Messages", [])
        return got

    def code_of(self, call, **arguments):
        with self.assertRaises(ClientError) as raised:
            call(**arguments)
        return raised.exception.response["Error"]["Code"]

    def test_a_queue_is_created_listed_found_and_deleted(self):
        prefix = "list-" + uuid.uuid4().hex
        urls = [self.sqs.create_queue(QueueName=f"{prefix}-{i}")["QueueUrl"] for i in range(3)]
        self.assertEqual(urls[0], f"{self.pawl.url}/000000000000/{prefix}-0")
        self.assertEqual(sorted(self.sqs.list_queues(QueueNamePrefix=prefix)["QueueUrls"]), urls)
        self.assertEqual(self.sqs.get_queue_url(QueueName=prefix + "-1")["QueueUrl"], urls[1])
        self.sqs.delete_queue(QueueUrl=urls[1])
        self.assertEqual(self.code_of(self.sqs.get_queue_url, QueueName=prefix + "-1"),
                         "AWS.SimpleQueueService.NonExistentQueue")

    def test_creating_a_queue_again_gives_the_same_queue_or_says_what_differs(self):
        name = "again-" + uuid.uuid4().hex
        url = self.sqs.create_queue(QueueName=name, Attributes={"VisibilityTimeout": "7"})["QueueUrl"]
        again = self.sqs.create_queue(QueueName=name, Attributes={"VisibilityTimeout": "7"})["QueueUrl"]
        self.assertEqual(again, url)
        self.assertEqual(self.code_of(self.sqs.create_queue, QueueName=name, Attributes={"VisibilityTimeout": "8"}),
                         "QueueAlreadyExists")

    def test_attributes_of_a_queue_are_set_and_read(self):
        url = self.queue(VisibilityTimeout="7", DelaySeconds="0")
        self.sqs.set_queue_attributes(QueueUrl=url, Attributes={"MessageRetentionPeriod": "3600"})
        got = self.sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]
        self.assertEqual(got["VisibilityTimeout"], "7")
        self.assertEqual(got["MessageRetentionPeriod"], "3600")
        self.assertEqual(got["QueueArn"], "arn:aws:sqs:us-east-1:000000000000:" + url.rsplit("/", 1)[1])
        self.assertEqual(self.code_of(self.sqs.set_queue_attributes, QueueUrl=url,
                                      Attributes={"VisibilityTimeout": "43201"}), "InvalidAttributeValue")

    def test_a_message_comes_back_as_it_was_sent(self):
        url = self.queue()
        body = "line\r\nline\ttab <&> ünïcode \U0001f980"
        sent = self.sqs.send_message(QueueUrl=url, MessageBody=body, MessageAttributes=ATTRIBUTES)
        self.assertEqual(sent["MD5OfMessageBody"], md5(body))
        self.assertEqual(sent["MD5OfMessageAttributes"], md5_of_attributes(ATTRIBUTES))
        before = time.time()
        (message,) = self.sqs.receive_message(QueueUrl=url, AttributeNames=["All"], MessageAttributeNames=["All"],
                                              WaitTimeSeconds=2)["Messages"]
        self.assertEqual(message["Body"], body)
        self.assertEqual(message["MessageId"], sent["MessageId"])
        self.assertEqual(message["MessageAttributes"], ATTRIBUTES)
        self.assertEqual(message["MD5OfMessageAttributes"], md5_of_attributes(ATTRIBUTES))
        self.assertEqual(message["Attributes"]["ApproximateReceiveCount"], "1")
        self.assertLess(abs(int(message["Attributes"]["SentTimestamp"]) / 1000 - before), 5)

    def test_only_the_attributes_asked_for_are_returned(self):
        url = self.queue(VisibilityTimeout="0")
        self.sqs.send_message(QueueUrl=url, MessageBody="a", MessageAttributes=ATTRIBUTES)
        (none,) = self.sqs.receive_message(QueueUrl=url)["Messages"]
        self.assertNotIn("MessageAttributes", none)
        self.assertNotIn("MD5OfMessageAttributes", none)
        (some,) = self.sqs.receive_message(QueueUrl=url, MessageAttributeNames=["colour", "count"])["Messages"]
        self.assertEqual(set(some["MessageAttributes"]), {"colour", "count"})

    def test_a_batch_is_sent_received_and_deleted_entry_by_entry(self):
        url = self.queue()
        entries = [{"Id": f"entry-{i}", "MessageBody": f"body {i}"} for i in range(10)]
        sent = self.sqs.send_message_batch(QueueUrl=url, Entries=entries)
        self.assertEqual({e["Id"]: e["MD5OfMessageBody"] for e in sent["Successful"]},
                         {e["Id"]: md5(e["MessageBody"]) for e in entries})
        got = self.receive_all(url, 10)
        self.assertEqual(sorted(m["Body"] for m in got), sorted(e["MessageBody"] for e in entries))
        handles = [{"Id": str(i), "ReceiptHandle": m["ReceiptHandle"]} for i, m in enumerate(got)]
        handles[3]["ReceiptHandle"] = "not a handle"
        deleted = self.sqs.delete_message_batch(QueueUrl=url, Entries=handles)
        self.assertEqual(len(deleted["Successful"]), 9)
        (failed,) = deleted["Failed"]
        self.assertEqual((failed["Id"], failed["Code"], failed["SenderFault"]), ("3", "ReceiptHandleIsInvalid", True))

    def test_a_batch_that_breaks_the_rules_is_refused_whole(self):
        url = self.queue()
        entry = {"Id": "a", "MessageBody": "x"}
        prefix = "AWS.SimpleQueueService."
        self.assertEqual(self.code_of(self.sqs.send_message_batch, QueueUrl=url, Entries=[entry, entry]),
                         prefix + "BatchEntryIdsNotDistinct")
        eleven = [{"Id": str(i), "MessageBody": "x"} for i in range(11)]
        self.assertEqual(self.code_of(self.sqs.send_message_batch, QueueUrl=url, Entries=eleven),
                         prefix + "TooManyEntriesInBatchRequest")

    def test_a_received_message_is_hidden_until_its_visibility_is_changed(self):
        url = self.queue(VisibilityTimeout="30")
        self.sqs.send_message(QueueUrl=url, MessageBody="hide")
        (first,) = self.sqs.receive_message(QueueUrl=url)["Messages"]
        self.assertNotIn("Messages", self.sqs.receive_message(QueueUrl=url))
        self.sqs.change_message_visibility(QueueUrl=url, ReceiptHandle=first["ReceiptHandle"], VisibilityTimeout=0)
        (second,) = self.sqs.receive_message(QueueUrl=url, AttributeNames=["ApproximateReceiveCount"])["Messages"]
        self.assertEqual(second["Attributes"]["ApproximateReceiveCount"], "2")
        self.sqs.delete_message(QueueUrl=url, ReceiptHandle=second["ReceiptHandle"])
        counts = self.sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]
        self.assertEqual((counts["ApproximateNumberOfMessages"], counts["ApproximateNumberOfMessagesNotVisible"]), ("0", "0"))

    def test_a_delayed_message_wakes_a_long_poll_when_it_is_due(self):
        url = self.queue()
        began = time.monotonic()
        self.sqs.send_message(QueueUrl=url, MessageBody="later", DelaySeconds=2)
        (message,) = self.sqs.receive_message(QueueUrl=url, WaitTimeSeconds=10)["Messages"]
        self.assertEqual(message["Body"], "later")
        self.assertTrue(1.9 <= time.monotonic() - began < 4, time.monotonic() - began)

    def test_a_long_poll_waits_for_a_message_and_no_longer_than_asked(self):
        url = self.queue()
        began = time.monotonic()
        self.assertNotIn("Messages", self.sqs.receive_message(QueueUrl=url, WaitTimeSeconds=1))
        self.assertTrue(0.9 <= time.monotonic() - began < 3)
        timer = threading.Timer(0.5, lambda: self.sqs.send_message(QueueUrl=url, MessageBody="now"))
        began = time.monotonic()
        timer.start()
        (message,) = self.sqs.receive_message(QueueUrl=url, WaitTimeSeconds=20)["Messages"]
        self.assertEqual(message["Body"], "now")
        self.assertLess(time.monotonic() - began, 5)
        timer.join()

    def test_purge_empties_a_queue_and_refuses_a_second_one_within_a_minute(self):
        url = self.queue()
        self.sqs.send_message_batch(QueueUrl=url, Entries=[{"Id": str(i), "MessageBody": "x"} for i in range(10)])
        self.sqs.purge_queue(QueueUrl=url)
        self.assertNotIn("Messages", self.sqs.receive_message(QueueUrl=url, WaitTimeSeconds=1))
        self.assertEqual(self.code_of(self.sqs.purge_queue, QueueUrl=url), "AWS.SimpleQueueService.PurgeQueueInProgress")

    def test_what_this_version_does_not_do_is_refused_by_name(self):
        url = self.queue()
        code = self.code_of(self.sqs.tag_queue, QueueUrl=url, Tags={"team": "a"})
        self.assertEqual(code, "AWS.SimpleQueueService.UnsupportedOperation")

    def test_errors_carry_the_codes_that_programs_look_for(self):
        missing = f"{self.pawl.url}/000000000000/missing"
        url = self.queue()
        cases = [
            ("AWS.SimpleQueueService.NonExistentQueue", self.sqs.send_message, {"QueueUrl": missing, "MessageBody": "x"}),
            ("ReceiptHandleIsInvalid", self.sqs.delete_message, {"QueueUrl": url, "ReceiptHandle": "nonsense"}),
            ("InvalidParameterValue", self.sqs.create_queue, {"QueueName": "not a name!"}),
            ("InvalidMessageContents", self.sqs.send_message, {"QueueUrl": url, "MessageBody": "nul \x00"}),
        ]
        for code, call, arguments in cases:
            with self.subTest(code):
                self.assertEqual(self.code_of(call, **arguments), code)


if __name__ == "__main__":
    main()
