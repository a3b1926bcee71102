"""A `pawl serve` of one's own, for tests that talk to the real program."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
STOP_SECONDS = 20


class Pawl:
    """Starts the server on free ports of loopback and stops it in order.

    Ends only the process it started. `data` is made, and removed by remove_data(), unless given.
    """

    def __init__(self, binary, data=None, extra=()):
        self.binary = str(pathlib.Path(binary).resolve())
        self.data = data or tempfile.mkdtemp(prefix="pawl-test-", dir=scratch())
        self.extra = list(extra)
        self.process = None
        self.ready = None

    def start(self):
        self.launch()
        return self.wait_ready()

    def command(self):
        return [self.binary, "serve"]

    def launch(self):
        command = self.command() + ["--data", self.data]
        for flag in ("--http", "--admin", "--binary"):
            if flag not in self.extra:
                command += [flag, "127.0.0.1:0"]
        self.stderr = open(self.data.rstrip("/") + ".stderr", "ab")
        self.began = time.monotonic()
        self.process = subprocess.Popen(command + self.extra, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=self.stderr, text=True)

    def wait_ready(self):
        line = self.process.stdout.readline()
        self.start_seconds = time.monotonic() - self.began
        if not line:
            code = self.process.wait()
            raise RuntimeError(f"pawl serve ended with {code} before it was ready: {self.errors()}")
        try:
            self.ready = json.loads(line)
        except ValueError:
            self.kill()
            raise RuntimeError(f"the ready line is not JSON: {line!r}") from None
        assert self.ready["event"] == "ready", line
        return self

    @property
    def url(self):
        return "http://" + self.ready["http"]

    def errors(self):
        with open(self.stderr.name, errors="replace") as file:
            return file.read()[-4000:]

    def stop(self):
        """SIGTERM; returns the exit code, which is 0 when everything was drained."""
        self.process.send_signal(signal.SIGTERM)
        return self._gone(STOP_SECONDS)

    def kill(self):
        """kill -9."""
        self.process.kill()
        return self._gone(STOP_SECONDS)

    def _gone(self, seconds):
        try:
            code = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise RuntimeError(f"pawl serve did not end within {seconds} s: {self.errors()}") from None
        finally:
            self.process.stdout.close()
            self.stderr.close()
        return code

    def remove_data(self):
        shutil.rmtree(self.data, ignore_errors=True)
        pathlib.Path(self.stderr.name).unlink(missing_ok=True)

    def __enter__(self):
        return self.start()

    def __exit__(self, kind, value, trace):
        code = self.stop()
        if kind is None and code != 0:
            raise AssertionError(f"pawl serve ended with {code} after SIGTERM: {self.errors()}")
        self.remove_data()


def scratch():
    """Below build/: the same disk as the program's own, never a tmpfs."""
    path = ROOT / "build" / "scratch"
    path.mkdir(parents=True, exist_ok=True)
    return path


class ServedTest(unittest.TestCase):
    """Tests of one class share a server; its orderly end is a part of the test."""

    binary = None
    server = Pawl

    @classmethod
    def setUpClass(cls):
        cls.pawl = cls.server(cls.binary).start()

    @classmethod
    def tearDownClass(cls):
        code = cls.pawl.stop()
        assert code == 0, f"pawl serve ended with {code} after SIGTERM: {cls.pawl.errors()}"
        cls.pawl.remove_data()


def main():
    """Runs the tests of the calling module against the program named first; prints the summary."""
    if len(sys.argv) < 2:
        sys.exit(f"usage: {sys.argv[0]} build/release/pawl [unittest arguments]")
    ServedTest.binary = sys.argv.pop(1)
    result = unittest.main(module="__main__", exit=False, verbosity=2).result
    bad = len(result.failures) + len(result.errors)
    print(f"{max(result.testsRun - bad, 0)} passed, {bad} failed", flush=True)
    sys.exit(1 if bad or result.testsRun == 0 else 0)
