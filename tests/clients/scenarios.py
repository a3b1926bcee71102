# SPDX-License-Identifier: Apache-2.0
"""The scenarios that every client runs, unsigned and signed, with only an endpoint and keys.

They follow AWS's documentation. A client is a subclass of Client (client.py) and calls matrix().
"""

import functools
import json
import time
import unittest
import uuid

from client import NotHere, Refused
from pawl_server import Pawl, ServedTest, SignedPawl, TlsPawl
from sqs_digest import md5, md5_of_attributes

PATIENCE_SECONDS = 10
ATTRIBUTES = {
    "colour": {"DataType": "String", "StringValue": "grün & <red>\r\n"},
    "count": {"DataType": "Number", "StringValue": "12.50"},
    "price.net": {"DataType": "Number.money", "StringValue": "3"},
    "price.gross": {"DataType": "String.text", "StringValue": "4"},
    "raw": {"DataType": "Binary", "BinaryValue": bytes(range(256))},
}
TRACE = {"AWSTraceHeader": {"DataType": "String", "StringValue": "Root=1-5759e988-bd862e3fe1be46a994272793"}}


def matrix(client):
    """A client's three test classes: with unchecked keys, with checked keys, and with TLS."""
    served = {"client_type": client, "__module__": client.__module__}
    return (type("Unsigned", (Scenarios, ServedTest), served | {"server": Pawl}),
            type("Signed", (SignedScenarios, Scenarios, ServedTest), served | {"server": SignedPawl}),
            type("Encrypted", (EncryptedScenarios, ServedTest), served | {"server": TlsPawl}))


@functools.cache
def why_not_here(client):
    """Installs the client once for all its classes; returns the reason if that fails."""
    try:
        client.install()
    except NotHere as reason:
        return str(reason)
    return None


class Speaking:
    """A server, a client of it (self.sqs), and short names for the steps of scenarios."""

    @classmethod
    def setUpClass(cls):
        why = why_not_here(cls.client_type)
        if why:
            raise unittest.SkipTest(why)
        super().setUpClass()
        cls.sqs = cls.client_type(cls.pawl)

    @classmethod
    def tearDownClass(cls):
        cls.sqs.close()
        super().tearDownClass()

    def queue(self, suffix="", **attributes):
        return self.sqs.call("CreateQueue", QueueName="q-" + uuid.uuid4().hex + suffix, Attributes=attributes)["QueueUrl"]

    def fifo(self, **attributes):
        return self.queue(".fifo", FifoQueue="true", **attributes)

    def send(self, url, body, **members):
        return self.sqs.call("SendMessage", QueueUrl=url, MessageBody=body, **members)

    def receive(self, url, count=1, wait=0, **members):
        return self.sqs.call("ReceiveMessage", QueueUrl=url, MaxNumberOfMessages=count, WaitTimeSeconds=wait,
                             **members).get("Messages", [])

    def receive_all(self, url, expected, **members):
        got = []
        deadline = time.monotonic() + PATIENCE_SECONDS
        while len(got) < expected and time.monotonic() < deadline:
            got += self.receive(url, 10, 1, **members)
        return got

    def delete(self, url, message):
        self.sqs.call("DeleteMessage", QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])

    def attributes(self, url):
        return self.sqs.call("GetQueueAttributes", QueueUrl=url, AttributeNames=["All"])["Attributes"]

    def depths(self, url):
        got = self.attributes(url)
        return tuple(int(got["ApproximateNumberOfMessages" + kind]) for kind in ("", "NotVisible", "Delayed"))

    def assert_refused(self, shape, op, **members):
        with self.assertRaises(Refused) as raised:
            self.sqs.call(op, **members)
        self.assertEqual(raised.exception.code, self.sqs.code(shape), raised.exception)
        return str(raised.exception)

    def dead_letter_pair(self, kind, times):
        target = kind()
        policy = f'{{"deadLetterTargetArn":"{self.pawl.arn(target)}","maxReceiveCount":"{times}"}}'
        # The queue has the timeout because the SDK for Go v2 cannot send 0 with a receive.
        return kind(RedrivePolicy=policy, VisibilityTimeout="0"), target

    def let_die(self, url, body):
        """Receives the message once; a second, empty receive moves it to the dead-letter queue."""
        (message,) = self.receive(url, wait=5)
        self.assertEqual(message["Body"], body)
        self.assertEqual(self.receive(url), [])
        return message


