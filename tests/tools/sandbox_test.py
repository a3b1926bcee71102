#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The server in a sandbox that hides the clocks: it says so, and trusts no clock that nobody vouches for."""

import pathlib
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "clients"))
from pawl_server import Pawl, main  # noqa: E402
import pawl_server  # noqa: E402

SANDBOX = [sys.executable, str(pathlib.Path(__file__).resolve().parent / "sandboxed.py")]
REFUSED, HIDDEN = "adjtimex is refused (Operation not permitted)", "boot_id cannot be read"
TIME_OFF = "the machine was restarted since"


class SandboxedPawl(Pawl):
    sandbox = ()

    def command(self):
        return SANDBOX + list(self.sandbox) + super().command()


class Sandbox(unittest.TestCase):
    def setUp(self):
        self.binary = str(pathlib.Path(pawl_server.ServedTest.binary).resolve())
        for flag in ("--no-clock-calls", "--no-proc-sys"):
            done = subprocess.run(SANDBOX + [flag, "/bin/true"], capture_output=True, text=True, timeout=60, check=False)
            if done.returncode == 77:
                self.skipTest(f"this machine does not allow {flag}: {done.stderr}")

    def serve(self, *sandbox, data=None):
        """Starts the server once and stops it; returns what it said."""
        pawl = SandboxedPawl(self.binary, data=data)
        pawl.sandbox = sandbox
        self.addCleanup(pawl.remove_data)
        pawl.start()
        self.assertEqual(pawl.stop(), 0)
        return pawl.data, pawl.errors()

    def test_refused_clock_calls_are_said_once_with_their_remedy(self):
        _, errors = self.serve("--no-clock-calls")
        self.assertEqual(errors.count(REFUSED), 1, errors)
        self.assertIn("ProtectClock=no", errors)
        self.assertIn("--trust-clock yes", errors)

    def test_a_start_without_a_boot_id_counts_as_one_after_a_reboot(self):
        data, first = self.serve("--no-clock-calls", "--no-proc-sys")
        self.assertEqual(first.count(HIDDEN), 1, first)
        self.assertNotIn(TIME_OFF, first)
        time.sleep(1.5)  # more than the second that is no time off
        _, both = self.serve("--no-clock-calls", "--no-proc-sys", data=data)
        self.assertEqual(both.count(TIME_OFF), 1, both)
        self.assertIn("ProcSubset=all", both)

    def test_outside_of_a_sandbox_nothing_is_said(self):
        _, errors = self.serve()
        self.assertNotIn("adjtimex", errors)
        self.assertNotIn("boot_id", errors)

    def test_doctor_names_both(self):
        done = subprocess.run(SANDBOX + ["--no-clock-calls", "--no-proc-sys", self.binary, "doctor", "--json", "--seconds", "0"],
                              capture_output=True, text=True, timeout=60, check=False)
        self.assertIn(done.returncode, (0, 4), done.stderr)
        self.assertIn(REFUSED, done.stdout)
        self.assertIn(HIDDEN, done.stdout)


if __name__ == "__main__":
    main()
