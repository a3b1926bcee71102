#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""`--profile` of the verbs: key, region and endpoint from the files of the AWS command line."""

import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import unittest

from dev_test import PAWL
from peek_test import Verbs

SIGNED = ("--auth", "sigv4", "--keys", "{keys}")
# Environment, profile of the call; the AWS command line and pawl find the same key and region.
PRECEDENCE = [
    ({}, None),
    ({}, "owner"),
    ({"AWS_PROFILE": "owner"}, None),
    ({"AWS_PROFILE": "owner"}, "other"),
    ({"AWS_ACCESS_KEY_ID": "OTHER", "AWS_SECRET_ACCESS_KEY": "hush"}, None),
    ({"AWS_ACCESS_KEY_ID": "OTHER", "AWS_SECRET_ACCESS_KEY": "hush", "AWS_PROFILE": "owner"}, None),
    ({"AWS_ACCESS_KEY_ID": "OTHER", "AWS_SECRET_ACCESS_KEY": "hush"}, "owner"),
]


class Profiles(Verbs):
    words = SIGNED

    def setUp(self):
        super().setUp()
        self.config = pathlib.Path(self.place, "config")
        self.credentials = pathlib.Path(self.place, "credentials")
        self.config.write_text(f"[default]\nregion = us-east-1\n\n[profile owner]\nregion = eu-west-1\nservices = here\n"
                               f"[profile other]\nregion = eu-west-1\nendpoint_url = {self.pawl.url}\n"
                               f"[services here]\nsqs =\n  endpoint_url = {self.pawl.url}\n"
                               "[profile cloud]\nsso_session = corporate\n")
        self.credentials.write_text("[default]\naws_access_key_id = OWNER\naws_secret_access_key = hush\n"
                                    "[owner]\naws_access_key_id = OWNER\naws_secret_access_key = hush\n"
                                    "[other]\naws_access_key_id = OTHER\naws_secret_access_key = hush\n"
                                    "[wrong]\naws_access_key_id = OWNER\naws_secret_access_key = hash\n")

    def files(self):
        return {"AWS_CONFIG_FILE": str(self.config), "AWS_SHARED_CREDENTIALS_FILE": str(self.credentials)}

    def pawl_with(self, *words, code=0, **environment):
        """The output of a verb, which has no variables of AWS but these."""
        base = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
        done = subprocess.run([PAWL, *words], capture_output=True, text=True, timeout=30, stdin=subprocess.DEVNULL,
                              env={**base, **self.files(), **environment}, check=False)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def account_of(self, url):
        return url.strip().split("/")[-2]

    def test_a_profile_has_key_and_endpoint(self):
        owner = self.pawl_with("queue", "create", "mine", "--profile", "owner")
        other = self.pawl_with("queue", "create", "theirs", "--profile", "other")
        self.assertEqual((self.account_of(owner), self.account_of(other)), ("1" * 12, "2" * 12))
        names = [row["queue"] for row in json.loads(self.pawl_with("queue", "ls", "-o", "json", AWS_PROFILE="other"))]
        self.assertEqual(names, ["theirs"])

    def test_the_flag_for_the_endpoint_comes_before_the_profile(self):
        text = self.pawl_with("queue", "ls", "--profile", "owner", "--url", "http://127.0.0.1:1", code=1)
        self.assertIn("127.0.0.1:1", text)
        text = self.pawl_with("queue", "ls", "--profile", "owner", AWS_ENDPOINT_URL="http://127.0.0.1:1", code=1)
        self.assertIn("127.0.0.1:1", text)

    def test_every_verb_that_asks_a_server_takes_a_profile(self):
        self.pawl_with("queue", "create", "q", "--profile", "owner", "--set", "x-replay-retention=60")
        self.pawl_with("send", "q", "hello", "--profile", "owner")
        self.assertIn("hello", self.pawl_with("peek", "q", "--profile", "owner"))
        self.assertIn("hello", self.pawl_with("receive", "q", "--profile", "owner", "--delete"))
        self.assertIn("q", self.pawl_with("top", "-n", "1", "--interval", "0.1", "--profile", "owner"))
        self.pawl_with("check", "queues", "--profile", "owner", code=4)
        self.pawl_with("replay", "list", "q", "--profile", "owner")
        text = self.pawl_with("replay", "list", "q", "--url", self.pawl.url, "--profile", "wrong", code=1)
        self.assertIn("InvalidSignatureException", text)

    def test_a_load_has_the_key_of_a_profile(self):
        words = ("bench", "send", "--create", "--cleanup", "--messages", "10", "--json", "--profile")
        for server in (("--url", self.pawl.url, "--queue", "load"), ("--binary", self.pawl.ready["binary"], "--queue", "load"),
                       ("--url", f"{self.pawl.url}/{'1' * 12}/load")):
            with self.subTest(server):
                text = self.pawl_with(*words, "owner", *server)
                self.assertIn('"messages":10,', text.replace(" ", ""))
                self.assertIn("key", self.pawl_with(*words, "wrong", *server, code=1).lower())
        self.assertEqual(json.loads(self.pawl_with("queue", "ls", "-o", "json", "--profile", "owner")), [])

    def test_errors_name_the_file_and_the_remedy(self):
        text = self.pawl_with("queue", "ls", "--profile", "cloud", code=2)
        for part in (f"{self.config}:14: ", "sso_session", "AWS_ACCESS_KEY_ID", "export-credentials"):
            self.assertIn(part, text)
        text = self.pawl_with("queue", "ls", "--profile", "ownr", code=2)
        for part in ('"ownr"', str(self.config), "owner"):
            self.assertIn(part, text)
        self.credentials.write_text("[owner]\naws_access_key_id\n")
        for words in (("queue", "ls"), ("replay", "list", "q"), ("bench", "send")):
            self.assertIn(f"{self.credentials}:2: ", self.pawl_with(*words, "--profile", "owner", code=2))

    def test_broken_files_never_end_the_program_badly(self):
        luck = random.Random(3)
        whole = self.config.read_bytes()
        for _ in range(40):
            broken = bytearray(whole)
            for _ in range(luck.randrange(1, 6)):
                at = luck.randrange(len(broken))
                broken[at:at + luck.randrange(3)] = luck.randbytes(luck.randrange(4))
            self.config.write_bytes(broken)
            done = subprocess.run([PAWL, "queue", "ls", "--names", "--profile", "owner", "--url", self.pawl.url],
                                  env={**os.environ, **self.files()}, capture_output=True, timeout=30, check=False)
            self.assertIn(done.returncode, (0, 1, 2), (done, broken))

    def test_precedence_is_that_of_the_aws_command_line(self):
        if not shutil.which("aws"):
            self.skipTest("awscli is not installed; tools/deps check installs it")
        base = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
        for account, profile in (("1", "owner"), ("2", "other")):
            self.pawl_with("queue", "create", "of-" + account, "--profile", profile)
        for environment, profile in PRECEDENCE:
            with self.subTest(environment=environment, profile=profile):
                named = ["--profile", profile] if profile else []
                done = subprocess.run(["aws", *named, "--endpoint-url", self.pawl.url, "sqs", "list-queues", "--output", "json"],
                                      env={**base, **self.files(), "HOME": self.place, **environment}, capture_output=True, text=True,
                                      timeout=60, check=False)
                self.assertEqual(done.returncode, 0, done)
                urls = json.loads(done.stdout)["QueueUrls"]
                rows = self.pawl_with("queue", "ls", "--names", "--url", self.pawl.url, *named, **environment).split()[1:]
                self.assertEqual([url.split("/")[-1] for url in urls], rows)


if __name__ == "__main__":
    result = unittest.main(exit=False).result
    bad = len(result.failures) + len(result.errors)
    print(f"{max(result.testsRun - bad, 0)} passed, {bad} failed")
    sys.exit(1 if bad else 0)
