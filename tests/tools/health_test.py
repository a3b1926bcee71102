#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The health of a server and its lines on stderr, as tools/HEALTH.md describes them."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.error
import urllib.request

from dev_test import PAWL, DevPawl
from peek_test import ROOT, documented

CODES = (ROOT / "net/events/CODES.md").read_text()


class Health(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.mkdtemp(prefix="health-test-")
        self.addCleanup(shutil.rmtree, self.place, ignore_errors=True)

    def start(self, *words):
        pawl = DevPawl(self.place, *words)
        pawl.__enter__()
        self.addCleanup(pawl.__exit__, None, None, None)
        return pawl

    def rows(self, pawl):
        with urllib.request.urlopen(f"http://{pawl.ready['admin']}/healthz?verbose", timeout=10) as answer:
            self.assertEqual(answer.headers["Content-Type"], "application/x-ndjson")
            return [json.loads(line) for line in answer.read().decode().splitlines()]

    def wait_for_row(self, pawl, check, code):
        """The row of a check when it has this code."""
        for _ in range(100):
            row = next(row for row in self.rows(pawl) if row["check"] == check)
            if row.get("code") == code:
                return row
            time.sleep(0.1)
        return self.fail(row)

    def make_certificate(self, days):
        key, certificate = os.path.join(self.place, "k.pem"), os.path.join(self.place, "c.pem")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ed25519", "-nodes", "-keyout", key, "-out", certificate,
                        "-days", str(days), "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"], check=True, capture_output=True, timeout=30)
        return ["--tls-cert", certificate, "--tls-key", key]

    @staticmethod
    def events(pawl):
        pawl.stop()
        return [json.loads(line) for line in pawl.errors.splitlines()]

    def test_has_a_row_for_each_check_of_the_page(self):
        page = (ROOT / "tools/HEALTH.md").read_text()
        named = set(re.findall(r"^\| `(\w+)` \| `", page, re.M)) | {"memory", "flush", "space", "io", "certificate", "disk"}
        pawl = self.start("--shards", "2", *self.make_certificate(100))
        rows = self.rows(pawl)
        self.assertEqual({row["check"] for row in rows}, named)
        for check in ("disk", "log", "memory", "flush"):
            self.assertEqual([row["shard"] for row in rows if row["check"] == check], [0, 1])
        time.sleep(1.5)
        since = {row["since"] for row in self.rows(pawl)}
        time.sleep(1.1)
        self.assertEqual({row["since"] for row in self.rows(pawl)}, since, "nothing has changed")

    def test_warns_before_the_end_of_the_certificate_and_says_when_it_is_renewed(self):
        pawl = self.start("--log-format", "json", *self.make_certificate(10))
        row = self.wait_for_row(pawl, "certificate", "certificate_near_end")
        self.assertEqual(row["level"], "warning")
        self.assertIn("SIGHUP", row["remedy"])
        time.sleep(1.5)
        self.make_certificate(100)
        pawl.process.send_signal(signal.SIGHUP)
        self.wait_for_row(pawl, "certificate", None)
        time.sleep(1.5)
        codes = [event["code"] for event in self.events(pawl)]
        self.assertEqual(codes.count("certificate_near_end"), 1)
        self.assertEqual(codes.count("check_ok"), 1)
        self.assertLess(codes.index("settings_reloaded"), codes.index("check_ok"))

    def test_the_life_of_a_server_is_told_once(self):
        pawl = self.start("--log-format", "json")
        events = self.events(pawl)
        codes = [event["code"] for event in events]
        for code in ("limits", "ready", "stopping", "stopped"):
            self.assertEqual(codes.count(code), 1, codes)
        self.assertEqual(sorted(codes, key=("limits", "ready", "stopping", "stopped").index), codes)
        limits, ready = events[0], events[1]
        self.assertRegex(limits["version"], r"^\d+\.\d+\.\d+$")
        self.assertEqual(limits["shards"], 1)
        self.assertEqual(ready["http"], pawl.ready["http"])
        self.assertEqual(ready["recovered_messages"], 0)

    def get(self, pawl, path, token=None):
        """The status and the header WWW-Authenticate of a page."""
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        try:
            with urllib.request.urlopen(urllib.request.Request(f"http://{pawl.ready['admin']}{path}", headers=headers), timeout=10) as answer:
                return answer.status, None
        except urllib.error.HTTPError as refused:
            with refused:
                return refused.code, refused.headers["WWW-Authenticate"]

    def test_the_admin_port_asks_for_its_token(self):
        path = os.path.join(self.place, "token")
        def write(token, mode=0o600):
            with open(path, "w", encoding="ascii") as file:
                file.write(token + "\n")
            os.chmod(path, mode)
        first, second = "a" * 32, "b" * 32
        write(first)
        pawl = self.start("--log-format", "json", "--admin", "0.0.0.0:0", "--admin-token", path)
        pawl.ready["admin"] = pawl.ready["admin"].replace("0.0.0.0", "127.0.0.1")
        for page in ("/livez", "/readyz"):
            self.assertEqual(self.get(pawl, page), (200, None))
        for page in ("/metrics", "/healthz", "/queues", "/config", "/missing"):
            for token in (None, "", second, first[:-1], first + "a"):
                self.assertEqual(self.get(pawl, page, token), (401, "Bearer"), (page, token))
            self.assertEqual(self.get(pawl, page, first), (404 if page == "/missing" else 200, None))
        with_token = {**os.environ, "PAWL_LISTEN_ADMIN_TOKEN": path}
        for environment, code in ((os.environ, 1), (with_token, 0)):
            done = subprocess.run([PAWL, "check", "--admin", pawl.ready["admin"]], text=True, capture_output=True, timeout=30,
                                  check=False, env=environment)
            self.assertEqual(done.returncode, code, done.stdout + done.stderr)
            self.assertEqual("Set PAWL_LISTEN_ADMIN_TOKEN to the path" in done.stderr, code == 1, done.stderr)
        done = subprocess.run([PAWL, "check", "--admin", pawl.ready["admin"]], text=True, capture_output=True, timeout=30, check=False,
                              env={**os.environ, "PAWL_LISTEN_ADMIN_TOKEN": first})
        self.assertIn("PAWL_LISTEN_ADMIN_TOKEN names no file", done.stderr)
        self.assertNotIn(first, done.stderr)
        write(second)
        pawl.process.send_signal(signal.SIGHUP)
        for _ in range(100):
            if self.get(pawl, "/healthz", second)[0] == 200:
                break
            time.sleep(0.1)
        self.assertEqual(self.get(pawl, "/healthz", first)[0], 401)
        write("short")
        pawl.process.send_signal(signal.SIGHUP)
        time.sleep(1)
        self.assertEqual(self.get(pawl, "/healthz", second)[0], 200, "a bad file changes nothing")
        events = self.events(pawl)
        codes = [event["code"] for event in events]
        self.assertNotIn("admin_page_limit", codes)
        self.assertIn("settings_not_reloaded", codes)
        self.assertEqual({event["port"] for event in events if event["code"] == "auth_failed"}, {"admin"})
        self.assertFalse([event for event in events if first in str(event) or second in str(event)])

    def test_a_token_file_that_others_can_read_is_refused(self):
        path = os.path.join(self.place, "token")
        for text, mode, words in (("a" * 32, 0o644, "chmod 600"), ("short", 0o600, "16 to 512"), ("", 0o600, "0 characters")):
            with open(path, "w", encoding="ascii") as file:
                file.write(text)
            os.chmod(path, mode)
            done = subprocess.run([PAWL, "serve", "--dev", "--admin-token", path], text=True, capture_output=True, timeout=30, check=False)
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn(f"--admin-token {path}: ", done.stderr)
            self.assertIn(words, done.stderr)

    def test_the_admin_port_may_speak_tls(self):
        token = os.path.join(self.place, "token")
        with open(token, "w", encoding="ascii", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
            file.write("a" * 32)
        words = self.make_certificate(100)
        certificate = words[1]
        pawl = self.start("--log-format", "json", *words, "--admin-tls", "--admin-token", token)
        admin = pawl.ready["admin"]

        def curl(path, *more, scheme="https"):
            done = subprocess.run(["curl", "-s", "-w", "%{http_code}", "--cacert", certificate, *more, f"{scheme}://{admin}{path}"],
                                  text=True, capture_output=True, timeout=30, check=False)
            return done.returncode, done.stdout

        for path in ("/livez", "/readyz"):
            self.assertEqual(curl(path), (0, "ok\n200"))
        self.assertTrue(curl("/metrics")[1].endswith("401"))
        code, text = curl("/metrics", "-H", f"Authorization: Bearer {'a' * 32}")
        self.assertTrue(code == 0 and text.endswith("200"), text[-100:])
        code, text = curl("/livez", scheme="http")
        self.assertTrue(code == 0 and text.startswith("This port of pawl speaks TLS.") and text.endswith("400"), text)

        for trusted, address, code in ((certificate, f"https://{admin}", 0), (token, f"https://{admin}", 1), (certificate, admin, 1)):
            environment = {**os.environ, "SSL_CERT_FILE": trusted, "PAWL_LISTEN_ADMIN_TOKEN": token}
            for verb in (["check", "health"], ["check"], ["metrics", "ls"]):
                done = subprocess.run([PAWL, *verb, "--admin", address], text=True, capture_output=True, timeout=30, check=False, env=environment)
                self.assertEqual(done.returncode, code, (verb, done.stdout + done.stderr))
        of_server = {**os.environ, "PAWL_LISTEN_TLS_CERT": certificate, "PAWL_LISTEN_ADMIN_TLS": "yes", "PAWL_LISTEN_ADMIN": admin}
        done = subprocess.run([PAWL, "check", "health"], text=True, capture_output=True, timeout=30, check=False, env=of_server)
        self.assertEqual((done.returncode, done.stdout), (0, "ok\n"), done.stderr)
        self.assertIn("wrong_protocol", [event["code"] for event in self.events(pawl)])

    def test_a_client_at_the_wrong_port_is_reported(self):
        pawl = self.start("--log-format", "json")
        http, binary = pawl.ready["http"], pawl.ready["binary"]
        with self.assertRaises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(f"http://{binary}/", timeout=10)
        self.assertIn(f"SQS is served at http://{http}", refused.exception.read().decode())
        refused.exception.close()
        with self.assertRaises(urllib.error.URLError):
            urllib.request.urlopen(f"https://{http}/", timeout=10)
        texts = [event["text"] for event in self.events(pawl) if event["code"] == "wrong_protocol"]
        self.assertEqual(texts, ["This is the binary port of pawl. HTTP came from 127.0.0.1",
                                 "This http port has no TLS. A TLS handshake came from 127.0.0.1"])

    def test_every_code_is_explained(self):
        listed = subprocess.run([PAWL, "errors", "-o", "json"], text=True, capture_output=True, timeout=30, check=True)
        rows = json.loads(listed.stdout)
        self.assertEqual([row["code"] for row in rows], re.findall(r"^\| `(\w+)` \| (?:error|warning|info) ", CODES, re.M))
        for row in rows:
            done = subprocess.run([PAWL, "errors", row["code"]], text=True, capture_output=True, timeout=30, check=True)
            self.assertIn(row["when"], done.stdout)
            self.assertIn(row["remedy"], done.stdout)
        wrong = subprocess.run([PAWL, "errors", "disk_ful"], text=True, capture_output=True, timeout=30, check=False)
        self.assertEqual((wrong.returncode, wrong.stdout), (2, ""))
        self.assertIn('Did you mean "disk_full"?', wrong.stderr)

    def test_the_commands_of_the_page_run(self):
        pawl = self.start()
        commands = documented("HEALTH.md")
        self.assertEqual(len(commands), 3)
        for command in commands:
            done = subprocess.run(["sh", "-c", command], text=True, capture_output=True, timeout=30, check=False,
                                  env={**os.environ, "PAWL_ADMIN": pawl.ready["admin"],
                                       "PATH": os.path.dirname(PAWL) + ":" + os.environ["PATH"]})
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("disk", done.stdout)


if __name__ == "__main__":
    result = unittest.main(exit=False).result
    bad = len(result.failures) + len(result.errors)
    print(f"{max(result.testsRun - bad, 0)} passed, {bad} failed")
    sys.exit(1 if bad else 0)
