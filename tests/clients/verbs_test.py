#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""`pawl replay` and `pawl bench` against production-like servers: with keys, and with TLS too."""

import json
import subprocess

from pawl_server import ServedTest, SignedPawl, TlsPawl, main
from wire import Json

KEY = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")


class Verbs(ServedTest):
    def run_pawl(self, *words, **environment):
        known = self.pawl.environment()
        return subprocess.run([self.binary, *words, "--binary", self.pawl.ready["binary"]], capture_output=True, text=True, timeout=60,
                              env={name: known[name] for name in KEY} | environment, check=False)

    def run_bench(self, *words, **environment):
        known = self.pawl.environment()
        return subprocess.run([self.binary, "bench", "e2e", *words], capture_output=True, text=True, timeout=60,
                              env={name: known[name] for name in KEY} | environment, check=False)

    def replay(self, *words, **environment):
        known = self.pawl.environment()
        known = {name: known[name] for name in KEY} | {"AWS_ENDPOINT_URL": f"{self.pawl.scheme}://{self.pawl.ready['http']}"}
        return subprocess.run([self.binary, "replay", *words], capture_output=True, text=True, timeout=60, env=known | environment,
                              check=False)

    def refused(self, done, code, *texts):
        self.assertEqual((done.returncode, done.stdout), (code, ""), done)
        for text in texts:
            self.assertIn(text, done.stderr)


class Signed(Verbs):
    server = SignedPawl

    def test_bench_has_the_key_of_the_environment(self):
        words = ("bench", "send", "--queue", "load", "--create", "--messages", "10", "--seconds", "10", "--json")
        done = self.run_pawl(*words)
        self.assertEqual(done.returncode, 0, done)
        self.assertEqual(json.loads(done.stdout.splitlines()[-1])["messages"], 10, done.stdout)
        self.refused(self.run_pawl(*words, AWS_ACCESS_KEY_ID="", AWS_SECRET_ACCESS_KEY=""), 1, "requires an access key", *KEY)
        self.refused(self.run_pawl(*words, AWS_SECRET_ACCESS_KEY="wrong"), 1, "does not know the access key", *KEY)

    def test_bench_signs_requests_over_http(self):
        url = f"http://{self.pawl.ready['http']}/{self.pawl.account}/load.fifo"
        words = ("--url", url, "--create", "--cleanup", "--connections", "2", "--threads", "2", "--groups", "3", "--batch", "5",
                 "--verify", "--seconds", "0.3", "--json")
        done = self.run_bench(*words)
        self.assertEqual(done.returncode, 0, done)
        result = json.loads(done.stdout.splitlines()[-1])
        self.assertGreater(result["messages"], 0)
        self.assertEqual([result[key] for key in ("errors", "lost", "duplicates", "disordered", "signed")], [0, 0, 0, 0, True])
        with_token = self.run_bench(*words, AWS_SESSION_TOKEN="IQoJb3JpZ2luX2VjE+/w==")
        self.assertEqual(with_token.returncode, 0, with_token)
        self.refused(self.run_bench(*words, AWS_SESSION_TOKEN="two words"), 2, "AWS_SESSION_TOKEN contains spaces")
        self.refused(self.run_bench(*words[:2]), 1, "there is no queue load.fifo", "--create")
        self.refused(self.run_bench(*words, AWS_SECRET_ACCESS_KEY="wrong"), 1, "InvalidSignatureException")
        self.refused(self.run_bench(*words, AWS_ACCESS_KEY_ID="", AWS_SECRET_ACCESS_KEY=""), 1, "the endpoint refused: 40")

    def test_bench_finds_the_queue_of_an_endpoint(self):
        url = f"http://{self.pawl.ready['http']}"
        words = ("--url", url, "--queue", "found.fifo", "--batch", "5", "--verify", "--seconds", "0.2", "--json")
        self.refused(self.run_bench(*words), 1, "there is no queue found.fifo", "--create")
        done = self.run_bench(*words, "--create", "--cleanup")
        self.assertEqual(done.returncode, 0, done)
        result = json.loads(done.stdout.splitlines()[-1])
        self.assertGreater(result["messages"], 0)
        self.assertEqual([result[key] for key in ("errors", "lost", "disordered", "signed")], [0, 0, 0, True])
        self.refused(self.run_bench(*words), 1, "there is no queue found.fifo")
        self.assertEqual(self.run_bench(*words, "--create").returncode, 0)
        kept = self.run_bench(*words, "--create", "--cleanup")
        self.assertIn("found.fifo is kept: it existed before the load", kept.stderr)
        self.refused(self.run_bench(*words, AWS_SECRET_ACCESS_KEY="wrong"), 1, "InvalidSignatureException")

    def test_replay_is_asked_for_with_the_key_of_the_environment(self):
        sqs = Json(self.pawl)
        self.addCleanup(sqs.close)
        url = sqs.call("CreateQueue", QueueName="played", Attributes={"x-replay-retention": "3600"})["QueueUrl"]
        sqs.call("CreateQueue", QueueName="again")
        for body in "one", "two", "three":
            sqs.call("SendMessage", QueueUrl=url, MessageBody=body)
        started = self.replay("start", "played", "--into", "again")
        self.assertEqual((started.returncode, started.stdout), (0, "1\n"), started)
        tasks = json.loads(self.replay("list", "played", "--json").stdout)
        self.assertEqual([(task["number"], task["into"], task["unreadable"]) for task in tasks], [(1, "again", 0)])

    def test_replay_says_what_is_wrong_with_the_key(self):
        none = self.replay("list", "played", AWS_ACCESS_KEY_ID="", AWS_SECRET_ACCESS_KEY="")
        self.refused(none, 1, "The call was not signed: set", *KEY)
        for wrong in {"AWS_ACCESS_KEY_ID": "AKIDNOBODY"}, {"AWS_SECRET_ACCESS_KEY": "wrong"}:
            self.refused(self.replay("list", "played", **wrong), 1, "refuses ListReplays: InvalidSignatureException")


