#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The server in a control group that limits its memory: full load never meets the kernel's killer, and doctor names the group."""

import json
import os
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "clients"))
from pawl_server import Pawl, main  # noqa: E402
import pawl_server  # noqa: E402

LIMIT = 300 << 20
BODY, MESSAGES = 10 << 10, 60_000  # twice the limit together
V1, V2 = pathlib.Path("/sys/fs/cgroup/memory"), pathlib.Path("/sys/fs/cgroup")


def make_group(limit):
    """A new group with a limit of memory: its directory, or the reason why there is none."""
    top, name = (V1, "memory.limit_in_bytes") if V1.is_dir() else (V2, "memory.max")
    group = top / f"pawl-test-{os.getpid()}"
    try:
        if top == V2:
            (top / "cgroup.subtree_control").write_text("+memory")
        group.mkdir()
        (group / name).write_text(str(limit))
    except OSError as error:
        if group.is_dir():
            group.rmdir()
        return None, str(error)
    return group, ""


class GroupedPawl(Pawl):
    group = None

    def command(self):
        return ["bash", "-c", f'echo $$ >{self.group}/cgroup.procs && exec "$0" "$@"', *super().command()]


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

    def test_memory_above_the_limit_is_warned_of_with_the_group_and_a_value_that_fits(self):
        pawl = self.serve("--memory", "1GiB")
        errors = pawl.errors()
        self.assertEqual(pawl.stop(), 0)
        self.assertIn(f"--memory is 1024 MiB, and the control group {self.group} allows 300 MiB", errors)
        self.assertIn("lower --memory to 150 MiB", errors)

    def test_doctor_names_the_group(self):
        done = subprocess.run(["bash", "-c", f'echo $$ >{self.group}/cgroup.procs && exec "$0" doctor --json --seconds 0', self.binary],
                              capture_output=True, text=True, timeout=60, check=False)
        memory = next(row for row in json.loads(done.stdout) if row["name"] == "memory")
        self.assertIn(f"the control group {self.group} allows 307200 KiB", memory["what"])


if __name__ == "__main__":
    main()
