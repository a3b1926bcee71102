#!/usr/bin/python3
"""Debian's AWS command line, unmodified, against pawl: the Query protocol, one process per request."""

import json
import os
import subprocess
import uuid

from pawl_server import ServedTest, main
from sqs_digest import md5, md5_of_attributes

AWS = "/usr/bin/aws"  # Debian's; another one may come first in PATH


class AwsCli(ServedTest):
    def aws(self, *words, fails=False):
        environment = dict(os.environ, AWS_ACCESS_KEY_ID="x", AWS_SECRET_ACCESS_KEY="x", AWS_DEFAULT_REGION="us-east-1",
                           AWS_CONFIG_FILE="/dev/null", AWS_SHARED_CREDENTIALS_FILE="/dev/null", AWS_PAGER="",
                           AWS_MAX_ATTEMPTS="1", AWS_EC2_METADATA_DISABLED="true")
        done = subprocess.run([AWS, "--endpoint-url", self.pawl.url, "--output", "json", "sqs", *words],
                              env=environment, capture_output=True, text=True, timeout=60)
        if fails:
            self.assertNotEqual(done.returncode, 0, done.stdout)
            return done.stderr
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout) if done.stdout.strip() else {}

    def test_the_life_of_a_queue_and_its_messages(self):
        name = "cli-" + uuid.uuid4().hex
        url = self.aws("create-queue", "--queue-name", name, "--attributes", "VisibilityTimeout=30")["QueueUrl"]
        self.assertEqual(url, f"{self.pawl.url}/000000000000/{name}")
        self.assertEqual(self.aws("list-queues", "--queue-name-prefix", name)["QueueUrls"], [url])
        self.aws("set-queue-attributes", "--queue-url", url, "--attributes", "DelaySeconds=0")
        attributes = self.aws("get-queue-attributes", "--queue-url", url, "--attribute-names", "All")["Attributes"]
        self.assertEqual(attributes["VisibilityTimeout"], "30")

        given = {"kind": {"DataType": "String", "StringValue": "a b"}}
        sent = self.aws("send-message", "--queue-url", url, "--message-body", "hello", "--message-attributes",
                        json.dumps(given))
        self.assertEqual(sent["MD5OfMessageBody"], md5("hello"))
        self.assertEqual(sent["MD5OfMessageAttributes"], md5_of_attributes(given))
        (message,) = self.aws("receive-message", "--queue-url", url, "--message-attribute-names", "All",
                              "--attribute-names", "All", "--wait-time-seconds", "5")["Messages"]
        self.assertEqual((message["Body"], message["MessageId"]), ("hello", sent["MessageId"]))
        self.assertEqual(message["MessageAttributes"], given)
        self.aws("change-message-visibility", "--queue-url", url, "--receipt-handle", message["ReceiptHandle"],
                 "--visibility-timeout", "0")
        (again,) = self.aws("receive-message", "--queue-url", url, "--attribute-names", "All")["Messages"]
        self.assertEqual(again["Attributes"]["ApproximateReceiveCount"], "2")
        self.aws("delete-message", "--queue-url", url, "--receipt-handle", again["ReceiptHandle"])
        self.assertEqual(self.aws("receive-message", "--queue-url", url), {})

        self.aws("delete-queue", "--queue-url", url)
        self.assertIn("AWS.SimpleQueueService.NonExistentQueue", self.aws("get-queue-url", "--queue-name", name, fails=True))

    def test_batches_and_purge(self):
        url = self.aws("create-queue", "--queue-name", "cli-" + uuid.uuid4().hex)["QueueUrl"]
        entries = [{"Id": f"e{i}", "MessageBody": f"body {i}"} for i in range(3)]
        sent = self.aws("send-message-batch", "--queue-url", url, "--entries", json.dumps(entries))
        self.assertEqual({e["Id"] for e in sent["Successful"]}, {"e0", "e1", "e2"})
        got = self.aws("receive-message", "--queue-url", url, "--max-number-of-messages", "10")["Messages"]
        self.assertEqual(sorted(m["Body"] for m in got), ["body 0", "body 1", "body 2"])
        handles = [{"Id": str(i), "ReceiptHandle": m["ReceiptHandle"]} for i, m in enumerate(got[:2])]
        self.assertEqual(len(self.aws("delete-message-batch", "--queue-url", url, "--entries", json.dumps(handles))["Successful"]), 2)
        self.aws("purge-queue", "--queue-url", url)
        counts = self.aws("get-queue-attributes", "--queue-url", url, "--attribute-names", "All")["Attributes"]
        self.assertEqual((counts["ApproximateNumberOfMessages"], counts["ApproximateNumberOfMessagesNotVisible"]), ("0", "0"))


if __name__ == "__main__":
    main()
