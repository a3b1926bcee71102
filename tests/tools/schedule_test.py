#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""`pawl schedule next`: its output, its exit codes, and the commands of its page, without a server."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from peek_test import PAWL, documented  # noqa: E402

BEFORE_SUMMER = ("--zone", "Europe/Berlin", "--from", "2026-03-28T01:30:00Z")


class Schedule(unittest.TestCase):
    def next(self, *words, code=0, **environment):
        done = subprocess.run([PAWL, "schedule", "next", *words], capture_output=True, text=True, timeout=30, stdin=subprocess.DEVNULL,
                              env={**os.environ, **environment}, check=False)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout if code == 0 else done.stderr

    def fires(self, *words, member="utc"):
        return [fire[member] for fire in json.loads(self.next(*words, "--json"))]

    def test_page_can_be_followed(self):
        commands = [command for command in documented("SCHEDULING.md") if " next " in command]
        self.assertGreaterEqual(len(commands), 8)
        path = f"{pathlib.Path(PAWL).parent}:{os.environ['PATH']}"
        for command in commands:
            with self.subTest(command):
                done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=30, env={**os.environ, "PATH": path}, check=False)
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assertRegex(done.stdout, r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ")

    def test_rows_have_both_times(self):
        self.assertEqual(self.next("cron(30 2 * * ? *)", *BEFORE_SUMMER, "-n", "2"),
                         "LOCAL                      WEEKDAY  UTC\n"
                         "2026-03-29T03:00:00+02:00  Sun      2026-03-29T01:00:00Z\n"
                         "2026-03-30T02:30:00+02:00  Mon      2026-03-30T00:30:00Z\n")
        self.assertEqual(json.loads(self.next("at(2026-12-01T09:00:00)", "--zone", "Asia/Kolkata", "--from", "2026-01-01T00:00:00Z", "-o", "jsonl")),
                         {"local": "2026-12-01T09:00:00+05:30", "weekday": "Tue", "utc": "2026-12-01T03:30:00Z"})

    def test_a_time_that_does_not_exist_can_be_skipped(self):
        self.assertEqual(self.fires("cron(30 2 * * ? *)", *BEFORE_SUMMER, "--nonexistent", "skip", "-n", "1"), ["2026-03-30T00:30:00Z"])
        self.assertEqual(self.fires("cron(30 2 * * ? *)", *BEFORE_SUMMER, "--nonexistent", "next", "-n", "1"), ["2026-03-29T01:00:00Z"])

    def test_summer_time_goes_on_after_2037(self):
        self.assertEqual(self.fires("cron(0 12 1 1,7 ? 2037-2039)", "--zone", "America/New_York", "--from", "2037-06-01T00:00:00Z", member="local"),
                         ["2037-07-01T12:00:00-04:00", "2038-01-01T12:00:00-05:00", "2038-07-01T12:00:00-04:00", "2039-01-01T12:00:00-05:00",
                          "2039-07-01T12:00:00-04:00"])

    def test_a_rate_counts_from_the_given_time(self):
        self.assertEqual(self.fires("rate(36 hours)", "--from", "2026-03-28T12:00:07Z", "-n", "2"), ["2026-03-30T00:00:07Z", "2026-03-31T12:00:07Z"])
        self.assertEqual(len(self.fires("rate(1 minute)", "--count", "10000")), 10000)

    def test_without_a_fire_the_code_is_3(self):
        self.assertEqual(self.next("at(2026-12-01T09:00:00)", "--from", "2026-12-01T09:00:00Z", code=3),
                         "error: at(2026-12-01T09:00:00) does not fire after 2026-12-01T09:00:00Z.\n")
        self.assertIn("does not fire after", self.next("cron(0 0 30 2 ? *)", "--zone", "Europe/Berlin", code=3))

    def test_zones_can_be_elsewhere_or_missing(self):
        with tempfile.TemporaryDirectory() as folder:
            text = self.next("rate(1 day)", "--zone", "Europe/Berlin", code=2, TZDIR=folder)
            for part in (folder, "has no zones", "tzdata"):
                self.assertIn(part, text)
            self.next("rate(1 day)", TZDIR=folder)
            pathlib.Path(folder, "Own").write_bytes(pathlib.Path("/usr/share/zoneinfo/Asia/Tokyo").read_bytes())
            self.assertIn("+09:00", self.next("rate(1 day)", "--zone", "Own", TZDIR=folder))


if __name__ == "__main__":
    unittest.main()
