#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The server's own account of memory, beside what it has become larger by: loads of several kinds."""

import http.client
import json
import pathlib
import re
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.parse

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "clients"))
from pawl_server import Pawl, main  # noqa: E402
import pawl_server  # noqa: E402

SLACK = 32 << 20
CONNECTIONS = 3000
QUEUES, TAGS = 5_000, 50
TRIES = 50
TOPICS, SUBSCRIPTIONS, TEXTS = 40, 100, 140
TASK_QUEUES, TASKS = 1_000, 10


class Memory(pawl_server.ServedTest):
    def serve(self, *extra):
        self.pawl = Pawl(self.binary, extra=["--shards", "1", "--memory", "1GiB", *extra]).start()
        self.addCleanup(self.end)
        self.before = self.resident()

    def end(self):
        self.pawl.stop()
        self.pawl.remove_data()

    def call(self, action, **request):
        if not hasattr(self, "client"):
            self.client = http.client.HTTPConnection(self.pawl.ready["http"])
            self.addCleanup(self.client.close)
        self.client.request("POST", "/", json.dumps(request), {
            "Content-Type": "application/x-amz-json-1.0", "X-Amz-Target": "AmazonSQS." + action})
        answer = self.client.getresponse()
        text = answer.read()
        self.assertEqual(answer.status, 200, text)
        return json.loads(text or "{}")

    def sns(self, action, **parameters):
        if not hasattr(self, "sns_client"):
            self.sns_client = http.client.HTTPConnection(self.pawl.ready["http"])
            self.addCleanup(self.sns_client.close)
        form = urllib.parse.urlencode({"Action": action, "Version": "2010-03-31", **parameters})
        self.sns_client.request("POST", "/", form, {"Content-Type": "application/x-www-form-urlencoded"})
        answer = self.sns_client.getresponse()
        text = answer.read().decode()
        self.assertEqual(answer.status, 200, text)
        return text

    def resident(self):
        status = pathlib.Path(f"/proc/{self.pawl.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", status).group(1)) << 10

    def account(self, kind="[^\"]*"):
        connection = http.client.HTTPConnection(self.pawl.ready["admin"])
        connection.request("GET", "/metrics")
        text = connection.getresponse().read().decode()
        connection.close()
        return int(sum(float(value) for value in re.findall(rf'(?m)^pawl_memory_bytes\{{[^}}]*kind="{kind}"\}} (\S+)$', text)))

    def judge(self, load, least=0, kind="[^\"]*"):
        """The gauges follow within a second or so; those of the kind say so many bytes at least."""
        for _ in range(TRIES):
            account, grown = self.account(), self.resident() - self.before
            counted = self.account(kind)
            if counted >= least and grown <= account * 1.15 + SLACK:
                break
            time.sleep(0.1)
        print(f"{load}: account {account / 2**20:.1f} MiB, grown by {grown / 2**20:.1f} MiB")
        self.assertGreaterEqual(counted, least)
        self.assertLessEqual(grown, account * 1.15 + SLACK)

    def send(self, url, batches, body, **more):
        entries = [{"Id": str(i), "MessageBody": body, **more} for i in range(10)]
        for _ in range(batches):
            self.call("SendMessageBatch", QueueUrl=url, Entries=entries)

    def test_messages_that_wait_and_are_in_flight(self):
        self.serve()
        url = self.call("CreateQueue", QueueName="q")["QueueUrl"]
        self.send(url, 5_000, "x" * 1000)
        self.judge("50,000 messages of 1000 bytes")
        for _ in range(5_000):
            self.call("ReceiveMessage", QueueUrl=url, MaxNumberOfMessages=10, VisibilityTimeout=43200)
        self.judge("in flight", least=50_000 * (1000 + 64))

    def test_queues_with_long_names_and_tags(self):
        self.serve()
        for i in range(QUEUES):
            self.call("CreateQueue", QueueName="n" * 70 + str(i), tags={"k" * 37 + f"{tag:03}": "v" * 60 for tag in range(TAGS)})
        self.judge(f"{QUEUES} queues")

    def test_topics_that_are_published_to(self):
        self.serve()
        for n in range(SUBSCRIPTIONS):
            self.call("CreateQueue", QueueName=f"q{n}")
        policy = json.dumps({"colour": [f"a-colour-{text:03}" for text in range(TEXTS)]})
        for n in range(TOPICS):
            topic = re.search("<TopicArn>(.*)</TopicArn>", self.sns("CreateTopic", Name=f"t{n}")).group(1)
            for queue in range(SUBSCRIPTIONS):
                self.sns("Subscribe", TopicArn=topic, Protocol="sqs", Endpoint=f"arn:aws:sqs:us-east-1:000000000000:q{queue}",
                         **{"Attributes.entry.1.key": "FilterPolicy", "Attributes.entry.1.value": policy})
            self.sns("Publish", TopicArn=topic, Message="m")
        # At least the rows in the directory and the parsed topics that are kept: 24 MiB of 32.
        self.judge(f"{TOPICS} topics of {SUBSCRIPTIONS} subscriptions",
                   least=TOPICS * SUBSCRIPTIONS * len(policy) + (24 << 20))

    def test_tasks(self):
        self.serve()
        self.call("CreateQueue", QueueName="target")
        policy = {"maxReceiveCount": 1}
        for n in range(TASK_QUEUES):
            dead = f"arn:aws:sqs:us-east-1:000000000000:{'d' * 70}{n}"
            self.call("CreateQueue", QueueName=f"{'d' * 70}{n}")
            self.call("CreateQueue", QueueName=f"{'q' * 70}{n}",
                      Attributes={"RedrivePolicy": json.dumps({**policy, "deadLetterTargetArn": dead})})
        before = self.account("queues")
        for n in range(TASK_QUEUES):
            for _ in range(TASKS):
                self.call("StartMessageMoveTask", SourceArn=f"arn:aws:sqs:us-east-1:000000000000:{'d' * 70}{n}",
                          DestinationArn=f"arn:aws:sqs:us-east-1:000000000000:{'q' * 70}{n}")
        self.judge(f"{TASK_QUEUES} queues of {TASKS} move tasks", kind="queues", least=before + TASK_QUEUES * TASKS * 250)

    def test_idle_connections(self):
        self.serve()
        before = self.account("connections")
        for port in ("http", "binary"):
            host, number = self.pawl.ready[port].rsplit(":", 1)
            for _ in range(CONNECTIONS // 2):
                connection = socket.create_connection((host, int(number)), timeout=30)
                self.addCleanup(connection.close)
        self.judge(f"{CONNECTIONS} idle connections", kind="connections", least=before + CONNECTIONS * 512)

    def test_connections_that_poll(self):
        self.serve()
        url = self.call("CreateQueue", QueueName="q")["QueueUrl"]
        host, port = self.pawl.ready["http"].rsplit(":", 1)
        body = json.dumps({"QueueUrl": url, "WaitTimeSeconds": 20}).encode()
        request = (f"POST / HTTP/1.1\r\nHost: h\r\nX-Amz-Target: AmazonSQS.ReceiveMessage\r\n"
                   f"Content-Type: application/x-amz-json-1.0\r\nContent-Length: {len(body)}\r\n\r\n").encode() + body
        for _ in range(CONNECTIONS):
            connection = socket.create_connection((host, int(port)), timeout=30)
            self.addCleanup(connection.close)
            connection.sendall(request)
        self.judge(f"{CONNECTIONS} long polls", least=CONNECTIONS * 1024)

    def test_tls_connections(self):
        directory = tempfile.mkdtemp(prefix="pawl-test-")
        self.addCleanup(shutil.rmtree, directory)
        certificate, key = f"{directory}/cert.pem", f"{directory}/key.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                        "-subj", "/CN=localhost", "-keyout", key, "-out", certificate], check=True, capture_output=True)
        self.serve("--tls-cert", certificate, "--tls-key", key)
        host, port = self.pawl.ready["http"].rsplit(":", 1)
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        for _ in range(CONNECTIONS):
            connection = context.wrap_socket(socket.create_connection((host, int(port)), timeout=30))
            self.addCleanup(connection.close)
        self.judge(f"{CONNECTIONS} connections of TLS", least=CONNECTIONS * 4096)


if __name__ == "__main__":
    main()
