#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""`pawl serve --dev`: a server for the tests of a program, which leaves nothing behind."""

import concurrent.futures
import fcntl
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.error
import urllib.request

PAWL = str(pathlib.Path(sys.argv.pop(1) if len(sys.argv) > 1 else "build/release/pawl").resolve())
ROOT = pathlib.Path(__file__).resolve().parents[2]
BROWSER = "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0"
WORKERS, SERVERS = 8, int(os.environ.get("PAWL_DEV_SERVERS", "48"))


def documented(language):
    """The blocks of tools/TESTING.md in a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", (ROOT / "tools" / "TESTING.md").read_text(), re.S | re.M)


def page(url, method, path, headers=None, body=""):
    """The status and the text of a page."""
    request = urllib.request.Request(url + path, body.encode(), headers or {}, method=method)
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as refused:
        with refused:
            return refused.code, refused.read().decode()


class DevPawl:
    """A development server, with its temporary directory in `place`."""

    def __init__(self, place, *words):
        self.process = subprocess.Popen([PAWL, "serve", "--dev", *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True, env={**os.environ, "TMPDIR": place})
        self.ready = json.loads(self.process.stdout.readline())
        self.url = "http://" + self.ready["http"]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.stop()

    def stop(self, how=signal.SIGTERM):
        self.process.send_signal(how)
        self.errors = self.process.communicate(timeout=20)[1]
        return self.process.returncode

    def page(self, method, path, headers=None, body=""):
        return page(self.url, method, path, headers, body)

    def call(self, action, headers=None, **body):
        request = urllib.request.Request(self.url, json.dumps(body).encode(), {
            "Content-Type": "application/x-amz-json-1.0", "X-Amz-Target": "AmazonSQS." + action, **(headers or {})})
        with urllib.request.urlopen(request, timeout=10) as answer:
            return json.loads(answer.read() or "{}")


def wait_until_free(path):
    """The kernel frees the lock of a killed server with its ring, which may take some 40 ms after the end of the process."""
    end = time.monotonic() + 10
    with open(path, encoding="ascii") as file:
        while True:
            try:
                return fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.01)


def signed_by(key_id):
    return {"Authorization": f"AWS4-HMAC-SHA256 Credential={key_id}/20261128/us-east-1/sqs/aws4_request, "
                             f"SignedHeaders=host;x-amz-date, Signature={'0' * 64}"}


def serve_once(place):
    """Starts a server, sends and receives a message, stops it. Returns its ports."""
    with DevPawl(place) as pawl:
        pawl.call("CreateQueue", QueueName="q")
        pawl.call("SendMessage", QueueUrl="q", MessageBody="hello")
        messages = pawl.call("ReceiveMessage", QueueUrl="q")["Messages"]
        code = pawl.stop()
        return code, [m["Body"] for m in messages], pawl.process.pid, [pawl.ready[p] for p in ("http", "admin", "binary")]


class Dev(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.mkdtemp(prefix="dev-test-")
        self.addCleanup(shutil.rmtree, self.place, ignore_errors=True)

    def left(self):
        return os.listdir(self.place)

    def test_it_takes_free_ports_and_one_shard_and_deletes_its_directory(self):
        with DevPawl(self.place) as one, DevPawl(self.place) as other:
            self.assertEqual(len({server.ready[port] for server in (one, other) for port in ("http", "admin", "binary")}), 6)
            self.assertEqual(one.ready["shards"], 1)
            self.assertEqual(len(self.left()), 2)
            one.call("CreateQueue", QueueName="q")
            one.call("SendMessage", QueueUrl="q", MessageBody="x" * (1 << 20))
            self.assertEqual(one.stop(), 0)
            self.assertEqual(other.stop(signal.SIGINT), 0)
            self.assertNotIn("calibrated", one.errors)
        self.assertEqual(self.left(), [])

    def test_it_takes_4_mib_of_disk_and_16_of_memory(self):
        with DevPawl(self.place) as pawl:
            pawl.call("CreateQueue", QueueName="q")
            pawl.call("SendMessage", QueueUrl="q", MessageBody="hello")
            (own,) = self.left()
            blocks = sum(file.stat().st_blocks for file in pathlib.Path(self.place, own).rglob("*") if file.is_file())
            self.assertLess(blocks * 512, (4 << 20) + (64 << 10), "with 16 blocks of identity and manifests")
            (resident,) = re.findall(r"^VmRSS:\s+(\d+) kB", pathlib.Path(f"/proc/{pawl.process.pid}/status").read_text(), re.M)
            self.assertLess(int(resident), 16 << 10)

    def test_it_prints_settings_for_a_shell(self):
        with DevPawl(self.place) as pawl:
            pawl.stop()
            self.assertRegex(pawl.errors, r"(?m)^Ready\.$")
            line = re.search(r"(?m)^export .*$", pawl.errors)[0]
            shown = subprocess.run(["sh", "-c", line + "; env"], capture_output=True, text=True, check=True, timeout=10).stdout
            for setting in (f"AWS_ENDPOINT_URL={pawl.url}", "AWS_REGION=us-east-1", "AWS_ACCESS_KEY_ID=test", "AWS_SECRET_ACCESS_KEY=test"):
                self.assertIn(setting + "\n", shown)
        with DevPawl(self.place, "--log-format", "json") as pawl:
            pawl.stop()
            for line in pawl.errors.splitlines():
                json.loads(line)

    def test_given_settings_stay(self):
        data = os.path.join(self.place, "data")
        with socket.socket() as holder:
            holder.bind(("127.0.0.1", 0))
            port = holder.getsockname()[1]
        with DevPawl(self.place, "--data", data, "--http", f"127.0.0.1:{port}", "--shards", "2") as pawl:
            self.assertEqual((pawl.ready["http"], pawl.ready["shards"]), (f"127.0.0.1:{port}", 2))
            pawl.call("CreateQueue", QueueName="kept")
            pawl.stop()
        with DevPawl(self.place, "--data", data) as pawl:
            self.assertEqual(pawl.ready["shards"], 2)
            self.assertIn("kept", pawl.call("ListQueues")["QueueUrls"][0])
        with DevPawl(self.place, "--data", data + "-new") as pawl:
            self.assertEqual(pawl.ready["shards"], 1)
        self.assertEqual(sorted(self.left()), ["data", "data-new"])

    def test_it_listens_on_several_addresses(self):
        with DevPawl(self.place, "--http", "127.0.0.1:0", "--http", "127.0.0.1:0") as pawl:
            pawl.call("CreateQueue", QueueName="q")
            (other,) = pawl.ready["more_http"]
            self.assertNotEqual(other, pawl.ready["http"])
            code, text = page("http://" + other, "GET", "/?Action=ListQueues")
            self.assertEqual(code, 200)
            self.assertIn(f"<QueueUrl>http://{other}/000000000000/q</QueueUrl>", text)
            pawl.stop()
            self.assertIn(f"pawl serves tests at {pawl.ready['http']} and {other},", pawl.errors)
        for words, part in (((["--http", "127.0.0.1:1,"]), "127.0.0.1:1,"), (["--http", ",".join(["127.0.0.1:0"] * 9)], "at most 8"),
                            (["--http", "127.0.0.1:7", "--http", "127.0.0.1:7"], "--http 127.0.0.1:7 uses this port")):
            done = subprocess.run([PAWL, "serve", "--dev", *words], timeout=20, check=False, capture_output=True, text=True,
                                  env={**os.environ, "TMPDIR": self.place})
            self.assertEqual(done.returncode, 2, done)
            self.assertIn(part, done.stderr)

    def test_other_machines_may_use_it_where_it_is_told_to_listen(self):
        with DevPawl(self.place, "--http", "0.0.0.0:0", "--admin", "0.0.0.0:0", "--binary", "0.0.0.0:0") as pawl:
            self.assertEqual(pawl.call("ListQueues", {"Host": "queue"}), {})
            admin = "http://" + pawl.ready["admin"]
            for path in ("/livez", "/readyz"):
                self.assertEqual(page(admin, "GET", path, {"Host": "queue:9325"}), (200, "ok\n"))
            for path in ("/metrics", "/healthz", "/queues", "/missing"):
                code, text = page(admin, "GET", path)
                self.assertEqual((code, "/livez and /readyz alone" in text), (403, True), path)
            pawl.stop()
            warning, admin_limit = (json.loads(line) for line in pawl.errors.splitlines()[:2])
            self.assertEqual((warning["code"], admin_limit["code"]), ("exposed_without_credentials", "admin_page_limit"))
            self.assertIn("serving other machines without credentials (--dev, a server for tests alone)", warning["text"])
        with DevPawl(self.place, "--admin", "0.0.0.0:0", "--insecure-no-auth") as pawl:
            self.assertEqual(page("http://" + pawl.ready["admin"], "GET", "/metrics")[0], 200)

    def test_programs_may_use_any_host_and_browsers_may_not(self):
        with DevPawl(self.place) as pawl:
            pawl.call("CreateQueue", QueueName="q")
            for host in ("queue", "queue:4566", "host.docker.internal:9324", "10.1.2.3:80"):
                self.assertIn(f"//{host}/", pawl.call("ListQueues", {"Host": host})["QueueUrls"][0])
            for mark in ({"User-Agent": BROWSER}, {"Origin": "http://queue"}, {"Sec-Fetch-Mode": "no-cors"}, {"Sec-Fetch-Site": "none"}):
                with self.assertRaises(urllib.error.HTTPError) as refused:
                    pawl.call("ListQueues", {"Host": "queue", **mark})
                self.assertEqual(refused.exception.code, 403, mark)
                refused.exception.close()

    def test_an_access_key_id_of_12_digits_is_the_account(self):
        with DevPawl(self.place) as pawl:
            accounts = ("000000000000", "111111111111", "222222222222")
            for account in accounts:
                url = pawl.call("CreateQueue", signed_by(account), QueueName="same")["QueueUrl"]
                self.assertTrue(url.endswith(f"/{account}/same"), url)
                pawl.call("SendMessage", signed_by(account), QueueUrl=url, MessageBody=account)
            for account in accounts:
                urls = pawl.call("ListQueues", signed_by(account))["QueueUrls"]
                self.assertEqual([url.split("/")[-2] for url in urls], [account])
                self.assertEqual(pawl.call("ReceiveMessage", signed_by(account), QueueUrl=urls[0])["Messages"][0]["Body"], account)
            self.assertTrue(pawl.call("CreateQueue", signed_by("AKIAIOSFODNN7"), QueueName="o")["QueueUrl"].endswith("/000000000000/o"))

    def test_a_reset_deletes_the_queues_of_all_accounts_or_of_one(self):
        with DevPawl(self.place) as pawl:
            for account in ("111111111111", "222222222222"):
                for name in ("a", "b"):
                    url = pawl.call("CreateQueue", signed_by(account), QueueName=name)["QueueUrl"]
                    pawl.call("SendMessage", signed_by(account), QueueUrl=url, MessageBody="x")
            self.assertEqual(pawl.page("POST", "/_pawl/reset?account=111111111111"), (200, "{}\n"))
            self.assertEqual(pawl.call("ListQueues", signed_by("111111111111")), {})
            self.assertEqual(len(pawl.call("ListQueues", signed_by("222222222222"))["QueueUrls"]), 2)
            began = time.monotonic()
            self.assertEqual(pawl.page("POST", "/_pawl/reset")[0], 200)
            print(f"reset: {1e3 * (time.monotonic() - began):.1f} ms")
            self.assertEqual(pawl.call("ListQueues", signed_by("222222222222")), {})
            url = pawl.call("CreateQueue", signed_by("222222222222"), QueueName="a")["QueueUrl"]
            self.assertEqual(pawl.call("ReceiveMessage", signed_by("222222222222"), QueueUrl=url), {})
            self.assertEqual(pawl.page("POST", "/_pawl/reset?account=1")[0], 400)
            self.assertEqual(pawl.page("POST", "/_pawl/reset", {"Origin": "http://evil.example"})[0], 403)

    def test_the_clock_advances_delays_leases_and_retention(self):
        with DevPawl(self.place, "--shards", "2") as pawl:
            dead = pawl.call("CreateQueue", QueueName="dead")["QueueUrl"]
            arn = pawl.call("GetQueueAttributes", QueueUrl=dead, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
            url = pawl.call("CreateQueue", QueueName="q", Attributes={
                "VisibilityTimeout": "30", "MessageRetentionPeriod": "3600",
                "RedrivePolicy": json.dumps({"deadLetterTargetArn": arn, "maxReceiveCount": 1})})["QueueUrl"]
            bodies = lambda queue: [m["Body"] for m in pawl.call("ReceiveMessage", QueueUrl=queue, MaxNumberOfMessages=10).get("Messages", [])]
            advance = lambda by: self.assertEqual(pawl.page("POST", "/_pawl/clock", body=json.dumps({"advance": by})), (200, "{}\n"))
            pawl.call("SendMessage", QueueUrl=url, MessageBody="later", DelaySeconds=900)
            pawl.call("SendMessage", QueueUrl=url, MessageBody="now")
            self.assertEqual(bodies(url), ["now"])
            advance("14m")
            self.assertEqual(bodies(url), [])
            self.assertEqual(bodies(dead), ["now"], "its only receive ran out")
            advance("1m")
            self.assertEqual(bodies(url), ["later"])
            advance("1h")
            self.assertEqual((bodies(url), bodies(dead)), ([], ["now"]), "one is older than the retention, the other visible again")
            self.assertEqual(pawl.page("POST", "/_pawl/clock", body='{"advance":"soon"}')[0], 400)
            pawl.stop()
            events = [json.loads(line) for line in pawl.errors.splitlines() if line.startswith("{")]
            self.assertIn(840000, [event["advanced_ms"] for event in events if event["code"] == "clock_advanced"])
            self.assertNotIn("wall_clock_set", [event["code"] for event in events])

    def test_the_clock_has_passed_for_all_messages_when_it_answers(self):
        with DevPawl(self.place) as pawl:
            url = pawl.call("CreateQueue", QueueName="q", Attributes={"x-max-delay": "10d", "x-message-ttl": "1h"})["QueueUrl"]
            names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesDelayed"]

            def counts():
                values = pawl.call("GetQueueAttributes", QueueUrl=url, AttributeNames=names)["Attributes"]
                return tuple(int(values[name]) for name in names)

            for delay in (2 * 86_400, 4 * 86_400):
                for _ in range(300):
                    pawl.call("SendMessageBatch", QueueUrl=url, Entries=[
                        {"Id": str(i), "MessageBody": "later", "DelaySeconds": delay} for i in range(10)])
            for days, wanted in ((2, (3000, 3000)), (1, (0, 3000)), (1, (3000, 0)), (1, (0, 0))):
                pawl.page("POST", "/_pawl/clock", body=json.dumps({"advance": f"{days}d"}))
                self.assertEqual(counts(), wanted)

    def test_what_the_clock_passes_happens_in_order(self):
        """A long poll of 9 s ends before a message of 10 minutes later becomes visible; the next poll gets it."""
        with DevPawl(self.place) as pawl, concurrent.futures.ThreadPoolExecutor(1) as worker:
            url = pawl.call("CreateQueue", QueueName="q")["QueueUrl"]
            pawl.call("SendMessage", QueueUrl=url, MessageBody="hello", DelaySeconds=600)
            polled = worker.submit(pawl.call, "ReceiveMessage", QueueUrl=url, WaitTimeSeconds=9)
            time.sleep(0.3)
            began = time.monotonic()
            pawl.page("POST", "/_pawl/clock", body='{"advance":"10m"}')
            self.assertEqual(polled.result(), {})
            self.assertLess(time.monotonic() - began, 5)
            self.assertIn("Messages", pawl.call("ReceiveMessage", QueueUrl=url))

    def test_a_wait_ends_when_the_messages_are_there(self):
        with DevPawl(self.place, "--shards", "2") as pawl, concurrent.futures.ThreadPoolExecutor(1) as worker:
            url = pawl.call("CreateQueue", QueueName="q")["QueueUrl"]
            waited = worker.submit(pawl.page, "GET", "/_pawl/wait?queue=q&visible=2&timeout=8s")
            pawl.call("SendMessage", QueueUrl=url, MessageBody="1")
            time.sleep(0.1)
            self.assertFalse(waited.done())
            pawl.call("SendMessage", QueueUrl=url, MessageBody="2")
            code, text = waited.result()
            self.assertEqual((code, json.loads(text)), (200, {"visible": 2, "in_flight": 0, "delayed": 0}))
            began = time.monotonic()
            code, text = pawl.page("GET", "/_pawl/wait?queue=q&visible=0&timeout=200ms")
            self.assertEqual((code, json.loads(text)["visible"]), (408, 2))
            self.assertGreaterEqual(time.monotonic() - began, 0.2)
            waited = worker.submit(pawl.page, "GET", "/_pawl/wait?queue=q&visible=0")
            for message in pawl.call("ReceiveMessage", QueueUrl=url, MaxNumberOfMessages=10)["Messages"]:
                pawl.call("DeleteMessage", QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
            self.assertEqual(waited.result()[0], 200)
            self.assertEqual(pawl.page("GET", "/_pawl/wait?queue=missing&visible=1")[0], 404)
            waited = worker.submit(pawl.page, "GET", "/_pawl/wait?queue=q&visible=1&timeout=30s")
            time.sleep(0.2)
            self.assertEqual(pawl.stop(), 0, "a stop waits for nobody who only waits")
            self.assertEqual(waited.result()[0], 408)

    def test_without_dev_its_pages_are_not_found(self):
        command = [PAWL, "serve", "--data", os.path.join(self.place, "data"), "--http", "127.0.0.1:0", "--admin", "127.0.0.1:0",
                   "--binary", "127.0.0.1:0", "--shards", "1"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
            self.addCleanup(server.kill)
            url = "http://" + json.loads(server.stdout.readline())["http"]
            for method, path in (("POST", "/_pawl/reset"), ("POST", "/_pawl/clock"), ("GET", "/_localstack/health")):
                code, text = page(url, method, path)
                self.assertEqual((code, "--dev" in text), (404, True), path)
            server.terminate()

    def test_the_directory_of_a_killed_server_goes_with_the_next_start(self):
        with DevPawl(self.place) as pawl:
            pawl.stop(signal.SIGKILL)
        killed = self.left()
        self.assertEqual(len(killed), 1)
        with DevPawl(self.place):
            self.assertIn(killed[0], self.left(), "it may be that of a server that starts")
        path = os.path.join(self.place, killed[0])
        wait_until_free(os.path.join(path, "LOCK"))
        os.utime(path, (time.time() - 120,) * 2)
        with DevPawl(self.place):
            self.assertNotIn(killed[0], self.left())
        self.assertEqual(self.left(), [])

    def test_a_start_that_fails_leaves_nothing(self):
        with socket.socket() as holder:
            holder.bind(("127.0.0.1", 0))
            holder.listen()
            done = subprocess.run([PAWL, "serve", "--dev", "--http", "127.0.0.1:%d" % holder.getsockname()[1]], timeout=20, check=False,
                                  capture_output=True, text=True, env={**os.environ, "TMPDIR": self.place})
        self.assertEqual(done.returncode, 1)
        self.assertEqual(self.left(), [])
        done = subprocess.run([PAWL, "serve", "--dev"], timeout=20, check=False, capture_output=True, text=True,
                              env={**os.environ, "TMPDIR": self.place + "/missing"})
        self.assertEqual(done.returncode, 1)
        self.assertIn("TMPDIR", done.stderr)

    def test_the_documented_fixture_works_with_pytest(self):
        tests = pathlib.Path(self.place, "tests")
        tests.mkdir()
        for text in documented("python"):
            (tests / re.match(r"# (\S+)", text)[1]).write_text(text)
        done = subprocess.run(["/usr/bin/python3", "-m", "pytest", "-q", str(tests)], capture_output=True, text=True, timeout=120, check=False,
                              env={**os.environ, "PAWL": PAWL, "TMPDIR": self.place})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("2 passed", done.stdout)
        self.assertEqual(self.left(), ["tests"])

    def test_many_at_once_leave_no_process_no_port_and_no_directory(self):
        with concurrent.futures.ThreadPoolExecutor(WORKERS) as workers:
            ended = list(workers.map(serve_once, [self.place] * SERVERS))
        self.assertEqual(self.left(), [])
        for code, bodies, pid, addresses in ended:
            self.assertEqual((code, bodies), (0, ["hello"]))
            self.assertFalse(os.path.exists(f"/proc/{pid}"))
            for address in addresses:
                with socket.socket() as client:
                    host, port = address.rsplit(":", 1)
                    self.assertNotEqual(client.connect_ex((host, int(port))), 0)
        print(f"{SERVERS} servers by {WORKERS} workers: 0 left behind")


if __name__ == "__main__":
    result = unittest.main(exit=False).result
    bad = len(result.failures) + len(result.errors)
    print(f"{max(result.testsRun - bad, 0)} passed, {bad} failed")
    sys.exit(1 if bad else 0)