class Encrypted(Verbs):
    server = TlsPawl

    def test_replay_trusts_whom_it_is_told_to(self):
        done = self.replay("list", "nobodys", AWS_CA_BUNDLE=str(self.pawl.certificate))
        self.refused(done, 3, 'there is no queue "nobodys"')  # the connection succeeded
        self.refused(self.replay("list", "nobodys"), 1, "no TLS connection to", "AWS_CA_BUNDLE")
        plain = self.replay("list", "nobodys", "--url", f"http://{self.pawl.ready['http']}")
        self.refused(plain, 1, f"This port of pawl speaks TLS. SQS is served at https://{self.pawl.ready['http']}")

    def test_bench_speaks_tls_on_both_ports(self):
        url = f"https://{self.pawl.ready['http']}/{self.pawl.account}/load"
        binary = ("--binary", self.pawl.ready["binary"], "--queue", "load")
        words = ("--create", "--connections", "2", "--depth", "4", "--batch", "10", "--body", "4096", "--seconds", "0.3", "--json")
        trust = ("--tls-ca", str(self.pawl.certificate))
        for endpoint in ("--url", url), ("--url", url.rsplit("/", 2)[0], "--queue", "load"), binary:
            done = self.run_bench(*endpoint, *words, *trust)
            self.assertEqual(done.returncode, 0, done)
            result = json.loads(done.stdout.splitlines()[-1])
            self.assertGreater(result["messages"], 0)
            self.assertEqual((result["errors"], result["tls"]), (0, True))
        self.assertEqual(self.run_bench("--url", url, *words, AWS_CA_BUNDLE=trust[1]).returncode, 0)
        self.refused(self.run_bench("--url", url, *words), 1, "no TLS connection to", "--tls-ca")


if __name__ == "__main__":
    main()
