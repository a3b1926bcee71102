#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The lines of the server on stderr: as text, as JSON, limited, and where nobody reads them."""

import contextlib
import json
import os
import pathlib
import re
import subprocess
import sys
import time
import unittest
import urllib.error
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "clients"))
from pawl_server import SignedPawl, main  # noqa: E402
import pawl_server  # noqa: E402

LINES_A_MINUTE = 60  # of auth_failed
FAILURES = 200


class LoggedPawl(SignedPawl):
    """A server whose stderr is a file, or as the shell's `redirection` says."""

    redirection, settings = "", ()

    def command(self):
        return ["env", *self.settings, "bash", "-c", f'exec {self.redirection}; exec "$0" "$@"', *super().command()]


class EventLog(unittest.TestCase):
    def setUp(self):
        self.binary = str(pathlib.Path(pawl_server.ServedTest.binary).resolve())

    def new(self, extra=(), **more):
        pawl = LoggedPawl(self.binary, extra=extra)
        self.addCleanup(pawl.remove_data)
        for name, value in more.items():
            setattr(pawl, name, value)
        return pawl

    def start(self, extra=(), **more):
        pawl = self.new(extra, **more)
        pawl.start()
        self.addCleanup(lambda: pawl.process.poll() is None and pawl.kill())
        return pawl

    def fail_to_authenticate(self, pawl):
        headers = {"X-Amz-Target": "AmazonSQS.ListQueues", "Content-Type": "application/x-amz-json-1.0",
                   "X-Amz-Date": "20260101T000000Z", "Authorization":
                   "AWS4-HMAC-SHA256 Credential=NOBODY/20260101/us-east-1/sqs/aws4_request, SignedHeaders=host, Signature=00"}
        with contextlib.suppress(urllib.error.HTTPError):
            urllib.request.urlopen(urllib.request.Request(f"{pawl.url}/", b"{}", headers), timeout=10).close()
            self.fail("it is answered")

    def send(self, pawl, messages=300):
        done = subprocess.run([self.binary, "bench", "send", "--binary", pawl.ready["binary"], "--create", "--queue", "q",
                               "--messages", str(messages), "--seconds", "20", "--json"],
                              env={**os.environ, **pawl.environment()}, capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads(done.stdout)["messages"], messages)

    def events(self, pawl):
        lines = pathlib.Path(pawl.errors_file).read_text().splitlines()
        return [json.loads(line) for line in lines]

    def test_a_line_is_a_sentence(self):
        pawl = self.start()
        for _ in range(100):  # two lines follow the ready line
            if "pawl: serves after" in pawl.errors():
                break
            time.sleep(0.1)
        self.assertRegex(pawl.errors(), r"\A(pawl: .*\n)*pawl: durable 4 KiB write .*\npawl: version .*\npawl: serves after .*\n\Z")
        self.assertEqual(pawl.stop(), 0)
        text = pathlib.Path(pawl.errors_file).read_text()
        self.assertTrue(text.endswith("a second signal stops it at once\npawl: stopped: all requests are answered, the log is closed\n"), text)

    def test_a_line_is_an_object_of_json(self):
        pawl = self.start(["--log-format", "json"])
        self.fail_to_authenticate(pawl)
        self.assertEqual(pawl.stop(), 0)
        events = {event["code"]: event for event in self.events(pawl)}
        self.assertLessEqual({"disk_calibrated", "auth_failed", "stopping"}, set(events))
        for event in events.values():
            self.assertEqual(list(event)[:5], ["time", "level", "code", "msg", "text"])
            self.assertRegex(event["time"], r"\A20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z\Z")
            self.assertIn(event["level"], ("error", "warning", "info"))
            self.assertFalse(event["text"].startswith("pawl:"))
        self.assertEqual((events["auth_failed"]["port"], events["auth_failed"]["address"]), ("http", "127.0.0.1"))
        self.assertEqual(events["stopping"]["msg"], "the server stops")

    def test_a_pipe_has_objects_of_json_unless_another_format_is_given(self):
        reader, writer = os.pipe()
        try:
            pawl = self.start(settings=["-u", pawl_server.LOG_FORMAT], redirection=f"2>/proc/{os.getpid()}/fd/{writer}")
            self.assertEqual(pawl.stop(), 0)
            lines = os.read(reader, 1 << 16).decode().splitlines()
        finally:
            os.close(writer)
            os.close(reader)
        self.assertEqual([json.loads(line)["code"] for line in lines[-4:]], ["limits", "ready", "stopping", "stopped"])

    def test_a_terminal_has_sentences_unless_another_format_is_given(self):
        for words, begin in (([], "pawl: "), (["--log-format", "json"], '{"time":"')):
            terminal, inner = os.openpty()
            try:
                pawl = self.start(words, settings=["-u", pawl_server.LOG_FORMAT], redirection=f"2>{os.ttyname(inner)}")
                self.assertEqual(pawl.stop(), 0)
                lines = os.read(terminal, 1 << 16).decode().splitlines()
            finally:
                os.close(inner)
                os.close(terminal)
            self.assertTrue(lines and all(line.startswith(begin) for line in lines), lines)

    def test_the_format_is_a_setting(self):
        pawl = self.new(["--admin", "nowhere.invalid:1", "--insecure-no-auth"],
                        settings=["PAWL_SERVER_LOG_FORMAT=json", "PAWL_SERVR_SHARDS=1"])
        with self.assertRaises(RuntimeError):
            pawl.start()
        codes = [event["code"] for event in self.events(pawl)]
        self.assertEqual((codes[0], codes[-1]), ("unknown_variable", "start_failed"))
        done = subprocess.run([self.binary, "serve", "--log-format", "xml"], capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("Expected auto|text|json", done.stderr)

    def test_a_code_has_so_many_lines_a_minute_and_the_others_are_counted(self):
        for words in ([], ["--log-format", "json"]):
            pawl = self.start(words)
            for _ in range(FAILURES):
                self.fail_to_authenticate(pawl)
            self.assertEqual(pawl.stop(), 0)
            text = pathlib.Path(pawl.errors_file).read_text()
            lines = [line for line in text.splitlines() if "authentication failed" in line]
            found = re.findall(r'; (\d+) more since the last such line|"suppressed":(\d+)', "\n".join(lines))
            suppressed = sum(int(number) for pair in found for number in pair if number)
            self.assertGreaterEqual(len(lines), LINES_A_MINUTE)
            self.assertLess(len(lines), FAILURES)
            # The stop reports the rest, if the last failure was suppressed.
            last = bool(re.search(r'pawl: authentication failed;|"text":"authentication failed"', lines[-1]))
            self.assertEqual(len(lines) - last + suppressed, FAILURES, lines[-1])

    def test_a_full_pipe_stops_nothing(self):
        reader, writer = os.pipe()
        os.set_blocking(writer, False)
        with contextlib.suppress(BlockingIOError):
            while True:
                os.write(writer, b"x")
        os.set_blocking(writer, True)
        try:
            pawl = self.start(redirection=f"2>/proc/{os.getpid()}/fd/{writer}")
            for _ in range(FAILURES):
                self.fail_to_authenticate(pawl)
            self.send(pawl)
            self.assertEqual(pawl.stop(), 0)
        finally:
            os.close(writer)
            os.close(reader)

    def test_a_closed_stderr_stops_nothing_and_no_file_takes_its_place(self):
        pawl = self.start(redirection="2>&-")
        self.assertEqual(os.readlink(f"/proc/{pawl.process.pid}/fd/2"), "/dev/null")
        for _ in range(FAILURES):
            self.fail_to_authenticate(pawl)
        self.send(pawl)
        self.assertEqual(pawl.stop(), 0)


if __name__ == "__main__":
    main()
