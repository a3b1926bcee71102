#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Where io_uring is refused, wholly or in part, the server runs with threads, says so, and keeps its promises."""

import json
import os
import pathlib
import subprocess
import sys
import time
import unittest
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "clients"))
from pawl_server import Pawl, main  # noqa: E402
import pawl_server  # noqa: E402

SANDBOX = [sys.executable, str(pathlib.Path(__file__).resolve().parent / "sandboxed.py")]
CALLS = ("setup", "register", "enter", "setup+enter+register")
ERRORS = ("EPERM", "ENOSYS", "EACCES")
FALLS_BACK = "runs with --io threads instead of io_uring"


class BackendPawl(Pawl):
    refused, io, submissions = None, None, None

    def command(self):
        sandbox = [*SANDBOX, f"--no-io-uring={self.refused}"] if self.refused else []
        if self.submissions:
            sandbox = [*SANDBOX, f"--few-submissions={self.submissions}"]
        return sandbox + super().command() + (["--io", self.io] if self.io else [])


class IoBackend(unittest.TestCase):
    def setUp(self):
        self.binary = str(pathlib.Path(pawl_server.ServedTest.binary).resolve())
        self.before = os.environ.pop("PAWL_SERVER_IO", None)
        if self.before is not None:
            self.addCleanup(os.environ.__setitem__, "PAWL_SERVER_IO", self.before)
        done = subprocess.run([*SANDBOX, "--no-io-uring=setup,EPERM", "/bin/true"], capture_output=True, text=True, timeout=60, check=False)
        if done.returncode == 77:
            self.skipTest(f"this machine does not allow a filter: {done.stderr}")

    def start(self, refused=None, io=None, data=None, submissions=None, words=()):
        pawl = BackendPawl(self.binary, data=data, extra=words)
        pawl.refused, pawl.io, pawl.submissions = refused, io, submissions
        self.addCleanup(pawl.remove_data)
        pawl.start()
        self.addCleanup(lambda: pawl.process.poll() is None and pawl.kill())
        return pawl

    def get(self, pawl, path):
        with urllib.request.urlopen(f"http://{pawl.ready['admin']}{path}", timeout=10) as answer:
            return answer.read().decode()

    def send(self, pawl, messages):
        done = subprocess.run([self.binary, "bench", "send", "--binary", pawl.ready["binary"], "--create", "--queue", "q", "--messages", str(messages),
                               "--seconds", "20", "--json"], capture_output=True, text=True, timeout=60, check=True)
        self.assertEqual(json.loads(done.stdout)["messages"], messages)

    def run_refused(self, refused, io):
        """The exit code of a start that fails, and its words."""
        pawl = BackendPawl(self.binary)
        self.addCleanup(pawl.remove_data)
        pawl.refused, pawl.io = refused, io
        pawl.launch()
        self.addCleanup(lambda: pawl.process.poll() is None and pawl.kill())
        return pawl.process.wait(timeout=60), pawl.errors()

    def test_every_refusal_starts_with_threads_and_says_why_once(self):
        for calls in CALLS:
            for error in ERRORS:
                with self.subTest(calls=calls, error=error):
                    pawl = self.start(refused=f"{calls},{error}")
                    self.send(pawl, 50)
                    self.assertIn('pawl_io_backend_info{backend="threads"} 1', self.get(pawl, "/metrics"))
                    self.assertEqual(self.get(pawl, "/healthz"), "ok\n")
                    verbose = self.get(pawl, "/healthz?verbose")
                    self.assertIn('"code":"io_uring_refused"', verbose)
                    self.assertIn("seccomp", verbose)
                    self.assertEqual(pawl.stop(), 0)
                    self.assertEqual(pawl.errors().count(FALLS_BACK), 1, pawl.errors())
                    self.assertIn(error, pawl.errors())

    def test_an_asked_ring_that_is_refused_ends_the_start(self):
        for calls in CALLS:
            for error in ERRORS:
                with self.subTest(calls=calls, error=error):
                    code, errors = self.run_refused(f"{calls},{error}", "uring")
                    self.assertEqual(code, 1, errors)
                    self.assertIn(f": {error}: ", errors)
                    self.assertIn("--io auto", errors)

    def test_a_refusal_after_the_start_ends_the_process_and_loses_nothing(self):
        pawl = self.start(io="uring", submissions=40, words=["--log-format", "json"])
        done = subprocess.run([self.binary, "bench", "send", "--binary", pawl.ready["binary"], "--create", "--queue", "q", "--connections", "200",
                               "--seconds", "20", "--json"], capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(pawl.process.wait(timeout=10), 1)
        self.assertIn('"code":"io_uring_revoked"', pawl.errors())
        self.assertIn("--io threads", pawl.errors())
        acknowledged = json.loads(done.stdout)["messages"] if done.stdout.startswith("{") else 0
        again = self.start(io="threads", data=pawl.data)
        self.assertGreaterEqual(again.ready["recovered_messages"], acknowledged)
        self.assertEqual(again.stop(), 0)

    def test_a_limit_is_no_refusal(self):
        code, errors = self.run_refused("setup,ENOMEM", "auto")
        self.assertEqual(code, 1, errors)
        self.assertIn("ulimit -l", errors)

    def test_both_backends_serve_one_directory(self):
        data, waiting = None, 0
        for io in ("threads", "uring", "threads"):
            pawl = self.start(io=io, data=data)
            self.assertEqual(pawl.ready["recovered_messages"], waiting)
            self.assertIn(f'pawl_io_backend_info{{backend="{io}"}} 1', self.get(pawl, "/metrics"))
            self.assertNotIn(FALLS_BACK, pawl.errors())
            self.send(pawl, 100)
            data, waiting = pawl.data, waiting + 100
            self.assertEqual(pawl.stop(), 0)

    def test_an_idle_server_with_threads_uses_no_processor(self):
        pawl = self.start(io="threads")
        time.sleep(1)
        before = cpu_ticks(pawl.process.pid)
        time.sleep(2)
        self.assertLess(cpu_ticks(pawl.process.pid) - before, os.sysconf("SC_CLK_TCK") * 2 * 0.1)
        self.assertEqual(pawl.stop(), 0)

    def test_an_unknown_backend_is_named(self):
        code, errors = self.run_refused("setup,EPERM", "epoll")
        self.assertEqual(code, 2, errors)
        for word in ("--io", "epoll", "auto|uring|threads"):
            self.assertIn(word, errors)

    def test_doctor_says_what_the_server_will_do(self):
        done = subprocess.run([*SANDBOX, "--no-io-uring=setup,EPERM", self.binary, "doctor", "--json", "--seconds", "0"],
                              capture_output=True, text=True, timeout=60, check=False)
        self.assertIn(done.returncode, (0, 4), done.stderr)
        self.assertIn("runs with threads instead", done.stdout)


def cpu_ticks(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


if __name__ == "__main__":
    main()
