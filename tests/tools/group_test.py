#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The server in a control group that limits its memory: full load never meets the kernel's killer, and doctor names the group."""

import json
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "clients"))
from memory_group import GroupedPawl, kills_in, make_group  # noqa: E402
from pawl_server import main  # noqa: E402
import pawl_server  # noqa: E402

LIMIT = 300 << 20
BODY, MESSAGES = 10 << 10, 60_000  # twice the limit together
# 520 MB under way.
HTTP_LOAD = ["--connections", "500", "--depth", "4", "--batch", "10", "--body", "26000", "--seconds", "3"]


class Group(unittest.TestCase):
    def setUp(self):
        self.binary = str(pathlib.Path(pawl_server.ServedTest.binary).resolve())
        self.group, why = make_group(LIMIT)
        if self.group is None:
            self.skipTest(f"this machine does not allow a control group: {why}")
        self.addCleanup(self.group.rmdir)

    def serve(self, *extra):
        pawl = GroupedPawl(self.binary, extra=extra)
        pawl.group = self.group
        self.addCleanup(pawl.remove_data)
        return pawl.start()

    def test_messages_of_twice_the_limit_are_accepted_and_nothing_is_killed(self):
        pawl = self.serve()
        bench = [self.binary, "bench", "send", "--create", "--binary", pawl.ready["binary"], "--connections", "4", "--depth", "16",
                 "--body", str(BODY), "--messages", str(MESSAGES), "--seconds", "240", "--json"]
        result = json.loads(subprocess.run(bench, capture_output=True, text=True, timeout=300, check=True).stdout)
        self.assertIsNone(pawl.process.poll(), "the server was killed")
        self.assertEqual(result["errors"], 0)
        self.assertGreaterEqual(result["messages"], MESSAGES)
        self.assertEqual(pawl.stop(), 0)

    def test_requests_of_many_connections_are_refused_before_they_fill_the_memory(self):
        pawl = self.serve()
        for _ in range(3):  # each ends when the server closes a connection that holds too much
            bench = [self.binary, "bench", "send", "--create", "--url", f"{pawl.url}/{pawl.account}/bench", *HTTP_LOAD]
            subprocess.run(bench, capture_output=True, timeout=60, check=False)
            self.assertIsNone(pawl.process.poll(), "the server was killed")
        self.assertEqual(kills_in(self.group), 0)
        self.assertEqual(pawl.stop(), 0)

    def test_memory_above_the_limit_is_warned_of_with_the_group_and_a_value_that_fits(self):
        pawl = self.serve("--memory", "1GiB", "--log-format", "json")
        errors = pawl.errors()
        self.assertEqual(pawl.stop(), 0)
        self.assertIn('"code":"memory_above_group_limit"', errors)
        self.assertRegex(errors, f"--memory is 1024 MiB, .* and the control group {self.group} allows 300 MiB")
        self.assertRegex(errors, r"lower --memory to 1\d\d MiB")

    def test_doctor_names_the_group(self):
        done = subprocess.run(["bash", "-c", f'echo $$ >{self.group}/cgroup.procs && exec "$0" doctor --json --seconds 0', self.binary],
                              capture_output=True, text=True, timeout=60, check=False)
        memory = next(row for row in json.loads(done.stdout) if row["name"] == "memory")
        self.assertIn(f"the control group {self.group} allows 307200 KiB", memory["what"])

    def test_doctor_warns_of_memory_above_the_limit(self):
        done = subprocess.run(["bash", "-c", f'echo $$ >{self.group}/cgroup.procs && exec "$0" "$@"', self.binary, "doctor", "--json",
                               "--seconds", "0", "--memory", "1GiB"], capture_output=True, text=True, timeout=60, check=False)
        memory = next(row for row in json.loads(done.stdout) if row["name"] == "memory")
        self.assertEqual(memory["status"], "warn")
        self.assertIn(f"the control group {self.group} allows 307200 KiB; with --memory 1.0 GiB", memory["what"])


if __name__ == "__main__":
    main()
