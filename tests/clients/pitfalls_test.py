#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Requests of real clients that broke other SQS-compatible servers, one test for each kind.

The SDKs for PHP and Ruby (6), Terraform (7), KEDA (9) and Shoryuken (10) are not run: the tests
send their requests. An SDK that connects to AWS whatever endpoint it is given (6) cannot be tested.
"""

import json
import socket
import urllib.parse
import uuid
import xml.etree.ElementTree as ElementTree

from pawl_server import ACCOUNT, Pawl, ServedTest, SignedPawl, main
from sqs_digest import md5
from wire import XMLNS, Connection, Json, Query, Refused

FORM = "application/x-www-form-urlencoded"
JSON = "application/x-amz-json-1.0"

# Message attributes and the digest AWS gave them: sent and received by AWS's own clients.
DIGESTS = [
    ({"Hello": ("String", "World")}, "7db7fb1ba7f41366a8ea5eb18220b26d"),
    ({"timestamp": ("Number", "1493147359900")}, "235c5c510d26fb653d073faed50ae77c"),
    ({"data1": ("Number", "1"), "data2": ("Number", "2")}, "b53b5acf24e7fd9567705bd8027b1c76"),
    ({"UserId": ("Number.bigint", "1234567890123456789012")}, "797ab158d73dcb5242dedc4412c8e855"),
    ({"Hello": ("String", "There"), "General": ("String", "Kenobi")}, "fca026605781cb4126a1e9044df24232"),
    ({"attr1": ("Binary", b"traceparent\x1e00-774062d6c37081a5a0b9b5b88e30627c-2d2482211f6489da-01")},
     "8cbe4db156db8a94db8b801b7addb984"),
    ({"N": ("Number.int", "1"), "A": ("String", "x y"), "B": ("Binary", b"\0\1")}, "9ad6553e8e8ba7bb22f9de3836ac9d69"),
]


# Host names that other machines use. A server without signatures needs them as --allow-host.
HOSTS = ("queue.internal", "pawl", "sqs.us-east-1.pawl.test")


class NamedPawl(Pawl):
    def __init__(self, binary, data=None, extra=()):
        super().__init__(binary, data, [*extra, *(word for host in HOSTS for word in ("--allow-host", host))])


def given(attributes):
    return {name: {"DataType": kind, "BinaryValue" if kind == "Binary" else "StringValue": value}
            for name, (kind, value) in attributes.items()}


class Pitfalls(ServedTest):
    server = NamedPawl

    def setUp(self):
        self.sqs, self.query, self.wire = Json(self.pawl), Query(self.pawl), Connection(self.pawl)
        for each in (self.sqs, self.query, self.wire):
            self.addCleanup(each.close)

    def queue(self, name=None, suffix="", **attributes):
        name = name or "pit-" + uuid.uuid4().hex + suffix
        return self.sqs.call("CreateQueue", QueueName=name, Attributes=attributes)["QueueUrl"]

    def path(self, url):
        return urllib.parse.urlsplit(url).path

    def form(self, path="/", headers=None, **fields):
        return self.wire.ask("POST", path, {"content-type": FORM} | (headers or {}), urllib.parse.urlencode(fields).encode())

    def json(self, op, members, path="/", **headers):
        body = members if isinstance(members, bytes) else json.dumps(members).encode()
        return self.wire.ask("POST", path, {"content-type": JSON, "x-amz-target": "AmazonSQS." + op} | headers, body)

    def raw(self, request):
        """Sends bytes; returns the response, which ends by a close or half a second of silence."""
        host, port = self.pawl.ready["http"].rsplit(":", 1)
        with socket.create_connection((host, int(port)), timeout=5) as connection:
            connection.sendall(request)
            connection.settimeout(0.5)
            got = b""
            try:
                while part := connection.recv(65536):
                    got += part
            except TimeoutError:
                pass
        return got

    @staticmethod
    def parts(answer):
        """The status, head and body of an HTTP response."""
        head, body = answer.split(b"\r\n\r\n", 1)
        return int(head.split()[1]), head, body

    # --- the protocols ---

    def test_pitfall_01_both_protocols_on_every_path_and_errors_in_the_callers(self):
        url = self.queue()
        for path in ("/", self.path(url), "/queue" + self.path(url)):
            with self.subTest(path):
                answer = self.json("GetQueueAttributes", {"QueueUrl": url, "AttributeNames": ["QueueArn"]}, path)
                self.assertEqual(json.loads(answer.body)["Attributes"], {"QueueArn": self.pawl.arn(url)})
                answer = self.form(path, Action="GetQueueAttributes", QueueUrl=url, **{"AttributeName.1": "QueueArn"})
                self.assertIn(self.pawl.arn(url).encode(), answer.body)
                self.assertTrue(answer.body.startswith(b"<?xml"), answer.body)
                answer = self.json("SendMessage", {"QueueUrl": url + "x", "MessageBody": "a"}, path)
                self.assertEqual(answer.headers.get_content_type(), JSON)
                self.assertEqual(json.loads(answer.body)["__type"], "com.amazonaws.sqs#QueueDoesNotExist")
                answer = self.form(path, Action="SendMessage", QueueUrl=url + "x", MessageBody="a")
                self.assertEqual(answer.headers.get_content_type(), "text/xml")
                error = ElementTree.fromstring(answer.body).find(f"{{{XMLNS}}}Error")
                self.assertEqual(error.findtext(f"{{{XMLNS}}}Code"), "AWS.SimpleQueueService.NonExistentQueue")
        # An unreadable request gets its error in the caller's protocol, too.
        answer = self.json("SendMessage", b"{")
        self.assertEqual((answer.status, json.loads(answer.body)["__type"].rpartition("#")[2]), (400, "SerializationException"))

    def test_pitfall_02_an_error_has_the_name_of_both_protocols(self):
        answer = self.json("GetQueueUrl", {"QueueName": "missing"}, **{"x-amzn-query-mode": "true"})
        self.assertEqual(answer.headers["x-amzn-query-error"], "AWS.SimpleQueueService.NonExistentQueue;Sender")
        self.assertEqual(json.loads(answer.body)["__type"], "com.amazonaws.sqs#QueueDoesNotExist")

    def test_pitfall_03_celery_names_the_queue_by_its_path_and_mixes_the_protocols(self):
        url = self.queue(VisibilityTimeout="0")
        self.sqs.call("SendMessage", QueueUrl=url, MessageBody="a")
        answer = self.form(self.path(url), {"accept-encoding": "gzip,deflate"}, MaxNumberOfMessages=10, WaitTimeSeconds=1,
                           Action="ReceiveMessage", **{"AttributeName.1": "ApproximateReceiveCount"})
        self.assertIn(b"<Name>ApproximateReceiveCount</Name><Value>1</Value>", answer.body)
        # JSON requests use the deprecated list, both lists, or a member named as in Query.
        for members in ({"AttributeNames": ["ApproximateReceiveCount"]},
                        {"AttributeNames": ["ApproximateReceiveCount"], "MessageSystemAttributeNames": ["SenderId"]},
                        {"MessageSystemAttributeNames": ["ApproximateReceiveCount"], "AttributeName.1": "ApproximateReceiveCount"}):
            with self.subTest(members):
                answer = self.json("ReceiveMessage", {"QueueUrl": url, "MaxNumberOfMessages": 10} | members, self.path(url))
                self.assertIn("ApproximateReceiveCount", json.loads(answer.body)["Messages"][0]["Attributes"])
        answer = self.json("GetQueueAttributes", {"QueueUrl": url, "AttributeNames": ["ApproximateNumberOfMessages"]})
        self.assertEqual(json.loads(answer.body), {"Attributes": {"ApproximateNumberOfMessages": "1"}})
        self.assertIn(b"<QueueUrl>", self.form(Action="ListQueues", QueueNamePrefix="").body)

    # --- digests ---

    def test_pitfall_04_digests_are_exact_and_absent_when_there_is_nothing_to_digest(self):
        for voice in (self.sqs, self.query):
            url = self.queue()
            for attributes, digest in DIGESTS:
                with self.subTest(voice.name, attributes=attributes):
                    sent = voice.call("SendMessage", QueueUrl=url, MessageBody="test", MessageAttributes=given(attributes))
                    self.assertEqual(sent["MD5OfMessageBody"], "098f6bcd4621d373cade4e832627b4f6")
                    self.assertEqual(sent["MD5OfMessageAttributes"], digest)
                    (got,) = voice.call("ReceiveMessage", QueueUrl=url, MessageAttributeNames=["All"])["Messages"]
                    self.assertEqual((got["MessageId"], got["MD5OfMessageAttributes"]), (sent["MessageId"], digest))
                    self.assertEqual(got["MessageAttributes"], given(attributes))
            with self.subTest(voice.name, attributes={}):
                body = "CR\rLF\nboth\r\n\ttab"
                sent = voice.call("SendMessage", QueueUrl=url, MessageBody=body)
                self.assertEqual(set(sent), {"MessageId", "MD5OfMessageBody"})
                (got,) = voice.call("ReceiveMessage", QueueUrl=url, MessageAttributeNames=["All"])["Messages"]
                self.assertEqual(set(got), {"MessageId", "ReceiptHandle", "MD5OfBody", "Body"})
                self.assertEqual((got["Body"], got["MD5OfBody"]), (body, md5(body)))

    # --- where a queue is ---

    def test_pitfall_05_a_queue_url_begins_with_the_host_that_was_asked(self):
        name = self.queue().rsplit("/", 1)[1]
        for host in ("queue.internal:4566", "pawl", "[::1]:9324", "localhost"):
            with self.subTest(host):
                answer = self.json("GetQueueUrl", {"QueueName": name}, host=host)
                self.assertEqual(json.loads(answer.body)["QueueUrl"], f"http://{host}/{ACCOUNT}/{name}")
                answer = self.form("/", {"host": host}, Action="GetQueueUrl", QueueName=name)
                self.assertIn(f"<QueueUrl>http://{host}/{ACCOUNT}/{name}</QueueUrl>".encode(), answer.body)
        with SignedPawl(self.binary) as other:  # the signature covers the host
            wire = Connection(other)
            self.addCleanup(wire.close)
            for host in ("any.name.test:1", "192.0.2.7"):
                answer = wire.ask(headers={"content-type": JSON, "x-amz-target": "AmazonSQS.CreateQueue", "host": host},
                                  body=b'{"QueueName": "q"}')
                self.assertEqual(json.loads(answer.body), {"QueueUrl": f"http://{host}/{other.account}/q"})
        with Pawl(self.binary, extra=["--base-url", "https://sqs.example.com/here"]) as other:
            sqs = Json(other)
            self.addCleanup(sqs.close)
            url = sqs.call("CreateQueue", QueueName="q")["QueueUrl"]
            self.assertEqual(url, f"https://sqs.example.com/here/{ACCOUNT}/q")
            sqs.call("SendMessage", QueueUrl=url, MessageBody="a")  # its path ends name the queue

    def test_pitfall_06_any_host_and_doubled_slashes_are_served(self):
        url = self.queue()
        name = url.rsplit("/", 1)[1]
        for members in ({"QueueUrl": f"https://sqs.eu-west-3.amazonaws.com/{ACCOUNT}/{name}"},
                        {"QueueUrl": f"http://somewhere.else:1/queue/{ACCOUNT}/{name}"}, {"QueueUrl": f"//x//{ACCOUNT}/{name}"}):
            with self.subTest(members):
                self.assertEqual(self.json("SendMessage", members | {"MessageBody": "a"}).status, 200)
        for path in (f"//{ACCOUNT}/{name}", f"/{ACCOUNT}//{name}", f"//{ACCOUNT}//{name}/", f"/queue/{ACCOUNT}/{name}"):
            with self.subTest(path):
                answer = self.form(path, {"host": "sqs.us-east-1.pawl.test"}, Action="SendMessage", MessageBody="a")
                self.assertEqual(answer.status, 200, answer.body)
        self.assertEqual(self.form("//", Action="ListQueues").status, 200)

    # --- infrastructure ---

    def test_pitfall_07_every_attribute_that_was_set_reads_back_equal_again_and_again(self):
        target = self.queue()
        source = self.queue()
        wanted = {
            "DelaySeconds": "1", "MaximumMessageSize": "2048", "MessageRetentionPeriod": "86400",
            "ReceiveMessageWaitTimeSeconds": "10", "VisibilityTimeout": "60", "KmsMasterKeyId": "alias/aws/sqs",
            "KmsDataKeyReusePeriodSeconds": "600",
            "Policy": json.dumps({"Version": "2012-10-17", "Statement": [{"Sid": "s", "Effect": "Allow", "Principal": "*",
                                                                         "Action": "sqs:SendMessage", "Resource": "*"}]}),
            "RedrivePolicy": json.dumps({"deadLetterTargetArn": self.pawl.arn(target), "maxReceiveCount": 4}),
            "RedriveAllowPolicy": json.dumps({"redrivePermission": "byQueue", "sourceQueueArns": [self.pawl.arn(source)]}),
        }
        url = self.queue(**wanted)
        for voice in (self.sqs, self.query):
            for _ in range(6):
                got = voice.call("GetQueueAttributes", QueueUrl=url, AttributeNames=["All"])["Attributes"]
                for name, value in wanted.items():
                    same = json.loads if value.startswith("{") else str
                    self.assertEqual(same(got[name]), same(value), name)
                self.assertEqual(got["SqsManagedSseEnabled"], "false")
        # Every attribute name of the API can be read from both kinds of queue, set or not.
        names = list(got) + ["FifoQueue", "ContentBasedDeduplication", "DeduplicationScope", "FifoThroughputLimit"]
        for each in (target, url, self.queue(suffix=".fifo", FifoQueue="true")):
            self.sqs.call("GetQueueAttributes", QueueUrl=each, AttributeNames=names)

    def test_pitfall_08_batch_entry_ids_of_80_characters_and_message_ids_as_ids(self):
        url = self.queue()
        ids = [f"{i}_" + "x-" * 39 for i in range(10)]
        self.assertEqual(len(ids[0]), 80)
        sent = self.sqs.call("SendMessageBatch", QueueUrl=url, Entries=[{"Id": i, "MessageBody": "a"} for i in ids])
        self.assertEqual([e["Id"] for e in sent["Successful"]], ids)
        got = self.sqs.call("ReceiveMessage", QueueUrl=url, MaxNumberOfMessages=10)["Messages"]
        self.assertEqual(len(got), 10)
        entries = [{"Id": m["MessageId"], "ReceiptHandle": m["ReceiptHandle"]} for m in got]
        deleted = self.query.call("DeleteMessageBatch", QueueUrl=url, Entries=entries)
        self.assertEqual([e["Id"] for e in deleted["Successful"]], [m["MessageId"] for m in got])
        with self.assertRaises(Refused) as raised:
            self.sqs.call("DeleteMessage", QueueUrl=url, ReceiptHandle="A" * 1024)
        self.assertEqual(raised.exception.code, "ReceiptHandleIsInvalid")

    def test_pitfall_09_the_depths_are_right_at_once(self):
        url = self.queue()
        names = ["ApproximateNumberOfMessages" + kind for kind in ("", "NotVisible", "Delayed")]

        def depths():
            got = self.sqs.call("GetQueueAttributes", QueueUrl=url, AttributeNames=names)["Attributes"]
            return tuple(int(got[name]) for name in names)

        self.sqs.call("SendMessageBatch", QueueUrl=url, Entries=[{"Id": str(i), "MessageBody": "a"} for i in range(7)])
        self.sqs.call("SendMessage", QueueUrl=url, MessageBody="a", DelaySeconds=900)
        self.assertEqual(depths(), (7, 0, 1))
        got = self.sqs.call("ReceiveMessage", QueueUrl=url, MaxNumberOfMessages=3)["Messages"]
        self.assertEqual(depths(), (4, 3, 1))
        self.sqs.call("DeleteMessage", QueueUrl=url, ReceiptHandle=got[0]["ReceiptHandle"])
        self.sqs.call("ChangeMessageVisibility", QueueUrl=url, ReceiptHandle=got[1]["ReceiptHandle"], VisibilityTimeout=0)
        self.assertEqual(depths(), (5, 1, 1))

    def test_pitfall_10_a_queue_is_found_by_its_name_and_named_without_an_address(self):
        url = self.queue()
        name = url.rsplit("/", 1)[1]
        for voice in (self.sqs, self.query):
            self.assertEqual(voice.call("GetQueueUrl", QueueName=name)["QueueUrl"], url)
            self.assertEqual(voice.call("GetQueueUrl", QueueName=name, QueueOwnerAWSAccountId=ACCOUNT)["QueueUrl"], url)
            voice.call("SendMessage", QueueUrl=name, MessageBody="a")

    # --- requests that are odd ---

    def test_pitfall_11_what_is_unknown_or_empty_is_ignored_or_refused_as_aws_does(self):
        url = self.queue()
        for voice in (self.sqs, self.query):
            with self.subTest(voice.name), self.assertRaises(Refused) as raised:
                voice.call("SendPostcard", QueueUrl=url)
            self.assertEqual((raised.exception.status, raised.exception.code), (400, "InvalidAction"))
        self.assertEqual(self.json("SendMessage", {"QueueUrl": url, "MessageBody": "a", "Priority": 3, "Extra": {"a": [1]}}).status, 200)
        self.assertEqual(self.form(Action="SendMessage", QueueUrl=url, MessageBody="a", Priority=3).status, 200)
        answer = self.json("ReceiveMessage", {"QueueUrl": url, "MaxNumberOfMessages": None, "AttributeNames": [], "MessageAttributeNames": [],
                                              "MessageSystemAttributeNames": []})
        self.assertEqual(set(json.loads(answer.body)["Messages"][0]), {"MessageId", "ReceiptHandle", "MD5OfBody", "Body"})
        self.assertIn(url, json.loads(self.json("ListQueues", {"QueueNamePrefix": ""}).body)["QueueUrls"])
        self.assertIn(url.encode(), self.form(Action="ListQueues", QueueNamePrefix="", Version="2012-11-05").body)
        self.assertEqual(self.json("ListQueues", b"").status, 200)

    def test_pitfall_12_http_that_is_seldom_spoken(self):
        url = self.queue()
        body = urllib.parse.urlencode({"Action": "SendMessage", "QueueUrl": url, "MessageBody": "a"}).encode()
        head = f"POST / HTTP/1.1\r\nHost: {self.pawl.ready['http']}\r\nContent-Type: {FORM}\r\nContent-Length: {len(body)}\r\n".encode()
        # curl waits for 100 Continue before it sends a larger body.
        host, port = self.pawl.ready["http"].rsplit(":", 1)
        with socket.create_connection((host, int(port)), timeout=5) as connection:
            connection.sendall(head + b"Expect: 100-continue\r\n\r\n")
            self.assertTrue(connection.recv(1024).startswith(b"HTTP/1.1 100 Continue\r\n\r\n"))
            connection.sendall(body)
            self.assertTrue(connection.recv(1024).startswith(b"HTTP/1.1 200 "))
        got = self.raw(head + b"Accept-Encoding: gzip\r\nConnection: close\r\n\r\n" + body)
        self.assertIn(b"<MessageId>", got)
        self.assertNotIn(b"content-encoding", got.lower())
        # These requests are those of curl -H 'Accept: application/json'.
        path = urllib.parse.urlsplit(url).path.encode()
        get = b"GET " + path + b"%s HTTP/1.0\r\nAccept: application/json\r\n\r\n"
        status, head, body = self.parts(self.raw(get % b"?Action=GetQueueAttributes&AttributeName.1=DelaySeconds"))
        self.assertEqual((status, json.loads(body)["GetQueueAttributesResponse"]["GetQueueAttributesResult"]),
                         (200, {"Attributes": [{"Name": "DelaySeconds", "Value": "0"}]}))
        self.assertIn(b"content-type: application/json\r\n", head.lower() + b"\r\n")
        status, _, body = self.parts(self.raw(get % b"?Action=GetQueueAttributes&AttributeName.1=Nothing"))
        self.assertEqual((status, json.loads(body)["Error"]["Code"]), (400, "InvalidAttributeName"))
        self.assertEqual(self.parts(self.raw(get % b""))[::2], (404, b"<UnknownOperationException/>"))
        # Load balancers send these health checks.
        for path in (b"/", b"/health"):
            self.assertRegex(self.raw(b"GET " + path + b" HTTP/1.0\r\n\r\n"), rb"^HTTP/1\.[01] 200 ")


if __name__ == "__main__":
    main()
