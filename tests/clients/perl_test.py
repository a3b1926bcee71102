#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Debian's Amazon::SQS::Simple: forms that also have an x-amz-target, as a JSON request has.

Unsigned only: the client takes the service and the region of its signature from AWS's host names."""

import subprocess
import unittest

from client import first_here
from pawl_server import HERE, ServedTest, main

EXPECTED = ["sent intact", "batch 2", "visibility 30", "changed 60", "body four", "body one + two & é\\n", "body three", "body two",
            "queues 1", "left none"]


class Unsigned(ServedTest):
    def setUp(self):
        if not first_here([("perl", "-MAmazon::SQS::Simple", "-e", "1")]):
            self.skipTest("Debian's libamazon-sqs-simple-perl is not installed")

    def test_every_call(self):
        done = subprocess.run(["perl", str(HERE / "perl" / "simple.pl"), self.pawl.url, "000000000000", "key", "secret"],
                              capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        made, *lines = done.stdout.splitlines()
        self.assertRegex(made, "^made http://127.0.0.1/[0-9]{12}/perl$")
        self.assertEqual(lines, EXPECTED)


if __name__ == "__main__":
    main()