class Scenarios(Speaking):
    # --- queues ---

    def test_a_queue_is_created_listed_found_and_deleted(self):
        prefix = "list-" + uuid.uuid4().hex
        urls = [self.sqs.call("CreateQueue", QueueName=f"{prefix}-{i}")["QueueUrl"] for i in range(2)]
        self.assertEqual(urls[0], f"{self.pawl.url}/{self.pawl.account}/{prefix}-0")
        self.assertEqual(self.sqs.call("ListQueues", QueueNamePrefix=prefix)["QueueUrls"], urls)
        self.assertEqual(self.sqs.call("GetQueueUrl", QueueName=prefix + "-1")["QueueUrl"], urls[1])
        self.sqs.call("DeleteQueue", QueueUrl=urls[1])
        self.assert_refused("QueueDoesNotExist", "GetQueueUrl", QueueName=prefix + "-1")

    def test_creating_a_queue_again_gives_the_same_queue_or_says_what_differs(self):
        name = "again-" + uuid.uuid4().hex
        url = self.sqs.call("CreateQueue", QueueName=name, Attributes={"VisibilityTimeout": "7"})["QueueUrl"]
        again = self.sqs.call("CreateQueue", QueueName=name, Attributes={"VisibilityTimeout": "7"})["QueueUrl"]
        self.assertEqual(again, url)
        self.assert_refused("QueueNameExists", "CreateQueue", QueueName=name, Attributes={"VisibilityTimeout": "8"})

    def test_attributes_of_a_queue_are_set_and_read(self):
        url = self.queue(VisibilityTimeout="7", DelaySeconds="0")
        self.sqs.call("SetQueueAttributes", QueueUrl=url, Attributes={"MessageRetentionPeriod": "3600"})
        got = self.attributes(url)
        self.assertEqual((got["VisibilityTimeout"], got["MessageRetentionPeriod"]), ("7", "3600"))
        self.assertEqual(got["QueueArn"], self.pawl.arn(url))
        self.assert_refused("InvalidAttributeValue", "SetQueueAttributes", QueueUrl=url,
                            Attributes={"VisibilityTimeout": "43201"})

    def test_tags_are_given_at_creation_added_and_removed(self):
        tags = {"team": "a", "cost centre": "12+3"}
        url = self.sqs.call("CreateQueue", QueueName="tags-" + uuid.uuid4().hex, tags=tags)["QueueUrl"]
        self.sqs.call("TagQueue", QueueUrl=url, Tags={"team": "b", "stage": ""})
        self.sqs.call("UntagQueue", QueueUrl=url, TagKeys=["cost centre", "missing"])
        self.assertEqual(self.sqs.call("ListQueueTags", QueueUrl=url)["Tags"], {"team": "b", "stage": ""})
        self.sqs.call("UntagQueue", QueueUrl=url, TagKeys=["team", "stage"])
        self.assertFalse(self.sqs.call("ListQueueTags", QueueUrl=url).get("Tags"))

    def test_permissions_are_written_into_the_policy(self):
        url = self.queue()
        self.sqs.call("AddPermission", QueueUrl=url, Label="friends", AWSAccountIds=["222222222222"], Actions=["SendMessage"])
        policy = self.attributes(url)["Policy"]
        self.assertIn("friends", policy)
        self.assertIn("222222222222", policy)
        self.sqs.call("RemovePermission", QueueUrl=url, Label="friends")
        self.assertNotIn("Policy", self.attributes(url))

    def test_purge_empties_a_queue_and_refuses_a_second_one_within_a_minute(self):
        url = self.queue()
        self.send(url, "x")
        self.sqs.call("PurgeQueue", QueueUrl=url)
        self.assertEqual(self.depths(url), (0, 0, 0))
        self.assert_refused("PurgeQueueInProgress", "PurgeQueue", QueueUrl=url)

    # --- messages ---

    def test_a_message_is_sent_received_hidden_shown_again_and_deleted(self):
        url = self.queue(VisibilityTimeout="30")
        body = "line\r\nline\ttab \"quoted\" \\ <&> ünïcode \U0001f980"
        sent = self.send(url, body)
        self.assertEqual(sent["MD5OfMessageBody"], md5(body))
        self.assertFalse(sent.get("MD5OfMessageAttributes"))
        (first,) = self.receive(url, wait=5)
        self.assertEqual((first["Body"], first["MessageId"], first["MD5OfBody"]), (body, sent["MessageId"], md5(body)))
        self.assertEqual(self.receive(url), [])
        self.sqs.call("ChangeMessageVisibility", QueueUrl=url, ReceiptHandle=first["ReceiptHandle"], VisibilityTimeout=0)
        (second,) = self.receive(url, AttributeNames=["ApproximateReceiveCount"])
        self.assertEqual(second["Attributes"], {"ApproximateReceiveCount": "2"})
        self.assertEqual(self.depths(url), (0, 1, 0))
        self.delete(url, second)
        self.assertEqual(self.depths(url), (0, 0, 0))

    def test_message_attributes_of_every_type_come_back_as_they_were_sent(self):
        url = self.queue(VisibilityTimeout="0")
        sent = self.send(url, "a", MessageAttributes=ATTRIBUTES)
        self.assertEqual(sent["MD5OfMessageAttributes"], md5_of_attributes(ATTRIBUTES))
        (all_of_them,) = self.receive(url, MessageAttributeNames=["All"], wait=5)
        self.assertEqual(all_of_them["MessageAttributes"], ATTRIBUTES)
        self.assertEqual(all_of_them["MD5OfMessageAttributes"], md5_of_attributes(ATTRIBUTES))
        cases = {("colour", "count", "absent"): ("colour", "count"), ("price.*",): ("price.net", "price.gross"),
                 (".*",): tuple(ATTRIBUTES), ("absent",): ()}
        for asked, wanted in cases.items():
            with self.subTest(asked):
                (message,) = self.receive(url, MessageAttributeNames=list(asked))
                chosen = {name: ATTRIBUTES[name] for name in wanted}
                self.assertEqual(message.get("MessageAttributes") or {}, chosen)
                self.assertEqual(message.get("MD5OfMessageAttributes") or "", md5_of_attributes(chosen) if chosen else "")
        (none,) = self.receive(url)
        self.assertFalse(none.get("MessageAttributes") or none.get("Attributes"))

    def test_empty_lists_of_attribute_names_ask_for_none(self):
        url = self.queue()
        self.send(url, "x", MessageAttributes=ATTRIBUTES)
        (message,) = self.receive(url, wait=5, AttributeNames=[], MessageAttributeNames=[])
        self.assertFalse(message.get("MessageAttributes") or message.get("Attributes"))

    def test_system_attributes_say_when_and_how_often(self):
        url = self.queue(VisibilityTimeout="0")
        sent = self.send(url, "a", MessageSystemAttributes=TRACE)
        before = time.time()
        (message,) = self.receive(url, AttributeNames=["All"], wait=5)
        got = message["Attributes"]
        self.assertEqual(set(got), {"SenderId", "SentTimestamp", "ApproximateReceiveCount",
                                    "ApproximateFirstReceiveTimestamp", "AWSTraceHeader"})
        self.assertEqual(got["AWSTraceHeader"], TRACE["AWSTraceHeader"]["StringValue"])
        self.assertEqual(got["ApproximateReceiveCount"], "1")
        for name in ("SentTimestamp", "ApproximateFirstReceiveTimestamp"):
            self.assertLess(abs(int(got[name]) / 1000 - before), 5, name)
        self.assertEqual(sent.get("MD5OfMessageSystemAttributes", md5_of_attributes(TRACE)), md5_of_attributes(TRACE))

    def test_a_delayed_message_is_counted_and_wakes_a_long_poll_when_it_is_due(self):
        url, other = self.queue(), self.queue()
        self.send(other, "much later", DelaySeconds=900)
        self.assertEqual(self.depths(other), (0, 0, 1))
        self.assertEqual(self.receive(other), [])
        self.send(url, "later", DelaySeconds=2)
        began = time.monotonic()
        self.assertEqual([m["Body"] for m in self.receive(url, wait=20)], ["later"])
        self.assertLess(time.monotonic() - began, 15)

    def test_messages_wait_longer_than_sqs_allows_and_until_a_time(self):
        url = self.queue(**{"x-max-delay": "2d", "x-attributes": "message"})
        self.assertEqual(self.attributes(url)["x-max-delay"], "172800")
        tomorrow = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 86400))
        self.send(url, "by a delay", DelaySeconds=86400)
        for channel in ("MessageAttributes", "MessageSystemAttributes"):
            self.send(url, channel, **{channel: {"x-not-before": {"DataType": "String", "StringValue": tomorrow}}})
        self.assertEqual(self.depths(url), (0, 0, 3))
        due = int(time.time() * 1000) + 2000
        given = {"x-not-before": {"DataType": "Number", "StringValue": str(due)}}
        sent = self.send(url, "soon", MessageSystemAttributes=given)
        self.assertEqual(sent.get("MD5OfMessageSystemAttributes", md5_of_attributes(given)), md5_of_attributes(given))
        (message,) = self.receive(url, wait=20, AttributeNames=["x-not-before"])
        self.assertGreaterEqual(time.time() * 1000, due)
        self.assertEqual((message["Body"], message["Attributes"]), ("soon", {"x-not-before": str(due)}))
        self.assert_refused("InvalidParameterValue", "SendMessage", QueueUrl=url, MessageBody="x", DelaySeconds=172801)

    def test_messages_expire_and_become_dead_letters(self):
        dead = self.queue()
        arn = self.attributes(dead)["QueueArn"]
        url = self.queue(**{"x-message-ttl": "1h", "x-dlq-on-expiry": "true", "x-attributes": "message",
                            "RedrivePolicy": json.dumps({"deadLetterTargetArn": arn, "maxReceiveCount": 5})})
        self.assertEqual(self.attributes(url)["x-message-ttl"], "3600")
        given = {"x-ttl": {"DataType": "String", "StringValue": "500ms"}}
        sent = self.send(url, "MessageSystemAttributes", MessageSystemAttributes=given)
        self.assertEqual(sent.get("MD5OfMessageSystemAttributes", md5_of_attributes(given)), md5_of_attributes(given))
        self.send(url, "MessageAttributes", MessageAttributes=given)
        self.send(url, "stays")
        letters = []
        for _ in range(2):
            letters += self.receive(dead, wait=20, AttributeNames=["x-dead-letter-reason"])
        self.assertEqual(sorted((m["Body"], m["Attributes"]["x-dead-letter-reason"]) for m in letters),
                         [("MessageAttributes", "expired"), ("MessageSystemAttributes", "expired")])
        self.assertEqual(self.depths(url), (1, 0, 0))
        self.assert_refused("InvalidParameterValue", "SendMessage", QueueUrl=url, MessageBody="x",
                            MessageSystemAttributes={"x-ttl": {"DataType": "String", "StringValue": "0"}})

    def test_a_long_poll_ends_when_a_message_is_sent_and_no_later_than_asked(self):
        url = self.queue()
        began = time.monotonic()
        self.assertEqual(self.receive(url, wait=1), [])
        self.assertGreater(time.monotonic() - began, 0.9)
        began = time.monotonic()
        poll = self.sqs.begin("ReceiveMessage", QueueUrl=url, WaitTimeSeconds=20)
        time.sleep(0.3)
        self.send(url, "now")
        self.assertEqual([m["Body"] for m in poll.result()["Messages"]], ["now"])
        self.assertLess(time.monotonic() - began, 10)

    # --- batches ---

    def test_a_batch_of_ten_is_sent_received_changed_and_deleted_entry_by_entry(self):
        url = self.queue(VisibilityTimeout="30", MaximumMessageSize="1024")
        entries = [{"Id": f"entry-{i}", "MessageBody": f"body {i}"} for i in range(10)]
        entries[4]["MessageBody"] = "x" * 1025
        sent = self.sqs.call("SendMessageBatch", QueueUrl=url, Entries=entries)
        big = entries.pop(4)
        self.assertEqual([(e["Id"], e["MD5OfMessageBody"]) for e in sent["Successful"]],
                         [(e["Id"], md5(e["MessageBody"])) for e in entries])
        self.assertEqual([(e["Id"], e["Code"], e["SenderFault"]) for e in sent["Failed"]],
                         [(big["Id"], "InvalidParameterValue", True)])
        got = self.receive_all(url, 9)
        self.assertEqual(sorted(m["Body"] for m in got), [e["MessageBody"] for e in entries])
        handles = [{"Id": str(i), "ReceiptHandle": m["ReceiptHandle"]} for i, m in enumerate(got)]
        handles[3]["ReceiptHandle"] = "not a handle"
        for op, extra in (("ChangeMessageVisibilityBatch", {"VisibilityTimeout": 60}), ("DeleteMessageBatch", {})):
            with self.subTest(op):
                done = self.sqs.call(op, QueueUrl=url, Entries=[e | extra for e in handles])
                self.assertEqual([e["Id"] for e in done["Successful"]], [str(i) for i in range(9) if i != 3])
                self.assertEqual([(e["Id"], e["Code"], e["SenderFault"]) for e in done["Failed"]],
                                 [("3", "ReceiptHandleIsInvalid", True)])
        self.assertEqual(self.depths(url), (0, 1, 0))

    def test_a_batch_that_breaks_the_rules_is_refused_whole(self):
        url = self.queue()
        entry = {"Id": "a", "MessageBody": "x"}
        cases = {
            "BatchEntryIdsNotDistinct": [entry, entry],
            "TooManyEntriesInBatchRequest": [entry | {"Id": str(i)} for i in range(11)],
            "InvalidBatchEntryId": [entry | {"Id": "a b"}],
            "EmptyBatchRequest": [],
        }
        for shape, entries in cases.items():
            with self.subTest(shape):
                self.assert_refused(shape, "SendMessageBatch", QueueUrl=url, Entries=entries)
        self.assertEqual(self.depths(url), (0, 0, 0))

    # --- FIFO ---

    def test_a_fifo_queue_keeps_the_order_of_each_group(self):
        url = self.fifo()
        self.assertTrue(url.endswith(".fifo"))
        self.assertEqual(self.attributes(url)["FifoQueue"], "true")
        numbers = [self.send(url, body, MessageGroupId=body[0], MessageDeduplicationId=body)["SequenceNumber"]
                   for body in ("a1", "b1", "a2", "b2", "a3")]
        self.assertEqual({len(n) for n in numbers}, {20})
        self.assertEqual(sorted(set(numbers)), numbers)
        got = self.receive(url, 10, 5, AttributeNames=["All"])
        self.assertEqual([m["Body"] for m in got if m["Body"][0] == "a"], ["a1", "a2", "a3"])
        self.assertEqual([m["Body"] for m in got if m["Body"][0] == "b"], ["b1", "b2"])
        for message in got:
            shown = message["Attributes"]
            self.assertEqual((shown["MessageGroupId"], shown["MessageDeduplicationId"]), (message["Body"][0], message["Body"]))
            self.assertIn(shown["SequenceNumber"], numbers)

    def test_a_group_waits_for_its_message_in_flight(self):
        url = self.fifo()
        for body in ("1", "2"):
            self.send(url, body, MessageGroupId="g", MessageDeduplicationId=body)
        (first,) = self.receive(url, 1, 5)
        self.assertEqual(first["Body"], "1")
        self.assertEqual(self.receive(url, 10), [])
        self.send(url, "other", MessageGroupId="h", MessageDeduplicationId="other")
        self.assertEqual([m["Body"] for m in self.receive(url, 10)], ["other"])
        self.delete(url, first)
        self.assertEqual([m["Body"] for m in self.receive(url, 10)], ["2"])

    def test_a_duplicate_gets_the_first_ones_id_and_is_not_stored(self):
        for content_based in ("false", "true"):
            with self.subTest(content_based=content_based):
                url = self.fifo(ContentBasedDeduplication=content_based)
                explicit = {} if content_based == "true" else {"MessageDeduplicationId": "once"}
                first, again = (self.send(url, "same", MessageGroupId="g", **explicit) for _ in range(2))
                self.assertEqual(again["MessageId"], first["MessageId"])
                self.assertEqual(again["SequenceNumber"], first["SequenceNumber"])
                (message,) = self.receive(url, 10, 5)
                self.delete(url, message)
                self.send(url, "same", MessageGroupId="g", **explicit)
                self.assertEqual(self.depths(url), (0, 0, 0))

    def test_a_fifo_queue_asks_for_a_group_and_a_deduplication_id(self):
        url = self.fifo()
        self.assert_refused("MissingParameter", "SendMessage", QueueUrl=url, MessageBody="x", MessageDeduplicationId="d")
        self.assert_refused("InvalidParameterValue", "SendMessage", QueueUrl=url, MessageBody="x", MessageGroupId="g")
        self.assert_refused("InvalidParameterValue", "CreateQueue", QueueName="no-attribute-" + uuid.uuid4().hex + ".fifo")

    def test_a_fifo_batch_is_in_order_too(self):
        url = self.fifo(ContentBasedDeduplication="true")
        entries = [{"Id": f"e{i}", "MessageBody": f"{i:02}", "MessageGroupId": "g"} for i in range(10)]
        sent = self.sqs.call("SendMessageBatch", QueueUrl=url, Entries=entries)["Successful"]
        numbers = [e["SequenceNumber"] for e in sent]
        self.assertEqual(sorted(set(numbers)), numbers)
        self.assertEqual([m["Body"] for m in self.receive(url, 10, 5)], [e["MessageBody"] for e in entries])

    # --- dead letters ---

    def test_a_message_received_too_often_becomes_a_dead_letter(self):
        for kind, extra in ((self.queue, {}), (self.fifo, {"MessageGroupId": "g", "MessageDeduplicationId": "d"})):
            with self.subTest(kind.__name__):
                url, target = self.dead_letter_pair(kind, 1)
                sent = self.send(url, "bad", MessageAttributes=ATTRIBUTES, **extra)
                self.let_die(url, "bad")
                (dead,) = self.receive(target, 1, 5, AttributeNames=["All"], MessageAttributeNames=["All"])
                self.assertEqual((dead["Body"], dead["MessageId"]), ("bad", sent["MessageId"]))
                self.assertEqual(dead["MessageAttributes"], ATTRIBUTES)
                self.assertEqual(dead["Attributes"]["DeadLetterQueueSourceArn"], self.pawl.arn(url))
                self.assertEqual(dead["Attributes"]["ApproximateReceiveCount"], "2")
                # Each generation of SDKs spells this member differently.
                sources = self.sqs.call("ListDeadLetterSourceQueues", QueueUrl=target)
                self.assertEqual(next(v for k, v in sources.items() if k.lower() == "queueurls"), [url])

    def test_dead_letters_are_moved_back_to_where_they_came_from(self):
        if not self.sqs.has_move_tasks:
            self.skipTest("this client is older than StartMessageMoveTask")
        url, target = self.dead_letter_pair(self.queue, 1)
        sent = self.send(url, "bad")
        self.let_die(url, "bad")
        arn = self.pawl.arn(target)
        self.assertTrue(self.sqs.call("StartMessageMoveTask", SourceArn=arn)["TaskHandle"])
        (moved,) = self.receive(url, 1, 10)
        self.assertEqual(moved["Body"], "bad")
        self.assertNotEqual(moved["MessageId"], sent["MessageId"])
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            (task,) = self.sqs.call("ListMessageMoveTasks", SourceArn=arn)["Results"]
            if task["Status"] != "RUNNING" or time.monotonic() > deadline:
                break
            time.sleep(0.1)
        self.assertEqual((task["Status"], task["ApproximateNumberOfMessagesMoved"], task["SourceArn"]), ("COMPLETED", 1, arn))
        self.assert_refused("ResourceNotFoundException", "StartMessageMoveTask", SourceArn=arn + "-missing")

    # --- errors ---

    def test_errors_have_the_names_that_programs_look_for(self):
        url = self.queue()
        missing = f"{self.pawl.url}/{self.pawl.account}/missing"
        cases = [
            ("QueueDoesNotExist", "SendMessage", {"QueueUrl": missing, "MessageBody": "x"}),
            ("QueueDoesNotExist", "ReceiveMessage", {"QueueUrl": missing}),
            ("ReceiptHandleIsInvalid", "DeleteMessage", {"QueueUrl": url, "ReceiptHandle": "nonsense"}),
            ("InvalidMessageContents", "SendMessage", {"QueueUrl": url, "MessageBody": "bell \x07"}),
            ("InvalidAttributeName", "GetQueueAttributes", {"QueueUrl": url, "AttributeNames": ["Colour"]}),
            ("InvalidParameterValue", "CreateQueue", {"QueueName": "not a name!"}),
            ("InvalidParameterValue", "ReceiveMessage", {"QueueUrl": url, "MaxNumberOfMessages": 11}),
        ]
        for shape, op, members in cases:
            with self.subTest(shape, op=op):
                self.assert_refused(shape, op, **members)


class SignedScenarios:
    """Additional scenarios with checked keys: the errors for a wrong key."""

    def refusal_of(self, key, secret):
        stranger = self.client_type(self.pawl, AWS_ACCESS_KEY_ID=key, AWS_SECRET_ACCESS_KEY=secret)
        self.addCleanup(stranger.close)
        with self.assertRaises(Refused) as raised:
            stranger.call("ListQueues")
        return raised.exception.code

    def test_a_wrong_secret_is_a_signature_that_does_not_match(self):
        self.assertEqual(self.refusal_of(self.pawl.key, "wrong"), "SignatureDoesNotMatch")

    def test_a_key_that_nobody_knows_is_refused_like_a_wrong_secret(self):
        """AWS returns InvalidClientTokenId, which reveals the existing keys; pawl does not."""
        self.assertEqual(self.refusal_of("AKIDUNKNOWN", self.pawl.secret), "SignatureDoesNotMatch")


class EncryptedScenarios(Speaking):
    """A single signed scenario over TLS, because nothing else differs."""

    def test_a_message_is_sent_received_and_deleted(self):
        url = self.queue()
        self.assertEqual(url.rpartition("/")[0], f"{self.pawl.url}/{self.pawl.account}")
        sent = self.send(url, "a" * 100_000)
        (message,) = self.receive(url, wait=5)
        self.assertEqual((message["MessageId"], message["Body"]), (sent["MessageId"], "a" * 100_000))
        self.delete(url, message)
        self.assertEqual(self.depths(url), (0, 0, 0))
